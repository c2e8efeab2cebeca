/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share: the open ledger, its folder. */
#pragma once

#include "ledger/note.h"
#include "ledger/store.h"

struct ledger {
	char *dir, *origin, *vkey;
	struct store *store;
	bool readonly, have_key;
	struct ed25519 key;
	struct sha256 h; /* scratch of the one thread that uses the handle */
	int lock_fd;
	bool spool;         /* appends wait beside while the store is away */
	int64_t tried_ns;   /* when it was last tried to land them */
	uint64_t seen_size; /* the log was this long once: it never gets shorter */
};

/* Under the folder's lock. */
int append_locked(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		  struct err *err) MUST_USE;
/* The same, or beside when the store is away. */
int spool_append(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		 struct err *err) MUST_USE;

/* ---- the folder ---- */

#define LEDGER_DB         "ledger.db"
#define LEDGER_KEY        "ledger.key"
#define LEDGER_CHECKPOINT "checkpoint"
#define LEDGER_LOCK       "lock"
#define LEDGER_ANCHORS    "anchors"       /* checkpoints that witnesses have cosigned */
#define LEDGER_WITNESSES  "witnesses"     /* whose keys those are, one a line */
#define LEDGER_ENTRIES    "entries.jsonl" /* of an export */

/* Refuses a folder on a network file system (or on an overlay whose upper layer is). */
int disk_is_local(const char *dir, struct err *err) MUST_USE;
bool disk_type_is_network(long type);
/* NULL when the type does no harm; else what it is called. For /proc/self/mountinfo's word. */
bool disk_name_is_network(const char *fs);
/* The writers' lock: taken for one append or one checkpoint, let go by the kernel when we die. */
int lock_take(struct ledger *l, struct err *err) MUST_USE;
void lock_drop(struct ledger *l);
static inline void lock_dropp(struct ledger **l)
{
	if (*l)
		lock_drop(*l);
}

bool export_exists(const char *dir);

/* ---- blobs as files ---- */

int blob_file_put(const char *dir, const char *digest, struct sv data, struct err *err) MUST_USE;
int blob_file_get(const char *dir, const char *digest, size_t limit, char **ret, size_t *ret_n,
		  struct err *err) MUST_USE;
/* Digest and length of the plain bytes that lie there. -ERR_NOT_FOUND; -ERR_BROKEN: not
 * readable. */
int blob_file_check(const char *dir, const uint8_t digest[SHA256_LEN], uint64_t *ret_bytes,
		    struct err *err) MUST_USE;
bool blob_file_there(const char *dir, const char *digest);
int blob_file_drop(const char *dir, const char *digest, struct err *err) MUST_USE;

/* ---- between the files ---- */

/* Rows that outlive the statement they came from. */
struct kept_row {
	struct entry_row row;
	char *bytes, *kind;
};
struct kept_rows {
	struct kept_row *v;
	size_t n, room;
};
void kept_rows_release(struct kept_rows *p);
int kept_rows_take(void *arg, const struct entry_row *r, struct err *err); /* a row_seen */

/* One more entry: its row, the head that follows, the nodes of the tree that it completes. */
int ledger_add_row(struct store *s, struct sha256 *h, struct log_head *head,
		   const struct entry_row *r, const struct entry *e, struct err *err) MUST_USE;
/* A source of nodes that reads kept nodes, and leaves, from the store. */
struct merkle_source ledger_nodes(struct ledger *l);
int ledger_check_head(struct ledger *l, const struct log_head *head, struct err *err) MUST_USE;

/* Signed by somebody whom the policy allows? Shared by ledger_standing, appends and verify. */
struct policy_rule {
	bool there; /* the genesis has a rule for this kind */
	int64_t holders;
	const char *role; /* NULL: any */
	int64_t max_ms;   /* the entry has to end within this; 0: need not end */
	bool self_approval;
};
struct policy_rule policy_rule_of(const json_t *policy, const char *kind);
int policy_check(const json_t *policy, struct err *err) MUST_USE;

/* Takes in genesis, key.add and key.revoke entries in order; valid for entries after `seq`. */
void keys_take(struct ledger_keys *k, uint64_t seq, const char *kind, const json_t *body);
/* No key was ever added before: the first key.add may be signed by the key it adds. */
bool keys_none(const struct ledger_keys *k, uint64_t seq);
/* Revoked as of the last entry taken in, and not added again. */
bool key_is_revoked(const struct ledger_keys *k, const char *fingerprint);
/* The ledger keys (vkeys) that an entry names. */
void note_keys_take(struct note_keys *k, const char *kind, const json_t *body);

struct signed_by {
	struct strs holders; /* distinct, that count */
	size_t good, not_valid, bad;
	bool too_long;  /* has no end, or one later than the policy allows */
	struct str why; /* the first fault */
};
void signed_by_release(struct signed_by *s);
/* What judging the signatures of one entry needs. */
struct signed_entry {
	struct sv bytes;
	uint64_t seq;
	int64_t at_ms;
	const char *kind;
	const json_t *body;             /* only looked at for key.add */
	const struct ledger_keys *keys; /* as they stand before it */
	const struct policy_rule *rule;
	const struct strs *self; /* holders who do not count; NULL: all do */
	bool nobody_known;       /* whose own it is can't be told, and it matters: nobody counts */
};
void signed_by_take(struct signed_by *s, const struct signed_entry *e, const struct sig_row *r);
enum ledger_standing signed_by_standing(const struct signed_by *s, const struct policy_rule *rule);
/* All signatures of an entry, judged. */
int signed_by_read(struct ledger *l, const struct ledger_entry *e, const struct ledger_keys *keys,
		   const struct policy_rule *rule, struct signed_by *ret, struct err *err) MUST_USE;
