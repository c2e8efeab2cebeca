/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void a_setting_that_cannot_be_read_never_passes(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware", "host: {settings: {vm.no_such_setting: \"1\"}}", reason,
			  sizeof(reason)),
		  RESULT_ERROR);
	CHECK_HAS(reason, "cannot be read here");
	CHECK_INT(run_one("hardware", "host: {settings: {vm.swappiness: no such value}}", NULL, 0),
		  RESULT_FAIL);
}

static void a_setting_is_held_to_its_words(void)
{
	AUTO_FREE char *now = file_first_line("/proc/sys/vm/swappiness");
	AUTO_FREE char *one = NULL;
	AUTO_FREE char *several = NULL;

	if (!now)
		test_skip("no /proc/sys/vm/swappiness");
	one = xasprintf("host: {settings: {swappiness: \"%s\"}}", now);
	several = xasprintf("host: {settings: {vm.swappiness: \"x | %s\", kernel.ostype: Linux}}",
			    now);
	CHECK_INT(run_one("hardware", one, NULL, 0), RESULT_PASS);
	CHECK_INT(run_one("hardware", several, NULL, 0), RESULT_PASS);
}

/* What is wrong is told before what can't be read: the first is certain. */
static void wrong_comes_before_unknown(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware", "host: {settings: {vm.no_such: \"1\", kernel.ostype: Plan9}}",
			  reason, sizeof(reason)),
		  RESULT_FAIL);
	CHECK_STR(reason, "kernel.ostype is 'Linux', wanted 'Plan9'");
}

static void a_setting_nobody_knows_is_refused(void)
{
	static const struct {
		const char *setting, *want;
	} t[] = {
		{ "swapiness: \"1\"", "unknown setting 'swapiness' (nearest: 'swappiness')" },
		{ "../../etc/passwd: \"1\"", "unknown setting '../../etc/passwd'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct problems bad CLEANUP(problems_release) = { 0 };
		struct contract c CLEANUP(contract_release) = { 0 };
		AUTO_FREE char *text = xasprintf("%shardware: [host: {settings: {%s}}]\n%s",
						 scene_head, t[i].setting, scene_command);
		struct err err = ERR_INIT;

		CHECK_INT(contract_parse(sv_of(text), "t", checks_schemas(), &c, &bad, &err),
			  -ERR_PARSE);
		CHECK_HAS(err.msg, t[i].want);
	}
}

TEST_MAIN(TEST(a_setting_that_cannot_be_read_never_passes), TEST(a_setting_is_held_to_its_words),
	  TEST(wrong_comes_before_unknown), TEST(a_setting_nobody_knows_is_refused))
