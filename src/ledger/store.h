/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where entries are kept: one struct of functions, two backends. A store knows rows and
 * transactions, nothing of hashes; what the rows must say is decided above it (ledger.c) and
 * checked (verify.c).
 */
#pragma once

#include "ledger/entry.h"
#include "ledger/merkle.h"

struct store;

struct log_head {
	char *origin;
	struct frontier frontier; /* .size is the number of entries */
	uint8_t head[SHA256_LEN]; /* leaf of the last entry; zeros when there is none */
};
static inline void log_head_release(struct log_head *h)
{
	free(h->origin);
	h->origin = NULL;
}

struct entry_row {
	uint64_t seq;
	struct sv kind, bytes;
	int64_t at_ms;
	uint8_t leaf[SHA256_LEN];
};

struct row_query {
	uint64_t from, to; /* to 0: no end */
	const char *const *kinds;
	int64_t since_ms, until_ms;
	const uint8_t *digest; /* with `rel` or any */
	const char *rel;
	const uint8_t *leaf_lo, *leaf_hi; /* both or none */
	bool newest_first;
	uint64_t limit;
};

/* Callbacks return 0 to go on, 1 to stop, -ERR_.... Views are good until they return. */
typedef int row_seen(void *arg, const struct entry_row *r, struct err *err);
typedef int ref_seen(void *arg, uint64_t seq, struct sv rel, const uint8_t digest[SHA256_LEN],
		     struct err *err);
typedef int leaf_seen(void *arg, uint64_t seq, const uint8_t leaf[SHA256_LEN], struct err *err);
typedef int node_seen(void *arg, unsigned level, uint64_t index, const uint8_t hash[SHA256_LEN],
		      struct err *err);
struct sig_row {
	uint8_t leaf[SHA256_LEN];
	struct sv scheme, signer, sig;
};
typedef int sig_seen(void *arg, const struct sig_row *r, struct err *err);
struct blob_row {
	uint8_t digest[SHA256_LEN];
	uint64_t bytes;
	struct sv media_type, state;
};
typedef int blob_seen(void *arg, const struct blob_row *r, struct err *err);
typedef int note_seen(void *arg, uint64_t size, struct sv note, struct err *err);
typedef void fault_seen(void *arg, const char *text);

struct store_ops {
	const char *name; /* "sqlite", "postgresql" */
	void (*close)(struct store *s);
	/* Is there a log in it? Makes the tables inside the transaction that `begin` began. */
	int (*made)(struct store *s, bool *ret, struct err *err);
	int (*make)(struct store *s, const char *origin, struct err *err);
	int (*begin)(struct store *s, bool write, struct err *err);
	int (*commit)(struct store *s, struct err *err);
	bool (*away)(struct store *s); /* it can't be reached now; NULL: it always can */
	void (*rollback)(struct store *s);
	int (*head)(struct store *s, struct log_head *ret, struct err *err);
	/* The entry, its refs and its blobs (as present); then the head that follows from it. */
	int (*add)(struct store *s, const struct entry_row *r, const struct entry *e,
		   const struct log_head *after, struct err *err);
	int (*rows)(struct store *s, const struct row_query *q, row_seen *seen, void *arg,
		    struct err *err);
	int (*refs)(struct store *s, uint64_t from, uint64_t to, ref_seen *seen, void *arg,
		    struct err *err); /* ordered by (seq, rel, digest) */
	int (*leaves)(struct store *s, uint64_t from, uint64_t to, leaf_seen *seen, void *arg,
		      struct err *err);
	/* Kept nodes of the tree (merkle.h), derived like all but bytes. NULL: the store has
	 * none. */
	int (*node_add)(struct store *s, unsigned level, uint64_t index,
			const uint8_t hash[SHA256_LEN], struct err *err);
	/* Of one level from..to; level 0: all of them, by level and index. */
	int (*nodes)(struct store *s, unsigned level, uint64_t from, uint64_t to, node_seen *seen,
		     void *arg, struct err *err);
	int (*sign)(struct store *s, const struct sig_row *r, struct err *err);
	/* Of one leaf, or all ordered by leaf when it is NULL. */
	int (*signatures)(struct store *s, const uint8_t *leaf, sig_seen *seen, void *arg,
			  struct err *err);
	int (*note_add)(struct store *s, uint64_t size, struct sv note, struct err *err);
	int (*notes)(struct store *s, note_seen *seen, void *arg, struct err *err); /* by size */
	int (*blob_state)(struct store *s, const uint8_t digest[SHA256_LEN], const char *state,
			  struct err *err);
	int (*blobs)(struct store *s, const uint8_t *digest, blob_seen *seen, void *arg,
		     struct err *err); /* by digest; one of them when not NULL */
	/* Are its tables, indexes and triggers as they were made? Cheap; -ERR_BROKEN. NULL: its
	 * statements say so themselves. */
	int (*sound)(struct store *s, struct err *err);
	/* The store's own check of itself, and that its tables and triggers are as they were
	 * made. */
	int (*check)(struct store *s, fault_seen *seen, void *arg, struct err *err);
	/* Evidence inside the store (a store that several machines share); NULL: files only. */
	int (*data_put)(struct store *s, const uint8_t digest[SHA256_LEN], struct sv data,
			struct err *err);
	int (*data_get)(struct store *s, const uint8_t digest[SHA256_LEN], struct str *ret,
			struct err *err); /* -ERR_NOT_FOUND */
	int (*data_there)(struct store *s, const uint8_t digest[SHA256_LEN], bool *ret,
			  struct err *err);
	int (*data_drop)(struct store *s, const uint8_t digest[SHA256_LEN], struct err *err);
};

struct store {
	const struct store_ops *ops;
	bool no_nodes; /* it was made before nodes were kept */
};

enum { STORE_CREATE = 1, STORE_READONLY = 2 };
int store_sqlite_open(const char *path, unsigned flags, struct store **ret,
		      struct err *err) MUST_USE;
/* A folder that ledger_export made, to read only. */
int store_export_open(const char *dir, struct store **ret, struct err *err) MUST_USE;
/* -ERR_UNSUPPORTED in a build without it. */
int store_pg_open(const char *where, unsigned flags, struct store **ret, struct err *err) MUST_USE;

static inline void store_closep(struct store **s)
{
	if (*s)
		(*s)->ops->close(*s);
	*s = NULL;
}
