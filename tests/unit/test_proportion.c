/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static void exact_bounds_of_a_share(void)
{
	/* 0 of n: the upper bound is 1 - alpha^(1/n), by hand. */
	CHECK_NEAR(cp_upper(0, 5, 0.95), 1 - pow(0.05, 0.2), 1e-12);
	CHECK_NEAR(cp_lower(5, 5, 0.95), pow(0.05, 0.2), 1e-12);
	CHECK_NEAR(cp_lower(0, 5, 0.95), 0, 0);
	CHECK_NEAR(cp_upper(5, 5, 0.95), 1, 0);
	/* The rule of first acceptance: 2 of 3, 3 of 5, 3 of 7, 4 of 10 reject; one less does not.
	 */
	CHECK(cp_lower(2, 3, 0.95) > 0.1 && cp_lower(1, 3, 0.95) <= 0.1);
	CHECK(cp_lower(3, 5, 0.95) > 0.1 && cp_lower(2, 5, 0.95) <= 0.1);
	CHECK(cp_lower(3, 7, 0.95) > 0.1 && cp_lower(2, 7, 0.95) <= 0.1);
	CHECK(cp_lower(4, 10, 0.95) > 0.1 && cp_lower(3, 10, 0.95) <= 0.1);
}

static void tolerance_factors_of_the_table(void)
{
	CHECK_NEAR(tolerance_factor(5, 0.9, 0.98), 4.4354, 5e-5);
	CHECK_NEAR(tolerance_factor(7, 0.9, 0.98), 3.3579, 5e-5);
	CHECK_NEAR(tolerance_factor(10, 0.9, 0.98), 2.7427, 5e-5);
	CHECK_NEAR(tolerance_factor(3, 0.9, 0.95), 6.155281103326256, 1e-7);
	CHECK(isinf(tolerance_factor(1, 0.9, 0.95)));
}

/* Odeh & Owen (1980), one-sided factors at 95 % confidence: 99 % of 200 and of 1000. */
static void tolerance_factors_of_large_samples(void)
{
	CHECK_NEAR(tolerance_factor(200, 0.99, 0.95), 2.570, 5e-4);
	CHECK_NEAR(tolerance_factor(1000, 0.99, 0.95), 2.430, 5e-4);
	CHECK_NEAR(tolerance_factor(10, 0.95, 0.95), 2.911, 5e-4);
	/* One of two: k = t'/sqrt 2 with Cauchy-like tails, from the same tables. */
	CHECK_NEAR(tolerance_factor(2, 0.90, 0.95), 20.581, 5e-4);
}

/* Two or three starts, far out: integrated with 30 digits (mpmath) over the chi density. */
static void tolerance_factors_of_small_samples(void)
{
	CHECK_NEAR(tolerance_factor(2, 0.90, 0.98), 51.506731940474, 1e-9 * 51);
	CHECK_NEAR(tolerance_factor(2, 0.95, 0.99), 131.426288285008, 1e-9 * 131);
	CHECK_NEAR(tolerance_factor(2, 0.99, 0.99), 185.616958603211, 1e-9 * 185);
	CHECK_NEAR(tolerance_factor(3, 0.99, 0.99), 23.8955633493928, 1e-9 * 24);
	CHECK_NEAR(tolerance_factor(2, 0.50, 0.99), 22.5005026117683, 1e-9 * 22);
}

/* The kept factors are those that are made: a confidence one bit away is not kept. */
static void kept_factors_are_the_made_ones(void)
{
	for (unsigned n = 2; n <= 30; n++) {
		double made = tolerance_factor(n, 0.90, nextafter(0.98, 1));

		CHECK_NEAR(tolerance_factor(n, 0.90, 0.98), made, 1e-9 * made);
	}
}

static void wilson_keeps_inside_zero_and_one(void)
{
	double lo, hi;

	/* Wilson (1927) by hand for 1 of 2 at z = 1.96: (0.5 -+ 0.4053) */
	wilson(1, 2, 0.95, &lo, &hi);
	CHECK_NEAR(lo, 0.0945, 5e-5);
	CHECK_NEAR(hi, 0.9055, 5e-5);
	wilson(0, 3, 0.95, &lo, &hi);
	CHECK(lo == 0 && hi < 1);
	wilson(3, 3, 0.95, &lo, &hi);
	CHECK(lo > 0 && hi == 1);
}

static void ranks_that_bound_a_quantile(void)
{
	/* 1 - 0.99^n >= 0.99 from n = 459 on: the largest of so many bounds the p99. */
	CHECK_INT(requests_needed(0, 0.99, 0.99), 459);
	CHECK_INT(quantile_upper_rank(459, 0.99, 0.99), 459);
	CHECK_INT(quantile_upper_rank(458, 0.99, 0.99), 0);
	/* Median of ten: P(2 <= Bin(10, 1/2) <= 8) = 1002/1024, the usual 2nd and 9th. */
	CHECK_INT(quantile_upper_rank(10, 0.5, 0.98), 9);
	CHECK_INT(quantile_lower_rank(10, 0.5, 0.98), 2);
	CHECK_INT(quantile_upper_rank(0, 0.5, 0.9), 0);
	CHECK_INT(quantile_lower_rank(0, 0.5, 0.9), 0);
	for (unsigned over = 0; over < 20; over++) {
		unsigned n = requests_needed(over, 0.95, 0.99);

		CHECK(binom_cdf(over, n, 0.05) <= 0.01 && binom_cdf(over, n - 1, 0.05) > 0.01);
	}
}

/* Tango (1998): without flips z = sqrt(n delta / (1 + delta)), from the formula by hand. */
static void paired_items_by_hand(void)
{
	CHECK_NEAR(tango_z(200, 0, 0, 0.01), sqrt(200 * 0.01 / 0.99), 1e-9);
	CHECK_NEAR(tango_z(100, 5, 5, 0), 0, 1e-12);
	/* At margin 0 it is McNemar's (c - b) / sqrt(c + b). */
	CHECK_NEAR(tango_z(1000, 20, 10, 0), -10 / sqrt(30), 1e-12);
	CHECK(isnan(tango_z(0, 0, 0, 0.01)) && isnan(tango_lower(0, 0, 0, 0.99)));
	CHECK_NEAR(mcnemar_exact(0, 0), 1, 0);
	CHECK_NEAR(mcnemar_exact(1, 5), 2 * 7 / 64., 1e-12);
	/* The lower bound is where the test turns. */
	for (unsigned b = 0; b < 40; b += 7) {
		double lo = tango_lower(500, b, 9, 0.99);

		CHECK_NEAR(tango_z(500, b, 9, -lo), norm_quantile(0.99), 1e-6);
	}
}

static void items_needed_is_said_before_running(void)
{
	CHECK_NEAR(items_needed(0.06, 0.01, 0.01, 0.05), 9463, 0);
	CHECK_NEAR(items_needed(0.06, 0.02, 0.01, 0.05), 2366, 0);
}

TEST_MAIN(TEST(exact_bounds_of_a_share), TEST(tolerance_factors_of_the_table),
	  TEST(tolerance_factors_of_large_samples), TEST(kept_factors_are_the_made_ones),
	  TEST(tolerance_factors_of_small_samples), TEST(wilson_keeps_inside_zero_and_one),
	  TEST(ranks_that_bound_a_quantile), TEST(paired_items_by_hand),
	  TEST(items_needed_is_said_before_running))
