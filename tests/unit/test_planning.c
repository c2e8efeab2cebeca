/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 };
static const int counts[] = { -1, 1, 2, 4, 7, 11 }; /* a bank of eight */

static void a_quiet_series_needs_one_look_more(void)
{
	struct plan_look p[6];
	bool rejects = true;

	plan_looks(8, looks, counts, 6, 0.01, 1, 0.02, 0.4, p);
	CHECK(!p[0].claim && isnan(p[0].h));
	/* P(U <= 1) of 4 and 8 is 2 / 495. */
	CHECK_NEAR(p[1].nominal, 2 / 495., 1e-15);
	CHECK_NEAR(p[1].h, norm_quantile(1 - 2 / 495.) * 0.01 * sqrt(1 / 8. + 1 / 4.), 1e-15);
	CHECK_INT(plan_more(p, 6, 0, 0.05, 3, &rejects), 1);
	CHECK(!rejects);
	CHECK_INT(plan_more(p, 6, 0.07, 0.05, 3, &rejects), 1);
	CHECK(rejects);
}

static void noise_needs_more_and_then_too_much(void)
{
	struct plan_look p[6];
	bool rejects = false;

	plan_looks(8, looks, counts, 6, 0.031, 1, 0.02, 0.4, p);
	CHECK_INT(plan_more(p, 6, 0, 0.0488, 3, &rejects), 2);
	plan_looks(8, looks, counts, 6, 0.06, 1, 0.02, 0.4, p);
	CHECK_INT(plan_more(p, 6, 0, 0.0488, 3, &rejects), 0);
	CHECK_INT(plan_more(p, 6, 0, 0.0488, 10, &rejects), 0);
}

static void more_metrics_make_rejecting_dearer(void)
{
	struct plan_look one[6], eight[6];

	plan_looks(8, looks, counts, 6, 0.02, 1, 0.02, 0.4, one);
	plan_looks(8, looks, counts, 6, 0.02, 8, 0.02, 0.4, eight);
	CHECK(eight[3].h_reject > one[3].h_reject);
	CHECK_NEAR(eight[3].h, one[3].h, 0);
}

TEST_MAIN(TEST(a_quiet_series_needs_one_look_more), TEST(noise_needs_more_and_then_too_much),
	  TEST(more_metrics_make_rejecting_dearer))
