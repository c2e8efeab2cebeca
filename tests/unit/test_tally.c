/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/tally.h"
#include "test.h"

static void counts_and_sorts(void)
{
	struct tally t CLEANUP(tally_release) = { 0 };
	AUTO_FREE char *none = tally_text(&t);
	AUTO_FREE char *one = NULL;
	AUTO_FREE char *two = NULL;
	AUTO_FREE char *counted = NULL;

	CHECK(!none);
	tally_add(&t, "b");
	tally_add(&t, "b");
	one = tally_text(&t);
	CHECK_STR(one, "b");
	counted = tally_counted(&t);
	CHECK_STR(counted, "2 x b");
	tally_add(&t, "a");
	tally_add(&t, NULL);
	two = tally_text(&t);
	CHECK_STR(two, "1 x a + 2 x b + 1 x unknown");
}

static void the_bracketed_word(void)
{
	AUTO_FREE char *a = bracketed("always [madvise] never");
	AUTO_FREE char *b = bracketed("plain");
	AUTO_FREE char *c = bracketed("cut [off");

	CHECK_STR(a, "madvise");
	CHECK_STR(b, "plain");
	CHECK_STR(c, "cut [off");
}

static void a_line_by_its_key(void)
{
	struct sv v;

	CHECK(line_of(SV("model\t\t: 1\nmodel name\t: AMD: EPYC\n"), "model name", ':', &v));
	CHECK(sv_is(v, "AMD: EPYC"));
	CHECK(line_of(SV("model name\t: x\nmodel\t: 17\n"), "model", ':', &v));
	CHECK(sv_is(v, "17"));
	CHECK(!line_of(SV("models: 1\nmodel\n"), "model", ':', &v));
}

TEST_MAIN(TEST(counts_and_sorts), TEST(the_bracketed_word), TEST(a_line_by_its_key))
