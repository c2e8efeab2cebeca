/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers only: quantiles, ranks, intervals, sequential critical counts. No I/O, no clock, no
 * randomness without a given seed. Arrays are borrowed; nothing here fails on its numbers: what is
 * undefined is NAN. Built with -ffp-contract=off, so that compilers agree.
 */
#pragma once

#include "base/defs.h"

/* ---- special functions (special.c) ----------------------------------------------------------- */

/* Regularised incomplete beta I_x(a, b), a, b > 0; continued fraction (Lentz), DLMF 8.17.22. */
double ibeta(double a, double b, double x);
/* x with I_x(a, b) = p: bisection, then Newton steps kept inside the bracket. */
double ibeta_inv(double a, double b, double p);
double norm_cdf(double z);
double norm_quantile(double p); /* Wichura's AS 241, polished with one Newton step on erfc */
double t_cdf(double t, double df);
double t_quantile(double p, double df);
double f_upper(double f, double d1, double d2); /* P(F > f) */

/* ---- summaries (summary.c) ------------------------------------------------------------------- */

void sort_doubles(double *v, size_t n);
double mean(const double *v, size_t n);
double stdev(const double *v, size_t n); /* n - 1; NAN below 2 */
double median(const double *v, size_t n);
double mad(const double *v, size_t n); /* raw median absolute deviation */
/* Quantiles of n SORTED values, 0 <= p <= 1. Type 7 and nearest rank of Hyndman & Fan (1996);
 * Harrell & Davis (1982). */
double quantile_sorted(const double *v, size_t n, double p);
double quantile_nearest(const double *v, size_t n, double p);
double quantile_hd(const double *v, size_t n, double p);
/* Lag-1 autocorrelation. */
double autocorrelation(const double *v, size_t n);

/* ---- ranks (rank.c) -------------------------------------------------------------------------- */

/* Mann & Whitney (1947): arrangements of n and m with U <= u, exact while n + m <= 24 (fits int64),
 * and their share of C(n + m, n). */
int64_t mw_count_le(unsigned u, unsigned n, unsigned m);
double mw_cdf(unsigned u, unsigned n, unsigned m);

/* Shift of cand against bank on the worseness scale (Hodges & Lehmann 1963) with bounds from the
 * order statistics of all n*m differences; +inf in cand is a failed repetition. c < 0: no bounds
 * (infinite). */
struct shift {
	size_t pairs;
	double shift, lcb, ucb, lowest; /* lowest: the smallest difference */
	unsigned u_le_0;                /* differences <= 0 */
	double p_worse;                 /* P(U <= u_le_0) under no change */
};
void shift_of(const double *bank, size_t m, const double *cand, size_t n, int c, struct shift *ret);

/* Critical counts of the sequential rank test for a bank of m: exact under the null that all orders
 * are equally likely (Polya urn over the gaps of the bank). looks ascending; spend is the
 * cumulative share of alpha at each look. c[k] = -1: no claim possible there. Costs grow with
 * C(m + L, L): L <= 16. */
#define STAT_MAX_LOOKS 16
void sequential_counts(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
		       double alpha, int *ret_c, double *ret_cumulative);

/* ---- several, sessions, proportions (tests.c) ------------------------------------------------ */

/* Holm (1979): adjusted p of each, in the order given. */
void holm(const double *p, size_t n, double *ret);
/* One-way random effects with unbalanced groups. */
struct variance_components {
	size_t k, n;
	double msb, msw, n0, var_between, var_within, icc, f, p;
};
void variance_components(const double *v, const size_t *group, size_t n, size_t k,
			 struct variance_components *ret);
/* Clopper & Pearson (1934), one-sided at level conf: bounds of x successes out of n. */
double cp_lower(unsigned x, unsigned n, double conf);
double cp_upper(unsigned x, unsigned n, double conf);
void wilson(unsigned x, unsigned n, double conf, double *ret_lo, double *ret_hi); /* two-sided */
/* One-sided normal tolerance factor: mean + k sd covers `coverage` with confidence `conf`
 * (noncentral t: k = t'(conf; n - 1, z_coverage sqrt n) / sqrt n). n >= 2. */
double tolerance_factor(unsigned n, double coverage, double conf);

/* ---- random numbers (rng.c) ------------------------------------------------------------------ */

struct rng {
	uint64_t state;
};
uint64_t rng_next(struct rng *r);              /* SplitMix64 (Steele, Lea, Flood 2014) */
uint64_t rng_below(struct rng *r, uint64_t n); /* high 64 bits of next x n */
double rng_unit(struct rng *r);                /* [0, 1) with 53 bits */
double rng_normal(struct rng *r);              /* by norm_quantile */
