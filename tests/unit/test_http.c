/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http.h"
#include "test.h"

static struct lbuf_pool pool;

/* "200 body." for a whole message, "!why" for a bad one, "~" at the end of the bytes when
 * unfinished. */
static char *read_all(struct sv text, size_t piece, bool eof)
{
	struct http h;
	struct str out = { 0 };
	bool bad = false;

	http_init(&h, &pool);
	for (size_t i = 0; i < text.n && !bad; i += piece) {
		size_t n = MIN(piece, text.n - i);
		char *own = xmalloc(n);
		struct sv in = { memcpy(own, text.p + i, n), n }, body;
		enum http_ev ev;

		while (!bad && (ev = http_next(&h, &in, &body)) != HTTP_MORE) {
			if (ev == HTTP_HEAD)
				str_addf(&out, "%u ", h.status);
			else if (ev == HTTP_BODY)
				str_addsv(&out, body);
			else if (ev == HTTP_DONE)
				str_addc(&out, '.');
			else
				bad = true;
		}
		free(own);
	}
	if (bad)
		str_addf(&out, "!%s", h.why);
	else if (eof ? !http_eof(&h) : h.state != HTTP_AT_DONE)
		str_addc(&out, '~');
	http_release(&h);
	return str_steal(&out);
}

static void in_every_cut(struct sv text, bool eof, const char *want)
{
	for (size_t piece = 1; piece <= text.n; piece++) {
		char *got = read_all(text, piece, eof);

		CHECK_STR(got, want);
		free(got);
	}
	lbuf_pool_release(&pool);
}

static void refused(struct sv text, const char *why)
{
	char *got = read_all(text, text.n, false);

	CHECK_HAS(got, "!");
	CHECK_STR(strchr(got, '!') + 1, why);
	free(got);
	lbuf_pool_release(&pool);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void reads_every_framing(void)
{
	in_every_cut(SV(OK "Content-Length: 5\r\n\r\nhello"), false, "200 hello.");
	in_every_cut(SV(OK "content-length:5 \r\n\r\nhello"), false, "200 hello.");
	in_every_cut(SV(OK "Content-Length: 0\r\n\r\n"), false, "200 .");
	in_every_cut(SV(OK "Content-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi"), false,
		     "200 hi.");
	in_every_cut(
		SV(OK
		   "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n002;x=\"y\"\r\nlo\r\n0\r\n\r\n"),
		false, "200 hello.");
	in_every_cut(
		SV(OK "Transfer-Encoding: chunked\r\n\r\n1\r\nA\r\n0\r\nX-Sum: 1\r\nY: \r\n\r\n"),
		false, "200 A.");
	in_every_cut(SV(OK "\r\nhello"), true, "200 hello");
	in_every_cut(SV("HTTP/1.0 200\r\n\r\nhi"), true, "200 hi");
	in_every_cut(SV("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), false, "204 .");
	in_every_cut(SV("HTTP/1.1 304 Not Modified\r\n\r\n"), false, "304 .");
}

static void passes_over_interim_responses(void)
{
	in_every_cut(SV("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK
			"Content-Length: 1\r\n\r\nA"),
		     false, "200 A.");
	refused(SV("HTTP/1.1 101 Switching\r\n\r\n"), "protocol switched");
}

static void knows_an_end_from_a_cut(void)
{
	in_every_cut(SV(OK "Content-Length: 6\r\n\r\nhello"), true, "200 hello~");
	/* Blanks around a value are none of it, tabs neither. */
	in_every_cut(SV(OK "Transfer-Encoding:\t chunked \t\r\n\r\n1\r\nA\r\n0\r\n\r\n"), false,
		     "200 A.");
	in_every_cut(SV(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), true, "200 hello~");
	in_every_cut(SV(OK "Content-Le"), true, "~");
	in_every_cut(SV(OK "Transfer-Encoding: chunked\r\n\r\n0\r\n"), true, "200 ~");
}

static void refuses_what_is_not_strict(void)
{
	refused(SV("HTTP/2 200 OK\r\n\r\n"), "not an HTTP/1 status line");
	refused(SV("GET / HTTP/1.1\r\n\r\n"), "not an HTTP/1 status line");
	refused(SV("HTTP/1.1 20x OK\r\n\r\n"), "bad status code");
	refused(SV("HTTP/1.1 999 OK\r\n\r\n"), "bad status code");
	refused(SV("HTTP/1.1 200 OK\n\n"), "line end without CR");
	refused(SV(OK "A : b\r\n\r\n"), "bad header name");
	refused(SV(OK " folded: b\r\n\r\n"), "bad header name");
	refused(SV(OK "A: b\r\n c\r\n\r\n"), "header without a colon");
	refused(SV(OK "A: b\x01\r\n\r\n"), "control byte in a header");
	refused(SV(OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), "two content-lengths");
	refused(SV(OK "Content-Length: -5\r\n\r\n"), "bad content-length");
	refused(SV(OK "Content-Length: \r\n\r\n"), "bad content-length");
	refused(SV(OK "Content-Length: 99999999999999999999\r\n\r\n"), "bad content-length");
	refused(SV(OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
		"content-length beside transfer-encoding");
	refused(SV(OK "Transfer-Encoding: gzip, chunked\r\n\r\n"),
		"transfer coding other than chunked");
	refused(SV(OK "Content-Encoding: gzip\r\n\r\n"), "content coding not asked for");
	refused(SV(OK "Transfer-Encoding: chunked\r\n\r\nx\r\n"), "bad chunk size");
	refused(SV(OK "Transfer-Encoding: chunked\r\n\r\n1\r\nAB\r\n"),
		"chunk longer than its size");
	refused(SV(OK "Transfer-Encoding: chunked\r\n\r\n1 1\r\n"), "bad chunk extension");
	refused(SV(OK "Transfer-Encoding: chunked\r\n\r\n1111111111111111\r\n"), "chunk too long");
}

static void limits_the_head(void)
{
	struct str s = { 0 };
	char *got;

	str_add(&s, OK "X: ");
	str_pad(&s, 'a', HTTP_HEAD_LIMIT);
	got = read_all(sv_str(&s), 1000, false);
	CHECK_STR(got, "!head too long");
	free(got);
	str_release(&s);
	lbuf_pool_release(&pool);
}

static void tells_what_the_head_said(void)
{
	struct http h;
	struct sv
		in = SV("HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nConnection: Keep-Alive, Close\r\n"
			"Content-Type: Text/Event-Stream; charset=utf-8\r\nContent-Length: "
			"0\r\n\r\n"
			"left"),
		body;

	http_init(&h, &pool);
	CHECK_INT(http_next(&h, &in, &body), HTTP_HEAD);
	CHECK_INT(h.retry_after_s, 30);
	CHECK(h.event_stream && !h.keep && !h.json);
	CHECK_INT(http_next(&h, &in, &body), HTTP_DONE);
	CHECK_INT(http_next(&h, &in, &body), HTTP_MORE);
	CHECK_INT(in.n, 4);
	http_release(&h);
	lbuf_pool_release(&pool);
}

TEST_MAIN(TEST(reads_every_framing), TEST(passes_over_interim_responses),
	  TEST(knows_an_end_from_a_cut), TEST(refuses_what_is_not_strict), TEST(limits_the_head),
	  TEST(tells_what_the_head_said))
