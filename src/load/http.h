/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict reader of HTTP/1.0 and 1.1 responses (RFC 9112), fed in pieces of any size.
 *
 *	struct sv in = piece, body;
 *	while ((ev = http_next(&h, &in, &body)) != HTTP_MORE)
 *		HTTP_HEAD: h.status and the other fields are there; HTTP_BODY: body is a part of it
 *		HTTP_DONE: the message is whole; bytes left in `in` belong to nobody
 *		HTTP_BAD:  h.why says what is wrong; every further call gives it again
 *	at the end of the connection: http_eof(&h)
 *
 * Strict means: CRLF line ends, no folded headers, no blank before a header's colon, no
 * Content-Length beside Transfer-Encoding, equal repeated Content-Lengths only, no transfer coding
 * but chunked, no content coding. Interim (1xx) responses are passed over and counted; 101 is
 * refused.
 */
#pragma once

#include "base/str.h"
#include "load/lbuf.h"

#define HTTP_HEAD_LIMIT (64 * KIB)

enum http_ev { HTTP_MORE, HTTP_HEAD, HTTP_BODY, HTTP_DONE, HTTP_BAD };

enum http_state {
	HTTP_AT_STATUS,
	HTTP_AT_HEADER,
	HTTP_AT_LENGTH,
	HTTP_AT_CHUNK_SIZE,
	HTTP_AT_CHUNK,
	HTTP_AT_CHUNK_END,
	HTTP_AT_TRAILER,
	HTTP_AT_CLOSE,
	HTTP_AT_END,
	HTTP_AT_DONE,
	HTTP_AT_BAD,
};

struct http {
	struct lbuf_pool *pool;
	struct lbuf *line;     /* a line that has no end yet */
	const char *why;       /* static text for HTTP_BAD */
	uint64_t left;         /* of a body with length, or of a chunk */
	size_t head_bytes;     /* of the head, or of the trailers, so far */
	int32_t retry_after_s; /* seconds form only; -1: none */
	uint16_t status;
	uint8_t minor, state, interim;
	bool no_body; /* answer to HEAD: set by the caller after http_init */
	bool has_length, chunked, keep, event_stream, json, began;
};

void http_init(struct http *h, struct lbuf_pool *pool);
void http_release(struct http *h);
enum http_ev http_next(struct http *h, struct sv *in, struct sv *ret_body);
/* The connection has ended: true when that ends the message properly. */
bool http_eof(struct http *h);
