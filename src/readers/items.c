/* SPDX-License-Identifier: Apache-2.0 */
/* Results by item, as evaluations write them: JSON lines, one an item. Members are named by the
 * caller, so that the samples of most harnesses can be read as they are. */
#include "readers/readers.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

enum { ITEMS_MOST = 1000 * 1000, TOKENS_MOST = 16 * 1000 * 1000 };

void item_results_release(struct item_results *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].id);
		free(l->v[i].cluster);
	}
	free(l->v);
	*l = (struct item_results){ 0 };
}

void item_texts_release(struct item_texts *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].id);
		free(l->v[i].text);
		free(l->v[i].token);
	}
	free(l->v);
	*l = (struct item_texts){ 0 };
}

/* A text or an integer as text; NULL: neither. Caller frees. */
static char *word(const json_t *v)
{
	if (json_is_string(v))
		return xstrdup(json_string_value(v));
	return json_is_integer(v) ? xasprintf("%lld", (long long)json_integer_value(v)) : NULL;
}

/* Lines of other filters or metrics stand between those that are wanted. */
static bool wanted(const json_t *o, const struct pairs *where)
{
	for (size_t i = 0; where && i < where->n; i++) {
		AUTO_FREE char *got = word(json_object_get(o, where->v[i].name));

		if (!got || !streq(got, where->v[i].value))
			return false;
	}
	return true;
}

static int right_of(const json_t *v, bool *ret)
{
	double x = json_is_number(v) ? json_number_value(v) : -1;

	if (json_is_boolean(v) || x == 0 || x == 1) {
		*ret = json_is_true(v) || x == 1;
		return 0;
	}
	return -1;
}

static int one_result(const json_t *o, const struct item_keys *k, struct item_results *l,
		      struct err *err)
{
	AUTO_FREE char *id = word(json_object_get(o, k->id));
	struct item_result *r;
	bool right;

	if (!id)
		return bail(err, ERR_PARSE, "no '%s', or it is no text or integer", k->id);
	if (right_of(json_object_get(o, k->correct), &right) < 0)
		return bail(err, ERR_PARSE, "item '%.60s': '%s' is not true, false, 1 or 0", id,
			    k->correct);
	r = VEC_ADD(l);
	r->id = STEAL(id);
	r->right = right;
	r->cluster = k->cluster ? word(json_object_get(o, k->cluster)) : NULL;
	return 0;
}

static int token_ids(const json_t *a, struct item_text *x, struct err *err)
{
	x->token = xcalloc(json_array_size(a), sizeof(*x->token));
	for (size_t i = 0; i < json_array_size(a); i++) {
		if (!json_is_integer(json_array_get(a, i)))
			return bail(err, ERR_PARSE, "item '%.60s': a token id is an integer",
				    x->id);
		x->token[x->n++] = json_integer_value(json_array_get(a, i));
	}
	x->ids = true;
	return 0;
}

/* One code point of UTF-8, or one byte of what is none. */
static size_t point(const char *p, size_t n, int64_t *ret)
{
	unsigned char c = (unsigned char)*p;
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	int64_t v = len == 1 ? c : c & (0xff >> (len + 1));

	if (len > n)
		len = 1;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)p[i] & 0xc0) != 0x80) {
			*ret = c;
			return 1;
		}
		v = v << 6 | ((unsigned char)p[i] & 0x3f);
	}
	*ret = v;
	return len;
}

void item_text_points(struct item_text *x)
{
	size_t n = x->text ? strlen(x->text) : 0;

	free(x->token);
	x->token = xcalloc(n, sizeof(*x->token));
	x->n = 0;
	x->ids = false;
	for (size_t at = 0; at < n;)
		at += point(x->text + at, n - at, &x->token[x->n++]);
}

static int one_text(const json_t *o, const struct item_keys *k, struct item_texts *l,
		    struct err *err)
{
	const json_t *ids = json_object_get(o, k->tokens), *text = json_object_get(o, k->text);
	AUTO_FREE char *id = word(json_object_get(o, k->id));
	struct item_text *x;

	if (!id)
		return bail(err, ERR_PARSE, "no '%s', or it is no text or integer", k->id);
	if (!json_is_array(ids) && !json_is_string(text))
		return bail(err, ERR_PARSE, "item '%.60s': neither a text '%s' nor ids '%s'", id,
			    k->text, k->tokens);
	x = VEC_ADD(l);
	x->id = STEAL(id);
	x->text = json_is_string(text) ? xstrdup(json_string_value(text)) : NULL;
	if (json_is_array(ids))
		return token_ids(ids, x, err);
	item_text_points(x);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted by id; an id that comes twice would count twice. Every element begins with its id. */
static int sort_ids(void *v, size_t n, size_t size, struct err *err)
{
	if (n)
		qsort(v, n, size, by_id);
	for (size_t i = 1; i < n; i++) {
		const char *a = *(char *const *)((char *)v + (i - 1) * size);
		const char *b = *(char *const *)((char *)v + i * size);

		if (streq(a, b))
			return bail(err, ERR_PARSE,
				    "item '%.60s' stands there twice (several filters? name one "
				    "with 'where')",
				    a);
	}
	return n ? 0 : bail(err, ERR_PARSE, "no item is in there");
}

typedef int read_item(const json_t *o, const struct item_keys *k, void *l, struct err *err);

static int each(struct sv text, const struct item_keys *k, read_item *one, void *l, struct err *err)
{
	struct sv rest = text, line;
	size_t n = 0, items = 0;

	while (sv_line(&rest, &line)) {
		AUTO_JSON json_t *o = NULL;
		AUTO_FREE char *what = xasprintf("line %zu", ++n);

		line = sv_trim(line);
		/* A program may print other things too. */
		if (!line.n || line.p[0] != '{')
			continue;
		TRY(json_read(line, what, &o, err));
		if (!wanted(o, k->where))
			continue;
		if (++items > ITEMS_MOST)
			return bail(err, ERR_LIMIT, "more than %d items", ITEMS_MOST);
		if (one(o, k, l, err) < 0)
			return err_wrap(err, "%s", what);
	}
	return 0;
}

static int read_result(const json_t *o, const struct item_keys *k, void *l, struct err *err)
{
	return one_result(o, k, l, err);
}

static int read_text(const json_t *o, const struct item_keys *k, void *l, struct err *err)
{
	struct item_texts *t = l;

	TRY(one_text(o, k, t, err));
	t->tokens += t->v[t->n - 1].n;
	return t->tokens > TOKENS_MOST ? bail(err, ERR_LIMIT, "more than %d tokens", TOKENS_MOST)
				       : 0;
}

int items_read(struct sv text, const struct item_keys *k, struct item_results *ret, struct err *err)
{
	struct item_results l CLEANUP(item_results_release) = { 0 };

	TRY(each(text, k, read_result, &l, err));
	TRY(sort_ids(l.v, l.n, sizeof(*l.v), err));
	*ret = l;
	l = (struct item_results){ 0 };
	return 0;
}

int texts_read(struct sv text, const struct item_keys *k, struct item_texts *ret, struct err *err)
{
	struct item_texts l CLEANUP(item_texts_release) = { 0 };

	TRY(each(text, k, read_text, &l, err));
	TRY(sort_ids(l.v, l.n, sizeof(*l.v), err));
	*ret = l;
	l = (struct item_texts){ 0 };
	return 0;
}

/* ---- the record ------------------------------------------------------------------------------ */

const struct item_keys item_keys_kept = {
	.id = "id", .correct = "right", .cluster = "cluster", .text = "text", .tokens = "tokens"
};

static void add_line(json_t *o, struct str *to)
{
	AUTO_FREE char *line = json_text(o, false);

	str_addf(to, "%s\n", line);
	json_decref(o);
}

void items_write(const struct item_results *l, struct str *to)
{
	for (size_t i = 0; i < l->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "id", l->v[i].id);
		json_put_bool(o, "right", l->v[i].right);
		json_put_str(o, "cluster", l->v[i].cluster);
		add_line(o, to);
	}
}

void texts_write(const struct item_texts *l, struct str *to)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct item_text *x = &l->v[i];
		json_t *o = json_object(), *a = x->ids ? json_array() : NULL;

		json_put_str(o, "id", x->id);
		json_put_str(o, "text", x->text);
		for (size_t t = 0; x->ids && t < x->n; t++)
			(void)json_array_append_new(a, json_integer(x->token[t]));
		json_put(o, "tokens", a);
		add_line(o, to);
	}
}
