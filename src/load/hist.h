/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log-linear histogram: 64 buckets an octave, so a value read back is off by less than 1.6 %. For
 * the live display only: counts are read by another thread while they grow, with relaxed atomics.
 */
#pragma once

#include "base/defs.h"

#define HIST_BUCKETS (64 * 42) /* up to 2^47 ns: 39 hours; more goes into the last one */

struct load_hist {
	uint32_t v[HIST_BUCKETS];
};

void hist_add(struct load_hist *h, int64_t value); /* negative counts as 0 */
void hist_merge(struct load_hist *to, const struct load_hist *from);
double hist_quantile(const struct load_hist *h,
		     double p);             /* middle of the bucket; NAN when empty */
double hist_max(const struct load_hist *h); /* NAN when empty */
uint64_t hist_count(const struct load_hist *h);
