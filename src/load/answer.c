/* SPDX-License-Identifier: Apache-2.0 */
#include "load/answer.h"

#include <math.h>

void answer_begin(struct answer *a, struct answer_ctx *ctx, struct load_req *req)
{
	*a = (struct answer){ .ctx = ctx, .req = req };
	http_init(&a->http, ctx->bufs);
	sse_init(&a->sse, ctx->bufs);
	a->want = ctx->wants ? ctx->wants[req->prompt] : NULL;
}

void answer_release(struct answer *a)
{
	if (!a->ctx)
		return;
	http_release(&a->http);
	sse_release(&a->sse);
	lbuf_put(a->ctx->bufs, &a->body);
}

static enum answer_step end(struct answer *a, enum load_outcome outcome, const char *detail)
{
	struct load_req *r = a->req;

	r->outcome = (uint8_t)outcome;
	if (detail)
		r->detail = detail;
	r->end = a->ctx->at;
	a->failed = outcome != LOAD_OK;
	return ANSWER_END;
}

/* In which event a golden answer was left. */
static void follow_golden(struct answer *a, const char *p, size_t n)
{
	size_t same = 0;

	if (!a->want)
		return;
	while (same < n && a->want[same] && a->want[same] == p[same])
		same++;
	a->want += same;
	if (same == n)
		return;
	a->want = NULL;
	a->req->differs_event = a->req->n_events ? a->req->n_events - 1 : 0;
}

static void keep_text(struct answer *a, const char *p, size_t n)
{
	struct load_req *r = a->req;
	struct blocks *pool = a->ctx->text;

	follow_golden(a, p, n);
	if (n > a->ctx->answer_limit - r->answer_n || r->answer_n + n > UINT32_MAX) {
		r->answer_cut = true;
		return;
	}
	if (r->answer_cut)
		return;
	r->answer_n += (uint32_t)n;
	while (n) {
		struct text_block *b = a->text_last ? blocks_at(pool, a->text_last) : NULL;
		size_t part;

		if (!b || b->n == sizeof(b->p)) {
			uint32_t i = blocks_take(pool);

			if (i == 0) {
				r->answer_cut = true;
				return;
			}
			if (b)
				b->next = i;
			else
				a->text_first = i;
			a->text_last = i;
			b = blocks_at(pool, i);
		}
		part = MIN(n, sizeof(b->p) - b->n);
		memcpy(b->p + b->n, p, part);
		b->n += (uint32_t)part;
		p += part;
		n -= part;
	}
}

/* Apart, so that the usual text doesn't pay for this one's buffer. */
static __attribute__((noinline)) void keep_escaped(struct answer *a, struct sv raw)
{
	char plain[2048];
	struct lbuf *big = NULL;

	if (raw.n <= sizeof(plain)) {
		keep_text(a, plain, chunk_unescape(raw, plain));
	} else if (lbuf_add(a->ctx->bufs, &big, raw.p, raw.n, SSE_EVENT_LIMIT)) {
		/* Unescaping in place is safe: what comes out is never longer than what went in. */
		size_t n = chunk_unescape((struct sv){ big->p, big->n }, big->p);

		keep_text(a, big->p, n);
		lbuf_put(a->ctx->bufs, &big);
	}
}

static void keep_content(struct answer *a, struct sv raw)
{
	if (memchr(raw.p, '\\', raw.n))
		keep_escaped(a, raw);
	else
		keep_text(a, raw.p, raw.n);
}

static void keep_event(struct answer *a, uint32_t tokens, uint32_t flags)
{
	struct load_req *r = a->req;
	struct blocks *pool = a->ctx->events;
	struct ev_block *b = a->ev_last ? blocks_at(pool, a->ev_last) : NULL;

	if (!b || b->n == ARRAY_SIZE(b->v)) {
		uint32_t i = blocks_take(pool);

		if (i == 0) {
			r->detail = "out of memory for token times";
			return;
		}
		if (b)
			b->next = i;
		else
			r->events_at = i;
		a->ev_last = i;
		b = blocks_at(pool, i);
	}
	b->v[b->n++] = ev_pack(MAX(a->ctx->at - r->begun, INT64_C(0)), MIN(tokens, EV_TOKENS_LIMIT),
			       flags);
	r->n_events++;
}

/* The first token event of a read doesn't know yet that another one follows. */
static void mark_merged(struct answer *a, uint32_t flags)
{
	struct ev_block *b = blocks_at(a->ctx->events, a->ev_last);
	uint32_t more = LOAD_EV_MERGED | (flags & LOAD_EV_LATE);

	if (b->n == 0)
		return;
	if (!(b->v[b->n - 1] & LOAD_EV_MERGED)) {
		b->v[b->n - 1] |= more;
		a->ctx->n_merged++;
		a->ctx->n_late += (flags & LOAD_EV_LATE) != 0;
	}
}

static void token_event(struct answer *a, const struct chunk *c)
{
	struct load_req *r = a->req;
	uint32_t tokens = 0, flags = a->ctx->flags & LOAD_EV_UNSTAMPED;
	bool hidden = c->content.n == 0 && !c->tool;

	if (c->has_usage && c->completion_tokens >= a->last_usage) {
		tokens = c->completion_tokens - a->last_usage;
		a->last_usage = c->completion_tokens;
		a->every |= r->n_events == 0;
	} else {
		a->every = false;
	}
	if (hidden)
		flags |= LOAD_EV_HIDDEN;
	if (a->ctx->in_read++ > 0) {
		if (a->ev_last)
			mark_merged(a, a->ctx->flags);
		flags |= LOAD_EV_MERGED | (a->ctx->flags & LOAD_EV_LATE);
		a->ctx->n_merged++;
		a->ctx->n_late += (a->ctx->flags & LOAD_EV_LATE) != 0;
	}
	a->ctx->n_events++;
	a->ctx->n_unstamped += (flags & LOAD_EV_UNSTAMPED) != 0;
	if (r->first_token == LOAD_NONE)
		r->first_token = a->ctx->at;
	else if (a->ctx->itl)
		hist_add(a->ctx->itl, a->ctx->at - r->last_token);
	if (!hidden && r->first_visible == LOAD_NONE)
		r->first_visible = a->ctx->at;
	r->last_token = a->ctx->at;
	keep_event(a, tokens, flags);
}

static void note_usage(struct answer *a, const struct chunk *c)
{
	struct load_req *r = a->req;

	if (c->has_usage) {
		r->has_usage = true;
		r->usage_tokens = c->completion_tokens;
	}
	/* Of embeddings there is nothing else. */
	if (c->prompt_tokens)
		r->prompt_tokens = c->prompt_tokens;
	if (c->has_cached) {
		r->has_cached = true;
		r->cached_tokens = c->cached_tokens;
	}
	if (c->has_reasoning_tokens)
		r->reasoning_tokens = c->reasoning_tokens;
}

static void note_finish(struct load_req *r, struct sv finish)
{
	size_t n = MIN(finish.n, sizeof(r->finish) - 1);

	if (n == 0)
		return;
	/* Short names only; whatever else a server invents is cut and cleaned. */
	for (size_t i = 0; i < n; i++)
		r->finish[i] = finish.p[i] > ' ' && finish.p[i] < 127 ? finish.p[i] : '?';
	r->finish[n] = '\0';
}

static bool odd_finish(const struct load_req *r)
{
	return r->finish[0] && !streq(r->finish, "stop") && !streq(r->finish, "length") &&
	       !streq(r->finish, "tool_calls") && !streq(r->finish, "function_call");
}

/* Which of several answers an event is of, and whether that one ends. The last reason given is the
 * record's, but one that is odd stays. */
static void note_choice(struct answer *a, const struct chunk *c)
{
	struct load_req *r = a->req;

	if (c->has_choices && c->choice < UINT8_MAX)
		r->choices = MAX(r->choices, (uint8_t)(c->choice + 1));
	if (c->finish.n == 0)
		return;
	if (a->finished < UINT8_MAX)
		a->finished++;
	if (!odd_finish(r))
		note_finish(r, c->finish);
}

static enum answer_step one_event(struct answer *a, const struct sse_event *ev)
{
	struct load_req *r = a->req;
	struct chunk c;

	r->body_events++;
	if (a->done)
		return ANSWER_MORE;
	if (ev->data.n == 6 && memcmp(ev->data.p, "[DONE]", 6) == 0) {
		a->done = true;
		return ANSWER_MORE;
	}
	if (!chunk_parse_next(&a->ctx->memo, ev->data, &c))
		return end(a, LOAD_ERROR_BODY, "bad JSON in an event");
	if (c.has_error || (ev->type[0] == 'e' && streq(ev->type, "error")))
		return end(a, LOAD_ERROR_EVENT, "error in the stream");
	note_usage(a, &c);
	note_choice(a, &c);
	if (c.content.n || c.reasoning.n || c.tool)
		token_event(a, &c);
	/* Of several answers the first is the one that is kept. */
	if (c.content.n && c.choice == 0)
		keep_content(a, c.content);
	return ANSWER_MORE;
}

static enum answer_step stream_part(struct answer *a, struct sv part)
{
	struct sse_event ev;
	enum sse_ev what;

	while ((what = sse_next(&a->sse, &part, &ev)) != SSE_MORE) {
		if (what == SSE_TOO_LONG)
			return end(a, LOAD_ERROR_BODY, "event too long");
		if (what == SSE_COMMENT)
			a->req->pings++;
		else if (one_event(a, &ev) == ANSWER_END)
			return ANSWER_END;
	}
	return ANSWER_MORE;
}

static enum answer_step head(struct answer *a)
{
	struct load_req *r = a->req;

	r->status = a->http.status;
	r->retry_after_s = a->http.retry_after_s;
	if (r->status < 200 || r->status > 299 || a->ctx->endpoint == LOAD_PLAIN)
		a->drop = true;
	else if (a->http.event_stream && !a->ctx->no_stream)
		a->stream = true;
	else
		a->collect = true;
	return ANSWER_MORE;
}

static enum answer_step body(struct answer *a, struct sv part)
{
	a->req->bytes += part.n;
	if (a->stream)
		return stream_part(a, part);
	if (a->collect && !lbuf_add(a->ctx->bufs, &a->body, part.p, part.n, ANSWER_BODY_LIMIT))
		return end(a, LOAD_ERROR_BODY, "body too long");
	return ANSWER_MORE;
}

/* A response says by its status what others say by a finish reason. */
static enum answer_step whole_response(struct answer *a, const struct chunk *c)
{
	if (sv_is(c->status, "completed"))
		note_finish(a->req, SV("stop"));
	else if (sv_is(c->status, "incomplete"))
		note_finish(a->req, chunk_reason(c));
	else
		return end(a, LOAD_ERROR_BODY,
			   c->status.n ? "the response is not completed"
				       : "no response in the body");
	return ANSWER_MORE;
}

static enum answer_step whole_answer(struct answer *a, const struct chunk *c)
{
	struct load_req *r = a->req;

	if (!a->ctx->no_stream)
		return end(a, LOAD_ERROR_BODY, "not an event stream");
	if (a->ctx->endpoint == LOAD_RESPONSES) {
		if (whole_response(a, c) == ANSWER_END)
			return ANSWER_END;
	} else if (!c->has_choices) {
		return end(a, LOAD_ERROR_BODY, "no choices in the body");
	}
	if (c->content.n)
		keep_content(a, c->content);
	else if (!c->reasoning.n && !c->tool && r->usage_tokens == 0)
		return end(a, LOAD_SHORT, "no token");
	return end(a, LOAD_OK, NULL);
}

/* A whole JSON body: what a stream should not be, and what other endpoints answer. */
static enum answer_step whole_body(struct answer *a)
{
	struct chunk c;

	if (!chunk_parse((struct sv){ a->body ? a->body->p : "", lbuf_n(a->body) }, &c))
		return end(a, LOAD_ERROR_BODY, "body is not JSON");
	if (c.has_error)
		return end(a, LOAD_ERROR_BODY, "error in the body");
	note_usage(a, &c);
	note_finish(a->req, c.finish);
	if (a->ctx->endpoint != LOAD_EMBEDDINGS)
		return whole_answer(a, &c);
	return c.has_embedding ? end(a, LOAD_OK, NULL)
			       : end(a, LOAD_ERROR_BODY, "no embedding in the body");
}

static enum answer_step whole(struct answer *a)
{
	struct load_req *r = a->req;

	if (r->status < 200 || r->status > 299)
		return end(a, LOAD_HTTP_STATUS,
			   r->status >= 500   ? "server error"
			   : r->status >= 400 ? "refused by status"
					      : "redirected, which is not followed");
	if (a->drop)
		return end(a, LOAD_OK, NULL);
	if (a->collect)
		return whole_body(a);
	if (r->n_events == 0)
		return end(a, LOAD_SHORT, "no token");
	if (!r->finish[0])
		return end(a, LOAD_NO_FINISH,
			   a->done ? "[DONE] without a finish reason"
				   : "ended without a finish reason");
	if (a->finished < r->choices)
		return end(a, LOAD_NO_FINISH, "not every choice has a finish reason");
	return end(a, LOAD_OK, NULL);
}

enum answer_step answer_feed(struct answer *a, struct sv bytes, int64_t at, uint32_t flags)
{
	struct sv part;
	enum http_ev ev;
	enum answer_step step = ANSWER_MORE;

	a->ctx->at = at;
	a->ctx->flags = flags;
	a->ctx->in_read = 0;
	if (a->req->first_byte == LOAD_NONE)
		a->req->first_byte = at;
	while (step == ANSWER_MORE && (ev = http_next(&a->http, &bytes, &part)) != HTTP_MORE) {
		switch (ev) {
		case HTTP_HEAD:
			step = head(a);
			break;
		case HTTP_BODY:
			step = body(a, part);
			break;
		case HTTP_DONE:
			step = whole(a);
			break;
		default:
			step = end(a, LOAD_ERROR_BODY, a->http.why);
			break;
		}
	}
	if (bytes.n && a->http.state == HTTP_AT_DONE)
		a->left_over = true;
	return step;
}

void answer_eof(struct answer *a, int64_t at, bool reset)
{
	a->ctx->at = at;
	if (!reset && http_eof(&a->http)) {
		(void)whole(a);
		return;
	}
	(void)end(a, reset ? LOAD_RESET : LOAD_CUT,
		  !a->http.began        ? "closed before any answer"
		  : a->req->status == 0 ? "closed inside the head"
					: "closed inside the body");
}

bool answer_keeps(const struct answer *a)
{
	return a->http.state == HTTP_AT_DONE && a->http.keep && !a->left_over;
}

/* ---- after the run --------------------------------------------------------------------------- */

/* What was asked for is for each of the answers. */
static uint64_t asked_of_all(const struct load_req *r)
{
	return (uint64_t)r->asked * MAX(r->choices, (uint8_t)1);
}

static void count_tokens(struct load_req *r, const struct load_event *ev)
{
	uint64_t sum = 0;
	bool every = r->n_events > 0;

	for (uint32_t i = 0; i < r->n_events; i++) {
		every &= ev[i].tokens > 0;
		sum += ev[i].tokens;
	}
	r->contradiction = false;
	r->source = LOAD_TOKENS_NONE;
	r->tokens = 0;
	if (r->n_events == 0 && !r->has_usage)
		return;
	r->tokens = r->n_events;
	r->source = r->n_events ? LOAD_TOKENS_EVENT : LOAD_TOKENS_NONE;
	if (!r->has_usage)
		return;
	/*
	 * A server that says it gave more than it was allowed to, or fewer tokens than events that
	 * carried some, is not believed: its number would halve or double every time per token.
	 */
	if ((r->asked && r->usage_tokens > asked_of_all(r)) || r->usage_tokens < r->n_events) {
		r->contradiction = true;
		return;
	}
	r->tokens = r->usage_tokens;
	r->source = every && sum <= r->usage_tokens ? LOAD_TOKENS_EVERY : LOAD_TOKENS_USAGE;
}

double load_tpot(const struct load_req *r, const struct load_event *ev)
{
	double after = (double)r->n_events - 1;

	if (r->n_events < 2)
		return NAN;
	if (r->source == LOAD_TOKENS_EVERY) {
		after = 0;
		for (uint32_t i = 1; i < r->n_events; i++)
			after += ev[i].tokens;
	} else if (r->source == LOAD_TOKENS_USAGE) {
		after *= (double)r->tokens / (double)r->n_events;
	}
	return (double)(ev[r->n_events - 1].at - ev[0].at) / after;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The request's own p-quantile of gaps, nearest rank; LOAD_NONE without a gap. */
static int64_t own_gap(const struct load_req *r, const struct load_event *ev, double p)
{
	size_t n = r->n_events > 1 ? r->n_events - 1 : 0, at;
	AUTO_FREE int64_t *gaps = n ? xcalloc(n, sizeof(*gaps)) : NULL;

	if (n == 0)
		return LOAD_NONE;
	for (size_t i = 0; i < n; i++)
		gaps[i] = ev[i + 1].at - ev[i].at;
	qsort(gaps, n, sizeof(*gaps), by_size);
	at = (size_t)(p * (double)n + 0.9999999);
	return gaps[MIN(MAX(at, (size_t)1), n) - 1];
}

double objective_sample(const struct load_req *r, const struct load_event *ev,
			const struct load_objective *o)
{
	int64_t got = LOAD_NONE;

	switch (o->what) {
	case LOAD_TTFT:
		if (r->first_token != LOAD_NONE)
			got = r->first_token - r->scheduled;
		break;
	case LOAD_E2E:
		got = r->end - r->scheduled;
		break;
	case LOAD_ITL:
		got = own_gap(r, ev, o->p);
		break;
	case LOAD_TPOT:
		return load_tpot(r, ev);
	}
	return got == LOAD_NONE ? NAN : (double)got;
}

void answer_settle(struct load_req *req, const struct load_event *events,
		   const struct load_result *r)
{
	const struct load_event *ev = events ? events + req->events_at : NULL;
	bool answers = r->engine == LOAD_ENGINE_HTTP && r->endpoint != LOAD_PLAIN &&
		       r->endpoint != LOAD_EMBEDDINGS;

	count_tokens(req, ev);
	if (req->outcome == LOAD_OK && answers) {
		if (odd_finish(req)) {
			req->outcome = LOAD_SHORT;
			req->detail = "finish reason is neither stop nor length";
		} else if (r->ignore_eos && req->tokens < asked_of_all(req) &&
			   req->source >= LOAD_TOKENS_EVERY && req->source <= LOAD_TOKENS_USAGE) {
			req->outcome = LOAD_SHORT;
			req->detail = "fewer tokens than asked for";
		}
	}
	req->good = req->outcome == LOAD_OK;
	for (size_t i = 0; i < r->n_objectives && req->good; i++)
		req->good = !(objective_sample(req, ev, &r->objectives[i]) >
			      (double)r->objectives[i].limit_ns);
}
