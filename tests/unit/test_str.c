/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "test.h"

static void grows_to_its_limit_and_says_so(void)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_init(&s, 5);
	str_add(&s, "abc");
	CHECK(!s.over);
	str_add(&s, "defg");
	CHECK(s.over);
	CHECK_STR(str_text(&s), "abcde");
}

static void long_formats_are_whole(void)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s, "%0500d|", 7);
	CHECK_INT(s.n, 501);
	CHECK_INT(str_text(&s)[500], '|');
}

static void splits_lines_and_words(void)
{
	struct sv rest = SV("a b\r\n\nc"), v;

	CHECK(sv_line(&rest, &v) && sv_is(v, "a b"));
	CHECK(sv_line(&rest, &v) && sv_is(v, ""));
	CHECK(sv_line(&rest, &v) && sv_is(v, "c"));
	CHECK(!sv_line(&rest, &v));
	rest = SV("  x   yz ");
	CHECK(sv_word(&rest, &v) && sv_is(v, "x"));
	CHECK(sv_word(&rest, &v) && sv_is(v, "yz"));
	CHECK(!sv_word(&rest, &v));
	rest = SV("a,,b,");
	CHECK(sv_split(&rest, ',', &v) && sv_is(v, "a"));
	CHECK(sv_split(&rest, ',', &v) && sv_is(v, ""));
	CHECK(sv_split(&rest, ',', &v) && sv_is(v, "b"));
	CHECK(sv_split(&rest, ',', &v) && sv_is(v, ""));
	CHECK(!sv_split(&rest, ',', &v));
}

static void numbers_are_whole_and_in_range(void)
{
	int64_t i;
	uint64_t u;
	double d;

	CHECK(sv_to_i64(SV("-9223372036854775808"), INT64_MIN, INT64_MAX, &i) && i == INT64_MIN);
	CHECK(!sv_to_i64(SV("9223372036854775808"), INT64_MIN, INT64_MAX, &i));
	CHECK(!sv_to_i64(SV("12x"), 0, 100, &i));
	CHECK(!sv_to_i64(SV("101"), 0, 100, &i));
	CHECK(!sv_to_i64(SV(""), 0, 100, &i));
	CHECK(sv_to_u64(SV("18446744073709551615"), &u) && u == UINT64_MAX);
	CHECK(!sv_to_u64(SV("18446744073709551616"), &u));
	CHECK(sv_to_hex(SV("0xFf"), &u) && u == 255);
	CHECK(sv_to_f64(SV("1.5e3"), &d) && d == 1500.0);
	CHECK(!sv_to_f64(SV("1e999"), &d));
	CHECK(!sv_to_f64(SV("nan"), &d));
	CHECK(!sv_to_f64(SV("0x10"), &d));
	for (int zeros = 60; zeros <= F64_MAX_CHARS; zeros += 10) {
		AUTO_FREE char *text = xasprintf("%0*d", zeros, 7);

		CHECK(sv_to_f64(sv_of(text), &d) && d == 7.0);
	}
}

static void refuses_broken_utf8(void)
{
	CHECK(utf8_valid(SV("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80")));
	CHECK(!utf8_valid(SV("\xc0\xaf")));
	CHECK(!utf8_valid(SV("\xed\xa0\x80")));
	CHECK(!utf8_valid(SV("\xf4\x90\x80\x80")));
	CHECK(!utf8_valid(SV("\xe2\x82")));
}

static void cleans_text_for_a_terminal(void)
{
	AUTO_FREE char *s = text_clean(SV("a\x1b[31m\xc2\x9b"
					  "b\xff\tc"));

	AUTO_FREE char *turned = text_clean(SV("a\u202eb\u2066c\u2069d\u200ee\u061cf\u2026g"));

	CHECK_STR(s, "a?[31m?b? c");
	CHECK_STR(turned, "a?b?c?d?e?f\u2026g");
}

TEST_MAIN(TEST(grows_to_its_limit_and_says_so), TEST(long_formats_are_whole),
	  TEST(splits_lines_and_words), TEST(numbers_are_whole_and_in_range),
	  TEST(refuses_broken_utf8), TEST(cleans_text_for_a_terminal))
