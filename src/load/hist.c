/* SPDX-License-Identifier: Apache-2.0 */
#include "load/hist.h"

#include <math.h>

/* Values below 128 have a bucket each (two octaves' worth); above, 64 a power of two. */
static size_t bucket_of(int64_t value)
{
	uint64_t v = value > 0 ? (uint64_t)value : 0;
	unsigned shift;
	size_t i;

	if (v < 128)
		return (size_t)v;
	shift = 57u - (unsigned)__builtin_clzll(v); /* leaves 64..127 */
	i = (size_t)(shift + 1) * 64 + (size_t)(v >> shift) - 64;
	return MIN(i, (size_t)HIST_BUCKETS - 1);
}

static double middle_of(size_t bucket)
{
	unsigned shift;

	if (bucket < 128)
		return (double)bucket;
	shift = (unsigned)(bucket / 64 - 1);
	return ldexp((double)(bucket % 64 + 64) + 0.5, (int)shift);
}

void hist_add(struct load_hist *h, int64_t value)
{
	uint32_t *at = &h->v[bucket_of(value)];

	/* One writer: a plain add published with a relaxed store. */
	__atomic_store_n(at, *at + 1, __ATOMIC_RELAXED);
}

void hist_merge(struct load_hist *to, const struct load_hist *from)
{
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		to->v[i] += __atomic_load_n(&from->v[i], __ATOMIC_RELAXED);
}

uint64_t hist_count(const struct load_hist *h)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HIST_BUCKETS; i++)
		n += __atomic_load_n(&h->v[i], __ATOMIC_RELAXED);
	return n;
}

double hist_quantile(const struct load_hist *h, double p)
{
	uint64_t n = hist_count(h), want = (uint64_t)ceil(p * (double)n), seen = 0;

	for (size_t i = 0; i < HIST_BUCKETS && n; i++) {
		seen += __atomic_load_n(&h->v[i], __ATOMIC_RELAXED);
		if (seen >= MAX(want, (uint64_t)1))
			return middle_of(i);
	}
	return NAN;
}

double hist_max(const struct load_hist *h)
{
	for (size_t i = HIST_BUCKETS; i-- > 0;)
		if (__atomic_load_n(&h->v[i], __ATOMIC_RELAXED))
			return middle_of(i);
	return NAN;
}
