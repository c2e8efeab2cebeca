/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static void summary_and_cases(void)
{
	AUTO_JSON json_t *v = scene_rejected("why \" \x01");
	AUTO_JSON json_t *j = NULL;
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	const json_t *r, *sum;

	report_ctrf(v, &s);
	CHECK_OK(json_read(sv_str(&s), "ctrf", &j, &err), err);
	CHECK_STR(json_str_or(j, "reportFormat", ""), "CTRF");
	r = json_object_get(j, "results");
	sum = json_object_get(r, "summary");
	CHECK_INT(json_int_or(sum, "tests", 0), 11);
	CHECK_INT(json_int_or(sum, "passed", -1), 5);
	CHECK_INT(json_int_or(sum, "failed", -1), 3);
	CHECK_INT(json_int_or(sum, "other", -1), 1);
	CHECK_INT(json_int_or(sum, "skipped", -1), 2);
	CHECK_INT(json_int_or(sum, "stop", 0) - json_int_or(sum, "start", 0), 11240);
	CHECK_INT(json_array_size(json_object_get(r, "tests")), 11);
	CHECK_STR(json_str_or(json_array_get(json_object_get(r, "tests"), 0), "status", ""),
		  "passed");
	CHECK_STR(json_str_or(json_object_get(r, "extra"), "verdict", ""), "rejected");
}

static void without_anything(void)
{
	AUTO_JSON json_t *v = json_object();
	struct str s CLEANUP(str_release) = { 0 };

	report_ctrf(v, &s);
	CHECK_HAS(s.p, "\"other\": 1");
	CHECK_HAS(s.p, "\"passed\": 0");
}

TEST_MAIN(TEST(summary_and_cases), TEST(without_anything))
