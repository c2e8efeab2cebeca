/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed-size blocks by index, out of slabs that are mapped and touched before they are needed:
 * token times and answer texts of requests go here while a run is measured. Blocks are never given
 * back one by one; the pool goes as a whole. Index 0 is never handed out and means "none".
 */
#pragma once

#include "base/defs.h"

#define BLOCK_SIZE    ((size_t)128)
#define BLOCKS_A_SLAB ((size_t)8192) /* 1 MiB */
#define SLABS         ((size_t)65536)

struct blocks {
	char **slabs;
	size_t n_slabs, used; /* used: blocks handed out, index 0 included */
	uint64_t grown;       /* slabs that had to be mapped at the moment of need */
};

void blocks_init(struct blocks *b);
void blocks_release(struct blocks *b);
/* Makes sure that `count` more blocks can be taken without mapping. One slab a call at most when
 * `slowly`: for idle moments. */
void blocks_ahead(struct blocks *b, size_t count, bool slowly);
uint32_t blocks_take(struct blocks *b); /* 0: the pool is full (64 GiB) */
void blocks_reset(struct blocks *b);    /* all handed out are free again */
static inline void *blocks_at(const struct blocks *b, uint32_t i)
{
	return b->slabs[i / BLOCKS_A_SLAB] + (i % BLOCKS_A_SLAB) * BLOCK_SIZE;
}

/* Token times, newest block last. A time is ns since the request's begin. */
struct ev_block {
	uint32_t next, n;
	uint64_t v[15]; /* ns << 20 | tokens << 4 | flags */
};
#define EV_TIME_LIMIT_NS (INT64_C(1) << 44)
#define EV_TOKENS_LIMIT  UINT32_C(0xffff)
static inline uint64_t ev_pack(int64_t ns, uint32_t tokens, uint32_t flags)
{
	return (uint64_t)ns << 20 | (uint64_t)tokens << 4 | flags;
}

struct text_block {
	uint32_t next, n;
	char p[120];
};
_Static_assert(sizeof(struct ev_block) == BLOCK_SIZE, "a block of token times fills its place");
_Static_assert(sizeof(struct text_block) == BLOCK_SIZE, "a block of text fills its place");
