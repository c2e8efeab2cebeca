/* SPDX-License-Identifier: Apache-2.0 */
/* What a search is about: the rejected run, its metric, the components that changed. */
#include "run/bisecting.h"

#include "base/err.h"
#include "base/vec.h"
#include <math.h>

#define FAILED "failed"

void question_release(struct question *q)
{
	for (size_t i = 0; i < q->parts.n; i++) {
		free(q->parts.v[i].was);
		free(q->parts.v[i].is);
		free(q->parts.v[i].found);
	}
	free(q->parts.v);
	free(q->metric_name);
	strs_release(&q->uncovered);
	free(q->bank.v);
	free(q->cand.v);
	free(q->took.v);
	for (size_t i = 0; i < q->never.n; i++) {
		free(q->never.v[i].why);
		free(q->never.v[i].source);
	}
	free(q->never.v);
	*q = (struct question){ 0 };
}

/* ---- the rejected run ---- */

struct finding {
	const struct run_env *env;
	const char *run;
	char leaf[65];
	bool any; /* there is a verdict, whatever it says */
};

static int on_verdict(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct finding *f = arg;
	const json_t *d = json_object_get(e->body, "decision");

	(void)err;
	if (!streq(json_str_or(e->body, "workload", ""), f->env->contract->workload.name))
		return 0;
	if (f->run && !streq(json_str_or(e->body, "run", ""), f->run))
		return 0;
	f->any = true;
	if (!f->run && !streq(json_str_or(d, "verdict", ""), "rejected"))
		return 0;
	memcpy(f->leaf, e->ref.hex, 65);
	return 1;
}

static int find_verdict(const struct run_env *env, const char *run, struct ledger_entry *ret,
			struct err *err)
{
	static const char *const kinds[] = { "verdict", NULL };
	struct finding f = { .env = env, .run = run };
	struct ledger_filter filter = { .kinds = kinds, .newest_first = true };
	const char *w = env->contract->workload.name, *word;

	TRY(ledger_each(env->ledger, &filter, on_verdict, &f, err));
	if (!f.leaf[0] && run)
		return bail(err, ERR_NOT_FOUND, "no verdict of '%s' is of the run '%s'", w, run);
	if (!f.leaf[0])
		return bail(err, ERR_UNSUPPORTED, "no run of '%s' was rejected: nothing to search",
			    w);
	TRY(run_entry(env->ledger, f.leaf, "verdict", ret, err));
	word = json_str_or(json_object_get(ret->body, "decision"), "verdict", "");
	if (!streq(word, "rejected"))
		return bail(err, ERR_UNSUPPORTED, "run '%s' was not rejected but is %s", run, word);
	if (!streq(run_ref_of(ret->body, "contract"), env->contract->digest))
		return bail(err, ERR_UNSUPPORTED,
			    "the contract has changed since run '%s': run again under this one",
			    json_str_or(ret->body, "run", ""));
	if (!run_ref_of(ret->body, "accepted") || !run_ref_of(ret->body, "intent"))
		return bail(err, ERR_UNSUPPORTED,
			    "run '%s' was held against no accepted run: there is no change to take "
			    "apart",
			    json_str_or(ret->body, "run", ""));
	return 0;
}

/* ---- its metric ---- */

static const json_t *number_named(const json_t *decision, const char *name)
{
	const json_t *l = json_object_get(decision, "numbers");

	for (size_t i = 0; i < json_array_size(l); i++)
		if (streq(json_str_or(json_array_get(l, i), "name", ""), name))
			return json_array_get(l, i);
	return NULL;
}

/* The first reason that names a metric which got worse; else that repetitions failed. */
static const char *deciding(const json_t *decision)
{
	const json_t *l = json_object_get(decision, "reasons");
	const char *failed = NULL;

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *r = json_array_get(l, i);
		const char *about = json_str_or(r, "about", "");
		const json_t *n = number_named(decision, about);

		if (n && json_int_or(n, "shift_e9", 0) > 0)
			return about;
		if (streq(json_str_or(r, "code", ""), "repetition_failed"))
			failed = FAILED;
	}
	return failed;
}

static int choose_metric(const struct run_env *env, const char *want, const json_t *decision,
			 struct question *q, struct err *err)
{
	const char *name = want ? want : deciding(decision);

	if (!name)
		return bail(err, ERR_UNSUPPORTED,
			    "run '%s' was rejected for no metric that got worse: name one by "
			    "--metric",
			    q->run);
	q->metric_name = xstrdup(name);
	if (streq(name, FAILED)) {
		q->metric = (struct metric_info){ .name = q->metric_name,
						  .unit = UNIT_RATIO,
						  .dir = LOWER_IS_BETTER,
						  .scale = SCALE_ABS };
		return 0;
	}
	if (!contract_metric(env->contract, name, &q->metric))
		return bail(err, ERR_NOT_FOUND, "the contract knows no metric '%s'", name);
	q->metric.name = q->metric_name;
	if (q->metric.across)
		return bail(err, ERR_UNSUPPORTED, "'%s' is of all repetitions, not of one", name);
	return 0;
}

double question_worseness(const struct question *q, const struct rep *r)
{
	const struct measurement *m;
	double v;

	if (streq(q->metric_name, FAILED))
		return r->state == REP_EXCLUDED ? NAN : r->state == REP_FAILED;
	m = measurements_find(&r->measured, q->metric_name);
	if (r->state != REP_OK || !m || isnan(m->value))
		return NAN;
	v = m->value;
	if (q->metric.scale == SCALE_LOG) {
		if (!(v > 0))
			return NAN;
		v = log(v);
	}
	return q->metric.dir == LOWER_IS_BETTER ? v : -v;
}

/* ---- its repetitions ---- */

static int at_of(struct ledger *l, const char *hex, int64_t *ret, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(ledger_find(l, hex, &e, err));
	*ret = e.at_ms;
	return 0;
}

static int take_reps(struct ledger *l, const json_t *refs, struct question *q, struct values *to,
		     struct err *err)
{
	for (size_t i = 0; i < json_array_size(refs); i++) {
		const char *hex = json_str_or(json_array_get(refs, i), "digest", "");
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		struct rep r CLEANUP(rep_release) = { 0 };
		const char *intent;
		int64_t began;
		double w;

		TRY(ledger_find(l, hex, &e, err));
		if (!streq(e.kind, "run.result") || !streq(json_str_or(e.body, "scope", ""), "rep"))
			continue; /* interrupted or never ended */
		TRY(rep_from_json(e.body, &r, err));
		w = question_worseness(q, &r);
		if (isnan(w))
			continue;
		*VEC_ADD(to) = w;
		intent = run_ref_of(e.body, "intent");
		if (!intent)
			continue;
		TRY(at_of(l, intent, &began, err));
		*VEC_ADD(&q->took) = (double)MAX(e.at_ms - began, 0) * 1e6;
	}
	return 0;
}

static int read_values(struct ledger *l, const json_t *verdict, struct question *q, struct err *err)
{
	struct ledger_entry in CLEANUP(ledger_entry_release) = { 0 };

	TRY(run_entry(l, q->intent, "run.intent", &in, err));
	TRY(take_reps(l, json_object_get(in.body, "bank"), q, &q->bank, err));
	TRY(take_reps(l, json_object_get(verdict, "reps"), q, &q->cand, err));
	if (q->bank.n < 3 || q->cand.n < 2)
		return bail(err, ERR_UNSUPPORTED,
			    "'%s' was measured in %zu accepted and %zu rejected repetitions: too "
			    "few to search by",
			    q->metric_name, q->bank.n, q->cand.n);
	return 0;
}

/* ---- what changed ---- */

static const char *word_of(const json_t *switches, const char *name)
{
	for (size_t i = 0; i < json_array_size(switches); i++) {
		const json_t *o = json_array_get(switches, i);

		if (streq(json_str_or(o, "name", ""), name))
			return json_str_or(o, "value", NULL);
	}
	return NULL;
}

static bool moved(const struct question *q, const struct change *c)
{
	for (size_t i = 0; i < q->parts.n; i++)
		if (run_switch_names(q->parts.v[i].name, c))
			return true;
	return false;
}

/* What differs and has no switch of its name, nor goes along with something that has. */
static void list_uncovered(const struct changes *l, struct question *q)
{
	for (size_t i = 0; i < l->n; i++) {
		bool covered = !l->v[i].material;

		for (size_t k = 0; k < l->n && !covered; k++)
			covered = moved(q, &l->v[k]) &&
				  (k == i || change_together(&l->v[k], &l->v[i]));
		if (!covered) {
			AUTO_FREE char *text = change_text(&l->v[i]);

			strs_add(&q->uncovered, text);
		}
	}
}

/* Suspicion of the attribution, at most four to one, so that a wrong one costs little. */
static double weight_of(const json_t *verdict, const char *name)
{
	const json_t *l = json_object_get(json_object_get(verdict, "attribution"), "suspects");

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *s = json_array_get(l, i);
		double share = (double)json_int_or(s, "share_e9", 0) / 1e9;

		if (streq(json_str_or(s, "component", ""), name))
			return 1 + 3 * MIN(MAX(share, 0), 1);
	}
	return 1;
}

static int read_refused(const struct run_env *env, const struct stack *was, const struct stack *is,
			const struct changes *changes, struct question *q, struct err *err)
{
	struct waivers w CLEANUP(waivers_release) = { 0 };

	TRY(waivers_read(env->ledger, env->contract->workload.name, 0, &w, err));
	question_refuse(q, was, is, changes, &env->contract->stack.pins, &w);
	return 0;
}

static int read_parts(const struct run_env *env, const json_t *verdict,
		      const struct run_bisect *conf, struct question *q, struct err *err)
{
	const struct contract *c = env->contract;
	struct intent was CLEANUP(intent_release) = { 0 }, is CLEANUP(intent_release) = { 0 };
	struct stack before CLEANUP(stack_release) = { 0 }, after CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };

	TRY(intent_read(env->ledger, q->accepted_intent, &was, err));
	TRY(intent_read(env->ledger, q->intent, &is, err));
	(void)snprintf(q->accepted_run, sizeof(q->accepted_run), "%s", was.run);
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const struct stack_switch *sw = &c->stack.switches.v[i];
		const char *a = word_of(was.switches, sw->name);
		const char *b = word_of(is.switches, sw->name);
		struct bisect_part *p;

		if (!a || !b || streq(a, b))
			continue;
		p = VEC_ADD(&q->parts);
		p->name = sw->name;
		p->sw = sw;
		p->was = xstrdup(a);
		p->is = xstrdup(b);
		p->weight = conf->equal ? 1 : weight_of(verdict, sw->name);
	}
	TRY(run_stack_of(env->ledger, q->accepted_intent, &before, err));
	TRY(run_stack_of(env->ledger, q->intent, &after, err));
	stack_diff(&before, &after, &changes);
	list_uncovered(&changes, q);
	if (!q->parts.n) {
		bail(err, ERR_UNSUPPORTED,
		     "nothing that changed between runs '%s' and '%s' has a switch",
		     q->accepted_run, q->run);
		err_hint(err, "Give the components that changed a command in stack.switch, see "
			      "twice-contract(5).");
		return -ERR_UNSUPPORTED;
	}
	if (q->parts.n > BISECT_MAX_COMPONENTS)
		return bail(err, ERR_UNSUPPORTED, "%zu components changed, %d are the most",
			    q->parts.n, BISECT_MAX_COMPONENTS);
	return conf->unsupported ? 0 : read_refused(env, &before, &after, &changes, q, err);
}

int question_find(const struct question *q, const char *name, unsigned *ret, struct err *err)
{
	const char *names[BISECT_MAX_COMPONENTS + 1] = { 0 };

	for (size_t i = 0; i < q->parts.n; i++) {
		names[i] = q->parts.v[i].name;
		if (streq(names[i], name)) {
			*ret = (unsigned)i;
			return 0;
		}
	}
	bail(err, ERR_NOT_FOUND,
	     "'%s' is none of the %zu components that changed and have a switch", name, q->parts.n);
	err_hint_nearest(err, name, names);
	return -ERR_NOT_FOUND;
}

/* "blas=new,threads=old" */
static int read_never(const char *text, struct question *q, struct err *err)
{
	struct sv rest = sv_of(text), part;
	struct never n = { 0 };

	while (sv_split(&rest, ',', &part)) {
		struct sv word = part, name;
		AUTO_FREE char *key = NULL;
		unsigned i;

		(void)sv_split(&word, '=', &name);
		if (!word.p || (!sv_is(word, "new") && !sv_is(word, "old")))
			return bail(err, ERR_USAGE,
				    "--never: '%s' is not of the form "
				    "NAME=old or NAME=new, ...",
				    text);
		key = sv_dup(name);
		if (question_find(q, key, &i, err) < 0)
			return err_wrap(err, "--never");
		if (n.mask >> i & 1)
			return bail(err, ERR_USAGE, "--never: '%s' names '%s' twice", text, key);
		n.mask |= UINT32_C(1) << i;
		if (sv_is(word, "new"))
			n.value |= UINT32_C(1) << i;
	}
	n.why = xstrdup("as told on the command line");
	n.source = xstrdup("--never");
	*VEC_ADD(&q->never) = n;
	return 0;
}

int question_read(const struct run_env *env, const struct run_bisect *conf, struct question *ret,
		  struct err *err)
{
	struct ledger_entry v CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_entry s CLEANUP(ledger_entry_release) = { 0 };
	struct question q CLEANUP(question_release) = { 0 };

	TRY(find_verdict(env, conf->run, &v, err));
	memcpy(q.verdict, v.ref.hex, 65);
	(void)snprintf(q.run, sizeof(q.run), "%s", json_str_or(v.body, "run", ""));
	(void)snprintf(q.intent, 65, "%s", run_ref_of(v.body, "intent"));
	(void)snprintf(q.signoff, 65, "%s", run_ref_of(v.body, "accepted"));
	TRY(run_entry(env->ledger, q.signoff, "signoff", &s, err));
	if (!run_ref_of(s.body, "intent"))
		return bail(err, ERR_BROKEN, "the sign-off '%.16s' names no run", q.signoff);
	(void)snprintf(q.accepted_intent, 65, "%s", run_ref_of(s.body, "intent"));
	TRY(choose_metric(env, conf->metric, json_object_get(v.body, "decision"), &q, err));
	TRY(read_values(env->ledger, v.body, &q, err));
	TRY(read_parts(env, v.body, conf, &q, err));
	for (size_t i = 0; conf->never && i < conf->never->n; i++)
		TRY(read_never(conf->never->v[i], &q, err));
	*ret = q;
	q = (struct question){ 0 };
	return 0;
}
