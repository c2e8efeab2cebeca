/* SPDX-License-Identifier: Apache-2.0 */
#include "load/blocks.h"

#include <sys/mman.h>

void blocks_init(struct blocks *b)
{
	*b = (struct blocks){ .slabs = xcalloc(SLABS, sizeof(*b->slabs)), .used = 1 };
}

void blocks_release(struct blocks *b)
{
	for (size_t i = 0; i < b->n_slabs; i++)
		munmap(b->slabs[i], BLOCKS_A_SLAB * BLOCK_SIZE);
	free(b->slabs);
	*b = (struct blocks){ 0 };
}

static bool map_slab(struct blocks *b)
{
	void *p;

	if (b->n_slabs == SLABS)
		return false;
	p = mmap(NULL, BLOCKS_A_SLAB * BLOCK_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	b->slabs[b->n_slabs++] = p;
	return true;
}

void blocks_ahead(struct blocks *b, size_t count, bool slowly)
{
	while (b->n_slabs * BLOCKS_A_SLAB < b->used + count) {
		if (!map_slab(b) || slowly)
			return;
	}
}

uint32_t blocks_take(struct blocks *b)
{
	if (b->used >= b->n_slabs * BLOCKS_A_SLAB) {
		if (!map_slab(b))
			return 0;
		b->grown++;
	}
	memset(blocks_at(b, (uint32_t)b->used), 0, 2 * sizeof(uint32_t)); /* `next` and `n` */
	return (uint32_t)b->used++;
}

void blocks_reset(struct blocks *b)
{
	b->used = 1;
	b->grown = 0;
}
