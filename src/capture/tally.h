/* SPDX-License-Identifier: Apache-2.0 */
/* Counts equal texts, to say "8 x A" or "7 x A + 1 x B" of many devices. */
#pragma once

#include "base/str.h"

struct tally {
	struct tally_one {
		char *text;
		size_t n;
	} * v;
	size_t n, room;
};
void tally_release(struct tally *t);
void tally_add(struct tally *t, const char *text); /* NULL counts as "unknown" */
/* One text: that text alone. Several: "7 x A + 1 x B", sorted by text. NULL when nothing was
 * counted. */
char *tally_text(const struct tally *t) MUST_USE;
/* "8 x A + 1 x B"; NULL when nothing was counted. */
char *tally_counted(const struct tally *t) MUST_USE;
/* The bracketed word of "always [madvise] never"; the whole text when there is none. */
char *bracketed(const char *line) MUST_USE;
/* The value behind "key :" or "key=" at the start of a line of the text, trimmed. */
bool line_of(struct sv text, const char *key, char sep, struct sv *ret);
