/* SPDX-License-Identifier: Apache-2.0 */
/* Between the catalogue, its index and the scanner. The room's own business. */
#pragma once

#include "diagnose/signature.h"

/*
 * Finds parts in bytes. Every part gets a window of INDEX_WINDOW bytes, where its rarest letters
 * are; the INDEX_GRAM-byte groups at the window's first INDEX_STEP offsets go into a table. A text
 * is then looked at only at every INDEX_STEP-th byte: wherever a part stands, one of its groups
 * meets such a place (sampled q-grams; Wu and Manber 1994 skip by the same thought).
 */
enum {
	INDEX_GRAM = 4,
	INDEX_STEP = 4,
	INDEX_WINDOW = INDEX_GRAM + INDEX_STEP - 1,
	INDEX_BITS = 13,  /* of the hash that lists the groups */
	FILTER_BITS = 18, /* of the hash that says whether there is one at all: 32 KiB */
};
_Static_assert((int)INDEX_WINDOW == (int)SIGNATURE_MIN_PART, "the shortest part is one window");

/* One group of one part, in a list by hash. */
struct index_entry {
	uint32_t gram;       /* folded, as it lies in memory */
	uint32_t next, mask; /* up to four bytes behind it, folded, under a mask */
	uint32_t part;
	uint32_t at; /* its offset in the part */
};
struct index_part {
	const char *text; /* lower case; borrowed from `texts` */
	size_t n;
	struct {
		uint32_t *v; /* signatures that have this part */
		size_t n, room;
	} users;
};
struct signature_index {
	struct {
		struct index_part *v;
		size_t n, room;
	} parts;
	struct strs texts;
	struct {
		struct index_entry *v;
		size_t n, room;
	} entries;                              /* by hash */
	uint32_t first[(1u << INDEX_BITS) + 1]; /* entries of hash h: first[h] .. first[h + 1] */
	uint64_t filter[(1u << FILTER_BITS) / 64];
};

/* ASCII letters to lower case, and a few other bytes to wrong ones: parts are compared after. */
static inline uint32_t index_fold(uint32_t gram)
{
	return gram | 0x20202020u;
}
/* Of FILTER_BITS; the list is found by its upper INDEX_BITS. */
static inline uint32_t index_hash(uint32_t folded)
{
	return (folded * 0x9e3779b1u) >> (32 - FILTER_BITS);
}
static inline uint32_t index_list(uint32_t hash)
{
	return hash >> (FILTER_BITS - INDEX_BITS);
}

struct signature_index *signature_index_new(const struct signatures *l) MUST_USE;
void signature_index_free(struct signature_index **x);

/* The text of data/signatures.yaml, made into C by tools/embed. */
extern const char signatures_text[];
extern const size_t signatures_text_n;
