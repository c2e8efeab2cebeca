/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a watch (run_watch_json), for `twice watch` and `twice run`. */
#pragma once

#include "base/json.h"

/* A line for each metric, or with all false only what alarms or seems to have moved. */
void watching_text(const json_t *watch, bool all, struct str *out);
