/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON: the one form in which things are hashed and signed. It is RFC 8785 for the
 * subset of JSON on which that is trivial:
 *
 *	- values: object, array, string, true, false, null, integer within +-(2^53 - 1). No other
 *	  number: quantities are integers with the unit in the key (`wait_ns`, `shift_e9`);
 *	- keys [a-z][a-z0-9_]*, sorted bytewise, each once;
 *	- strings are UTF-8 as they are; escaped are only `"`, `\` and what is below U+0020
 *	  (\b \t \n \f \r, else \u00xx in lower case);
 *	- no blanks; at most CANON_MAX_DEPTH levels of arrays and objects.
 *
 *	struct str bytes CLEANUP(str_release) = { 0 };
 *	TRY(canon_write(body, CANON_MAX_BYTES, &bytes, err));
 *	TRY(canon_read(sv_str(&bytes), CANON_MAX_BYTES, CANON_STRICT, &again, err));
 *
 * Errors: ERR_PARSE for what is not this JSON, ERR_RANGE for an integer out of range, ERR_LIMIT
 * for too long or too deep. Messages end in "at byte N" when bytes were read, in "at 'a.b'" when a
 * tree was.
 */
#pragma once

#include "base/defs.h"
#include "base/str.h"
#include <jansson.h>

struct err;

#define CANON_MAX_BYTES 65535 /* the limit of an entry */
#define CANON_MAX_DEPTH 32
#define CANON_MAX_INT   INT64_C(9007199254740991)

enum canon_mode {
	CANON_STRICT, /* the bytes must be their own canonical form */
	CANON_LOOSE,  /* blanks, any order of keys and any escapes are fine; the rest is not */
};

/* Appends the canonical form. max_bytes 0: no limit. On failure ret is as it was. */
int canon_write(const json_t *value, size_t max_bytes, struct str *ret, struct err *err) MUST_USE;
/* The same of a string. */
int canon_write_text(struct sv text, struct str *ret, struct err *err) MUST_USE;
/* The caller drops the reference. Strings may hold NUL: use json_string_length. */
int canon_read(struct sv bytes, size_t max_bytes, enum canon_mode mode, json_t **ret,
	       struct err *err) MUST_USE;
/* SHA-256 of the canonical form as 64 hex digits, without a limit of size. */
int canon_digest(const json_t *value, char ret[65], struct err *err) MUST_USE;

/*
 * A walk over canonical bytes without building a tree: checks everything canon_read checks in
 * strict mode and hands out each scalar. path[0..depth) are the keys that lead to it; an element of
 * an array has the path of the array. `raw` is the text between the quotes of a string (escapes not
 * undone, none when !escaped) or the whole word of another scalar.
 */
struct canon_scalar {
	const struct sv *path;
	size_t depth;
	/* 's' string, 'i' integer, 't' true, 'f' false, 'n' null, '{' object, '[' array */
	char type;
	struct sv raw;
	bool escaped;
	/* number of the innermost object around it, from 1 in order of beginning; 0: none */
	size_t object;
};
typedef void canon_seen(void *ctx, const struct canon_scalar *s);
int canon_scan(struct sv bytes, size_t max_bytes, canon_seen *seen, void *ctx,
	       struct err *err) MUST_USE;
