/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line. A command is one file with one `struct cmd` and one line in cmds.c.
 *
 * A command makes ONE value (a json_t object); text is printed from that value by the command's
 * `text` function, --json prints the value itself, so the two can't disagree (and --render FILE
 * prints a saved value as text, which the tests use to prove it).
 *
 *	static int check_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
 *	{
 *		... json_put_str(v, "state", "accepted") ...
 *		return 0;                 the exit code 0..3, or -ERR_...
 *	}
 *	const struct cmd cmd_check = {
 *		.name = "check", .group = GROUP_RUN, .help = "is this stack still the accepted
 * 		one?",
 *		.flags = CMD_CONTRACT | CMD_LEDGER_READ, .opts = check_opts,
 *		.conf_size = sizeof(struct check_conf), .run = check_run, .text = check_text,
 *	};
 *
 * Flags say what is ready before `run` is called: cli->contract, cli->ledger.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "contract/contract.h"
#include "ledger/ledger.h"

struct err;

/* ---- options ----------------------------------------------------------------------------------
 * */

enum opt_type { OPT_FLAG, OPT_TEXT, OPT_NUMBER, OPT_TIME, OPT_CHOICE, OPT_LIST };

struct opt {
	const char *name;   /* without the dashes */
	const char *arg;    /* name of its value in --help; NULL for flags */
	enum opt_type type; /* bool, const char *, int64_t, int64_t ns, int (index), struct strs */
	size_t at;          /* offset in the command's conf */
	bool need;
	const char *def;            /* as it would be written; NULL: zero */
	int64_t min, max;           /* OPT_NUMBER, OPT_TIME when max > min */
	const char *const *choices; /* OPT_CHOICE: NULL-ended */
	const char *help;
};

#define OPT(s, m, ...)                                                                             \
	{                                                                                          \
		.at = offsetof(struct s, m), __VA_ARGS__                                           \
	}

/* ---- commands ---------------------------------------------------------------------------------
 * */

enum cmd_group { GROUP_RUN, GROUP_READ, GROUP_PEOPLE, GROUP_RECOVER, GROUP_TOOL, GROUP_N };

enum cmd_flags {
	CMD_CONTRACT = 1 << 0,     /* reads twice.yaml into cli->contract */
	CMD_LEDGER_READ = 1 << 1,  /* cli->ledger, NULL when there is none yet */
	CMD_LEDGER_NEED = 1 << 2,  /* ... and it must be there */
	CMD_LEDGER_WRITE = 1 << 3, /* made when it is not there */
	CMD_PAGED = 1 << 4,        /* long text goes through a pager on a terminal */
};

struct cli;
struct cmd {
	const char *name;
	enum cmd_group group;
	const char *args; /* positionals in --help: "RUN", "[FILE...]"; NULL: none allowed */
	unsigned min_args, max_args;
	const char *help;  /* one line */
	const char *about; /* more, for --help */
	unsigned flags;
	const struct opt *opts; /* ends with { 0 }; NULL: none */
	size_t conf_size;
	/* 0..3, or -ERR_... */
	int (*run)(struct cli *cli, const void *conf, json_t *value, struct err *err);
	/* NULL: the command writes its own text (completion, help) into value's "text" */
	void (*text)(const json_t *value, struct str *out);
};
extern const struct cmd *const cmds[]; /* sorted, NULL-ended */
const struct cmd *cmd_find(const char *name);

struct cli {
	const struct cmd *cmd;
	struct strs args; /* positionals */
	bool json, quiet, verbose;
	bool progress_tty;         /* stderr is a terminal: progress may rewrite its lines */
	unsigned progress_lines;   /* live lines on it now */
	char *contract_path, *dir; /* dir: the contract's folder, absolute */
	char *ledger_dir;
	const char *pg; /* postgresql://... given as --ledger; NULL: SQLite in ledger_dir */
	struct contract contract;
	char *contract_text;
	struct ledger *ledger;
	char *who;         /* "user@host" for entries by people, or what --as says */
	bool who_given;    /* by --as */
	char *machine;     /* "twice@host" for entries by the tool */
	char *self_digest; /* SHA-256 of the running binary; NULL until asked: cli_self_digest() */
	struct strs more;  /* lines that follow the error's own on stderr */
};

/* Set by SIGINT and SIGTERM (its number); commands pass it on as `cancel`. */
extern volatile int cli_cancel;

/* A note, progress or warning on stderr, unless --quiet (warnings always). */
void cli_note(const struct cli *cli, const char *fmt, ...) PRINTF(2, 3);
void cli_warn(const char *fmt, ...) PRINTF(1, 2);
/* Live lines: rewritten on a terminal; elsewhere one line at most every 10 s (or when `last`). */
void cli_progress(struct cli *cli, bool last, const char *fmt, ...) PRINTF(3, 4);
/* Takes the live lines off the terminal; before anything else is printed. */
void cli_progress_clear(struct cli *cli);
/* Reads cli->contract_path into cli->contract; for commands that want it only when it is there. */
int cli_load_contract(struct cli *cli, struct err *err) MUST_USE;
/* For commands that need the ledger in some cases only: `flags` as in struct cmd; policy (may be
 * NULL) is that of a ledger which is made. */
int cli_open_ledger(struct cli *cli, unsigned flags, const json_t *policy,
		    struct err *err) MUST_USE;
bool cli_has_ledger(const struct cli *cli); /* there is something at its place */
/* Names of people stand in files of other tools too: no blanks, quotes or wildcards. */
int cli_check_name(const char *option, const char *name, struct err *err) MUST_USE;
const char *cli_self_digest(struct cli *cli); /* "" when it can't be read */
#define TWICE_VERSION TWICE_VERSION_STRING

/* ---- parsing (opts.c), used by main.c and the tests ------------------------------------------ */

/* Where a value came from, for --explain-config. */
struct opt_source {
	const char *name, *where;
	char *value;
};
struct opt_sources {
	struct opt_source *v;
	size_t n, room;
};
void opt_sources_release(struct opt_sources *l);
struct opt_input {
	const char *const *argv; /* after the command's name; NULL-ended */
	const char *command;
	const struct pairs *file; /* "name" or "command.name" = value; NULL: none */
	bool use_env;
};
/* Options of both tables; positionals go to ret_args. conf and global are zeroed before. */
int opts_parse(const struct opt_input *in, const struct opt *global, void *global_conf,
	       const struct opt *opts, void *conf, struct strs *ret_args,
	       struct opt_sources *ret_sources, struct err *err) MUST_USE;
void opts_release(const struct opt *opts, void *conf);
void opts_help(const struct opt *opts, struct str *out);
json_t *opts_to_json(const struct opt *opts);
extern const struct opt global_opts[];
struct global_conf {
	bool json, quiet, verbose, help, explain;
	const char *contract, *ledger, *as, *render;
};
