/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "test.h"

static double get(const struct load_result *r, const char *name)
{
	struct measurements m CLEANUP(measurements_release) = { 0 };
	const struct measurement *it;

	load_metrics(r, &m);
	it = measurements_find(&m, name);
	if (!it)
		test_fails(__FILE__, __LINE__, "no metric %s", name);
	return it->value;
}

static void quantiles_are_of_type_7(void)
{
	double v[] = { 4, 1, 3, 2 };

	CHECK_NEAR(load_quantile(v, 4, 0.5), 2.5, 1e-12);
	CHECK_NEAR(load_quantile(v, 4, 0.25), 1.75, 1e-12);
	CHECK_NEAR(load_quantile(v, 4, 1), 4, 0);
	CHECK_NEAR(load_quantile(v, 4, 0), 1, 0);
	CHECK(isnan(load_quantile(v, 0, 0.5)));
	v[3] = INFINITY;
	CHECK(isinf(load_quantile(v, 4, 0.9)));
	CHECK_NEAR(load_quantile(v, 4, 0.5), 2.5, 1e-12);
}

/* Ten requests a second apart, each 0.5 s with 5 events of 2 tokens. */
static void fill(struct load_req *v, struct load_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)i * NS_PER_S;

		v[i] = (struct load_req){ .scheduled = at,
					  .begun = at,
					  .started = at + NS_PER_MS,
					  .first_token = at + 100 * NS_PER_MS,
					  .first_visible = at + 100 * NS_PER_MS,
					  .last_token = at + 500 * NS_PER_MS,
					  .end = at + 500 * NS_PER_MS,
					  .connect_ns = LOAD_NONE,
					  .tls_ns = LOAD_NONE,
					  .events_at = (uint32_t)(5 * i),
					  .n_events = 5,
					  .tokens = 10,
					  .source = LOAD_TOKENS_USAGE,
					  .good = true,
					  .detail = "" };
		for (int k = 0; k < 5; k++)
			ev[5 * i + (size_t)k].at = at + (k + 1) * 100 * NS_PER_MS;
	}
}

static void numbers_follow_their_definitions(void)
{
	struct load_req v[10];
	struct load_event ev[50] = { 0 };
	struct load_objective o = { LOAD_TTFT, 1, NS_PER_S };
	struct load_result r = { .v = v,
				 .n = 10,
				 .events = ev,
				 .n_events = 50,
				 .peak = 1,
				 .objectives = &o,
				 .n_objectives = 1 };

	fill(v, ev, 10);
	CHECK_NEAR(get(&r, "ttft.p50"), 1e8, 0);
	CHECK_NEAR(get(&r, "ttft_from_start.p50"), 9.9e7, 0);
	CHECK_NEAR(get(&r, "itl.p99"), 1e8, 0);
	/* 0.4 s over 10 x 4/5 tokens */
	CHECK_NEAR(get(&r, "tpot.mean"), 5e7, 1);
	CHECK_NEAR(get(&r, "e2e.max"), 5e8, 0);
	CHECK(isnan(get(&r, "connect.p50")));
	/* 9.5 s in all */
	CHECK_NEAR(get(&r, "throughput"), 10 / 9.5, 1e-9);
	CHECK_NEAR(get(&r, "output_tokens_per_s"), 100 / 9.5, 1e-9);
	CHECK_NEAR(get(&r, "errors"), 0, 0);
	CHECK_NEAR(get(&r, "goodput"), 1, 0);
	CHECK(isnan(get(&r, "answers.match")));
	CHECK_NEAR(get(&r, "requests.ok"), 10, 0);
}

static void failures_are_infinite_in_the_second_column(void)
{
	struct load_req v[10];
	struct load_event ev[50] = { 0 };
	struct load_result r = { .v = v, .n = 10, .events = ev, .n_events = 50, .peak = 1 };

	fill(v, ev, 10);
	v[3].outcome = v[4].outcome = LOAD_CUT;
	v[5].outcome = LOAD_CANCELLED;
	CHECK_NEAR(get(&r, "ttft.max"), 1e8, 0);
	CHECK_NEAR(get(&r, "ttft.p50.all"), 1e8, 0);
	CHECK(isinf(get(&r, "ttft.p90.all")));
	CHECK_NEAR(get(&r, "errors"), 2.0 / 9, 1e-12);
	CHECK_NEAR(get(&r, "requests.scheduled"), 9, 0);
	CHECK(isnan(get(&r, "goodput")));
}

static void the_steady_window_leaves_ramp_and_drain_out(void)
{
	struct load_req v[20];
	struct load_event ev[100] = { 0 };
	struct load_result r = { .v = v, .n = 20, .events = ev, .n_events = 100, .peak = 10 };
	int64_t from, to;

	fill(v, ev, 20);
	/* One begins each second and stays for ten: ten in flight from 9 s to 20 s. For half of the
	 * 29 s there are eight or more, and that is from 7 s to 22 s. */
	for (int64_t i = 0; i < 20; i++)
		v[i].end = v[i].begun + 10 * NS_PER_S;
	CHECK(load_steady(&r, &from, &to));
	CHECK_INT(from, 7 * NS_PER_S);
	CHECK_INT(to, 22 * NS_PER_S);
	r.n = 0;
	CHECK(!load_steady(&r, &from, &to));
}

static void knows_its_names(void)
{
	enum unit u;
	enum direction d;

	CHECK(load_metric_known(SV("ttft.p99"), &u, &d));
	CHECK_INT(u, UNIT_NS);
	CHECK_INT(d, LOWER_IS_BETTER);
	CHECK(load_metric_known(SV("throughput"), &u, &d));
	CHECK_INT(d, HIGHER_IS_BETTER);
	CHECK(load_metric_known(SV("answers.match"), &u, &d));
	CHECK_INT(u, UNIT_RATIO);
	CHECK(!load_metric_known(SV("ttft"), &u, &d));
	CHECK(!load_metric_known(SV("ttft.p98"), &u, &d));
}

static void judges_itself(void)
{
	struct load_req v[10];
	struct load_event ev[50] = { 0 };
	struct load_result r = { .v = v, .n = 10, .events = ev, .n_events = 50, .peak = 1 };

	fill(v, ev, 10);
	r.audit = (struct load_audit){ .events = 50,
				       .lag_p50_ns = 4.9e6,
				       .lag_p99_ns = 9.9e6,
				       .rate_asked = 1,
				       .rate_achieved = 1,
				       .cpu_share = 0.5 };
	audit_judge(&r);
	CHECK(!r.audit.client_limited); /* 5 and 10 % of a 100 ms ttft are 5 and 10 ms */
	r.audit.lag_p99_ns = 10.1e6;
	audit_judge(&r);
	CHECK(r.audit.client_limited);
	CHECK_HAS(r.audit.reasons, "p99 10.1 ms after their time");
	r.audit.lag_p50_ns = 5.1e6;
	audit_judge(&r);
	CHECK_HAS(r.audit.reasons, "half of them 5.1 ms or more");
	r.audit.lag_p50_ns = 0;
	r.audit.lag_p99_ns = 0;
	r.audit.late = 6;
	r.audit.cpu_share = 0.95;
	audit_judge(&r);
	CHECK_HAS(r.audit.reasons, "read late and merged");
	CHECK_HAS(r.audit.reasons, "; a loop used 95 % of a CPU");
	r.audit.late = 0;
	r.audit.cpu_share = 0;
	r.audit.rate_achieved = 0.9;
	audit_judge(&r);
	CHECK_HAS(r.audit.reasons, "sent 0.9 requests/s of 1");
}

TEST_MAIN(TEST(quantiles_are_of_type_7), TEST(numbers_follow_their_definitions),
	  TEST(failures_are_infinite_in_the_second_column),
	  TEST(the_steady_window_leaves_ramp_and_drain_out), TEST(knows_its_names),
	  TEST(judges_itself))
