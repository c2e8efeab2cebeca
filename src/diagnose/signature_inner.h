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
	NAME_BUCKETS = 1024,
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
/* A name that a signature has among its `words`. */
struct index_name {
	const char *text; /* lower case, without the star; borrowed from `texts` */
	uint32_t n, sig;
	bool open; /* more letters may follow */
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
	struct words *words; /* of failure; for signatures that want them */
	struct {
		struct index_name *v;
		size_t n, room;
	} names;                                /* `words` of all signatures, by bucket */
	uint32_t names_first[NAME_BUCKETS + 1]; /* names of bucket b: names_first[b] .. [b + 1] */
};

/* Bytes of the word at p: letters, digits, '_'. */
size_t word_length(const char *p, size_t n);
/* By its first three letters in either case. */
unsigned name_bucket(const char *p);

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

/* Fixed texts of which one is in most lines that speak of a failure: where names are looked for. */
extern const char *const words_anchors[];

/* Does a line speak of a failure? Words of failure in it, no level below an error's, and not just
 * "0 errors". Compiled once for a catalogue, read by any number of scans. */
struct words *words_new(void) MUST_USE;
void words_free(struct words **w);
bool words_fail(const struct words *w, struct sv line);

struct signature_index *signature_index_new(const struct signatures *l) MUST_USE;
void signature_index_free(struct signature_index **x);

/* The text of data/signatures.yaml, made into C by tools/embed. */
extern const char signatures_text[];
extern const size_t signatures_text_n;
