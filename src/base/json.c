/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/err.h"

int json_read(struct sv text, const char *what, json_t **ret, struct err *err)
{
	json_error_t at;
	json_t *j = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES, &at);

	if (!j)
		return bail(err, ERR_PARSE, "%s: line %d column %d: %s", what, at.line, at.column,
			    at.text);
	*ret = j;
	return 0;
}

char *json_text(const json_t *j, bool pretty)
{
	size_t flags = JSON_SORT_KEYS | JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
	char *s = json_dumps(j, flags);

	assert(s);
	return s;
}

static int get(const json_t *o, const char *key, json_type type, const char *name, json_t **ret,
	       struct err *err)
{
	json_t *v = json_object_get(o, key);

	if (!v)
		return bail(err, ERR_PARSE, "member '%s' is missing", key);
	if (json_typeof(v) != type)
		return bail(err, ERR_PARSE, "member '%s' is not %s", key, name);
	*ret = v;
	return 0;
}

int json_get_str(const json_t *o, const char *key, const char **ret, struct err *err)
{
	json_t *v;

	TRY(get(o, key, JSON_STRING, "a string", &v, err));
	*ret = json_string_value(v);
	return 0;
}

int json_get_int(const json_t *o, const char *key, int64_t *ret, struct err *err)
{
	json_t *v;

	TRY(get(o, key, JSON_INTEGER, "an integer", &v, err));
	*ret = json_integer_value(v);
	return 0;
}

int json_get_obj(const json_t *o, const char *key, json_t **ret, struct err *err)
{
	return get(o, key, JSON_OBJECT, "an object", ret, err);
}

int json_get_arr(const json_t *o, const char *key, json_t **ret, struct err *err)
{
	return get(o, key, JSON_ARRAY, "an array", ret, err);
}

const char *json_str_or(const json_t *o, const char *key, const char *def)
{
	const json_t *v = json_object_get(o, key);

	return json_is_string(v) ? json_string_value(v) : def;
}

int64_t json_int_or(const json_t *o, const char *key, int64_t def)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? json_integer_value(v) : def;
}

bool json_bool_or(const json_t *o, const char *key, bool def)
{
	const json_t *v = json_object_get(o, key);

	return json_is_boolean(v) ? json_boolean_value(v) : def;
}

void json_put(json_t *o, const char *key, json_t *v)
{
	if (v)
		(void)json_object_set_new(o, key, v);
}

void json_put_str(json_t *o, const char *key, const char *v)
{
	if (!v)
		return;
	if (utf8_valid(sv_of(v))) {
		json_put(o, key, json_string(v));
	} else {
		AUTO_FREE char *clean = text_clean(sv_of(v));

		json_put(o, key, json_string(clean));
	}
}

void json_put_int(json_t *o, const char *key, int64_t v)
{
	json_put(o, key, json_integer(v));
}

void json_put_bool(json_t *o, const char *key, bool v)
{
	json_put(o, key, json_boolean(v));
}

void json_put_line(json_t *array, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *clean = NULL;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	clean = text_clean(sv_str(&s));
	(void)json_array_append_new(array, json_string(clean));
}
