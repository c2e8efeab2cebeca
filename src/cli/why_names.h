/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that say where and by whom something ran, out of texts that leave the house: hosts (of
 * URLs, of NCCL's, the kernel's and mpirun's lines, behind words such as `host=`), users of paths,
 * mail addresses, IPv4 and IPv6 addresses, MAC addresses, UUIDs, serial numbers. The same name gets
 * the same placeholder in all texts ("<host-2>"), so that lines can still be told apart.
 *
 *	struct names n = { 0 };
 *
 *	names_keep(&n, "9.1.0.70");             a version, no address
 *	names_learn(&n, a); names_learn(&n, b); all texts first
 *	text = names_hide(&n, a);               then each
 *	names_release(&n);
 *
 * Left as they are: loopback and any-address, localhost, a few public sites, roles (root).
 */
#pragma once

#include "base/json.h"

struct names {
	json_t *known; /* name in lower case: placeholder */
	json_t *keep;  /* words that are no names here */
	unsigned count[8];
};
void names_release(struct names *n);
void names_keep(struct names *n, const char *word); /* NULL: nothing */
void names_learn(struct names *n, const char *text);
char *names_hide(struct names *n, const char *text) MUST_USE;
