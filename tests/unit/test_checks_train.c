/* SPDX-License-Identifier: Apache-2.0 */
#include "train_scene.h"

static void training_is_followed_to_its_target(void)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.75");
	struct rep r CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(&s, "", tail);
	scene_file("train.sh", trainer);
	CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
	printf("# %s\n", r.reason ? r.reason : "");
	CHECK_INT(r.state, REP_OK);
	CHECK_NEAR(scene_number(&r.measured, "steps_to_target"), 15, 0);
	CHECK_NEAR(scene_number(&r.measured, "final_loss"), 0.70, 1e-12);
	CHECK_NEAR(scene_number(&r.measured, "step_time.p50"), 2e6, 1);
	CHECK_NEAR(scene_number(&r.measured, "data_stall"), 0.5, 1e-12);
	CHECK_NEAR(scene_number(&r.measured, "throughput"), 500, 0);
	CHECK(scene_number(&r.measured, "time_to_target") > 0 &&
	      scene_number(&r.measured, "wall_time") > scene_number(&r.measured, "time_to_target"));
}

static void training_that_misses_its_target_failed(void)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.1");
	struct rep r CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(&s, "", tail);
	scene_file("train.sh", trainer);
	CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
	CHECK_INT(r.state, REP_FAILED);
	CHECK_HAS(r.reason, "target was not reached in 20 steps");
	CHECK(isnan(scene_number(&r.measured, "time_to_target")));
}

static void training_that_dies_or_says_nothing_failed(void)
{
	static const char *const bad[] = {
		"echo '{\"step\": 1, \"loss\": 0.1, \"eval_loss\": 0.1}'; exit 7\n", "echo hello\n"
	};
	AUTO_FREE char *tail = xasprintf(train_tail, "0.5");

	for (size_t i = 0; i < 2; i++) {
		struct rep r CLEANUP(rep_release) = { 0 };
		struct err err = ERR_INIT;
		struct scene s CLEANUP(scene_release) = { 0 };

		scene_init(&s, "", tail);
		scene_file("train.sh", bad[i]);
		CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
		CHECK_INT(r.state, REP_FAILED);
	}
}

static void training_over_its_time_failed(void)
{
	AUTO_FREE char *text = xasprintf(train_tail, "0.5");
	AUTO_FREE char *before = xstrndup(text, (size_t)(strstr(text, "  objectives") - text));
	AUTO_FREE char *tail =
		xasprintf("%s    limit: 1 s\n%s", before, strstr(text, "  objectives"));
	struct rep r CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(&s, "", tail);
	scene_file("train.sh",
		   "echo '{\"step\": 1, \"loss\": 0.1, \"eval_loss\": 0.9}'; exec sleep 20\n");
	CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
	CHECK_INT(r.state, REP_FAILED);
	CHECK_HAS(r.reason, "time limit");
}

TEST_MAIN(TEST(training_is_followed_to_its_target), TEST(training_that_misses_its_target_failed),
	  TEST(training_that_dies_or_says_nothing_failed), TEST(training_over_its_time_failed))
