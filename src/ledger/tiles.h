/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log as C2SP tlog-tiles in a folder: `checkpoint`, `tile/<L>/<N>[.p/<W>]` with 256 hashes of a
 * level each, `tile/entries/<N>[.p/<W>]` with the entries, each behind its length in 16 bits.
 * Nothing read from it is trusted: proofs made of it are checked against signed roots.
 */
#pragma once

#include "ledger/merkle.h"

struct err;

#define TILE_WIDTH  256
#define TILE_LEVELS 8 /* 256^8 entries are more than there can be */

struct tiles {
	const char *dir; /* borrowed */
	uint64_t size;   /* of the tree that is read: its rightmost tiles may be partial */
	struct sha256 h;
	struct tile {
		uint8_t hash[TILE_WIDTH][SHA256_LEN];
		unsigned n; /* 0: nothing is loaded */
		uint64_t index;
	} level[TILE_LEVELS];
};
void tiles_release(struct tiles *t);
/* `t` stays the caller's and has to outlive it. */
struct merkle_source tiles_source(struct tiles *t);
/* Hashes in tile `index` of a level when the tree has `size` entries; 0: there is none. */
unsigned tile_width(unsigned level, uint64_t index, uint64_t size);
/* Bytes of a tile of that width. -ERR_BROKEN: another length. */
int tile_parse(struct sv bytes, unsigned width, struct tile *ret, struct err *err) MUST_USE;
/* The next entry of a bundle. False: none left, or (rest not empty) cut off in the middle. */
bool bundle_next(struct sv *rest, struct sv *ret_entry);
