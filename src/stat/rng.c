/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	__extension__ typedef unsigned __int128 u128;

	return (uint64_t)((u128)rng_next(r) * n >> 64);
}

double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
	return norm_quantile(((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53);
}
