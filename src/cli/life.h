/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ledger/ledger.h"

/*
 * DIR/life.txt: what happened to a workload (NULL: to all), one line an entry, for people. Entries
 * about no workload (keys, anchors, ...) are told as well. ret_n: lines.
 */
int life_write(struct ledger *l, const char *workload, const char *dir, uint64_t *ret_n,
	       struct err *err) MUST_USE;
