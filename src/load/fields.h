/* SPDX-License-Identifier: Apache-2.0 */
/* Structs as tables of their fields: one list for writing and reading, so the two can't disagree.
 */
#pragma once

#include "base/json.h"

struct err;

enum field_type {
	F_I64, /* LOAD_NONE is left out */
	F_U64,
	F_U32,
	F_U16,
	F_I32,
	F_U8,
	F_UINT,
	F_BOOL,
	F_F64,
	F_STR,
	F_CHARS,
	F_ENUM,
};

struct field {
	const char *name;
	size_t at, size;
	enum field_type type;
	uint64_t max; /* largest value of F_U8, F_ENUM when read; 0: what fits */
};
#define FIELD(s, f, t)                                                                             \
	{                                                                                          \
#f, offsetof(struct s, f), sizeof(((struct s *)0)->f), t, 0                        \
	}
#define FIELD_MAX(s, f, t, m)                                                                      \
	{                                                                                          \
#f, offsetof(struct s, f), sizeof(((struct s *)0)->f), t, m                        \
	}

/* Values that are zero, false, empty or NAN are left out. */
void fields_put(json_t *o, const struct field *list, size_t n, const void *from);
/* Members that are absent become zero (F_I64: LOAD_NONE when `none`, F_F64: NAN). F_STR is
 * allocated. */
int fields_get(const json_t *o, const struct field *list, size_t n, bool none, void *to,
	       struct err *err) MUST_USE;
