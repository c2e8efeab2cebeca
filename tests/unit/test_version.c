/* SPDX-License-Identifier: Apache-2.0 */
#include "envelope/envelope.h"
#include "test.h"

/* In ascending order; each differs from the next. Checked against dpkg --compare-versions. */
static const char *const ascending[] = { "1.0~rc1", "1.0",      "1.0-1",  "1.0-2",
					 "1.0a",    "1.0+ds-1", "1.0.1",  "1.2",
					 "1.10",    "2",        "2.36-9", "2.36-9+deb12u10",
					 "2.36-10", "10.0",     "1:0.1",  "2:0.0" };

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void orders_like_dpkg(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ascending); i++)
		for (size_t k = 0; k < ARRAY_SIZE(ascending); k++) {
			int want = sign((int)i - (int)k);
			int got = sign(version_compare(sv_of(ascending[i]), sv_of(ascending[k])));

			if (got != want)
				test_fails(__FILE__, __LINE__, "%s against %s gives %d",
					   ascending[i], ascending[k], got);
		}
}

static void equal_forms(void)
{
	CHECK_INT(version_compare(SV("1.0"), SV("1.00")), 0);
	CHECK_INT(version_compare(SV("0:1.0"), SV("1.0")), 0);
	CHECK_INT(version_compare(SV(""), SV("")), 0);
	CHECK(version_compare(SV(""), SV("1")) < 0);
	CHECK(version_compare(SV("7.0.2"), SV("7.0.10")) < 0);
}

TEST_MAIN(TEST(orders_like_dpkg), TEST(equal_forms))
