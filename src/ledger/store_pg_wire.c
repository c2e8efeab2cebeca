/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/store_pg.h"

#include "base/err.h"
#include <errno.h>

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

int pg_bail(struct pg *p, const PGresult *r, const char *what, struct err *err)
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

void pg_params_release(struct pg_params *a)
{
	strs_release(&a->text);
}

/* Object ids of the built-in types: catalog/pg_type.dat, the same in every version. */
enum { T_BYTEA = 17, T_INT8 = 20, T_TEXT = 25 };

void pg_put_int(struct pg_params *a, int64_t v)
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

void pg_put_bytes(struct pg_params *a, const void *p, size_t n)
{
	int i = a->n++;

	assert(i < PARAMS_MOST && n <= INT32_MAX);
	a->value[i] = n ? p : "";
	a->length[i] = (int)n;
	a->format[i] = 1;
	a->type[i] = T_BYTEA;
}

void pg_put_text(struct pg_params *a, struct sv v)
{
	int i = a->n++;

	assert(i < PARAMS_MOST);
	strs_take(&a->text, sv_dup(v));
	a->value[i] = a->text.v[a->text.n - 1];
	a->type[i] = T_TEXT;
}

/* ---- statements that wait for no answer ---- */

/* What was prepared is gone, or it is not known how far it got. */
static void forget_prepared(struct pg *p)
{
	memset(p->prepared, 0, sizeof(p->prepared));
	p->life++;
}

int pg_answers(struct pg *p, const char *what, answer_seen *seen, struct err *err)
{
	unsigned n = p->waiting;
	int rc = 0;

	if (!n)
		return 0;
	p->waiting = 0;
	if (PQpipelineSync(p->conn) != 1)
		rc = pg_bail(p, NULL, what, err);
	for (unsigned i = 0; i <= n && PQstatus(p->conn) == CONNECTION_OK; i++) {
		AUTO_RESULT *r = PQgetResult(p->conn), *end = i < n ? PQgetResult(p->conn) : NULL;
		ExecStatusType s = PQresultStatus(r);

		(void)end; /* a NULL after each but the mark of the end */
		if (rc == 0 && i < n && s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK)
			rc = pg_bail(p, r, what, err);
		if (rc == 0 && i < n && seen)
			rc = seen(p, i, r, err);
	}
	if (rc == 0 && PQstatus(p->conn) != CONNECTION_OK)
		rc = pg_bail(p, NULL, what, err);
	if (rc < 0)
		forget_prepared(p);
	if (PQstatus(p->conn) == CONNECTION_OK)
		(void)PQexitPipelineMode(p->conn);
	return rc;
}

static int sent(struct pg *p, int ok, struct err *err)
{
	if (ok != 1)
		return pg_bail(p, NULL, "cannot send", err);
	p->waiting++;
	return 0;
}

int pg_send(struct pg *p, const char *sql, struct err *err)
{
	if (PQpipelineStatus(p->conn) == PQ_PIPELINE_OFF && PQenterPipelineMode(p->conn) != 1)
		return pg_bail(p, NULL, "cannot send", err);
	return sent(p, PQsendQueryParams(p->conn, sql, 0, NULL, NULL, NULL, NULL, 1), err);
}

static int start(struct pg *p, struct err *err);

int pg_queue(struct pg *p, enum queued which, const char *sql, const struct pg_params *a,
	     struct err *err)
{
	char name[32];

	TRY(start(p, err));
	if (p->waiting >= QUEUE_MOST)
		TRY(pg_answers(p, "cannot add entries", NULL, err));
	if (PQpipelineStatus(p->conn) == PQ_PIPELINE_OFF && PQenterPipelineMode(p->conn) != 1)
		return pg_bail(p, NULL, "cannot send", err);
	(void)snprintf(name, sizeof(name), "twice_%u_%d", p->life, (int)which);
	if (!p->prepared[which])
		TRY(sent(p, PQsendPrepare(p->conn, name, sql, a->n, a->type), err));
	p->prepared[which] = true;
	return sent(p, PQsendQueryPrepared(p->conn, name, a->n, a->value, a->length, a->format, 1),
		    err);
}

int pg_run(struct pg *p, const char *sql, const struct pg_params *a, const char *what,
	   PGresult **ret, struct err *err)
{
	TRY(start(p, err));
	TRY(pg_answers(p, "cannot add entries", NULL, err));

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

int pg_exec(struct pg *p, const char *sql, const char *what, struct err *err)
{
	TRY(start(p, err));
	TRY(pg_answers(p, "cannot add entries", NULL, err));

	AUTO_RESULT *r = PQexec(p->conn, sql);
	ExecStatusType s = PQresultStatus(r);

	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK ? 0 : pg_bail(p, r, what, err);
}

struct sv pg_col(const PGresult *r, int row, int at)
{
	return (struct sv){ PQgetvalue(r, row, at), (size_t)PQgetlength(r, row, at) };
}

int64_t pg_col_int(const PGresult *r, int row, int at)
{
	struct sv v = pg_col(r, row, at);
	uint64_t x = 0;

	assert(v.n == 8);
	for (size_t i = 0; i < 8; i++)
		x = x << 8 | (unsigned char)v.p[i];
	return (int64_t)x;
}

bool pg_col_bool(const PGresult *r, int row, int at)
{
	return PQgetvalue(r, row, at)[0] != 0;
}

int pg_col_hash(const PGresult *r, int row, int at, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct sv v = pg_col(r, row, at);

	if (v.n != SHA256_LEN)
		return bail(err, ERR_BROKEN, "PostgreSQL: a hash of %zu bytes", v.n);
	memcpy(ret, v.p, SHA256_LEN);
	return 0;
}

/* ---- transactions ---- */

int pg_connect_again(struct pg *p, struct err *err)
{
	PQreset(p->conn);
	p->waiting = 0;
	forget_prepared(p);
	return PQstatus(p->conn) == CONNECTION_OK ? 0 : pg_bail(p, NULL, "cannot connect", err);
}

static int begin_now(struct pg *p, const char *sql, struct err *err)
{
	int rc = pg_exec(p, sql, "cannot begin", err);

	/* A connection that was cut is made again here, where nothing hangs in the air. */
	if (rc < 0 && PQstatus(p->conn) != CONNECTION_OK) {
		err_clear(err);
		TRY(pg_connect_again(p, err));
		rc = pg_exec(p, sql, "cannot begin", err);
	}
	return rc;
}

/* A transaction that writes begins with its first statement: see pg_head. */
static int start(struct pg *p, struct err *err)
{
	if (!p->begin_due)
		return 0;
	p->begin_due = false;
	return begin_now(p, PG_BEGIN_WRITE, err);
}

int pg_begin(struct store *s, bool write, struct err *err)
{
	struct pg *p = pg_of(s);

	if (!write)
		TRY(begin_now(p, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err));
	p->open = true;
	p->writing = p->begin_due = write;
	return 0;
}

void pg_rollback(struct store *s)
{
	struct pg *p = pg_of(s);
	struct err ignored = ERR_INIT;

	if (p->open && !p->begin_due) {
		if (pg_answers(p, "cannot roll back", NULL, &ignored) < 0)
			err_clear(&ignored);
		PQclear(PQexec(p->conn, "ROLLBACK"));
	}
	p->open = p->writing = p->begin_due = p->have_last = false;
}

/* COMMIT of a transaction that failed says ROLLBACK and calls that a success. */
static int committed(struct pg *p, unsigned number, const PGresult *r, struct err *err)
{
	(void)p, (void)number;
	if (streq(PQcmdStatus((PGresult *)(uintptr_t)r), "ROLLBACK"))
		return bail(err, ERR_IO, "PostgreSQL: the transaction was rolled back");
	return 0;
}

int pg_commit(struct store *s, struct err *err)
{
	struct pg *p = pg_of(s);
	int rc = p->begin_due ? 0 : pg_send(p, "COMMIT", err);

	if (rc == 0)
		rc = pg_answers(p, "cannot commit", committed, err);
	/* One of many failed: the transaction is still open, and pg_rollback ends it. */
	if (rc < 0 && PQstatus(p->conn) == CONNECTION_OK &&
	    PQtransactionStatus(p->conn) != PQTRANS_IDLE)
		return rc;
	p->open = p->writing = p->begin_due = p->have_last = false;
	return rc;
}

bool pg_away(struct store *s)
{
	return PQstatus(pg_of(s)->conn) != CONNECTION_OK;
}
