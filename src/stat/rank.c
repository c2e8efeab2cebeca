/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/* Counts of each U for n and m by the recurrence N(u;n,m) = N(u-m;n-1,m) + N(u;n,m-1). */
static double *mw_counts(unsigned n, unsigned m)
{
	size_t size = (size_t)n * m + 1;
	double *row =
		xcalloc((size_t)(n + 1) * size, sizeof(*row)); /* N(.; i, j) for the present j */

	for (unsigned i = 0; i <= n; i++)
		row[i * size] = 1; /* j = 0 */
	for (unsigned j = 1; j <= m; j++)
		for (unsigned i = 1; i <= n; i++)
			for (size_t u = size; u-- > 0;)
				row[i * size + u] += u >= j ? row[(i - 1) * size + (u - j)] : 0;
	return row;
}

static double le(unsigned u, unsigned n, unsigned m, double *ret_all)
{
	AUTO_FREE double *row = mw_counts(n, m);
	size_t size = (size_t)n * m + 1;
	double s = 0, all = 0;

	for (size_t i = 0; i < size; i++) {
		double x = row[n * size + i];

		all += x;
		if (i <= u)
			s += x;
	}
	*ret_all = all;
	return s;
}

int64_t mw_count_le(unsigned u, unsigned n, unsigned m)
{
	double all;

	/* Sums of integers below 2^53 are exact in a double. */
	return (int64_t)le(u, n, m, &all);
}

double mw_cdf(unsigned u, unsigned n, unsigned m)
{
	double all, s = le(u, n, m, &all);

	return s / all;
}

void shift_of(const double *bank, size_t m, const double *cand, size_t n, int c, struct shift *ret)
{
	AUTO_FREE double *d = xcalloc(n * m, sizeof(*d));
	size_t k = 0;

	*ret = (struct shift){ .pairs = n * m,
			       .shift = NAN,
			       .lcb = -INFINITY,
			       .ucb = INFINITY,
			       .lowest = NAN,
			       .p_worse = NAN };
	if (!n || !m)
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++) {
			d[k] = cand[i] - bank[j];
			ret->u_le_0 += d[k] <= 0;
			k++;
		}
	sort_doubles(d, k);
	ret->lowest = d[0];
	ret->shift = median(d, k);
	if (c >= 0 && (size_t)c < k) {
		ret->lcb = d[c];
		ret->ucb = d[k - 1 - (size_t)c];
	}
	ret->p_worse = mw_cdf(ret->u_le_0, (unsigned)n, (unsigned)m);
}

/*
 * The null process as states (how many candidates lie in gaps, weighted): only U and the counts
 * matter for what comes next, so the state is the vector of counts in the m + 1 gaps. Rather than
 * vectors, the set is walked in order of candidates with a hash map; its size is C(m + L, L) at
 * look L.
 */
struct states {
	uint64_t *key; /* counts, 4 bits each: up to 16 gaps, at most 15 candidates in one */
	double *p;
	size_t n, room; /* room is a power of two; key UINT64_MAX marks a free place */
};

static void states_make(struct states *s, size_t room)
{
	s->room = room;
	s->n = 0;
	s->key = xmalloc(room * sizeof(*s->key));
	s->p = xcalloc(room, sizeof(*s->p));
	memset(s->key, 0xff, room * sizeof(*s->key));
}

static void states_drop(struct states *s)
{
	free(s->key);
	free(s->p);
	*s = (struct states){ 0 };
}

static void states_add(struct states *s, uint64_t key, double p)
{
	uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
	size_t at;

	if (2 * (s->n + 1) > s->room) {
		struct states big;

		states_make(&big, s->room * 2);
		for (size_t i = 0; i < s->room; i++)
			if (s->key[i] != UINT64_MAX)
				states_add(&big, s->key[i], s->p[i]);
		states_drop(s);
		*s = big;
	}
	at = (h >> 20) & (s->room - 1);
	while (s->key[at] != UINT64_MAX && s->key[at] != key)
		at = (at + 1) & (s->room - 1);
	if (s->key[at] == UINT64_MAX) {
		s->key[at] = key;
		s->n++;
	}
	s->p[at] += p;
}

/* A gap index is the number of bank values below it, so U = sum of index x count counts the pairs
 * in which the candidate is above: small U means better. */
static unsigned u_of(uint64_t key, unsigned gaps)
{
	unsigned u = 0;

	for (unsigned g = 0; g < gaps; g++)
		u += g * (unsigned)(key >> (4 * g) & 15);
	return u;
}

static void next_candidate(struct states *s, unsigned gaps, unsigned done)
{
	struct states to;

	states_make(&to, s->room);
	for (size_t i = 0; i < s->room; i++) {
		if (s->key[i] == UINT64_MAX)
			continue;
		for (unsigned g = 0; g < gaps; g++) {
			double count = (double)(s->key[i] >> (4 * g) & 15);

			states_add(&to, s->key[i] + (UINT64_C(1) << (4 * g)),
				   s->p[i] * (count + 1) / (double)(gaps + done));
		}
	}
	states_drop(s);
	*s = to;
}

/* Largest c with spent + P(alive, U <= c) <= limit; those states leave. */
static int take(struct states *s, unsigned gaps, unsigned done, double limit, double *spent)
{
	unsigned most = (gaps - 1) * done;
	AUTO_FREE double *p_u = xcalloc(most + 1, sizeof(double));
	struct states rest;
	double sum = 0;
	int c = -1;

	for (size_t i = 0; i < s->room; i++)
		if (s->key[i] != UINT64_MAX)
			p_u[u_of(s->key[i], gaps)] += s->p[i];
	for (unsigned u = 0; u <= most; u++) {
		/* A limit met exactly is met: leave room for the sum's rounding. */
		if (*spent + sum + p_u[u] > limit * (1 + 1e-12))
			break;
		sum += p_u[u];
		c = (int)u;
	}
	*spent += sum;
	states_make(&rest, s->room);
	for (size_t i = 0; i < s->room; i++)
		if (s->key[i] != UINT64_MAX && (int)u_of(s->key[i], gaps) > c)
			states_add(&rest, s->key[i], s->p[i]);
	states_drop(s);
	*s = rest;
	return c;
}

/* The table for the default looks, alpha and spending: what sequential_counts gives, kept because
 * making it takes a second for the largest bank. A test re-makes the small ones. */
static const struct {
	unsigned m;
	int c[6];
} kept[] = {
	{ 5, { -1, -1, 0, 1, 3, 4 } },  { 6, { -1, 0, 0, 2, 4, 6 } },
	{ 7, { -1, 0, 2, 3, 5, 8 } },   { 8, { -1, 1, 2, 4, 7, 11 } },
	{ 9, { -1, 1, 3, 5, 9, 13 } },  { 10, { 0, 1, 3, 6, 10, 15 } },
	{ 11, { 0, 2, 4, 7, 11, 17 } }, { 12, { 0, 3, 5, 7, 13, 20 } },
};

static bool is_default(const unsigned *looks, const double *spend, size_t n, double alpha)
{
	static const unsigned l[] = { 3, 4, 5, 6, 8, 10 };
	static const double f[] = { .40, .52, .64, .76, .88, 1 };

	if (n != 6 || alpha != 0.01)
		return false;
	for (size_t i = 0; i < 6; i++)
		if (looks[i] != l[i] || spend[i] != f[i])
			return false;
	return true;
}

void sequential_counts(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
		       double alpha, int *ret_c, double *ret_cumulative)
{
	unsigned gaps = m + 1, done = 0;
	struct states s;
	double spent = 0;

	assert(m >= 1 && m <= 15 && n_looks <= STAT_MAX_LOOKS);
	if (!ret_cumulative && is_default(looks, spend, n_looks, alpha)) {
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
			if (kept[i].m == m) {
				memcpy(ret_c, kept[i].c, sizeof(kept[i].c));
				return;
			}
		}
	}
	states_make(&s, 64);
	states_add(&s, 0, 1);
	for (size_t k = 0; k < n_looks; k++) {
		assert(looks[k] <= 15);
		for (; done < looks[k]; done++)
			next_candidate(&s, gaps, done);
		ret_c[k] = take(&s, gaps, done, alpha * spend[k], &spent);
		if (ret_cumulative)
			ret_cumulative[k] = spent;
	}
	states_drop(&s);
}
