/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stacks alternately in one session: the accepted one and the candidate, pair by pair, the
 * order inside each pair drawn. What a session does (its boot, its node, the hour, a drift) both
 * have. The contract's switches go from one to the other, and every repetition is captured anew:
 * what ran is compared with what that stack was.
 *
 *	run.intent   scope "run", design "interleaved", order_seed, found: the words in place before
 *	run.intent   scope "rep", arm "accepted" or "candidate"
 *
 * `found` is how a killed run is put right again: `twice bisect --restore`.
 */
#pragma once

#include "run/going.h"

#define ARMS_DESIGN   "interleaved"
#define ARMS_MIN      5  /* pairs at the first look */
#define ARMS_MAX      12 /* pairs at the last one */
#define ARMS_ACCEPTED "accepted"
#define ARMS_OTHER    "candidate"

/* Before the stack is captured: a run or a search that was killed may have left its words in place.
 * An alternating run puts them back, another one only tells. */
int arms_left(struct going *g, struct err *err) MUST_USE;
/* After the bank is known: what has to be switched, and earlier pairs of the same question. In
 * place of the bank come the accepted stack's repetitions of those pairs. */
int arms_find(struct going *g, struct err *err) MUST_USE;
/* Members of the run's announcement. */
void arms_announce(const struct going *g, json_t *body);
/* There and back once, before anything is measured: what has no switch stops it here. */
int arms_try(struct going *g, struct err *err) MUST_USE;
int arms_repetitions(struct going *g, struct verdict *v, struct err *err) MUST_USE;
/* The words as they were found and the stack that was captured then, in spite of Ctrl-C. Tells when
 * that can't be done. */
void arms_put_back(struct going *g);
void arms_release(struct going *g);
