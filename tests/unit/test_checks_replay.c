/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that a kill cut off are answered as before when they are sent again. */
#include "checks_server.h"

static enum result replay(struct scene *s, const char *words, const char *load)
{
	server_scene(s, "recovery:\n  - replay: {requests: 20}\n", words, load);
	return run_scene(s);
}

static void cut_off_requests_are_answered_as_before(void)
{
	SCENE(s);

	CHECK_INT(replay(&s, "slow", NULL), RESULT_PASS);
	CHECK(measured(&s.o.measured, "recovery.cut_off") >= 1);
	CHECK_NEAR(measured(&s.o.measured, "recovery.replayed"), 1, 0);
	CHECK_NEAR(measured(&s.o.measured, "recovery.same_answers"), 1, 0);
	CHECK_INT(s.o.evidence.n, 3);
}

static void other_answers_fail(void)
{
	SCENE(s);

	CHECK_INT(replay(&s, "slow, forgets", NULL), RESULT_FAIL);
	CHECK_HAS(s.o.reason, "answers differ after the restart");
}

static void drawn_answers_only_have_to_come(void)
{
	SCENE(s);

	CHECK_INT(replay(&s, "slow, forgets", ", temperature: 0.7"), RESULT_PASS);
	CHECK(!measurements_find(&s.o.measured, "recovery.same_answers"));
}

static void a_server_that_stays_away_fails(void)
{
	SCENE(s);

	CHECK_INT(replay(&s, "slow, never-again", NULL), RESULT_FAIL);
	CHECK_HAS(s.o.reason, "the disk is gone");
}

static void no_answer_to_compare_with_is_an_error(void)
{
	SCENE(s);

	CHECK_INT(replay(&s, "refuses", NULL), RESULT_ERROR);
	CHECK_HAS(s.o.reason, "no request was answered before the kill");
}

TEST_MAIN(TEST(cut_off_requests_are_answered_as_before), TEST(other_answers_fail),
	  TEST(drawn_answers_only_have_to_come), TEST(a_server_that_stays_away_fails),
	  TEST(no_answer_to_compare_with_is_an_error))
