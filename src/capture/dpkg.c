/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/dpkg.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "capture/source.h"

#define STATUS_PATH  "/var/lib/dpkg/status"
#define INFO_DIR     "/var/lib/dpkg/info"
#define STATUS_LIMIT (64 * MIB)
#define LIST_LIMIT   (8 * MIB)

static int by_name(const void *a, const void *b)
{
	const struct package *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->arch, y->arch);
}

static bool field(struct sv line, const char *key, struct sv *at)
{
	size_t n = strlen(key);

	if (line.n <= n || memcmp(line.p, key, n) != 0 || line.p[n] != ':')
		return false;
	*at = sv_trim((struct sv){ line.p + n + 1, line.n - n - 1 });
	return true;
}

static void stanza_end(struct dpkg *d, struct sv name, struct sv arch, struct sv version,
		       struct sv status)
{
	struct package *p;

	if (!name.n || !version.n || !sv_ends(status, " installed"))
		return;
	p = VEC_ADD(d);
	p->name = sv_dup(name);
	p->arch = sv_dup(arch);
	p->version = sv_dup(version);
}

void dpkg_parse(struct dpkg *d, struct sv text)
{
	struct sv none = { "", 0 }, name = none, arch = none, version = none, status = none, line;

	while (sv_line(&text, &line)) {
		if (line.n == 0) {
			stanza_end(d, name, arch, version, status);
			name = arch = version = status = none;
		} else if (line.p[0] == 'P' || line.p[0] == 'S' || line.p[0] == 'A' ||
			   line.p[0] == 'V') {
			if (!field(line, "Package", &name) && !field(line, "Status", &status) &&
			    !field(line, "Architecture", &arch))
				(void)field(line, "Version", &version);
		}
	}
	stanza_end(d, name, arch, version, status);
	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_name);
}

static void clear(struct dpkg *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].name);
		free(d->v[i].arch);
		free(d->v[i].version);
	}
	d->n = 0;
}

void dpkg_free(struct dpkg *d)
{
	if (!d)
		return;
	clear(d);
	for (size_t i = 0; i < d->at_n; i++)
		free(d->at[i].package);
	free(d->at);
	free(d->v);
	free(d->why);
	free(d->lists);
	free(d);
}

/* The few words of it that are used, on one line: "NAME\tARCH\tVERSION\t" of each. */
static char *dpkg_line(const struct dpkg *d)
{
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < d->n; i++)
		str_addf(&s, "%s\t%s\t%s\t", d->v[i].name, d->v[i].arch, d->v[i].version);
	return str_steal(&s);
}

static bool dpkg_from_line(struct dpkg *d, const char *line)
{
	struct sv rest = sv_of(line), name, arch, version;

	while (rest.n) {
		if (!sv_split(&rest, '\t', &name) || !sv_split(&rest, '\t', &arch) ||
		    !sv_split(&rest, '\t', &version))
			return false;
		*VEC_ADD(d) = (struct package){ sv_dup(name), sv_dup(arch), sv_dup(version) };
	}
	return d->n > 0;
}

static bool status_id(const struct source *s, struct cache_id *ret)
{
	struct stat st;

	if (source_recorded(s) || s->save || stat(STATUS_PATH, &st) < 0)
		return false;
	*ret = cache_id_of(&st);
	return true;
}

struct dpkg *dpkg_of(struct source *s)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *line = NULL;
	struct cache_id id, after;
	bool here = status_id(s, &id);
	const char *known;

	if (s->dpkg)
		return s->dpkg;
	s->dpkg = xcalloc(1, sizeof(*s->dpkg));
	known = here && s->conf->quick ? cache_get(&s->cache, 'd', STATUS_PATH, &id) : NULL;
	if (known && dpkg_from_line(s->dpkg, known)) {
		s->dpkg->there = true;
		return s->dpkg;
	}
	clear(s->dpkg);
	text = src_text(s, STATUS_PATH, STATUS_LIMIT);
	s->dpkg->there = text != NULL;
	if (text)
		dpkg_parse(s->dpkg, sv_of(text));
	else
		s->dpkg->why = xstrdup(s->why);
	if (here && s->dpkg->n && status_id(s, &after) && memcmp(&id, &after, sizeof(id)) == 0) {
		line = dpkg_line(s->dpkg);
		cache_put(&s->cache, 'd', STATUS_PATH, &id, line, s->now_ns);
	}
	return s->dpkg;
}

const char *dpkg_version(const struct dpkg *d, const char *name)
{
	const char *colon = strchr(name, ':');
	struct sv bare = { name, colon ? (size_t)(colon - name) : strlen(name) };

	/* Sorted, but a few hundred look-ups among a few thousand names don't need more. */
	for (size_t i = 0; i < d->n; i++)
		if (sv_is(bare, d->v[i].name) && (!colon || streq(colon + 1, d->v[i].arch)))
			return d->v[i].version;
	return NULL;
}

/* ---- owner of a file ------------------------------------------------------------------------- */

static void read_lists(struct dpkg *d)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct str all CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (dir_list(INFO_DIR, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *text = NULL;
		size_t n;

		if (!str_ends(names.v[i], ".list"))
			continue;
		path = path_join(INFO_DIR, names.v[i]);
		if (file_read(path, LIST_LIMIT, &text, &n, &err) < 0)
			continue;
		d->at = vec_grow(d->at, d->at_n, &d->at_room, sizeof(*d->at));
		d->at[d->at_n++] = (struct list_at){
			.at = all.n,
			.package = xstrndup(names.v[i], strlen(names.v[i]) - 5),
		};
		str_addc(&all, '\n');
		str_addn(&all, text, n);
	}
	d->lists_n = all.n;
	d->lists = str_steal(&all);
}

static const char *owner_of(const struct dpkg *d, const char *path)
{
	AUTO_FREE char *line = xasprintf("\n%s\n", path);
	const char *hit = memmem(d->lists, d->lists_n, line, strlen(line));
	const char *package = NULL;

	for (size_t i = 0; hit && i < d->at_n && d->at[i].at <= (size_t)(hit - d->lists); i++)
		package = d->at[i].package;
	return package;
}

char *dpkg_owner(struct source *s, const char *path)
{
	struct dpkg *d = dpkg_of(s);
	const char *package;

	if (!d->there)
		return NULL;
	if (!d->lists)
		read_lists(d);
	if (!d->lists)
		return NULL;
	package = owner_of(d, path);
	/* With merged /usr a package may list /lib/x for what is really /usr/lib/x. */
	if (!package && str_starts(path, "/usr/"))
		package = owner_of(d, path + 4);
	return xstrdup(package);
}

char *version_upstream(const char *version)
{
	static const char *const marks[] = { "+ds", "+dfsg", "~ds", "~dfsg", ".dfsg" };
	const char *colon = strchr(version, ':');
	struct sv v = sv_of(colon ? colon + 1 : version);

	for (size_t i = v.n; i-- > 0;) {
		if (v.p[i] == '-') {
			v.n = i;
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		ptrdiff_t at = sv_find(v, sv_of(marks[i]));

		if (at > 0)
			v.n = (size_t)at;
	}
	return sv_dup(v);
}

char *dpkg_pruned(const struct dpkg *d)
{
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < d->n; i++)
		str_addf(&s,
			 "Package: %s\nStatus: install ok installed\nArchitecture: %s\n"
			 "Version: %s\n\n",
			 d->v[i].name, d->v[i].arch, d->v[i].version);
	return str_steal(&s);
}
