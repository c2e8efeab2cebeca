/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2SP signed-note with Ed25519, and the tlog-checkpoint in it: "origin\nsize\nbase64(root)\n", a
 * blank line, signature lines "— name base64(key id || signature)\n". Witness cosignatures are
 * tlog-cosignature (type 0x04): key id || 8 bytes of time || signature over "cosignature/v1\ntime
 * T\n" and the text.
 */
#pragma once

#include "base/crypto.h"

struct err;

#define NOTE_MAX (64 * KIB)

enum note_type { NOTE_ED25519 = 1, NOTE_COSIGNATURE = 4 };

/* Who may sign, written "name+key id in hex+base64(type || public key)". */
struct note_key {
	char *name;
	enum note_type type;
	uint8_t id[4], public[ED25519_LEN];
};
struct note_keys {
	struct note_key *v;
	size_t n, room;
};
int note_key_parse(struct sv vkey, struct note_key *ret, struct err *err) MUST_USE;
void note_key_release(struct note_key *k);
void note_keys_release(struct note_keys *k);
void note_key_of(const char *name, enum note_type type, const uint8_t public[ED25519_LEN],
		 struct note_key *ret);
char *note_vkey(const struct note_key *k) MUST_USE;
/* No blanks, no '+', no control characters, not empty, UTF-8, at most 255 bytes. */
bool note_name_fits(struct sv name);

/* The private half as kept in ledger.key: "PRIVATE+KEY+name+id+base64(1 || seed)\n". */
char *note_secret(const char *name, const struct ed25519 *key) MUST_USE;
int note_secret_parse(struct sv text, char **ret_name, struct ed25519 *ret,
		      struct err *err) MUST_USE;

struct note_line {
	struct sv name;
	uint8_t id[4];
	uint8_t sig[8 + ED25519_SIG]; /* after the key id */
	size_t n;
};
struct note_lines {
	struct note_line *v;
	size_t n, room;
};
struct note {
	struct sv text; /* with its last newline; points into what was parsed */
	struct note_lines lines;
};
int note_parse(struct sv bytes, struct note *ret, struct err *err) MUST_USE;
void note_release(struct note *n);
/* "— name base64\n" */
void note_sign(struct sv text, const char *name, const struct ed25519 *key, struct str *to);
void note_cosign(struct sv text, const char *name, const struct ed25519 *key, int64_t time_s,
		 struct str *to);
enum note_check { NOTE_GOOD, NOTE_BAD, NOTE_OTHER_KEY };
/* ret_time (may be NULL): of a cosignature. */
enum note_check note_line_check(const struct note *n, const struct note_line *l,
				const struct note_key *k, int64_t *ret_time);

struct checkpoint {
	struct sv origin;
	uint64_t size;
	uint8_t root[SHA256_LEN];
};
/* Exactly three lines: extension lines are refused. */
int checkpoint_parse(struct sv text, struct checkpoint *ret, struct err *err) MUST_USE;
void checkpoint_text(const char *origin, uint64_t size, const uint8_t root[SHA256_LEN],
		     struct str *to);
