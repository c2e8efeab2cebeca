/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "test.h"

static void stamps_are_utc_and_read_back(void)
{
	char *s = time_utc(INT64_C(1796119440123));
	int64_t ms;

	CHECK_STR(s, "2026-12-01T10:04:00.123Z");
	CHECK(time_utc_parse(s, &ms));
	CHECK_INT(ms, INT64_C(1796119440123));
	CHECK(!time_utc_parse("2026-02-30T00:00:00.000Z", &ms));
	CHECK(!time_utc_parse("2026-02-20T00:00:00Z", &ms));
	free(s);
	s = time_utc(-1);
	CHECK_STR(s, "1969-12-31T23:59:59.999Z");
	free(s);
}

static void durations_read_well(void)
{
	static const struct {
		int64_t ns;
		const char *want;
	} t[] = {
		{ 12 * NS_PER_US, "12 us" },        { 310 * NS_PER_MS, "310 ms" },
		{ 1240 * NS_PER_MS, "1.24 s" },     { 125 * NS_PER_S, "2 min 5 s" },
		{ 11400 * NS_PER_S, "3 h 10 min" }, { -1, "unknown" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *s = duration_text(t[i].ns);

		CHECK_STR(s, t[i].want);
		free(s);
	}
}

TEST_MAIN(TEST(stamps_are_utc_and_read_back), TEST(durations_read_well))
