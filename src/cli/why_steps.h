/* SPDX-License-Identifier: Apache-2.0 */
/* The end of `twice why`: what would change the verdict, and what to do. */
#pragma once

#include "base/json.h"

struct str;

/* For each reason of the decision, each note that asks for something, and the verdict. found: a
 * search for the component has its answer already. */
void why_next(const json_t *decision, bool found, struct str *out);
/* Codes of verdict.h that why_next has words for. */
bool why_code_known(const char *code);
bool why_note_known(const char *code);
const char *why_end(const char *verdict); /* of "rejected"; NULL: no such verdict */
