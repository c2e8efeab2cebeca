/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests go, and their bytes, ready before the run. */
#pragma once

#include "load/load.h"

#include <sys/socket.h>

struct target {
	char *host, *path; /* host without brackets, or the socket's path */
	char *authority;   /* for the Host header */
	uint16_t port;
	bool tls, unix_socket;
	char *tunnel;                 /* what a proxy is asked first; NULL: none */
	struct sockaddr_storage addr; /* where to connect to: the proxy's, if there is one */
	socklen_t addr_len;
};

/* Reads the URL; opens nothing. */
int target_parse(const char *url, enum load_endpoint endpoint, struct target *ret,
		 struct err *err) MUST_USE;
/*
 * Finds the address. Of several ("localhost" is ::1 and 127.0.0.1) the first that accepts a
 * connection is taken, and the first at all when none does; that is tried only when there are
 * several.
 */
int target_resolve(struct target *t, struct err *err) MUST_USE;
/* The same through a proxy: the target's name is the proxy's business. */
int target_through(struct target *t, const char *proxy, struct err *err) MUST_USE;
void target_release(struct target *t);

/* One prompt as a request: head (up to its last two header lines), body. */
struct wire {
	char *head, *body;
	size_t head_n, body_n;
	uint32_t asked;     /* max_tokens */
	uint8_t digest[32]; /* of the body */
};
struct wires {
	struct wire *v;
	size_t n;
};
int wires_render(const struct load_conf *c, const struct target *t, const char *key,
		 struct wires *ret, struct err *err) MUST_USE;
void wires_release(struct wires *w); /* wipes the heads: they hold the key */
