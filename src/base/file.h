/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads with a limit, atomic writes, folders. Paths are bytes; nothing follows "~". */
#pragma once

#include "base/defs.h"

struct err;
struct str;
struct strs;

/* The whole file, NUL-ended; ret_n may be NULL. Over `limit` bytes: -ERR_LIMIT. /proc and /sys
 * files (size 0) are read to their end. Not there: -ERR_NOT_FOUND. Caller frees. */
int file_read(const char *path, size_t limit, char **ret, size_t *ret_n, struct err *err) MUST_USE;
/* First line without its newline, trimmed; NULL when the file can't be read. Caller frees. */
char *file_first_line(const char *path) MUST_USE;
/* Temporary name beside it, fsync, rename, fsync of the folder: whole or not at all. */
int dir_sync(const char *dir, struct err *err) MUST_USE; /* names in it are on the disk */
int file_write(const char *path, const void *p, size_t n, unsigned mode, struct err *err) MUST_USE;
bool file_exists(const char *path);
bool dir_exists(const char *path);
int dir_make(const char *path, struct err *err) MUST_USE; /* with parents, 0777 & ~umask */
/* Names in a folder without "." and "..", sorted by bytes. Not there: -ERR_NOT_FOUND. */
int dir_list(const char *path, struct strs *ret, struct err *err) MUST_USE;
int dir_remove(const char *path, struct err *err) MUST_USE; /* a whole tree; follows no links */
/*
 * A new folder under TMPDIR or /tmp: "<tmp>/twice-<tag>-XXXXXX". Caller frees the name and removes
 * the folder. It is locked (flock(2)) while the process lives; folders of the same tag and user
 * whose makers are gone, killed before they could remove them, are removed after a minute.
 */
int dir_temp(const char *tag, char **ret, struct err *err) MUST_USE;
char *path_join(const char *dir, const char *name) MUST_USE; /* an absolute name wins */
char *path_dir(const char *path) MUST_USE;                   /* "." when there is no slash */
const char *path_base(const char *path);
char *path_real(const char *path) MUST_USE; /* NULL when it can't be resolved */
/* The program as execvp would find it in PATH (or `path_env` when not NULL); NULL when not there.
 */
char *path_program(const char *name, const char *path_env) MUST_USE;
