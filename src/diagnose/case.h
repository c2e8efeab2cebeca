/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded comparison, read: what the three files of it share. */
#pragma once

#include "diagnose/inner.h"

/* One metric of one arm. */
struct ev {
	char *name;
	const char *unit; /* borrowed from the document */
	enum { EV_VALUES, EV_COUNT, EV_TEXT, EV_MISSING } kind;
	bool has_dir, equal;
	enum direction dir;
	double *v; /* EV_VALUES: those that have a number */
	size_t n, failed;
	unsigned bad, tries; /* EV_COUNT */
	unsigned items;      /* questions behind one value; 0: not known */
	bool paired;         /* discordant pairs: v[0] only accepted right, v[1] only candidate */
	char *text;          /* EV_TEXT, and why there is nothing for EV_MISSING */
};
struct evs {
	struct ev *v;
	size_t n, room;
};
void evs_release(struct evs *l);
const struct ev *evs_find(const struct evs *l, const char *name);

struct arm_read {
	struct stack stack;
	struct evs evs;
	struct strs log;
	struct pairs kernels; /* name, share as text */
	bool has_exit;
	int exit_code;
	unsigned items; /* of every score, when the fingerprint says it */
	char *work;     /* what the arm says that it measured; NULL */
};

struct probe_read {
	char *name;
	enum diagnose_arm base;
	struct pairs changes;
	struct evs evs;
};

enum limit_result { LIMIT_PASS, LIMIT_FAIL, LIMIT_OPEN, LIMIT_NONE };
struct limit_read {
	const char *name, *rule;
	const struct ev *before, *now;
	bool across; /* compared with the accepted run by a margin */
	double margin;
	bool abs_scale;
	enum limit_result result;
	double shift; /* worseness; NAN */
	char *text;
};

struct comparison {
	const json_t *doc;
	struct arm_read a, b;
	struct {
		struct probe_read *v;
		size_t n, room;
	} probes;
	struct {
		struct limit_read *v;
		size_t n, room;
	} limits;
	struct changes changes;
	struct verdict verdict;
	struct strs unread; /* members that nothing here understands */
	const char *scope;
	char *gpu;
	/* for the diagnosis */
	struct {
		struct diagnose_seen *v;
		size_t n, room;
	} seen;
	struct {
		struct diagnose_kernel *v;
		size_t n, room;
	} kernels;
	struct {
		struct diagnose_probe *v;
		size_t n, room;
	} outcomes;
	struct strs words; /* texts that those borrow */
	bool with_probe;   /* a probe decides what the arms could not */
	enum verdict_kind by_probe;
};
void comparison_release(struct comparison *c);

/* case.c: the document */
int comparison_read(const json_t *doc, struct comparison *ret, struct err *err) MUST_USE;
int evidence_read(const json_t *o, const char *where, struct evs *ret, struct err *err) MUST_USE;
/* case_judge.c: the verdict, from the evidence alone */
void comparison_judge(struct comparison *c);
/* case_probe.c: what each probe came out as */
void comparison_probes(struct comparison *c);
double ev_median(const struct ev *e);
/* Worseness of b against a: log of the ratio, or the difference; NAN when there is none. */
double ev_worse(const struct ev *a, const struct ev *b, bool abs_scale);
enum direction ev_direction(const struct ev *e);
void limit_judge(const struct comparison *c, struct limit_read *l, const struct ev *before,
		 const struct ev *now);
void judge_pairs(struct limit_read *l, const struct ev *pairs, unsigned items);
PRINTF(4, 5)
void reason_add(struct verdict_reasons *l, const char *code, const char *about, const char *fmt,
		...);
