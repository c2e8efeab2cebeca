/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/store.h"

#include "base/err.h"
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

/* "twic" and the version of the tables: a foreign or newer file is refused by name. */
#define APPLICATION_ID 0x74776963
#define USER_VERSION   3
/* Older stores are read and written as they are. Version 1 kept no nodes of the tree; before 3 the
 * indexes of hashes ran over the whole log. */
#define FIRST_VERSION 1
#define NODES_SINCE   2
#define CHUNKS_SINCE  3

/*
 * Hashes have no order that entries come in: in one index over all of them each entry would change
 * a page of its own, and a page written twice (log of writes, then file) is eight times an entry.
 * So the indexes of hashes go by runs of 256 entries first. What is added then lies in a few pages,
 * and looking a hash up asks each run: 4,000 short steps in a log of a million.
 */
static const struct made {
	int from, until; /* versions that have it; until 0: still */
	const char *text;
} schema[] = {
	{ 1, 0,
	  "CREATE TABLE log (log_id INTEGER PRIMARY KEY CHECK (log_id = 1), origin TEXT NOT NULL,"
	  " size INTEGER NOT NULL CHECK (size >= 0), head BLOB NOT NULL CHECK (length(head) = 32),"
	  " frontier BLOB NOT NULL CHECK (length(frontier) % 32 = 0)) STRICT" },
	{ 1, CHUNKS_SINCE - 1,
	  "CREATE TABLE entry (seq INTEGER PRIMARY KEY CHECK (seq >= 0), kind TEXT NOT NULL,"
	  " at_ms INTEGER NOT NULL, leaf BLOB NOT NULL UNIQUE CHECK (length(leaf) = 32),"
	  " bytes BLOB NOT NULL) STRICT" },
	{ CHUNKS_SINCE, 0,
	  "CREATE TABLE entry (seq INTEGER PRIMARY KEY CHECK (seq >= 0), kind TEXT NOT NULL,"
	  " at_ms INTEGER NOT NULL, leaf BLOB NOT NULL CHECK (length(leaf) = 32),"
	  " bytes BLOB NOT NULL) STRICT" },
	{ 1, 0,
	  "CREATE TABLE entry_ref (seq INTEGER NOT NULL REFERENCES entry(seq), rel TEXT NOT NULL,"
	  " digest BLOB NOT NULL CHECK (length(digest) = 32), PRIMARY KEY (seq, rel, digest))"
	  " STRICT, WITHOUT ROWID" },
	{ 1, 0,
	  "CREATE TABLE signature (leaf BLOB NOT NULL CHECK (length(leaf) = 32),"
	  " scheme TEXT NOT NULL CHECK (scheme IN ('sshsig','dsse-ed25519','dsse-p256')),"
	  " signer TEXT NOT NULL, sig BLOB NOT NULL, PRIMARY KEY (leaf, scheme, signer)) STRICT,"
	  " WITHOUT ROWID" },
	{ 1, 0, "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT" },
	{ 1, 0,
	  "CREATE TABLE blob (digest BLOB PRIMARY KEY CHECK (length(digest) = 32),"
	  " bytes INTEGER NOT NULL, media_type TEXT NOT NULL, state TEXT NOT NULL"
	  " CHECK (state IN ('present','withheld','expired'))) STRICT, WITHOUT ROWID" },
	{ NODES_SINCE, 0,
	  "CREATE TABLE node (level INTEGER NOT NULL, idx INTEGER NOT NULL, hash BLOB NOT NULL"
	  " CHECK (length(hash) = 32), PRIMARY KEY (level, idx)) STRICT, WITHOUT ROWID" },
	{ 1, 0, "CREATE INDEX entry_by_kind ON entry (kind, seq)" },
	{ CHUNKS_SINCE, 0, "CREATE INDEX entry_by_leaf ON entry (seq >> 8, substr(leaf, 1, 8))" },
	{ 1, CHUNKS_SINCE - 1, "CREATE INDEX entry_ref_by_digest ON entry_ref (digest)" },
	{ CHUNKS_SINCE, 0, "CREATE INDEX entry_ref_by_digest ON entry_ref (seq >> 8, digest)" },
	{ 1, 0,
	  "CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN"
	  " SELECT RAISE(ABORT, 'an entry is never changed'); END" },
	{ 1, 0,
	  "CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN"
	  " SELECT RAISE(ABORT, 'an entry is never deleted'); END" },
	{ 1, 0,
	  "CREATE TRIGGER entry_in_order BEFORE INSERT ON entry"
	  " WHEN NEW.seq IS NOT (SELECT size FROM log WHERE log_id = 1) BEGIN"
	  " SELECT RAISE(ABORT, 'an entry is only added at the end'); END" },
};

static bool made_in(const struct made *m, int version)
{
	return m->from <= version && (!m->until || version <= m->until);
}

enum stmt {
	S_HEAD,
	S_ADD,
	S_ADD_REF,
	S_ADD_BLOB,
	S_SET_HEAD,
	S_REFS,
	S_LEAVES,
	S_NODE_ADD,
	S_NODES,
	S_NODES_ALL,
	S_SIGN,
	S_SIGS,
	S_SIGS_ALL,
	S_NOTE_ADD,
	S_NOTES,
	S_BLOB_STATE,
	S_BLOB,
	S_BLOBS,
	S_BEGIN,
	S_BEGIN_WRITE,
	S_COMMIT,
	S_MANY,
};

static const char *const sql[S_MANY] = {
	[S_HEAD] = "SELECT origin, size, head, frontier FROM log WHERE log_id = 1",
	[S_ADD] = "INSERT INTO entry (seq, kind, at_ms, leaf, bytes) VALUES (?, ?, ?, ?, ?)",
	[S_ADD_REF] = "INSERT INTO entry_ref (seq, rel, digest) VALUES (?, ?, ?)",
	[S_ADD_BLOB] = "INSERT OR IGNORE INTO blob (digest, bytes, media_type, state)"
		       " VALUES (?, ?, ?, 'present')",
	[S_SET_HEAD] = "UPDATE log SET size = ?, head = ?, frontier = ? WHERE log_id = 1",
	[S_REFS] = "SELECT seq, rel, digest FROM entry_ref WHERE seq >= ? AND seq < ?"
		   " ORDER BY seq, rel, digest",
	[S_LEAVES] = "SELECT seq, leaf FROM entry WHERE seq >= ? AND seq < ? ORDER BY seq",
	[S_NODE_ADD] = "INSERT INTO node (level, idx, hash) VALUES (?, ?, ?)",
	[S_NODES] = "SELECT level, idx, hash FROM node WHERE level = ? AND idx >= ? AND idx < ?"
		    " ORDER BY idx",
	[S_NODES_ALL] = "SELECT level, idx, hash FROM node ORDER BY level, idx",
	[S_SIGN] = "INSERT INTO signature (leaf, scheme, signer, sig) VALUES (?, ?, ?, ?)",
	[S_SIGS] = "SELECT leaf, scheme, signer, sig FROM signature WHERE leaf = ?"
		   " ORDER BY scheme, signer",
	[S_SIGS_ALL] = "SELECT leaf, scheme, signer, sig FROM signature"
		       " ORDER BY leaf, scheme, signer",
	[S_NOTE_ADD] = "INSERT OR REPLACE INTO checkpoint (size, note) VALUES (?, ?)",
	[S_NOTES] = "SELECT size, note FROM checkpoint ORDER BY size",
	[S_BLOB_STATE] = "UPDATE blob SET state = ? WHERE digest = ?",
	[S_BLOB] = "SELECT digest, bytes, media_type, state FROM blob WHERE digest = ?",
	[S_BLOBS] = "SELECT digest, bytes, media_type, state FROM blob ORDER BY digest",
	[S_BEGIN] = "BEGIN",
	[S_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
};

struct lite {
	struct store base;
	sqlite3 *db;
	char *path;
	sqlite3_stmt *stmt[S_MANY];
	int version;
	/* The head that follows from the entries added since `begin`; written with the commit. */
	struct frontier frontier;
	uint8_t head[SHA256_LEN];
	bool head_due;
};

static struct lite *lite_of(struct store *s)
{
	return (struct lite *)s;
}

/* The answer of SQLite as an error of ours. */
static int lite_bail(struct lite *l, const char *what, struct err *err)
{
	int rc = sqlite3_errcode(l->db) & 0xff, sys;

	switch (rc) {
	case SQLITE_ERROR: /* our statements are right, so a table or a column is not */
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return bail(err, ERR_BROKEN, "store '%s' is damaged: %s: %s", l->path, what,
			    sqlite3_errmsg(l->db));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return bail(err, ERR_CONFLICT, "store '%s' is held by another process: %s", l->path,
			    what);
	default:
		/* The system's own word is only fresh after these. */
		sys = rc == SQLITE_IOERR || rc == SQLITE_FULL || rc == SQLITE_CANTOPEN
			      ? sqlite3_system_errno(l->db)
			      : 0;
		return err_set(err, ERR_IO, sys, __FILE__, __LINE__, "store '%s': %s: %s", l->path,
			       what, sqlite3_errmsg(l->db));
	}
}

static int exec(struct lite *l, const char *text, struct err *err)
{
	if (sqlite3_exec(l->db, text, NULL, NULL, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot do a statement", err);
	return 0;
}

/* A prepared statement, kept for the life of the store; reset at the end of its scope. */
static int take(struct lite *l, enum stmt which, sqlite3_stmt **ret, struct err *err)
{
	if (!l->stmt[which] && sqlite3_prepare_v3(l->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
						  &l->stmt[which], NULL) != SQLITE_OK)
		return lite_bail(l, "cannot prepare a statement", err);
	*ret = l->stmt[which];
	return 0;
}

static void stmt_reset(sqlite3_stmt **s)
{
	if (*s) {
		(void)sqlite3_reset(*s);
		(void)sqlite3_clear_bindings(*s);
	}
}
#define AUTO_STMT CLEANUP(stmt_reset) sqlite3_stmt

static void stmt_drop(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s);
}

static int step(struct lite *l, sqlite3_stmt *s, bool *ret_row, struct err *err)
{
	int rc = sqlite3_step(s);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return lite_bail(l, "cannot read or write", err);
	*ret_row = rc == SQLITE_ROW;
	return 0;
}

static int done(struct lite *l, sqlite3_stmt *s, struct err *err)
{
	bool row = false;

	return step(l, s, &row, err);
}

static void bind_blob(sqlite3_stmt *s, int at, const void *p, size_t n)
{
	(void)sqlite3_bind_blob64(s, at, n ? p : "", n, SQLITE_STATIC);
}

static void bind_text(sqlite3_stmt *s, int at, struct sv v)
{
	(void)sqlite3_bind_text64(s, at, v.n ? v.p : "", v.n, SQLITE_STATIC, SQLITE_UTF8);
}

static struct sv column(sqlite3_stmt *s, int at)
{
	const char *p = sqlite3_column_blob(s, at);

	return (struct sv){ p ? p : "", (size_t)sqlite3_column_bytes(s, at) };
}

static int column_hash(struct lite *l, sqlite3_stmt *s, int at, uint8_t ret[SHA256_LEN],
		       struct err *err)
{
	struct sv v = column(s, at);

	if (v.n != SHA256_LEN)
		return bail(err, ERR_BROKEN, "store '%s' is damaged: a hash of %zu bytes", l->path,
			    v.n);
	memcpy(ret, v.p, SHA256_LEN);
	return 0;
}

/* ---- transactions ---- */

static int lite_begin(struct store *s, bool write, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;

	TRY(take(l, write ? S_BEGIN_WRITE : S_BEGIN, &q, err));
	return done(l, q, err);
}

static void lite_rollback(struct store *s)
{
	struct lite *l = lite_of(s);

	l->head_due = false;
	if (!sqlite3_get_autocommit(l->db))
		(void)sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
}

static int write_head(struct lite *l, struct err *err)
{
	AUTO_STMT *q = NULL;

	if (!l->head_due)
		return 0;
	TRY(take(l, S_SET_HEAD, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)l->frontier.size);
	bind_blob(q, 2, l->head, SHA256_LEN);
	bind_blob(q, 3, l->frontier.hash, frontier_count(&l->frontier) * SHA256_LEN);
	TRY(done(l, q, err));
	l->head_due = false;
	return 0;
}

static int lite_commit(struct store *s, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;

	TRY(write_head(l, err));
	TRY(take(l, S_COMMIT, &q, err));
	return done(l, q, err);
}

/* ---- the log ---- */

static int lite_made(struct store *s, bool *ret, struct err *err)
{
	struct lite *l = lite_of(s);
	CLEANUP(stmt_drop) sqlite3_stmt *q = NULL;
	bool row = false;

	if (sqlite3_prepare_v2(l->db, "SELECT count(*) FROM sqlite_schema", -1, &q, NULL) !=
	    SQLITE_OK)
		return lite_bail(l, "cannot read its tables", err);
	TRY(step(l, q, &row, err));
	*ret = row && sqlite3_column_int(q, 0) > 0;
	return 0;
}

static int lite_make(struct store *s, const char *origin, struct err *err)
{
	struct lite *l = lite_of(s);
	CLEANUP(stmt_drop) sqlite3_stmt *q = NULL;
	AUTO_FREE char *ids = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
					APPLICATION_ID, USER_VERSION);
	static const uint8_t zeros[SHA256_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(schema); i++)
		if (made_in(&schema[i], USER_VERSION))
			TRY(exec(l, schema[i].text, err));
	TRY(exec(l, ids, err));
	if (sqlite3_prepare_v2(l->db,
			       "INSERT INTO log (log_id, origin, size, head, frontier)"
			       " VALUES (1, ?, 0, ?, x'')",
			       -1, &q, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot make the log", err);
	bind_text(q, 1, sv_of(origin));
	bind_blob(q, 2, zeros, SHA256_LEN);
	return done(l, q, err);
}

static int lite_head(struct store *s, struct log_head *ret, struct err *err)
{
	struct lite *l = lite_of(s);
	struct log_head own = { 0 };
	AUTO_STMT *q = NULL;
	struct sv f;
	bool row = false;

	TRY(write_head(l, err));
	TRY(take(l, S_HEAD, &q, err));
	TRY(step(l, q, &row, err));
	if (!row)
		return bail(err, ERR_BROKEN, "store '%s' is damaged: no log in it", l->path);
	own.frontier.size = (uint64_t)sqlite3_column_int64(q, 1);
	TRY(column_hash(l, q, 2, own.head, err));
	f = column(q, 3);
	if (f.n != frontier_count(&own.frontier) * SHA256_LEN)
		return bail(err, ERR_BROKEN, "store '%s' is damaged: frontier of another size",
			    l->path);
	memcpy(own.frontier.hash, f.p, f.n);
	own.origin = sv_dup(column(q, 0));
	*ret = own;
	return 0;
}

static int add_row(struct lite *l, const struct entry_row *r, struct err *err)
{
	AUTO_STMT *q = NULL;

	TRY(take(l, S_ADD, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)r->seq);
	bind_text(q, 2, r->kind);
	(void)sqlite3_bind_int64(q, 3, r->at_ms);
	bind_blob(q, 4, r->leaf, SHA256_LEN);
	bind_blob(q, 5, r->bytes.p, r->bytes.n);
	return done(l, q, err);
}

static int add_ref(struct lite *l, uint64_t seq, const struct entry_ref *ref, struct err *err)
{
	AUTO_STMT *q = NULL;

	TRY(take(l, S_ADD_REF, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)seq);
	bind_text(q, 2, sv_of(ref->rel));
	bind_blob(q, 3, ref->digest, SHA256_LEN);
	return done(l, q, err);
}

static int add_blob(struct lite *l, const struct entry_blob *b, struct err *err)
{
	AUTO_STMT *q = NULL;

	TRY(take(l, S_ADD_BLOB, &q, err));
	bind_blob(q, 1, b->digest, SHA256_LEN);
	(void)sqlite3_bind_int64(q, 2, (int64_t)b->bytes);
	bind_text(q, 3, b->media_type);
	return done(l, q, err);
}

static int lite_add(struct store *s, const struct entry_row *r, const struct entry *e,
		    const struct log_head *after, struct err *err)
{
	struct lite *l = lite_of(s);

	/* Our own connection goes without the triggers (settle): this is the one that matters. */
	assert(after->frontier.size == r->seq + 1 && (!l->head_due || l->frontier.size == r->seq));
	TRY(add_row(l, r, err));
	for (size_t i = 0; i < e->n_refs; i++)
		TRY(add_ref(l, r->seq, &e->refs[i], err));
	for (size_t i = 0; i < e->n_blobs; i++)
		TRY(add_blob(l, &e->blobs[i], err));
	l->frontier = after->frontier;
	memcpy(l->head, after->head, SHA256_LEN);
	l->head_due = true;
	return 0;
}

/* ---- reading ---- */

/* Each run of entries in turn, the smallest first. */
#define EACH_CHUNK                                                                                 \
	"WITH RECURSIVE chunk (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM chunk"                  \
	" WHERE n < (SELECT max(seq) >> 8 FROM entry))"

/* The numbers of the entries that refer to a digest, or whose hash begins so. */
static void add_by_hash(const struct lite *l, const struct row_query *q, struct str *to)
{
	bool chunks = l->version >= CHUNKS_SINCE;

	if (q->digest) {
		str_add(to, chunks ? " AND e.seq IN (" EACH_CHUNK
				     " SELECT r.seq FROM chunk CROSS JOIN entry_ref r"
				     " WHERE r.seq >> 8 = chunk.n AND r.digest = ?"
				   : " AND e.seq IN (SELECT seq FROM entry_ref WHERE digest = ?");
		str_add(to, q->rel ? " AND rel = ?)" : ")");
	}
	if (q->leaf_lo)
		str_add(to, chunks ? " AND e.seq IN (" EACH_CHUNK
				     " SELECT h.seq FROM chunk CROSS JOIN entry h"
				     " WHERE h.seq >> 8 = chunk.n AND substr(h.leaf, 1, 8)"
				     " BETWEEN substr(?, 1, 8) AND substr(?, 1, 8)"
				     " AND h.leaf BETWEEN ? AND ?)"
				   : " AND e.leaf BETWEEN ? AND ?");
}

static void add_kinds(const char *const *kinds, struct str *to)
{
	if (!kinds)
		return;
	str_add(to, " AND e.kind IN (");
	for (size_t i = 0; kinds[i]; i++)
		str_add(to, i ? ", ?" : "?");
	str_add(to, ")");
}

static int prepare_rows(struct lite *l, const struct row_query *q, sqlite3_stmt **ret,
			struct err *err)
{
	struct str t CLEANUP(str_release) = { 0 };
	bool inner = q->kinds && q->limit;
	/* A sign in front keeps the planner from reading the whole log in order for one hash. */
	const char *seq = q->leaf_lo ? "+e.seq" : "e.seq";
	int at = 1;

	str_add(&t, "SELECT e.seq, e.kind, e.at_ms, e.leaf, e.bytes FROM entry e WHERE ");
	/* Sorted by number first, out of the index alone; then only those that are wanted are
	 * read. */
	if (inner)
		str_add(&t, "e.seq IN (SELECT e.seq FROM entry e WHERE ");
	str_addf(&t, "%s >= ?", seq);
	if (q->to)
		str_add(&t, " AND e.seq < ?");
	if (q->since_ms)
		str_add(&t, " AND e.at_ms >= ?");
	if (q->until_ms)
		str_add(&t, " AND e.at_ms < ?");
	add_by_hash(l, q, &t);
	add_kinds(q->kinds, &t);
	str_addf(&t, " ORDER BY %s%s", seq, q->newest_first ? " DESC" : "");
	if (q->limit)
		str_add(&t, " LIMIT ?");
	if (inner)
		str_addf(&t, ") ORDER BY e.seq%s", q->newest_first ? " DESC" : "");
	if (sqlite3_prepare_v2(l->db, str_text(&t), -1, ret, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot read entries", err);
	(void)sqlite3_bind_int64(*ret, at++, (int64_t)q->from);
	if (q->to)
		(void)sqlite3_bind_int64(*ret, at++, (int64_t)q->to);
	if (q->since_ms)
		(void)sqlite3_bind_int64(*ret, at++, q->since_ms);
	if (q->until_ms)
		(void)sqlite3_bind_int64(*ret, at++, q->until_ms);
	if (q->digest)
		bind_blob(*ret, at++, q->digest, SHA256_LEN);
	if (q->digest && q->rel)
		bind_text(*ret, at++, sv_of(q->rel));
	for (int i = 0; q->leaf_lo && i < (l->version >= CHUNKS_SINCE ? 2 : 1); i++) {
		bind_blob(*ret, at++, q->leaf_lo, SHA256_LEN);
		bind_blob(*ret, at++, q->leaf_hi, SHA256_LEN);
	}
	for (const char *const *k = q->kinds; k && *k; k++)
		bind_text(*ret, at++, sv_of(*k));
	if (q->limit)
		(void)sqlite3_bind_int64(*ret, at++, (int64_t)q->limit);
	return 0;
}

static int lite_rows(struct store *s, const struct row_query *q, row_seen *seen, void *arg,
		     struct err *err)
{
	struct lite *l = lite_of(s);
	CLEANUP(stmt_drop) sqlite3_stmt *st = NULL;
	struct entry_row r;
	bool row = false;
	int rc;

	TRY(prepare_rows(l, q, &st, err));
	for (;;) {
		TRY(step(l, st, &row, err));
		if (!row)
			return 0;
		r.seq = (uint64_t)sqlite3_column_int64(st, 0);
		r.kind = column(st, 1);
		r.at_ms = sqlite3_column_int64(st, 2);
		TRY(column_hash(l, st, 3, r.leaf, err));
		r.bytes = column(st, 4);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

static int lite_refs(struct store *s, uint64_t from, uint64_t to, ref_seen *seen, void *arg,
		     struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	uint8_t digest[SHA256_LEN];
	bool row = false;
	int rc;

	TRY(take(l, S_REFS, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)from);
	(void)sqlite3_bind_int64(q, 2, (int64_t)to);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		TRY(column_hash(l, q, 2, digest, err));
		rc = seen(arg, (uint64_t)sqlite3_column_int64(q, 0), column(q, 1), digest, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

static int lite_leaves(struct store *s, uint64_t from, uint64_t to, leaf_seen *seen, void *arg,
		       struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	uint8_t leaf[SHA256_LEN];
	bool row = false;
	int rc;

	TRY(take(l, S_LEAVES, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)from);
	(void)sqlite3_bind_int64(q, 2, (int64_t)to);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		TRY(column_hash(l, q, 1, leaf, err));
		rc = seen(arg, (uint64_t)sqlite3_column_int64(q, 0), leaf, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

static int lite_node_add(struct store *s, unsigned level, uint64_t index,
			 const uint8_t hash[SHA256_LEN], struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;

	TRY(take(l, S_NODE_ADD, &q, err));
	(void)sqlite3_bind_int64(q, 1, level);
	(void)sqlite3_bind_int64(q, 2, (int64_t)index);
	bind_blob(q, 3, hash, SHA256_LEN);
	return done(l, q, err);
}

static int lite_nodes(struct store *s, unsigned level, uint64_t from, uint64_t to, node_seen *seen,
		      void *arg, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	uint8_t hash[SHA256_LEN];
	bool row = false;
	int rc;

	TRY(take(l, level ? S_NODES : S_NODES_ALL, &q, err));
	if (level) {
		(void)sqlite3_bind_int64(q, 1, level);
		(void)sqlite3_bind_int64(q, 2, (int64_t)from);
		(void)sqlite3_bind_int64(q, 3, (int64_t)to);
	}
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		TRY(column_hash(l, q, 2, hash, err));
		rc = seen(arg, (unsigned)sqlite3_column_int(q, 0),
			  (uint64_t)sqlite3_column_int64(q, 1), hash, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

/* ---- signatures, checkpoints, blobs ---- */

static int lite_sign(struct store *s, const struct sig_row *r, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	int rc;

	TRY(take(l, S_SIGN, &q, err));
	bind_blob(q, 1, r->leaf, SHA256_LEN);
	bind_text(q, 2, r->scheme);
	bind_text(q, 3, r->signer);
	bind_blob(q, 4, r->sig.p, r->sig.n);
	rc = sqlite3_step(q);
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return bail(err, ERR_CONFLICT, "this key has signed this entry already");
	return rc == SQLITE_DONE ? 0 : lite_bail(l, "cannot add a signature", err);
}

static int lite_signatures(struct store *s, const uint8_t *leaf, sig_seen *seen, void *arg,
			   struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	struct sig_row r;
	bool row = false;
	int rc;

	TRY(take(l, leaf ? S_SIGS : S_SIGS_ALL, &q, err));
	if (leaf)
		bind_blob(q, 1, leaf, SHA256_LEN);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		TRY(column_hash(l, q, 0, r.leaf, err));
		r.scheme = column(q, 1);
		r.signer = column(q, 2);
		r.sig = column(q, 3);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

static int lite_note_add(struct store *s, uint64_t size, struct sv note, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;

	TRY(take(l, S_NOTE_ADD, &q, err));
	(void)sqlite3_bind_int64(q, 1, (int64_t)size);
	bind_text(q, 2, note);
	return done(l, q, err);
}

static int lite_notes(struct store *s, note_seen *seen, void *arg, struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	bool row = false;
	int rc;

	TRY(take(l, S_NOTES, &q, err));
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		rc = seen(arg, (uint64_t)sqlite3_column_int64(q, 0), column(q, 1), err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

static int lite_blob_state(struct store *s, const uint8_t digest[SHA256_LEN], const char *state,
			   struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;

	TRY(take(l, S_BLOB_STATE, &q, err));
	bind_text(q, 1, sv_of(state));
	bind_blob(q, 2, digest, SHA256_LEN);
	return done(l, q, err);
}

static int lite_blobs(struct store *s, const uint8_t *digest, blob_seen *seen, void *arg,
		      struct err *err)
{
	struct lite *l = lite_of(s);
	AUTO_STMT *q = NULL;
	struct blob_row r;
	bool row = false;
	int rc;

	TRY(take(l, digest ? S_BLOB : S_BLOBS, &q, err));
	if (digest)
		bind_blob(q, 1, digest, SHA256_LEN);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		TRY(column_hash(l, q, 0, r.digest, err));
		r.bytes = (uint64_t)sqlite3_column_int64(q, 1);
		r.media_type = column(q, 2);
		r.state = column(q, 3);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

/* ---- its own check ---- */

static bool in_schema(struct sv text, int version)
{
	for (size_t i = 0; i < ARRAY_SIZE(schema); i++)
		if (made_in(&schema[i], version) && sv_is(text, schema[i].text))
			return true;
	return false;
}

static int check_schema(struct lite *l, fault_seen *seen, void *arg, struct err *err)
{
	CLEANUP(stmt_drop) sqlite3_stmt *q = NULL;
	size_t n = 0, want = 0;
	bool row = false;

	for (size_t i = 0; i < ARRAY_SIZE(schema); i++)
		want += made_in(&schema[i], l->version);
	if (sqlite3_prepare_v2(l->db,
			       "SELECT name, sql FROM sqlite_schema"
			       " WHERE name NOT LIKE 'sqlite_%' ESCAPE '\\'",
			       -1, &q, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot read its tables", err);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			break;
		n++;
		if (!in_schema(column(q, 1), l->version)) {
			AUTO_FREE char *name = text_clean(column(q, 0));
			AUTO_FREE char *text = xasprintf("'%s' is not as it was made", name);

			seen(arg, text);
		}
	}
	if (n != want)
		seen(arg, "tables, indexes or triggers of the store are missing or added");
	return 0;
}

static void first_fault(void *arg, const char *text)
{
	struct str *s = arg;

	if (!s->n)
		str_add(s, text);
}

static int lite_sound(struct store *s, struct err *err)
{
	struct str fault CLEANUP(str_release) = { 0 };
	struct lite *l = lite_of(s);

	TRY(check_schema(l, first_fault, &fault, err));
	return fault.n ? bail(err, ERR_BROKEN, "store '%s' is damaged: %s", l->path, fault.p) : 0;
}

static int lite_check(struct store *s, fault_seen *seen, void *arg, struct err *err)
{
	struct lite *l = lite_of(s);
	CLEANUP(stmt_drop) sqlite3_stmt *q = NULL;
	bool row = false;

	TRY(check_schema(l, seen, arg, err));
	if (sqlite3_prepare_v2(l->db, "PRAGMA integrity_check(20)", -1, &q, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot check itself", err);
	for (;;) {
		TRY(step(l, q, &row, err));
		if (!row)
			return 0;
		if (!sv_is(column(q, 0), "ok")) {
			AUTO_FREE char *text = text_clean(column(q, 0));

			seen(arg, text);
		}
	}
}

/* ---- open ---- */

static void lite_close(struct store *s)
{
	struct lite *l = lite_of(s);

	for (size_t i = 0; i < S_MANY; i++)
		(void)sqlite3_finalize(l->stmt[i]);
	(void)sqlite3_close(l->db);
	free(l->path);
	free(l);
}

static const struct store_ops lite_ops = {
	.name = "sqlite",
	.close = lite_close,
	.made = lite_made,
	.make = lite_make,
	.begin = lite_begin,
	.commit = lite_commit,
	.rollback = lite_rollback,
	.head = lite_head,
	.add = lite_add,
	.rows = lite_rows,
	.refs = lite_refs,
	.leaves = lite_leaves,
	.node_add = lite_node_add,
	.nodes = lite_nodes,
	.sign = lite_sign,
	.signatures = lite_signatures,
	.note_add = lite_note_add,
	.notes = lite_notes,
	.blob_state = lite_blob_state,
	.blobs = lite_blobs,
	.sound = lite_sound,
	.check = lite_check,
};

static int pragma_int(struct lite *l, const char *text, int *ret, struct err *err)
{
	CLEANUP(stmt_drop) sqlite3_stmt *q = NULL;
	bool row = false;

	if (sqlite3_prepare_v2(l->db, text, -1, &q, NULL) != SQLITE_OK)
		return lite_bail(l, "cannot read its version", err);
	TRY(step(l, q, &row, err));
	*ret = row ? sqlite3_column_int(q, 0) : 0;
	return 0;
}

static int settle(struct lite *l, unsigned flags, struct err *err)
{
	int id = 0;
	bool made = false;

	l->version = USER_VERSION;
	(void)sqlite3_extended_result_codes(l->db, 1);
	(void)sqlite3_busy_timeout(l->db, 20000);
	(void)sqlite3_db_config(l->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* The triggers are there for other programs. What they would refuse we never do: entries
	 * are added in order, under the lock, after the head was compared with the last of them. */
	(void)sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	TRY(exec(l,
		 "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
		 " PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;"
		 /* Hashes are spread over their indexes: 16 MiB hold those of a long log. */
		 " PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
		 err));
	TRY(lite_made(&l->base, &made, err));
	if (made) {
		TRY(pragma_int(l, "PRAGMA application_id", &id, err));
		TRY(pragma_int(l, "PRAGMA user_version", &l->version, err));
		if (id != APPLICATION_ID)
			return bail(err, ERR_BROKEN, "'%s' is not a store of a ledger", l->path);
		if (l->version < FIRST_VERSION || l->version > USER_VERSION)
			return bail(err, ERR_UNSUPPORTED, "store '%s' is of version %d, not %d",
				    l->path, l->version, USER_VERSION);
		l->base.no_nodes = l->version < NODES_SINCE;
	}
	/* Entries of about 1 KiB: of pages of 4 KiB a fifth would stay empty. */
	if (flags & STORE_CREATE && !made)
		TRY(exec(l, "PRAGMA page_size = 8192", err));
	if (!(flags & STORE_READONLY))
		TRY(exec(l, "PRAGMA journal_mode = WAL", err));
	return 0;
}

static void add_uri_path(const char *path, struct str *to)
{
	for (; *path; path++) {
		if (*path == '?' || *path == '#' || *path == '%')
			str_addf(to, "%%%02x", (unsigned char)*path);
		else
			str_addc(to, *path);
	}
}

/* Counting its memory costs SQLite a lock at every call of malloc. Before its first use only. */
static void config_once(void)
{
	static bool done_once;

	if (!done_once)
		(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	done_once = true;
}

static int try_open(const char *path, unsigned flags, bool immutable, struct store **ret,
		    struct err *err)
{
	struct lite *l = xcalloc(1, sizeof(*l));
	CLEANUP(store_closep) struct store *own = &l->base;
	struct str uri CLEANUP(str_release) = { 0 };
	int how = flags & STORE_READONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	struct stat st;

	config_once();
	l->base.ops = &lite_ops;
	l->path = xstrdup(path);
	/* SQLite would wait for the writer of a pipe, and through every signal. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return bail(err, ERR_IO, "store '%s' is not a regular file", path);
	str_add(&uri, path[0] == '/' ? "file://" : "file:");
	add_uri_path(path, &uri);
	if (immutable)
		str_add(&uri, "?immutable=1");
	if (flags & STORE_CREATE)
		how |= SQLITE_OPEN_CREATE;
	if (sqlite3_open_v2(str_text(&uri), &l->db, how | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return lite_bail(l, "cannot open it", err);
	TRY(settle(l, flags, err));
	*ret = STEAL(own);
	return 0;
}

int store_sqlite_open(const char *path, unsigned flags, struct store **ret, struct err *err)
{
	int rc = try_open(path, flags, /* immutable= */ false, ret, err);

	/* Reading a WAL store wants to make its -shm file. Where the folder can't be written (an
	 * archive, another user's ledger) and no -wal file waits, the file is all there is. */
	if (rc == -ERR_IO && flags & STORE_READONLY) {
		AUTO_FREE char *wal = xasprintf("%s-wal", path);
		struct err second = ERR_INIT;

		if (access(wal, F_OK) < 0 &&
		    try_open(path, flags, /* immutable= */ true, ret, &second) == 0)
			return 0;
	}
	return rc;
}
