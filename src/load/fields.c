/* SPDX-License-Identifier: Apache-2.0 */
#include "load/fields.h"

#include "base/err.h"
#include "load/load.h"

#include <math.h>

static json_t *unsigned_of(const struct field *f, const char *p)
{
	uint64_t v = 0;

	memcpy(&v, p, f->size); /* little-endian, like all machines this runs on */
	return v ? json_integer((json_int_t)v) : NULL;
}

static json_t *value_of(const struct field *f, const char *p)
{
	int64_t i;
	int32_t i32;
	double d;

	switch (f->type) {
	case F_I64:
		memcpy(&i, p, sizeof(i));
		return i == LOAD_NONE ? NULL : json_integer(i);
	case F_I32:
		memcpy(&i32, p, sizeof(i32));
		return json_integer(i32);
	case F_BOOL:
		return *p ? json_true() : NULL;
	case F_F64:
		memcpy(&d, p, sizeof(d));
		return isfinite(d) ? json_real(d) : NULL;
	case F_STR: {
		const char *s = *(char *const *)p;

		return s ? json_string(s) : NULL;
	}
	case F_CHARS:
		return *p ? json_string(p) : NULL;
	default:
		return unsigned_of(f, p);
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are copied as little-endian");

void fields_put(json_t *o, const struct field *list, size_t n, const void *from)
{
	for (size_t i = 0; i < n; i++)
		json_put(o, list[i].name, value_of(&list[i], (const char *)from + list[i].at));
}

static int put_integer(const struct field *f, json_int_t v, char *to, struct err *err)
{
	uint64_t max = f->size == 8 ? INT64_MAX : (UINT64_C(1) << 8 * f->size) - 1, u = (uint64_t)v;
	int32_t i32 = (int32_t)v;

	if (f->type == F_I64) {
		memcpy(to, &v, sizeof(int64_t));
		return 0;
	}
	if (f->type == F_I32) {
		if (v < INT32_MIN || v > INT32_MAX)
			return bail(err, ERR_PARSE, "'%s' is out of range", f->name);
		memcpy(to, &i32, sizeof(i32));
		return 0;
	}
	if (f->max)
		max = f->max;
	if (v < 0 || u > max)
		return bail(err, ERR_PARSE, "'%s' is out of range", f->name);
	memcpy(to, &u, f->size);
	return 0;
}

static int get_one(const struct field *f, const json_t *v, char *to, struct err *err)
{
	double d = json_number_value(v);
	bool b = json_is_true(v);
	const char *s = json_string_value(v);
	char *copy;

	switch (f->type) {
	case F_BOOL:
		if (!json_is_boolean(v))
			return bail(err, ERR_PARSE, "'%s' is not true or false", f->name);
		memcpy(to, &b, sizeof(b));
		return 0;
	case F_F64:
		if (!json_is_number(v))
			return bail(err, ERR_PARSE, "'%s' is not a number", f->name);
		memcpy(to, &d, sizeof(d));
		return 0;
	case F_STR:
	case F_CHARS:
		if (!s || (f->type == F_CHARS && strlen(s) >= f->size))
			return bail(err, ERR_PARSE, "'%s' is not a text that fits", f->name);
		if (f->type == F_CHARS) {
			memcpy(to, s, strlen(s) + 1);
			return 0;
		}
		copy = xstrdup(s);
		memcpy(to, &copy, sizeof(copy));
		return 0;
	default:
		if (!json_is_integer(v))
			return bail(err, ERR_PARSE, "'%s' is not an integer", f->name);
		return put_integer(f, json_integer_value(v), to, err);
	}
}

int fields_get(const json_t *o, const struct field *list, size_t n, bool none, void *to,
	       struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_object_get(o, list[i].name);
		char *at = (char *)to + list[i].at;
		int64_t absent = LOAD_NONE;
		double nan = NAN;

		if (v)
			TRY(get_one(&list[i], v, at, err));
		else if (list[i].type == F_I64 && none)
			memcpy(at, &absent, sizeof(absent));
		else if (list[i].type == F_F64)
			memcpy(at, &nan, sizeof(nan));
	}
	return 0;
}
