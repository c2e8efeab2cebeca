/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

static const double alarm_at = 4.605170185988092; /* ln 100 */

/* Ville: an honest series ever reaches E >= 100 at most once in a hundred, however long it is. */
static void honest_series_alarm_at_most_once_in_a_hundred(void)
{
	struct rng r = { 5 };
	int beta = 0, bets = 0, n = 2000;

	for (int s = 0; s < n; s++) {
		struct bettor b;
		unsigned bad = 0;
		bool one = false, two = false;

		bettor_init(&b, 0.05, 0.5);
		for (unsigned i = 1; i <= 300; i++) {
			bool x = rng_unit(&r) < 0.05;

			bad += x;
			bettor_add(&b, x);
			one |= evalue_beta(bad, i - bad, 0.05) >= alarm_at;
			two |= b.log_e >= alarm_at;
		}
		beta += one;
		bets += two;
	}
	CHECK(beta <= n / 100 * 1.5 && bets <= n / 100 * 1.5);
}

static void a_real_loss_alarms(void)
{
	struct rng r = { 6 };
	struct bettor b;
	unsigned n = 0;

	bettor_init(&b, 0.05, 0.5);
	while (n < 400 && b.log_e < alarm_at) {
		bettor_add(&b, rng_unit(&r) < 0.2);
		n++;
	}
	CHECK(n < 200);
	CHECK(evalue_beta(80, 320, 0.05) > alarm_at);
	/* No event yet: evidence for nothing. */
	CHECK(evalue_beta(0, 20, 0.05) < 0);
}

static void shifts_of_repetitions(void)
{
	static const double moved[] = { .03, .031, .029, .03, .032, .028, .03, .031 };
	static const double still[] = { .01, -.01, .01, -.01 }, flat[] = { .5, .5, .5 };
	double t;

	CHECK(evalue_t(moved, 8, 1, &t) > alarm_at);
	CHECK(evalue_t(still, 4, 1, &t) < 0);
	CHECK_NEAR(t, 0, 1e-15);
	CHECK_NEAR(evalue_t(moved, 1, 1, &t), 0, 0);
	CHECK(isnan(t));
	/* No spread at all: t is infinite, the e-value its limit (n - 1)/2 ln(1 + n tau). */
	CHECK_NEAR(evalue_t(flat, 3, 1, &t), log(4), 1e-12);
}

static void a_step_is_found_where_it_is(void)
{
	double z[20], most, q[17];
	size_t split;

	for (int i = 0; i < 20; i++)
		z[i] = (i < 14 ? 5 : 6) + 0.01 * (i % 3);
	change_point(z, 20, &split, &most, q);
	CHECK_INT(split, 14);
	CHECK_NEAR(q[12], most, 0);
	change_point(z, 3, &split, &most, NULL);
	CHECK_INT(split, 0);
	CHECK(isnan(most));
}

TEST_MAIN(TEST(honest_series_alarm_at_most_once_in_a_hundred), TEST(a_real_loss_alarms),
	  TEST(shifts_of_repetitions), TEST(a_step_is_found_where_it_is))
