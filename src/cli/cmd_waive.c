/* SPDX-License-Identifier: Apache-2.0 */
/* An exception with a reason, an owner and an end. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/find.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "cli/when.h"
#include "run/run.h"

struct waive_conf {
	const char *reason, *owner, *until, *limit, *run, *key;
	bool all, yes;
};

static const struct opt waive_opts[] = {
	OPT(waive_conf, reason, .name = "reason", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "why; of revoke too"),
	OPT(waive_conf, owner, .name = "owner", .arg = "NAME", .type = OPT_TEXT,
	    .help = "who sees to it that it is not needed any more"),
	OPT(waive_conf, until, .name = "until", .arg = "TIME", .type = OPT_TEXT,
	    .help = "when it ends (2026-12-24, or '14 days')"),
	OPT(waive_conf, limit, .name = "limit", .arg = "LIMIT", .type = OPT_TEXT,
	    .help = "of an objective: the limit meanwhile, as '<= 300 ms'"),
	OPT(waive_conf, run, .name = "run", .arg = "RUN", .type = OPT_TEXT,
	    .help = "the run that showed it (default: the newest)"),
	OPT(waive_conf, all, .name = "all", .type = OPT_FLAG,
	    .help = "list: those that have ended too"),
	OPT(waive_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "SSH key to sign with (default: ~/.ssh/id_ed25519, else that of this ledger)"),
	OPT(waive_conf, yes, .name = "yes", .type = OPT_FLAG, .help = "don't ask on a terminal"),
	{ 0 },
};

static int list(struct cli *cli, const struct waive_conf *c, json_t *v, struct err *err)
{
	struct waivers l CLEANUP(waivers_release) = { 0 };
	int64_t now = clock_wall_ms();
	json_t *a = json_array();

	json_put(v, "waivers", a);
	TRY(waivers_read(cli->ledger, cli->contract.workload.name, 0, &l, err));
	for (size_t i = 0; i < l.n; i++) {
		enum waiver_state s = waiver_state(&l.v[i], now);

		if (c->all || (s != WAIVER_EXPIRED && s != WAIVER_REVOKED))
			(void)json_array_append_new(a, waiver_json(&l.v[i], now));
	}
	return 0;
}

static int sign(struct cli *cli, const struct waive_conf *c, const char *kind, const json_t *body,
		json_t *v, struct err *err)
{
	AUTO_FREE char *key = NULL, *holder = NULL, *text = json_text(body, true);
	AUTO_FREE char *shown = text_clean_lines(text);
	struct ledger_ref ref;

	TRY(signing_key(cli, c->key, &key, err));
	cli_note(cli, "%s %s", kind, shown);
	TRY(signing_agreed(cli, c->yes, "sign this", err));
	TRY(signing_holder(cli, key, kind, &holder, err));
	TRY(signing_append(cli, kind, body, holder, key, &ref, err));
	return signing_done(cli, &ref, v, err);
}

static int needed(const char *what, const char *given, struct err *err)
{
	if (given && *given)
		return 0;
	return bail(err, ERR_USAGE, "a waiver needs --%s", what);
}

static int saw(struct cli *cli, const char *run, json_t *body, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	if (find_verdict(cli, run, &e, err) < 0) {
		if (run)
			return -(int)err->code;
		err_clear(err); /* before the first run there is none to refer to */
		return 0;
	}
	if (!streq(json_str_or(e.body, "workload", ""), cli->contract.workload.name))
		return bail(err, ERR_UNSUPPORTED, "run %s is of workload '%s'",
			    json_str_or(e.body, "run", ""), json_str_or(e.body, "workload", ""));
	json_put_str(body, "run", json_str_or(e.body, "run", ""));
	json_put(body, "verdict", json_pack("{s:s}", "digest", e.ref.hex));
	return 0;
}

static int make(struct cli *cli, const struct waive_conf *c, json_t *v, struct err *err)
{
	const char *subject = cli->args.v[0];
	int64_t now = clock_wall_ms(), until;
	AUTO_JSON json_t *body = json_object();
	AUTO_FREE char *end = NULL;

	TRY(needed("reason", c->reason, err));
	TRY(needed("owner", c->owner, err));
	TRY(needed("until", c->until, err));
	TRY(when_parse("until", c->until, WHEN_AHEAD, /* end_of_day= */ true, now, &until, err));
	if (until <= now)
		return bail(err, ERR_USAGE, "--until '%s' is over already", c->until);
	TRY(waiver_valid(&cli->contract, subject, c->limit, err));
	end = time_utc(until);
	json_put_str(body, "workload", cli->contract.workload.name);
	json_put_str(body, "subject", subject);
	json_put_str(body, "limit", c->limit);
	json_put_str(body, "reason", c->reason);
	json_put_str(body, "owner", c->owner);
	json_put_int(body, "expires_at_ms", until);
	json_put(body, "contract", json_pack("{s:s}", "digest", cli->contract.digest));
	TRY(saw(cli, c->run, body, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "subject", subject);
	json_put_str(v, "limit", c->limit);
	json_put_str(v, "owner", c->owner);
	json_put_str(v, "until", end);
	return sign(cli, c, "waiver", body, v, err);
}

static int take_back(struct cli *cli, const struct waive_conf *c, json_t *v, struct err *err)
{
	struct waivers l CLEANUP(waivers_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_JSON json_t *body = json_object();

	TRY(needed("reason", c->reason, err));
	TRY(ledger_find(cli->ledger, cli->args.v[1], &e, err));
	if (!streq(e.kind, "waiver"))
		return bail(err, ERR_UNSUPPORTED, "entry %llu is no waiver",
			    (unsigned long long)e.ref.seq);
	TRY(waivers_read(cli->ledger, cli->contract.workload.name, 0, &l, err));
	for (size_t i = 0; i < l.n; i++)
		if (l.v[i].seq == e.ref.seq && l.v[i].revoked)
			return bail(err, ERR_UNSUPPORTED, "entry %llu took it back already",
				    (unsigned long long)l.v[i].revoked);
	json_put_str(body, "workload", json_str_or(e.body, "workload", ""));
	json_put_str(body, "subject", json_str_or(e.body, "subject", ""));
	json_put(body, "waiver", json_pack("{s:s}", "digest", e.ref.hex));
	json_put_str(body, "reason", c->reason);
	json_put_str(v, "workload", json_str_or(e.body, "workload", ""));
	json_put_str(v, "subject", json_str_or(e.body, "subject", ""));
	return sign(cli, c, "waiver.revoke", body, v, err);
}

static int more(struct cli *cli, const struct waive_conf *c, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "waiver", "waiver.revoke", NULL };
	AUTO_FREE char *key = NULL;
	struct ledger_ref ref;

	TRY(signing_key(cli, c->key, &key, err));
	TRY(signing_more(cli, cli->args.v[1], kinds, key, &ref, err));
	return signing_done(cli, &ref, v, err);
}

static int waive_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const char *action = cli->args.n ? cli->args.v[0] : "list";
	bool revokes = streq(action, "revoke"), signs = streq(action, "sign");

	if ((revokes || signs) && cli->args.n < 2)
		return bail(err, ERR_USAGE, "'twice waive %s' needs an entry", action);
	if (!revokes && !signs && cli->args.n > 1)
		return bail(err, ERR_USAGE, "unexpected argument '%s'", cli->args.v[1]);
	if (streq(action, "list")) {
		json_put_str(v, "action", action);
		TRY(cli_open_ledger(cli, CMD_LEDGER_NEED, NULL, err));
		return list(cli, conf, v, err);
	}
	json_put_str(v, "action", revokes || signs ? action : "waive");
	TRY(cli_open_ledger(cli, CMD_LEDGER_WRITE, NULL, err));
	return revokes ? take_back(cli, conf, v, err)
	       : signs ? more(cli, conf, v, err)
		       : make(cli, conf, v, err);
}

static void waive_text(const json_t *v, struct str *out)
{
	const json_t *a = json_object_get(v, "waivers");
	const char *action = json_str_or(v, "action", "");

	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *w = json_array_get(a, i);
		AUTO_FREE char *reason = text_clean(sv_of(json_str_or(w, "reason", "")));
		AUTO_FREE char *owner = text_clean(sv_of(json_str_or(w, "owner", "")));

		str_addf(out, "%5lld  %-10s until %.16sZ  %s%s%s (owner %s): %s\n",
			 (long long)json_int_or(w, "seq", 0), json_str_or(w, "state", ""),
			 json_str_or(w, "until", "(no end)"), json_str_or(w, "subject", ""),
			 json_str_or(w, "limit", NULL) ? " " : "", json_str_or(w, "limit", ""),
			 owner, reason);
	}
	if (streq(action, "list")) {
		if (!json_array_size(a))
			str_add(out, "nothing is waived\n");
		return;
	}
	if (streq(action, "waive"))
		str_addf(out, "%s: %s%s%s is waived until %.16sZ\n", json_str_or(v, "workload", ""),
			 json_str_or(v, "subject", ""), json_str_or(v, "limit", NULL) ? " " : "",
			 json_str_or(v, "limit", ""), json_str_or(v, "until", ""));
	else if (streq(action, "revoke"))
		str_addf(out, "%s: the waiver of %s is taken back\n",
			 json_str_or(v, "workload", ""), json_str_or(v, "subject", ""));
	else
		str_add(out, "signed\n");
	signing_done_text(v, out);
}

const struct cmd cmd_waive = {
	.name = "waive",
	.group = GROUP_PEOPLE,
	.args = "[list|SUBJECT|revoke ENTRY|sign ENTRY]",
	.max_args = 2,
	.help = "make an exception, with a reason, an owner and an end",
	.about = "SUBJECT is a check (hardware/gpus), an objective (ttft.p50, with --limit), or a "
		 "pin (pin/driver).\n"
		 "What is accepted under a waiver is accepted no longer when the waiver ends or is "
		 "taken back.",
	.flags = CMD_CONTRACT,
	.opts = waive_opts,
	.conf_size = sizeof(struct waive_conf),
	.run = waive_run,
	.text = waive_text,
};
