/* SPDX-License-Identifier: Apache-2.0 */
/* One run as the value that the room report takes, collected from the ledger. */
#include "cli/reporting.h"

#include "base/err.h"
#include "cli/searched.h"
#include "report/report.h"
#include "run/run.h"

#define SOURCE_LIMIT (4 * MIB)

/* Collecting: the value, and its list of evidence, which grows with each part. */
struct collecting {
	struct ledger *ledger;
	json_t *v, *evidence;
};

static const char *digest_in(const json_t *o, const char *key)
{
	return json_str_or(json_object_get(o, key), "digest", NULL);
}

static void add_evidence(struct collecting *c, const json_t *list, const char *of)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *e = json_copy(json_array_get(list, i));

		json_put_str(e, "of", of);
		(void)json_array_append_new(c->evidence, e);
	}
}

/* One blob that an entry refers to, as evidence. */
static void add_blob(struct collecting *c, const json_t *blob, const char *label, const char *of)
{
	AUTO_JSON json_t *list = json_array();
	json_t *e = blob ? json_copy((json_t *)blob) : NULL;

	if (!e)
		return;
	json_put_str(e, "label", label);
	(void)json_array_append_new(list, e);
	add_evidence(c, list, of);
}

static int find(struct collecting *c, const char *hex, const char *what, struct ledger_entry *ret,
		struct err *err)
{
	if (!hex || ledger_find(c->ledger, hex, ret, err) < 0)
		return hex ? err_wrap(err, "%s", what)
			   : bail(err, ERR_BROKEN, "%s is not named", what);
	return 0;
}

/* A repetition's entry: a result, or run.abandon when it never ended. */
static int add_rep(struct collecting *c, json_t *to, const char *hex, const char *of,
		   struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	json_t *r;

	TRY(find(c, hex, of, &e, err));
	r = json_copy(e.body);
	if (streq(e.kind, "run.abandon"))
		json_put_str(r, "state", "excluded");
	json_put_str(r, "leaf", e.ref.hex);
	json_put_int(r, "seq", (int64_t)e.ref.seq);
	(void)json_array_append_new(to, r);
	add_evidence(c, json_object_get(r, "evidence"), of);
	return 0;
}

static int add_reps(struct collecting *c, const char *key, const json_t *refs, const char *word,
		    struct err *err)
{
	json_t *a = json_array();

	json_put(c->v, key, a);
	for (size_t i = 0; i < json_array_size(refs); i++) {
		AUTO_FREE char *of = xasprintf("%s %zu", word, i + 1);

		TRY(add_rep(c, a, json_str_or(json_array_get(refs, i), "digest", NULL), of, err));
	}
	return 0;
}

static int add_checks(struct collecting *c, const json_t *refs, struct err *err)
{
	json_t *a = json_array();

	json_put(c->v, "checks", a);
	for (size_t i = 0; i < json_array_size(refs); i++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		const json_t *list;

		TRY(find(c, json_str_or(json_array_get(refs, i), "digest", NULL), "the checks", &e,
			 err));
		list = json_object_get(e.body, "outcomes");
		(void)json_array_extend(a, (json_t *)list);
		for (size_t k = 0; k < json_array_size(list); k++) {
			const json_t *o = json_array_get(list, k);

			add_evidence(c, json_object_get(o, "evidence"),
				     json_str_or(o, "check", ""));
		}
	}
	return 0;
}

static int on_result(void *arg, const struct ledger_entry *e, struct err *err)
{
	json_t *times = arg;

	(void)err;
	if (!streq(json_str_or(e->body, "scope", ""), "run"))
		return 0;
	json_put_str(times, "ended", e->at);
	json_put(times, "took_ns", json_incref(json_object_get(e->body, "took_ns")));
	json_put(times, "state", json_incref(json_object_get(e->body, "state")));
	return 1;
}

static int add_times(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	static const char *const kinds[] = { "run.result", NULL };
	struct ledger_filter f = { .kinds = kinds,
				   .digest = intent->ref.hex,
				   .newest_first = true };
	json_t *times = json_object();

	json_put(c->v, "times", times);
	json_put_str(times, "begun", intent->at);
	return ledger_each(c->ledger, &f, on_result, times, err);
}

/* The text that was judged, unless its bytes were withheld. */
static int add_contract(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *text = NULL;
	json_t *o = json_object();
	const char *source;
	size_t n;
	int rc;

	json_put(c->v, "contract", o);
	json_put_str(o, "digest", digest_in(intent->body, "contract"));
	TRY(find(c, digest_in(intent->body, "contract_entry"), "the contract's entry", &e, err));
	add_blob(c, json_object_get(e.body, "source"), "contract as written", "contract");
	add_blob(c, json_object_get(e.body, "contract"), "contract, canonical", "contract");
	source = digest_in(e.body, "source");
	json_put_str(o, "source_digest", source);
	if (!source)
		return 0;
	rc = ledger_blob_get(c->ledger, source, SOURCE_LIMIT, &text, &n, err);
	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	json_put_str(o, "source", text);
	return 0;
}

static int add_stack(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct stack s CLEANUP(stack_release) = { 0 };
	struct err lost = ERR_INIT;
	json_t *o = json_object();
	int rc;

	json_put(c->v, "stack", o);
	json_put_str(o, "digest", json_str_or(intent->body, "stack_digest", NULL));
	TRY(find(c, digest_in(intent->body, "stack"), "the stack's entry", &e, err));
	add_blob(c, json_object_get(e.body, "components"), "components", "stack");
	rc = run_stack_of(c->ledger, intent->ref.hex, &s, &lost);
	if (rc < 0 && rc != -ERR_MISSING) {
		*err = lost;
		return rc;
	}
	if (rc == 0)
		json_put(o, "components", stack_to_json(&s));
	return 0;
}

static int add_accepted(struct collecting *c, const json_t *body, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const char *hex = digest_in(body, "accepted");
	json_t *o;

	if (!hex)
		return 0;
	TRY(find(c, hex, "the accepted run's sign-off", &e, err));
	o = json_object();
	json_put(c->v, "accepted", o);
	json_put_str(o, "run", json_str_or(e.body, "run", NULL));
	json_put_str(o, "note", json_str_or(e.body, "note", NULL));
	json_put_str(o, "stack_digest", json_str_or(e.body, "stack_digest", NULL));
	json_put_str(o, "leaf", e.ref.hex);
	json_put_str(o, "by", e.by_id);
	json_put_str(o, "at", e.at);
	return 0;
}

static int on_signoff(void *arg, const struct ledger_entry *e, struct err *err)
{
	json_t *a = arg, *o = json_object();

	(void)err;
	json_put_str(o, "leaf", e->ref.hex);
	json_put_int(o, "seq", (int64_t)e->ref.seq);
	json_put_str(o, "by", e->by_id);
	json_put_str(o, "at", e->at);
	json_put_str(o, "note", json_str_or(e->body, "note", NULL));
	json_put_int(o, "expires_at_ms", json_int_or(e->body, "expires_at_ms", 0));
	(void)json_array_append_new(a, o);
	return 0;
}

static int add_signoffs(struct collecting *c, const struct ledger_entry *verdict, struct err *err)
{
	static const char *const kinds[] = { "signoff", NULL };
	static const char *const standings[] = { REPORT_IN_FORCE, "pending", "not signed",
						 "no policy asks for it" };
	struct ledger_filter f = { .kinds = kinds,
				   .digest = verdict->ref.hex,
				   .newest_first = true };
	json_t *a = json_array();

	json_put(c->v, "signoffs", a);
	TRY(ledger_each(c->ledger, &f, on_signoff, a, err));
	for (size_t i = 0; i < json_array_size(a); i++) {
		json_t *o = json_array_get(a, i), *holders = json_array();
		struct strs names CLEANUP(strs_release) = { 0 };
		struct str why CLEANUP(str_release) = { 0 };
		enum ledger_standing s;

		json_put(o, "holders", holders);
		TRY(ledger_standing(c->ledger, (uint64_t)json_int_or(o, "seq", 0), &s, &names, &why,
				    err));
		json_put_str(o, "standing", standings[s]);
		json_put_str(o, "why", why.n ? str_text(&why) : NULL);
		for (size_t k = 0; k < names.n; k++)
			json_put_line(holders, "%s", names.v[k]);
	}
	return 0;
}

static int add_log(struct collecting *c, struct err *err)
{
	uint8_t root[SHA256_LEN];
	char hex[SHA256_HEX];
	json_t *o = json_object();
	uint64_t size;

	json_put(c->v, "log", o);
	TRY(ledger_size(c->ledger, &size, root, err));
	hex_of(root, SHA256_LEN, hex);
	json_put_str(o, "origin", ledger_origin(c->ledger));
	json_put_str(o, "key", ledger_vkey(c->ledger));
	json_put_str(o, "root", hex);
	json_put_int(o, "size", (int64_t)size);
	return 0;
}

/* What the entries name and is not there (any more): said, since nobody else would miss it. */
static int add_lost(struct collecting *c, struct err *err)
{
	json_int_t lost = 0;
	json_t *e;
	size_t i;

	json_array_foreach(c->evidence, i, e)
	{
		const char *state;

		TRY(ledger_blob_state(c->ledger, json_str_or(e, "digest", ""), &state, err));
		if (streq(state, "present"))
			continue;
		json_put_str(e, "state", state);
		lost++;
	}
	json_put_int(c->v, "evidence_lost", lost);
	return 0;
}

void reporting_lost_text(const json_t *v, struct str *out)
{
	json_int_t lost = json_int_or(v, "evidence_lost", 0);

	if (lost)
		str_addf(out,
			 "  evidence: %lld piece%s of it not there any more; 'twice verify "
			 "--all' says which\n",
			 (long long)lost, lost == 1 ? " is" : "s are");
}

int reporting_lost(struct cli *cli, const struct ledger_entry *verdict, json_t *v, struct err *err)
{
	AUTO_JSON json_t *report = json_object();

	TRY(reporting_value(cli, verdict, report, err));
	json_put(v, "evidence_lost", json_incref(json_object_get(report, "evidence_lost")));
	return 0;
}

static int collect(struct collecting *c, const struct ledger_entry *verdict, struct err *err)
{
	struct ledger_entry intent CLEANUP(ledger_entry_release) = { 0 };
	const json_t *body = verdict->body, *bank;
	json_t *o = json_object();

	json_put_str(o, "leaf", verdict->ref.hex);
	json_put_int(o, "seq", (int64_t)verdict->ref.seq);
	json_put_str(o, "at", verdict->at);
	json_put_str(o, "by", verdict->by_id);
	json_put(c->v, "entry", o);
	json_put(c->v, "verdict", json_incref(verdict->body));
	json_put_str(c->v, "tool_version", TWICE_VERSION);
	TRY(find(c, digest_in(body, "intent"), "the run's announcement", &intent, err));
	TRY(add_times(c, &intent, err));
	TRY(add_checks(c, json_object_get(body, "checks"), err));
	TRY(add_reps(c, "reps", json_object_get(body, "reps"), "repetition", err));
	TRY(add_contract(c, &intent, err));
	TRY(add_stack(c, &intent, err));
	/* Of arms that alternated the verdict names both. */
	bank = json_object_get(json_object_get(body, "bank") ? body : intent.body, "bank");
	TRY(add_reps(c, "bank", bank, "accepted repetition", err));
	TRY(add_accepted(c, body, err));
	TRY(add_signoffs(c, verdict, err));
	TRY(add_lost(c, err));
	TRY(searched_put(c->ledger, verdict->ref.hex, c->v, err));
	return add_log(c, err);
}

int reporting_value(struct cli *cli, const struct ledger_entry *verdict, json_t *v, struct err *err)
{
	struct collecting c = { .ledger = cli->ledger, .v = v, .evidence = json_array() };

	json_put(v, "evidence", c.evidence);
	return collect(&c, verdict, err);
}
