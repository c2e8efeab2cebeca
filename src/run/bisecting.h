/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the component: its question, its trials, its records. Private to the room. */
#pragma once

#include "bisect/bisect.h"
#include "run/going.h"

/* A component with a switch whose word differs between the accepted and the rejected run. */
struct bisect_part {
	const char *name; /* borrowed from the contract */
	const struct stack_switch *sw;
	char *was, *is; /* words: accepted, rejected */
	char *found;    /* in place when the search began; NULL: its switch did not say */
	/* Its set command failed or was broken off: whatever get says, it is set again. */
	bool unsure;
	double weight;
};
struct values {
	double *v;
	size_t n, room;
};
/* Not to be tried: configurations in which all of these hold. */
struct never {
	uint32_t mask, value;
	bool measured;      /* all old and all new, which ran before, are tried in spite of it */
	char *why, *source; /* a sentence; who says so: "--never", "pin", a publication */
};
struct question {
	char verdict[65], intent[65], signoff[65], accepted_intent[65];
	char run[40], accepted_run[40];
	struct metric_info metric; /* name "failed": did the repetition fail? */
	char *metric_name;
	struct {
		struct bisect_part *v;
		size_t n, room;
	} parts;
	struct strs uncovered;          /* material changes that no switch moves */
	struct values bank, cand, took; /* worseness; took: ns of each repetition */
	struct {
		struct never *v;
		size_t n, room;
	} never;
};
void question_release(struct question *q);
int question_read(const struct run_env *env, const struct run_bisect *conf, struct question *ret,
		  struct err *err) MUST_USE;
/* NAN: not measured. */
double question_worseness(const struct question *q, const struct rep *r);
/* The part whose switch moves this component, by its name or as something that changes along with
 * it; -1: none. */
int question_part_of(const struct question *q, const struct changes *changes,
		     const char *component);
/* Adds to q->never what the envelope refuses: see refused.c. */
void question_refuse(struct question *q, const struct stack *was, const struct stack *is,
		     const struct changes *changes, const struct pairs *pins,
		     const struct waivers *waivers);
/* Why this configuration is not tried; NULL: it may be. */
const struct never *question_refusal(const struct question *q, uint32_t config);
void put_refused(const struct question *q, json_t *to);
int question_find(const struct question *q, const char *name, unsigned *ret,
		  struct err *err) MUST_USE;

/* A trial as the ledger has it. */
struct trial {
	char intent[65], leaf[65];
	uint32_t config;
	char *why;            /* "reproduce" "search" "confirm" "factorial" */
	double w;             /* as in struct bisect_trial */
	double value;         /* the metric; NAN */
	char *state, *reason; /* "ok" "failed" "excluded" "cannot_run" */
	int64_t took_ns;
};
struct trials {
	struct trial *v;
	size_t n, room;
};
void trials_release(struct trials *l);

/* What earlier searches for the same question left: their trials, and whether the machine is still
 * as one of them left it (words that were in place before it, by component; any question). */
struct earlier {
	struct trials trials;
	size_t n;        /* searches */
	char run[40];    /* the newest of them */
	bool unended;    /* it has no end in the ledger: it goes on, or was killed */
	char answer[65]; /* the newest answer of this question; "" */
	uint64_t answer_seq;
	size_t interrupted; /* trials that were announced and never ended */
	json_t *found;      /* [{"name","value"}]; NULL: all put back */
	char unrestored[40];
};
void earlier_release(struct earlier *e);
int earlier_read(struct ledger *l, const struct contract *c, const struct question *q,
		 struct earlier *ret, struct err *err) MUST_USE;

/* Where a search stands before anything is tried. */
struct sofar {
	const struct question *q;
	const struct bisect_fit *fit;
	const struct bisect_step *step;
	const struct earlier *earlier;
	size_t trials; /* that count here */
	bool limit;    /* undetermined, for no trial is left */
	bool running;  /* something holds the lock of this ledger here */
};
void put_so_far(const struct sofar *s, json_t *to);

json_t *config_names(const struct question *q, uint32_t config); /* those that are new */
json_t *trial_json(const struct question *q, const struct trial *t);
json_t *words_found(const struct question *q);
/* Everything that --json prints and the ledger keeps of the belief and the answer. */
void put_belief(const struct question *q, const struct bisect_in *in, const struct bisect_fit *fit,
		json_t *to);
void put_answer(const struct question *q, const struct bisect_in *in, const struct bisect_fit *fit,
		const struct bisect_step *step, json_t *to);
void put_factorial(const struct question *q, const struct bisect_in *in, unsigned a, unsigned b,
		   json_t *to);
/* "blas 81 %, threads 9 %": the leading suspects. */
char *belief_text(const struct question *q, const struct bisect_in *in,
		  const struct bisect_fit *fit) MUST_USE;
json_t *json_e9(double v); /* null, "inf", "-inf" or an integer */
