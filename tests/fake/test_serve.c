/* SPDX-License-Identifier: Apache-2.0 */
/* Serving as a workload: started, waited for, loaded, stopped, killed and restarted; against the
 * scripted server. */
#include "checks/inner.h"

#include "base/clock.h"
#include "checks_scene.h"

static const char tail_of_contract[] =
	"workload_check:\n"
	"  serve:\n"
	"    start: [sh, \"{dir}/start.sh\", \"{port}\"]\n"
	"    ready: {http: /health, within: %s}\n"
	"    stop_within: 2 s\n"
	"    metrics: /metrics\n"
	"  load: {endpoint: chat, model: m, prompts: \"{dir}/p.jsonl\", arrival: {constant: 50/s}, "
	"duration: 300 ms, "
	"warmup: 0 s, max_tokens: 4, timeout: 5 s, client_lag: 2 s}\n"
	"  objectives: [%s]\n";
static const char *objectives = "ttft.p50 <= 2 s, errors <= 0 %, answers.match >= 100 %";

/* The server ends with its standard input, so something has to hold that open. */
static char *tail_with(const char *script, const char *before, const char *within)
{
	const char *exe = getenv("TWICE_FAKE_SERVER");
	AUTO_FREE char *start = NULL;

	if (!exe)
		test_skip("TWICE_FAKE_SERVER is not set");
	start = xasprintf("#!/bin/sh\n%s\nsleep 100 | exec %s --port \"$1\" --script '%s'\n",
			  before, exe, script);
	test_file("start.sh", start, 0755);
	test_file("p.jsonl", "{\"prompt\": \"one\"}\n{\"prompt\": \"two\"}\n", 0644);
	return xasprintf(tail_of_contract, within, objectives);
}

static struct rep rep_of(const char *script, const char *before, const char *within)
{
	AUTO_FREE char *tail = tail_with(script, before, within);
	struct rep r;
	SCENE(s);

	scene(&s, tail);
	(void)rep_scene(&s);
	r = s.r;
	s.r = (struct rep){ 0 };
	return r;
}

static void a_service_is_measured(void)
{
	struct rep r CLEANUP(rep_release) = rep_of("n=4,ttft=5ms,itl=1ms", "", "10 s");
	bool golden = false;

	CHECK_INT(r.state, REP_OK);
	CHECK_NEAR(measured(&r.measured, "errors"), 0, 0);
	CHECK_NEAR(measured(&r.measured, "answers.match"), 1, 0);
	CHECK(measured(&r.measured, "ttft.p50") >= 5e6);
	CHECK(measured(&r.measured, "ready_time") > 0);
	CHECK(measured(&r.measured, "peak_rss") > 0);
	for (size_t i = 0; i < r.evidence.n; i++)
		golden |= strcmp(r.evidence.v[i].label, EVIDENCE_GOLDEN) == 0;
	CHECK(golden);
}

static void errors_are_measured_and_nothing_but_errors_failed(void)
{
	struct rep half CLEANUP(rep_release) =
		rep_of("status=500|n=4,ttft=1ms,itl=1ms", "", "10 s");
	struct rep all CLEANUP(rep_release) = { 0 };

	CHECK_INT(half.state, REP_OK);
	CHECK_NEAR(measured(&half.measured, "errors"), 0.5, 0.2);
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	all = rep_of("status=500", "", "10 s");
	CHECK_INT(all.state, REP_FAILED);
	CHECK_HAS(all.reason, "requests was answered");
}

static enum result load_outcome_of(const struct rep *r, const char **ret_reason)
{
	for (size_t i = 0; i < r->outcomes.n; i++)
		if (streq(r->outcomes.v[i].check, "workload/load")) {
			*ret_reason = r->outcomes.v[i].reason;
			return r->outcomes.v[i].result;
		}
	test_fails(__FILE__, __LINE__, "no workload/load");
}

/* Who refuses a third of the requests is no faster for it. */
static void latencies_without_the_failures_support_nothing(void)
{
	const char *reason = NULL;
	struct rep r CLEANUP(rep_release) = { 0 };
	struct rep told CLEANUP(rep_release) = { 0 };

	objectives = "ttft.p50 <= 2 s";
	r = rep_of("3*status=429,ttft=0|7*n=4,ttft=1ms,itl=1ms", "", "10 s");
	CHECK_INT(load_outcome_of(&r, &reason), RESULT_DOUBTFUL);
	CHECK_HAS(reason, "no objective is about that");
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	objectives = "ttft.p50 <= 2 s, errors <= 50 %";
	told = rep_of("3*status=429,ttft=0|7*n=4,ttft=1ms,itl=1ms", "", "10 s");
	CHECK_INT(load_outcome_of(&told, &reason), RESULT_PASS);
}

static void a_server_that_does_not_come_up_failed(void)
{
	struct rep died CLEANUP(rep_release) = rep_of("n=4", "echo out of memory; exit 9", "10 s");
	struct rep late CLEANUP(rep_release) = { 0 };

	CHECK_INT(died.state, REP_FAILED);
	CHECK_HAS(died.reason, "ended before it was ready (exit 9): out of memory");
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	late = rep_of("n=4", "exec sleep 30", "300 ms");
	CHECK_INT(late.state, REP_FAILED);
	CHECK_HAS(late.reason, "not ready within 300 ms");
}

static void a_server_that_dies_under_load_failed(void)
{
	struct rep r CLEANUP(rep_release) =
		rep_of("n=4,ttft=1ms,itl=1ms", "(sleep 0.25; kill -9 $$) &", "10 s");

	CHECK_INT(r.state, REP_FAILED);
}

static enum result recovery(const char *settings, const char *script, const char *before,
			    char *reason)
{
	AUTO_FREE char *tail = tail_with(script, before, "5 s");
	enum result r;
	SCENE(s);

	scene_check(&s, "recovery", settings, tail);
	r = run_scene(&s);
	(void)snprintf(reason, REASON, "%s", s.o.reason ? s.o.reason : "");
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	return r;
}

static void a_restart_is_timed(void)
{
	static const char second[] = "[ -e first ] && exit 4; touch first";
	char reason[REASON];

	CHECK_INT(recovery("restart: {within: 20 s}", "n=4", "", reason), RESULT_PASS);
	CHECK_INT(recovery("restart: {within: 20 s, under_load: true}", "n=4", "", reason),
		  RESULT_PASS);
	CHECK_INT(recovery("restart: {within: 1 ms}", "n=4", "", reason), RESULT_FAIL);
	CHECK_HAS(reason, "limit 1 ms");
	CHECK_INT(recovery("restart: {within: 20 s}", "n=4", second, reason), RESULT_FAIL);
	CHECK_HAS(reason, "exit 4");
	CHECK_INT(recovery("restart: {within: 20 s}", "status=500", "", reason), RESULT_FAIL);
	CHECK_HAS(reason, "did not answer");
	CHECK_INT(recovery("restart: {within: 20 s}", "n=4", "exit 3", reason), RESULT_ERROR);
}

static void a_replay_must_answer_the_same(void)
{
	char reason[REASON];

	CHECK_INT(recovery("replay: {requests: 4}", "n=4", "", reason), RESULT_PASS);
	CHECK_INT(recovery("replay: {requests: 4}", "status=500", "", reason), RESULT_ERROR);
	CHECK_HAS(reason, "no request was answered before the kill");
}

static void without_a_server_both_are_skips(void)
{
	CHECK_INT(run_one("recovery", "restart: {within: 1 s}", NULL), RESULT_SKIP);
	CHECK_INT(run_one("recovery", "replay: {}", NULL), RESULT_SKIP);
}

TEST_MAIN(TEST(a_service_is_measured), TEST(errors_are_measured_and_nothing_but_errors_failed),
	  TEST(latencies_without_the_failures_support_nothing),
	  TEST(a_server_that_does_not_come_up_failed), TEST(a_server_that_dies_under_load_failed),
	  TEST(a_restart_is_timed), TEST(a_replay_must_answer_the_same),
	  TEST(without_a_server_both_are_skips))
