/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#pragma once

#include "base/yaml.h"
#include "contract/contract.h"

/* One reading of a file: where mistakes go and what names mean. */
struct reading {
	struct problems *bad;
	const struct yaml *files; /* stack.files: its keys are placeholders; NULL: none */
	bool model;               /* {model} has a meaning */
	const struct field
		*tables; /* the whole contract, to say where a strayed key belongs; NULL */
	struct str path; /* of the map that is read: "workload_check.load"; "" at the top */
};

/* So many mistakes were found that no more are kept: a look for near names is idle. */
static inline bool is_full(const struct reading *r)
{
	return r->bad->n >= PROBLEMS_MAX;
}
void complain(struct reading *r, unsigned line, unsigned col, const char *fmt, ...) PRINTF(4, 5);
/* "'soon'", "nothing", "a list", "a map": what stands there, for messages. Caller frees. */
char *yaml_got(const struct yaml *y) MUST_USE;
/* " (nearest: 'x')" or "". Caller frees. */
char *nearest_text(const char *got, const char *const *names) MUST_USE;
/* "a, b and c". Caller frees. */
char *names_text(const char *const *names, const char *last) MUST_USE;

/* field.c: a map (or, with brief, another value) into conf, which holds the defaults. */
void fields_read(struct reading *r, const struct field *fields, const struct yaml *y, void *conf);

/* value.c: single values. `p` points at the member. */
void value_read(struct reading *r, const struct field *f, const struct yaml *y, void *p);
void value_default(const struct field *f, void *p);
void value_release(const struct field *f, void *p);
/* The number of a text in base units of `unit`; complains under `key` otherwise. */
bool quantity_read(struct reading *r, const char *key, const struct yaml *y, struct sv text,
		   enum unit unit, double *ret);
bool key_ok(struct reading *r, const struct field *f, const struct yaml *y);
struct items { /* how every list of structs looks */
	char *v;
	size_t n, room;
};

/* limit.c */
const char *unit_phrase(enum unit u);      /* "a time such as '250 ms'" */
const char *unit_subject(enum unit u);     /* "a time" */
bool unit_in_range(enum unit u, double v); /* values that a measured thing can have at all */
bool limit_read(struct reading *r, const char *key, const struct yaml *y, struct sv text,
		enum unit unit, struct limit *ret);
/* Takes "<=" and the like off the front; LIMIT_NONE when there is none. */
enum limit_op limit_op_take(struct sv *text);
json_t *limit_to_json(const struct limit *l);

/* placeholder.c */
void placeholders_check(struct reading *r, const char *key, const struct yaml *y, const char *text);
extern const char *const placeholder_names[]; /* the fixed ones */

/* tables.c */
extern const struct field contract_fields[], check_common_fields[];
extern const char *const component_layer_names[], *const workload_kind_names[],
							  *const exclude_names[];
struct check_common { /* what every entry of a layer's list may say */
	char *name, *owner, *about;
	bool required;
};

/* command.c */
extern const struct field command_fields[];
int command_valid(void *conf, struct err *err);

/* told.c: what a workload says by item. */
int items_valid(void *conf, struct err *err);
int texts_valid(void *conf, struct err *err);
int setting_valid(void *conf, struct err *err);
void told_check(struct reading *r, const struct yaml *root, const struct contract *c);

/* metrics.c: metrics, objectives, margins. */
enum { METRIC_NAMES_MAX = 200 };
/* Names the contract's workload can be measured by, NULL-ended; borrowed. */
void metric_names(const struct contract *c, const char *ret[METRIC_NAMES_MAX]);
const char *workload_how_name(enum workload_how how); /* "serve" "train" "command" */

void metrics_help(struct str *ret); /* all of them as text for people */

/* objective.c */
void objectives_read(struct reading *r, const struct yaml *root, struct contract *c);
void compare_read(struct reading *r, const struct yaml *root, struct contract *c);
json_t *objectives_to_json(const struct contract *c);
json_t *compare_to_json(const struct contract *c);
void margins_release(struct margins *l);
void objectives_release(struct objectives *l);

/* rules.c: what concerns several parts. */
void rules_check(struct reading *r, const struct yaml *root, struct contract *c);
void looks_default(int64_t at_most, struct ints *ret);
