/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON walk against jansson: the same texts are JSON, and the same fields are in them. */
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
	    json_is_string(json_object_get(delta, "content")))
		same_text(c->content, json_object_get(delta, "content"));
	if (json_is_object(choice) && json_is_string(json_object_get(choice, "finish_reason")))
		same_text(c->finish, json_object_get(choice, "finish_reason"));
	if (json_is_object(usage) && json_is_integer(n) && json_integer_value(n) >= 0 &&
	    json_integer_value(n) <= INT32_MAX && !json_object_get(usage, "output_tokens") &&
	    !json_object_get(j, "response"))
		assert(c->has_usage && c->completion_tokens == json_integer_value(n));
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
	return 0;
}
