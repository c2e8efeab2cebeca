/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's package database, read directly: /var/lib/dpkg/status and info/NAME.list. */
#pragma once

#include "base/str.h"

struct source;

struct package {
	char *name, *arch, *version;
};
struct dpkg {
	struct package *v; /* installed ones, by name, then arch */
	size_t n, room;
	bool there;
	char *why; /* when not there */
	/* every info/NAME.list in one text, "\n" before each path; NULL until needed */
	char *lists;
	size_t lists_n;
	struct list_at {
		size_t at; /* where the package's paths begin */
		char *package;
	} * at;
	size_t at_n, at_room;
};
/* The status file's text -> packages. Pure. */
void dpkg_parse(struct dpkg *d, struct sv text);
void dpkg_free(struct dpkg *d);
struct dpkg *dpkg_of(struct source *s); /* never NULL; read once a capture */
/* Version of "NAME" or "NAME:ARCH"; NULL when it is not installed. */
const char *dpkg_version(const struct dpkg *d, const char *name);
/* "NAME:ARCH" or "NAME" of the package that owns the path; NULL: none. Only on this machine. */
char *dpkg_owner(struct source *s, const char *path) MUST_USE;
/* "0.3.21+ds-4" -> "0.3.21": without epoch and Debian revision and the +ds, +dfsg parts. */
char *version_upstream(const char *version) MUST_USE;
/* Status text with nothing but what dpkg_parse reads, for a recorded machine. */
char *dpkg_pruned(const struct dpkg *d) MUST_USE;
