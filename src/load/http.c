/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http.h"

void http_init(struct http *h, struct lbuf_pool *pool)
{
	*h = (struct http){ .pool = pool, .retry_after_s = -1 };
}

void http_release(struct http *h)
{
	lbuf_put(h->pool, &h->line);
}

static enum http_ev bad(struct http *h, const char *why)
{
	h->why = why;
	h->state = HTTP_AT_BAD;
	return HTTP_BAD;
}

/* RFC 9110 5.6.2 */
static bool is_token(struct sv v)
{
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];
		bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');

		if (!alnum && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return v.n > 0;
}

static bool has_control(struct sv v)
{
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if ((c < 32 && c != '\t') || c == 127)
			return true;
	}
	return false;
}

static bool same_word(struct sv v, const char *lower)
{
	if (v.n != strlen(lower))
		return false;
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c + 32);
		if (c != lower[i])
			return false;
	}
	return true;
}

/* Blanks in a header are spaces and tabs only. */
static struct sv trim_ows(struct sv v)
{
	while (v.n && (v.p[0] == ' ' || v.p[0] == '\t')) {
		v.p++;
		v.n--;
	}
	while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
		v.n--;
	return v;
}

static enum http_ev status_line(struct http *h, struct sv line)
{
	const char *p = line.p;

	if (line.n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '0' && p[7] != '1') ||
	    p[8] != ' ')
		return bad(h, "not an HTTP/1 status line");
	for (int i = 9; i < 12; i++)
		if (p[i] < '0' || p[i] > '9')
			return bad(h, "bad status code");
	if ((line.n > 12 && p[12] != ' ') || has_control(line))
		return bad(h, "bad status line");
	h->minor = (uint8_t)(p[7] - '0');
	h->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
	if (h->status < 100 || h->status > 599)
		return bad(h, "bad status code");
	h->keep = h->minor == 1;
	h->has_length = h->chunked = h->event_stream = h->json = false;
	h->left = 0;
	h->retry_after_s = -1;
	h->state = HTTP_AT_HEADER;
	return HTTP_MORE;
}

static enum http_ev content_length(struct http *h, struct sv value)
{
	uint64_t n = 0;

	/* "5, 5" is the same thing given twice (RFC 9110 8.6); anything else is refused. */
	for (struct sv rest = value, part; sv_split(&rest, ',', &part);) {
		part = trim_ows(part);
		if (part.n > 18 || !sv_to_u64(part, &n))
			return bad(h, "bad content-length");
		if (h->has_length && n != h->left)
			return bad(h, "two content-lengths");
		h->has_length = true;
		h->left = n;
	}
	return h->has_length ? HTTP_MORE : bad(h, "bad content-length");
}

static void connection(struct http *h, struct sv value)
{
	for (struct sv rest = value, part; sv_split(&rest, ',', &part);) {
		part = trim_ows(part);
		if (same_word(part, "close"))
			h->keep = false;
		else if (same_word(part, "keep-alive") && h->minor == 0)
			h->keep = true;
	}
}

static enum http_ev header(struct http *h, struct sv name, struct sv value)
{
	int64_t n;

	if (same_word(name, "content-length"))
		return content_length(h, value);
	if (same_word(name, "transfer-encoding")) {
		if (h->chunked || !same_word(value, "chunked"))
			return bad(h, "transfer coding other than chunked");
		h->chunked = true;
	} else if (same_word(name, "content-encoding")) {
		if (!same_word(value, "identity"))
			return bad(h, "content coding not asked for");
	} else if (same_word(name, "connection")) {
		connection(h, value);
	} else if (same_word(name, "content-type")) {
		struct sv rest = value, kind;

		if (sv_split(&rest, ';', &kind)) {
			kind = trim_ows(kind);
			h->event_stream = same_word(kind, "text/event-stream");
			h->json = same_word(kind, "application/json");
		}
	} else if (same_word(name, "retry-after")) {
		if (sv_to_i64(value, 0, INT32_MAX, &n))
			h->retry_after_s = (int32_t)n;
	}
	return HTTP_MORE;
}

static enum http_ev head_done(struct http *h)
{
	if (h->status == 101)
		return bad(h, "protocol switched");
	if (h->chunked && h->has_length)
		return bad(h, "content-length beside transfer-encoding");
	if (h->chunked && h->minor == 0)
		return bad(h, "transfer-encoding in HTTP/1.0");
	if (h->status < 200) {
		if (h->interim == UINT8_MAX)
			return bad(h, "too many interim responses");
		h->interim++;
		h->state = HTTP_AT_STATUS;
		return HTTP_MORE;
	}
	h->head_bytes = 0;
	if (h->no_body || h->status == 204 || h->status == 304)
		h->state = HTTP_AT_END;
	else if (h->chunked)
		h->state = HTTP_AT_CHUNK_SIZE;
	else if (h->has_length)
		h->state = h->left ? HTTP_AT_LENGTH : HTTP_AT_END;
	else
		h->state = HTTP_AT_CLOSE;
	if (h->state == HTTP_AT_CLOSE)
		h->keep = false;
	return HTTP_HEAD;
}

static enum http_ev header_line(struct http *h, struct sv line, bool trailer)
{
	const char *colon;
	struct sv name, value;

	if (line.n == 0) {
		if (!trailer)
			return head_done(h);
		h->state = HTTP_AT_END;
		return HTTP_MORE;
	}
	colon = memchr(line.p, ':', line.n);
	if (!colon)
		return bad(h, "header without a colon");
	name = (struct sv){ line.p, (size_t)(colon - line.p) };
	value = trim_ows((struct sv){ colon + 1, line.n - name.n - 1 });
	if (!is_token(name))
		return bad(h, "bad header name");
	if (has_control(value))
		return bad(h, "control byte in a header");
	/* A trailer may say nothing about framing any more. */
	return trailer ? HTTP_MORE : header(h, name, value);
}

static enum http_ev chunk_size(struct http *h, struct sv line)
{
	size_t digits = 0;
	uint64_t n = 0;

	for (; digits < line.n; digits++) {
		char c = line.p[digits];
		unsigned v;

		if (c >= '0' && c <= '9')
			v = (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = (unsigned)((c | 32) - 'a' + 10);
		else
			break;
		if (digits == 15)
			return bad(h, "chunk too long");
		n = n * 16 + v;
	}
	if (digits == 0)
		return bad(h, "bad chunk size");
	if (digits < line.n) {
		struct sv ext = trim_ows((struct sv){ line.p + digits, line.n - digits });

		/* Some servers pad the size with spaces; a tab stands only before an extension. */
		if ((ext.n && ext.p[0] != ';') || has_control(ext) ||
		    (ext.n == 0 && memchr(line.p + digits, '\t', line.n - digits)))
			return bad(h, "bad chunk extension");
	}
	h->left = n;
	h->state = n ? HTTP_AT_CHUNK : HTTP_AT_TRAILER;
	return HTTP_MORE;
}

static enum http_ev take_line(struct http *h, struct sv line)
{
	switch (h->state) {
	case HTTP_AT_STATUS:
		return status_line(h, line);
	case HTTP_AT_HEADER:
		return header_line(h, line, /* trailer= */ false);
	case HTTP_AT_CHUNK_SIZE:
		h->head_bytes = 0;
		return chunk_size(h, line);
	case HTTP_AT_CHUNK_END:
		h->state = HTTP_AT_CHUNK_SIZE;
		return line.n ? bad(h, "chunk longer than its size") : HTTP_MORE;
	default:
		return header_line(h, line, /* trailer= */ true);
	}
}

/* One line off *in; HTTP_MORE with *in empty when it has no end yet. */
static enum http_ev read_line(struct http *h, struct sv *in)
{
	const char *lf = memchr(in->p, '\n', in->n);
	size_t n = lf ? (size_t)(lf + 1 - in->p) : in->n;
	struct sv line = { in->p, n };
	enum http_ev ev;

	h->head_bytes += n;
	if (h->head_bytes > HTTP_HEAD_LIMIT)
		return bad(h, "head too long");
	if (!lf || lbuf_n(h->line)) {
		if (!lbuf_add(h->pool, &h->line, in->p, n, HTTP_HEAD_LIMIT))
			return bad(h, "head too long");
		line = (struct sv){ h->line->p, h->line->n };
	}
	in->p += n;
	in->n -= n;
	if (!lf) {
		/* What can't become a status line needs no waiting for its end. */
		if (h->state == HTTP_AT_STATUS &&
		    memcmp(line.p, "HTTP/1.", MIN(line.n, (size_t)7)) != 0)
			return bad(h, "not an HTTP/1 status line");
		return HTTP_MORE;
	}
	if (line.n < 2 || line.p[line.n - 2] != '\r')
		return bad(h, "line end without CR");
	line.n -= 2;
	ev = take_line(h, line);
	lbuf_put(h->pool, &h->line);
	return ev;
}

static enum http_ev body_part(struct http *h, struct sv *in, struct sv *ret_body)
{
	size_t n = h->state == HTTP_AT_CLOSE ? in->n : (size_t)MIN((uint64_t)in->n, h->left);

	*ret_body = (struct sv){ in->p, n };
	in->p += n;
	in->n -= n;
	if (h->state == HTTP_AT_CLOSE)
		return HTTP_BODY;
	h->left -= n;
	if (h->left == 0)
		h->state = h->state == HTTP_AT_CHUNK ? HTTP_AT_CHUNK_END : HTTP_AT_END;
	return HTTP_BODY;
}

enum http_ev http_next(struct http *h, struct sv *in, struct sv *ret_body)
{
	for (;;) {
		enum http_ev ev;

		switch (h->state) {
		case HTTP_AT_BAD:
			return HTTP_BAD;
		case HTTP_AT_END:
			h->state = HTTP_AT_DONE;
			return HTTP_DONE;
		case HTTP_AT_DONE:
			return HTTP_MORE;
		default:
			break;
		}
		if (in->n == 0)
			return HTTP_MORE;
		h->began = true;
		if (h->state == HTTP_AT_LENGTH || h->state == HTTP_AT_CHUNK ||
		    h->state == HTTP_AT_CLOSE)
			return body_part(h, in, ret_body);
		ev = read_line(h, in);
		if (ev != HTTP_MORE)
			return ev;
	}
}

bool http_eof(struct http *h)
{
	if (h->state == HTTP_AT_CLOSE)
		h->state = HTTP_AT_DONE;
	return h->state == HTTP_AT_DONE;
}
