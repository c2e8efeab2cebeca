/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log in PostgreSQL (13 or newer), schema "twice": the same tables as in SQLite, and one more
 * for evidence, because writers on several machines share no folder. Writers are ordered by the
 * lock on the one row of twice.log; READ COMMITTED is enough for that. A reader's transaction is
 * one snapshot.
 */
#include "ledger/store_pg.h"

#include "base/err.h"

#define LL        (unsigned long long)
#define CHUNK     10000UL /* leaves fetched at once */
#define DATA_MOST (256 * MIB)

static const char *const schema[] = {
	"CREATE SCHEMA IF NOT EXISTS twice",
	"CREATE TABLE twice.log (log_id bigint PRIMARY KEY CHECK (log_id = 1), origin text NOT "
	"NULL,"
	" size bigint NOT NULL CHECK (size >= 0), head bytea NOT NULL CHECK (length(head) = 32),"
	" frontier bytea NOT NULL CHECK (length(frontier) % 32 = 0))",
	"CREATE TABLE twice.entry (seq bigint PRIMARY KEY CHECK (seq >= 0), kind text NOT NULL,"
	" at_ms bigint NOT NULL, leaf bytea NOT NULL UNIQUE CHECK (length(leaf) = 32),"
	" bytes bytea NOT NULL)",
	"CREATE TABLE twice.entry_ref (seq bigint NOT NULL REFERENCES twice.entry(seq),"
	" rel text COLLATE \"C\" NOT NULL, digest bytea NOT NULL CHECK (length(digest) = 32),"
	" PRIMARY KEY (seq, rel, digest))",
	"CREATE TABLE twice.signature (leaf bytea NOT NULL CHECK (length(leaf) = 32),"
	" scheme text COLLATE \"C\" NOT NULL CHECK (scheme IN "
	"('sshsig','dsse-ed25519','dsse-p256')),"
	" signer text COLLATE \"C\" NOT NULL, sig bytea NOT NULL, PRIMARY KEY (leaf, scheme, "
	"signer))",
	"CREATE TABLE twice.checkpoint (size bigint PRIMARY KEY, note text NOT NULL)",
	"CREATE TABLE twice.blob (digest bytea PRIMARY KEY CHECK (length(digest) = 32),"
	" bytes bigint NOT NULL, media_type text NOT NULL, state text NOT NULL"
	" CHECK (state IN ('present','withheld','expired')))",
	"CREATE TABLE twice.blob_data (digest bytea PRIMARY KEY CHECK (length(digest) = 32),"
	" data bytea NOT NULL)",
	"CREATE TABLE twice.node (level bigint NOT NULL, idx bigint NOT NULL, hash bytea NOT NULL"
	" CHECK (length(hash) = 32), PRIMARY KEY (level, idx))",
	"CREATE INDEX entry_by_kind ON twice.entry (kind, seq)",
	"CREATE INDEX entry_ref_by_digest ON twice.entry_ref (digest)",
	"CREATE FUNCTION twice.entry_refuse() RETURNS trigger LANGUAGE plpgsql AS"
	" 'BEGIN RAISE EXCEPTION ''an entry is never changed or deleted''; END'",
	"CREATE FUNCTION twice.entry_order() RETURNS trigger LANGUAGE plpgsql AS"
	" 'BEGIN IF NEW.seq IS DISTINCT FROM (SELECT size FROM twice.log WHERE log_id = 1) THEN"
	" RAISE EXCEPTION ''an entry is only added at the end''; END IF; RETURN NEW; END'",
	"CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE ON twice.entry FOR EACH ROW"
	" EXECUTE FUNCTION twice.entry_refuse()",
	"CREATE TRIGGER entry_no_truncate BEFORE TRUNCATE ON twice.entry FOR EACH STATEMENT"
	" EXECUTE FUNCTION twice.entry_refuse()",
	"CREATE TRIGGER entry_in_order BEFORE INSERT ON twice.entry FOR EACH ROW"
	" EXECUTE FUNCTION twice.entry_order()",
	"REVOKE ALL ON SCHEMA twice FROM PUBLIC",
};

/* ---- the log ---- */

static int pg_made(struct store *s, bool *ret, struct err *err)
{
	AUTO_RESULT *r = NULL;

	/* Not to_regclass: its cache may not have heard yet of what another session has just
	 * made. */
	TRY(pg_run(pg_of(s),
		   "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = "
		   "c.relnamespace"
		   " WHERE n.nspname = 'twice' AND c.relname = 'log')",
		   NULL, "cannot look for the log", &r, err));
	*ret = pg_col_bool(r, 0, 0);
	return 0;
}

static int pg_make(struct store *s, const char *origin, struct err *err)
{
	static const uint8_t zeros[SHA256_LEN];
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	struct pg *p = pg_of(s);
	bool made;

	/* One makes it, the others wait here and then find it. */
	TRY(pg_exec(p, "SELECT pg_advisory_xact_lock(1953982563)", "cannot take turns", err));
	TRY(pg_made(s, &made, err));
	if (made)
		return bail(err, ERR_CONFLICT, "PostgreSQL: somebody else has just made the log");
	for (size_t i = 0; i < ARRAY_SIZE(schema); i++)
		TRY(pg_exec(p, schema[i], "cannot make its tables", err));
	pg_put_text(&a, sv_of(origin));
	pg_put_bytes(&a, zeros, SHA256_LEN);
	return pg_run(p,
		      "INSERT INTO twice.log (log_id, origin, size, head, frontier)"
		      " VALUES (1, $1, 0, $2, '')",
		      &a, "cannot make the log", NULL, err);
}

static int take_head(struct log_head *ret, const PGresult *r, struct err *err)
{
	struct log_head own = { 0 };
	struct sv f;

	if (PQntuples(r) != 1)
		return bail(err, ERR_BROKEN, "PostgreSQL: the store is damaged: no log in it");
	own.frontier.size = (uint64_t)pg_col_int(r, 0, 1);
	TRY(pg_col_hash(r, 0, 2, own.head, err));
	f = pg_col(r, 0, 3);
	if (f.n != frontier_count(&own.frontier) * SHA256_LEN)
		return bail(err, ERR_BROKEN,
			    "PostgreSQL: the store is damaged: frontier of another size");
	memcpy(own.frontier.hash, f.p, f.n);
	own.origin = sv_dup(pg_col(r, 0, 0));
	*ret = own;
	return 0;
}

#define READ_HEAD "SELECT origin, size, head, frontier FROM twice.log WHERE log_id = 1"
#define READ_LAST                                                                                  \
	"SELECT seq, leaf FROM twice.entry"                                                        \
	" WHERE seq = (SELECT size - 1 FROM twice.log WHERE log_id = 1)"

static int on_head(struct pg *p, unsigned number, const PGresult *r, struct err *err)
{
	if (number == 1)
		return take_head(p->head, r, err);
	if (number < 2 || PQntuples(r) != 1)
		return 0;
	TRY(pg_col_hash(r, 0, 1, p->last, err));
	p->last_seq = (uint64_t)pg_col_int(r, 0, 0);
	p->have_last = true;
	return 0;
}

static int ask_head(struct pg *p, struct err *err)
{
	TRY(pg_send(p, PG_BEGIN_WRITE, err));
	/* The row lock is what orders writers on all machines. */
	TRY(pg_send(p, READ_HEAD " FOR UPDATE", err));
	TRY(pg_send(p, READ_LAST, err));
	return pg_answers(p, "cannot read the log", on_head, err);
}

/* Beginning, lock, head and last entry in one round trip. */
static int first_head(struct pg *p, struct log_head *ret, struct err *err)
{
	struct log_head own CLEANUP(log_head_release) = { 0 };
	int rc;

	p->head = &own;
	p->begin_due = false;
	rc = ask_head(p, err);
	/* A connection that was cut is made again here, where nothing hangs in the air. */
	if (rc < 0 && PQstatus(p->conn) != CONNECTION_OK) {
		err_clear(err);
		log_head_release(&own);
		rc = pg_connect_again(p, err);
		if (rc == 0)
			rc = ask_head(p, err);
	}
	p->head = NULL;
	if (rc < 0)
		return rc;
	*ret = own;
	own.origin = NULL;
	return 0;
}

static int pg_head(struct store *s, struct log_head *ret, struct err *err)
{
	struct pg *p = pg_of(s);
	AUTO_RESULT *r = NULL;

	if (p->begin_due)
		return first_head(p, ret, err);
	TRY(pg_run(p, p->writing ? READ_HEAD " FOR UPDATE" : READ_HEAD, NULL, "cannot read the log",
		   &r, err));
	return take_head(ret, r, err);
}

static int add_ref(struct pg *p, uint64_t seq, const struct entry_ref *ref, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_int(&a, (int64_t)seq);
	pg_put_text(&a, sv_of(ref->rel));
	pg_put_bytes(&a, ref->digest, SHA256_LEN);
	return pg_queue(p, Q_REF,
			"INSERT INTO twice.entry_ref (seq, rel, digest) VALUES ($1, $2, $3)", &a,
			err);
}

static int add_blob(struct pg *p, const struct entry_blob *b, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_bytes(&a, b->digest, SHA256_LEN);
	pg_put_int(&a, (int64_t)b->bytes);
	pg_put_text(&a, b->media_type);
	return pg_queue(p, Q_BLOB,
			"INSERT INTO twice.blob (digest, bytes, media_type, state)"
			" VALUES ($1, $2, $3, 'present') ON CONFLICT DO NOTHING",
			&a, err);
}

static int pg_add(struct store *s, const struct entry_row *r, const struct entry *e,
		  const struct log_head *after, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 }, h CLEANUP(pg_params_release) = { 0 };
	struct pg *p = pg_of(s);

	pg_put_int(&a, (int64_t)r->seq);
	pg_put_text(&a, r->kind);
	pg_put_int(&a, r->at_ms);
	pg_put_bytes(&a, r->leaf, SHA256_LEN);
	pg_put_bytes(&a, r->bytes.p, r->bytes.n);
	p->have_last = false;
	TRY(pg_queue(p, Q_ENTRY,
		     "INSERT INTO twice.entry (seq, kind, at_ms, leaf, bytes)"
		     " VALUES ($1, $2, $3, $4, $5)",
		     &a, err));
	for (size_t i = 0; i < e->n_refs; i++)
		TRY(add_ref(p, r->seq, &e->refs[i], err));
	for (size_t i = 0; i < e->n_blobs; i++)
		TRY(add_blob(p, &e->blobs[i], err));
	pg_put_int(&h, (int64_t)after->frontier.size);
	pg_put_bytes(&h, after->head, SHA256_LEN);
	pg_put_bytes(&h, after->frontier.hash, frontier_count(&after->frontier) * SHA256_LEN);
	return pg_queue(p, Q_HEAD,
			"UPDATE twice.log SET size = $1, head = $2, frontier = $3 WHERE log_id = 1",
			&h, err);
}

/* ---- reading ---- */

static void add_kinds(const char *const *kinds, struct str *sql, struct pg_params *a)
{
	if (!kinds)
		return;
	str_add(sql, " AND e.kind IN (''");
	for (; *kinds; kinds++) {
		pg_put_text(a, sv_of(*kinds));
		str_addf(sql, ", $%d", a->n);
	}
	str_add(sql, ")");
}

static void add_number(const char *what, int64_t v, struct str *sql, struct pg_params *a)
{
	pg_put_int(a, v);
	str_addf(sql, " AND %s $%d", what, a->n);
}

static void rows_sql(const struct row_query *q, struct str *sql, struct pg_params *a)
{
	str_add(sql,
		"SELECT e.seq, e.kind, e.at_ms, e.leaf, e.bytes FROM twice.entry e WHERE true");
	add_number("e.seq >=", (int64_t)q->from, sql, a);
	if (q->to)
		add_number("e.seq <", (int64_t)q->to, sql, a);
	if (q->since_ms)
		add_number("e.at_ms >=", q->since_ms, sql, a);
	if (q->until_ms)
		add_number("e.at_ms <", q->until_ms, sql, a);
	if (q->digest) {
		pg_put_bytes(a, q->digest, SHA256_LEN);
		str_addf(sql, " AND e.seq IN (SELECT seq FROM twice.entry_ref WHERE digest = $%d",
			 a->n);
		if (q->rel) {
			pg_put_text(a, sv_of(q->rel));
			str_addf(sql, " AND rel = $%d", a->n);
		}
		str_add(sql, ")");
	}
	if (q->leaf_lo) {
		pg_put_bytes(a, q->leaf_lo, SHA256_LEN);
		pg_put_bytes(a, q->leaf_hi, SHA256_LEN);
		str_addf(sql, " AND e.leaf BETWEEN $%d AND $%d", a->n - 1, a->n);
	}
	add_kinds(q->kinds, sql, a);
	/* An expression keeps the planner from reading the whole log in order for one hash. */
	str_addf(sql, " ORDER BY e.seq%s%s", q->leaf_lo ? " + 0" : "",
		 q->newest_first ? " DESC" : "");
	if (q->limit) {
		pg_put_int(a, (int64_t)q->limit);
		str_addf(sql, " LIMIT $%d", a->n);
	}
}

static int pg_rows(struct store *s, const struct row_query *q, row_seen *seen, void *arg,
		   struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	struct str sql CLEANUP(str_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct entry_row row;
	int rc;

	rows_sql(q, &sql, &a);
	TRY(pg_run(pg_of(s), str_text(&sql), &a, "cannot read entries", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		row.seq = (uint64_t)pg_col_int(r, i, 0);
		row.kind = pg_col(r, i, 1);
		row.at_ms = pg_col_int(r, i, 2);
		TRY(pg_col_hash(r, i, 3, row.leaf, err));
		row.bytes = pg_col(r, i, 4);
		rc = seen(arg, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_refs(struct store *s, uint64_t from, uint64_t to, ref_seen *seen, void *arg,
		   struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t digest[SHA256_LEN];
	int rc;

	pg_put_int(&a, (int64_t)from);
	pg_put_int(&a, (int64_t)to);
	TRY(pg_run(pg_of(s),
		   "SELECT seq, rel, digest FROM twice.entry_ref WHERE seq >= $1 AND seq < $2"
		   " ORDER BY seq, rel, digest",
		   &a, "cannot read references", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(pg_col_hash(r, i, 2, digest, err));
		rc = seen(arg, (uint64_t)pg_col_int(r, i, 0), pg_col(r, i, 1), digest, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int leaves_chunk(struct pg *p, uint64_t *from, uint64_t to, bool *ret_more, leaf_seen *seen,
			void *arg, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t leaf[SHA256_LEN];
	uint64_t seq;
	int rc;

	pg_put_int(&a, (int64_t)*from);
	pg_put_int(&a, (int64_t)to);
	pg_put_int(&a, (int64_t)CHUNK);
	TRY(pg_run(
		p,
		"SELECT seq, leaf FROM twice.entry WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT "
		"$3",
		&a, "cannot read hashes", &r, err));
	*ret_more = (size_t)PQntuples(r) == CHUNK;
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(pg_col_hash(r, i, 1, leaf, err));
		seq = (uint64_t)pg_col_int(r, i, 0);
		*from = seq + 1;
		rc = seen(arg, seq, leaf, err);
		if (rc)
			*ret_more = false;
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_leaves(struct store *s, uint64_t from, uint64_t to, leaf_seen *seen, void *arg,
		     struct err *err)
{
	struct pg *p = pg_of(s);
	bool more = true;
	int rc;

	if (p->have_last && from == p->last_seq && to == from + 1) {
		rc = seen(arg, from, p->last, err);
		return rc < 0 ? rc : 0;
	}
	while (more)
		TRY(leaves_chunk(p, &from, to, &more, seen, arg, err));
	return 0;
}

static int pg_node_add(struct store *s, unsigned level, uint64_t index,
		       const uint8_t hash[SHA256_LEN], struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_int(&a, level);
	pg_put_int(&a, (int64_t)index);
	pg_put_bytes(&a, hash, SHA256_LEN);
	return pg_queue(pg_of(s), Q_NODE,
			"INSERT INTO twice.node (level, idx, hash) VALUES ($1, $2, $3)", &a, err);
}

static int pg_nodes(struct store *s, unsigned level, uint64_t from, uint64_t to, node_seen *seen,
		    void *arg, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t hash[SHA256_LEN];
	int rc;

	pg_put_int(&a, level);
	pg_put_int(&a, (int64_t)from);
	pg_put_int(&a, (int64_t)MIN(to, (uint64_t)INT64_MAX));
	TRY(pg_run(pg_of(s),
		   "SELECT level, idx, hash FROM twice.node WHERE ($1 = 0 OR level = $1)"
		   " AND ($1 = 0 OR (idx >= $2 AND idx < $3)) ORDER BY level, idx",
		   &a, "cannot read nodes", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(pg_col_hash(r, i, 2, hash, err));
		rc = seen(arg, (unsigned)pg_col_int(r, i, 0), (uint64_t)pg_col_int(r, i, 1), hash,
			  err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

/* ---- signatures, checkpoints, blobs ---- */

static int pg_sign(struct store *s, const struct sig_row *r, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *done = NULL;

	pg_put_bytes(&a, r->leaf, SHA256_LEN);
	pg_put_text(&a, r->scheme);
	pg_put_text(&a, r->signer);
	pg_put_bytes(&a, r->sig.p, r->sig.n);
	TRY(pg_run(pg_of(s),
		   "INSERT INTO twice.signature (leaf, scheme, signer, sig) VALUES ($1, $2, $3, $4)"
		   " ON CONFLICT DO NOTHING",
		   &a, "cannot add a signature", &done, err));
	if (!streq(PQcmdTuples(done), "1"))
		return bail(err, ERR_CONFLICT, "this key has signed this entry already");
	return 0;
}

static int pg_signatures(struct store *s, const uint8_t *leaf, sig_seen *seen, void *arg,
			 struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct sig_row row;
	int rc;

	if (leaf)
		pg_put_bytes(&a, leaf, SHA256_LEN);
	TRY(pg_run(pg_of(s),
		   leaf ? "SELECT leaf, scheme, signer, sig FROM twice.signature WHERE leaf = $1"
			  " ORDER BY scheme, signer"
			: "SELECT leaf, scheme, signer, sig FROM twice.signature"
			  " ORDER BY leaf, scheme, signer",
		   &a, "cannot read signatures", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(pg_col_hash(r, i, 0, row.leaf, err));
		row.scheme = pg_col(r, i, 1);
		row.signer = pg_col(r, i, 2);
		row.sig = pg_col(r, i, 3);
		rc = seen(arg, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_note_add(struct store *s, uint64_t size, struct sv note, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_int(&a, (int64_t)size);
	pg_put_text(&a, note);
	return pg_run(pg_of(s),
		      "INSERT INTO twice.checkpoint (size, note) VALUES ($1, $2)"
		      " ON CONFLICT (size) DO UPDATE SET note = excluded.note",
		      &a, "cannot keep a checkpoint", NULL, err);
}

static int pg_notes(struct store *s, note_seen *seen, void *arg, struct err *err)
{
	AUTO_RESULT *r = NULL;
	int rc;

	TRY(pg_run(pg_of(s), "SELECT size, note FROM twice.checkpoint ORDER BY size", NULL,
		   "cannot read checkpoints", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		rc = seen(arg, (uint64_t)pg_col_int(r, i, 0), pg_col(r, i, 1), err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_blob_state(struct store *s, const uint8_t digest[SHA256_LEN], const char *state,
			 struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_text(&a, sv_of(state));
	pg_put_bytes(&a, digest, SHA256_LEN);
	return pg_run(pg_of(s), "UPDATE twice.blob SET state = $1 WHERE digest = $2", &a,
		      "cannot set a blob's state", NULL, err);
}

static int pg_blobs(struct store *s, const uint8_t *digest, blob_seen *seen, void *arg,
		    struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct blob_row row;
	int rc;

	if (digest)
		pg_put_bytes(&a, digest, SHA256_LEN);
	TRY(pg_run(
		pg_of(s),
		digest ? "SELECT digest, bytes, media_type, state FROM twice.blob WHERE digest = $1"
		       : "SELECT digest, bytes, media_type, state FROM twice.blob ORDER BY digest",
		&a, "cannot read blobs", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(pg_col_hash(r, i, 0, row.digest, err));
		row.bytes = (uint64_t)pg_col_int(r, i, 1);
		row.media_type = pg_col(r, i, 2);
		row.state = pg_col(r, i, 3);
		rc = seen(arg, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

/* ---- evidence ---- */

static int pg_data_put(struct store *s, const uint8_t digest[SHA256_LEN], struct sv data,
		       struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	if (data.n > DATA_MOST)
		return bail(err, ERR_LIMIT, "a blob of %zu bytes is too large for PostgreSQL",
			    data.n);
	pg_put_bytes(&a, digest, SHA256_LEN);
	pg_put_bytes(&a, data.p, data.n);
	/* What is there is trusted only when it is what its name says. */
	return pg_run(pg_of(s),
		      "INSERT INTO twice.blob_data AS b (digest, data) VALUES ($1, $2)"
		      " ON CONFLICT (digest) DO UPDATE SET data = excluded.data"
		      " WHERE sha256(b.data) <> b.digest",
		      &a, "cannot store a blob", NULL, err);
}

static int data_select(struct store *s, const char *sql, const uint8_t digest[SHA256_LEN],
		       PGresult **ret, struct err *err)
{
	struct pg_params a CLEANUP(pg_params_release) = { 0 };

	pg_put_bytes(&a, digest, SHA256_LEN);
	return pg_run(pg_of(s), sql, &a, "cannot read a blob", ret, err);
}

static int pg_data_get(struct store *s, const uint8_t digest[SHA256_LEN], struct str *ret,
		       struct err *err)
{
	AUTO_RESULT *r = NULL;
	char hex[SHA256_HEX];

	TRY(data_select(s, "SELECT data FROM twice.blob_data WHERE digest = $1", digest, &r, err));
	hex_of(digest, SHA256_LEN, hex);
	if (!PQntuples(r))
		return bail(err, ERR_NOT_FOUND, "no blob %.12s in PostgreSQL", hex);
	str_addsv(ret, pg_col(r, 0, 0));
	return 0;
}

static int pg_data_there(struct store *s, const uint8_t digest[SHA256_LEN], bool *ret,
			 struct err *err)
{
	AUTO_RESULT *r = NULL;

	TRY(data_select(s, "SELECT 1 FROM twice.blob_data WHERE digest = $1", digest, &r, err));
	*ret = PQntuples(r) > 0;
	return 0;
}

static int pg_data_drop(struct store *s, const uint8_t digest[SHA256_LEN], struct err *err)
{
	return data_select(s, "DELETE FROM twice.blob_data WHERE digest = $1", digest, NULL, err);
}

/* ---- its own check ---- */

static int pg_check(struct store *s, fault_seen *seen, void *arg, struct err *err)
{
	AUTO_RESULT *r = NULL;

	TRY(pg_run(pg_of(s),
		   "SELECT count(*) FILTER (WHERE t.tgenabled = 'O' AND f.prosrc LIKE"
		   " CASE f.proname WHEN 'entry_refuse' THEN"
		   " 'BEGIN RAISE EXCEPTION ''an entry is never changed or deleted''; END'"
		   " ELSE 'BEGIN IF NEW.seq IS DISTINCT FROM (SELECT size FROM twice.log%' END)"
		   " FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid"
		   " WHERE t.tgrelid = to_regclass('twice.entry') AND t.tgname IN"
		   " ('entry_no_change', 'entry_no_truncate', 'entry_in_order')",
		   NULL, "cannot check itself", &r, err));
	if (pg_col_int(r, 0, 0) != 3)
		seen(arg, "triggers of the store are missing, disabled or not as they were made");
	return 0;
}

/* ---- open ---- */

static void pg_close(struct store *s)
{
	struct pg *p = pg_of(s);

	PQfinish(p->conn);
	free(p);
}

static const struct store_ops pg_ops = {
	.name = "postgresql",
	.close = pg_close,
	.made = pg_made,
	.make = pg_make,
	.begin = pg_begin,
	.commit = pg_commit,
	.rollback = pg_rollback,
	.away = pg_away,
	.head = pg_head,
	.add = pg_add,
	.rows = pg_rows,
	.refs = pg_refs,
	.leaves = pg_leaves,
	.node_add = pg_node_add,
	.nodes = pg_nodes,
	.sign = pg_sign,
	.signatures = pg_signatures,
	.note_add = pg_note_add,
	.notes = pg_notes,
	.blob_state = pg_blob_state,
	.blobs = pg_blobs,
	.check = pg_check,
	.data_put = pg_data_put,
	.data_get = pg_data_get,
	.data_there = pg_data_there,
	.data_drop = pg_data_drop,
};

static void quiet(void *arg, const PGresult *r)
{
	(void)arg, (void)r; /* notices would go to stderr; rooms print nothing */
}

/* The other end must not keep our lock when we are gone without a word: it is let go before the
 * others give up waiting for it. */
#define SESSION                                                                                    \
	"-c synchronous_commit=on -c lock_timeout=20s"                                             \
	" -c idle_in_transaction_session_timeout=10s"                                              \
	" -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=2"

int store_pg_open(const char *where, unsigned flags, struct store **ret, struct err *err)
{
	struct pg *p = xcalloc(1, sizeof(*p));
	CLEANUP(store_closep) struct store *own = &p->base;
	/* A password in the address never gets into a message: libpq names host and user only. */
	const char *const keys[] = { "dbname",
				     "application_name",
				     "client_encoding",
				     "connect_timeout",
				     "options",
				     "tcp_user_timeout",
				     "keepalives_idle",
				     "keepalives_count",
				     "keepalives_interval",
				     NULL };
	/* A network that is gone says nothing: after ten seconds of silence it is taken for
	 * gone. */
	const char *const values[] = { where,   "twice", "UTF8", "5", SESSION,
				       "10000", "5",     "2",    "3", NULL };

	/* who may write is the role's matter; every caller of ours knows its own mode */
	(void)flags;
	p->base.ops = &pg_ops;
	p->conn = PQconnectdbParams(keys, values, /* expand_dbname= */ 1);
	if (PQstatus(p->conn) != CONNECTION_OK)
		return pg_bail(p, NULL, "cannot connect", err);
	(void)PQsetNoticeReceiver(p->conn, quiet, NULL);
	if (PQserverVersion(p->conn) < 130000)
		return bail(err, ERR_UNSUPPORTED, "PostgreSQL %d is too old, 13 is wanted",
			    PQserverVersion(p->conn) / 10000);
	*ret = STEAL(own);
	return 0;
}
