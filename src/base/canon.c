/* SPDX-License-Identifier: Apache-2.0 */
#include "base/canon.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/json.h"

/* ---- text ---- */

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Sixteen bytes as one value: every processor of today has instructions for it. */
typedef unsigned char bytes16 __attribute__((vector_size(16)));

static inline uint64_t halves(bytes16 v)
{
	uint64_t w[2];

	memcpy(w, &v, sizeof(w));
	return w[0] | w[1];
}

/* The first byte that ends a run of text: a quote, a backslash, a control; 32 at a time, then one.
 * *any collects bits, so that its highest tells whether all was ASCII. */
static const char *run_end(const char *p, const char *end, unsigned char *any)
{
	bytes16 all = { 0 };
	unsigned char c;

	for (; end - p >= 32; p += 32) {
		bytes16 x, y, hit;

		memcpy(&x, p, sizeof(x));
		memcpy(&y, p + sizeof(x), sizeof(y));
		hit = (bytes16)(x < 0x20) | (bytes16)(x == '"') | (bytes16)(x == '\\') |
		      (bytes16)(y < 0x20) | (bytes16)(y == '"') | (bytes16)(y == '\\');
		if (halves(hit))
			break;
		all |= x | y;
	}
	if (halves(all) & EACH_BYTE(0x80))
		*any |= 0x80;
	for (; p < end && (c = (unsigned char)*p) >= 0x20 && c != '"' && c != '\\'; p++)
		*any |= c;
	return p;
}

/* ---- writer ---- */

struct writer {
	struct str *to;
	struct sv path[CANON_MAX_DEPTH];
	size_t n_path, level;
	struct err *err;
};

static char *where(const struct writer *w)
{
	struct str s = { 0 };

	for (size_t i = 0; i < w->n_path; i++)
		str_addf(&s, "%s" SV_FMT, i ? "." : "", SV_ARG(w->path[i]));
	return str_steal(&s);
}

static int refuse(struct writer *w, enum err_code code, const char *what)
{
	AUTO_FREE char *at = where(w);

	return bail(w->err, code, "%s at '%s'", what, at);
}

static bool key_fits(struct sv k)
{
	if (!k.n || k.p[0] < 'a' || k.p[0] > 'z')
		return false;
	for (size_t i = 1; i < k.n; i++)
		if (!((k.p[i] >= 'a' && k.p[i] <= 'z') || (k.p[i] >= '0' && k.p[i] <= '9') ||
		      k.p[i] == '_'))
			return false;
	return true;
}

/* The letter after the backslash of a control character's short form, 0 when it has none. */
static char short_escape(unsigned char c)
{
	switch (c) {
	case '\b':
		return 'b';
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\f':
		return 'f';
	case '\r':
		return 'r';
	default:
		return 0;
	}
}

static int write_string(struct writer *w, struct sv v)
{
	unsigned char any = 0;
	size_t from = 0;

	if (!utf8_valid(v))
		return w->n_path ? refuse(w, ERR_PARSE, "invalid UTF-8")
				 : bail(w->err, ERR_PARSE, "not UTF-8: '" SV_FMT "'", SV_ARG(v));
	str_addc(w->to, '"');
	for (size_t i = 0;; i++) {
		unsigned char c;

		i = (size_t)(run_end(v.p + i, v.p + v.n, &any) - v.p);
		if (i == v.n)
			break;
		c = (unsigned char)v.p[i];
		str_addn(w->to, v.p + from, i - from);
		from = i + 1;
		if (c >= 0x20)
			str_addf(w->to, "\\%c", c);
		else if (short_escape(c))
			str_addf(w->to, "\\%c", short_escape(c));
		else
			str_addf(w->to, "\\u%04x", c);
	}
	str_addn(w->to, v.p + from, v.n - from);
	str_addc(w->to, '"');
	return 0;
}

static int write_value(struct writer *w, const json_t *v);

struct member {
	struct sv key;
	const json_t *value;
};

static int by_key(const void *a, const void *b)
{
	struct sv x = ((const struct member *)a)->key, y = ((const struct member *)b)->key;
	int d = memcmp(x.p, y.p, MIN(x.n, y.n));

	return d ? d : (x.n > y.n) - (x.n < y.n);
}

/* Most objects are short, and qsort is not. */
static void sort_members(struct member *m, size_t n)
{
	if (n > 16) {
		qsort(m, n, sizeof(*m), by_key);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct member own = m[i];
		size_t at = i;

		for (; at && by_key(&m[at - 1], &own) > 0; at--)
			m[at] = m[at - 1];
		m[at] = own;
	}
}

static int write_members(struct writer *w, const struct member *m, size_t n)
{
	if (!n)
		str_addc(w->to, '{');
	for (size_t i = 0; i < n; i++) {
		w->path[w->n_path++] = m[i].key;
		if (!key_fits(m[i].key))
			return refuse(w, ERR_PARSE, "key not [a-z][a-z0-9_]*");
		str_addn(w->to, i ? ",\"" : "{\"", 2);
		str_addsv(w->to, m[i].key);
		str_addn(w->to, "\":", 2);
		TRY(write_value(w, m[i].value));
		w->n_path--;
	}
	str_addc(w->to, '}');
	return 0;
}

static int write_object(struct writer *w, const json_t *v)
{
	size_t n = json_object_size(v), i = 0;
	AUTO_FREE struct member *many = NULL;
	struct member few[16], *m = few;
	json_t *object =
		(json_t *)v; /* jansson iterates over a non-const object; nothing changes */

	if (n > ARRAY_SIZE(few))
		m = many = xcalloc(n, sizeof(*m));
	for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it))
		m[i++] =
			(struct member){ { json_object_iter_key(it), json_object_iter_key_len(it) },
					 json_object_iter_value(it) };
	sort_members(m, n);
	return write_members(w, m, n);
}

static int write_array(struct writer *w, const json_t *v)
{
	str_addc(w->to, '[');
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (i)
			str_addc(w->to, ',');
		TRY(write_value(w, json_array_get(v, i)));
	}
	str_addc(w->to, ']');
	return 0;
}

static int write_value(struct writer *w, const json_t *v)
{
	int rc;

	if (!v)
		return refuse(w, ERR_BUG, "no value");
	switch (json_typeof(v)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (w->level == CANON_MAX_DEPTH)
			return refuse(w, ERR_LIMIT, "more than 32 levels");
		w->level++;
		rc = json_is_object(v) ? write_object(w, v) : write_array(w, v);
		w->level--;
		return rc;
	case JSON_STRING:
		return write_string(w, (struct sv){ json_string_value(v), json_string_length(v) });
	case JSON_INTEGER:
		if (json_integer_value(v) > CANON_MAX_INT || json_integer_value(v) < -CANON_MAX_INT)
			return refuse(w, ERR_RANGE, "integer out of range");
		str_addf(w->to, "%lld", (long long)json_integer_value(v));
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		str_add(w->to, json_is_true(v) ? "true" : "false");
		return 0;
	case JSON_NULL:
		str_add(w->to, "null");
		return 0;
	case JSON_REAL:
		return refuse(w, ERR_PARSE, "number not an integer");
	}
	return refuse(w, ERR_BUG, "unknown JSON type");
}

int canon_write(const json_t *value, size_t max_bytes, struct str *ret, struct err *err)
{
	struct str own CLEANUP(str_release) = { 0 };
	struct writer w = { .to = &own, .err = err };
	size_t before = ret->n;
	int rc;

	if (!max_bytes && !ret->limit) { /* nothing to hold back: no copy */
		w.to = ret;
		rc = write_value(&w, value);
		if (rc < 0)
			str_cut(ret, before);
		return rc;
	}
	str_init(&own, max_bytes);
	TRY(write_value(&w, value));
	if (own.over)
		return bail(err, ERR_LIMIT, "more than %zu bytes", max_bytes);
	str_addsv(ret, sv_str(&own));
	return 0;
}

int canon_write_text(struct sv text, struct str *ret, struct err *err)
{
	struct writer w = { .to = ret, .err = err };

	return write_string(&w, text); /* checks before it writes */
}

int canon_digest(const json_t *value, char ret[65], struct err *err)
{
	struct str bytes CLEANUP(str_release) = { 0 };

	TRY(canon_write(value, 0, &bytes, err));
	sha256_hex(str_text(&bytes), bytes.n, ret);
	return 0;
}

/* ---- reader ---- */

struct reader {
	const char *start, *at, *end;
	bool strict;
	canon_seen *seen;
	void *ctx;
	struct sv path[CANON_MAX_DEPTH];
	size_t n_path, level, objects, object;
	struct err *err;
};

static int fault(struct reader *r, enum err_code code, const char *what)
{
	return bail(r->err, code, "%s at byte %td", what, r->at - r->start);
}

static inline int blanks(struct reader *r)
{
	const char *from = r->at;

	if (r->at == r->end || (unsigned char)*r->at > ' ') /* nearly always */
		return 0;
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
	return r->strict && r->at != from ? fault(r, ERR_PARSE, "blank, so not canonical") : 0;
}

static int hex4(struct reader *r, unsigned *ret)
{
	unsigned v = 0;

	if (r->end - r->at < 4)
		return fault(r, ERR_PARSE, "short \\u escape");
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)r->at[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F' && !r->strict)
			v = v * 16 + (c - 'A' + 10);
		else
			return fault(r, ERR_PARSE, "bad \\u escape");
	}
	r->at += 4;
	*ret = v;
	return 0;
}

static void add_utf8(struct str *s, unsigned c)
{
	if (c < 0x80) {
		str_addc(s, (char)c);
	} else if (c < 0x800) {
		str_addc(s, (char)(0xc0 | c >> 6));
		str_addc(s, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		str_addc(s, (char)(0xe0 | c >> 12));
		str_addc(s, (char)(0x80 | (c >> 6 & 0x3f)));
		str_addc(s, (char)(0x80 | (c & 0x3f)));
	} else {
		str_addc(s, (char)(0xf0 | c >> 18));
		str_addc(s, (char)(0x80 | (c >> 12 & 0x3f)));
		str_addc(s, (char)(0x80 | (c >> 6 & 0x3f)));
		str_addc(s, (char)(0x80 | (c & 0x3f)));
	}
}

/* After "\u". */
static int unicode_escape(struct reader *r, struct str *out)
{
	unsigned c, low;

	TRY(hex4(r, &c));
	if (r->strict && (c >= 0x20 || short_escape((unsigned char)c)))
		return fault(r, ERR_PARSE, "needless escape, so not canonical");
	if (c >= 0xdc00 && c <= 0xdfff)
		return fault(r, ERR_PARSE, "lone surrogate");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
			return fault(r, ERR_PARSE, "lone surrogate");
		r->at += 2;
		TRY(hex4(r, &low));
		if (low < 0xdc00 || low > 0xdfff)
			return fault(r, ERR_PARSE, "lone surrogate");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (out)
		add_utf8(out, c);
	return 0;
}

/* After the backslash. */
static int escape(struct reader *r, struct str *out)
{
	static const char from[] = "\"\\bfnrt/", to[] = "\"\\\b\f\n\r\t/";
	const char *hit;

	if (r->at == r->end)
		return fault(r, ERR_PARSE, "string without an end");
	if (*r->at == 'u') {
		r->at++;
		return unicode_escape(r, out);
	}
	hit = *r->at ? strchr(from, *r->at) : NULL;
	if (!hit)
		return fault(r, ERR_PARSE, "unknown escape");
	if (*hit == '/' && r->strict)
		return fault(r, ERR_PARSE, "needless escape, so not canonical");
	r->at++;
	if (out)
		str_addc(out, to[hit - from]);
	return 0;
}

/* At the opening quote. raw: between the quotes. out (may be NULL): filled only when escaped. */
static int string(struct reader *r, struct sv *raw, bool *escaped, struct str *out)
{
	const char *from = ++r->at, *run = from;
	unsigned char any = 0;

	*escaped = false;
	for (;;) {
		r->at = run_end(r->at, r->end, &any);
		if (r->at == r->end)
			return fault(r, ERR_PARSE, "string without an end");
		if (*r->at == '"')
			break;
		if ((unsigned char)*r->at < 0x20)
			return fault(r, ERR_PARSE, "raw control character");
		*escaped = true;
		if (out)
			str_addn(out, run, (size_t)(r->at - run));
		r->at++;
		TRY(escape(r, out));
		run = r->at;
	}
	if (out && *escaped)
		str_addn(out, run, (size_t)(r->at - run));
	*raw = (struct sv){ from, (size_t)(r->at - from) };
	if (any & 0x80 && !utf8_valid(*raw))
		return fault(r, ERR_PARSE, "invalid UTF-8");
	r->at++;
	return 0;
}

static void show(struct reader *r, char type, struct sv raw, bool escaped)
{
	struct canon_scalar s = { r->path, r->n_path, type, raw, escaped, r->object };

	if (r->seen)
		r->seen(r->ctx, &s);
}

static int number(struct reader *r, json_t **ret)
{
	const char *from = r->at;
	bool minus = *r->at == '-';
	int64_t v = 0;

	r->at += minus;
	if (r->at == r->end || *r->at < '0' || *r->at > '9')
		return fault(r, ERR_PARSE, "not a value");
	if (*r->at == '0' && r->at + 1 < r->end && r->at[1] >= '0' && r->at[1] <= '9')
		return fault(r, ERR_PARSE, "leading zero");
	while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
		v = v * 10 + (*r->at - '0');
		if (v > CANON_MAX_INT)
			return fault(r, ERR_RANGE, "integer out of range");
		r->at++;
	}
	if (r->at < r->end && (*r->at == '.' || *r->at == 'e' || *r->at == 'E'))
		return fault(r, ERR_PARSE, "number not an integer");
	if (minus && !v)
		return fault(r, ERR_PARSE, "negative zero");
	show(r, 'i', (struct sv){ from, (size_t)(r->at - from) }, false);
	if (ret)
		*ret = json_integer(minus ? -v : v);
	return 0;
}

static int word(struct reader *r, json_t **ret)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(r->end - r->at) < n || memcmp(r->at, words[i], n) != 0)
			continue;
		show(r, words[i][0], (struct sv){ r->at, n }, false);
		r->at += n;
		if (ret)
			*ret = i == 0 ? json_true() : i == 1 ? json_false() : json_null();
		return 0;
	}
	return fault(r, ERR_PARSE, "not a value");
}

static int value(struct reader *r, json_t **ret);

static int array(struct reader *r, json_t **ret)
{
	AUTO_JSON json_t *own = ret ? json_array() : NULL;

	show(r, '[', (struct sv){ r->at, 1 }, false);
	r->at++;
	TRY(blanks(r));
	if (r->at < r->end && *r->at == ']') {
		r->at++;
	} else {
		for (;;) {
			json_t *item = NULL;

			TRY(value(r, ret ? &item : NULL));
			if (ret)
				(void)json_array_append_new(own, item);
			TRY(blanks(r));
			if (r->at == r->end || (*r->at != ',' && *r->at != ']'))
				return fault(r, ERR_PARSE, "want ',' or ']'");
			if (*r->at++ == ']')
				break;
			TRY(blanks(r));
		}
	}
	if (ret)
		*ret = STEAL(own);
	return 0;
}

/* One "key": and its value. before: the key before, for the order. */
static int member(struct reader *r, struct sv *before, json_t *into)
{
	struct str decoded CLEANUP(str_release) = { 0 };
	json_t *item = NULL;
	struct sv key;
	bool escaped;
	size_t object = r->object;

	if (r->at == r->end || *r->at != '"')
		return fault(r, ERR_PARSE, "want a key");
	TRY(string(r, &key, &escaped, r->strict ? NULL : &decoded));
	if (escaped && !r->strict)
		key = sv_str(&decoded);
	if (!key_fits(key) || (escaped && r->strict))
		return fault(r, ERR_PARSE, "key not [a-z][a-z0-9_]*");
	if (r->strict && before->p) {
		int d = memcmp(before->p, key.p, MIN(before->n, key.n));

		if (d > 0 || (d == 0 && before->n > key.n))
			return fault(r, ERR_PARSE, "keys out of order, so not canonical");
		if (d == 0 && before->n == key.n)
			return fault(r, ERR_PARSE, "duplicate key");
	}
	if (r->strict) /* then it points into the input, not into `decoded` */
		*before = key;
	if (into && json_object_getn(into, key.p, key.n))
		return fault(r, ERR_PARSE, "duplicate key");
	TRY(blanks(r));
	if (r->at == r->end || *r->at != ':')
		return fault(r, ERR_PARSE, "want ':'");
	r->at++;
	TRY(blanks(r));
	r->path[r->n_path++] = key;
	TRY(value(r, into ? &item : NULL));
	r->n_path--;
	r->object = object;
	if (into)
		(void)json_object_setn_new_nocheck(into, key.p, key.n, item);
	return 0;
}

static int object(struct reader *r, json_t **ret)
{
	AUTO_JSON json_t *own = ret ? json_object() : NULL;
	struct sv before = { 0 };
	size_t outer = r->object;

	show(r, '{', (struct sv){ r->at, 1 }, false);
	r->object = ++r->objects;
	r->at++;
	TRY(blanks(r));
	if (r->at < r->end && *r->at == '}') {
		r->at++;
	} else {
		for (;;) {
			TRY(member(r, &before, own));
			TRY(blanks(r));
			if (r->at == r->end || (*r->at != ',' && *r->at != '}'))
				return fault(r, ERR_PARSE, "want ',' or '}'");
			if (*r->at++ == '}')
				break;
			TRY(blanks(r));
		}
	}
	r->object = outer;
	if (ret)
		*ret = STEAL(own);
	return 0;
}

static int string_value(struct reader *r, json_t **ret)
{
	struct str out CLEANUP(str_release) = { 0 };
	struct sv raw;
	bool escaped;

	TRY(string(r, &raw, &escaped, ret ? &out : NULL));
	show(r, 's', raw, escaped);
	if (ret) {
		if (escaped)
			raw = sv_str(&out);
		*ret = json_stringn_nocheck(raw.p, raw.n);
	}
	return 0;
}

static int value(struct reader *r, json_t **ret)
{
	int rc;

	if (r->at == r->end)
		return fault(r, ERR_PARSE, "cut short");
	switch (*r->at) {
	case '{':
	case '[':
		if (r->level == CANON_MAX_DEPTH)
			return fault(r, ERR_LIMIT, "more than 32 levels");
		r->level++;
		rc = *r->at == '{' ? object(r, ret) : array(r, ret);
		r->level--;
		return rc;
	case '"':
		return string_value(r, ret);
	case '-':
	case '0' ... '9':
		return number(r, ret);
	default:
		return word(r, ret);
	}
}

static int whole(struct reader *r, size_t max_bytes, json_t **ret)
{
	AUTO_JSON json_t *own = NULL;

	if (max_bytes && (size_t)(r->end - r->start) > max_bytes)
		return bail(r->err, ERR_LIMIT, "more than %zu bytes", max_bytes);
	TRY(blanks(r));
	TRY(value(r, ret ? &own : NULL));
	TRY(blanks(r));
	if (r->at != r->end)
		return fault(r, ERR_PARSE, "trailing data");
	if (ret)
		*ret = STEAL(own);
	return 0;
}

int canon_read(struct sv bytes, size_t max_bytes, enum canon_mode mode, json_t **ret,
	       struct err *err)
{
	struct reader r = { .start = bytes.p,
			    .at = bytes.p,
			    .end = bytes.p + bytes.n,
			    .strict = mode == CANON_STRICT,
			    .err = err };

	return whole(&r, max_bytes, ret);
}

int canon_scan(struct sv bytes, size_t max_bytes, canon_seen *seen, void *ctx, struct err *err)
{
	struct reader r = { .start = bytes.p,
			    .at = bytes.p,
			    .end = bytes.p + bytes.n,
			    .strict = true,
			    .seen = seen,
			    .ctx = ctx,
			    .err = err };

	return whole(&r, max_bytes, NULL);
}
