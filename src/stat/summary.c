/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

static int by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

void sort_doubles(double *v, size_t n)
{
	if (n > 1)
		qsort(v, n, sizeof(*v), by_value);
}

double mean(const double *v, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[i];
	return n ? s / (double)n : NAN;
}

double stdev(const double *v, size_t n)
{
	double m = mean(v, n), s = 0;

	for (size_t i = 0; i < n; i++)
		s += (v[i] - m) * (v[i] - m);
	return n > 1 ? sqrt(s / (double)(n - 1)) : NAN;
}

static double *sorted_copy(const double *v, size_t n)
{
	double *c = xcalloc(n, sizeof(*c));

	if (n)
		memcpy(c, v, n * sizeof(*c));
	sort_doubles(c, n);
	return c;
}

static double median_sorted(const double *v, size_t n)
{
	if (!n)
		return NAN;
	if (n % 2)
		return v[n / 2];
	/* Halves first would turn inf and inf into NAN's neighbour; the plain mean is what is
	 * wanted. */
	return v[n / 2 - 1] == v[n / 2] ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double median(const double *v, size_t n)
{
	AUTO_FREE double *c = sorted_copy(v, n);

	return median_sorted(c, n);
}

double mad(const double *v, size_t n)
{
	AUTO_FREE double *c = sorted_copy(v, n);
	double m = median_sorted(c, n);

	for (size_t i = 0; i < n; i++)
		c[i] = fabs(c[i] - m);
	sort_doubles(c, n);
	return median_sorted(c, n);
}

double quantile_sorted(const double *v, size_t n, double p)
{
	double h, k;
	size_t i;

	if (!n || !(p >= 0 && p <= 1))
		return NAN;
	h = (double)(n - 1) * p;
	k = floor(h);
	i = (size_t)k;
	if (i + 1 >= n || v[i] == v[i + 1])
		return v[i];
	return h == k ? v[i] : v[i] + (h - k) * (v[i + 1] - v[i]);
}

double quantile_nearest(const double *v, size_t n, double p)
{
	double r;

	if (!n || !(p >= 0 && p <= 1))
		return NAN;
	r = ceil(p * (double)n);
	return v[r < 1 ? 0 : (size_t)r - 1];
}

double quantile_hd(const double *v, size_t n, double p)
{
	double a = (double)(n + 1) * p, b = (double)(n + 1) * (1 - p), before = 0, s = 0;

	if (!n || !(p > 0 && p < 1))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double upto = ibeta(a, b, (double)(i + 1) / (double)n);

		s += v[i] * (upto - before);
		before = upto;
	}
	return s;
}

double autocorrelation(const double *v, size_t n)
{
	double m = mean(v, n), num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		den += (v[i] - m) * (v[i] - m);
		if (i + 1 < n)
			num += (v[i] - m) * (v[i + 1] - m);
	}
	return den > 0 ? num / den : NAN;
}

double effective_size(const double *v, size_t n)
{
	double r = autocorrelation(v, n);

	return (double)n * (1 - r) / (1 + r);
}
