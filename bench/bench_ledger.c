/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger costs: durable appends (also against bare SQLite doing the same inserts),
 * checking a log against bare SHA-256 over the same bytes, opening, proofs. TWICE_BENCH_ENTRIES:
 * length of the log that is checked (20000).
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN "twice.example/bench"

static void need(int rc, const struct err *err)
{
	if (rc == 0)
		return;
	fprintf(stderr, "bench_ledger: %s\n", err->msg);
	exit(1);
}

static struct ledger *make(const char *dir)
{
	struct ledger_conf c = { .dir = dir,
				 .flags = LEDGER_CREATE,
				 .origin = ORIGIN,
				 .by_id = "bench",
				 .now_ms = INT64_C(1796000000000) };
	struct ledger *l = NULL;
	struct err err = ERR_INIT;

	need(ledger_open(&c, &l, &err), &err);
	return l;
}

/* About 1 KiB as an entry, with references as a repetition's result has them. */
static json_t *body_of(unsigned i)
{
	json_t *o = json_object();
	char digest[SHA256_HEX], text[641];

	sha256_hex(&i, sizeof(i), digest);
	memset(text, 'a' + (int)(i % 26), sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_put(o, "intent", json_pack("{s:s}", "digest", digest));
	json_put_str(o, "stack_digest", digest);
	json_put_int(o, "n", i);
	json_put_str(o, "text", text);
	return o;
}

static double per_s(size_t n, int64_t ns)
{
	return (double)n * 1e9 / (double)MAX(ns, 1);
}

static double appends(struct ledger *l, size_t n, size_t batch)
{
	struct ledger_new *e = xcalloc(batch, sizeof(*e));
	json_t **bodies = xcalloc(batch, sizeof(json_t *));
	struct err err = ERR_INIT;
	int64_t from;

	for (size_t i = 0; i < batch; i++) {
		bodies[i] = body_of((unsigned)i);
		e[i] = (struct ledger_new){ .kind = "cost",
					    .body = bodies[i],
					    .by_id = "bench",
					    .role = "machine",
					    .at_ms = INT64_C(1796000000000) };
	}
	from = clock_ns();
	for (size_t i = 0; i < n; i += batch)
		need(ledger_append_many(l, e, MIN(batch, n - i), NULL, &err), &err);
	from = clock_ns() - from;
	for (size_t i = 0; i < batch; i++)
		json_decref(bodies[i]);
	free(bodies);
	free(e);
	return per_s(n, from);
}

/* The same number of durable transactions of one 1 KiB row, nothing else. */
static double bare_sqlite(const char *path, size_t n)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	char row[1024] = "x";
	int64_t from;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			 " CREATE TABLE t (seq INTEGER PRIMARY KEY, bytes BLOB)",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO t (bytes) VALUES (?)", -1, &q, NULL) != SQLITE_OK)
		exit(1);
	from = clock_ns();
	for (size_t i = 0; i < n; i++) {
		(void)sqlite3_bind_blob(q, 1, row, sizeof(row), SQLITE_STATIC);
		if (sqlite3_step(q) != SQLITE_DONE)
			exit(1);
		(void)sqlite3_reset(q);
	}
	from = clock_ns() - from;
	(void)sqlite3_finalize(q);
	(void)sqlite3_close(db);
	return per_s(n, from);
}

struct lines {
	struct sv *v;
	size_t n;
	uint64_t bytes;
};

static int keep(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct lines *l = arg;

	(void)err;
	l->v[l->n++] = (struct sv){ xstrndup(e->bytes, e->n), e->n };
	l->bytes += e->n;
	return 0;
}

static int64_t bare_hash(const struct lines *l)
{
	struct sha256 h = { 0 };
	uint8_t d[SHA256_LEN];
	int64_t from = clock_ns();

	for (size_t i = 0; i < l->n; i++) {
		sha256_init(&h);
		sha256_add(&h, l->v[i].p, l->v[i].n);
		sha256_end(&h, d);
	}
	from = clock_ns() - from;
	sha256_release(&h);
	return from;
}

static int64_t check_lines(const struct lines *l)
{
	struct ledger_verify_conf c = { 0 };
	struct ledger_report r = { 0 };
	struct err err = ERR_INIT;
	int64_t from = clock_ns();

	need(ledger_verify_lines(l->v, l->n, ORIGIN, NULL, 0, &c, &r, &err), &err);
	from = clock_ns() - from;
	if (ledger_report_worst(&r) != LEDGER_NOTE)
		exit(1);
	ledger_report_release(&r);
	return from;
}

static int64_t check_store(const char *dir)
{
	struct ledger_verify_conf c = { .path = dir };
	struct ledger_report r = { 0 };
	struct err err = ERR_INIT;
	int64_t from = clock_ns();

	need(ledger_verify(&c, &r, &err), &err);
	from = clock_ns() - from;
	if (ledger_report_worst(&r) != LEDGER_NOTE)
		exit(1);
	ledger_report_release(&r);
	return from;
}

static void reading(struct ledger *l, const char *dir, uint64_t n)
{
	struct ledger_proof p = { 0 };
	struct err err = ERR_INIT;
	int64_t from = clock_ns();
	struct ledger *again;
	AUTO_FREE char *db = path_join(dir, "ledger.db"), *out = path_join(dir, "export");
	struct stat st;

	again = make(dir);
	printf("open and check the head     %8.2f ms\n", (double)(clock_ns() - from) / 1e6);
	ledger_close(again);
	from = clock_ns();
	need(ledger_inclusion(l, n / 3, n, &p, &err), &err);
	printf("inclusion proof             %8.2f ms, %zu hashes\n",
	       (double)(clock_ns() - from) / 1e6, p.n);
	ledger_proof_release(&p);
	from = clock_ns();
	need(ledger_export(l, out, &err), &err);
	printf("export                      %8.0f entries/s\n", per_s(n, clock_ns() - from));
	if (stat(db, &st) == 0)
		printf("store                       %8.1f MiB\n", (double)st.st_size / MIB);
}

int main(void)
{
	const char *count = getenv("TWICE_BENCH_ENTRIES");
	uint64_t n = 20000;
	struct lines lines = { 0 };
	struct ledger_checkpoint cp = { 0 };
	struct err err = ERR_INIT;
	int64_t hash = INT64_MAX, check = INT64_MAX;
	AUTO_FREE char *dir = NULL, *bare = NULL;
	struct ledger *l;
	double one, plain;

	if (count && (!sv_to_u64(sv_of(count), &n) || n > 100 * 1000 * 1000))
		return 64;
	lines.v = xcalloc(n + 2000, sizeof(*lines.v));
	need(dir_temp("bench", &dir, &err), &err);
	l = make(dir);
	bare = path_join(dir, "bare.db");
	one = appends(l, 1000, 1);
	plain = bare_sqlite(bare, 1000);
	printf("durable appends             %8.0f /s, %.2f of bare SQLite\n", one, one / plain);
	printf("in batches of 100           %8.0f /s\n", appends(l, n, 100));
	need(ledger_checkpoint(l, &cp, &err), &err);
	need(ledger_each(l, &(struct ledger_filter){ 0 }, keep, &lines, &err), &err);
	for (int i = 0; i < 5; i++) { /* the fastest: both are held up by the same neighbours */
		hash = MIN(hash, bare_hash(&lines));
		check = MIN(check, check_lines(&lines));
	}
	printf("check bytes, chain and tree %8.0f MB/s, %.2f times bare SHA-256 (%.0f MB/s)\n",
	       (double)lines.bytes * 1e3 / (double)check, (double)check / (double)hash,
	       (double)lines.bytes * 1e3 / (double)hash);
	check = check_store(dir);
	printf("verify the store            %8.0f MB/s, %.2f times bare SHA-256\n",
	       (double)lines.bytes * 1e3 / (double)check, (double)check / (double)hash);
	reading(l, dir, lines.n);
	printf("entries                     %8.1f MiB in %zu\n", (double)lines.bytes / MIB,
	       lines.n);
	ledger_checkpoint_release(&cp);
	ledger_close(l);
	for (size_t i = 0; i < lines.n; i++)
		free((char *)(uintptr_t)lines.v[i].p);
	free(lines.v);
	need(dir_remove(dir, &err), &err);
	return 0;
}
