/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/cli.h"

struct witness_served {
	uint64_t requests, cosigned, refused;
};

/*
 * C2SP tlog-witness over HTTP/1.1 until a signal comes: POST /add-checkpoint, GET
 * /<sha256 of origin>/checkpoint. One connection at a time, each has SERVE_LIMIT_S seconds and one
 * request; a proxy in front does TLS and crowds. listen: "ADDRESS:PORT", an IPv4 address or
 * [an IPv6 one]; port 0: any, told by cli_note. log_vkey: a log to be known besides those that are.
 */
#define SERVE_LIMIT_S 5
int witness_serve(struct cli *cli, struct ledger_witness *w, const char *state_dir,
		  const char *listen, const char *log_vkey, struct witness_served *ret,
		  struct err *err) MUST_USE;
