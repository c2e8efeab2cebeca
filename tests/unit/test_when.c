/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/when.h"

#include "base/clock.h"
#include "base/err.h"
#include "test.h"

#define NOW 1796000000000

static char *at(const char *text, enum when way, bool end_of_day)
{
	struct err err = ERR_INIT;
	int64_t ms;

	if (when_parse("until", text, way, end_of_day, NOW, &ms, &err) < 0)
		return xstrdup(err.msg);
	return time_utc(ms);
}

static void days_times_and_lengths(void)
{
	static const struct {
		const char *text, *want;
		enum when way;
		bool end;
	} cases[] = {
		{ "2026-12-24", "2026-12-24T00:00:00.000Z", WHEN_AGO, false },
		{ "2026-12-24", "2026-12-24T23:59:59.999Z", WHEN_AHEAD, true },
		{ "2026-12-24T18:00", "2026-12-24T18:00:00.000Z", WHEN_AHEAD, true },
		{ " 2026-12-24 18:00 ", "2026-12-24T18:00:00.000Z", WHEN_AHEAD, true },
		{ "2026-12-24T18:00:01Z", "2026-12-24T18:00:01.000Z", WHEN_AGO, false },
		{ "2026-12-24T18:00:01.250Z", "2026-12-24T18:00:01.250Z", WHEN_AGO, false },
		{ "1 h", "2026-11-29T23:53:20.000Z", WHEN_AGO, false },
		{ "1 h", "2026-11-30T01:53:20.000Z", WHEN_AHEAD, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = at(cases[i].text, cases[i].way, cases[i].end);

		CHECK_STR(got, cases[i].want);
	}
}

static void anything_else_is_no_time(void)
{
	static const char *const bad[] = {
		"",  "soon", "2026-13-01", "2026-12-24T", "2026-12-2",
		"5", "-1 h", "2026-02-30", "24.12.2026",  "2026-12-24T25:00"
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_FREE char *got = at(bad[i], WHEN_AGO, false);

		CHECK_HAS(got, "--until: '");
		CHECK_HAS(got, "is no time");
	}
}

TEST_MAIN(TEST(days_times_and_lengths), TEST(anything_else_is_no_time))
