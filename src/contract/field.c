/* SPDX-License-Identifier: Apache-2.0 */
/* Maps against their tables: known keys, needed ones, those that exclude each other, nested
 * structs. */
#include "base/err.h"
#include "base/vec.h"
#include "contract/internal.h"

enum { KNOWN_SHOWN = 14 };

static void *at(const struct field *f, const void *conf)
{
	return (char *)conf + f->at;
}

static bool is_structs(const struct field *f)
{
	return f->type == FIELD_LIST || f->type == FIELD_NAMED;
}

void fields_default(const struct field *fields, void *conf)
{
	for (const struct field *f = fields; f->name; f++) {
		if (f->type == FIELD_SUB)
			fields_default(f->sub, at(f, conf));
		else if (!is_structs(f) && f->type != FIELD_SKIP && f->type != FIELD_ARGV)
			value_default(f, at(f, conf));
	}
}

static void release_structs(const struct field *f, struct items *l)
{
	for (size_t i = 0; i < l->n; i++) {
		char *e = l->v + i * f->size;

		fields_release(f->sub, e);
		if (f->type == FIELD_NAMED)
			freep(e); /* its name */
	}
	free(l->v);
	*l = (struct items){ 0 };
}

void fields_release(const struct field *fields, void *conf)
{
	for (const struct field *f = fields; f->name; f++) {
		if (f->type == FIELD_SUB)
			fields_release(f->sub, at(f, conf));
		else if (is_structs(f))
			release_structs(f, at(f, conf));
		else if (f->type != FIELD_SKIP)
			value_release(f, at(f, conf));
	}
}

static const struct field *find(const struct field *fields, const char *name)
{
	for (const struct field *f = fields; f->name; f++)
		if (streq(f->name, name))
			return f;
	return NULL;
}

/* ---- unknown keys ---------------------------------------------------------------------------- */

/* Path of the first table that knows the key, breadth before depth. False: none does. */
static bool find_home(const struct field *fields, const char *key, const char *path, int depth,
		      struct str *ret)
{
	for (const struct field *f = fields; f->name; f++) {
		if (f->type == FIELD_SUB && find(f->sub, key)) {
			str_addf(ret, "%s%s%s", path, *path ? "." : "", f->name);
			return true;
		}
	}
	for (const struct field *f = fields; depth > 0 && f->name; f++) {
		AUTO_FREE char *deeper = NULL;

		if (f->type != FIELD_SUB)
			continue;
		deeper = xasprintf("%s%s%s", path, *path ? "." : "", f->name);
		if (find_home(f->sub, key, deeper, depth - 1, ret))
			return true;
	}
	return false;
}

static void unknown_key(struct reading *r, const struct field *fields, const struct yaml *v)
{
	AUTO_FREE char *near = NULL, *where = NULL;
	struct str hint CLEANUP(str_release) = { 0 };
	const char *names[80] = { NULL };
	size_t n = 0;

	if (is_full(r))
		return;
	for (const struct field *f = fields; f->name && n + 1 < ARRAY_SIZE(names); f++)
		names[n++] = f->name;
	near = nearest_text(v->key, names);
	str_add(&hint, near);
	if (!hint.n && r->tables) {
		struct str home CLEANUP(str_release) = { 0 };

		if (find_home(r->tables, v->key, "", 2, &home))
			str_addf(&hint, " (it belongs in '%s')", str_text(&home));
	}
	if (!hint.n && n <= KNOWN_SHOWN) {
		AUTO_FREE char *all = names_text(names, "and");

		str_addf(&hint, " (known: %s)", all);
	}
	where = r->path.n ? xasprintf("in '%s'", str_text(&r->path)) : xstrdup("at the top");
	complain(r, v->key_line, v->key_col, "unknown key '%.60s' %s%s", v->key, where,
		 str_text(&hint));
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool wants_shell(const struct yaml *map)
{
	const struct yaml *s = map ? yaml_get(map, "shell") : NULL;

	return s && streq(s->text, "true");
}

static void read_shell_line(struct reading *r, const struct field *f, const struct yaml *y,
			    struct argv *ret)
{
	if (y->kind != YAML_SCALAR || yaml_is_null(y) || !*y->text) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col,
			 "'%s': with 'shell: true' expected one line of text, got %s", f->name,
			 got);
		return;
	}
	placeholders_check(r, f->name, y, y->text);
	ret->shell = true;
	strs_add(&ret->words, "/bin/sh");
	strs_add(&ret->words, "-c");
	strs_add(&ret->words, y->text);
}

/* `map` holds the key and perhaps `shell: true`; NULL: no such map. */
static void read_argv(struct reading *r, const struct field *f, const struct yaml *y,
		      const struct yaml *map, struct argv *ret)
{
	strs_release(&ret->words);
	if (wants_shell(map)) {
		read_shell_line(r, f, y, ret);
		return;
	}
	if (y->kind != YAML_LIST) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col,
			 "'%s': expected a list of words such as [\"./run\", \"--fast\"], got %s%s",
			 f->name, got,
			 map && y->kind == YAML_SCALAR && !yaml_is_null(y)
				 ? " (a line for the shell needs 'shell: true')"
				 : "");
		return;
	}
	for (size_t i = 0; i < y->n; i++) {
		const struct yaml *w = &y->v[i];

		if (w->kind != YAML_SCALAR || (!i && !*w->text)) {
			AUTO_FREE char *got = yaml_got(w);

			complain(r, w->line, w->col, "'%s': expected a word, got %s", f->name, got);
			continue;
		}
		placeholders_check(r, f->name, w, w->text);
		strs_add(&ret->words, w->text);
	}
	if (!y->n)
		complain(r, y->line, y->col, "'%s': expected a program, got an empty list",
			 f->name);
}

/* ---- structs --------------------------------------------------------------------------------- */

static void call_valid(struct reading *r, const struct field *f, const struct yaml *y, void *conf,
		       size_t problems_before)
{
	struct err err = ERR_INIT;

	if (f->valid && r->bad->n == problems_before && f->valid(conf, &err) < 0)
		complain(r, y->line, y->col, "'%s': %s", y->key ? y->key : f->name, err.msg);
}

/* One struct: a map by its table, or another value for the field that `brief` names. */
static void read_struct(struct reading *r, const struct field *f, const struct yaml *y, void *conf)
{
	const struct field *brief = f->brief ? find(f->sub, f->brief) : NULL;
	struct field named = { 0 };
	size_t before = r->bad->n;

	assert(!f->brief || brief);
	if (brief) { /* who left its name out is told about what stands there */
		named = *brief;
		named.name = y->key ? y->key : f->name;
	}
	if (y->kind == YAML_MAP) {
		fields_read(r, f->sub, y, conf);
	} else if (brief && brief->type == FIELD_ARGV) {
		read_argv(r, &named, y, NULL, at(brief, conf));
	} else if (brief) {
		value_read(r, &named, y, at(brief, conf));
	} else {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col, "'%s': expected a map of settings, got %s", f->name,
			 got);
	}
	call_valid(r, f, y, conf, before);
}

static void enter(struct reading *r, const char *name, size_t *back)
{
	*back = r->path.n;
	str_addf(&r->path, "%s%s", r->path.n ? "." : "", name);
}

static void leave(struct reading *r, size_t back)
{
	r->path.n = back;
	r->path.p[back] = '\0';
}

static void *add_struct(const struct field *f, struct items *l)
{
	char *e;

	l->v = vec_grow(l->v, l->n, &l->room, f->size);
	e = l->v + l->n++ * f->size;
	memset(e, 0, f->size);
	fields_default(f->sub, e);
	return e;
}

static void read_list(struct reading *r, const struct field *f, const struct yaml *y,
		      struct items *l)
{
	if (y->kind != YAML_LIST) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col, "'%s': expected a list, got %s", f->name, got);
		return;
	}
	for (size_t i = 0; i < y->n; i++)
		read_struct(r, f, &y->v[i], add_struct(f, l));
}

static void read_named(struct reading *r, const struct field *f, const struct yaml *y,
		       struct items *l)
{
	if (y->kind != YAML_MAP) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col, "'%s': expected a map of names, got %s", f->name, got);
		return;
	}
	for (size_t i = 0; i < y->n; i++) {
		size_t back;
		char **e;

		if (!key_ok(r, f, &y->v[i]))
			continue;
		e = add_struct(f, l);
		*e = xstrdup(y->v[i].key);
		enter(r, y->v[i].key, &back);
		read_struct(r, f, &y->v[i], e);
		leave(r, back);
	}
}

static void read_field(struct reading *r, const struct field *f, const struct yaml *y,
		       const struct yaml *map, void *conf)
{
	size_t back;

	if (f->type == FIELD_SKIP)
		return;
	if (f->has)
		*((bool *)conf + f->has - 1) = true;
	enter(r, f->name, &back);
	if (f->type == FIELD_SUB)
		read_struct(r, f, y, at(f, conf));
	else if (f->type == FIELD_LIST)
		read_list(r, f, y, at(f, conf));
	else if (f->type == FIELD_NAMED)
		read_named(r, f, y, at(f, conf));
	else if (f->type == FIELD_ARGV)
		read_argv(r, f, y, map, at(f, conf));
	else
		value_read(r, f, y, at(f, conf));
	leave(r, back);
}

static char *place_text(const struct reading *r)
{
	return r->path.n ? xasprintf("'%s'", str_text(&r->path)) : xstrdup("the contract");
}

/* Of fields with the same one_of word: at most one, and if one is needed, one. Called for the first
 * of each group. */
static void check_group(struct reading *r, const struct field *fields, const struct field *first,
			const struct yaml *y)
{
	const struct yaml *given = NULL;
	const char *names[16] = { NULL };
	bool need = false;
	size_t n = 0;

	for (const struct field *f = first; f->name; f++) {
		const struct yaml *v = yaml_get(y, f->name);

		if (!streq(f->one_of, first->one_of))
			continue;
		need = need || f->need;
		if (n + 1 < ARRAY_SIZE(names))
			names[n++] = f->name;
		if (v && given)
			complain(r, v->key_line, v->key_col,
				 "'%s' and '%s' exclude each other: give one of them", v->key,
				 given->key);
		given = v && !given ? v : given;
	}
	for (const struct field *f = fields; f != first; f++)
		assert(!streq(f->one_of, first->one_of));
	if (need && !given) {
		AUTO_FREE char *all = names_text(names, "or"), *who = place_text(r);

		complain(r, y->line, y->col, "%s needs one of %s", who, all);
	}
}

static bool first_of_group(const struct field *fields, const struct field *f)
{
	for (const struct field *g = fields; g != f; g++)
		if (streq(g->one_of, f->one_of))
			return false;
	return true;
}

void fields_read(struct reading *r, const struct field *fields, const struct yaml *y, void *conf)
{
	for (size_t i = 0; i < y->n; i++) {
		const struct field *f = find(fields, y->v[i].key);

		if (f)
			read_field(r, f, &y->v[i], y, conf);
		else
			unknown_key(r, fields, &y->v[i]);
	}
	for (const struct field *f = fields; f->name; f++) {
		if (f->one_of) {
			if (first_of_group(fields, f))
				check_group(r, fields, f, y);
		} else if (f->need && !yaml_get(y, f->name)) {
			AUTO_FREE char *who = place_text(r);

			complain(r, y->line, y->col, "%s needs '%s': %s", who, f->name, f->help);
		}
	}
}

int fields_parse(const struct field *fields, const struct yaml *y, const char *what, void *conf,
		 struct problems *bad)
{
	struct reading r = { .bad = bad };
	size_t before = bad->n;

	str_add(&r.path, what);
	fields_default(fields, conf);
	if (y->kind == YAML_MAP)
		fields_read(&r, fields, y, conf);
	else
		complain(&r, y->line, y->col, "'%s': expected a map of settings", what);
	str_release(&r.path);
	return bad->n == before ? 0 : -ERR_PARSE;
}
