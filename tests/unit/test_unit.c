/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "test.h"

static void reads_what_people_write(void)
{
	static const struct {
		const char *text;
		double value;
		enum unit unit;
	} t[] = {
		{ "500 ms", 500e6, UNIT_NS },
		{ "0.5s", 0.5e9, UNIT_NS },
		{ "10 min", 600e9, UNIT_NS },
		{ "90 days", 7776000e9, UNIT_NS },
		{ "95 %", 0.95, UNIT_RATIO },
		{ "0.1%", 0.001, UNIT_RATIO },
		{ "4.0 TB/s", 4e12, UNIT_BYTES_PER_S },
		{ "191 GiB", 191. * 1073741824., UNIT_BYTES },
		{ "4/s", 4, UNIT_REQUESTS_PER_S },
		{ "1200 samples/s", 1200, UNIT_SAMPLES_PER_S },
		{ "0.925", 0.925, UNIT_NONE },
		{ "1e3 ms", 1e9, UNIT_NS },
		{ "-2 points", -0.02, UNIT_RATIO },
		{ "400 Gb/s", 50e9, UNIT_BYTES_PER_S },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		enum unit u = UNIT_N;
		double v = 0;

		CHECK(quantity_parse(sv_of(t[i].text), &v, &u));
		CHECK_NEAR(v, t[i].value, 1e-9 * fabs(t[i].value));
		CHECK_INT(u, t[i].unit);
	}
}

static void refuses_what_is_no_quantity(void)
{
	static const char *const bad[] = { "",    "ms",   "5 parsecs", "1.2.3 ms", "+5 ms",
					   "nan", "5 MS", "1e400 s",   "0x10 B",   "5 ms ms" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum unit u;
		double v;

		CHECK(!quantity_parse(sv_of(bad[i]), &v, &u));
	}
}

static void shows_what_people_read(void)
{
	static const struct {
		double v;
		enum unit u;
		const char *want;
	} t[] = {
		{ 12.4e6, UNIT_NS, "12.4 ms" },
		{ 0.95, UNIT_RATIO, "95 %" },
		{ 39.6e9, UNIT_BYTES_PER_S, "39.6 GB/s" },
		{ 125e9, UNIT_NS, "2 min 5 s" },
		{ 2622, UNIT_TOKENS_PER_S, "2622 tokens/s" },
		{ 0.417632, UNIT_NONE, "0.4176" },
		{ 1e5, UNIT_COUNT, "100000" },
		{ 123456, UNIT_NONE, "123456" },
		{ 1234.5, UNIT_RATIO, "123450 %" },
		{ NAN, UNIT_NS, "not measured" },
		{ INFINITY, UNIT_NS, "inf" },
		{ 999.6e3, UNIT_NS, "1 ms" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *s = quantity_text(t[i].v, t[i].u);

		CHECK_STR(s, t[i].want);
		free(s);
	}
}

static void record_integers_round_half_away(void)
{
	int64_t i;

	CHECK(quantity_to_int(2.5, UNIT_NS, &i) && i == 3);
	CHECK(quantity_to_int(-2.5, UNIT_NS, &i) && i == -3);
	CHECK(quantity_to_int(0.95, UNIT_RATIO, &i) && i == 950000000);
	CHECK(!quantity_to_int(1e16, UNIT_NS, &i));
	CHECK(!quantity_to_int(NAN, UNIT_NS, &i));
	CHECK(!quantity_to_int(INFINITY, UNIT_NS, &i));
}

static void names_read_back_and_kinds_hold(void)
{
	for (int i = 0; i < UNIT_N; i++) {
		enum unit u = UNIT_N;

		CHECK(unit_parse_name(sv_of(unit_name((enum unit)i)), &u));
		CHECK_INT(u, i);
		CHECK(unit_scale(u) > 0);
	}
	CHECK(unit_same_kind(UNIT_COUNT, UNIT_NONE));
	CHECK(!unit_same_kind(UNIT_NS, UNIT_BYTES));
	CHECK(!unit_same_kind(UNIT_TOKENS_PER_S, UNIT_REQUESTS_PER_S));
}

TEST_MAIN(TEST(reads_what_people_write), TEST(refuses_what_is_no_quantity),
	  TEST(shows_what_people_read), TEST(record_integers_round_half_away),
	  TEST(names_read_back_and_kinds_hold))
