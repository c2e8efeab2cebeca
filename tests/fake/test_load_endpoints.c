/* SPDX-License-Identifier: Apache-2.0 */
/* What each endpoint's answers count as: outcomes, tokens and where their number is from, times. */
#include "load_lib.h"

struct want {
	const char *script;
	bool whole; /* asked for without a stream */
	enum load_outcome outcome;
	uint32_t tokens, events;
	enum load_token_source source;
	const char *finish, *answer, *detail; /* NULL: not looked at */
};

#define T       "ttft=20ms,itl=4ms,"
#define U       LOAD_TOKENS_USAGE
#define E       LOAD_TOKENS_EVENT
#define N       LOAD_TOKENS_NONE
#define LATE_MS 6

static void check_one(const struct bench *b, const struct want *w, const struct load_req *r)
{
	AUTO_FREE char *answer = xstrndup(b->res.text + r->answer_at, r->answer_n);

	if (r->outcome != w->outcome)
		test_fails(__FILE__, __LINE__, "%s: %s (%s), want %s", w->script,
			   load_outcome_name(r->outcome), r->detail, load_outcome_name(w->outcome));
	if (r->tokens != w->tokens || r->n_events != w->events || r->source != w->source)
		test_fails(__FILE__, __LINE__, "%s: %u tokens in %u events, by %s", w->script,
			   r->tokens, r->n_events,
			   load_token_source_name((enum load_token_source)r->source));
	if (w->finish)
		CHECK_STR(r->finish, w->finish);
	if (w->answer)
		CHECK_STR(answer, w->answer);
	if (w->detail)
		CHECK_STR(r->detail, w->detail);
	CHECK(!r->contradiction);
	/* What does not stream has no first token. */
	if (w->events)
		CHECK_TIME((double)(r->first_token - r->started) / 1e6, 19.9, 170);
	else
		CHECK_INT(r->first_token, LOAD_NONE);
}

/* Of each request, by the order in which the server got them. */
static void check_all(const struct bench *b, const struct fake *f, const struct want *list,
		      size_t n)
{
	char *body = fake_ask(f, "GET", "/truth/events"), *save = NULL;
	size_t i = 0, failed = 0;

	for (char *line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		AUTO_JSON json_t *o = json_loads(line, 0, NULL);
		unsigned id;

		CHECK(sscanf(json_str_or(o, "id", ""), "twice-%u", &id) == 1 && id < b->res.n);
		check_one(b, &list[i % n], &b->res.v[id]);
		failed += list[i % n].outcome != LOAD_OK;
		i++;
	}
	CHECK_INT(i, 2 * n);
	CHECK_NEAR(bench_get(b, "errors"), (double)failed / (double)i, 1e-12);
	CHECK_INT((int)bench_get(b, "requests.ok"), (int)(i - failed));
	free(body);
}

/* Each of them twice, in turn. All are asked for with a stream, or none. */
static void all(enum load_endpoint e, const struct want *list, size_t n)
{
	struct str script CLEANUP(str_release) = { 0 };
	struct fake f;
	struct bench b;

	for (size_t i = 0; i < n; i++)
		str_addf(&script, "%s%s", i ? "|" : "", list[i].script);
	f = fake_start(str_text(&script), NULL);
	bench_init(&b, &f);
	b.conf.endpoint = e;
	b.conf.no_stream = list[0].whole;
	b.conf.rate = 100;
	b.conf.count = 2 * n;
	b.conf.timeout_ns = 400 * NS_PER_MS;
	bench_run(&b);
	check_all(&b, &f, list, n);
	(void)bench_truth(&b, &f, LATE_MS);
	CHECK_INT(fake_truth(&f, "requests"), 2 * n);
	bench_done(&b);
	fake_stop(&f);
}

static void responses_stream(void)
{
	static const struct want list[] = {
		{ T "n=4", false, LOAD_OK, 4, 4, U, "stop", "t0 t1 t2 t3", NULL },
		{ T "n=4,nl=crlf,split=9,frag=11", false, LOAD_OK, 4, 4, U, "stop", "t0 t1 t2 t3",
		  NULL },
		{ T "n=4,usage=none", false, LOAD_OK, 4, 4, E, "stop", "t0 t1 t2 t3", NULL },
		{ T "n=6,tpc=3", false, LOAD_OK, 6, 2, U, "stop", "t0 t1 t2 t3 t4 t5", NULL },
		{ T "n=4,fr=length", false, LOAD_OK, 4, 4, U, "length", "t0 t1 t2 t3", NULL },
		{ T "n=4,tool=4", false, LOAD_OK, 4, 4, U, "stop", "", NULL },
		{ T "n=4,refuse=4", false, LOAD_OK, 4, 4, U, "stop", "t0 t1 t2 t3", NULL },
	};

	all(LOAD_RESPONSES, list, ARRAY_SIZE(list));
}

static void responses_fail(void)
{
	static const struct want list[] = {
		{ T "n=4,fr=content_filter", false, LOAD_SHORT, 4, 4, U, "content_filter", NULL,
		  "finish reason is neither stop nor length" },
		{ T "n=4,fr=fail,usage=none", false, LOAD_ERROR_EVENT, 4, 4, E, NULL, NULL, NULL },
		{ T "n=4,fin=none", false, LOAD_NO_FINISH, 4, 4, E, "", NULL,
		  "ended without a finish reason" },
		{ T "n=4,err=2", false, LOAD_ERROR_EVENT, 2, 2, E, "", NULL, NULL },
		{ T "n=4,end=cut,at=2", false, LOAD_CUT, 2, 2, E, "", NULL, NULL },
		{ T "n=4,end=hang,at=2", false, LOAD_TIMEOUT, 2, 2, E, "", NULL,
		  "inside the answer" },
		{ T "n=0", false, LOAD_SHORT, 0, 0, U, "stop", "", "no token" },
		{ T "n=4,bad=2", false, LOAD_ERROR_BODY, 2, 2, E, "", NULL,
		  "bad JSON in an event" },
		{ T "status=400", false, LOAD_HTTP_STATUS, 0, 0, N, "", "", "refused by status" },
	};

	all(LOAD_RESPONSES, list, ARRAY_SIZE(list));
}

static void responses_reason_before_they_speak(void)
{
	struct fake f = fake_start("n=6,reason=3,ttft=20ms,itl=20ms", NULL);
	struct bench b;

	bench_init(&b, &f);
	b.conf.endpoint = LOAD_RESPONSES;
	b.conf.count = 3;
	bench_run(&b);
	CHECK_INT(bench_truth(&b, &f, LATE_MS), 18);
	CHECK_INT(b.res.v[0].reasoning_tokens, 3);
	CHECK_TIME(bench_ms(&b, "ttft_visible.p50") - bench_ms(&b, "ttft.p50"), 50, 90);
	bench_done(&b);
	fake_stop(&f);
}

static void whole_responses(void)
{
	static const struct want list[] = {
		{ "n=4,ttft=10ms,body=whole", true, LOAD_OK, 4, 0, U, "stop", "t0 t1 t2 t3", NULL },
		{ "n=4,ttft=10ms,body=whole,fr=length", true, LOAD_OK, 4, 0, U, "length", NULL,
		  NULL },
		{ "ttft=10ms,body=error", true, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "error in the body" },
		{ "ttft=10ms,body=text", true, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "body is not JSON" },
		{ "n=4,ttft=10ms,body=whole,end=cut", true, LOAD_CUT, 0, 0, N, "", "", NULL },
	};

	all(LOAD_RESPONSES, list, ARRAY_SIZE(list));
}

static void completions(void)
{
	static const struct want list[] = {
		{ T "n=4", false, LOAD_OK, 4, 4, U, "stop", "t0 t1 t2 t3", NULL },
		{ T "n=4,usage=every,fin=same,fr=length", false, LOAD_OK, 4, 4, LOAD_TOKENS_EVERY,
		  "length", "t0 t1 t2 t3", NULL },
		{ T "n=4,usage=none,utf8=1,split=3", false, LOAD_OK, 4, 4, E, "stop",
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe6\xbc\xa2", NULL },
		{ T "n=4,choices=2,itl=8ms", false, LOAD_OK, 8, 8, U, "stop", "t0 t1 t2 t3", NULL },
		{ T "n=4,fin=none", false, LOAD_NO_FINISH, 4, 4, U, "", NULL, NULL },
		{ T "n=4,err=2", false, LOAD_ERROR_EVENT, 2, 2, E, "", NULL, NULL },
	};
	static const struct want whole[] = {
		{ "n=4,ttft=10ms,body=whole", true, LOAD_OK, 4, 0, U, "stop", "t0 t1 t2 t3", NULL },
		{ "n=4,ttft=10ms,body=whole,fr=abort", true, LOAD_SHORT, 4, 0, U, "abort", NULL,
		  "finish reason is neither stop nor length" },
		{ "n=0,ttft=10ms,body=whole", true, LOAD_SHORT, 0, 0, U, "stop", "", "no token" },
	};

	all(LOAD_COMPLETIONS, list, ARRAY_SIZE(list));
	all(LOAD_COMPLETIONS, whole, ARRAY_SIZE(whole));
}

static void whole_chat_answers(void)
{
	static const struct want list[] = {
		{ "n=4,ttft=10ms,body=whole", true, LOAD_OK, 4, 0, U, "stop", "t0 t1 t2 t3", NULL },
		{ "n=4,ttft=10ms,body=whole,type=none", true, LOAD_OK, 4, 0, U, "stop", NULL,
		  NULL },
		{ "n=4,ttft=10ms,body=error", true, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "error in the body" },
	};

	all(LOAD_CHAT, list, ARRAY_SIZE(list));
}

static void embeddings(void)
{
	static const struct want list[] = {
		{ "ttft=10ms", false, LOAD_OK, 0, 0, N, "", "", NULL },
		{ "ttft=10ms,frame=chunked,keep=0", false, LOAD_OK, 0, 0, N, "", "", NULL },
		{ "ttft=10ms,body=error", false, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "error in the body" },
		{ "ttft=10ms,body=text", false, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "body is not JSON" },
		{ "ttft=10ms,status=503", false, LOAD_HTTP_STATUS, 0, 0, N, "", "",
		  "server error" },
		{ "ttft=10ms,end=cut", false, LOAD_CUT, 0, 0, N, "", "", "closed inside the body" },
	};
	struct fake f = fake_start("ttft=30ms", NULL);
	struct bench b;

	all(LOAD_EMBEDDINGS, list, ARRAY_SIZE(list));
	bench_init(&b, &f);
	b.conf.endpoint = LOAD_EMBEDDINGS;
	b.conf.count = 3;
	bench_run(&b);
	CHECK_INT(b.res.v[0].prompt_tokens, 11);
	CHECK_TIME(bench_ms(&b, "e2e.p50"), 30, 90);
	/* Nothing is put out: no rate of tokens, not even one of 0. */
	CHECK(isnan(bench_get(&b, "output_tokens_per_s")));
	bench_done(&b);
	fake_stop(&f);
}

static void plain_http(void)
{
	static const struct want list[] = {
		{ "ttft=10ms,body=text", false, LOAD_OK, 0, 0, N, "", "", NULL },
		{ "ttft=10ms,body=error", false, LOAD_OK, 0, 0, N, "", "", NULL },
		{ "n=3,ttft=10ms,itl=1ms,frame=close", false, LOAD_OK, 0, 0, N, "", "", NULL },
		{ "ttft=10ms,status=404", false, LOAD_HTTP_STATUS, 0, 0, N, "", "",
		  "refused by status" },
		{ "ttft=10ms,status=301", false, LOAD_HTTP_STATUS, 0, 0, N, "", "",
		  "redirected, which is not followed" },
		{ "n=3,ttft=10ms,itl=1ms,end=cut,at=2", false, LOAD_CUT, 0, 0, N, "", "", NULL },
		{ "n=3,ttft=10ms,itl=1ms,end=reset,at=2", false, LOAD_RESET, 0, 0, N, "", "",
		  NULL },
		{ "n=3,ttft=10ms,end=hang,at=0", false, LOAD_TIMEOUT, 0, 0, N, "", "", NULL },
		{ "ttft=10ms,frame=length,dup=2", false, LOAD_ERROR_BODY, 0, 0, N, "", "",
		  "two content-lengths" },
	};

	all(LOAD_PLAIN, list, ARRAY_SIZE(list));
}

/* Prompts that an endpoint has no form for are refused before a socket is opened. */
static void messages_are_for_chat_and_responses(void)
{
	struct fake f = fake_start("n=2,ttft=5ms,itl=1ms", NULL);
	static const enum load_endpoint which[] = { LOAD_COMPLETIONS, LOAD_EMBEDDINGS };

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		struct bench b;
		struct err err = ERR_INIT;

		bench_init(&b, &f);
		load_prompts_release(&b.prompts);
		CHECK_OK(load_prompts_parse(SV("{\"messages\":[{\"role\":\"user\",\"content\":"
					       "\"x\"}]}"),
					    "p", &b.prompts, &err),
			 err);
		b.conf.endpoint = which[i];
		CHECK_INT(load_run(&b.conf, &b.res, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, "wants 'prompt'");
		bench_done(&b);
	}
	CHECK_INT(fake_truth(&f, "requests"), 0);
	fake_stop(&f);
}

TEST_MAIN(TEST(responses_stream), TEST(responses_fail), TEST(responses_reason_before_they_speak),
	  TEST(whole_responses), TEST(completions), TEST(whole_chat_answers), TEST(embeddings),
	  TEST(plain_http), TEST(messages_are_for_chat_and_responses))
