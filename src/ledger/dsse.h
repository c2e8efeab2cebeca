/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DSSE, "Dead Simple Signing Envelope" 1.0.2: a payload, its type and signatures over both.
 *
 *	PAE(type, payload) = "DSSEv1 " LEN(type) " " type " " LEN(payload) " " payload
 *
 * is what is signed, LEN in ASCII digits. The envelope is one line of JSON:
 *	{"payload":"<base64>","payloadType":"...","signatures":[{"keyid":"...","sig":"<base64>"}]}
 *
 * Signatures: ECDSA P-256 over SHA-256, in DER; or Ed25519 (pure). A key's id is the SHA-256 of its
 * public half as DER SubjectPublicKeyInfo; it is a hint, nothing is trusted because of it.
 */
#pragma once

#include "base/crypto.h"

struct err;

#define DSSE_MAX         (32 * MIB) /* of an envelope's text */
#define DSSE_SIGNATURES  64         /* at most in an envelope */
#define DSSE_TYPE_INTOTO "application/vnd.in-toto+json"

/* A key pair, or a public key alone (`can_sign` false). */
struct dsse_key {
	bool ed25519, can_sign;
	struct p256 p256; /* pkey only when it can sign */
	struct ed25519 ed;
	char *public_pem;
	uint8_t id[SHA256_LEN];
};
/* PEM: a private or a public key, P-256 or Ed25519. -ERR_PARSE: neither, or encrypted. */
int dsse_key_parse(struct sv pem, struct dsse_key *ret, struct err *err) MUST_USE;
/* A new P-256 pair, and its private half in PEM (wipe it). */
int dsse_key_make(struct dsse_key *ret, char **ret_pem, struct err *err) MUST_USE;
void dsse_key_release(struct dsse_key *k);

void dsse_pae(struct sv type, struct sv payload, struct str *to);
/* The bytes of a signature. P-256: they differ from call to call. */
void dsse_sign(const struct dsse_key *k, struct sv type, struct sv payload, struct str *to);
bool dsse_verify(const struct dsse_key *k, struct sv type, struct sv payload, struct sv sig);

struct dsse_signature {
	char *keyid; /* "" when there is none */
	char *sig;
	size_t n;
};
struct dsse_envelope {
	char *type, *payload;
	size_t payload_n;
	struct dsse_signature *v;
	size_t n, room;
};
/* Appends the envelope's line, without a newline. */
void dsse_write(const struct dsse_key *k, struct sv type, struct sv payload, struct str *to);
/* Unknown members are skipped, as DSSE wants; base64 may be that for URLs. */
int dsse_parse(struct sv text, struct dsse_envelope *ret, struct err *err) MUST_USE;
void dsse_envelope_release(struct dsse_envelope *e);
/* One of its signatures is by this key. */
bool dsse_signed_by(const struct dsse_envelope *e, const struct dsse_key *k);
