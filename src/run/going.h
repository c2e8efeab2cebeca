/* SPDX-License-Identifier: Apache-2.0 */
/* A run that is going on: what is known while it does, its beginning and its repetitions. */
#pragma once

#include "checks/checks.h"
#include "diagnose/diagnose.h"
#include "run/internal.h"

/* One switch of a run whose arms alternate: arms.h. */
struct arm_switch {
	const char *name; /* borrowed from the contract */
	char *accepted, *found;
};
struct arms {
	bool on;
	struct arm_switch *v;
	size_t n, room;
	struct stack candidate; /* as it was captured when the run began */
	char candidate_digest[65];
	struct ledger_ref capture;
	uint64_t seed;
	struct strs leaves; /* of all repetitions of the accepted stack, however they ended */
	size_t failed;      /* repetitions of the accepted stack that failed */
	bool away;          /* a switch was used: the words may not be those found */
	bool restored;
};

struct going {
	const struct run_env *env;
	struct pairs environment;
	int lock_fd; /* held while it goes on: one run of a ledger at a time on a machine */
	char *work;  /* scratch folder of this run */
	char run[40], session[65];
	struct stack stack;
	char stack_digest[65], capture[65], contract_leaf[65];
	struct acceptances acceptances;
	const struct acceptance *accepted; /* NULL: first acceptance */
	struct stack before;               /* of the accepted run: the store may be away later */
	bool before_lost;                  /* its evidence is gone */
	struct ledger_ref intent;
	uint64_t as_of;      /* entries of the ledger when it was looked at */
	struct strs intents; /* of this series, this run's last */
	struct strs check_leaves;
	struct judge judge;
	struct strs mismatches;
	bool looked;                /* the process's own libraries were compared */
	int64_t started_ns, rep_ns; /* rep_ns: usual length of a repetition so far */
	size_t reps_before;
	int64_t reps_planned;
	struct arms arms;
};
void going_release(struct going *g);
void going_note(const struct going *g, const char *fmt, ...) PRINTF(2, 3);
/* Two runs at once on a machine would measure each other: the second waits. Taken before anything
 * else, let go by the kernel however this process ends. */
int going_lock(struct going *g, struct err *err) MUST_USE;
/* Does another one hold it now? */
bool going_elsewhere(const struct run_env *env);
/* Captures, finds the accepted run and the series, announces. */
int going_begin(struct going *g, struct err *err) MUST_USE;
int going_folder(struct going *g, const char *name, char **ret, struct err *err) MUST_USE;

/* One part of the run (a check, a repetition): where its progress stands in the whole. */
struct going_part {
	struct going *g;
	enum check_layer layer;
	const char *what;
	size_t step, steps;
};
struct check_ctx going_ctx(struct going_part *part); /* without work and golden */
/* The parts that a search for a component needs by themselves: */
int going_identify(struct going *g, struct err *err) MUST_USE; /* name and session */
/* The stack as it is now, the environment read again; what was seen of processes is forgotten. */
int going_capture(struct going *g, struct err *err) MUST_USE;
/* One announced repetition, measured in a folder of this name, its evidence kept; r->index is
 * given. Left out by the contract's causes like any other. */
int going_measure(struct going *g, struct going_part *part, const char *name,
		  const struct ledger_ref *intent, struct rep *r, struct err *err) MUST_USE;
int going_repetitions(struct going *g, struct verdict *v, struct err *err) MUST_USE;
/* Announced, measured, recorded and judged by the caller: one repetition of the candidate, or with
 * arm (arms.h) of one of two stacks. The list it is added to is that stack's. */
int going_rep(struct going *g, const char *arm, const char *what, size_t step, size_t steps,
	      struct err *err) MUST_USE;
/* Golden answers, written down once for all repetitions; *ret NULL: none are kept. */
int going_golden(struct going *g, char **ret, struct err *err) MUST_USE;
/* What the repetitions by themselves say. */
int going_decide_reps(struct going *g, struct verdict *v, struct err *err) MUST_USE;
int going_decide(struct going *g, bool ended, struct verdict *v, struct err *err) MUST_USE;

int run_abandon(const struct run_env *env, const char *intent, const char *run, const char *why,
		struct err *err) MUST_USE;
json_t *refs_text(const struct strs *l); /* array of strings; NULL when empty */
