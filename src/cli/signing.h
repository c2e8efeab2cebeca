/* SPDX-License-Identifier: Apache-2.0 */
/* What people sign: the key, the entry's bytes shown before, one signature or one more. */
#pragma once

#include "cli/cli.h"

/* The key of --key, else ~/.ssh/id_ed25519, else one that is made beside the ledger. Caller
 * frees. */
int signing_key(struct cli *cli, const char *given, char **ret, struct err *err) MUST_USE;
/*
 * Whose key it is. The first signer of a ledger is made known by a key.add that their own key
 * signs; any other has to be known and to have the role that the policy wants for `kind`. Caller
 * frees ret_holder.
 */
int signing_holder(struct cli *cli, const char *key, const char *kind, char **ret_holder,
		   struct err *err) MUST_USE;
/* Draws the entry up, prints the digest that is signed, signs, appends. */
int signing_append(struct cli *cli, const char *kind, const json_t *body, const char *holder,
		   const char *key, struct ledger_ref *ret, struct err *err) MUST_USE;
/* One more signature on an entry of one of these kinds (NULL-ended) that is pending. */
int signing_more(struct cli *cli, const char *name, const char *const *kinds, const char *key,
		 struct ledger_ref *ret, struct err *err) MUST_USE;
/* "Sign this as ...? [y/N]" on a terminal; elsewhere, and with yes, nothing is asked. */
int signing_agreed(const struct cli *cli, bool yes, const char *what, struct err *err) MUST_USE;
/* Checkpoint, then how the entry stands: "entry", "seq", "in_force", "why", "log_size", "log_root".
 * The exit code: 0, or 2 when more signatures are needed. */
int signing_done(struct cli *cli, const struct ledger_ref *ref, json_t *v,
		 struct err *err) MUST_USE;
void signing_done_text(const json_t *v, struct str *out);
