/* SPDX-License-Identifier: Apache-2.0 */
/* Writes down what a capture reads, as a recorded machine. Failures are kept: the first one ends
 * the
 * recording with an error. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct facts;
struct source;

struct recorder {
	char *dir;
	json_t *files;     /* facts.json's "files" */
	struct strs hide;  /* texts to replace: the host's names */
	struct err failed; /* code 0: all well so far */
};
int recorder_open(const char *dir, struct recorder **ret, struct err *err) MUST_USE;
void recorder_free(struct recorder *r);
/* The environment, facts.json. */
int recorder_close(struct recorder *r, const struct source *s, struct err *err) MUST_USE;

void save_text(struct recorder *r, const char *path, struct sv text);
void save_dir(struct recorder *r, const char *path);
void save_there(struct recorder *r, const char *path, bool folder);
void save_link(struct recorder *r, const char *path, const char *target);
void save_command(struct recorder *r, const char *name, struct sv out, int exit_code);
void save_facts(struct recorder *r, const struct facts *f);

/* Host names, UUIDs, MAC addresses, serial lines and secrets become made-up text of the same
 * shape, so
 * that readers still find what they look for. */
char *save_redact(const struct strs *hide, struct sv text) MUST_USE;
