/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static double mean_of(const void *arg, const size_t *pick, size_t n)
{
	const double *v = arg;
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[pick[i]];
	return s / (double)n;
}

static void the_same_seed_gives_the_same_interval(void)
{
	double v[40];
	struct bootstrap a, b, other;
	struct rng r = { 3 };

	for (int i = 0; i < 40; i++)
		v[i] = rng_normal(&r);
	bootstrap_bca(mean_of, v, 40, 1000, 9, 0.95, &a);
	bootstrap_bca(mean_of, v, 40, 1000, 9, 0.95, &b);
	bootstrap_bca(mean_of, v, 40, 1000, 10, 0.95, &other);
	CHECK_NEAR(a.lo, b.lo, 0);
	CHECK_NEAR(a.hi, b.hi, 0);
	CHECK(a.least != other.least || a.most != other.most);
	CHECK(a.least <= a.lo && a.lo < a.theta && a.theta < a.hi && a.hi <= a.most);
}

/* The mean of many normal values: 95 % intervals hold the truth about 95 times in 100. */
static void covers_on_forty_items(void)
{
	struct rng r = { 11 };
	int held = 0, n = 400;

	for (int s = 0; s < n; s++) {
		struct bootstrap b;
		double v[40];

		for (int i = 0; i < 40; i++)
			v[i] = 5 + rng_normal(&r);
		bootstrap_bca(mean_of, v, 40, 400, rng_next(&r), 0.95, &b);
		held += b.lo <= 5 && 5 <= b.hi;
	}
	CHECK(held >= n * 0.90 && held <= n * 0.98);
}

/* ... and why it never decides over repetitions: on three it holds the truth far less often. */
static void three_are_too_few(void)
{
	struct rng r = { 12 };
	int held = 0, n = 600;

	for (int s = 0; s < n; s++) {
		struct bootstrap b;
		double v[3];

		for (int i = 0; i < 3; i++)
			v[i] = 5 + rng_normal(&r);
		bootstrap_bca(mean_of, v, 3, 400, rng_next(&r), 0.95, &b);
		held += b.lo <= 5 && 5 <= b.hi;
	}
	CHECK(held < n * 0.85);
}

static void equal_values_have_a_point_for_an_interval(void)
{
	static const double v[] = { 2, 2, 2, 2 };
	struct bootstrap b;

	bootstrap_bca(mean_of, v, 4, 100, 1, 0.95, &b);
	CHECK_NEAR(b.z0, 0, 1e-12);
	CHECK_NEAR(b.a, 0, 0);
	CHECK(b.lo == 2 && b.hi == 2);
	bootstrap_bca(mean_of, v, 1, 100, 1, 0.95, &b);
	CHECK(isnan(b.lo));
}

TEST_MAIN(TEST(the_same_seed_gives_the_same_interval), TEST(covers_on_forty_items),
	  TEST(three_are_too_few), TEST(equal_values_have_a_point_for_an_interval))
