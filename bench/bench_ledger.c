/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger costs, against its goals: durable appends (also against bare SQLite doing the
 * same inserts), checking a log against bare SHA-256 over the same bytes, opening, proofs,
 * signatures, eight writers on PostgreSQL with flushes.
 *
 * First on a ledger of 20,000 entries, some years of one workload's checks; then, where
 * TWICE_BENCH_ENTRIES asks for more, once more at the end of one as long as that. What depends on
 * the disk is measured in five parts: the goal is held against the one in the middle, the fastest
 * is named too. An entry is 1 KiB and refers to two digests.
 *
 * bench_ledger fill DIR N     appends N entries to the ledger in DIR and makes a checkpoint
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "ledger/ledger.h"

#ifdef HAVE_PG
#include "pg_server.h"
#endif
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORIGIN "twice.example/bench"
#define USUAL  ((size_t)20000) /* entries of a ledger like a user's */
#define PARTS  5

static void need(int rc, const struct err *err)
{
	if (rc == 0)
		return;
	fprintf(stderr, "bench_ledger: %s\n", err->msg);
	exit(1);
}

static struct ledger *make(const char *dir, const char *pg)
{
	struct ledger_conf c = { .dir = dir,
				 .pg = pg,
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

/* One line of the table; `ratio` of what was measured to the goal, above 1 where it is met. */
static void row(const char *what, const char *goal, double ratio, const char *fmt, ...)
	PRINTF(4, 5);
static void row(const char *what, const char *goal, double ratio, const char *fmt, ...)
{
	char got[80];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(got, sizeof(got), fmt, ap);
	va_end(ap);
	if (ratio > 0)
		printf("%-46s %-11s %-48s %6.2f %s\n", what, goal, got, ratio,
		       ratio >= 1 ? "met" : "MISSED");
	else
		printf("%-46s %-11s %s\n", what, goal, got);
	(void)fflush(stdout);
}

static double per_s(size_t n, int64_t ns)
{
	return (double)n * 1e9 / (double)MAX(ns, 1);
}

static double appends(struct ledger *l, size_t n, size_t batch)
{
	struct ledger_new *e = xcalloc(batch, sizeof(*e));
	json_t **bodies = xcalloc(batch, sizeof(json_t *));
	int64_t now = clock_wall_ms();
	struct err err = ERR_INIT;
	int64_t from;

	for (size_t i = 0; i < batch; i++) {
		bodies[i] = body_of((unsigned)i);
		e[i] = (struct ledger_new){ .kind = "cost",
					    .body = bodies[i],
					    .by_id = "bench",
					    .role = "machine",
					    .at_ms = now };
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

struct rates {
	double middle, best;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct rates settle(double got[PARTS])
{
	qsort(got, PARTS, sizeof(*got), by_value);
	return (struct rates){ got[PARTS / 2], got[PARTS - 1] };
}

/* Durable transactions of `batch` rows of 1 KiB, nothing else: what the disk allows. */
static double bare_sqlite(const char *path, size_t n, size_t batch)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	char row[1024] = "x";
	int64_t from;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			 " CREATE TABLE IF NOT EXISTS t (seq INTEGER PRIMARY KEY, bytes BLOB)",
			 NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO t (bytes) VALUES (?)", -1, &q, NULL) != SQLITE_OK)
		exit(1);
	from = clock_ns();
	for (size_t i = 0; i < n; i++) {
		if (i % batch == 0 && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
			exit(1);
		(void)sqlite3_bind_blob(q, 1, row, sizeof(row), SQLITE_STATIC);
		if (sqlite3_step(q) != SQLITE_DONE)
			exit(1);
		(void)sqlite3_reset(q);
		if (i % batch == batch - 1 &&
		    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
			exit(1);
	}
	from = clock_ns() - from;
	(void)sqlite3_finalize(q);
	(void)sqlite3_close(db);
	return per_s(n, from);
}

#define LINES ((size_t)20000) /* as many are checked in memory */

struct lines {
	struct sv *v;
	size_t n;
	uint64_t bytes;
};

static int keep(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct lines *l = arg;

	(void)err;
	if (l->n == LINES)
		return 1;
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

/* Eight processes, one entry at a time. On PostgreSQL each is a machine of its own. */
static double writers(const char *dir, const char *pg, size_t each)
{
	int64_t from = clock_ns();
	pid_t pids[8];

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			AUTO_FREE char *own = pg ? xasprintf("%s-%zu", dir, i) : xstrdup(dir);
			struct ledger *l = make(own, pg);

			(void)appends(l, each, 1);
			ledger_close(l);
			_exit(0);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		if (waitpid(pids[i], &(int){ 0 }, 0) != pids[i])
			exit(1);
	return per_s(8 * each, clock_ns() - from);
}

static double signatures(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, "key"), *sig = NULL;
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };
	struct err err = ERR_INIT;
	char text[1024] = "x";
	int64_t from;
	size_t n = 2000;

	need(ssh_key_make(path, "bench", &k, &err), &err);
	need(ssh_sign(path, LEDGER_NAMESPACE, text, sizeof(text), &sig, &err), &err);
	from = clock_ns();
	for (size_t i = 0; i < n; i++) {
		struct ssh_key who CLEANUP(ssh_key_release) = { 0 };

		need(ssh_verify(sv_of(sig), LEDGER_NAMESPACE, text, sizeof(text), &who, &err),
		     &err);
	}
	return per_s(n, clock_ns() - from);
}

static int64_t slowest_proof(struct ledger *l, uint64_t n, size_t *ret_hashes)
{
	int64_t most = 0;

	*ret_hashes = 0;
	for (uint64_t i = 0; i < 50; i++) {
		int64_t best = INT64_MAX, from;

		for (int again = 0; again < 3; again++) {
			struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 };
			struct err err = ERR_INIT;

			from = clock_ns();
			need(ledger_inclusion(l, i * (n - 1) / 49, n, &p, &err), &err);
			best = MIN(best, clock_ns() - from);
			*ret_hashes = MAX(*ret_hashes, p.n);
		}
		most = MAX(most, best);
	}
	return most;
}

static void reading(struct ledger *l, const char *dir, uint64_t n, double entry_bytes)
{
	AUTO_FREE char *db = path_join(dir, "ledger.db");
	int64_t open = INT64_MAX, from, proof;
	struct stat st;
	size_t hashes;

	for (int i = 0; i < 3; i++) {
		from = clock_ns();
		ledger_close(make(dir, NULL));
		open = MIN(open, clock_ns() - from);
	}
	row("open and check the head", "<= 20 ms", 20e6 / (double)open, "%.2f ms, %llu entries",
	    (double)open / 1e6, (unsigned long long)n);
	proof = slowest_proof(l, n, &hashes);
	row("inclusion proof, the slowest of 50", "<= 2 ms", 2e6 / (double)proof, "%.2f ms",
	    (double)proof / 1e6);
	row("... its hashes", "<= 20", hashes ? 20.0 / (double)hashes : 1, "%zu", hashes);
	if (stat(db, &st) == 0)
		row("store over entry bytes", "<= 1.4", 1.4 * entry_bytes / (double)st.st_size,
		    "%.2f (%.0f MiB)", (double)st.st_size / entry_bytes, (double)st.st_size / MIB);
}

/* The first LINES of it in memory; then the whole store. */
static void checking(struct ledger *l, const char *dir, uint64_t n)
{
	struct lines lines = { .v = xcalloc(LINES, sizeof(*lines.v)) };
	int64_t hash = INT64_MAX, check = INT64_MAX;
	struct err err = ERR_INIT;
	double bytes;

	need(ledger_each(l, &(struct ledger_filter){ 0 }, keep, &lines, &err), &err);
	for (int i = 0; i < 5; i++) { /* the fastest: both are held up by the same neighbours */
		hash = MIN(hash, bare_hash(&lines));
		check = MIN(check, check_lines(&lines));
	}
	bytes = (double)lines.bytes / (double)lines.n * (double)n;
	row("check bytes, chain and tree over bare SHA-256", "<= 4 times",
	    4 * (double)hash / (double)check, "%.2f times (%.0f of %.0f MB/s)",
	    (double)check / (double)hash, (double)lines.bytes * 1e3 / (double)check,
	    (double)lines.bytes * 1e3 / (double)hash);
	check = check_store(dir);
	row("verify the whole store", "", 0, "%.1f s, %.0f MB/s", (double)check / 1e9,
	    bytes * 1e3 / (double)check);
	for (size_t i = 0; i < lines.n; i++)
		free((char *)(uintptr_t)lines.v[i].p);
	free(lines.v);
	reading(l, dir, n, bytes);
}

static void appending(struct ledger *l, const char *dir, size_t n)
{
	AUTO_FREE char *bare = path_join(dir, "bare.db");
	double own[PARTS], plain[PARTS];
	struct rates r, b;

	for (size_t i = 0; i < PARTS; i++) { /* in turns: the disk's mood is the same for both */
		own[i] = appends(l, 200, 1);
		plain[i] = bare_sqlite(bare, 200, 1);
	}
	r = settle(own);
	b = settle(plain);
	row("durable appends, one by one", ">= 1500/s", r.middle / 1500,
	    "%.0f/s, best %.0f (bare SQLite %.0f)", r.middle, r.best, b.middle);
	for (size_t i = 0; i < PARTS; i++) {
		own[i] = appends(l, n / PARTS, 100);
		plain[i] = bare_sqlite(bare, n / PARTS, 100);
	}
	r = settle(own);
	b = settle(plain);
	row("durable appends, in batches of 100", ">= 40000/s", r.middle / 40000,
	    "%.0f/s, best %.0f (bare SQLite %.0f)", r.middle, r.best, b.middle);
	(void)unlink(bare);
	for (size_t i = 0; i < PARTS; i++)
		own[i] = writers(dir, NULL, 50);
	r = settle(own);
	row("8 writers, one by one", ">= 800/s", r.middle / 800, "%.0f/s, best %.0f", r.middle,
	    r.best);
}

#ifdef HAVE_PG
static void postgres(const char *dir)
{
	static struct pg_server server;
	AUTO_FREE char *own = path_join(dir, "pg");
	const char *what = "8 writers, one by one, PostgreSQL";
	struct ledger *l;
	double got[PARTS];
	struct rates r;

	(void)setenv("TWICE_PG_FSYNC", "1", 1);
	pg_start(&server);
	if (server.why) {
		row(what, ">= 500/s", 0, "not measured: %s", server.why);
		return;
	}
	pg_database(&server, "bench");
	l = make(own, server.where);
	for (size_t i = 0; i < PARTS; i++)
		got[i] = writers(own, server.where, 100);
	r = settle(got);
	row(what, ">= 500/s", r.middle / 500, "%.0f/s, best %.0f", r.middle, r.best);
	for (size_t i = 0; i < PARTS; i++)
		got[i] = appends(l, 200, 1);
	r = settle(got);
	row("appends, one by one, PostgreSQL", "", 0, "%.0f/s, best %.0f", r.middle, r.best);
	for (size_t i = 0; i < PARTS; i++)
		got[i] = appends(l, 2000, 100);
	r = settle(got);
	row("appends, in batches of 100, PostgreSQL", "", 0, "%.0f/s, best %.0f", r.middle, r.best);
	ledger_close(l);
	pg_stop(&server);
}
#endif

static void table(const char *text, uint64_t n)
{
	printf("\nA ledger of %llu entries%s\n", (unsigned long long)n, text);
	printf("%-46s %-11s %-48s %6s\n", "what", "goal", "measured", "ratio");
}

static int fill(const char *dir, const char *count)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger *l;
	uint64_t n;

	if (!sv_to_u64(sv_of(count), &n))
		return 64;
	l = make(dir, NULL);
	(void)appends(l, n, 1000);
	need(ledger_checkpoint(l, &cp, &err), &err);
	printf("%llu\n", (unsigned long long)cp.size);
	ledger_close(l);
	return 0;
}

static void measure(struct ledger *l, const char *dir)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct err err = ERR_INIT;
	uint64_t size;

	need(ledger_checkpoint(l, &cp, &err), &err);
	need(ledger_size(l, &size, NULL, &err), &err);
	checking(l, dir, size);
}

static void at_length(struct ledger *l, const char *dir, uint64_t n)
{
	struct err err = ERR_INIT;
	uint64_t size;
	double rate;

	need(ledger_size(l, &size, NULL, &err), &err);
	table(", at its end", n);
	rate = appends(l, n - MIN(n, size + USUAL), 100);
	row("on the way there, in batches of 100", "", 0, "%.0f/s", rate);
	appending(l, dir, USUAL);
	measure(l, dir);
}

int main(int argc, char **argv)
{
	const char *count = getenv("TWICE_BENCH_ENTRIES");
	AUTO_FREE char *dir = NULL;
	struct err err = ERR_INIT;
	struct ledger *l;
	uint64_t n = USUAL;
	double many;

	if (argc == 4 && streq(argv[1], "fill"))
		return fill(argv[2], argv[3]);
	if (count && (!sv_to_u64(sv_of(count), &n) || n > 100 * 1000 * 1000))
		return 64;
	need(dir_temp("bench", &dir, &err), &err);
	l = make(dir, NULL);
	table(", as a user has", USUAL);
	appending(l, dir, USUAL);
#ifdef HAVE_PG
	postgres(dir);
#endif
	many = signatures(dir);
	row("checks of an Ed25519 sign-off", ">= 5000/s", many / 5000, "%.0f/s", many);
	measure(l, dir);
	if (n > 2 * USUAL)
		at_length(l, dir, n);
	ledger_close(l);
	need(dir_remove(dir, &err), &err);
	return 0;
}
