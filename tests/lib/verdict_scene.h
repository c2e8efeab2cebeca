/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict's input to vary: a bank of ten around 100 ms with about 1 % noise, candidates at a
 * factor
 * of it, and series from a seeded generator. */
#pragma once

#include "stat/stat.h"
#include "verdict/verdict.h"

#include "test.h"

static const double bank[10] = { 100.0, 101.1, 99.2, 100.4, 98.9, 100.9, 99.6, 100.2, 99.8, 101.3 };
static const double noise[10] = {
	100.3, 99.1, 100.8, 99.5, 100.1, 101.0, 98.8, 100.6, 99.9, 100.2
};

#define SCENE_MOST 12

struct scene {
	struct verdict_in in;
	struct verdict_metric m[4];
	struct verdict_rep reps[SCENE_MOST];
	struct verdict_check checks[2];
	double cand[SCENE_MOST];
};

static inline void scene(struct scene *s, double factor, size_t n, bool has_bank)
{
	*s = (struct scene){ 0 };
	verdict_defaults(&s->in);
	for (size_t i = 0; i < n; i++)
		s->cand[i] = noise[i] * factor;
	s->m[0] = (struct verdict_metric){ .name = "ttft.p50",
					   .unit = UNIT_NS,
					   .dir = LOWER_IS_BETTER,
					   .gate = true,
					   .margin = 0.05,
					   .bank = bank,
					   .cand = s->cand,
					   .has_limit = true,
					   .limit = 115 };
	s->in.metrics = s->m;
	s->in.n_metrics = 1;
	s->in.reps = s->reps;
	s->in.n_reps = n;
	s->in.has_bank = has_bank;
	s->in.n_bank = has_bank ? 10 : 0;
}

static inline const char *first_code(const struct verdict *v)
{
	return v->reasons.n ? v->reasons.v[0].code : "";
}

/* n values exp(N(shift, sd)) x 100. */
static inline void draw(struct rng *r, double *v, size_t n, double shift, double sd)
{
	for (size_t i = 0; i < n; i++)
		v[i] = 100 * exp(shift + sd * rng_normal(r));
}
