/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static void says_before_running_what_can_be_decided(void)
{
	struct verdict_expect e;
	struct scene s;

	scene(&s, 1, 0, true);
	verdict_expect(&s.in, &e);
	CHECK(e.decidable);
	CHECK_INT(e.likely, 3);
	CHECK_INT(e.cap, 10);
	{
		AUTO_FREE char *plan = verdict_plan(&s.in);

		CHECK_HAS(plan, "ttft.p50: margin 5 %, this bank of 10 decides 1.");
		CHECK_HAS(plan, "likely decided after 3 of at most 10 repetitions");
	}
	s.m[0].margin = 0.01;
	verdict_expect(&s.in, &e);
	CHECK(!e.decidable);
	{
		AUTO_FREE char *plan = verdict_plan(&s.in);

		CHECK_HAS(plan, "too noisy: likely inconclusive");
	}
	s.in.n_bank = 4;
	verdict_expect(&s.in, &e);
	CHECK(!e.decidable);
	{
		AUTO_FREE char *plan = verdict_plan(&s.in);

		CHECK_HAS(plan, "4 usable repetitions, 5 are needed");
	}
}

static void a_first_acceptance_needs_five(void)
{
	struct verdict_expect e;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, false);
	verdict_cap(&s.in, 3);
	verdict_expect(&s.in, &e);
	CHECK(!e.decidable);
	{
		AUTO_FREE char *plan = verdict_plan(&s.in);

		CHECK_HAS(plan, "the contract stops before that");
	}
	verdict_decide(&s.in, &v);
	CHECK(v.final);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK_STR(first_code(&v), "too_few_for_first");
	CHECK_INT(v.more, 2);
	/* It still rejects what is clearly over. */
	for (int i = 0; i < 3; i++)
		s.cand[i] = 130;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
}

static void advice_names_how_many_more(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 1, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.more, 2);
	CHECK_STR(v.advice, "2 more repetitions, likely accepted");
	CHECK(!v.more_rejects && !v.futile);
	scene(&s, 1.08, 2, true);
	s.m[0].has_limit = false;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(v.advice, "1 more repetition, likely rejected");
	CHECK(v.more_rejects);
	scene(&s, 1, 3, false);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.more, 2);
	CHECK_STR(v.advice, "2 more repetitions, likely accepted");
}

static void what_can_not_be_decided_is_said(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.03, 3, true);
	s.m[0].margin = 0.03;
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	CHECK(v.futile);
	CHECK_HAS(v.advice, "the smallest margin that could be is");
	CHECK_INT(v.more, 0);
	/* A limit two standard deviations away is too close for ten starts. */
	scene(&s, 1, 5, false);
	s.m[0].limit = 101.5;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(v.futile);
	CHECK_HAS(v.advice, "standard deviations from its limit");
	/* After a failed repetition nothing will be accepted. */
	scene(&s, 1, 4, false);
	s.reps[0].state = REP_FAILED;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(v.futile);
	CHECK_HAS(v.advice, "cannot be accepted any more");
}

static void a_first_acceptance_says_what_it_will_be_worth(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, false);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_STR(v.notes.v[0].code, "outlook");
	CHECK_HAS(v.notes.v[0].text,
		  "with these 5 repetitions a later check for 5 % is decided up to 1.7 %, "
		  "with 10 up to 2.2 %");
}

TEST_MAIN(TEST(says_before_running_what_can_be_decided), TEST(a_first_acceptance_needs_five),
	  TEST(advice_names_how_many_more), TEST(what_can_not_be_decided_is_said),
	  TEST(a_first_acceptance_says_what_it_will_be_worth))
