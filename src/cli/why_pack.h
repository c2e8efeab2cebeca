/* SPDX-License-Identifier: Apache-2.0 */
/* twice why --pack: what the owner of a regression needs, without secrets, names or addresses. */
#pragma once

#include "cli/cli.h"

/* Writes the bundle: FILE.tar.zst as an archive, any other name as a new folder. ret_files gets
 * the names in it. */
int why_pack(struct cli *cli, const struct ledger_entry *verdict, const char *to,
	     struct strs *ret_files, struct err *err) MUST_USE;
