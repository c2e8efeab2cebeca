/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text. `struct str` builds (always NUL-ended, optional limit), `struct sv` looks.
 *
 *	struct str s CLEANUP(str_release) = { 0 };
 *	str_addf(&s, "%s=%d", k, v);
 *	char *p = str_steal(&s);                 the caller frees
 *
 * A str that grows with outside input is made with a limit: str_init(&s, 64 * KIB). Growing over it
 * sets s.over and drops the excess; the maker checks s.over and reports ERR_LIMIT.
 */
#pragma once

#include "base/defs.h"
#include <stdarg.h>

struct err;

struct str {
	char *p;               /* NULL while empty: use str_text() to read */
	size_t n, room, limit; /* limit 0: none */
	bool over;
};

struct sv {
	const char *p;
	size_t n;
};

#define SV(lit)   ((struct sv){ (lit), sizeof(lit) - 1 })
#define SV_FMT    "%.*s"
#define SV_ARG(v) (int)(v).n, (v).p

void str_init(struct str *s, size_t limit);
void str_release(struct str *s);
void str_clear(struct str *s);         /* keeps the memory and the limit */
void str_cut(struct str *s, size_t n); /* to its first n bytes, if it is longer */
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const void *p, size_t n);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) PRINTF(2, 3);
void str_vaddf(struct str *s, const char *fmt, va_list ap) PRINTF(2, 0);
void str_addsv(struct str *s, struct sv v);
void str_pad(struct str *s, char c, size_t n);
char *str_steal(struct str *s) MUST_USE; /* "" when empty; never NULL */
static inline const char *str_text(const struct str *s)
{
	return s->p ? s->p : "";
}

/* NULL gives the empty view. Looking at text is inline: of a literal the length is known then. */
static inline struct sv sv_of(const char *s)
{
	return s ? (struct sv){ s, strlen(s) } : (struct sv){ "", 0 };
}
static inline struct sv sv_str(const struct str *s)
{
	return (struct sv){ str_text(s), s->n };
}
static inline bool sv_eq(struct sv a, struct sv b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool sv_is(struct sv a, const char *s)
{
	return sv_eq(a, sv_of(s));
}
static inline bool sv_starts(struct sv a, const char *with)
{
	size_t n = strlen(with);

	return a.n >= n && memcmp(a.p, with, n) == 0;
}
bool sv_ends(struct sv a, const char *with);
struct sv sv_trim(struct sv v);
char *sv_dup(struct sv v) MUST_USE;
/* Takes the part up to the separator off the front of *rest (without it). False at the end. */
bool sv_split(struct sv *rest, char sep, struct sv *ret_part);
/* The next line without "\n" or "\r\n". False at the end. */
bool sv_line(struct sv *rest, struct sv *ret_line);
/* The next run of non-blanks. False at the end. */
bool sv_word(struct sv *rest, struct sv *ret_word);
/* Index of the first occurrence, or -1. */
ptrdiff_t sv_find(struct sv in, struct sv what);

/* Whole view is a decimal integer in [min, max]; no blanks, no leading '+'. */
bool sv_to_i64(struct sv v, int64_t min, int64_t max, int64_t *ret);
bool sv_to_u64(struct sv v, uint64_t *ret); /* decimal */
bool sv_to_hex(struct sv v, uint64_t *ret); /* with or without 0x */
/* Whole view is a finite decimal number (correctly rounded; no hex, inf, nan), not longer than any
 * double written in full. */
#define F64_MAX_CHARS 1100
bool sv_to_f64(struct sv v, double *ret);

bool utf8_valid(struct sv v);
/* A copy fit for a terminal or a report: control bytes, marks of direction and invalid UTF-8
 * become "?". */
char *text_clean(struct sv v) MUST_USE;

/* A growing list of owned strings. */
struct strs {
	char **v; /* NULL-ended when n > 0 */
	size_t n, room;
};
void strs_release(struct strs *l);
void strs_add(struct strs *l, const char *s); /* copies */
void strs_take(struct strs *l, char *s);      /* owns s */
void strs_addf(struct strs *l, const char *fmt, ...) PRINTF(2, 3);
bool strs_has(const struct strs *l, const char *s);
void strs_sort(struct strs *l);
void strs_copy(struct strs *to, const struct strs *from);

/* Names with values, in the order they were added; names may repeat unless the maker says
 * otherwise. */
struct pair {
	char *name, *value;
};
struct pairs {
	struct pair *v;
	size_t n, room;
};
void pairs_release(struct pairs *l);
void pairs_add(struct pairs *l, const char *name, const char *value); /* copies both */
const char *pairs_get(const struct pairs *l, const char *name); /* the first; NULL: not there */
