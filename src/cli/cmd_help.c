/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/err.h"

static json_t *command_json(const struct cmd *c)
{
	json_t *o = json_object();

	json_put_str(o, "name", c->name);
	json_put_str(o, "args", c->args);
	json_put_str(o, "help", c->help);
	json_put_int(o, "group", c->group);
	json_put(o, "options", opts_to_json(c->opts));
	return o;
}

static int help_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const char *topic = cli->args.n ? cli->args.v[0] : NULL;
	const char *names[64] = { NULL };
	json_t *a = json_array();

	(void)conf;
	json_put(v, "commands", a);
	for (size_t i = 0; cmds[i]; i++)
		if (!topic || streq(topic, cmds[i]->name))
			(void)json_array_append_new(a, command_json(cmds[i]));
	json_put(v, "global", opts_to_json(global_opts));
	if (!topic || json_array_size(a))
		return 0;
	bail(err, ERR_USAGE, "no command '%s'", topic);
	for (size_t i = 0; i < ARRAY_SIZE(names) - 1 && cmds[i]; i++)
		names[i] = cmds[i]->name;
	err_hint_nearest(err, topic, names);
	return -ERR_USAGE;
}

static void help_text(const json_t *v, struct str *out)
{
	static const char *const titles[GROUP_N] = { "accept a workload", "read what happened",
						     "who may sign, and exceptions", "go back",
						     "the tool" };
	const json_t *a = json_object_get(v, "commands");

	str_add(out, "twice: is this workload still accepted?\n\nusage: twice COMMAND [options]\n");
	for (int g = 0; g < GROUP_N; g++) {
		str_addf(out, "\n%s:\n", titles[g]);
		for (size_t i = 0; i < json_array_size(a); i++) {
			const json_t *o = json_array_get(a, i);

			if (json_int_or(o, "group", 0) == g)
				str_addf(out, "  %-11s %s\n", json_str_or(o, "name", ""),
					 json_str_or(o, "help", ""));
		}
	}
	str_add(out, "\n'twice COMMAND --help' says more; 'man twice' has it all.\n");
}

const struct cmd cmd_help = {
	.name = "help",
	.group = GROUP_TOOL,
	.args = "[COMMAND]",
	.max_args = 1,
	.help = "list the commands",
	.run = help_run,
	.text = help_text,
};
