/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "test.h"

#define MS NS_PER_MS

static struct load_req req(int64_t scheduled, int64_t begun, int64_t first, int64_t end,
			   enum load_outcome outcome)
{
	return (struct load_req){ .scheduled = scheduled,
				  .begun = begun,
				  .first_token = first,
				  .end = end,
				  .outcome = (uint8_t)outcome };
}

static struct load_stage stages[] = { { 2, 1000 * MS }, { 4, 500 * MS } };
static struct load_objective objectives[] = { { LOAD_TTFT, 1, 50 * MS }, { LOAD_ITL, 0.9, MS } };

/* Two in the first stage, one of them late; two in the second, one of them never begun. */
static struct load_result result(struct load_req v[5])
{
	v[0] = req(0, 0, 40 * MS, 100 * MS, LOAD_OK);
	v[1] = req(900 * MS, 1100 * MS, 1200 * MS, 1300 * MS, LOAD_OK);
	v[2] = req(1000 * MS, 1010 * MS, LOAD_NONE, 1020 * MS, LOAD_HTTP_STATUS);
	v[3] = req(1200 * MS, LOAD_NONE, LOAD_NONE, 2000 * MS, LOAD_DROPPED);
	v[4] = req(1300 * MS, 1300 * MS, LOAD_NONE, 1400 * MS, LOAD_CANCELLED);
	static struct load_event none[1];

	return (struct load_result){ .events = none,
				     .v = v,
				     .n = 5,
				     .stages = stages,
				     .n_stages = 2,
				     .objectives = objectives,
				     .n_objectives = 2 };
}

static void stages_have_their_own_numbers(void)
{
	struct load_req v[5];
	struct load_result r = result(v);
	AUTO_JSON json_t *list = stages_json(&r), *all = json_object();
	json_t *a = json_array_get(list, 0), *b = json_array_get(list, 1);
	struct str s CLEANUP(str_release) = { 0 };

	CHECK_INT(json_int_or(a, "scheduled", -1), 2);
	CHECK_INT(json_int_or(a, "begun_late", -1), 1);
	CHECK_INT(json_int_or(a, "rate_achieved_e6", -1), 1000000);
	CHECK_INT(json_int_or(a, "delay_max_ns", -1), 200 * MS);
	CHECK_INT(json_int_or(a, "ttft_p50_ns", -1), 170 * MS);
	CHECK_INT(json_int_or(b, "from_ns", -1), 1000 * MS);
	CHECK_INT(json_int_or(b, "scheduled", -1), 2);
	CHECK_INT(json_int_or(b, "begun_late", -1), 1);
	/* The late one of the first stage went out here. */
	CHECK_INT(json_int_or(b, "rate_achieved_e6", -1), 4000000);
	CHECK_INT(json_int_or(b, "ok", -1), 0);
	CHECK(!json_object_get(b, "ttft_p50_ns"));
	json_put(all, "stages", json_incref(list));
	add_stages(&s, all);
	CHECK_HAS(str_text(&s), "1/s of 2, begun p99 198 ms after their time, 1 OF 2 AFTER");
}

static void objectives_have_their_own_samples(void)
{
	struct load_req v[5];
	struct load_result r = result(v);
	AUTO_JSON json_t *list = objectives_kept_json(&r), *all = json_object();
	struct str s CLEANUP(str_release) = { 0 };

	CHECK_INT(json_int_or(json_array_get(list, 0), "samples", -1), 2);
	CHECK_INT(json_int_or(json_array_get(list, 0), "kept", -1), 1);
	CHECK_INT(json_int_or(json_array_get(list, 1), "samples", -1), 0);
	json_put(all, "objectives", json_incref(list));
	add_objectives(&s, all);
	CHECK_HAS(str_text(&s), "ttft <= 50 ms: kept by 1 of the 2 that have it");
	CHECK_HAS(str_text(&s), "itl.p90 <= 1 ms: kept by 0 of the 0");
}

static void requests_are_told_by_part_and_by_source(void)
{
	struct load_req v[5];
	struct load_result r = result(v);
	AUTO_JSON json_t *sources = NULL, *list = windows_json(&r);
	int64_t requests = 0, from, to;

	v[0].source = v[1].source = LOAD_TOKENS_USAGE;
	sources = token_sources_json(&r);
	CHECK_INT(json_int_or(sources, "usage", -1), 2);
	CHECK_INT(json_int_or(sources, "none", -1), 3);
	CHECK(load_steady(&r, &from, &to));
	CHECK_INT(json_array_size(list), 3);
	CHECK_INT(json_int_or(json_array_get(list, 1), "from_ns", -1), from);
	CHECK_INT(json_int_or(json_array_get(list, 2), "from_ns", -1), to);
	for (size_t i = 0; i < 3; i++)
		requests += json_int_or(json_array_get(list, i), "requests", 0);
	CHECK_INT(requests, 3); /* begun, and not cancelled */
}

TEST_MAIN(TEST(stages_have_their_own_numbers), TEST(objectives_have_their_own_samples),
	  TEST(requests_are_told_by_part_and_by_source))
