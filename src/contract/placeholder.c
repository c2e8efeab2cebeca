/* SPDX-License-Identifier: Apache-2.0 */
/* {name} in words of commands and environments: checked while reading, filled in before a start. */
#include "base/err.h"
#include "contract/internal.h"

const char *const placeholder_names[] = { "dir",  "model", "port",    "python",
					  "seed", "work",  "version", NULL };

static bool name_char(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (!first && ((c >= '0' && c <= '9') || c == '_'));
}

/* Length of "{name}" at p, 0 when it is none. */
static size_t braced(const char *p)
{
	size_t n = 1;

	if (*p != '{' || !name_char(p[1], true))
		return 0;
	while (name_char(p[n], n == 1))
		n++;
	return p[n] == '}' ? n + 1 : 0;
}

/*
 * Moves over text and placeholders alike: the plain part goes to `plain` (when not NULL), the next
 * placeholder's name to ret. False at the end. "{{x}}" is the plain text "{x}".
 */
static bool next_name(const char **at, struct str *plain, struct sv *ret)
{
	for (const char *p = *at; *p;) {
		size_t n = braced(p);

		if (n) {
			*ret = (struct sv){ p + 1, n - 2 };
			*at = p + n;
			return true;
		}
		n = *p == '{' ? braced(p + 1) : 0;
		if (n && p[1 + n] == '}') {
			if (plain)
				str_addn(plain, p + 1, n);
			p += n + 2;
			continue;
		}
		if (plain)
			str_addc(plain, *p);
		p++;
	}
	return false;
}

static void check_one(struct reading *r, const char *key, const struct yaml *y, const char *name)
{
	const char *names[64] = { NULL };
	AUTO_FREE char *near = NULL;
	size_t n = 0;

	if (streq(name, "version")) {
		if (!str_starts(str_text(&r->path), "stack.switch"))
			complain(r, y->line, y->col,
				 "'%s': {version} has a value only in 'stack.switch'", key);
		return;
	}
	if (streq(name, "model") && !r->model) {
		complain(r, y->line, y->col,
			 "'%s': {model} needs a file 'model' in 'stack.files' or a pin 'model'",
			 key);
		return;
	}
	for (; placeholder_names[n]; n++)
		names[n] = placeholder_names[n];
	for (size_t i = 0; r->files && i < r->files->n && n + 1 < ARRAY_SIZE(names); i++)
		names[n++] = r->files->v[i].key;
	for (size_t i = 0; i < n; i++)
		if (streq(names[i], name))
			return;
	if (r->files && yaml_get(r->files, name))
		return; /* beyond those that are compared for likeness */
	near = nearest_text(name, names);
	complain(r, y->line, y->col, "'%s': unknown placeholder '{%s}'%s", key, name, near);
}

void placeholders_check(struct reading *r, const char *key, const struct yaml *y, const char *text)
{
	struct sv name;

	while (!is_full(r) && next_name(&text, NULL, &name)) {
		AUTO_FREE char *copy = sv_dup(name);

		check_one(r, key, y, copy);
	}
}

/* As one word of a shell line: plain when harmless, else in single quotes. */
static void add_quoted(struct str *s, const char *value)
{
	if (*value && !value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					   "0123456789_@%+=:,./-")]) {
		str_add(s, value);
		return;
	}
	str_addc(s, '\'');
	for (; *value; value++) {
		if (*value == '\'')
			str_add(s, "'\\''");
		else
			str_addc(s, *value);
	}
	str_addc(s, '\'');
}

static int expand(const char *text, const struct pairs *values, bool shell, char **ret,
		  struct err *err)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct sv name;

	while (next_name(&text, &s, &name)) {
		AUTO_FREE char *copy = sv_dup(name);
		const char *value = pairs_get(values, copy);

		if (!value)
			return bail(err, ERR_NOT_FOUND, "placeholder '{%s}' has no value here",
				    copy);
		if (shell)
			add_quoted(&s, value);
		else
			str_add(&s, value);
	}
	*ret = str_steal(&s);
	return 0;
}

int contract_expand(const char *text, const struct pairs *values, char **ret, struct err *err)
{
	return expand(text, values, /* shell= */ false, ret, err);
}

int contract_expand_argv(const struct argv *a, const struct pairs *values, struct strs *ret,
			 struct err *err)
{
	struct strs words CLEANUP(strs_release) = { 0 };

	for (size_t i = 0; i < a->words.n; i++) {
		char *word = NULL;

		TRY(expand(a->words.v[i], values, a->shell && i == 2, &word, err));
		strs_take(&words, word);
	}
	for (size_t i = 0; i < words.n; i++)
		strs_add(ret, words.v[i]);
	return 0;
}

int contract_expand_env(const struct pairs *env, const struct pairs *values, struct strs *ret,
			struct err *err)
{
	struct strs lines CLEANUP(strs_release) = { 0 };

	for (size_t i = 0; i < env->n; i++) {
		AUTO_FREE char *value = NULL;

		TRY(expand(env->v[i].value, values, /* shell= */ false, &value, err));
		strs_addf(&lines, "%s=%s", env->v[i].name, value);
	}
	for (size_t i = 0; i < lines.n; i++)
		strs_add(ret, lines.v[i]);
	return 0;
}

int contract_values(const struct contract *c, const char *dir, struct pairs *ret, struct err *err)
{
	struct pairs l CLEANUP(pairs_release) = { 0 };
	const char *pin = pairs_get(&c->stack.pins, "model");
	bool model = false;

	pairs_add(&l, "dir", dir);
	pairs_add(&l, "python", c->stack.python);
	for (size_t i = 0; i < c->stack.files.n; i++) {
		const struct stack_file *f = &c->stack.files.v[i];
		AUTO_FREE char *path = NULL;

		TRY(contract_expand(f->path, &l, &path, err));
		if (*path != '/') {
			AUTO_FREE char *whole = xasprintf("%s/%s", dir, path);

			pairs_add(&l, f->name, whole);
		} else {
			pairs_add(&l, f->name, path);
		}
		model = model || streq(f->name, "model");
	}
	if (pin && !model) {
		AUTO_FREE char *id = xstrndup(pin, strcspn(pin, "@"));

		pairs_add(&l, "model", id);
	}
	for (size_t i = 0; i < l.n; i++)
		pairs_add(ret, l.v[i].name, l.v[i].value);
	return 0;
}
