/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader answered, with the proof that it would answer the same again: every file and
 * folder that was looked at on the way, as it was. A folder stands for all names in it, also for
 * those that were looked for and are not there: its times move when a name comes or goes.
 *
 *	struct memo m CLEANUP(memo_release) = { .before_ns = ... };
 *	memo_saw(&m, folder); memo_loader(&m, what LD_DEBUG=libs said); memo_lib(&m, name, path);
 *	if (memo_text(&m))      cache_put(..., memo_text(&m), ...)
 *	later: memo_read(text, &list): true only when everything is as it was
 *
 * A memo is kept only when nothing in it moved after `before_ns`, so that no change during the
 * asking is missed, and when the loader said where it looked.
 */
#pragma once

#include "base/str.h"

struct loaded_list;

struct memo {
	int64_t before_ns; /* CLOCK_REALTIME; what is younger can't be vouched for */
	bool unsure;       /* no proof: not to be kept */
	struct str proof, libs;
	struct strs seen;
};
void memo_release(struct memo *m);
/* A file or folder that was read, or looked for and not found. */
void memo_saw(struct memo *m, const char *path);
/* What ld.so wrote for LD_DEBUG=libs. */
void memo_loader(struct memo *m, struct sv debug);
/* A part of the answer; that file is part of the proof. */
void memo_lib(struct memo *m, const char *name, const char *path);
/* One line, caller frees; NULL: not to be kept. */
char *memo_text(const struct memo *m);
/* False when anything moved since, or the text is not one of ours; ret is touched only on true. */
bool memo_read(const char *text, struct loaded_list *ret);
