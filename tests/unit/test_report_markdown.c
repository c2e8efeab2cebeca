/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static void what_a_reviewer_needs(void)
{
	AUTO_JSON json_t *v = scene_rejected("why");
	struct str s CLEANUP(str_release) = { 0 };

	report_markdown(v, &s);
	CHECK(str_starts(s.p, "## \u274c why: "));
	CHECK_HAS(s.p, "- why\n");
	CHECK_HAS(s.p, "| ttft.p50 | \u2715 limit held; worse than its margin | 22.5 ms | 2 s | "
		       "6.5 ms | 246 % | none yet |"
		       " 60 % |\n");
	CHECK_HAS(s.p, "| kernellib | why | why | unknown |\n");
	CHECK_HAS(s.p, "1. why; who acts: why; weight 99 %\n");
	CHECK_HAS(s.p, "| framework/import | DOUBTFUL | yes | why |\n");
	CHECK_HAS(s.p, "Signed as accepted by why, unknown (pending): why");
	CHECK_HAS(s.p, "log of 44 entries, root " SCENE_LEAF);
}

static void hostile_texts_stay_texts(void)
{
	AUTO_JSON json_t *v =
		scene_rejected("a | b\n| c | <script> [x](javascript:1) @all http://evil");
	struct str s CLEANUP(str_release) = { 0 };

	report_markdown(v, &s);
	CHECK(!strstr(s.p, "<script"));
	CHECK(!strstr(s.p, "[x]"));
	CHECK(!strstr(s.p, "@all"));
	CHECK(!strstr(s.p, "http://"));
	CHECK(!strstr(s.p, "\n| c |"));
	CHECK_HAS(s.p, "a \\| b \\| c \\|");
}

static void never_looks_accepted_without_being_it(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scene_codes); i++) {
		AUTO_JSON json_t *v = scene_bare(scene_codes[i]);
		struct str s CLEANUP(str_release) = { 0 };

		report_markdown(v, &s);
		CHECK_INT(strstr(s.p, "\u2705") != NULL, i < 2);
	}
}

TEST_MAIN(TEST(what_a_reviewer_needs), TEST(hostile_texts_stay_texts),
	  TEST(never_looks_accepted_without_being_it))
