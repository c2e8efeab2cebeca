/* SPDX-License-Identifier: Apache-2.0 */
#include "train_scene.h"

static const char job[] =
	"#!/bin/sh\n"
	"mode=${1:-whole}\n"
	"i=0; [ $mode = resume ] && i=%s\n"
	"while [ $i -lt %d ]; do\n"
	" i=$((i+1)); echo \"{\\\"step\\\": $i, \\\"loss\\\": 0.%s, \\\"eval_loss\\\": 0.5}\"\n"
	" [ $((i%%5)) = 0 ] && echo $i > ckpt; sleep 0.02\n"
	"done\n"
	"echo \"{\\\"final\\\": true, \\\"weights\\\": \\\"%s\\\"}\"\n"
	"%s\n";
static const char from_checkpoint[] = "$(cat ckpt)";
static const char falling[] = "$((90-i))";

static enum result resume(const char *from, int steps, const char *loss, const char *weights,
			  const char *last, char reason[300])
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.75");
	AUTO_FREE char *script = xasprintf(job, from, steps, loss, weights, last);
	struct outcome o CLEANUP(outcome_release) = { 0 };

	scene_file("train.sh", script);
	o = scene_check("recovery", "resume: {kill_at: 60 %, digest: weights, within: 20 s}", tail);
	snprintf(reason, 300, "%s", o.reason ? o.reason : "");
	return o.result;
}

static void a_resume_goes_on_from_its_checkpoint(void)
{
	char reason[300];

	CHECK_INT(resume(from_checkpoint, 20, falling, "abc", "", reason), RESULT_PASS);
}

static void what_a_resume_may_not_do(void)
{
	static const struct {
		const char *from;
		int steps;
		const char *loss, *weights, *last;
		enum result want;
		const char *reason;
	} t[] = {
		{ "0", 20, falling, "abc", "", RESULT_FAIL, "began again at step 1" },
		{ "17", 20, falling, "abc", "", RESULT_FAIL, "were left out" },
		{ from_checkpoint, 20, "$((90-i))$([ $mode = resume ] && echo 9)", "abc", "",
		  RESULT_FAIL, "losses differ" },
		{ from_checkpoint, 20, falling, "$mode", "", RESULT_FAIL,
		  "final state differs: whole, resumed resume" },
		{ from_checkpoint, 20, falling, "abc", "[ $mode = whole ]", RESULT_FAIL,
		  "ended with exit 1" },
		{ "20", 20, falling, "abc", "", RESULT_FAIL, "reported no step" },
		{ from_checkpoint, 2, falling, "abc", "", RESULT_ERROR, "after 2 steps" },
		{ from_checkpoint, 20, falling, "abc", "exit 7", RESULT_ERROR,
		  "ended with exit 7" },
		{ from_checkpoint, 20, "x", "abc", "", RESULT_ERROR, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char reason[300];

		CHECK_INT(resume(t[i].from, t[i].steps, t[i].loss, t[i].weights, t[i].last, reason),
			  t[i].want);
		CHECK_HAS(reason, t[i].reason);
	}
}

static void a_state_that_is_not_reported_is_an_error(void)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.75");
	AUTO_FREE char *script = xasprintf(job, from_checkpoint, 20, falling, "abc", "");
	struct outcome o CLEANUP(outcome_release) = { 0 };

	scene_file("train.sh", script);
	o = scene_check("recovery", "resume: {kill_at: 60 %, digest: sha, within: 20 s}", tail);
	CHECK_INT(o.result, RESULT_ERROR);
	CHECK_STR(o.reason, "no 'sha' was reported");
}

static void a_workload_that_does_not_train_is_a_skip(void)
{
	CHECK_INT(run_one("recovery", "resume: {}", NULL, 0), RESULT_SKIP);
}

TEST_MAIN(TEST(a_resume_goes_on_from_its_checkpoint), TEST(what_a_resume_may_not_do),
	  TEST(a_state_that_is_not_reported_is_an_error),
	  TEST(a_workload_that_does_not_train_is_a_skip))
