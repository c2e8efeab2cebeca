/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: an append-only log of what was run, measured, decided and signed.
 *
 * An *entry* is one canonical JSON object (base/canon.h), the *entry bytes*; nothing else is
 * hashed or signed:
 *
 *	{"at":"2026-12-01T10:04:00.000Z","body":{...},"by":{"id":"twice@node7","role":"machine"},
 *	 "kind":"run.result","log":"<origin>","prev":"<leaf of the entry before>","seq":4,"v":1}
 *
 * leaf = SHA-256(0x00 || bytes). Entries are a chain by `prev` and the leaves of an RFC 6962
 * Merkle tree. A *checkpoint* is a C2SP signed note (origin, size, root) with the ledger's own
 * Ed25519 key. Large evidence lives outside as *blobs* named by the SHA-256 of their plain bytes.
 *
 * A ledger is a folder:
 *
 *	ledger.db      SQLite store          checkpoint   newest signed checkpoint
 *	ledger.key     Ed25519, mode 0600    blobs/ab/cd... evidence (some with .zst: compressed)
 *	lock           flock of writers
 *
 * Life:
 *	struct ledger_conf conf = { .dir = ".twice", .flags = LEDGER_CREATE, .origin = origin,
 *				    .by_id = "twice@node7", .now_ms = clock_wall_ms() };
 *	CLEANUP(ledger_closep) struct ledger *l = NULL;
 *	TRY(ledger_open(&conf, &l, err));
 *	TRY(ledger_blob_put(l, p, n, "text/plain", &blob, err));
 *	json_object_set_new(body, "log", ledger_blob_json(&blob));
 *	TRY(ledger_append(l, &(struct ledger_new){ .kind = "run.result", .body = body,
 *		.by_id = "twice@node7", .role = "machine", .at_ms = now }, &ref, err));
 *	TRY(ledger_checkpoint(l, &cp, err));            at the end of each command that appended
 *
 * Guarantees: an append that returned 0 is on disk; one that did not is there wholly or not at
 * all. Writers in several processes are ordered by a lock; `seq` has no gaps. The room has no
 * clock: every time comes from the caller. One handle is used by one thread at a time.
 *
 * Errors: -ERR_BROKEN the ledger is not what it says (also "ledger is shorter than its
 * checkpoint"); -ERR_NOT_FOUND no ledger, no such entry, a blob that was not stored; -ERR_IO the
 * disk refused or is full; -ERR_CONFLICT somebody else holds the store or changed it;
 * -ERR_UNSUPPORTED a network file system, or a key that may not sign; -ERR_LIMIT an entry over
 * 65,535 bytes; -ERR_PARSE a body that is not canonical JSON; -ERR_USAGE written while read-only.
 *
 * References. Every string value in a body that is 64 lower-case hex digits (alone or after
 * "sha256:") refers to something: an entry by its leaf or a blob, contract, stack, ... by its
 * digest. It is indexed as (rel, digest), rel being the keys that lead to it joined by dots
 * without a final ".digest" and without array positions:
 *	{"reps":[{"digest":D}],"intent":{"digest":E},"stack_digest":F}
 * gives ("reps", D), ("intent", E), ("stack_digest", F). An object with such a `digest`, an
 * integer `bytes` and a string `media_type` is a blob: it has to be stored before its entry.
 *
 * Run life, as ledger_verify understands it (scope: "rep", "checks" or "run"):
 *	run.intent  {"scope":"run", ...}                                 before anything starts
 *	run.intent  {"scope":"rep","of":{"digest":<leaf of the run's intent>}, ...}
 *	run.result  {"scope":"rep","intent":{"digest":<leaf of the rep's intent>}, ...}
 *	run.result  {"scope":"checks","of":{"digest":<leaf of the run's intent>}, ...}
 *	run.result  {"scope":"run","intent":{"digest":<leaf of the run's intent>}, ...}
 *	run.abandon {"intent":{"digest":...}, ...}      ends it, and the reps of it when it is a run
 *	verdict     {"intent":{"digest":<leaf of the run's intent>},
 *		     "series":[{"digest":<leaf of a run's intent>}, ...],
 *		     "reps":[{"digest":<leaf>}, ...], "bank":[{"digest":<leaf>}, ...], ...}
 * Of the runs in `intent` and `series`, a verdict has to list in `reps` (those of an accepted stack
 * that alternated with the candidate: in `bank`) every repetition that was
 * announced before it: by the leaf of its result or of the run.abandon that ended it, or by that
 * of its intent while it has no end. Otherwise it is REPS_LEFT_OUT.
 */
#pragma once

#include "base/crypto.h"
#include "base/str.h"
#include <jansson.h>

struct err;
struct ledger;

/* ---- open ---- */

enum ledger_flags {
	LEDGER_CREATE = 1 << 0,   /* make the folder, key, store and genesis when there is none */
	LEDGER_READONLY = 1 << 1, /* never writes; works without the ledger's key */
	LEDGER_SPOOL = 1 << 2,    /* PostgreSQL: what is appended while it can't be reached waits
				     beside */
};

struct ledger_conf {
	const char *dir; /* the folder */
	const char *pg; /* "postgresql://..." or "host=... dbname=...": store there; NULL: SQLite */
	unsigned flags;
	/* For LEDGER_CREATE when there is no ledger yet: */
	const char *origin;   /* name of the log, e.g. "twice.local/node7/llama-prod": no blanks, no
				 '+' */
	const char *purpose;  /* free text or NULL */
	const json_t *policy; /* NULL: ledger_default_policy(). Borrowed */
	const char *old_root; /* hex root of the broken ledger this one follows, or NULL */
	const char *by_id;    /* who writes the genesis, e.g. "twice@node7" */
	int64_t now_ms;       /* wall clock, ms since 1970 */
};

int ledger_open(const struct ledger_conf *conf, struct ledger **ret, struct err *err) MUST_USE;
void ledger_close(struct ledger *l); /* NULL is fine */
static inline void ledger_closep(struct ledger **l)
{
	ledger_close(*l);
	*l = NULL;
}
bool ledger_exists(const char *dir);
/*
 * Copies a whole ledger into an empty place of the other kind (or the same): entry bytes,
 * signatures, checkpoints and blobs; everything else is derived again, and the root must come out
 * the same. `to` names the folder (its key is copied there) and, with .pg, the database. All or
 * nothing in the store.
 */
int ledger_move(struct ledger *from, const struct ledger_conf *to, struct err *err) MUST_USE;
/*
 * A ledger that is broken is never repaired. It is renamed as it is (to "DIR.aside-<time>"), and
 * the next one names its root (ledger_conf.old_root).
 */
struct ledger_past {
	char *dir, *origin;
	char *root;     /* hex; of the checkpoint beside it, else of the store */
	json_t *policy; /* NULL: can't be read */
	char *aside;    /* where it lies since ledger_past_aside */
};
void ledger_past_release(struct ledger_past *p);
/* -ERR_NOT_FOUND; -ERR_BROKEN when neither checkpoint nor store can be read. SQLite only. */
int ledger_past_read(const char *dir, struct ledger_past *ret, struct err *err) MUST_USE;
/* -ERR_CONFLICT: somebody writes to it. */
int ledger_past_aside(struct ledger_past *p, int64_t now_ms, struct err *err) MUST_USE;
const char *ledger_store_name(const struct ledger *l); /* "sqlite", "postgresql", "export" */
const char *ledger_origin(const struct ledger *l);
const char *ledger_dir(const struct ledger *l);
/* "<origin>+<key id>+<base64>" of the ledger's key, as note verifiers take it. */
const char *ledger_vkey(const struct ledger *l);
/* Entries now, and the root over them. ret_root may be NULL. */
int ledger_size(struct ledger *l, uint64_t *ret_size, uint8_t ret_root[SHA256_LEN],
		struct err *err) MUST_USE;

/* ---- append ---- */

struct ledger_new {
	const char *kind;   /* one of ledger_kinds */
	const json_t *body; /* an object; borrowed */
	const char *by_id;  /* "twice@node7", "jane@example.org" */
	const char *role;   /* "machine" or "human" */
	int64_t at_ms;      /* the writer's clock */
};

struct ledger_ref {
	uint64_t seq;
	uint8_t leaf[SHA256_LEN];
	char hex[SHA256_HEX]; /* leaf in hex: what other entries refer to it by */
};

extern const char *const ledger_kinds[]; /* NULL-ended, sorted */

int ledger_append(struct ledger *l, const struct ledger_new *e, struct ledger_ref *ret,
		  struct err *err) MUST_USE;
/* All or none, in this order; ret (may be NULL) has n places. */
int ledger_append_many(struct ledger *l, const struct ledger_new *e, size_t n,
		       struct ledger_ref *ret, struct err *err) MUST_USE;

/*
 * With LEDGER_SPOOL and PostgreSQL, entries and blobs that can't get there are kept in the folder,
 * and land, in their order and once each, before the next append that gets through, or by
 * ledger_land. Until then the ref of such an entry has an id of 64 hex digits in place of its leaf
 * (and seq UINT64_MAX); later entries may refer to it by that. What a person signs is never kept
 * so.
 */
int ledger_land(struct ledger *l, size_t *ret_left, struct err *err) MUST_USE;
bool ledger_spooled(const char *dir); /* something waits there */
/* The value with such ids replaced by leaves where they have landed. New reference. */
json_t *ledger_landed(struct ledger *l, const json_t *v) MUST_USE;
void ledger_landed_hex(struct ledger *l, char hex[SHA256_HEX]);

/*
 * For what a person signs: the draft holds the exact bytes (shown before signing), and is appended
 * together with its signature only while the log still ends where it ended (else -ERR_CONFLICT:
 * make another draft). No lock is held while the person thinks.
 */
struct ledger_draft {
	char *bytes;
	size_t n;
	char *kind;
	struct ledger_ref ref;
};
int ledger_draft_make(struct ledger *l, const struct ledger_new *e, struct ledger_draft *ret,
		      struct err *err) MUST_USE;
/* armored: one SSHSIG over the bytes. key.add may be signed by the key it adds when no key is valid
 * yet. */
int ledger_draft_append(struct ledger *l, const struct ledger_draft *d, const char *armored,
			struct ledger_ref *ret, struct err *err) MUST_USE;
void ledger_draft_release(struct ledger_draft *d);

/* ---- blobs ---- */

struct ledger_blob {
	char digest[SHA256_HEX];
	uint64_t bytes;
	char *media_type;
};
#define LEDGER_BLOB_MAX ((size_t)1 << 30) /* a file larger than this is refused */
void ledger_blob_release(struct ledger_blob *b);
/* Durable when it returns. Put the same bytes twice and there is one file. */
int ledger_blob_put(struct ledger *l, const void *p, size_t n, const char *media_type,
		    struct ledger_blob *ret, struct err *err) MUST_USE;
int ledger_blob_put_file(struct ledger *l, const char *path, const char *media_type,
			 struct ledger_blob *ret, struct err *err) MUST_USE;
/* {"digest","bytes","media_type"}: new reference. */
json_t *ledger_blob_json(const struct ledger_blob *b) MUST_USE;
/* Checked against its digest while it is read. -ERR_NOT_FOUND; -ERR_BROKEN when it is other bytes;
 * -ERR_LIMIT over `limit`. Caller frees. */
int ledger_blob_get(struct ledger *l, const char *digest, size_t limit, char **ret, size_t *ret_n,
		    struct err *err) MUST_USE;
/* Appends evidence.state ("withheld" or "expired") and then removes the bytes. */
int ledger_blob_drop(struct ledger *l, const char *digest, const char *state, const char *reason,
		     const struct ledger_new *who, struct err *err) MUST_USE;

struct ledger_blob_sums {
	uint64_t present, withheld, expired; /* pieces of evidence that entries name */
	uint64_t bytes;                      /* of those present, as they were put in */
};
int ledger_blob_count(struct ledger *l, struct ledger_blob_sums *ret, struct err *err) MUST_USE;
/* "present", "withheld", "expired", or "missing": it should be there. Not read, only looked for. */
int ledger_blob_state(struct ledger *l, const char *digest, const char **ret,
		      struct err *err) MUST_USE;
/* Pieces that should be there and are not. */
int ledger_blobs_missing(struct ledger *l, uint64_t *ret, struct err *err) MUST_USE;

/* ---- read ---- */

struct ledger_entry {
	struct ledger_ref ref;
	char *kind, *by_id, *role, *at;
	int64_t at_ms;
	json_t *body; /* owned by the entry */
	char *bytes;  /* entry bytes, NUL-ended */
	size_t n;
};
void ledger_entry_release(struct ledger_entry *e);

int ledger_get(struct ledger *l, uint64_t seq, struct ledger_entry *ret, struct err *err) MUST_USE;
/* "12", "#12" or at least 4 hex digits of a leaf. -ERR_NOT_FOUND, -ERR_PARSE when it fits several.
 */
int ledger_find(struct ledger *l, const char *name, struct ledger_entry *ret,
		struct err *err) MUST_USE;

struct ledger_filter {
	const char *const *kinds;   /* NULL-ended; NULL: all */
	uint64_t from, to;          /* seq >= from, seq < to; to 0: no end */
	int64_t since_ms, until_ms; /* of `at`; 0: open */
	const char *digest;         /* refers to this digest (64 hex) ... */
	const char *rel;            /* ... under this rel; NULL: any */
	const char *by;             /* by.id; NULL: any */
	bool newest_first;
	uint64_t limit; /* 0: all */
};
/* seen returns 0 to go on, 1 to stop (then ledger_each returns 0), or -ERR_... The entry is the
 * callee's to look at only. */
typedef int ledger_seen(void *arg, const struct ledger_entry *e, struct err *err);
int ledger_each(struct ledger *l, const struct ledger_filter *f, ledger_seen *seen, void *arg,
		struct err *err) MUST_USE;
/* The newest entry that fits. -ERR_NOT_FOUND when there is none. */
int ledger_last(struct ledger *l, const struct ledger_filter *f, struct ledger_entry *ret,
		struct err *err) MUST_USE;

/* ---- checkpoints and proofs ---- */

struct ledger_checkpoint {
	uint64_t size;
	uint8_t root[SHA256_LEN];
	char root_hex[SHA256_HEX];
	char *note; /* the signed note */
};
void ledger_checkpoint_release(struct ledger_checkpoint *c);
/*
 * Signs the present head and writes it beside the store (whole or not at all). On a machine that
 * shares a PostgreSQL store and lacks the ledger's key, nothing is signed: the newest head that
 * another machine signed is kept beside, and ret has the size and root of now with an empty note.
 */
int ledger_checkpoint(struct ledger *l, struct ledger_checkpoint *ret, struct err *err) MUST_USE;

struct ledger_proof {
	uint8_t (*hash)[SHA256_LEN];
	size_t n;
};
void ledger_proof_release(struct ledger_proof *p);
int ledger_inclusion(struct ledger *l, uint64_t seq, uint64_t size, struct ledger_proof *ret,
		     struct err *err) MUST_USE;
int ledger_consistency(struct ledger *l, uint64_t old_size, uint64_t size, struct ledger_proof *ret,
		       struct err *err) MUST_USE;

/* ---- signatures ---- */

#define LEDGER_NAMESPACE "signoff@twice"

/* A public SSH key as one line of authorized_keys: "ssh-ed25519 AAAA... comment". */
struct ssh_key {
	char *type;           /* "ssh-ed25519" */
	char *line;           /* "ssh-ed25519 AAAA..." without the comment */
	char *comment;        /* "" when there is none */
	char fingerprint[64]; /* "SHA256:..." as ssh-keygen -l prints it */
};
void ssh_key_release(struct ssh_key *k);
int ssh_key_parse(struct sv line, struct ssh_key *ret, struct err *err) MUST_USE;
int ssh_key_read(const char *path, struct ssh_key *ret,
		 struct err *err) MUST_USE; /* FILE or FILE.pub */
/* Makes an unencrypted Ed25519 key in OpenSSH's format: path (0600) and path.pub. Never overwrites.
 */
int ssh_key_make(const char *path, const char *comment, struct ssh_key *ret,
		 struct err *err) MUST_USE;
/*
 * Signs with the private key in `path` (PEM of OpenSSH). An unencrypted Ed25519 key is used
 * directly; anything else (encrypted, ECDSA, RSA, sk, or a .pub whose key the agent holds) through
 * `ssh-keygen -Y sign`, which may ask on the terminal. Returns the armored signature; caller frees.
 */
int ssh_sign(const char *path, const char *namespace, const void *p, size_t n, char **ret,
	     struct err *err) MUST_USE;
/* Is this an SSHSIG over these bytes in this namespace? ret: the key in it (its owner is another
 * question). -ERR_PARSE: not a signature; -ERR_BROKEN: does not fit the bytes. */
int ssh_verify(struct sv armored, const char *namespace, const void *p, size_t n,
	       struct ssh_key *ret, struct err *err) MUST_USE;

/* Keys that entries made known, as they stand at an entry. key.revoke {"fingerprint":F} ends a key
 * at once; with "valid_to" it ends then (a key that was replaced). */
struct ledger_key {
	char *line, *holder, fingerprint[64];
	char **roles;            /* NULL-ended */
	uint64_t added, revoked; /* seq; revoked UINT64_MAX: not revoked */
	int64_t from_ms, to_ms;  /* validity; to_ms INT64_MAX: open */
};
struct ledger_keys {
	struct ledger_key *v;
	size_t n, room;
};
void ledger_keys_release(struct ledger_keys *k);
int ledger_keys_read(struct ledger *l, struct ledger_keys *ret, struct err *err) MUST_USE;
/* The key with this fingerprint if it is valid for an entry at (seq, at_ms); else NULL. */
const struct ledger_key *ledger_key_valid(const struct ledger_keys *k, const char *fingerprint,
					  uint64_t seq, int64_t at_ms);
/* Lines `holder namespaces="signoff@twice" ssh-ed25519 AAAA...` for ssh-keygen -Y verify -f. */
char *ledger_allowed_signers(const struct ledger_keys *k) MUST_USE;
/* The body of key.add: roles NULL-ended ("approver", "admin"); to_ms 0: no end. New reference. */
json_t *ledger_key_body(const struct ssh_key *k, const char *holder, const char *const *roles,
			int64_t from_ms, int64_t to_ms) MUST_USE;

struct ledger_signature {
	char *scheme, *signer; /* "sshsig", fingerprint */
	char *sig;             /* armored, NUL-ended (DER or raw bytes for DSSE schemes) */
	size_t n;
};
struct ledger_signatures {
	struct ledger_signature *v;
	size_t n, room;
};
void ledger_signatures_release(struct ledger_signatures *s);
int ledger_signatures_of(struct ledger *l, const uint8_t leaf[SHA256_LEN],
			 struct ledger_signatures *ret, struct err *err) MUST_USE;
/* Adds one more SSHSIG to an entry that is there (second approver). Refused when it does not fit
 * the bytes, its key is not valid at that entry, or it is there already (-ERR_CONFLICT). */
int ledger_sign(struct ledger *l, uint64_t seq, const char *armored, struct err *err) MUST_USE;

/*
 * Policy: an object in the genesis, `kind` -> rule; kinds without a rule need no signature:
 *	{"signoff":{"holders":1,"role":"approver","self_approval":true}, "key_add":...}
 * Kinds are written with '_' for '.'. holders: distinct holders whose valid signatures are
 * needed; role: one they must have; self_approval false: a holder does not count who is
 * `body.run_by` of the entry (`body.holder` of a key.add), or `by.id` (human) or `body.run_by` of
 * one that it refers to, and nobody counts on a signoff when none of these names a `run_by`;
 * max_days: `body.expires_at_ms` has to be within so many days of the entry (0: need not end).
 */
json_t *ledger_default_policy(void) MUST_USE;
int ledger_policy(struct ledger *l, json_t **ret, struct err *err) MUST_USE; /* new reference */
/* Would a signature of this key count for an entry of this kind made now? -ERR_UNSUPPORTED says why
 * not: not known, revoked, lapsed, without the role. ret_holder (may be NULL) is the caller's. */
int ledger_may_sign(struct ledger *l, const char *kind, const char *fingerprint, int64_t at_ms,
		    char **ret_holder, struct err *err) MUST_USE;

enum ledger_standing {
	LEDGER_IN_FORCE,   /* signed as the policy wants */
	LEDGER_PENDING,    /* good signatures, but not enough holders yet */
	LEDGER_NOT_SIGNED, /* none that counts */
	LEDGER_NO_POLICY,  /* the genesis asks for no signature on this kind */
};
/* How an entry stands. ret_holders (may be NULL): those who count. why (may be NULL): one line. */
int ledger_standing(struct ledger *l, uint64_t seq, enum ledger_standing *ret,
		    struct strs *ret_holders, struct str *why, struct err *err) MUST_USE;

/* ---- export ---- */

/*
 * Writes all of it as plain files into an empty or new folder:
 *	entries.jsonl          entry bytes, one a line        checkpoint       the newest that fits
 *	signatures/SEQ-N.sshsig                               allowed_signers  for ssh-keygen
 *	blobs/ab/cdef...       evidence, not compressed       SHA256SUMS       of blobs
 *	tile/...               C2SP tlog-tiles: hashes, and entries in bundles
 * twice-ledger(5) has the loop that checks it with sha256sum and ssh-keygen. ledger_verify and
 * ledger_open with LEDGER_READONLY take such a folder as they take a ledger's.
 */
int ledger_export(struct ledger *l, const char *dir, struct err *err) MUST_USE;

/* The tree alone as tlog-tiles, up to the newest checkpoint, which lies beside it. */
int ledger_tiles(struct ledger *l, const char *dir, struct err *err) MUST_USE;

/* ---- a verdict for other tools ---- */

struct stack;

enum ledger_predicate {
	LEDGER_PREDICATE_VERDICT,     /* our own: the entry, its checkpoint and inclusion proof */
	LEDGER_PREDICATE_TEST_RESULT, /* in-toto test-result/v0.1 */
	LEDGER_PREDICATE_VSA,         /* SLSA verification_summary/v1 */
};
const char *ledger_predicate_type(enum ledger_predicate p); /* its URI */

struct ledger_attest {
	const struct ledger_entry *verdict;
	const struct stack *stack; /* NULL: not known; images and models in it become subjects */
	const json_t *tests; /* [{"name","status"}]: passed, skipped (a warning), all else fails */
	bool proven;         /* the workload is proven: TWICE_PROVEN */
};
/*
 * An in-toto Statement v1 about a verdict entry; new reference. Subjects are told by digest: images
 * and models of the stack, the stack itself, the contract. -ERR_UNSUPPORTED: the entry is no
 * verdict; -ERR_NOT_FOUND: no checkpoint covers it yet.
 */
int ledger_statement(struct ledger *l, const struct ledger_attest *a, enum ledger_predicate p,
		     json_t **ret, struct err *err) MUST_USE;

/* Who signs exports: a P-256 or Ed25519 private key in PEM, mode 0600. Not the ledger's own key. */
struct ledger_signer;
int ledger_signer_read(const char *path, struct ledger_signer **ret, struct err *err) MUST_USE;
/* Makes a P-256 key: path (0600) and path.pub. Never overwrites. */
int ledger_signer_make(const char *path, struct ledger_signer **ret, struct err *err) MUST_USE;
void ledger_signer_free(struct ledger_signer *s);
static inline void ledger_signer_freep(struct ledger_signer **s)
{
	ledger_signer_free(*s);
	*s = NULL;
}
const char *ledger_signer_id(const struct ledger_signer *s); /* SHA-256 of the public DER, hex */
const char *ledger_signer_public(const struct ledger_signer *s); /* PEM */
/* One line of DSSE, without its newline; a Sigstore bundle v0.3 around it. Both append. */
void ledger_envelope(const struct ledger_signer *s, const json_t *statement, struct str *ret);
void ledger_bundle(const struct ledger_signer *s, const json_t *statement, struct str *ret);

/* The checkpoint that says most about an entry: cosigned ones first, then the largest. */
int ledger_checkpoint_covering(struct ledger *l, uint64_t seq, struct ledger_checkpoint *ret,
			       struct err *err) MUST_USE;
/* A C2SP tlog-proof of any entry, with its bytes in it. Appends. */
int ledger_proof_file(struct ledger *l, const struct ledger_entry *e, struct str *ret,
		      struct err *err) MUST_USE;

/* ---- witnesses ---- */

/*
 * A witness runs where the log's owner has no say. It keeps the newest head of every log it was
 * told of, wants proof that a newer one grew out of it, refuses to go back, and cosigns (C2SP
 * tlog-cosignature v1). Requests and answers are those of C2SP tlog-witness:
 *
 *	the log's machine                     the witness
 *	ledger_witness_request  -- text -->   ledger_witness_add
 *	ledger_anchor_import    <-- lines --
 *
 * -ERR_BROKEN "rollback: ..." or "fork: ...": the log is convicted by its own signature.
 */
struct ledger_witness;
/* name: made when there is none (NULL: then -ERR_NOT_FOUND). */
int ledger_witness_open(const char *dir, const char *name, struct ledger_witness **ret,
			struct err *err) MUST_USE;
void ledger_witness_close(struct ledger_witness *w);
static inline void ledger_witness_closep(struct ledger_witness **w)
{
	ledger_witness_close(*w);
	*w = NULL;
}
const char *ledger_witness_vkey(const struct ledger_witness *w); /* "name+id+base64" */

struct ledger_witnessed {
	char *origin;
	uint64_t size, seen; /* seen: before this; a request has to begin there */
	char root_hex[SHA256_HEX];
	int64_t time_s;
	bool first,
		cosigned; /* not cosigned: the request begins elsewhere, ask again from `seen` */
	char *lines;      /* the cosignature: "— name base64\n" */
	size_t forks;     /* only from ledger_witness_each: heads that convict it */
};
void ledger_witnessed_release(struct ledger_witnessed *d);
/* log_vkey: trusted the first time (then NULL does); another one later is refused. Durable. */
int ledger_witness_add(struct ledger_witness *w, struct sv request, const char *log_vkey,
		       int64_t now_s, struct ledger_witnessed *ret, struct err *err) MUST_USE;
/* Entries of a log that it has seen; 0: none, or no such log. */
int ledger_witness_seen(struct ledger_witness *w, struct sv origin, uint64_t *ret,
			struct err *err) MUST_USE;
/* The request that a folder answers by itself: tiles, an export or a ledger. Appends. */
int ledger_witness_request_of(struct ledger_witness *w, const char *dir, struct str *ret,
			      struct err *err) MUST_USE;
int ledger_witness_each(struct ledger_witness *w,
			int (*seen)(void *arg, const struct ledger_witnessed *d, struct err *err),
			void *arg, struct err *err) MUST_USE;

/* Entries that a witness (by name; NULL: any) has cosigned, as far as we know. */
int ledger_cosigned(struct ledger *l, const char *witness, uint64_t *ret, struct err *err) MUST_USE;
/* From `since` to the newest checkpoint. Appends. */
int ledger_witness_request(struct ledger *l, uint64_t since, struct str *ret,
			   struct err *err) MUST_USE;

struct ledger_anchored {
	char *witness; /* its name; NULL: a place */
	char *path;    /* the file */
	uint64_t size, seq;
	int64_t time_s; /* of the cosignature */
	bool added;     /* an `anchor` entry, seq, says so; false: it was known before */
};
void ledger_anchored_release(struct ledger_anchored *a);
/* What a witness answered: its lines, or a checkpoint with them. vkey: as the witness's log_vkey.
 * Kept in anchors/, told by an `anchor` entry. who: by_id, role and at_ms of that. */
int ledger_anchor_import(struct ledger *l, struct sv text, const char *vkey,
			 const struct ledger_new *who, struct ledger_anchored *ret,
			 struct err *err) MUST_USE;
/* Copies the newest checkpoint to a file or into a folder elsewhere, unless what lies there is no
 * earlier head of this log. */
int ledger_anchor_place(struct ledger *l, const char *where, const struct ledger_new *who,
			struct ledger_anchored *ret, struct err *err) MUST_USE;

/* ---- verify ---- */

enum ledger_code {
	LEDGER_UNREADABLE, /* the store cannot be opened or read at all */
	LEDGER_NOT_CANONICAL,
	LEDGER_WRONG_LOG,
	LEDGER_SEQ_GAP,
	LEDGER_PREV_MISMATCH,
	LEDGER_INDEX_MISMATCH,
	LEDGER_ANCHOR_UNTRUSTED,
	LEDGER_ANCHOR_BAD_SIGNATURE,
	LEDGER_TRUNCATED,
	LEDGER_ROOT_MISMATCH,
	LEDGER_FORK,
	LEDGER_BAD_SIGNATURE,
	LEDGER_KEY_NOT_VALID,
	LEDGER_POLICY,
	LEDGER_BLOB_DIFFERS,
	LEDGER_BLOB_MISSING,
	LEDGER_UNFINISHED,
	LEDGER_REPS_LEFT_OUT,
	LEDGER_VERDICT_DIFFERS,
	LEDGER_ANCHOR_OLD,   /* the newest anchor is older than its age limit */
	LEDGER_CLOCK_BACK,   /* note: `at` runs backwards */
	LEDGER_UNKNOWN_KIND, /* note: a kind or version this program does not know */
	LEDGER_WITHHELD,     /* note: a blob that was withheld or has expired */
};
enum ledger_severity {
	LEDGER_NOTE,    /* nothing wrong */
	LEDGER_MISSING, /* exit 2: intact, but evidence is missing or an anchor is old */
	LEDGER_BROKEN,  /* exit 1 */
};

struct ledger_finding {
	enum ledger_code code;
	enum ledger_severity severity;
	uint64_t seq; /* first place at fault; UINT64_MAX: the ledger as a whole */
	char *text;
};
const char *ledger_code_name(enum ledger_code c); /* "SEQ_GAP" */

struct ledger_anchor { /* one that was found */
	char *name;    /* where it was */
	uint64_t size;
	int64_t at_ms;   /* `at` of the last entry it covers; 0 when it covers none */
	bool holds;      /* signed by a known key and agrees with the entries */
	bool beside;     /* lies in the ledger: whoever owns the machine can rewrite it too */
	bool vouched;    /* cosigned by a witness whose key was given: nobody here can rewrite it */
	size_t cosigned; /* good witness cosignatures */
};

struct ledger_report {
	struct ledger_finding *v;
	size_t n, room;
	uint64_t size;
	uint8_t root[SHA256_LEN];
	struct ledger_anchor *anchors;
	size_t n_anchors, room_anchors;
	uint64_t entries_after_anchor; /* entries that no anchor outside the folder covers */
	uint64_t signatures, blobs, blobs_withheld; /* checked */
};
void ledger_report_release(struct ledger_report *r);
enum ledger_severity ledger_report_worst(const struct ledger_report *r);

/* Recomputes one verdict entry: 0 the same, 1 not (text says how), -ERR_.... For
 * ledger_verify_conf. */
typedef int ledger_recompute(void *arg, const struct ledger_entry *verdict, struct str *text,
			     struct err *err);
typedef void ledger_progress(void *arg, uint64_t done, uint64_t total); /* bytes of work, roughly */

struct ledger_verify_conf {
	const char *path; /* a ledger's folder or an export's folder */
	const char *pg; /* store in PostgreSQL instead; path is then the folder of blobs and key */
	const char *const *anchors; /* NULL-ended: more checkpoint files, folders of them, or - */
	const char *const
		*vkeys;  /* NULL-ended: keys trusted for anchors and witnesses, "name+id+base64" */
	bool only_vkeys; /* trust vkeys alone, not the key named in the genesis */
	bool all;        /* go on after the first fault */
	bool skip_blobs;
	int64_t now_ms, anchor_max_age_ms; /* 0: no limit of age */
	ledger_recompute *recompute;
	ledger_progress *progress;
	void *arg;
};
/* 0 also when faults were found: read the report. Fails only when nothing could be said (no such
 * folder, out of file handles). Never writes, never repairs. */
int ledger_verify(const struct ledger_verify_conf *conf, struct ledger_report *ret,
		  struct err *err) MUST_USE;
/* The same on entry bytes in memory (lines of an export): no blobs, no signatures but those given.
 */
int ledger_verify_lines(const struct sv *lines, size_t n, const char *origin,
			const struct sv *anchors, size_t n_anchors,
			const struct ledger_verify_conf *conf, struct ledger_report *ret,
			struct err *err) MUST_USE;
