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

static void t_finish(struct t_test *ret)
{
	ret->t = ret->diff / ret->se;
	ret->p_greater = t_upper(ret->t, ret->df);
}

void t_welch(const double *a, size_t n, const double *b, size_t m, struct t_test *ret)
{
	double va = stdev(a, n), vb = stdev(b, m);

	va *= va / (double)n;
	vb *= vb / (double)m;
	*ret = (struct t_test){ .diff = mean(b, m) - mean(a, n), .se = sqrt(va + vb) };
	ret->df = (va + vb) * (va + vb) / (va * va / (double)(n - 1) + vb * vb / (double)(m - 1));
	t_finish(ret);
}

void t_pooled(const double *a, size_t n, const double *b, size_t m, struct t_test *ret)
{
	double sa = stdev(a, n), sb = stdev(b, m), df = (double)(n + m - 2);
	double var = ((double)(n - 1) * sa * sa + (double)(m - 1) * sb * sb) / df;

	*ret = (struct t_test){ .diff = mean(b, m) - mean(a, n),
				.se = sqrt(var * (1 / (double)n + 1 / (double)m)),
				.df = df };
	t_finish(ret);
}

double t_tost(const struct t_test *t, double margin, double *ret_p_lower, double *ret_p_upper)
{
	*ret_p_lower = t_upper((t->diff + margin) / t->se, t->df);
	*ret_p_upper = t_cdf((t->diff - margin) / t->se, t->df);
	return MAX(*ret_p_lower, *ret_p_upper);
}
