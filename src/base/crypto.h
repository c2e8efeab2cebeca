/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests, encodings, signatures and random bytes: the only place that knows OpenSSL's EVP.
 *
 *	uint8_t d[SHA256_LEN];
 *	sha256(p, n, d);                                  one shot
 *
 *	struct sha256 h CLEANUP(sha256_release) = { 0 };  in pieces
 *	sha256_init(&h);
 *	sha256_add(&h, p, n);
 *	sha256_end(&h, d);                                ready for sha256_init again
 *
 * Functions without a `struct err` cannot fail on any input; were OpenSSL to fail inside them (out
 * of memory, a build without SHA-256) they end the process like xmalloc does. The verify functions
 * answer only "is this a signature of that": a key or signature of a wrong shape is a plain false.
 */
#pragma once

#include "base/defs.h"
#include "base/str.h"

struct err;

#define SHA256_LEN  32
#define SHA256_HEX  65 /* with the NUL */
#define ED25519_LEN 32
#define ED25519_SIG 64

struct sha256 {
	void *ctx;
};

void sha256(const void *p, size_t n, uint8_t ret[SHA256_LEN]);
void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_end(struct sha256 *h, uint8_t ret[SHA256_LEN]);
void sha256_release(struct sha256 *h);
void sha256_hex(const void *p, size_t n, char ret[SHA256_HEX]);
/* The whole file. ret_bytes may be NULL. A folder, a device or a pipe is refused. */
int sha256_file(const char *path, uint8_t ret[SHA256_LEN], uint64_t *ret_bytes,
		struct err *err) MUST_USE;
int sha256_fd(int fd, const char *name, uint8_t ret[SHA256_LEN], uint64_t *ret_bytes,
	      struct err *err) MUST_USE; /* from where fd stands to the end */
void sha512(const void *p, size_t n, uint8_t ret[64]);
void sha384(const void *p, size_t n, uint8_t ret[48]);

/* Lower-case hex; ret holds 2n + 1 bytes. */
void hex_of(const void *p, size_t n, char *ret);
/* Exactly 2n lower-case hex digits, or false. */
bool hex_to(struct sv text, void *ret, size_t n);
/* Lower-case hex digits only, and exactly 64 of them. */
bool hex_is_sha256(struct sv text);

/* RFC 4648 §4 with padding, no line breaks. The caller frees. */
char *base64_of(const void *p, size_t n) MUST_USE;
void base64_add(struct str *s, const void *p, size_t n);
/* Strict: padded, no blanks, unused bits zero. Fails also when more than `room` bytes come out. */
bool base64_to(struct sv text, void *ret, size_t room, size_t *ret_n);

struct ed25519 {
	uint8_t seed[ED25519_LEN], public[ED25519_LEN];
};

int ed25519_make(struct ed25519 *ret, struct err *err) MUST_USE;
void ed25519_from_seed(const uint8_t seed[ED25519_LEN], struct ed25519 *ret);
void ed25519_sign(const struct ed25519 *key, const void *p, size_t n, uint8_t ret[ED25519_SIG]);
bool ed25519_verify(const uint8_t public[ED25519_LEN], const void *p, size_t n,
		    const uint8_t sig[ED25519_SIG]);

enum ec_curve { EC_P256, EC_P384, EC_P521 };

/* ECDSA over SHA-256, -384 or -512 (by curve). point: 0x04 || X || Y. r, s: big-endian, any length.
 */
bool ecdsa_verify(enum ec_curve curve, struct sv point, const void *p, size_t n, struct sv r,
		  struct sv s);
/* The same with a DER signature. */
bool ecdsa_verify_der(enum ec_curve curve, struct sv point, const void *p, size_t n, struct sv der);
/* RSA PKCS#1 v1.5 with SHA-256 (bits 256) or SHA-512 (bits 512). Numbers are big-endian. */
bool rsa_verify(struct sv modulus, struct sv exponent, int bits, const void *p, size_t n,
		struct sv sig);
unsigned rsa_bits(struct sv modulus);

/* A P-256 key pair: DER signatures; public as PEM (SubjectPublicKeyInfo), private as PEM (PKCS#8).
 */
struct p256 {
	void *pkey;
	uint8_t point[65];
};
int p256_make(struct p256 *ret, struct err *err) MUST_USE;
int p256_from_pem(struct sv pem, struct p256 *ret, struct err *err) MUST_USE;
char *p256_private_pem(const struct p256 *key) MUST_USE;
char *p256_public_pem(const uint8_t point[65]) MUST_USE;
int p256_point_from_pem(struct sv pem, uint8_t ret[65], struct err *err) MUST_USE;
void p256_sign(const struct p256 *key, const void *p, size_t n, struct str *ret_der);
void p256_release(struct p256 *key);
char *ed25519_public_pem(const uint8_t public[ED25519_LEN]) MUST_USE;
/* An unencrypted private key (PKCS#8) or a public one (SubjectPublicKeyInfo). */
int ed25519_from_pem(struct sv pem, struct ed25519 *ret, struct err *err) MUST_USE;
int ed25519_public_from_pem(struct sv pem, uint8_t ret[ED25519_LEN], struct err *err) MUST_USE;

int random_bytes(void *ret, size_t n, struct err *err) MUST_USE;
/* Overwrites secrets in a way that the compiler keeps. */
void wipe(void *p, size_t n);
void ed25519_wipe(struct ed25519 *key);
