/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer as it comes in: bytes with their arrival time in, a request record out. No socket and
 * no clock here, so that everything a server can do to us is tested without either.
 *
 *	answer_begin(&a, &ctx, req);
 *	while (answer_feed(&a, bytes, at, flags) == ANSWER_MORE) ...       one call for each read
 *	answer_eof(&a, at, reset);                      when the connection ended before ANSWER_END
 *	answer_release(&a);
 *
 * After ANSWER_END the record's outcome stands, save for what needs the whole (answer_settle).
 */
#pragma once

#include "load/blocks.h"
#include "load/chunk.h"
#include "load/hist.h"
#include "load/http.h"
#include "load/load.h"
#include "load/sse.h"

#define ANSWER_BODY_LIMIT (16 * MIB)

enum answer_step { ANSWER_MORE, ANSWER_END };

/* What answers of one loop share. */
struct answer_ctx {
	struct lbuf_pool *bufs;
	struct blocks *events, *text;
	struct load_hist *itl; /* for the display; NULL: none */
	enum load_endpoint endpoint;
	bool no_stream;
	size_t answer_limit;
	const char *const *wants; /* golden answers by prompt, to see where one begins to differ */
	uint64_t n_events, n_merged, n_late, n_unstamped;
	/* Of the bytes being read: */
	int64_t at;
	uint32_t flags, in_read; /* in_read: token events so far */
	struct chunk_memo memo;
};

struct answer {
	struct answer_ctx *ctx;
	struct load_req *req;
	struct http http;
	struct sse sse;
	struct lbuf *body;
	uint32_t last_usage;
	uint32_t ev_last, text_first, text_last; /* blocks */
	const char *want; /* what is left of the golden answer; NULL: none, or it differs already */
	bool stream, collect, drop, done, failed, every, left_over;
	uint8_t finished; /* answers that gave a finish reason */
};

void answer_begin(struct answer *a, struct answer_ctx *ctx, struct load_req *req);
void answer_release(struct answer *a);
/* flags: LOAD_EV_UNSTAMPED, LOAD_EV_LATE (counts only for merged events). */
enum answer_step answer_feed(struct answer *a, struct sv bytes, int64_t at, uint32_t flags);
void answer_eof(struct answer *a, int64_t at, bool reset);
/* The connection can carry another request. */
bool answer_keeps(const struct answer *a);
/* (last token - first token) / tokens after the first event, ns; NAN with fewer than two events.
 * Where the server only gave a total T over E events, T (E - 1) / E of them are taken to be after
 * the first. */
double load_tpot(const struct load_req *r, const struct load_event *ev);
/* What an objective is held against, ns; NAN: the request has no such sample. */
double objective_sample(const struct load_req *r, const struct load_event *ev,
			const struct load_objective *o);
/*
 * After the run, once req.events and req.text are in their final place: token count and source,
 * contradictions, short answers, goodness.
 */
void answer_settle(struct load_req *req, const struct load_event *events,
		   const struct load_result *r);
