/* SPDX-License-Identifier: Apache-2.0 */
#include "load/answer.h"
#include "test.h"

struct one {
	struct lbuf_pool bufs;
	struct blocks events, text;
	struct answer_ctx ctx;
	struct load_req req;
	struct answer a;
};

static void begin(struct one *o, enum load_endpoint e)
{
	*o = (struct one){ 0 };
	blocks_init(&o->events);
	blocks_init(&o->text);
	o->ctx = (struct answer_ctx){ .bufs = &o->bufs,
				      .events = &o->events,
				      .text = &o->text,
				      .endpoint = e,
				      .answer_limit = 1000 };
	o->req = (struct load_req){ .first_byte = LOAD_NONE,
				    .first_token = LOAD_NONE,
				    .first_visible = LOAD_NONE,
				    .last_token = LOAD_NONE,
				    .end = LOAD_NONE,
				    .detail = "" };
	answer_begin(&o->a, &o->ctx, &o->req);
}

static void over(struct one *o)
{
	answer_release(&o->a);
	blocks_release(&o->events);
	blocks_release(&o->text);
	lbuf_pool_release(&o->bufs);
}

static enum answer_step feed(struct one *o, const char *text, int64_t at)
{
	return answer_feed(&o->a, sv_of(text), at, 0);
}

#define HEAD                                                                                       \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define NOT_YET "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define EVENT   "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"
#define FINISH                                                                                     \
	"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"                      \
	"data: [DONE]\n\n"

static void times_are_those_of_the_last_byte(void)
{
	struct one o;

	begin(&o, LOAD_CHAT);
	CHECK_INT(feed(&o, NOT_YET, 10), ANSWER_MORE);
	CHECK_INT(feed(&o, "data: {\"choices\":[{\"delta\":{\"con", 20), ANSWER_MORE);
	CHECK_INT(o.req.first_token, LOAD_NONE);
	CHECK_INT(feed(&o, "tent\":\"x\"}}]}\n\n", 30), ANSWER_MORE);
	CHECK_INT(feed(&o, EVENT, 50), ANSWER_MORE);
	CHECK_INT(feed(&o, FINISH, 60), ANSWER_MORE);
	answer_eof(&o.a, 70, false);
	CHECK_INT(o.req.first_byte, 10);
	CHECK_INT(o.req.first_token, 30);
	CHECK_INT(o.req.last_token, 50);
	CHECK_INT(o.req.end, 70);
	CHECK_INT(o.req.outcome, LOAD_OK);
	CHECK_INT(o.req.n_events, 2);
	CHECK_INT(o.ctx.n_merged, 0);
	CHECK(!answer_keeps(&o.a));
	over(&o);
}

static void events_of_one_read_are_marked(void)
{
	struct one o;
	struct ev_block *b;

	begin(&o, LOAD_CHAT);
	CHECK_INT(feed(&o, NOT_YET EVENT, 10), ANSWER_MORE);
	CHECK_INT(answer_feed(&o.a, SV(EVENT EVENT EVENT), 20, LOAD_EV_LATE), ANSWER_MORE);
	b = blocks_at(&o.events, o.req.events_at);
	CHECK_INT(b->n, 4);
	CHECK_INT(b->v[0] & 15, 0);
	for (int i = 1; i < 4; i++)
		CHECK_INT(b->v[i] & 15, LOAD_EV_MERGED | LOAD_EV_LATE);
	CHECK_INT(o.ctx.n_merged, 3);
	CHECK_INT(o.ctx.n_late, 3);
	over(&o);
}

static void nothing_after_done_counts(void)
{
	struct one o;

	begin(&o, LOAD_CHAT);
	CHECK_INT(feed(&o, NOT_YET EVENT FINISH EVENT EVENT, 10), ANSWER_MORE);
	answer_eof(&o.a, 20, false);
	CHECK_INT(o.req.outcome, LOAD_OK);
	CHECK_INT(o.req.n_events, 1);
	over(&o);
}

static void an_end_inside_the_answer_is_a_cut(void)
{
	struct one o;

	begin(&o, LOAD_CHAT);
	CHECK_INT(feed(&o, HEAD, 10), ANSWER_MORE);
	answer_eof(&o.a, 20, false);
	CHECK_INT(o.req.outcome, LOAD_CUT);
	CHECK_STR(o.req.detail, "closed inside the body");
	over(&o);
	begin(&o, LOAD_CHAT);
	answer_eof(&o.a, 20, true);
	CHECK_INT(o.req.outcome, LOAD_RESET);
	CHECK_STR(o.req.detail, "closed before any answer");
	over(&o);
}

static void whole_answers_are_checked(void)
{
	struct one o;

	begin(&o, LOAD_EMBEDDINGS);
	CHECK_INT(feed(&o,
		       "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n"
		       "{\"data\":[{\"a\":[1]}],\"usage\":{\"prompt_tokens\":7}}",
		       1),
		  ANSWER_END);
	CHECK_INT(o.req.outcome, LOAD_OK);
	CHECK_INT(o.req.prompt_tokens, 7);
	over(&o);
	begin(&o, LOAD_EMBEDDINGS);
	CHECK_INT(feed(&o, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"object\":1}", 1),
		  ANSWER_END);
	CHECK_INT(o.req.outcome, LOAD_ERROR_BODY);
	over(&o);
	begin(&o, LOAD_CHAT);
	o.ctx.no_stream = true;
	CHECK_INT(feed(&o,
		       "HTTP/1.1 200 OK\r\nContent-Length: 72\r\n\r\n"
		       "{\"choices\":[{\"message\":{\"content\":\"a\\nb\"}}],"
		       "\"usage\":{\"output_tokens\":2}}",
		       1),
		  ANSWER_END);
	CHECK_INT(o.req.outcome, LOAD_OK);
	CHECK_INT(o.req.answer_n, 3);
	CHECK_INT(o.req.usage_tokens, 2);
	over(&o);
}

static void bytes_after_the_answer_end_the_connection(void)
{
	struct one o;

	begin(&o, LOAD_PLAIN);
	CHECK_INT(feed(&o, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nAHTTP/1.1", 1), ANSWER_END);
	CHECK_INT(o.req.outcome, LOAD_OK);
	CHECK(!answer_keeps(&o.a));
	over(&o);
	begin(&o, LOAD_PLAIN);
	CHECK_INT(feed(&o, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA", 1), ANSWER_END);
	CHECK(answer_keeps(&o.a));
	over(&o);
}

static void the_answer_has_a_limit(void)
{
	struct one o;
	struct str s = { 0 };

	begin(&o, LOAD_CHAT);
	CHECK_INT(feed(&o, NOT_YET, 1), ANSWER_MORE);
	str_add(&s, "data: {\"choices\":[{\"delta\":{\"content\":\"");
	str_pad(&s, 'x', 600);
	str_add(&s, "\"}}]}\n\n");
	CHECK_INT(feed(&o, str_text(&s), 2), ANSWER_MORE);
	CHECK_INT(o.req.answer_n, 600);
	CHECK(!o.req.answer_cut);
	CHECK_INT(feed(&o, str_text(&s), 3), ANSWER_MORE);
	CHECK_INT(o.req.answer_n, 600);
	CHECK(o.req.answer_cut);
	str_release(&s);
	over(&o);
}

static void usage_is_believed_only_when_it_can_be(void)
{
	struct load_event ev[3] = { { 0, 2, 0 }, { 10, 2, 0 }, { 20, 2, 0 } };
	struct load_result r = { .engine = LOAD_ENGINE_HTTP, .endpoint = LOAD_CHAT };
	struct load_req q = { .n_events = 3,
			      .has_usage = true,
			      .usage_tokens = 6,
			      .asked = 8,
			      .outcome = LOAD_OK,
			      .finish = "stop",
			      .detail = "" };

	answer_settle(&q, ev, &r);
	CHECK_INT(q.source, LOAD_TOKENS_EVERY);
	CHECK_INT(q.tokens, 6);
	CHECK_NEAR(load_tpot(&q, ev), 5, 1e-9);
	ev[1].tokens = 0;
	answer_settle(&q, ev, &r);
	CHECK_INT(q.source, LOAD_TOKENS_USAGE);
	CHECK_NEAR(load_tpot(&q, ev), 5, 1e-9);
	q.usage_tokens = 9; /* over what was asked for */
	answer_settle(&q, ev, &r);
	CHECK(q.contradiction);
	CHECK_INT(q.source, LOAD_TOKENS_EVENT);
	CHECK_NEAR(load_tpot(&q, ev), 10, 1e-9);
	q.usage_tokens = 2; /* fewer than events */
	answer_settle(&q, ev, &r);
	CHECK(q.contradiction);
}

static void goodness_wants_every_objective(void)
{
	struct load_event ev[3] = { { 100, 0, 0 }, { 110, 0, 0 }, { 150, 0, 0 } };
	struct load_objective o[2] = { { LOAD_TTFT, 1, 100 }, { LOAD_ITL, 1, 40 } };
	struct load_result r = { .endpoint = LOAD_CHAT, .objectives = o, .n_objectives = 2 };
	struct load_req q = { .n_events = 3,
			      .first_token = 100,
			      .end = 160,
			      .outcome = LOAD_OK,
			      .finish = "stop",
			      .detail = "" };

	answer_settle(&q, ev, &r);
	CHECK(q.good);
	o[1].limit_ns = 39;
	answer_settle(&q, ev, &r);
	CHECK(!q.good);
	o[1].p = 0.5; /* the smaller of its two gaps */
	answer_settle(&q, ev, &r);
	CHECK(q.good);
	o[0] = (struct load_objective){ LOAD_E2E, 1, 159 };
	answer_settle(&q, ev, &r);
	CHECK(!q.good);
	o[0] = (struct load_objective){ LOAD_TPOT, 1, 25 };
	answer_settle(&q, ev, &r);
	CHECK(q.good);
	q.outcome = LOAD_CUT;
	answer_settle(&q, ev, &r);
	CHECK(!q.good);
}

TEST_MAIN(TEST(times_are_those_of_the_last_byte), TEST(events_of_one_read_are_marked),
	  TEST(nothing_after_done_counts), TEST(an_end_inside_the_answer_is_a_cut),
	  TEST(whole_answers_are_checked), TEST(bytes_after_the_answer_end_the_connection),
	  TEST(the_answer_has_a_limit), TEST(usage_is_believed_only_when_it_can_be),
	  TEST(goodness_wants_every_objective))
