/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of one file: digest, ELF names, the package that brought it. */
#pragma once

#include "base/json.h"
#include "base/str.h"

struct source;

struct facts {
	char *path; /* as asked for */
	char *real; /* links resolved */
	char digest[65];
	uint64_t bytes;
	bool folder;
	bool elf;
	char *soname, *build_id; /* NULL: none */
	struct strs needed;
	char *package; /* "libopenblas0-pthread:amd64"; NULL: no package, or not known */
};
struct facts_list {
	struct facts **v;
	size_t n, room;
};
void facts_list_release(struct facts_list *l);
void facts_free(struct facts *f);

/* On this machine: reads, or takes from the cache (quick only). NULL and s->why. */
struct facts *facts_read(struct source *s, const char *path);
/* Of a recorded machine's facts.json, and into it. */
struct facts *facts_from_json(const char *path, const json_t *j);
json_t *facts_to_json(const struct facts *f);
/* The form in the cache: fields by tab, "-" for none. */
char *facts_line(const struct facts *f);
bool facts_from_line(const char *line, struct facts *f);
