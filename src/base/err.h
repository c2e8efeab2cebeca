/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. A function that can fail returns 0 or -ERR_..., takes `struct err *err` last (never NULL)
 * and touches its ret parameters only on success. Messages: lower case, no full stop, what failed
 * first, names in 'single quotes', one line. The hint is a sentence with a capital.
 *
 *	return bail(err, ERR_PARSE, "line %u: unknown key '%s'", line, key);
 *	return bail_sys(err, "cannot open '%s'", path);               adds strerror(errno)
 *	if (f(path, err) < 0)
 *		return err_wrap(err, "cannot read envelope '%s'", path);  puts words in front
 *
 * Each of the three returns -err->code.
 */
#pragma once

#include "base/defs.h"

enum err_code {
	ERR_OK,
	ERR_PARSE,       /* bad input: exit 65 */
	ERR_RANGE,       /* a value out of its range: exit 65 */
	ERR_NOT_FOUND,   /* a named thing is not there: exit 65 unless a verb says otherwise */
	ERR_USAGE,       /* argv: exit 64 */
	ERR_IO,          /* the system refused: exit 74 */
	ERR_LIMIT,       /* a size, depth, time or output limit: exit 65 */
	ERR_UNSUPPORTED, /* can't run here: exit 3 */
	ERR_TIMEOUT,     /* a wall-clock limit passed: exit 2 */
	ERR_INTERRUPTED, /* SIGINT/SIGTERM: exit 2 */
	ERR_CONFLICT,    /* somebody else holds it, or it changed: exit 74 */
	ERR_MISSING,     /* evidence that an entry names is lost or withheld: exit 2 */
	ERR_BROKEN,      /* evidence or log is not what it says: exit 1 */
	ERR_BUG,         /* exit 70 */
};

struct err {
	enum err_code code;
	int sys;          /* errno, 0 if none */
	const char *file; /* where it was raised */
	int line;
	char msg[512], hint[256];
};

#define ERR_INIT ((struct err){ 0 })

int err_set(struct err *err, enum err_code code, int sys, const char *file, int line,
	    const char *fmt, ...) PRINTF(6, 7);
int err_put_in_front(struct err *err, const char *fmt, ...) PRINTF(2, 3);
void err_hint(struct err *err, const char *fmt, ...) PRINTF(2, 3);
void err_clear(struct err *err);
int err_exit_code(const struct err *err);
const char *err_code_name(enum err_code code); /* "parse", "io", ...: stable, for --json */

/* What these return is below 0; the analyzers of single files have to be told. */
static inline int below_0(int rc)
{
	assert(rc < 0);
	return rc;
}

#define bail(err, code, ...) below_0(err_set(err, code, 0, __FILE__, __LINE__, __VA_ARGS__))
#define bail_sys(err, ...)   below_0(err_set(err, ERR_IO, errno, __FILE__, __LINE__, __VA_ARGS__))
#define err_wrap(err, ...)   below_0(err_put_in_front(err, __VA_ARGS__))

/* The nearest to `got` of a NULL-ended list of names by edit distance; NULL when none is near. */
const char *nearest_name(const char *got, const char *const *names);
/* Sets the hint "Did you mean 'x'?" when there is a near name. */
void err_hint_nearest(struct err *err, const char *got, const char *const *names);
