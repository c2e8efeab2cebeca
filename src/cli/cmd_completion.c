/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for three shells, out of the tables that parse. */
#include "cli/cmds.h"

#include "base/err.h"

static void words(const struct opt *opts, struct str *out)
{
	for (; opts && opts->name; opts++)
		str_addf(out, " --%s", opts->name);
}

static void bash(struct str *out)
{
	str_add(out,
		"# bash completion for twice\n_twice()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
		"\tlocal prev=${COMP_WORDS[COMP_CWORD-1]} words=\n\tif [ \"$COMP_CWORD\" -eq 1 ]; "
		"then\n\t\twords=\"");
	for (size_t i = 0; cmds[i]; i++)
		str_addf(out, "%s%s", i ? " " : "", cmds[i]->name);
	str_add(out, "\"\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; cmds[i]; i++) {
		str_addf(out, "\t\t%s) words=\"", cmds[i]->name);
		words(cmds[i]->opts, out);
		words(global_opts, out);
		str_add(out, "\" ;;\n");
	}
	str_add(out, "\t\tesac\n\t\tcase $prev "
		     "in\n\t\t--contract|--ledger|--render|--out|--key|--root|--save)\n"
		     "\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n\t\tesac\n\tfi\n"
		     "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default "
		     "-F _twice twice\n");
}

static void quoted(const char *text, struct str *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			str_add(out, "'\\''");
		else if (*text == '[' || *text == ']' || *text == ':')
			str_addf(out, "\\%c", *text);
		else
			str_addc(out, *text);
	}
}

static void zsh(struct str *out)
{
	str_add(out, "#compdef twice\n_twice() {\n\tlocal -a commands\n\tcommands=(\n");
	for (size_t i = 0; cmds[i]; i++) {
		str_addf(out, "\t\t'%s:", cmds[i]->name);
		quoted(cmds[i]->help, out);
		str_add(out, "'\n");
	}
	str_add(out, "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command "
		     "commands\n\t\treturn\n\tfi\n"
		     "\tcase ${words[2]} in\n");
	for (size_t i = 0; cmds[i]; i++) {
		const struct opt *lists[] = { cmds[i]->opts, global_opts };

		str_addf(out, "\t%s) _arguments '*:file:_files'", cmds[i]->name);
		for (size_t k = 0; k < 2; k++) {
			for (const struct opt *o = lists[k]; o && o->name; o++) {
				str_addf(out, " '--%s[", o->name);
				quoted(o->help, out);
				str_addf(out, "]%s%s%s'", o->arg ? ":" : "", o->arg ? o->arg : "",
					 o->arg ? ":_files" : "");
			}
		}
		str_add(out, " ;;\n");
	}
	str_add(out, "\tesac\n}\n_twice \"$@\"\n");
}

static void fish_text(const char *text, struct str *out)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			str_addc(out, '\\');
		str_addc(out, *text);
	}
}

static void fish(struct str *out)
{
	str_add(out, "# fish completion for twice\n");
	for (size_t i = 0; cmds[i]; i++) {
		const struct opt *lists[] = { cmds[i]->opts, global_opts };

		str_addf(out, "complete -c twice -n __fish_use_subcommand -f -a %s -d '",
			 cmds[i]->name);
		fish_text(cmds[i]->help, out);
		str_add(out, "'\n");
		for (size_t k = 0; k < 2; k++) {
			for (const struct opt *o = lists[k]; o && o->name; o++) {
				str_addf(out,
					 "complete -c twice -n '__fish_seen_subcommand_from %s' -l "
					 "%s%s -d '",
					 cmds[i]->name, o->name, o->arg ? " -r" : "");
				fish_text(o->help, out);
				str_add(out, "'\n");
			}
		}
	}
}

static int completion_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	struct str out CLEANUP(str_release) = { 0 };
	const char *shell = cli->args.v[0];

	(void)conf;
	if (streq(shell, "bash"))
		bash(&out);
	else if (streq(shell, "zsh"))
		zsh(&out);
	else if (streq(shell, "fish"))
		fish(&out);
	else
		return bail(err, ERR_USAGE, "no completion for '%s': bash, zsh or fish", shell);
	json_put_str(v, "shell", shell);
	json_put_str(v, "text", str_text(&out));
	return 0;
}

const struct cmd cmd_completion = {
	.name = "completion",
	.group = GROUP_TOOL,
	.args = "bash|zsh|fish",
	.min_args = 1,
	.max_args = 1,
	.help = "print a completion script for a shell",
	.run = completion_run,
};
