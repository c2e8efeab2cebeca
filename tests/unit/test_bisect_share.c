/* SPDX-License-Identifier: Apache-2.0 */
#include "bisect/bisect.h"
#include "stat/stat.h"

#include "test.h"

static const double bank[] = { 0.00, 0.02, -0.02, 0.01, -0.01 };
static const double cand[] = { 0.20, 0.22, 0.18 };

static struct bisect_in input(unsigned n, const struct bisect_trial *t, size_t n_trials)
{
	return (struct bisect_in){ .n = n,
				   .bank = bank,
				   .n_bank = 5,
				   .cand = cand,
				   .n_cand = 3,
				   .trials = t,
				   .n_trials = n_trials };
}

static void a_share_is_measured_both_ways(void)
{
	static const struct bisect_trial t[] = { { 1, BISECT_CONFIRMS, 0.15 },
						 { 6, BISECT_CONFIRMS, 0.05 },
						 { 1, BISECT_CONFIRMS, 0.17 },
						 { 6, BISECT_CONFIRMS, 0.03 } };
	struct bisect_in in = input(3, t, 4);
	struct bisect_both_ways b;

	bisect_both_ways(&in, 1, &b);
	CHECK_INT(b.n_forward, 2);
	CHECK_INT(b.n_back, 2);
	CHECK_NEAR(b.loss, 0.20, 1e-12);
	CHECK_NEAR(b.forward, 0.8, 1e-12);
	CHECK_NEAR(b.back, 0.8, 1e-12);
	CHECK_NEAR(b.share, 0.8, 1e-12);
	CHECK(b.lo < 0.8 && b.hi > 0.8 && b.lo > 0.6 && b.hi < 1.0);
	CHECK(b.hi - b.lo < b.forward_hi - b.forward_lo);
	/* nothing measured that way */
	bisect_both_ways(&in, 2, &b);
	CHECK(isnan(b.forward) && isnan(b.back) && isnan(b.share));
	/* all of them, or none: no two ways */
	bisect_both_ways(&in, 7, &b);
	CHECK(isnan(b.share));
	CHECK_NEAR(b.loss, 0.20, 1e-12);
}

/* The interval holds the true share 95 times in 100. */
static void its_interval_covers(void)
{
	struct rng r = { 21 };
	int covered = 0, rounds = 4000;

	for (int i = 0; i < rounds; i++) {
		double b[8], c[4];
		struct bisect_trial t[4];
		struct bisect_in in = input(4, t, 4);
		struct bisect_both_ways w;

		for (int k = 0; k < 8; k++)
			b[k] = 0.02 * rng_normal(&r);
		for (int k = 0; k < 4; k++)
			c[k] = 0.1 + 0.02 * rng_normal(&r);
		for (int k = 0; k < 4; k++)
			t[k] = (struct bisect_trial){ k % 2 ? 14 : 1, BISECT_CONFIRMS,
						      (k % 2 ? 0.03 : 0.07) +
							      0.02 * rng_normal(&r) };
		in.bank = b;
		in.n_bank = 8;
		in.cand = c;
		in.n_cand = 4;
		bisect_both_ways(&in, 1, &w);
		covered += w.lo <= 0.7 && w.hi >= 0.7;
	}
	CHECK_NEAR(covered / (double)rounds, 0.95, 4 * sqrt(0.95 * 0.05 / rounds));
}

static void without_a_loss_a_share_is_anything(void)
{
	static const double same[] = { 0.01, -0.01, 0.00 };
	static const struct bisect_trial t[] = { { 1, BISECT_CONFIRMS, 0.0 } };
	struct bisect_in in = input(3, t, 1);
	struct bisect_both_ways b;

	in.cand = same;
	bisect_both_ways(&in, 1, &b);
	CHECK(b.lo == -INFINITY && b.hi == INFINITY);
}

static void beliefs_are_shares_too(void)
{
	struct bisect_trial t[] = { { 0, BISECT_REPRODUCE, 0.001 },
				    { 7, BISECT_REPRODUCE, 0.199 },
				    { 3, BISECT_SEARCH, 0.201 },
				    { 1, BISECT_SEARCH, 0.002 },
				    { 2, BISECT_SEARCH, 0.198 } };
	struct bisect_in in = input(3, t, 5);
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_share s[3];
	double sum = 0;

	bisect_fit(&in, &f);
	bisect_shares(&in, &f, s);
	CHECK(s[1].posterior > 0.99 && s[1].share > 0.98 && s[1].hi <= 1 && s[1].lo > 0.8);
	CHECK(s[0].share < 0.01 && s[0].lo == 0 && s[0].hi == 0);
	for (int i = 0; i < 3; i++)
		sum += s[i].share;
	CHECK(sum <= 1 + 1e-12 && sum > 0.99);
	/* before the first trial nobody is known: the interval says so */
	in.n_trials = 0;
	bisect_fit(&in, &f);
	bisect_shares(&in, &f, s);
	CHECK(s[0].lo == 0 && s[0].hi > 0.9);
	/* a pair has half each */
	t[3].w = 0.099;
	t[4].w = 0.101;
	in.n_trials = 5;
	bisect_fit(&in, &f);
	bisect_shares(&in, &f, s);
	CHECK_NEAR(s[0].share, 0.5, 0.01);
	CHECK_NEAR(s[1].share, 0.5, 0.01);
	CHECK(s[0].lo < 0.5 && s[0].hi > 0.5 && s[0].lo > 0.3 && s[0].hi < 0.7);
}

static void two_suspects_in_full(void)
{
	static const struct bisect_trial t[] = {
		{ 1, BISECT_SEARCH, 0.05 }, { 4, BISECT_SEARCH, 0.00 }, { 5, BISECT_SEARCH, 0.21 },
		{ 1, BISECT_SEARCH, 0.03 }, { 4, BISECT_SEARCH, 0.02 }, { 5, BISECT_SEARCH, 0.19 }
	};
	struct bisect_in in = input(4, t, 6);
	struct bisect_factorial f;

	bisect_factorial(&in, 0, 2, &f);
	CHECK(f.has);
	CHECK_INT(f.config[1], 1);
	CHECK_INT(f.config[2], 4);
	CHECK_INT(f.config[3], 5);
	CHECK_INT(f.n[0], 5);
	CHECK_INT(f.n[3], 2);
	CHECK_NEAR(f.effect_a, 0.04, 1e-12);
	CHECK_NEAR(f.effect_b, 0.01, 1e-12);
	CHECK_NEAR(f.interaction, 0.15, 1e-12);
	/* pooled: squares .001 + 3 x .0002 over 4 + 3 degrees of freedom */
	CHECK_NEAR(f.half_a, t_quantile(0.975, 7) * sqrt(0.0016 / 7) * sqrt(0.5 + 0.2), 1e-12);
	CHECK_NEAR(f.half_interaction, t_quantile(0.975, 7) * sqrt(0.0016 / 7) * sqrt(1.5 + 0.2),
		   1e-12);
	/* both new of two is what was rejected */
	in.n = 2;
	in.n_trials = 1;
	bisect_factorial(&in, 0, 1, &f);
	CHECK(!f.has);
	CHECK_INT(f.n[3], 3);
	CHECK_INT(f.n[2], 0);
}

TEST_MAIN(TEST(a_share_is_measured_both_ways), TEST(its_interval_covers),
	  TEST(without_a_loss_a_share_is_anything), TEST(beliefs_are_shares_too),
	  TEST(two_suspects_in_full))
