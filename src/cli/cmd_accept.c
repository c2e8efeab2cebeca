/* SPDX-License-Identifier: Apache-2.0 */
/* A person signs: this run is accepted. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/find.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "run/run.h"
#include <unistd.h>

struct accept_conf {
	const char *key, *note;
	bool yes;
};

static const struct opt accept_opts[] = {
	OPT(accept_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "SSH key to sign with (default: ~/.ssh/id_ed25519, else one made for this "
		    "ledger)"),
	OPT(accept_conf, note, .name = "note", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "a note that is signed too"),
	OPT(accept_conf, yes, .name = "yes", .type = OPT_FLAG, .help = "don't ask on a terminal"),
	{ 0 },
};

/* Not after what it rests on. */
static int64_t end_of(const struct cli *cli, const struct waivers *under)
{
	int64_t expires = cli->contract.expires_ns, end = 0;

	if (expires)
		end = clock_wall_ms() + expires / NS_PER_MS;
	for (size_t i = 0; i < under->n; i++)
		if (!end || under->v[i].until_ms < end)
			end = under->v[i].until_ms;
	return end;
}

static json_t *signoff_body(struct cli *cli, const struct ledger_entry *verdict,
			    const struct waivers *under, const char *note)
{
	const json_t *b = verdict->body;
	json_t *o = json_object();

	json_put_str(o, "workload", json_str_or(b, "workload", ""));
	json_put_str(o, "run", json_str_or(b, "run", ""));
	json_put(o, "verdict", json_pack("{s:s}", "digest", verdict->ref.hex));
	json_put(o, "intent", json_incref(json_object_get(b, "intent")));
	json_put(o, "contract", json_incref(json_object_get(b, "contract")));
	json_put(o, "stack", json_incref(json_object_get(b, "stack")));
	json_put_str(o, "stack_digest", json_str_or(b, "stack_digest", ""));
	json_put_str(o, "decision", json_str_or(json_object_get(b, "decision"), "verdict", ""));
	json_put_str(o, "run_by", json_str_or(b, "run_by", NULL));
	json_put(o, "waivers", waivers_refs(under));
	json_put_str(o, "note", note ? note : "");
	json_put_int(o, "expires_at_ms", end_of(cli, under));
	return o;
}

static int may_accept(struct cli *cli, const struct ledger_entry *e, struct err *err)
{
	const json_t *b = e->body, *d = json_object_get(b, "decision");
	const char *code = json_str_or(d, "verdict", "");
	const char *contract = json_str_or(json_object_get(b, "contract"), "digest", "");

	if (!streq(code, "accepted") && !streq(code, "accepted_with_note")) {
		bail(err, ERR_BROKEN, "run %s is %s: it can't be signed as accepted",
		     json_str_or(b, "run", ""), text_verdict_word(code));
		err_hint(err, "'twice why' says what would change that.");
		return -ERR_BROKEN;
	}
	if (!streq(json_str_or(b, "workload", ""), cli->contract.workload.name))
		return bail(err, ERR_UNSUPPORTED,
			    "run %s is of workload '%s', this contract is '%s'",
			    json_str_or(b, "run", ""), json_str_or(b, "workload", ""),
			    cli->contract.workload.name);
	if (!streq(contract, cli->contract.digest)) {
		bail(err, ERR_BROKEN, "the contract has changed since that run");
		err_hint(err, "Run it again under the contract as it is now: 'twice run'.");
		return -ERR_BROKEN;
	}
	return 0;
}

/* The waivers that the verdict rests on; all of them have to be in force still. */
static int read_waivers(struct cli *cli, const struct ledger_entry *e, struct waivers *ret,
			struct err *err)
{
	json_t *refs = json_object_get(e->body, "waivers");
	int64_t now = clock_wall_ms();

	if (!json_array_size(refs))
		return 0;
	TRY(waivers_read(cli->ledger, cli->contract.workload.name, 0, ret, err));
	waivers_keep(ret, refs, now);
	if (ret->n == json_array_size(refs))
		return 0;
	(void)bail(err, ERR_BROKEN, "a waiver that run %s rests on is no longer in force",
		   json_str_or(e->body, "run", ""));
	err_hint(err, "'twice waive list --all' shows them; run it again without it, or waive it "
		      "anew.");
	return -ERR_BROKEN;
}

/* What is different from what was accepted last, whatever the run itself was held against. */
static int difference(struct cli *cli, const struct ledger_entry *e, const struct acceptance *last,
		      json_t *v, struct err *err)
{
	const char *intent = json_str_or(json_object_get(e->body, "intent"), "digest", "");
	struct stack before CLEANUP(stack_release) = { 0 }, now CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };

	if (!last)
		return 0;
	if (run_stack_of(cli->ledger, last->intent, &before, err) < 0 ||
	    run_stack_of(cli->ledger, intent, &now, err) < 0) {
		if (err->code != ERR_MISSING)
			return -(int)err->code;
		json_put_str(v, "changes_unknown", err->msg);
		err_clear(err);
	} else {
		stack_diff(&before, &now, &changes);
	}
	AUTO_FREE char *at = time_utc(last->at_ms);

	json_put(v, "last",
		 json_pack("{s:s, s:s, s:s, s:b}", "run", last->run, "by", last->who, "at", at,
			   "contract_changed",
			   !streq(last->contract_digest, cli->contract.digest)));
	if (!json_object_get(v, "changes_unknown"))
		json_put(v, "changes", changes_to_json(&changes));
	return 0;
}

static void put_waivers(const struct waivers *l, json_t *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, waiver_json(&l->v[i], clock_wall_ms()));
	json_put(v, "waivers", a);
}

static void change_line(const json_t *x, struct str *out)
{
	AUTO_FREE char *before = text_clean(
		sv_of(json_str_or(json_object_get(x, "before"), "version", "(none or unknown)")));
	AUTO_FREE char *after = text_clean(
		sv_of(json_str_or(json_object_get(x, "after"), "version", "(none or unknown)")));

	str_addf(out, "  since then: %s %s %s -> %s\n", json_str_or(x, "layer", ""),
		 json_str_or(x, "name", ""), before, after);
}

static void show_last(const json_t *v, struct str *out)
{
	const json_t *last = json_object_get(v, "last"), *changes = json_object_get(v, "changes");
	size_t other = 0, material = 0;

	if (!last) {
		str_add(out, "  nothing was accepted before\n");
		return;
	}
	AUTO_FREE char *who = text_clean(sv_of(json_str_or(last, "by", "")));

	str_addf(out, "  last accepted: run %s by %s, %.16sZ\n", json_str_or(last, "run", ""), who,
		 json_str_or(last, "at", ""));
	if (json_bool_or(last, "contract_changed", false))
		str_add(out, "  since then: another contract\n");
	if (json_str_or(v, "changes_unknown", NULL)) {
		str_addf(out, "  since then: not known; %s\n",
			 json_str_or(v, "changes_unknown", ""));
		return;
	}
	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *x = json_array_get(changes, i);

		if (!json_bool_or(x, "material", true)) {
			other++;
			continue;
		}
		material++;
		change_line(x, out);
	}
	if (!material)
		str_add(out, "  since then: no change of the stack that matters\n");
	if (other)
		str_addf(out, "  and %zu difference%s that do%s not matter: 'twice diff'\n", other,
			 other == 1 ? "" : "s", other == 1 ? "es" : "");
}

/* Everything that the signature stands for, before it is given. */
static void show(struct cli *cli, const struct ledger_entry *e, const json_t *v, bool asks)
{
	const json_t *under = json_object_get(v, "waivers");
	struct str s CLEANUP(str_release) = { 0 };

	text_verdict(e->body, /* long_form= */ true, &s);
	str_addc(&s, '\n');
	for (size_t i = 0; i < json_array_size(under); i++) {
		const json_t *w = json_array_get(under, i);
		AUTO_FREE char *reason = text_clean(sv_of(json_str_or(w, "reason", "")));

		str_addf(&s, "  under a waiver: %s%s%s until %.16sZ by %s: %s\n",
			 json_str_or(w, "subject", ""), json_str_or(w, "limit", NULL) ? " " : "",
			 json_str_or(w, "limit", ""), json_str_or(w, "until", ""),
			 json_str_or(w, "by", ""), reason);
	}
	show_last(v, &s);
	if (asks)
		(void)fputs(str_text(&s), stderr); /* also with --quiet: it is what is signed */
	else
		cli_note(cli, "%s", str_text(&s));
}

struct pending {
	const char *verdict;
	struct ledger *ledger;
	uint64_t seq;
	char leaf[SHA256_HEX];
};

static int on_signoff(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct pending *p = arg;
	enum ledger_standing standing;

	TRY(ledger_standing(p->ledger, e->ref.seq, &standing, NULL, NULL, err));
	if (standing != LEDGER_PENDING)
		return 0;
	p->seq = e->ref.seq;
	memcpy(p->leaf, e->ref.hex, SHA256_HEX);
	return 1;
}

/* A sign-off of this verdict that waits for more signatures: this one is added to it. */
static int find_pending(struct cli *cli, const char *verdict, struct pending *ret, struct err *err)
{
	static const char *const kinds[] = { "signoff", NULL };
	struct ledger_filter f = {
		.kinds = kinds, .digest = verdict, .rel = "verdict", .newest_first = true
	};

	ret->ledger = cli->ledger;
	return ledger_each(cli->ledger, &f, on_signoff, ret, err);
}

static int sign(struct cli *cli, const struct accept_conf *c, const struct ledger_entry *e,
		const struct waivers *under, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "signoff", NULL };
	struct pending p = { 0 };
	AUTO_FREE char *key = NULL, *holder = NULL;
	AUTO_JSON json_t *body = NULL;
	struct ledger_ref ref;

	TRY(signing_key(cli, c->key, &key, err));
	json_put_str(v, "key", key);
	TRY(find_pending(cli, e->ref.hex, &p, err));
	if (p.seq) {
		if (c->note)
			return bail(err, ERR_USAGE,
				    "--note: entry %llu is signed as it is, with its own note",
				    (unsigned long long)p.seq);
		TRY(signing_more(cli, p.leaf, kinds, key, &ref, err));
	} else {
		TRY(signing_holder(cli, key, "signoff", &holder, err));
		body = signoff_body(cli, e, under, c->note);
		TRY(signing_append(cli, "signoff", body, holder, key, &ref, err));
	}
	json_put_str(v, "signoff", ref.hex);
	return signing_done(cli, &ref, v, err);
}

static int accept_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct accept_conf *c = conf;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct acceptances before CLEANUP(acceptances_release) = { 0 };
	struct acceptances after CLEANUP(acceptances_release) = { 0 };
	struct waivers under CLEANUP(waivers_release) = { 0 };
	bool asks = !c->yes && !cli->json && isatty(0) == 1;
	int rc;

	TRY(find_verdict(cli, cli->args.n ? cli->args.v[0] : NULL, &e, err));
	TRY(may_accept(cli, &e, err));
	TRY(read_waivers(cli, &e, &under, err));
	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &before, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "run", json_str_or(e.body, "run", ""));
	put_waivers(&under, v);
	TRY(difference(cli, &e, acceptance_current(&before, clock_wall_ms()), v, err));
	show(cli, &e, v, asks);
	TRY(signing_agreed(cli, c->yes, "sign this as accepted", err));
	rc = sign(cli, c, &e, &under, v, err);
	if (rc < 0)
		return rc;
	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &after, err));
	json_put_int(v, "times", (int64_t)after.n);
	json_put_bool(v, "proven", acceptances_proven(cli->ledger, &after));
	return rc;
}

static void accept_text(const json_t *v, struct str *out)
{
	str_addf(out, "%s: run %s is signed as accepted%s\n", json_str_or(v, "workload", ""),
		 json_str_or(v, "run", ""),
		 json_bool_or(v, "in_force", false) ? "" : ", but not in force yet");
	if (!json_bool_or(v, "in_force", false)) {
		AUTO_FREE char *why = text_clean(sv_of(json_str_or(v, "why", "")));

		str_addf(out, "  %s\n", why);
	}
	str_addf(out, "  sign-off %.16s, log size %lld, root %.16s\n",
		 json_str_or(v, "signoff", ""), (long long)json_int_or(v, "log_size", 0),
		 json_str_or(v, "log_root", ""));
	if (json_bool_or(v, "proven", false))
		str_add(out, "  proven: accepted on more than one stack, or before and after a "
			     "recovery\n");
}

const struct cmd cmd_accept = {
	.name = "accept",
	.group = GROUP_RUN,
	.args = "[RUN]",
	.max_args = 1,
	.help = "sign a run as accepted (the newest when none is named)",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED | CMD_LEDGER_WRITE,
	.opts = accept_opts,
	.conf_size = sizeof(struct accept_conf),
	.run = accept_run,
	.text = accept_text,
};
