/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series: all repetitions of one stack under one contract, over as many runs as it took. Running
 * again continues it, so nobody gets a second throw of the dice without saying so.
 */
#include "run/arms.h"

#include "base/err.h"
#include "base/vec.h"

void intent_release(struct intent *i)
{
	free(i->new_series);
	free(i->first);
	json_decref(i->switches);
	*i = (struct intent){ 0 };
}

static void copy_hex(char to[65], const char *from)
{
	(void)snprintf(to, 65, "%s", from ? from : "");
}

static void intent_of(const struct ledger_entry *e, struct intent *i)
{
	const json_t *looks = json_object_get(e->body, "looks");

	i->seq = e->ref.seq;
	i->at_ms = e->at_ms;
	copy_hex(i->leaf, e->ref.hex);
	(void)snprintf(i->run, sizeof(i->run), "%s", json_str_or(e->body, "run", ""));
	copy_hex(i->contract_digest, run_ref_of(e->body, "contract"));
	copy_hex(i->stack_digest, json_str_or(e->body, "stack_digest", ""));
	copy_hex(i->capture, run_ref_of(e->body, "stack"));
	copy_hex(i->accepted, run_ref_of(e->body, "accepted"));
	copy_hex(i->session, json_str_or(e->body, "session", ""));
	i->as_of = (uint64_t)json_int_or(e->body, "as_of", (int64_t)e->ref.seq);
	i->new_series = xstrdup(json_str_or(e->body, "new_series", NULL));
	i->first = xstrdup(json_str_or(e->body, "first", NULL));
	i->interleaved = streq(json_str_or(e->body, "design", ""), ARMS_DESIGN);
	i->switches = json_incref(json_object_get(e->body, "switches"));
	for (size_t k = 0; k < json_array_size(looks) && i->n_looks < ARRAY_SIZE(i->looks); k++)
		i->looks[i->n_looks++] = json_integer_value(json_array_get(looks, k));
}

int intent_read(struct ledger *l, const char *hex, struct intent *ret, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(run_entry(l, hex, "run.intent", &e, err));
	if (!streq(json_str_or(e.body, "scope", ""), "run"))
		return bail(err, ERR_BROKEN, "entry '%.16s' announces no run", hex);
	intent_of(&e, ret);
	return 0;
}

void run_left_release(struct run_left *r)
{
	intent_release(&r->intent);
	reps_release(&r->reps);
	reps_release(&r->accepted_reps);
	outcomes_release(&r->outcomes);
	strs_release(&r->check_leaves);
	*r = (struct run_left){ 0 };
}

/* While reading: one announced repetition. */
struct announced {
	char leaf[65];
	int index;
	int64_t at_ms;
	bool ended;
	bool accepted; /* of the accepted stack's arm */
};
struct reading {
	struct run_left *left;
	struct announced *v;
	size_t n, room;
};

static struct announced *find_announced(struct reading *r, const char *leaf)
{
	for (size_t i = 0; leaf && i < r->n; i++)
		if (streq(r->v[i].leaf, leaf))
			return &r->v[i];
	return NULL;
}

static struct reps *reps_of(struct reading *r, const struct announced *a)
{
	return a->accepted ? &r->left->accepted_reps : &r->left->reps;
}

static int on_rep_result(struct reading *r, const struct ledger_entry *e, struct err *err)
{
	struct announced *a = find_announced(r, run_ref_of(e->body, "intent"));
	struct rep *rep;

	if (!a || a->ended)
		return 0; /* of another run, or said twice: the first counts */
	rep = VEC_ADD(reps_of(r, a));
	if (rep_from_json(e->body, rep, err) < 0)
		return err_wrap(err, "entry %llu", (unsigned long long)e->ref.seq);
	copy_hex(rep->leaf, e->ref.hex);
	rep->took_ns = MAX(e->at_ms - a->at_ms, (int64_t)0) * 1000000;
	a->ended = true;
	return 0;
}

static int on_checks(struct reading *r, const struct ledger_entry *e, struct err *err)
{
	const json_t *list = json_object_get(e->body, "outcomes");

	if (!streq(run_ref_of(e->body, "of"), r->left->intent.leaf))
		return 0;
	strs_add(&r->left->check_leaves, e->ref.hex);
	for (size_t i = 0; i < json_array_size(list); i++)
		TRY(outcome_from_json(json_array_get(list, i), VEC_ADD(&r->left->outcomes), err));
	return 0;
}

static void ended(struct run_left *left, const struct ledger_entry *e)
{
	if (!left->ended)
		left->ended_seq = e->ref.seq;
	left->ended = true;
}

static void on_abandon(struct reading *r, const struct ledger_entry *e)
{
	const char *leaf = run_ref_of(e->body, "intent");
	struct announced *a = find_announced(r, leaf);
	struct rep *rep;

	if (streq(leaf, r->left->intent.leaf)) {
		ended(r->left, e);
		r->left->interrupted = true;
		return;
	}
	if (!a || a->ended)
		return;
	a->ended = true;
	rep = VEC_ADD(reps_of(r, a));
	rep->index = a->index;
	rep->state = REP_EXCLUDED;
	rep->reason = xstrdup("interrupted");
	copy_hex(rep->leaf, e->ref.hex);
	r->left->n_interrupted++;
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct reading *r = arg;
	const char *scope = json_str_or(e->body, "scope", "");

	if (streq(e->kind, "run.intent")) {
		if (streq(scope, "rep") && streq(run_ref_of(e->body, "of"), r->left->intent.leaf)) {
			struct announced *a = VEC_ADD(r);

			copy_hex(a->leaf, e->ref.hex);
			a->index = (int)json_int_or(e->body, "rep", 0);
			a->at_ms = e->at_ms;
			a->accepted = streq(json_str_or(e->body, "arm", ""), ARMS_ACCEPTED);
		}
		return 0;
	}
	if (streq(e->kind, "run.abandon")) {
		on_abandon(r, e);
		return 0;
	}
	if (streq(scope, "rep"))
		return on_rep_result(r, e, err);
	if (streq(scope, "checks"))
		return on_checks(r, e, err);
	if (streq(scope, "run") && streq(run_ref_of(e->body, "intent"), r->left->intent.leaf)) {
		ended(r->left, e);
		r->left->interrupted = streq(json_str_or(e->body, "state", ""), "interrupted");
	}
	return 0;
}

int run_left_read(struct ledger *l, const char *intent, struct run_left *ret, struct err *err)
{
	static const char *const kinds[] = { "run.intent", "run.result", "run.abandon", NULL };
	struct run_left left CLEANUP(run_left_release) = { 0 };
	struct reading r = { .left = &left };
	struct ledger_filter f = { .kinds = kinds };
	int rc;

	TRY(intent_read(l, intent, &left.intent, err));
	f.from = left.intent.seq + 1;
	rc = ledger_each(l, &f, on_entry, &r, err);
	/* Announced and without any result: it failed, as far as anybody can tell. */
	for (size_t i = 0; rc == 0 && i < r.n; i++) {
		if (!r.v[i].ended) {
			struct rep *rep = VEC_ADD(reps_of(&r, &r.v[i]));

			rep->index = r.v[i].index;
			rep->state = REP_FAILED;
			rep->reason = xstrdup("announced, and no result was recorded");
			copy_hex(rep->leaf, r.v[i].leaf);
		}
	}
	free(r.v);
	TRY(rc);
	*ret = left;
	left = (struct run_left){ 0 };
	return 0;
}

struct finding_series {
	const char *workload, *contract, *stack, *signoff;
	struct strs *ret;
};

static int on_intent(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct finding_series *f = arg;

	(void)err;
	if (!streq(json_str_or(e->body, "scope", ""), "run") ||
	    !streq(json_str_or(e->body, "workload", ""), f->workload) ||
	    !streq(json_str_or(e->body, "stack_digest", ""), f->stack) ||
	    !streq(run_ref_of(e->body, "contract"), f->contract))
		return 0;
	if (streq(json_str_or(e->body, "design", ""), ARMS_DESIGN) != (f->signoff != NULL) ||
	    (f->signoff && !streq(run_ref_of(e->body, "accepted"), f->signoff)))
		return 0;
	if (json_str_or(e->body, "new_series", NULL))
		strs_release(f->ret);
	strs_add(f->ret, e->ref.hex);
	return 0;
}

int series_intents(struct ledger *l, const char *workload, const char *contract_digest,
		   const char *stack_digest, const char *signoff, uint64_t from, uint64_t as_of,
		   struct strs *ret, struct err *err)
{
	static const char *const kinds[] = { "run.intent", NULL };
	struct strs all CLEANUP(strs_release) = { 0 };
	struct finding_series f = { workload, contract_digest, stack_digest, signoff, &all };
	struct ledger_filter filter = { .kinds = kinds, .from = from, .to = as_of };

	if (from >= as_of)
		return 0;
	TRY(ledger_each(l, &filter, on_intent, &f, err));
	for (size_t i = 0; i < all.n; i++) {
		struct run_left left CLEANUP(run_left_release) = { 0 };

		TRY(run_left_read(l, all.v[i], &left, err));
		if (left.ended && left.ended_seq < as_of)
			strs_add(ret, all.v[i]);
	}
	return 0;
}

static void take_accepted(struct reps *from, struct reps *to, struct strs *leaves, size_t *failed)
{
	for (size_t k = 0; k < from->n; k++) {
		if (leaves)
			strs_add(leaves, from->v[k].leaf);
		*failed += from->v[k].state == REP_FAILED;
		if (from->v[k].state != REP_OK)
			continue;
		*VEC_ADD(to) = from->v[k];
		from->v[k] = (struct rep){ 0 };
	}
}

int series_arms(struct ledger *l, const struct strs *intents, struct reps *ret,
		struct strs *ret_leaves, size_t *ret_failed, struct err *err)
{
	*ret_failed = 0;
	for (size_t i = 0; i < intents->n; i++) {
		struct run_left left CLEANUP(run_left_release) = { 0 };

		TRY(run_left_read(l, intents->v[i], &left, err));
		take_accepted(&left.accepted_reps, ret, ret_leaves, ret_failed);
	}
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].index = (int)i;
	return 0;
}

int series_reps(struct ledger *l, const struct strs *intents, struct reps *ret,
		struct outcomes *ret_last_outcomes, struct err *err)
{
	int interrupted = 0;

	for (size_t i = 0; i < intents->n; i++) {
		struct run_left left CLEANUP(run_left_release) = { 0 };

		TRY(run_left_read(l, intents->v[i], &left, err));
		for (size_t k = 0; k < left.reps.n; k++) {
			struct rep *r = VEC_ADD(ret);

			*r = left.reps.v[k];
			left.reps.v[k] = (struct rep){ 0 };
			r->index = (int)ret->n - 1;
			if (r->state == REP_EXCLUDED && streq(r->reason, "interrupted") &&
			    ++interrupted > RUN_MAX_INTERRUPTED) {
				r->state = REP_FAILED;
				free(r->reason);
				r->reason = xstrdup("interrupted, and too many were before");
			}
		}
		if (ret_last_outcomes && i + 1 == intents->n) {
			*ret_last_outcomes = left.outcomes;
			left.outcomes = (struct outcomes){ 0 };
		}
	}
	return 0;
}
