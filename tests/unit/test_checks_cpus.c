/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void processors_and_memory_are_held_to_limits(void)
{
	CHECK_INT(run_one("hardware", "cpus: {count: \">= 1\"}", NULL, 0), RESULT_PASS);
	CHECK_INT(run_one("hardware", "cpus: {count: \">= 100000\"}", NULL, 0), RESULT_FAIL);
	CHECK_INT(run_one("hardware", "memory: {size: \">= 16 MiB\"}", NULL, 0), RESULT_PASS);
	CHECK_INT(run_one("hardware", "memory: {size: \">= 900 TiB\"}", NULL, 0), RESULT_FAIL);
}

static void what_is_there_is_measured(void)
{
	struct outcome c CLEANUP(outcome_release) =
		scene_check("hardware", "cpus: {count: \">= 1\"}", scene_command);
	struct outcome m CLEANUP(outcome_release) =
		scene_check("hardware", "memory: {size: \">= 16 MiB\"}", scene_command);

	CHECK(scene_number(&c.measured, "cpus") <= (double)sysconf(_SC_NPROCESSORS_CONF));
	CHECK(scene_number(&m.measured, "memory") <=
	      (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) * 1.01);
}

static void a_limit_is_needed(void)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct contract c CLEANUP(contract_release) = { 0 };
	AUTO_FREE char *text = xasprintf("%shardware: [cpus: {}]\n%s", scene_head, scene_command);
	struct err err = ERR_INIT;

	CHECK_INT(contract_parse(sv_of(text), "t", checks_schemas(), &c, &bad, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "could never fail");
}

TEST_MAIN(TEST(processors_and_memory_are_held_to_limits), TEST(what_is_there_is_measured),
	  TEST(a_limit_is_needed))
