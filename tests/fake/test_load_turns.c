/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations: turns that wait for the answer before them. */
#include "load_lib.h"

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

static void all_are(const struct bench *b, enum load_outcome want)
{
	for (size_t i = 0; i < b->res.n; i++)
		if (b->res.v[i].outcome != want)
			test_fails(__FILE__, __LINE__, "request %zu is %s (%s), want %s", i,
				   load_outcome_name(b->res.v[i].outcome), b->res.v[i].detail,
				   load_outcome_name(want));
	CHECK(b->res.n > 0);
}

/* A later turn carries the answer before it, and waits for it. */
static void a_conversation_goes_on_when_it_was_answered(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct err err = ERR_INIT;
	struct fake f;
	struct bench b;
	size_t turns[3] = { 0 };

	play(&b, &f, "n=4,ttft=20ms,itl=2ms", 50, 6);
	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"a\",\"then\":[\"b\",\"c\"]}\n"
				       "{\"prompt\":\"d\"}\n"),
				    "p", &p, &err),
		 err);
	b.conf.prompts = &p;
	b.conf.warmup_count = 1;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.n, 12); /* 3 of 3 turns, 3 of one */
	CHECK_INT(fake_truth(&f, "requests"), 13);
	CHECK_INT(fake_truth(&f, "answered_turns"), 6);
	for (size_t i = 0; i < b.res.n; i++) {
		const struct load_req *r = &b.res.v[i];
		bool hit = r->turn == 0;

		CHECK(r->turn < 3);
		turns[r->turn]++;
		for (size_t k = 0; k < b.res.n && !hit; k++)
			hit = b.res.v[k].turn + 1 == r->turn && b.res.v[k].prompt == r->prompt &&
			      b.res.v[k].end == r->scheduled;
		CHECK(hit);
		CHECK(r->begun >= r->scheduled);
	}
	CHECK_INT(turns[0], 6);
	CHECK_INT(turns[1], 3);
	CHECK_INT(turns[2], 3);
	over(&b, &f);
}

static void a_conversation_ends_with_a_failure(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct err err = ERR_INIT;
	struct fake f;
	struct bench b;

	/* Far enough apart for the order to be the same on a busy machine. */
	play(&b, &f, "n=4,ttft=20ms,itl=2ms|n=4,end=cut,at=2", 2, 2);
	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"a\",\"then\":[\"b\",\"c\"]}\n"), "p", &p,
				    &err),
		 err);
	b.conf.prompts = &p;
	bench_run(&b);
	/* Each second request is cut: no conversation gets to its third turn. */
	for (size_t i = 0; i < b.res.n; i++)
		CHECK(b.res.v[i].turn < 2);
	CHECK_INT(fake_truth(&f, "requests"), b.res.n);
	b.conf.endpoint = LOAD_COMPLETIONS;
	CHECK_INT(load_conf_check(&b.conf, &err), -ERR_RANGE);
	CHECK_HAS(err.msg, "'then'");
	over(&b, &f);
}

/* A closed loop's client goes on with its conversation before it begins another. */
static void a_closed_loop_has_conversations_too(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct err err = ERR_INIT;
	struct fake f;
	struct bench b;
	size_t by_prompt[2] = { 0 };

	play(&b, &f, "n=3,ttft=5ms,itl=1ms", 0, 11);
	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"a\",\"then\":[\"b\",\"c\"]}\n"
				       "{\"prompt\":\"d\"}\n"),
				    "p", &p, &err),
		 err);
	b.conf.prompts = &p;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 1;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK_INT(b.res.n, 11); /* a b c d, a b c d, a b c */
	CHECK_INT(fake_truth(&f, "requests"), 11);
	CHECK_INT(fake_truth(&f, "answered_turns"), 6);
	CHECK_INT(b.res.peak, 1);
	for (size_t i = 0; i < b.res.n; i++) {
		CHECK_INT(b.res.v[i].turn, i % 4 == 3 ? 0 : i % 4);
		CHECK_INT(b.res.v[i].prompt, i % 4 == 3);
		by_prompt[b.res.v[i].prompt]++;
	}
	CHECK_INT(by_prompt[1], 2);
	bench_done(&b);

	/* Several at once, by time: none goes on after its end, never more than asked for. */
	bench_init(&b, &f);
	b.conf.prompts = &p;
	b.conf.arrival = LOAD_CLOSED;
	b.conf.concurrency = 4;
	b.conf.count = 0;
	b.conf.duration_ns = 300 * NS_PER_MS;
	b.conf.loops = 2;
	bench_run(&b);
	all_are(&b, LOAD_OK);
	CHECK(b.res.n > 12);
	CHECK(b.res.peak <= 4);
	for (size_t i = 0; i < b.res.n; i++)
		CHECK(b.res.v[i].turn < (b.res.v[i].prompt ? 1 : 3));
	over(&b, &f);
}

TEST_MAIN(TEST(a_conversation_goes_on_when_it_was_answered),
	  TEST(a_conversation_ends_with_a_failure), TEST(a_closed_loop_has_conversations_too))
