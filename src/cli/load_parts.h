/* SPDX-License-Identifier: Apache-2.0 */
/* What `twice load` does beside a single run. The room's own business. */
#pragma once

#include "cli/cmds.h"

/* Fills `value` with another load generator's result. */
int load_import(const char *path, json_t *value, struct err *err) MUST_USE;
void load_import_text(const json_t *v, struct str *out);
