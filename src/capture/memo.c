/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/memo.h"

#include "base/file.h"
#include "base/vec.h"
#include "capture/cache.h"
#include "readers/readers.h"
#include <errno.h>

void memo_release(struct memo *m)
{
	str_release(&m->proof);
	str_release(&m->libs);
	strs_release(&m->seen);
}

static bool plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ')
			return false;
	return true;
}

/* 1: there, 0: certainly not, -1: can't be known. */
static int look(const char *path, struct cache_id *ret)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		*ret = cache_id_of(&st);
		return 1;
	}
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

void memo_saw(struct memo *m, const char *path)
{
	struct cache_id id;
	int there;

	if (strs_has(&m->seen, path))
		return;
	strs_add(&m->seen, path);
	there = look(path, &id);
	if (path[0] != '/' || !plain(path) || there < 0 ||
	    (there && (id.ctime_ns >= m->before_ns || id.mtime_ns >= m->before_ns))) {
		m->unsure = true;
		return;
	}
	if (!there)
		str_addf(&m->proof, "-\t%s\t", path);
	else
		str_addf(&m->proof, "+\t%lld\t%lld\t%lld\t%lld\t%lld\t%s\t", (long long)id.dev,
			 (long long)id.ino, (long long)id.size, (long long)id.mtime_ns,
			 (long long)id.ctime_ns, path);
}

static void saw(struct memo *m, struct sv path)
{
	AUTO_FREE char *text = sv_dup(path);

	memo_saw(m, text);
}

/* "/a:/b\t\t(LD_LIBRARY_PATH)" */
static void search_path(struct memo *m, struct sv rest)
{
	struct sv list, one;

	(void)sv_split(&rest, '\t', &list);
	while (sv_split(&list, ':', &one))
		saw(m, one);
}

/* A name that was looked for in a folder seen already is vouched for by the folder. */
static void tried(struct memo *m, struct sv path)
{
	AUTO_FREE char *text = sv_dup(sv_trim(path));
	AUTO_FREE char *dir = path_dir(text);

	if (!strs_has(&m->seen, dir))
		memo_saw(m, text);
}

void memo_loader(struct memo *m, struct sv debug)
{
	struct sv line;
	bool said = false;

	while (sv_line(&debug, &line)) {
		static const char path[] = "search path=", cache[] = "search cache=",
				  file[] = "trying file=";
		ptrdiff_t at;

		said |= sv_find(line, SV("find library=")) >= 0;
		if ((at = sv_find(line, sv_of(path))) >= 0) {
			at += (ptrdiff_t)strlen(path);
			search_path(m, (struct sv){ line.p + at, line.n - (size_t)at });
		} else if ((at = sv_find(line, sv_of(cache))) >= 0) {
			at += (ptrdiff_t)strlen(cache);
			saw(m, sv_trim((struct sv){ line.p + at, line.n - (size_t)at }));
		} else if ((at = sv_find(line, sv_of(file))) >= 0) {
			at += (ptrdiff_t)strlen(file);
			tried(m, (struct sv){ line.p + at, line.n - (size_t)at });
		}
	}
	/* Another loader, which does not say where it looks. */
	if (!said)
		m->unsure = true;
}

void memo_lib(struct memo *m, const char *name, const char *path)
{
	struct cache_id id;

	memo_saw(m, path);
	if (!plain(name) || look(path, &id) != 1)
		m->unsure = true;
	else
		str_addf(&m->libs, "L\t%s\t%s\t", name, path);
}

char *memo_text(const struct memo *m)
{
	if (m->unsure || !m->proof.n || !m->libs.n)
		return NULL;
	return xasprintf("%s%s", str_text(&m->proof), str_text(&m->libs));
}

static bool number(struct sv *rest, int64_t *ret)
{
	struct sv part;

	return sv_split(rest, '\t', &part) && sv_to_i64(part, INT64_MIN, INT64_MAX, ret);
}

static bool as_it_was(struct sv *rest)
{
	struct cache_id now;
	int64_t was[5];
	struct sv path;

	for (size_t i = 0; i < ARRAY_SIZE(was); i++)
		if (!number(rest, &was[i]))
			return false;
	if (!sv_split(rest, '\t', &path))
		return false;
	AUTO_FREE char *text = sv_dup(path);

	return look(text, &now) == 1 && (int64_t)now.dev == was[0] && (int64_t)now.ino == was[1] &&
	       (int64_t)now.size == was[2] && now.mtime_ns == was[3] && now.ctime_ns == was[4];
}

static bool still_absent(struct sv *rest)
{
	struct cache_id now;
	struct sv path;

	if (!sv_split(rest, '\t', &path))
		return false;
	AUTO_FREE char *text = sv_dup(path);

	return look(text, &now) == 0;
}

static bool lib(struct sv *rest, struct loaded_list *list)
{
	struct sv name, path;
	struct loaded *l;

	if (!sv_split(rest, '\t', &name) || !sv_split(rest, '\t', &path) || !path.n)
		return false;
	l = VEC_ADD(list);
	l->name = sv_dup(name);
	l->path = sv_dup(path);
	return true;
}

bool memo_read(const char *text, struct loaded_list *ret)
{
	struct loaded_list list CLEANUP(loaded_list_release) = { 0 };
	struct sv rest = sv_of(text), kind;
	bool proven = false;

	if (!str_ends(text, "\t"))
		return false;
	while (rest.n) {
		bool fine = sv_split(&rest, '\t', &kind) && kind.n == 1;

		fine = fine && (*kind.p == '+'   ? as_it_was(&rest)
				: *kind.p == '-' ? still_absent(&rest)
						 : *kind.p == 'L' && lib(&rest, &list));
		if (!fine)
			return false;
		proven |= *kind.p == '+';
	}
	if (!proven || !list.n)
		return false;
	*ret = list;
	list = (struct loaded_list){ 0 };
	return true;
}
