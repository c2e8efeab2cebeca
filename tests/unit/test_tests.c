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

/* NIST/Dataplot-style check by hand: two groups with the same spread make Welch and pooled agree.
 * */
static void t_tests_agree_on_equal_groups(void)
{
	static const double a[] = { 1, 2, 3, 4, 5 }, b[] = { 2, 3, 4, 5, 6 };
	struct t_test w, p;
	double lo, hi;

	t_welch(a, 5, b, 5, &w);
	t_pooled(a, 5, b, 5, &p);
	CHECK_NEAR(w.t, 1, 1e-12); /* 1 / sqrt(2.5/5 + 2.5/5) */
	CHECK_NEAR(w.df, 8, 1e-12);
	CHECK_NEAR(p.t, 1, 1e-12);
	/* P(T > 1) at 8 degrees of freedom: 0.17334, any t table. */
	CHECK_NEAR(p.p_greater, 0.1732967535, 1e-9);
	CHECK_NEAR(t_tost(&p, 1, &lo, &hi), 0.5, 1e-12); /* the difference is the margin */
	CHECK_NEAR(lo, t_upper(2, 8), 1e-15);
}

/* Student's sleep data (1908), as in every textbook: Welch t = -1.8608, df = 17.776, p = 0.07939.
 * */
static void students_sleep(void)
{
	static const double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 },
			    b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	struct t_test w;

	t_welch(a, 10, b, 10, &w);
	CHECK_NEAR(w.t, 1.8608, 5e-5);
	CHECK_NEAR(w.df, 17.776, 5e-4);
	CHECK_NEAR(2 * w.p_greater, 0.07939, 5e-6);
}

static void one_session_has_no_components(void)
{
	static const double v[] = { 1, 2, 3 };
	static const size_t one[] = { 0, 0, 0 }, each[] = { 0, 1, 2 };
	struct variance_components vc;

	variance_components(v, one, 3, 1, &vc);
	CHECK(isnan(vc.p) && isnan(vc.icc));
	variance_components(v, each, 3, 3, &vc);
	CHECK(isnan(vc.p) && isnan(vc.icc));
}

TEST_MAIN(TEST(holm_steps_down), TEST(sessions_show_as_a_variance_of_their_own),
	  TEST(t_tests_agree_on_equal_groups), TEST(students_sleep),
	  TEST(one_session_has_no_components))
