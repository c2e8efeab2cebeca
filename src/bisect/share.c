/* SPDX-License-Identifier: Apache-2.0 */
/* What a component has to do with the loss: by belief, and as it was measured. */
#include "bisect/bisect.h"

#include "stat/stat.h"
#include <math.h>

#define TWO_SIDED 0.975

static uint32_t all_new(unsigned n)
{
	return (UINT32_C(1) << n) - 1;
}

/* ---- belief ---- */

/* Posterior mass of the shares 0, 1/2, 1 of one component, and the error of a share above 0. */
struct mixture {
	double none, half, whole, se;
};

static double mixture_cdf(const struct mixture *m, double x)
{
	double p = x >= 0 ? m->none : 0;

	p += m->half * norm_cdf((x - 0.5) / m->se);
	return p + m->whole * norm_cdf((x - 1) / m->se);
}

/* The quantile inside [0, 1]; what lies outside counts as its end. */
static double mixture_quantile(const struct mixture *m, double p)
{
	double lo = 0, hi = 1;

	if (mixture_cdf(m, 0) >= p)
		return 0;
	if (mixture_cdf(m, 1 - 1e-12) < p)
		return 1;
	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;

		if (mixture_cdf(m, mid) >= p)
			hi = mid;
		else
			lo = mid;
	}
	return hi;
}

/* How well the effect is known: its standard error as a share of itself. */
static double effect_error(const struct bisect_in *in, const struct bisect_fit *fit)
{
	double low = (double)in->n_bank, high = (double)in->n_cand;

	for (size_t k = 0; k < in->n_trials; k++) {
		double level = 0;

		if (!isfinite(in->trials[k].w))
			continue;
		for (size_t h = 0; h < fit->n; h++)
			level += fit->v[h].posterior *
				 bisect_level2(&fit->v[h], in->trials[k].config) / 2;
		high += level;
		low += 1 - level;
	}
	return MAX(fit->sigma / fit->effect * sqrt(1 / low + 1 / high), 1e-9);
}

void bisect_shares(const struct bisect_in *in, const struct bisect_fit *fit,
		   struct bisect_share *ret)
{
	double se = effect_error(in, fit);

	for (unsigned i = 0; i < in->n; i++) {
		struct mixture m = { .se = se };

		for (size_t k = 0; k < fit->n; k++) {
			const struct bisect_hyp *h = &fit->v[k];

			if (!(bisect_hyp_mask(h) >> i & 1))
				continue;
			if (h->kind == BISECT_ONE)
				m.whole += h->posterior;
			else
				m.half += h->posterior;
		}
		m.none = MAX(1 - m.whole - m.half, 0);
		ret[i] = (struct bisect_share){ .posterior = m.whole + m.half,
						.share = m.whole + m.half / 2,
						.lo = mixture_quantile(&m, 1 - TWO_SIDED),
						.hi = mixture_quantile(&m, TWO_SIDED) };
	}
}

/* ---- as measured ---- */

struct group {
	double sum, squares;
	size_t n;
};

static void add(struct group *g, double w)
{
	if (!isfinite(w))
		return;
	g->sum += w;
	g->squares += w * w;
	g->n++;
}

static double group_mean(const struct group *g)
{
	return g->n ? g->sum / (double)g->n : NAN;
}

/* Values measured at a configuration: bank and candidate count as all old and all new. */
static struct group group_of(const struct bisect_in *in, uint32_t config)
{
	struct group g = { 0 };

	for (size_t i = 0; config == 0 && i < in->n_bank; i++)
		add(&g, in->bank[i]);
	for (size_t i = 0; config == all_new(in->n) && i < in->n_cand; i++)
		add(&g, in->cand[i]);
	for (size_t k = 0; k < in->n_trials; k++)
		if (in->trials[k].config == config)
			add(&g, in->trials[k].w);
	return g;
}

/* Spread inside the groups, pooled, and its degrees of freedom. */
static double pooled(const struct group *g, size_t n, double *ret_df)
{
	double left = 0;

	*ret_df = 0;
	for (size_t i = 0; i < n; i++) {
		double m = group_mean(&g[i]);

		if (!g[i].n)
			continue;
		left += MAX(g[i].squares - (double)g[i].n * m * m, 0);
		*ret_df += (double)g[i].n - 1;
	}
	return *ret_df > 0 ? sqrt(left / *ret_df) : NAN;
}

/* a / b with var_a, var_b, cov in units of s^2: Fieller's interval. */
static void fieller(double a, double b, double var_a, double var_b, double cov, double s, double t,
		    double *ret_lo, double *ret_hi)
{
	double r = a / b, g, root;

	var_a *= s * s;
	var_b *= s * s;
	cov *= s * s;
	g = t * t * var_b / (b * b);
	if (!(g < 1)) { /* the loss itself could be none (or s is not known) */
		*ret_lo = -INFINITY;
		*ret_hi = INFINITY;
		return;
	}
	root = var_a - 2 * r * cov + r * r * var_b;
	if (var_b > 0)
		root -= g * (var_a - cov * cov / var_b);
	root = t / fabs(b) * sqrt(MAX(root, 0));
	r -= var_b > 0 ? g * cov / var_b : 0;
	*ret_lo = (r - root) / (1 - g);
	*ret_hi = (r + root) / (1 - g);
}

void bisect_both_ways(const struct bisect_in *in, uint32_t set, struct bisect_both_ways *ret)
{
	uint32_t all = all_new(in->n);
	struct group g[] = { group_of(in, 0), group_of(in, all), group_of(in, set),
			     group_of(in, all & ~set) };
	double old = group_mean(&g[0]), new = group_mean(&g[1]), df, s, t, v[4], loss = new - old;
	struct bisect_both_ways r = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, loss, 0, 0 };
	double only = group_mean(&g[2]), but = group_mean(&g[3]);

	*ret = r;
	if (!set || set == all)
		return;
	s = pooled(g, ARRAY_SIZE(g), &df);
	t = df > 0 ? t_quantile(TWO_SIDED, df) : NAN;
	for (size_t i = 0; i < ARRAY_SIZE(g); i++)
		v[i] = g[i].n ? 1 / (double)g[i].n : 0;
	r.n_forward = g[2].n;
	r.n_back = g[3].n;
	if (r.n_forward) {
		r.forward = (only - old) / loss;
		fieller(only - old, loss, v[2] + v[0], v[1] + v[0], v[0], s, t, &r.forward_lo,
			&r.forward_hi);
	}
	if (r.n_back) {
		r.back = (new - but) / loss;
		fieller(new - but, loss, v[3] + v[1], v[1] + v[0], v[1], s, t, &r.back_lo,
			&r.back_hi);
	}
	if (r.n_forward && r.n_back) {
		r.share = (r.forward + r.back) / 2;
		fieller((only - old + new - but) / 2, loss, (v[0] + v[1] + v[2] + v[3]) / 4,
			v[1] + v[0], (v[0] + v[1]) / 2, s, t, &r.lo, &r.hi);
	} else {
		r.share = r.n_forward ? r.forward : r.back;
		r.lo = r.n_forward ? r.forward_lo : r.back_lo;
		r.hi = r.n_forward ? r.forward_hi : r.back_hi;
	}
	*ret = r;
}

void bisect_factorial(const struct bisect_in *in, unsigned a, unsigned b,
		      struct bisect_factorial *ret)
{
	struct bisect_factorial f = { .config = { 0, UINT32_C(1) << a, UINT32_C(1) << b,
						  UINT32_C(1) << a | UINT32_C(1) << b } };
	double df, s, t, v[4];
	struct group g[4];

	f.has = true;
	for (size_t i = 0; i < ARRAY_SIZE(g); i++) {
		g[i] = group_of(in, f.config[i]);
		f.n[i] = g[i].n;
		f.mean[i] = group_mean(&g[i]);
		f.has = f.has && g[i].n >= 2;
		v[i] = g[i].n ? 1 / (double)g[i].n : INFINITY;
	}
	s = pooled(g, ARRAY_SIZE(g), &df);
	t = df > 0 ? t_quantile(TWO_SIDED, df) : NAN;
	f.effect_a = f.mean[1] - f.mean[0];
	f.effect_b = f.mean[2] - f.mean[0];
	f.interaction = f.mean[3] - f.mean[1] - f.mean[2] + f.mean[0];
	f.half_a = t * s * sqrt(v[1] + v[0]);
	f.half_b = t * s * sqrt(v[2] + v[0]);
	f.half_interaction = t * s * sqrt(v[0] + v[1] + v[2] + v[3]);
	*ret = f;
}
