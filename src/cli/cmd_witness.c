/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a witness: who keeps a log honest, and the log that asks to be. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/witness_serve.h"
#include <errno.h>

#define INPUT_MAX (128 * KIB)

struct witness_conf {
	const char *state, *name, *log, *witness, *out, *listen;
	int64_t since;
};

static const struct opt witness_opts[] = {
	OPT(witness_conf, state, .name = "state", .arg = "DIR", .type = OPT_TEXT,
	    .help = "the witness's folder [~/.local/state/twice/witness]"),
	OPT(witness_conf, name, .name = "name", .arg = "NAME", .type = OPT_TEXT,
	    .help = "what a witness that is made now is called, as in witness.example/w1"),
	OPT(witness_conf, log, .name = "log", .arg = "VKEY", .type = OPT_TEXT,
	    .help = "cosign, serve: the log's key, to be trusted from now on"),
	OPT(witness_conf, witness, .name = "witness", .arg = "VKEY", .type = OPT_TEXT,
	    .help = "import, request: the witness's key, to be known from now on"),
	OPT(witness_conf, since, .name = "since", .arg = "SIZE", .type = OPT_NUMBER, .def = "-1",
	    .min = -1, .max = INT64_MAX,
	    .help = "request: entries that the witness has seen [-1: what it cosigned last]"),
	OPT(witness_conf, listen, .name = "listen", .arg = "ADDRESS", .type = OPT_TEXT,
	    .def = "127.0.0.1:8412", .help = "serve: where to wait for requests"),
	OPT(witness_conf, out, .name = "out", .arg = "FILE", .type = OPT_TEXT,
	    .help = "write the request or the cosignature to a file"),
	{ 0 },
};

/* ---- what goes in and out ---- */

static int read_input(const char *path, char **ret, size_t *ret_n, struct err *err)
{
	struct str s CLEANUP(str_release) = { 0 };
	char buf[16 * KIB];
	size_t n;

	if (path && !streq(path, "-"))
		return file_read(path, INPUT_MAX, ret, ret_n, err);
	str_init(&s, INPUT_MAX);
	while ((n = fread(buf, 1, sizeof(buf), stdin)) > 0)
		str_addn(&s, buf, n);
	if (ferror(stdin))
		return bail_sys(err, "cannot read the standard input");
	if (s.over)
		return bail(err, ERR_LIMIT, "the standard input has more than %zu bytes",
			    INPUT_MAX);
	*ret_n = s.n;
	*ret = str_steal(&s);
	return 0;
}

/* The text itself is the output unless a file is named: a pipe can join both sides. */
static int put_output(const struct witness_conf *c, const char *text, json_t *v, struct err *err)
{
	if (!c->out || streq(c->out, "-")) {
		json_put_str(v, "content", text);
		return 0;
	}
	TRY(file_write(c->out, text, strlen(text), 0644, err));
	json_put_str(v, "out", c->out);
	return 0;
}

static void put_time(json_t *v, int64_t time_s)
{
	AUTO_FREE char *text = time_utc(time_s * 1000);

	json_put_str(v, "time", text);
}

/* ---- the witness ---- */

static char *state_dir(const struct witness_conf *c)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (c->state)
		return xstrdup(c->state);
	if (xdg && *xdg)
		return path_join(xdg, "twice/witness");
	return path_join(home ? home : ".", ".local/state/twice/witness");
}

static int open_witness(const struct witness_conf *c, struct ledger_witness **ret, struct err *err)
{
	AUTO_FREE char *dir = state_dir(c);
	int rc = ledger_witness_open(dir, c->name, ret, err);

	if (rc == -ERR_NOT_FOUND) {
		(void)bail(err, ERR_UNSUPPORTED, "no witness in '%s'", dir);
		err_hint(err, "Make one: 'twice witness key --name NAME'.");
		return -ERR_UNSUPPORTED;
	}
	return rc;
}

static int do_key(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	CLEANUP(ledger_witness_closep) struct ledger_witness *w = NULL;

	(void)cli;
	TRY(open_witness(c, &w, err));
	json_put_str(v, "key", ledger_witness_vkey(w));
	return 0;
}

static int do_cosign(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	const char *path = cli->args.n > 1 ? cli->args.v[1] : NULL;
	CLEANUP(ledger_witness_closep) struct ledger_witness *w = NULL;
	struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { 0 };
	struct str request CLEANUP(str_release) = { 0 };
	AUTO_FREE char *text = NULL;
	struct sv given = { 0 };

	TRY(open_witness(c, &w, err));
	if (path && dir_exists(path)) {
		TRY(ledger_witness_request_of(w, path, &request, err));
		given = sv_str(&request);
	} else {
		TRY(read_input(path, &text, &given.n, err));
		given.p = text;
	}
	TRY(ledger_witness_add(w, given, c->log, clock_wall_ms() / 1000, &d, err));
	json_put_str(v, "origin", d.origin);
	json_put_int(v, "size", (int64_t)d.size);
	json_put_int(v, "seen", (int64_t)d.seen);
	json_put_str(v, "root", d.root_hex);
	json_put_bool(v, "cosigned", d.cosigned);
	if (!d.cosigned) {
		cli_note(cli, "'%s' was last seen with %llu entries: ask with --since %llu",
			 d.origin, (unsigned long long)d.seen, (unsigned long long)d.seen);
		return 2;
	}
	put_time(v, d.time_s);
	TRY(put_output(c, d.lines, v, err));
	return 0;
}

static int on_log(void *arg, const struct ledger_witnessed *d, struct err *err)
{
	json_t *o = json_object();

	(void)err;
	json_put_str(o, "origin", d->origin);
	json_put_int(o, "size", (int64_t)d->size);
	json_put_str(o, "root", d->root_hex);
	json_put_int(o, "forks", (int64_t)d->forks);
	put_time(o, d->time_s);
	(void)json_array_append_new(arg, o);
	return 0;
}

static int do_list(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	CLEANUP(ledger_witness_closep) struct ledger_witness *w = NULL;
	json_t *logs = json_array();

	(void)cli;
	json_put(v, "logs", logs);
	TRY(open_witness(c, &w, err));
	return ledger_witness_each(w, on_log, logs, err);
}

static int do_serve(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	CLEANUP(ledger_witness_closep) struct ledger_witness *w = NULL;
	AUTO_FREE char *dir = state_dir(c);
	struct witness_served n = { 0 };

	TRY(open_witness(c, &w, err));
	TRY(witness_serve(cli, w, dir, c->listen, c->log, &n, err));
	json_put_int(v, "requests", (int64_t)n.requests);
	json_put_int(v, "signed", (int64_t)n.cosigned);
	json_put_int(v, "refused", (int64_t)n.refused);
	return 0;
}

/* ---- the log ---- */

static int open_log(struct cli *cli, bool write, struct ledger **ret, struct err *err)
{
	struct ledger_conf conf = { .dir = cli->ledger_dir,
				    .pg = cli->pg,
				    .flags = write ? 0 : LEDGER_READONLY,
				    .by_id = cli->machine,
				    .now_ms = clock_wall_ms() };
	int rc = cli->pg || ledger_exists(cli->ledger_dir) ? ledger_open(&conf, ret, err)
							   : -ERR_NOT_FOUND;

	if (rc == -ERR_NOT_FOUND) {
		(void)bail(err, ERR_UNSUPPORTED, "no ledger in '%s'", cli->ledger_dir);
		err_hint(err, "'twice run' makes one; or name it with --ledger DIR.");
		return -ERR_UNSUPPORTED;
	}
	return rc;
}

static int do_log_key(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	CLEANUP(ledger_closep) struct ledger *l = NULL;

	(void)c;
	TRY(open_log(cli, /* write= */ false, &l, err));
	json_put_str(v, "origin", ledger_origin(l));
	json_put_str(v, "key", ledger_vkey(l));
	return 0;
}

static int do_request(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	CLEANUP(ledger_closep) struct ledger *l = NULL;
	struct sv rest = sv_of(c->witness), part = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	AUTO_FREE char *name = NULL;
	uint64_t since = (uint64_t)c->since;

	TRY(open_log(cli, /* write= */ false, &l, err));
	if (c->witness && sv_split(&rest, '+', &part))
		name = sv_dup(part);
	if (c->since < 0)
		TRY(ledger_cosigned(l, name, &since, err));
	TRY(ledger_witness_request(l, since, &text, err));
	json_put_str(v, "origin", ledger_origin(l));
	json_put_int(v, "since", (int64_t)since);
	return put_output(c, str_text(&text), v, err);
}

static void anchored(const struct ledger_anchored *a, json_t *v)
{
	json_put_str(v, "witness", a->witness);
	json_put_str(v, "path", a->path);
	json_put_int(v, "size", (int64_t)a->size);
	json_put_bool(v, "added", a->added);
	if (a->added)
		json_put_int(v, "seq", (int64_t)a->seq);
	if (a->witness)
		put_time(v, a->time_s);
}

static int do_import(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	struct ledger_new who = { .by_id = cli->machine,
				  .role = "machine",
				  .at_ms = clock_wall_ms() };
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	CLEANUP(ledger_closep) struct ledger *l = NULL;
	AUTO_FREE char *text = NULL;
	size_t n;

	TRY(read_input(cli->args.n > 1 ? cli->args.v[1] : NULL, &text, &n, err));
	TRY(open_log(cli, /* write= */ true, &l, err));
	TRY(ledger_anchor_import(l, (struct sv){ text, n }, c->witness, &who, &a, err));
	anchored(&a, v);
	return 0;
}

static int do_place(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err)
{
	struct ledger_new who = { .by_id = cli->machine,
				  .role = "machine",
				  .at_ms = clock_wall_ms() };
	struct ledger_anchored a CLEANUP(ledger_anchored_release) = { 0 };
	CLEANUP(ledger_closep) struct ledger *l = NULL;

	(void)c;
	if (cli->args.n < 2)
		return bail(err, ERR_USAGE, "'twice witness place' needs a folder or file");
	TRY(open_log(cli, /* write= */ true, &l, err));
	TRY(ledger_anchor_place(l, cli->args.v[1], &who, &a, err));
	anchored(&a, v);
	return 0;
}

/* ---- */

static const struct action {
	const char *name;
	int (*run)(struct cli *cli, const struct witness_conf *c, json_t *v, struct err *err);
	bool takes_file;
} actions[] = {
	{ "cosign", do_cosign, true },    { "import", do_import, true },
	{ "key", do_key, false },         { "list", do_list, false },
	{ "log-key", do_log_key, false }, { "place", do_place, true },
	{ "request", do_request, false }, { "serve", do_serve, false },
};

static int witness_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const char *names[ARRAY_SIZE(actions) + 1] = { NULL };
	const char *name = cli->args.v[0];

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		names[i] = actions[i].name;
		if (!streq(name, actions[i].name))
			continue;
		if (cli->args.n > 1 && !actions[i].takes_file)
			return bail(err, ERR_USAGE, "unexpected argument '%s'", cli->args.v[1]);
		json_put_str(v, "action", name);
		return actions[i].run(cli, conf, v, err);
	}
	(void)bail(err, ERR_USAGE, "no action '%s'", name);
	err_hint_nearest(err, name, names);
	if (!err->hint[0])
		err_hint(err, "cosign, import, key, list, log-key, place, request or serve.");
	return -ERR_USAGE;
}

static void list_text(const json_t *logs, struct str *out)
{
	const json_t *o;
	size_t i;

	json_array_foreach(logs, i, o)
	{
		long long forks = (long long)json_int_or(o, "forks", 0);
		AUTO_FREE char *origin = text_clean(sv_of(json_str_or(o, "origin", "")));

		str_addf(out, "%s  %lld entries, root %.16s, cosigned %s", origin,
			 (long long)json_int_or(o, "size", 0), json_str_or(o, "root", ""),
			 json_str_or(o, "time", ""));
		if (forks)
			str_addf(out, ", %lld forks refused", forks);
		str_addc(out, '\n');
	}
	if (!i)
		str_add(out, "no log was cosigned yet\n");
}

static void anchored_text(const json_t *v, struct str *out)
{
	AUTO_FREE char *path = text_clean(sv_of(json_str_or(v, "path", "")));
	AUTO_FREE char *who = text_clean(sv_of(json_str_or(v, "witness", "")));

	str_addf(out, "%lld entries %s%s, in %s%s\n", (long long)json_int_or(v, "size", 0),
		 *who ? "cosigned by " : "placed", who, path,
		 json_bool_or(v, "added", false) ? "" : " (known before)");
}

static void witness_text(const json_t *v, struct str *out)
{
	const char *content = json_str_or(v, "content", NULL), *file = json_str_or(v, "out", NULL);
	const char *action = json_str_or(v, "action", "");

	if (content) {
		str_add(out, content);
	} else if (file) {
		AUTO_FREE char *clean = text_clean(sv_of(file));

		str_addf(out, "written to %s\n", clean);
	} else if (json_object_get(v, "key")) {
		str_addf(out, "%s\n", json_str_or(v, "key", ""));
	} else if (streq(action, "serve")) {
		str_addf(out, "%lld requests, %lld cosigned, %lld refused\n",
			 (long long)json_int_or(v, "requests", 0),
			 (long long)json_int_or(v, "signed", 0),
			 (long long)json_int_or(v, "refused", 0));
	} else if (streq(action, "list")) {
		list_text(json_object_get(v, "logs"), out);
	} else if (streq(action, "cosign")) {
		str_addf(out, "not cosigned: the request does not begin at %lld entries\n",
			 (long long)json_int_or(v, "seen", 0));
	} else {
		anchored_text(v, out);
	}
}

const struct cmd cmd_witness = {
	.name = "witness",
	.group = GROUP_READ,
	.args = "ACTION [FILE]",
	.min_args = 1,
	.max_args = 2,
	.help = "have the ledger's head cosigned elsewhere, or cosign one",
	.about = "ACTION, where the ledger is:\n"
		 "  request      ask a witness (C2SP tlog-witness add-checkpoint)\n"
		 "  import FILE  what it answered: kept, and known to 'twice verify'\n"
		 "  place DIR    copy the newest checkpoint to another folder\n"
		 "  log-key      print the ledger's key\n"
		 "and on the witness's machine:\n"
		 "  key          print the witness's key; --name makes a new one\n"
		 "  cosign FILE  a request, or the folder of a log; - or nothing: standard input\n"
		 "  list         the logs it has seen\n"
		 "  serve        answer requests over HTTP (C2SP tlog-witness)",
	.opts = witness_opts,
	.conf_size = sizeof(struct witness_conf),
	.run = witness_run,
	.text = witness_text,
};
