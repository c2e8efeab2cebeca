/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cli.h"

/* Fills v with the members of "twice.report/1" (report/report.h) for the run of a verdict entry. */
int reporting_value(struct cli *cli, const struct ledger_entry *verdict, json_t *v,
		    struct err *err) MUST_USE;
