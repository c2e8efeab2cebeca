/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: reading one with its place, its default, its release. */
#include "base/err.h"
#include "base/redact.h"
#include "base/vec.h"
#include "contract/internal.h"
#include <math.h>

enum { NAME_MAX_CHARS = 128 };

static void expected(struct reading *r, const char *key, const struct yaml *y, const char *what)
{
	AUTO_FREE char *got = yaml_got(y);

	complain(r, y->line, y->col, "'%s': expected %s, got %s", key, what, got);
}

static bool is_scalar(struct reading *r, const char *key, const struct yaml *y, const char *what)
{
	if (y->kind == YAML_SCALAR && !yaml_is_null(y))
		return true;
	expected(r, key, y, what);
	return false;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool quantity_read(struct reading *r, const char *key, const struct yaml *y, struct sv text,
		   enum unit unit, double *ret)
{
	const char *phrase = unit_phrase(unit);
	enum unit got;
	int64_t whole;
	double v;

	if (!quantity_parse(text, &v, &got)) {
		if (text.n)
			complain(r, y->line, y->col, "'%s': expected %s, got '" SV_FMT "'", key,
				 phrase, SV_ARG(text));
		else
			complain(r, y->line, y->col, "'%s': expected %s, got nothing", key, phrase);
		return false;
	}
	if (got == UNIT_NONE && v != 0 && (unit == UNIT_NS || unit >= UNIT_BYTES) &&
	    unit < UNIT_N) {
		complain(r, y->line, y->col, "'%s': '" SV_FMT "' needs a unit: %s", key,
			 SV_ARG(text), phrase);
		return false;
	}
	if (got != UNIT_NONE && !unit_same_kind(got, unit)) {
		complain(r, y->line, y->col, "'%s': expected %s, got %s ('" SV_FMT "')", key,
			 phrase, unit_subject(got), SV_ARG(text));
		return false;
	}
	if (!quantity_to_int(v, unit, &whole)) {
		complain(r, y->line, y->col, "'%s': '" SV_FMT "' is too large", key, SV_ARG(text));
		return false;
	}
	*ret = v;
	return true;
}

/* min and max of the table, written as in the file. */
static double bound(const char *text)
{
	enum unit u;
	double v = 0;
	bool ok = quantity_parse(sv_of(text), &v, &u);

	assert(ok);
	return v;
}

static bool in_bounds(struct reading *r, const struct field *f, const struct yaml *y, double v)
{
	if (f->min && v < bound(f->min))
		complain(r, y->line, y->col, "'%s': at least %s, got '%s'", f->name, f->min,
			 y->text);
	else if (f->max && v > bound(f->max))
		complain(r, y->line, y->col, "'%s': at most %s, got '%s'", f->name, f->max,
			 y->text);
	else
		return true;
	return false;
}

static bool read_quantity(struct reading *r, const struct field *f, const struct yaml *y,
			  enum unit unit, double *ret)
{
	double v;

	if (!is_scalar(r, f->name, y, unit_phrase(unit)) ||
	    !quantity_read(r, f->name, y, sv_trim(sv_of(y->text)), unit, &v))
		return false;
	if (!unit_in_range(unit, v)) {
		complain(r, y->line, y->col, "'%s': %s is never %s, got '%s'", f->name,
			 unit_subject(unit), v > 0 ? "above 100 %" : "below zero", y->text);
		return false;
	}
	if (!in_bounds(r, f, y, v))
		return false;
	*ret = v;
	return true;
}

static void read_whole(struct reading *r, const struct field *f, const struct yaml *y, int64_t *ret)
{
	enum unit unit = f->type == FIELD_DURATION ? UNIT_NS : UNIT_BYTES;
	double v;

	if (read_quantity(r, f, y, unit, &v))
		*ret = llround(v);
}

static bool read_int(struct reading *r, const struct field *f, const struct yaml *y, int64_t *ret)
{
	const int64_t most = INT64_C(9007199254740991); /* what the canonical form can hold */
	int64_t v;

	if (!is_scalar(r, f->name, y, "a whole number"))
		return false;
	if (!sv_to_i64(sv_trim(sv_of(y->text)), -most, most, &v)) {
		expected(r, f->name, y, "a whole number");
		return false;
	}
	if (!in_bounds(r, f, y, (double)v))
		return false;
	*ret = v;
	return true;
}

static void read_num(struct reading *r, const struct field *f, const struct yaml *y, double *ret)
{
	double v;

	if (!is_scalar(r, f->name, y, "a number"))
		return;
	if (!sv_to_f64(sv_trim(sv_of(y->text)), &v)) {
		expected(r, f->name, y, "a number");
		return;
	}
	if (fabs(v) > 9e6 || fabs(round(v * 1e9) - v * 1e9) > 1e-3) {
		complain(r, y->line, y->col,
			 "'%s': '%s' has more than 9 decimals or is over 9000000", f->name,
			 y->text);
		return;
	}
	if (in_bounds(r, f, y, v))
		*ret = v;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool text_ok(struct reading *r, const struct field *f, const struct yaml *y)
{
	for (const char *p = y->text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
			complain(r, y->line, y->col, "'%s': control characters are not allowed",
				 f->name);
			return false;
		}
	}
	return true;
}

static void read_str(struct reading *r, const struct field *f, const struct yaml *y, char **ret)
{
	if (!is_scalar(r, f->name, y, "text") || !text_ok(r, f, y))
		return;
	if (!*y->text) {
		complain(r, y->line, y->col, "'%s': expected text, got an empty one", f->name);
		return;
	}
	if (f->expand)
		placeholders_check(r, f->name, y, y->text);
	free(*ret);
	*ret = xstrdup(y->text);
}

static void read_bool(struct reading *r, const struct field *f, const struct yaml *y, bool *ret)
{
	if (y->kind == YAML_SCALAR && streq(y->text, "true"))
		*ret = true;
	else if (y->kind == YAML_SCALAR && streq(y->text, "false"))
		*ret = false;
	else
		expected(r, f->name, y, "true or false");
}

static bool find_name(struct reading *r, const struct field *f, const struct yaml *y, int *ret)
{
	AUTO_FREE char *all = names_text(f->names, "or"), *near = NULL, *got = NULL;

	for (int i = 0; y->kind == YAML_SCALAR && f->names[i]; i++) {
		if (streq(f->names[i], y->text)) {
			*ret = i;
			return true;
		}
	}
	got = yaml_got(y);
	near = nearest_text(y->text ? y->text : "", f->names);
	complain(r, y->line, y->col, "'%s': expected %s, got %s%s", f->name, all, got, near);
	return false;
}

/* One value stands for a list of one. */
static bool each(struct reading *r, const struct field *f, const struct yaml *y, const char *what,
		 size_t *n)
{
	if (y->kind == YAML_MAP || yaml_is_null(y)) {
		expected(r, f->name, y, what);
		return false;
	}
	*n = y->kind == YAML_LIST ? y->n : 1;
	return true;
}

static const struct yaml *item(const struct yaml *y, size_t i)
{
	return y->kind == YAML_LIST ? &y->v[i] : y;
}

static void read_strs(struct reading *r, const struct field *f, const struct yaml *y,
		      struct strs *ret)
{
	size_t n;

	if (!each(r, f, y, "a list of texts", &n))
		return;
	strs_release(ret);
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *text = NULL;

		read_str(r, f, item(y, i), &text);
		if (text)
			strs_add(ret, text);
	}
}

static void read_ints(struct reading *r, const struct field *f, const struct yaml *y,
		      struct ints *ret)
{
	size_t n;

	if (!each(r, f, y, "a list of whole numbers", &n))
		return;
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t v;

		if (read_int(r, f, item(y, i), &v))
			*VEC_ADD(ret) = v;
	}
}

static void read_enums(struct reading *r, const struct field *f, const struct yaml *y,
		       unsigned *ret)
{
	size_t n;

	if (!each(r, f, y, "a list", &n))
		return;
	*ret = 0;
	for (size_t i = 0; i < n && !is_full(r); i++) {
		int k;

		if (find_name(r, f, item(y, i), &k))
			*ret |= 1u << k;
	}
}

/* ---- maps ------------------------------------------------------------------------------------ */

static bool word_ok(const char *s)
{
	if (*s < 'a' || *s > 'z')
		return false;
	for (; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= '0' && *s <= '9') && *s != '_')
			return false;
	return true;
}

static bool env_ok(const char *s)
{
	if (*s >= '0' && *s <= '9')
		return false;
	for (; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
		    !(*s >= '0' && *s <= '9') && *s != '_')
			return false;
	return true;
}

bool key_ok(struct reading *r, const struct field *f, const struct yaml *y)
{
	const char *what = NULL;
	size_t n = strlen(y->key);

	for (const char *p = y->key; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			what = "printable characters";
	if (n > NAME_MAX_CHARS)
		what = "at most 128 characters";
	else if (f->keys == KEYS_WORD && !word_ok(y->key))
		what = "a name of a-z, 0-9 and _ that begins with a letter";
	else if (f->keys == KEYS_ENV && !env_ok(y->key))
		what = "a variable's name (letters, digits and _)";
	if (!what && f->keys == KEYS_ENV && redact_name(sv_of(y->key))) {
		complain(
			r, y->key_line, y->key_col,
			"'%s': '%s' looks like a secret, and contracts are stored: leave it to the "
			"environment that twice is started in",
			f->name, y->key);
		return false;
	}
	if (!what)
		return true;
	complain(r, y->key_line, y->key_col, "'%s': expected %s, got '%.60s'", f->name, what,
		 y->key);
	return false;
}

static void read_map(struct reading *r, const struct field *f, const struct yaml *y,
		     struct pairs *ret)
{
	if (y->kind != YAML_MAP) {
		expected(r, f->name, y, "a map of names to texts");
		return;
	}
	for (size_t i = 0; i < y->n; i++) {
		const struct yaml *v = &y->v[i];

		if (!key_ok(r, f, v))
			continue;
		if (!is_scalar(r, v->key, v, "text ('' for an empty one)") || !text_ok(r, f, v))
			continue;
		if (f->expand)
			placeholders_check(r, v->key, v, v->text);
		pairs_add(ret, v->key, v->text);
	}
}

static void read_limit(struct reading *r, const struct field *f, const struct yaml *y,
		       const char *key, struct limit *ret)
{
	if (is_scalar(r, key, y, "a limit such as '<= 5' or '>= 100'"))
		(void)limit_read(r, key, y, sv_of(y->text), f->unit, ret);
}

static void read_limits(struct reading *r, const struct field *f, const struct yaml *y,
			struct limits *ret)
{
	if (y->kind != YAML_MAP) {
		expected(r, f->name, y, "a map of names to limits");
		return;
	}
	if (!y->n)
		complain(r, y->line, y->col,
			 "'%s': expected a map of names to limits, got an empty one", f->name);
	for (size_t i = 0; i < y->n; i++) {
		struct limit l = { 0 };

		if (!key_ok(r, f, &y->v[i]))
			continue;
		read_limit(r, f, &y->v[i], y->v[i].key, &l);
		if (l.op != LIMIT_NONE)
			*VEC_ADD(ret) = (struct named_limit){ xstrdup(y->v[i].key), l };
	}
}

/* ---- one for all ----------------------------------------------------------------------------- */

void value_read(struct reading *r, const struct field *f, const struct yaml *y, void *p)
{
	switch (f->type) {
	case FIELD_STR:
		read_str(r, f, y, p);
		break;
	case FIELD_ENUM:
		(void)find_name(r, f, y, p);
		break;
	case FIELD_BOOL:
		read_bool(r, f, y, p);
		break;
	case FIELD_INT:
		(void)read_int(r, f, y, p);
		break;
	case FIELD_NUM:
		read_num(r, f, y, p);
		break;
	case FIELD_DURATION:
	case FIELD_BYTES:
		read_whole(r, f, y, p);
		break;
	case FIELD_QUANTITY:
		(void)read_quantity(r, f, y, f->unit, p);
		break;
	case FIELD_LIMIT:
		read_limit(r, f, y, f->name, p);
		break;
	case FIELD_LIMITS:
		read_limits(r, f, y, p);
		break;
	case FIELD_STRS:
		read_strs(r, f, y, p);
		break;
	case FIELD_INTS:
		read_ints(r, f, y, p);
		break;
	case FIELD_ENUMS:
		read_enums(r, f, y, p);
		break;
	case FIELD_MAP:
		read_map(r, f, y, p);
		break;
	default:
		assert(false); /* lists of structs are no single values: field.c reads them */
	}
}

void value_default(const struct field *f, void *p)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct reading r = { .bad = &bad };
	AUTO_FREE char *text = xstrdup(f->def);
	const struct yaml y = { .kind = YAML_SCALAR, .quoted = true, .text = text };

	if (!f->def && (f->type == FIELD_NUM || f->type == FIELD_QUANTITY))
		*(double *)p = NAN;
	if (f->def)
		value_read(&r, f, &y, p);
	/* A placeholder in a default has no files to be checked against. */
	assert(!bad.n);
}

void value_release(const struct field *f, void *p)
{
	struct limits *l = p;
	struct argv *a = p;
	struct ints *n = p;

	switch (f->type) {
	case FIELD_STR:
		freep(p);
		break;
	case FIELD_STRS:
		strs_release(p);
		break;
	case FIELD_ARGV:
		strs_release(&a->words);
		break;
	case FIELD_MAP:
		pairs_release(p);
		break;
	case FIELD_INTS:
		free(n->v);
		*n = (struct ints){ 0 };
		break;
	case FIELD_LIMITS:
		for (size_t i = 0; i < l->n; i++)
			free(l->v[i].name);
		free(l->v);
		*l = (struct limits){ 0 };
		break;
	default:
		break;
	}
}
