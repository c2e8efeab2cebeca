/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static void gives_the_published_sequence(void)
{
	/* SplitMix64 seeded with 1234567: the reference implementation's first outputs. */
	struct rng r = { 1234567 };

	CHECK(rng_next(&r) == UINT64_C(6457827717110365317));
	CHECK(rng_next(&r) == UINT64_C(3203168211198807973));
	CHECK(rng_next(&r) == UINT64_C(9817491932198370423));
}

static void stays_in_its_ranges(void)
{
	struct rng r = { 3 };
	double s = 0, s2 = 0;

	for (int i = 0; i < 20000; i++) {
		double u = rng_unit(&r), z = rng_normal(&r);

		CHECK(u >= 0 && u < 1);
		CHECK(rng_below(&r, 7) < 7);
		s += z;
		s2 += z * z;
	}
	CHECK_NEAR(s / 20000, 0, 0.035);
	CHECK_NEAR(s2 / 20000, 1, 0.05);
}

TEST_MAIN(TEST(gives_the_published_sequence), TEST(stays_in_its_ranges))
