/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest cache: what was found out about a file stays true while path, device, inode, size,
 * mtime and
 * ctime are the same. A text file, one fact a line, closed by a line with the SHA-256 of all above;
 * anything odd in it and the whole cache counts as empty. It sits beside the ledger, with the same
 * rights:
 * who can write there could also write a ledger.
 *
 * A file whose ctime is younger than 2 s is not remembered: it could still change within one tick
 * of the
 * file system's clock.
 */
#pragma once

#include "base/str.h"
#include <sys/stat.h>

#define CACHE_MAX 4000 /* facts kept */

struct cache_id {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};
struct cache_fact {
	char kind; /* 'f': file facts, 'p': answer of a program, 'l': of the loader, 'd': dpkg */
	char *key; /* path, or what was asked */
	struct cache_id id;
	char *value; /* no newline */
	bool used;
};
struct cache {
	struct cache_fact *v;
	size_t n, room;
	bool changed;
};
void cache_release(struct cache *c);
/* Nothing there, or broken: stays empty. */
void cache_load(struct cache *c, const char *path);
/* Bytes -> facts; false (and empty) unless every line is right. */
bool cache_parse(struct cache *c, struct sv text);
void cache_text(const struct cache *c, struct str *ret);
/* Writes when something changed; failing to is no error: the cache only saves time. */
void cache_save(struct cache *c, const char *path);
struct cache_id cache_id_of(const struct stat *st);
const char *cache_get(struct cache *c, char kind, const char *key, const struct cache_id *id);
/* now_ns: CLOCK_REALTIME. Texts with control characters are not remembered. */
void cache_put(struct cache *c, char kind, const char *key, const struct cache_id *id,
	       const char *value, int64_t now_ns);
