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
	/* Six pairs: the widest interval is all there is, 1 - 2/10. */
	CHECK_NEAR(s.lo, -1, 0);
	CHECK_NEAR(s.hi, 3, 0);
	CHECK_NEAR(s.level, 0.8, 1e-15);
}

/* Ten against ten: U <= 23 has 2.2 % (any table: critical value 23 at 5 % two-sided). */
static void an_interval_for_people_has_its_exact_level(void)
{
	double bank[10], cand[10];
	struct shift s;

	for (int i = 0; i < 10; i++) {
		bank[i] = i;
		cand[i] = i + 0.5 + 0.01 * i * i;
	}
	shift_of(bank, 10, cand, 10, 15, &s);
	CHECK_NEAR(s.level, 1 - 2 * mw_cdf(23, 10, 10), 1e-15);
	CHECK(s.level >= 0.95 && s.lo > s.lcb && s.hi < s.ucb);
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

/* Above what doubles hold exactly the shares are made another way: both agree where they meet. */
static void large_sizes_agree_with_small_ones(void)
{
	double a[28 * 28 + 1], b[30 * 28 + 1];
	double mid = 28 * 30 / 2., sd = sqrt(28 * 30 * 59 / 12.);

	mw_cdf_all(28, 28, a); /* exact */
	mw_cdf_all(30, 28, b); /* shares */
	CHECK_NEAR(a[28 * 28], 1, 0);
	CHECK_NEAR(b[30 * 28], 1, 0);
	/* symmetric about nm/2, and the normal limit */
	for (unsigned u = 0; u < 28 * 30; u++)
		CHECK_NEAR(b[u], 1 - b[28 * 30 - 1 - u], 1e-12);
	for (int z = -3; z <= 3; z++) {
		double u = floor(mid + z * sd);

		CHECK_NEAR(b[(size_t)u], norm_cdf((u + 0.5 - mid) / sd), 2e-3);
	}
	/* One more recurrence step from the exact side: P(.; 29, 28) from both neighbours. */
	CHECK_NEAR(mw_cdf(0, 29, 28), mw_cdf(0, 28, 28) * 29 / 57 * 1, 1e-25);
}

/* Wilcoxon (1945): 5 pairs, all up: 1/32; the classic table's W <= 0 at n = 5. */
static void signed_ranks_by_hand(void)
{
	static const double up[] = { 1, 2, 3, 4, 5 }, mixed[] = { 1, -2, 3, 4, 0, 5 },
			    tied[] = { 1, 1, -1 };
	struct signed_rank r;

	signed_rank(up, 5, &r);
	CHECK_NEAR(r.w, 15, 0);
	CHECK_NEAR(r.p_greater, 1 / 32., 1e-15);
	CHECK_NEAR(r.p_less, 1, 1e-15);
	signed_rank(mixed, 6, &r);
	CHECK_INT(r.n, 5); /* the zero says nothing */
	CHECK_NEAR(r.w, 13, 0);
	CHECK_NEAR(r.p_greater, 3 / 32., 1e-15); /* W' in {13, 14, 15}: 1 each */
	signed_rank(tied, 3, &r);
	CHECK_NEAR(r.w, 4, 0);
	CHECK_NEAR(r.p_greater, 0.5, 1e-15);
	signed_rank(tied, 0, &r);
	CHECK_NEAR(r.p_greater, 1, 0);
}

static void pairs_have_a_centre_and_bounds(void)
{
	static const double d[] = { 1, 2, 3, 4, 5 };
	double s, lo, hi;

	/* P(W <= 0) = 1/32: at 96 % the extremes bound; at 99 % nothing does. */
	paired_shift(d, 5, 0.96, &s, &lo, &hi);
	CHECK_NEAR(s, 3, 0);
	CHECK_NEAR(lo, 1, 0);
	CHECK_NEAR(hi, 5, 0);
	paired_shift(d, 5, 0.90, &s, &lo, &hi);
	CHECK(lo > 1 && hi < 5);
	paired_shift(d, 5, 0.99, &s, &lo, &hi);
	CHECK(isinf(lo) && isinf(hi));
	paired_shift(d, 0, 0.99, &s, &lo, &hi);
	CHECK(isnan(s));
}

TEST_MAIN(TEST(counts_of_the_textbook), TEST(a_shift_has_its_bounds),
	  TEST(an_interval_for_people_has_its_exact_level),
	  TEST(a_failed_repetition_is_infinitely_worse), TEST(large_sizes_agree_with_small_ones),
	  TEST(signed_ranks_by_hand), TEST(pairs_have_a_centre_and_bounds))
