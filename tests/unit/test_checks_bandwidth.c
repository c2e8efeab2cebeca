/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void bandwidth_is_measured_and_held(void)
{
	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 2 MiB, repeats: 3}", NULL, 0),
		  RESULT_PASS);
	CHECK_INT(run_one("hardware",
			  "memory_bandwidth: {size: 2 MiB, repeats: 3, at_least: \">= 900 TB/s\"}",
			  NULL, 0),
		  RESULT_FAIL);
}

static void one_thread_and_several(void)
{
	for (int threads = 1; threads <= 3; threads++) {
		AUTO_FREE char *settings = xasprintf(
			"memory_bandwidth: {size: 1 MiB, repeats: 3, threads: %d}", threads);
		struct outcome o CLEANUP(outcome_release) =
			scene_check("hardware", settings, scene_command);

		CHECK_INT(o.result, RESULT_PASS);
		CHECK(o.measured.n >= 1 && o.measured.v[0].value > 1e6);
		CHECK_INT(o.measured.v[0].unit, UNIT_BYTES_PER_S);
	}
}

TEST_MAIN(TEST(bandwidth_is_measured_and_held), TEST(one_thread_and_several))
