/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void all_reduce_is_exact_or_skipped(void)
{
	char reason[300];
	enum result r =
		run_one("communication", "allreduce: {ranks: 2, max: 16 KiB, iterations: 3}",
			reason, sizeof(reason));

	if (r == RESULT_SKIP)
		test_skip("%s", reason);
	printf("# %s\n", reason);
	CHECK_INT(r, RESULT_PASS);
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 2, max: 16 KiB, iterations: 3, busbw: {16 KiB: \">= "
			  "900 TB/s\"}}",
			  NULL, 0),
		  RESULT_FAIL);
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 2, max: 16 KiB, iterations: 3, busbw: {1 MiB: \">= 1 "
			  "B/s\"}}",
			  NULL, 0),
		  RESULT_ERROR);
}

/* Output of the helper's kind, by a launcher that is no MPI. */
static void launcher(const char *text, const char *more, enum result want, const char *reason)
{
	AUTO_FREE char *settings =
		xasprintf("allreduce: {launcher: [sh, \"{dir}/launch.sh\"]%s}", more);
	char got[300];
	enum result r;

	scene_file("launch.sh", text);
	r = run_one("communication", settings, got, sizeof(got));
	if (r == RESULT_SKIP)
		test_skip("%s", got);
	CHECK_INT(r, want);
	CHECK_HAS(got, reason);
}

static void what_the_launcher_does_counts(void)
{
	launcher("exit 3\n", "", RESULT_FAIL, "no results (exit 3)");
	launcher("echo hello\n", "", RESULT_ERROR, "no results");
	launcher("sleep 20\n", ", limit: 1 s", RESULT_ERROR, "time limit");
}

static void a_launcher_that_is_not_there_is_a_skip(void)
{
	CHECK_INT(run_one("communication", "allreduce: {launcher: [no-such-launcher]}", NULL, 0),
		  RESULT_SKIP);
}

TEST_MAIN(TEST(all_reduce_is_exact_or_skipped), TEST(what_the_launcher_does_counts),
	  TEST(a_launcher_that_is_not_there_is_a_skip))
