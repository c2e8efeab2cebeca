/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations: the turns behind a prompt's first one. A later turn exists only when the answer
 * before it has ended well; it is scheduled at that moment, and carries that answer.
 */
#pragma once

#include "load/loop.h"

/* A turn that waits for its begin or is on its way. */
struct follow {
	struct follow *next;
	uint32_t first; /* record of the first turn */
	uint8_t turn;   /* 1.. */
	int64_t scheduled;
	json_t *messages; /* all that was said */
	struct wire wire;
};
void follow_free(struct follow *f);
/*
 * The next turn after `rec` ended, or NULL: it failed, or was the last. Takes over `f`, the turn
 * that ended (NULL: the first).
 */
struct follow *follow_next(const struct loop *l, const struct load_req *rec, uint32_t req,
			   struct follow *f);
/* Most turns of any prompt, the first included. */
unsigned session_turns(const struct load_prompts *p);
