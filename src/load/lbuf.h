/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers for what a reader could not finish inside one read: a half line, a half event. They come
 * from a free list made before the run, so that the usual case allocates nothing; a pool that has
 * to grow or a buffer that outgrows its first size counts in `grown`.
 */
#pragma once

#include "base/defs.h"

struct lbuf {
	struct lbuf *next; /* in the free list */
	size_t n, room;
	char p[];
};

struct lbuf_pool {
	struct lbuf *free;
	uint64_t grown;
};

#define LBUF_FIRST ((size_t)2048)

void lbuf_pool_fill(struct lbuf_pool *p, size_t count);
void lbuf_pool_release(struct lbuf_pool *p);
/* Appends; *b is taken from the pool when NULL and n > 0. False: it would go over `limit` (nothing
 * appended). */
bool lbuf_add(struct lbuf_pool *p, struct lbuf **b, const char *from, size_t n, size_t limit);
void lbuf_put(struct lbuf_pool *p, struct lbuf **b); /* back to the pool; NULL is fine */
static inline size_t lbuf_n(const struct lbuf *b)
{
	return b ? b->n : 0;
}
