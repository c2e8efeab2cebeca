/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of the room share their work; verdict.h says what it does. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

/* Bank and candidate once excluded repetitions are gone and shared starts are one (series.c). */
struct series {
	const struct verdict_in *in;
	size_t n;      /* candidate */
	size_t *first; /* index of the repetition that stands for each */
	bool *failed;
	double **w;     /* per metric, n: worseness, +inf for failed, NAN for not measured */
	double **bank;  /* per metric: the measured ones, oldest first */
	size_t *n_bank; /* per metric */
	size_t **place; /* per metric: index into in->bank_sessions of each of `bank` */
	/* Critical counts by bank size, made when first asked for. */
	struct {
		bool made;
		int c[VERDICT_MAX_LOOKS];
	} counts[VERDICT_MAX_BANK + 1];
};
void series_make(const struct verdict_in *in, struct series *ret);
void series_release(struct series *s);
unsigned series_failed(const struct series *s, size_t n); /* among the first n */
/* Values of the bank that stand against the first n candidates: all, or as many when interleaved.
 * */
size_t series_bank(const struct series *s, size_t metric, size_t n);
/* Critical count of a metric at n candidates; -1: none there. */
int series_count(struct series *s, size_t metric, size_t n);
/* All counts of a metric, in the order of in->looks. */
void series_counts(struct series *s, size_t metric, int *ret);
unsigned series_cap(const struct verdict_in *in);

/* Worseness of a value in the metric's unit, and back; NAN without a logarithm. */
double worseness(const struct verdict_metric *m, double v);
double value_of(const struct verdict_metric *m, double w);
double delta_of(const struct verdict_metric *m);
/* Worseness of the limit; a limit that has no logarithm (0) allows nothing or all. */
double limit_of(const struct verdict_metric *m);
/* Finite ones of n values; their number. */
size_t finite_of(const double *w, size_t n, double *ret);

/* What can be said of each metric at the first n candidates (numbers.c). with_counts: the critical
 * counts are those of the look n, else there are no bounds. */
void numbers_make(struct series *s, size_t n, bool with_counts, struct verdict_numbers *ret);
void number_list_release(struct verdict_numbers *l);
void numbers_copy(const struct verdict_numbers *from, struct verdict_numbers *ret);
/* Decides something: a gating metric of a second acceptance. */
bool number_gates(const struct verdict_number *x);

/* Verdicts being written. */
PRINTF(4, 5)
void say(struct verdict_reasons *l, const char *code, const char *about, const char *fmt, ...);
void reasons_release(struct verdict_reasons *l);
bool decided(struct verdict *v, enum verdict_kind kind, size_t look); /* true */

/* Rules before the statistics (gates.c); true: decided. */
bool gate_void(const struct verdict_in *in, struct verdict *v);
/* A failed check decides; what could not be judged is collected in `blocked`: it can't accept, and
 * gate_hold_back makes it no result unless the workload was rejected anyway. */
bool gate_checks(const struct verdict_in *in, struct verdict_reasons *blocked, struct verdict *v);
void gate_hold_back(const struct verdict_reasons *blocked, struct verdict *v);
bool gate_failed(const struct series *s, size_t n, struct verdict *v);
bool gate_unmeasured(const struct series *s, size_t n, struct verdict *v);

/* Objectives and margins at a look, v->numbers made for it (rules.c). */
bool rule_objectives_missed(const struct series *s, size_t n, struct verdict *v);
bool rule_objectives_held(const struct series *s, const struct verdict *v);
bool rule_below_margins(const struct verdict *v);
bool rule_regressed(const struct series *s, size_t n, struct verdict *v);
/* Everything else says accepted: what still stands against it (reasons), and the notes. */
void rule_repeatable(const struct series *s, struct verdict *v);
void rule_notes(const struct series *s, struct verdict *v);
/* A training that got faster and needs more samples, or the reverse: said of every verdict. */
void note_parts(const struct series *s, struct verdict *v);

/* Sessions (sessions.c): p of the F test of a metric's bank by session; a reason when they are not
 * spread. */
double session_p(const struct series *s, size_t metric);
void rule_sessions(const struct series *s, struct verdict *v);
/* Of an acceptance: too few sessions for a later change that brings its own. */
void note_few_sessions(const struct series *s, struct verdict *v);

void answers_release(struct verdict_answers *l);
/* Correctness (correct.c): false: nothing decided; `open` gets what blocks an acceptance. */
bool rule_correct(const struct verdict_in *in, struct verdict *v, struct verdict_reasons *open);

/* What more would decide (plan.c). */
void advise(struct series *s, struct verdict *v);
void outlook(const struct series *s, struct verdict *v);
