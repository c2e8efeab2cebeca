/* SPDX-License-Identifier: Apache-2.0 */
#include "load/chunk.h"

#include "load/scan.h"

/* Where in the object the walk is. Anything not of interest is AT_OTHER all the way down. */
enum at {
	AT_OTHER,
	AT_TOP,
	AT_CHOICES,
	AT_CHOICE,
	AT_DELTA,
	AT_TOOLS,
	AT_TOOL,
	AT_FUNCTION,
	AT_USAGE,
	AT_PROMPT_DETAILS,
	AT_COMPLETION_DETAILS,
	AT_RESPONSE,
	AT_INCOMPLETE,
	AT_OUTPUT,
	AT_ITEM,
	AT_PARTS,
	AT_PART,
	AT_COUNT,
};

/* What a value is for. */
enum want {
	W_NONE,
	W_CONTENT,
	W_REASONING,
	W_FINISH,
	W_TYPE,
	W_OBJECT,
	W_DELTA,
	W_ERROR,
	W_TOOL_TEXT,
	W_COMPLETION_TOKENS,
	W_PROMPT_TOKENS,
	W_CACHED,
	W_REASONING_TOKENS,
	W_INDEX,
	W_REFUSAL,
	W_REASON,
	W_STATUS,
	W_CHOICES,
	W_USAGE,
	W_DATA,
};

struct key {
	size_t n;
	const char *name;
	enum want want;
	enum at inside; /* where a value that is an object or array leads */
};

/* With its length: these are looked through for every member of every event. */
#define KEY(name, want, inside)                                                                    \
	{                                                                                          \
		sizeof(name) - 1, name, want, inside                                               \
	}
static const struct key top_keys[] = {
	KEY("choices", W_CHOICES, AT_CHOICES),
	KEY("usage", W_USAGE, AT_USAGE),
	KEY("error", W_ERROR, AT_OTHER),
	KEY("object", W_OBJECT, AT_OTHER),
	KEY("type", W_TYPE, AT_OTHER),
	KEY("delta", W_DELTA, AT_OTHER),
	KEY("response", W_NONE, AT_RESPONSE),
	KEY("data", W_DATA, AT_OTHER),
	KEY("output", W_NONE, AT_OUTPUT),
	KEY("status", W_STATUS, AT_OTHER),
	KEY("incomplete_details", W_NONE, AT_INCOMPLETE),
};
static const struct key response_keys[] = {
	KEY("usage", W_USAGE, AT_USAGE),
	KEY("error", W_ERROR, AT_OTHER),
	KEY("incomplete_details", W_NONE, AT_INCOMPLETE),
};
static const struct key incomplete_keys[] = {
	KEY("reason", W_REASON, AT_OTHER),
};
static const struct key item_keys[] = {
	KEY("content", W_NONE, AT_PARTS),
	KEY("arguments", W_TOOL_TEXT, AT_OTHER),
	KEY("input", W_TOOL_TEXT, AT_OTHER),
};
static const struct key part_keys[] = {
	KEY("text", W_CONTENT, AT_OTHER),
	KEY("refusal", W_REFUSAL, AT_OTHER),
};
static const struct key choice_keys[] = {
	KEY("delta", W_NONE, AT_DELTA),   KEY("message", W_NONE, AT_DELTA),
	KEY("text", W_CONTENT, AT_OTHER), KEY("finish_reason", W_FINISH, AT_OTHER),
	KEY("index", W_INDEX, AT_OTHER),
};
static const struct key delta_keys[] = {
	KEY("content", W_CONTENT, AT_OTHER),       KEY("reasoning_content", W_REASONING, AT_OTHER),
	KEY("reasoning", W_REASONING, AT_OTHER),   KEY("tool_calls", W_NONE, AT_TOOLS),
	KEY("function_call", W_NONE, AT_FUNCTION), KEY("refusal", W_REFUSAL, AT_OTHER),
};
static const struct key tool_keys[] = {
	KEY("function", W_NONE, AT_FUNCTION),
};
static const struct key function_keys[] = {
	KEY("name", W_TOOL_TEXT, AT_OTHER),
	KEY("arguments", W_TOOL_TEXT, AT_OTHER),
};
static const struct key usage_keys[] = {
	KEY("completion_tokens", W_COMPLETION_TOKENS, AT_OTHER),
	KEY("output_tokens", W_COMPLETION_TOKENS, AT_OTHER),
	KEY("prompt_tokens", W_PROMPT_TOKENS, AT_OTHER),
	KEY("input_tokens", W_PROMPT_TOKENS, AT_OTHER),
	KEY("prompt_tokens_details", W_NONE, AT_PROMPT_DETAILS),
	KEY("input_tokens_details", W_NONE, AT_PROMPT_DETAILS),
	KEY("completion_tokens_details", W_NONE, AT_COMPLETION_DETAILS),
	KEY("output_tokens_details", W_NONE, AT_COMPLETION_DETAILS),
};
static const struct key prompt_details_keys[] = {
	KEY("cached_tokens", W_CACHED, AT_OTHER),
};
static const struct key completion_details_keys[] = {
	KEY("reasoning_tokens", W_REASONING_TOKENS, AT_OTHER),
};
static const struct keys {
	const struct key *v;
	size_t n;
} keys[] = {
	[AT_TOP] = { top_keys, ARRAY_SIZE(top_keys) },
	[AT_CHOICE] = { choice_keys, ARRAY_SIZE(choice_keys) },
	[AT_DELTA] = { delta_keys, ARRAY_SIZE(delta_keys) },
	[AT_TOOL] = { tool_keys, ARRAY_SIZE(tool_keys) },
	[AT_FUNCTION] = { function_keys, ARRAY_SIZE(function_keys) },
	[AT_USAGE] = { usage_keys, ARRAY_SIZE(usage_keys) },
	[AT_PROMPT_DETAILS] = { prompt_details_keys, ARRAY_SIZE(prompt_details_keys) },
	[AT_COMPLETION_DETAILS] = { completion_details_keys, ARRAY_SIZE(completion_details_keys) },
	[AT_RESPONSE] = { response_keys, ARRAY_SIZE(response_keys) },
	[AT_INCOMPLETE] = { incomplete_keys, ARRAY_SIZE(incomplete_keys) },
	[AT_ITEM] = { item_keys, ARRAY_SIZE(item_keys) },
	[AT_PART] = { part_keys, ARRAY_SIZE(part_keys) },
	[AT_COUNT] = { NULL, 0 },
};

struct walk {
	const unsigned char *p, *end;
	unsigned depth;
	bool escapes;    /* the string just read has some */
	struct sv delta; /* a top-level "delta" string: content, once "type" says so */
	struct chunk *ret;
};

static bool value(struct walk *w, enum want want, enum at inside);

static inline void blanks(struct walk *w)
{
	while (w->p < w->end && *w->p <= ' ' &&
	       (*w->p == ' ' || *w->p == '\n' || *w->p == '\r' || *w->p == '\t'))
		w->p++;
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p; -1: not that. */
static int hex4(const unsigned char *p, const unsigned char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* After a backslash. Surrogates come in pairs; U+0000 is refused, as everywhere in the project. */
static bool escape(struct walk *w)
{
	int v, low;

	if (w->p == w->end)
		return false;
	switch (*w->p++) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return true;
	case 'u':
		break;
	default:
		return false;
	}
	v = hex4(w->p, w->end);
	if (v <= 0 || (v >= 0xdc00 && v <= 0xdfff))
		return false;
	w->p += 4;
	if (v < 0xd800 || v > 0xdbff)
		return true;
	if (w->end - w->p < 6 || w->p[0] != '\\' || w->p[1] != 'u')
		return false;
	low = hex4(w->p + 2, w->end);
	w->p += 6;
	return low >= 0xdc00 && low <= 0xdfff;
}

/* One character of more than one byte (Unicode 15, table 3-7). */
static bool multibyte(struct walk *w)
{
	unsigned char c = *w->p, lo = 0x80, hi = 0xbf;
	int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;

	if (c < 0xc2 || c > 0xf4 || w->end - w->p <= more)
		return false;
	if (c == 0xe0)
		lo = 0xa0;
	else if (c == 0xed)
		hi = 0x9f;
	else if (c == 0xf0)
		lo = 0x90;
	else if (c == 0xf4)
		hi = 0x8f;
	if (w->p[1] < lo || w->p[1] > hi)
		return false;
	for (int i = 2; i <= more; i++)
		if ((w->p[i] & 0xc0) != 0x80)
			return false;
	w->p += more + 1;
	return true;
}

/* From behind the opening quote; *ret is what stands between the quotes. */
static bool string_rest(struct walk *w, struct sv *ret)
{
	const unsigned char *from = w->p, *p = w->p;

	w->escapes = false;
	for (;;) {
		p = scan_plain(p, w->end);
		w->p = p;
		if (p == w->end)
			return false;
		if (*p == '"') {
			*ret = (struct sv){ (const char *)from, (size_t)(p - from) };
			w->p++;
			return true;
		}
		if (*p == '\\') {
			w->escapes = true;
			w->p++;
			if (!escape(w))
				return false;
		} else if (*p < 0x20 || !multibyte(w)) {
			return false;
		}
		p = w->p;
	}
}

/* At the opening quote. */
static bool string(struct walk *w, struct sv *ret)
{
	w->p++;
	return string_rest(w, ret);
}

static bool digits(struct walk *w)
{
	const unsigned char *from = w->p;

	while (w->p < w->end && *w->p >= '0' && *w->p <= '9')
		w->p++;
	return w->p > from;
}

static bool number(struct walk *w, struct sv *ret)
{
	const unsigned char *from = w->p;

	if (*w->p == '-')
		w->p++;
	if (w->p < w->end && *w->p == '0')
		w->p++;
	else if (!digits(w))
		return false;
	if (w->p < w->end && *w->p == '.') {
		w->p++;
		if (!digits(w))
			return false;
	}
	if (w->p < w->end && (*w->p | 32) == 'e') {
		w->p++;
		if (w->p < w->end && (*w->p == '+' || *w->p == '-'))
			w->p++;
		if (!digits(w))
			return false;
	}
	*ret = (struct sv){ (const char *)from, (size_t)(w->p - from) };
	return true;
}

static bool word(struct walk *w, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(w->end - w->p) < n || memcmp(w->p, text, n) != 0)
		return false;
	w->p += n;
	return true;
}

static void found_string(struct walk *w, enum want want, struct sv v)
{
	struct chunk *c = w->ret;

	switch (want) {
	case W_CONTENT:
		c->content = v;
		break;
	case W_REASONING:
		/* Some servers send both names, one of them empty. */
		if (v.n)
			c->reasoning = v;
		break;
	case W_REFUSAL:
		/* Also words for the user; beside an answer it is empty. */
		if (v.n)
			c->content = v;
		break;
	case W_FINISH:
		c->finish = v;
		break;
	case W_REASON:
		c->reason = v;
		break;
	case W_STATUS:
		c->status = v;
		break;
	case W_TYPE:
		c->type = v;
		break;
	case W_DELTA:
		w->delta = v;
		break;
	case W_OBJECT:
		c->has_error |= sv_is(v, "error");
		break;
	case W_ERROR:
		c->has_error |= v.n > 0;
		break;
	case W_TOOL_TEXT:
		c->tool |= v.n > 0;
		break;
	default:
		break;
	}
}

static void found_number(struct walk *w, enum want want, struct sv v)
{
	struct chunk *c = w->ret;
	int64_t n;

	if (want < W_COMPLETION_TOKENS || want > W_INDEX || !sv_to_i64(v, 0, INT32_MAX, &n))
		return;
	switch (want) {
	case W_COMPLETION_TOKENS:
		c->has_usage = true;
		c->completion_tokens = (uint32_t)n;
		break;
	case W_PROMPT_TOKENS:
		c->prompt_tokens = (uint32_t)n;
		break;
	case W_CACHED:
		c->has_cached = true;
		c->cached_tokens = (uint32_t)n;
		break;
	case W_INDEX:
		c->choice = (uint32_t)n;
		break;
	default:
		c->has_reasoning_tokens = true;
		c->reasoning_tokens = (uint32_t)n;
		break;
	}
}

static const struct key *find_plain_key(enum at at, struct sv name)
{
	/* The length and the first byte tell nearly all of them apart. */
	for (size_t i = 0; i < keys[at].n; i++) {
		const struct key *k = &keys[at].v[i];

		if (k->n == name.n && k->name[0] == name.p[0] &&
		    memcmp(k->name, name.p, name.n) == 0)
			return k;
	}
	return NULL;
}

static __attribute__((noinline)) const struct key *find_escaped_key(enum at at, struct sv name)
{
	char plain[64];

	if (name.n > sizeof(plain))
		return NULL;
	return find_plain_key(at, (struct sv){ plain, chunk_unescape(name, plain) });
}

/* Compares without decoding; a key written with escapes is decoded first. */
static const struct key *find_key(enum at at, struct sv name, bool escapes)
{
	if (at == AT_OTHER || name.n == 0)
		return NULL;
	return escapes ? find_escaped_key(at, name) : find_plain_key(at, name);
}

static bool object(struct walk *w, enum at at)
{
	struct sv name;

	w->p++;
	blanks(w);
	if (w->p < w->end && *w->p == '}') {
		w->p++;
		return true;
	}
	for (;;) {
		const struct key *k;
		bool escapes;

		blanks(w);
		if (w->p == w->end || *w->p != '"' || !string(w, &name))
			return false;
		escapes = w->escapes;
		blanks(w);
		if (w->p == w->end || *w->p != ':')
			return false;
		w->p++;
		k = find_key(at, name, escapes);
		if (!value(w, k ? k->want : W_NONE, k ? k->inside : AT_OTHER))
			return false;
		blanks(w);
		if (w->p == w->end)
			return false;
		if (*w->p == '}') {
			w->p++;
			return true;
		}
		if (*w->p++ != ',') {
			w->p--;
			return false;
		}
	}
}

/* Only the first element of `choices`, but every one of the other lists, leads anywhere. */
static enum at element_at(enum at at, size_t index)
{
	switch (at) {
	case AT_CHOICES:
		return index == 0 ? AT_CHOICE : AT_OTHER;
	case AT_TOOLS:
		return AT_TOOL;
	case AT_OUTPUT:
		return AT_ITEM;
	case AT_PARTS:
		return AT_PART;
	default:
		return AT_OTHER;
	}
}

static bool is_list(enum at at)
{
	return at == AT_CHOICES || at == AT_TOOLS || at == AT_OUTPUT || at == AT_PARTS;
}

static bool array(struct walk *w, enum at at)
{
	w->p++;
	blanks(w);
	if (w->p < w->end && *w->p == ']') {
		w->p++;
		return true;
	}
	for (size_t i = 0;; i++) {
		if (!value(w, W_NONE, element_at(at, i)))
			return false;
		blanks(w);
		if (w->p == w->end)
			return false;
		if (*w->p == ']') {
			w->p++;
			return true;
		}
		if (*w->p++ != ',') {
			w->p--;
			return false;
		}
	}
}

/* At the opening bracket. */
static bool empty_list(const struct walk *w)
{
	struct walk ahead = *w;

	ahead.p++;
	blanks(&ahead);
	return ahead.p < ahead.end && *ahead.p == ']';
}

static void found_inside(struct walk *w, enum want want, bool is_array)
{
	if (want == W_ERROR)
		w->ret->has_error = true;
	else if (want == W_CHOICES)
		w->ret->has_choices = is_array;
	else if (want == W_DATA)
		w->ret->has_embedding = is_array && !empty_list(w);
}

static bool value(struct walk *w, enum want want, enum at inside)
{
	struct sv v;
	bool ok;

	blanks(w);
	if (w->p == w->end)
		return false;
	switch (*w->p) {
	case '"':
		if (!string(w, &v))
			return false;
		found_string(w, want, v);
		return true;
	case '{':
	case '[':
		if (++w->depth > CHUNK_DEPTH)
			return false;
		found_inside(w, want, *w->p == '[');
		if (*w->p == '[')
			ok = array(w, is_list(inside) ? inside : AT_OTHER);
		else
			ok = object(w, is_list(inside) ? AT_OTHER : inside);
		w->depth--;
		return ok;
	case 't':
		if (want == W_ERROR)
			w->ret->has_error = true;
		return word(w, "true");
	case 'f':
		return word(w, "false");
	case 'n':
		return word(w, "null");
	default:
		if (*w->p != '-' && (*w->p < '0' || *w->p > '9'))
			return false;
		if (!number(w, &v))
			return false;
		found_number(w, want, v);
		return true;
	}
}

/* Events of the responses endpoint carry their text in a top-level "delta". One of a kind that is
 * not known is something for the user as well, but none of the answer's text. */
static void settle_delta(struct chunk *c, struct sv delta)
{
	if (sv_is(c->type, "response.output_text.delta") ||
	    sv_is(c->type, "response.refusal.delta"))
		c->content = delta;
	else if (sv_starts(c->type, "response.reasoning"))
		c->reasoning = delta;
	else
		c->tool = delta.n > 0;
}

static void settle_responses(struct walk *w)
{
	struct chunk *c = w->ret;

	if (c->type.n == 0 || c->has_choices)
		return;
	if (sv_starts(c->type, "response.") && sv_ends(c->type, ".delta"))
		settle_delta(c, w->delta);
	else if (sv_is(c->type, "error") || sv_is(c->type, "response.failed"))
		c->has_error = true;
	else if (sv_is(c->type, "response.completed"))
		c->finish = SV("stop");
	else if (sv_is(c->type, "response.cancelled"))
		c->finish = SV("cancelled");
	else if (sv_is(c->type, "response.incomplete"))
		c->finish = chunk_reason(c);
}

struct sv chunk_reason(const struct chunk *c)
{
	return c->reason.n && !sv_is(c->reason, "max_output_tokens") ? c->reason : SV("length");
}

bool chunk_parse(struct sv text, struct chunk *ret)
{
	struct walk w = {
		.p = (const unsigned char *)text.p,
		.end = (const unsigned char *)text.p + text.n,
		.depth = 1,
		.ret = ret,
	};
	bool ok;

	*ret = (struct chunk){ 0 };
	blanks(&w);
	ok = w.p < w.end && *w.p == '{' && object(&w, AT_TOP);
	if (ok) {
		blanks(&w);
		ok = w.p == w.end;
	}
	ret->bad_at = (size_t)(w.p - (const unsigned char *)text.p);
	if (ok)
		settle_responses(&w);
	return ok;
}

/* ---- the same event again, with other words in it -------------------------------------------- */

/* What an event carried, when it is the only view in it: more of the same may follow. */
static struct sv *words_of(struct chunk *c)
{
	if (c->finish.n || c->type.n || (c->content.n != 0) == (c->reasoning.n != 0))
		return NULL;
	return c->content.n ? &c->content : &c->reasoning;
}

static bool remembered(const struct chunk_memo *m, struct sv text, struct chunk *ret)
{
	struct walk w = { .end = (const unsigned char *)text.p + text.n };
	struct sv words;

	if (m->n == 0 || text.n < m->head + m->tail || memcmp(text.p, m->text, m->head) != 0)
		return false;
	w.p = (const unsigned char *)text.p + m->head;
	if (!string_rest(&w, &words) || words.n == 0 || text.n - m->head - words.n != m->tail ||
	    memcmp(words.p + words.n, m->text + m->n - m->tail, m->tail) != 0)
		return false;
	*ret = m->chunk;
	if (m->reasoning)
		ret->reasoning = words;
	else
		ret->content = words;
	ret->bad_at = text.n;
	return true;
}

bool chunk_parse_next(struct chunk_memo *m, struct sv text, struct chunk *ret)
{
	struct sv *words;

	if (remembered(m, text, ret))
		return true;
	if (!chunk_parse(text, ret))
		return false;
	words = text.n <= sizeof(m->text) ? words_of(ret) : NULL;
	if (!words)
		return true;
	memcpy(m->text, text.p, text.n);
	m->n = text.n;
	m->head = (size_t)(words->p - text.p);
	m->tail = text.n - m->head - words->n;
	m->reasoning = words == &ret->reasoning;
	m->chunk = *ret;
	return true;
}

/* ---- escapes --------------------------------------------------------------------------------- */

static size_t utf8_put(unsigned cp, char *to)
{
	if (cp < 0x80) {
		to[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		to[0] = (char)(0xc0 | cp >> 6);
		to[1] = (char)(0x80 | (cp & 63));
		return 2;
	}
	if (cp < 0x10000) {
		to[0] = (char)(0xe0 | cp >> 12);
		to[1] = (char)(0x80 | (cp >> 6 & 63));
		to[2] = (char)(0x80 | (cp & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | cp >> 18);
	to[1] = (char)(0x80 | (cp >> 12 & 63));
	to[2] = (char)(0x80 | (cp >> 6 & 63));
	to[3] = (char)(0x80 | (cp & 63));
	return 4;
}

/* p is behind "\u"; gives how many bytes of the escape were used from there on. */
static size_t unescape_u(const unsigned char *p, const unsigned char *end, char *to, size_t *n)
{
	int v = hex4(p, end), low;

	if (v >= 0xd800 && v <= 0xdbff) {
		low = hex4(p + 6, end);
		*n += utf8_put(0x10000u + ((unsigned)(v - 0xd800) << 10) + (unsigned)(low - 0xdc00),
			       to + *n);
		return 10;
	}
	*n += utf8_put((unsigned)v, to + *n);
	return 4;
}

size_t chunk_unescape(struct sv v, char *to)
{
	const unsigned char *p = (const unsigned char *)v.p, *end = v.n ? p + v.n : p;
	static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
	size_t n = 0;

	while (p < end) {
		const char *hit;

		if (*p != '\\') {
			to[n++] = (char)*p++;
			continue;
		}
		p++;
		if (*p == 'u') {
			p++;
			p += unescape_u(p, end, to, &n);
			continue;
		}
		hit = strchr(from, *p);
		to[n++] = hit ? into[hit - from] : (char)*p;
		p++;
	}
	return n;
}
