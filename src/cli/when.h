/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them in options. */
#pragma once

#include "base/defs.h"

struct err;

/*
 * "2026-12-24", "2026-12-24T18:00", "2026-12-24T18:00:00Z" (all UTC), or a length of time counted
 * from now: into the past for --since and the like, into the future for --until of something that
 * is to end. A day alone is its beginning; with end_of_day its last millisecond. `name` is the
 * option's.
 */
enum when { WHEN_AGO, WHEN_AHEAD };
int when_parse(const char *name, const char *text, enum when way, bool end_of_day, int64_t now_ms,
	       int64_t *ret_ms, struct err *err) MUST_USE;
