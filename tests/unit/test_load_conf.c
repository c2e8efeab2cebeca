/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/err.h"
#include "test.h"

static void reads_objectives(void)
{
	struct load_objective o;
	struct err err = ERR_INIT;

	CHECK_OK(load_objective_parse(SV("ttft <= 500 ms"), &o, &err), err);
	CHECK_INT(o.what, LOAD_TTFT);
	CHECK_INT(o.limit_ns, 500 * NS_PER_MS);
	CHECK_OK(load_objective_parse(SV("itl.p99<=40ms"), &o, &err), err);
	CHECK_NEAR(o.p, 0.99, 1e-12);
	CHECK_OK(load_objective_parse(SV("itl.max<=1s"), &o, &err), err);
	CHECK_NEAR(o.p, 1, 0);
}

static void refuses_odd_objectives(void)
{
	static const char *const bad[] = { "ttft < 5 ms",     "tftf <= 5 ms",  "ttft <= 5",
					   "ttft <= -5 ms",   "ttft <= 5 MB",  "ttft.p0 <= 1 s",
					   "ttft.p101 <= 1s", "ttft.x <= 1 s", "ttft <=" };
	struct load_objective o;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = ERR_INIT;

		if (load_objective_parse(sv_of(bad[i]), &o, &err) != -ERR_PARSE)
			test_fails(__FILE__, __LINE__, "'%s' is taken", bad[i]);
		CHECK_HAS(err.msg, bad[i]);
	}
}

static void words_go_both_ways(void)
{
	enum load_endpoint e;
	enum load_arrival a;

	for (int i = 0; i <= LOAD_PLAIN; i++) {
		CHECK(load_endpoint_parse(sv_of(load_endpoint_name((enum load_endpoint)i)), &e));
		CHECK_INT(e, i);
	}
	for (int i = 0; i <= LOAD_CLOSED; i++) {
		CHECK(load_arrival_parse(sv_of(load_arrival_name((enum load_arrival)i)), &a));
		CHECK_INT(a, i);
	}
	CHECK(!load_arrival_parse(SV("open"), &a));
	for (int i = 0; i < LOAD_OUTCOMES; i++)
		CHECK(load_outcome_name((enum load_outcome)i)[0] != '\0');
}

static void refuses_what_cannot_run(void)
{
	struct load_conf good, c;
	struct err err = ERR_INIT;

	load_conf_init(&good);
	good.url = "http://127.0.0.1:1";
	good.endpoint = LOAD_PLAIN;
	good.rate = 1;
	good.count = 1;
	CHECK_OK(load_conf_check(&good, &err), err);
#define REFUSED(change, want)                                                                      \
	do {                                                                                       \
		c = good;                                                                          \
		change;                                                                            \
		CHECK(load_conf_check(&c, &err) < 0);                                              \
		CHECK_HAS(err.msg, want);                                                          \
	} while (0)
	REFUSED(c.url = NULL, "URL");
	REFUSED(c.endpoint = LOAD_CHAT, "prompts");
	REFUSED(c.rate = 0, "rate");
	REFUSED(c.rate = NAN, "rate");
	REFUSED(c.count = 0, "duration or a number");
	REFUSED(c.timeout_ns = 0, "time limit");
	REFUSED(c.timeout_ns = 5 * 3600 * NS_PER_S, "time limit");
	REFUSED(c.max_tokens = 0, "max_tokens");
	REFUSED(c.arrival = LOAD_CLOSED, "concurrency");
	REFUSED(c.arrival = LOAD_STAGES, "stage");
	REFUSED(c.arrival = LOAD_TRACE, "trace");
	REFUSED(c.arrival = LOAD_RAMP, "ramp");
	REFUSED((c.arrival = LOAD_GAMMA, c.burstiness = 0), "burstiness");
}

TEST_MAIN(TEST(reads_objectives), TEST(refuses_odd_objectives), TEST(words_go_both_ways),
	  TEST(refuses_what_cannot_run))
