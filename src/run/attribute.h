/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run knows beside its verdict, for the attribution: logs of both arms, metrics that moved
 * or did not, checks of the same run as controls, kernel times, and swaps that earlier runs and
 * searches made. Whatever of it can't be read is told and left out: it makes an attribution
 * weaker, never a run fail.
 */
#pragma once

#include "diagnose/diagnose.h"
#include "run/going.h"

/* "changes" and "attribution" of a verdict's body: the latter of what was rejected, of what has no
 * result (what failed, or what was not measured), of what could not be compared. */
void run_attribute(struct going *g, const struct verdict *v, json_t *body);

/* ---- between attribute.c and swaps.c ---- */

struct swaps {
	struct diagnose_probe *v;
	size_t n, room;
	struct strs words; /* that the probes borrow */
};
void swaps_release(struct swaps *l);
/* Runs and trials of the ledger that differ from one arm in one component: what came of them says
 * whether that component did it. */
int swaps_read(struct going *g, const struct verdict *v, const struct changes *changes,
	       struct swaps *ret, struct err *err) MUST_USE;
/* Where a repetition stands between the arms by the metrics that reject: good, bad, between. */
enum diagnose_outcome swap_outcome(const struct verdict *v, const struct reps *l, char **ret_text);
