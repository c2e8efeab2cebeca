/* SPDX-License-Identifier: Apache-2.0 */
/* What two logs say side by side. */
#pragma once

#include "diagnose/inner.h"
#include "diagnose/signature.h"

struct case_log {
	struct signature_hits before, now;
	struct {
		struct diagnose_sign *v; /* borrow from the hits and the catalogue */
		size_t n, room;
	} signs;
	struct {
		struct diagnose_flip *v; /* borrow from the logs and from words */
		size_t n, room;
	} flips;
	struct strs words;
};
void case_log_release(struct case_log *l);
/* all NULL: lines that turned over only. ret: zeroed. */
void case_log_read(const struct signatures *all, const struct strs *before, const struct strs *now,
		   struct case_log *ret);
