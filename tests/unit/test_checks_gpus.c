/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerators of recorded machines: AMD by its topology, NVIDIA by its driver's folder. */
#include "checks_scene.h"

static void amd(int node, const char *target, const char *bytes)
{
	AUTO_FREE char *dir = xasprintf("/sys/class/kfd/kfd/topology/nodes/%d", node);
	AUTO_FREE char *p = xasprintf("%s/properties", dir);
	AUTO_FREE char *b = xasprintf("%s/mem_banks/0/properties", dir);
	AUTO_FREE char *text =
		xasprintf("cpu_cores_count 0\nsimd_count 1216\ngfx_target_version %s\n", target);
	AUTO_FREE char *bank = xasprintf("heap_type 1\nsize_in_bytes %s\n", bytes);

	system_file(p, text);
	system_file(b, bank);
}

static enum result gpus(const char *settings, char *reason)
{
	AUTO_FREE char *root = system_root();
	AUTO_FREE char *all = xasprintf("gpus: {%s}", settings);

	return run_in(root, "hardware", all, reason);
}

static void none_found_is_a_number(void)
{
	char reason[REASON];

	CHECK_INT(gpus("count: 8", reason), RESULT_FAIL);
	CHECK_HAS(reason, "0 GPUs found, limit = 8");
	CHECK_INT(gpus("count: 0", NULL), RESULT_PASS);
}

static void amd_says_target_and_memory(void)
{
	char reason[REASON];

	system_file("/sys/class/kfd/kfd/topology/nodes/0/properties",
		    "cpu_cores_count 96\nsimd_count 0\n");
	amd(1, "90402", "206141652992");
	amd(2, "90402", "206141652992");
	CHECK_INT(gpus("count: 2, arch: gfx942, memory: \">= 191 GiB\"", NULL), RESULT_PASS);
	CHECK_INT(gpus("count: 2, arch: gfx950", reason), RESULT_FAIL);
	CHECK_HAS(reason, "GPU 0 is gfx942, wanted gfx950");
	CHECK_INT(gpus("count: \">= 2\", memory: \">= 200 GiB\"", reason), RESULT_FAIL);
	CHECK_HAS(reason, "GPU 0 has 206 GB");
	amd(3, "90010", "68702699520"); /* gfx90a: the stepping is hexadecimal */
	CHECK_INT(gpus("count: 3, arch: gfx942", reason), RESULT_FAIL);
	CHECK_HAS(reason, "GPU 2 is gfx90a");
}

static void what_is_not_said_is_an_error(void)
{
	char reason[REASON];

	amd(1, "0", "?");
	CHECK_INT(gpus("count: 1, arch: gfx942", reason), RESULT_ERROR);
	CHECK_HAS(reason, "does not say its architecture");
	CHECK_INT(gpus("count: 1, memory: \">= 1 GiB\"", reason), RESULT_ERROR);
	CHECK_HAS(reason, "does not say its memory");
	CHECK_INT(gpus("count: 1", NULL), RESULT_PASS);
}

static void nvidia_says_its_model(void)
{
	char reason[REASON];

	system_file("/proc/driver/nvidia/gpus/0000:19:00.0/information",
		    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n");
	CHECK_INT(gpus("count: 1, arch: NVIDIA H200", NULL), RESULT_PASS);
	CHECK_INT(gpus("count: 1, arch: NVIDIA H100", reason), RESULT_FAIL);
	CHECK_HAS(reason, "GPU 0 is NVIDIA H200");
	CHECK_INT(gpus("count: 1, memory: \">= 1 GiB\"", NULL), RESULT_ERROR);
}

TEST_MAIN(TEST(none_found_is_a_number), TEST(amd_says_target_and_memory),
	  TEST(what_is_not_said_is_an_error), TEST(nvidia_says_its_model))
