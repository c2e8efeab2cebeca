/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/internal.h"
#include "test.h"

static void a_limit_holds_or_not(void)
{
	static const struct {
		enum limit_op op;
		bool below, at, above;
	} cases[] = {
		{ LIMIT_LE, true, true, false },  { LIMIT_LT, true, false, false },
		{ LIMIT_GE, false, true, true },  { LIMIT_GT, false, false, true },
		{ LIMIT_EQ, false, true, false },
	};
	const struct limit none = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct limit l = { cases[i].op, 5, UNIT_NONE };

		CHECK_INT(limit_holds(&l, 4), cases[i].below);
		CHECK_INT(limit_holds(&l, 5), cases[i].at);
		CHECK_INT(limit_holds(&l, 6), cases[i].above);
		CHECK(!limit_holds(&l, NAN)); /* not measured is never good */
	}
	CHECK(limit_holds(&none, NAN) && limit_holds(&none, 1));
}

static void limits_are_printed_as_people_write_them(void)
{
	const struct limit a = { LIMIT_LE, 5e8, UNIT_NS }, none = { 0 };
	AUTO_FREE char *text = limit_text(&a), *nothing = limit_text(&none);

	CHECK_STR(text, "<= 500 ms");
	CHECK_STR(nothing, "no limit");
}

static void the_sign_is_taken_off_the_front(void)
{
	static const struct {
		const char *text;
		enum limit_op op;
		const char *rest;
	} cases[] = {
		{ "<= 5 ms", LIMIT_LE, "5 ms" },
		{ " >=5", LIMIT_GE, "5" },
		{ "< 5", LIMIT_LT, "5" },
		{ ">5", LIMIT_GT, "5" },
		{ "= 0", LIMIT_EQ, "0" },
		{ "== 0", LIMIT_EQ, "0" },
		{ "\xe2\x89\xa4 7", LIMIT_LE, "7" },
		{ "\xe2\x89\xa5 7", LIMIT_GE, "7" },
		{ "5", LIMIT_NONE, "5" },
		{ "", LIMIT_NONE, "" },
		{ "=> 5", LIMIT_EQ, "> 5" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sv text = sv_of(cases[i].text);

		CHECK_INT(limit_op_take(&text), cases[i].op);
		CHECK(sv_is(text, cases[i].rest));
	}
}

/* The first complaint about a limit, or "" for none. */
static char *complaint(const char *text, enum unit unit)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct reading r = { .bad = &bad };
	AUTO_FREE char *copy = xstrdup(text);
	const struct yaml y = { .text = copy };
	struct limit l = { 0 };
	bool ok = limit_read(&r, "k", &y, sv_of(text), unit, &l);

	CHECK_INT(ok, bad.n == 0);
	CHECK_INT(ok, l.op != LIMIT_NONE);
	return xstrdup(bad.n ? bad.v[0].text : "");
}

static void senseless_limits_are_told(void)
{
	static const struct {
		const char *text;
		enum unit unit;
		const char *want;
	} cases[] = {
		{ "<= 5 ms", UNIT_NS, "" },
		{ "0", UNIT_COUNT, "" },
		{ "= 0", UNIT_RATIO, "" },
		{ "> 0", UNIT_BYTES, "" },
		{ ">= -3", UNIT_NONE, "" },
		{ ">= -10 C", UNIT_CELSIUS, "" },
		{ ">= 0.9", UNIT_N, "" },
		{ ">= 5 GB/s", UNIT_N, "" },
		{ "< 0 s", UNIT_NS, "'k': '< 0 s' can never hold: a time is never below zero" },
		{ ">= 0 s", UNIT_NS, "'k': '>= 0 s' can never fail: a time is never below zero" },
		{ "> 1", UNIT_RATIO, "'k': '> 1' can never hold: a share is never above 100 %" },
		{ "= 5 %", UNIT_N, "" },
		{ "= 500 %", UNIT_N, "'k': a share is never above 100 %, got '= 500 %'" },
		{ ">= -300 C", UNIT_CELSIUS,
		  "'k': a temperature is never below zero, got '>= -300 C'" },
		{ "quick", UNIT_N,
		  "'k': expected a limit such as '<= 250 ms' or '>= 0.9', got 'quick'" },
		{ "<= 1e20 s", UNIT_NS, "'k': '1e20 s' is too large" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = complaint(cases[i].text, cases[i].unit);

		CHECK_STR(got, cases[i].want);
	}
}

TEST_MAIN(TEST(a_limit_holds_or_not), TEST(limits_are_printed_as_people_write_them),
	  TEST(the_sign_is_taken_off_the_front), TEST(senseless_limits_are_told))
