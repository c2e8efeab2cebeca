/* SPDX-License-Identifier: Apache-2.0 */
#include "load/plan.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/vec.h"
#include "stat/stat.h"

#include <math.h>

void plan_release(struct plan *p)
{
	free(p->at);
	free(p->order);
	*p = (struct plan){ 0 };
}

/*
 * Logarithm and exponential by plain arithmetic. A schedule is a function of its seed alone, on
 * every
 * machine: the C library's own may differ in the last bit from version to version, and a C library
 * is
 * among the things that change between two runs that are to be compared.
 */
static double log_of(double x) /* x > 0 */
{
	int e;
	double m = frexp(x, &e), s, s2, sum = 0;

	if (m < 0.70710678118654752440) {
		m *= 2;
		e--;
	}
	s = (m - 1) / (m + 1); /* ln m = 2 artanh s, |s| < 0.172 */
	s2 = s * s;
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return 2 * s * sum + e * 0.69314718055994530942;
}

static double exp_of(double x)
{
	double k = floor(x / 0.69314718055994530942 + 0.5), r = x - k * 0.69314718055994530942;
	double sum = 1;

	if (k < -1000)
		return 0;
	for (int i = 18; i >= 1; i--)
		sum = 1 + sum * r / i;
	return ldexp(sum, (int)k);
}

static double uniform(struct rng *r) /* (0, 1] */
{
	return 1 - rng_unit(r);
}

static double exponential(struct rng *r)
{
	return -log_of(uniform(r));
}

/* Marsaglia's polar method (1962): no function but log and sqrt. */
static double normal(struct rng *r)
{
	double x, y, s;

	do {
		x = 2 * rng_unit(r) - 1;
		y = 2 * rng_unit(r) - 1;
		s = x * x + y * y;
	} while (s >= 1 || s == 0);
	return x * sqrt(-2 * log_of(s) / s);
}

/* Gamma(shape, 1): Marsaglia and Tsang 2000, "A simple method for generating gamma variables". */
static double gamma_draw(struct rng *r, double shape)
{
	double d, c, boost = 1;

	if (shape < 1) {
		boost = exp_of(log_of(uniform(r)) / shape);
		shape += 1;
	}
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	for (;;) {
		double x = normal(r), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log_of(uniform(r)) < 0.5 * x * x + d - d * v + d * log_of(v))
			return boost * d * v;
	}
}

struct clockwork {
	const struct load_conf *c;
	struct rng rng;
	double t; /* s */
	size_t i, stage;
	double stage_from; /* s */
	int64_t duration_ns;
};

/* Poisson with a rate that goes linearly from a to b over D: invert the integrated rate. */
static double ramp_next(struct clockwork *w)
{
	double a = w->c->rate, b = w->c->rate_to, d = (double)w->duration_ns / 1e9;
	double k = (b - a) / d, now = a * w->t + k * w->t * w->t / 2 + exponential(&w->rng);

	if (fabs(k) < 1e-12)
		return now / a;
	if (a * a + 2 * k * now < 0)
		return INFINITY; /* the falling rate never gets there */
	return (sqrt(a * a + 2 * k * now) - a) / k;
}

/* A draw that runs over a stage's end uses up only its share of the exponential there. */
static double stages_next(struct clockwork *w)
{
	double left = exponential(&w->rng), t = w->t;

	while (w->stage < w->c->n_stages) {
		const struct load_stage *s = &w->c->stages[w->stage];
		double end = w->stage_from + (double)s->duration_ns / 1e9;

		if (t + left / s->rate <= end)
			return t + left / s->rate;
		left -= (end - t) * s->rate;
		t = w->stage_from = end;
		w->stage++;
	}
	return INFINITY;
}

static double arrival_next(struct clockwork *w)
{
	const struct load_conf *c = w->c;

	switch (c->arrival) {
	case LOAD_CONSTANT:
		return (double)w->i / c->rate;
	case LOAD_GAMMA:
		return w->t + gamma_draw(&w->rng, c->burstiness) / (c->burstiness * c->rate);
	case LOAD_RAMP:
		return ramp_next(w);
	case LOAD_STAGES:
		return stages_next(w);
	case LOAD_TRACE:
		return w->i < c->n_trace ? (double)c->trace_ns[w->i] / 1e9 : INFINITY;
	default:
		return w->t + exponential(&w->rng) / c->rate;
	}
}

static int make_times(const struct load_conf *c, int64_t duration_ns, uint64_t count,
		      struct plan *p, struct err *err)
{
	struct {
		int64_t *v;
		size_t n, room;
	} times = { 0 };
	struct clockwork w = { .c = c, .rng = { c->seed }, .duration_ns = duration_ns };

	while (!count || times.n < count) {
		int64_t at;

		w.t = arrival_next(&w);
		if (!(w.t < 9e9))
			break;
		at = c->arrival == LOAD_TRACE ? c->trace_ns[w.i] : (int64_t)llround(w.t * 1e9);
		if (duration_ns && at >= duration_ns)
			break;
		if (times.n == PLAN_LIMIT) {
			free(times.v);
			return bail(err, ERR_LIMIT, "a run of more than %zu requests", PLAN_LIMIT);
		}
		*VEC_ADD(&times) = at;
		w.i++;
	}
	p->at = times.v;
	p->n = times.n;
	if (p->n == 0)
		return bail(err, ERR_RANGE,
			    "no request falls into the run: its rate is too low for its duration");
	return 0;
}

static void make_order(const struct load_conf *c, size_t n, struct plan *p)
{
	struct rng rng = { c->seed ^ UINT64_C(0x6f72646572) }; /* apart from the times' numbers */

	p->order = xcalloc(n, sizeof(*p->order));
	p->n_prompts = n;
	for (size_t i = 0; i < n; i++)
		p->order[i] = (uint32_t)i;
	for (size_t i = n; c->shuffle && i > 1; i--) {
		size_t j = (size_t)rng_below(&rng, i);
		uint32_t keep = p->order[i - 1];

		p->order[i - 1] = p->order[j];
		p->order[j] = keep;
	}
}

static void make_digest(const struct load_conf *c, struct plan *p)
{
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	uint8_t digest[SHA256_LEN];

	sha256_init(&h);
	str_addf(&s, "%s %u %zu %zu\n", load_arrival_name(c->arrival),
		 c->arrival == LOAD_CLOSED ? c->concurrency : 0, p->n, p->n_prompts);
	for (size_t i = 0; i < MAX(p->at ? p->n : 0, p->n_prompts); i++) {
		if (p->at && i < p->n)
			str_addf(&s, "%lld", (long long)p->at[i]);
		if (i < p->n_prompts)
			str_addf(&s, " %u", p->order[i]);
		str_addc(&s, '\n');
		if (s.n > 32 * KIB) {
			sha256_add(&h, str_text(&s), s.n);
			str_clear(&s);
		}
	}
	sha256_add(&h, str_text(&s), s.n);
	sha256_end(&h, digest);
	hex_of(digest, sizeof(digest), p->digest);
}

/* Of the whole schedule, whose digest stands for all shards, only what is this one's. */
static int keep_shard(const struct load_conf *c, struct plan *p, struct err *err)
{
	size_t n = 0;

	if (!c->shards || !p->at)
		return 0;
	for (size_t i = c->shard; i < p->n; i += c->shards)
		p->at[n++] = p->at[i];
	p->n = n;
	if (n == 0)
		return bail(err, ERR_RANGE, "no request falls to shard %u of %u", c->shard,
			    c->shards);
	return 0;
}

int plan_make(const struct load_conf *c, int64_t duration_ns, uint64_t count, size_t n_prompts,
	      struct plan *ret, struct err *err)
{
	struct plan p CLEANUP(plan_release) = { 0 };

	if (c->arrival == LOAD_CLOSED) {
		if (count > PLAN_LIMIT)
			return bail(err, ERR_LIMIT, "a run of more than %zu requests", PLAN_LIMIT);
		p.n = count;
	} else {
		TRY(make_times(c, duration_ns, count, &p, err));
	}
	make_order(c, n_prompts, &p);
	make_digest(c, &p);
	TRY(keep_shard(c, &p, err));
	*ret = p;
	p = (struct plan){ 0 };
	return 0;
}
