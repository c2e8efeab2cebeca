/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict again from the ledger alone; and closing what never ended. */
#include "run/arms.h"

#include "base/canon.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

/* ---- recompute ---- */

/* The contract as it was written then: its source is kept beside its canonical form. */
static int contract_of(struct ledger *l, const char *digest,
		       const struct check_schema *const *schemas, struct contract *ret,
		       struct err *err)
{
	static const char *const kinds[] = { "contract.set", NULL };
	struct ledger_filter f = { .kinds = kinds, .digest = digest };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *text = NULL;
	const char *source;
	size_t n;

	if (ledger_last(l, &f, &e, err) < 0)
		return err_wrap(err, "contract '%.16s'", digest);
	source = run_ref_of(e.body, "source");
	if (!source)
		return bail(err, ERR_BROKEN, "contract '%.16s' has no source", digest);
	TRY(ledger_blob_get(l, source, RUN_BLOB_LIMIT, &text, &n, err));
	TRY(contract_parse((struct sv){ text, n }, "(ledger)", schemas, ret, NULL, err));
	if (!streq(ret->digest, digest))
		return bail(err, ERR_BROKEN, "the kept contract is not '%.16s'", digest);
	return 0;
}

int acceptance_of(struct ledger *l, const char *signoff, struct acceptance *ret, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const json_t *b;

	TRY(run_entry(l, signoff, "signoff", &e, err));
	b = e.body;
	(void)snprintf(ret->contract_digest, 65, "%s",
		       run_ref_of(b, "contract") ? run_ref_of(b, "contract") : "");
	(void)snprintf(ret->stack_digest, 65, "%s", json_str_or(b, "stack_digest", ""));
	(void)snprintf(ret->intent, 65, "%s",
		       run_ref_of(b, "intent") ? run_ref_of(b, "intent") : "");
	(void)snprintf(ret->verdict, 65, "%s",
		       run_ref_of(b, "verdict") ? run_ref_of(b, "verdict") : "");
	return 0;
}

static int read_series(struct ledger *l, const json_t *body, struct judge *j, struct err *err)
{
	const json_t *series = json_object_get(body, "series"),
		     *mismatches = json_object_get(body, "mismatches");
	struct strs intents CLEANUP(strs_release) = { 0 };
	size_t failed;

	for (size_t i = 0; i < json_array_size(series); i++)
		strs_add(&intents, json_str_or(json_array_get(series, i), "digest", ""));
	for (size_t i = 0; i < json_array_size(mismatches); i++)
		strs_add(&j->mismatches, json_string_value(json_array_get(mismatches, i)));
	TRY(series_reps(l, &intents, &j->cand, &j->outcomes, err));
	if (!j->interleaved)
		return 0;
	reps_release(&j->bank);
	return series_arms(l, &intents, &j->bank, NULL, &failed, err);
}

static bool close_enough(const json_t *a, const json_t *b)
{
	int64_t x = json_integer_value(a), y = json_integer_value(b), d = x > y ? x - y : y - x;

	if (!json_is_integer(a) || !json_is_integer(b))
		return json_equal(a, b);
	/* 10^-6 of the value; every scale of a record is finer than that. */
	return d <= 1000 || (double)d <= 1e-6 * fabs((double)x);
}

static bool same_numbers(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)a, key, v)
	{
		const json_t *w = json_object_get(b, key);

		/* A member that one version lacks is no difference. */
		if (w && !close_enough(v, w))
			return false;
	}
	return true;
}

/* The verdict, its reasons, and the numbers: what a decision is. Words may be put better later. */
static bool same_decision(const json_t *a, const json_t *b)
{
	const json_t *ra = json_object_get(a, "reasons"), *rb = json_object_get(b, "reasons");
	const json_t *na = json_object_get(a, "numbers"), *nb = json_object_get(b, "numbers");
	const json_t *aa = json_object_get(a, "answers"), *ab = json_object_get(b, "answers");

	if (!streq(json_str_or(a, "verdict", ""), json_str_or(b, "verdict", "?")) ||
	    json_array_size(ra) != json_array_size(rb) ||
	    json_array_size(na) != json_array_size(nb) ||
	    json_array_size(aa) != json_array_size(ab))
		return false;
	for (size_t i = 0; i < json_array_size(ra); i++) {
		const json_t *x = json_array_get(ra, i), *y = json_array_get(rb, i);

		if (!streq(json_str_or(x, "code", ""), json_str_or(y, "code", "?")) ||
		    !streq(json_str_or(x, "about", ""), json_str_or(y, "about", "")))
			return false;
	}
	for (size_t i = 0; i < json_array_size(na); i++)
		if (!same_numbers(json_array_get(na, i), json_array_get(nb, i)))
			return false;
	for (size_t i = 0; i < json_array_size(aa); i++)
		if (!same_numbers(json_array_get(aa, i), json_array_get(ab, i)))
			return false;
	return true;
}

int run_recompute(void *arg, const struct ledger_entry *verdict, struct str *text, struct err *err)
{
	const struct run_recompute_arg *a = arg;
	const json_t *body = verdict->body, *before = json_object_get(body, "decision");
	const char *contract = run_ref_of(body, "contract"),
		   *signoff = run_ref_of(body, "accepted");
	const char *intent = run_ref_of(body, "intent");
	const json_t *waivers = json_object_get(body, "waivers");
	AUTO_JSON json_t *named =
		waivers ? json_incref((json_t *)(uintptr_t)waivers) : json_array();
	struct contract c CLEANUP(contract_release) = { 0 };
	struct intent in CLEANUP(intent_release) = { 0 };
	struct judge j CLEANUP(judge_release) = { 0 };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct acceptance acc = { 0 };
	AUTO_JSON json_t *again = NULL;
	uint64_t next;

	if (!contract || !intent || !before)
		return bail(err, ERR_BROKEN, "the verdict names no contract, intent or decision");
	TRY(contract_of(a->ledger, contract, a->schemas, &c, err));
	TRY(intent_read(a->ledger, intent, &in, err));
	j.contract = &c;
	j.ended = true;
	j.interleaved = in.interleaved;
	if (in.first)
		strs_addf(&j.notes, FIRST_NOTE, in.first);
	TRY(waivers_read(a->ledger, json_str_or(body, "workload", ""), in.as_of, &j.waivers, err));
	waivers_keep(&j.waivers, named, in.at_ms);
	if (signoff) {
		TRY(acceptance_of(a->ledger, signoff, &acc, err));
		TRY(judge_bank(a->ledger, &c, &acc, in.as_of, &j, &next, err));
	}
	TRY(read_series(a->ledger, body, &j, err));
	TRY(judge_read_told(a->ledger, &j, NULL, err));
	judge_decide(&j, &v);
	again = verdict_to_json(&v);
	if (same_decision(before, again))
		return 0;
	str_addf(text, "recorded %s, recomputed %s", json_str_or(before, "verdict", "?"),
		 json_str_or(again, "verdict", "?"));
	return 1;
}

/* ---- closing what never ended ---- */

struct open_one {
	char leaf[65], run[40];
	bool whole, here;
	pid_t pid;
};
struct open_ones {
	struct open_one *v;
	size_t n, room;
	const char *machine;
};

static struct open_one *find(struct open_ones *l, const char *leaf)
{
	for (size_t i = 0; leaf && i < l->n; i++)
		if (streq(l->v[i].leaf, leaf))
			return &l->v[i];
	return NULL;
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct open_ones *l = arg;
	struct open_one *o;

	(void)err;
	if (streq(e->kind, "run.intent")) {
		o = VEC_ADD(l);
		memcpy(o->leaf, e->ref.hex, 65);
		(void)snprintf(o->run, sizeof(o->run), "%s", json_str_or(e->body, "run", ""));
		o->whole = streq(json_str_or(e->body, "scope", ""), "run") ||
			   streq(json_str_or(e->body, "scope", ""), "bisect");
		o->pid = (pid_t)json_int_or(e->body, "pid", 0);
		o->here = streq(e->by_id, l->machine);
		return 0;
	}
	o = find(l, run_ref_of(e->body, "intent"));
	if (o)
		*o = l->v[--l->n];
	return 0;
}

/* Still going: its process is there and is a twice. Another machine's pid says nothing here, so
 * runs on
 * other machines are left alone until they end or their owner closes them. */
static bool alive(pid_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/comm", (int)pid);
	AUTO_FREE char *comm = pid > 0 ? file_first_line(path) : NULL;

	return pid > 0 && pid != getpid() && comm && str_starts(comm, "twice");
}

static bool run_alive(const struct open_ones *l, const char *run)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].whole && streq(l->v[i].run, run) && alive(l->v[i].pid))
			return true;
	return false;
}

int run_close_abandoned(const struct run_env *env, size_t *ret_n, struct err *err)
{
	static const char *const kinds[] = { "run.intent", "run.result", "run.abandon",
					     "bisect.trial", NULL };
	struct ledger_filter f = { .kinds = kinds };
	struct open_ones l = { .machine = env->machine };
	int rc = ledger_each(env->ledger, &f, on_entry, &l, err);

	*ret_n = 0;
	/* Repetitions first, then the runs that they belong to. */
	for (int whole = 0; whole < 2; whole++) {
		for (size_t i = 0; rc == 0 && i < l.n; i++) {
			if (l.v[i].whole != (whole == 1) || !l.v[i].here ||
			    run_alive(&l, l.v[i].run))
				continue;
			rc = run_abandon(env, l.v[i].leaf, l.v[i].run,
					 "interrupted: the process is gone", err);
			*ret_n += rc == 0;
		}
	}
	free(l.v);
	return rc;
}
