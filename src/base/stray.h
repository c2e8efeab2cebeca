/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descendants that left their process group (setsid, a double fork): a signal to the group does not
 * reach them. They are known by a tag in the environment that they began with, and because we are a
 * "child subreaper" they become our children when their parent is gone. Linux only: prctl(2),
 * proc(5). Who clears its environment and leaves escapes; a port that is still held tells of them.
 */
#pragma once

#include "base/defs.h"
#include <sys/types.h>

#define STRAY_NAME "TWICE_CHILD"
#define STRAY_TAG  48 /* bytes of "TWICE_CHILD=<pid>.<start>.<number>" with its NUL */

/* A new tag for the next child, an environment string; all of one process begin alike. */
void stray_tag(char ret[STRAY_TAG]);
/*
 * Ends with SIGKILL, and reaps, what carries exactly this tag and is our child by now, and reaps
 * what died in `group` and became ours. Waits for the dying, a second at most. Returns how many
 * were ended.
 */
unsigned stray_end(const char *tag, pid_t group);
/* Ends every process of this machine that carries a tag of the process that made `tag`. Allocates
 * nothing: for a process that was forked and goes on without exec. */
void stray_end_all(const char *tag);
