/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries: `ld.so --list` says which it would load, /proc/PID/maps which are there. */
#include "readers/readers.h"

#include "base/vec.h"

#define MAX_LOADED 4096

static void add(struct loaded_list *l, struct sv name, struct sv path)
{
	struct loaded *one;

	/* No path has a NUL in it. */
	if (!name.n || l->n >= MAX_LOADED || memchr(name.p, '\0', name.n) ||
	    (path.n && memchr(path.p, '\0', path.n)))
		return;
	one = VEC_ADD(l);
	one->name = sv_dup(name);
	one->path = path.n ? sv_dup(path) : NULL;
}

void loaded_list_release(struct loaded_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].path);
	}
	free(l->v);
	*l = (struct loaded_list){ 0 };
}

/* "<name> (0x00007f...)" without the address; false when there is none. */
static bool without_address(struct sv *v)
{
	for (size_t i = v->n; i-- > 0;) {
		if (v->p[i] != '(')
			continue;
		if (i + 2 >= v->n || v->p[i + 1] != '0' || v->p[i + 2] != 'x')
			return false;
		v->n = i;
		*v = sv_trim(*v);
		return v->n > 0;
	}
	return false;
}

void ld_list_read(struct sv text, struct loaded_list *ret)
{
	struct sv line;

	while (sv_line(&text, &line)) {
		ptrdiff_t arrow = sv_find(line, SV(" => "));
		struct sv name, path = { NULL, 0 };

		if (arrow >= 0) {
			name = sv_trim((struct sv){ line.p, (size_t)arrow });
			path = sv_trim(
				(struct sv){ line.p + arrow + 4, line.n - (size_t)arrow - 4 });
			if (sv_starts(path, "not found"))
				path.n = 0;
			else if (!without_address(&path))
				continue;
			add(ret, name, path);
		} else {
			name = sv_trim(line);
			if (without_address(&name) && name.p[0] == '/')
				add(ret, name, name);
		}
	}
}

static bool has(const struct loaded_list *l, struct sv path)
{
	for (size_t i = l->n; i-- > 0;)
		if (sv_is(path, l->v[i].path))
			return true;
	return false;
}

/* address perms offset device inode <blanks> path; a path may have blanks of its own. */
void maps_read(struct sv text, struct loaded_list *ret)
{
	struct sv line, word;

	while (sv_line(&text, &line)) {
		struct sv rest = line;
		int i = 0;

		while (i < 5 && sv_word(&rest, &word))
			i++;
		rest = sv_trim(rest);
		if (i == 5 && rest.n && rest.p[0] == '/' && !has(ret, rest))
			add(ret, rest, rest);
	}
}
