/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Same, worse, or not yet known: an accepted run and a candidate in, a verdict with reasons out. A
 * pure function of its input: no clock, no files, no randomness. It may be asked after every
 * repetition.
 *
 *	struct verdict v CLEANUP(verdict_release) = { 0 };
 *	verdict_decide(&in, &v);
 *	if (!v.final) ... make another repetition, v.advice says how many ...
 *
 * Worseness w: the metric turned so that up is worse. Log scale: w = ln v when lower is better, -ln
 * v when higher is; abs scale (shares): w = v or -v. Margin delta: ln(1 + m) on the log scale, m on
 * abs.
 *
 * In this order; the first that speaks decides:
 *	1. the bank is for something else                          -> baseline void
 *	2. a required check FAILed                                 -> rejected
 *	   a required check was SKIPped, ERRORed or is DOUBTFUL    -> no result
 *	3. failed repetitions >= reject_failed                     -> rejected
 *	4. a metric that decides has no number in a repetition     -> no result
 *	5. objectives: Clopper-Pearson 95 % lower bound of the share of repetitions over a limit
 *	   > 0.10 (2 of 3, 3 of 5, 3 of 7, 4 of 10)                -> rejected
 *	6. without a bank (first acceptance), from 5 repetitions: mean + k sd within the limit for
 *	   every objective, k for 90 % of starts at 98 % confidence, no failed repetition
 *	                                                           -> accepted
 *	   with a bank (second acceptance), at each look: all upper bounds of the shift below the
 *	   margin and all objectives met                           -> accepted
 *	   every candidate beyond the whole bank by more than the margin (gross), or Holm-adjusted
 *	   p <= rho x alpha_reject                                 -> rejected
 *	7. the cap                                                 -> inconclusive
 * "No significant difference" never accepts. Formulas and their error rates: docs/decisions.md.
 */
#pragma once

#include "base/json.h"
#include "model/model.h"

#define VERDICT_MAX_BANK  12
#define VERDICT_MAX_LOOKS 16

struct verdict_metric {
	const char *name;
	enum unit unit;
	enum direction dir;
	bool abs_scale;
	bool across;   /* one number over all repetitions (bank[0], cand[0]); only a limit */
	bool gate;     /* its margin decides */
	double margin; /* > 0: largest loss that is still the same (0.05); NAN: none */
	bool has_limit;
	double limit;       /* objective, in the unit; the worst allowed value */
	bool limit_strict;  /* the limit itself is too much already */
	const double *bank; /* n_bank values; NAN: not measured there */
	const double *cand; /* one a candidate repetition, in order; NAN: not measured */
};

struct verdict_rep {
	enum rep_state state; /* excluded ones are listed, and enter nothing else */
	const char *reason;   /* of failed and excluded ones */
	const char *start;    /* repetitions of one start count as one; NULL: its own */
	const char *session;
};

struct verdict_check {
	const char *name;
	enum check_layer layer;
	enum result result;
	bool required;
	const char *reason;
};

struct verdict_in {
	/* Why the accepted evidence does not speak about this candidate; NULL: it does. */
	const char *const *void_reasons; /* NULL-ended */
	/* Requested, effective and label that differ; NULL-ended: no result. */
	const char *const *mismatches;
	const char *const *notes; /* NULL-ended: an accepted verdict carries them */
	const struct verdict_check *checks;
	size_t n_checks;
	const struct verdict_metric *metrics;
	size_t n_metrics;
	const struct verdict_rep *reps; /* candidate, in the order they were announced */
	size_t n_reps;
	bool has_bank;
	size_t n_bank; /* at most VERDICT_MAX_BANK: the latest */
	/* parameters; verdict_defaults */
	unsigned looks[VERDICT_MAX_LOOKS]; /* ascending, the last is the cap, at most 15 */
	size_t n_looks;
	unsigned first_looks[VERDICT_MAX_LOOKS]; /* of first acceptance */
	size_t n_first_looks;
	double alpha, alpha_reject, rho, max_cov;
	unsigned max_failed, reject_failed;
	bool ended; /* no further repetition will be made now */
};
void verdict_defaults(struct verdict_in *in);

enum verdict_label {
	LABEL_NONE,
	LABEL_SAME,
	LABEL_BETTER,
	LABEL_NOT_WORSE,
	LABEL_WORSE_INSIDE,
	LABEL_REGRESSED,
	LABEL_OPEN
};
const char *verdict_label_name(enum verdict_label l);

struct verdict_number {
	char *name;
	enum unit unit;
	enum direction dir;
	bool abs_scale, gate, has_limit, over_limit;
	double bank_median, cand_median, limit; /* in the unit; NAN: none */
	double shift, lcb, ucb, delta;          /* worseness; NAN: no bank */
	double p_worse, p_adjusted;
	bool gross;
	enum verdict_label label;
	double cov_bank, cov_cand; /* sd of w */
	double noisier;            /* ratio of sd when F says so, else 0 */
	unsigned over;             /* repetitions over the limit */
	double upper;              /* mean + k sd as a value in the unit; NAN: not yet */
};

struct verdict_reason {
	char *code;  /* stable: "regressed", "objective_missed", "check_failed", ... */
	char *about; /* metric or check; NULL */
	char *text;
};
struct verdict_reasons {
	struct verdict_reason *v;
	size_t n, room;
};

struct verdict {
	enum verdict_kind kind;
	bool final;    /* false: go on; kind is then inconclusive */
	bool first;    /* first acceptance: judged without a bank */
	unsigned look; /* repetitions the decision rests on */
	unsigned used, failed, excluded;
	size_t n_bank;
	struct verdict_reasons reasons, notes;
	struct {
		struct verdict_number *v;
		size_t n, room;
	} numbers;
	unsigned more;     /* repetitions more that would likely decide; 0: none or unknown */
	bool more_rejects; /* ... and towards rejected */
	char *advice;      /* one sentence, or NULL */
};
void verdict_release(struct verdict *v);
void verdict_decide(const struct verdict_in *in, struct verdict *ret);

/* Before the first repetition: what this bank and its noise can decide. Each gating metric's
 * smallest margin that is decided 95 times in 100 is k_m x CoV. Caller frees; NULL: nothing to
 * say. */
char *verdict_plan(const struct verdict_in *in) MUST_USE;

/* For records: integers (statistics x 10^9 in *_e9, values in the unit's scale), "inf" as text. */
json_t *verdict_to_json(const struct verdict *v) MUST_USE;
/* "3.2 % slower"-style text of a shift: percent on the log scale, points on abs. Caller frees. */
char *verdict_percent(double shift, bool abs_scale) MUST_USE;
