/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/* Acceleration from leaving out one at a time: sum d^3 / (6 (sum d^2)^1.5), d = mean - each. */
static double acceleration(statistic_fn *of, const void *arg, size_t n, size_t *pick)
{
	AUTO_FREE double *without = xcalloc(n, sizeof(*without));
	double m, two = 0, three = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		for (size_t j = 0; j < n; j++)
			if (j != i)
				pick[k++] = j;
		without[i] = of(arg, pick, k);
	}
	m = mean(without, n);
	for (size_t i = 0; i < n; i++) {
		double d = m - without[i];

		two += d * d;
		three += d * d * d;
	}
	return two > 0 ? three / (6 * pow(two, 1.5)) : 0;
}

static double end_point(const double *sorted, unsigned n, double z0, double a, double z)
{
	double p = norm_cdf(z0 + (z0 + z) / (1 - a * (z0 + z)));

	return quantile_nearest(sorted, n, p);
}

void bootstrap_bca(statistic_fn *of, const void *arg, size_t n, unsigned replicates, uint64_t seed,
		   double conf, struct bootstrap *ret)
{
	AUTO_FREE double *v = xcalloc(replicates, sizeof(*v));
	AUTO_FREE size_t *pick = xcalloc(n, sizeof(*pick));
	struct rng r = { seed };
	double below = 0, z;

	*ret = (struct bootstrap){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (n < 2 || !replicates)
		return;
	for (size_t i = 0; i < n; i++)
		pick[i] = i;
	ret->theta = of(arg, pick, n);
	for (unsigned b = 0; b < replicates; b++) {
		for (size_t i = 0; i < n; i++)
			pick[i] = rng_below(&r, n);
		v[b] = of(arg, pick, n);
		below += v[b] < ret->theta ? 1 : v[b] == ret->theta ? 0.5 : 0;
	}
	sort_doubles(v, replicates);
	ret->least = v[0];
	ret->most = v[replicates - 1];
	ret->z0 = norm_quantile(below / replicates);
	ret->a = acceleration(of, arg, n, pick);
	z = norm_quantile(0.5 + conf / 2);
	/* All replicates on one side: no interval can be told. */
	if (isinf(ret->z0))
		return;
	ret->lo = end_point(v, replicates, ret->z0, ret->a, -z);
	ret->hi = end_point(v, replicates, ret->z0, ret->a, z);
}
