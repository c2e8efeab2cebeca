/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of wrong measurement that load generators have been reported to make, played by the
 * scripted server. Margins are wide: this asserts what is counted from where, not how quick the
 * machine is.
 */
#include "load_lib.h"

#include <pthread.h>

/* Runs the script as it stands: `count` requests at `rate`. */
static void play(struct bench *b, struct fake *f, const char *script, double rate, unsigned count)
{
	*f = fake_start(script, NULL);
	bench_init(b, f);
	b->conf.rate = rate;
	b->conf.count = count;
}

static void over(struct bench *b, struct fake *f)
{
	bench_done(b);
	fake_stop(f);
}

static int outcome_of(const struct bench *b, size_t i)
{
	return b->res.v[i].outcome;
}

static void all_are(const struct bench *b, enum load_outcome want)
{
	for (size_t i = 0; i < b->res.n; i++)
		if (b->res.v[i].outcome != want)
			test_fails(__FILE__, __LINE__, "request %zu is %s (%s), want %s", i,
				   load_outcome_name(b->res.v[i].outcome), b->res.v[i].detail,
				   load_outcome_name(want));
	CHECK(b->res.n > 0);
}

static void follows_plain_streams(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,ttft=50ms,itl=10ms", 50, 10);
	bench_run(&b);
	CHECK_INT(b.res.n, 10);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 50, 90);
	CHECK_TIME(bench_ms(&b, "itl.p50"), 8, 15);
	CHECK_TIME(bench_ms(&b, "tpot.p50"), 9, 20);
	CHECK_TIME(bench_ms(&b, "e2e.p50"), 119, 200);
	CHECK_INT(b.res.v[0].tokens, 8);
	CHECK_STR(b.res.v[0].finish, "stop");
	CHECK_INT(fake_truth(&f, "requests"), 10);
	CHECK_INT(b.res.attempts, 10);
	over(&b, &f);
}

/* Clock starts after a semaphore: latency must be from the scheduled time, the queue apart. */
static void counts_latency_from_the_scheduled_time(void)
{
	struct fake f;
	struct bench b;
	char *body;

	play(&b, &f, "n=4,ttft=20ms,itl=5ms", 20, 30);
	b.conf.max_in_flight = 4;
	body = fake_ask(&f, "POST", "/truth/stall?ms=1000");
	free(body);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "ttft.max"), 700, 2500);
	CHECK_TIME(bench_ms(&b, "client_queue.max"), 400, 2500);
	CHECK(bench_get(&b, "ttft_from_start.p50") <= bench_get(&b, "ttft.p50"));
	CHECK_INT(b.res.peak, 4);
	over(&b, &f);
}

static void keeps_the_connect_time_apart(void)
{
	struct fake f;
	struct bench b, kept;

	play(&b, &f, "n=2,ttft=10ms,itl=1ms", 50, 10);
	b.conf.no_keep_alive = true;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	for (size_t i = 0; i < b.res.n; i++)
		CHECK(b.res.v[i].connect_ns >= 0 && !b.res.v[i].reused);
	CHECK(bench_get(&b, "connect.p50") > 0);
	bench_init(&kept, &f);
	kept.conf.warmup_count = 2;
	bench_run(&kept);
	all_are(&kept, LOAD_OK);
	CHECK(kept.res.v[0].reused && kept.res.v[0].connect_ns == LOAD_NONE);
	CHECK_INT(kept.res.n_warmup_ok, 2);
	bench_done(&kept);
	over(&b, &f);
}

/* An event is not a token. */
static void tells_events_from_tokens(void)
{
	struct fake f;
	struct bench b;

	for (int every = 0; every < 2; every++) {
		play(&b, &f,
		     every ? "n=64,ttft=20ms,itl=2ms,tpc=4,usage=every"
			   : "n=64,ttft=20ms,itl=2ms,tpc=4,usage=end",
		     20, 6);
		bench_run(&b);
		all_are(&b, LOAD_OK);
		CHECK_INT(b.res.v[0].n_events, 16);
		CHECK_INT(b.res.v[0].tokens, 64);
		CHECK_INT(b.res.v[0].source, every ? LOAD_TOKENS_EVERY : LOAD_TOKENS_USAGE);
		CHECK_TIME(bench_ms(&b, "itl.p50"), 7, 12);
		CHECK_TIME(bench_ms(&b, "tpot.p50"), 1.9, 3);
		over(&b, &f);
	}
}

static void keeps_requests_of_different_grain_apart(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=32,ttft=20ms,itl=4ms,tpc=4,usage=every|n=32,ttft=20ms,itl=4ms,usage=every",
	     20, 6);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	for (size_t i = 0; i < b.res.n; i++) {
		const struct load_req *r = &b.res.v[i];
		int64_t gap = b.res.events[r->events_at + 2].at - b.res.events[r->events_at + 1].at;

		CHECK_INT(r->tokens, 32);
		CHECK_TIME((double)gap / 1e6, r->n_events == 8 ? 12 : 2, r->n_events == 8 ? 24 : 9);
	}
	CHECK_TIME(bench_ms(&b, "tpot.p50"), 3.8, 6);
	over(&b, &f);
}

static void counts_all_tokens_of_the_first_event(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=64,ttft=20ms,itl=4ms,tpc=8,usage=every", 20, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.events[b.res.v[0].events_at].tokens, 8);
	/* 7 gaps of 32 ms over 56 tokens is 4 ms; over 63 it would be 3.56. */
	CHECK_TIME(bench_ms(&b, "tpot.p50"), 3.9, 5);
	over(&b, &f);
}

static void believes_no_retokenized_count(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=128,ttft=20ms,itl=1ms,usage=end", 20, 3);
	b.conf.max_tokens = 128;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.v[0].tokens, 128);
	over(&b, &f);
}

static void takes_no_role_event_for_a_token(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,role=early,ttft=200ms,itl=5ms", 20, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 200, 260);
	CHECK_TIME(bench_ms(&b, "itl.max"), 0, 150);
	CHECK_INT(b.res.v[0].n_events, 8);
	CHECK(b.res.v[0].first_byte - b.res.v[0].scheduled < 150 * NS_PER_MS);
	over(&b, &f);
}

static void takes_no_ping_for_a_token(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,ping=50ms,ttft=200ms,itl=5ms", 20, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 200, 260);
	CHECK_INT(b.res.v[0].n_events, 8);
	CHECK(b.res.v[0].pings >= 3);
	over(&b, &f);
}

static void keeps_ttft_out_of_itl(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,ttft=1s,itl=10ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "itl.max"), 8, 200);
	over(&b, &f);
}

static void calls_short_answers_short(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=64,end=clean,at=10,ttft=10ms,itl=1ms", 50, 4);
	b.conf.ignore_eos = true;
	bench_run(&b);
	all_are(&b, LOAD_NO_FINISH);
	CHECK(isnan(bench_get(&b, "ttft.p50")));
	over(&b, &f);

	play(&b, &f, "n=10,ttft=10ms,itl=1ms", 50, 4);
	b.conf.ignore_eos = true;
	bench_run(&b);
	all_are(&b, LOAD_SHORT);
	over(&b, &f);

	play(&b, &f, "n=10,ttft=10ms,itl=1ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK); /* "stop" before the limit is the model's right */
	over(&b, &f);
}

static void wants_a_finish_reason(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=5,fin=none,done=0,ttft=10ms,itl=1ms|n=5,fin=none,ttft=10ms,itl=1ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_NO_FINISH);
	over(&b, &f);

	play(&b, &f, "n=5,fin=same,done=0,usage=none,ttft=10ms,itl=1ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.v[0].source, LOAD_TOKENS_EVENT);
	over(&b, &f);
}

static void ends_hung_streams_by_timeout(void)
{
	struct fake f;
	struct bench b;
	int64_t from = clock_ns();

	play(&b, &f, "n=64,end=hang,at=5,ttft=10ms,itl=5ms", 50, 6);
	b.conf.timeout_ns = 400 * NS_PER_MS;
	bench_run(&b);
	all_are(&b, LOAD_TIMEOUT);
	CHECK(clock_ns() - from < 8 * NS_PER_S);
	for (size_t i = 0; i < b.res.n; i++)
		CHECK_TIME((double)(b.res.v[i].end - b.res.v[i].begun) / 1e6, 399.9, 410);
	CHECK_STR(b.res.v[0].detail, "inside the answer");
	CHECK_INT((int)bench_get(&b, "requests.timeout"), 6);
	over(&b, &f);
}

static void a_single_token_has_no_gap(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=1,fin=sep,ttft=20ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK(isnan(bench_get(&b, "itl.p50")) && isnan(bench_get(&b, "tpot.p50")));
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 20, 60);
	over(&b, &f);
}

static void an_answer_without_a_token_gives_no_sample(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "end=clean,at=0,ttft=10ms", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_SHORT);
	CHECK(isnan(bench_get(&b, "ttft.mean")) && isnan(bench_get(&b, "e2e.mean")));
	CHECK(isinf(bench_get(&b, "ttft.p50.all")));
	CHECK_INT(b.res.v[0].first_token, LOAD_NONE);
	over(&b, &f);
}

static void keeps_failures_out_of_latencies_and_in_the_counts(void)
{
	struct fake f;
	struct bench b;
	struct load_objective o = { LOAD_TTFT, 1, 5 * NS_PER_S };

	play(&b, &f, "status=503,ttft=0|n=4,ttft=50ms,itl=1ms", 50, 20);
	b.conf.objectives = &o;
	b.conf.n_objectives = 1;
	bench_run(&b);
	CHECK_INT((int)bench_get(&b, "requests.ok"), 10);
	CHECK_INT((int)bench_get(&b, "requests.http_status"), 10);
	CHECK_TIME(bench_ms(&b, "ttft.p50"), 50, 120);
	CHECK(isinf(bench_get(&b, "ttft.p90.all")));
	CHECK_NEAR(bench_get(&b, "errors"), 0.5, 1e-9);
	CHECK_NEAR(bench_get(&b, "goodput"), 0.5, 1e-9);
	CHECK_INT(b.res.v[0].status, 503);
	over(&b, &f);
}

static void a_refusing_server_does_not_look_faster(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "3*status=429,retry=7,ttft=0|7*n=4,ttft=50ms,itl=1ms", 50, 20);
	bench_run(&b);
	CHECK_NEAR(bench_get(&b, "errors"), 0.3, 1e-9);
	CHECK(isinf(bench_get(&b, "e2e.p90.all")) && !isinf(bench_get(&b, "e2e.p50.all")));
	for (size_t i = 0; i < b.res.n; i++)
		CHECK_INT(b.res.v[i].retry_after_s, b.res.v[i].status == 429 ? 7 : -1);
	over(&b, &f);
}

static void never_retries_in_hiding(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "status=503,retry=1,ttft=0", 50, 10);
	bench_run(&b);
	all_are(&b, LOAD_HTTP_STATUS);
	CHECK_INT(fake_truth(&f, "requests"), 10);
	CHECK_INT(b.res.attempts, 10);
	over(&b, &f);
}

static void has_no_limit_of_connections_of_its_own(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=16,ttft=500ms,itl=20ms", 1000, 256);
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 256;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(fake_truth(&f, "active_max"), 256);
	CHECK_INT(b.res.peak, 256);
	over(&b, &f);
}

static void takes_no_fragment_for_an_event(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,split=150,gap=3ms,ttft=20ms,itl=20ms,usage=every", 1, 256);
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 256;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	for (size_t i = 0; i < b.res.n; i++) {
		CHECK_INT(b.res.v[i].n_events, 8);
		CHECK_INT(b.res.v[i].tokens, 8);
	}
	over(&b, &f);
}

static void marks_events_that_came_in_one_read(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=32,epw=8,ttft=20ms,itl=2ms", 20, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.v[0].n_events, 32);
	CHECK_INT(b.res.audit.events, 4 * 32);
	CHECK_INT(b.res.audit.merged, 4 * 32);
	CHECK(b.res.events[0].flags & LOAD_EV_MERGED);
	over(&b, &f);
}

static void reports_usage_that_cannot_be(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=64,ulie=64,ttft=20ms,itl=2ms", 20, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT((int)bench_get(&b, "usage_contradictions"), 4);
	CHECK_INT(b.res.v[0].usage_tokens, 128);
	CHECK_INT(b.res.v[0].tokens, 64);
	CHECK_INT(b.res.v[0].source, LOAD_TOKENS_EVENT);
	CHECK_TIME(bench_ms(&b, "tpot.p50"), 1.9, 3);
	over(&b, &f);
}

static void names_repeated_prompts_and_the_schedule(void)
{
	struct fake f;
	struct bench b, again;

	play(&b, &f, "n=2,ttft=5ms,itl=1ms,cached=8", 100, 6);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.repeated_prompts, 4); /* two prompts, six requests */
	CHECK_INT(fake_truth(&f, "repeated"), 4);
	CHECK(b.res.v[0].has_cached && b.res.v[0].cached_tokens == 8);
	bench_init(&again, &f);
	again.conf.rate = 100;
	again.conf.count = 6;
	bench_run(&again);
	CHECK_STR(again.res.schedule_digest, b.res.schedule_digest);
	CHECK_STR(again.res.prompts_digest, b.res.prompts_digest);
	CHECK_INT(strlen(b.res.prompts_digest), 64);
	bench_done(&again);
	over(&b, &f);
}

static void sends_on_time_above_capacity(void)
{
	static const char *const slots[] = { "--slots", "2", NULL };
	struct fake f = fake_start("n=4,ttft=50ms,itl=10ms", slots);
	struct bench b;

	bench_init(&b, &f);
	b.conf.rate = 60;
	b.conf.count = 30;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(b.res.audit.rate_achieved, 55, 65);
	CHECK_TIME(b.res.audit.lag_p50_ns / 1e6, 0, 30);
	CHECK(bench_get(&b, "ttft.max") > 4 * bench_get(&b, "ttft_from_start.p50") / 10);
	CHECK_INT(fake_truth(&f, "active_max"), 2);
	CHECK(b.res.peak > 4);
	over(&b, &f);
}

static void a_burst_is_a_burst(void)
{
	static int64_t at[64];
	struct fake f;
	struct bench b;

	play(&b, &f, "n=2,ttft=100ms,itl=1ms", 1, 64);
	b.conf.arrival = LOAD_TRACE;
	b.conf.trace_ns = at;
	b.conf.n_trace = 64;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(fake_truth(&f, "active_max"), 64);
	CHECK(!isnan(b.res.audit.lag_max_ns));
	over(&b, &f);
}

static void states_the_steady_window(void)
{
	struct fake f;
	struct bench b;
	int64_t from, to;

	play(&b, &f, "n=16,ttft=100ms,itl=10ms|n=64,ttft=100ms,itl=10ms", 1, 32);
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 8;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.peak, 8);
	CHECK(load_steady(&b.res, &from, &to));
	CHECK(from >= 0 && to > from);
	CHECK(bench_get(&b, "output_tokens_per_s.steady") > bench_get(&b, "output_tokens_per_s"));
	over(&b, &f);
}

static void a_schedule_that_stalls_catches_up(void)
{
	struct fake f;
	struct bench b;
	char *body;

	play(&b, &f, "n=2,ttft=10ms,itl=1ms", 50, 60);
	body = fake_ask(&f, "POST", "/truth/stall?ms=800");
	free(body);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.n, 60);
	/* All begun at their times although the server stood still. */
	for (size_t i = 0; i < b.res.n; i++)
		CHECK_TIME((double)(b.res.v[i].begun - b.res.v[i].scheduled) / 1e6, 0, 200);
	over(&b, &f);
}

static void what_is_never_sent_is_dropped_and_makes_the_run_unfit(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "end=hang,at=0", 50, 40);
	b.conf.max_in_flight = 2;
	b.conf.timeout_ns = 300 * NS_PER_MS;
	bench_run(&b);
	CHECK(bench_get(&b, "requests.dropped") > 20);
	CHECK_INT((int)bench_get(&b, "requests.scheduled"), 40);
	CHECK(b.res.audit.client_limited);
	CHECK_HAS(b.res.audit.reasons, "never sent");
	CHECK_NEAR(bench_get(&b, "errors"), 1, 0);
	over(&b, &f);
}

static void e2e_ends_with_the_body(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=32,ttft=100ms,itl=10ms,late=0", 50, 4);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "e2e.p50"), 410, 520);
	over(&b, &f);
}

/* ---- the protocol's odd corners -------------------------------------------------------------- */

static void reads_every_legal_form(void)
{
	static const char *const forms[] = {
		"n=6,ttft=5ms,itl=1ms,nl=crlf",
		"n=6,ttft=5ms,itl=1ms,nl=cr",
		"n=6,ttft=5ms,itl=1ms,sp=0",
		"n=6,ttft=5ms,itl=1ms,utf8=1,split=3",
		"n=6,ttft=5ms,itl=1ms,esc=1,split=1,gap=0",
		"n=6,ttft=5ms,itl=1ms,frame=close",
		"n=6,ttft=5ms,itl=1ms,frame=length",
		"n=6,ttft=5ms,itl=1ms,frame=length,nl=crlf,split=7",
		"n=6,ttft=5ms,itl=1ms,interim=1,trailer=1,split=2",
		"n=6,ttft=5ms,itl=1ms,late=-1",
		"n=6,ttft=5ms,itl=1ms,keep=0",
		"n=6,ttft=5ms,itl=1ms,fin=same,epw=6",
		"n=6,ttft=5ms,itl=1ms,role=none,fr=length",
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct fake f;
		struct bench b;
		const char *want = strstr(forms[i], "utf8") || strstr(forms[i], "esc")
					   ? "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe6\xbc\xa2"
					     "\xc3\xa9\xe2\x82\xac"
					   : "t0 t1 t2 t3 t4 t5";

		play(&b, &f, forms[i], 100, 4);
		bench_run(&b);
		for (size_t k = 0; k < b.res.n; k++) {
			struct load_req *r = &b.res.v[k];
			char *answer = xstrndup(b.res.text + r->answer_at, r->answer_n);

			if (r->outcome != LOAD_OK)
				test_fails(__FILE__, __LINE__, "%s: %s (%s)", forms[i],
					   load_outcome_name(r->outcome), r->detail);
			CHECK_STR(answer, want);
			CHECK_INT(r->n_events, 6);
			free(answer);
		}
		over(&b, &f);
	}
}

static void tells_failures_apart(void)
{
	static const struct {
		const char *script;
		enum load_outcome want;
		const char *detail;
	} cases[] = {
		{ "n=9,end=cut,at=3,ttft=5ms,itl=1ms", LOAD_CUT, "closed inside the body" },
		{ "n=9,end=cut,at=3,ttft=5ms,itl=1ms,frame=length", LOAD_NO_FINISH, NULL },
		{ "n=9,end=cut,at=3,ttft=5ms,itl=1ms,frame=close", LOAD_NO_FINISH, NULL },
		{ "n=9,end=reset,at=3,ttft=5ms,itl=1ms", LOAD_RESET, NULL },
		{ "n=9,err=4,ttft=5ms,itl=1ms", LOAD_ERROR_EVENT, NULL },
		{ "n=9,bad=4,ttft=5ms,itl=1ms", LOAD_ERROR_BODY, "bad JSON in an event" },
		{ "body=error,ttft=5ms", LOAD_ERROR_BODY, "error in the body" },
		{ "body=text,ttft=5ms", LOAD_ERROR_BODY, "body is not JSON" },
		{ "status=500,ttft=5ms", LOAD_HTTP_STATUS, "server error" },
		{ "status=404,ttft=5ms", LOAD_HTTP_STATUS, "refused by status" },
		{ "n=3,fr=abort,ttft=5ms,itl=1ms", LOAD_SHORT, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake f;
		struct bench b;

		play(&b, &f, cases[i].script, 100, 3);
		bench_run(&b);
		for (size_t k = 0; k < b.res.n; k++) {
			if (b.res.v[k].outcome != cases[i].want)
				test_fails(__FILE__, __LINE__, "%s: %s (%s)", cases[i].script,
					   load_outcome_name(outcome_of(&b, k)), b.res.v[k].detail);
			if (cases[i].detail)
				CHECK_STR(b.res.v[k].detail, cases[i].detail);
		}
		CHECK_NEAR(bench_get(&b, "errors"), 1, 0);
		over(&b, &f);
	}
}

static void a_refused_connection_is_its_own_outcome(void)
{
	struct fake f = fake_start("", NULL);
	struct bench b;

	fake_stop(&f);
	bench_init(&b, &f);
	bench_run(&b);
	all_are(&b, LOAD_CONNECT);
	CHECK_STR(b.res.v[0].detail, "refused");
	CHECK_INT(b.res.attempts, 0);
	bench_done(&b);
}

/* A kept connection that the server closes just as we send: sent again, in the open. */
static void sends_again_only_on_a_stale_connection(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=2,ttft=5ms,itl=1ms,race=1", 20, 6);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK(bench_get(&b, "reconnects") >= 2);
	CHECK_INT(fake_truth(&f, "requests"), 6);
	CHECK_INT(b.res.attempts, 6 + (int)bench_get(&b, "reconnects"));
	over(&b, &f);
}

static void tells_reasoning_from_the_visible_answer(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=10,reason=5,ttft=20ms,itl=20ms", 20, 3);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_TIME(bench_ms(&b, "ttft_visible.p50") - bench_ms(&b, "ttft.p50"), 90, 150);
	CHECK(b.res.events[0].flags & LOAD_EV_HIDDEN);
	over(&b, &f);
}

static void a_large_prompt_goes_out_in_parts(void)
{
	struct fake f;
	struct bench b;
	struct err err = ERR_INIT;
	struct str s = { 0 };

	play(&b, &f, "n=2,ttft=5ms,itl=1ms", 20, 3);
	load_prompts_release(&b.prompts);
	str_add(&s, "{\"prompt\":\"");
	str_pad(&s, 'x', 900 * 1000);
	str_add(&s, "\"}");
	CHECK_OK(load_prompts_parse(sv_str(&s), "big", &b.prompts, &err), err);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	str_release(&s);
	over(&b, &f);
}

static void talks_ipv6_and_finds_localhost(void)
{
	static const char *const six[] = { "--host", "::1", NULL };
	struct fake f = fake_start("n=2,ttft=5ms,itl=1ms", six);
	struct bench b;

	bench_init(&b, &f);
	snprintf(b.url, sizeof(b.url), "http://[::1]:%d/v1", f.port);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	over(&b, &f);

	play(&b, &f, "n=2,ttft=5ms,itl=1ms", 50, 4);
	snprintf(b.url, sizeof(b.url), "http://localhost:%d", f.port);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	over(&b, &f);
}

static void talks_over_a_unix_socket(void)
{
	char path[128], *at;
	const char *more[] = { "--unix", path, NULL };
	struct fake f;
	struct bench b;
	struct str url = { 0 };

	snprintf(path, sizeof(path), "%s/s.sock", test_dir());
	f = fake_start("n=2,ttft=5ms,itl=1ms", more);
	bench_init(&b, &f);
	str_add(&url, "http+unix://");
	for (at = path; *at; at++)
		str_addf(&url, *at == '/' ? "%%2F" : "%c", *at);
	b.conf.url = str_text(&url);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK(!b.res.audit.stamps);
	CHECK_INT(b.res.audit.unstamped, b.res.audit.events);
	str_release(&url);
	over(&b, &f);
}

/* ---- running --------------------------------------------------------------------------------- */

static volatile int cancel_now;

static int cancel_soon(void *arg, const struct load_progress *p)
{
	int *ticks = arg;

	CHECK(p->left_ns >= 0 && p->in_flight <= p->started);
	if (++*ticks == 4)
		cancel_now = 1;
	return 0;
}

static void a_stopped_run_gives_what_it_has(void)
{
	struct fake f;
	struct bench b;
	int ticks = 0;

	play(&b, &f, "n=8,ttft=20ms,itl=10ms|end=hang,at=2,ttft=10ms", 40, 10000);
	b.conf.tick = cancel_soon;
	b.conf.arg = &ticks;
	b.conf.tick_ns = 100 * NS_PER_MS;
	b.conf.cancel = &cancel_now;
	cancel_now = 0;
	bench_run(&b);
	CHECK(b.res.interrupted);
	CHECK(ticks >= 4);
	CHECK(b.res.n > 4 && b.res.n < 200);
	CHECK(bench_get(&b, "requests.cancelled") > 0);
	CHECK(bench_get(&b, "requests.ok") > 0);
	CHECK_INT((int)bench_get(&b, "requests.scheduled") +
			  (int)bench_get(&b, "requests.cancelled"),
		  (int)b.res.n);
	over(&b, &f);
}

static void raw_samples_give_the_same_numbers(void)
{
	struct fake f;
	struct bench b;
	struct load_result back = { 0 };
	struct err err = ERR_INIT;
	char path[128], *one, *two;
	json_t *ja, *jb;
	struct load_objective o = { LOAD_TTFT, 1, 5 * NS_PER_S };

	play(&b, &f,
	     "n=8,ttft=20ms,itl=2ms,usage=every,utf8=1|status=503,ttft=0|n=3,end=cut,ttft=0", 50,
	     9);
	b.conf.objectives = &o;
	b.conf.n_objectives = 1;
	bench_run(&b);
	snprintf(path, sizeof(path), "%s/raw.zst", test_dir());
	CHECK_OK(load_raw_write(&b.res, path, &err), err);
	CHECK_OK(load_raw_read(path, &back, &err), err);
	ja = load_result_to_json(&b.res);
	jb = load_result_to_json(&back);
	one = json_text(ja, true);
	two = json_text(jb, true);
	CHECK_STR(two, one);
	CHECK(json_equal(ja, jb));
	free(one);
	free(two);
	one = load_result_text(&b.res);
	two = load_result_text(&back);
	CHECK_STR(two, one);
	free(one);
	free(two);
	json_decref(ja);
	json_decref(jb);
	CHECK(truncate(path, 200) == 0);
	load_result_release(&back);
	CHECK_INT(load_raw_read(path, &back, &err), -ERR_PARSE);
	over(&b, &f);
}

static void exports_what_vllm_bench_would_write(void)
{
	struct fake f;
	struct bench b;
	json_t *o;

	play(&b, &f, "n=8,ttft=20ms,itl=2ms,usage=every|status=503,ttft=0", 50, 8);
	bench_run(&b);
	o = load_vllm_json(&b.res);
	CHECK_INT(json_integer_value(json_object_get(o, "completed")), 4);
	CHECK_INT(json_integer_value(json_object_get(o, "failed")), 4);
	CHECK_INT(json_integer_value(json_object_get(o, "total_output_tokens")), 32);
	CHECK_INT(json_array_size(json_object_get(o, "itls")), 8);
	CHECK_INT(json_array_size(json_array_get(json_object_get(o, "itls"), 0)), 7);
	CHECK_STR(json_string_value(json_array_get(json_object_get(o, "errors"), 1)),
		  "http_status: server error");
	CHECK_TIME(json_number_value(json_object_get(o, "median_ttft_ms")), 20, 70);
	CHECK_TIME(json_number_value(json_object_get(o, "p99_tpot_ms")), 1.9, 9);
	CHECK_INT(strlen(json_string_value(json_object_get(o, "date"))), 15);
	json_decref(o);
	over(&b, &f);
}

static void compares_answers_with_golden_ones(void)
{
	struct fake f;
	struct bench b;
	struct err err = ERR_INIT;
	struct load_golden g = { 0 };

	play(&b, &f, "n=3,ttft=5ms,itl=1ms", 50, 4);
	load_prompts_release(&b.prompts);
	CHECK_OK(load_prompts_parse(SV("{\"id\":\"a\",\"prompt\":\"x\",\"golden\":\"t0 t1 t2\"}\n"
				       "{\"id\":\"b\",\"prompt\":\"y\",\"golden\":\"t0 tX t2\"}"),
				    "p", &b.prompts, &err),
		 err);
	bench_run(&b);
	CHECK_NEAR(bench_get(&b, "answers.match"), 0.5, 1e-9);
	CHECK_INT(b.res.v[1].match, LOAD_MATCH_DIFFERENT);
	CHECK_INT(b.res.v[1].differs_at, 4);
	CHECK_INT(b.res.v[1].differs_event, 1);
	measurements_release(&b.m);
	b.m = (struct measurements){ 0 };
	char *text = load_golden_text(&b.res);

	CHECK_OK(load_golden_parse(sv_of(text), "g", &g, &err), err);
	CHECK_INT(g.n, 2);
	b.conf.golden = &g;
	load_result_release(&b.res);
	bench_run(&b);
	CHECK_NEAR(bench_get(&b, "answers.match"), 1, 1e-9);
	load_golden_release(&g);
	free(text);
	over(&b, &f);
}

static void several_loops_add_up(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "n=8,ttft=50ms,itl=5ms", 100, 60);
	b.conf.arrival = LOAD_POISSON;
	b.conf.loops = 3;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.n, 60);
	for (size_t i = 1; i < b.res.n; i++)
		CHECK(b.res.v[i].scheduled >= b.res.v[i - 1].scheduled);
	CHECK_INT(fake_truth(&f, "requests"), 60);
	over(&b, &f);
}

static void measures_itself_without_a_server(void)
{
	struct fake f = fake_start("n=8,ttft=5ms,itl=1ms", NULL);
	struct bench b;

	bench_init(&b, &f);
	b.conf.engine = LOAD_ENGINE_NULL;
	b.conf.rate = 2000;
	b.conf.count = 500;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(fake_truth(&f, "requests"), 0);
	bench_done(&b);
	bench_init(&b, &f);
	b.conf.engine = LOAD_ENGINE_RECV;
	snprintf(b.url, sizeof(b.url), "http://127.0.0.1:%d/s/n=8,ttft=5ms,itl=1ms,keep=0", f.port);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK(b.res.v[0].bytes > 8 * 100);
	over(&b, &f);
}

static void plain_requests_and_whole_answers_work_too(void)
{
	struct fake f;
	struct bench b;

	play(&b, &f, "", 1, 200);
	b.conf.endpoint = LOAD_PLAIN;
	b.conf.prompts = NULL;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 4;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.v[0].bytes, 5);
	CHECK(bench_get(&b, "throughput") > 100);
	over(&b, &f);
}

/* How far off our times are from what the server says it did: structure here, figures in the bench.
 */
static void token_times_agree_with_the_server(void)
{
	struct fake f;
	struct bench b;
	char *body, *line, *save = NULL;
	size_t seen = 0;

	play(&b, &f, "n=16,ttft=20ms,itl=5ms", 50, 10);
	bench_run(&b);
	all_are(&b, LOAD_OK);
	body = fake_ask(&f, "GET", "/truth/events");
	for (line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(line, 0, NULL), *sent = json_object_get(o, "sent");
		unsigned id;
		const struct load_req *r;

		CHECK(sscanf(json_string_value(json_object_get(o, "id")), "twice-%u", &id) == 1);
		r = &b.res.v[id];
		CHECK_INT(json_array_size(sent), r->n_events);
		for (uint32_t k = 0; k < r->n_events; k++) {
			int64_t theirs = json_integer_value(json_array_get(sent, k));
			int64_t ours = b.res.events[r->events_at + k].at + b.res.t0;

			/* Never before it was sent; and on any machine long before the next one. */
			CHECK_TIME((double)(ours - theirs) / 1e3, -20, 4000);
			seen++;
		}
		json_decref(o);
	}
	CHECK_INT(seen, 160);
	free(body);
	over(&b, &f);
}

TEST_MAIN(TEST(follows_plain_streams), TEST(counts_latency_from_the_scheduled_time),
	  TEST(keeps_the_connect_time_apart), TEST(tells_events_from_tokens),
	  TEST(keeps_requests_of_different_grain_apart), TEST(counts_all_tokens_of_the_first_event),
	  TEST(believes_no_retokenized_count), TEST(takes_no_role_event_for_a_token),
	  TEST(takes_no_ping_for_a_token), TEST(keeps_ttft_out_of_itl),
	  TEST(calls_short_answers_short), TEST(wants_a_finish_reason),
	  TEST(ends_hung_streams_by_timeout), TEST(a_single_token_has_no_gap),
	  TEST(an_answer_without_a_token_gives_no_sample),
	  TEST(keeps_failures_out_of_latencies_and_in_the_counts),
	  TEST(a_refusing_server_does_not_look_faster), TEST(never_retries_in_hiding),
	  TEST(has_no_limit_of_connections_of_its_own), TEST(takes_no_fragment_for_an_event),
	  TEST(marks_events_that_came_in_one_read), TEST(reports_usage_that_cannot_be),
	  TEST(names_repeated_prompts_and_the_schedule), TEST(sends_on_time_above_capacity),
	  TEST(a_burst_is_a_burst), TEST(states_the_steady_window),
	  TEST(a_schedule_that_stalls_catches_up),
	  TEST(what_is_never_sent_is_dropped_and_makes_the_run_unfit), TEST(e2e_ends_with_the_body),
	  TEST(reads_every_legal_form), TEST(tells_failures_apart),
	  TEST(a_refused_connection_is_its_own_outcome),
	  TEST(sends_again_only_on_a_stale_connection),
	  TEST(tells_reasoning_from_the_visible_answer), TEST(a_large_prompt_goes_out_in_parts),
	  TEST(talks_ipv6_and_finds_localhost), TEST(talks_over_a_unix_socket),
	  TEST(a_stopped_run_gives_what_it_has), TEST(raw_samples_give_the_same_numbers),
	  TEST(exports_what_vllm_bench_would_write), TEST(compares_answers_with_golden_ones),
	  TEST(several_loops_add_up), TEST(measures_itself_without_a_server),
	  TEST(plain_requests_and_whole_answers_work_too), TEST(token_times_agree_with_the_server))
