/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2SP tlog-proof: that an entry is in a log, in one text that needs but the log's key:
 *
 *	c2sp.org/tlog-proof@v1
 *	extra <base64 of the entry bytes>
 *	index <seq>
 *	<base64 of a hash>                 RFC 6962 inclusion proof, from the leaf's sibling up
 *	...
 *	                                   (a blank line)
 *	<the signed checkpoint>
 *
 * `extra` is not authenticated by itself; as it holds the entry, its hash is what is proven.
 */
#pragma once

#include "ledger/merkle.h"
#include "ledger/note.h"

struct err;

#define TLOG_PROOF_MAX    (256 * KIB)
#define TLOG_PROOF_HASHES 63

struct tlog_proof {
	char *extra; /* NULL: none */
	size_t extra_n;
	uint64_t index;
	uint8_t hash[TLOG_PROOF_HASHES][SHA256_LEN];
	size_t n;
	struct sv checkpoint; /* points into what was parsed */
};
void tlog_proof_write(struct sv extra, uint64_t index, const struct ledger_proof *p,
		      struct sv checkpoint, struct str *to);
int tlog_proof_parse(struct sv text, struct tlog_proof *ret, struct err *err) MUST_USE;
void tlog_proof_release(struct tlog_proof *p);
/*
 * Signed by the key, and the entry bytes are at that index. -ERR_BROKEN says which does not hold;
 * -ERR_UNSUPPORTED: signed by other keys only. ret: the head it was checked against.
 */
int tlog_proof_check(const struct tlog_proof *p, struct sv entry, const struct note_key *log,
		     struct checkpoint *ret, struct err *err) MUST_USE;

/* "index <n>", "old <n>": a word, a blank and a decimal without leading zeros. */
bool tlog_number_line(struct sv line, const char *word, uint64_t *ret);
/* One hash in base64, alone on its line. */
bool tlog_hash_line(struct sv line, uint8_t ret[SHA256_LEN]);
void tlog_hash_lines(const struct ledger_proof *p, struct str *to);
