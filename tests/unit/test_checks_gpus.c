/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void gpus_that_are_not_there_fail(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware", "gpus: {count: \">= 4096\"}", reason, sizeof(reason)),
		  RESULT_FAIL);
	CHECK_HAS(reason, "GPUs found, limit >= 4096");
}

static void none_found_is_a_number(void)
{
	struct outcome o CLEANUP(outcome_release) =
		scene_check("hardware", "gpus: {count: \">= 4096\"}", scene_command);

	CHECK(scene_number(&o.measured, "gpus") >= 0);
	/* And nothing is said about those that are not there. */
	if (scene_number(&o.measured, "gpus") == 0)
		CHECK_INT(run_one("hardware", "gpus: {count: \"<= 0\", arch: gfx942}", NULL, 0),
			  RESULT_PASS);
}

TEST_MAIN(TEST(gpus_that_are_not_there_fail), TEST(none_found_is_a_number))
