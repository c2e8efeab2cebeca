/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries that wait beside for a store that can't be reached.
 *
 * spool.jsonl   one a line: {"id":H,"kind":K,"by":B,"role":R,"at_ms":N,"body":{...}} spool.map
 * one a line: the id and, since it has landed, the leaf of its entry
 *
 * An entry's bytes name the one before it, so they are made when it lands. Until then it has an id
 * in place of its leaf; what refers to it by that is put right when it lands itself. All under the
 * folder's lock, so any process may land what another one has left.
 *
 * Nothing is lost: a line is flushed before its append returns. Nothing is doubled: a commit whose
 * answer was lost, or a landing that was killed, is recognised by its kind, time, author and body.
 */
#include "ledger/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SPOOL     "spool.jsonl"
#define MAP       "spool.map"
#define RETRY_NS  (10 * NS_PER_S)
#define SPOOL_MAX ((size_t)256 * MIB)

bool ledger_spooled(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, SPOOL);

	return file_exists(path);
}

static bool is_away(struct ledger *l)
{
	return l->store->ops->away && l->store->ops->away(l->store);
}

/* ---- files ---- */

/* What is there of it, without a last line that was not finished: nobody was told it is done. */
static int read_lines(struct ledger *l, const char *name, char **ret, size_t *ret_n,
		      struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, name);

	*ret = NULL;
	*ret_n = 0;
	if (file_read(path, SPOOL_MAX, ret, ret_n, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	while (*ret_n && (*ret)[*ret_n - 1] != '\n')
		--*ret_n;
	return 0;
}

static int add_lines(struct ledger *l, const char *name, const struct str *lines, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, name), *had = NULL;
	CLEANUP(closep) int fd = -1;
	size_t n, at = 0;

	TRY(read_lines(l, name, &had, &n, err));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)n) < 0 || lseek(fd, (off_t)n, SEEK_SET) < 0)
		return bail_sys(err, "cannot write '%s'", path);
	while (at < lines->n) {
		ssize_t k = write(fd, lines->p + at, lines->n - at);

		if (k < 0)
			return bail_sys(err, "cannot write '%s'", path);
		at += (size_t)k;
	}
	if (fsync(fd) < 0)
		return bail_sys(err, "cannot write '%s'", path);
	return n ? 0 : dir_sync(l->dir, err);
}

static int read_map(struct ledger *l, struct pairs *ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct sv rest, line, id, leaf;
	size_t n;

	TRY(read_lines(l, MAP, &text, &n, err));
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		if (!sv_word(&line, &id) || !sv_word(&line, &leaf) || id.n != 64 || leaf.n != 64)
			continue;
		AUTO_FREE char *a = sv_dup(id);
		AUTO_FREE char *b = sv_dup(leaf);

		pairs_add(ret, a, b);
	}
	return 0;
}

/* ---- ids ---- */

/* The same value with ids of landed entries replaced by their leaves. New reference. */
static json_t *mapped(const json_t *v, const struct pairs *map)
{
	const char *real, *key;
	json_t *to, *x;

	if (json_is_string(v)) {
		real = strlen(json_string_value(v)) == 64 ? pairs_get(map, json_string_value(v))
							  : NULL;
		return real ? json_string(real) : json_deep_copy(v);
	}
	if (json_is_array(v)) {
		to = json_array();
		for (size_t i = 0; i < json_array_size(v); i++)
			(void)json_array_append_new(to, mapped(json_array_get(v, i), map));
		return to;
	}
	if (!json_is_object(v))
		return json_deep_copy(v);
	to = json_object();
	json_object_foreach((json_t *)(uintptr_t)v, key, x)(void)
		json_object_set_new(to, key, mapped(x, map));
	return to;
}

json_t *ledger_landed(struct ledger *l, const json_t *v)
{
	struct pairs map CLEANUP(pairs_release) = { 0 };
	struct err ignored = ERR_INIT;

	if (l->spool && read_map(l, &map, &ignored) < 0)
		pairs_release(&map);
	return mapped(v, &map);
}

void ledger_landed_hex(struct ledger *l, char hex[SHA256_HEX])
{
	AUTO_JSON json_t *v = json_string(hex);
	AUTO_JSON json_t *real = ledger_landed(l, v);

	(void)snprintf(hex, SHA256_HEX, "%s", json_string_value(real));
}

/* ---- landing ---- */

static int land_blob(struct ledger *l, const json_t *v, struct err *err)
{
	const char *hex = json_str_or(v, "digest", "");
	AUTO_FREE char *bytes = NULL;
	uint8_t digest[SHA256_LEN];
	bool there = false;
	size_t n;

	if (!json_str_or(v, "media_type", NULL) || !hex_to(sv_of(hex), digest, SHA256_LEN) ||
	    !blob_file_there(l->dir, hex))
		return 0;
	TRY(l->store->ops->data_there(l->store, digest, &there, err));
	if (there)
		return 0;
	TRY(blob_file_get(l->dir, hex, 0, &bytes, &n, err));
	return l->store->ops->data_put(l->store, digest, (struct sv){ bytes, n }, err);
}

static int land_blobs(struct ledger *l, const json_t *v, struct err *err)
{
	const char *key;
	json_t *x;

	if (json_is_object(v))
		TRY(land_blob(l, v, err));
	json_object_foreach((json_t *)(uintptr_t)v, key, x) TRY(land_blobs(l, x, err));
	for (size_t i = 0; i < json_array_size(v); i++)
		TRY(land_blobs(l, json_array_get(v, i), err));
	return 0;
}

struct same {
	const json_t *body;
	char hex[SHA256_HEX];
};

static int on_same(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct same *s = arg;

	(void)err;
	if (!json_equal(e->body, s->body))
		return 0;
	memcpy(s->hex, e->ref.hex, SHA256_HEX);
	return 1;
}

/* Is it there already? Its leaf, or "". */
static int find_same(struct ledger *l, const struct ledger_new *e, struct same *ret,
		     struct err *err)
{
	const char *const kinds[] = { e->kind, NULL };
	struct ledger_filter f = {
		.kinds = kinds, .since_ms = e->at_ms, .until_ms = e->at_ms + 1, .by = e->by_id
	};

	ret->body = e->body;
	return ledger_each(l, &f, on_same, ret, err);
}

static int land_one(struct ledger *l, const json_t *rec, struct pairs *map, struct err *err)
{
	const char *id = json_str_or(rec, "id", "");
	AUTO_JSON json_t *body = mapped(json_object_get(rec, "body"), map);
	struct ledger_new e = { .kind = json_str_or(rec, "kind", ""),
				.body = body,
				.by_id = json_str_or(rec, "by", ""),
				.role = json_str_or(rec, "role", ""),
				.at_ms = json_int_or(rec, "at_ms", 0) };
	struct str line CLEANUP(str_release) = { 0 };
	struct same same = { 0 };
	struct ledger_ref ref;

	TRY(find_same(l, &e, &same, err));
	if (!same.hex[0]) {
		TRY(land_blobs(l, body, err));
		TRY(append_locked(l, &e, 1, &ref, err));
		memcpy(same.hex, ref.hex, SHA256_HEX);
	}
	str_addf(&line, "%s %s\n", id, same.hex);
	TRY(add_lines(l, MAP, &line, err));
	pairs_add(map, id, same.hex);
	return 0;
}

/* One line after the other. `ret_left`: those that have not landed. */
static int land_lines(struct ledger *l, struct sv text, size_t *ret_left, struct err *err)
{
	struct pairs map CLEANUP(pairs_release) = { 0 };
	struct sv rest = text, line;

	*ret_left = 0;
	while (sv_line(&rest, &line))
		++*ret_left;
	/* Connects anew where that is needed: only a transaction's beginning does. */
	TRY(l->store->ops->begin(l->store, /* write= */ false, err));
	l->store->ops->rollback(l->store);
	TRY(read_map(l, &map, err));
	for (rest = text; sv_line(&rest, &line); --*ret_left) {
		AUTO_JSON json_t *rec = NULL;

		TRY(json_read(line, SPOOL, &rec, err));
		if (!pairs_get(&map, json_str_or(rec, "id", "")))
			TRY(land_one(l, rec, &map, err));
	}
	return 0;
}

static int land(struct ledger *l, bool force, size_t *ret_left, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, SPOOL), *text = NULL;
	struct sv rest, line;
	size_t n;

	*ret_left = 0;
	TRY(read_lines(l, SPOOL, &text, &n, err));
	if (!n)
		return 0;
	if (!force && is_away(l) && clock_ns() - l->tried_ns < RETRY_NS) {
		for (rest = (struct sv){ text, n }; sv_line(&rest, &line);)
			++*ret_left;
		return 0;
	}
	l->tried_ns = clock_ns();
	if (land_lines(l, (struct sv){ text, n }, ret_left, err) < 0) {
		if (!is_away(l))
			return err_wrap(err, "entries that wait in '%s'", path);
		err_clear(err);
		return 0;
	}
	if (unlink(path) < 0)
		return bail_sys(err, "cannot remove '%s'", path);
	return dir_sync(l->dir, err);
}

int ledger_land(struct ledger *l, size_t *ret_left, struct err *err)
{
	CLEANUP(lock_dropp) struct ledger *locked = NULL;

	*ret_left = 0;
	if (!l->spool)
		return 0;
	TRY(lock_take(l, err));
	locked = l;
	return land(l, /* force= */ true, ret_left, err);
}

/* ---- appending ---- */

static int keep(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		struct err *err)
{
	struct str lines CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < n; i++) {
		AUTO_JSON json_t *rec = json_object();
		AUTO_FREE char *text = NULL;

		TRY(random_bytes(ret[i].leaf, SHA256_LEN, err));
		hex_of(ret[i].leaf, SHA256_LEN, ret[i].hex);
		ret[i].seq = UINT64_MAX;
		json_put_str(rec, "id", ret[i].hex);
		json_put_str(rec, "kind", e[i].kind);
		json_put_str(rec, "by", e[i].by_id);
		json_put_str(rec, "role", e[i].role);
		json_put_int(rec, "at_ms", e[i].at_ms);
		json_put(rec, "body", json_deep_copy(e[i].body));
		text = json_text(rec, /* pretty= */ false);
		str_addf(&lines, "%s\n", text);
	}
	return add_lines(l, SPOOL, &lines, err);
}

static int append_mapped(struct ledger *l, const struct ledger_new *e, size_t n,
			 struct ledger_ref *ret, struct err *err)
{
	AUTO_FREE struct ledger_new *own = xcalloc(n + 1, sizeof(*own));
	struct pairs map CLEANUP(pairs_release) = { 0 };
	AUTO_JSON json_t *bodies = json_array();

	TRY(read_map(l, &map, err));
	for (size_t i = 0; i < n; i++) {
		json_t *body = mapped(e[i].body, &map);

		(void)json_array_append_new(bodies, body);
		own[i] = e[i];
		own[i].body = body;
	}
	return append_locked(l, own, n, ret, err);
}

int spool_append(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		 struct err *err)
{
	size_t left;
	int rc;

	TRY(land(l, /* force= */ false, &left, err));
	if (!left) {
		rc = append_mapped(l, e, n, ret, err);
		if (rc == 0 || !is_away(l))
			return rc;
		err_clear(err);
		l->tried_ns = clock_ns();
	}
	return keep(l, e, n, ret, err);
}
