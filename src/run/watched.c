/* SPDX-License-Identifier: Apache-2.0 */
/* What the repetitions since an acceptance say, however many there are and however often one looks.
 */
#include "run/internal.h"

#include "base/err.h"
#include "base/vec.h"
#include <math.h>

struct watching {
	const struct contract *contract;
	const struct acceptance *accepted;
	struct strs runs; /* leaves of runs on the accepted stack */
	struct announced_reps {
		struct announced_rep {
			char leaf[65];
			struct rep *rep; /* NULL: no result yet */
		} * v;
		size_t n, room;
	} open;
	struct reps *to;
};

static void watching_release(struct watching *w)
{
	strs_release(&w->runs);
	free(w->open.v);
}

static bool has(const struct strs *l, const char *hex)
{
	for (size_t i = l->n; hex && i-- > 0;)
		if (streq(l->v[i], hex))
			return true;
	return false;
}

static int on_result(struct watching *w, const struct ledger_entry *e, struct err *err)
{
	const char *intent = run_ref_of(e->body, "intent");

	for (size_t i = w->open.n; intent && i-- > 0;) {
		if (!streq(w->open.v[i].leaf, intent))
			continue;
		w->open.v[i] = w->open.v[--w->open.n];
		return rep_from_json(e->body, VEC_ADD(w->to), err);
	}
	return 0;
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct watching *w = arg;
	const char *scope = json_str_or(e->body, "scope", "");

	if (streq(e->kind, "run.result"))
		return streq(scope, "rep") ? on_result(w, e, err) : 0;
	if (streq(scope, "run")) {
		if (streq(json_str_or(e->body, "workload", ""), w->contract->workload.name) &&
		    streq(json_str_or(e->body, "stack_digest", ""), w->accepted->stack_digest) &&
		    streq(run_ref_of(e->body, "contract"), w->accepted->contract_digest))
			strs_add(&w->runs, e->ref.hex);
	} else if (streq(scope, "rep") && has(&w->runs, run_ref_of(e->body, "of"))) {
		memcpy(VEC_ADD(&w->open)->leaf, e->ref.hex, 65);
	}
	return 0;
}

/* What was accepted itself: the verdict's series, as it was. */
static int accepted_reps(struct ledger *l, const struct acceptance *a, struct reps *ret,
			 struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct strs intents CLEANUP(strs_release) = { 0 };
	const json_t *series;

	TRY(run_entry(l, a->verdict, "verdict", &e, err));
	series = json_object_get(e.body, "series");
	for (size_t i = 0; i < json_array_size(series); i++)
		strs_add(&intents, json_str_or(json_array_get(series, i), "digest", ""));
	return series_reps(l, &intents, ret, NULL, err);
}

int run_watch(struct ledger *l, const struct contract *c, const struct acceptance *a,
	      struct verdict_watch *ret, struct err *err)
{
	static const char *const kinds[] = { "run.intent", "run.result", NULL };
	struct ledger_filter f = { .kinds = kinds, .from = a->seq + 1 };
	struct judge j CLEANUP(judge_release) = { .contract = c, .has_bank = true };
	struct watching w CLEANUP(
		watching_release) = { .contract = c, .accepted = a, .to = &j.cand };

	TRY(accepted_reps(l, a, &j.bank, err));
	memcpy(j.bank_contract, a->contract_digest, 65);
	TRY(ledger_each(l, &f, on_entry, &w, err));
	judge_watch(&j, ret);
	return 0;
}

static json_t *e9(double v)
{
	return isfinite(v) ? json_integer((json_int_t)llround(v * 1e9)) : json_null();
}

json_t *run_watch_json(const struct verdict_watch *w)
{
	json_t *o = json_object(), *a = json_array();

	json_put_int(o, "repetitions", w->reps);
	json_put_int(o, "bad", w->bad);
	json_put(o, "bad_log_e_e9", e9(w->bad_log_e));
	json_put_bool(o, "alarm", w->alarm);
	json_put(o, "metrics", a);
	for (size_t i = 0; i < w->n; i++) {
		const struct verdict_watched *x = &w->v[i];
		json_t *m = json_object();

		json_put_str(m, "name", x->name);
		json_put_str(m, "scale", x->abs_scale ? "abs" : "log");
		json_put_int(m, "accepted", (int64_t)x->n_bank);
		json_put_int(m, "since", (int64_t)x->n);
		json_put(m, "shift_e9", e9(x->shift));
		json_put(m, "log_e_e9", e9(x->log_e));
		json_put_bool(m, "alarm", x->alarm);
		json_put_int(m, "moved", (int64_t)x->moved);
		(void)json_array_append_new(a, m);
	}
	return o;
}
