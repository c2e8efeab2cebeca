/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static const struct report_case *named(const struct report_cases *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return &l->v[i];
	test_fails(__FILE__, __LINE__, "no case '%s'", name);
}

static void results_keep_their_meaning(void)
{
	AUTO_JSON json_t *v = scene_rejected("why");
	struct report_cases l CLEANUP(report_cases_release) = { 0 };

	report_cases_read(v, &l);
	CHECK_INT(named(&l, "hardware/cpus")->result, CASE_PASS);
	/* Not required: it can't fail a build, and it is no pass. */
	CHECK_INT(named(&l, "communication/allreduce")->result, CASE_SKIP);
	CHECK_STR(named(&l, "communication/allreduce")->message,
		  "not required: FAIL: why; who acts: why");
	CHECK_INT(named(&l, "framework/import")->result, CASE_ERROR);
	CHECK_INT(named(&l, "recovery/restart")->result, CASE_SKIP);
	CHECK_INT(named(&l, "repetition 3")->result, CASE_PASS);
	CHECK_INT(named(&l, "margin ttft.p50")->result, CASE_FAIL);
	CHECK_HAS(named(&l, "margin ttft.p50")->message, "6.5 ms -> 22.5 ms, worse by 246 %");
	CHECK_INT(named(&l, "objective ttft.p50")->result, CASE_PASS);
	CHECK_INT(named(&l, "objective answers.match")->result, CASE_FAIL);
	CHECK_INT(named(&l, "why")->result, CASE_FAIL);
	CHECK_STR(l.v[l.n - 1].suite, "verdict");
}

static void only_accepted_passes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scene_codes); i++) {
		AUTO_JSON json_t *v = scene_bare(scene_codes[i]);
		struct report_cases l CLEANUP(report_cases_release) = { 0 };

		report_cases_read(v, &l);
		CHECK_INT(l.n, 1);
		CHECK_INT(l.v[0].result == CASE_PASS, i < 2);
		CHECK_INT(l.v[0].result == CASE_FAIL, streq(scene_codes[i], "rejected"));
	}
}

static void repetitions_bring_their_own_checks(void)
{
	AUTO_JSON json_t *v = scene_bare("rejected");
	struct report_cases l CLEANUP(report_cases_release) = { 0 };
	json_t *reps = json_array(), *r = scene_rep("failed", json_null(), json_null());

	json_put_str(r, "reason", "the server did not start");
	(void)json_array_append_new(json_object_get(r, "outcomes"),
				    json_pack("{s:s, s:s, s:s, s:s}", "check", "workload/serve",
					      "layer", "workload", "result", "FAIL", "reason",
					      "exit code 1"));
	(void)json_array_append_new(reps, r);
	(void)json_array_append_new(reps, scene_rep("excluded", json_null(), json_null()));
	json_put(v, "reps", reps);
	report_cases_read(v, &l);
	CHECK_INT(named(&l, "repetition 1")->result, CASE_FAIL);
	CHECK_STR(named(&l, "repetition 1")->message, "the server did not start");
	CHECK_INT(named(&l, "repetition 2")->result, CASE_SKIP);
	CHECK_INT(named(&l, "workload/serve in repetition 1")->result, CASE_FAIL);
}

TEST_MAIN(TEST(results_keep_their_meaning), TEST(only_accepted_passes),
	  TEST(repetitions_bring_their_own_checks))
