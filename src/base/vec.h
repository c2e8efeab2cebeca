/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays for any struct with members `v`, `n`, `room`:
 *
 *	struct reps { struct rep *v; size_t n, room; };
 *	*VEC_ADD(&reps) = (struct rep){ 0 };          a zeroed new last element
 */
#pragma once

#include "base/defs.h"

void *vec_grow(void *v, size_t n, size_t *room, size_t size) MUST_USE;

#define VEC_ADD(l)                                                                                 \
	({                                                                                         \
		__typeof__(l) vec_l_ = (l);                                                        \
		vec_l_->v = vec_grow(vec_l_->v, vec_l_->n, &vec_l_->room, sizeof(*vec_l_->v));     \
		memset(&vec_l_->v[vec_l_->n], 0, sizeof(*vec_l_->v));                              \
		&vec_l_->v[vec_l_->n++];                                                           \
	})
