/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for store_pg.c in a build without libpq. */
#include "ledger/store.h"

#include "base/err.h"

int store_pg_open(const char *where, unsigned flags, struct store **ret, struct err *err)
{
	(void)where;
	(void)flags;
	(void)ret;
	bail(err, ERR_UNSUPPORTED, "this build keeps ledgers in SQLite only");
	err_hint(err, "Give --ledger a folder.");
	return -ERR_UNSUPPORTED;
}
