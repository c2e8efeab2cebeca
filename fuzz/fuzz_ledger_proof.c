/* SPDX-License-Identifier: Apache-2.0 */
/* tlog-proofs, and what a witness is asked: read, written, read again. */
#include "base/err.h"
#include "ledger/ledger.h"
#include "ledger/witness.h"

static void proof(struct sv text)
{
	struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
	struct tlog_proof again CLEANUP(tlog_proof_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct ed25519 log;
	struct checkpoint cp;
	struct err err = ERR_INIT;
	int rc;

	if (tlog_proof_parse(text, &p, &err) < 0)
		return;
	assert(p.n <= TLOG_PROOF_HASHES && p.checkpoint.n);
	tlog_proof_write((struct sv){ p.extra ? p.extra : "", p.extra_n }, p.index,
			 &(struct ledger_proof){ p.hash, p.n }, p.checkpoint, &s);
	rc = tlog_proof_parse(sv_str(&s), &again, &err);
	assert(rc == 0 && again.index == p.index && again.n == p.n && again.extra_n == p.extra_n &&
	       sv_eq(again.checkpoint, p.checkpoint));
	ed25519_from_seed((const uint8_t *)"32 bytes of a seed, for the test", &log);
	note_key_of("log.example", NOTE_ED25519, log.public, &key);
	/* No input holds a signature of it. */
	rc = tlog_proof_check(&p, SV("entry"), &key, &cp, &err);
	assert(rc < 0);
}

static void request(struct sv text)
{
	struct witness_request r, again;
	struct str s CLEANUP(str_release) = { 0 }, merged CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	int rc;

	if (witness_request_parse(text, &r, &err) < 0)
		return;
	witness_request_write(r.old, &(struct ledger_proof){ r.hash, r.n }, r.checkpoint, &s);
	rc = witness_request_parse(sv_str(&s), &again, &err);
	assert(rc == 0 && again.old == r.old && again.n == r.n &&
	       sv_eq(again.checkpoint, r.checkpoint));
	rc = note_merge(r.checkpoint, (struct sv){ 0 }, &(struct note_filter){ 0 }, &merged, &err);
	assert(rc <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv text = { (const char *)data, size };

	proof(text);
	request(text);
	return 0;
}
