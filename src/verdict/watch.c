/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching without an end: e-values, which may be looked at after every repetition. They give up
 * power for that freedom, so they ask for a run and decide nothing; so does the place where a long
 * series looks as if it had moved.
 */
#include "verdict/internal.h"

#include <math.h>

enum { MOVED_FROM = 20, MOVED_MOST = 200, SHUFFLES = 199 };

void verdict_watch_release(struct verdict_watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i].name);
	free(w->v);
	*w = (struct verdict_watch){ 0 };
}

/* What the accepted mean could be at most (99 %): its own error must not look like a shift. */
static double upper_mean(const double *w, size_t n)
{
	return mean(w, n) + t_quantile(0.99, (double)n - 1) * stdev(w, n) / sqrt((double)n);
}

/* Is the best split better than those of the same values in any order? One time in a hundred for a
 * series that did not move. */
static size_t moved_at(const double *w, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(*v));
	struct rng r = { 1 };
	size_t split, other, at_least = 1;
	double most, q;

	change_point(w, n, &split, &most, NULL);
	memcpy(v, w, n * sizeof(*v));
	for (int i = 0; i < SHUFFLES; i++) {
		for (size_t k = n; k > 1; k--) {
			size_t j = (size_t)rng_below(&r, k);
			double x = v[k - 1];

			v[k - 1] = v[j];
			v[j] = x;
		}
		change_point(v, n, &other, &q, NULL);
		at_least += q >= most;
	}
	return at_least * 100 <= SHUFFLES + 1 ? split : 0;
}

static void watch_metric(const struct verdict_metric *m, size_t n_bank, size_t n,
			 struct verdict_watched *x)
{
	AUTO_FREE double *bank = xcalloc(n_bank, sizeof(double));
	AUTO_FREE double *all = xcalloc(n_bank + n, sizeof(double));
	AUTO_FREE double *since = xcalloc(n, sizeof(double));
	size_t m_bank = 0, k = 0, a = 0;
	double edge, t;

	*x = (struct verdict_watched){
		.name = xstrdup(m->name), .abs_scale = m->abs_scale, .shift = NAN, .log_e = 0
	};
	for (size_t i = 0; i < n_bank; i++) {
		double w = worseness(m, m->bank[i]);

		if (isfinite(w))
			bank[m_bank++] = all[a++] = w;
	}
	for (size_t i = 0; i < n; i++) {
		double w = worseness(m, m->cand[i]);

		if (isfinite(w))
			since[k++] = all[a++] = w;
	}
	x->n_bank = m_bank;
	x->n = k;
	if (a >= MOVED_FROM) {
		size_t from = a > MOVED_MOST ? a - MOVED_MOST : 0;
		size_t split = moved_at(all + from, a - from);

		x->moved = split ? from + split : 0;
	}
	if (m_bank < VERDICT_MIN_BANK || !k)
		return;
	x->shift = mean(since, k) - mean(bank, m_bank);
	edge = upper_mean(bank, m_bank);
	for (size_t i = 0; i < k; i++)
		since[i] -= edge;
	/* Only a loss is watched for: the evidence of a gain is none of one. */
	if (k >= 2 && mean(since, k) > 0)
		x->log_e = evalue_t(since, k, 1, &t);
	x->alarm = x->log_e >= log(VERDICT_ALARM);
}

static bool is_bad(const struct verdict_metric *m, size_t n_metrics, const struct verdict_rep *r,
		   size_t i)
{
	if (r[i].state == REP_FAILED)
		return true;
	for (size_t k = 0; k < n_metrics; k++)
		if (m[k].has_limit && !m[k].across &&
		    worseness(&m[k], m[k].cand[i]) > limit_of(&m[k]))
			return true;
	return false;
}

void verdict_watch(const struct verdict_in *in, struct verdict_watch *ret)
{
	struct verdict_watch w = { 0 };

	for (size_t i = 0; i < in->n_reps; i++) {
		if (in->reps[i].state == REP_EXCLUDED)
			continue;
		w.reps++;
		w.bad += is_bad(in->metrics, in->n_metrics, in->reps, i);
	}
	/* The same share of starts that a first acceptance allows to miss a limit. */
	if (w.reps && w.bad > VERDICT_BAD_SHARE * w.reps)
		w.bad_log_e = evalue_beta(w.bad, w.reps - w.bad, VERDICT_BAD_SHARE);
	w.alarm = w.bad_log_e >= log(VERDICT_ALARM);
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];

		if (m->across || (!m->gate && !m->has_limit))
			continue;
		watch_metric(m, in->n_bank, in->n_reps, VEC_ADD(&w));
		w.alarm |= w.v[w.n - 1].alarm;
	}
	*ret = w;
}
