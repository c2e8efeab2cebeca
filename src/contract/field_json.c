/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as canonical JSON: only what differs from the defaults, integers in base units. */
#include "contract/internal.h"
#include <math.h>

static const void *at(const struct field *f, const void *conf)
{
	return (const char *)conf + f->at;
}

static json_t *quantity(double v, enum unit u)
{
	json_t *o;
	int64_t i;

	if (isnan(v) || !quantity_to_int(v, u, &i))
		return NULL;
	o = json_object();
	json_put_str(o, "unit", unit_name(u));
	json_put_int(o, "value", i);
	return o;
}

static json_t *strs(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

static json_t *ints(const struct ints *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_integer(l->v[i]));
	return a;
}

static json_t *enums(const struct field *f, unsigned bits)
{
	json_t *a = json_array();

	for (unsigned i = 0; f->names[i]; i++)
		if (bits & 1u << i)
			(void)json_array_append_new(a, json_string(f->names[i]));
	return a;
}

static json_t *argv(const struct argv *a)
{
	json_t *o;

	if (!a->words.n)
		return NULL;
	if (!a->shell)
		return strs(&a->words);
	o = json_object();
	json_put_str(o, "shell", a->words.v[2]);
	return o;
}

/* Names that people chose are values, not keys, and their order means nothing. */
static int by_name(const void *a, const void *b)
{
	const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;

	return strcmp(json_str_or(x, "name", ""), json_str_or(y, "name", ""));
}

static json_t *sorted(json_t *a)
{
	size_t n = json_array_size(a);
	AUTO_FREE json_t **l = xcalloc(n + 1, sizeof(json_t *));
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++)
		l[i] = json_array_get(a, i);
	qsort(l, n, sizeof(json_t *), by_name);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(out, l[i]);
	json_decref(a);
	return out;
}

static json_t *pairs(const struct pairs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "name", l->v[i].name);
		json_put_str(o, "value", l->v[i].value);
		(void)json_array_append_new(a, o);
	}
	return sorted(a);
}

static json_t *limits(const struct limits *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *o = limit_to_json(&l->v[i].limit);

		json_put_str(o, "name", l->v[i].name);
		(void)json_array_append_new(a, o);
	}
	return sorted(a);
}

static json_t *structs(const struct field *f, const struct items *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const char *e = l->v + i * f->size;
		json_t *o = fields_to_json(f->sub, e);

		if (f->type == FIELD_NAMED)
			json_put_str(o, "name", *(const char *const *)(const void *)e);
		(void)json_array_append_new(a, o);
	}
	return f->type == FIELD_NAMED ? sorted(a) : a;
}

/* NULL: nothing to say. */
static json_t *value(const struct field *f, const void *p)
{
	const struct limit *limit = p;
	const double *d = p;

	switch (f->type) {
	case FIELD_STR:
		return *(char *const *)p ? json_string(*(char *const *)p) : NULL;
	case FIELD_ENUM:
		return json_string(f->names[*(const int *)p]);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)p);
	case FIELD_INT:
	case FIELD_DURATION:
	case FIELD_BYTES:
		return json_integer(*(const int64_t *)p);
	case FIELD_NUM:
		return isnan(*d) ? NULL : json_integer(llround(*d * 1e9));
	case FIELD_QUANTITY:
		return quantity(*d, f->unit);
	case FIELD_LIMIT:
		return limit->op == LIMIT_NONE ? NULL : limit_to_json(limit);
	case FIELD_LIMITS:
		return limits(p);
	case FIELD_STRS:
		return strs(p);
	case FIELD_INTS:
		return ints(p);
	case FIELD_ENUMS:
		return enums(f, *(const unsigned *)p);
	case FIELD_ARGV:
		return argv(p);
	case FIELD_MAP:
		return pairs(p);
	case FIELD_LIST:
	case FIELD_NAMED:
		return structs(f, p);
	default:
		return NULL;
	}
}

static json_t *default_value(const struct field *f)
{
	union {
		char *s;
		int64_t i;
		double d;
		struct limits l;
		struct limit limit;
		struct argv a;
	} tmp = { 0 };
	json_t *j;

	if (f->type == FIELD_LIST || f->type == FIELD_NAMED || f->type == FIELD_ARGV)
		return value(f, &tmp);
	value_default(f, &tmp);
	j = value(f, &tmp);
	value_release(f, &tmp);
	return j;
}

static void put(json_t *o, const struct field *f, json_t *v)
{
	const char *unit = f->type == FIELD_DURATION ? "_ns"
			   : f->type == FIELD_BYTES  ? "_bytes"
			   : f->type == FIELD_NUM    ? "_e9"
						     : "";
	AUTO_FREE char *key = xasprintf("%s%s", f->name, unit);

	json_put(o, key, v);
}

static void put_sub(json_t *o, const struct field *f, const void *conf)
{
	bool given = !f->has || *((const bool *)conf + f->has - 1);
	json_t *v = given ? fields_to_json(f->sub, at(f, conf)) : NULL;

	if (v && (f->has || json_object_size(v)))
		put(o, f, v);
	else
		json_decref(v);
}

json_t *fields_to_json(const struct field *fields, const void *conf)
{
	json_t *o = json_object();

	for (const struct field *f = fields; f->name; f++) {
		json_t *v, *def;

		if (f->type == FIELD_SKIP || f->prose)
			continue;
		/* Of a command the words say whether there is a shell. */
		if (f->type == FIELD_BOOL && streq(f->name, "shell"))
			continue;
		if (f->type == FIELD_SUB) {
			put_sub(o, f, conf);
			continue;
		}
		v = value(f, at(f, conf));
		def = default_value(f);
		if (v && (!def || !json_equal(v, def)))
			put(o, f, json_incref(v));
		json_decref(v);
		json_decref(def);
	}
	return o;
}
