/* SPDX-License-Identifier: Apache-2.0 */
/* rccl-tests and nccl-tests: a script prints their table. */
#include "checks_scene.h"

/* Three sizes; the middle one's bandwidth, the log and the end are the test's. */
static void write_tool(const char *middle, const char *log, const char *end)
{
	AUTO_FREE char *text = xasprintf(
		"#!/bin/sh\ncat <<E\n"
		"# nThread 1 nGpus 2 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup "
		"iters: 5 iters: 20 "
		"agg iters: 1 validation: 1 graph: 0\n"
		"#  Rank  0 Group  0 Pid    100 on  n1 device  0 [0x05] AMD Instinct MI300X\n"
		"#  Rank  1 Group  0 Pid    100 on  n1 device  1 [0x15] AMD Instinct MI300X\n"
		"%s\n"
		"     1048576        262144     float     sum      -1    20.00   50.00   50.00     "
		" 0    20.00   "
		"50.00   50.00      0\n"
		"     2097152        524288     float     sum      -1    20.00   %s   %s      0    "
		"20.00   %s   %s"
		"      0\n"
		"     4194304       1048576     float     sum      -1    40.00   90.00   90.00     "
		" 0    40.00   "
		"90.00   90.00      0\n"
		"# Out of bounds values : 0 OK\n"
		"# Avg bus bandwidth    : %.4f\n#\nE\n%s\n",
		log, middle, middle, middle, middle, (50 + strtod(middle, NULL) + 90) / 3, end);

	test_file("all_reduce_perf", text, 0755);
}

static enum result collective(const char *settings, char *reason)
{
	AUTO_FREE char *all = xasprintf(
		"collective: {argv: [\"{dir}/all_reduce_perf\"], limit: 2 s%s}", settings);

	return run_one("communication", all, reason);
}

static void bandwidth_by_size_is_measured_and_held(void)
{
	char reason[REASON];
	SCENE(s);

	write_tool("70.00", "", "");
	scene_check(&s, "communication", "collective: {argv: [\"{dir}/all_reduce_perf\"]}",
		    scene_command);
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK_NEAR(measured(&s.o.measured, "collective.busbw.2097152"), 70e9, 1);
	CHECK_NEAR(measured(&s.o.measured, "ranks"), 2, 0);
	CHECK_INT(collective(", busbw: {4 MiB: \">= 80 GB/s\"}, ranks: 2", NULL), RESULT_PASS);
	CHECK_INT(collective(", busbw: {4 MiB: \">= 95 GB/s\"}", reason), RESULT_FAIL);
	CHECK_HAS(reason, "busbw at 4 MiB is 90 GB/s, limit >= 95 GB/s");
	CHECK_INT(collective(", busbw: {8 MiB: \">= 95 GB/s\"}", NULL), RESULT_ERROR);
	CHECK_INT(collective(", ranks: 8", reason), RESULT_FAIL);
	CHECK_HAS(reason, "2 ranks took part, limit = 8");
}

static void a_dip_as_sizes_grow_is_found(void)
{
	char reason[REASON];

	write_tool("30.00", "", "");
	CHECK_INT(collective("", NULL), RESULT_PASS);
	CHECK_INT(collective(", dip: 20 %", reason), RESULT_FAIL);
	CHECK_HAS(reason, "40 % below that of a smaller message");
	write_tool("45.00", "", "");
	CHECK_INT(collective(", dip: 20 %", NULL), RESULT_PASS);
}

static void the_transport_is_proven_by_the_log(void)
{
	char reason[REASON];

	write_tool("70.00", "n1:100:101 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", "");
	CHECK_INT(collective(", expect: [\"via P2P/IPC\"], refuse: [\"via NET/Socket\"]", NULL),
		  RESULT_PASS);
	write_tool("70.00", "n1:100:101 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET/Socket/0",
		   "");
	CHECK_INT(collective(", refuse: [\"via NET/Socket\"]", reason), RESULT_FAIL);
	CHECK_HAS(reason, "1 lines match 'via NET/Socket'");
	CHECK_INT(collective(", expect: [\"via P2P/IPC\"]", reason), RESULT_FAIL);
	CHECK_HAS(reason, "no line matches 'via P2P/IPC'");
}

static void an_end_that_is_not_good_is_no_pass(void)
{
	char reason[REASON];

	write_tool("70.00", "", "exit 3");
	CHECK_INT(collective("", reason), RESULT_FAIL);
	CHECK_HAS(reason, "exit 3");
	write_tool("70.00", "", "sleep 30");
	CHECK_INT(collective("", reason), RESULT_ERROR);
	test_file("all_reduce_perf", "#!/bin/sh\necho out of memory >&2; exit 2\n", 0755);
	CHECK_INT(collective("", reason), RESULT_FAIL);
	CHECK_HAS(reason, "no results (exit 2): out of memory");
	CHECK_INT(run_one("communication", "collective: {argv: [no-such-tool-x]}", reason),
		  RESULT_SKIP);
}

static void wrong_settings_are_refused(void)
{
	static const char *const bad[] = { "busbw: {big: \">= 1 GB/s\"}", "expect: [\"(\"]",
					   "dip: 200 %" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_FREE char *text =
			xasprintf("%scommunication:\n  - collective: {argv: [x], %s}\n%s",
				  scene_head, bad[i], scene_command);
		struct contract c = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(contract_parse(sv_of(text), "t.yaml", checks_schemas(), &c, NULL, &err),
			  -ERR_PARSE);
	}
}

TEST_MAIN(TEST(bandwidth_by_size_is_measured_and_held), TEST(a_dip_as_sizes_grow_is_found),
	  TEST(the_transport_is_proven_by_the_log), TEST(an_end_that_is_not_good_is_no_pass),
	  TEST(wrong_settings_are_refused))
