/* SPDX-License-Identifier: Apache-2.0 */
#include "load/hist.h"
#include "test.h"

static struct load_hist a, b;

static void reads_back_within_its_error(void)
{
	for (int64_t v = 1; v < INT64_C(1) << 45; v = v * 9 / 8 + 1) {
		double got;

		memset(&a, 0, sizeof(a));
		hist_add(&a, v);
		got = hist_quantile(&a, 0.5);
		CHECK_NEAR(got / (double)v, 1, 0.016);
		CHECK_NEAR(hist_max(&a), got, 0);
	}
}

static void merges_and_counts(void)
{
	memset(&a, 0, sizeof(a));
	CHECK(isnan(hist_quantile(&a, 0.5)) && isnan(hist_max(&a)));
	for (int i = 0; i < 100; i++)
		hist_add(i < 60 ? &a : &b, i);
	hist_merge(&a, &b);
	CHECK_INT(hist_count(&a), 100);
	CHECK_NEAR(hist_quantile(&a, 0.5), 49, 0);
	CHECK_NEAR(hist_quantile(&a, 1), 99, 0);
	CHECK_NEAR(hist_quantile(&a, 0), 0, 0);
	hist_add(&a, -5);
	hist_add(&a, INT64_MAX);
	CHECK_INT(hist_count(&a), 102);
}

TEST_MAIN(TEST(reads_back_within_its_error), TEST(merges_and_counts))
