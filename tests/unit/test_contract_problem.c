/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "contract/internal.h"
#include "test.h"

static void a_problem_is_one_line_with_its_place(void)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct reading r = { .bad = &bad };
	AUTO_FREE char *line = NULL;

	complain(&r, 3, 7, "a %s in\nthe text\x1b[31m", "break");
	line = problem_line("x.yaml", &bad.v[0]);
	CHECK(!strpbrk(line, "\n\x1b"));
	CHECK_HAS(line, "x.yaml:3:7: a break in");
}

static void what_stands_there_is_named(void)
{
	static const char *const texts[][2] = {
		{ "soon", "'soon'" }, { "", "nothing" },          { "~", "nothing" },
		{ "[]", "a list" },   { "{}", "a map" },          { "''", "''" },
		{ "'~'", "'~'" },     { "\"a\\x07b\"", "'a?b'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct yaml y CLEANUP(yaml_release) = { 0 };
		struct err err = { 0 };
		AUTO_FREE char *got = NULL;

		CHECK_OK(yaml_parse(sv_of(texts[i][0]), &y, &err), err);
		got = yaml_got(&y);
		CHECK_STR(got, texts[i][1]);
	}
}

static void names_are_listed_and_near_ones_found(void)
{
	static const char *const three[] = { "chat", "completions", "plain", NULL };
	static const char *const one[] = { "chat", NULL };
	AUTO_FREE char *all = names_text(three, "or"), *single = names_text(one, "or");
	AUTO_FREE char *near = nearest_text("chatt", three), *none = nearest_text("xyzzy", three);

	CHECK_STR(all, "chat, completions or plain");
	CHECK_STR(single, "chat");
	CHECK_STR(near, " (nearest: 'chat')");
	CHECK_STR(none, "");
}

TEST_MAIN(TEST(a_problem_is_one_line_with_its_place), TEST(what_stands_there_is_named),
	  TEST(names_are_listed_and_near_ones_found))
