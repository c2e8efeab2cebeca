/* SPDX-License-Identifier: Apache-2.0 */
#include "base/extract.h"

#include "base/err.h"
#include "test.h"

/* "1 2.5 3" of what was found, or "!code: message". */
static char *found(struct extract_spec s, struct sv text)
{
	struct numbers l CLEANUP(numbers_release) = { 0 };
	struct str out CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (extract_run(&s, text, 3, &l, &err) < 0) {
		str_addf(&out, "!%s: %s", err_code_name(err.code), err.msg);
		return str_steal(&out);
	}
	for (size_t i = 0; i < l.n; i++)
		str_addf(&out, "%s%g", i ? " " : "", l.v[i]);
	return str_steal(&out);
}

static char *json(const char *pointer, const char *text)
{
	return found((struct extract_spec){ .how = EXTRACT_JSON, .pointer = pointer }, sv_of(text));
}

static void json_pointers_follow_rfc_6901(void)
{
	/* the document of RFC 6901, section 5, with numbers of our own */
	static const char doc[] = "{\"foo\":[1,2],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
				  "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";
	static const char *const cases[][2] = {
		{ "/foo", "1 2" },
		{ "/foo/0", "1" },
		{ "/", "0" },
		{ "/a~1b", "1" },
		{ "/c%d", "2" },
		{ "/e^f", "3" },
		{ "/g|h", "4" },
		{ "/i\\j", "5" },
		{ "/k\"l", "6" },
		{ "/ ", "7" },
		{ "/m~0n", "8" },
		{ "/foo/01", "!not_found: nothing found" },
		{ "/foo/-", "!not_found: nothing found" },
		{ "/foo/2", "!not_found: nothing found" },
		{ "/nope/x", "!not_found: nothing found" },
		{ "", "!parse: an object where a number was expected" },
		{ "foo", "!parse: 'foo' is not a JSON pointer: it looks like '/results/0/value'" },
		{ "/a~2",
		  "!parse: '/a~2' is not a JSON pointer: it looks like '/results/0/value'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = json(cases[i][0], doc);

		CHECK_STR(got, cases[i][1]);
	}
}

static void json_gives_numbers_or_says_why_not(void)
{
	static const char *const cases[][3] = {
		{ "", "12.5", "12.5" },
		{ "", " 7\n", "7" },
		{ "/a", "{\"a\":\"1,234.5\"}", "1234.5" },
		{ "/a", "{\"a\":true}", "1" },
		{ "/a", "{\"a\":null}", "!parse: null where a number was expected" },
		{ "/a", "{\"a\":\"12 GB\"}", "!parse: '12 GB' is not a number" },
		{ "/a", "{\"a\":[[1]]}",
		  "!parse: an array in an array where a number was expected" },
		{ "/a", "{\"a\":[]}", "!not_found: nothing found" },
		{ "/a", "{\"a\":18446744073709551616}", "1.84467e+19" },
		{ "/a", "", "!not_found: no output" },
		{ "/a", "{\"a\":1,",
		  "!parse: neither JSON nor JSON lines: line 1: string or '}' "
		  "expected near end of file" },
		{ "/a", "hello\n{\"a\":1}\n{\"b\":9}\n  {\"a\":2}\n{broken\n", "1 2" },
		{ "/a", "warming up\n{\"b\":9}\n", "!not_found: nothing found" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = json(cases[i][0], cases[i][1]);

		CHECK_STR(got, cases[i][2]);
	}
}

static void deep_json_is_refused(void)
{
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *got = NULL;

	str_pad(&s, '[', 100000);
	got = json("/a", str_text(&s));
	CHECK_STR(got, "!parse: neither JSON nor JSON lines: line 1: more than 64 levels");
}

static char *csv(struct extract_spec s, const char *text)
{
	s.how = EXTRACT_CSV;
	return found(s, sv_of(text));
}

static void csv_columns_are_found_by_name_or_number(void)
{
	static const char text[] = "op, size,\"bus, bw\"\r\ncopy,8,1.5\r\n\r\ntriad,8,\"2,500\"\r\n"
				   "triad,16,\"3\"\"\"\r\n";
	static struct pair triad8[] = { { "op", "triad" }, { "size", "8" } };
	static struct pair copy[] = { { "op", "copy" } }, absent[] = { { "kind", "x" } };
	const struct pairs p = { triad8, 2, 2 }, q = { copy, 1, 1 }, r = { absent, 1, 1 };
	const struct {
		struct extract_spec s;
		const char *want;
	} cases[] = {
		{ { .column = "size" }, "8 8 16" },
		{ { .column = "2" }, "8 8 16" },
		{ { .column = "size", .row = 3 }, "16" },
		{ { .column = "size", .row = -2 }, "8" },
		{ { .column = "size", .row = 4 }, "!not_found: nothing found" },
		{ { .column = "size", .row = -4 }, "!not_found: nothing found" },
		{ { .column = "size", .row = INT64_MIN }, "!not_found: nothing found" },
		{ { .column = "bus, bw", .where = &p }, "2500" },
		{ { .column = "bus, bw", .where = &q }, "1.5" },
		{ { .column = "bus, bw", .where = &r }, "!not_found: no column 'kind'" },
		{ { .column = "bus, bw" }, "!parse: line 5: '3\"' is not a number" },
		{ { .column = "bw" }, "!not_found: no column 'bw'" },
		{ { .column = "4" }, "!not_found: no column '4'" },
		{ { .column = "" }, "!parse: a CSV column must be named" },
		{ { .column = "a", .delimiter = '"' },
		  "!parse: a quote or a line end can't part cells" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = csv(cases[i].s, text);

		CHECK_STR(got, cases[i].want);
	}
}

static void csv_that_is_broken_says_where(void)
{
	static const struct {
		char delimiter;
		const char *text, *want;
	} cases[] = {
		{ '\t', "a\tv\nx\t1\ny\t2", "1 2" },
		{ ';', "\xef\xbb\xbfv;a\n1;2\n", "1" },
		{ 0, "a,v\n1\n", "!parse: line 2: 1 cells, column 2 was expected" },
		{ 0, "a,v\n1,\"2\n\n", "!parse: line 2: a quoted cell does not end" },
		{ 0, "a,v\n1,\n", "!parse: line 2: '' is not a number" },
		{ 0, "a,v\n1,\"7\r\n\"\n", "7" },
		{ 0, "", "!not_found: no output" },
		{ 0, "\n\n", "!not_found: no output" },
		{ 0, "a,v\n", "!not_found: nothing found" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got =
			csv((struct extract_spec){ .column = "v", .delimiter = cases[i].delimiter },
			    cases[i].text);

		CHECK_STR(got, cases[i].want);
	}
}

static char *pattern(enum extract_how how, const char *p, const char *text)
{
	return found((struct extract_spec){ .how = how, .pattern = p }, sv_of(text));
}

static void patterns_give_their_value_group(void)
{
	static const char text[] = "step 1 loss 2.5\nstep 2 loss 1,024.25\nstep 3 loss nan\n";
	static const char *const cases[][2] = {
		{ "^step (?<step>\\d) loss (?<value>[\\d.,]+)$", "2.5 1024.25" },
		{ "step (\\d)", "1 2 3" },
		{ "loss (?<value>\\S+)", "!parse: 'nan' is not a number" },
		{ "(?<value>9)", "!not_found: nothing found" },
		{ "nan(?<value>x)?", "!not_found: nothing found" },
		{ "(\\d) (\\w)", "!parse: pattern: a group (?<value>...) must mark the number" },
		{ "step", "!parse: pattern: a group (?<value>...) must mark the number" },
		{ "(?<value>", "!parse: pattern: missing closing parenthesis at character 10" },
		{ "(?<value>)", "!parse: '' is not a number" },
		{ "(*UTF)(.)", "!parse: pattern: using UTF is disabled by the application at "
			       "character 7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = pattern(EXTRACT_PATTERN, cases[i][0], text);

		CHECK_STR(got, cases[i][1]);
	}
}

static void a_pattern_that_needs_too_much_work_ends(void)
{
	AUTO_FREE char *got = pattern(EXTRACT_PATTERN, "^(a+)+$",
				      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");

	CHECK_STR(got, "!limit: pattern: match limit exceeded");
}

static void lines_and_exit_codes_are_numbers(void)
{
	AUTO_FREE char *two = pattern(EXTRACT_LINES, "^ok", "ok 1\nnot ok\nok 2");
	AUTO_FREE char *none = pattern(EXTRACT_LINES, "x", "");
	AUTO_FREE char *three = found((struct extract_spec){ .how = EXTRACT_EXIT }, SV(""));
	AUTO_FREE char *nothing = found((struct extract_spec){ 0 }, SV("1"));

	CHECK_STR(two, "2");
	CHECK_STR(none, "0");
	CHECK_STR(three, "3");
	CHECK_STR(nothing, "!parse: nothing says where the number stands");
}

static void only_whole_numbers_with_right_groups_count(void)
{
	static const char *const cases[][2] = {
		{ "1,234", "1234" },   { "1,234,567.5", "1.23457e+06" },
		{ "+5", "5" },         { "-1e-3", "-0.001" },
		{ "12,34", "!" },      { "1234,567", "!" },
		{ ",123", "!" },       { "1,234,56", "!" },
		{ "+-5", "!" },        { "0x10", "!" },
		{ "inf", "!" },        { "1e999", "!" },
		{ "", "!" },           { "5%", "!" },
		{ "-1,234", "-1234" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = xasprintf("\"%s\"", cases[i][0]), *got = json("", text);

		if (cases[i][1][0] == '!')
			CHECK_HAS(got, "is not a number");
		else
			CHECK_STR(got, cases[i][1]);
	}
}

static void numbers_are_scaled_and_put_together(void)
{
	struct extract_spec s = { .how = EXTRACT_JSON, .pointer = "", .scale = 1e6 };
	struct numbers l CLEANUP(numbers_release) = { 0 };
	struct numbers none = { 0 };
	struct err err = ERR_INIT;
	static const double want[AGG_N] = {
		[AGG_LAST] = 4e6,     [AGG_FIRST] = 3e6,  [AGG_MIN] = 1e6, [AGG_MAX] = 4e6,
		[AGG_MEDIAN] = 2.5e6, [AGG_MEAN] = 2.5e6, [AGG_SUM] = 1e7, [AGG_COUNT] = 4,
	};

	CHECK_OK(extract_run(&s, SV("[3, 1, 2, 4]"), 0, &l, &err), err);
	for (int i = 0; i < AGG_N; i++)
		CHECK_NEAR(extract_agg((enum extract_agg)i, &l), want[i], 0);
	CHECK(isnan(extract_agg(AGG_MEAN, &none)));
	CHECK_INT(extract_agg(AGG_COUNT, &none), 0);
	CHECK_STR(extract_agg_name(AGG_MEDIAN), "median");
	s.scale = 1e308;
	CHECK_INT(extract_run(&s, SV("[100]"), 0, &none, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "a number too large");
	CHECK_INT(none.n, 0);
}

TEST_MAIN(TEST(json_pointers_follow_rfc_6901), TEST(json_gives_numbers_or_says_why_not),
	  TEST(deep_json_is_refused), TEST(csv_columns_are_found_by_name_or_number),
	  TEST(csv_that_is_broken_says_where), TEST(patterns_give_their_value_group),
	  TEST(a_pattern_that_needs_too_much_work_ends), TEST(lines_and_exit_codes_are_numbers),
	  TEST(only_whole_numbers_with_right_groups_count),
	  TEST(numbers_are_scaled_and_put_together))
