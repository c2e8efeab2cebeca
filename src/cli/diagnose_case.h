/* SPDX-License-Identifier: Apache-2.0 */
/* twice diagnose --case: a recorded comparison. */
#pragma once

#include "cli/cli.h"

struct signatures;

/* Reads, judges and attributes it. ret gets the value's "case"; the exit code, or -ERR_... */
int diagnose_case_value(const char *path, bool without_probes, const struct signatures *all,
			json_t **ret, struct err *err) MUST_USE;
void diagnose_case_text(const json_t *answer, struct str *out);
