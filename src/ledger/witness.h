/* SPDX-License-Identifier: Apache-2.0 */
/* The wire form of C2SP tlog-witness's add-checkpoint, shared by both sides. */
#pragma once

#include "ledger/proof.h"

struct witness_request { /* points into what was parsed */
	uint64_t old;
	uint8_t hash[TLOG_PROOF_HASHES][SHA256_LEN];
	size_t n;
	struct sv checkpoint;
};
int witness_request_parse(struct sv text, struct witness_request *ret, struct err *err) MUST_USE;
void witness_request_write(uint64_t old, const struct ledger_proof *p, struct sv checkpoint,
			   struct str *to);
/* The checkpoint and those of its lines, and of `more`, that `keep` wants: one a key. */
struct note_filter {
	const struct note_key *v;
	size_t n;
};
int note_merge(struct sv note, struct sv more, const struct note_filter *keep, struct str *to,
	       struct err *err) MUST_USE;
