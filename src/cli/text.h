/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that several commands print from the same values. */
#pragma once

#include "cli/cli.h"

/* A verdict entry's body for people: verdict, reasons, numbers, suspects, advice. */
void text_verdict(const json_t *body, bool long_form, struct str *out);
/* The same with what a search for the component found, which leads; NULL: there was none. */
void text_verdict_searched(const json_t *body, const json_t *search, bool long_form,
			   struct str *out);
/* text_clean() line by line. Caller frees. */
char *text_clean_lines(const char *text) MUST_USE;
/* A record integer with its unit's name as people read it; "inf" and null too. Caller frees. */
char *text_value(const json_t *v, const char *unit) MUST_USE;
char *text_percent_e9(const json_t *e9, bool abs_scale) MUST_USE;
/* "accepted", "REJECTED", ... */
const char *text_verdict_word(const char *code);
