/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "envelope/envelope.h"
#include "test.h"

static void fits(const char *pattern, const char *version)
{
	if (!pin_fits(pattern, version, NULL))
		test_fails(__FILE__, __LINE__, "'%s' should fit '%s'", pattern, version);
}

static void not_fits(const char *pattern, const char *version)
{
	if (pin_fits(pattern, version, NULL))
		test_fails(__FILE__, __LINE__, "'%s' should not fit '%s'", pattern, version);
}

static void a_plain_version(void)
{
	fits("7.0.2", "7.0.2");
	fits("7.0.2", "7.0.2-56");
	fits("2.8.0", "2.8.0+rocm7.0");
	fits("570.133.20", "570.133.20 (open)");
	fits("openblas", "openblas 0.3.21+ds-4");
	fits("0.3.21", "openblas 0.3.21+ds-4");
	fits("openblas 0.3.21", "openblas 0.3.21+ds-4");
	not_fits("7.0.2", "7.0.21");
	not_fits("7.0.2", "7.0.2.1");
	not_fits("7.0.2", "17.0.2");
	not_fits("openblas", "reference 3.11.0-2");
	not_fits("7.0.2", NULL);
	not_fits("7.0.2", "");
}

static void exactly(void)
{
	fits("=7.0.2-56", "7.0.2-56");
	not_fits("=7.0.2", "7.0.2-56");
	fits("=0.3.21+ds-4", "openblas 0.3.21+ds-4");
}

static void globs(void)
{
	fits("7.0.*", "7.0.2-56");
	fits("openblas 0.3.*", "openblas 0.3.21+ds-4");
	fits("0.3.*", "openblas 0.3.21+ds-4");
	fits("7.?.2", "7.0.2");
	not_fits("7.0.*", "7.1.0");
	not_fits("7.0.*", "7.01");
}

static void ranges(void)
{
	fits(">=1.2,<2", "1.10");
	fits(">= 1.2, < 2", "1.2");
	not_fits(">=1.2,<2", "2");
	not_fits(">1.2", "1.2");
	fits("!=1.3", "1.2");
	not_fits("!=1.3", "1.3");
	fits(">=0.3.20", "openblas 0.3.21+ds-4");
	not_fits(">=0", "unreadable");
	not_fits(">=4", "3.2, 09/18/2024");
}

static void alternatives_and_digests(void)
{
	static const char digest[] =
		"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

	fits("7.0.* || 6.4.*", "6.4.1");
	not_fits("7.0.* || 6.4.*", "6.3.1");
	CHECK(pin_fits("sha256:ba7816bf8f01", "x", digest));
	CHECK(pin_fits(digest, NULL, digest));
	CHECK(!pin_fits("sha256:ba7816bf8f02", "x", digest));
	CHECK(!pin_fits("sha256:ba7816bf8f01", "x", NULL));
}

static void invalid(const char *pattern, const char *why)
{
	struct err err = ERR_INIT;

	CHECK_INT(pin_valid(pattern, &err), -ERR_PARSE);
	CHECK_STR(err.msg, why);
}

static void patterns_nobody_can_mean(void)
{
	struct err err = ERR_INIT;

	invalid("", "an empty pin");
	invalid("  ", "an empty pin");
	invalid("*", "'*' pins nothing: every version fits");
	invalid("7 ||", "an empty alternative beside '||'");
	invalid(">=", "an operator of a range has no version");
	invalid(">=1,2", "'2' in a range has no operator (>= > <= < != ==)");
	invalid(">=1.*", "'1.*' in a range is no version");
	invalid("=", "'=' without a version");
	invalid("=>1", "'=>' is no operator: write '>='");
	invalid(">=new", "'new' in a range begins with no digit");
	invalid("sha256:xyz", "a digest pin is sha256: and 12 to 64 hex digits");
	CHECK_OK(pin_valid("7.0.* || >=6.4,<7", &err), err);
	CHECK_OK(pin_valid("meta-llama/Llama-3.1-8B-Instruct@0e9e39f249a1", &err), err);
}

TEST_MAIN(TEST(a_plain_version), TEST(exactly), TEST(globs), TEST(ranges),
	  TEST(alternatives_and_digests), TEST(patterns_nobody_can_mean))
