/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include <math.h>

/* ---- objectives --------------------------------------------------------------------------------
 * */

bool rule_objectives_missed(const struct series *s, size_t n, struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];
		AUTO_FREE char *limit = quantity_text(x->limit, x->unit);
		AUTO_FREE char *got = quantity_text(x->cand_median, x->unit);

		if (!x->has_limit)
			continue;
		if (s->in->metrics[k].across) {
			if (x->over_limit)
				say(&v->reasons, "objective_missed", x->name, "%s is %s, limit %s",
				    x->name, got, limit);
		} else if (x->over_share > 0.10) {
			say(&v->reasons, "objective_missed", x->name,
			    "%s is over its limit %s in %u of %zu repetitions (median %s)", x->name,
			    limit, x->over, n, got);
		}
	}
	return v->reasons.n ? decided(v, VERDICT_REJECTED, n) : false;
}

bool rule_objectives_held(const struct series *s, const struct verdict *v)
{
	size_t any = 0;

	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (!x->has_limit)
			continue;
		any++;
		if (x->held == HELD_NO)
			return false;
	}
	/* Without a bank the objectives are all there is: none of them is nothing shown. */
	return any > 0 || s->in->has_bank;
}

/* ---- margins -----------------------------------------------------------------------------------
 * */

bool rule_below_margins(const struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (number_gates(x) && (x->count < 0 || !(x->ucb < x->delta)))
			return false;
	}
	return true;
}

/* " [lo, hi]" where there are bounds. Caller frees. */
static char *bounds_text(const struct verdict_number *x)
{
	AUTO_FREE char *lo = verdict_percent(x->lo, x->abs_scale);
	AUTO_FREE char *hi = verdict_percent(x->hi, x->abs_scale);

	return isfinite(x->lo) && isfinite(x->hi)
		       ? xasprintf(" [%s, %s] (%.0f %% interval)", lo, hi, 100 * x->level)
		       : xstrdup("");
}

static void say_regressed(struct verdict *v, const struct verdict_number *x)
{
	AUTO_FREE char *before = quantity_text(x->bank_median, x->unit);
	AUTO_FREE char *now = quantity_text(x->cand_median, x->unit);
	AUTO_FREE char *shift = verdict_percent(x->shift, x->abs_scale);
	AUTO_FREE char *margin = verdict_percent(x->delta, x->abs_scale);
	AUTO_FREE char *bounds = bounds_text(x);

	say(&v->reasons, x->gross ? "gross_regression" : "regressed", x->name,
	    "%s: %s -> %s, worse by %s%s, margin %s", x->name, before, now, shift, bounds, margin);
}

bool rule_regressed(const struct series *s, size_t n, struct verdict *v)
{
	double at = s->in->rho * s->in->alpha_reject;

	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (number_gates(x) && (x->gross || x->p_adjusted <= at))
			say_regressed(v, x);
	}
	return v->reasons.n ? decided(v, VERDICT_REJECTED, n) : false;
}

/* ---- what stands against an acceptance, and what goes with it -------------------------------- */

void rule_repeatable(const struct series *s, struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (s->in->metrics[k].gate && !x->abs_scale && x->cov_cand > s->in->max_cov)
			say(&v->reasons, "not_repeatable", x->name,
			    "%s varies by %.1f %% between repetitions, the limit is %.1f %%",
			    x->name, 100 * x->cov_cand, 100 * s->in->max_cov);
	}
}

static void note_metric(const struct series *s, size_t k, const struct verdict_number *x,
			struct verdict *v)
{
	AUTO_FREE char *shift = verdict_percent(x->shift, x->abs_scale);
	AUTO_FREE char *bounds = bounds_text(x);
	size_t n = v->used;

	if (!number_gates(x))
		return;
	if (x->label == LABEL_WORSE_INSIDE)
		say(&v->notes, "worse_inside_margin", x->name,
		    "%s is worse by %s%s, inside its margin", x->name, shift, bounds);
	if (x->noisier > 0)
		say(&v->notes, "noisier", x->name, "%s: the candidate is %.1f times noisier",
		    x->name, x->noisier);
	if (x->ucb < -x->delta)
		say(&v->notes, "much_better", x->name,
		    "%s is better by more than its margin%s: same work, same data, same target?",
		    x->name, bounds);
	if (x->session_p < 0.05)
		say(&v->notes, "session_effect", x->name,
		    "%s: sessions of the accepted run differ by more than their repetitions do",
		    x->name);
	if (n >= 8 && series_failed(s, n) == 0 && autocorrelation(s->w[k], n) > 0.6)
		say(&v->notes, "drift", x->name,
		    "%s drifts: these %zu repetitions say as much as %.0f apart", x->name, n,
		    effective_size(s->w[k], n));
}

static const struct verdict_number *part_of(const struct series *s, const struct verdict *v,
					    enum verdict_part part)
{
	for (size_t k = 0; k < v->numbers.n; k++)
		if (s->in->metrics[k].part == part && isfinite(v->numbers.v[k].shift))
			return &v->numbers.v[k];
	return NULL;
}

void note_parts(const struct series *s, struct verdict *v)
{
	const struct verdict_number *speed = part_of(s, v, PART_SPEED);
	const struct verdict_number *amount = part_of(s, v, PART_AMOUNT);
	bool faster = speed && amount && speed->hi < 0 && amount->lo > 0;
	bool fewer = speed && amount && speed->lo > 0 && amount->hi < 0;

	if (!faster && !fewer)
		return;
	AUTO_FREE char *x = verdict_percent(speed->shift, false);
	AUTO_FREE char *y = verdict_percent(amount->shift, false);
	AUTO_FREE char *both = verdict_percent(speed->shift + amount->shift, false);

	say(&v->notes, "speed_against_samples", amount->name,
	    "%s: %s moved by %s and %s by %s, together the time to the target by %s; each is held "
	    "to its own margin, neither makes up for the other",
	    faster ? "faster, but with more samples" : "fewer samples, but slower", speed->name, x,
	    amount->name, y, both);
}

void rule_notes(const struct series *s, struct verdict *v)
{
	const struct verdict_in *in = s->in;
	unsigned failed = series_failed(s, v->used);
	size_t bank = MIN(in->n_bank, (size_t)VERDICT_MAX_BANK);

	for (size_t i = 0; in->notes && in->notes[i]; i++)
		say(&v->notes, "note", NULL, "%s", in->notes[i]);
	for (size_t k = 0; k < v->numbers.n; k++)
		note_metric(s, k, &v->numbers.v[k], v);
	note_parts(s, v);
	if (failed)
		say(&v->notes, "note", NULL,
		    "%u failed repetition%s, as many as the contract allows", failed,
		    failed == 1 ? "" : "s");
	if (in->has_bank && bank < 10 && !in->interleaved)
		say(&v->notes, "small_bank", NULL,
		    "the accepted run has %zu repetitions; 10 decide smaller margins and are less "
		    "at the mercy of one slow run",
		    bank);
}
