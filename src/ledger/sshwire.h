/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SSH's wire form and SSHSIG (PROTOCOL.sshsig of OpenSSH): keys, signatures, private key files.
 */
#pragma once

#include "base/crypto.h"
#include "ledger/ledger.h"

/* Takes a length-prefixed string off the front. */
bool ssh_take(struct sv *rest, struct sv *ret);
bool ssh_take_u32(struct sv *rest, uint32_t *ret);
void ssh_put(struct str *to, struct sv v);
void ssh_put_u32(struct str *to, uint32_t v);

/* Base64 of `blob` between BEGIN/END lines of `what`, 70 columns as ssh-keygen writes them. */
void ssh_armor(const char *what, struct sv blob, struct str *to);
bool ssh_unarmor(const char *what, struct sv text, struct str *ret_blob);

/* From the wire form. Refuses unknown types, RSA under 3072 bits and trailing bytes. */
int ssh_key_from_blob(struct sv blob, const char *comment, struct ssh_key *ret,
		      struct err *err) MUST_USE;
bool ssh_key_blob(const char *line, struct str *ret);
/* Is `sig` (wire form: type, signature) one of this key over these bytes? */
bool ssh_check(struct sv key_blob, struct sv sig, struct sv data);

/* The key in a signature, whatever it signs. */
int ssh_signer(struct sv armored, struct ssh_key *ret, struct err *err) MUST_USE;
/* The armored text as we store it, or false when it is none. */
bool ssh_sig_normal(struct sv armored, struct str *ret);
