/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/err.h"

#include "test.h"

static void refuses_duplicates_and_trailing_text(void)
{
	struct err err = ERR_INIT;
	json_t *j = NULL;

	CHECK_INT(json_read(SV("{\"a\":1,\"a\":2}"), "'x'", &j, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "'x': line 1");
	CHECK_INT(json_read(SV("{} x"), "'x'", &j, &err), -ERR_PARSE);
	CHECK_INT(json_read(SV(""), "'x'", &j, &err), -ERR_PARSE);
}

static void names_the_member_that_is_wrong(void)
{
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL;
	const char *s;
	int64_t i;

	CHECK_OK(json_read(SV("{\"a\":\"x\",\"b\":2}"), "'x'", &j, &err), err);
	CHECK_OK(json_get_str(j, "a", &s, &err), err);
	CHECK_STR(s, "x");
	CHECK_INT(json_get_int(j, "a", &i, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "member 'a' is not an integer");
	CHECK_INT(json_get_str(j, "c", &s, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "member 'c' is missing");
	CHECK_INT(json_int_or(j, "b", 7), 2);
	CHECK_INT(json_int_or(j, "z", 7), 7);
}

static void foreign_bytes_never_break_the_text(void)
{
	AUTO_JSON json_t *o = json_object();
	char *text;

	json_put_str(o, "k", "a\xff\x1b");
	json_put_str(o, "none", NULL);
	text = json_text(o, false);
	CHECK_STR(text, "{\"k\":\"a??\"}");
	free(text);
}

TEST_MAIN(TEST(refuses_duplicates_and_trailing_text), TEST(names_the_member_that_is_wrong),
	  TEST(foreign_bytes_never_break_the_text))
