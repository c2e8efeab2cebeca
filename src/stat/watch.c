/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

double evalue_beta(unsigned bad, unsigned good, double p0)
{
	double s = bad, f = good;

	return ln_beta(s + 0.5, f + 0.5) - ln_beta(0.5, 0.5) - s * log(p0) - f * log1p(-p0);
}

/* The past enters with one made-up observation of 1/2 and variance 1/4, so that the first stake is
 * defined. `squares` sums (x - mean so far)^2 with the mean that includes x. */
void bettor_init(struct bettor *b, double mu0, double c)
{
	*b = (struct bettor){ .mu0 = mu0, .c = c };
}

void bettor_add(struct bettor *b, double x)
{
	double n = (double)b->n, m = (0.5 + b->sum) / (n + 1), v = (0.25 + b->squares) / (n + 1);
	double edge = m - b->mu0, stake = edge / (v + edge * edge);

	stake = MAX(0.0, MIN(stake, b->c / b->mu0));
	b->log_e += log1p(stake * (x - b->mu0));
	b->n++;
	b->sum += x;
	m = (0.5 + b->sum) / (n + 2);
	b->squares += (x - m) * (x - m);
}

double evalue_t(const double *x, size_t n, double tau, double *ret_t)
{
	double t = mean(x, n) / (stdev(x, n) / sqrt((double)n)), nu = (double)n - 1;
	double wide = 1 + (double)n * tau;

	if (n < 2) {
		*ret_t = NAN;
		return 0;
	}
	*ret_t = t;
	if (isinf(t)) /* the limit of the formula below */
		return -0.5 * log(wide) + (double)n / 2 * log(wide);
	if (isnan(t))
		return 0;
	return -0.5 * log(wide) + (double)n / 2 * (log1p(t * t / nu) - log1p(t * t / (wide * nu)));
}

void change_point(const double *z, size_t n, size_t *ret_split, double *ret_most, double *ret_q)
{
	double within_left = 0, within_right = 0, between = 0;

	*ret_split = 0;
	*ret_most = NAN;
	if (n < 4)
		return;
	/* Sums over pairs, moved along with the split: O(n) each step. */
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			within_right += fabs(z[i] - z[j]);
	for (size_t k = 1; k < n - 1; k++) {
		double a = (double)k, b = (double)(n - k), q;

		/* z[k - 1] goes from the right to the left. */
		for (size_t i = 0; i < n; i++) {
			double d = fabs(z[i] - z[k - 1]);

			if (i < k - 1) {
				within_left += d;
				between -= d;
			} else if (i > k - 1) {
				within_right -= d;
				between += d;
			}
		}
		if (k < 2)
			continue;
		q = a * b / (a + b) *
		    (2 * between / (a * b) - within_left / (a * (a - 1) / 2) -
		     within_right / (b * (b - 1) / 2));
		if (ret_q)
			ret_q[k - 2] = q;
		if (!*ret_split || q > *ret_most) {
			*ret_split = k;
			*ret_most = q;
		}
	}
}
