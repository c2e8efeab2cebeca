/* SPDX-License-Identifier: Apache-2.0 */
/* One repetition of a service: its numbers, its answers, its evidence, its end. */
#include "checks_server.h"

static pid_t seen;

static void on_started(void *arg, pid_t pid)
{
	(void)arg;
	seen = pid;
}

static void a_good_server_gives_all_its_numbers(void)
{
	SCENE(s);

	server_scene(&s, NULL, "", NULL);
	s.ctx.started = on_started;
	CHECK_INT(rep_scene(&s), REP_OK);
	CHECK_NEAR(measured(&s.r.measured, "errors"), 0, 0);
	CHECK_NEAR(measured(&s.r.measured, "answers.match"), 1, 0);
	CHECK(measured(&s.r.measured, "ttft.p50") > 0 && measured(&s.r.measured, "ready_time") > 0);
	CHECK(measured(&s.r.measured, "cpu_time") > 0 && measured(&s.r.measured, "peak_rss") > 0);
	CHECK_INT(outcome_of(&s.r, "workload/serve")->result, RESULT_PASS);
	CHECK(seen > 0);
	AUTO_FREE char *log = evidence_text(&s.r.evidence, "server.log");
	AUTO_FREE char *golden = evidence_text(&s.r.evidence, EVIDENCE_GOLDEN);
	AUTO_FREE char *before = evidence_text(&s.r.evidence, "metrics-before.txt");
	AUTO_FREE char *after = evidence_text(&s.r.evidence, "metrics-after.txt");
	AUTO_FREE char *raw = evidence_text(&s.r.evidence, "requests.zst");
	CHECK_STR(log, "listening, OPENAI_API_KEY=[redacted]\n");
	CHECK_HAS(golden, "{\"answer\":\"one one\",\"id\":\"a\"}");
	CHECK_HAS(before, "requests_total 0");
	CHECK(!strstr(after, "requests_total 0\n") && raw[0]);
}

static enum rep_state against(struct scene *s, const char *golden, const char *words,
			      const char *load)
{
	AUTO_FREE char *path = path_join(test_dir(), "golden.jsonl");

	server_scene(s, NULL, words, load);
	test_file("golden.jsonl", golden, 0644);
	s->ctx.golden = path;
	return rep_scene(s);
}

static void answers_are_held_against_the_accepted_ones(void)
{
	SCENE(same);
	SCENE(other);

	CHECK_INT(against(&same, "{\"id\": \"a\", \"answer\": \"one one\"}\n", "", NULL), REP_OK);
	CHECK_NEAR(measured(&same.r.measured, "answers.match"), 1, 0);
	CHECK_INT(against(&other,
			  "{\"id\": \"a\", \"answer\": \"one one\"}\n{\"id\": \"b\", \"answer\": "
			  "\"three\"}\n",
			  "", NULL),
		  REP_OK);
	CHECK(fabs(measured(&other.r.measured, "answers.match") - 0.5) < 0.1);
}

static void a_prefix_may_be_enough(void)
{
	SCENE(exact);
	SCENE(prefix);

	CHECK_INT(against(&exact, "{\"id\": \"a\", \"answer\": \"one one\"}\n", "goes-on", NULL),
		  REP_OK);
	CHECK_NEAR(measured(&exact.r.measured, "answers.match"), 0, 0);
	CHECK_INT(against(&prefix, "{\"id\": \"a\", \"answer\": \"one one\"}\n", "goes-on",
			  ", answers: {match: prefix}"),
		  REP_OK);
	CHECK_NEAR(measured(&prefix.r.measured, "answers.match"), 1, 0);
}

static void answers_that_wander_do_not_match_themselves(void)
{
	SCENE(s);

	server_scene(&s, NULL, "wanders", NULL);
	CHECK_INT(rep_scene(&s), REP_OK);
	CHECK(measured(&s.r.measured, "answers.match") < 0.8);
}

static void a_server_that_dies_or_refuses_failed(void)
{
	SCENE(dies);
	SCENE(refuses);
	SCENE(never);

	server_scene(&dies, NULL, "dies-under-load", NULL);
	CHECK_INT(rep_scene(&dies), REP_FAILED);
	CHECK_HAS(dies.r.reason, "ended while it was measured (exit 9)");
	CHECK(measured(&dies.r.measured, "errors") > 0.2);
	server_scene(&refuses, NULL, "refuses", NULL);
	CHECK_INT(rep_scene(&refuses), REP_FAILED);
	CHECK_HAS(refuses.r.reason, "none of");
	server_scene(&never, NULL, "dies-at-once", NULL);
	CHECK_INT(rep_scene(&never), REP_FAILED);
	AUTO_FREE char *log = evidence_text(&never.r.evidence, "server.log");
	CHECK_HAS(log, "cannot load the model");
	CHECK(!strstr(log, "a1b2c3d4e5"));
}

static void what_left_the_servers_group_is_ended_with_it(void)
{
	int64_t child;
	SCENE(s);

	server_scene(&s, NULL, "leaves-a-child", NULL);
	CHECK_INT(rep_scene(&s), REP_OK);
	AUTO_FREE char *path = path_join(s.work, "child");
	AUTO_FREE char *line = file_first_line(path);
	CHECK(line && sv_to_i64(sv_of(line), 2, INT32_MAX, &child));
	CHECK(kill((pid_t)child, 0) < 0 && errno == ESRCH);
	CHECK_HAS(outcome_of(&s.r, "workload/serve")->reason, "had left");
}

/* Nothing tells whose it is. */
static void a_port_still_held_afterwards_is_a_fault(void)
{
	int64_t child;
	SCENE(s);

	server_scene(&s, NULL, "hides-a-child", NULL);
	CHECK_INT(rep_scene(&s), REP_FAILED);
	CHECK_HAS(s.r.reason, "is still served after the server has ended");
	AUTO_FREE char *path = path_join(s.work, "child");
	AUTO_FREE char *line = file_first_line(path);
	CHECK(line && sv_to_i64(sv_of(line), 2, INT32_MAX, &child));
	CHECK_INT(kill((pid_t)child, SIGKILL), 0);
}

static void golden_answers_that_are_not_there_are_an_error(void)
{
	SCENE(s);

	server_scene(&s, NULL, "", ", answers: nowhere.jsonl");
	CHECK_INT(rep_scene(&s), REP_FAILED);
	CHECK_INT(outcome_of(&s.r, "workload/load")->result, RESULT_ERROR);
	CHECK_HAS(s.r.reason, "nowhere.jsonl");
}

TEST_MAIN(TEST(a_good_server_gives_all_its_numbers),
	  TEST(answers_are_held_against_the_accepted_ones), TEST(a_prefix_may_be_enough),
	  TEST(answers_that_wander_do_not_match_themselves),
	  TEST(a_server_that_dies_or_refuses_failed),
	  TEST(what_left_the_servers_group_is_ended_with_it),
	  TEST(a_port_still_held_afterwards_is_a_fault),
	  TEST(golden_answers_that_are_not_there_are_an_error))
