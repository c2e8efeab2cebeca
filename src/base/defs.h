/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words every file needs: attributes, ownership by scope, small helpers.
 *
 *	AUTO_FREE char *text = NULL;                       freed at the end of the scope
 *	struct str s CLEANUP(str_release) = { 0 };         released at the end of the scope
 *	CLEANUP(fclosep) FILE *f = fopen(path, "re");
 *	*ret = STEAL(text);                                hands it over and leaves NULL
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST_USE      __attribute__((warn_unused_result))
#define PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define UNUSED        __attribute__((unused))
#define NORETURN      __attribute__((noreturn))
#define CLEANUP(fn)   __attribute__((cleanup(fn)))
#define AUTO_FREE     CLEANUP(freep)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))
#define KIB           ((size_t)1024)
#define MIB           (KIB * KIB)
#define NS_PER_S      INT64_C(1000000000)
#define NS_PER_MS     INT64_C(1000000)
#define NS_PER_US     INT64_C(1000)

#define STEAL(p)                                                                                   \
	({                                                                                         \
		__typeof__(p) *steal_at_ = &(p);                                                   \
		__typeof__(p) steal_it_ = *steal_at_;                                              \
		*steal_at_ = NULL;                                                                 \
		steal_it_;                                                                         \
	})

/* Passes a failure on: TRY(f(x, err)); in a function that returns 0 or -ERR_... */
#define TRY(call)                                                                                  \
	do {                                                                                       \
		int try_rc_ = (call);                                                              \
		if (try_rc_ < 0)                                                                   \
			return try_rc_;                                                            \
	} while (0)

/* The malloc family that never returns NULL: out of memory prints one line and exits (70). */
void *xmalloc(size_t n) MUST_USE;
/* Zeroed pages of their own, there at once; back by munmap(p, n). */
void *xmap(size_t n) MUST_USE;
void *xcalloc(size_t n, size_t size) MUST_USE;
void *xrealloc(void *old, size_t n) MUST_USE;
char *xstrdup(const char *s) MUST_USE; /* NULL gives NULL */
char *xstrndup(const char *s, size_t n) MUST_USE;
char *xasprintf(const char *fmt, ...) PRINTF(1, 2) MUST_USE;

static inline void freep(void *p)
{
	void **at = p;

	free(*at);
	*at = NULL;
}

static inline void fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
	*f = NULL;
}

void closep(int *fd); /* closes a descriptor >= 0 and sets it to -1 */

static inline bool streq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool str_starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

bool str_ends(const char *s, const char *with);

#include "base/banned.h"
