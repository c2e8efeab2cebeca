/* SPDX-License-Identifier: Apache-2.0 */
/* Hypotheses, and what the values say about them. */
#include "bisect/bisect.h"

#include "stat/stat.h"
#include <math.h>

#define ROUNDS       10
#define ODD          0.05 /* share of repetitions that may be anything ... */
#define ODD_DENSITY  (ODD / 0.5)
#define LEAST_EFFECT 0.001
#define LEAST_SIGMA  1e-4
#define LEVELS       3 /* 0, 1/2, 1 */

const char *bisect_kind_name(enum bisect_kind k)
{
	static const char *const names[] = { "env", "gone", "one", "and", "add" };

	return names[k];
}

const char *bisect_why_name(enum bisect_why w)
{
	static const char *const names[] = { "reproduce", "search", "confirm" };

	return names[w];
}

uint32_t bisect_hyp_mask(const struct bisect_hyp *h)
{
	if (h->kind == BISECT_ENV || h->kind == BISECT_GONE)
		return 0;
	return UINT32_C(1) << h->a | UINT32_C(1) << h->b;
}

unsigned bisect_level2(const struct bisect_hyp *h, uint32_t config)
{
	unsigned a = config >> h->a & 1, b = config >> h->b & 1;

	switch (h->kind) {
	case BISECT_ENV:
		return 2;
	case BISECT_GONE:
		return 0;
	case BISECT_ONE:
		return 2 * a;
	case BISECT_BOTH:
		return 2 * (a & b);
	default:
		return a + b;
	}
}

void bisect_fit_release(struct bisect_fit *f)
{
	free(f->v);
	*f = (struct bisect_fit){ 0 };
}

static double weight(const struct bisect_in *in, unsigned i)
{
	return in->weight ? in->weight[i] : 1;
}

static void put_pairs(const struct bisect_in *in, enum bisect_kind kind, double mass,
		      struct bisect_fit *f)
{
	double sum = 0;

	for (unsigned a = 0; a < in->n; a++)
		for (unsigned b = a + 1; b < in->n; b++)
			sum += weight(in, a) * weight(in, b);
	for (unsigned a = 0; a < in->n; a++)
		for (unsigned b = a + 1; b < in->n; b++)
			f->v[f->n++] = (struct bisect_hyp){ .kind = kind,
							    .a = a,
							    .b = b,
							    .prior = mass * weight(in, a) *
								     weight(in, b) / sum };
}

static void put_hypotheses(const struct bisect_in *in, struct bisect_fit *f)
{
	double sum = 0;

	f->v = xcalloc(2 + in->n * (size_t)in->n, sizeof(*f->v));
	f->v[f->n++] = (struct bisect_hyp){ .kind = BISECT_ENV, .prior = 0.02 };
	f->v[f->n++] = (struct bisect_hyp){ .kind = BISECT_GONE, .prior = 0.02 };
	for (unsigned a = 0; a < in->n; a++)
		sum += weight(in, a);
	for (unsigned a = 0; a < in->n; a++)
		f->v[f->n++] = (struct bisect_hyp){
			.kind = BISECT_ONE, .a = a, .b = a, .prior = 0.75 * weight(in, a) / sum
		};
	put_pairs(in, BISECT_BOTH, 0.12, f);
	put_pairs(in, BISECT_HALVES, 0.09, f);
}

/* The values in one row; of those before the trials the level is known. */
struct values {
	double *w;
	size_t n, n_bank, n_known;
	uint8_t *level2; /* of trial k under hypothesis h: [k * n_hyp + h] */
	size_t n_hyp;
	double *log_prior, *log_post, *post;
};

static void values_release(struct values *x)
{
	free(x->w);
	free(x->level2);
	free(x->log_prior);
	free(x->log_post);
	free(x->post);
}

static void values_gather(const struct bisect_in *in, const struct bisect_fit *f, struct values *x)
{
	size_t n_trials = 0;

	x->w = xcalloc(in->n_bank + in->n_cand + in->n_trials + 1, sizeof(*x->w));
	x->n_hyp = f->n;
	x->level2 = xcalloc(in->n_trials * f->n + 1, 1);
	x->log_prior = xcalloc(f->n, sizeof(*x->log_prior));
	for (size_t h = 0; h < f->n; h++)
		x->log_prior[h] = log(f->v[h].prior);
	x->log_post = xcalloc(f->n, sizeof(*x->log_post));
	x->post = xcalloc(f->n, sizeof(*x->post));
	for (size_t i = 0; i < in->n_bank; i++)
		if (isfinite(in->bank[i]))
			x->w[x->n++] = in->bank[i];
	x->n_bank = x->n;
	for (size_t i = 0; i < in->n_cand; i++)
		if (isfinite(in->cand[i]))
			x->w[x->n++] = in->cand[i];
	x->n_known = x->n;
	for (size_t k = 0; k < in->n_trials; k++) {
		const struct bisect_trial *t = &in->trials[k];

		if (!isfinite(t->w))
			continue;
		x->w[x->n++] = t->w;
		for (size_t h = 0; h < f->n; h++)
			x->level2[n_trials * f->n + h] =
				(uint8_t)bisect_level2(&f->v[h], t->config);
		n_trials++;
	}
}

/* Where the rounds begin: the usual robust figures of bank and candidate. */
static void begin(const struct values *x, struct bisect_fit *f)
{
	const double *bank = x->w, *cand = x->w + x->n_bank;
	size_t m = x->n_bank, n = x->n_known - m, k = 0;
	AUTO_FREE double *d = xcalloc(m * n + m + n, sizeof(*d));
	double base = median(bank, m), top = median(cand, n);

	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++)
			d[k++] = cand[j] - bank[i];
	f->level0 = base;
	f->effect = MAX(median(d, k), LEAST_EFFECT);
	for (size_t i = 0; i < m; i++)
		d[i] = bank[i] - base;
	for (size_t j = 0; j < n; j++)
		d[m + j] = cand[j] - top;
	k = m + n;
	f->sigma = 1.4826 * mad(d, k) * sqrt((double)k / (double)(k > 2 ? k - 2 : 1));
	f->sigma = MAX(f->sigma, LEAST_SIGMA);
}

/* Density of a value at each level: its normal part, and all of it. */
static void density(const struct bisect_fit *f, double w, double normal[LEVELS], double all[LEVELS])
{
	for (unsigned v = 0; v < LEVELS; v++) {
		double z = (w - f->level0 - f->effect * (v / 2.0)) / f->sigma;

		normal[v] = (1 - ODD) * exp(-0.5 * z * z) / (f->sigma * sqrt(2 * M_PI));
		all[v] = normal[v] + ODD_DENSITY;
	}
}

/* Values whose level is known weigh the same for every hypothesis and drop out. */
static void posterior(const struct bisect_fit *f, struct values *x)
{
	double most = -INFINITY, sum = 0;

	memcpy(x->log_post, x->log_prior, f->n * sizeof(*x->log_post));
	for (size_t k = 0; k + x->n_known < x->n; k++) {
		const uint8_t *level2 = x->level2 + k * x->n_hyp;
		double normal[LEVELS], all[LEVELS];

		density(f, x->w[x->n_known + k], normal, all);
		for (unsigned v = 0; v < LEVELS; v++)
			all[v] = log(all[v]);
		for (size_t h = 0; h < f->n; h++)
			x->log_post[h] += all[level2[h]];
	}
	for (size_t h = 0; h < f->n; h++)
		most = MAX(most, x->log_post[h]);
	for (size_t h = 0; h < f->n; h++) {
		x->post[h] = exp(x->log_post[h] - most);
		sum += x->post[h];
	}
	for (size_t h = 0; h < f->n; h++)
		x->post[h] /= sum;
}

/* How much of value i stands at each level; in two sums that don't wait for each other. */
static void responsibility(const struct values *x, size_t i, double ret[LEVELS])
{
	double at[2][LEVELS] = { 0 };
	const uint8_t *level2;
	size_t h = 0;

	memset(ret, 0, LEVELS * sizeof(*ret));
	if (i < x->n_known) {
		ret[i < x->n_bank ? 0 : LEVELS - 1] = 1;
		return;
	}
	level2 = x->level2 + (i - x->n_known) * x->n_hyp;
	for (; h + 1 < x->n_hyp; h += 2) {
		at[0][level2[h]] += x->post[h];
		at[1][level2[h + 1]] += x->post[h + 1];
	}
	if (h < x->n_hyp)
		at[0][level2[h]] += x->post[h];
	for (unsigned v = 0; v < LEVELS; v++)
		ret[v] = at[0][v] + at[1][v];
}

struct sums {
	double w, v, y, vv, vy;
};

/* Weighted regression of the values on their levels, then what is left over. */
static void regress(struct bisect_fit *f, const struct values *x)
{
	AUTO_FREE double *r = xcalloc(x->n * LEVELS, sizeof(*r));
	struct sums s = { 0 };
	double mean_v, mean_y, left = 0;

	for (size_t i = 0; i < x->n; i++) {
		double normal[LEVELS], all[LEVELS];

		density(f, x->w[i], normal, all);
		responsibility(x, i, r + i * LEVELS);
		for (unsigned v = 0; v < LEVELS; v++) {
			r[i * LEVELS + v] *= normal[v] / all[v];
			s.w += r[i * LEVELS + v];
			s.v += r[i * LEVELS + v] * (v / 2.0);
			s.y += r[i * LEVELS + v] * x->w[i];
		}
	}
	if (!(s.w > 0))
		return;
	mean_v = s.v / s.w;
	mean_y = s.y / s.w;
	for (size_t i = 0; i < x->n; i++)
		for (unsigned v = 0; v < LEVELS; v++) {
			double at = v / 2.0 - mean_v;

			s.vv += r[i * LEVELS + v] * at * at;
			s.vy += r[i * LEVELS + v] * at * (x->w[i] - mean_y);
		}
	f->effect = s.vv > 0 ? MAX(s.vy / s.vv, LEAST_EFFECT) : LEAST_EFFECT;
	f->level0 = mean_y - f->effect * mean_v;
	for (size_t i = 0; i < x->n; i++)
		for (unsigned v = 0; v < LEVELS; v++) {
			double d = x->w[i] - f->level0 - f->effect * (v / 2.0);

			left += r[i * LEVELS + v] * d * d;
		}
	f->sigma = MAX(sqrt(left / MAX(s.w - 2, 1)), LEAST_SIGMA);
}

void bisect_fit(const struct bisect_in *in, struct bisect_fit *ret)
{
	struct values x CLEANUP(values_release) = { 0 };

	assert(in->n >= 1 && in->n <= BISECT_MAX_COMPONENTS && in->n_bank && in->n_cand);
	bisect_fit_release(ret);
	put_hypotheses(in, ret);
	values_gather(in, ret, &x);
	begin(&x, ret);
	for (int round = 1;; round++) {
		posterior(ret, &x);
		if (round == ROUNDS)
			break;
		regress(ret, &x);
	}
	for (size_t h = 0; h < ret->n; h++) {
		ret->v[h].posterior = x.post[h];
		if (x.post[h] > ret->v[ret->best].posterior)
			ret->best = h;
	}
}
