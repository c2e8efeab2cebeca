/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include <math.h>

static const char *const label_names[] = {
	"none", "same", "better", "not worse", "worse, inside the margin", "regressed", "open"
};

const char *verdict_label_name(enum verdict_label l)
{
	return l <= LABEL_OPEN ? label_names[l] : "none";
}

bool number_gates(const struct verdict_number *x)
{
	return x->gate && !isnan(x->delta);
}

static enum verdict_label label_of(const struct verdict_number *x, double reject_at)
{
	if (isnan(x->shift) || isnan(x->delta))
		return LABEL_NONE;
	if (x->gross || x->p_adjusted <= reject_at)
		return LABEL_REGRESSED;
	if (x->ucb < 0)
		return LABEL_BETTER;
	if (!(x->ucb < x->delta))
		return LABEL_OPEN;
	if (x->lcb > 0)
		return LABEL_WORSE_INSIDE;
	return x->lcb > -x->delta ? LABEL_SAME : LABEL_NOT_WORSE;
}

static void noise(struct verdict_number *x, const double *bank, size_t m, const double *w, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(double));
	size_t k = finite_of(w, n, v);

	x->cov_cand = stdev(v, k);
	x->cov_bank = stdev(bank, m);
	if (k > 2 && m > 2 && x->cov_bank > 0) {
		double r = x->cov_cand / x->cov_bank;

		if (f_upper(r * r, (double)(k - 1), (double)(m - 1)) < 0.05)
			x->noisier = r;
	}
}

static bool over(const struct verdict_metric *m, double w)
{
	double limit = limit_of(m);

	return m->limit_strict ? w >= limit : w > limit;
}

/* The limit against an upper bound on the worseness scale; the slack is the rounding of
 * logarithms. */
static bool inside(const struct verdict_metric *m, double upper)
{
	double limit = limit_of(m), slack = 1e-12 * MAX(1.0, fabs(limit));

	if (!isfinite(upper))
		return false;
	return m->limit_strict ? upper < limit - slack : upper <= limit + slack;
}

/* mean + k sd of finite values: at least 90 % of starts are below it, with confidence 98 %. */
static double tolerance_bound(const double *w, size_t n)
{
	return mean(w, n) + tolerance_factor((unsigned)n, 0.90, 0.98) * stdev(w, n);
}

static void objective(const struct series *s, size_t k, size_t n, struct verdict_number *x)
{
	const struct verdict_metric *m = &s->in->metrics[k];
	const double *w = s->w[k];
	size_t bank = series_bank(s, k, n);
	bool any_failed = series_failed(s, n) > 0;
	unsigned failed_over = 0;

	for (size_t i = 0; i < n; i++) {
		x->over += over(m, w[i]);
		failed_over += s->failed[i];
	}
	x->over_limit = x->over > 0;
	x->over_share = n ? cp_lower(x->over, (unsigned)n, 0.95) : 0;
	if (n >= 2 && !any_failed) {
		double upper = tolerance_bound(w, n);

		x->upper = value_of(m, upper);
		if (n >= VERDICT_MIN_FIRST && inside(m, upper))
			x->held = HELD_OWN;
	}
	if (x->held == HELD_NO && s->in->has_bank && bank >= VERDICT_MIN_BANK && n &&
	    x->over == failed_over && inside(m, tolerance_bound(s->bank[k], bank) + x->ucb))
		x->held = HELD_BANK;
}

static void across(const struct verdict_metric *m, struct verdict_number *x)
{
	x->cand_median = m->cand ? m->cand[0] : NAN;
	x->over_limit = m->has_limit &&
			(isnan(x->cand_median) ||
			 over(m, m->abs_scale || x->cand_median > 0
					 ? worseness(m, x->cand_median)
					 : (m->dir == LOWER_IS_BETTER ? -INFINITY : INFINITY)));
	x->held = x->over_limit ? HELD_NO : HELD_OWN;
}

static void number(struct series *s, size_t k, size_t n, bool with_counts, struct verdict_number *x)
{
	const struct verdict_in *in = s->in;
	const struct verdict_metric *m = &in->metrics[k];
	const double *w = s->w[k];
	size_t bank = series_bank(s, k, n);
	struct shift d;

	*x = (struct verdict_number){ .name = xstrdup(m->name),
				      .unit = m->unit,
				      .dir = m->dir,
				      .abs_scale = m->abs_scale,
				      .gate = m->gate && in->has_bank && !m->across,
				      .has_limit = m->has_limit,
				      .limit = m->has_limit ? m->limit : NAN,
				      .bank_median = NAN,
				      .cand_median = NAN,
				      .shift = NAN,
				      .lcb = -INFINITY,
				      .ucb = INFINITY,
				      .delta = NAN,
				      .p_worse = NAN,
				      .p_adjusted = NAN,
				      .count = -1,
				      .cov_bank = NAN,
				      .cov_cand = NAN,
				      .session_p = NAN,
				      .lo = NAN,
				      .hi = NAN,
				      .level = NAN,
				      .upper = NAN };
	if (m->across) {
		across(m, x);
		return;
	}
	x->cand_median = n ? value_of(m, median(w, n)) : NAN;
	noise(x, s->bank[k], bank, w, n);
	if (in->has_bank && bank) {
		x->count = with_counts ? series_count(s, k, n) : -1;
		x->bank_median = value_of(m, median(s->bank[k], bank));
		shift_of(s->bank[k], bank, w, n, x->count, &d);
		x->shift = d.shift;
		x->lcb = d.lcb;
		x->ucb = d.ucb;
		x->p_worse = d.p_worse;
		x->lo = d.lo;
		x->hi = d.hi;
		x->level = d.level;
		x->session_p = session_p(s, k);
		if (!isnan(m->margin)) {
			x->delta = delta_of(m);
			x->gross = n >= 3 && d.lowest > x->delta;
		}
	}
	if (m->has_limit)
		objective(s, k, n, x);
}

void numbers_make(struct series *s, size_t n, bool with_counts, struct verdict_numbers *ret)
{
	const struct verdict_in *in = s->in;
	AUTO_FREE double *p = xcalloc(in->n_metrics, sizeof(double));
	AUTO_FREE double *adjusted = xcalloc(in->n_metrics, sizeof(double));
	size_t gates = 0;

	number_list_release(ret);
	for (size_t k = 0; k < in->n_metrics; k++) {
		struct verdict_number *x = VEC_ADD(ret);

		number(s, k, n, with_counts, x);
		if (number_gates(x))
			p[gates++] = x->shift >= x->delta ? x->p_worse : 1;
	}
	holm(p, gates, adjusted);
	gates = 0;
	for (size_t k = 0; k < ret->n; k++) {
		struct verdict_number *x = &ret->v[k];

		if (number_gates(x))
			x->p_adjusted = adjusted[gates++];
		x->label = label_of(x, in->rho * in->alpha_reject);
	}
}

void number_list_release(struct verdict_numbers *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].name);
	free(l->v);
	*l = (struct verdict_numbers){ 0 };
}

void numbers_copy(const struct verdict_numbers *from, struct verdict_numbers *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		struct verdict_number *x = VEC_ADD(ret);

		*x = from->v[i];
		x->name = xstrdup(from->v[i].name);
	}
}
