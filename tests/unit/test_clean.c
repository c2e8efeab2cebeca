/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/clean.h"
#include "test.h"

static void cleaned(const char *in, const char *want)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct sv v = line_clean(sv_of(in), &s);
	AUTO_FREE char *got = sv_dup(v);

	CHECK_STR(got, want);
}

static void escapes_and_launcher_tags_go(void)
{
	cleaned("\x1b[3mGPU\x1b[0m 0", "GPU 0");
	cleaned("[1,12]<stdout>:# nThread 1", "# nThread 1");
	cleaned(" 10%|#   |\r 90%|### |\rdone\r\r", "done");
	cleaned("[node] text", "[node] text");
	cleaned("\x1b", "");
	cleaned("\x1b[", "");
	cleaned("", "");
}

static void elision_marks_are_seen(void)
{
	CHECK(line_elides(SV("  ...")));
	CHECK(line_elides(SV("x [output truncated]")));
	CHECK(!line_elides(SV("loading ...")));
}

static void zero_is_a_value_and_na_is_not(void)
{
	CHECK(word_not_available(SV("N/A")));
	CHECK(word_not_available(SV(" [Not Supported] ")));
	CHECK(word_not_available(SV("N/A mV")));
	CHECK(word_not_available(SV("")));
	CHECK(!word_not_available(SV("0")));
	CHECK(!word_not_available(SV("NVIDIA")));
}

static void value_behind_a_key(void)
{
	struct sv v;

	CHECK(line_value(SV("# Avg bus bandwidth    : 12.5 "), "bandwidth", &v));
	CHECK(sv_is(v, "12.5"));
	CHECK(!line_value(SV("nothing"), "key", &v));
}

TEST_MAIN(TEST(escapes_and_launcher_tags_go), TEST(elision_marks_are_seen),
	  TEST(zero_is_a_value_and_na_is_not), TEST(value_behind_a_key))
