/* SPDX-License-Identifier: Apache-2.0 */
/* DSSE envelopes, and keys in PEM: what is read is written and read again as the same. */
#include "base/err.h"
#include "ledger/dsse.h"

static const char public_key[] = "-----BEGIN PUBLIC KEY-----\n"
				 "MCowBQYDK2VwAyEAebMcGdg2WN4hG24iitGGZN/gLcG2dDXCBB/OwZ60VIE=\n"
				 "-----END PUBLIC KEY-----\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv text = { (const char *)data, size };
	struct dsse_envelope e CLEANUP(dsse_envelope_release) = { 0 };
	struct dsse_envelope again CLEANUP(dsse_envelope_release) = { 0 };
	struct dsse_key k CLEANUP(dsse_key_release) = { 0 };
	struct dsse_key known CLEANUP(dsse_key_release) = { 0 };
	struct str pae CLEANUP(str_release) = { 0 }, line CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	struct ed25519 seed;
	int rc;

	if (dsse_key_parse(text, &k, &err) == 0) {
		rc = dsse_key_parse(sv_of(k.public_pem), &known, &err);
		assert(rc == 0 && memcmp(known.id, k.id, SHA256_LEN) == 0);
		dsse_key_release(&known);
	}
	rc = dsse_key_parse(SV(public_key), &known, &err);
	assert(rc == 0);
	if (dsse_parse(text, &e, &err) < 0)
		return 0;
	assert(e.n > 0 && e.n <= DSSE_SIGNATURES);
	dsse_pae(sv_of(e.type), (struct sv){ e.payload, e.payload_n }, &pae);
	assert(pae.n > e.payload_n);
	(void)dsse_signed_by(&e, &known);
	/* Signed by a key of ours it is the same envelope. */
	ed25519_from_seed((const uint8_t *)"32 bytes of a seed, for the test", &seed);
	known.ed = seed;
	known.can_sign = true;
	dsse_write(&known, sv_of(e.type), (struct sv){ e.payload, e.payload_n }, &line);
	rc = dsse_parse(sv_str(&line), &again, &err);
	assert(rc == 0 && streq(again.type, e.type) && again.payload_n == e.payload_n &&
	       memcmp(again.payload, e.payload, e.payload_n) == 0);
	assert(dsse_signed_by(&again, &known));
	return 0;
}
