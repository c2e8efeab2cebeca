/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/*
 * A state is how many candidates fell into each gap between bank values. A gap's index is the
 * number
 * of bank values below it, so U = sum of index x count counts the pairs in which the candidate is
 * above; small U means better. U never falls, and no critical count can be larger than that of a
 * single test at the whole alpha, so states above that bound can never be asked for again and are
 * dropped: what is left is a few thousand partitions of small numbers.
 *
 * Since the order in which gaps were filled does not matter, the states of n + 1 candidates are
 * made
 * once each: the key is the list of gap indexes in descending order without the zeros (the lowest
 * gap is what remains), one byte a candidate.
 */
#define MAX_PARTS 40 /* parts above zero; more are "too many states" */

struct state {
	uint8_t part[MAX_PARTS]; /* descending, 0: none */
	double p;
};

struct states {
	struct state *v;
	uint32_t *place; /* hash -> index + 1 */
	size_t n, room;  /* room: of place, a power of two; v has half as many */
};

static void states_release(struct states *s)
{
	free(s->v);
	free(s->place);
	*s = (struct states){ 0 };
}

static uint64_t hash_of(const uint8_t *part)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < MAX_PARTS && part[i]; i++)
		h = (h ^ part[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static void states_make(struct states *s, size_t room)
{
	s->room = room;
	s->n = 0;
	s->v = xmalloc(room / 2 * sizeof(*s->v));
	s->place = xcalloc(room, sizeof(*s->place));
}

static size_t place_of(const struct states *s, const uint8_t *part)
{
	size_t at = hash_of(part) & (s->room - 1);

	while (s->place[at] && memcmp(s->v[s->place[at] - 1].part, part, MAX_PARTS) != 0)
		at = (at + 1) & (s->room - 1);
	return at;
}

static void states_add(struct states *s, const struct state *x, double p)
{
	size_t at = place_of(s, x->part);

	if (!s->place[at]) {
		if (s->n == s->room / 2) {
			struct states big;

			states_make(&big, s->room * 2);
			for (size_t i = 0; i < s->n; i++)
				states_add(&big, &s->v[i], s->v[i].p);
			states_release(s);
			*s = big;
			at = place_of(s, x->part);
		}
		s->v[s->n] = *x;
		s->v[s->n].p = 0;
		s->place[at] = (uint32_t)++s->n;
	}
	s->v[s->place[at] - 1].p += p;
}

static unsigned u_of(const struct state *x)
{
	unsigned u = 0;

	for (size_t i = 0; i < MAX_PARTS && x->part[i]; i++)
		u += x->part[i];
	return u;
}

static void insert(struct state *x, unsigned gap)
{
	size_t i = 0, end;

	/* The caller leaves room: at most MAX_PARTS - 2 are taken. */
	while (i < MAX_PARTS - 1 && x->part[i] >= gap)
		i++;
	end = i;
	while (end < MAX_PARTS - 1 && x->part[end])
		end++;
	memmove(&x->part[i + 1], &x->part[i], end - i);
	x->part[i] = (uint8_t)gap;
}

/* One candidate more, of which `done` are placed. False: too many states. */
static bool next_candidate(struct states *s, unsigned m, unsigned done, unsigned bound)
{
	struct states to;

	states_make(&to, s->room);
	for (size_t i = 0; i < s->n && to.n <= SEQUENTIAL_MAX_STATES; i++) {
		const struct state *x = &s->v[i];
		unsigned u = u_of(x), parts = 0, at = 0;

		while (parts < MAX_PARTS && x->part[parts])
			parts++;
		states_add(&to, x, x->p * (double)(done - parts + 1) / (double)(m + 1 + done));
		if (parts == MAX_PARTS - 1) {
			states_release(&to);
			return false;
		}
		for (unsigned gap = MIN(m, bound - u); gap >= 1; gap--) {
			struct state y = *x;
			unsigned count = 0;

			while (at < parts && x->part[at] > gap)
				at++;
			for (unsigned j = at; j < parts && x->part[j] == gap; j++)
				count++;
			insert(&y, gap);
			states_add(&to, &y, x->p * (double)(count + 1) / (double)(m + 1 + done));
		}
	}
	states_release(s);
	*s = to;
	return s->n <= SEQUENTIAL_MAX_STATES;
}

/* A limit that is met exactly is met: leave room for the rounding of a sum. */
static bool within(double p, double limit)
{
	return p <= limit * (1 + 1e-12);
}

/* Largest c with spent + P(alive, U <= c) <= limit; those states leave. */
static int take(struct states *s, unsigned bound, double limit, double *spent)
{
	AUTO_FREE double *p_u = xcalloc(bound + 1, sizeof(*p_u));
	struct states rest;
	double sum = 0;
	int c = -1;

	for (size_t i = 0; i < s->n; i++)
		p_u[u_of(&s->v[i])] += s->v[i].p;
	for (unsigned u = 0; u <= bound && within(*spent + sum + p_u[u], limit); u++) {
		sum += p_u[u];
		c = (int)u;
	}
	*spent += sum;
	states_make(&rest, s->room);
	for (size_t i = 0; i < s->n; i++)
		if ((int)u_of(&s->v[i]) > c)
			states_add(&rest, &s->v[i], s->v[i].p);
	states_release(s);
	*s = rest;
	return c;
}

/* Largest c with P(U <= c) <= limit in a single test; its P into ret_p. */
static int single(unsigned n, unsigned m, double limit, double *ret_p)
{
	size_t top = (size_t)n * m, u = 0;
	AUTO_FREE double *p = xcalloc(top + 1, sizeof(*p));

	mw_cdf_all(n, m, p);
	while (u < top && within(p[u], limit))
		u++;
	*ret_p = u ? p[u - 1] : 0;
	return (int)u - 1;
}

static bool by_urn(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
		   double alpha, unsigned bound, int *ret_c, double *cumulative)
{
	struct states s CLEANUP(states_release) = { 0 };
	struct state start = { 0 };
	unsigned done = 0;
	double spent = 0;

	states_make(&s, 1024);
	states_add(&s, &start, 1);
	for (size_t k = 0; k < n_looks; k++) {
		for (; done < looks[k]; done++)
			if (!next_candidate(&s, m, done, bound))
				return false;
		ret_c[k] = take(&s, bound, alpha * spend[k], &spent);
		cumulative[k] = spent;
	}
	return true;
}

static void by_bonferroni(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
			  double alpha, int *ret_c, double *cumulative)
{
	double spent = 0, p;

	for (size_t k = 0; k < n_looks; k++) {
		ret_c[k] = single(looks[k], m, alpha * spend[k] - spent, &p);
		spent += p;
		cumulative[k] = spent;
	}
}

static const unsigned usual_looks[] = { 3, 4, 5, 6, 8, 10 };

/* The counts of the usual looks at alpha = 0.01: what the urn gives, kept because a bank of 12
 * takes
 * ten milliseconds. A test makes all of them again. */
static const int usual_counts[][6] = {
	{ -1, -1, 0, 1, 3, 4 }, /* m = 5 */
	{ -1, 0, 0, 2, 4, 6 },  { -1, 0, 2, 3, 5, 8 },  { -1, 1, 2, 4, 7, 11 },
	{ -1, 1, 3, 5, 9, 13 }, { 0, 1, 3, 6, 10, 15 }, { 0, 2, 4, 7, 11, 17 },
	{ 0, 3, 5, 7, 13, 20 },
};

static bool is_usual(unsigned m, const unsigned *looks, size_t n_looks, double alpha)
{
	return m >= 5 && m < 5 + ARRAY_SIZE(usual_counts) && alpha == 0.01 &&
	       n_looks == ARRAY_SIZE(usual_looks) &&
	       memcmp(looks, usual_looks, sizeof(usual_looks)) == 0;
}

static bool is_usual_spend(const double *spend)
{
	double usual[ARRAY_SIZE(usual_looks)];

	sequential_spend(ARRAY_SIZE(usual), usual);
	for (size_t k = 0; k < ARRAY_SIZE(usual); k++)
		if (spend[k] != usual[k])
			return false;
	return true;
}

bool sequential_counts(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
		       double alpha, int *ret_c, double *ret_cumulative)
{
	double cumulative[STAT_MAX_LOOKS], p;
	int bound = -1;
	bool exact;

	assert(m >= 1 && n_looks <= STAT_MAX_LOOKS);
	if (!ret_cumulative && is_usual(m, looks, n_looks, alpha) && is_usual_spend(spend)) {
		memcpy(ret_c, usual_counts[m - 5], sizeof(usual_counts[0]));
		return true;
	}
	for (size_t k = 0; k < n_looks; k++) {
		int c = single(looks[k], m, alpha * spend[k], &p);

		bound = MAX(bound, c);
	}
	exact = m < 256 && bound < 256 &&
		by_urn(m, looks, spend, n_looks, alpha, (unsigned)MAX(bound, 0), ret_c, cumulative);
	if (!exact)
		by_bonferroni(m, looks, spend, n_looks, alpha, ret_c, cumulative);
	if (ret_cumulative)
		memcpy(ret_cumulative, cumulative, n_looks * sizeof(*cumulative));
	return exact;
}

void sequential_spend(size_t n_looks, double *ret)
{
	/* In hundredths, so that six looks give .40 .52 .64 .76 .88 1 to the last bit. */
	for (size_t k = 0; k < n_looks; k++)
		ret[k] = n_looks == 1 ? 1 : (40 + 60 * (double)k / (double)(n_looks - 1)) / 100;
}

double sequential_reach(unsigned m, const unsigned *looks, size_t n_looks, double alpha,
			const int *c)
{
	static const double reach[] = { 2.83, 2.63, 2.49, 2.31, 2.23, 2.18, 2.14, 2.05 };
	double best = INFINITY;

	if (is_usual(m, looks, n_looks, alpha))
		return reach[m - 5];
	/* Accepted at the look when the estimate's error stays below its 95 % point; the factor is
	 * what small samples and whole counts cost (fitted to the table above). */
	for (size_t k = 0; k < n_looks; k++) {
		double a, z;

		if (c[k] < 0)
			continue;
		a = mw_cdf((unsigned)c[k], looks[k], m);
		z = norm_quantile(1 - a) + norm_quantile(0.95);
		best = MIN(best, z * sqrt(1.0 / m + 1.0 / looks[k]) * (1.04 + 0.8 / m));
	}
	return best;
}
