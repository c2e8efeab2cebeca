/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/defs.h"

/*
 * Shows a text through $TWICE_PAGER, else $PAGER, else less, when stdout is a terminal with fewer
 * lines than it has. False: nothing was shown (no terminal, short text, no pager, or one set to ""
 * or cat).
 */
bool pager_show(const char *text);
