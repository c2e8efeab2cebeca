/* SPDX-License-Identifier: Apache-2.0 */
/* The server's own counters, kept as series beside the client's numbers. */
#pragma once

#include "load/http.h"
#include "load/load.h"
#include "load/target.h"

/* Values by what they mean; NAN: the page has none. Gives the number of known lines; 0: no page of
 * a server known here. kind: "vllm", "sglang", "llamacpp". */
size_t load_server_read(struct sv text, double ret[LOAD_SERVER_N], char kind[16]);

struct scraper;
/* *ret NULL: nothing offered, or not wanted. `to` is filled until scraper_stop. TLS as the run has
 * it; key: sent when the page is the target's own, NULL: none. */
int scraper_start(const struct load_conf *c, const struct target *t, const char *key,
		  struct load_server *to, struct scraper **ret, struct err *err) MUST_USE;
void scraper_stop(struct scraper *s); /* reads once more; NULL is fine */
void scraper_free(struct scraper *s);
static inline void scraper_freep(struct scraper **s)
{
	scraper_free(*s);
	*s = NULL;
}

void server_settle(struct load_server *s, int64_t t0); /* times from t0; sees a restart */
/* For the result (tokens and requests: what the client counted), and for raw samples and back. */
json_t *server_json(const struct load_server *s, int64_t tokens, int64_t requests) MUST_USE;
json_t *server_raw(const struct load_server *s) MUST_USE;
int server_unraw(const json_t *o, struct load_server *ret, struct err *err) MUST_USE;
