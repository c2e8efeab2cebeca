/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Same, worse, or not yet known: an accepted run and a candidate in, a verdict with reasons out. A
 * pure function of its input: no clock, no files, no randomness. It is asked after every
 * repetition.
 *
 *	struct verdict_in in = { 0 };
 *	struct verdict v CLEANUP(verdict_release) = { 0 };
 *
 *	verdict_defaults(&in);
 *	verdict_cap(&in, 8);                    the contract stops at 8
 *	in.metrics = ...; in.reps = ...;
 *	verdict_decide(&in, &v);
 *	if (!v.final) ... make another repetition; v.advice says how many are likely needed ...
 *
 * Worseness w: the metric turned so that up is worse. Log scale: w = ln v when lower is better,
 * -ln v
 * when higher is; abs scale (shares): w = v or -v. Margin delta: ln(1 + m) on the log scale, m on
 * abs.
 * The bank: the repetitions of the accepted run, the latest VERDICT_MAX_BANK of them.
 *
 * In this order; the first that speaks decides:
 *	1. the bank is for another contract, workload or data; what ran is not what was asked for or
 *	   what its label says                                     -> baseline void
 *	2. a required check FAILed; scored items or generated texts are shown to be worse than their
 *	   margin                                                  -> rejected
 *	   a required check was SKIPped, ERRORed or is DOUBTFUL; a required setting's effective
 * 	   value
 *	   is unknown                                              -> no result, unless what
 *	   follows rejects: nothing of this can accept, and none of it hides a regression
 *	3. failed repetitions >= reject_failed                     -> rejected
 *	4. a metric that decides has no number in a repetition     -> no result
 *	   ... or fewer than VERDICT_MIN_BANK in the bank          -> inconclusive
 *	5. at each look, objectives: Clopper-Pearson 95 % lower bound of the share of repetitions
 * 	over
 *	   a limit > 0.10 (2 of 3, 3 of 5, 3 of 7, 4 of 10)        -> rejected
 *	6. first acceptance (no bank), from VERDICT_MIN_FIRST repetitions: mean + k sd within the
 * 	limit
 *	   for every objective, k for 90 % of starts at 98 % confidence, no failed repetition ->
 * 	   accepted
 *	   second acceptance: the upper bound of the shift below the margin for every gating metric,
 *	   at most max_failed failed, and every objective still held -> accepted;
 *	   every candidate beyond the whole bank by more than the margin (gross), or the smallest
 *	   Holm-adjusted p <= rho x alpha_reject                   -> rejected
 *	7. the cap, or the end of the series                       -> inconclusive, or no result
 * 	with
 *	   fewer than three valid repetitions
 * "No significant difference" never accepts. Formulas and their error rates: docs/decisions.md.
 *
 * An objective is still held in a second acceptance when not one valid repetition is over it and
 * either the candidate's own repetitions show it as in 6 (from five on), or the accepted run's do
 * with the upper bound of the shift added: what met the limit with that much room still meets it.
 *
 * A first acceptance never comes from fewer than five repetitions. A contract that stops earlier
 * ends
 * inconclusive, reason `too_few_for_first`, with the number that is missing in `more`.
 *
 * What would be accepted becomes inconclusive where a rule of the data was broken: repetitions vary
 * by more than max_cov (`not_repeatable`), or sessions are not spread (`sessions_not_spread`): some
 * repetitions share a session, bank and candidate are not all in one and the same, the arms were
 * not interleaved, and either the bank has fewer than three sessions or sessions differ by more
 * than their repetitions do (F test, p < 0.05).
 */
#pragma once

#include "base/json.h"
#include "model/model.h"

struct err;
struct text_prompt; /* stat/stat.h */

#define VERDICT_MAX_BANK  12
#define VERDICT_MIN_BANK  5
#define VERDICT_MIN_FIRST 5
#define VERDICT_MAX_LOOKS 16

/* Of a training: time to the target is the time of a sample times the samples to the target. */
enum verdict_part { PART_NONE, PART_SPEED, PART_AMOUNT };

struct verdict_metric {
	const char *name;
	enum verdict_part
		part; /* at most one of each: what one gains and the other loses is said */
	enum unit unit;
	enum direction dir;
	bool abs_scale;
	bool across;   /* one number over all repetitions (bank[0], cand[0]); only a limit */
	bool gate;     /* its margin decides */
	double margin; /* > 0: largest loss that is still the same (0.05); NAN: none */
	bool has_limit;
	double limit;       /* objective, in the unit; the worst allowed value */
	bool limit_strict;  /* the limit itself is too much already */
	const double *bank; /* n_bank values, oldest first; NAN: not measured there */
	const double *cand; /* one a candidate repetition, in order; NAN: not measured */
};

struct verdict_rep {
	enum rep_state state; /* excluded ones are listed, and enter nothing else */
	const char *reason;   /* of failed and excluded ones */
	const char *start;    /* repetitions of one start count as one; NULL: its own */
	const char *session;  /* what shares luck (boot, node, hour); NULL: its own */
};

struct verdict_check {
	const char *name;
	enum check_layer layer;
	enum result result;
	bool required;
	const char *reason;
};

/* What an accepted run and a candidate must have in common. Digests; a member that both lack is not
 * compared (the caller speaks by void_reasons), one that only one side has is a difference. */
struct verdict_identity {
	const char *contract, *workload, *schedule;
	const char
		*stack; /* may differ; the same one is noted: its repetitions may join the bank */
};

/* A setting of the stack three times: what was asked for, what the process really has, what the
 * label of the evidence says. Known values that differ make the baseline void. */
struct verdict_setting {
	const char *name, *requested, *effective, *label; /* NULL: unknown, not given, none */
	bool required;                                    /* effective unknown: no result */
};

/* Scored items (a fixed set of questions): Tango's score test of p_now - p_before > -margin at 1 %.
 * Shown below the margin at 1 %: rejected. In between: inconclusive, with the items needed.
 * With clusters (items that share a passage; results that differ between repetitions of one stack)
 * the bounds come from a bootstrap over clusters, and never from fewer than VERDICT_MIN_CLUSTERS;
 * Tango's bound over clusters is the floor, so that few flips do not look like none. */
#define VERDICT_MIN_CLUSTERS 30
struct items_cluster {
	double sum;     /* of (share right now - share right before) over its items */
	unsigned items; /* at least 1 */
};
struct verdict_items {
	const char *name;
	unsigned items, lost, won;            /* lost: right before, wrong now; won: the reverse */
	double margin;                        /* absolute: 0.01 is one point */
	double before, now;                   /* shares right, to show; both 0: not given */
	const struct items_cluster *clusters; /* NULL: the counts above decide */
	size_t n_clusters;
};

/* Generated texts with fixed sampling against the accepted stack's agreement with itself. */
struct verdict_texts {
	const char *name;
	const struct text_prompt *prompts; /* stat/stat.h; token ids where both are known */
	size_t n_prompts;
	double margin;  /* 0.02: two points of agreement */
	bool invariant; /* the engine claims batch invariance: any difference is a wrong result */
};

/* Losses at a fixed step, paired by seed: exact signed-rank bounds at 99 % of the differences of w,
 * so seven pairs are the fewest that can say anything. */
struct verdict_pairs {
	const char *name;
	enum direction dir;
	const double *bank, *cand; /* values > 0; n of each */
	size_t n;
	double margin; /* relative: 0.01 */
};

struct verdict_in {
	/* Why the accepted evidence does not speak about this candidate; NULL: it does. */
	const char *const *void_reasons; /* NULL-ended */
	/* Requested, effective and label that differ, in words; NULL-ended: baseline void. */
	const char *const *mismatches;
	const char *const *notes; /* NULL-ended: an accepted verdict carries them */
	struct verdict_identity bank_id, cand_id;
	const struct verdict_setting *settings;
	size_t n_settings;
	const struct verdict_check *checks;
	size_t n_checks;
	const struct verdict_items *items;
	size_t n_items;
	const struct verdict_texts *texts;
	size_t n_texts;
	const struct verdict_pairs *pairs;
	size_t n_pairs;
	bool sessions_waived; /* what sessions do is known to matter little: a note instead */
	const struct verdict_metric *metrics;
	size_t n_metrics;
	const struct verdict_rep *reps; /* candidate, in the order they were announced */
	size_t n_reps;
	bool has_bank;
	size_t n_bank;                    /* more than VERDICT_MAX_BANK: the latest are used */
	const char *const *bank_sessions; /* n_bank of them, a NULL one its own; NULL: sessions
					     are not kept, and not judged */
	bool interleaved;                 /* set by verdict_interleave */
	/* parameters; verdict_defaults */
	unsigned looks[VERDICT_MAX_LOOKS]; /* ascending, the last is the cap */
	size_t n_looks;
	unsigned first_looks[VERDICT_MAX_LOOKS]; /* of first acceptance */
	size_t n_first_looks;
	double alpha, alpha_reject, rho, max_cov;
	unsigned max_failed, reject_failed;
	bool ended; /* no further repetition will be made now */
};
/* Looks 3 4 5 6 8 10 (first acceptance: 3 5 7 10), alpha 0.01, alpha_reject 0.02, rho 0.4, max_cov
 * 5 %, max_failed 0, reject_failed 2. */
void verdict_defaults(struct verdict_in *in);
/* Both series of looks end at at_most (1 or more): those above go, at_most itself is one. */
void verdict_cap(struct verdict_in *in, unsigned at_most);
/* Both stacks ran alternately, bank[i] and cand[i] a pair whose order was drawn: looks 5 6 7 8 10
 * 12
 * with their own critical counts. */
void verdict_interleave(struct verdict_in *in);

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

enum verdict_held { HELD_NO, HELD_OWN, HELD_BANK }; /* by its own repetitions, by the bank's */

struct verdict_number {
	char *name;
	enum unit unit;
	enum direction dir;
	bool abs_scale, gate, has_limit, over_limit;
	double bank_median, cand_median, limit; /* in the unit; NAN: none */
	double shift, lcb, ucb, delta;          /* worseness; NAN: no bank */
	double lo, hi, level; /* exact interval of the shift for people, and its level; NAN: none */
	double p_worse, p_adjusted;
	bool gross;
	int count; /* critical count used; -1: none at this look */
	enum verdict_label label;
	double cov_bank, cov_cand; /* sd of w */
	double noisier;            /* ratio of sd when F says so, else 0 */
	double session_p;          /* of the F test by session; NAN: not to be told */
	unsigned over;             /* repetitions over the limit */
	double over_share; /* Clopper-Pearson 95 % lower bound of the share over the limit */
	double upper;      /* mean + k sd as a value in the unit; NAN: not yet */
	enum verdict_held held;
};
struct verdict_numbers {
	struct verdict_number *v;
	size_t n, room;
};

/* Scored items, generated texts, losses by seed: what was seen, and what it says. Changes are
 * signed so that below 0 is worse; NAN: none. */
enum verdict_answer_kind { ANSWER_ITEMS, ANSWER_TEXTS, ANSWER_PAIRS };
enum verdict_answer_state { ANSWER_HELD, ANSWER_WORSE, ANSWER_OPEN, ANSWER_UNMEASURED };
const char *verdict_answer_kind_name(enum verdict_answer_kind k);   /* "items" "texts" "pairs" */
const char *verdict_answer_state_name(enum verdict_answer_state s); /* "held" "worse" "open" ... */
struct verdict_answer {
	char *name;
	enum verdict_answer_kind kind;
	enum verdict_answer_state state;
	const char *method; /* "tango", "bootstrap", "agreement", "equal", "signed_rank" */
	unsigned n;         /* items, prompts, pairs */
	unsigned lost, won; /* items that flipped */
	unsigned clusters;
	double before, now;        /* shares right; agreement with itself, with the other */
	double change, low, high;  /* one-sided 99 % bounds each */
	double margin;             /* of the change, positive */
	double mcnemar;            /* p, shown only */
	double rate_own, rate_now; /* divergences a token: with itself, across */
	double log_ratio, log_ratio_se;
	unsigned needed; /* items (clusters, pairs) that would likely decide; 0: not to be told */
};
struct verdict_answers {
	struct verdict_answer *v;
	size_t n, room;
};

/* One look at the series: what was seen, and whether it decided. */
struct verdict_look {
	unsigned look, failed;
	enum verdict_kind kind; /* inconclusive: went on */
	struct verdict_numbers numbers;
};

struct verdict_reason {
	char *code;  /* stable, below */
	char *about; /* metric, check, setting; NULL */
	char *text;  /* one sentence with its numbers */
};
struct verdict_reasons {
	struct verdict_reason *v;
	size_t n, room;
};

/*
 * Codes of reasons: baseline_void, other_contract, other_workload, other_schedule,
 * effective_differs, effective_unknown, nothing_decides, check_failed, check_skipped, check_error,
 * check_doubtful, items_worse, items_unmeasured, items_undecided, pairs_worse, pairs_unmeasured,
 * pairs_undecided, texts_worse, texts_differ, texts_unmeasured, texts_undecided,
 * repetition_failed, not_measured, bank_too_small, objective_missed, regressed,
 * gross_regression, not_repeatable, sessions_not_spread, cap_reached, too_few,
 * too_few_for_first, not_yet.
 * Codes of notes: note, sessions_waived, check_not_passed, repetition_excluded,
 * worse_inside_margin, noisier, much_better, speed_against_samples, session_effect,
 * no_margin; and, for information only (they don't turn accepted into accepted with note):
 * small_bank, few_sessions, outlook, same_stack, drift, look_stands, texts_agreement,
 * items_score, pairs_loss.
 */
struct verdict {
	enum verdict_kind kind;
	bool final;    /* false: go on; kind is then inconclusive */
	bool first;    /* first acceptance: judged without a bank */
	unsigned look; /* repetitions the decision rests on */
	unsigned used, failed, excluded;
	size_t n_bank;
	struct verdict_reasons reasons, notes;
	struct verdict_numbers numbers; /* at `look`, or of all so far */
	struct verdict_answers answers;
	struct {
		struct verdict_look *v;
		size_t n, room;
	} trace;
	unsigned more;     /* repetitions more that would likely decide; 0: none or unknown */
	bool more_rejects; /* ... and towards rejected */
	bool futile;       /* cannot be decided within the cap at this noise */
	char *advice;      /* one sentence, or NULL */
};
void verdict_release(struct verdict *v);
void verdict_decide(const struct verdict_in *in, struct verdict *ret);

/* Before the first repetition: what this bank and its noise can decide, a line a gating metric.
 * Caller frees; NULL: nothing to say. */
char *verdict_plan(const struct verdict_in *in) MUST_USE;
/* The same for a program: repetitions that likely decide when nothing changed (the noise of the
 * bank),
 * the cap, and whether every gating margin is within reach of this noise. */
struct verdict_expect {
	bool decidable;
	unsigned likely, cap;
};
void verdict_expect(const struct verdict_in *in, struct verdict_expect *ret);

/* ---- watching ---- */

/*
 * All repetitions of the accepted stack since it was accepted, however many: in->reps and cand, in
 * their order; bank: those that a person accepted, never later ones. E is evidence that may be
 * looked at after every repetition; at VERDICT_ALARM it asks for a run, and never decides.
 * Shift of a metric: t mixture of w above the upper 99 % bound of the accepted mean. Bad starts
 * (failed, or over a limit): Beta mixture against VERDICT_BAD_SHARE.
 */
#define VERDICT_ALARM     100.0
#define VERDICT_BAD_SHARE 0.10
struct verdict_watched {
	char *name;
	bool abs_scale, alarm;
	size_t n_bank, n; /* values on both sides */
	double shift;     /* mean worseness against the accepted mean; NAN: nothing to say */
	double log_e;
	size_t moved; /* of 20 or more values, bank first: so many before it looks as if it had
			 moved; 0: not */
};
struct verdict_watch {
	struct verdict_watched *v; /* each metric with a margin or a limit */
	size_t n, room;
	unsigned reps, bad;
	double bad_log_e;
	bool alarm;
};
void verdict_watch(const struct verdict_in *in, struct verdict_watch *ret);
void verdict_watch_release(struct verdict_watch *w);

/* How many items decide a margin: said before the first repetition. Caller frees. */
char *verdict_items_plan(const char *name, unsigned items, double margin) MUST_USE;

/* For records: integers (statistics x 10^9 in *_e9, values in the unit's scale), "inf" as text,
 * null
 * for what has no number. from_json reads them back; writing that again gives the same JSON. */
json_t *verdict_to_json(const struct verdict *v) MUST_USE;
int verdict_from_json(const json_t *j, struct verdict *ret, struct err *err) MUST_USE;
/* Of a shift: "3.2 %" on the log scale, "1.5 points" on abs. Caller frees. */
char *verdict_percent(double shift, bool abs_scale) MUST_USE;
