/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static void counts_of_the_textbook(void)
{
	/* Mann & Whitney 1947, table for n = m = 3: 1 2 4 7 10 13 16 18 19 20 of 20. */
	static const int64_t want[] = { 1, 2, 4, 7, 10, 13, 16, 18, 19, 20 };

	for (unsigned u = 0; u < 10; u++)
		CHECK_INT(mw_count_le(u, 3, 3), want[u]);
	CHECK_INT(mw_count_le(144, 12, 12), 2704156); /* C(24, 12) */
	CHECK_NEAR(mw_cdf(0, 3, 10), 1 / 286., 1e-15);
}

static void a_shift_has_its_bounds(void)
{
	static const double bank[] = { 1, 2, 3 }, cand[] = { 2, 4 };
	struct shift s;

	/* differences: -1 0 1 1 2 3 */
	shift_of(bank, 3, cand, 2, 1, &s);
	CHECK_INT(s.pairs, 6);
	CHECK_NEAR(s.shift, 1, 0);
	CHECK_NEAR(s.lcb, 0, 0);
	CHECK_NEAR(s.ucb, 2, 0);
	CHECK_INT(s.u_le_0, 2);
	CHECK_NEAR(s.lowest, -1, 0);
}

static void a_failed_repetition_is_infinitely_worse(void)
{
	double bank[] = { 1, 2, 3 }, cand[] = { 2, INFINITY };
	struct shift s;

	shift_of(bank, 3, cand, 2, 0, &s);
	CHECK(isinf(s.ucb) && s.ucb > 0);
	shift_of(bank, 3, cand, 2, -1, &s);
	CHECK(isinf(s.ucb) && isinf(s.lcb));
}

static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 };
static const double spend[] = { .40, .52, .64, .76, .88, 1 };

static void the_kept_table_is_the_one_that_is_made(void)
{
	for (unsigned m = 5; m <= 8; m++) {
		int kept[6], made[6];
		double cum[6];

		sequential_counts(m, looks, spend, 6, 0.01, kept, NULL);
		sequential_counts(m, looks, spend, 6, 0.01, made, cum);
		for (int i = 0; i < 6; i++)
			CHECK_INT(kept[i], made[i]);
		CHECK(cum[5] <= 0.01 && cum[5] > 0.005);
	}
}

/* The promise itself, by brute force: under "no difference but exactly the margin" the order of
 * bank and candidate is uniform, and accepted (U <= c at some look) happens at most one time in
 * a hundred. */
static void accepts_wrongly_at_most_once_in_a_hundred(void)
{
	int c[6], accepted = 0, n = 40000;
	struct rng r = { 7 };

	sequential_counts(10, looks, spend, 6, 0.01, c, NULL);
	for (int s = 0; s < n; s++) {
		double bank[10], cand[10];
		bool done = false;

		for (int i = 0; i < 10; i++)
			bank[i] = rng_unit(&r);
		for (int i = 0; i < 10; i++)
			cand[i] = rng_unit(&r);
		for (int k = 0; k < 6 && !done; k++) {
			int u = 0;

			for (unsigned i = 0; i < looks[k]; i++)
				for (int j = 0; j < 10; j++)
					u += cand[i] > bank[j];
			done = u <= c[k];
		}
		accepted += done;
	}
	/* 0.99 % exactly; five standard errors either way. */
	CHECK(accepted > n * 0.0074 && accepted < n * 0.0124);
}

TEST_MAIN(TEST(counts_of_the_textbook), TEST(a_shift_has_its_bounds),
	  TEST(a_failed_repetition_is_infinitely_worse),
	  TEST(the_kept_table_is_the_one_that_is_made),
	  TEST(accepts_wrongly_at_most_once_in_a_hundred))
