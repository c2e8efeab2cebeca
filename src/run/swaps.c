/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controls that the ledger has already: a run whose stack differs from the candidate's (or from the
 * accepted one) in one component only, and trials of searches for the component. One that is good
 * with just that component put back is worth more than any suspicion.
 */
#include "run/attribute.h"

#include "base/err.h"
#include "base/vec.h"
#include "stat/stat.h"
#include <math.h>

enum { RUNS_MOST = 200, NEAR_GOOD = 25, NEAR_BAD = 75 /* percent of the way */ };

void swaps_release(struct swaps *l)
{
	for (size_t i = 0; i < l->n; i++)
		pairs_release(&l->v[i].changes);
	free(l->v);
	strs_release(&l->words);
	*l = (struct swaps){ 0 };
}

static const char *keep(struct swaps *l, char *s)
{
	strs_take(&l->words, s);
	return s;
}

static double median_of(const struct reps *l, const char *name)
{
	AUTO_FREE double *v = xcalloc(l->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct measurement *m = measurements_find(&l->v[i].measured, name);

		if (l->v[i].state == REP_OK && m && isfinite(m->value))
			v[n++] = m->value;
	}
	return n ? median(v, n) : NAN;
}

static bool rejects_by(const struct verdict *v, const char *code, const char *about)
{
	for (size_t i = 0; i < v->reasons.n; i++)
		if (streq(v->reasons.v[i].code, code) &&
		    (!about || streq(v->reasons.v[i].about, about)))
			return true;
	return false;
}

enum diagnose_outcome swap_outcome(const struct verdict *v, const struct reps *l, char **ret_text)
{
	bool by_failing = rejects_by(v, "repetition_failed", NULL);
	size_t failed = 0, ok = 0, good = 0, bad = 0, all = 0;
	struct str s = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		failed += l->v[i].state == REP_FAILED;
		ok += l->v[i].state == REP_OK;
	}
	str_addf(&s, "%zu of %zu repetitions ran", ok, ok + failed);
	if (by_failing || (failed && !ok)) {
		*ret_text = str_steal(&s);
		return !ok && !failed ? PROBE_UNCLEAR
		       : !failed      ? PROBE_GOOD
		       : !ok          ? PROBE_BAD
				      : PROBE_PARTLY;
	}
	for (size_t i = 0; i < v->numbers.n; i++) {
		const struct verdict_number *n = &v->numbers.v[i];
		double x = median_of(l, n->name), way;

		if (!rejects_by(v, "regressed", n->name) &&
		    !rejects_by(v, "gross_regression", n->name) &&
		    !rejects_by(v, "objective_missed", n->name))
			continue;
		way = 100 * (x - n->bank_median) / (n->cand_median - n->bank_median);
		if (isnan(way) || isinf(way))
			continue;
		all++;
		good += way < NEAR_GOOD;
		bad += way > NEAR_BAD;
		str_addf(&s, "; %s %.5g, accepted %.5g, candidate %.5g", n->name, x, n->bank_median,
			 n->cand_median);
	}
	*ret_text = str_steal(&s);
	return !all          ? PROBE_UNCLEAR
	       : good == all ? PROBE_GOOD
	       : bad == all  ? PROBE_BAD
			     : PROBE_PARTLY;
}

/* ---- runs ---- */

struct looking {
	struct going *g;
	const struct verdict *v;
	struct swaps *to;
	struct strs seen; /* stacks that are counted already */
	size_t n;
};

/* The one component in which `other` differs from `from`; NULL: none, or several. */
static const struct change *one_step(const struct changes *l)
{
	const struct change *one = NULL;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].material)
			continue;
		if (one && !change_together(one, &l->v[i]))
			return NULL;
		one = one ? one : &l->v[i];
	}
	return one;
}

static const char *side_word(const struct component *c)
{
	return !c ? "(none)" : c->version ? c->version : c->digest ? c->digest : "unknown";
}

static void add_run(struct looking *k, const char *run, const struct stack *base,
		    const struct stack *other, enum diagnose_arm arm, const struct reps *reps)
{
	struct changes d CLEANUP(changes_release) = { 0 };
	const struct change *c;
	struct diagnose_probe *p;
	char *text;

	stack_diff(base, other, &d);
	c = one_step(&d);
	if (!c)
		return;
	p = VEC_ADD(k->to);
	*p = (struct diagnose_probe){ .base = arm };
	p->outcome = swap_outcome(k->v, reps, &text);
	p->text = keep(k->to, text);
	p->name = keep(k->to, xasprintf("run %s (%s stack with %s %s)", run,
					arm == ARM_CANDIDATE ? "this" : "the accepted",
					change_name(c), side_word(c->after)));
	pairs_add(&p->changes, change_name(c), side_word(c->after));
}

static int on_verdict(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct looking *k = arg;
	struct going *g = k->g;
	const char *digest = json_str_or(e->body, "stack_digest", ""), *intent;
	struct stack other CLEANUP(stack_release) = { 0 };
	struct run_left left CLEANUP(run_left_release) = { 0 };

	intent = run_ref_of(e->body, "intent");
	if (!streq(json_str_or(e->body, "workload", ""), g->env->contract->workload.name) ||
	    !streq(run_ref_of(e->body, "contract"), g->env->contract->digest) || !intent ||
	    streq(digest, g->stack_digest) || streq(digest, g->accepted->stack_digest) ||
	    strs_has(&k->seen, digest))
		return 0;
	if (++k->n > RUNS_MOST)
		return 1;
	strs_add(&k->seen, digest);
	if (run_stack_of(g->env->ledger, intent, &other, err) < 0) {
		if (err->code != ERR_MISSING)
			return -(int)err->code;
		err_clear(err); /* lost evidence of another run */
		return 0;
	}
	TRY(run_left_read(g->env->ledger, intent, &left, err));
	add_run(k, json_str_or(e->body, "run", "?"), &g->stack, &other, ARM_CANDIDATE, &left.reps);
	add_run(k, json_str_or(e->body, "run", "?"), &g->before, &other, ARM_ACCEPTED, &left.reps);
	return 0;
}

/* ---- trials of searches ---- */

struct tried {
	char *name, *value; /* the one that differs, and its word */
	enum diagnose_arm arm;
	struct reps reps;
};
struct trying {
	struct going *g;
	char *search; /* leaf of the newest search for this pair of stacks */
	json_t *parts;
	struct {
		struct tried *v;
		size_t n, room;
	} tried;
	struct strs trials; /* announcements of that search */
};

static void trying_release(struct trying *t)
{
	for (size_t i = 0; i < t->tried.n; i++) {
		free(t->tried.v[i].name);
		free(t->tried.v[i].value);
		reps_release(&t->tried.v[i].reps);
	}
	free(t->tried.v);
	free(t->search);
	json_decref(t->parts);
	strs_release(&t->trials);
}

/* Was it about the stacks that are compared here? */
static bool same_question(struct trying *t, const struct ledger_entry *e)
{
	struct ledger_entry v CLEANUP(ledger_entry_release) = { 0 };
	const char *verdict = run_ref_of(e->body, "verdict");
	struct err err = ERR_INIT;

	if (!verdict || !streq(run_ref_of(e->body, "accepted"), t->g->accepted->signoff) ||
	    run_entry(t->g->env->ledger, verdict, "verdict", &v, &err) < 0)
		return false;
	return streq(json_str_or(v.body, "stack_digest", ""), t->g->stack_digest);
}

static bool is_new(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (streq(json_string_value(json_array_get(names, i)), name))
			return true;
	return false;
}

static struct tried *tried_get(struct trying *t, const json_t *part, enum diagnose_arm arm)
{
	const char *name = json_str_or(part, "name", "");
	struct tried *x;

	for (size_t i = 0; i < t->tried.n; i++)
		if (t->tried.v[i].arm == arm && streq(t->tried.v[i].name, name))
			return &t->tried.v[i];
	x = VEC_ADD(&t->tried);
	*x = (struct tried){ .name = xstrdup(name), .arm = arm };
	x->value = xstrdup(json_str_or(part, arm == ARM_ACCEPTED ? "new" : "old", ""));
	return x;
}

/* One component new and all others old: the accepted stack with one of the candidate's. The other
 * way round: the candidate with one put back. Of two components a trial is both. */
static int tried_add(struct trying *t, const struct ledger_entry *e, struct err *err)
{
	static const enum diagnose_arm arms[] = { ARM_ACCEPTED, ARM_CANDIDATE };
	const json_t *names = json_object_get(e->body, "new");
	size_t n = json_array_size(t->parts), k = json_array_size(names);

	for (size_t a = 0; n > 1 && a < ARRAY_SIZE(arms); a++) {
		if ((arms[a] == ARM_ACCEPTED ? k : n - k) != 1)
			continue;
		for (size_t i = 0; i < n; i++) {
			const json_t *p = json_array_get(t->parts, i);
			struct tried *x;

			if (is_new(names, json_str_or(p, "name", "")) != (arms[a] == ARM_ACCEPTED))
				continue;
			x = tried_get(t, p, arms[a]);
			TRY(rep_from_json(e->body, VEC_ADD(&x->reps), err));
		}
	}
	return 0;
}

static int on_trial(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct trying *t = arg;
	const char *scope = json_str_or(e->body, "scope", "");

	if (streq(e->kind, "run.intent")) {
		if (streq(scope, "bisect") && same_question(t, e)) {
			free(t->search);
			t->search = xstrdup(e->ref.hex);
			json_decref(t->parts);
			t->parts = json_incref(json_object_get(e->body, "components"));
		} else if (streq(scope, "trial") && t->search &&
			   streq(run_ref_of(e->body, "of"), t->search)) {
			strs_add(&t->trials, e->ref.hex);
		}
		return 0;
	}
	if (!t->search || !strs_has(&t->trials, run_ref_of(e->body, "intent")) ||
	    streq(json_str_or(e->body, "state", ""), "cannot_run"))
		return 0;
	return tried_add(t, e, err);
}

/* As it is in the other arm: by the change, as a name alone may stand in two layers. */
static const struct component *side_of(const struct changes *l, const char *name,
				       enum diagnose_arm arm)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].material && streq(change_name(&l->v[i]), name))
			return arm == ARM_CANDIDATE ? l->v[i].before : l->v[i].after;
	return NULL;
}

static int trials_read(struct going *g, const struct verdict *v, const struct changes *changes,
		       struct swaps *ret, struct err *err)
{
	static const char *const kinds[] = { "run.intent", "bisect.trial", NULL };
	struct ledger_filter f = { .kinds = kinds, .to = g->as_of };
	struct trying t CLEANUP(trying_release) = { .g = g };

	TRY(ledger_each(g->env->ledger, &f, on_trial, &t, err));
	for (size_t i = 0; i < t.tried.n; i++) {
		struct tried *x = &t.tried.v[i];
		struct diagnose_probe *p = VEC_ADD(ret);
		const struct component *c = side_of(changes, x->name, x->arm);
		char *text;

		*p = (struct diagnose_probe){ .base = x->arm };
		p->outcome = swap_outcome(v, &x->reps, &text);
		p->text = keep(ret, text);
		p->name = keep(ret, xasprintf("%zu trial%s of 'twice bisect' with %s %s", x->reps.n,
					      x->reps.n == 1 ? "" : "s", x->name, x->value));
		/* The word of a switch need not be the version that is in effect with it. */
		pairs_add(&p->changes, x->name, c && c->version ? c->version : x->value);
	}
	return 0;
}

int swaps_read(struct going *g, const struct verdict *v, const struct changes *changes,
	       struct swaps *ret, struct err *err)
{
	static const char *const kinds[] = { "verdict", NULL };
	struct looking k = { .g = g, .v = v, .to = ret };
	struct ledger_filter f = { .kinds = kinds, .to = g->as_of };
	int rc;

	if (!changes->n_material)
		return 0;
	rc = ledger_each(g->env->ledger, &f, on_verdict, &k, err);
	strs_release(&k.seen);
	TRY(rc);
	return trials_read(g, v, changes, ret, err);
}
