/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#pragma once

#include "model/model.h"
#include "report/report.h"

/* ---- escape.c -------------------------------------------------------------------------------- */

/* For text and for attributes in double quotes, of HTML and XML alike. NULL: nothing. */
void esc_xml(struct str *out, const char *text);
/* One line of Markdown that is text and nothing else, also inside a table. */
void esc_md(struct str *out, const char *text);
/* str_addf for markup: %s is what it is everywhere else and must be a literal or a number's text;
 * this one escapes its one argument into the place of %s. */
void esc_xml_in(struct str *out, const char *before, const char *text, const char *after);

/* ---- view.c: reading the value --------------------------------------------------------------- */

/* A record's number in base units: NAN when there is none. */
double view_value(const json_t *v, enum unit u);
double view_e9(const json_t *o, const char *key);
enum unit view_unit(const json_t *o);
/* For people; "-" when there is none. Caller frees. */
char *view_quantity(const json_t *v, enum unit u) MUST_USE;
char *view_percent(double shift, bool abs_scale) MUST_USE;
/* Below, x is one of the decision's numbers. The interval for people, "-1.2 % to 3 % (96 %)";
 * without one the bounds that decide. Caller frees. */
char *view_interval(const json_t *x) MUST_USE;
/* "14:02:11" of a stamp is no use without its day: "2026-12-01 10:04:00 UTC". Caller frees. */
char *view_stamp(const char *at) MUST_USE;
char *view_bytes(int64_t n) MUST_USE;
/* The first 12 digits of a digest, with or without "sha256:"; "" for NULL. Caller frees. */
char *view_short(const char *digest) MUST_USE;

const json_t *view_decision(const json_t *report);
const char *view_code(const json_t *report); /* "rejected"; "unknown" when it is no verdict */
enum verdict_kind view_kind(const json_t *report);
const char *view_sentence(const json_t *report); /* what the verdict means */
/* "candidate repetitions against N accepted ones" */
char *view_basis(const json_t *report) MUST_USE;

/* One metric of a list of repetitions, those that count: NAN where it was not measured. */
struct column {
	double *v;
	size_t n, finite, infinite, missing;
	double median;    /* of finite and infinite ones; NAN: none */
	double low, high; /* of the finite ones */
};
void column_release(struct column *c);
void column_read(const json_t *reps, const char *metric, enum unit u, struct column *ret);
const json_t *view_measured(const json_t *rep, const char *metric); /* NULL: not asked for */

enum tone { TONE_PLAIN, TONE_GOOD, TONE_OPEN, TONE_BAD };
const char *tone_name(enum tone t);
/* How a number of the decision stands: its limit, its margin. Caller frees *ret. */
enum tone view_standing(const json_t *x, char **ret);
enum tone view_result(const char *result); /* "PASS" */
enum tone view_verdict_tone(enum verdict_kind k);
/* Where the margin ends, as a value of the metric; NAN: no margin that decides, or
 * nothing to count from. */
double view_margin_edge(const json_t *x);
/* A side of a change: "0.3.21", "unknown", "(none)", the digest where versions are alike. */
char *view_side(const json_t *change, const char *side) MUST_USE;

/* A set of answers of the decision, for people: scored items, generated texts, losses by seed. */
struct answer_view {
	const char *name, *what; /* "items" */
	const char *standing;    /* "same", "worse", "open", "not measured" */
	enum tone tone;
	char *n, *before, *now, *change, *interval, *margin;
};
void answer_view_release(struct answer_view *v);
void answer_view_read(const json_t *answer, struct answer_view *ret);
/* The state of the watch since the acceptance in one sentence; NULL: not watched. Caller frees. */
char *view_watch(const json_t *report) MUST_USE;

/* ---- svg.c ----------------------------------------------------------------------------------- */

/* The two arms of one metric on one axis. False: there is nothing to draw. id: unique in
 * the page. */
bool svg_strip(const json_t *report, const json_t *number, size_t id, struct str *out);
/* Steps of 1, 2 or 5 so that [lo, hi] has at most `most` of them. */
double axis_step(double lo, double hi, unsigned most);

/* ---- html_tables.c --------------------------------------------------------------------------- */

void html_numbers(const json_t *report, struct str *out);
void html_answers(const json_t *report, struct str *out);
void html_changes(const json_t *report, struct str *out);
void html_stack(const json_t *report, struct str *out);
void html_search(const json_t *report, struct str *out);
void html_suspects(const json_t *report, struct str *out);
void html_checks(const json_t *report, struct str *out);
void html_reps(const json_t *report, struct str *out);
void html_all_metrics(const json_t *report, struct str *out);
void html_evidence(const json_t *report, struct str *out);
void html_signoffs(const json_t *report, struct str *out);
extern const char html_style[]; /* style.c */

/* ---- cases.c: the run as test cases ---------------------------------------------------------- */

enum case_result { CASE_PASS, CASE_FAIL, CASE_ERROR, CASE_SKIP };
struct report_case {
	const char *suite;           /* borrowed or static */
	char *name, *message, *kind; /* kind: type of the failure, "FAIL", "DOUBTFUL", ... */
	enum case_result result;
	int64_t took_ns;
};
struct report_cases {
	struct report_case *v;
	size_t n, room;
};
void report_cases_release(struct report_cases *l);
/* Grouped by suite: the layers in their order, then "verdict". */
void report_cases_read(const json_t *report, struct report_cases *ret);
