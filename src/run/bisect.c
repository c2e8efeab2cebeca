/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the component that did it: announce, switch, measure, record, believe, go on. */
#include "run/bisecting.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "stat/stat.h"
#include <math.h>
#include <unistd.h>

#define GAMES      24 /* played to say beforehand what it will take */
#define GAMES_LEFT 8  /* of each kind, to tell roughly what is left */

struct bisecting {
	struct going g;
	const struct run_bisect *conf;
	struct question q;
	struct earlier earlier;
	struct trials trials; /* all of this question, earlier ones first */
	size_t before;        /* of them earlier ones */
	unsigned a, b;        /* --factorial */
	struct ledger_ref intent;
	bool restored, interrupted, compared;
	struct strs different;  /* from the accepted stack, with every switch back */
	struct bisect_trial *t; /* the same as the room wants them */
	double weights[BISECT_MAX_COMPONENTS];
	struct bisect_in in;
	struct bisect_fit fit;
	struct bisect_step step;
	struct bisect_expect expect; /* of the whole search, for "time left" */
	bool expecting;
};

static void bisecting_release(struct bisecting *b)
{
	going_release(&b->g);
	question_release(&b->q);
	earlier_release(&b->earlier);
	trials_release(&b->trials);
	strs_release(&b->different);
	bisect_fit_release(&b->fit);
	free(b->t);
}

/* ---- what the room sees ---- */

static enum bisect_why why_of(const char *word)
{
	for (int w = BISECT_REPRODUCE; w <= BISECT_CONFIRMS; w++)
		if (streq(word, bisect_why_name((enum bisect_why)w)))
			return (enum bisect_why)w;
	return BISECT_SEARCH;
}

static bool feasible(const void *arg, uint32_t config)
{
	return !question_refusal(arg, config);
}

static void look(struct bisecting *b)
{
	b->t = xrealloc(b->t, (b->trials.n + 1) * sizeof(*b->t));
	for (size_t i = 0; i < b->trials.n; i++)
		b->t[i] = (struct bisect_trial){ b->trials.v[i].config, why_of(b->trials.v[i].why),
						 b->trials.v[i].w };
	for (size_t i = 0; i < b->q.parts.n; i++)
		b->weights[i] = b->q.parts.v[i].weight;
	b->in = (struct bisect_in){ .n = (unsigned)b->q.parts.n,
				    .weight = b->weights,
				    .bank = b->q.bank.v,
				    .n_bank = b->q.bank.n,
				    .cand = b->q.cand.v,
				    .n_cand = b->q.cand.n,
				    .trials = b->t,
				    .n_trials = b->trials.n,
				    .feasible = b->q.never.n ? feasible : NULL,
				    .arg = &b->q,
				    .max_trials = (unsigned)b->conf->max_trials,
				    .seed = 1 };
	bisect_fit(&b->in, &b->fit);
	bisect_next(&b->in, &b->fit, &b->step);
}

/* ---- switching ---- */

/* Words of every component for a configuration, only where its switch says another one. A set
 * command that failed or was killed may have done half of it, and get need not see that. */
static int set_part(struct bisecting *b, struct bisect_part *p, const char *to,
		    const volatile int *cancel, struct err *err)
{
	const struct run_env *env = b->g.env;
	AUTO_FREE char *word = xstrdup(to);
	AUTO_FREE char *now = NULL;
	struct switch_step s = { .component = p->name, .to = word };
	struct err unknown = ERR_INIT;

	if (!p->unsure && run_switch_get(env->contract, env->dir, p->sw, &now, &unknown) == 0 &&
	    streq(now, to))
		return 0;
	p->unsure = true;
	TRY(run_switch(env->contract, env->dir, &s, cancel, err));
	p->unsure = false;
	return 0;
}

static int set_config(struct bisecting *b, uint32_t config, struct err *err)
{
	for (size_t i = 0; i < b->q.parts.n; i++) {
		struct bisect_part *p = &b->q.parts.v[i];

		TRY(set_part(b, p, config >> i & 1 ? p->is : p->was, b->g.env->cancel, err));
	}
	return 0;
}

/* As --leave says, in spite of Ctrl-C; tries each, then tells of all that would not. */
static int put_back(struct bisecting *b, struct err *err)
{
	struct str failed CLEANUP(str_release) = { 0 };
	enum err_code code = ERR_BROKEN;
	size_t n = 0;

	for (size_t i = 0; i < b->q.parts.n; i++) {
		struct bisect_part *p = &b->q.parts.v[i];
		const char *to = b->conf->leave == LEAVE_ACCEPTED   ? p->was
				 : b->conf->leave == LEAVE_REJECTED ? p->is
								    : p->found;
		struct err one = ERR_INIT;

		if (!to)
			continue;
		if (set_part(b, p, to, NULL, &one) < 0) {
			code = n ? code : one.code;
			str_addf(&failed, "%s%s", n++ ? "; " : "", one.msg);
		}
	}
	b->restored = !n;
	return n ? bail(err, code, "%s", str_text(&failed)) : 0;
}

/* Components of which nobody knows what is in place. */
static void put_unsure(const struct bisecting *b, json_t *to)
{
	json_t *l = json_array();

	for (size_t i = 0; i < b->q.parts.n; i++)
		if (b->q.parts.v[i].unsure)
			(void)json_array_append_new(l, json_string(b->q.parts.v[i].name));
	json_put(to, "state_unknown", l);
}

static const char *found_word(const json_t *found, const char *name)
{
	for (size_t i = 0; i < json_array_size(found); i++)
		if (streq(json_str_or(json_array_get(found, i), "name", ""), name))
			return json_str_or(json_array_get(found, i), "value", NULL);
	return NULL;
}

/* What a killed search left switched is not how the machine was found. */
static int read_found(struct bisecting *b, struct err *err)
{
	const struct run_env *env = b->g.env;

	for (size_t i = 0; i < b->q.parts.n; i++) {
		struct bisect_part *p = &b->q.parts.v[i];
		const char *then = found_word(b->earlier.found, p->name);

		/* It may have been killed while it switched. */
		p->unsure = then != NULL;
		if (then)
			p->found = xstrdup(then);
		else if (run_switch_get(env->contract, env->dir, p->sw, &p->found, err) < 0)
			return err_wrap(err, "switch '%s'", p->name);
	}
	if (b->earlier.found)
		going_note(&b->g, "%s was killed: what it had switched will be put back",
			   b->earlier.unrestored);
	return 0;
}

/* ---- the ledger ---- */

static int announce_search(struct bisecting *b, struct err *err)
{
	const struct run_env *env = b->g.env;
	AUTO_JSON json_t *body = json_object();
	json_t *parts = json_array();

	for (size_t i = 0; i < b->q.parts.n; i++)
		(void)json_array_append_new(
			parts, json_pack("{s:s,s:s,s:s}", "name", b->q.parts.v[i].name, "old",
					 b->q.parts.v[i].was, "new", b->q.parts.v[i].is));
	json_put_str(body, "scope", "bisect");
	json_put_str(body, "run", b->g.run);
	json_put_str(body, "workload", env->contract->workload.name);
	json_put(body, "contract", run_ref(env->contract->digest));
	json_put(body, "verdict", run_ref(b->q.verdict));
	json_put(body, "accepted", run_ref(b->q.signoff));
	json_put_str(body, "metric", b->q.metric_name);
	json_put(body, "components", parts);
	json_put(body, "found", words_found(&b->q));
	json_put_bool(body, "again", b->conf->again);
	if (b->q.never.n)
		put_refused(&b->q, body);
	json_put_str(body, "session", b->g.session);
	json_put_str(body, "tool_version", env->tool_version);
	json_put_int(body, "pid", getpid());
	return run_append(env, "run.intent", body, &b->intent, err);
}

static int announce_trial(struct bisecting *b, uint32_t config, const char *why,
			  struct ledger_ref *ret, struct err *err)
{
	AUTO_JSON json_t *body = json_object();

	json_put_str(body, "scope", "trial");
	json_put_str(body, "run", b->g.run);
	json_put_int(body, "trial", (int64_t)b->trials.n);
	json_put(body, "of", run_ref(b->intent.hex));
	json_put(body, "new", config_names(&b->q, config));
	json_put_str(body, "why", why);
	return run_append(b->g.env, "run.intent", body, ret, err);
}

static int record_trial(struct bisecting *b, struct rep *r, struct trial *t, struct err *err)
{
	AUTO_JSON json_t *body = NULL;
	struct ledger_ref ref;

	TRY(run_put_evidence(b->g.env, &r->evidence, err));
	body = streq(t->state, "cannot_run") ? json_object() : rep_to_json(r);
	json_put_str(body, "run", b->g.run);
	json_put_str(body, "workload", b->g.env->contract->workload.name);
	json_put(body, "intent", run_ref(t->intent));
	json_put(body, "new", config_names(&b->q, t->config));
	json_put_str(body, "why", t->why);
	json_put_str(body, "state", t->state);
	json_put_str(body, "reason", t->reason);
	json_put_str(body, "stack_digest", b->g.stack_digest);
	json_put_int(body, "took_ns", t->took_ns);
	TRY(run_append(b->g.env, "bisect.trial", body, &ref, err));
	memcpy(t->leaf, ref.hex, 65);
	return 0;
}

static int end_search(struct bisecting *b, const char *state, struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;

	json_put_str(body, "scope", "bisect");
	json_put_str(body, "run", b->g.run);
	json_put(body, "intent", run_ref(b->intent.hex));
	json_put_str(body, "state", state);
	json_put_bool(body, "restored", b->restored);
	put_unsure(b, body);
	json_put_int(body, "took_ns", clock_ns() - b->g.started_ns);
	return run_append(b->g.env, "run.result", body, &ref, err);
}

/* The answer as the ledger keeps it; a person may read it without the trials. */
static int record_answer(struct bisecting *b, const json_t *value, struct err *err)
{
	static const char *const keys[] = { "state",      "reason", "answer",     "factorial",
					    "components", "metric", "hypotheses", "refused" };
	AUTO_JSON json_t *body = json_object();
	json_t *trials = json_array();
	struct ledger_ref ref;

	json_put_str(body, "what", "bisect");
	json_put_str(body, "run", b->g.run);
	json_put_str(body, "workload", b->g.env->contract->workload.name);
	json_put(body, "intent", run_ref(b->intent.hex));
	json_put(body, "verdict", run_ref(b->q.verdict));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(value, keys[i]))
			json_put(body, keys[i], json_incref(json_object_get(value, keys[i])));
	for (size_t i = 0; i < b->trials.n; i++)
		(void)json_array_append_new(trials, run_ref(b->trials.v[i].leaf));
	json_put(body, "trials", trials);
	return run_append(b->g.env, "attribution", body, &ref, err);
}

/* ---- one trial ---- */

static char *config_text(const struct question *q, uint32_t config)
{
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < q->parts.n; i++)
		if (config >> i & 1)
			str_addf(&s, "%s%s", s.n ? " " : "", q->parts.v[i].name);
	if (!config)
		str_add(&s, "all old");
	else if (__builtin_popcount(config) == (int)q->parts.n)
		return xstrdup("all new");
	else
		str_add(&s, " new");
	return xstrdup(str_text(&s));
}

static double usual_ns(const struct question *q)
{
	AUTO_FREE double *v = xcalloc(q->took.n, sizeof(*v));

	if (!q->took.n)
		return NAN;
	memcpy(v, q->took.v, q->took.n * sizeof(*v));
	sort_doubles(v, q->took.n);
	return quantile_sorted(v, q->took.n, 0.5);
}

/* ", about 5 trials (2 min) left": what a search for the likeliest kind takes on average, less what
 * was done; a confirmation that was begun ends soon. "" when there is nothing left. */
static char *left_text(const struct bisecting *b)
{
	enum bisect_kind kind = b->fit.v[b->fit.best].kind;
	double ns = usual_ns(&b->q), left;
	AUTO_FREE char *time = NULL;

	if (!b->expecting || b->step.state != BISECT_TRY)
		return xstrdup("");
	left = b->expect.trials[kind < BISECT_ONE ? 0 : kind - BISECT_ONE] - (double)b->trials.n;
	left = MAX(ceil(left), 1);
	if (!isnan(ns))
		time = duration_text((int64_t)(left * ns));
	return xasprintf(", about %.0f trial%s%s%s%s left", left, left > 1 ? "s" : "",
			 time ? " (" : "", time ? time : "", time ? ")" : "");
}

static void tell(struct bisecting *b, const struct trial *t)
{
	AUTO_FREE char *left = left_text(b);
	AUTO_FREE char *config = config_text(&b->q, t->config);
	AUTO_FREE char *value = quantity_text(t->value, b->q.metric.unit);
	AUTO_FREE char *belief = belief_text(&b->q, &b->in, &b->fit);

	going_note(&b->g, "trial %zu (%s) %s: %s%s%s | %s%s", b->trials.n, t->why, config,
		   isnan(t->value) ? t->state : value, t->reason ? ", " : "",
		   t->reason ? t->reason : "", belief, left);
}

static void cannot_run(struct trial *t, const char *why)
{
	free(t->state);
	free(t->reason);
	t->state = xstrdup("cannot_run");
	t->reason = xstrdup(why);
	t->w = NAN;
}

/* Everything is switched back: what still differs is in every trial, and no suspect. */
static int compare_old(struct bisecting *b, struct err *err)
{
	struct changes l CLEANUP(changes_release) = { 0 };
	struct stack before CLEANUP(stack_release) = { 0 };

	TRY(run_stack_of(b->g.env->ledger, b->q.accepted_intent, &before, err));
	stack_diff(&before, &b->g.stack, &l);
	strs_release(&b->different);
	b->compared = true;
	for (size_t i = 0; i < l.n; i++) {
		AUTO_FREE char *text = l.v[i].material ? change_text(&l.v[i]) : NULL;

		if (text)
			strs_add(&b->different, text);
	}
	return 0;
}

/* Switched, captured, measured; what can't be had is the trial's state, not an error. */
static int measure(struct bisecting *b, const struct ledger_ref *intent, struct trial *t,
		   struct rep *r, struct err *err)
{
	static const char *const states[] = { "ok", "failed", "excluded" };
	AUTO_FREE char *text = config_text(&b->q, t->config);
	AUTO_FREE char *what = xasprintf("trial %zu, %s", b->trials.n + 1, text);
	AUTO_FREE char *name = xasprintf("trial-%zu", b->trials.n);
	struct going_part part = { .g = &b->g, .layer = LAYER_WORKLOAD, .what = what, .steps = 1 };
	const struct measurement *m;

	if (set_config(b, t->config, err) < 0) {
		if (b->g.env->cancel && *b->g.env->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted while switching");
		cannot_run(t, err->msg);
		err_clear(err);
		going_note(&b->g, "switching failed in the middle: what is in place is unknown "
				  "until it is set again, which comes next");
		return 0;
	}
	TRY(going_capture(&b->g, err));
	if (!t->config)
		TRY(compare_old(b, err));
	r->index = (int)b->trials.n;
	TRY(going_measure(&b->g, &part, name, intent, r, err));
	if (b->g.mismatches.n) {
		cannot_run(t, b->g.mismatches.v[0]);
		return 0;
	}
	t->state = xstrdup(states[r->state]);
	t->reason = xstrdup(r->reason);
	m = measurements_find(&r->measured, b->q.metric_name);
	t->value = m && r->state == REP_OK ? m->value : NAN;
	t->w = r->state == REP_EXCLUDED ? INFINITY : question_worseness(&b->q, r);
	return 0;
}

static int one_trial(struct bisecting *b, uint32_t config, const char *why, struct err *err)
{
	struct rep r CLEANUP(rep_release) = { 0 };
	struct trial t = { .config = config, .why = xstrdup(why), .value = NAN, .w = NAN };
	struct err lost = ERR_INIT;
	struct ledger_ref intent;
	int64_t start = clock_ns();
	int rc = announce_trial(b, config, why, &intent, err);

	if (rc == 0) {
		memcpy(t.intent, intent.hex, 65);
		rc = measure(b, &intent, &t, &r, err);
		t.took_ns = clock_ns() - start;
		if (rc < 0 &&
		    run_abandon(b->g.env, intent.hex, b->g.run,
				err->code == ERR_INTERRUPTED ? "interrupted" : err->msg, &lost) < 0)
			going_note(&b->g, "%s", lost.msg);
		if (rc == 0)
			rc = record_trial(b, &r, &t, err);
	}
	if (rc < 0) {
		free(t.why);
		free(t.state);
		free(t.reason);
		return rc;
	}
	*VEC_ADD(&b->trials) = t;
	look(b);
	tell(b, &b->trials.v[b->trials.n - 1]);
	return 0;
}

/* ---- the plan ---- */

static unsigned factorial_missing(const struct bisecting *b, uint32_t *ret_next)
{
	struct bisect_factorial f;
	unsigned missing = 0;
	size_t fewest = SIZE_MAX;

	bisect_factorial(&b->in, b->a, b->b, &f);
	for (size_t i = 0; i < ARRAY_SIZE(f.n); i++) {
		size_t n = 0;

		/* fresh ones: what was measured before may be of another hour */
		for (size_t k = 0; k < b->trials.n; k++)
			n += b->trials.v[k].config == f.config[i] && isfinite(b->trials.v[k].w);
		for (size_t k = 0; k < b->trials.n; k++)
			if (b->trials.v[k].config == f.config[i] && isnan(b->trials.v[k].w))
				n = SIZE_MAX - 1; /* can't run */
		if (n < (size_t)b->conf->each)
			missing += (unsigned)((size_t)b->conf->each - n);
		if (n < fewest && n < (size_t)b->conf->each) {
			fewest = n;
			*ret_next = f.config[i];
		}
	}
	return missing;
}

static void put_cost(struct bisecting *b, json_t *o, const char *name, double trials)
{
	const struct contract *c = b->g.env->contract;
	double ns = trials * usual_ns(&b->q);
	AUTO_FREE char *time_key = xasprintf("%s_ns", name);
	AUTO_FREE char *money_key = xasprintf("%s_cost_e9", name);
	AUTO_FREE char *key = xasprintf("%s_e9", name);

	json_put(o, key, json_e9(trials));
	if (!isnan(ns))
		json_put_int(o, time_key, (int64_t)ns);
	if (!isnan(ns) && c->has_cost && !c->cost.file && !isnan(c->cost.per_hour))
		json_put(o, money_key, json_e9(ns / 3.6e12 * c->cost.per_hour));
}

static void put_plan(struct bisecting *b, json_t *to)
{
	static const char *const kinds[] = { "one", "and", "add" };
	const struct contract *c = b->g.env->contract;
	unsigned limit = b->in.max_trials ? b->in.max_trials : BISECT_MAX_TRIALS;
	json_t *o = json_object(), *expect;
	struct bisect_expect e;

	json_put_int(o, "trials_before", (int64_t)b->trials.n);
	if (!isnan(usual_ns(&b->q)))
		json_put_int(o, "trial_ns", (int64_t)usual_ns(&b->q));
	if (c->has_cost && c->cost.currency)
		json_put_str(o, "currency", c->cost.currency);
	if (b->conf->a) {
		uint32_t next = 0;

		put_cost(b, o, "missing", factorial_missing(b, &next));
		json_put(to, "plan", o);
		return;
	}
	if (b->step.state != BISECT_TRY) {
		json_put(o, "expect", json_array()); /* nothing is to be tried */
		json_put(to, "plan", o);
		return;
	}
	expect = json_array();
	bisect_expect(&b->in, GAMES, 1, &e);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		json_t *x;

		if (k && b->in.n < 2)
			break;
		x = json_object();
		json_put_str(x, "kind", kinds[k]);
		put_cost(b, x, "trials", e.trials[k]);
		json_put(x, "found_e9", json_e9(e.right[k]));
		(void)json_array_append_new(expect, x);
	}
	json_put(o, "expect", expect);
	put_cost(b, o, "most", limit);
	if (b->step.state == BISECT_TRY) {
		json_put(o, "next", config_names(&b->q, b->step.config));
		json_put_str(o, "next_why", bisect_why_name(b->step.why));
	}
	json_put(to, "plan", o);
}

/* ---- the whole ---- */

static int search(struct bisecting *b, struct err *err)
{
	while (b->conf->a) {
		uint32_t config = 0;

		if (!factorial_missing(b, &config))
			return 0;
		TRY(one_trial(b, config, "factorial", err));
	}
	if (b->step.state == BISECT_TRY) {
		bisect_expect(&b->in, GAMES_LEFT, 1, &b->expect);
		b->expecting = true;
	}
	while (b->step.state == BISECT_TRY)
		TRY(one_trial(b, b->step.config, bisect_why_name(b->step.why), err));
	return 0;
}

static void put_value(struct bisecting *b, json_t *value)
{
	json_t *trials = json_array(), *uncovered = json_array(), *different = json_array();

	json_put_str(value, "workload", b->g.env->contract->workload.name);
	json_put_str(value, "bisect", b->g.run);
	json_put_str(value, "rejected_run", b->q.run);
	json_put_str(value, "accepted_run", b->q.accepted_run);
	json_put_str(value, "metric", b->q.metric_name);
	json_put_str(value, "unit", unit_name(b->q.metric.unit));
	json_put_str(value, "scale", b->q.metric.scale == SCALE_ABS ? "abs" : "log");
	for (size_t i = 0; i < b->q.uncovered.n; i++)
		(void)json_array_append_new(uncovered, json_string(b->q.uncovered.v[i]));
	json_put(value, "no_switch_for", uncovered);
	for (size_t i = 0; i < b->different.n; i++)
		(void)json_array_append_new(different, json_string(b->different.v[i]));
	if (b->compared)
		json_put(value, "still_different", different);
	else
		json_decref(different);
	put_belief(&b->q, &b->in, &b->fit, value);
	put_refused(&b->q, value);
	for (size_t i = 0; i < b->trials.n; i++)
		(void)json_array_append_new(trials, trial_json(&b->q, &b->trials.v[i]));
	json_put(value, "trials", trials);
	json_put_int(value, "trials_before", (int64_t)b->before);
	json_put_int(value, "interrupted_before", (int64_t)b->earlier.interrupted);
	if (b->conf->a)
		put_factorial(&b->q, &b->in, b->a, b->b, value);
	if (b->interrupted)
		json_put_str(value, "state", "interrupted");
	else if (b->conf->plan_only)
		json_put_str(value, "state", "planned");
	else if (b->conf->a)
		json_put_str(value, "state", "factorial");
	else
		put_answer(&b->q, &b->in, &b->fit, &b->step, value);
}

/* An answer that is there already comes before any plan. */
static void put_standing(struct bisecting *b, json_t *value)
{
	size_t limit = b->in.max_trials ? b->in.max_trials : BISECT_MAX_TRIALS;
	struct sofar s = { &b->q,
			   &b->fit,
			   &b->step,
			   &b->earlier,
			   b->trials.n,
			   b->step.state == BISECT_UNDETERMINED && b->trials.n >= limit,
			   b->earlier.unended && going_elsewhere(b->g.env) };

	put_so_far(&s, value);
	if (b->step.state != BISECT_TRY && !b->conf->a) {
		put_answer(&b->q, &b->in, &b->fit, &b->step, value);
		json_put_str(value, "state", "planned");
	}
}

/* A full plan has all four or none. */
static int factorial_allowed(const struct bisecting *b, struct err *err)
{
	uint32_t x = UINT32_C(1) << b->a, y = UINT32_C(1) << b->b;
	uint32_t configs[] = { 0, x, y, x | y };

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		const struct never *n = question_refusal(&b->q, configs[i]);
		AUTO_FREE char *text = n ? config_text(&b->q, configs[i]) : NULL;

		if (!n)
			continue;
		bail(err, ERR_UNSUPPORTED, "--factorial would try %s: %s (%s)", text, n->why,
		     n->source);
		err_hint(err, "--unsupported tries it all the same.");
		return -ERR_UNSUPPORTED;
	}
	return 0;
}

static int begin(struct bisecting *b, struct err *err)
{
	const struct run_env *env = b->g.env;
	struct acceptance a = { 0 };
	uint64_t next;

	TRY(question_read(env, b->conf, &b->q, err));
	if (b->conf->a) {
		TRY(question_find(&b->q, b->conf->a, &b->a, err));
		TRY(question_find(&b->q, b->conf->b, &b->b, err));
		if (b->a == b->b)
			return bail(err, ERR_USAGE, "--factorial wants two different components");
		TRY(factorial_allowed(b, err));
	}
	TRY(earlier_read(env->ledger, env->contract, &b->q, &b->earlier, err));
	if (!b->conf->again) {
		b->trials = b->earlier.trials;
		b->earlier.trials = (struct trials){ 0 };
	}
	b->before = b->trials.n;
	look(b);
	if (b->conf->plan_only)
		return 0;
	if (b->before)
		going_note(&b->g, "%zu trial%s of this question already: the search goes on",
			   b->before, b->before == 1 ? "" : "s");
	TRY(read_found(b, err));
	TRY(going_identify(&b->g, err));
	TRY(dir_temp("bisect", &b->g.work, err));
	/* golden answers come from the bank */
	TRY(acceptance_of(env->ledger, b->q.signoff, &a, err));
	TRY(ledger_size(env->ledger, &b->g.as_of, NULL, err));
	b->g.judge.contract = env->contract;
	return judge_bank(env->ledger, env->contract, &a, b->g.as_of, &b->g.judge, &next, err);
}

static int finish(struct bisecting *b, json_t *value, int *ret_exit, struct err *err)
{
	static const int exits[] = { 2, 0, 1, 1, 2 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err lost = ERR_INIT;

	if (put_back(b, &lost) < 0)
		going_note(&b->g, "the machine is not as it was found: %s", lost.msg);
	put_value(b, value);
	json_put_bool(value, "restored", b->restored);
	json_put_str(value, "not_restored", b->restored ? NULL : lost.msg);
	put_unsure(b, value);
	json_put_int(value, "took_ns", clock_ns() - b->g.started_ns);
	if (!b->interrupted)
		TRY(record_answer(b, value, err));
	TRY(end_search(b, b->interrupted ? "interrupted" : "finished", err));
	TRY(ledger_checkpoint(b->g.env->ledger, &cp, err));
	*ret_exit = b->interrupted ? 2 : exits[b->step.state];
	if (b->conf->a && !b->interrupted) {
		struct bisect_factorial f;

		bisect_factorial(&b->in, b->a, b->b, &f);
		*ret_exit = f.has ? 0 : 2;
	}
	if (!b->restored)
		*ret_exit = 3;
	return 0;
}

/* Only puts back what a killed search left. */
static int restore(struct bisecting *b, json_t *value, int *ret_exit, struct err *err)
{
	const struct contract *c = b->g.env->contract;
	AUTO_JSON json_t *body = json_object();
	json_t *done = json_array();
	struct ledger_ref ref;

	json_put(value, "words", done);
	TRY(earlier_read(b->g.env->ledger, c, NULL, &b->earlier, err));
	json_put_str(value, "workload", c->workload.name);
	json_put_str(value, "state", b->earlier.found ? "restored" : "nothing_to_restore");
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const char *to = found_word(b->earlier.found, c->stack.switches.v[i].name);
		struct bisect_part p = { .name = c->stack.switches.v[i].name,
					 .sw = &c->stack.switches.v[i],
					 .unsure = true };

		if (!to)
			continue;
		TRY(set_part(b, &p, to, b->g.env->cancel, err));
		(void)json_array_append_new(done,
					    json_pack("{s:s,s:s}", "name", p.name, "value", to));
	}
	*ret_exit = 0;
	if (!b->earlier.found)
		return 0;
	json_put_str(body, "scope", "restore");
	json_put_str(body, "run", b->earlier.unrestored);
	json_put(body, "words", json_incref(done));
	return run_append(b->g.env, "run.result", body, &ref, err);
}

int run_bisect(const struct run_env *env, const struct run_bisect *conf, json_t *value,
	       int *ret_exit, struct err *err)
{
	struct bisecting b CLEANUP(bisecting_release) = {
		.g = { .env = env, .started_ns = clock_ns(), .lock_fd = -1 }, .conf = conf
	};
	struct err lost = ERR_INIT;
	size_t closed;
	int rc;

	if (conf->plan_only) {
		TRY(begin(&b, err));
		put_value(&b, value);
		put_standing(&b, value);
		put_plan(&b, value);
		*ret_exit = 0;
		return 0;
	}
	TRY(going_lock(&b.g, err));
	TRY(run_close_abandoned(env, &closed, err));
	if (conf->restore_only)
		return restore(&b, value, ret_exit, err);
	TRY(begin(&b, err));
	TRY(announce_search(&b, err));
	rc = search(&b, err);
	if (rc < 0 && err->code != ERR_INTERRUPTED) {
		if (put_back(&b, &lost) < 0)
			going_note(&b.g, "the machine is not as it was found: %s", lost.msg);
		if (end_search(&b, "broken off", &lost) < 0)
			going_note(&b.g, "%s", lost.msg);
		return rc;
	}
	b.interrupted = rc < 0;
	if (rc < 0)
		err_clear(err);
	return finish(&b, value, ret_exit, err);
}
