/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU room against a library of our own (TWICE_FAKE_GPULIB). */
#include "base/clock.h"
#include "gpu/gpu.h"
#include "test.h"

static struct gpu_answer asked(enum gpu_lib lib, const char *env, const char *how, int64_t limit_ns)
{
	struct gpu_answer a;

	CHECK_INT(setenv(env, getenv("TWICE_FAKE_GPULIB"), 1), 0);
	CHECK_INT(setenv("FAKE_GPU", how, 1), 0);
	gpu_ask(lib, limit_ns, &a);
	return a;
}

#define LONG (20 * NS_PER_S)

static void each_library_answers(void)
{
	struct gpu_answer a = asked(GPU_HIP, "TWICE_LIB_HIP", "ok", LONG);

	CHECK(a.loaded);
	CHECK(a.works);
	CHECK_STR(a.version, "6.3.42131");
	CHECK_INT(a.devices, 8);
	CHECK_HAS(a.path, "fake_gpu");
	CHECK_STR(a.why, "");
	a = asked(GPU_RCCL, "TWICE_LIB_RCCL", "ok", LONG);
	CHECK(a.works);
	CHECK_STR(a.version, "2.22.3");
	CHECK_INT(a.devices, -1);
	a = asked(GPU_NVML, "TWICE_LIB_NVML", "ok", LONG);
	CHECK(a.works);
	CHECK_STR(a.version, "570.133.20");
	CHECK_INT(a.devices, 2);
	a = asked(GPU_AMDSMI, "TWICE_LIB_AMDSMI", "ok", LONG);
	CHECK(a.works);
}

static void an_error_is_said(void)
{
	struct gpu_answer a = asked(GPU_HIP, "TWICE_LIB_HIP", "error", LONG);

	CHECK(a.loaded);
	CHECK(!a.works);
	CHECK_STR(a.why, "hipRuntimeGetVersion gives error 100");
	CHECK_INT(a.devices, -1);
}

static void a_missing_function_is_said(void)
{
	struct gpu_answer a = asked(GPU_CUDART, "TWICE_LIB_CUDART", "ok", LONG);

	CHECK(!a.loaded);
	CHECK(!a.works);
	CHECK_STR(a.why, "it has no function cudaRuntimeGetVersion");
}

static void a_missing_library_is_said(void)
{
	struct gpu_answer a;

	CHECK_INT(setenv("TWICE_LIB_NCCL", "/nonexistent/libnccl.so.2", 1), 0);
	gpu_ask(GPU_NCCL, LONG, &a);
	CHECK(!a.loaded);
	CHECK_HAS(a.why, "/nonexistent/libnccl.so.2");
}

static void a_library_that_hangs_costs_its_limit_only(void)
{
	struct gpu_answer a = asked(GPU_HIP, "TWICE_LIB_HIP", "hang", 200 * NS_PER_MS);

	CHECK(!a.loaded);
	CHECK_STR(a.why, "hip: no answer in time");
}

static void a_library_that_dies_takes_nothing_along(void)
{
	struct gpu_answer a = asked(GPU_HIP, "TWICE_LIB_HIP", "crash", LONG);

	CHECK(!a.works);
	CHECK_STR(a.why, "hip: it died with signal 6");
}

static void version_numbers(void)
{
	char v[80];

	gpu_version_text(GPU_CUDART, 12080, v, sizeof(v));
	CHECK_STR(v, "12.8");
	gpu_version_text(GPU_NCCL, 2708, v, sizeof(v));
	CHECK_STR(v, "2.7.8");
	gpu_version_text(GPU_NCCL, 22805, v, sizeof(v));
	CHECK_STR(v, "2.28.5");
}

TEST_MAIN(TEST(each_library_answers), TEST(an_error_is_said), TEST(a_missing_function_is_said),
	  TEST(a_missing_library_is_said), TEST(a_library_that_hangs_costs_its_limit_only),
	  TEST(a_library_that_dies_takes_nothing_along), TEST(version_numbers))
