/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON walk against jansson: the same texts are JSON, and the same fields are in them. And the
 * walk with a memo against the one without. */
#include "load/chunk.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned depth_of(const uint8_t *data, size_t size)
{
	unsigned now = 0, most = 0;

	/* Too many when brackets stand in strings: only an excuse, never an accusation. */
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '[' || data[i] == '{')
			most = MAX(most, ++now);
		else if ((data[i] == ']' || data[i] == '}') && now)
			now--;
	}
	return most;
}

static void same_text(struct sv raw, const json_t *v)
{
	char *plain = xmalloc(raw.n + 1);
	size_t n = chunk_unescape(raw, plain);

	assert(n <= raw.n);
	assert(!json_is_string(v) ||
	       (json_string_length(v) == n && memcmp(json_string_value(v), plain, n) == 0));
	free(plain);
}

static void same_fields(const struct chunk *c, json_t *j)
{
	json_t *choice = json_array_get(json_object_get(j, "choices"), 0);
	json_t *usage = json_object_get(j, "usage"), *delta = json_object_get(choice, "delta");
	json_t *n = json_object_get(usage, "completion_tokens");

	if (json_is_object(choice) && !json_object_get(choice, "text") &&
	    !json_object_get(choice, "message") && json_is_object(delta) &&
	    json_is_string(json_object_get(delta, "content")) &&
	    json_string_length(json_object_get(delta, "refusal")) == 0)
		same_text(c->content, json_object_get(delta, "content"));
	if (json_is_object(choice) && json_is_string(json_object_get(choice, "finish_reason")))
		same_text(c->finish, json_object_get(choice, "finish_reason"));
	if (json_is_object(usage) && json_is_integer(n) && json_integer_value(n) >= 0 &&
	    json_integer_value(n) <= INT32_MAX && !json_object_get(usage, "output_tokens") &&
	    !json_object_get(j, "response"))
		assert(c->has_usage && c->completion_tokens == json_integer_value(n));
}

static bool same_view(struct sv a, struct sv b)
{
	return a.n == b.n && (a.n == 0 || a.p == b.p);
}

static void same_with_memo(struct chunk_memo *m, struct sv text)
{
	struct chunk a, b;
	bool ok = chunk_parse(text, &a);

	assert(chunk_parse_next(m, text, &b) == ok && a.bad_at == b.bad_at);
	if (!ok)
		return;
	assert(same_view(a.content, b.content) && same_view(a.reasoning, b.reasoning));
	assert(same_view(a.finish, b.finish) && same_view(a.type, b.type));
	assert(same_view(a.status, b.status) && same_view(a.reason, b.reason));
	assert(a.choice == b.choice);
	assert(a.tool == b.tool && a.has_choices == b.has_choices && a.has_error == b.has_error);
	assert(a.has_embedding == b.has_embedding && a.has_usage == b.has_usage);
	assert(a.has_cached == b.has_cached && a.has_reasoning_tokens == b.has_reasoning_tokens);
	assert(a.completion_tokens == b.completion_tokens && a.prompt_tokens == b.prompt_tokens);
	assert(a.cached_tokens == b.cached_tokens && a.reasoning_tokens == b.reasoning_tokens);
}

/* What may come after a text: the same with something put into it or taken out, and the next text
 * of the input (they stand apart by a byte that no JSON holds). */
static void next_texts(struct sv text)
{
	static const char *const in[] = { "x",
					  "\"",
					  "\\",
					  "\\\"",
					  "\xc3\xa9",
					  "\xc3",
					  "\n",
					  "\",\"content\":\"y",
					  "\",\"reasoning\":\"y" };
	struct chunk_memo m = { 0 };

	for (struct sv rest = text, part; sv_split(&rest, '\x1e', &part);) {
		char *own;
		size_t at;

		same_with_memo(&m, part);
		if (part.n == 0 || part.n > sizeof(m.text))
			continue;
		own = xmalloc(part.n + 32);
		at = m.n ? MIN(m.head, part.n - 1) : part.n / 2;
		for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
			size_t n = strlen(in[i]);

			memcpy(own, part.p, at);
			memcpy(own + at, in[i], n);
			memcpy(own + at + n, part.p + at, part.n - at);
			same_with_memo(&m, (struct sv){ own, part.n + n });
		}
		memcpy(own, part.p, at);
		memcpy(own + at, part.p + at + 1, part.n - at - 1);
		same_with_memo(&m, (struct sv){ own, part.n - 1 });
		free(own);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct chunk c;
	json_error_t e;
	bool ours = chunk_parse((struct sv){ (const char *)data, size }, &c);
	json_t *j = json_loadb((const char *)data, size, 0, &e), *strict;

	/* A NUL behind a number ends the text for jansson, and is a byte too many for us. */
	if (!ours && j && memchr(data, 0, size)) {
		json_decref(j);
		return 0;
	}
	if (ours && !j) {
		/* Numbers beyond its own types are an error to jansson, not to the grammar. */
		assert(strstr(e.text, "too big") || strstr(e.text, "overflow"));
	} else if (j && json_is_object(j)) {
		assert(ours || depth_of(data, size) > CHUNK_DEPTH);
	} else {
		assert(!ours);
	}
	json_decref(j);
	strict = ours ? json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &e) : NULL;
	if (strict)
		same_fields(&c, strict);
	json_decref(strict);
	next_texts((struct sv){ (const char *)data, size });
	return 0;
}
