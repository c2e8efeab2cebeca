/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static const double v[] = { 1, 2, 3, 4, 10 };

static void sums_up(void)
{
	static const double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };

	CHECK_NEAR(mean(v, 5), 4, 0);
	CHECK_NEAR(stdev(v, 5), sqrt(12.5), 1e-15);
	CHECK_NEAR(median(odd, 3), 2, 0);
	CHECK_NEAR(median(even, 4), 2.5, 0);
	CHECK_NEAR(mad(v, 5), 1, 0);
	CHECK(isnan(stdev(v, 1)) && isnan(mean(v, 0)) && isnan(median(v, 0)));
}

static void quantiles_by_their_definitions(void)
{
	CHECK_NEAR(quantile_sorted(v, 5, 0.5), 3, 0);
	CHECK_NEAR(quantile_sorted(v, 5, 0.9), 7.6, 1e-12);
	CHECK_NEAR(quantile_sorted(v, 5, 1), 10, 0);
	CHECK_NEAR(quantile_nearest(v, 5, 0.5), 3, 0);
	CHECK_NEAR(quantile_nearest(v, 5, 0.81), 10, 0);
	CHECK_NEAR(quantile_nearest(v, 5, 0), 1, 0);
	CHECK(isnan(quantile_sorted(v, 0, 0.5)) && isnan(quantile_sorted(v, 5, 1.5)));
	CHECK(quantile_hd(v, 5, 0.5) > 2.9 && quantile_hd(v, 5, 0.5) < 4);
}

static void infinite_values_stay_infinite(void)
{
	static const double w[] = { 1, 2, INFINITY, INFINITY };

	CHECK_NEAR(quantile_sorted(w, 4, 0.25), 1.75, 1e-15);
	CHECK(isinf(quantile_sorted(w, 4, 0.9)));
	CHECK(isinf(median(w + 1, 3)));
}

static void a_drift_shows_in_the_autocorrelation(void)
{
	static const double drift[] = { 1, 2, 3, 4, 5, 6, 7, 8 },
			    zigzag[] = { 1, 2, 1, 2, 1, 2, 1, 2 };

	CHECK(autocorrelation(drift, 8) > 0.5);
	CHECK(autocorrelation(zigzag, 8) < -0.8);
	CHECK(effective_size(drift, 8) < 2.5);
	CHECK(effective_size(zigzag, 8) > 8);
}

TEST_MAIN(TEST(sums_up), TEST(quantiles_by_their_definitions), TEST(infinite_values_stay_infinite),
	  TEST(a_drift_shows_in_the_autocorrelation))
