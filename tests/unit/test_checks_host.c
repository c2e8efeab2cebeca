/* SPDX-License-Identifier: Apache-2.0 */
/* Host settings of a recorded machine: what can't be read never passes. */
#include "checks_scene.h"

static enum result host(const char *settings, char *reason)
{
	AUTO_FREE char *root = system_root();
	AUTO_FREE char *all = xasprintf("host: {settings: {%s}}", settings);

	return run_in(root, "hardware", all, reason);
}

static void a_setting_that_cannot_be_read_never_passes(void)
{
	char reason[REASON];

	CHECK_INT(host("vm.no_such_setting: \"1\"", reason), RESULT_ERROR);
	CHECK_HAS(reason, "cannot be read here: vm.no_such_setting");
	CHECK_INT(host("governor: performance", NULL), RESULT_ERROR);
	CHECK_INT(host("iommu: \"off\"", NULL), RESULT_ERROR);
	CHECK_INT(run_one("hardware", "host: {settings: {vm.swappiness: no such value}}", NULL),
		  RESULT_FAIL);
}

static void values_are_compared_as_text(void)
{
	char reason[REASON];

	system_file("/proc/sys/vm/swappiness", "60\n");
	system_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	system_file("/proc/sys/net/core/somaxconn", "4096\n");
	CHECK_INT(host("swappiness: \"60\", thp: madvise, net.core.somaxconn: \"4096\"", NULL),
		  RESULT_PASS);
	CHECK_INT(host("swappiness: \"10 | 60\", thp: \"always|madvise\"", NULL), RESULT_PASS);
	CHECK_INT(host("swappiness: \"6\", thp: always", reason), RESULT_FAIL);
	CHECK_HAS(reason, "swappiness is '60', wanted '6'; thp is 'madvise', wanted 'always'");
	/* Wrong is worse than unknown, and both are not a pass. */
	CHECK_INT(host("swappiness: \"6\", numa_balancing: \"0\"", NULL), RESULT_FAIL);
	CHECK_INT(host("swappiness: \"60\", numa_balancing: \"0\"", NULL), RESULT_ERROR);
}

static void the_governor_is_that_of_every_processor(void)
{
	char reason[REASON];

	system_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	system_file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
	CHECK_INT(host("governor: performance", NULL), RESULT_PASS);
	system_file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
	CHECK_INT(host("governor: performance", reason), RESULT_FAIL);
	CHECK_HAS(reason, "governor is 'performance, powersave'");
}

static void the_iommu_is_what_its_groups_say(void)
{
	system_file("/sys/kernel/iommu_groups/0/type", "identity\n");
	system_file("/sys/kernel/iommu_groups/1/type", "identity\n");
	CHECK_INT(host("iommu: \"identity|off\"", NULL), RESULT_PASS);
	system_file("/sys/kernel/iommu_groups/2/type", "DMA-FQ\n");
	CHECK_INT(host("iommu: identity", NULL), RESULT_FAIL);
}

static void no_group_means_that_the_iommu_is_off(void)
{
	AUTO_FREE char *dir = path_join(test_dir(), "root/sys/kernel/iommu_groups");
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(dir, &err), err);
	CHECK_INT(host("iommu: \"off\"", NULL), RESULT_PASS);
}

static void unknown_names_are_refused(void)
{
	static const char *const bad[] = { "swapiness: \"1\"", "../../etc/passwd: x" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_FREE char *text = xasprintf("%shardware:\n  - host: {settings: {%s}}\n%s",
						 scene_head, bad[i], scene_command);
		struct contract c = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(contract_parse(sv_of(text), "t.yaml", checks_schemas(), &c, NULL, &err),
			  -ERR_PARSE);
	}
}

TEST_MAIN(TEST(a_setting_that_cannot_be_read_never_passes), TEST(values_are_compared_as_text),
	  TEST(the_governor_is_that_of_every_processor), TEST(the_iommu_is_what_its_groups_say),
	  TEST(no_group_means_that_the_iommu_is_off), TEST(unknown_names_are_refused))
