/* SPDX-License-Identifier: Apache-2.0 */
#include "run/attribute.h"

#include "base/err.h"
#include "base/vec.h"
#include "readers/readers.h"
#include "stat/stat.h"
#include <math.h>

enum {
	LOGS_OF_AN_ARM = 6,          /* repetitions whose logs are read: the latest ones */
	LOG_MOST = 64 * 1024 * 1024, /* of one log; a longer one is left out */
	KERNELS_MOST = 64 * 1024 * 1024,
};

struct gathered {
	struct signatures catalogue;
	struct diagnose_logs logs;
	struct {
		struct diagnose_seen *v;
		size_t n, room;
	} seen;
	struct kernel_times before, now;
	struct {
		struct diagnose_kernel *v;
		size_t n, room;
	} kernels;
	struct swaps swaps;
	struct run_left accepted; /* its checks */
	enum diagnosis_symptom symptom;
	bool has_symptom, has_exit;
	int exit_code;
};

static void gathered_release(struct gathered *x)
{
	diagnose_logs_release(&x->logs);
	signatures_release(&x->catalogue);
	free(x->seen.v);
	free(x->kernels.v);
	kernel_times_release(&x->before);
	kernel_times_release(&x->now);
	swaps_release(&x->swaps);
	run_left_release(&x->accepted);
}

/* ---- logs ---- */

static bool is_log(const struct evidence *e)
{
	return e->digest && (str_ends(e->label, ".log") || strstr(e->label, "stderr") ||
			     strstr(e->label, "stdout") || str_ends(e->label, ".out"));
}

/* All logs of one repetition (or check), one behind the other. */
static void logs_of(struct going *g, const struct evidences *l, struct str *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		struct err err = ERR_INIT;
		AUTO_FREE char *text = NULL;
		size_t n;

		if (!is_log(&l->v[i]))
			continue;
		if (ledger_blob_get(g->env->ledger, l->v[i].digest, LOG_MOST, &text, &n, &err) <
		    0) {
			going_note(g, "'%s' could not be read for the attribution: %s",
				   l->v[i].label, err.msg);
			continue;
		}
		str_addsv(ret, (struct sv){ text, n });
		if (n && text[n - 1] != '\n')
			str_addc(ret, '\n');
	}
}

static void rep_logs(struct going *g, const struct rep *r, struct str *ret)
{
	logs_of(g, &r->evidence, ret);
	for (size_t i = 0; i < r->outcomes.n; i++)
		logs_of(g, &r->outcomes.v[i].evidence, ret);
}

static void arm_logs(struct going *g, const struct reps *l, enum diagnose_arm arm,
		     enum rep_state state, struct diagnose_logs *to)
{
	size_t n = 0;

	for (size_t i = l->n; i-- > 0 && n < LOGS_OF_AN_ARM;) {
		struct str text CLEANUP(str_release) = { 0 };

		if (l->v[i].state != state)
			continue;
		rep_logs(g, &l->v[i], &text);
		if (!text.n)
			continue;
		diagnose_logs_add(to, arm, state == REP_OK, sv_str(&text));
		n++;
	}
}

static bool any_of(const struct reps *l, enum rep_state state)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].state == state)
			return true;
	return false;
}

static void check_logs(struct going *g, const struct outcomes *l, enum diagnose_arm arm,
		       struct diagnose_logs *to)
{
	for (size_t i = 0; i < l->n; i++) {
		struct str text CLEANUP(str_release) = { 0 };

		logs_of(g, &l->v[i].evidence, &text);
		if (text.n)
			diagnose_logs_signs(to, arm, sv_str(&text));
	}
}

static void read_logs(struct going *g, struct gathered *x)
{
	const struct reps *cand = &g->judge.cand;
	struct err err = ERR_INIT;
	bool failed = any_of(cand, REP_FAILED);

	if (signatures_builtin(&x->catalogue, &err) < 0)
		going_note(g, "%s", err.msg);
	else
		x->logs.all = &x->catalogue;
	arm_logs(g, &g->judge.bank, ARM_ACCEPTED, REP_OK, &x->logs);
	/* What failed is what has to be explained, where anything did. */
	arm_logs(g, cand, ARM_CANDIDATE, failed ? REP_FAILED : REP_OK, &x->logs);
	check_logs(g, &x->accepted.outcomes, ARM_ACCEPTED, &x->logs);
	check_logs(g, &g->judge.outcomes, ARM_CANDIDATE, &x->logs);
	diagnose_logs_compare(&x->logs);
}

/* ---- what moved ---- */

static double worseness(double before, double now, enum direction d, bool difference)
{
	double w = difference ? now - before : log(now) - log(before);

	return d == LOWER_IS_BETTER ? w : -w;
}

static enum diagnose_moved moved_by(double w, double noise)
{
	double sure = fmax(0.05, 3 * noise);

	return isnan(w)          ? MOVED_UNKNOWN
	       : w > sure        ? MOVED_WORSE
	       : w < -sure       ? MOVED_BETTER
	       : noise > 0.03    ? MOVED_UNKNOWN
	       : fabs(w) <= 0.02 ? MOVED_NOT
				 : MOVED_UNKNOWN;
}

static void seen_number(struct gathered *x, const struct verdict_number *n)
{
	double by = n->shift, delta = n->delta;
	bool limit = n->has_limit && n->over_limit;
	enum diagnose_moved m = limit || (by > delta && n->lo > 0) ? MOVED_WORSE
				: fabs(by) < 0.5 * delta           ? MOVED_NOT
								   : MOVED_UNKNOWN;

	if (isnan(by) && !limit)
		return;
	*VEC_ADD(&x->seen) = (struct diagnose_seen){ .name = n->name,
						     .moved = m,
						     .by = n->abs_scale ? by : expm1(by),
						     .decides = n->gate || n->has_limit,
						     .before = n->bank_median,
						     .now = n->cand_median };
}

static bool is_seen(const struct gathered *x, const char *name)
{
	for (size_t i = 0; i < x->seen.n; i++)
		if (streq(x->seen.v[i].name, name))
			return true;
	return false;
}

static size_t column_of(const struct reps *l, const char *name, double *v)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct measurement *m = measurements_find(&l->v[i].measured, name);

		if (l->v[i].state == REP_OK && m && isfinite(m->value))
			v[n++] = m->value;
	}
	return n;
}

/* What was measured and decides nothing: the server's counters, memory, phases, temperatures. */
static void seen_of_reps(struct going *g, struct gathered *x)
{
	const struct reps *a = &g->judge.bank, *b = &g->judge.cand;
	AUTO_FREE double *before = xcalloc(a->n + 1, sizeof(*before));
	AUTO_FREE double *now = xcalloc(b->n + 1, sizeof(*now));
	const struct measurements *l = NULL;

	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].state == REP_OK)
			l = &b->v[i].measured;
	for (size_t i = 0; l && i < l->n; i++) {
		const struct measurement *m = &l->v[i];
		size_t na = column_of(a, m->name, before), nb = column_of(b, m->name, now);
		double ma, mb, w, noise;
		bool difference = m->unit == UNIT_RATIO;

		/* What else went on at the machine says nothing of the stack. */
		if (na < 3 || nb < 2 || is_seen(x, m->name) || str_starts(m->name, "host."))
			continue;
		ma = median(before, na);
		mb = median(now, nb);
		if (!difference && (!(ma > 0) || !(mb > 0)))
			continue;
		w = worseness(ma, mb, m->dir, difference);
		noise = 1.4826 * mad(before, na) / (difference ? 1 : ma);
		*VEC_ADD(&x->seen) = (struct diagnose_seen){ .name = m->name,
							     .moved = moved_by(w, noise),
							     .by = difference ? w : expm1(w),
							     .before = ma,
							     .now = mb };
	}
}

/* Checks of both runs: one number each, so only a step counts, or none at all. */
static void seen_of_checks(struct going *g, struct gathered *x)
{
	const struct outcomes *a = &x->accepted.outcomes, *b = &g->judge.outcomes;

	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->v[i].measured.n; k++) {
			const struct measurement *m = &b->v[i].measured.v[k], *o = NULL;
			double w;

			for (size_t j = 0; j < a->n && !o; j++)
				if (streq(a->v[j].check, b->v[i].check))
					o = measurements_find(&a->v[j].measured, m->name);
			if (!o || !(o->value > 0) || !(m->value > 0) || is_seen(x, m->name))
				continue;
			w = worseness(o->value, m->value, m->dir, false);
			*VEC_ADD(&x->seen) =
				(struct diagnose_seen){ .name = m->name,
							.moved = w > 0.15          ? MOVED_WORSE
								 : w < -0.15       ? MOVED_BETTER
								 : fabs(w) <= 0.05 ? MOVED_NOT
										   : MOVED_UNKNOWN,
							.by = expm1(w),
							.before = o->value,
							.now = m->value };
		}
}

/* ---- kernel times ---- */

static void kernels_of(struct going *g, const struct reps *l, struct kernel_times *ret)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct evidences *e = &l->v[i].evidence;

		for (size_t k = 0; k < e->n && l->v[i].state == REP_OK; k++) {
			struct err err = ERR_INIT;
			AUTO_FREE char *text = NULL;
			size_t n;

			if (!e->v[k].digest || !kernel_times_named(e->v[k].label))
				continue;
			if (ledger_blob_get(g->env->ledger, e->v[k].digest, KERNELS_MOST, &text, &n,
					    &err) < 0 ||
			    kernel_times_read((struct sv){ text, n }, ret, &err) < 0)
				going_note(g, "kernel times '%s': %s", e->v[k].label, err.msg);
			else
				return;
		}
	}
}

static double time_of(const struct kernel_times *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return l->v[i].ns;
	return 0;
}

static void read_kernels(struct going *g, struct gathered *x)
{
	double all = 0;

	kernels_of(g, &g->judge.bank, &x->before);
	kernels_of(g, &g->judge.cand, &x->now);
	for (size_t i = 0; i < x->before.n; i++)
		all += x->before.v[i].ns;
	if (!(all > 0) || !x->now.n)
		return;
	for (size_t i = 0; i < x->before.n; i++)
		*VEC_ADD(&x->kernels) =
			(struct diagnose_kernel){ x->before.v[i].name, x->before.v[i].ns / all,
						  time_of(&x->now, x->before.v[i].name) / all };
	for (size_t i = 0; i < x->now.n; i++)
		if (!(time_of(&x->before, x->now.v[i].name) > 0))
			*VEC_ADD(&x->kernels) = (struct diagnose_kernel){ x->now.v[i].name, 0,
									  x->now.v[i].ns / all };
}

/* ---- how it failed ---- */

static void how_it_failed(const struct going *g, const struct verdict *v, struct gathered *x)
{
	bool failed = v->kind == VERDICT_NO_RESULT;

	for (size_t i = 0; i < v->reasons.n; i++)
		failed |= streq(v->reasons.v[i].code, "repetition_failed");
	for (size_t i = 0; failed && i < g->judge.cand.n; i++) {
		const struct rep *r = &g->judge.cand.v[i];

		if (r->state != REP_FAILED || !r->reason)
			continue;
		x->has_symptom = diagnosis_symptom_of(r->reason, &x->symptom);
		x->has_exit = diagnosis_exit_of(r->reason, &x->exit_code);
		if (x->has_symptom)
			return;
	}
	for (size_t i = 0; i < g->judge.outcomes.n; i++) {
		const struct outcome *o = &g->judge.outcomes.v[i];

		if (x->has_symptom || o->result != RESULT_FAIL || !o->required || !o->reason ||
		    strstr(o->check, "resume"))
			continue;
		if (o->layer >= LAYER_COMM && o->layer <= LAYER_FRAMEWORK)
			x->has_symptom = diagnosis_symptom_of(o->reason, &x->symptom);
	}
}

static const char *gpu_of(const struct stack *s)
{
	const struct component *c = stack_find(s, CL_HARDWARE, "gpu");

	return c ? c->version : NULL;
}

static void gather(struct going *g, const struct verdict *v, const struct changes *changes,
		   struct gathered *x)
{
	struct err err = ERR_INIT;

	if (g->accepted &&
	    run_left_read(g->env->ledger, g->accepted->intent, &x->accepted, &err) < 0) {
		going_note(g, "the accepted run's checks could not be read: %s", err.msg);
		err_clear(&err);
	}
	read_logs(g, x);
	for (size_t i = 0; i < v->numbers.n; i++)
		seen_number(x, &v->numbers.v[i]);
	seen_of_reps(g, x);
	seen_of_checks(g, x);
	read_kernels(g, x);
	how_it_failed(g, v, x);
	if (g->accepted && !g->before_lost && swaps_read(g, v, changes, &x->swaps, &err) < 0)
		going_note(g, "earlier runs could not be read for the attribution: %s", err.msg);
}

/* ---- where nothing was judged ---- */

/* What voids the comparison, as components: settings that are not as they were asked for or are
 * labelled, libraries that the process had in another version than was captured. */
static void what_voids(struct going *g, struct stack *ret)
{
	struct strs mismatches CLEANUP(strs_release) = { 0 }, notes CLEANUP(strs_release) = { 0 };
	size_t n;
	AUTO_FREE struct verdict_setting *l = judge_settings(&g->judge, &mismatches, &notes, &n);

	for (size_t i = 0; i < n; i++) {
		const struct verdict_setting *s = &l[i];
		bool asked = s->requested && s->effective && !streq(s->requested, s->effective);
		bool label = s->label && s->effective && !streq(s->label, s->effective);
		struct component *c;

		if (!asked && !label)
			continue;
		c = stack_add(ret, CL_APPLICATION, s->name, s->effective, "told by the workload");
		c->requested = asked ? xstrdup(s->requested) : NULL;
		c->label = label ? xstrdup(s->label) : NULL;
	}
	for (size_t i = 0; i < g->mismatches.n; i++) {
		const char *text = g->mismatches.v[i], *colon = strchr(text, ':');
		const char *has = strstr(text, "the process has ");
		AUTO_FREE char *name = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;
		const struct component *then = name ? stack_find_name(&g->stack, name) : NULL;

		if (!then || !has || !then->version)
			continue;
		stack_add(ret, then->layer, name, has + strlen("the process has "), "process")
			->requested = xstrdup(then->version);
	}
	stack_sort(ret);
}

static size_t count_of(const struct reps *l, enum rep_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].state == state;
	return n;
}

/* The verdict's own words are reasons here: nothing was measured that could be one. */
static void own_words(const struct verdict *v, struct diagnosis *d)
{
	for (size_t i = 0; i < v->reasons.n; i++)
		if (v->reasons.v[i].text)
			strs_add(&d->reasons, v->reasons.v[i].text);
}

static void say_void(const struct going *g, const struct verdict *v, struct diagnosis *d)
{
	own_words(v, d);
	for (size_t i = 0; i < v->reasons.n && !d->trigger; i++)
		if (streq(v->reasons.v[i].code, "other_contract") ||
		    streq(v->reasons.v[i].code, "other_workload") ||
		    streq(v->reasons.v[i].code, "other_schedule"))
			d->trigger = xstrdup(v->reasons.v[i].about);
	if (!d->trigger && g->accepted &&
	    !streq(g->accepted->contract_digest, g->env->contract->digest))
		d->trigger = xstrdup("contract");
	strs_add(&d->must_not, "do not call it a regression: the two are no comparison");
}

/* The cheapest thing that would make a result of it: the first check that has none, else the
 * repetitions that were left out. */
static char *next_without_result(const struct going *g)
{
	const struct outcomes *l = &g->judge.outcomes;
	size_t excluded = count_of(&g->judge.cand, REP_EXCLUDED);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].required && l->v[i].result != RESULT_PASS &&
		    l->v[i].result != RESULT_FAIL)
			return xasprintf("'twice run --layer %s' alone makes %s again (%s)",
					 check_layer_name(l->v[i].layer), l->v[i].check,
					 l->v[i].reason ? l->v[i].reason : "no reason was given");
	if (excluded)
		return xasprintf("%zu repetition%s left out: remove what left them out, then "
				 "'twice run' goes on",
				 excluded, excluded == 1 ? " was" : "s were");
	return NULL;
}

static void say_no_result(const struct going *g, const struct verdict *v, bool failed,
			  struct diagnosis *d)
{
	size_t n = count_of(&g->judge.cand, REP_FAILED);
	bool open = !d->has_layer && !d->trigger;
	char *next = open && !failed ? next_without_result(g) : NULL;

	own_words(v, d);
	if (failed) {
		strs_addf(&d->must_not,
			  "do not call it rejected: %zu repetition%s failed, too few are there to "
			  "judge by",
			  n, n == 1 ? "" : "s");
		for (size_t i = 0; i < g->judge.cand.n; i++)
			if (g->judge.cand.v[i].state == REP_FAILED && g->judge.cand.v[i].reason)
				strs_addf(&d->reasons, "repetition %d: %s",
					  g->judge.cand.v[i].index + 1, g->judge.cand.v[i].reason);
	}
	if (next) {
		free(d->next);
		d->next = next;
	}
}

void run_attribute(struct going *g, const struct verdict *v, json_t *body)
{
	struct stack voids CLEANUP(stack_release) = { 0 };
	bool is_void = v->kind == VERDICT_BASELINE_VOID;
	bool failed = v->kind == VERDICT_NO_RESULT && any_of(&g->judge.cand, REP_FAILED);
	struct verdict as_failed = *v; /* borrows all of it */
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
	struct gathered x CLEANUP(gathered_release) = { .has_symptom = false };
	struct diagnose_in in = { .changes = &changes, .verdict = v };
	/* What the accepted stack was made of may be lost; then only this run speaks. */
	bool known = g->accepted && !g->before_lost;

	if (known) {
		stack_diff(&g->before, &g->stack, &changes);
		json_put(body, "changes", changes_to_json(&changes));
	}
	if (v->kind != VERDICT_REJECTED && v->kind != VERDICT_NO_RESULT && !is_void)
		return;
	/* A workload that did not come to its end is explained like one rejected for that. */
	as_failed.kind = VERDICT_REJECTED;
	if (failed)
		in.verdict = &as_failed;
	gather(g, v, &changes, &x);
	in.owners = &g->env->contract->stack.owners;
	in.outcomes = &g->judge.outcomes;
	in.before = known && !is_void ? &g->before : NULL;
	in.after = is_void ? &voids : &g->stack;
	if (is_void)
		what_voids(g, &voids);
	in.first = !known;
	in.symptom = x.has_symptom ? &x.symptom : NULL;
	in.exit_code = x.has_exit ? &x.exit_code : NULL;
	in.signs = x.logs.signs.v;
	in.n_signs = x.logs.signs.n;
	in.flips = x.logs.flips.v;
	in.n_flips = x.logs.flips.n;
	in.seen = x.seen.v;
	in.n_seen = x.seen.n;
	in.kernels = x.kernels.v;
	in.n_kernels = x.kernels.n;
	in.probes = x.swaps.v;
	in.n_probes = x.swaps.n;
	in.gpu = gpu_of(&g->stack);
	diagnose(&in, &d);
	if (is_void)
		say_void(g, v, &d);
	if (v->kind == VERDICT_NO_RESULT)
		say_no_result(g, v, failed, &d);
	for (size_t i = 0; i < g->mismatches.n; i++)
		strs_addf(&d.reasons, "the process had another library than was captured: %s",
			  g->mismatches.v[i]);
	json_put(body, "attribution", diagnosis_to_json(&d));
}
