/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static void sessions(struct scene *s, const char *const *bank_sessions, const char *cand)
{
	s->in.bank_sessions = bank_sessions;
	for (int i = 0; i < SCENE_MOST; i++)
		s->reps[i].session = cand;
}

static const char *const one[10] = { "a", "a", "a", "a", "a", "a", "a", "a", "a", "a" };
static const char *const two[10] = { "a", "a", "a", "a", "a", "b", "b", "b", "b", "b" };
static const char *const five[10] = { "a", "b", "c", "d", "e", "a", "b", "c", "d", "e" };
static const char *const own[10] = { NULL };

static void one_session_against_another_is_at_best_inconclusive(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	sessions(&s, one, "z");
	verdict_decide(&s.in, &v);
	CHECK(v.final);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK_STR(first_code(&v), "sessions_not_spread");
	CHECK_HAS(v.reasons.v[0].text, "1 session (a boot of a host)");
	sessions(&s, two, "z");
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	/* A regression is a regression all the same. */
	scene(&s, 1.5, 3, true);
	sessions(&s, one, "z");
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
}

static void one_and_the_same_session_does_to_both_what_it_does(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	sessions(&s, one, "a");
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.reps[2].session = "b"; /* no longer the same */
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "sessions_not_spread");
	sessions(&s, two, "a");
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "sessions_not_spread");
}

static void a_start_of_its_own_each_is_exact_again(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	sessions(&s, own, NULL);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	/* Sessions that nobody kept are not judged. */
	sessions(&s, NULL, "z");
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	/* The bank spread, the candidate in one session: what that does nobody knows. */
	sessions(&s, own, "z");
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "sessions_not_spread");
	/* Alternating in one session cancels it. */
	scene(&s, 1, 5, true);
	sessions(&s, one, "a");
	verdict_interleave(&s.in);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
}

static void three_sessions_that_agree_are_enough(void)
{
	double apart[10];
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	sessions(&s, five, "z");
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK(v.numbers.v[0].session_p > 0.05);
	/* The same spread, arranged so that a session explains it. */
	for (int i = 0; i < 10; i++)
		apart[i] = 99 + i % 5 * 0.5 + (i > 4 ? 0.05 : 0);
	s.m[0].bank = apart;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "sessions_not_spread");
	CHECK(v.numbers.v[0].session_p < 0.05);
	/* Spread candidates too: the effect is inside the spread that is compared; noted. */
	sessions(&s, five, NULL);
	s.in.bank_sessions = own;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
}

static void sessions_without_any_spread_inside_are_told_apart(void)
{
	double steps[10];
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	sessions(&s, five, "z");
	for (int i = 0; i < 10; i++)
		steps[i] = 99 + i % 5 * 0.5;
	s.m[0].bank = steps;
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "sessions_not_spread");
	for (int i = 0; i < 10; i++)
		steps[i] = 100; /* all equal: nothing to see */
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(isnan(v.numbers.v[0].session_p));
}

TEST_MAIN(TEST(one_and_the_same_session_does_to_both_what_it_does),
	  TEST(one_session_against_another_is_at_best_inconclusive),
	  TEST(a_start_of_its_own_each_is_exact_again), TEST(three_sessions_that_agree_are_enough),
	  TEST(sessions_without_any_spread_inside_are_told_apart))
