/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "test.h"

static bool near(const char *a, const char *b, double share)
{
	bool got = golden_near(sv_of(a), sv_of(b), share);

	CHECK_INT(golden_near(sv_of(b), sv_of(a), share), got);
	return got;
}

static void counts_changed_characters(void)
{
	CHECK(!near("0123456789", "0123456789", 0)); /* no tolerance: never asked */
	CHECK(near("0123456789", "01234x6789", 0.1));
	CHECK(!near("0123456789", "01234xy789", 0.1));
	CHECK(near("0123456789", "01234xy789", 0.2));
	/* One inserted at the front moves everything, and is one change. */
	CHECK(near("0123456789", "x012345678", 0.2));
	CHECK(!near("0123456789", "x012345678", 0.19));
	CHECK(near("kitten sitting", "sitten sittin", 0.15)); /* two changes of 14 */
	CHECK(!near("kitten sitting", "sitten sittin", 0.14));
}

static void a_character_of_several_bytes_is_one(void)
{
	CHECK(near("aäöüßaäöüß", "aäöüßaäöü€", 0.1));
	CHECK(!near("aäöüßaäöüß", "aäöüßaäö€€", 0.1));
}

static void lengths_too_far_apart_are_not_compared(void)
{
	CHECK(!near("", "abcdefghij", 0.9));
	CHECK(!near("a", "abcdefghij", 0.5));
	CHECK(near("", "", 0.5));
}

/* Against the whole table, by a simple generator. */
static void agrees_with_the_whole_table(void)
{
	uint32_t x = 7;

	for (int round = 0; round < 2000; round++) {
		char a[13] = "", b[13] = "";
		size_t n = 0, m = 0, t[13][13];
		double share;

		x = x * 1664525 + 1013904223;
		n = (x >> 8) % 12;
		m = (x >> 16) % 12;
		for (size_t i = 0; i < n; i++)
			a[i] = (char)('a' + ((x = x * 1664525 + 1013904223) >> 20) % 3);
		for (size_t i = 0; i < m; i++)
			b[i] = (char)('a' + ((x = x * 1664525 + 1013904223) >> 20) % 3);
		for (size_t i = 0; i <= n; i++)
			for (size_t j = 0; j <= m; j++)
				t[i][j] = !i   ? j
					  : !j ? i
					       : MIN(MIN(t[i - 1][j], t[i][j - 1]) + 1,
						     t[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
		share = (double)((x >> 10) % 100 + 1) / 101;
		CHECK_INT(near(a, b, share), t[n][m] <= (size_t)(share * (double)MAX(n, m)));
	}
}

TEST_MAIN(TEST(counts_changed_characters), TEST(a_character_of_several_bytes_is_one),
	  TEST(lengths_too_far_apart_are_not_compared), TEST(agrees_with_the_whole_table))
