/* SPDX-License-Identifier: Apache-2.0 */
/* Killed and resumed: from a checkpoint, without a gap, with the losses and the state of a whole
 * run. */
#include "checks_trainer.h"

static enum result resume_with(const char *script, const char *settings, char *reason)
{
	AUTO_FREE char *check =
		xasprintf("recovery:\n  - resume: {kill_at: 60 %%, within: 20 s%s}\n", settings);
	SCENE(s);
	enum result r;

	train_scene(&s, check, script, "jsonl: stdout", "0.75", "    limit: 5 s\n");
	r = run_scene(&s);
	(void)snprintf(reason, REASON, "%s", s.o.reason ? s.o.reason : "");
	return r;
}

static void it_goes_on_from_its_checkpoint(void)
{
	SCENE(s);

	train_scene(&s, "recovery:\n  - resume: {kill_at: 60 %, within: 20 s, digest: weights}\n",
		    trainer, "jsonl: stdout", "0.75", "");
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK_NEAR(measured(&s.o.measured, "recovery.loss_gap"), 0, 0);
	CHECK(measured(&s.o.measured, "recovery.resume") > 0);
	/* Killed at step 12 or a little later, resumed at 11 (or 16). */
	CHECK(measured(&s.o.measured, "recovery.steps_repeated") >= 0);
	AUTO_FREE char *whole = evidence_text(&s.o.evidence, "whole.out");
	AUTO_FREE char *killed = evidence_text(&s.o.evidence, "killed.out");
	AUTO_FREE char *resumed = evidence_text(&s.o.evidence, "resumed.out");
	CHECK_HAS(whole, "\"step\": 20");
	CHECK(!strstr(killed, "\"step\": 20") && strstr(killed, "\"step\": 12"));
	CHECK(!strstr(resumed, "\"step\": 1,") && strstr(resumed, "\"step\": 20"));
}

/* What the job does wrong when it is resumed. R is set then. */
#define RESUMED(text) TRAINER_HEAD text TRAINER_LOOP TRAINER_LINE TRAINER_SAVE TRAINER_END

static void each_break_of_continuity_fails(void)
{
	static const struct {
		const char *script, *reason;
	} t[] = {
		{ RESUMED("[ $1 = resume ] && i=0\n"), "began again at step 1" },
		{ RESUMED("[ $1 = resume ] && i=18\n"), "were left out" },
		{ RESUMED("[ $1 = resume ] && exit 3\n"), "the resumed job ended with exit 3" },
		{ RESUMED("[ $1 = resume ] && exit 0\n"), "the resumed job reported no step" },
		/* leaves a step out in the middle */
		{ TRAINER_HEAD TRAINER_LOOP
		  "[ $1 = resume ] && [ $i = 17 ] && i=18\n" TRAINER_LINE TRAINER_SAVE TRAINER_END,
		  "step 17 is missing, repeated or out of order" },
		/* does one twice */
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE
		  "[ $1 = resume ] && [ $i = 17 ] && { R=$1; shift; set -- x; "
		  "i=16; }\n" TRAINER_SAVE TRAINER_END,
		  "step 17 is missing, repeated or out of order" },
		/* stops early, goes on too long */
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE
		  "[ $1 = resume ] && [ $i = 19 ] && break\n" TRAINER_SAVE TRAINER_END,
		  "step 20 is missing" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
		  "[ $1 = resume ] && echo '{\"step\": 21, \"loss\": 0.1}'\n" TRAINER_END,
		  "step 21 is missing, repeated" },
		/* other losses */
		{ TRAINER_HEAD TRAINER_LOOP
		  " [ $1 = resume ] && j=5 || j=$i; echo \"{\\\"step\\\": $i, \\\"loss\\\": "
		  "0.$((90-j))}\"\n" TRAINER_SAVE TRAINER_END,
		  "the losses differ by" },
		{ TRAINER_HEAD TRAINER_LOOP
		  " [ $1 = resume ] && l=NaN || l=0.1; echo \"{\\\"step\\\": $i, \\\"loss\\\": "
		  "$l}\"\n" TRAINER_SAVE TRAINER_END,
		  "the loss is no number after the resume" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char reason[REASON];

		printf("# %s\n", t[i].reason);
		CHECK_INT(resume_with(t[i].script, "", reason), RESULT_FAIL);
		CHECK_HAS(reason, t[i].reason);
	}
}

static void the_final_state_must_be_the_same(void)
{
	static const char other[] = TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
		"echo \"{\\\"final\\\": true, \\\"weights\\\": \\\"$1\\\"}\"\n";
	char reason[REASON];

	CHECK_INT(resume_with(other, ", digest: weights", reason), RESULT_FAIL);
	CHECK_HAS(reason, "the final state differs: start, resumed resume");
	CHECK_INT(resume_with(other, ", digest: weights, same_digest: false", reason), RESULT_PASS);
	CHECK_INT(resume_with(other, ", digest: no_such_member", reason), RESULT_ERROR);
}

static void slow_is_a_fail_and_unknown_an_error(void)
{
	char reason[REASON];

	CHECK_INT(resume_with(TRAINER_HEAD
			      "[ $1 = resume ] && sleep 0.3\n" TRAINER_LOOP TRAINER_LINE
				      TRAINER_SAVE TRAINER_END,
			      ", loss_gap: 0", reason),
		  RESULT_PASS);
	CHECK_INT(resume_with("#!/bin/sh\nexit 1\n", "", reason), RESULT_ERROR);
	CHECK_HAS(reason, "the job without a kill ended with exit 1");
	CHECK_INT(resume_with("#!/bin/sh\necho '{\"step\": 1, \"loss\": 1}'\n", "", reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "ended with exit 0 after 1 steps");
	/* Nothing to compare: no loss at all. */
	CHECK_INT(resume_with(TRAINER_HEAD TRAINER_LOOP
			      " echo \"{\\\"step\\\": $i}\"\n" TRAINER_SAVE TRAINER_END,
			      "", reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "no loss could be compared");
}

static void it_must_go_on_within_its_time(void)
{
	SCENE(s);

	train_scene(&s, "recovery:\n  - resume: {kill_at: 60 %, within: 1 ms}\n", trainer,
		    "jsonl: stdout", "0.75", "");
	CHECK_INT(run_scene(&s), RESULT_FAIL);
	CHECK_HAS(s.o.reason, "to go on, limit 1");
}

static void another_workload_is_a_skip(void)
{
	char reason[REASON];

	CHECK_INT(run_one("recovery", "resume: {}", reason), RESULT_SKIP);
	CHECK_HAS(reason, "no training job");
}

TEST_MAIN(TEST(it_goes_on_from_its_checkpoint), TEST(each_break_of_continuity_fails),
	  TEST(the_final_state_must_be_the_same), TEST(slow_is_a_fail_and_unknown_an_error),
	  TEST(it_must_go_on_within_its_time), TEST(another_workload_is_a_skip))
