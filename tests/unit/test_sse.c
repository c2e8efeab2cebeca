/* SPDX-License-Identifier: Apache-2.0 */
#include "load/sse.h"
#include "test.h"

static struct lbuf_pool pool;

/* All events of a text, fed in pieces of `piece` bytes: "type|data;" each, ":" for a comment. */
static char *read_all(struct sv text, size_t piece)
{
	struct sse s;
	struct str out = { 0 };

	sse_init(&s, &pool);
	for (size_t i = 0; i < text.n; i += piece) {
		size_t n = MIN(piece, text.n - i);
		char *own = xmalloc(n); /* what is kept over the piece's end must be a copy */
		struct sv in = { memcpy(own, text.p + i, n), n };
		struct sse_event ev;
		enum sse_ev what;

		while ((what = sse_next(&s, &in, &ev)) != SSE_MORE) {
			if (what == SSE_COMMENT)
				str_addc(&out, ':');
			else
				str_addf(&out, "%s|" SV_FMT ";", ev.type, SV_ARG(ev.data));
		}
		memset(own, 'X', n);
		free(own);
	}
	if (sse_unfinished(&s))
		str_addc(&out, '?');
	sse_release(&s);
	return str_steal(&out);
}

static void is_the_same_in_every_cut(struct sv text, const char *want)
{
	for (size_t piece = 1; piece <= text.n; piece++) {
		char *got = read_all(text, piece);

		CHECK_STR(got, want);
		free(got);
	}
	lbuf_pool_release(&pool);
}

static void reads_all_line_ends(void)
{
	is_the_same_in_every_cut(SV("data: a\n\ndata: b\r\n\r\ndata: c\r\r"),
				 "message|a;message|b;message|c;");
	is_the_same_in_every_cut(SV("data: a\r\ndata: b\n\r\n\n\r"), "message|a\nb;");
}

static void follows_the_field_grammar(void)
{
	is_the_same_in_every_cut(SV("data:a\n\n"), "message|a;");
	is_the_same_in_every_cut(SV("data:  a\n\n"), "message| a;");
	is_the_same_in_every_cut(SV("data\n\n"), "message|;");
	is_the_same_in_every_cut(SV("data\ndata\n\n"), "message|\n;");
	is_the_same_in_every_cut(SV("data: a:b\n\n"), "message|a:b;");
	is_the_same_in_every_cut(SV(" data: a\n\n"), "");
	is_the_same_in_every_cut(SV("event: x\ndata: 1\n\ndata: 2\n\n"), "x|1;message|2;");
	is_the_same_in_every_cut(SV("event: x\n\ndata: 2\n\n"), "message|2;");
	is_the_same_in_every_cut(SV("id: 7\nretry: 10\nfoo: bar\ndata: 1\n\n"), "message|1;");
}

static void passes_over_comments_and_the_mark(void)
{
	is_the_same_in_every_cut(SV(": ping\n\n:\ndata: 1\n: between\ndata: 2\n\n"),
				 ":::message|1\n2;");
	is_the_same_in_every_cut(SV("\xef\xbb\xbf"
				    "data: 1\n\n"),
				 "message|1;");
	is_the_same_in_every_cut(SV("\xef\xbb"
				    "data: 1\n\ndata: 2\n\n"),
				 "message|2;");
}

static void gives_no_event_that_the_end_cut_off(void)
{
	is_the_same_in_every_cut(SV("data: 1\n\ndata: 2\n"), "message|1;?");
	is_the_same_in_every_cut(SV("data: 1\n\ndata: 2"), "message|1;?");
}

static void refuses_a_line_without_end(void)
{
	struct sse s;
	struct sse_event ev;
	char *block = xmalloc(MIB);
	enum sse_ev what = SSE_MORE;

	memset(block, 'a', MIB);
	sse_init(&s, &pool);
	for (int i = 0; i < 20 && what == SSE_MORE; i++) {
		struct sv in = { block, MIB };

		what = sse_next(&s, &in, &ev);
	}
	CHECK_INT(what, SSE_TOO_LONG);
	sse_release(&s);
	lbuf_pool_release(&pool);
	free(block);
}

TEST_MAIN(TEST(reads_all_line_ends), TEST(follows_the_field_grammar),
	  TEST(passes_over_comments_and_the_mark), TEST(gives_no_event_that_the_end_cut_off),
	  TEST(refuses_a_line_without_end))
