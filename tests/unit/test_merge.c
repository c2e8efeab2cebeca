/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/err.h"
#include "load/load.h"
#include "test.h"

static void run_shard(unsigned i, unsigned n, struct load_result *r)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct load_conf c;
	struct err err = ERR_INIT;

	load_conf_init(&c);
	CHECK_OK(load_prompts_parse(
			 SV("{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n{\"prompt\":\"c\"}\n"), "p",
			 &p, &err),
		 err);
	c.engine = LOAD_ENGINE_NULL;
	c.url = "http://127.0.0.1:1";
	c.prompts = &p;
	c.count = 20;
	c.rate = 2000;
	c.shard = i;
	c.shards = n;
	c.shuffle = true;
	CHECK_OK(load_run(&c, r, &err), err);
}

static void shards_are_the_whole_schedule(void)
{
	struct load_result whole CLEANUP(load_result_release) = { 0 };
	struct load_result all CLEANUP(load_result_release) = { 0 };
	struct load_result part[3] = { 0 };
	struct err err = ERR_INIT;

	run_shard(0, 0, &whole);
	for (unsigned i = 0; i < 3; i++) {
		run_shard(i, 3, &part[i]);
		CHECK_STR(part[i].schedule_digest, whole.schedule_digest);
		part[i].wall_ms = part[0].wall_ms; /* as if begun together */
	}
	CHECK_OK(load_merge(part, 3, &all, &err), err);
	CHECK_INT(all.n, whole.n);
	for (size_t i = 0; i < whole.n; i++) {
		CHECK_INT(all.v[i].scheduled, whole.v[i].scheduled);
		CHECK_INT(all.v[i].prompt, whole.v[i].prompt);
	}
	CHECK_INT(all.repeated_prompts, whole.repeated_prompts);
	CHECK_INT(all.attempts, part[0].attempts + part[1].attempts + part[2].attempts);
	/* One missing, one twice. */
	{
		struct load_result none CLEANUP(load_result_release) = { 0 };
		struct load_result two[2] = { part[1], part[1] };

		CHECK_INT(load_merge(part, 2, &none, &err), -ERR_RANGE);
		CHECK_STR(err.msg, "2 of 3 shards are there");
		err = (struct err)ERR_INIT;
		CHECK_INT(load_merge(two, 2, &none, &err), -ERR_RANGE);
		CHECK_STR(err.msg, "shard 1 is there twice");
	}
	for (unsigned i = 0; i < 3; i++)
		load_result_release(&part[i]);
}

static void parts_that_did_not_begin_together_are_no_one_load(void)
{
	struct load_result part[2] = { 0 };
	struct err err = ERR_INIT;

	for (unsigned i = 0; i < 2; i++) {
		run_shard(i, 2, &part[i]);
		part[i].audit.client_limited = false; /* whatever this machine was doing */
		part[i].audit.reasons[0] = '\0';
		part[i].wall_ms = 1000000;
		part[i].start_at_ms = 1000000;
	}
	for (int late = 90; late <= 310; late += 110) { /* 90, 200, 310 ms */
		for (int k = 0; k < 2; k++) {
			struct load_result all CLEANUP(load_result_release) = { 0 };

			part[1].wall_ms = 1000000 + late;
			part[1].start_late_ns = late * NS_PER_MS;
			for (int i = 0; i < 2; i++)
				part[i].client_lag_ns = k ? 250 * NS_PER_MS : 0;
			CHECK_OK(load_merge(part, 2, &all, &err), err);
			CHECK_INT(all.audit.client_limited, late > (k ? 250 : 100));
			if (all.audit.client_limited)
				CHECK_HAS(all.audit.reasons, "client 1 began 0.");
			CHECK_INT(all.start_at_ms, 1000000);
			CHECK_INT(all.start_late_ns, late * NS_PER_MS);
		}
	}
	for (int i = 0; i < 2; i++)
		load_result_release(&part[i]);
}

static void percentiles_are_of_all_samples(void)
{
	struct load_event ev[4] = { { .at = 5 }, { .at = 8 }, { .at = 15 }, { .at = 30 } };
	struct load_req q[3] = { { .scheduled = 0,
				   .begun = 1,
				   .first_token = 5,
				   .events_at = 0,
				   .n_events = 2,
				   .end = 9,
				   .detail = "" },
				 { .scheduled = 2,
				   .begun = 2,
				   .first_token = 30,
				   .events_at = 3,
				   .n_events = 1,
				   .end = 31,
				   .detail = "" },
				 { .scheduled = 9,
				   .begun = 9,
				   .first_token = 15,
				   .events_at = 2,
				   .n_events = 1,
				   .end = 16,
				   .detail = "" } };
	char text[] = "abcd";
	struct load_result part[2] = {
		{ .v = q,
		  .n = 1,
		  .events = ev,
		  .n_events = 2,
		  .wall_ms = 10,
		  .text = text,
		  .n_text = 2,
		  .audit.cpu_share = 0.5 },
		{ .v = q + 2,
		  .n = 1,
		  .events = ev + 2,
		  .n_events = 2,
		  .wall_ms = 12,
		  .text = text + 2,
		  .n_text = 2,
		  .audit = { .client_limited = true, .reasons = "slow", .cpu_share = 0.7 } }
	};
	struct load_result all CLEANUP(load_result_release) = { 0 };
	struct err err = ERR_INIT;

	q[2].events_at = 0;
	q[2].answer_n = 2;
	CHECK_OK(load_merge(part, 2, &all, &err), err);
	CHECK_INT(all.n, 2);
	CHECK_INT(all.n_events, 4);
	CHECK_INT(all.v[1].scheduled, 2 * NS_PER_MS + 9);
	CHECK_INT(all.v[1].first_token - all.v[1].scheduled, 6);
	CHECK_INT(all.events[all.v[1].events_at].at, all.v[1].first_token);
	CHECK(memcmp(all.text + all.v[1].answer_at, "cd", 2) == 0);
	CHECK(all.audit.client_limited);
	CHECK_STR(all.audit.reasons, "client 1: slow");
	CHECK_NEAR(all.audit.cpu_share, 0.7, 0);
	part[1].ignore_eos = true;
	{
		struct load_result none CLEANUP(load_result_release) = { 0 };

		CHECK_INT(load_merge(part, 2, &none, &err), -ERR_RANGE);
		CHECK_STR(err.msg, "result 2 is of other options");
	}
}

TEST_MAIN(TEST(shards_are_the_whole_schedule), TEST(percentiles_are_of_all_samples),
	  TEST(parts_that_did_not_begin_together_are_no_one_load))
