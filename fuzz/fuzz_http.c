/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The response reader in odd pieces against itself in one piece; and, where Debian's http-parser
 * is there,
 * what we take to be a whole message it must take as well, with the same status and body.
 */
#include "load/http.h"

#include <strings.h>

#ifdef HAVE_HTTP_PARSER
/* One of its methods has the name of one of our events. */
#define HTTP_HEAD HTTP_PARSER_HEAD
#include <http_parser.h>
#undef HTTP_HEAD
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct str body;
	bool head, done, bad;
	unsigned status, interim;
	size_t used; /* bytes up to the end of the message */
};

static void one_piece(struct http *h, struct sv in, size_t before, struct seen *s)
{
	size_t all = in.n;
	struct sv body;
	enum http_ev ev;

	while (!s->bad && (ev = http_next(h, &in, &body)) != HTTP_MORE) {
		if (ev == HTTP_HEAD) {
			s->head = true;
			s->status = h->status;
		} else if (ev == HTTP_BODY) {
			str_addsv(&s->body, body);
		} else if (ev == HTTP_DONE) {
			s->done = true;
			s->used = before + all - in.n;
		} else {
			s->bad = true;
		}
	}
}

static void read_all(const uint8_t *data, size_t size, size_t step, struct seen *s)
{
	struct lbuf_pool pool = { 0 };
	struct http h;

	http_init(&h, &pool);
	for (size_t i = 0; i < size && !s->bad && !s->done;) {
		size_t n = step ? MIN(step, size - i) : size - i;
		char *own = xmalloc(n);

		memcpy(own, data + i, n);
		one_piece(&h, (struct sv){ own, n }, i, s);
		free(own);
		i += n;
		step = step ? step * 7 % 23 + 1 : 0;
	}
	s->interim = h.interim;
	if (!s->bad && !s->done && http_eof(&h)) {
		s->done = true;
		s->used = size;
	}
	http_release(&h);
	lbuf_pool_release(&pool);
}

#ifdef HAVE_HTTP_PARSER
static int on_body(http_parser *p, const char *at, size_t n)
{
	str_addn(&((struct seen *)p->data)->body, at, n);
	return 0;
}

static int on_complete(http_parser *p)
{
	struct seen *s = p->data;

	s->done = p->status_code >= 200;
	s->status = p->status_code;
	return 0;
}

/* "chunked", blanks with a tab among them, the line's end: chunked all the same (RFC 9110 5.5), but
 * the other one takes the tab for a part of the word. */
static bool tab_behind_chunked(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i + 7 < n; i++) {
		size_t k = i + 7;
		bool tab = false;

		if (strncasecmp((const char *)data + i, "chunked", 7) != 0)
			continue;
		for (; k < n && (data[k] == ' ' || data[k] == '\t'); k++)
			tab |= data[k] == '\t';
		if (tab && k < n && data[k] == '\r')
			return true;
	}
	return false;
}

static void check_other(const uint8_t *data, const struct seen *ours)
{
	http_parser_settings cb = { .on_body = on_body, .on_message_complete = on_complete };
	struct seen other = { 0 };
	http_parser p;

	/* Interim responses are messages of their own there; and it reads a body after a 204 or
	 * 304 that
	 * announces one, though there never is one (RFC 9112 6.3). */
	if (!ours->done || ours->interim || ours->status == 204 || ours->status == 304 ||
	    tab_behind_chunked(data, ours->used))
		return;
	http_parser_init(&p, HTTP_RESPONSE);
	p.data = &other;
	(void)http_parser_execute(&p, &cb, (const char *)data, ours->used);
	if (!other.done && HTTP_PARSER_ERRNO(&p) == HPE_OK)
		(void)http_parser_execute(&p, &cb, NULL, 0);
	/* A Content-Length given twice alike is ours to take (RFC 9110 8.6), not theirs; so is a
	 * tab before a chunk's extension (RFC 9112 7.1.1). */
	if ((HTTP_PARSER_ERRNO(&p) == HPE_INVALID_CHUNK_SIZE && memchr(data, '\t', ours->used)) ||
	    HTTP_PARSER_ERRNO(&p) == HPE_UNEXPECTED_CONTENT_LENGTH ||
	    HTTP_PARSER_ERRNO(&p) == HPE_INVALID_CONTENT_LENGTH) {
		str_release(&other.body);
		return;
	}
	assert(other.done);
	assert(other.status == ours->status);
	assert(other.body.n == ours->body.n);
	assert(other.body.n == 0 || memcmp(other.body.p, ours->body.p, other.body.n) == 0);
	str_release(&other.body);
}
#else
static void check_other(const uint8_t *data, const struct seen *ours)
{
	(void)data;
	(void)ours;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { 0 }, pieces = { 0 };

	read_all(data, size, 0, &whole);
	read_all(data, size, size ? data[size - 1] % 16 + 1 : 1, &pieces);
	assert(whole.bad == pieces.bad && whole.done == pieces.done && whole.head == pieces.head);
	assert(whole.body.n == pieces.body.n);
	assert(whole.body.n == 0 || memcmp(whole.body.p, pieces.body.p, whole.body.n) == 0);
	if (whole.done)
		assert(whole.status == pieces.status && whole.used == pieces.used);
	check_other(data, &whole);
	str_release(&whole.body);
	str_release(&pieces.body);
	return 0;
}
