/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

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

unsigned quantile_upper_rank(unsigned n, double p, double conf)
{
	unsigned lo = 1, hi = n;

	/* The r-th value is above the quantile when at most r - 1 of the n lie below it. */
	if (!n || binom_cdf(n - 1.0, n, p) < conf)
		return 0;
	while (lo < hi) {
		unsigned r = lo + (hi - lo) / 2;

		if (binom_cdf(r - 1.0, n, p) >= conf)
			hi = r;
		else
			lo = r + 1;
	}
	return lo;
}

unsigned quantile_lower_rank(unsigned n, double p, double conf)
{
	unsigned lo = 0, hi = n;

	while (lo < hi) {
		unsigned r = lo + (hi - lo + 1) / 2;

		if (binom_cdf(r - 1.0, n, p) <= 1 - conf)
			lo = r;
		else
			hi = r - 1;
	}
	return lo;
}

unsigned requests_needed(unsigned over, double p, double conf)
{
	unsigned lo = over + 1, hi = MAX(2 * lo, 16u);

	while (binom_cdf(over, hi, 1 - p) > 1 - conf) {
		if (hi > UINT32_MAX / 2)
			return 0;
		lo = hi + 1;
		hi *= 2;
	}
	while (lo < hi) {
		unsigned n = lo + (hi - lo) / 2;

		if (binom_cdf(over, n, 1 - p) <= 1 - conf)
			hi = n;
		else
			lo = n + 1;
	}
	return lo;
}

/* ---- tolerance factor --------------------------------------------------------------------------
 * */

/* k of 0.90 coverage at 0.98 confidence for n = 2, 3, ...: what factor_of gives; a test re-makes
 * them. Kept because each decision asks for some and one costs a millisecond. */
static const double kept[] = { 51.506731940474047, 9.8556513150772158, 5.7949421039874949,
			       4.4353773503107199, 3.7618429936862516, 3.3578974727517461,
			       3.0869070771334255, 2.8913203873297655, 2.7427384596618962,
			       2.6255236864752654, 2.5303434292643163, 2.4512738766313982,
			       2.3843674170715699, 2.3268876700155432, 2.2768751341372635,
			       2.2328877851630082, 2.193839469182028,  2.1588955433647716,
			       2.1274033728163708, 2.0988447834285711, 2.0728027607045671,
			       2.0489376360751566, 2.0269697394177464, 2.0066665505204524,
			       1.9878330393200159, 1.9703043044592576, 1.9539398937366625,
			       1.9386193725311989, 1.9242388300560631 };

static double factor_of(unsigned n, double coverage, double conf)
{
	double root = sqrt(n), delta = norm_quantile(coverage) * root, lo = 0, hi = 1;

	if (nct_cdf(0, n - 1, delta) > conf)
		lo = -1;
	while (lo < 0 && nct_cdf(lo, n - 1, delta) > conf)
		lo *= 2;
	while (nct_cdf(hi, n - 1, delta) < conf && hi < 1e9)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-14 * MAX(fabs(hi), 1e-3); i++) {
		double mid = lo + (hi - lo) / 2;

		if (nct_cdf(mid, n - 1, delta) < conf)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2 / root;
}

double tolerance_factor(unsigned n, double coverage, double conf)
{
	if (n < 2)
		return INFINITY;
	if (coverage == 0.90 && conf == 0.98 && n - 2 < ARRAY_SIZE(kept))
		return kept[n - 2];
	return factor_of(n, coverage, conf);
}

/* ---- paired items ------------------------------------------------------------------------------
 * */

double tango_z(unsigned items, unsigned lost, unsigned won, double margin)
{
	double n = items, b = lost, c = won, d = -margin;
	/* q: the share of lost items under the hypothesis, larger root of qa q^2 + qb q + qc = 0.
	 * */
	double qa = 2 * n, qb = -c - b + (2 * n - c + b) * d, qc = -b * d * (1 - d);
	double q = (sqrt(MAX(qb * qb - 4 * qa * qc, 0.0)) - qb) / (2 * qa);
	double var = n * (2 * q + d * (1 - d));

	if (!items)
		return NAN;
	if (var <= 0)
		return c - b - n * d == 0 ? 0 : copysign(INFINITY, c - b - n * d);
	return (c - b - n * d) / sqrt(var);
}

double tango_lower(unsigned items, unsigned lost, unsigned won, double conf)
{
	double z = norm_quantile(conf), lo = -1, hi = items ? ((double)won - lost) / items : NAN;

	if (!items)
		return NAN;
	/* Down from the estimate, where z = 0; z of H: difference = x grows as x falls. */
	for (int i = 0; i < 200 && hi - lo > 1e-15; i++) {
		double mid = lo + (hi - lo) / 2;

		if (tango_z(items, lost, won, -mid) > z)
			lo = mid;
		else
			hi = mid;
	}
	return lo + (hi - lo) / 2;
}

double mcnemar_exact(unsigned lost, unsigned won)
{
	return lost + won ? MIN(1.0, 2 * binom_cdf(MIN(lost, won), lost + won, 0.5)) : 1;
}

double items_needed(double flips, double margin, double alpha, double beta)
{
	double z = norm_quantile(1 - alpha) + norm_quantile(1 - beta);

	return ceil(z * z * flips / (margin * margin));
}
