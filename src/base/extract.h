/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers out of other programs' output. A spec says where a number stands; the text comes as
 * bytes; what comes out are doubles in the order they were found. Pure: no file is opened here.
 *
 *	struct extract_spec s = { .how = EXTRACT_JSON, .pointer = "/results/0/gbps" };
 *	TRY(extract_check(&s, err));                  is the spec itself right?
 *	TRY(extract_run(&s, text, &numbers, err));    -ERR_NOT_FOUND: nothing; -ERR_PARSE: no number
 *
 * how		  finds
 * EXTRACT_JSON	  one value by JSON pointer (RFC 6901); a number, a string that is a number,
 *		  true/false (1/0); an array of them gives them all. Text of JSON lines: every line
 *		  that has the pointer
 * EXTRACT_CSV	  a column by its header's name, or by number from 1; all rows, or those of the
 *		  filter (columns with given values), or one row from 1, -1 being the last. RFC 4180
 *		  with any one-byte delimiter
 * EXTRACT_PATTERN the named group `value` of each match of a PCRE2 pattern (multi-line mode)
 * EXTRACT_LINES  how many lines match the pattern: one number, 0 is a number
 * EXTRACT_EXIT	  the exit status, given by the caller: one number
 *
 * A number is what stands there after "," as thousands separators are taken out of 1,234,567 and a
 * "%" or a unit is NOT understood: the spec's scale says what one unit of it is worth. Not finite,
 * empty or foreign text is an error that quotes it, never a zero.
 */
#pragma once

#include "base/str.h"

struct err;

#define EXTRACT_MAX_BYTES   (64 * MIB)
#define EXTRACT_MAX_NUMBERS ((size_t)1000000)

enum extract_how {
	EXTRACT_NONE,
	EXTRACT_JSON,
	EXTRACT_CSV,
	EXTRACT_PATTERN,
	EXTRACT_LINES,
	EXTRACT_EXIT
};
enum extract_agg {
	AGG_LAST,
	AGG_FIRST,
	AGG_MIN,
	AGG_MAX,
	AGG_MEDIAN,
	AGG_MEAN,
	AGG_SUM,
	AGG_COUNT,
	AGG_N
};

/* Texts are borrowed. */
struct extract_spec {
	enum extract_how how;
	const char *pointer; /* EXTRACT_JSON: "" is the whole text */
	const char *column;  /* EXTRACT_CSV: name, or number from 1 when no header has that name */
	const struct pairs
		*where;      /* EXTRACT_CSV: only rows where each named column has this value */
	int64_t row;         /* EXTRACT_CSV: from 1; negative from the end; 0: all */
	char delimiter;      /* EXTRACT_CSV: 0: comma */
	const char *pattern; /* EXTRACT_PATTERN, EXTRACT_LINES */
	double scale;        /* each number is multiplied by it; 0: 1 */
};

struct numbers {
	double *v;
	size_t n, room;
};
void numbers_release(struct numbers *l);

int extract_check(const struct extract_spec *s, struct err *err) MUST_USE;
/* Nothing found: -ERR_NOT_FOUND. More than EXTRACT_MAX_BYTES or _NUMBERS, or a pattern that needs
 * too much work: -ERR_LIMIT. EXTRACT_EXIT: use `exit_code`, text is not looked at. */
int extract_run(const struct extract_spec *s, struct sv text, int exit_code, struct numbers *ret,
		struct err *err) MUST_USE;
/* The text of the last match's group `value`, whatever it is. Caller frees. -ERR_NOT_FOUND: no
 * match. */
int extract_word(const char *pattern, struct sv text, char **ret, struct err *err) MUST_USE;
double extract_agg(enum extract_agg agg, const struct numbers *l); /* n > 0, or NAN */
const char *extract_agg_name(enum extract_agg agg);                /* "last" "first" ... */
