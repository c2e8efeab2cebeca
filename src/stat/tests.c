/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

void holm(const double *p, size_t n, double *ret)
{
	AUTO_FREE size_t *order = xcalloc(n, sizeof(*order));
	double running = 0;

	/* Insertion sort: stable, and n is the number of gating metrics. */
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		while (at > 0 && p[order[at - 1]] > p[i]) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
	for (size_t k = 0; k < n; k++) {
		double adjusted = MIN(1.0, (double)(n - k) * p[order[k]]);

		running = MAX(running, adjusted);
		ret[order[k]] = running;
	}
}

void variance_components(const double *v, const size_t *group, size_t n, size_t k,
			 struct variance_components *ret)
{
	AUTO_FREE double *sum = xcalloc(k, sizeof(double));
	AUTO_FREE size_t *size = xcalloc(k, sizeof(size_t));
	double all = mean(v, n), ssb = 0, ssw = 0, squares = 0;

	*ret = (struct variance_components){ .k = k,
					     .n = n,
					     .msb = NAN,
					     .msw = NAN,
					     .n0 = NAN,
					     .var_between = NAN,
					     .var_within = NAN,
					     .icc = NAN,
					     .f = NAN,
					     .p = NAN };
	for (size_t i = 0; i < n; i++) {
		sum[group[i]] += v[i];
		size[group[i]]++;
	}
	if (k < 2 || n <= k)
		return;
	for (size_t g = 0; g < k; g++) {
		double m = sum[g] / (double)size[g];

		ssb += (double)size[g] * (m - all) * (m - all);
		squares += (double)size[g] * (double)size[g];
	}
	for (size_t i = 0; i < n; i++) {
		double m = sum[group[i]] / (double)size[group[i]];

		ssw += (v[i] - m) * (v[i] - m);
	}
	ret->msb = ssb / (double)(k - 1);
	ret->msw = ssw / (double)(n - k);
	ret->n0 = ((double)n - squares / (double)n) / (double)(k - 1);
	ret->var_between = MAX(0.0, (ret->msb - ret->msw) / ret->n0);
	ret->var_within = ret->msw;
	if (ret->var_between + ret->var_within > 0)
		ret->icc = ret->var_between / (ret->var_between + ret->var_within);
	ret->f = ret->msw > 0 ? ret->msb / ret->msw : NAN;
	ret->p = f_upper(ret->f, (double)(k - 1), (double)(n - k));
}

double cp_lower(unsigned x, unsigned n, double conf)
{
	return x == 0 ? 0 : ibeta_inv(x, n - x + 1, 1 - conf);
}

double cp_upper(unsigned x, unsigned n, double conf)
{
	return x == n ? 1 : ibeta_inv(x + 1, n - x, conf);
}

void wilson(unsigned x, unsigned n, double conf, double *ret_lo, double *ret_hi)
{
	double z = norm_quantile(0.5 + conf / 2), p = (double)x / n, z2 = z * z;
	double mid = (p + z2 / (2.0 * n)) / (1 + z2 / n);
	double half = z * sqrt(p * (1 - p) / n + z2 / (4.0 * n * n)) / (1 + z2 / n);

	*ret_lo = x == 0 ? 0 : MAX(0.0, mid - half);
	*ret_hi = x == n ? 1 : MIN(1.0, mid + half);
}

/* P(T <= t) of the noncentral t by integrating over the chi of the denominator: Simpson on a grid
 * fine enough for 1e-10 at the small n it is asked for. */
static double nct_cdf(double t, double df, double delta)
{
	/* s = chi_df / sqrt(df); density of chi: 2^(1-df/2) x^(df-1) e^(-x^2/2) / Gamma(df/2) */
	double top = sqrt(df) + 12, h, s = 0;
	int steps = 4000;

	h = top / steps;
	for (int i = 1; i <= steps; i++) {
		double x = i * h;
		double ln_density =
			(1 - df / 2) * M_LN2 + (df - 1) * log(x) - x * x / 2 - lgamma(df / 2);
		double f = exp(ln_density) * norm_cdf(t * x / sqrt(df) - delta);

		s += f * (i == steps ? 1 : i % 2 ? 4 : 2);
	}
	/* At x = 0 the density is 0 for df > 1; for df = 1 it is sqrt(2/pi). */
	if (df == 1)
		s += sqrt(2 / M_PI) * norm_cdf(-delta);
	return s * h / 3;
}

double tolerance_factor(unsigned n, double coverage, double conf)
{
	double delta = norm_quantile(coverage) * sqrt(n), lo = 0, hi = 1;

	if (n < 2)
		return INFINITY;
	while (nct_cdf(hi, n - 1, delta) < conf && hi < 1e7)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-13 * hi; i++) {
		double mid = lo + (hi - lo) / 2;

		if (nct_cdf(mid, n - 1, delta) < conf)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2 / sqrt(n);
}
