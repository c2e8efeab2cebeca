/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include "base/err.h"
#include "base/vec.h"
#include <yaml.h>

struct reader {
	yaml_parser_t parser;
	struct sv text;
	size_t nodes;
	struct err *err;
};

static void parser_deletep(struct reader *r)
{
	yaml_parser_delete(&r->parser);
}

static void event_deletep(yaml_event_t *e)
{
	yaml_event_delete(e);
}
#define AUTO_EVENT CLEANUP(event_deletep)

PRINTF(3, 4) static int bail_at(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	return bail(r->err, ERR_PARSE, "%zu:%zu: %s", at.line + 1, at.column + 1, str_text(&s));
}

static const char *or_nothing(const char *s)
{
	return s ? s : "";
}

/* What libyaml found wrong. Its own wording is kept where it says more than "not valid YAML". */
static int bail_syntax(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return bail(r->err, ERR_LIMIT, "1:1: out of memory");
	if (p->error == YAML_READER_ERROR) {
		unsigned line = 1, col = 1;

		for (size_t i = 0; i < MIN(p->problem_offset, r->text.n); i++) {
			col += ((unsigned char)r->text.p[i] & 0xc0) != 0x80;
			if (r->text.p[i] == '\n') {
				line++;
				col = 1;
			}
		}
		return bail(r->err, ERR_PARSE, "%u:%u: not YAML: %s", line, col,
			    or_nothing(p->problem));
	}
	if (p->problem && strstr(p->problem, "cannot start any token"))
		return bail_at(
			r, p->problem_mark,
			"not YAML: this character can't begin a value (a tab, '@', '`' and '%%' "
			"need quotes; indent with spaces)");
	if (p->context && p->context_mark.line != p->problem_mark.line)
		return bail_at(r, p->problem_mark, "not YAML: %s %s that began on line %zu",
			       or_nothing(p->problem), p->context, p->context_mark.line + 1);
	if (p->context)
		return bail_at(r, p->problem_mark, "not YAML: %s %s", or_nothing(p->problem),
			       p->context);
	return bail_at(r, p->problem_mark, "not YAML: %s", or_nothing(p->problem));
}

static int next(struct reader *r, yaml_event_t *ret)
{
	if (!yaml_parser_parse(&r->parser, ret))
		return bail_syntax(r);
	return 0;
}

/* Anchors and tags change what a value is from afar; nothing here needs them. */
static int plain_only(struct reader *r, const yaml_event_t *e, const yaml_char_t *anchor,
		      const yaml_char_t *tag)
{
	if (anchor)
		return bail_at(r, e->start_mark, "anchors (&%s) are not allowed here",
			       (const char *)anchor);
	if (tag)
		return bail_at(r, e->start_mark, "tags (%s) are not allowed here",
			       (const char *)tag);
	return 0;
}

static int count_node(struct reader *r, const yaml_event_t *e)
{
	if (++r->nodes <= YAML_MAX_NODES)
		return 0;
	(void)bail_at(r, e->start_mark, "more than %d values", YAML_MAX_NODES);
	r->err->code = ERR_LIMIT;
	return -ERR_LIMIT;
}

/* NULL and an error when it can't be a C string. */
static char *scalar_text(struct reader *r, const yaml_event_t *e)
{
	const char *p = (const char *)e->data.scalar.value;
	size_t n = e->data.scalar.length;

	if (!memchr(p, '\0', n))
		return xstrndup(p, n);
	(void)bail_at(r, e->start_mark, "text with a NUL byte in it");
	return NULL;
}

static int build(struct reader *r, yaml_event_t *e, int depth, struct yaml *ret);

static int build_list(struct reader *r, int depth, struct yaml *ret)
{
	for (;;) {
		AUTO_EVENT yaml_event_t e = { 0 };

		TRY(next(r, &e));
		if (e.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		TRY(build(r, &e, depth, VEC_ADD(ret)));
	}
}

static int by_key(const void *a, const void *b)
{
	const struct yaml *x = *(const struct yaml *const *)a, *y = *(const struct yaml *const *)b;
	int c = strcmp(x->key, y->key);

	if (c)
		return c;
	return x < y ? -1 : x > y; /* both stand in one array: by place */
}

/* Sorted, so that a map of many keys does not take the square of their number. */
static int no_key_twice(struct reader *r, const struct yaml *map)
{
	AUTO_FREE const struct yaml **l = xcalloc(map->n + 1, sizeof(const struct yaml *));
	const struct yaml *bad = NULL, *first = NULL;

	for (size_t i = 0; i < map->n; i++)
		l[i] = &map->v[i];
	qsort(l, map->n, sizeof(const struct yaml *), by_key);
	for (size_t i = 1; i < map->n; i++) {
		if (!streq(l[i - 1]->key, l[i]->key) || (bad && l[i] >= bad))
			continue;
		bad = l[i];
		first = l[i - 1];
	}
	if (!bad)
		return 0;
	return bail(r->err, ERR_PARSE, "%u:%u: '%s' given twice (first on line %u)", bad->key_line,
		    bad->key_col, bad->key, first->key_line);
}

static int build_map(struct reader *r, int depth, struct yaml *ret)
{
	for (;;) {
		AUTO_EVENT yaml_event_t key = { 0 }, value = { 0 };
		AUTO_FREE char *name = NULL;
		struct yaml *at;

		TRY(next(r, &key));
		if (key.type == YAML_MAPPING_END_EVENT)
			return no_key_twice(r, ret);
		if (key.type == YAML_ALIAS_EVENT)
			return bail_at(r, key.start_mark, "aliases (*%s) are not allowed here",
				       (const char *)key.data.alias.anchor);
		if (key.type != YAML_SCALAR_EVENT)
			return bail_at(r, key.start_mark, "a key must be a plain word");
		TRY(plain_only(r, &key, key.data.scalar.anchor, key.data.scalar.tag));
		name = scalar_text(r, &key);
		if (!name)
			return -ERR_PARSE;
		if (!*name)
			return bail_at(r, key.start_mark, "a key without a name");
		TRY(next(r, &value));
		at = VEC_ADD(ret);
		at->key = STEAL(name);
		at->key_line = (unsigned)key.start_mark.line + 1;
		at->key_col = (unsigned)key.start_mark.column + 1;
		TRY(build(r, &value, depth, at));
	}
}

/* Fills *ret, which belongs to its parent already, so a half-built one is released with it. */
static int build(struct reader *r, yaml_event_t *e, int depth, struct yaml *ret)
{
	TRY(count_node(r, e));
	ret->line = (unsigned)e->start_mark.line + 1;
	ret->col = (unsigned)e->start_mark.column + 1;
	if (depth >= YAML_MAX_DEPTH && e->type != YAML_SCALAR_EVENT) {
		(void)bail_at(r, e->start_mark, "more than %d levels", YAML_MAX_DEPTH);
		r->err->code = ERR_LIMIT;
		return -ERR_LIMIT;
	}
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		TRY(plain_only(r, e, e->data.scalar.anchor, e->data.scalar.tag));
		ret->kind = YAML_SCALAR;
		ret->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		ret->text = scalar_text(r, e);
		return ret->text ? 0 : -ERR_PARSE;
	case YAML_SEQUENCE_START_EVENT:
		ret->kind = YAML_LIST;
		TRY(plain_only(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag));
		return build_list(r, depth + 1, ret);
	case YAML_MAPPING_START_EVENT:
		ret->kind = YAML_MAP;
		TRY(plain_only(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag));
		return build_map(r, depth + 1, ret);
	case YAML_ALIAS_EVENT:
		return bail_at(r, e->start_mark, "aliases (*%s) are not allowed here",
			       (const char *)e->data.alias.anchor);
	default:
		return bail_at(r, e->start_mark, "not YAML: a value is missing here");
	}
}

static int read_document(struct reader *r, struct yaml *ret)
{
	AUTO_EVENT yaml_event_t begin = { 0 }, doc = { 0 }, value = { 0 }, end = { 0 },
				more = { 0 };

	TRY(next(r, &begin)); /* stream start */
	TRY(next(r, &doc));
	if (doc.type == YAML_STREAM_END_EVENT) {
		*ret = (struct yaml){ .line = 1, .col = 1, .text = xstrdup("") };
		return 0;
	}
	if (doc.data.document_start.version_directive ||
	    doc.data.document_start.tag_directives.start !=
		    doc.data.document_start.tag_directives.end)
		return bail_at(r, doc.start_mark,
			       "directives (%%YAML, %%TAG) are not allowed here");
	TRY(next(r, &value));
	TRY(build(r, &value, 0, ret));
	TRY(next(r, &end)); /* document end */
	TRY(next(r, &more));
	if (more.type != YAML_STREAM_END_EVENT)
		return bail_at(r, more.start_mark,
			       "a second document begins here; only one is allowed");
	return 0;
}

/* Place of the first byte that is not UTF-8 or not text. False: there is none. */
static bool find_foreign(struct sv text, unsigned *ret_line, unsigned *ret_col, bool *ret_utf8)
{
	*ret_line = *ret_col = 1;
	for (size_t i = 0; i < text.n;) {
		unsigned char c = (unsigned char)text.p[i];
		size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

		*ret_utf8 = n <= text.n - i && utf8_valid((struct sv){ text.p + i, n });
		if (!*ret_utf8 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
			return true;
		if (c == '\n') {
			++*ret_line;
			*ret_col = 1;
		} else {
			++*ret_col;
		}
		i += n;
	}
	return false;
}

int yaml_parse(struct sv text, struct yaml *ret, struct err *err)
{
	struct reader r CLEANUP(parser_deletep) = { .err = err };
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	unsigned line, col;
	bool utf8 = true;

	if (text.n > YAML_MAX_BYTES)
		return bail(err, ERR_LIMIT, "1:1: %zu bytes are more than the allowed %zu", text.n,
			    YAML_MAX_BYTES);
	if (sv_starts(text, "\xef\xbb\xbf"))
		text = (struct sv){ text.p + 3, text.n - 3 };
	if (find_foreign(text, &line, &col, &utf8))
		return bail(err, ERR_PARSE, "%u:%u: %s", line, col,
			    utf8 ? "a control character" : "not UTF-8 text");
	if (!yaml_parser_initialize(&r.parser))
		return bail(err, ERR_LIMIT, "1:1: out of memory");
	r.text = text;
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
	TRY(read_document(&r, &doc));
	*ret = doc;
	doc = (struct yaml){ 0 };
	return 0;
}

void yaml_release(struct yaml *y)
{
	for (size_t i = 0; i < y->n; i++)
		yaml_release(&y->v[i]);
	free(y->v);
	free(y->text);
	free(y->key);
	*y = (struct yaml){ 0 };
}

const struct yaml *yaml_get(const struct yaml *y, const char *key)
{
	for (size_t i = 0; y->kind == YAML_MAP && i < y->n; i++)
		if (streq(y->v[i].key, key))
			return &y->v[i];
	return NULL;
}

bool yaml_is_null(const struct yaml *y)
{
	return y->kind == YAML_SCALAR && !y->quoted &&
	       (!*y->text || streq(y->text, "null") || streq(y->text, "~"));
}

const char *yaml_kind_name(enum yaml_kind k)
{
	return k == YAML_SCALAR ? "text" : k == YAML_LIST ? "a list" : "a map";
}

/* Beyond ASCII all is escaped: U+0085 and U+2028 end a line in YAML, and others can't stand as
 * such. */
static void write_text(const char *s, struct str *ret)
{
	str_addc(ret, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\') {
			str_addf(ret, "\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			str_addf(ret, "\\x%02x", c);
		} else if (c < 0x80) {
			str_addc(ret, *s);
		} else {
			int more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
			unsigned u = c & (0x3fu >> more);

			for (; more > 0; more--)
				u = u << 6 | ((unsigned char)*++s & 0x3fu);
			str_addf(ret, "\\U%08x", u);
		}
	}
	str_addc(ret, '"');
}

void yaml_write(const struct yaml *y, struct str *ret)
{
	if (y->kind == YAML_SCALAR) {
		write_text(y->text, ret);
		return;
	}
	str_addc(ret, y->kind == YAML_LIST ? '[' : '{');
	for (size_t i = 0; i < y->n; i++) {
		if (i)
			str_add(ret, ", ");
		if (y->kind == YAML_MAP) {
			str_add(ret, "? ");
			write_text(y->v[i].key, ret);
			str_add(ret, " : ");
		}
		yaml_write(&y->v[i], ret);
	}
	str_addc(ret, y->kind == YAML_LIST ? ']' : '}');
}

bool yaml_equal(const struct yaml *a, const struct yaml *b)
{
	if (a->kind != b->kind || a->n != b->n || !streq(a->text, b->text) ||
	    !streq(a->key, b->key))
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!yaml_equal(&a->v[i], &b->v[i]))
			return false;
	return true;
}
