/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each step from bytes to a token's record costs, without a socket: the JSON walk alone, the
 * events' framing, and an answer as a whole, for reads of one event and of many.
 *
 *	bench_parse [MILLION EVENTS]         1 unless given
 */
#include "base/clock.h"
#include "base/str.h"
#include "load/answer.h"
#include "load/chunk.h"

#include <stdio.h>

#define EVENTS 400 /* an answer */

static struct str body, wire;
static size_t reads[EVENTS + 2], n_reads; /* one chunk a read */

/* As the usual servers write it: 160 bytes, or 250 with what vLLM adds. */
static void make(bool vllm, size_t a_chunk)
{
	size_t from = 0;

	str_clear(&body);
	str_clear(&wire);
	str_add(&wire, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n");
	reads[0] = wire.n;
	n_reads = 1;
	for (int i = 0; i < EVENTS; i++) {
		str_addf(&body,
			 "data: {\"id\":\"chatcmpl-%s1\",\"object\":\"chat.completion.chunk\","
			 "\"created\":1,\"model\":\"%s\",\"choices\":[{\"index\":0,\"delta\":"
			 "{\"content\":\" t%d\"}%s,\"finish_reason\":%s}]}\n\n",
			 vllm ? "8b3cf1f9e54d4bd5ae1c8f7b3d0a4c6" : "",
			 vllm ? "meta-llama/Llama-3.1-8B" : "fake", i,
			 vllm ? ",\"logprobs\":null" : "", i == EVENTS - 1 ? "\"stop\"" : "null");
		if ((size_t)(i + 1) % a_chunk == 0 || i == EVENTS - 1) {
			str_addf(&wire, "%zx\r\n", body.n - from);
			str_addn(&wire, body.p + from, body.n - from);
			str_add(&wire, "\r\n");
			from = body.n;
			reads[n_reads++] = wire.n;
		}
	}
	str_add(&wire, "0\r\n\r\n");
	reads[n_reads++] = wire.n;
}

static double walk(size_t rounds)
{
	int64_t t = clock_ns();
	size_t n = 0;

	for (size_t r = 0; r < rounds; r++)
		for (struct sv rest = { body.p, body.n }, line; sv_line(&rest, &line);) {
			struct chunk c;

			if (line.n < 6)
				continue;
			line.p += 6;
			line.n -= 6;
			n += chunk_parse(line, &c) && c.content.n;
		}
	return (double)(clock_ns() - t) / (double)n;
}

static double frame(size_t rounds)
{
	struct lbuf_pool pool = { 0 };
	int64_t t = clock_ns();
	size_t n = 0;

	for (size_t r = 0; r < rounds; r++) {
		struct sv in = { body.p, body.n };
		struct sse_event ev;
		struct sse s;

		sse_init(&s, &pool);
		while (sse_next(&s, &in, &ev) != SSE_MORE)
			n += ev.data.n > 0;
		sse_release(&s);
	}
	lbuf_pool_release(&pool);
	return (double)(clock_ns() - t) / (double)n;
}

/* A whole answer in reads of so many bytes; 0: one event a read. */
static double whole(size_t rounds, size_t a_read)
{
	static struct load_hist itl;
	struct lbuf_pool pool = { 0 };
	struct blocks events, text;
	struct answer_ctx ctx = { .bufs = &pool,
				  .events = &events,
				  .text = &text,
				  .itl = &itl,
				  .endpoint = LOAD_CHAT,
				  .answer_limit = MIB };
	int64_t t;

	blocks_init(&events);
	blocks_init(&text);
	blocks_ahead(&events, 8000, false);
	blocks_ahead(&text, 8000, false);
	t = clock_ns();
	for (size_t r = 0; r < rounds; r++) {
		struct load_req req = { .first_byte = LOAD_NONE,
					.first_token = LOAD_NONE,
					.first_visible = LOAD_NONE };
		struct answer a;
		int64_t at = 1000;

		blocks_reset(&events);
		blocks_reset(&text);
		answer_begin(&a, &ctx, &req);
		for (size_t i = 0, k = 0, n; i < wire.n; i += n, at += 1000) {
			n = a_read ? MIN(a_read, wire.n - i) : reads[k++] - i;
			(void)answer_feed(&a, (struct sv){ wire.p + i, n }, at, 0);
		}
		if (req.n_events != EVENTS || req.outcome != LOAD_OK)
			printf("wrong: %u events, %s\n", req.n_events, req.detail);
		answer_release(&a);
	}
	t = clock_ns() - t;
	blocks_release(&events);
	blocks_release(&text);
	lbuf_pool_release(&pool);
	return (double)t / (double)(rounds * EVENTS);
}

int main(int argc, char **argv)
{
	int64_t n = 1;
	size_t rounds;

	if (argc > 1 && !sv_to_i64(sv_of(argv[1]), 1, 1000, &n))
		return 64;
	rounds = (size_t)n * 1000000 / EVENTS;
	for (int vllm = 0; vllm < 2; vllm++) {
		make(vllm, 100);
		printf("%zu bytes an event:\n", body.n / EVENTS);
		printf("  JSON walk                    %6.0f ns\n", walk(rounds));
		printf("  events' framing              %6.0f ns\n", frame(rounds));
		printf("  answer, 64 KiB a read        %6.0f ns\n", whole(rounds, 64 * KIB));
		make(vllm, 1);
		printf("  answer, an event a chunk     %6.0f ns\n", whole(rounds, 64 * KIB));
		printf("  answer, an event a read      %6.0f ns\n", whole(rounds, 0));
	}
	str_release(&body);
	str_release(&wire);
	return 0;
}
