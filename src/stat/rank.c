/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/*
 * How many arrangements of n and m give each U: the coefficients of the Gaussian binomial
 * prod (1 - x^(m+i)) / (1 - x^i), i = 1 .. n. Each partial product is one again, so all numbers on
 * the way are counts; below 2^53 (n + m <= 56) a double holds them exactly.
 */
static void exact_counts(unsigned n, unsigned m, double *ret)
{
	size_t top = (size_t)n * m;

	ret[0] = 1;
	for (size_t u = 1; u <= top; u++)
		ret[u] = 0;
	for (size_t i = 1; i <= n; i++) {
		for (size_t u = top + 1; u-- > m + i;)
			ret[u] -= ret[u - m - i];
		for (size_t u = i; u <= top; u++)
			ret[u] += ret[u - i];
	}
}

/*
 * Larger sizes as probabilities, where nothing is ever subtracted: with i and j of each kind the
 * last
 * in order is of the first kind with probability i / (i + j), and is then above all j.
 */
static void shares(unsigned n, unsigned m, double *ret)
{
	size_t size = (size_t)n * m + 1;
	AUTO_FREE double *row = xcalloc((n + 1) * size, sizeof(*row)); /* P(.; i, j), present j */

	for (size_t i = 0; i <= n; i++)
		row[i * size] = 1;
	for (size_t j = 1; j <= m; j++)
		for (size_t i = 1; i <= n; i++) {
			double last = (double)i / (double)(i + j);

			for (size_t u = 0; u < size; u++)
				row[i * size + u] =
					(1 - last) * row[i * size + u] +
					(u >= j ? last * row[(i - 1) * size + (u - j)] : 0);
		}
	memcpy(ret, row + n * size, size * sizeof(*ret));
}

void mw_cdf_all(unsigned n, unsigned m, double *ret)
{
	size_t top = (size_t)n * m;
	bool exact = n + m <= 56;
	double all = 0, s = 0;

	if (n > m) /* the same distribution, fewer rounds */
		exact ? exact_counts(m, n, ret) : shares(m, n, ret);
	else
		exact ? exact_counts(n, m, ret) : shares(n, m, ret);
	for (size_t u = 0; u <= top; u++)
		all += ret[u];
	for (size_t u = 0; u <= top; u++) {
		s += ret[u];
		ret[u] = u == top ? 1 : s / all;
	}
}

double mw_cdf(unsigned u, unsigned n, unsigned m)
{
	size_t top = (size_t)n * m;
	AUTO_FREE double *p = xcalloc(top + 1, sizeof(*p));

	mw_cdf_all(n, m, p);
	return p[MIN((size_t)u, top)];
}

int64_t mw_count_le(unsigned u, unsigned n, unsigned m)
{
	size_t top = (size_t)n * m;
	AUTO_FREE double *count = xcalloc(top + 1, sizeof(*count));
	double s = 0;

	assert(n + m <= 56);
	exact_counts(n, m, count);
	for (size_t i = 0; i <= MIN((size_t)u, top); i++)
		s += count[i];
	return (int64_t)s;
}

void shift_of(const double *bank, size_t m, const double *cand, size_t n, int c, struct shift *ret)
{
	AUTO_FREE double *d = xcalloc(n * m, sizeof(*d));
	AUTO_FREE double *p = xcalloc(n * m + 1, sizeof(*p));
	size_t k = 0, e = 0;

	*ret = (struct shift){ .pairs = n * m,
			       .shift = NAN,
			       .lcb = -INFINITY,
			       .ucb = INFINITY,
			       .lowest = NAN,
			       .p_worse = NAN,
			       .lo = NAN,
			       .hi = NAN,
			       .level = NAN };
	if (!n || !m)
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++) {
			d[k] = cand[i] - bank[j];
			ret->u_le_0 += d[k] <= 0;
			k++;
		}
	sort_doubles(d, k);
	mw_cdf_all((unsigned)n, (unsigned)m, p);
	ret->lowest = d[0];
	ret->shift = median(d, k);
	if (c >= 0 && (size_t)c < k) {
		ret->lcb = d[c];
		ret->ucb = d[k - 1 - (size_t)c];
	}
	ret->p_worse = p[ret->u_le_0];
	while (2 * (e + 1) < k && p[e + 1] <= 0.025)
		e++;
	ret->lo = d[e];
	ret->hi = d[k - 1 - e];
	ret->level = MAX(0.0, 1 - 2 * p[e]);
}

struct sized {
	double size;
	bool positive;
};

static int by_size(const void *pa, const void *pb)
{
	const struct sized *a = pa, *b = pb;

	return (a->size > b->size) - (a->size < b->size);
}

/* Null distribution of the sum of a random half of `rank` (integers): P(sum = s) into ret[top+1].
 * */
static void sum_shares(const size_t *rank, size_t n, size_t top, double *ret)
{
	size_t reach = 0;

	memset(ret, 0, (top + 1) * sizeof(*ret));
	ret[0] = 1;
	for (size_t i = 0; i < n; i++) {
		reach += rank[i];
		for (size_t s = reach + 1; s-- > 0;)
			ret[s] = 0.5 * ret[s] + (s >= rank[i] ? 0.5 * ret[s - rank[i]] : 0);
	}
}

void signed_rank(const double *d, size_t n, struct signed_rank *ret)
{
	AUTO_FREE struct sized *v = xcalloc(n, sizeof(*v));
	AUTO_FREE size_t *twice = xcalloc(n, sizeof(*twice)); /* mean ranks come in halves */
	AUTO_FREE double *p = NULL;
	size_t k = 0, w = 0, top;

	assert(n <= 1000);
	for (size_t i = 0; i < n; i++)
		if (d[i] != 0)
			v[k++] = (struct sized){ fabs(d[i]), d[i] > 0 };
	*ret = (struct signed_rank){ .n = k, .p_greater = 1, .p_less = 1 };
	if (!k)
		return;
	qsort(v, k, sizeof(*v), by_size);
	for (size_t i = 0, j; i < k; i = j) {
		for (j = i; j < k && v[j].size == v[i].size; j++)
			;
		for (size_t t = i; t < j; t++)
			twice[t] = i + 1 + j;
	}
	for (size_t i = 0; i < k; i++)
		w += v[i].positive ? twice[i] : 0;
	top = k * (k + 1);
	p = xcalloc(top + 1, sizeof(*p));
	sum_shares(twice, k, top, p);
	ret->w = (double)w / 2;
	ret->p_less = ret->p_greater = 0;
	for (size_t s = 0; s <= top; s++) {
		if (s <= w)
			ret->p_less += p[s];
		if (s >= w)
			ret->p_greater += p[s];
	}
}

void paired_shift(const double *d, size_t n, double conf, double *ret_shift, double *ret_lcb,
		  double *ret_ucb)
{
	size_t pairs = n * (n + 1) / 2, at = 0, k = 0;
	AUTO_FREE double *walsh = xcalloc(pairs, sizeof(*walsh));
	AUTO_FREE double *p = xcalloc(pairs + 1, sizeof(*p));
	AUTO_FREE size_t *rank = xcalloc(n, sizeof(*rank));
	double sum = 0;

	assert(n <= 1000);
	*ret_shift = NAN;
	*ret_lcb = -INFINITY;
	*ret_ucb = INFINITY;
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		rank[i] = i + 1;
		for (size_t j = i; j < n; j++)
			walsh[at++] = (d[i] + d[j]) / 2;
	}
	sort_doubles(walsh, pairs);
	*ret_shift = median(walsh, pairs);
	sum_shares(rank, n, pairs, p);
	/* Largest k with P(W <= k - 1) <= 1 - conf: the k-th Walsh average bounds. */
	while (k < pairs && sum + p[k] <= (1 - conf) * (1 + 1e-12))
		sum += p[k++];
	if (k) {
		*ret_lcb = walsh[k - 1];
		*ret_ucb = walsh[pairs - k];
	}
}
