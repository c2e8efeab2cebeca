/* SPDX-License-Identifier: Apache-2.0 */
/* The next trial, or the end. */
#include "bisect/bisect.h"

#include "stat/stat.h"
#include <math.h>

#define TIE 1e-6
/* When no configuration that can be tried has a level more uncertain than this while nothing is
 * sure, the hypotheses that are left predict the same for all of them. */
#define TELLS_NOTHING 1e-4

static uint32_t all_new(unsigned n)
{
	return (UINT32_C(1) << n) - 1;
}

bool bisect_can_run(const struct bisect_in *in, uint32_t config)
{
	for (size_t k = 0; k < in->n_trials; k++)
		if (in->trials[k].config == config && isnan(in->trials[k].w))
			return false;
	return !in->feasible || in->feasible(in->arg, config);
}

/* First and second moment of a configuration's level as quadratic forms of its bits: halves of a
 * and b have level (a + b) / 2, whose square is a/4 + b/4 + ab/2. */
struct moments {
	double one, one2; /* constant part */
	double lin[BISECT_MAX_COMPONENTS], lin2[BISECT_MAX_COMPONENTS];
	double pair[BISECT_MAX_COMPONENTS][BISECT_MAX_COMPONENTS];
	double pair2[BISECT_MAX_COMPONENTS][BISECT_MAX_COMPONENTS];
};

static void moments_of(const struct bisect_fit *f, struct moments *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t k = 0; k < f->n; k++) {
		const struct bisect_hyp *h = &f->v[k];
		double p = h->posterior;

		switch (h->kind) {
		case BISECT_ENV:
			ret->one += p;
			ret->one2 += p;
			break;
		case BISECT_GONE:
			break;
		case BISECT_ONE:
			ret->lin[h->a] += p;
			ret->lin2[h->a] += p;
			break;
		case BISECT_BOTH:
			ret->pair[h->a][h->b] += p;
			ret->pair2[h->a][h->b] += p;
			break;
		case BISECT_HALVES:
			ret->lin[h->a] += p / 2;
			ret->lin[h->b] += p / 2;
			ret->lin2[h->a] += p / 4;
			ret->lin2[h->b] += p / 4;
			ret->pair2[h->a][h->b] += p / 2;
			break;
		}
	}
}

static double variance_of(const struct moments *m, unsigned n, uint32_t config)
{
	double e = m->one, e2 = m->one2;

	for (unsigned a = 0; a < n; a++) {
		if (!(config >> a & 1))
			continue;
		e += m->lin[a];
		e2 += m->lin2[a];
		for (unsigned b = a + 1; b < n; b++)
			if (config >> b & 1) {
				e += m->pair[a][b];
				e2 += m->pair2[a][b];
			}
	}
	return MAX(e2 - e * e, 0);
}

/* The same for every mask: each from the one without its highest bit; what that bit adds in pairs
 * with the others is the same sum over the others' bits. */
static void variances(const struct moments *m, unsigned n, double *ret)
{
	AUTO_FREE double *e = xcalloc((size_t)1 << n, sizeof(*e));
	AUTO_FREE double *with = xcalloc((size_t)1 << n, sizeof(*with));
	AUTO_FREE double *with2 = xcalloc((size_t)1 << n, sizeof(*with2));

	/* ret holds the second moment until the end */
	e[0] = m->one;
	ret[0] = m->one2;
	for (unsigned high = 0; high < n; high++) {
		uint32_t bit = UINT32_C(1) << high;

		with[0] = m->lin[high];
		with2[0] = m->lin2[high];
		e[bit] = e[0] + with[0];
		ret[bit] = ret[0] + with2[0];
		for (uint32_t r = 1; r < bit; r++) {
			unsigned low = (unsigned)__builtin_ctz(r);

			with[r] = with[r & (r - 1)] + m->pair[low][high];
			with2[r] = with2[r & (r - 1)] + m->pair2[low][high];
			e[bit | r] = e[r] + with[r];
			ret[bit | r] = ret[r] + with2[r];
		}
	}
	for (uint32_t c = 0; c <= all_new(n); c++)
		ret[c] = MAX(ret[c] - e[c] * e[c], 0);
}

struct pick {
	uint32_t config;
	double variance;
};
struct picks {
	struct pick *v;
	size_t n;
};

static void every_mask(const struct bisect_in *in, const struct moments *m, struct picks *l)
{
	AUTO_FREE double *v = xcalloc((size_t)1 << in->n, sizeof(*v));
	bool any_broken = in->feasible != NULL;

	for (size_t k = 0; k < in->n_trials; k++)
		any_broken |= isnan(in->trials[k].w);
	variances(m, in->n, v);
	for (uint32_t c = 0; c <= all_new(in->n); c++)
		if (!any_broken || bisect_can_run(in, c))
			l->v[l->n++] = (struct pick){ c, v[c] };
}

static void consider(const struct bisect_in *in, const struct moments *m, uint32_t config,
		     struct picks *l)
{
	if (bisect_can_run(in, config))
		l->v[l->n++] = (struct pick){ config, variance_of(m, in->n, config) };
}

/* Many components: drawn masks, single switches away from all old, all new and the last trial, and
 * the way up from the best of them by single switches. */
static void draw(const struct bisect_in *in, const struct moments *m, uint32_t last,
		 struct picks *l)
{
	struct rng r = { in->seed ^ (in->n_trials + 1) * UINT64_C(0x9e3779b97f4a7c15) };
	uint32_t from[] = { 0, all_new(in->n), last };
	size_t best = 0;

	for (size_t k = 0; k < ARRAY_SIZE(from); k++) {
		consider(in, m, from[k], l);
		for (unsigned i = 0; i < in->n; i++)
			consider(in, m, from[k] ^ UINT32_C(1) << i, l);
	}
	for (int k = 0; k < BISECT_DRAWN; k++)
		consider(in, m, (uint32_t)rng_below(&r, UINT64_C(1) << in->n), l);
	for (size_t k = 1; k < l->n; k++)
		if (l->v[k].variance > l->v[best].variance)
			best = k;
	for (int climbs = 0; l->n && climbs < 64; climbs++) {
		size_t n = l->n, before = best;
		uint32_t at = l->v[best].config;

		for (unsigned i = 0; i < in->n; i++)
			consider(in, m, at ^ UINT32_C(1) << i, l);
		for (size_t k = n; k < l->n; k++)
			if (l->v[k].variance > l->v[best].variance + TIE)
				best = k;
		if (best == before)
			break;
	}
}

bool bisect_search(const struct bisect_in *in, const struct bisect_fit *fit, uint32_t *ret_config,
		   double *ret_variance)
{
	bool every = in->n <= BISECT_MAX_ALL_MASKS;
	size_t room = every ? (size_t)1 << in->n : BISECT_DRAWN + 70 * ((size_t)in->n + 1);
	AUTO_FREE struct pick *v = xcalloc(room, sizeof(*v));
	struct picks l = { v, 0 };
	uint32_t last = in->n_trials ? in->trials[in->n_trials - 1].config : 0;
	const struct pick *best = NULL;
	double most = -1;
	struct moments m;

	moments_of(fit, &m);
	if (every)
		every_mask(in, &m, &l);
	else
		draw(in, &m, last, &l);
	for (size_t k = 0; k < l.n; k++)
		most = MAX(most, v[k].variance);
	for (size_t k = 0; k < l.n; k++) {
		int d, least;

		if (v[k].variance < most - TIE)
			continue;
		d = __builtin_popcount(v[k].config ^ last);
		least = best ? __builtin_popcount(best->config ^ last) : 0;
		if (!best || d < least || (d == least && v[k].config < best->config))
			best = &v[k];
	}
	if (!best)
		return false;
	*ret_config = best->config;
	*ret_variance = best->variance;
	return true;
}

/* ---- confirmation ---- */

/* The trials at the end that confirm one set, and that set: a confirmation is all or nothing, so it
 * is the last one that counts, and it must be of what is sure now. */
struct confirming {
	size_t only, but;
	bool begun;
	uint32_t set;
};

static void look_back(const struct bisect_in *in, uint32_t set, struct confirming *ret)
{
	uint32_t all = all_new(in->n);

	*ret = (struct confirming){ .set = set };
	for (size_t k = in->n_trials; k-- > 0;) {
		const struct bisect_trial *t = &in->trials[k];

		if (t->why != BISECT_CONFIRMS || (t->config != set && t->config != (all & ~set)))
			return;
		if (!isfinite(t->w))
			continue;
		ret->begun = true;
		if (t->config == set)
			ret->only++;
		else
			ret->but++;
	}
}

/* The configuration that confirms `set` next; false: there is none left to try. */
static bool confirm_next(const struct bisect_in *in, uint32_t set, uint32_t *ret, bool *ret_any)
{
	uint32_t but = all_new(in->n) & ~set;
	bool can_only = bisect_can_run(in, set), can_but = bisect_can_run(in, but);
	struct confirming c;

	look_back(in, set, &c);
	*ret_any = can_only || can_but;
	if (can_only && c.only < BISECT_CONFIRM && (c.only <= c.but || !can_but)) {
		*ret = set;
		return true;
	}
	if (can_but && c.but < BISECT_CONFIRM) {
		*ret = but;
		return true;
	}
	return false;
}

/* A confirmation that was begun goes on to its end, even when its first trial shook the belief:
 * stopping at will is how one picks results. */
static bool goes_on(const struct bisect_in *in, const struct bisect_fit *fit, uint32_t *ret,
		    size_t *ret_hyp)
{
	struct confirming c;
	bool any;

	if (!in->n_trials || in->trials[in->n_trials - 1].why != BISECT_CONFIRMS)
		return false;
	/* Of which set? The last trial's configuration or its opposite; the hypotheses know. */
	for (size_t k = 0; k < fit->n; k++) {
		uint32_t set = bisect_hyp_mask(&fit->v[k]);
		uint32_t first = in->trials[in->n_trials - 1].config;

		if (first != set && first != (all_new(in->n) & ~set))
			continue;
		look_back(in, set, &c);
		if (c.begun && confirm_next(in, set, ret, &any)) {
			*ret_hyp = k;
			return true;
		}
	}
	return false;
}

static void ends(struct bisect_step *s, const struct bisect_fit *fit)
{
	s->hyp = fit->best;
	switch (fit->v[fit->best].kind) {
	case BISECT_ENV:
		s->state = BISECT_OUTSIDE;
		break;
	case BISECT_GONE:
		s->state = BISECT_VANISHED;
		break;
	default:
		s->state = BISECT_FOUND;
	}
}

static void undetermined(struct bisect_step *s, const char *why)
{
	s->state = BISECT_UNDETERMINED;
	s->reason = why;
}

static bool tried(const struct bisect_in *in, uint32_t config)
{
	for (size_t k = 0; k < in->n_trials; k++)
		if (in->trials[k].config == config && isfinite(in->trials[k].w))
			return true;
	return false;
}

void bisect_next(const struct bisect_in *in, const struct bisect_fit *fit, struct bisect_step *ret)
{
	unsigned limit = in->max_trials ? in->max_trials : BISECT_MAX_TRIALS;
	bool sure = fit->v[fit->best].posterior >= BISECT_SURE, any = true;
	uint32_t ways[] = { 0, all_new(in->n) }, set = bisect_hyp_mask(&fit->v[fit->best]);
	struct bisect_step s = { .hyp = fit->best };
	struct moments m;

	for (size_t k = 0; k < ARRAY_SIZE(ways) && in->n_trials < limit; k++)
		if (!tried(in, ways[k]) && bisect_can_run(in, ways[k])) {
			*ret = (struct bisect_step){ .config = ways[k],
						     .why = BISECT_REPRODUCE,
						     .hyp = fit->best };
			return;
		}
	moments_of(fit, &m);
	s.why = BISECT_CONFIRMS;
	if (!goes_on(in, fit, &s.config, &s.hyp)) {
		s.hyp = fit->best;
		if (sure && !confirm_next(in, set, &s.config, &any)) {
			if (any)
				ends(&s, fit);
			else
				undetermined(&s, "what is likely can't be confirmed: neither those "
						 "components alone nor all others can be tried");
			*ret = s;
			return;
		}
		if (!sure) {
			s.why = BISECT_SEARCH;
			if (!bisect_search(in, fit, &s.config, &s.variance))
				undetermined(&s, "no configuration can be tried");
			else if (s.variance < TELLS_NOTHING)
				undetermined(&s, "no configuration that can be tried tells the "
						 "remaining suspects apart");
		}
	}
	if (s.state == BISECT_TRY && in->n_trials >= limit)
		undetermined(&s, "the limit of trials is reached");
	if (s.state == BISECT_TRY)
		s.variance = variance_of(&m, in->n, s.config);
	*ret = s;
}
