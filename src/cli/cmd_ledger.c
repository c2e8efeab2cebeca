/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as a thing to look after: where it is, a copy of it, what is kept how long. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include "cli/ledger_keep.h"
#include "cli/signing.h"
#include "cli/text.h"
#include <unistd.h>

static const struct opt ledger_opts[] = {
	OPT(ledger_keep_conf, reason, .name = "reason", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "withhold, expire, correct, anew: why"),
	OPT(ledger_keep_conf, older, .name = "older-than", .arg = "TIME", .type = OPT_TEXT,
	    .help = "expire: evidence of runs before this ('90 days', or 2026-09-01)"),
	OPT(ledger_keep_conf, dry, .name = "dry-run", .type = OPT_FLAG,
	    .help = "expire: say what would go, and do nothing"),
	OPT(ledger_keep_conf, policy, .name = "policy", .arg = "FILE", .type = OPT_TEXT,
	    .help = "anew: the policy, as JSON, where the old one can't be read"),
	OPT(ledger_keep_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "correct: SSH key to sign with (default: ~/.ssh/id_ed25519, else that of "
		    "this ledger)"),
	OPT(ledger_keep_conf, yes, .name = "yes", .type = OPT_FLAG,
	    .help = "don't ask on a terminal"),
	{ 0 },
};

/* A database's address may hold a password. */
static void put_place(json_t *v, const char *member, const char *place)
{
	AUTO_FREE char *clean = redact_text(sv_of(place), NULL);

	json_put_str(v, member, clean);
}

/* ---- status ---- */

static int put_end(struct cli *cli, const char *member, bool newest, json_t *v, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	if (newest) {
		struct ledger_filter f = { 0 };

		TRY(ledger_last(cli->ledger, &f, &e, err));
	} else {
		TRY(ledger_get(cli->ledger, 0, &e, err));
	}
	json_put_str(v, member, e.at);
	return 0;
}

static int status(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	struct ledger_blob_sums sums;
	uint8_t root[SHA256_LEN];
	char hex[SHA256_HEX];
	uint64_t size;

	(void)c;
	TRY(ledger_size(cli->ledger, &size, root, err));
	TRY(ledger_blob_count(cli->ledger, &sums, err));
	hex_of(root, sizeof(root), hex);
	put_place(v, "place", cli->pg ? cli->pg : cli->ledger_dir);
	json_put_str(v, "folder", cli->ledger_dir);
	json_put_str(v, "store", ledger_store_name(cli->ledger));
	json_put_str(v, "origin", ledger_origin(cli->ledger));
	json_put_str(v, "vkey", ledger_vkey(cli->ledger));
	json_put_int(v, "entries", (int64_t)size);
	json_put_str(v, "root", hex);
	if (size) {
		TRY(put_end(cli, "first_at", false, v, err));
		TRY(put_end(cli, "last_at", true, v, err));
	}
	json_put_int(v, "evidence", (int64_t)sums.present);
	json_put_int(v, "evidence_bytes", (int64_t)sums.bytes);
	json_put_int(v, "withheld", (int64_t)sums.withheld);
	json_put_int(v, "expired", (int64_t)sums.expired);
	json_put_bool(v, "waiting", ledger_spooled(cli->ledger_dir));
	return 0;
}

/* ---- copy ---- */

static bool is_database(const char *place)
{
	return str_starts(place, "postgresql://") || str_starts(place, "postgres://");
}

static int copy(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	const char *place = cli->args.v[1];
	struct ledger_conf to = { .dir = is_database(place) ? cli->ledger_dir : place,
				  .pg = is_database(place) ? place : NULL };
	struct ledger *copied CLEANUP(ledger_closep) = NULL;
	uint8_t root[2][SHA256_LEN];
	char hex[SHA256_HEX];
	uint64_t size;

	(void)c;
	if (ledger_spooled(cli->ledger_dir)) {
		(void)bail(err, ERR_CONFLICT, "entries wait beside '%s' for its database",
			   cli->ledger_dir);
		err_hint(err, "Any command that reaches the database lands them; then copy.");
		return -ERR_CONFLICT;
	}
	TRY(ledger_size(cli->ledger, &size, root[0], err));
	cli_note(cli, "copying %llu entries and their evidence", (unsigned long long)size);
	TRY(ledger_move(cli->ledger, &to, err));
	/* What was written is read again by itself. */
	to.flags = LEDGER_READONLY;
	TRY(ledger_open(&to, &copied, err));
	TRY(ledger_size(copied, &size, root[1], err));
	hex_of(root[1], SHA256_LEN, hex);
	put_place(v, "place", place);
	json_put_str(v, "store", ledger_store_name(copied));
	json_put_int(v, "entries", (int64_t)size);
	json_put_str(v, "root", hex);
	return 0;
}

/* ---- anew ---- */

static int policy_for(const struct ledger_keep_conf *c, const char *dir, const json_t *old,
		      json_t **ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t n;

	if (c->policy) {
		TRY(file_read(c->policy, MIB, &text, &n, err));
		return json_read((struct sv){ text, n }, c->policy, ret, err);
	}
	if (old) {
		*ret = json_deep_copy(old);
		return 0;
	}
	(void)bail(err, ERR_UNSUPPORTED, "the policy of '%s' can't be read", dir);
	err_hint(err, "Say which the new ledger gets: --policy FILE (twice-key(1)).");
	return -ERR_UNSUPPORTED;
}

/* A broken ledger is never repaired: it is put aside as it is, and the next names its root. */
static int anew(struct cli *cli, const struct ledger_keep_conf *c, json_t *v, struct err *err)
{
	struct ledger_past past CLEANUP(ledger_past_release) = { 0 };
	AUTO_FREE char *origin = NULL, *day = NULL;
	AUTO_JSON json_t *policy = NULL;
	int64_t now = clock_wall_ms();

	if (cli->pg)
		return bail(err, ERR_UNSUPPORTED,
			    "a ledger in a database is put aside by its "
			    "administrator: rename the schema 'twice'");
	if (!c->reason)
		return bail(err, ERR_USAGE, "why? --reason TEXT is needed");
	TRY(ledger_past_read(cli->ledger_dir, &past, err));
	TRY(policy_for(c, cli->ledger_dir, past.policy, &policy, err));
	TRY(signing_agreed(cli, c->yes, "put the ledger aside and begin a new one", err));
	day = time_utc(now);
	origin = xasprintf("%s/%.19s", past.origin, day);
	TRY(ledger_past_aside(&past, now, err));
	struct ledger_conf conf = { .dir = cli->ledger_dir,
				    .flags = LEDGER_CREATE,
				    .origin = origin,
				    .purpose = c->reason,
				    .policy = policy,
				    .old_root = past.root,
				    .by_id = cli->machine,
				    .now_ms = now };

	if (ledger_open(&conf, &cli->ledger, err) < 0)
		return err_wrap(err, "the old ledger lies in '%s', but no new one began",
				past.aside);
	json_put_str(v, "aside", past.aside);
	json_put_str(v, "old_root", past.root);
	json_put_str(v, "origin", origin);
	return 0;
}

/* ---- */

static int need_ledger(struct cli *cli, unsigned flags, struct err *err)
{
	if (flags == CMD_LEDGER_WRITE && !cli_has_ledger(cli))
		return cli_open_ledger(cli, CMD_LEDGER_NEED, NULL, err); /* says that none is */
	return cli_open_ledger(cli, flags, NULL, err);
}

static int ledger_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	static const struct {
		const char *name, *what; /* what it needs; NULL: nothing */
		unsigned flags;
		int (*run)(struct cli *cli, const struct ledger_keep_conf *c, json_t *v,
			   struct err *err);
	} actions[] = {
		{ "status", NULL, CMD_LEDGER_NEED, status },
		{ "copy", "a folder or postgresql://...", CMD_LEDGER_NEED, copy },
		{ "withhold", "a piece of evidence", CMD_LEDGER_WRITE, ledger_withhold },
		{ "expire", NULL, CMD_LEDGER_WRITE, ledger_expire },
		{ "correct", "an entry", CMD_LEDGER_WRITE, ledger_correct },
		{ "anew", NULL, 0, anew },
	};
	static const char *const names[] = { "status",  "copy", "withhold", "expire",
					     "correct", "anew", NULL };
	const char *action = cli->args.n ? cli->args.v[0] : "status";

	json_put_str(v, "action", action);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (!streq(action, actions[i].name))
			continue;
		if (actions[i].what && cli->args.n < 2)
			return bail(err, ERR_USAGE, "'twice ledger %s' needs %s", action,
				    actions[i].what);
		if (!actions[i].what && cli->args.n > 1)
			return bail(err, ERR_USAGE, "'twice ledger %s' takes no '%s'", action,
				    cli->args.v[1]);
		if (actions[i].flags)
			TRY(need_ledger(cli, actions[i].flags, err));
		return actions[i].run(cli, conf, v, err);
	}
	(void)bail(err, ERR_USAGE, "'twice ledger' has no '%s'", action);
	err_hint_nearest(err, action, names);
	return -ERR_USAGE;
}

/* ---- text ---- */

static void add_size(const json_t *v, const char *member, struct str *out)
{
	AUTO_FREE char *size = text_value(json_object_get(v, member), "bytes");

	str_addf(out, ", %s", size);
}

static void status_text(const json_t *v, struct str *out)
{
	AUTO_FREE char *place = text_clean(sv_of(json_str_or(v, "place", "")));
	AUTO_FREE char *origin = text_clean(sv_of(json_str_or(v, "origin", "")));

	str_addf(out, "%s (%s)\n  log       %s\n", place, json_str_or(v, "store", ""), origin);
	str_addf(out, "  entries   %lld", (long long)json_int_or(v, "entries", 0));
	if (json_str_or(v, "last_at", NULL))
		str_addf(out, ", %.10s to %.10s", json_str_or(v, "first_at", ""),
			 json_str_or(v, "last_at", ""));
	str_addf(out, "\n  root      %s\n  evidence  %lld", json_str_or(v, "root", ""),
		 (long long)json_int_or(v, "evidence", 0));
	add_size(v, "evidence_bytes", out);
	if (json_int_or(v, "withheld", 0) || json_int_or(v, "expired", 0))
		str_addf(out, "; %lld withheld, %lld expired",
			 (long long)json_int_or(v, "withheld", 0),
			 (long long)json_int_or(v, "expired", 0));
	str_addf(out, "\n  key       %s\n", json_str_or(v, "vkey", ""));
	if (json_bool_or(v, "waiting", false))
		str_add(out, "  entries wait for the database\n");
}

static void gone_text(const json_t *v, struct str *out)
{
	const char *action = json_str_or(v, "action", "");
	long long n = (long long)json_int_or(v, "gone", 0),
		  kept = (long long)json_int_or(v, "kept", 0);

	str_addf(out, "%lld piece%s of evidence", n, n == 1 ? "" : "s");
	add_size(v, "bytes", out);
	str_addf(out, "%s%s\n", json_bool_or(v, "dry_run", false) ? ", would be " : ", ",
		 streq(action, "expire") ? "expired" : "withheld");
	if (kept)
		str_addf(out, "  kept: %lld that signed or younger runs rest on\n", kept);
}

static void ledger_text(const json_t *v, struct str *out)
{
	const char *action = json_str_or(v, "action", "");
	AUTO_FREE char *place = text_clean(sv_of(json_str_or(v, "place", "")));
	AUTO_FREE char *aside = text_clean(sv_of(json_str_or(v, "aside", "")));

	if (streq(action, "status")) {
		status_text(v, out);
	} else if (streq(action, "copy")) {
		str_addf(out, "%s: %lld entries, the same root %.16s\n", place,
			 (long long)json_int_or(v, "entries", 0), json_str_or(v, "root", ""));
		str_addf(out, "  go on with one of the two only; with this one: --ledger %s\n",
			 place);
	} else if (streq(action, "anew")) {
		str_addf(out,
			 "the old ledger lies in %s\n  a new one begins, naming its root "
			 "%.16s; add the keys of who may sign: twice key add\n",
			 aside, json_str_or(v, "old_root", ""));
	} else if (streq(action, "correct")) {
		str_addf(out, "entry %lld is said to be wrong\n",
			 (long long)json_int_or(v, "corrects", 0));
		signing_done_text(v, out);
	} else {
		gone_text(v, out);
	}
}

const struct cmd cmd_ledger = {
	.name = "ledger",
	.group = GROUP_PEOPLE,
	.args = "[status|copy PLACE|withhold DIGEST|expire|correct ENTRY|anew]",
	.max_args = 2,
	.help = "look after the ledger: status, copy, retention, corrections",
	.about = "copy: to another folder (a backup, also while runs go on) or into PostgreSQL, or "
		 "back.\n"
		 "withhold, expire: evidence goes, its digest stays; verify says so. correct: says "
		 "that an entry\n"
		 "is wrong. anew: puts a broken ledger aside and begins one that names its root.",
	.opts = ledger_opts,
	.conf_size = sizeof(struct ledger_keep_conf),
	.run = ledger_run,
	.text = ledger_text,
};
