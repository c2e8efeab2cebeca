/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "test.h"

static void names_what_failed_first(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(bail(&err, ERR_PARSE, "line %d: unknown key '%s'", 3, "drvier"), -ERR_PARSE);
	CHECK_INT(err_wrap(&err, "cannot read '%s'", "a.yaml"), -ERR_PARSE);
	CHECK_STR(err.msg, "cannot read 'a.yaml': line 3: unknown key 'drvier'");
	CHECK_INT(err_exit_code(&err), 65);
}

static void a_message_is_one_line(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(bail(&err, ERR_IO, "bad\nname\x1b[2J"), -ERR_IO);
	CHECK_STR(err.msg, "bad?name?[2J");
}

static void hints_at_the_nearest_name(void)
{
	static const char *const names[] = { "driver", "runtime", "hardware", NULL };
	struct err err = ERR_INIT;

	CHECK_STR(nearest_name("drvier", names), "driver");
	CHECK(nearest_name("xylophone", names) == NULL);
	err_hint_nearest(&err, "hardwar", names);
	CHECK_STR(err.hint, "Did you mean 'hardware'?");
}

static void a_long_message_is_cut_not_lost(void)
{
	struct err err = ERR_INIT;

	bail(&err, ERR_LIMIT, "%0600d", 1);
	CHECK_INT(strlen(err.msg), 511);
	err_wrap(&err, "front");
	CHECK_INT(strncmp(err.msg, "front: 0", 8), 0);
}

TEST_MAIN(TEST(names_what_failed_first), TEST(a_message_is_one_line),
	  TEST(hints_at_the_nearest_name), TEST(a_long_message_is_cut_not_lost))
