/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static void shared_starts_become_their_median(void)
{
	double a, b;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	verdict_decide(&s.in, &v);
	a = v.numbers.v[0].shift;
	/* The same three, the second measured three times inside one start with its own middle. */
	s.cand[3] = s.cand[2];
	s.reps[1].start = s.reps[2].start = s.reps[4].start = "one start";
	s.cand[2] = s.cand[1] * 1.5;
	s.cand[4] = s.cand[1] * 0.5;
	s.in.n_reps = 5;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.used, 3);
	b = v.numbers.v[0].shift;
	CHECK_NEAR(a, b, 1e-12);
	/* A start of which one repetition failed has failed. */
	s.reps[2].state = REP_FAILED;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.failed, 1);
}

static void only_the_latest_twelve_are_the_bank(void)
{
	double long_bank[20];
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	for (int i = 0; i < 20; i++)
		long_bank[i] = i < 8 ? 500 : bank[i % 10];
	s.m[0].bank = long_bank;
	s.in.n_bank = 20;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_INT(v.n_bank, 12);
	CHECK_NEAR(v.numbers.v[0].bank_median, 100.1, 0.3);
}

static void bank_values_that_were_not_measured_are_left_out(void)
{
	double holes[10];
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 6, true);
	memcpy(holes, bank, sizeof(holes));
	holes[0] = NAN;
	holes[5] = INFINITY; /* no measurement is infinite */
	holes[7] = 0;        /* no logarithm */
	s.m[0].bank = holes;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_INT(v.trace.v[1].numbers.v[0].count, 0); /* bank of seven at look 4 */
	for (int i = 0; i < 3; i++)
		holes[i] = NAN;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED); /* five are left */
	holes[3] = NAN;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "bank_too_small");
}

static void looks_end_where_the_contract_says(void)
{
	struct verdict_in in = { 0 };

	verdict_defaults(&in);
	verdict_cap(&in, 5);
	CHECK_INT(in.n_looks, 3);
	CHECK_INT(in.looks[2], 5);
	CHECK_INT(in.n_first_looks, 2);
	CHECK_INT(in.first_looks[1], 5);
	verdict_defaults(&in);
	verdict_cap(&in, 12);
	CHECK_INT(in.looks[in.n_looks - 1], 12);
	CHECK_INT(in.n_looks, 7);
	verdict_defaults(&in);
	verdict_cap(&in, 2);
	CHECK_INT(in.n_looks, 1);
	CHECK_INT(in.first_looks[0], 2);
	for (unsigned k = 1; k <= 40; k++)
		verdict_cap(&in, 2 + k); /* more looks than there is room for */
	CHECK(in.n_looks <= VERDICT_MAX_LOOKS);
	CHECK_INT(in.looks[in.n_looks - 1], 42);
}

/* Critical counts are made again for fewer looks, and all alpha is spent by the last of them. */
static void fewer_looks_have_their_own_counts(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.m[0].has_limit = false;
	for (int i = 0; i < 5; i++)
		s.cand[i] *= 1.044; /* not below the margin at once */
	verdict_cap(&s.in, 5);
	verdict_decide(&s.in, &v);
	CHECK(v.final);
	CHECK_INT(v.trace.n, 3);
	CHECK(v.trace.v[2].numbers.v[0].count > 3); /* 3 of the usual six looks */
}

static void pairs_have_counts_of_their_own(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 4, true);
	verdict_interleave(&s.in);
	s.in.n_bank = 4;
	verdict_decide(&s.in, &v);
	CHECK(!v.final); /* the first look at pairs is the fifth; a bank of four is no fault here */
	scene(&s, 1, 5, true);
	verdict_interleave(&s.in);
	s.in.n_bank = 5;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_INT(v.trace.v[0].numbers.v[0].count, 0);
	/* Only as many of the bank as pairs are complete. */
	scene(&s, 1, 5, true);
	verdict_interleave(&s.in);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_NEAR(v.numbers.v[0].bank_median, 100.0, 1e-9);
}

TEST_MAIN(TEST(shared_starts_become_their_median), TEST(only_the_latest_twelve_are_the_bank),
	  TEST(bank_values_that_were_not_measured_are_left_out),
	  TEST(looks_end_where_the_contract_says), TEST(fewer_looks_have_their_own_counts),
	  TEST(pairs_have_counts_of_their_own))
