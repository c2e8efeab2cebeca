/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as people write settings in it: libyaml's events become a tree that knows line and column.
 *
 *	struct yaml doc CLEANUP(yaml_release) = { 0 };
 *	TRY(yaml_parse(text, &doc, err));            "7:3: 'pins' given twice (first on line 4)"
 *	const struct yaml *pins = yaml_get(&doc, "pins");
 *
 * One document of UTF-8 (a byte order mark is fine) of at most YAML_MAX_BYTES. Refused, each with
 * its place: a key given twice, keys that are not plain words, anchors, aliases, tags, directives,
 * a second document, control bytes, more than YAML_MAX_DEPTH levels or YAML_MAX_NODES values. So a
 * file of a few bytes can't grow into a large tree, and no value changes its type behind the
 * reader's back: every scalar is text, and who reads it decides what it is.
 *
 * Lines and columns count from 1; columns count characters. An empty text gives a scalar "".
 */
#pragma once

#include "base/str.h"

struct err;

#define YAML_MAX_BYTES (4 * MIB)
#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 100000

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_kind kind;
	bool quoted; /* a scalar in quotes or as a block: text even when it looks like a number */
	unsigned line, col;
	char *text; /* scalar: its value, NUL-ended, without NUL inside; else NULL */
	char *key;  /* the name of this value in its map; NULL in a list and at the top */
	unsigned key_line, key_col;
	struct yaml *v; /* items of a list, values of a map, in the order of the file */
	size_t n, room;
};

/* On failure the message begins with "line:col: ". */
int yaml_parse(struct sv text, struct yaml *ret, struct err *err) MUST_USE;
void yaml_release(struct yaml *y);
/* The value of a key of a map; NULL when it is not there or `y` is no map. */
const struct yaml *yaml_get(const struct yaml *y, const char *key);
/* A plain empty scalar, "null" or "~": a key without a value. */
bool yaml_is_null(const struct yaml *y);
const char *yaml_kind_name(enum yaml_kind k); /* "text", "a list", "a map": for messages */
/* The tree as YAML flow text that parses to an equal tree (every scalar in double quotes). */
void yaml_write(const struct yaml *y, struct str *ret);
bool yaml_equal(const struct yaml *a, const struct yaml *b); /* kinds, keys in order, texts */
