/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/tally.h"

#include "base/vec.h"

void tally_release(struct tally *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].text);
	free(t->v);
	*t = (struct tally){ 0 };
}

static int by_text(const void *a, const void *b)
{
	const struct tally_one *x = a, *y = b;

	return strcmp(x->text, y->text);
}

void tally_add(struct tally *t, const char *text)
{
	struct tally_one *one;

	text = text ? text : "unknown";
	for (size_t i = 0; i < t->n; i++) {
		if (streq(t->v[i].text, text)) {
			t->v[i].n++;
			return;
		}
	}
	one = VEC_ADD(t);
	one->text = xstrdup(text);
	one->n = 1;
	qsort(t->v, t->n, sizeof(*t->v), by_text);
}

char *tally_text(const struct tally *t)
{
	return t->n == 1 ? xstrdup(t->v[0].text) : tally_counted(t);
}

char *tally_counted(const struct tally *t)
{
	struct str s CLEANUP(str_release) = { 0 };

	if (!t->n)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		str_addf(&s, "%s%zu x %s", i ? " + " : "", t->v[i].n, t->v[i].text);
	return str_steal(&s);
}

char *bracketed(const char *line)
{
	const char *from = strchr(line, '['), *to = from ? strchr(from, ']') : NULL;

	return to ? xstrndup(from + 1, (size_t)(to - from) - 1) : xstrdup(line);
}

bool line_of(struct sv text, const char *key, char sep, struct sv *ret)
{
	struct sv line;

	while (sv_line(&text, &line)) {
		const char *at = memchr(line.p, sep, line.n);
		struct sv name;

		if (!at)
			continue;
		name = sv_trim((struct sv){ line.p, (size_t)(at - line.p) });
		if (!sv_is(name, key))
			continue;
		*ret = sv_trim((struct sv){ at + 1, line.n - (size_t)(at - line.p) - 1 });
		return true;
	}
	return false;
}
