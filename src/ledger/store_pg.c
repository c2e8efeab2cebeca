/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log in PostgreSQL (13 or newer), schema "twice": the same tables as in SQLite, and one more
 * for evidence, because writers on several machines share no folder. Writers are ordered by the
 * lock on the one row of twice.log; READ COMMITTED is enough for that. A reader's transaction is
 * one snapshot.
 */
#include "ledger/store.h"

#include "base/err.h"
#include <errno.h>
#include <libpq-fe.h>

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

struct pg {
	struct store base;
	PGconn *conn;
	bool writing, open; /* a transaction is open, and it is one that writes */
};

static struct pg *pg_of(struct store *s)
{
	return (struct pg *)s;
}

static void result_drop(PGresult **r)
{
	PQclear(*r);
	*r = NULL;
}
#define AUTO_RESULT CLEANUP(result_drop) PGresult

/* ---- errors ---- */

static enum err_code code_of(const char *state)
{
	static const struct {
		const char *start;
		enum err_code code;
	} codes[] = {
		{ "23", ERR_BROKEN },    /* integrity: the row is not what a row has to be */
		{ "P0001", ERR_BROKEN }, /* a trigger said no */
		{ "55P03", ERR_CONFLICT },
		{ "57014", ERR_CONFLICT }, /* lock and statement timeouts */
		{ "42P07", ERR_CONFLICT },
		{ "42P06", ERR_CONFLICT }, /* made by somebody else */
		{ "40", ERR_CONFLICT },    /* deadlock, serialization */
		{ "42P01", ERR_BROKEN },
		{ "42703", ERR_BROKEN }, /* a table or column is gone */
		{ "XX", ERR_BROKEN },    /* a damaged page or index */
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (str_starts(state, codes[i].start))
			return codes[i].code;
	return ERR_IO;
}

static int pg_bail(struct pg *p, const PGresult *r, const char *what, struct err *err)
{
	const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	const char *said = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	AUTO_FREE char *text = text_clean(sv_trim(sv_of(said ? said : PQerrorMessage(p->conn))));

	if (state && streq(state, "42501")) /* no right to do that: says nothing about the log */
		return err_set(err, ERR_IO, EACCES, __FILE__, __LINE__, "PostgreSQL: %s: %s", what,
			       text);
	return bail(err, state ? code_of(state) : ERR_IO, "PostgreSQL: %s: %s", what, text);
}

/* ---- parameters: integers and bytes go as they are (binary), text as text ---- */

enum { PARAMS_MOST = 24 };

struct params {
	const char *value[PARAMS_MOST];
	int length[PARAMS_MOST], format[PARAMS_MOST];
	Oid type[PARAMS_MOST];
	uint8_t number[PARAMS_MOST][8];
	struct strs text; /* NUL-ended copies */
	int n;
};

static void params_release(struct params *a)
{
	strs_release(&a->text);
}

/* Object ids of the built-in types: catalog/pg_type.dat, the same in every version. */
enum { T_BYTEA = 17, T_INT8 = 20, T_TEXT = 25 };

static void put_int(struct params *a, int64_t v)
{
	int i = a->n++;

	assert(i < PARAMS_MOST);
	for (int k = 0; k < 8; k++)
		a->number[i][k] = (uint8_t)((uint64_t)v >> (56 - 8 * k));
	a->value[i] = (const char *)a->number[i];
	a->length[i] = 8;
	a->format[i] = 1;
	a->type[i] = T_INT8;
}

static void put_bytes(struct params *a, const void *p, size_t n)
{
	int i = a->n++;

	assert(i < PARAMS_MOST && n <= INT32_MAX);
	a->value[i] = n ? p : "";
	a->length[i] = (int)n;
	a->format[i] = 1;
	a->type[i] = T_BYTEA;
}

static void put_text(struct params *a, struct sv v)
{
	int i = a->n++;

	assert(i < PARAMS_MOST);
	strs_take(&a->text, sv_dup(v));
	a->value[i] = a->text.v[a->text.n - 1];
	a->type[i] = T_TEXT;
}

static int run(struct pg *p, const char *sql, const struct params *a, const char *what,
	       PGresult **ret, struct err *err)
{
	AUTO_RESULT *r =
		PQexecParams(p->conn, sql, a ? a->n : 0, a ? a->type : NULL, a ? a->value : NULL,
			     a ? a->length : NULL, a ? a->format : NULL, /* resultFormat= */ 1);
	ExecStatusType s = PQresultStatus(r);

	if (s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK)
		return pg_bail(p, r, what, err);
	if (ret)
		*ret = STEAL(r);
	return 0;
}

static int exec(struct pg *p, const char *sql, const char *what, struct err *err)
{
	AUTO_RESULT *r = PQexec(p->conn, sql);
	ExecStatusType s = PQresultStatus(r);

	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK ? 0 : pg_bail(p, r, what, err);
}

static struct sv column(const PGresult *r, int row, int at)
{
	return (struct sv){ PQgetvalue(r, row, at), (size_t)PQgetlength(r, row, at) };
}

static int64_t column_int(const PGresult *r, int row, int at)
{
	struct sv v = column(r, row, at);
	uint64_t x = 0;

	assert(v.n == 8);
	for (size_t i = 0; i < 8; i++)
		x = x << 8 | (unsigned char)v.p[i];
	return (int64_t)x;
}

static bool column_bool(const PGresult *r, int row, int at)
{
	return PQgetvalue(r, row, at)[0] != 0;
}

static int column_hash(const PGresult *r, int row, int at, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct sv v = column(r, row, at);

	if (v.n != SHA256_LEN)
		return bail(err, ERR_BROKEN, "PostgreSQL: a hash of %zu bytes", v.n);
	memcpy(ret, v.p, SHA256_LEN);
	return 0;
}

/* ---- transactions ---- */

static int pg_begin(struct store *s, bool write, struct err *err)
{
	const char *sql =
		write ? "BEGIN ISOLATION LEVEL READ COMMITTED;"
			" SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '20s'"
		      : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
	struct pg *p = pg_of(s);
	int rc = exec(p, sql, "cannot begin", err);

	/* A connection that was cut is made again here, where nothing hangs in the air. */
	if (rc < 0 && PQstatus(p->conn) != CONNECTION_OK) {
		err_clear(err);
		PQreset(p->conn);
		rc = PQstatus(p->conn) == CONNECTION_OK ? exec(p, sql, "cannot begin", err)
							: pg_bail(p, NULL, "cannot connect", err);
	}
	if (rc < 0)
		return rc;
	p->open = true;
	p->writing = write;
	return 0;
}

static void pg_rollback(struct store *s)
{
	struct pg *p = pg_of(s);

	if (p->open)
		PQclear(PQexec(p->conn, "ROLLBACK"));
	p->open = p->writing = false;
}

static int pg_commit(struct store *s, struct err *err)
{
	struct pg *p = pg_of(s);
	AUTO_RESULT *r = PQexec(p->conn, "COMMIT");

	p->open = p->writing = false;
	/* COMMIT of a transaction that failed says ROLLBACK and calls that a success. */
	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		return pg_bail(p, r, "cannot commit", err);
	if (!streq(PQcmdStatus(r), "COMMIT"))
		return bail(err, ERR_IO, "PostgreSQL: the transaction was rolled back");
	return 0;
}

static bool pg_away(struct store *s)
{
	return PQstatus(pg_of(s)->conn) != CONNECTION_OK;
}

/* ---- the log ---- */

static int pg_made(struct store *s, bool *ret, struct err *err)
{
	AUTO_RESULT *r = NULL;

	/* Not to_regclass: its cache may not have heard yet of what another session has just
	 * made. */
	TRY(run(pg_of(s),
		"SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = "
		"c.relnamespace"
		" WHERE n.nspname = 'twice' AND c.relname = 'log')",
		NULL, "cannot look for the log", &r, err));
	*ret = column_bool(r, 0, 0);
	return 0;
}

static int pg_make(struct store *s, const char *origin, struct err *err)
{
	static const uint8_t zeros[SHA256_LEN];
	struct params a CLEANUP(params_release) = { 0 };
	struct pg *p = pg_of(s);
	bool made;

	/* One makes it, the others wait here and then find it. */
	TRY(exec(p, "SELECT pg_advisory_xact_lock(1953982563)", "cannot take turns", err));
	TRY(pg_made(s, &made, err));
	if (made)
		return bail(err, ERR_CONFLICT, "PostgreSQL: somebody else has just made the log");
	for (size_t i = 0; i < ARRAY_SIZE(schema); i++)
		TRY(exec(p, schema[i], "cannot make its tables", err));
	put_text(&a, sv_of(origin));
	put_bytes(&a, zeros, SHA256_LEN);
	return run(p,
		   "INSERT INTO twice.log (log_id, origin, size, head, frontier)"
		   " VALUES (1, $1, 0, $2, '')",
		   &a, "cannot make the log", NULL, err);
}

static int pg_head(struct store *s, struct log_head *ret, struct err *err)
{
	struct pg *p = pg_of(s);
	struct log_head own = { 0 };
	AUTO_RESULT *r = NULL;
	struct sv f;

	/* The row lock is what orders writers on all machines. */
	TRY(run(p,
		p->writing ? "SELECT origin, size, head, frontier FROM twice.log WHERE log_id = 1"
			     " FOR UPDATE"
			   : "SELECT origin, size, head, frontier FROM twice.log WHERE log_id = 1",
		NULL, "cannot read the log", &r, err));
	if (PQntuples(r) != 1)
		return bail(err, ERR_BROKEN, "PostgreSQL: the store is damaged: no log in it");
	own.frontier.size = (uint64_t)column_int(r, 0, 1);
	TRY(column_hash(r, 0, 2, own.head, err));
	f = column(r, 0, 3);
	if (f.n != frontier_count(&own.frontier) * SHA256_LEN)
		return bail(err, ERR_BROKEN,
			    "PostgreSQL: the store is damaged: frontier of another size");
	memcpy(own.frontier.hash, f.p, f.n);
	own.origin = sv_dup(column(r, 0, 0));
	*ret = own;
	return 0;
}

static int add_ref(struct pg *p, uint64_t seq, const struct entry_ref *ref, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_int(&a, (int64_t)seq);
	put_text(&a, sv_of(ref->rel));
	put_bytes(&a, ref->digest, SHA256_LEN);
	return run(p, "INSERT INTO twice.entry_ref (seq, rel, digest) VALUES ($1, $2, $3)", &a,
		   "cannot add a reference", NULL, err);
}

static int add_blob(struct pg *p, const struct entry_blob *b, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_bytes(&a, b->digest, SHA256_LEN);
	put_int(&a, (int64_t)b->bytes);
	put_text(&a, b->media_type);
	return run(p,
		   "INSERT INTO twice.blob (digest, bytes, media_type, state)"
		   " VALUES ($1, $2, $3, 'present') ON CONFLICT DO NOTHING",
		   &a, "cannot add a blob", NULL, err);
}

static int pg_add(struct store *s, const struct entry_row *r, const struct entry *e,
		  const struct log_head *after, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 }, h CLEANUP(params_release) = { 0 };
	struct pg *p = pg_of(s);

	put_int(&a, (int64_t)r->seq);
	put_text(&a, r->kind);
	put_int(&a, r->at_ms);
	put_bytes(&a, r->leaf, SHA256_LEN);
	put_bytes(&a, r->bytes.p, r->bytes.n);
	TRY(run(p,
		"INSERT INTO twice.entry (seq, kind, at_ms, leaf, bytes) VALUES ($1, $2, $3, $4, "
		"$5)",
		&a, "cannot add an entry", NULL, err));
	for (size_t i = 0; i < e->n_refs; i++)
		TRY(add_ref(p, r->seq, &e->refs[i], err));
	for (size_t i = 0; i < e->n_blobs; i++)
		TRY(add_blob(p, &e->blobs[i], err));
	put_int(&h, (int64_t)after->frontier.size);
	put_bytes(&h, after->head, SHA256_LEN);
	put_bytes(&h, after->frontier.hash, frontier_count(&after->frontier) * SHA256_LEN);
	return run(p, "UPDATE twice.log SET size = $1, head = $2, frontier = $3 WHERE log_id = 1",
		   &h, "cannot move the head", NULL, err);
}

/* ---- reading ---- */

static void add_kinds(const char *const *kinds, struct str *sql, struct params *a)
{
	if (!kinds)
		return;
	str_add(sql, " AND e.kind IN (''");
	for (; *kinds; kinds++) {
		put_text(a, sv_of(*kinds));
		str_addf(sql, ", $%d", a->n);
	}
	str_add(sql, ")");
}

static void add_number(const char *what, int64_t v, struct str *sql, struct params *a)
{
	put_int(a, v);
	str_addf(sql, " AND %s $%d", what, a->n);
}

static void rows_sql(const struct row_query *q, struct str *sql, struct params *a)
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
		put_bytes(a, q->digest, SHA256_LEN);
		str_addf(sql, " AND e.seq IN (SELECT seq FROM twice.entry_ref WHERE digest = $%d",
			 a->n);
		if (q->rel) {
			put_text(a, sv_of(q->rel));
			str_addf(sql, " AND rel = $%d", a->n);
		}
		str_add(sql, ")");
	}
	if (q->leaf_lo) {
		put_bytes(a, q->leaf_lo, SHA256_LEN);
		put_bytes(a, q->leaf_hi, SHA256_LEN);
		str_addf(sql, " AND e.leaf BETWEEN $%d AND $%d", a->n - 1, a->n);
	}
	add_kinds(q->kinds, sql, a);
	/* An expression keeps the planner from reading the whole log in order for one hash. */
	str_addf(sql, " ORDER BY e.seq%s%s", q->leaf_lo ? " + 0" : "",
		 q->newest_first ? " DESC" : "");
	if (q->limit) {
		put_int(a, (int64_t)q->limit);
		str_addf(sql, " LIMIT $%d", a->n);
	}
}

static int pg_rows(struct store *s, const struct row_query *q, row_seen *seen, void *arg,
		   struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	struct str sql CLEANUP(str_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct entry_row row;
	int rc;

	rows_sql(q, &sql, &a);
	TRY(run(pg_of(s), str_text(&sql), &a, "cannot read entries", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		row.seq = (uint64_t)column_int(r, i, 0);
		row.kind = column(r, i, 1);
		row.at_ms = column_int(r, i, 2);
		TRY(column_hash(r, i, 3, row.leaf, err));
		row.bytes = column(r, i, 4);
		rc = seen(arg, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_refs(struct store *s, uint64_t from, uint64_t to, ref_seen *seen, void *arg,
		   struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t digest[SHA256_LEN];
	int rc;

	put_int(&a, (int64_t)from);
	put_int(&a, (int64_t)to);
	TRY(run(pg_of(s),
		"SELECT seq, rel, digest FROM twice.entry_ref WHERE seq >= $1 AND seq < $2"
		" ORDER BY seq, rel, digest",
		&a, "cannot read references", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(column_hash(r, i, 2, digest, err));
		rc = seen(arg, (uint64_t)column_int(r, i, 0), column(r, i, 1), digest, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int leaves_chunk(struct pg *p, uint64_t *from, uint64_t to, bool *ret_more, leaf_seen *seen,
			void *arg, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t leaf[SHA256_LEN];
	uint64_t seq;
	int rc;

	put_int(&a, (int64_t)*from);
	put_int(&a, (int64_t)to);
	put_int(&a, (int64_t)CHUNK);
	TRY(run(p,
		"SELECT seq, leaf FROM twice.entry WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT "
		"$3",
		&a, "cannot read hashes", &r, err));
	*ret_more = (size_t)PQntuples(r) == CHUNK;
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(column_hash(r, i, 1, leaf, err));
		seq = (uint64_t)column_int(r, i, 0);
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
	bool more = true;

	while (more)
		TRY(leaves_chunk(pg_of(s), &from, to, &more, seen, arg, err));
	return 0;
}

static int pg_node_add(struct store *s, unsigned level, uint64_t index,
		       const uint8_t hash[SHA256_LEN], struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_int(&a, level);
	put_int(&a, (int64_t)index);
	put_bytes(&a, hash, SHA256_LEN);
	return run(pg_of(s), "INSERT INTO twice.node (level, idx, hash) VALUES ($1, $2, $3)", &a,
		   "cannot add a node", NULL, err);
}

static int pg_nodes(struct store *s, unsigned level, uint64_t from, uint64_t to, node_seen *seen,
		    void *arg, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	uint8_t hash[SHA256_LEN];
	int rc;

	put_int(&a, level);
	put_int(&a, (int64_t)from);
	put_int(&a, (int64_t)MIN(to, (uint64_t)INT64_MAX));
	TRY(run(pg_of(s),
		"SELECT level, idx, hash FROM twice.node WHERE ($1 = 0 OR level = $1)"
		" AND ($1 = 0 OR (idx >= $2 AND idx < $3)) ORDER BY level, idx",
		&a, "cannot read nodes", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(column_hash(r, i, 2, hash, err));
		rc = seen(arg, (unsigned)column_int(r, i, 0), (uint64_t)column_int(r, i, 1), hash,
			  err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

/* ---- signatures, checkpoints, blobs ---- */

static int pg_sign(struct store *s, const struct sig_row *r, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *done = NULL;

	put_bytes(&a, r->leaf, SHA256_LEN);
	put_text(&a, r->scheme);
	put_text(&a, r->signer);
	put_bytes(&a, r->sig.p, r->sig.n);
	TRY(run(pg_of(s),
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
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct sig_row row;
	int rc;

	if (leaf)
		put_bytes(&a, leaf, SHA256_LEN);
	TRY(run(pg_of(s),
		leaf ? "SELECT leaf, scheme, signer, sig FROM twice.signature WHERE leaf = $1"
		       " ORDER BY scheme, signer"
		     : "SELECT leaf, scheme, signer, sig FROM twice.signature"
		       " ORDER BY leaf, scheme, signer",
		&a, "cannot read signatures", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(column_hash(r, i, 0, row.leaf, err));
		row.scheme = column(r, i, 1);
		row.signer = column(r, i, 2);
		row.sig = column(r, i, 3);
		rc = seen(arg, &row, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_note_add(struct store *s, uint64_t size, struct sv note, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_int(&a, (int64_t)size);
	put_text(&a, note);
	return run(pg_of(s),
		   "INSERT INTO twice.checkpoint (size, note) VALUES ($1, $2)"
		   " ON CONFLICT (size) DO UPDATE SET note = excluded.note",
		   &a, "cannot keep a checkpoint", NULL, err);
}

static int pg_notes(struct store *s, note_seen *seen, void *arg, struct err *err)
{
	AUTO_RESULT *r = NULL;
	int rc;

	TRY(run(pg_of(s), "SELECT size, note FROM twice.checkpoint ORDER BY size", NULL,
		"cannot read checkpoints", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		rc = seen(arg, (uint64_t)column_int(r, i, 0), column(r, i, 1), err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int pg_blob_state(struct store *s, const uint8_t digest[SHA256_LEN], const char *state,
			 struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_text(&a, sv_of(state));
	put_bytes(&a, digest, SHA256_LEN);
	return run(pg_of(s), "UPDATE twice.blob SET state = $1 WHERE digest = $2", &a,
		   "cannot set a blob's state", NULL, err);
}

static int pg_blobs(struct store *s, const uint8_t *digest, blob_seen *seen, void *arg,
		    struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };
	AUTO_RESULT *r = NULL;
	struct blob_row row;
	int rc;

	if (digest)
		put_bytes(&a, digest, SHA256_LEN);
	TRY(run(pg_of(s),
		digest ? "SELECT digest, bytes, media_type, state FROM twice.blob WHERE digest = $1"
		       : "SELECT digest, bytes, media_type, state FROM twice.blob ORDER BY digest",
		&a, "cannot read blobs", &r, err));
	for (int i = 0; i < PQntuples(r); i++) {
		TRY(column_hash(r, i, 0, row.digest, err));
		row.bytes = (uint64_t)column_int(r, i, 1);
		row.media_type = column(r, i, 2);
		row.state = column(r, i, 3);
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
	struct params a CLEANUP(params_release) = { 0 };

	if (data.n > DATA_MOST)
		return bail(err, ERR_LIMIT, "a blob of %zu bytes is too large for PostgreSQL",
			    data.n);
	put_bytes(&a, digest, SHA256_LEN);
	put_bytes(&a, data.p, data.n);
	/* What is there is trusted only when it is what its name says. */
	return run(pg_of(s),
		   "INSERT INTO twice.blob_data AS b (digest, data) VALUES ($1, $2)"
		   " ON CONFLICT (digest) DO UPDATE SET data = excluded.data"
		   " WHERE sha256(b.data) <> b.digest",
		   &a, "cannot store a blob", NULL, err);
}

static int data_select(struct store *s, const char *sql, const uint8_t digest[SHA256_LEN],
		       PGresult **ret, struct err *err)
{
	struct params a CLEANUP(params_release) = { 0 };

	put_bytes(&a, digest, SHA256_LEN);
	return run(pg_of(s), sql, &a, "cannot read a blob", ret, err);
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
	str_addsv(ret, column(r, 0, 0));
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

	TRY(run(pg_of(s),
		"SELECT count(*) FILTER (WHERE t.tgenabled = 'O' AND f.prosrc LIKE"
		" CASE f.proname WHEN 'entry_refuse' THEN"
		" 'BEGIN RAISE EXCEPTION ''an entry is never changed or deleted''; END'"
		" ELSE 'BEGIN IF NEW.seq IS DISTINCT FROM (SELECT size FROM twice.log%' END)"
		" FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid"
		" WHERE t.tgrelid = to_regclass('twice.entry') AND t.tgname IN"
		" ('entry_no_change', 'entry_no_truncate', 'entry_in_order')",
		NULL, "cannot check itself", &r, err));
	if (column_int(r, 0, 0) != 3)
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
	const char *const values[] = {
		where,   "twice", "UTF8", "5", "-c idle_in_transaction_session_timeout=60000",
		"10000", "5",     "2",    "3", NULL
	};

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
