/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "test.h"

static void differs(const char *got, const char *want, unsigned at)
{
	uint32_t where = 999;

	CHECK(!golden_same(sv_of(got), sv_of(want), &where));
	CHECK_INT(where, at);
}

static void finds_the_first_different_character(void)
{
	uint32_t at;

	CHECK(golden_same(SV("abc"), SV("abc"), &at));
	CHECK(golden_same(SV(""), SV(""), &at));
	differs("abc", "abd", 2);
	differs("ab", "abc", 2);
	differs("abc", "ab", 2);
	differs("", "x", 0);
	differs("\xc3\xa9x", "\xc3\xa9y", 1);
	differs("a\xc3\xa9", "a\xc3\xa8", 1); /* differs in the second byte of a character */
	differs("a\xe2\x82\xac", "a\xe2\x82\xad", 1);
}

static void settles_golden_answers_and_the_peak(void)
{
	struct load_prompt prompts[2] = { { .id = (char *)"a", .golden = (char *)"yes" },
					  { .id = (char *)"b" } };
	struct load_prompts p = { .v = prompts, .n = 2 };
	struct load_golden_answer answers[1] = { { (char *)"b", (char *)"no" } };
	struct load_golden g = { .v = answers, .n = 1 };
	struct load_conf c = { .prompts = &p, .golden = &g };
	struct load_req v[4] = {
		{ .begun = 0,
		  .end = 10,
		  .prompt = 0,
		  .answer_at = 0,
		  .answer_n = 3,
		  .finish = "stop" },
		{ .begun = 5,
		  .end = 8,
		  .prompt = 1,
		  .answer_at = 0,
		  .answer_n = 3,
		  .finish = "stop" },
		{ .begun = 10, .end = 12, .prompt = 1, .outcome = LOAD_CUT },
		{ .begun = LOAD_NONE, .end = 12, .prompt = 1, .outcome = LOAD_CANCELLED },
	};
	struct load_result r = {
		.v = v, .n = 4, .text = (char *)"yes", .n_text = 3, .engine = LOAD_ENGINE_NULL
	};

	settle(&r, &c);
	CHECK_INT(v[0].match, LOAD_MATCH_SAME);
	CHECK_INT(v[1].match, LOAD_MATCH_DIFFERENT);
	CHECK_INT(v[2].match, LOAD_MATCH_MISSING);
	CHECK_INT(v[3].match, LOAD_MATCH_NONE);
	CHECK_INT(r.peak, 2); /* one ends at the moment another begins: not three */
}

TEST_MAIN(TEST(finds_the_first_different_character), TEST(settles_golden_answers_and_the_peak))
