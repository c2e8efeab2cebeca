/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events, the full grammar (WHATWG HTML 9.2.6): lines end in CRLF, LF or CR; a byte
 * order mark at the start; comments; `data` lines joined by LF; one blank after the colon is
 * dropped; an event without data is not dispatched; one that the stream's end cuts off is not
 * dispatched either.
 *
 *	struct sv in = piece;                               however odd its size
 *	while ((what = sse_next(&sse, &in, &ev)) != SSE_MORE)
 *		if (what == SSE_EVENT)
 *			use(ev.data);                       valid until the next call
 */
#pragma once

#include "base/str.h"
#include "load/lbuf.h"

#define SSE_EVENT_LIMIT (16 * MIB) /* of one line, and of one event's data */

enum sse_ev { SSE_MORE, SSE_EVENT, SSE_COMMENT, SSE_TOO_LONG };

struct sse {
	struct lbuf_pool *pool;
	struct lbuf *line; /* a line that has no end yet */
	struct lbuf *data; /* data of earlier lines, or of earlier reads */
	struct sv pend;    /* data of a single line, still in the caller's bytes */
	char type[26];     /* event type so far, cut to fit; "" is "message" */
	uint8_t bom;       /* bytes of a byte order mark seen; 3: past it */
	bool skip_lf, has_data, dead;
	bool pending, shown; /* shown: the last event's buffers are to be emptied */
};

struct sse_event {
	struct sv data;
	const char *type;
};

void sse_init(struct sse *s, struct lbuf_pool *pool);
void sse_release(struct sse *s);
/*
 * Takes bytes off *in until an event or a comment is complete, or *in is empty (SSE_MORE). A
 * piece must stay until SSE_MORE. After SSE_TOO_LONG every further call gives it again.
 */
enum sse_ev sse_next(struct sse *s, struct sv *in, struct sse_event *ret);
/* Something has been started that no blank line ended. */
bool sse_unfinished(const struct sse *s);
