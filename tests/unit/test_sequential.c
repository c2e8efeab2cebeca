/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 };
static const double spend[] = { .40, .52, .64, .76, .88, 1 };

static void the_kept_table_is_the_one_that_is_made(void)
{
	for (unsigned m = 5; m <= 12; m++) {
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

static void spending_is_in_equal_steps(void)
{
	double got[6];

	sequential_spend(6, got);
	for (int i = 0; i < 6; i++)
		CHECK_NEAR(got[i], spend[i], 0);
	sequential_spend(1, got);
	CHECK_NEAR(got[0], 1, 0);
}

/* One look is the plain test: the largest c with P(U <= c) <= alpha. */
static void one_look_is_the_plain_test(void)
{
	static const double all[] = { 1 };

	for (unsigned m = 3; m <= 12; m++)
		for (unsigned l = 3; l <= 12; l++) {
			double cum;
			int c;

			CHECK(sequential_counts(m, &l, all, 1, 0.01, &c, &cum));
			CHECK(c < 0 || mw_cdf((unsigned)c, l, m) <= 0.01);
			CHECK(mw_cdf((unsigned)(c + 1), l, m) > 0.01);
			CHECK_NEAR(cum, c < 0 ? 0 : mw_cdf((unsigned)c, l, m), 1e-14);
		}
}

/* Two looks of a bank of three, by listing all orders: candidates as ranks among six. */
static void two_looks_by_listing_all_orders(void)
{
	static const unsigned two[] = { 2, 3 };
	static const double f[] = { 0.5, 1 };
	int c[2], wrong = 0, orders = 0;
	double cum[2];

	CHECK(sequential_counts(3, two, f, 2, 0.25, c, cum));
	for (int a = 0; a < 6; a++)
		for (int b = 0; b < 6; b++)
			for (int d = 0; d < 6; d++) {
				int x[] = { a, b, d }, u = 0;
				bool done = false;

				if (a == b || b == d || a == d)
					continue;
				for (int i = 0; i < 3; i++) {
					for (int r = 0; r < x[i]; r++)
						u += r != a && r != b && r != d;
					if (i >= 1)
						done |= u <= c[i - 1];
				}
				orders++;
				wrong += done;
			}
	CHECK_NEAR(cum[1], (double)wrong / orders, 1e-14);
	CHECK(cum[1] <= 0.25 && cum[1] > 0.1);
}

/* Too many arrangements to follow: shares by Bonferroni, never more than alpha in sum. */
static void very_long_series_stay_valid(void)
{
	static const unsigned l[] = { 10, 30, 60 };
	double f[3], cum[3];
	int c[3];

	sequential_spend(3, f);
	CHECK(!sequential_counts(40, l, f, 3, 0.01, c, cum));
	CHECK(cum[2] <= 0.01 && cum[2] > 0.005);
	CHECK(c[0] >= 0 && c[0] < c[1] && c[1] < c[2]);
}

static void a_bank_too_small_can_claim_nothing(void)
{
	int c[6];

	sequential_counts(1, looks, spend, 6, 0.01, c, NULL);
	for (int i = 0; i < 6; i++)
		CHECK_INT(c[i], -1);
	CHECK(isinf(sequential_reach(1, looks, 6, 0.01, c)));
}

/* The fitted figure beside the simulated ones. */
static void reach_of_other_looks_is_near(void)
{
	for (unsigned m = 5; m <= 12; m++) {
		double table, fitted;
		int c[6];

		sequential_counts(m, looks, spend, 6, 0.01, c, NULL);
		table = sequential_reach(m, looks, 6, 0.01, c);
		fitted = sequential_reach(m, looks, 6, nextafter(0.01, 1), c);
		CHECK_NEAR(fitted, table, 0.02 * table);
	}
}

TEST_MAIN(TEST(the_kept_table_is_the_one_that_is_made),
	  TEST(accepts_wrongly_at_most_once_in_a_hundred), TEST(spending_is_in_equal_steps),
	  TEST(one_look_is_the_plain_test), TEST(two_looks_by_listing_all_orders),
	  TEST(very_long_series_stay_valid), TEST(a_bank_too_small_can_claim_nothing),
	  TEST(reach_of_other_looks_is_near))
