/* SPDX-License-Identifier: Apache-2.0 */
#include "speak.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long made = 100000; /* answers so far: each has an id of its own, as real ones have */

static void put(struct play *p, const void *from, size_t n)
{
	if (n == 0)
		return;
	if (p->n + n > p->room) {
		p->room = (p->n + n) * 2;
		p->bytes = realloc(p->bytes, p->room);
		if (!p->bytes)
			abort();
	}
	memcpy(p->bytes + p->n, from, n);
	p->n += n;
}

static void step(struct play *p, int64_t at, size_t from, int events)
{
	if (p->n_steps == p->room_steps) {
		p->room_steps = p->room_steps ? p->room_steps * 2 : 64;
		p->steps = realloc(p->steps, p->room_steps * sizeof(*p->steps));
		if (!p->steps)
			abort();
	}
	if (p->n > from)
		p->steps[p->n_steps++] = (struct step){ at, from, p->n - from, events };
}

/* Body bytes in the answer's framing: one chunk, or several when it is to be in fragments. */
static void frame(struct maker *m)
{
	const struct script *s = m->s;
	struct play *p = m->p;
	size_t part = s->frag > 0 ? (size_t)s->frag : m->n;
	char size[64];

	if (s->frame != FRAME_CHUNKED) {
		put(p, m->buf, m->n);
		return;
	}
	for (size_t i = 0; i < m->n; i += part) {
		size_t n = part < m->n - i ? part : m->n - i;

		put(p, size,
		    (size_t)snprintf(size, sizeof(size), "%zx%s\r\n", n,
				     s->ext ? ";sum=\"a b\";x" : ""));
		put(p, m->buf + i, n);
		put(p, "\r\n", 2);
	}
}

/* Where the event that was put last is complete: its last line end, of which a CR is enough. */
static size_t last_byte(const struct maker *m)
{
	const struct play *p = m->p;
	size_t at = p->n - 1 - (m->s->frame == FRAME_CHUNKED ? 2 : 0);

	return p->bytes[at] == '\n' && p->bytes[at - 1] == '\r' ? at - 1 : at;
}

/* The collected body bytes become one write at this time, or several when split. */
static void flush(struct maker *m, int64_t at)
{
	struct play *p = m->p;
	const struct script *s = m->s;
	size_t from = p->n, cut, last;

	if (m->n == 0)
		return;
	frame(m);
	m->n = 0;
	if (s->split <= 0) {
		step(p, at, from, m->events);
		m->events = 0;
		return;
	}
	cut = p->n;
	last = last_byte(m);
	for (size_t i = from; i < cut; i += (size_t)s->split) {
		p->n = i + (size_t)s->split < cut ? i + (size_t)s->split : cut;
		step(p, at, i, last >= i && last < p->n ? m->events : 0);
		at += s->gap;
	}
	m->events = 0;
}

/* Comments between two times. */
static int64_t pings(struct maker *m, int64_t next, int64_t until)
{
	while (m->s->ping > 0 && next < until) {
		speak_raw(m, m->s->nl == NL_CRLF ? ": ping\r\n\r\n" : ": ping\n\n");
		flush(m, next);
		next += m->s->ping;
	}
	return next;
}

/* One turn of every choice, those behind the first a share of the gap later. Gives the time of the
 * last one. */
static int64_t one_turn(struct maker *m, int64_t from, int64_t to, int64_t all, int64_t at,
			bool now)
{
	const struct script *s = m->s;

	for (int64_t c = 0; c < s->choices; c++) {
		speak_tokens(m, from, to, all, c);
		if (s->choices > 1) {
			flush(m, at);
			at += c + 1 < s->choices ? s->itl / s->choices : 0;
		}
	}
	if (now)
		flush(m, at);
	return at;
}

/* Gives the time of the end, and how many tokens of each choice went out. */
static int64_t stream(struct maker *m, int64_t tokens, int64_t *ret_sent)
{
	const struct script *s = m->s;
	bool whole = s->end == END_OK || s->end == END_LINGER || s->end == END_SLAM;
	int64_t stop = !whole && s->at >= 0 && s->at < tokens ? s->at : tokens;
	int64_t at = s->ttft, waiting = 0, ping = s->ping;

	for (int64_t k = 0; k < stop; k += s->tpc) {
		int64_t to = k + s->tpc < stop ? k + s->tpc : stop;

		at = s->ttft + k * s->itl + (s->pause > 0 && k >= s->pat ? s->pause : 0);
		ping = pings(m, ping, at);
		if (s->err >= 0 && k >= s->err) {
			speak_error(m);
			flush(m, at);
			*ret_sent = -1;
			return at;
		}
		if (s->bad >= 0 && k >= s->bad) {
			speak_raw(m, "data: {\"choices\":[{\n\n");
			flush(m, at);
		}
		for (int64_t e = 0; e < s->empty; e++)
			speak_empty(m);
		waiting++;
		/* The last write of an answer may carry what ends it, as real servers do. */
		at = one_turn(m, k, to, tokens, at, waiting == s->epw || to == stop);
		waiting = waiting == s->epw ? 0 : waiting;
		*ret_sent = to;
	}
	return at;
}

static const char *reason_of(int64_t status)
{
	return status == 200 ? "OK" : status == 429 ? "Too Many Requests" : "Whatever";
}

__attribute__((format(printf, 2, 3))) static void put_text(struct play *p, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		abort();
	put(p, line, (size_t)n);
}

static void put_length(struct play *p, const struct script *s, size_t length)
{
	put_text(p, "Content-Length: %zu\r\n", length);
	if (s->dup)
		put_text(p, "Content-Length: %zu\r\n", length + (s->dup > 1));
}

static void head(struct play *p, const struct script *s, const char *type, size_t length)
{
	if (s->interim)
		put_text(p, s->interim > 1 ? "HTTP/1.1 100 Continue\r\n\r\n"
					   : "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
	put_text(p, "HTTP/1.%d %lld %s\r\n", s->http10 ? 0 : 1, (long long)s->status,
		 reason_of(s->status));
	if (s->type != TYPE_NONE)
		put_text(p, "Content-Type: %s\r\n",
			 s->type == TYPE_JSON ? "application/json" : type);
	put_text(p, "Cache-Control: no-cache\r\n");
	if (s->status >= 300 && s->status < 400)
		put_text(p, "Location: /elsewhere\r\n");
	if (s->zip)
		put_text(p, "Content-Encoding: gzip\r\n");
	if (s->retry >= 0)
		put_text(p, "Retry-After: %lld\r\n", (long long)s->retry);
	if (!s->keep || s->frame == FRAME_CLOSE)
		put_text(p, "Connection: close\r\n");
	if (length || s->frame == FRAME_LENGTH)
		put_length(p, s, length);
	else if (s->frame == FRAME_CHUNKED)
		put_text(p, "Transfer-Encoding: chunked\r\n");
	put_text(p, "\r\n");
}

/* Bytes behind the answer that nobody asked for: with it, or a while later. */
static void leftovers(const struct script *s, struct play *p, int64_t at)
{
	size_t from = p->n;

	if (s->extra == 0)
		return;
	put_text(p, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nleft");
	if (s->extra > 1 || p->n_steps == 0)
		step(p, at + s->extra, from, 0);
	else
		p->steps[p->n_steps - 1].n += p->n - from;
}

/* A body that is no stream: an answer, an error, or something that has nothing to do with the
 * protocol. */
static void plain(struct maker *m, int64_t tokens)
{
	static const char error[] = "{\"error\":{\"message\":\"no\",\"type\":\"x\",\"code\":1}}";
	const struct script *s = m->s;
	struct play *p = m->p;
	size_t from;

	if (s->body == BODY_TEXT)
		speak_raw(m, "<html>hello</html>");
	else if (s->body == BODY_ERROR || s->status != 200)
		speak_raw(m, error);
	else
		speak_whole(m, tokens);
	head(p, s, s->body == BODY_TEXT ? "text/html" : "application/json", m->n);
	from = p->n;
	put(p, m->buf, s->end == END_CUT ? m->n / 2 : m->n);
	m->n = 0;
	if (s->late > 0) {
		step(p, s->late, 0, 0);
		p->steps[0].n = from;
		step(p, s->ttft, from, 0);
	} else {
		step(p, s->ttft, 0, 0);
	}
	leftovers(s, p, s->ttft);
	p->keep = s->keep != 0;
}

/* The head as steps of its own in front of the body's: whole, or in pieces. */
static void head_steps(const struct script *s, struct play *p, size_t head_n)
{
	size_t piece = s->hsplit > 0 ? (size_t)s->hsplit : head_n;
	size_t n = (head_n + piece - 1) / piece;
	int64_t at = s->late;

	p->steps = realloc(p->steps, (p->n_steps + n) * sizeof(*p->steps));
	if (!p->steps)
		abort();
	memmove(p->steps + n, p->steps, p->n_steps * sizeof(*p->steps));
	for (size_t i = 0; i < n; i++) {
		size_t from = i * piece;

		p->steps[i] =
			(struct step){ at, from, from + piece < head_n ? piece : head_n - from, 0 };
		at += s->hgap;
	}
	p->n_steps += n;
	p->room_steps = p->n_steps;
}

/* Content-Length is known only when everything is: the head moves in front afterwards. */
static void put_head_in_front(const struct script *s, struct play *p)
{
	struct play h = { 0 };
	size_t head_n;

	head(&h, s, "text/event-stream", s->frame == FRAME_LENGTH ? p->n : 0);
	head_n = h.n;
	for (size_t i = 0; i < p->n_steps; i++)
		p->steps[i].from += head_n;
	put(&h, p->bytes, p->n);
	free(p->bytes);
	p->bytes = h.bytes;
	p->room = h.room;
	p->n = h.n;
	if (s->late < 0 && p->n_steps) {
		p->steps[0].n += p->steps[0].from;
		p->steps[0].from = 0;
	} else {
		head_steps(s, p, head_n);
	}
}

static void end_of_body(struct maker *m, int64_t at)
{
	const struct script *s = m->s;
	struct play *p = m->p;
	size_t from = p->n;

	if (s->frame == FRAME_CHUNKED &&
	    (s->end == END_OK || s->end == END_CLEAN || s->end == END_SLAM)) {
		put(p, "0\r\n", 3);
		if (s->trailer)
			put_text(p, s->trailer > 1 ? "no trailer\r\n" : "X-Sum: 1\r\n");
		put(p, "\r\n", 2);
		step(p, at, from, 0);
	}
	leftovers(s, p, at);
}

static void streamed(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;
	int64_t sent = 0, at;

	if (s->role == ROLE_EARLY && m->api == API_CHAT) {
		speak_role(m);
		flush(m, 0);
	}
	speak_begin(m);
	flush(m, 0);
	if (s->usage == USAGE_FIRST) {
		speak_usage(m, tokens);
		flush(m, 0);
	}
	at = stream(m, tokens, &sent);
	if (s->end != END_CLEAN && s->end != END_CUT && s->end != END_RESET && s->end != END_HANG &&
	    sent >= 0)
		speak_end(m, sent);
	for (int64_t k = 0; k < s->more; k++)
		speak_tokens(m, sent + k, sent + k + 1, -1, 0);
	m->events -= (int)s->more; /* behind the end: no tokens of this answer */
	flush(m, at);
	end_of_body(m, at);
	put_head_in_front(s, m->p);
}

void play_make(const struct script *s, enum api api, int64_t ask, struct play *ret)
{
	static struct maker m;
	int64_t tokens = s->ask ? ask : s->n;

	*ret = (struct play){ .keep = s->keep && s->frame != FRAME_CLOSE, .end = (int)s->end };
	m.s = s;
	m.p = ret;
	m.api = api;
	m.id = ++made;
	m.n = m.json_n = 0;
	m.lines = 0;
	m.events = 0;
	if (s->status != 200 || s->body != BODY_OK || api == API_EMBEDDINGS)
		plain(&m, tokens);
	else
		streamed(&m, tokens);
	if (s->end == END_CLEAN)
		ret->end = END_OK;
}

void play_release(struct play *p)
{
	free(p->bytes);
	free(p->steps);
	*p = (struct play){ 0 };
}
