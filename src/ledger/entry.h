/* SPDX-License-Identifier: Apache-2.0 */
/* Entry bytes: made from their parts, taken apart without a tree, their references. */
#pragma once

#include "base/crypto.h"
#include "ledger/ledger.h"

#define ENTRY_REL_MAX 255 /* longer paths of keys are cut; they only serve finding */

struct entry_ref {
	uint8_t digest[SHA256_LEN];
	char *rel;
};

struct entry_blob {
	uint8_t digest[SHA256_LEN];
	uint64_t bytes;
	struct sv media_type; /* points into the entry bytes */
};

/* What an entry's bytes say. The views point into them. */
struct entry {
	struct sv bytes;
	struct sv at, by_id, role, kind, log, prev;
	int64_t at_ms;
	uint64_t seq;
	int64_t v; /* other than 1: a newer writer's; only the chain members were read */
	struct entry_ref *refs; /* sorted by (rel, digest), each once */
	size_t n_refs, room_refs;
	struct entry_blob *blobs;
	size_t n_blobs, room_blobs;
};

/* Refuses bytes that are not canonical or not an entry (-ERR_PARSE, -ERR_RANGE, -ERR_LIMIT). `e` is
 * reused: its arrays are emptied, not freed. */
int entry_scan(struct sv bytes, struct entry *e, struct err *err) MUST_USE;
void entry_release(struct entry *e);

struct entry_place {
	const char *log;
	uint64_t seq;
	const uint8_t *prev; /* leaf of the entry before; zeros at 0 */
};
int entry_make(const struct ledger_new *n, const struct entry_place *at, struct str *ret,
	       struct err *err) MUST_USE;
bool entry_kind_known(struct sv kind);
/* The entry as callers see it. */
int entry_full(struct sv bytes, const uint8_t leaf[SHA256_LEN], struct ledger_entry *ret,
	       struct err *err) MUST_USE;
