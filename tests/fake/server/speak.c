/* SPDX-License-Identifier: Apache-2.0 */
#include "speak.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ----------------------------------------------------------------------------------- */

void speak_raw(struct maker *m, const char *text)
{
	size_t n = strlen(text);

	if (m->n + n >= sizeof(m->buf))
		abort();
	memcpy(m->buf + m->n, text, n);
	m->n += n;
}

static void line_end(struct maker *m)
{
	/* A CR with an LF after it would be one end, not two. */
	static const char *const ends[] = { "\n", "\r\n", "\r" };
	static const int mix[] = { NL_LF, NL_CR, NL_CR, NL_CRLF };
	int64_t k = m->s->nl == NL_MIX ? mix[m->lines++ % 4] : m->s->nl;

	speak_raw(m, ends[k]);
}

__attribute__((format(printf, 2, 3))) static void add(struct maker *m, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(m->json + m->json_n, sizeof(m->json) - m->json_n, fmt, ap);
	va_end(ap);
	if (n < 0 || m->json_n + (size_t)n >= sizeof(m->json))
		abort();
	m->json_n += (size_t)n;
}

/* The collected JSON as an event. With comments it takes two lines of data, one between them. */
static void event(struct maker *m, const char *type)
{
	const char *data = m->s->sp ? "data: " : "data:";
	char *comma = m->s->comment ? strchr(m->json, ',') : NULL;

	if (type) {
		speak_raw(m, "event: ");
		speak_raw(m, type);
		line_end(m);
	}
	speak_raw(m, data);
	if (comma) {
		*comma = '\0';
		speak_raw(m, m->json);
		speak_raw(m, ",");
		line_end(m);
		speak_raw(m, ": still here");
		line_end(m);
		speak_raw(m, data);
		speak_raw(m, comma + 1);
	} else {
		speak_raw(m, m->json);
	}
	line_end(m);
	line_end(m);
	m->json_n = 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

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

static void tokens_text(struct maker *m, int64_t from, int64_t to)
{
	for (int64_t k = from; k < to; k++)
		token(m, k);
}

static void usage(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;
	const char *in = m->api == API_RESPONSES ? "input" : "prompt";
	const char *out = m->api == API_RESPONSES ? "output" : "completion";

	tokens = tokens * s->choices + s->ulie;
	add(m, "\"usage\":{\"%s_tokens\":11,\"%s_tokens\":%lld,\"total_tokens\":%lld", in, out,
	    (long long)tokens, (long long)(tokens + 11));
	if (s->cached >= 0)
		add(m, ",\"%s_tokens_details\":{\"cached_tokens\":%lld}", in, (long long)s->cached);
	if (s->reason > 0)
		add(m, ",\"%s_tokens_details\":{\"reasoning_tokens\":%lld}", out,
		    (long long)s->reason);
	add(m, "}");
}

static void open_chunk(struct maker *m)
{
	if (m->api == API_COMPLETIONS)
		add(m, "{\"id\":\"cmpl-%ld\",\"object\":\"text_completion\"", m->id);
	else
		add(m, "{\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\"", m->id);
	add(m, ",\"created\":1,\"model\":\"fake\",");
	if (m->s->nulls)
		add(m, "\"error\":null,\"usage\":null,");
}

/* ---- chat and completions -------------------------------------------------------------------- */

static void chat_delta(struct maker *m, int64_t from, int64_t to)
{
	const struct script *s = m->s;

	if (from < s->tool) {
		add(m, "\"tool_calls\":[{\"index\":0,");
		if (from == 0)
			add(m, "\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":"
			       "\"f\",\"arguments\":\"");
		else
			add(m, "\"function\":{\"arguments\":\"");
		tokens_text(m, from, to);
		add(m, "\"}}]");
		return;
	}
	add(m, "\"%s\":\"",
	    from < s->reason   ? "reasoning_content"
	    : from < s->refuse ? "refusal"
			       : "content");
	tokens_text(m, from, to);
	add(m, "\"");
}

static void chunk_tokens(struct maker *m, int64_t from, int64_t to, bool last, int64_t choice)
{
	const struct script *s = m->s;

	open_chunk(m);
	add(m, "\"choices\":[{\"index\":%lld,", (long long)choice);
	if (m->api == API_COMPLETIONS) {
		add(m, "\"text\":\"");
		tokens_text(m, from, to);
		add(m, "\",\"logprobs\":null");
	} else {
		add(m, "\"delta\":{%s",
		    from == 0 && s->role == ROLE_FIRST ? "\"role\":\"assistant\"," : "");
		chat_delta(m, from, to);
		add(m, "}");
	}
	if (last && s->fin == FIN_SAME)
		add(m, ",\"finish_reason\":\"%s\"}]", s->fr);
	else
		add(m, ",\"finish_reason\":null}]");
	if (s->usage == USAGE_EVERY) {
		add(m, ",");
		usage(m, to);
	}
	add(m, "}");
	event(m, NULL);
}

static void chunk_end(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;

	for (int64_t c = 0; s->fin == FIN_SEP && c < s->choices; c++) {
		open_chunk(m);
		add(m, "\"choices\":[{\"index\":%lld,\"%s,\"finish_reason\":\"%s\"}]}",
		    (long long)c, m->api == API_COMPLETIONS ? "text\":\"\"" : "delta\":{}", s->fr);
		event(m, NULL);
	}
	if (s->usage == USAGE_END || s->usage == USAGE_EVERY)
		speak_usage(m, tokens);
	if (s->done) {
		add(m, "[DONE]");
		event(m, NULL);
	}
}

/* ---- responses ------------------------------------------------------------------------------- */

static void response_event(struct maker *m, const char *type)
{
	add(m, "}");
	event(m, type);
}

static void response_open(struct maker *m, const char *type)
{
	add(m, "{\"type\":\"%s\",\"sequence_number\":%u", type, m->lines++);
}

static void response_object(struct maker *m, const char *type, const char *status, int64_t tokens)
{
	bool short_of = strcmp(status, "incomplete") == 0;

	response_open(m, type);
	add(m, ",\"response\":{\"id\":\"resp_%ld\",\"object\":\"response\",\"status\":\"%s\"",
	    m->id, status);
	if (strcmp(status, "failed") == 0)
		add(m, ",\"error\":{\"code\":\"server_error\",\"message\":\"no\"}");
	else
		add(m, ",\"error\":null");
	if (short_of)
		add(m, ",\"incomplete_details\":{\"reason\":\"%s\"}",
		    strcmp(m->s->fr, "length") == 0 ? "max_output_tokens" : m->s->fr);
	else
		add(m, ",\"incomplete_details\":null");
	if (tokens >= 0 && m->s->usage != USAGE_NONE) {
		add(m, ",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\","
		       "\"text\":\"");
		tokens_text(m, 0, tokens);
		add(m, "\"}]}],");
		usage(m, tokens);
	} else {
		add(m, ",\"output\":[],\"usage\":null");
	}
	add(m, "}");
	response_event(m, type);
}

static void response_begin(struct maker *m)
{
	response_object(m, "response.created", "in_progress", -1);
	response_object(m, "response.in_progress", "in_progress", -1);
	response_open(m, "response.output_item.added");
	add(m, ",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":"
	       "\"in_progress\",\"content\":[],\"role\":\"assistant\"}");
	response_event(m, "response.output_item.added");
	response_open(m, "response.content_part.added");
	add(m, ",\"part\":{\"type\":\"output_text\",\"annotations\":[],\"text\":\"\"}");
	response_event(m, "response.content_part.added");
}

static void response_tokens(struct maker *m, int64_t from, int64_t to)
{
	const struct script *s = m->s;
	const char *type = from < s->reason   ? "response.reasoning_summary_text.delta"
			   : from < s->tool   ? "response.function_call_arguments.delta"
			   : from < s->refuse ? "response.refusal.delta"
					      : "response.output_text.delta";

	response_open(m, type);
	add(m, ",\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"");
	tokens_text(m, from, to);
	add(m, "\",\"logprobs\":[]");
	response_event(m, type);
}

static void response_end(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;

	response_open(m, "response.output_text.done");
	add(m, ",\"text\":\"");
	tokens_text(m, 0, tokens);
	add(m, "\"");
	response_event(m, "response.output_text.done");
	response_open(m, "response.output_item.done");
	add(m, ",\"item\":{\"type\":\"message\",\"status\":\"completed\"}");
	response_event(m, "response.output_item.done");
	if (s->fin == FIN_NONE)
		return;
	if (strcmp(s->fr, "stop") == 0)
		response_object(m, "response.completed", "completed", tokens);
	else if (strcmp(s->fr, "fail") == 0)
		response_object(m, "response.failed", "failed", tokens);
	else
		response_object(m, "response.incomplete", "incomplete", tokens);
}

/* ---- all ------------------------------------------------------------------------------------- */

void speak_usage(struct maker *m, int64_t tokens)
{
	open_chunk(m);
	add(m, "\"choices\":[],");
	usage(m, tokens);
	add(m, "}");
	event(m, NULL);
}

void speak_begin(struct maker *m)
{
	if (m->api == API_RESPONSES)
		response_begin(m);
}

void speak_tokens(struct maker *m, int64_t from, int64_t to, int64_t all, int64_t choice)
{
	if (m->api == API_RESPONSES)
		response_tokens(m, from, to);
	else
		chunk_tokens(m, from, to, to == all, choice);
	m->events++;
}

void speak_role(struct maker *m)
{
	open_chunk(m);
	add(m, "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
	       "\"finish_reason\":null}]}");
	event(m, NULL);
}

void speak_empty(struct maker *m)
{
	open_chunk(m);
	add(m, "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning_content\":null,"
	       "\"tool_calls\":[]},\"finish_reason\":null}]}");
	event(m, NULL);
}

void speak_error(struct maker *m)
{
	if (m->api == API_RESPONSES) {
		response_open(m, "error");
		add(m, ",\"code\":\"server_error\",\"message\":\"out of memory\",\"param\":null");
		response_event(m, "error");
		return;
	}
	add(m, "{\"error\":{\"message\":\"out of memory\",\"code\":500}}");
	event(m, NULL);
}

void speak_end(struct maker *m, int64_t tokens)
{
	if (m->api == API_RESPONSES)
		response_end(m, tokens);
	else
		chunk_end(m, tokens);
}

/* What stands around the answer's text in an answer that is no stream. */
void speak_whole(struct maker *m, int64_t tokens)
{
	const struct script *s = m->s;

	switch (m->api) {
	case API_EMBEDDINGS:
		add(m, "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,"
		       "\"embedding\":[0.25,-0.5]}],\"model\":\"fake\",\"usage\":{"
		       "\"prompt_tokens\":11,\"total_tokens\":11}}");
		break;
	case API_RESPONSES:
		add(m,
		    "{\"id\":\"resp_%ld\",\"object\":\"response\",\"status\":\"%s\",\"error\":null,"
		    "\"output\":[{\"type\":\"reasoning\",\"summary\":[]},{\"type\":\"message\","
		    "\"content\":[{\"type\":\"output_text\",\"text\":\"",
		    m->id, strcmp(s->fr, "stop") == 0 ? "completed" : "incomplete");
		tokens_text(m, 0, tokens);
		add(m, "\"}]}],");
		usage(m, tokens);
		add(m, "}");
		break;
	default:
		open_chunk(m);
		add(m, "\"choices\":[{\"index\":0,%s\"",
		    m->api == API_CHAT ? "\"message\":{\"role\":\"assistant\",\"content\":"
				       : "\"text\":");
		tokens_text(m, 0, tokens);
		add(m, "\"%s,\"finish_reason\":\"%s\"}],", m->api == API_CHAT ? "}" : "", s->fr);
		usage(m, tokens);
		add(m, "}");
		break;
	}
	speak_raw(m, m->json);
	m->json_n = 0;
}
