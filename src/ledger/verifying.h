/* SPDX-License-Identifier: Apache-2.0 */
/* A verification that is going on. Steps return 0 to go on, 1 to stop at the first fault, -ERR_.... */
#pragma once

#include "ledger/inner.h"

struct started { /* a run.intent */
	char leaf[SHA256_HEX], run[SHA256_HEX]; /* run: leaf of the run's intent; of itself when it is one */
	uint64_t seq, ended;			/* seq of its end; 0: none */
	bool whole;
	char result[SHA256_HEX];		/* leaf of what ended it */
};
struct verifying {
	const struct ledger_verify_conf *conf;
	struct ledger_report *report;
	struct ledger *l;
	struct frontier frontier;
	struct sha256 h;
	char *origin;
	uint8_t prev[SHA256_LEN];
	int64_t last_at;
	uint64_t next;
	struct ledger_keys keys;
	struct note_keys vkeys;
	json_t *policy;
	struct {
		struct started *v;
		size_t n, room;
	} starts;
	struct {
		struct verifying_root {
			uint64_t size;
			uint8_t root[SHA256_LEN];
		} * v;
		size_t n, room;
	} wanted; /* sizes whose root an anchor needs, filled while entries go by */
};
int report_find(struct verifying *v, enum ledger_code code, uint64_t seq, const char *fmt, ...)
	PRINTF(4, 5);
/* Takes one entry: bytes, chain, tree, starts and ends. derived: the store's columns, or NULL. */
int verifying_entry(struct verifying *v, struct sv bytes, const struct entry_row *derived,
		    struct err *err) MUST_USE;
int verifying_anchors(struct verifying *v, struct err *err) MUST_USE;
void verifying_release(struct verifying *v);
