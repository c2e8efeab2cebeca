/* SPDX-License-Identifier: Apache-2.0 */
/* From argv to an exit code: options, what a command needs, the one place that prints. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include "checks/checks.h"
#include "cli/pager.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

volatile int cli_cancel;

static void on_signal(int sig)
{
	/* The second one means it: children are ended and we go the way of the signal. */
	if (cli_cancel) {
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		proc_end_all();
		(void)sigaction(sig, &dfl, NULL);
		(void)raise(sig);
	}
	cli_cancel = sig;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)sigaction(SIGHUP, &sa, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL); /* a limit on files is a full disk: exit 74 */
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

void cli_warn(const char *fmt, ...)
{
	va_list ap;

	(void)fputs("twice: warning: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

static size_t columns(void)
{
	struct winsize w;

	return ioctl(2, TIOCGWINSZ, &w) == 0 && w.ws_col >= 2 ? w.ws_col : 100;
}

/* Lines over the ones before, each cut at the terminal's width so that none of them wraps. */
static void show_live(struct cli *cli, struct sv text)
{
	size_t most = columns() - 1, n = 0;
	struct str s CLEANUP(str_release) = { 0 };

	if (cli->progress_lines > 1)
		str_addf(&s, "\033[%uA", cli->progress_lines - 1);
	for (struct sv line; sv_split(&text, '\n', &line); n++)
		str_addf(&s, "%s\r%.*s\033[K", n ? "\n" : "", (int)MIN(line.n, most), line.p);
	/* Fewer lines than before: the rest is cleared, and the cursor comes back. */
	for (; n < cli->progress_lines; n++)
		str_add(&s, "\n\r\033[K");
	cli->progress_lines = MAX(cli->progress_lines, (unsigned)n);
	(void)fputs(str_text(&s), stderr);
	(void)fflush(stderr);
}

void cli_progress_clear(struct cli *cli)
{
	if (!cli->progress_tty || !cli->progress_lines)
		return;
	(void)fputs("\r\033[K", stderr);
	while (--cli->progress_lines > 0)
		(void)fputs("\033[1A\033[K", stderr);
	(void)fflush(stderr);
}

void cli_progress(struct cli *cli, bool last, const char *fmt, ...)
{
	static int64_t shown_ns; /* when a line was last printed to something that is no terminal */
	struct str s CLEANUP(str_release) = { 0 };
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	if (cli->progress_tty) {
		show_live(cli, sv_str(&s));
		if (last)
			(void)fputs("\n", stderr);
		cli->progress_lines = last ? 0 : cli->progress_lines;
		return;
	}
	for (char *p = s.p; p && (p = strchr(p, '\n'));)
		*p = ' ';
	if (last || (shown_ns && clock_ns() - shown_ns > 10 * NS_PER_S)) {
		(void)fprintf(stderr, "%s\n", str_text(&s));
		shown_ns = clock_ns();
	} else if (!shown_ns) {
		shown_ns = clock_ns(); /* a log wants no line for what is over at once */
	}
}

const char *cli_self_digest(struct cli *cli)
{
	struct err err = ERR_INIT;
	uint8_t d[SHA256_LEN];

	if (!cli->self_digest) {
		cli->self_digest = xcalloc(1, SHA256_HEX);
		if (sha256_file("/proc/self/exe", d, NULL, &err) == 0)
			hex_of(d, sizeof(d), cli->self_digest);
	}
	return cli->self_digest;
}

/* ---- what a command needs -------------------------------------------------------------------- */

static void cli_release(struct cli *cli)
{
	strs_release(&cli->args);
	strs_release(&cli->more);
	free(cli->contract_path);
	free(cli->dir);
	free(cli->ledger_dir);
	free(cli->contract_text);
	free(cli->who);
	free(cli->machine);
	free(cli->self_digest);
	contract_release(&cli->contract);
	ledger_close(cli->ledger);
}

static void names(struct cli *cli)
{
	char host[256] = "localhost";
	const char *user = getenv("USER");

	(void)gethostname(host, sizeof(host) - 1);
	if (!user || !*user)
		user = getuid() == 0 ? "root" : "user";
	cli->who = xasprintf("%s@%s", user, host);
	cli->machine = xasprintf("twice@%s", host);
}

int cli_load_contract(struct cli *cli, struct err *err)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	size_t n;
	int rc;

	rc = file_read(cli->contract_path, 4 * MIB, &cli->contract_text, &n, err);
	if (rc == -ERR_NOT_FOUND) {
		bail(err, ERR_UNSUPPORTED, "no contract '%s' here", cli->contract_path);
		err_hint(err, "Make one with 'twice init', or name it with --contract FILE.");
		return -ERR_UNSUPPORTED;
	}
	TRY(rc);
	rc = contract_parse((struct sv){ cli->contract_text, n }, cli->contract_path,
			    checks_schemas(), &cli->contract, &bad, err);
	for (size_t i = 1; rc < 0 && i < bad.n; i++) {
		AUTO_FREE char *line = problem_line(cli->contract_path, &bad.v[i]);

		strs_add(&cli->more, line);
	}
	if (rc < 0 && bad.n > 1)
		err->hint[0] = '\0'; /* how many more there are: they are printed */
	return rc;
}

bool cli_has_ledger(const struct cli *cli)
{
	return cli->pg || ledger_exists(cli->ledger_dir);
}

int cli_check_name(const char *option, const char *name, struct err *err)
{
	if (*name && !strpbrk(name, " \t\n\"'#,*?!") && utf8_valid(sv_of(name)))
		return 0;
	(void)bail(err, ERR_USAGE, "--%s: '%s' can't be a name", option, name);
	err_hint(err, "No blanks, quotes or any of # , * ? !: jane@example.org");
	return -ERR_USAGE;
}

/* What an earlier command could not bring to its store. */
static int land_now(struct cli *cli, struct err *err)
{
	struct ledger_conf conf = { .dir = cli->ledger_dir, .pg = cli->pg, .flags = LEDGER_SPOOL };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	CLEANUP(ledger_closep) struct ledger *l = NULL;
	size_t left;

	TRY(ledger_open(&conf, &l, err));
	TRY(ledger_land(l, &left, err));
	if (!left)
		TRY(ledger_checkpoint(l, &cp, err));
	cli_note(cli,
		 left ? "entries of an earlier run still wait in '%s'"
		      : "entries of an earlier run that waited in '%s' have landed",
		 cli->ledger_dir);
	return 0;
}

static int open_ledger(struct cli *cli, unsigned flags, const json_t *policy, struct err *err)
{
	AUTO_FREE char *origin = NULL;
	struct ledger_conf conf = { .dir = cli->ledger_dir,
				    .pg = cli->pg,
				    .by_id = cli->machine,
				    .policy = policy,
				    .now_ms = clock_wall_ms() };
	int rc = cli_has_ledger(cli) ? 0 : -ERR_NOT_FOUND;

	if (cli->pg && ledger_spooled(cli->ledger_dir))
		TRY(land_now(cli, err));

	/* There is none, also when a process was killed while it made one. */
	if (rc == 0 && !(flags & CMD_LEDGER_WRITE)) {
		conf.flags = LEDGER_READONLY;
		rc = ledger_open(&conf, &cli->ledger, err);
	}
	if (rc == -ERR_NOT_FOUND && (flags & CMD_LEDGER_NEED)) {
		bail(err, ERR_UNSUPPORTED, "no ledger in '%s'", cli->ledger_dir);
		err_hint(err, "'twice run' makes one; or name it with --ledger DIR.");
		return -ERR_UNSUPPORTED;
	}
	if (flags & CMD_LEDGER_WRITE) {
		char host[256] = "localhost";

		(void)gethostname(host, sizeof(host) - 1);
		origin = xasprintf("twice.local/%s/%s", host,
				   cli->contract.workload.name ? cli->contract.workload.name
							       : "ledger");
		conf.flags = LEDGER_CREATE | LEDGER_SPOOL;
		conf.origin = origin;
		conf.purpose = "acceptance of AI workloads";
		return ledger_open(&conf, &cli->ledger, err);
	}
	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	return rc;
}

int cli_open_ledger(struct cli *cli, unsigned flags, const json_t *policy, struct err *err)
{
	int rc = open_ledger(cli, flags, policy, err);

	/* What was accepted may have been taken back meanwhile, so no run begins on what this
	 * machine remembers; and nobody signs what they can't see in the log. */
	if (rc == -ERR_IO && cli->pg && !err->hint[0])
		err_hint(err, flags & CMD_LEDGER_WRITE
				      ? "Try again when the server answers: to begin a run, and to "
					"sign, it has to. A run that has begun goes on without it."
				      : "Try again when the server answers.");
	return rc;
}

static int prepare(struct cli *cli, const struct global_conf *g, struct err *err)
{
	AUTO_FREE char *dir = path_dir(g->contract);

	cli->contract_path = xstrdup(g->contract);
	cli->dir = path_real(dir);
	if (!cli->dir)
		cli->dir = xstrdup(dir);
	if (g->ledger &&
	    (str_starts(g->ledger, "postgresql://") || str_starts(g->ledger, "postgres://"))) {
		cli->pg = g->ledger;
		cli->ledger_dir = path_join(cli->dir, ".twice");
	} else {
		cli->ledger_dir = g->ledger ? xstrdup(g->ledger) : path_join(cli->dir, ".twice");
	}
	if (g->as) {
		TRY(cli_check_name("as", g->as, err));
		free(cli->who);
		cli->who = xstrdup(g->as);
		cli->who_given = true;
	}
	if (cli->cmd->flags & CMD_CONTRACT)
		TRY(cli_load_contract(cli, err));
	if (cli->cmd->flags & (CMD_LEDGER_READ | CMD_LEDGER_NEED | CMD_LEDGER_WRITE))
		TRY(cli_open_ledger(cli, cli->cmd->flags, NULL, err));
	return 0;
}

/* ---- the config file: "option = value" and "command.option = value" -------------------------- */

static int read_config(struct pairs *ret, struct err *err)
{
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME"),
		   *set = getenv("TWICE_CONFIG");
	AUTO_FREE char *path = set   ? xstrdup(set)
			       : xdg ? xasprintf("%s/twice/config", xdg)
				     : xasprintf("%s/.config/twice/config", home ? home : "");
	AUTO_FREE char *text = NULL;
	struct sv rest, line;
	size_t n, number = 0;
	int rc = file_read(path, MIB, &text, &n, err);

	/* No such folder either, as with HOME=/dev/null. */
	if ((rc == -ERR_NOT_FOUND || (rc < 0 && err->sys == ENOTDIR)) && !set) {
		err_clear(err);
		return 0;
	}
	if (rc < 0)
		return err_wrap(err, set ? "TWICE_CONFIG" : "config file");
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		struct sv key, value = line;

		number++;
		line = sv_trim(line);
		if (!line.n || line.p[0] == '#')
			continue;
		value = line;
		(void)sv_split(&value, '=', &key);
		if (!value.p)
			return bail(err, ERR_PARSE, "%s:%zu: not of the form 'option = value'",
				    path, number);
		AUTO_FREE char *k = sv_dup(sv_trim(key));
		AUTO_FREE char *v = sv_dup(sv_trim(value));

		pairs_add(ret, k, v);
	}
	return 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static int put(const char *text)
{
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
		if (errno == EPIPE)
			return 0; /* the reader has seen enough */
		(void)fprintf(stderr, "twice: cannot write the output: %s\n", strerror(errno));
		return 74;
	}
	return 0;
}

static const char *meaning(int code)
{
	switch (code) {
	case 0:
		return "yes";
	case 1:
		return "no";
	case 2:
		return "cannot say";
	case 3:
		return "could not run here";
	case 64:
		return "usage";
	case 65:
		return "bad input";
	case 74:
		return "i/o error";
	default:
		return "internal error";
	}
}

static int print_error(struct cli *cli, bool json, const struct err *err)
{
	int code = err_exit_code(err);
	AUTO_FREE char *clean = text_clean(sv_of(err->msg));

	if (cli)
		cli_progress_clear(cli);
	(void)fprintf(stderr, "twice: %s\n", clean);
	for (size_t i = 0; cli && i < cli->more.n; i++)
		(void)fprintf(stderr, "twice: %s\n", cli->more.v[i]);
	if (err->hint[0])
		(void)fprintf(stderr, "hint: %s\n", err->hint);
	if (json) {
		AUTO_JSON json_t *v = json_object(), *e = json_object();
		AUTO_FREE char *text = NULL;

		json_put_str(e, "code", err_code_name(err->code));
		json_put_str(e, "message", err->msg);
		json_put_str(e, "hint", err->hint[0] ? err->hint : NULL);
		json_put_str(v, "schema", "twice.error/1");
		json_put_str(v, "command", cli && cli->cmd ? cli->cmd->name : NULL);
		(void)json_object_set(v, "error", e);
		json_put_int(v, "exit", code);
		json_put_str(v, "meaning", meaning(code));
		text = json_text(v, true);
		(void)put(text);
		(void)put("\n");
	}
	return code;
}

static int print_value(struct cli *cli, const json_t *v)
{
	struct str out CLEANUP(str_release) = { 0 };

	cli_progress_clear(cli);
	if (cli->json) {
		AUTO_FREE char *text = json_text(v, true);

		str_addf(&out, "%s\n", text);
	} else if (cli->cmd->text) {
		cli->cmd->text(v, &out);
	} else {
		str_add(&out, json_str_or(v, "text", ""));
	}
	if (!cli->json && cli->cmd->flags & CMD_PAGED && pager_show(str_text(&out)))
		return 0;
	return put(str_text(&out));
}

static int render(struct cli *cli, const char *path, struct err *err)
{
	AUTO_JSON json_t *v = NULL;
	AUTO_FREE char *text = NULL;
	size_t n;

	TRY(file_read(path, 256 * MIB, &text, &n, err));
	TRY(json_read((struct sv){ text, n }, path, &v, err));
	if (!streq(json_str_or(v, "command", ""), cli->cmd->name))
		return bail(err, ERR_PARSE, "'%s' is no result of 'twice %s'", path,
			    cli->cmd->name);
	cli->json = false;
	(void)print_value(cli, v);
	return (int)json_int_or(v, "exit", 0);
}

static void help(const struct cmd *c, struct str *out)
{
	str_addf(out, "usage: twice %s [options]%s%s\n\n%s\n", c->name, c->args ? " " : "",
		 c->args ? c->args : "", c->help);
	if (c->about)
		str_addf(out, "\n%s\n", c->about);
	if (c->opts && c->opts->name) {
		str_add(out, "\noptions:\n");
		opts_help(c->opts, out);
	}
	str_add(out, "\nfor every command:\n");
	opts_help(global_opts, out);
	str_addf(out,
		 "\nexit codes: 0 yes, 1 no, 2 cannot say, 3 could not run here, 64 usage, 65 bad "
		 "input,\n"
		 "70 a bug, 74 I/O. More: man twice-%s\n",
		 c->name);
}

static void explain(const struct opt_sources *src)
{
	struct str out CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < src->n; i++)
		str_addf(&out, "%-20s %-14s %s\n", src->v[i].name, src->v[i].where,
			 src->v[i].value);
	(void)put(str_text(&out));
}

static int check_args(const struct cli *cli, struct err *err)
{
	const struct cmd *c = cli->cmd;

	if (cli->args.n > c->max_args)
		return bail(err, ERR_USAGE, "unexpected argument '%s'", cli->args.v[c->max_args]);
	if (cli->args.n < c->min_args) {
		bail(err, ERR_USAGE, "'twice %s' needs %s", c->name, c->args);
		err_hint(err, "See 'twice %s --help'.", c->name);
		return -ERR_USAGE;
	}
	return 0;
}

/* ---- one command ----------------------------------------------------------------------------- */

static int run_ready(struct cli *cli, const struct global_conf *g, const void *conf,
		     struct err *err)
{
	AUTO_JSON json_t *v = json_object();
	AUTO_FREE char *schema = xasprintf("twice.%s/1", cli->cmd->name);
	int rc, out;

	if (g->render)
		return render(cli, g->render, err);
	TRY(check_args(cli, err));
	TRY(prepare(cli, g, err));
	json_put_str(v, "schema", schema);
	json_put_str(v, "command", cli->cmd->name);
	rc = cli->cmd->run(cli, conf, v, err);
	if (rc < 0)
		return rc;
	json_put_int(v, "exit", rc);
	json_put_str(v, "meaning", meaning(rc));
	out = print_value(cli, v);
	return out ? out : rc;
}

static bool asks_for_json(const char *const *argv)
{
	for (; *argv; argv++)
		if (streq(*argv, "--json"))
			return true;
	return false;
}

static int run_cmd(struct cli *cli, const char *const *argv)
{
	struct global_conf g = { 0 };
	AUTO_FREE void *conf = xcalloc(1, MAX(cli->cmd->conf_size, (size_t)1));
	struct opt_sources src CLEANUP(opt_sources_release) = { 0 };
	struct pairs file CLEANUP(pairs_release) = { 0 };
	struct opt_input in = {
		.argv = argv, .command = cli->cmd->name, .file = &file, .use_env = true
	};
	struct err err = ERR_INIT;
	const char *term = getenv("TERM");
	int rc = read_config(&file, &err);

	g.json = asks_for_json(argv); /* errors in the options themselves must know it already */
	if (rc == 0)
		rc = opts_parse(&in, global_opts, &g, cli->cmd->opts, conf, &cli->args, &src, &err);
	cli->json = g.json;
	cli->quiet = g.quiet;
	cli->verbose = g.verbose;
	cli->progress_tty = isatty(2) == 1 && !g.quiet && !(term && streq(term, "dumb"));
	if (rc == 0 && g.help) {
		struct str out CLEANUP(str_release) = { 0 };

		help(cli->cmd, &out);
		rc = put(str_text(&out));
	} else if (rc == 0 && g.explain) {
		explain(&src);
	} else if (rc == 0) {
		rc = run_ready(cli, &g, conf, &err);
	}
	if (rc < 0)
		rc = print_error(cli, g.json, &err);
	opts_release(cli->cmd->opts, conf);
	opts_release(global_opts, &g);
	return rc;
}

static int unknown_command(const char *name, bool json)
{
	AUTO_FREE char *clean = text_clean(sv_of(name));
	const char *all[64] = { NULL };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < 63 && cmds[i]; i++)
		all[i] = cmds[i]->name;
	bail(&err, ERR_USAGE,
	     name[0] == '-' ? "no command here, only '%s'" : "unknown command '%s'", clean);
	if (name[0] == '-')
		err_hint(&err, "It is 'twice COMMAND [options]'; 'twice help' lists all commands.");
	else if (nearest_name(name, all))
		err_hint(&err, "Did you mean '%s'? 'twice help' lists all.",
			 nearest_name(name, all));
	else
		err_hint(&err, "'twice help' lists all commands.");
	return print_error(NULL, json, &err);
}

/* How many arguments in front of the command are options of every command, with their values. */
static size_t options_in_front(const char *const *argv)
{
	size_t i = 0;

	while (argv[i] && str_starts(argv[i], "--")) {
		const struct opt *o = global_opts;
		size_t n = strcspn(argv[i] + 2, "=");
		bool value = argv[i][2 + n] == '=';

		while (o->name && (strlen(o->name) != n || memcmp(o->name, argv[i] + 2, n) != 0))
			o++;
		if (!o->name)
			break;
		if (o->arg && !value && !argv[++i])
			break;
		i++;
	}
	return i;
}

int main(int argc, char **argv)
{
	struct cli cli CLEANUP(cli_release) = { 0 };
	const char *const *args = (const char *const *)argv + (argc > 1 ? 1 : argc);
	size_t front = options_in_front(args);
	AUTO_FREE const char **behind = NULL;
	const char *name;

	catch_signals();
	names(&cli);
	if (!args[front])
		front = 0;
	name = args[front] ? args[front] : "help";
	if (streq(name, "--help") || streq(name, "-h"))
		name = "help";
	if (streq(name, "--version") || streq(name, "-V"))
		name = "version";
	cli.cmd = cmd_find(name);
	if (!cli.cmd)
		return unknown_command(name, asks_for_json(args));
	/* `twice --json check` is `twice check --json`. */
	behind = xcalloc((size_t)argc + 1, sizeof(*behind));
	for (size_t i = 0, n = 0; args[i]; i++)
		if (i != front)
			behind[n++] = args[i];
	return run_cmd(&cli, behind);
}
