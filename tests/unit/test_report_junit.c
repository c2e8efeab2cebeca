/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static void counts_and_elements(void)
{
	AUTO_JSON json_t *v = scene_rejected("why");
	struct str s CLEANUP(str_release) = { 0 };

	report_junit(v, &s);
	scene_parses("xml", &s);
	/* 4 checks, 3 repetitions, 2 objectives, 1 margin, the verdict */
	CHECK_HAS(s.p, "<testsuites name=\"twice\" tests=\"11\" failures=\"3\" errors=\"1\" "
		       "time=\"11.240\">");
	CHECK_HAS(s.p, "<testsuite name=\"workload\" tests=\"6\" failures=\"2\" errors=\"0\" "
		       "skipped=\"0\"");
	CHECK_HAS(s.p, "timestamp=\"2026-12-01T02:23:42\"");
	CHECK_HAS(s.p,
		  "<testcase classname=\"why.hardware\" name=\"hardware/cpus\" time=\"0.000\"/>");
	CHECK_HAS(s.p, "<error message=\"DOUBTFUL: why; who acts: why\" type=\"DOUBTFUL\"/>");
	CHECK_HAS(s.p, "<skipped message=\"SKIP: why; who acts: why\"/>");
	CHECK_HAS(s.p, "<property name=\"verdict\" value=\"rejected\"/>");
}

static void control_characters_and_markup(void)
{
	AUTO_JSON json_t *v = scene_rejected("a\x01\x1b\"><x y='\xef\xbf\xbf'>]]>&\n\xc2\x85 z");
	struct str s CLEANUP(str_release) = { 0 };

	report_junit(v, &s);
	CHECK(!strstr(s.p, "<x"));
	scene_parses("xml", &s);
}

static void without_anything(void)
{
	AUTO_JSON json_t *v = json_object();
	struct str s CLEANUP(str_release) = { 0 };

	report_junit(v, &s);
	scene_parses("xml", &s);
	CHECK_HAS(s.p, "tests=\"1\" failures=\"0\" errors=\"1\"");
}

TEST_MAIN(TEST(counts_and_elements), TEST(control_characters_and_markup), TEST(without_anything))
