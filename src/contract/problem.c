/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes: collected with their places, each one line. */
#include "base/err.h"
#include "base/vec.h"
#include "contract/internal.h"

enum { SHOWN = 60 };

void problems_release(struct problems *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
	*l = (struct problems){ 0 };
}

char *problem_line(const char *file, const struct problem *p)
{
	return xasprintf("%s:%u:%u: %s", file, p->line, p->col, p->text);
}

void complain(struct reading *r, unsigned line, unsigned col, const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct problem *p;
	va_list ap;

	if (is_full(r))
		return;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	p = VEC_ADD(r->bad);
	*p = (struct problem){ .line = line, .col = col, .text = text_clean(sv_str(&s)) };
}

char *yaml_got(const struct yaml *y)
{
	AUTO_FREE char *shown = NULL;

	if (yaml_is_null(y))
		return xstrdup("nothing");
	if (y->kind != YAML_SCALAR)
		return xstrdup(yaml_kind_name(y->kind));
	shown = text_clean((struct sv){ y->text, MIN(strlen(y->text), (size_t)SHOWN) });
	return xasprintf("'%s'", shown);
}

char *nearest_text(const char *got, const char *const *names)
{
	const char *near = nearest_name(got, names);

	return near ? xasprintf(" (nearest: '%s')", near) : xstrdup("");
}

char *names_text(const char *const *names, const char *last)
{
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; names[i]; i++) {
		if (i)
			str_addf(&s, names[i + 1] ? ", " : " %s ", last);
		str_add(&s, names[i]);
	}
	return str_steal(&s);
}
