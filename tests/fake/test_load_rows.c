/* SPDX-License-Identifier: Apache-2.0 */
/* More of the wrong measurements of docs/load-traps.md: those that take many requests. */
#include "load_lib.h"

static void begin(struct bench *b, struct fake *f, const char *script, const char *const *more)
{
	*f = fake_start(script, more);
	bench_init(b, f);
}

static void over(struct bench *b, struct fake *f)
{
	bench_done(b);
	fake_stop(f);
}

/* Counted in seconds one such loop looks like twice as many. */
static void sixty_four_at_a_time_are_sixty_four(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, "n=4,ttft=30ms,itl=5ms|n=9,ttft=30ms,itl=5ms", NULL);
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 64;
	b.conf.count = 512;
	bench_run(&b);
	CHECK_INT(b.res.n, 512);
	CHECK_INT(b.res.peak, 64);
	CHECK_INT((int)bench_get(&b, "peak_concurrency"), 64);
	CHECK(fake_truth(&f, "active_max") <= 64);
	CHECK_TIME((double)fake_truth(&f, "active_max"), 60, 64);
	CHECK_INT((int)bench_get(&b, "requests.ok"), 512);
	over(&b, &f);
}

static void goodput_is_of_all_that_were_scheduled(void)
{
	struct load_objective o = { LOAD_TTFT, 1, 5 * NS_PER_S };
	struct fake f;
	struct bench b;

	begin(&b, &f, "status=503,ttft=0|n=4,ttft=10ms,itl=1ms", NULL);
	b.conf.count = 20;
	b.conf.rate = 100;
	b.conf.objectives = &o;
	b.conf.n_objectives = 1;
	bench_run(&b);
	CHECK_NEAR(bench_get(&b, "goodput"), 0.5, 1e-9);
	over(&b, &f);
}

/* One verdict, and each objective with the number of requests that could keep it. */
static void every_objective_has_its_own_samples(void)
{
	const struct load_objective list[] = { { LOAD_TTFT, 1, 5 * NS_PER_S },
					       { LOAD_ITL, 1, 5 * NS_PER_S },
					       { LOAD_TPOT, 1, NS_PER_US },
					       { LOAD_E2E, 1, 20 * NS_PER_S } };
	static const int samples[] = { 12, 6, 6, 12 }, kept[] = { 12, 6, 0, 12 };
	AUTO_JSON json_t *v = NULL;
	AUTO_FREE char *text = NULL;
	struct fake f;
	struct bench b;

	/* A third fails, a third has one token and so no gap. */
	begin(&b, &f, "status=500,ttft=0|n=1,ttft=10ms|n=4,ttft=10ms,itl=2ms", NULL);
	b.conf.count = 18;
	b.conf.rate = 100;
	b.conf.objectives = list;
	b.conf.n_objectives = ARRAY_SIZE(list);
	bench_run(&b);
	v = load_result_to_json(&b.res);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		json_t *o = json_array_get(json_object_get(v, "objectives"), i);

		CHECK_INT(json_int_or(o, "samples", -1), samples[i]);
		CHECK_INT(json_int_or(o, "kept", -1), kept[i]);
	}
	CHECK_NEAR(bench_get(&b, "goodput"), 6 / 18.0, 1e-9);
	text = load_result_text(&b.res);
	CHECK_HAS(text, "tpot <= 1 us: kept by 0 of the 6 that have it");
	over(&b, &f);
}

/* Above the server's capacity and with a cap of ours, a stage's requests go out in the next one. */
static void each_stage_says_what_it_really_sent(void)
{
	static const struct load_stage stages[] = { { 20, 500 * NS_PER_MS },
						    { 200, 500 * NS_PER_MS },
						    { 10, 500 * NS_PER_MS } };
	AUTO_JSON json_t *v = NULL, *again = NULL;
	AUTO_FREE char *raw = xasprintf("%s/raw.zst", test_dir());
	struct load_result back CLEANUP(load_result_release) = { 0 };
	struct err err = ERR_INIT;
	struct fake f;
	struct bench b;
	json_t *s[3];
	int64_t scheduled = 0;

	begin(&b, &f, "n=2,ttft=35ms,itl=5ms", NULL);
	b.conf.arrival = LOAD_STAGES;
	b.conf.stages = stages;
	b.conf.n_stages = 3;
	b.conf.count = 0;
	b.conf.max_in_flight = 3; /* 75 a second at the most */
	bench_run(&b);
	v = load_result_to_json(&b.res);
	for (int i = 0; i < 3; i++) {
		s[i] = json_array_get(json_object_get(v, "stages"), (size_t)i);
		scheduled += json_int_or(s[i], "scheduled", 0);
	}
	CHECK_INT(scheduled, b.res.n);
	CHECK_INT(json_int_or(s[1], "rate_asked_e6", 0), 200000000);
	CHECK_TIME((double)json_int_or(s[1], "rate_achieved_e6", 0) / 1e6, 40, 80);
	CHECK(json_int_or(s[1], "begun_late", 0) > 20);
	CHECK(json_int_or(s[1], "delay_max_ns", 0) > 300 * NS_PER_MS);
	CHECK_TIME((double)json_int_or(s[0], "delay_max_ns", 0) / 1e6, 0, 200);
	CHECK_INT(load_raw_write(&b.res, raw, &err), 0);
	CHECK_OK(load_raw_read(raw, &back, &err), err);
	again = load_result_to_json(&back);
	CHECK(json_equal(json_object_get(again, "stages"), json_object_get(v, "stages")));
	over(&b, &f);
}

TEST_MAIN(TEST(sixty_four_at_a_time_are_sixty_four), TEST(goodput_is_of_all_that_were_scheduled),
	  TEST(every_objective_has_its_own_samples), TEST(each_stage_says_what_it_really_sent))
