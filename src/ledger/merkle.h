/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree over the log: RFC 6962 §2.1 with SHA-256. Leaf SHA-256(0x00 || bytes), node
 * SHA-256(0x01 || left || right), empty tree SHA-256("").
 *
 * The frontier is what an append needs: the roots of the full subtrees from left to right, one for
 * each bit of the size, largest first.
 */
#pragma once

#include "base/crypto.h"

struct err;
struct ledger_proof;

struct frontier {
	uint64_t size;
	uint8_t hash[64][SHA256_LEN];
};

/*
 * Nodes of these levels (8, 16, ...) are kept, so that no proof or root reads more than 255 hashes
 * of a level: one row for 256 entries.
 */
#define MERKLE_KEPT 8

void merkle_leaf(struct sha256 *h, struct sv bytes, uint8_t ret[SHA256_LEN]);
void merkle_node(struct sha256 *h, const uint8_t left[SHA256_LEN], const uint8_t right[SHA256_LEN],
		 uint8_t ret[SHA256_LEN]);
size_t frontier_count(const struct frontier *f);
void frontier_add(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN]);
/* The same, and the full subtrees that the leaf completed: hash[k] is that of level k + 1. */
struct merkle_grown {
	unsigned n;
	uint8_t hash[64][SHA256_LEN];
};
void frontier_grow(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN],
		   struct merkle_grown *ret);
void frontier_root(const struct frontier *f, struct sha256 *h, uint8_t ret[SHA256_LEN]);

/* Where nodes come from: the root of the full subtree of 2^level leaves that begins at
 * index * 2^level. */
struct merkle_source {
	int (*node)(void *arg, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN],
		    struct err *err);
	void *arg;
	struct sha256 *h;
};
int merkle_root(const struct merkle_source *s, uint64_t size, uint8_t ret[SHA256_LEN],
		struct err *err) MUST_USE;
int merkle_inclusion(const struct merkle_source *s, uint64_t index, uint64_t size,
		     struct ledger_proof *ret, struct err *err) MUST_USE;
int merkle_consistency(const struct merkle_source *s, uint64_t old, uint64_t size,
		       struct ledger_proof *ret, struct err *err) MUST_USE;

/* The checks of RFC 9162 §2.1.3.2 and §2.1.4.2. */
bool merkle_inclusion_holds(struct sha256 *h, uint64_t index, uint64_t size,
			    const uint8_t leaf[SHA256_LEN], const uint8_t (*proof)[SHA256_LEN],
			    size_t n, const uint8_t root[SHA256_LEN]);
bool merkle_consistency_holds(struct sha256 *h, uint64_t old, uint64_t size,
			      const uint8_t old_root[SHA256_LEN], const uint8_t root[SHA256_LEN],
			      const uint8_t (*proof)[SHA256_LEN], size_t n);

/* Path of a tile in C2SP tlog-tiles: "tile/0/x001/067.p/13" (width 256: without ".p/"). */
char *tile_path(unsigned level, uint64_t index, unsigned width) MUST_USE;
