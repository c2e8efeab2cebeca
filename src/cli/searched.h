/* SPDX-License-Identifier: Apache-2.0 */
/* What `twice bisect` found about a verdict: put beside it, told before what was only suspected. */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "ledger/ledger.h"

/* v's member "search": the newest search of this verdict's question, with the newest full plan of
 * two in it as "factorial"; left out when there was neither. */
int searched_put(struct ledger *l, const char *verdict_leaf, json_t *v, struct err *err) MUST_USE;
/* Lines of two blanks before them; nothing for NULL. */
void searched_text(const json_t *search, struct str *out);
