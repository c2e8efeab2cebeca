/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of the five layers. A check is one file with one const struct and one line in
 * checks.c.
 *
 *	struct outcome o CLEANUP(outcome_release) = { 0 };
 *	TRY(check_run(&ctx, &contract.checks.v[i], &o, err));     o.result, o.reason, o.measured ...
 *
 *	struct rep r CLEANUP(rep_release) = { .index = 0 };
 *	TRY(workload_rep(&ctx, &r, err));                         one fresh start, measured
 *
 * What the workload or the machine did wrong is an outcome (FAIL, SKIP, ERROR, DOUBTFUL with a
 * reason), never an error of these functions: they fail only when interrupted (-ERR_INTERRUPTED)
 * or when the scratch folder can't be used.
 */
#pragma once

#include "contract/contract.h"
#include "model/model.h"
#include <sys/types.h>

struct err;

struct check_progress {
	const char *what; /* "start", "warm-up", "load", "train", ... */
	const char *live; /* numbers so far, or "" */
	double fraction;  /* of this check, 0..1; negative: unknown */
	int64_t left_ns;  /* negative: unknown */
};

struct check_ctx {
	const struct contract *contract;
	const char *dir;     /* the contract's folder, absolute */
	const char *work;    /* scratch folder of this check or repetition; exists, empty */
	const char *root;    /* "/sys" and "/proc" below this; NULL: the real ones */
	const char *libexec; /* where helper programs lie; NULL: the built-in places */
	const struct pairs *environment; /* for every process of the workload */
	const volatile int *cancel;
	int seed; /* {seed}: number of the repetition from 1; 0: 1 */
	/* File of golden answers: the accepted run's or the first repetition's. NULL: none. */
	const char *golden;
	void (*progress)(void *arg, const struct check_progress *p); /* may be NULL */
	/* The process is up (and, for a server, ready): may be looked at. May be NULL. */
	void (*started)(void *arg, pid_t pid);
	void *arg;
};

struct check {
	struct check_schema schema;
	/* Fills ret->result, reason, measured, evidence; check, layer, required are filled
	 * already. */
	int (*run)(const struct check_ctx *ctx, const void *conf, struct outcome *ret,
		   struct err *err);
};

extern const struct check *const checks[]; /* NULL-ended */
/* The schemas of all checks: for contract_parse. NULL-ended. */
const struct check_schema *const *checks_schemas(void);

int check_run(const struct check_ctx *ctx, const struct contract_check *k, struct outcome *ret,
	      struct err *err) MUST_USE;

/* ret->index is given. Fills state, reason, start_digest, measured, outcomes, evidence (files in
 * ctx->work). */
int workload_rep(const struct check_ctx *ctx, struct rep *ret, struct err *err) MUST_USE;

/* Evidence labels that others look for. */
#define EVIDENCE_GOLDEN "golden.jsonl" /* answers of this repetition */
