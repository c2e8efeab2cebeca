/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cli.h"

/* The verdict entry of a run (its id or a part of it), of an entry's name, or the newest of the
 * contract's
 * workload when name is NULL. */
int find_verdict(struct cli *cli, const char *name, struct ledger_entry *ret,
		 struct err *err) MUST_USE;
