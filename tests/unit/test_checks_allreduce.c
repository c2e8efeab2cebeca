/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce: right results first. A helper of the test's own plays what goes wrong. */
#include "checks_scene.h"

static void real_ranks_agree(void)
{
	char reason[REASON];
	enum result r = run_one("communication",
				"allreduce: {ranks: 2, max: 16 KiB, iterations: 3}", reason);

	if (r == RESULT_SKIP)
		test_skip("%s", reason);
	CHECK_INT(r, RESULT_PASS);
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 3, max: 16 KiB, iterations: 3, busbw: {16 KiB: \">= "
			  "900 TB/s\"}}",
			  reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "busbw at 16 KiB is");
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 2, max: 16 KiB, iterations: 3, busbw: {1 MiB: \">= 1 "
			  "B/s\"}}",
			  reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "no message of 1 MiB was measured");
}

/* The helper is a script that is started without mpirun. */
static enum result with_helper(const char *script, char *reason)
{
	SCENE(s);
	enum result r;

	scene_check(&s, "communication", "allreduce: {launcher: [env, A=1], limit: 2 s}",
		    scene_command);
	test_file("twice-allreduce", script, 0755);
	s.ctx.libexec = test_dir();
	r = run_scene(&s);
	(void)snprintf(reason, REASON, "%s", s.o.reason ? s.o.reason : "");
	return r;
}

#define TABLE(wrong, sum, tail)                                                                    \
	"#!/bin/sh\n"                                                                              \
	"cat <<E\n"                                                                                \
	"# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 4(factor) warmup iters: 2 iters: "  \
	"3 agg "                                                                                   \
	"iters: 1 validation: 1 graph: 0\n"                                                        \
	"#  Rank  0 Group  0 Pid      1 on  localhost device  0 [0x00] cpu\n"                      \
	"#  Rank  1 Group  0 Pid      2 on  localhost device  0 [0x00] cpu\n"                      \
	"        1024          256    float    sum     -1     10.0  0.102  0.102      " wrong      \
	"     10.0  0.102  0.102      0\n" sum "# Avg bus bandwidth    : 0.102 \n#\nE\n" tail

static void wrong_results_fail_whatever_the_speed(void)
{
	char reason[REASON];

	CHECK_INT(with_helper(TABLE("0", "# Out of bounds values : 0 OK\n", ""), reason),
		  RESULT_PASS);
	CHECK_INT(with_helper(TABLE("3", "# Out of bounds values : 3 FAILED\n", ""), reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "3 elements are wrong");
	/* A rank that died after the table. */
	CHECK_INT(with_helper(TABLE("0", "# Out of bounds values : 0 OK\n", "exit 5\n"), reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "exit 5");
}

static void what_was_not_compared_or_is_cut_is_an_error(void)
{
	char reason[REASON];

	CHECK_INT(with_helper(TABLE("N/A", "# Out of bounds values : 0 OK\n", ""), reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "not compared");
	CHECK_INT(with_helper(TABLE("0", "", ""), reason), RESULT_ERROR);
	CHECK_HAS(reason, "not whole");
}

static void no_results_are_told_apart(void)
{
	char reason[REASON];

	CHECK_INT(with_helper("#!/bin/sh\necho 'no slots' >&2; exit 1\n", reason), RESULT_FAIL);
	CHECK_HAS(reason, "no results (exit 1): no slots");
	CHECK_INT(with_helper("#!/bin/sh\ntrue\n", reason), RESULT_ERROR);
	CHECK_INT(with_helper("#!/bin/sh\nsleep 30\n", reason), RESULT_ERROR);
	CHECK_HAS(reason, "time limit");
}

static void no_launcher_is_a_skip(void)
{
	SCENE(s);

	scene_check(&s, "communication", "allreduce: {launcher: [no-such-mpirun]}", scene_command);
	test_file("twice-allreduce", "#!/bin/sh\n", 0755);
	s.ctx.libexec = test_dir();
	CHECK_INT(run_scene(&s), RESULT_SKIP);
	CHECK_HAS(s.o.reason, "no program 'no-such-mpirun'");
}

TEST_MAIN(TEST(real_ranks_agree), TEST(wrong_results_fail_whatever_the_speed),
	  TEST(what_was_not_compared_or_is_cut_is_an_error), TEST(no_results_are_told_apart),
	  TEST(no_launcher_is_a_skip))
