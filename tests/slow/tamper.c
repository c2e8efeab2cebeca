/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that somebody with the file could do to a store of 50 entries, one at a time: each
 * byte of each entry, entries deleted, exchanged, repeated and put in at each place, each signature
 * on each other entry, the file at each earlier state, the log of SQLite cut at each page. Each is
 * found.
 */
#include "ledger_scene.h"

#include <sqlite3.h>

#ifndef STEP
#define STEP 1 /* bytes between two that are changed */
#endif
#define ENTRIES 50
#define EACH    (STEP > 1 ? 9 : 1)

static sqlite3 *db;

static void sql(const char *fmt, ...) PRINTF(1, 2);
static void sql(const char *fmt, ...)
{
	struct str s CLEANUP(str_release) = { 0 };
	char *why = NULL;
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	if (sqlite3_exec(db, str_text(&s), NULL, NULL, &why) != SQLITE_OK)
		test_fails(__FILE__, __LINE__, "%s: %s", str_text(&s), why);
}

static void signed_one(struct ledger *l, const char *key, const char *kind, const json_t *body)
{
	struct ledger_new n = { .kind = kind,
				.body = body,
				.by_id = "jane",
				.role = "human",
				.at_ms = SCENE_START + 100 };
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *sig = NULL;

	CHECK_OK(ledger_draft_make(l, &n, &d, &err), err);
	CHECK_OK(ssh_sign(key, LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	CHECK_OK(ledger_draft_append(l, &d, sig, NULL, &err), err);
}

/* A key, sign-offs, plain entries; a checkpoint at the end. Triggers are off: the file is his. */
static void make(void)
{
	static const char *const roles[] = { "approver", "admin", NULL };
	struct ledger *l = scene_open(scene_path("l"));
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };
	const char *key = scene_path("jane");
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(key, "jane", &k, &err), err);
	AUTO_JSON json_t *add = ledger_key_body(&k, "jane", roles, SCENE_START, 0);
	AUTO_JSON json_t *note = scene_json("{\"note\":\"fine\"}");

	signed_one(l, key, "key.add", add);
	for (int i = 2; i < ENTRIES; i++) {
		if (i % 10 == 5)
			signed_one(l, key, "signoff", note);
		else
			(void)scene_add(l, "cost", "{\"n\":%d}", i);
	}
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };

	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
	CHECK_INT(cp.size, ENTRIES);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
	CHECK(sqlite3_open(scene_path("l/ledger.db"), &db) == SQLITE_OK);
	sql("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;"
	    "DROP TRIGGER entry_no_update; DROP TRIGGER entry_no_delete;"
	    "DROP TRIGGER entry_in_order; CREATE TABLE kept AS SELECT * FROM entry;"
	    "CREATE TABLE kept_sig AS SELECT * FROM signature");
}

/* That the triggers are gone is found by itself: only what is found beyond that counts. */
static bool found(void)
{
	struct ledger_verify_conf c = { .path = scene_path("l"), .all = true, .skip_blobs = true };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;
	size_t n = 0;

	CHECK_OK(ledger_verify(&c, &r, &err), err);
	for (size_t i = 0; i < r.n; i++)
		n += r.v[i].severity == LEDGER_BROKEN && r.v[i].code != LEDGER_UNREADABLE;
	return n > 0;
}

static void whole_again(void)
{
	sql("DELETE FROM entry; INSERT INTO entry SELECT * FROM kept;"
	    "DELETE FROM signature; INSERT INTO signature SELECT * FROM kept_sig");
}

static void must(bool ok, const char *what, int a, int b)
{
	if (!ok)
		test_fails(__FILE__, __LINE__, "%s %d %d is not found", what, a, b);
	whole_again();
}

static int length_of(int seq)
{
	sqlite3_stmt *q;
	int n;

	CHECK(sqlite3_prepare_v2(db, "SELECT length(bytes) FROM kept WHERE seq = ?", -1, &q,
				 NULL) == SQLITE_OK);
	(void)sqlite3_bind_int(q, 1, seq);
	CHECK(sqlite3_step(q) == SQLITE_ROW);
	n = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return n;
}

static void each_byte_of_each_entry(void)
{
	size_t flips = 0;

	make();
	CHECK(!found());
	for (int seq = 0; seq < ENTRIES; seq++) {
		for (int at = seq % STEP; at < length_of(seq); at += STEP) {
			/* One bit of one byte, in the hexadecimal form that SQL can put
			 * together. */
			sql("UPDATE entry SET bytes = (SELECT CAST(CAST(substr(bytes, 1, %d) AS "
			    "BLOB) || "
			    "CAST(char((unicode(substr(CAST(bytes AS TEXT), %d + 1, 1)) | 4) - "
			    "(unicode(substr(CAST(bytes AS TEXT), %d + 1, 1)) & 4)) AS BLOB) || "
			    "CAST(substr(bytes, %d + 2) AS BLOB) AS BLOB) FROM kept WHERE seq = "
			    "%d) "
			    "WHERE seq = %d",
			    at, at, at, at, seq, seq);
			if (!found())
				test_fails(__FILE__, __LINE__, "byte %d of entry %d is not found",
					   at, seq);
			sql("UPDATE entry SET bytes = (SELECT bytes FROM kept WHERE seq = %d) "
			    "WHERE seq = %d",
			    seq, seq);
			flips++;
		}
	}
	CHECK(!found());
	printf("# %zu changed bytes of entries, every one found\n", flips);
	CHECK(flips >= ENTRIES);
	sqlite3_close(db);
}

static void each_entry_deleted_exchanged_repeated_or_put_in(void)
{
	size_t n = 0;

	make();
	for (int i = 0; i < ENTRIES; i++) {
		sql("DELETE FROM entry WHERE seq = %d", i);
		must(found(), "deleted", i, 0);
		sql("DELETE FROM entry WHERE seq = %d; UPDATE entry SET seq = seq - 1 WHERE seq > "
		    "%d",
		    i, i);
		must(found(), "cut out", i, 0);
		/* What follows makes room; the leaf of a copy has to differ, it is unique. */
		sql("DELETE FROM entry WHERE seq >= %d; INSERT INTO entry SELECT seq + 1, kind, "
		    "at_ms, "
		    "leaf, bytes FROM kept WHERE seq >= %d; INSERT INTO entry SELECT %d, kind, "
		    "at_ms, "
		    "randomblob(32), bytes FROM kept WHERE seq = %d",
		    i, i, i, i);
		must(found(), "repeated", i, 0);
		sql("DELETE FROM entry WHERE seq >= %d; INSERT INTO entry SELECT seq + 1, kind, "
		    "at_ms, "
		    "leaf, bytes FROM kept WHERE seq >= %d; INSERT INTO entry VALUES (%d, 'cost', "
		    "1, "
		    "randomblob(32), CAST('{}' AS BLOB))",
		    i, i, i);
		must(found(), "put in", i, 0);
		n += 4;
		for (int k = i + 1; k < ENTRIES; k += STEP) {
			sql("UPDATE entry SET (kind, at_ms, leaf, bytes) = (SELECT kind, at_ms, "
			    "randomblob(32), bytes FROM kept WHERE seq = %d) WHERE seq = %d;"
			    "UPDATE entry SET (kind, at_ms, leaf, bytes) = (SELECT kind, at_ms, "
			    "leaf, "
			    "bytes FROM kept WHERE seq = %d) WHERE seq = %d;"
			    "UPDATE entry SET leaf = (SELECT leaf FROM kept WHERE seq = %d) WHERE "
			    "seq "
			    "= %d",
			    k, i, i, k, k, i);
			must(found(), "exchanged", i, k);
			n++;
		}
	}
	CHECK(!found());
	printf("# %zu entries deleted, cut out, repeated, put in or exchanged, every one found\n",
	       n);
	sqlite3_close(db);
}

static void each_signature_on_each_other_entry(void)
{
	size_t n = 0;

	make();
	for (int from = 0; from < ENTRIES; from++)
		for (int to = from % EACH; to < ENTRIES; to += EACH) {
			bool is_signed = from == 1 || (from > 1 && from % 10 == 5);

			if (!is_signed || from == to)
				continue;
			sql("INSERT OR REPLACE INTO signature SELECT (SELECT leaf FROM kept WHERE "
			    "seq = "
			    "%d), scheme, signer, sig FROM kept_sig WHERE leaf = (SELECT leaf FROM "
			    "kept "
			    "WHERE seq = %d)",
			    to, from);
			if (!found())
				test_fails(__FILE__, __LINE__, "signature of %d on %d", from, to);
			sql("DELETE FROM signature; INSERT INTO signature SELECT * FROM kept_sig");
			n++;
		}
	for (int i = 1; i < ENTRIES; i++)
		if (i == 1 || i % 10 == 5) {
			sql("DELETE FROM signature WHERE leaf = (SELECT leaf FROM kept WHERE seq = "
			    "%d)",
			    i);
			if (!found())
				test_fails(__FILE__, __LINE__, "no signature on %d", i);
			sql("DELETE FROM signature; INSERT INTO signature SELECT * FROM kept_sig");
			n++;
		}
	printf("# %zu signatures moved or taken away, every one found\n", n);
	sqlite3_close(db);
}

static bool nothing_is_missing(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct err err = ERR_INIT;
	uint64_t n;

	CHECK_OK(ledger_size(l, &n, NULL, &err), err);
	ledger_close(l);
	return n == ENTRIES;
}

/* SQLite opens all of these without a word; the checkpoint beside tells. */
static void each_earlier_file_and_each_cut_of_its_log(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	AUTO_FREE char *wal = NULL, *file = NULL;
	struct err err = ERR_INIT;
	size_t n_wal, n_file, n = 0;

	for (int i = 1; i < ENTRIES; i++)
		(void)scene_add(l, "cost", "{\"n\":%d}", i);
	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
	/* While it is open: the log is still beside the file. */
	CHECK_OK(file_read(scene_path("l/ledger.db-wal"), 64 * MIB, &wal, &n_wal, &err), err);
	CHECK_OK(file_read(scene_path("l/ledger.db"), 64 * MIB, &file, &n_file, &err), err);
	CHECK(n_wal > 100000);
	ledger_close(l);
	for (size_t at = 0; at < n_wal; at += 8192 + 24) {
		const char *got;

		scene_put(scene_path("l/ledger.db"), file, n_file);
		scene_put(scene_path("l/ledger.db-wal"), wal, at ? at + 8 : 0);
		(void)unlink(scene_path("l/ledger.db-shm"));
		got = scene_verify(scene_path("l"));
		if (streq(got, "") && nothing_is_missing())
			break; /* only the copy of the checkpoint was behind it */
		if (!strstr(got, "TRUNCATED"))
			test_fails(__FILE__, __LINE__, "log cut at %zu: '%s'", at, got);
		err = ERR_INIT;
		CHECK_INT(scene_try_open(scene_path("l"), 0, &err), -ERR_BROKEN);
		CHECK_HAS(err.msg, "shorter than its checkpoint");
		n++;
	}
	(void)unlink(scene_path("l/ledger.db-wal"));
	(void)unlink(scene_path("l/ledger.db-shm"));
	(void)unlink(scene_path("l/ledger.db"));
	CHECK_HAS(scene_verify(scene_path("l")), "TRUNCATED");
	CHECK(n > 50);
	printf("# the log of SQLite cut at %zu pages, dropped, and the store gone: every one "
	       "found\n",
	       n);
}

TEST_MAIN(TEST(each_byte_of_each_entry), TEST(each_entry_deleted_exchanged_repeated_or_put_in),
	  TEST(each_signature_on_each_other_entry), TEST(each_earlier_file_and_each_cut_of_its_log))
