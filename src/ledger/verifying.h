/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verification that is going on. Entries come by once, in order (verify_entry.c); what needs all
 * of them is looked at afterwards: runs (verify_runs.c), anchors (verify_anchors.c), blobs
 * (verify_blobs.c). Findings are put into the order of the steps at the end (verify_report.c).
 */
#pragma once

#include "ledger/inner.h"

struct start {                                     /* a run.intent */
	uint8_t leaf[SHA256_LEN], end[SHA256_LEN]; /* end: leaf of what ended it */
	uint64_t seq, ended;                       /* seq of its end; 0: none */
	uint64_t before;                 /* newest verdict that should have had it; 0: none */
	size_t run, first_rep, next_rep; /* indexes + 1; 0: none */
	bool whole;
};
struct runs {
	struct start *v;
	size_t n, room;
	uint32_t *slot; /* open addressing by leaf: index + 1 */
	size_t slots;
};

struct anchor {
	char *name;
	char *text;
	struct note note;
	struct checkpoint cp;
	uint8_t root[SHA256_LEN]; /* ours at its size */
	int64_t at_ms;            /* of the last entry it covers */
	size_t cosigned;
	bool readable, beside, kept, have_root, good, holds, vouched;
	char *fault; /* why it can't be read */
};

struct said_blob { /* a blob as entries name it */
	uint8_t digest[SHA256_LEN];
	uint64_t seq, bytes;
	size_t order;
	char *media_type;
	const char *state; /* NULL: present */
};
struct said_state {
	uint8_t digest[SHA256_LEN];
	const char *state;
};

struct signed_leaf {
	uint8_t leaf[SHA256_LEN];
	bool used;
};

#define NOTES_MOST 1000

struct verifying {
	const struct ledger_verify_conf *conf;
	struct ledger_report *report;
	struct ledger *l; /* NULL: lines in memory */
	struct sha256 h;
	struct entry e; /* reused from entry to entry */
	char *origin;

	/* Where the walk is. */
	struct frontier frontier; /* .size: entries seen */
	struct {                  /* nodes that the store has to keep, as the entries give them */
		struct kept_node {
			unsigned level;
			uint64_t index;
			uint8_t hash[SHA256_LEN];
		} * v;
		size_t n, room;
	} nodes;
	uint8_t prev[SHA256_LEN];
	uint64_t expect;                   /* the next seq */
	int64_t last_at, at_ms;            /* the latest so far; that of the entry before */
	size_t notes[LEDGER_WITHHELD + 1]; /* of each code: NOTES_MOST are kept */
	bool nothing;                      /* there is no log: no store, or one without a table */
	bool stopped; /* at a fault of the chain: nothing after it can be judged */

	struct ledger_keys keys;
	struct note_keys vkeys;
	size_t given; /* the first of them: those that the caller trusts */
	json_t *policy;
	struct runs runs;
	struct {
		struct anchor *v;
		size_t n, room, next; /* next: the first whose root is still to come, by size */
	} anchors;
	struct {
		struct said_blob *v;
		size_t n, room;
	} blobs;
	struct {
		struct said_state *v;
		size_t n, room;
	} states;
	struct {
		struct signed_leaf *v;
		size_t n, room;
	} signed_leaves; /* sorted */
};
void verifying_release(struct verifying *v);

/* UINT64_MAX as seq: the ledger as a whole. */
void find(struct verifying *v, enum ledger_code code, uint64_t seq, const char *fmt, ...)
	PRINTF(4, 5);
enum ledger_severity code_severity(enum ledger_code code);
/* Orders findings by step and, unless all were asked for, keeps the first that breaks. */
void report_settle(struct verifying *v);

/* One entry: bytes, chain, tree, derived columns and refs (row NULL: there are none), and its
 * meaning. */
struct row_refs {
	struct entry_ref *v;
	size_t n;
};
int verify_entry(struct verifying *v, struct sv bytes, const struct entry_row *row,
		 const struct row_refs *refs, struct err *err) MUST_USE;

void runs_take(struct verifying *v, const struct ledger_entry *e);
void runs_finish(struct verifying *v);
void runs_release(struct runs *r);

int anchors_trust(struct verifying *v, struct err *err) MUST_USE; /* the keys of conf */
int anchors_read(struct verifying *v, struct err *err) MUST_USE;  /* before the entries */
void anchors_add(struct verifying *v, const char *name, struct sv text, bool beside, bool kept);
void anchors_sort(struct verifying *v);
void anchors_pass(struct verifying *v); /* after each entry and once before the first */
void anchors_finish(struct verifying *v);

void blobs_take(struct verifying *v, const struct entry *e);
void blobs_state(struct verifying *v, const struct ledger_entry *e);
int blobs_finish(struct verifying *v, struct err *err) MUST_USE;
