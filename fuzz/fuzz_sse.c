/* SPDX-License-Identifier: Apache-2.0 */
/* The stream reader, fed in odd pieces, against a plain one that has the whole text before it. */
#include "load/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Events one after another: type, 0, data, 0. */
struct log {
	struct str s;
};

static void note(struct log *l, const char *type, struct sv data)
{
	str_add(&l->s, type);
	str_addc(&l->s, '\0');
	str_addsv(&l->s, data);
	str_addc(&l->s, '\0');
}

/* The standard's own words: lines first, then fields. */
static void plain(struct sv text, struct log *l)
{
	struct str data = { 0 };
	char type[sizeof(((struct sse *)0)->type)] = "";
	bool any = false;

	if (sv_starts(text, "\xef\xbb\xbf"))
		text = (struct sv){ text.p + 3, text.n - 3 };
	while (text.n) {
		size_t n = 0, skip;
		struct sv line, name, value;
		const char *colon;

		while (n < text.n && text.p[n] != '\n' && text.p[n] != '\r')
			n++;
		if (n == text.n)
			break; /* no line end: not a line */
		skip = text.p[n] == '\r' && n + 1 < text.n && text.p[n + 1] == '\n' ? 2 : 1;
		line = (struct sv){ text.p, n };
		text = (struct sv){ text.p + n + skip, text.n - n - skip };
		if (line.n == 0) {
			if (any)
				note(l, type[0] ? type : "message", sv_str(&data));
			str_clear(&data);
			type[0] = '\0';
			any = false;
			continue;
		}
		colon = memchr(line.p, ':', line.n);
		name = (struct sv){ line.p, colon ? (size_t)(colon - line.p) : line.n };
		value = (struct sv){ line.p + line.n, 0 };
		if (colon)
			value = (struct sv){ colon + 1, line.n - name.n - 1 };
		if (value.n && value.p[0] == ' ')
			value = (struct sv){ value.p + 1, value.n - 1 };
		if (sv_is(name, "data")) {
			if (any)
				str_addc(&data, '\n');
			str_addsv(&data, value);
			any = true;
		} else if (sv_is(name, "event")) {
			size_t k = MIN(value.n, sizeof(type) - 1);

			memcpy(type, value.p, k);
			type[k] = '\0';
		}
	}
	str_release(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lbuf_pool pool = { 0 };
	struct log want = { 0 }, got = { 0 };
	struct sse s;
	size_t step = size ? data[0] % 16 + 1 : 1, i = 0;

	plain((struct sv){ (const char *)data, size }, &want);
	sse_init(&s, &pool);
	while (i < size) {
		size_t n = MIN(step, size - i);
		char *own = xmalloc(n);
		struct sv in = { memcpy(own, data + i, n), n };
		struct sse_event ev;
		enum sse_ev what;

		while ((what = sse_next(&s, &in, &ev)) != SSE_MORE) {
			assert(what != SSE_TOO_LONG);
			if (what == SSE_EVENT)
				note(&got, ev.type, ev.data);
		}
		free(own);
		i += n;
		step = step * 7 % 23 + 1;
	}
	assert(want.s.n == got.s.n);
	assert(want.s.n == 0 || memcmp(want.s.p, got.s.p, want.s.n) == 0);
	sse_release(&s);
	lbuf_pool_release(&pool);
	str_release(&want.s);
	str_release(&got.s);
	return 0;
}
