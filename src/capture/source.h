/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where probes read: this machine, or the folder of a recorded one, behind the same calls, so that
 * a probe
 * can't tell the difference. While a machine is being saved every answer is written down as well.
 *
 * Paths are always those of the captured machine ("/proc/version"). A call that fails gives NULL
 * or false
 * and puts the reason into source.why, fit for a component's note.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "capture/cache.h"
#include "capture/capture.h"
#include "capture/facts.h"
#include "model/model.h"

struct recorder;

struct source {
	const struct capture_conf *conf;
	struct stack *out;
	char *root;            /* "" or "FOLDER/root" */
	char *commands;        /* NULL or "FOLDER/cmd" */
	struct recorder *save; /* NULL unless capture_save */
	struct strs env;       /* what a process of the workload begins with: "K=V", sorted */
	json_t *facts;         /* recorded machine: facts.json's "files" */
	struct cache cache;
	struct facts_list known; /* of this capture */
	struct dpkg *dpkg;       /* read on first use */
	int64_t now_ns;
	char *program_dir; /* where a program was found by PATH, for the recording */
	char why[300];
};
int source_open(struct source *s, const struct capture_conf *conf, struct err *err) MUST_USE;
void source_release(struct source *s);
bool source_recorded(const struct source *s);

/* At most `limit` bytes of a file; what is longer is cut without a word. Caller frees. */
char *src_text(struct source *s, const char *path, size_t limit);
/* First line, trimmed. */
char *src_line(struct source *s, const char *path);
/* A whole decimal number, or `none` when it can't be read. */
int64_t src_int(struct source *s, const char *path, int64_t none);
/* Names in a folder, sorted. */
bool src_list(struct source *s, const char *path, struct strs *ret);
bool src_there(struct source *s, const char *path);
/* After a call on `path` that failed: it is certainly not there, rather than unreadable. Where
 * /sys or
 * /proc itself is missing nothing below it is certain. */
bool src_absent(struct source *s, const char *path);
/* Last part of a symbolic link's target: drivers and modules in /sys. */
char *src_link(struct source *s, const char *path);
/* Digest, soname ... of a file or folder; NULL when it can't be read. Owned by the source. */
const struct facts *src_facts(struct source *s, const char *path);
/* What a command prints; exit code other than 0, time limit or no such program: NULL and why.
 * NAME is its file in a recorded machine. argv[0] by PATH. env: "K=V" list or NULL. */
char *src_command(struct source *s, const char *name, const char *const *argv,
		  const char *const *env);
/* The same, and what it wrote to stderr; caller frees both. *ret_err is NULL when that is not
 * known in full. */
char *src_command_both(struct source *s, const char *name, const char *const *argv,
		       const char *const *env, char **ret_err);
/* A variable of the workload's environment; NULL: not set. */
const char *src_env(const struct source *s, const char *name);
bool src_cancelled(const struct source *s);

/* Keeps a reason in s->why. */
void src_why(struct source *s, const char *fmt, ...) PRINTF(2, 3);

/* A component whose version is known, or unknown because of s->why when version is NULL. */
struct component *put(struct source *s, enum component_layer layer, const char *name,
		      const char *version, const char *origin);
struct component *putf(struct source *s, enum component_layer layer, const char *name,
		       const char *origin, const char *fmt, ...) PRINTF(5, 6);
void put_note(struct component *c, const char *fmt, ...) PRINTF(2, 3);
void put_digest(struct component *c, const char *hex);
#define NONE_FOUND "none found"
