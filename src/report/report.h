/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as a document. A value goes in, text comes out: no files, no clock, no ledger; the same
 * value gives the same bytes. Who makes the value (from the ledger) is somebody else's business.
 *
 *	struct str page CLEANUP(str_release) = { 0 };
 *	report_html(value, &page);
 *
 * The value, "twice.report/1"; all but `verdict` may be absent, and what is absent is said or left
 * out, never made up. Numbers are a record's: integers in the unit's scale, "inf", "-inf", null.
 *	tool_version	text
 *	entry		{seq, leaf, at, by}: the verdict's entry in the ledger
 *	verdict		body of that entry: {run, workload, decision, changes, attribution, ...}
 *	times		{begun, ended: "2026-12-01T10:04:00.000Z", took_ns}
 *	contract	{digest, source: the text as it was written}
 *	stack		{digest, components: [as stack_to_json() writes them]}
 *	accepted	{run, leaf, by, at, note}: the sign-off that the run is compared with
 *	signoffs	[{leaf, seq, by, at, note, standing, why, holders, expires_at_ms}]: of this
 *			run
 *	search		what the newest `twice bisect` of this verdict found: {run, entry, seq, at,
 *			state, reason, metric, answer, components, trials, refused, factorial}
 *	checks		[outcome]: as outcome_to_json() writes them, in their order
 *	reps, bank	[{leaf, seq, ... as rep_to_json() writes them}]: of this run's series; of
 *			what it is compared with
 *	evidence	[{label, digest, bytes, media_type, of: "repetition 1"}]
 *	log		{origin, size, root, key}
 *
 * Texts in it are hostile: names, notes, reasons and what tools printed may hold anything. They are
 * escaped for the format they go to; what no XML can hold, and marks that turn the direction of
 * writing around, become U+FFFD.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"

#define REPORT_IN_FORCE "in force" /* the standing of a sign-off that counts */

/* One page that asks for nothing outside itself and runs no script. */
void report_html(const json_t *report, struct str *out);
/* GitHub's dialect, for a comment, a step summary or a README; no HTML but <details>. */
void report_markdown(const json_t *report, struct str *out);
/* JUnit XML: one suite a layer, one for the verdict. Only an accepted run has no failure and no
 * error, whatever the checks did. */
void report_junit(const json_t *report, struct str *out);
/* The same cases as CTRF JSON (ctrf.io). */
void report_ctrf(const json_t *report, struct str *out);

/* The cause, its layer and who acts, and what brought it, of an attribution: "cause: BLAS, layer
 * kernellib (owner: math library); trigger: blas". Never empty: undetermined is said. */
void report_cause_line(const json_t *attribution, struct str *out);

/* ---- what a search found, in words without markup -------------------------------------------- */

/* Has it an answer, which counts for more than any suspicion? NULL: there was none. */
bool report_search_leads(const json_t *search);
/* "malloc: 98 % of the loss [97, 100], 100.0 % sure"; "undetermined: the limit of trials ..." */
void report_search_line(const json_t *search, struct str *out);
/* "98 % of the loss [97, 100]" of three members of o. */
void report_search_share(const json_t *o, const char *share, const char *low, const char *high,
			 struct str *out);
/* Do the two of a pair interact? NULL: it is no pair. */
const char *report_search_kind(const json_t *search);
/* "only new there: 98 % of the loss [96, 100], 3 trials"; back: "all new but there: ..." */
void report_search_way(const json_t *search, bool back, struct str *out);
/* One line of a full plan of two. */
void report_search_factorial(const json_t *factorial, struct str *out);
