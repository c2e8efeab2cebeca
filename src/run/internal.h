/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: records in the ledger, and the series of a stack. */
#pragma once

#include "run/run.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

/* ---- records.c: bodies of entries, written and read ---- */

#define RUN_BLOB_LIMIT ((size_t)256 << 20)

/* {"digest": leaf}: how an entry refers to another one. New reference. */
json_t *run_ref(const char *hex) MUST_USE;
/* The digest in o[key]; NULL: not there or malformed. Borrowed from o. */
const char *run_ref_of(const json_t *o, const char *key);

int run_append(const struct run_env *env, const char *kind, const json_t *body,
	       struct ledger_ref *ret, struct err *err) MUST_USE;
/* contract.set, once for each digest; ret is its leaf. */
int run_put_contract(const struct run_env *env, char ret[65], struct err *err) MUST_USE;
/* stack.capture: always a new entry (the moment counts), ret is its leaf. */
int run_put_stack(const struct run_env *env, const struct stack *s, char ret[65],
		  struct err *err) MUST_USE;
int run_get_stack(struct ledger *l, const char *capture, struct stack *ret,
		  struct err *err) MUST_USE;
/* Moves the files of evidence into the ledger (redacted text, digests), then forgets their paths.
 * */
int run_put_evidence(const struct run_env *env, struct evidences *l, struct err *err) MUST_USE;
int run_entry(struct ledger *l, const char *hex, const char *kind, struct ledger_entry *ret,
	      struct err *err) MUST_USE;
/* The bytes of the evidence with this label; -ERR_NOT_FOUND. */
int run_evidence_text(struct ledger *l, const struct evidences *e, const char *label, char **ret,
		      size_t *ret_n, struct err *err) MUST_USE;

/* What a verdict that was made without the accepted run carries. */
#define FIRST_NOTE "held to the objectives alone, not compared with what was accepted: %s"

/* ---- series.c: repetitions of one stack under one contract ---- */

/* A run.intent of scope run, read back. */
struct intent {
	uint64_t seq;
	int64_t at_ms;
	char leaf[65], run[40];
	char contract_digest[65], stack_digest[65], capture[65];
	char accepted[65]; /* leaf of the sign-off it compares with; "" */
	char session[65];
	uint64_t as_of; /* entries that this run looked at: bank and series are made of them */
	char *new_series;
	bool interleaved; /* both stacks alternately: arms.h */
	char *first;      /* why it was not compared with the accepted run; NULL: it was */
	json_t *switches;
	int64_t looks[16];
	size_t n_looks;
};
void intent_release(struct intent *i);
int intent_read(struct ledger *l, const char *hex, struct intent *ret, struct err *err) MUST_USE;

/* Everything that one run left behind: repetitions (leaf set; the announced ones that have no
 * result
 * as failed or excluded), check outcomes, and how it ended. */
struct run_left {
	struct intent intent;
	struct reps reps;
	struct reps accepted_reps; /* of the accepted stack, when both ran alternately */
	struct outcomes outcomes;
	struct strs check_leaves;
	bool ended, interrupted;
	uint64_t ended_seq; /* of the entry that ended it */
	int n_interrupted;
};
void run_left_release(struct run_left *r);
int run_left_read(struct ledger *l, const char *intent, struct run_left *ret,
		  struct err *err) MUST_USE;

/* The intents that belong to one series, oldest first: same workload, contract and stack, among the
 * entries from..as_of, not before the newest one that said new_series. A run that had not ended by
 * as_of (it goes on elsewhere) is left out: what it will have measured can't be known. signoff: of
 * the runs that alternated with that accepted one; NULL: of all others. */
int series_intents(struct ledger *l, const char *workload, const char *contract_digest,
		   const char *stack_digest, const char *signoff, uint64_t from, uint64_t as_of,
		   struct strs *ret, struct err *err) MUST_USE;
/* Of runs that alternated: the good repetitions of the accepted stack; the entries that ended any
 * of them, into ret_leaves (NULL: not wanted); and how many failed. */
int series_arms(struct ledger *l, const struct strs *intents, struct reps *ret,
		struct strs *ret_leaves, size_t *ret_failed, struct err *err) MUST_USE;
/* Repetitions of those intents in order, renumbered; interrupted ones over the limit become
 * failed. */
int series_reps(struct ledger *l, const struct strs *intents, struct reps *ret,
		struct outcomes *ret_last_outcomes, struct err *err) MUST_USE;

/* What a sign-off's entry says of contract, stack, intent and verdict. */
int acceptance_of(struct ledger *l, const char *signoff, struct acceptance *ret,
		  struct err *err) MUST_USE;

/* ---- answers.c: items, texts, losses, settings ---- */

struct judge;
struct rep_told;
/* What repetitions told, one each, in their order. */
struct judge_told {
	struct rep_told *v;
	size_t n, room;
};
void judge_told_release(struct judge_told *l);
/* Reads what those repetitions told that have not been read yet; before judge_decide. Evidence that
 * was withheld or expired is an error, or, with `lost`, adds to it and counts as not told. */
int judge_read_told(struct ledger *l, struct judge *j, size_t *lost, struct err *err) MUST_USE;
/* What the verdict's input borrows. */
struct judge_items {
	unsigned items, lost, won, missing, foreign; /* foreign: not in the accepted run */
	double before, now;
	struct items_cluster *clusters;
	size_t n_clusters;
};
struct judge_texts {
	struct {
		struct text_prompt *v;
		size_t n, room;
	} prompts;
	struct {
		struct text **v;
		size_t n, room;
	} texts;
};
struct judge_losses {
	char *name;
	double *bank, *cand;
	size_t n;
};
struct judge_answers {
	struct judge_items *items;
	struct judge_texts *texts;
	struct judge_losses *losses;
	size_t n_items, n_texts, n_losses;
	struct verdict_items *in_items;
	struct verdict_texts *in_texts;
	struct verdict_pairs *in_pairs;
};
void judge_answers_release(struct judge_answers *a);
/* voids gets why the accepted evidence is for something else. */
void judge_answers_make(const struct judge *j, struct judge_answers *a, struct strs *voids,
			struct verdict_in *in);
size_t judge_item_count(const struct judge *j, size_t list); /* 0: not known yet */
/* Caller frees; names and values are borrowed. */
struct verdict_setting *judge_settings(const struct judge *j, struct strs *mismatches,
				       struct strs *notes, size_t *ret_n) MUST_USE;
const char *judge_work(const struct reps *l, bool *ret_differs);

/* ---- back.c ---- */

/* A switch is named as the component it changes; a variable also without its "env.". */
bool run_switch_names(const char *name, const struct change *c);

/* ---- judge.c: what the verdict is made of ---- */

struct judge {
	const struct contract *contract;
	char stack_digest[65];
	struct reps cand;
	struct outcomes outcomes; /* layers of this run */
	bool has_bank;
	char bank_contract[65], bank_stack[65];
	struct reps bank;
	bool interleaved; /* the bank was made alternately with the candidate's repetitions */
	struct judge_told cand_told, bank_told;
	struct waivers waivers; /* those in force when it began: all of them count */
	bool ended;             /* no more repetitions will be made in this run */
	struct strs mismatches; /* what ran is not what was captured, or not what was asked for */
	struct strs notes;
};
void judge_release(struct judge *j);
const struct waiver *judge_waiver(const struct judge *j, const char *subject); /* or NULL */
char *judge_plan(const struct judge *j) MUST_USE; /* before the first repetition; NULL */
void judge_decide(const struct judge *j, struct verdict *ret);
void judge_watch(const struct judge *j, struct verdict_watch *ret);
/* The bank as it was when the ledger had as_of entries. *ret_next: the first entry that a new
 * series on the accepted stack may begin at (all before it is in the bank already). */
int judge_bank(struct ledger *l, const struct contract *c, const struct acceptance *a,
	       uint64_t as_of, struct judge *ret, uint64_t *ret_next, struct err *err) MUST_USE;
