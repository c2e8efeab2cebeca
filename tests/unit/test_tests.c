/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static void holm_steps_down(void)
{
	static const double p[] = { 0.01, 0.04, 0.03, 0.005 }, want[] = { 0.03, 0.06, 0.06, 0.02 };
	double got[4];

	holm(p, 4, got);
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(got[i], want[i], 1e-15);
}

static void sessions_show_as_a_variance_of_their_own(void)
{
	static const double v[] = { 1.0, 1.1, 0.9, 5.0, 5.1, 4.9, 9.0, 9.1, 8.9 };
	static const size_t g[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2 };
	struct variance_components vc;

	variance_components(v, g, 9, 3, &vc);
	CHECK_NEAR(vc.n0, 3, 1e-15);
	CHECK_NEAR(vc.msw, 0.01, 1e-12);
	CHECK_NEAR(vc.msb, 48, 1e-9);
	CHECK(vc.p < 1e-6 && vc.icc > 0.99);
}

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

TEST_MAIN(TEST(holm_steps_down), TEST(sessions_show_as_a_variance_of_their_own),
	  TEST(exact_bounds_of_a_share), TEST(tolerance_factors_of_the_table))
