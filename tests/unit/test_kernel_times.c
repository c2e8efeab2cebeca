/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"
#include "test.h"

static void rocprof_tables_add_up_and_sort(void)
{
	struct kernel_times l CLEANUP(kernel_times_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(kernel_times_read(
			 SV("\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n"
			    "\"gemm<float, 4>\",10,5000,500,50.0\n"
			    "\"fused \"\"moe\"\" kernel\",3,9000,3000,90.0\n"
			    "\"gemm<float, 4>\",2,1000,500,1\n"),
			 &l, &err),
		 err);
	CHECK_INT(l.n, 2);
	CHECK_STR(l.v[0].name, "fused \"moe\" kernel");
	CHECK_STR(l.v[1].name, "gemm<float, 4>");
	CHECK(l.v[1].ns == 6000 && l.v[1].calls == 12);
}

static void nsys_and_torch_are_read_too(void)
{
	struct kernel_times a CLEANUP(kernel_times_release) = { 0 };
	struct kernel_times b CLEANUP(kernel_times_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(kernel_times_read(SV("Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
				      "98.1,12345,7,1763.6,ampere_sgemm_128x64_tn\n"),
				   &a, &err),
		 err);
	CHECK_STR(a.v[0].name, "ampere_sgemm_128x64_tn");
	CHECK(a.v[0].ns == 12345 && a.v[0].calls == 7);
	CHECK_OK(kernel_times_read(
			 SV("{\"schemaVersion\":1,\"traceEvents\":["
			    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"dur\":99},"
			    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"Cijk_A\",\"dur\":2.5},"
			    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"Cijk_A\",\"dur\":1.5}]}"),
			 &b, &err),
		 err);
	CHECK_INT(b.n, 1);
	CHECK(b.v[0].ns == 4000);
}

static void what_is_no_table_is_an_error(void)
{
	static const char *const bad[] = { "",
					   "hello\nworld\n",
					   "Name,TotalDurationNs\n",
					   "Name,TotalDurationNs\nk,soon\n",
					   "{\"a\":1}",
					   "{",
					   "[]",
					   "Name,TotalDurationNs\n,5\n",
					   "Name,TotalDurationNs\nk,-5\n" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kernel_times l CLEANUP(kernel_times_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(kernel_times_read(sv_of(bad[i]), &l, &err), -ERR_PARSE);
		CHECK_INT(l.n, 0);
	}
}

static void files_are_known_by_their_names(void)
{
	CHECK(kernel_times_named("out/1234_kernel_stats.csv"));
	CHECK(kernel_times_named("results.stats.csv"));
	CHECK(kernel_times_named("rank0.pt.trace.json"));
	CHECK(kernel_times_named("kernels.csv"));
	CHECK(!kernel_times_named("samples.csv"));
	CHECK(!kernel_times_named("kernel.log"));
}

TEST_MAIN(TEST(rocprof_tables_add_up_and_sort), TEST(nsys_and_torch_are_read_too),
	  TEST(what_is_no_table_is_an_error), TEST(files_are_known_by_their_names))
