/* SPDX-License-Identifier: Apache-2.0 */
/* From what the loops hold to one result. */
#pragma once

#include "load/loop.h"

/* Moves records, token times and texts together, in order of schedule, with times from t0. */
void gather(struct loop *loops, unsigned n_loops, const struct phase *p, struct load_result *ret);
/* Tokens, outcomes that need the whole, golden answers, goodness, peak. Can be done again. */
void settle(struct load_result *r, const struct load_conf *c);
/* Fills the audit from the loops. */
void audit(const struct loop *loops, unsigned n_loops, const struct phase *p,
	   struct load_result *ret);
/* Sets client_limited and the reasons from the audit's numbers. */
void audit_judge(struct load_result *r);

/* Each stage with what it asked for and got; each objective with its own number of samples. */
json_t *stages_json(const struct load_result *r) MUST_USE;
/* Start cohort and ramp, steady part, drain: requests begun in each; NULL without a steady part. */
json_t *windows_json(const struct load_result *r) MUST_USE;
json_t *token_sources_json(const struct load_result *r) MUST_USE;
/* What the names in a result mean, by name. */
json_t *definitions_json(void) MUST_USE;
json_t *objectives_kept_json(const struct load_result *r) MUST_USE;
/* Both, from the result's JSON, as lines for people. */
void add_stages(struct str *s, const json_t *v);
void add_objectives(struct str *s, const json_t *v);

unsigned requests_peak(const struct load_result *r); /* most in flight at once */

/* Type 7; sorts v; NAN of nothing. */
double load_quantile(double *v, size_t n, double p);
/* wants[prompt]: the answer wanted of each prompt, or NULL. Caller frees the list alone. */
const char **golden_wanted(const struct load_conf *c) MUST_USE;
/* At most that share of the longer one's characters has to be inserted, removed or changed. What is
 * too long to compare (2^28 steps) is not near. */
bool golden_near(struct sv got, struct sv want, double share);
/* Compares two texts: *ret_at is the first different character (code point) when not the same. */
bool golden_same(struct sv got, struct sv want, uint32_t *ret_at);
