/* SPDX-License-Identifier: Apache-2.0 */
#include "play.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	const struct script *s;
	struct play *p;
	char buf[1 << 16]; /* body bytes of the write being made */
	size_t n;
	int events;
};

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

__attribute__((format(printf, 2, 3))) static void add(struct maker *m, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(m->buf + m->n, sizeof(m->buf) - m->n, fmt, ap);
	va_end(ap);
	if (n < 0 || m->n + (size_t)n >= sizeof(m->buf))
		abort();
	m->n += (size_t)n;
}

static const char *nl(const struct maker *m)
{
	return m->s->nl == NL_CRLF ? "\r\n" : m->s->nl == NL_CR ? "\r" : "\n";
}

/* The collected body bytes become one write at this time, or several when split. */
static void flush(struct maker *m, int64_t at)
{
	struct play *p = m->p;
	const struct script *s = m->s;
	size_t from = p->n, cut, first = p->n_steps;
	char size[32];

	if (m->n == 0)
		return;
	if (s->frame == FRAME_CHUNKED) {
		put(p, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", m->n));
		put(p, m->buf, m->n);
		put(p, "\r\n", 2);
	} else {
		put(p, m->buf, m->n);
	}
	m->n = 0;
	if (s->split <= 0) {
		step(p, at, from, m->events);
		m->events = 0;
		return;
	}
	cut = p->n;
	for (size_t i = from; i < cut; i += (size_t)s->split) {
		p->n = i + (size_t)s->split < cut ? i + (size_t)s->split : cut;
		step(p, at, i, 0);
		at += s->gap;
	}
	if (p->n_steps > first)
		p->steps[p->n_steps - 1].events = m->events;
	m->events = 0;
}

static void token(struct maker *m, int64_t k)
{
	static const char *const wide[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					    "\xe6\xbc\xa2" };
	static const char *const escaped[] = { "\\u00e9", "\\u20ac", "\\ud83d\\ude00", "\\u6f22" };

	if (m->s->esc)
		add(m, "%s", escaped[k % 4]);
	else if (m->s->utf8)
		add(m, "%s", wide[k % 4]);
	else
		add(m, "%st%lld", k ? " " : "", (long long)k);
}

static void usage(struct maker *m, int64_t tokens)
{
	add(m, "\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":%lld,\"total_tokens\":%lld",
	    (long long)(tokens + m->s->ulie), (long long)(tokens + m->s->ulie + 11));
	if (m->s->cached >= 0)
		add(m, ",\"prompt_tokens_details\":{\"cached_tokens\":%lld}",
		    (long long)m->s->cached);
	add(m, "}");
}

static void open_event(struct maker *m)
{
	add(m,
	    "data:%s{\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\",\"created\":1,"
	    "\"model\":\"fake\",",
	    m->s->sp ? " " : "", made);
}

static void close_event(struct maker *m)
{
	add(m, "}%s%s", nl(m), nl(m));
}

static void token_event(struct maker *m, int64_t from, int64_t to, bool last)
{
	const struct script *s = m->s;

	open_event(m);
	add(m, "\"choices\":[{\"index\":0,\"delta\":{%s\"%s\":\"",
	    from == 0 && s->role == ROLE_FIRST ? "\"role\":\"assistant\"," : "",
	    from < s->reason ? "reasoning_content" : "content");
	for (int64_t k = from; k < to; k++)
		token(m, k);
	add(m, "\"},\"finish_reason\":");
	if (last && s->fin == FIN_SAME)
		add(m, "\"%s\"}]", s->fr);
	else
		add(m, "null}]");
	if (s->usage == USAGE_EVERY) {
		add(m, ",");
		usage(m, to);
	}
	close_event(m);
	m->events++;
}

static void role_event(struct maker *m, int64_t at)
{
	open_event(m);
	add(m, "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
	       "\"finish_reason\":null}]");
	close_event(m);
	flush(m, at);
}

static void last_events(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;

	if (s->fin == FIN_SEP) {
		open_event(m);
		add(m, "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"%s\"}]", s->fr);
		close_event(m);
	}
	if (s->usage != USAGE_NONE) {
		open_event(m);
		add(m, "\"choices\":[],");
		usage(m, tokens);
		close_event(m);
	}
	if (s->done)
		add(m, "data:%s[DONE]%s%s", s->sp ? " " : "", nl(m), nl(m));
}

/* Comments between two times. */
static int64_t pings(struct maker *m, int64_t next, int64_t until)
{
	while (m->s->ping > 0 && next < until) {
		add(m, ": ping%s%s", nl(m), nl(m));
		flush(m, next);
		next += m->s->ping;
	}
	return next;
}

/* Gives the time of the end, and how many tokens went out. */
static int64_t stream(struct maker *m, int64_t tokens, int64_t *ret_sent)
{
	const struct script *s = m->s;
	int64_t stop = s->end != END_OK && s->at >= 0 && s->at < tokens ? s->at : tokens;
	int64_t at = s->ttft, waiting = 0, ping = s->ping;

	for (int64_t k = 0; k < stop; k += s->tpc) {
		int64_t to = k + s->tpc < stop ? k + s->tpc : stop;

		at = s->ttft + k * s->itl;
		ping = pings(m, ping, at);
		if (s->err >= 0 && k >= s->err) {
			add(m,
			    "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n");
			flush(m, at);
			*ret_sent = -1;
			return at;
		}
		if (s->bad >= 0 && k >= s->bad) {
			add(m, "data: {\"choices\":[{\n\n");
			flush(m, at);
		}
		token_event(m, k, to, to == tokens);
		if (++waiting == s->epw || to == stop) {
			/* The last write of an answer may carry what ends it, as real servers do.
			 */
			flush(m, at);
			waiting = 0;
		}
		*ret_sent = to;
	}
	return at;
}

static const char *reason_of(int64_t status)
{
	return status == 200 ? "OK" : status == 429 ? "Too Many Requests" : "Whatever";
}

static void head(struct play *p, const struct script *s, const char *type, size_t length)
{
	char h[512];
	int n = 0;

	if (s->interim)
		n += snprintf(h + n, sizeof(h) - (size_t)n,
			      "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
	n += snprintf(h + n, sizeof(h) - (size_t)n,
		      "HTTP/1.1 %lld %s\r\nContent-Type: %s\r\nCache-Control: no-cache\r\n",
		      (long long)s->status, reason_of(s->status), type);
	if (s->retry >= 0)
		n += snprintf(h + n, sizeof(h) - (size_t)n, "Retry-After: %lld\r\n",
			      (long long)s->retry);
	if (!s->keep || s->frame == FRAME_CLOSE)
		n += snprintf(h + n, sizeof(h) - (size_t)n, "Connection: close\r\n");
	if (length || s->frame == FRAME_LENGTH)
		n += snprintf(h + n, sizeof(h) - (size_t)n, "Content-Length: %zu\r\n", length);
	else if (s->frame == FRAME_CHUNKED)
		n += snprintf(h + n, sizeof(h) - (size_t)n, "Transfer-Encoding: chunked\r\n");
	n += snprintf(h + n, sizeof(h) - (size_t)n, "\r\n");
	put(p, h, (size_t)n);
}

/* A body that is no stream: an error, or something that has nothing to do with the protocol. */
static void plain(const struct script *s, struct play *p)
{
	static const char error[] = "{\"error\":{\"message\":\"no\",\"type\":\"x\",\"code\":1}}";
	static const char text[] = "<html>hello</html>";
	const char *body = s->body == BODY_TEXT ? text : error;

	head(p, s, s->body == BODY_TEXT ? "text/html" : "application/json", strlen(body));
	put(p, body, strlen(body));
	step(p, s->ttft, 0, 0);
	p->keep = s->keep != 0;
	p->end = END_OK;
}

/* Content-Length is known only when everything is: the head moves in front afterwards. */
static void put_head_in_front(const struct script *s, struct play *p)
{
	struct play h = { 0 };
	int64_t at = s->late < 0 ? s->ttft : s->late;

	head(&h, s, "text/event-stream", s->frame == FRAME_LENGTH ? p->n : 0);
	for (size_t i = 0; i < p->n_steps; i++)
		p->steps[i].from += h.n;
	put(&h, p->bytes, p->n);
	free(p->bytes);
	p->bytes = h.bytes;
	p->room = h.room;
	if (s->late < 0 && p->n_steps) {
		p->steps[0].n += p->steps[0].from;
		p->steps[0].from = 0;
	} else {
		size_t head_n = h.n - p->n;

		memmove(p->steps + 1, p->steps, p->n_steps * sizeof(*p->steps));
		p->steps[0] = (struct step){ at, 0, head_n, 0 };
		p->n_steps++;
	}
	p->n = h.n;
}

void play_make(const struct script *s, int64_t ask, struct play *ret)
{
	static struct maker m;
	int64_t tokens = s->ask ? ask : s->n, sent = 0, at;

	*ret = (struct play){ .keep = s->keep && s->frame != FRAME_CLOSE, .end = (int)s->end };
	made++;
	if (s->status != 200 || s->body != BODY_OK) {
		plain(s, ret);
		return;
	}
	m = (struct maker){ .s = s, .p = ret };
	ret->room_steps = 64;
	ret->steps = calloc(ret->room_steps, sizeof(*ret->steps));
	if (!ret->steps)
		abort();
	if (s->role == ROLE_EARLY)
		role_event(&m, 0);
	at = stream(&m, tokens, &sent);
	if (s->end == END_OK && sent >= 0)
		last_events(&m, sent);
	flush(&m, at);
	if (s->frame == FRAME_CHUNKED && (s->end == END_OK || s->end == END_CLEAN)) {
		size_t from = ret->n;

		put(ret, "0\r\n", 3);
		if (s->trailer)
			put(ret, "X-Sum: 1\r\n", 10);
		put(ret, "\r\n", 2);
		step(ret, at, from, 0);
	}
	/* Room for the head's own step. */
	if (ret->n_steps + 1 >= ret->room_steps) {
		ret->room_steps += 8;
		ret->steps = realloc(ret->steps, ret->room_steps * sizeof(*ret->steps));
		if (!ret->steps)
			abort();
	}
	put_head_in_front(s, ret);
	if (s->end == END_CLEAN)
		ret->end = END_OK;
}

void play_release(struct play *p)
{
	free(p->bytes);
	free(p->steps);
	*p = (struct play){ 0 };
}
