/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Durations are int64_t nanoseconds of CLOCK_MONOTONIC; wall time is for stamps, in UTC. */
#pragma once

#include "base/defs.h"

int64_t clock_ns(void);      /* CLOCK_MONOTONIC */
int64_t clock_wall_ms(void); /* ms since 1970, UTC; TWICE_NOW_MS in the environment wins (tests) */
void sleep_ns(int64_t ns);   /* returns early on a signal */
/* "2026-12-01T10:04:00.000Z" of ms since 1970 (0001..9999). */
char *time_utc(int64_t ms) MUST_USE;
bool time_utc_parse(const char *s, int64_t *ret_ms); /* exactly that form */
/* "1.24 s", "310 ms", "2 min 5 s", "3 h 10 min" */
char *duration_text(int64_t ns) MUST_USE;
