/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON is jansson's json_t (strict; duplicates refused). These helpers add error texts and short
 * ways to read members. References are jansson's; everything else follows the house rules.
 */
#pragma once

#include "base/str.h"
#include <jansson.h>

struct err;

/* AUTO_JSON json_t *j = NULL;  dropped at the end of the scope (jansson's own clean-up) */
#define AUTO_JSON CLEANUP(json_decrefp)

/* `what` names the text in messages ("'run.json'"). Refuses duplicates and trailing text. */
int json_read(struct sv text, const char *what, json_t **ret, struct err *err) MUST_USE;
char *json_text(const json_t *j, bool pretty) MUST_USE; /* sorted keys; pretty: indent 2 */

/* Members that must be there with the right type: -ERR_PARSE names the key. */
int json_get_str(const json_t *o, const char *key, const char **ret, struct err *err) MUST_USE;
int json_get_int(const json_t *o, const char *key, int64_t *ret, struct err *err) MUST_USE;
int json_get_obj(const json_t *o, const char *key, json_t **ret, struct err *err) MUST_USE;
int json_get_arr(const json_t *o, const char *key, json_t **ret, struct err *err) MUST_USE;
/* Members that may be absent: the value or the default. */
const char *json_str_or(const json_t *o, const char *key, const char *def);
int64_t json_int_or(const json_t *o, const char *key, int64_t def);
bool json_bool_or(const json_t *o, const char *key, bool def);
/* Sets a member; takes over `v`; a NULL v leaves the member out. */
void json_put(json_t *o, const char *key, json_t *v);
void json_put_str(json_t *o, const char *key,
		  const char *v); /* NULL: left out; bad UTF-8 is cleaned */
void json_put_int(json_t *o, const char *key, int64_t v);
void json_put_bool(json_t *o, const char *key, bool v);
/* Appends a formatted text to an array. */
void json_put_line(json_t *array, const char *fmt, ...) PRINTF(2, 3);
