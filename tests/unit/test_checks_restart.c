/* SPDX-License-Identifier: Apache-2.0 */
/* Killed and started again: the time counts for those who go on asking. */
#include "checks_server.h"

static enum result restart(struct scene *s, const char *settings, const char *words)
{
	AUTO_FREE char *check = xasprintf("recovery:\n  - restart: {%s}\n", settings);

	server_scene(s, check, words, NULL);
	return run_scene(s);
}

static void it_answers_again(void)
{
	SCENE(s);

	CHECK_INT(restart(&s, "within: 10 s, times: 2", ""), RESULT_PASS);
	CHECK(measured(&s.o.measured, "recovery.restart") > 0);
	CHECK_INT(measurements_find(&s.o.measured, "recovery.restart")->n_samples, 2);
	CHECK_NEAR(measured(&s.o.measured, "recovery.requests"), 2, 0);
}

static void under_load_requests_fail_meanwhile_and_are_counted(void)
{
	SCENE(s);
	AUTO_FREE char *raw = NULL;

	CHECK_INT(restart(&s, "within: 10 s, under_load: true", "slow"), RESULT_PASS);
	CHECK(measured(&s.o.measured, "recovery.failed_requests") >= 1);
	CHECK(measured(&s.o.measured, "recovery.requests") >
	      measured(&s.o.measured, "recovery.failed_requests"));
	raw = evidence_text(&s.o.evidence, "killed-under-load-1.zst");
	CHECK(raw[0]);
}

static void clients_that_wait_do_not_storm_a_dead_server(void)
{
	SCENE(s);
	AUTO_FREE char *check =
		xstrdup("recovery:\n  - restart: {within: 10 s, under_load: true}\n");

	server_scene(&s, check, "slow", NULL);
	s.c.workload_check.load.arrival = (struct arrival_spec){ .poisson = NAN,
								 .constant = NAN,
								 .gamma = NAN,
								 .closed = 4,
								 .kind = ARRIVAL_CLOSED,
								 .rate = NAN };
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK(measured(&s.o.measured, "recovery.requests") < 2000);
}

static void too_slow_or_never_is_a_fail(void)
{
	SCENE(slow);
	SCENE(never);
	SCENE(under);

	CHECK_INT(restart(&slow, "within: 1 ms", ""), RESULT_FAIL);
	CHECK_HAS(slow.o.reason, "limit 1");
	CHECK_INT(restart(&never, "within: 3 s", "never-again"), RESULT_FAIL);
	CHECK_HAS(never.o.reason, "the disk is gone");
	CHECK_INT(restart(&under, "within: 3 s, under_load: true", "never-again"), RESULT_FAIL);
}

static void a_server_that_never_came_up_says_nothing_of_restarts(void)
{
	SCENE(s);

	CHECK_INT(restart(&s, "within: 3 s", "dies-at-once"), RESULT_ERROR);
}

static void without_a_server_it_is_a_skip(void)
{
	char reason[REASON];
	SCENE(s);

	CHECK_INT(run_one("recovery", "restart: {within: 1 s}", reason), RESULT_SKIP);
	CHECK_HAS(reason, "no server under load");
	server_scene(&s, "recovery:\n  - restart: {within: 1 s}\n", "", NULL);
	s.c.workload_check.serve.attach = xstrdup("http://127.0.0.1:1");
	CHECK_INT(run_scene(&s), RESULT_SKIP);
	CHECK_HAS(s.o.reason, "attached");
}

TEST_MAIN(TEST(it_answers_again), TEST(under_load_requests_fail_meanwhile_and_are_counted),
	  TEST(clients_that_wait_do_not_storm_a_dead_server), TEST(too_slow_or_never_is_a_fail),
	  TEST(a_server_that_never_came_up_says_nothing_of_restarts),
	  TEST(without_a_server_it_is_a_skip))
