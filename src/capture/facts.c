/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/facts.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "capture/dpkg.h"
#include "capture/source.h"
#include "readers/readers.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 32
#define MAX_FILES 200000

void facts_free(struct facts *f)
{
	if (!f)
		return;
	free(f->path);
	free(f->real);
	free(f->soname);
	free(f->build_id);
	free(f->package);
	strs_release(&f->needed);
	free(f);
}

void facts_list_release(struct facts_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		facts_free(l->v[i]);
	free(l->v);
	*l = (struct facts_list){ 0 };
}

static bool fd_at(void *arg, uint64_t offset, void *buf, size_t n)
{
	char *p = buf;

	while (n) {
		ssize_t k = pread(*(const int *)arg, p, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
		offset += (uint64_t)k;
	}
	return true;
}

static void read_elf(int fd, uint64_t size, struct facts *f)
{
	struct elf e CLEANUP(elf_release) = { 0 };
	const struct elf_bytes from = { fd_at, &fd, size };
	struct err err = ERR_INIT;

	if (elf_read(&from, &e, &err) < 0)
		return;
	f->elf = true;
	f->soname = STEAL(e.soname);
	f->build_id = STEAL(e.build_id);
	f->needed = e.needed;
	e.needed = (struct strs){ 0 };
}

/* ---- a folder -------------------------------------------------------------------------------- */

struct walk {
	struct source *s; /* NULL: no cache, no cancel */
	struct strs lines;
	uint64_t bytes;
	char why[300];
};

static int walk_file(struct walk *w, const char *path, char ret[65], uint64_t *ret_bytes)
{
	struct err err = ERR_INIT;
	uint8_t d[SHA256_LEN];

	if (w->s) {
		struct facts *f = facts_read(w->s, path);

		if (!f) {
			snprintf(w->why, sizeof(w->why), "%s", w->s->why);
			return -1;
		}
		memcpy(ret, f->digest, 65);
		*ret_bytes = f->bytes;
		facts_free(f);
		return 0;
	}
	if (sha256_file(path, d, ret_bytes, &err) < 0) {
		snprintf(w->why, sizeof(w->why), "%.250s", err.msg);
		return -1;
	}
	hex_of(d, sizeof(d), ret);
	return 0;
}

static int walk_dir(struct walk *w, const char *dir, const char *below, int depth);

/* A line sorts by its path, so the path stands first while it is sorted. */
static int walk_one(struct walk *w, const char *dir, const char *below, const char *name, int depth)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *rel = below[0] ? xasprintf("%s/%s", below, name) : xstrdup(name);
	struct stat st;
	char hex[65];
	uint64_t n;

	if (w->lines.n >= MAX_FILES) {
		snprintf(w->why, sizeof(w->why), "more than %d files", MAX_FILES);
		return -1;
	}
	if (lstat(path, &st) < 0) {
		snprintf(w->why, sizeof(w->why), "cannot look at '%.200s': %s", path,
			 strerror(errno));
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return walk_dir(w, path, rel, depth + 1);
	if (S_ISLNK(st.st_mode)) {
		char to[PATH_MAX] = "";

		if (readlink(path, to, sizeof(to) - 1) < 0)
			to[0] = '\0';
		strs_addf(&w->lines, "%s\nlink %s", rel, to);
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		strs_addf(&w->lines, "%s\nspecial", rel);
		return 0;
	}
	if (walk_file(w, path, hex, &n) < 0)
		return -1;
	w->bytes += n;
	strs_addf(&w->lines, "%s\n%s", rel, hex);
	return 0;
}

static int walk_dir(struct walk *w, const char *dir, const char *below, int depth)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	if (depth > MAX_DEPTH) {
		snprintf(w->why, sizeof(w->why), "folders deeper than %d", MAX_DEPTH);
		return -1;
	}
	if (dir_list(dir, &names, &err) < 0) {
		snprintf(w->why, sizeof(w->why), "%.250s", err.msg);
		return -1;
	}
	for (size_t i = 0; i < names.n; i++) {
		if (w->s && src_cancelled(w->s)) {
			snprintf(w->why, sizeof(w->why), "interrupted");
			return -1;
		}
		if (walk_one(w, dir, below, names.v[i], depth) < 0)
			return -1;
	}
	return 0;
}

static int digest_folder(struct walk *w, const char *dir, char ret[65])
{
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t d[SHA256_LEN];

	if (walk_dir(w, dir, "", 0) < 0)
		return -1;
	strs_sort(&w->lines);
	sha256_init(&h);
	for (size_t i = 0; i < w->lines.n; i++) {
		const char *line = w->lines.v[i];
		const char *cut = strchr(line, '\n');

		sha256_add(&h, cut + 1, strlen(cut + 1));
		sha256_add(&h, "  ", 2);
		sha256_add(&h, line, (size_t)(cut - line));
		sha256_add(&h, "\n", 1);
	}
	sha256_end(&h, d);
	hex_of(d, sizeof(d), ret);
	return 0;
}

int capture_digest(const char *path, char ret[65], uint64_t *ret_bytes, struct err *err)
{
	struct walk w = { 0 };
	uint64_t bytes = 0;
	uint8_t d[SHA256_LEN];
	int rc;

	if (!dir_exists(path)) {
		TRY(sha256_file(path, d, &bytes, err));
		hex_of(d, sizeof(d), ret);
	} else {
		rc = digest_folder(&w, path, ret);
		bytes = w.bytes;
		strs_release(&w.lines);
		if (rc < 0)
			return bail(err, ERR_IO, "cannot digest '%s': %s", path, w.why);
	}
	if (ret_bytes)
		*ret_bytes = bytes;
	return 0;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static const char *dash(const char *s)
{
	return s && s[0] ? s : "-";
}

char *facts_line(const struct facts *f)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s, "%s\t%d\t%s\t%s\t", f->digest, f->elf, dash(f->build_id), dash(f->soname));
	for (size_t i = 0; i < f->needed.n; i++)
		str_addf(&s, "%s%s", i ? "," : "", f->needed.v[i]);
	str_addf(&s, "%s\t%s", f->needed.n ? "" : "-", dash(f->package));
	return str_steal(&s);
}

static char *undash(struct sv v)
{
	return sv_is(v, "-") ? NULL : sv_dup(v);
}

bool facts_from_line(const char *line, struct facts *f)
{
	struct sv rest = sv_of(line), digest, elf, build, soname, needed, package, one;

	if (!sv_split(&rest, '\t', &digest) || !hex_is_sha256(digest) ||
	    !sv_split(&rest, '\t', &elf) || !sv_split(&rest, '\t', &build) ||
	    !sv_split(&rest, '\t', &soname) || !sv_split(&rest, '\t', &needed) ||
	    !sv_split(&rest, '\t', &package) || rest.n)
		return false;
	memcpy(f->digest, digest.p, 64);
	f->digest[64] = '\0';
	f->elf = sv_is(elf, "1");
	f->build_id = undash(build);
	f->soname = undash(soname);
	f->package = undash(package);
	if (!sv_is(needed, "-"))
		while (sv_split(&needed, ',', &one))
			strs_take(&f->needed, sv_dup(one));
	return true;
}

static bool read_file(struct source *s, int fd, struct facts *f)
{
	struct err err = ERR_INIT;
	uint8_t d[SHA256_LEN];
	struct stat before, after;
	struct cache_id id, id_after;
	const char *known;

	if (fstat(fd, &before) < 0 || !S_ISREG(before.st_mode)) {
		src_why(s, "'%s' is not a regular file", f->path);
		return false;
	}
	f->bytes = (uint64_t)before.st_size;
	id = cache_id_of(&before);
	known = s->conf->quick ? cache_get(&s->cache, 'f', f->real, &id) : NULL;
	if (known && facts_from_line(known, f))
		return true;
	if (sha256_fd(fd, f->path, d, &f->bytes, &err) < 0) {
		src_why(s, "%s", err.msg);
		return false;
	}
	hex_of(d, sizeof(d), f->digest);
	read_elf(fd, (uint64_t)before.st_size, f);
	f->package = dpkg_owner(s, f->real);
	if (fstat(fd, &after) == 0) {
		AUTO_FREE char *line = facts_line(f);

		id_after = cache_id_of(&after);
		if (memcmp(&id, &id_after, sizeof(id)) == 0)
			cache_put(&s->cache, 'f', f->real, &id, line, s->now_ns);
	}
	return true;
}

static void freefactsp(struct facts **f)
{
	facts_free(*f);
}

struct facts *facts_read(struct source *s, const char *path)
{
	CLEANUP(freefactsp) struct facts *f = xcalloc(1, sizeof(*f));
	CLEANUP(closep) int fd = -1;

	f->path = xstrdup(path);
	f->real = path_real(path);
	if (!f->real) {
		src_why(s, "cannot find '%s': %s", path, strerror(errno));
		return NULL;
	}
	if (dir_exists(f->real)) {
		struct walk w = { .s = s };
		int rc = digest_folder(&w, f->real, f->digest);

		f->folder = true;
		f->bytes = w.bytes;
		strs_release(&w.lines);
		if (rc < 0)
			src_why(s, "%s", w.why);
		return rc < 0 ? NULL : STEAL(f);
	}
	fd = open(f->real, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		src_why(s, "cannot open '%s': %s", path, strerror(errno));
		return NULL;
	}
	return read_file(s, fd, f) ? STEAL(f) : NULL;
}

/* ---- recorded machines ----------------------------------------------------------------------- */

json_t *facts_to_json(const struct facts *f)
{
	json_t *j = json_object();

	json_put_str(j, "sha256", f->digest);
	json_put_int(j, "bytes", (int64_t)f->bytes);
	if (!streq(f->real, f->path))
		json_put_str(j, "real", f->real);
	if (f->folder)
		json_put_bool(j, "folder", true);
	if (f->elf)
		json_put_bool(j, "elf", true);
	json_put_str(j, "soname", f->soname);
	json_put_str(j, "build_id", f->build_id);
	json_put_str(j, "package", f->package);
	if (f->needed.n) {
		json_t *a = json_array();

		for (size_t i = 0; i < f->needed.n; i++)
			json_array_append_new(a, json_string(f->needed.v[i]));
		json_put(j, "needed", a);
	}
	return j;
}

struct facts *facts_from_json(const char *path, const json_t *j)
{
	const char *digest = json_str_or(j, "sha256", "");
	const json_t *needed = json_object_get(j, "needed"), *one;
	struct facts *f;
	size_t i;

	if (!hex_is_sha256(sv_of(digest)))
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	f->real = xstrdup(json_str_or(j, "real", path));
	memcpy(f->digest, digest, 65);
	f->bytes = (uint64_t)MAX(json_int_or(j, "bytes", 0), INT64_C(0));
	f->folder = json_bool_or(j, "folder", false);
	f->elf = json_bool_or(j, "elf", false);
	f->soname = xstrdup(json_str_or(j, "soname", NULL));
	f->build_id = xstrdup(json_str_or(j, "build_id", NULL));
	f->package = xstrdup(json_str_or(j, "package", NULL));
	json_array_foreach(needed, i, one) if (json_is_string(one))
		strs_add(&f->needed, json_string_value(one));
	return f;
}
