/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the components that changed together made the run worse? Pure: the accepted repetitions,
 * the rejected ones, and the trials so far in; what is believed, the next trial or the answer out.
 * No state between calls: whoever was broken off goes on from the trials that were kept.
 *
 *	struct bisect_in in = { .n = 5, .bank = b, .n_bank = 10, .cand = c, .n_cand = 6, ... };
 *	struct bisect_fit fit CLEANUP(bisect_fit_release) = { 0 };
 *	struct bisect_step step;
 *
 *	for (;;) {
 *		bisect_fit(&in, &fit);
 *		bisect_next(&in, &fit, &step);
 *		if (step.state != BISECT_TRY)
 *			break;                          the answer, or undetermined
 *		... run step.config, append its worseness to in.trials ...
 *	}
 *	bisect_shares(&in, &fit, shares);
 *
 * A configuration is a bit mask: bit i set means that component i has its new version. Values are
 * worseness (logarithm of the deciding metric, up is worse); bank and cand are configurations 0 and
 * all-new as they were measured before. What is not finite is left out.
 *
 * Model. A hypothesis says how much of the loss each configuration has, its level: 0, 1/2 or 1.
 *	one component a     1 where a is new
 *	both of a and b     1 where both are new ("and": neither alone is enough)
 *	halves of a and b   1/2 for each that is new ("add")
 *	env                 1 everywhere: it came from outside the list, with time
 *	gone                0 everywhere: it does not reproduce
 * Prior mass .75, .12, .09, .02, .02, inside a class by the components' weights (a pair gets the
 * product). A value at level v is normal around level0 + v effect, except for a share of 5 % of odd
 * repetitions that may be anything (density 2), so that no single one can decide. The normal's
 * three numbers and the posterior are found together in ten rounds of expectation and weighted
 * regression, always from the start: the order of the trials does not matter.
 */
#pragma once

#include "base/defs.h"

#define BISECT_MAX_COMPONENTS 31
#define BISECT_MAX_ALL_MASKS  12   /* up to here every mask is looked at, above a seeded choice */
#define BISECT_DRAWN          4096 /* masks drawn above that */
#define BISECT_MAX_TRIALS     40   /* the default limit */
#define BISECT_SURE           0.99
#define BISECT_CONFIRM        2 /* fresh trials each way */

enum bisect_kind { BISECT_ENV, BISECT_GONE, BISECT_ONE, BISECT_BOTH, BISECT_HALVES };
const char *bisect_kind_name(enum bisect_kind k); /* "env" "gone" "one" "and" "add" */

struct bisect_hyp {
	enum bisect_kind kind;
	unsigned a, b; /* a < b for pairs; b == a for one; 0 for env and gone */
	double prior, posterior;
};
/* The components of a hypothesis as a mask; 0 for env and gone. */
uint32_t bisect_hyp_mask(const struct bisect_hyp *h);
/* Twice its level in a configuration: 0, 1 or 2. */
unsigned bisect_level2(const struct bisect_hyp *h, uint32_t config);

enum bisect_why {
	BISECT_REPRODUCE, /* all old, all new: is the difference still there? */
	BISECT_SEARCH,
	BISECT_CONFIRMS /* only these new, all new but these */
};
const char *bisect_why_name(enum bisect_why w); /* "reproduce" "search" "confirm" */

struct bisect_trial {
	uint32_t config;
	enum bisect_why why;
	/* NAN: it could not run, and its configuration is not tried again. Infinite: it ran and
	 * does not count, for a cause beside the metric. */
	double w;
};

struct bisect_in {
	unsigned n;           /* components, 1 .. BISECT_MAX_COMPONENTS */
	const double *weight; /* suspicion, n of them, > 0; NULL: equal */
	const double *bank, *cand;
	size_t n_bank, n_cand; /* at least 3 together, one of each */
	const struct bisect_trial *trials;
	size_t n_trials;
	/* May this configuration be tried at all? NULL: each may. */
	bool (*feasible)(const void *arg, uint32_t config);
	const void *arg;
	unsigned max_trials; /* 0: BISECT_MAX_TRIALS; those that could not run count */
	uint64_t seed;       /* for the masks that are drawn; the number of trials is mixed in */
};

struct bisect_fit {
	double level0, effect, sigma;
	struct bisect_hyp
		*v; /* env, gone, one..., and..., add...; pairs in the order (0,1) (0,2) */
	size_t n;
	size_t best; /* the first of those with the largest posterior */
};
void bisect_fit_release(struct bisect_fit *f);
void bisect_fit(const struct bisect_in *in, struct bisect_fit *ret);

enum bisect_state {
	BISECT_TRY,         /* run `config` */
	BISECT_FOUND,       /* `hyp` is sure and confirmed */
	BISECT_OUTSIDE,     /* env is: look outside the list */
	BISECT_VANISHED,    /* gone is: it does not reproduce */
	BISECT_UNDETERMINED /* `reason`; fit and shares hold the table of suspects */
};
struct bisect_step {
	enum bisect_state state;
	uint32_t config;
	enum bisect_why why;
	double variance;    /* posterior variance of the level of `config` */
	size_t hyp;         /* index into fit->v of what is (being) confirmed */
	const char *reason; /* static text; NULL unless undetermined */
};
void bisect_next(const struct bisect_in *in, const struct bisect_fit *fit, struct bisect_step *ret);
/* The search's own choice, whatever may be sure already: the configuration whose level is most
 * uncertain; within 1e-6 of it the one with the fewest switches from the last trial's, then the
 * smallest. false: no configuration can be tried. */
bool bisect_search(const struct bisect_in *in, const struct bisect_fit *fit, uint32_t *ret_config,
		   double *ret_variance);
/* Has no trial of this configuration failed to run, and does `feasible` allow it? */
bool bisect_can_run(const struct bisect_in *in, uint32_t config);

/* What a component has to do with the loss: the posterior mass of the hypotheses that name it, and
 * its share of the loss (1 alone, 1/2 in a pair) with a 95 % interval. The interval is of the
 * mixture over hypotheses, each share blurred by how well the effect is known, kept in [0, 1]. */
struct bisect_share {
	double posterior, share, lo, hi;
};
void bisect_shares(const struct bisect_in *in, const struct bisect_fit *fit,
		   struct bisect_share *ret); /* in->n of them */

/* What switching a set of components alone did, as a share of the whole loss, both ways, measured
 * (no hypothesis in it): forward from all old to only these new, back from all new to all new but
 * these. Normal-theory 95 % intervals from the spread inside the groups (Fieller 1954, on the
 * share); NAN where a group has no trial, infinite where the whole loss itself could be none. */
struct bisect_both_ways {
	double forward, forward_lo, forward_hi;
	double back, back_lo, back_hi;
	double share, lo, hi; /* the mean of both, or the one there is */
	double loss;          /* all new less all old, on the worseness scale */
	size_t n_forward, n_back;
};
void bisect_both_ways(const struct bisect_in *in, uint32_t set, struct bisect_both_ways *ret);

/* A full plan for two suspects, 2 x 2: how many trials of each of the four configurations are still
 * missing to `each` (those with neither and both new count with what was measured before), and what
 * came of it. `a` and `b` are component numbers, the others stay old. */
struct bisect_factorial {
	uint32_t config[4]; /* neither, a, b, both */
	size_t n[4];
	double mean[4];
	double effect_a, effect_b, interaction;  /* alone, alone, both - a - b + neither */
	double half_a, half_b, half_interaction; /* half widths of their 95 % intervals */
	bool has;                                /* each configuration has two values or more */
};
void bisect_factorial(const struct bisect_in *in, unsigned a, unsigned b,
		      struct bisect_factorial *ret);

/* What a search will take, by playing `games` of them for each kind of truth on values made up with
 * the effect and spread that bank and candidate have; in->trials are not looked at. */
struct bisect_expect {
	double effect, sigma;
	double trials[3], right[3]; /* one component, both, halves: mean trials, share found */
};
void bisect_expect(const struct bisect_in *in, unsigned games, uint64_t seed,
		   struct bisect_expect *ret);
