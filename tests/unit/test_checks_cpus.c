/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and memory of a recorded machine: affinity is ours, limits come from its files. */
#include "checks_scene.h"

static void limits_hold_or_fail(void)
{
	char reason[REASON];

	CHECK_INT(run_one("hardware", "cpus: {count: \">= 1\"}", NULL), RESULT_PASS);
	CHECK_INT(run_one("hardware", "cpus: {count: \">= 4000\"}", reason), RESULT_FAIL);
	CHECK_HAS(reason, "limit >= 4000");
	CHECK_INT(run_one("hardware", "memory: {size: \">= 16 MiB\"}", NULL), RESULT_PASS);
	CHECK_INT(run_one("hardware", "memory: {size: \">= 900 TiB\"}", NULL), RESULT_FAIL);
}

static enum result quota_of(const char *group, const char *limit, char *reason)
{
	AUTO_FREE char *root = system_root();
	AUTO_FREE char *settings = xasprintf("cpus: {quota: \"%s\"}", limit);

	system_file("/proc/self/cgroup", group);
	return run_in(root, "hardware", settings, reason);
}

static void the_least_quota_on_the_way_up_counts(void)
{
	char reason[REASON];

	system_file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
	system_file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	CHECK_INT(quota_of("0::/a/b\n", "= 1.5", NULL), RESULT_PASS);
	CHECK_INT(quota_of("0::/a/b\n", ">= 2", reason), RESULT_FAIL);
	CHECK_HAS(reason, "processor quota: 1.5, limit >= 2");
	/* Nothing limits it: as many as there are. */
	CHECK_INT(quota_of("0::/\n", ">= 1000", NULL), RESULT_PASS);
	/* A path of another name space, of which only the top is there. */
	CHECK_INT(quota_of("0::/../../elsewhere\n", ">= 1000", NULL), RESULT_PASS);
}

static void version_1_of_the_groups_is_read_too(void)
{
	system_file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
	system_file("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
	CHECK_INT(quota_of("5:cpuset:/y\n4:cpu,cpuacct:/x\n", "= 0.5", NULL), RESULT_PASS);
	system_file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
	CHECK_INT(quota_of("4:cpu,cpuacct:/x\n", ">= 9", NULL), RESULT_PASS);
}

static void a_quota_that_cannot_be_read_never_passes(void)
{
	char reason[REASON];

	system_file("/sys/fs/cgroup/a/cpu.max", "lots 100000\n");
	CHECK_INT(quota_of("0::/a\n", ">= 1", reason), RESULT_ERROR);
	CHECK_HAS(reason, "cannot be read");
}

static void memory_is_what_the_group_grants(void)
{
	AUTO_FREE char *root = system_root();
	char reason[REASON];

	CHECK_INT(run_in(root, "hardware", "memory: {size: \">= 1 MiB\"}", reason), RESULT_ERROR);
	system_file("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
	CHECK_INT(run_in(root, "hardware", "memory: {size: \"= 8 GiB\"}", NULL), RESULT_PASS);
	system_file("/proc/self/cgroup", "0::/a/b\n");
	system_file("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	system_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
	CHECK_INT(run_in(root, "hardware", "memory: {size: \"= 1 GiB\"}", NULL), RESULT_PASS);
	CHECK_INT(run_in(root, "hardware", "memory: {size: \">= 8 GiB\"}", reason), RESULT_FAIL);
	CHECK_HAS(reason, "memory is 1.07 GB, limit >= 8.59 GB");
	system_file("/sys/fs/cgroup/a/memory.max", "?\n");
	CHECK_INT(run_in(root, "hardware", "memory: {size: \">= 1 MiB\"}", NULL), RESULT_ERROR);
}

static void a_check_without_a_limit_is_refused(void)
{
	static const char text[] = "hardware:\n  - cpus: {}\n";
	AUTO_FREE char *all = xasprintf("%s%s%s", scene_head, text, scene_command);
	struct contract c = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(contract_parse(sv_of(all), "t.yaml", checks_schemas(), &c, NULL, &err),
		  -ERR_PARSE);
	CHECK_HAS(err.msg, "could never fail");
}

TEST_MAIN(TEST(limits_hold_or_fail), TEST(the_least_quota_on_the_way_up_counts),
	  TEST(version_1_of_the_groups_is_read_too), TEST(a_quota_that_cannot_be_read_never_passes),
	  TEST(memory_is_what_the_group_grants), TEST(a_check_without_a_limit_is_refused))
