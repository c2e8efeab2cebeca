/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"
#include "test.h"

#define HEAD                                                                                       \
	"# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 "    \
	"agg iters: 1 validation: 1 graph: 0\n"                                                    \
	"#\n"                                                                                      \
	"# Using devices\n"                                                                        \
	"#  Rank  0 Group  0 Pid  101 on    n1 device  0 [0000:05:00] AMD Instinct MI300X\n"       \
	"#  Rank  1 Group  0 Pid  102 on    n2 device  0 [0000:15:00] AMD Instinct MI300X\n"
#define COLUMNS                                                                                    \
	"#       size         count      type   redop    root     time   algbw   busbw #wrong  "   \
	"   time   algbw   busbw #wrong\n"
#define ROW8                                                                                       \
	"           8             2     float     sum      -1    20.0    1.00    2.00      0    "  \
	"21.0    1.50    3.00      0\n"
#define ROW16                                                                                      \
	"          16             4     float     sum      -1    20.0    2.00    4.00      0    "  \
	"21.0    2.50    5.00      0\n"
#define GOOD "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.5 \n#\n"

static void reads(const char *text, struct nccl_tests *t)
{
	struct err err = ERR_INIT;

	CHECK_OK(nccl_tests_read(sv_of(text), t, &err), err);
}

static void a_complete_run(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads("+ mpirun -np 2 ./build/all_reduce_perf -b 8 -e 16 -f 2\n" HEAD
	      "RCCL version : 2.22.3-develop:f5b15f2\nHIP version  : 6.3.42131\n"
	      "ROCm version : 6.3.0.0-39\nLibrccl path : /opt/rocm/lib/librccl.so.1\n" COLUMNS ROW8
	      "Connect QP\n" ROW16 GOOD,
	      &t);
	CHECK(t.complete);
	CHECK(t.checked);
	CHECK_STR(t.test, "all_reduce_perf");
	CHECK_STR(t.lib_version, "2.22.3-develop:f5b15f2");
	CHECK_STR(t.rocm_version, "6.3.0.0-39");
	CHECK_STR(t.hip_version, "6.3.42131");
	CHECK_STR(t.lib_path, "/opt/rocm/lib/librccl.so.1");
	CHECK_STR(t.device, "AMD Instinct MI300X");
	CHECK_INT(t.ranks, 2);
	CHECK_INT(t.hosts, 2);
	CHECK_INT(t.validation, 1);
	CHECK_INT(t.iters, 20);
	CHECK_INT(t.warmup, 5);
	CHECK_INT(t.max_bytes, 16);
	CHECK_INT(t.rows.n, 2);
	CHECK_NEAR(t.rows.v[0].out.busbw, 2e9, 1);
	CHECK_NEAR(nccl_tests_row(&t, 0)->in.busbw, 5e9, 1);
	CHECK_INT(nccl_tests_row(&t, 8)->bytes, 8);
	CHECK(!nccl_tests_row(&t, 9));
	CHECK_INT(t.out_of_bounds, 0);
	CHECK(t.out_of_bounds_ok);
	CHECK_NEAR(t.avg_busbw, 3.5e9, 1);
	CHECK_NEAR(t.mean_busbw, 3.5e9, 1);
	CHECK_INT(t.wrong_total, 0);
}

static void is_incomplete(const char *text, const char *why)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads(text, &t);
	CHECK(!t.complete);
	CHECK_STR(t.why_not, why);
}

static void missing_parts_are_never_complete(void)
{
	is_incomplete(HEAD COLUMNS GOOD, "no result rows");
	is_incomplete(HEAD COLUMNS ROW8 ROW16,
		      "no 'Out of bounds values' line: the run did not end");
	is_incomplete(HEAD COLUMNS ROW8 ROW16 "# Out of bounds values : 0 OK\n",
		      "no 'Avg bus bandwidth' line: the run did not end");
	is_incomplete(HEAD COLUMNS ROW8
		      "          16             4     float     sum      -1    83.",
		      "a result row is cut");
	is_incomplete(HEAD COLUMNS ROW8 "...\n" ROW16 GOOD, "parts of the output were removed");
	is_incomplete(HEAD COLUMNS ROW8 GOOD,
		      "the printed average is not the mean of the rows: rows are missing");
	is_incomplete(HEAD COLUMNS ROW8 ROW16 GOOD " .. n1 pid 7: Test failure common.cu:1127\n",
		      ".. n1 pid 7: Test failure common.cu:1127");
	is_incomplete("There are not enough slots available in the system to satisfy the 16\n",
		      "There are not enough slots available in the system to satisfy the 16");
}

static void wrong_results_are_counted(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads(HEAD COLUMNS " 8 2 float sum -1 20.0 1.00 2.00 4 21.0 1.50 3.00 2.68435e+08\n"
			   "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 2.5 \n",
	      &t);
	CHECK(t.complete);
	CHECK(t.checked);
	CHECK_INT(t.wrong_total, 4 + 268435000);
	CHECK_INT(t.out_of_bounds, 2);
	CHECK(!t.out_of_bounds_ok);
}

static void results_nobody_checked(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads("# nThread 1 nGpus 8 minBytes 1 maxBytes 2 step: 2(factor) iters: 20 validation: 0\n"
	      "#  size count type redop time algbw busbw error time algbw busbw error\n"
	      " 32 1 float 89.00 0.00 1.00 N/A 85.13 0.00 1.00 N/A\n"
	      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n",
	      &t);
	CHECK(t.complete);
	CHECK(!t.checked);
	CHECK_INT(t.rows.v[0].out.wrong, -1);
	CHECK_STR(t.rows.v[0].redop, "");
}

static void the_old_error_column_is_a_deviation(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads("# nThread 1 nGpus 8 minBytes 1 maxBytes 2 step: 2(factor) iters: 20 validation: 1\n"
	      "#  size count type redop time algbw busbw error time algbw busbw error\n"
	      " 32 8 float sum 89.00 0.00 1.00 1e-07 85.13 0.00 1.00 0e+00\n"
	      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n",
	      &t);
	CHECK(t.checked);
	CHECK_INT(t.rows.v[0].out.wrong, -1);
	CHECK_NEAR(t.rows.v[0].out.error, 1e-7, 1e-12);
	CHECK_STR(t.rows.v[0].redop, "sum");
}

static void the_newest_layout_has_iters(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };

	reads("# Collective test starting: all_gather_perf\n"
	      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 1(bytes) warmup iters: 1 iters: 20 "
	      "agg iters: 1 validation: 1 graph: 0\n"
	      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong "
	      "#iters\n"
	      " 8 2 float none -1 20.0 1.00 2.00 0 21.0 1.50 3.00 0 20\n"
	      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5 FAILED\n",
	      &t);
	CHECK(t.complete);
	CHECK(t.avg_failed);
	CHECK_STR(t.test, "all_gather_perf");
	CHECK_NEAR(t.rows.v[0].in.time_us, 21.0, 0);
	CHECK_INT(t.rows.v[0].in.wrong, 0);
}

static void other_text_is_refused(void)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(nccl_tests_read(SV("hello\n12 13 14\n"), &t, &err), -ERR_PARSE);
	CHECK(!nccl_tests_sniff(SV("hello\n")));
	CHECK(nccl_tests_sniff(SV(HEAD)));
}

TEST_MAIN(TEST(a_complete_run), TEST(missing_parts_are_never_complete),
	  TEST(wrong_results_are_counted), TEST(results_nobody_checked),
	  TEST(the_old_error_column_is_a_deviation), TEST(the_newest_layout_has_iters),
	  TEST(other_text_is_refused))
