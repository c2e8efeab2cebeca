/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "base/err.h"
#include "base/vec.h"

#include "test.h"

static void a_repetition_reads_back_the_same(void)
{
	struct rep a CLEANUP(rep_release) = { .index = 3, .state = REP_FAILED };
	struct rep b CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL, *k = NULL;
	struct outcome *o;

	a.reason = xstrdup("server died");
	a.session = xstrdup("boot 1");
	measurements_add(&a.measured, "ttft.p50", UNIT_NS, LOWER_IS_BETTER, 5);
	o = VEC_ADD(&a.outcomes);
	o->check = xstrdup("workload/serve");
	o->layer = LAYER_WORKLOAD;
	o->result = RESULT_FAIL;
	o->required = true;
	o->reason = xstrdup("exit 3");
	j = rep_to_json(&a);
	CHECK_OK(rep_from_json(j, &b, &err), err);
	k = rep_to_json(&b);
	CHECK(json_equal(j, k));
	CHECK_INT(b.state, REP_FAILED);
	CHECK_INT(b.outcomes.v[0].result, RESULT_FAIL);
}

static void an_unsaid_requirement_is_required(void)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL;

	CHECK_OK(json_read(SV("{\"check\":\"a\",\"layer\":\"workload\",\"result\":\"SKIP\","
			      "\"took_ns\":1,\"measured\":[],\"evidence\":[]}"),
			   "x", &j, &err),
		 err);
	CHECK_OK(outcome_from_json(j, &o, &err), err);
	CHECK(o.required);
}

static void refuses_unknown_words(void)
{
	struct outcome o = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL;

	CHECK_OK(json_read(SV("{\"check\":\"a\",\"layer\":\"workload\",\"result\":\"FINE\","
			      "\"took_ns\":1,\"measured\":[],\"evidence\":[]}"),
			   "x", &j, &err),
		 err);
	CHECK_INT(outcome_from_json(j, &o, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "check 'a': unknown result 'FINE'");
}

TEST_MAIN(TEST(a_repetition_reads_back_the_same), TEST(an_unsaid_requirement_is_required),
	  TEST(refuses_unknown_words))
