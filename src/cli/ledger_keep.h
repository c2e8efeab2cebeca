/* SPDX-License-Identifier: Apache-2.0 */
/* What `twice ledger` does to what a ledger keeps. */
#pragma once

#include "cli/cli.h"

struct ledger_keep_conf {
	const char *reason, *older, *policy, *key;
	bool dry, yes;
};

/* One piece of evidence, named by its digest or a beginning of it that is of one piece only. */
int ledger_withhold(struct cli *cli, const struct ledger_keep_conf *c, json_t *v,
		    struct err *err) MUST_USE;
/* Every piece that only runs before --older-than name, none of which was ever signed. */
int ledger_expire(struct cli *cli, const struct ledger_keep_conf *c, json_t *v,
		  struct err *err) MUST_USE;
/* A signed entry that says that another is wrong, and why. */
int ledger_correct(struct cli *cli, const struct ledger_keep_conf *c, json_t *v,
		   struct err *err) MUST_USE;
