/* SPDX-License-Identifier: Apache-2.0 */
#include "load/sse.h"

#include "load/scan.h"

static const unsigned char bom[3] = { 0xef, 0xbb, 0xbf };

void sse_init(struct sse *s, struct lbuf_pool *pool)
{
	*s = (struct sse){ .pool = pool };
}

void sse_release(struct sse *s)
{
	lbuf_put(s->pool, &s->line);
	lbuf_put(s->pool, &s->data);
}

bool sse_unfinished(const struct sse *s)
{
	return lbuf_n(s->line) > 0 || s->has_data;
}

/* The single-line data that still lies in the caller's bytes moves into our own buffer. */
static bool keep_pending(struct sse *s)
{
	if (!s->pending)
		return true;
	s->pending = false;
	return lbuf_add(s->pool, &s->data, s->pend.p, s->pend.n, SSE_EVENT_LIMIT);
}

static bool add_data(struct sse *s, struct sv value, bool in_place)
{
	if (!s->has_data) {
		s->has_data = true;
		if (in_place) {
			s->pend = value;
			s->pending = true;
			return true;
		}
		return lbuf_add(s->pool, &s->data, value.p, value.n, SSE_EVENT_LIMIT);
	}
	return keep_pending(s) && lbuf_add(s->pool, &s->data, "\n", 1, SSE_EVENT_LIMIT) &&
	       lbuf_add(s->pool, &s->data, value.p, value.n, SSE_EVENT_LIMIT);
}

/* A whole line without its end. in_place: it lies in the caller's bytes, not in s->line. */
static enum sse_ev take_line(struct sse *s, struct sv line, bool in_place, struct sse_event *ret)
{
	const char *colon;
	struct sv name, value = { 0 };

	if (line.n == 0) {
		if (!s->has_data) {
			s->type[0] = '\0';
			return SSE_MORE;
		}
		*ret = (struct sse_event){
			.data = s->pending
					? s->pend
					: (struct sv){ s->data ? s->data->p : "", lbuf_n(s->data) },
			.type = s->type[0] ? s->type : "message",
		};
		s->shown = true;
		return SSE_EVENT;
	}
	if (line.p[0] == ':')
		return SSE_COMMENT;
	/* The usual line needs no search. */
	colon = line.n > 4 && memcmp(line.p, "data:", 5) == 0 ? line.p + 4
							      : memchr(line.p, ':', line.n);
	name = (struct sv){ line.p, colon ? (size_t)(colon - line.p) : line.n };
	if (colon) {
		value = (struct sv){ colon + 1, line.n - name.n - 1 };
		if (value.n && value.p[0] == ' ') {
			value.p++;
			value.n--;
		}
	} else {
		value.p = line.p + line.n;
	}
	if (name.n == 4 && memcmp(name.p, "data", 4) == 0) {
		if (!add_data(s, value, in_place))
			return SSE_TOO_LONG;
	} else if (sv_is(name, "event")) {
		size_t n = MIN(value.n, sizeof(s->type) - 1);

		memcpy(s->type, value.p, n);
		s->type[n] = '\0';
	}
	return SSE_MORE;
}

/* Drops what the last event was made of, now that the caller has seen it. */
static void forget_shown(struct sse *s)
{
	s->shown = s->pending = s->has_data = false;
	s->type[0] = '\0';
	if (s->data)
		lbuf_put(s->pool, &s->data);
}

/* Eats a byte order mark at the very start, also when it comes in pieces. */
static bool skip_bom(struct sse *s, struct sv *in)
{
	while (s->bom < 3 && in->n) {
		if ((unsigned char)in->p[0] != bom[s->bom]) {
			size_t had = s->bom;

			s->bom = 3;
			return lbuf_add(s->pool, &s->line, (const char *)bom, had, SSE_EVENT_LIMIT);
		}
		s->bom++;
		in->p++;
		in->n--;
	}
	return true;
}

static enum sse_ev one_line(struct sse *s, struct sv *in, const char *end, struct sse_event *ret)
{
	struct sv line = { in->p, (size_t)(end - in->p) };
	bool in_place = lbuf_n(s->line) == 0;
	enum sse_ev ev;

	if (!in_place) {
		if (!lbuf_add(s->pool, &s->line, line.p, line.n, SSE_EVENT_LIMIT))
			return SSE_TOO_LONG;
		line = (struct sv){ s->line->p, s->line->n };
	}
	s->skip_lf = *end == '\r';
	in->n -= (size_t)(end + 1 - in->p);
	in->p = end + 1;
	ev = take_line(s, line, in_place, ret);
	if (!in_place)
		lbuf_put(s->pool, &s->line);
	return ev;
}

enum sse_ev sse_next(struct sse *s, struct sv *in, struct sse_event *ret)
{
	enum sse_ev ev = s->dead ? SSE_TOO_LONG : SSE_MORE;

	if (s->shown)
		forget_shown(s);
	if (s->bom < 3 && ev == SSE_MORE && !skip_bom(s, in))
		ev = SSE_TOO_LONG;
	while (in->n && ev == SSE_MORE) {
		const char *end;

		if (s->skip_lf) {
			s->skip_lf = false;
			if (in->p[0] == '\n') {
				in->p++;
				in->n--;
				continue;
			}
		}
		end = scan_line_end(in->p, in->p + in->n);
		if (end < in->p + in->n) {
			ev = one_line(s, in, end, ret);
			continue;
		}
		if (!lbuf_add(s->pool, &s->line, in->p, in->n, SSE_EVENT_LIMIT))
			ev = SSE_TOO_LONG;
		in->p += in->n;
		in->n = 0;
	}
	/* The caller's bytes go away after this piece. */
	if (ev == SSE_MORE && !keep_pending(s))
		ev = SSE_TOO_LONG;
	s->dead = ev == SSE_TOO_LONG;
	return ev;
}
