/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/cache.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"

#define CACHE_HEAD  "twice digest cache 1\n"
#define CACHE_LIMIT (8 * MIB)
#define YOUNG_NS    (2 * NS_PER_S)

static void fact_release(struct cache_fact *f)
{
	free(f->key);
	free(f->value);
	*f = (struct cache_fact){ 0 };
}

void cache_release(struct cache *c)
{
	for (size_t i = 0; i < c->n; i++)
		fact_release(&c->v[i]);
	free(c->v);
	*c = (struct cache){ 0 };
}

static bool number(struct sv *rest, int64_t *ret)
{
	struct sv part;

	return sv_split(rest, '\t', &part) && sv_to_i64(part, INT64_MIN, INT64_MAX, ret);
}

static bool parse_line(struct cache *c, struct sv line)
{
	struct sv kind, key;
	struct cache_fact *f;
	int64_t dev, ino, size;
	struct cache_id id;

	if (!sv_split(&line, '\t', &kind) || kind.n != 1 || !sv_split(&line, '\t', &key))
		return false;
	if (!number(&line, &dev) || !number(&line, &ino) || !number(&line, &size) ||
	    !number(&line, &id.mtime_ns) || !number(&line, &id.ctime_ns))
		return false;
	if (c->n >= CACHE_MAX)
		return false;
	id.dev = (uint64_t)dev;
	id.ino = (uint64_t)ino;
	id.size = (uint64_t)size;
	f = VEC_ADD(c);
	f->kind = kind.p[0];
	f->key = sv_dup(key);
	f->id = id;
	f->value = sv_dup(line);
	return true;
}

bool cache_parse(struct cache *c, struct sv text)
{
	struct sv rest, line;
	char sum[SHA256_HEX];
	size_t body;

	cache_release(c);
	/* The last line: "sum " 64 hex newline. */
	if (text.n < strlen(CACHE_HEAD) + 69 || !sv_starts(text, CACHE_HEAD))
		return false;
	body = text.n - 69;
	sha256_hex(text.p, body, sum);
	if (memcmp(text.p + body, "sum ", 4) != 0 || memcmp(text.p + body + 4, sum, 64) != 0 ||
	    text.p[text.n - 1] != '\n')
		return false;
	rest = (struct sv){ text.p + strlen(CACHE_HEAD), body - strlen(CACHE_HEAD) };
	while (sv_line(&rest, &line)) {
		if (!parse_line(c, line)) {
			cache_release(c);
			return false;
		}
	}
	return true;
}

void cache_load(struct cache *c, const char *path)
{
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	size_t n;

	if (path && file_read(path, CACHE_LIMIT, &text, &n, &err) == 0)
		(void)cache_parse(c, (struct sv){ text, n });
}

static void add_lines(const struct cache *c, bool used, size_t *left, struct str *s)
{
	for (size_t i = 0; i < c->n && *left; i++) {
		const struct cache_fact *f = &c->v[i];

		if (f->used != used)
			continue;
		/* What nobody asked for must not make the file too long for the rest. */
		if (!used && s->n + strlen(f->value) > CACHE_LIMIT / 2)
			break;
		str_addf(s, "%c\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%s\n", f->kind, f->key,
			 (long long)f->id.dev, (long long)f->id.ino, (long long)f->id.size,
			 (long long)f->id.mtime_ns, (long long)f->id.ctime_ns, f->value);
		--*left;
	}
}

void cache_text(const struct cache *c, struct str *ret)
{
	size_t left = CACHE_MAX;
	char sum[SHA256_HEX];

	str_add(ret, CACHE_HEAD);
	/* What this capture used goes first, so that the limit drops the oldest rest. */
	add_lines(c, /* used= */ true, &left, ret);
	add_lines(c, /* used= */ false, &left, ret);
	sha256_hex(str_text(ret), ret->n, sum);
	str_addf(ret, "sum %s\n", sum);
}

void cache_save(struct cache *c, const char *path)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (!path || !c->changed)
		return;
	cache_text(c, &s);
	if (s.n <= CACHE_LIMIT)
		(void)!file_write(path, str_text(&s), s.n, 0600, &err);
	c->changed = false;
}

struct cache_id cache_id_of(const struct stat *st)
{
	return (struct cache_id){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec,
	};
}

static struct cache_fact *find(struct cache *c, char kind, const char *key)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].kind == kind && streq(c->v[i].key, key))
			return &c->v[i];
	return NULL;
}

const char *cache_get(struct cache *c, char kind, const char *key, const struct cache_id *id)
{
	struct cache_fact *f = find(c, kind, key);

	if (!f || f->id.dev != id->dev || f->id.ino != id->ino || f->id.size != id->size ||
	    f->id.mtime_ns != id->mtime_ns || f->id.ctime_ns != id->ctime_ns)
		return NULL;
	f->used = true;
	return f->value;
}

static bool plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\t')
			return false;
	return true;
}

void cache_put(struct cache *c, char kind, const char *key, const struct cache_id *id,
	       const char *value, int64_t now_ns)
{
	struct cache_fact *f = find(c, kind, key);

	if (!plain(key) || strchr(key, '\t') || !plain(value) || now_ns - id->ctime_ns < YOUNG_NS)
		return;
	if (!f && c->n >= CACHE_MAX)
		return;
	if (!f) {
		f = VEC_ADD(c);
		f->kind = kind;
		f->key = xstrdup(key);
	}
	if (f->value && streq(f->value, value) && memcmp(&f->id, id, sizeof(*id)) == 0) {
		f->used = true;
		return;
	}
	free(f->value);
	f->value = xstrdup(value);
	f->id = *id;
	f->used = true;
	c->changed = true;
}
