/* SPDX-License-Identifier: Apache-2.0 */
/* When which prompt is sent: all of it fixed by the seed before the run. */
#pragma once

#include "load/load.h"

struct plan {
	int64_t *at;     /* ns from the start, ascending; NULL for LOAD_CLOSED */
	size_t n;        /* of `at`; for LOAD_CLOSED the count, or 0 when only the time ends it */
	uint32_t *order; /* prompts: request i takes order[i % n_prompts] */
	size_t n_prompts;
	char digest[65]; /* of times and prompt order */
};

/* Requests one plan may hold: records are laid out before the run. */
#define PLAN_LIMIT ((size_t)16 << 20)

/* duration_ns and count may differ from the configuration's: a warm-up has its own. */
int plan_make(const struct load_conf *c, int64_t duration_ns, uint64_t count, size_t n_prompts,
	      struct plan *ret, struct err *err) MUST_USE;
void plan_release(struct plan *p);
