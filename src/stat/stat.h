/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers only: quantiles, ranks, intervals, sequential critical counts, bootstraps, e-values. No
 * I/O, no clock, no randomness without a given seed, no state between calls. Arrays are borrowed
 * and never changed unless a function says so; what is undefined is NAN, +-INFINITY where that is
 * the honest bound. Built with -ffp-contract=off, so that compilers agree.
 *
 * The sample of everything that decides is a handful of repetitions (3 to 12). That is why the
 * deciding tools are ranks with exact null distributions, not t tests (shown only) and not the
 * bootstrap (which covers far less than it says on so few).
 *
 *	file		what it holds
 *	special.c	normal, beta, t, F, noncentral t
 *	summary.c	mean ... quantiles, autocorrelation
 *	rank.c		Mann-Whitney, Hodges-Lehmann, signed rank
 *	sequential.c	critical counts at several looks
 *	tests.c		Holm, variance components, t tests
 *	proportion.c	shares, order statistics, paired items, tolerance factor
 *	planning.c	how many repetitions more
 *	bootstrap.c	BCa over items
 *	text.c		generated texts against the stack's own self-agreement
 *	watch.c		e-values and the energy change point
 *	rng.c		SplitMix64
 */
#pragma once

#include "base/defs.h"

/* ---- special functions (special.c) ----------------------------------------------------------- */

/* ln Gamma(x), x > 0, without touching the global signgam. */
double ln_gamma(double x);
double ln_beta(double a, double b);
/* Regularised incomplete beta I_x(a, b), a, b > 0; continued fraction (Lentz), DLMF 8.17.22. */
double ibeta(double a, double b, double x);
/* x with I_x(a, b) = p: Newton steps kept inside a bisection's bracket. */
double ibeta_inv(double a, double b, double p);
double norm_cdf(double z);
double norm_quantile(double p); /* Wichura's AS 241 (1988), polished with one Newton step on erfc */
double t_cdf(double t, double df);
double t_upper(double t, double df); /* P(T > t), exact far out in the tail */
double t_quantile(double p, double df);
double f_upper(double f, double d1, double d2); /* P(F > f) */
/* P(T <= t) of the noncentral t with df degrees of freedom and noncentrality delta, from its
 * definition: the normal probability integrated over s = chi_df / sqrt(df) (Gauss-Legendre). */
double nct_cdf(double t, double df, double delta);
/* P(X <= k) of a binomial; k < 0 gives 0, k >= n gives 1. */
double binom_cdf(double k, double n, double p);

/* ---- summaries (summary.c) ------------------------------------------------------------------- */

void sort_doubles(double *v, size_t n); /* ascending, in place; no NAN */
double mean(const double *v, size_t n);
double stdev(const double *v, size_t n); /* n - 1; NAN below 2 */
double median(const double *v, size_t n);
double mad(const double *v, size_t n); /* raw median absolute deviation; x 1.4826 estimates sigma */
/* Quantiles of n SORTED values, 0 <= p <= 1. Type 7 and nearest rank of Hyndman & Fan (1996);
 * Harrell & Davis (1982). */
double quantile_sorted(const double *v, size_t n, double p);
double quantile_nearest(const double *v, size_t n, double p);
double quantile_hd(const double *v, size_t n, double p);
/* Lag-1 autocorrelation r, and what n values are worth when they drift as AR(1): n(1-r)/(1+r).
 * A warning that repetitions depend on each other, nothing that decides. */
double autocorrelation(const double *v, size_t n);
double effective_size(const double *v, size_t n);

/* ---- ranks (rank.c) -------------------------------------------------------------------------- */

/* Mann & Whitney (1947): arrangements of n and m with U <= u, exact while n + m <= 56 (they fit
 * 2^53), and their share of C(n + m, n), to rounding for any size. */
int64_t mw_count_le(unsigned u, unsigned n, unsigned m);
double mw_cdf(unsigned u, unsigned n, unsigned m);
/* The whole of P(U <= u), u = 0 .. n*m, into ret[n * m + 1]. */
void mw_cdf_all(unsigned n, unsigned m, double *ret);

/* Shift of cand against bank on the worseness scale (Hodges & Lehmann 1963) with bounds from the
 * order statistics of all n*m differences; +inf in cand is a failed repetition. c < 0: no bounds
 * (infinite). Each bound errs with probability P(U <= c). Ties count against the claim. */
struct shift {
	size_t pairs;
	double shift, lcb, ucb, lowest; /* lowest: the smallest difference */
	unsigned u_le_0;                /* differences <= 0 */
	double p_worse;                 /* P(U <= u_le_0) under no change */
	/* For people, deciding nothing: the tightest interval that errs at most 2.5 % on each
	 * side, or
	 * the widest there is, and its exact level. */
	double lo, hi, level;
};
void shift_of(const double *bank, size_t m, const double *cand, size_t n, int c, struct shift *ret);

/* Wilcoxon's signed rank (1945) of paired differences, exact: zeros are left out, equal sizes share
 * their mean rank. W: sum of the ranks of the positive ones. n <= 1000. */
struct signed_rank {
	size_t n;                    /* without zeros */
	double w, p_greater, p_less; /* P(W' >= w), P(W' <= w) under symmetry about 0 */
};
void signed_rank(const double *d, size_t n, struct signed_rank *ret);
/* Centre of paired differences (median of the Walsh averages) and its one-sided bounds at `conf`
 * each; infinite when n is too small for such a claim. */
void paired_shift(const double *d, size_t n, double conf, double *ret_shift, double *ret_lcb,
		  double *ret_ucb);

/* ---- sequential critical counts (sequential.c) ----------------------------------------------- */

/* Critical counts of the sequential rank test for a bank of m: at look k the claim "shift < margin"
 * may be made when U <= c[k]; all looks together err at most alpha. Exact for any continuous noise,
 * because at the edge of the null all orders of bank and candidate are equally likely: the next
 * candidate falls into a gap of the bank with probability (count + 1) / (m + 1 + n) (Polya urn).
 *
 * looks ascending, spend the cumulative share of alpha at each, ascending to 1. c[k] = -1: no claim
 * possible there. Only arrangements whose U may still become critical are followed (U never falls);
 * where even those are more than SEQUENTIAL_MAX_STATES, the looks get their shares of alpha
 * separately (Bonferroni: valid, a little stricter) and the function says so by returning false;
 * ret_cumulative is then the bound. ret_cumulative may be NULL; then the counts of the usual looks
 * 3 4 5 6 8 10 at 0.01 come from a kept table. */
#define STAT_MAX_LOOKS        16
#define SEQUENTIAL_MAX_STATES ((size_t)100000)
bool sequential_counts(unsigned m, const unsigned *looks, const double *spend, size_t n_looks,
		       double alpha, int *ret_c, double *ret_cumulative);
/* The spending of the built-in table: from 0.40 at the first look in equal steps to 1. */
void sequential_spend(size_t n_looks, double *ret);
/* Smallest margin / sd that is decided 95 times in 100 by the last look: the simulated figure for
 * the default looks and alpha (m = 5 .. 12), within 5 % of one for others; INFINITY: never. */
double sequential_reach(unsigned m, const unsigned *looks, size_t n_looks, double alpha,
			const int *c);

/* ---- planning (planning.c) ------------------------------------------------------------------- */

struct plan_look {
	unsigned look;
	bool claim;                  /* false: no claim possible there, the rest is NAN */
	double nominal, h, h_reject; /* P(U <= c); half widths for accepting and for rejecting */
};
/* What each look could show at a noise of sd (of w), `gates` metrics deciding together. */
void plan_looks(unsigned m, const unsigned *looks, const int *c, size_t n_looks, double sd,
		unsigned gates, double alpha_reject, double rho, struct plan_look *ret);
/* Repetitions more until the first look that would likely decide for this estimate and margin;
 * 0: none within the cap. */
unsigned plan_more(const struct plan_look *looks, size_t n, double estimate, double margin,
		   unsigned done, bool *ret_rejects);

/* ---- several, sessions, t tests (tests.c) ---------------------------------------------------- */

/* Holm (1979): adjusted p of each, in the order given. */
void holm(const double *p, size_t n, double *ret);
/* One-way random effects with unbalanced groups (Searle): group[i] in 0 .. k-1, none empty. */
struct variance_components {
	size_t k, n;
	double msb, msw, n0, var_between, var_within, icc, f, p;
};
void variance_components(const double *v, const size_t *group, size_t n, size_t k,
			 struct variance_components *ret);
/* t tests of mean(b) - mean(a): shown to readers who expect them, never deciding. */
struct t_test {
	double diff, se, df, t, p_greater; /* P(T > t) */
};
void t_welch(const double *a, size_t n, const double *b, size_t m, struct t_test *ret);
void t_pooled(const double *a, size_t n, const double *b, size_t m, struct t_test *ret);
/* Two one-sided tests of |diff| < margin from a t_test (Schuirmann 1987): the larger p. */
double t_tost(const struct t_test *t, double margin, double *ret_p_lower, double *ret_p_upper);

/* ---- shares and order statistics (proportion.c) ---------------------------------------------- */

/* Clopper & Pearson (1934), one-sided at level conf: bounds of x successes out of n. */
double cp_lower(unsigned x, unsigned n, double conf);
double cp_upper(unsigned x, unsigned n, double conf);
void wilson(unsigned x, unsigned n, double conf, double *ret_lo, double *ret_hi); /* two-sided */
/* 1-based ranks of the order statistics that bound the p-quantile from above and below with
 * confidence conf, among n; 0: not available at that n. Inside one repetition only. */
unsigned quantile_upper_rank(unsigned n, double p, double conf);
unsigned quantile_lower_rank(unsigned n, double p, double conf);
/* Requests needed to show the p-quantile within a limit with `over` of them above it. */
unsigned requests_needed(unsigned over, double p, double conf);
/* One-sided normal tolerance factor: mean + k sd covers `coverage` with confidence `conf`
 * (noncentral t: k = t'(conf; n - 1, z_coverage sqrt n) / sqrt n). INFINITY below n = 2. The
 * factors of 0.90 at 0.98 for n = 2 .. 30 are kept, others are computed (about a millisecond). */
double tolerance_factor(unsigned n, double coverage, double conf);

/* Paired items, scored right or wrong before and now: Tango (1998). lost: right before, wrong now;
 * won: the reverse. z of H: p_now - p_before = -margin; accepted when z > norm_quantile(0.99). */
double tango_z(unsigned items, unsigned lost, unsigned won, double margin);
/* Lower bound of p_now - p_before at one-sided `conf`, by inverting the score test. */
double tango_lower(unsigned items, unsigned lost, unsigned won, double conf);
double mcnemar_exact(unsigned lost, unsigned won); /* two-sided; shown only */
/* Items needed to show a margin when a share `flips` of the items flips: (z + z)^2 flips/margin^2.
 * */
double items_needed(double flips, double margin, double alpha, double beta);

/* ---- bootstrap (bootstrap.c) ----------------------------------------------------------------- */

/* A statistic of a resample: pick[0..n) are indexes of items, or of clusters of items. */
typedef double statistic_fn(const void *arg, const size_t *pick, size_t n);
struct bootstrap {
	double theta, z0, a, lo, hi, least, most; /* least, most: of all replicates */
};
/* BCa interval (Efron 1987), two-sided: for 30 or more items, never over repetitions. End points by
 * nearest rank; equal replicates count half in z0; a from the jackknife. */
void bootstrap_bca(statistic_fn *of, const void *arg, size_t n, unsigned replicates, uint64_t seed,
		   double conf, struct bootstrap *ret);

/* ---- generated text (text.c) ----------------------------------------------------------------- */

struct text {
	const int64_t *token;
	size_t n;
};
struct text_prompt {
	const struct text *base, *cand;
	size_t n_base, n_cand; /* n_base >= 2, n_cand >= 1; else the prompt says nothing: NAN */
};
struct text_agreement {
	double self, cross; /* share of equal pairs: base x base, base x cand */
	double diverged_self, tokens_self, diverged_cross, tokens_cross;
};
struct text_divergence {
	double self, cross;             /* means over prompts */
	double drop, se_drop, upper99;  /* mean of self - cross, its error, its 99 % upper bound */
	double rate_self, rate_cross;   /* diverged pairs / tokens up to the first difference */
	double log_ratio, se_log_ratio; /* ln(cross / self), jackknife over prompts */
};
void text_agree(const struct text_prompt *p, struct text_agreement *ret);
void text_divergence(const struct text_prompt *p, size_t n, struct text_divergence *ret);

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

/* e-values: evidence that may be looked at after every observation; alarm at E >= 100 errs at most
 * once in a hundred endless series. All as ln E. */
/* Share of bad events against p0: mixture over Beta(1/2, 1/2). */
double evalue_beta(unsigned bad, unsigned good, double p0);
/* Mean above mu0 of values in [0, 1], one-sided betting (Waudby-Smith & Ramdas 2024, aGRAPA): the
 * stake is (m - mu0) / (v + (m - mu0)^2) of the past, kept in [0, c / mu0]. */
struct bettor {
	double mu0, c, log_e, sum, squares;
	size_t n;
};
void bettor_init(struct bettor *b, double mu0, double c);
void bettor_add(struct bettor *b, double x); /* then b->log_e */
/* Shift of repetitions against zero: mixture over N(0, tau sigma^2) effects of the t statistic. */
double evalue_t(const double *x, size_t n, double tau, double *ret_t);

/* The one split of a series that separates best by energy distance (Szekely & Rizzo 2004,
 * exponent 1); advisory. split: values before it (2 .. n-2), 0 when n < 4. ret_q, unless NULL, gets
 * q of each split from 2 on: n - 3 values. */
void change_point(const double *z, size_t n, size_t *ret_split, double *ret_most, double *ret_q);

/* ---- random numbers (rng.c) ------------------------------------------------------------------ */

struct rng {
	uint64_t state;
};
uint64_t rng_next(struct rng *r);              /* SplitMix64 (Steele, Lea, Flood 2014) */
uint64_t rng_below(struct rng *r, uint64_t n); /* high 64 bits of next x n */
double rng_unit(struct rng *r);                /* [0, 1) with 53 bits */
double rng_normal(struct rng *r);              /* by norm_quantile */
