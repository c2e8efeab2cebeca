/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to PostgreSQL: parameters, statements, transactions (store_pg_wire.c). What is said and
 * what it means is store_pg.c's. */
#pragma once

#include "ledger/store.h"

#include <libpq-fe.h>

/*
 * An append is two round trips, whatever it adds: one for the beginning, the lock and the head,
 * one for all that is written and the commit. What is written waits for no answer of its own
 * (libpq's pipeline); the first that failed is told when the answers are read. So the lock, which
 * all writers want, is held for one round trip and one flush.
 */
enum queued { Q_ENTRY, Q_REF, Q_BLOB, Q_HEAD, Q_NODE, Q_MANY };
#define QUEUE_MOST 400 /* statements whose answers wait: they must fit into the sockets */

struct pg {
	struct store base;
	PGconn *conn;
	bool writing, open; /* a transaction is open, and it is one that writes */
	bool begin_due;     /* ... but nothing was sent yet */
	unsigned waiting;   /* statements that were sent and not answered */
	/* Statements are prepared once a connection, under names of that life. */
	bool prepared[Q_MANY];
	unsigned life;
	struct log_head *head; /* where the answer with the head goes */
	bool have_last;        /* the last entry, read together with it */
	uint64_t last_seq;
	uint8_t last[SHA256_LEN];
};

static inline struct pg *pg_of(struct store *s)
{
	return (struct pg *)s;
}

static inline void result_drop(PGresult **r)
{
	PQclear(*r);
	*r = NULL;
}
#define AUTO_RESULT CLEANUP(result_drop) PGresult

/* ---- parameters: integers and bytes go as they are (binary), text as text ---- */

enum { PARAMS_MOST = 24 };

struct pg_params {
	const char *value[PARAMS_MOST];
	int length[PARAMS_MOST], format[PARAMS_MOST];
	Oid type[PARAMS_MOST];
	uint8_t number[PARAMS_MOST][8];
	struct strs text; /* NUL-ended copies */
	int n;
};

void pg_params_release(struct pg_params *a);
void pg_put_int(struct pg_params *a, int64_t v);
void pg_put_bytes(struct pg_params *a, const void *p, size_t n);
void pg_put_text(struct pg_params *a, struct sv v);

/* ---- statements ---- */

int pg_bail(struct pg *p, const PGresult *r, const char *what, struct err *err);
/* Waits for the answer (and for all that waits before it); `ret` may be NULL. */
int pg_run(struct pg *p, const char *sql, const struct pg_params *a, const char *what,
	   PGresult **ret, struct err *err) MUST_USE;
int pg_exec(struct pg *p, const char *sql, const char *what, struct err *err) MUST_USE;
/* Waits for nothing: prepared once, sent, its answer read with the commit or before the next
 * pg_run. */
int pg_queue(struct pg *p, enum queued which, const char *sql, const struct pg_params *a,
	     struct err *err) MUST_USE;
int pg_send(struct pg *p, const char *sql, struct err *err) MUST_USE;
/* Reads the answers of all that waits. `seen` may be NULL; it gets the number of each, from 0. */
typedef int answer_seen(struct pg *p, unsigned number, const PGresult *r, struct err *err);
int pg_answers(struct pg *p, const char *what, answer_seen *seen, struct err *err) MUST_USE;
int pg_connect_again(struct pg *p, struct err *err) MUST_USE;

struct sv pg_col(const PGresult *r, int row, int at);
int64_t pg_col_int(const PGresult *r, int row, int at);
bool pg_col_bool(const PGresult *r, int row, int at);
int pg_col_hash(const PGresult *r, int row, int at, uint8_t ret[SHA256_LEN],
		struct err *err) MUST_USE;

/* ---- transactions ---- */

/* One that writes begins with its first statement. */
#define PG_BEGIN_WRITE "BEGIN ISOLATION LEVEL READ COMMITTED"
int pg_begin(struct store *s, bool write, struct err *err) MUST_USE;
void pg_rollback(struct store *s);
bool pg_away(struct store *s);
int pg_commit(struct store *s, struct err *err) MUST_USE;
