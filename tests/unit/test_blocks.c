/* SPDX-License-Identifier: Apache-2.0 */
#include "load/blocks.h"
#include "test.h"

static void hands_out_zeroed_heads_and_never_zero(void)
{
	struct blocks b;

	blocks_init(&b);
	blocks_ahead(&b, BLOCKS_A_SLAB, /* slowly= */ false);
	for (uint32_t i = 1; i < BLOCKS_A_SLAB + 10; i++) {
		struct ev_block *e;

		CHECK_INT(blocks_take(&b), i);
		e = blocks_at(&b, i);
		CHECK(e->next == 0 && e->n == 0);
		memset(e, 0xff, sizeof(*e));
	}
	CHECK_INT(b.grown, 0);
	blocks_reset(&b);
	CHECK_INT(blocks_take(&b), 1);
	CHECK_INT(((struct ev_block *)blocks_at(&b, 1))->n, 0);
	blocks_release(&b);
}

static void counts_slabs_mapped_too_late(void)
{
	struct blocks b;

	blocks_init(&b);
	CHECK_INT(blocks_take(&b), 1);
	CHECK_INT(b.grown, 1);
	blocks_ahead(&b, 3 * BLOCKS_A_SLAB, /* slowly= */ true);
	CHECK_INT(b.n_slabs, 2);
	blocks_release(&b);
}

static void packs_a_token_time(void)
{
	uint64_t v = ev_pack(EV_TIME_LIMIT_NS - 1, EV_TOKENS_LIMIT, 15);

	CHECK_INT((int64_t)(v >> 20), EV_TIME_LIMIT_NS - 1);
	CHECK_INT((v >> 4) & EV_TOKENS_LIMIT, EV_TOKENS_LIMIT);
	CHECK_INT(v & 15, 15);
}

TEST_MAIN(TEST(hands_out_zeroed_heads_and_never_zero), TEST(counts_slabs_mapped_too_late),
	  TEST(packs_a_token_time))
