/* SPDX-License-Identifier: Apache-2.0 */
/* What every reader of terminal output needs. The room's own business. */
#pragma once

#include "base/str.h"

/* A copy of one line without terminal escapes (ESC[...m and friends), carriage returns (the text
 * after the last one wins only if it is not empty), and launcher prefixes "[1,0]<stdout>:".
 * Reuses `s`. */
struct sv line_clean(struct sv line, struct str *s);
/* "..." ". . ." "[...]" "<SNIP>" "[output truncated]": somebody removed data here. */
bool line_elides(struct sv line);
/* "N/A", "[N/A]", "n/a", "None", "", "Not supported" ...: the tool says it has no value. */
bool word_not_available(struct sv word);
/* The text behind `key` and the following blanks and colons, trimmed; false when the line has no
 * key. */
bool line_value(struct sv line, const char *key, struct sv *ret);
