/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few fields of a streamed answer that a load run needs, out of one JSON text, by a walk that
 * checks all of it (RFC 8259: UTF-8, escapes, numbers, nothing after the end) and builds nothing.
 * Understood: OpenAI chat and completion objects and chunks, and the events of the responses
 * endpoint.
 *
 * Where a member is given twice the last one counts. Of several elements of `choices` only the
 * first is looked at: servers send an event for each.
 */
#pragma once

#include "base/str.h"

#define CHUNK_DEPTH 128

/* What a string member held: the raw text between its quotes, escapes still in it. */
struct chunk {
	/* choices[0].delta.content | .message.content | .text | .refusal, a text delta, or the last
	 * text of an `output` */
	struct sv content;
	struct sv reasoning; /* .delta.reasoning_content | .delta.reasoning */
	struct sv finish;    /* choices[0].finish_reason */
	struct sv type;      /* of a responses event: "response.output_text.delta" */
	struct sv status;    /* of a whole response: "completed" */
	struct sv reason;    /* why a response is incomplete: "max_output_tokens" */
	uint32_t choice; /* choices[0].index: which answer this is of, where there are several */
	bool tool;       /* a tool call that carries something */
	bool has_choices, has_error, has_embedding;
	bool has_usage, has_cached, has_reasoning_tokens;
	uint32_t completion_tokens, prompt_tokens, cached_tokens, reasoning_tokens;
	size_t bad_at; /* where it stops being JSON, when it does */
};

/* Finish reason of an incomplete response: "length", or whatever else it says. */
struct sv chunk_reason(const struct chunk *c);

/* False: not one JSON object (ret->bad_at). The views point into `text`. */
bool chunk_parse(struct sv text, struct chunk *ret);

/*
 * Events of a stream differ in little but their words. The memo holds the last event that carried
 * some: one that has the same bytes before and behind its words, which are checked as ever, is the
 * same JSON with the same fields and needs no other walk. Zeroed: empty. The result is always that
 * of chunk_parse.
 */
struct chunk_memo {
	char text[1024];
	size_t n, head, tail; /* bytes before the words, and from their closing quote on */
	bool reasoning;       /* the words are that, and not content */
	struct chunk chunk;   /* its views are not looked at */
};
bool chunk_parse_next(struct chunk_memo *m, struct sv text, struct chunk *ret);
/* Undoes the escapes of a view that chunk_parse gave: at most v.n bytes into `to`; gives their
 * number. */
size_t chunk_unescape(struct sv v, char *to);
