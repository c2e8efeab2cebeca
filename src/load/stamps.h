/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel receive stamps on our clock. The kernel stamps in CLOCK_REALTIME; we measure in
 * CLOCK_MONOTONIC. The difference is taken from paired readings, again and again during a run, so
 * that a clock that is set meanwhile moves nothing: such a set is also announced by a timerfd.
 */
#pragma once

#include "base/defs.h"

#include <sys/socket.h>

struct stamps {
	int64_t offset_ns; /* realtime - monotonic */
	int64_t paired_at; /* monotonic */
	uint64_t steps;    /* times the clock was found set */
};

/* Reads the offset: the tightest of a few pairs. */
void stamps_pair(struct stamps *s);
/* Pairs again when the last pair is older than 10 ms. */
static inline void stamps_refresh(struct stamps *s, int64_t now)
{
	if (now - s->paired_at > 10 * NS_PER_MS)
		stamps_pair(s);
}
/* The arrival time out of a received message's control data; false: none there. */
bool stamps_of(const struct stamps *s, struct msghdr *m, int64_t *ret);
/*
 * Stamping is switched on asynchronously by the kernel, for all sockets together. Opens a stamping
 * socket that keeps it on, and sends to itself until stamps arrive, 200 ms at most. *ret_works
 * tells whether they did; gives the descriptor to close after the run, or -1.
 */
int stamps_switch_on(bool *ret_works);
