/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cli.h"

/* Fills v with the members of "twice.report/1" (report/report.h) for the run of a verdict entry. */
int reporting_value(struct cli *cli, const struct ledger_entry *verdict, json_t *v,
		    struct err *err) MUST_USE;
/* Only its "evidence_lost": how many pieces that its entries name are not there. */
int reporting_lost(struct cli *cli, const struct ledger_entry *verdict, json_t *v,
		   struct err *err) MUST_USE;
/* A line when there are some. */
void reporting_lost_text(const json_t *v, struct str *out);
