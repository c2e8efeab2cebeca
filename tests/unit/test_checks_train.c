/* SPDX-License-Identifier: Apache-2.0 */
/* A training job is followed to its target; what it does not say is no success. */
#include "checks_trainer.h"

static void it_is_followed_to_its_target(void)
{
	SCENE(s);

	train_scene(&s, "", trainer, "jsonl: stdout", "0.75", "");
	CHECK_INT(rep_scene(&s), REP_OK);
	CHECK_NEAR(measured(&s.r.measured, "steps_to_target"), 15, 0);
	CHECK_NEAR(measured(&s.r.measured, "final_loss"), 0.70, 1e-12);
	CHECK_NEAR(measured(&s.r.measured, "step_time.p50"), 2e6, 1);
	CHECK_NEAR(measured(&s.r.measured, "data_stall"), 0.5, 1e-12);
	CHECK_NEAR(measured(&s.r.measured, "throughput"), 500, 0);
	CHECK(measured(&s.r.measured, "time_to_target") > 0);
	CHECK(measured(&s.r.measured, "wall_time") > measured(&s.r.measured, "time_to_target"));
	AUTO_FREE char *out = evidence_text(&s.r.evidence, "train.out");
	CHECK_HAS(out, "\"step\": 20");
}

/* Metrics in a file that grows; the last line has no end. */
static void a_file_is_followed_too(void)
{
	SCENE(s);

	train_scene(&s, "",
		    TRAINER_HEAD "exec > steps.jsonl\n" TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
				 "printf '{\"step\": 21, \"loss\": 0.5}'\n"
				 "echo HF_TOKEN=abcdefgh12345678 >&2\n",
		    "jsonl: steps.jsonl", "0.75", "");
	CHECK_INT(rep_scene(&s), REP_OK);
	CHECK_NEAR(measured(&s.r.measured, "final_loss"), 0.5, 0);
	AUTO_FREE char *kept = evidence_text(&s.r.evidence, "train.metrics.jsonl");
	AUTO_FREE char *log = evidence_text(&s.r.evidence, "train.log");
	CHECK_HAS(kept, "\"step\": 21");
	CHECK_STR(log, "HF_TOKEN=[redacted]\n");
}

static void lines_of_an_earlier_run_are_not_taken(void)
{
	SCENE(s);

	train_scene(&s, "", "#!/bin/sh\ntrue\n", "jsonl: \"{dir}/steps.jsonl\"", "0.75", "");
	test_file("steps.jsonl", "{\"step\": 20, \"loss\": 0.1, \"eval_loss\": 0.1}\n", 0644);
	CHECK_INT(rep_scene(&s), REP_FAILED);
	CHECK_HAS(s.r.reason, "is there before the training starts");
	CHECK(isnan(measured(&s.r.measured, "time_to_target")));
}

static void what_is_no_success_failed(void)
{
	static const struct {
		const char *script, *target, *reason;
	} t[] = {
		{ trainer, "0.1", "target was not reached in 20 steps" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE
		  "[ $i = 3 ] && { echo out of memory >&2; exit 7; }\n" TRAINER_SAVE,
		  "0.89", "ended with exit 7: out of memory" },
		{ "echo hello\n", "0.5", "reported no step" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE "sleep 30\n" TRAINER_SAVE, "0.89",
		  "time limit" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
		  "echo '{\"step\": 21, \"loss\": NaN}'\n",
		  "0.75", "the loss is no number in 1 lines" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
		  "echo '{\"step\": 21, \"lo'\n",
		  "0.75", "1 lines of its metrics can't be read" },
		{ TRAINER_HEAD TRAINER_LOOP TRAINER_LINE "[ $i = 18 ] && kill -9 $$\n" TRAINER_SAVE,
		  "0.75", "signal 9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		SCENE(s);

		train_scene(&s, "", t[i].script, "jsonl: stdout", t[i].target, "    limit: 2 s\n");
		CHECK_INT(rep_scene(&s), REP_FAILED);
		CHECK_HAS(s.r.reason, t[i].reason);
		CHECK(outcome_of(&s.r, "workload/train")->result != RESULT_PASS);
	}
}

static void a_diverged_loss_is_no_final_loss(void)
{
	SCENE(s);

	train_scene(&s, "",
		    TRAINER_HEAD TRAINER_LOOP TRAINER_LINE TRAINER_SAVE
		    "echo '{\"step\": 21, \"loss\": NaN}'\n",
		    "jsonl: stdout", "0.75", "");
	CHECK_INT(rep_scene(&s), REP_FAILED);
	CHECK(isnan(measured(&s.r.measured, "final_loss")));
}

static pid_t seen;

static void on_started(void *arg, pid_t pid)
{
	(void)arg;
	seen = pid;
	CHECK(kill(pid, 0) == 0);
}

static void the_process_may_be_looked_at(void)
{
	SCENE(s);

	train_scene(&s, "", trainer, "jsonl: stdout", "0.75", "");
	s.ctx.started = on_started;
	CHECK_INT(rep_scene(&s), REP_OK);
	CHECK(seen > 0);
}

static void on_progress(void *arg, const struct check_progress *p)
{
	(void)arg;
	printf("# %s %s\n", p->what, p->live);
	if (strstr(p->live, "step "))
		scene_cancel = 1;
}

static void an_interruption_ends_it(void)
{
	struct err err = ERR_INIT;
	SCENE(s);

	train_scene(&s, "", TRAINER_HEAD TRAINER_LOOP TRAINER_LINE "sleep 1\n" TRAINER_SAVE,
		    "jsonl: stdout", "0.75", "");
	s.ctx.progress = on_progress;
	CHECK_INT(workload_rep(&s.ctx, &s.r, &err), -ERR_INTERRUPTED);
}

TEST_MAIN(TEST(it_is_followed_to_its_target), TEST(a_file_is_followed_too),
	  TEST(lines_of_an_earlier_run_are_not_taken), TEST(what_is_no_success_failed),
	  TEST(a_diverged_loss_is_no_final_loss), TEST(the_process_may_be_looked_at),
	  TEST(an_interruption_ends_it))
