/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the logs of several runs of both arms say side by side. Pure. Part of the room's public
 * header diagnose.h.
 *
 *	struct diagnose_logs l = { .all = &catalogue };            NULL: lines that turned over only
 *	diagnose_logs_add(&l, ARM_ACCEPTED, true, text);           once a log, in any order
 *	diagnose_logs_add(&l, ARM_CANDIDATE, ended_well, text);
 *	diagnose_logs_compare(&l);
 *	in.signs = l.signs.v, in.flips = l.flips.v ...             borrow until it is released
 *	diagnose_logs_release(&l);
 *
 * A log differs from the next one in times, ranks, addresses and counts. So a line is taken without
 * them, and counts as an arm's only when every log of that arm has it: what is in all accepted logs
 * and in no candidate's (or the other way round) is a difference, the rest is chance. Two such
 * lines that are one word apart are a flip ("using backend A" / "using backend B"); a good marker
 * (role positive_marker) that every accepted log has and none of the candidate's is one too.
 * A log that broke off early lacks all that would have come later: there a marker is missed only if
 * a later line of the accepted logs is there.
 */
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/signature.h"

enum {
	DIAGNOSE_LOG_LINES = 3000,     /* different lines that are kept of each log */
	DIAGNOSE_LOG_LINE_BYTES = 600, /* longer ones are no start-up lines */
	DIAGNOSE_LOG_DIFFERENT = 400,  /* of each arm, that are compared with the other's */
	DIAGNOSE_LOG_MAX_FLIPS = 16,
};

struct diagnose_line {
	char *words; /* without what differs from run to run */
	char *text;  /* as it stood in the first log that has it */
	unsigned logs;
	unsigned order; /* its place in that log */
};
struct diagnose_log_arm {
	struct diagnose_line *v; /* by words */
	size_t n, room;
	unsigned logs;
	unsigned well; /* of them, of runs that came to their end */
	struct signature_hits hits;
};
struct diagnose_logs {
	const struct signatures *all; /* borrowed */
	struct diagnose_log_arm arms[2];
	struct {
		struct diagnose_sign *v; /* borrow from the hits and the catalogue */
		size_t n, room;
	} signs;
	struct {
		struct diagnose_flip *v;
		size_t n, room;
	} flips;
	struct strs words;
};
void diagnose_logs_release(struct diagnose_logs *l);
/* ended_well: the run came to its end, so that what is not in its log was not said. */
void diagnose_logs_add(struct diagnose_logs *l, enum diagnose_arm arm, bool ended_well,
		       struct sv text);
/* Signatures only: the output of a check, which only one run may have. */
void diagnose_logs_signs(struct diagnose_logs *l, enum diagnose_arm arm, struct sv text);
void diagnose_logs_compare(struct diagnose_logs *l);
