/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else goes wrong between a client and a server that streams: each kind says what is counted,
 * and every token's time is held against the moment the server wrote it.
 */
#include "load_lib.h"

struct want {
	enum load_outcome outcome;
	uint32_t tokens, events;
	enum load_token_source source;
	double ttft_ms;
	const char *detail, *answer; /* NULL: not looked at */
};

#define LATE_MS 6

static void check_one(const struct bench *b, const struct load_req *r, const char *script,
		      const struct want *w)
{
	char *answer = xstrndup(b->res.text + r->answer_at, r->answer_n);

	if (r->outcome != w->outcome)
		test_fails(__FILE__, __LINE__, "%s: %s (%s), want %s", script,
			   load_outcome_name(r->outcome), r->detail, load_outcome_name(w->outcome));
	if (w->detail)
		CHECK_STR(r->detail, w->detail);
	CHECK_INT(r->n_events, w->events);
	CHECK_INT(r->tokens, w->tokens);
	CHECK_INT(r->source, w->source);
	if (w->answer)
		CHECK_STR(answer, w->answer);
	if (w->events)
		CHECK_TIME((double)(r->first_token - r->started) / 1e6, w->ttft_ms - 0.1,
			   w->ttft_ms + 150);
	else
		CHECK_INT(r->first_token, LOAD_NONE);
	free(answer);
}

static void begin(struct bench *b, struct fake *f, const char *script)
{
	*f = fake_start(script, NULL);
	bench_init(b, f);
	b->conf.rate = 100;
	b->conf.count = 3;
}

static void over(struct bench *b, struct fake *f)
{
	bench_done(b);
	fake_stop(f);
}

static void run_and_check(struct bench *b, struct fake *f, const char *script, const struct want *w)
{
	bench_run(b);
	CHECK_INT(b->res.n, 3);
	for (size_t i = 0; i < b->res.n; i++)
		check_one(b, &b->res.v[i], script, w);
	if (w->events)
		CHECK_INT(bench_truth(b, f, LATE_MS), 3 * w->events);
	CHECK_INT(fake_truth(f, "requests"), 3);
	CHECK_NEAR(bench_get(b, "errors"), w->outcome == LOAD_OK ? 0 : 1, 0);
	/* A failed request is in no latency. */
	CHECK(isnan(bench_get(b, "ttft.p50")) == (w->outcome != LOAD_OK || w->events == 0));
}

static void plays(const char *script, const struct want *w)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, script);
	run_and_check(&b, &f, script, w);
	over(&b, &f);
}

#define WANT(n, from, ttft, ...)                                                                   \
	(&(struct want){ .tokens = n, .events = n, .source = from, .ttft_ms = ttft, __VA_ARGS__ })
#define GOOD(n, ...)   WANT(n, LOAD_TOKENS_USAGE, 20, __VA_ARGS__)
#define FAILED(o, ...) (&(struct want){ .outcome = o, __VA_ARGS__ })
#define BASE           "n=5,ttft=20ms,itl=4ms"
#define TEXT           .answer = "t0 t1 t2 t3 t4"
#define WIDE           .answer = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe6\xbc\xa2\xc3\xa9"

/* ---- the end --------------------------------------------------------------------------------- */

static void what_comes_after_done_is_no_token(void)
{
	plays(BASE ",more=3", GOOD(5, TEXT));
}

static void done_without_an_end_of_the_body_times_out(void)
{
	const struct want w = { .outcome = LOAD_TIMEOUT,
				.tokens = 5,
				.events = 5,
				.source = LOAD_TOKENS_USAGE,
				.ttft_ms = 20,
				.detail = "after [DONE], the body has no end" };
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",end=linger");
	b.conf.timeout_ns = 250 * NS_PER_MS;
	run_and_check(&b, &f, "linger", &w);
	over(&b, &f);
}

static void a_reset_behind_the_whole_answer_costs_nothing(void)
{
	plays(BASE ",end=slam", GOOD(5, TEXT));
}

static void a_reset_before_the_finish_reason_does(void)
{
	plays(BASE ",end=reset", &(struct want){ .outcome = LOAD_RESET,
						 .tokens = 5,
						 .events = 5,
						 .source = LOAD_TOKENS_EVENT,
						 .ttft_ms = 20,
						 .detail = "closed inside the body" });
}

/* Bytes that belong to no answer end the connection, whenever they come. */
static void bytes_behind_the_answer_reach_no_other_request(void)
{
	static const char *const when[] = { BASE ",extra=1", BASE ",extra=8ms" };

	for (int i = 0; i < 2; i++) {
		struct fake f;
		struct bench b;

		begin(&b, &f, when[i]);
		b.conf.rate = 12;
		run_and_check(&b, &f, when[i], GOOD(5, TEXT));
		CHECK_INT(fake_truth(&f, "connections"), 3 + 3); /* and three questions */
		over(&b, &f);
	}
}

static void a_broken_trailer_fails_the_answer(void)
{
	plays(BASE ",trailer=2", &(struct want){ .outcome = LOAD_ERROR_BODY,
						 .tokens = 5,
						 .events = 5,
						 .source = LOAD_TOKENS_USAGE,
						 .ttft_ms = 20,
						 .detail = "header without a colon" });
}

/* ---- framing --------------------------------------------------------------------------------- */

static void chunk_extensions_are_passed_over(void)
{
	plays(BASE ",ext=1,frag=7", GOOD(5, TEXT));
}

static void characters_split_over_chunks_and_packets_are_whole(void)
{
	plays(BASE ",utf8=1,frag=3,split=4", GOOD(5, WIDE));
}

static void line_ends_may_change_and_be_split(void)
{
	plays(BASE ",nl=mix,split=3", GOOD(5, TEXT));
	plays(BASE ",nl=mix,frag=1,sp=0", GOOD(5, TEXT));
}

static void a_comment_in_the_middle_of_an_event_is_none(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",comment=1");
	run_and_check(&b, &f, "comment", GOOD(5, TEXT));
	CHECK(b.res.v[0].pings >= 5);
	over(&b, &f);
}

static void the_same_length_twice_is_one(void)
{
	plays(BASE ",frame=length,dup=1", GOOD(5, TEXT));
}

static void two_lengths_are_refused(void)
{
	plays(BASE ",frame=length,dup=2", FAILED(LOAD_ERROR_BODY, .detail = "two content-lengths"));
}

static void a_server_of_http_1_0_is_followed_to_its_close(void)
{
	plays(BASE ",http10=1,frame=close", GOOD(5, TEXT));
	plays(BASE ",http10=1", FAILED(LOAD_ERROR_BODY, .detail = "transfer-encoding in HTTP/1.0"));
}

static void a_coding_that_was_not_asked_for_is_refused(void)
{
	plays(BASE ",zip=1", FAILED(LOAD_ERROR_BODY, .detail = "content coding not asked for"));
}

static void events_under_another_content_type_are_no_stream(void)
{
	plays(BASE ",type=none", FAILED(LOAD_ERROR_BODY, .detail = "body is not JSON"));
	plays("n=5,ttft=5ms,body=whole", FAILED(LOAD_ERROR_BODY, .source = LOAD_TOKENS_USAGE,
						.tokens = 5, .detail = "not an event stream"));
}

/* ---- the head -------------------------------------------------------------------------------- */

static void a_head_in_pieces_moves_no_token(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",hsplit=40,hgap=3ms");
	run_and_check(&b, &f, "hsplit", GOOD(5, TEXT));
	for (size_t i = 0; i < b.res.n; i++)
		CHECK(b.res.v[i].first_byte < b.res.v[i].first_token - 5 * NS_PER_MS);
	over(&b, &f);
}

static void interim_answers_are_no_answer(void)
{
	plays(BASE ",interim=2", GOOD(5, TEXT));
	plays(BASE ",interim=1,split=5", GOOD(5, TEXT));
}

static void a_redirection_is_a_failure_and_not_followed(void)
{
	plays("status=307,ttft=5ms",
	      FAILED(LOAD_HTTP_STATUS, .detail = "redirected, which is not followed"));
}

/* The answer to a long prompt comes before the prompt has been sent. */
static void an_answer_before_the_requests_end_is_the_answer(void)
{
	struct fake f;
	struct bench b;
	struct str s = { 0 };
	struct err err = ERR_INIT;

	begin(&b, &f, "status=413,eager=1,ttft=0");
	str_add(&s, "{\"prompt\":\"");
	str_pad(&s, 'x', (size_t)12 << 20);
	str_add(&s, "\"}");
	load_prompts_release(&b.prompts);
	CHECK_OK(load_prompts_parse(sv_str(&s), "big", &b.prompts, &err), err);
	str_release(&s);
	run_and_check(&b, &f, "eager", FAILED(LOAD_HTTP_STATUS, .detail = "refused by status"));
	for (size_t i = 0; i < b.res.n; i++)
		CHECK_INT(b.res.v[i].status, 413);
	over(&b, &f);
}

/* ---- what an event carries ------------------------------------------------------------------- */

static void two_answers_at_once_are_counted_together(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, "n=5,ttft=20ms,itl=8ms,choices=2");
	b.conf.max_tokens = 6; /* of each; 10 of both is no contradiction */
	run_and_check(&b, &f, "choices", GOOD(10, TEXT));
	CHECK_INT(b.res.v[0].choices, 2);
	CHECK_INT((int)bench_get(&b, "usage_contradictions"), 0);
	over(&b, &f);
	plays("n=5,ttft=20ms,itl=8ms,choices=2,fin=none",
	      &(struct want){ .outcome = LOAD_NO_FINISH,
			      .tokens = 10,
			      .events = 10,
			      .source = LOAD_TOKENS_USAGE,
			      .ttft_ms = 20 });
}

static void usage_before_the_first_token_is_no_token(void)
{
	plays(BASE ",usage=first", GOOD(5, TEXT));
}

static void usage_of_fewer_tokens_than_events_is_not_believed(void)
{
	plays(BASE ",ulie=-2", WANT(5, LOAD_TOKENS_EVENT, 20, TEXT));
}

static void empty_deltas_are_no_tokens(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",empty=3,nulls=1,role=early");
	run_and_check(&b, &f, "empty", GOOD(5, TEXT));
	CHECK_INT(b.res.v[0].body_events, 1 + 5 * 4 + 3);
	over(&b, &f);
}

static void an_answer_of_reasoning_alone_has_tokens_and_no_text(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",reason=5");
	run_and_check(&b, &f, "reason", GOOD(5, .answer = ""));
	CHECK(isnan(bench_get(&b, "ttft_visible.p50")));
	CHECK_INT(b.res.v[0].reasoning_tokens, 5);
	over(&b, &f);
}

static void a_tool_call_is_an_answer(void)
{
	plays(BASE ",tool=5,fr=tool_calls", GOOD(5, .answer = ""));
}

static void a_refusal_is_text_for_the_user(void)
{
	plays(BASE ",refuse=5", GOOD(5, TEXT));
}

static void an_error_before_the_first_token_is_an_error(void)
{
	plays(BASE ",err=0", FAILED(LOAD_ERROR_EVENT, .detail = "error in the stream"));
	plays(BASE ",err=3", &(struct want){ .outcome = LOAD_ERROR_EVENT,
					     .tokens = 3,
					     .events = 3,
					     .source = LOAD_TOKENS_EVENT,
					     .ttft_ms = 20 });
}

/* ---- times ----------------------------------------------------------------------------------- */

static void a_stall_in_the_middle_is_one_long_gap(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, BASE ",pause=150ms,pat=3");
	run_and_check(&b, &f, "pause", GOOD(5, TEXT));
	CHECK_TIME(bench_ms(&b, "itl.max"), 153, 190);
	CHECK_TIME(bench_ms(&b, "itl.p50"), 3, 12);
	CHECK_TIME(bench_ms(&b, "tpot.p50"), (4 * 4 + 150) / 4.0 - 0.5, 55);
	over(&b, &f);
}

static void tokens_written_together_have_the_time_of_the_write(void)
{
	struct fake f;
	struct bench b;

	begin(&b, &f, "n=6,epw=3,ttft=20ms,itl=4ms");
	/* The write waits for its last token. */
	run_and_check(&b, &f, "epw", WANT(6, LOAD_TOKENS_USAGE, 28, .answer = "t0 t1 t2 t3 t4 t5"));
	for (size_t i = 0; i < b.res.n; i++) {
		const struct load_event *e = b.res.events + b.res.v[i].events_at;

		CHECK_INT(e[0].at, e[2].at);
		CHECK(e[1].flags & LOAD_EV_MERGED);
		CHECK_TIME((double)(e[3].at - e[2].at) / 1e6, 10, 30);
	}
	over(&b, &f);
}

/* An event is there when its last byte is. */
static void a_token_that_drips_in_counts_when_it_is_whole(void)
{
	plays("n=2,ttft=20ms,itl=200ms,split=40,gap=5ms,role=none,usage=every",
	      WANT(2, LOAD_TOKENS_EVERY, 40, .answer = "t0 t1"));
}

TEST_MAIN(TEST(what_comes_after_done_is_no_token), TEST(done_without_an_end_of_the_body_times_out),
	  TEST(a_reset_behind_the_whole_answer_costs_nothing),
	  TEST(a_reset_before_the_finish_reason_does),
	  TEST(bytes_behind_the_answer_reach_no_other_request),
	  TEST(a_broken_trailer_fails_the_answer), TEST(chunk_extensions_are_passed_over),
	  TEST(characters_split_over_chunks_and_packets_are_whole),
	  TEST(line_ends_may_change_and_be_split),
	  TEST(a_comment_in_the_middle_of_an_event_is_none), TEST(the_same_length_twice_is_one),
	  TEST(two_lengths_are_refused), TEST(a_server_of_http_1_0_is_followed_to_its_close),
	  TEST(a_coding_that_was_not_asked_for_is_refused),
	  TEST(events_under_another_content_type_are_no_stream),
	  TEST(a_head_in_pieces_moves_no_token), TEST(interim_answers_are_no_answer),
	  TEST(a_redirection_is_a_failure_and_not_followed),
	  TEST(an_answer_before_the_requests_end_is_the_answer),
	  TEST(two_answers_at_once_are_counted_together),
	  TEST(usage_before_the_first_token_is_no_token),
	  TEST(usage_of_fewer_tokens_than_events_is_not_believed), TEST(empty_deltas_are_no_tokens),
	  TEST(an_answer_of_reasoning_alone_has_tokens_and_no_text), TEST(a_tool_call_is_an_answer),
	  TEST(a_refusal_is_text_for_the_user), TEST(an_error_before_the_first_token_is_an_error),
	  TEST(a_stall_in_the_middle_is_one_long_gap),
	  TEST(tokens_written_together_have_the_time_of_the_write),
	  TEST(a_token_that_drips_in_counts_when_it_is_whole))
