/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"

#include "ledger_fixture.h"

#include <sqlite3.h>

/* ---- a store ---- */

static char *db_path(void)
{
	AUTO_FREE char *dir = fix_dir();

	return path_join(dir, "ledger.db");
}

/* Ten entries of many kinds, a signed sign-off, a blob, a checkpoint; closed. */
static void make_store(void)
{
	static const char *const roles[] = { "admin", "approver", NULL };
	struct ledger *l = fix_open();
	struct ledger_draft d = { 0 };
	struct ledger_blob b = { 0 };
	struct ssh_key k = { 0 };
	AUTO_FREE char *key = path_join(test_dir(), "ann"), *sig = NULL, *sig2 = NULL;
	AUTO_JSON json_t *body = NULL, *rep = json_object(), *verdict = NULL;
	struct ledger_ref run, at, result;
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(key, "ann", &k, &err), err);
	body = ledger_key_body(&k, "ann@x", roles, FIX_T0, 0);
	CHECK_OK(ledger_draft_make(
			 l, &(struct ledger_new){ "key.add", body, "ann@x", "human", FIX_T0 + 1 },
			 &d, &err),
		 err);
	CHECK_OK(ssh_sign(key, LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	CHECK_OK(ledger_draft_append(l, &d, sig, NULL, &err), err);
	ledger_draft_release(&d);
	CHECK_OK(ledger_blob_put(l, "evidence", 8, "text/plain", &b, &err), err);
	run = fix_append(l, "run.intent", json_pack("{s:s}", "scope", "run"));
	at = fix_append(l, "run.intent",
			json_pack("{s:s,s:{s:s}}", "scope", "rep", "of", "digest", run.hex));
	json_put_str(rep, "scope", "rep");
	json_put(rep, "intent", json_pack("{s:s}", "digest", at.hex));
	json_put(rep, "log", ledger_blob_json(&b));
	result = fix_append(l, "run.result", json_incref(rep));
	(void)fix_append(l, "run.result",
			 json_pack("{s:s,s:{s:s}}", "scope", "run", "intent", "digest", run.hex));
	verdict = json_pack("{s:[{s:s}],s:{s:s}}", "reps", "digest", result.hex, "intent", "digest",
			    run.hex);
	at = fix_append(l, "verdict", json_incref(verdict));
	json_decref(body);
	body = fix_ref("verdict", &at);
	CHECK_OK(ledger_draft_make(l,
				   &(struct ledger_new){ "signoff", body, "ann@x", "human",
							 FIX_T0 + 9000000 },
				   &d, &err),
		 err);
	CHECK_OK(ssh_sign(key, LEDGER_NAMESPACE, d.bytes, d.n, &sig2, &err), err);
	CHECK_OK(ledger_draft_append(l, &d, sig2, NULL, &err), err);
	(void)fix_append(l, "cost", json_object());
	fix_checkpoint(l);
	ledger_close(l);
	ledger_draft_release(&d);
	ledger_blob_release(&b);
	ssh_key_release(&k);
}

static void exec_sql(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		test_fails(__FILE__, __LINE__, "%s: %s", sql, why);
}

/* The store by somebody who has the file: triggers gone first, and put back after. */
static void tamper(const char *sql, bool put_triggers_back)
{
	struct strs made CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *path = db_path();
	sqlite3_stmt *q;
	sqlite3 *db;

	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE type = 'trigger'", -1, &q,
				 NULL) == SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW)
		strs_add(&made, (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	CHECK_INT(made.n, 3);
	exec_sql(db, "DROP TRIGGER entry_no_update; DROP TRIGGER entry_no_delete; DROP TRIGGER "
		     "entry_in_order");
	exec_sql(db, sql);
	for (size_t i = 0; put_triggers_back && i < made.n; i++)
		exec_sql(db, made.v[i]);
	sqlite3_close(db);
}

static char *keep(void)
{
	AUTO_FREE char *dir = fix_dir(), *to = path_join(test_dir(), "kept");
	pid_t pid = fork();

	if (pid == 0) {
		execlp("cp", "cp", "-a", dir, to, (char *)NULL);
		_exit(127);
	}
	CHECK_INT(test_reap(pid), 0);
	return STEAL(to);
}

static void put_back(const char *kept)
{
	AUTO_FREE char *dir = fix_dir();
	pid_t pid;

	test_remove_dir(dir);
	pid = fork();
	if (pid == 0) {
		execlp("cp", "cp", "-a", kept, dir, (char *)NULL);
		_exit(127);
	}
	CHECK_INT(test_reap(pid), 0);
}

static void every_column_of_the_store_is_checked(void)
{
	static const char *const edits[][2] = {
		{ "UPDATE entry SET kind = 'cost' WHERE seq = 5", "INDEX_MISMATCH@5" },
		{ "UPDATE entry SET at_ms = at_ms + 1 WHERE seq = 5", "INDEX_MISMATCH@5" },
		{ "UPDATE entry SET leaf = zeroblob(32) WHERE seq = 5", "INDEX_MISMATCH@5" },
		{ "UPDATE entry SET bytes = CAST(replace(CAST(bytes AS "
		  "TEXT),'\"scope\":\"run\"','\"scope\":\"ruN\"') AS BLOB) WHERE seq = 2",
		  "INDEX_MISMATCH@2" },
		{ "UPDATE entry SET seq = 100 WHERE seq = 8", "INDEX_MISMATCH@100" },
		{ "DELETE FROM entry_ref WHERE seq = 6", "INDEX_MISMATCH@6" },
		{ "UPDATE entry_ref SET rel = 'x' WHERE seq = 6", "INDEX_MISMATCH@6" },
		{ "UPDATE entry_ref SET digest = zeroblob(32) WHERE seq = 5", "INDEX_MISMATCH@5" },
		{ "INSERT INTO entry_ref VALUES (8, 'x', zeroblob(32))", "INDEX_MISMATCH@8" },
		{ "PRAGMA foreign_keys=OFF; INSERT INTO entry_ref VALUES (99, 'x', zeroblob(32))",
		  "INDEX_MISMATCH@99" },
		{ "UPDATE log SET size = 8", "" },
		{ "UPDATE log SET head = zeroblob(32)", "INDEX_MISMATCH" },
		{ "UPDATE log SET frontier = zeroblob(64)", "INDEX_MISMATCH" },
		{ "UPDATE log SET origin = 'other'", "INDEX_MISMATCH" },
		{ "DELETE FROM log", "UNREADABLE" },
		{ "DELETE FROM entry WHERE seq = 8", "INDEX_MISMATCH@8" },
		{ "DELETE FROM entry WHERE seq = 4", "SEQ_GAP@4" },
		{ "DELETE FROM signature WHERE leaf = (SELECT leaf FROM entry WHERE seq = 7)",
		  "POLICY@7" },
		{ "UPDATE signature SET sig = CAST(replace(CAST(sig AS TEXT), 'A', 'B') AS BLOB)",
		  "BAD_SIGNATURE@1" },
		{ "UPDATE signature SET leaf = (SELECT leaf FROM entry WHERE seq = 8) WHERE leaf = "
		  "(SELECT leaf FROM entry WHERE seq = 7)",
		  "POLICY@7" },
		{ "INSERT INTO signature SELECT (SELECT leaf FROM entry WHERE seq = 8), scheme, "
		  "signer, sig "
		  "FROM signature WHERE leaf = (SELECT leaf FROM entry WHERE seq = 7)",
		  "BAD_SIGNATURE@8" },
		{ "UPDATE signature SET signer = 'SHA256:x' WHERE leaf = (SELECT leaf FROM entry "
		  "WHERE seq = 7)",
		  "BAD_SIGNATURE@7" },
		{ "INSERT INTO signature VALUES (zeroblob(32), 'sshsig', 'x', zeroblob(3))",
		  "BAD_SIGNATURE" },
		{ "UPDATE blob SET bytes = 9", "INDEX_MISMATCH" },
		{ "UPDATE blob SET state = 'withheld'", "INDEX_MISMATCH" },
		{ "UPDATE blob SET media_type = 'x/y'", "INDEX_MISMATCH" },
		{ "DELETE FROM blob", "INDEX_MISMATCH" },
		{ "INSERT INTO blob VALUES (zeroblob(32), 1, 'a/b', 'present')", "INDEX_MISMATCH" },
		{ "UPDATE checkpoint SET note = replace(note, '9', '8')", "INDEX_MISMATCH" },
		{ "PRAGMA user_version = 9", "error unsupported" },
		{ "CREATE TABLE extra (x)", "UNREADABLE" },
		{ "DROP INDEX entry_by_kind", "UNREADABLE" },
		{ "SELECT 1", "UNREADABLE" }, /* the triggers are gone */
	};
	AUTO_FREE char *kept = NULL, *dir = fix_dir();

	make_store();
	CHECK_INTACT();
	kept = keep();
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		AUTO_FREE char *got = NULL;

		put_back(kept);
		tamper(edits[i][0], !streq(edits[i][0], "SELECT 1"));
		got = fix_verify_with(&(struct ledger_verify_conf){ .path = dir, .all = true });
		printf("# %s\n", edits[i][0]);
		CHECK(*got);
		CHECK_HAS(got, edits[i][1]);
	}
}

static void triggers_stop_accidents(void)
{
	static const char *const edits[] = {
		"UPDATE entry SET kind = 'x' WHERE seq = 1",
		"DELETE FROM entry WHERE seq = 1",
		"INSERT INTO entry VALUES (50, 'cost', 1, zeroblob(32), zeroblob(1))",
		"INSERT OR REPLACE INTO entry VALUES (1, 'cost', 1, zeroblob(32), zeroblob(1))",
	};
	AUTO_FREE char *path = NULL;
	sqlite3 *db;

	make_store();
	path = db_path();
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		CHECK(sqlite3_exec(db, edits[i], NULL, NULL, NULL) == SQLITE_CONSTRAINT);
	sqlite3_close(db);
	CHECK_INTACT();
}

/* Each byte of each entry: where its bytes lie in the file. */
static void every_byte_of_every_entry_is_checked(void)
{
	AUTO_FREE char *path = NULL, *file = NULL;
	struct err err = ERR_INIT;
	size_t n, flips = 0;
	struct ledger *l;

	make_store();
	path = db_path();
	l = fix_open_with(LEDGER_READONLY, NULL);
	CHECK_OK(file_read(path, 10 * MIB, &file, &n, &err), err);
	for (uint64_t seq = 0; seq < 9; seq++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		char *at;

		CHECK_OK(ledger_get(l, seq, &e, &err), err);
		at = memmem(file, n, e.bytes, e.n);
		CHECK(at);
		for (size_t i = 0; i < e.n; i += seq == 2 ? 1 : 7) {
			AUTO_FREE char *got = NULL;

			at[i] ^= 2;
			fix_overwrite(path, file, n);
			at[i] ^= 2;
			got = fix_verify();
			if (!strstr(got, "@"))
				test_fails(__FILE__, __LINE__, "entry %d byte %zu: '%s'", (int)seq,
					   i, got);
			flips++;
		}
	}
	ledger_close(l);
	CHECK(flips > 500);
}

/* Any byte of the file: found, or every row is what it was. */
static char *all_rows(void)
{
	AUTO_FREE char *path = db_path();
	struct str s = { 0 };
	sqlite3_stmt *q;
	sqlite3 *db;

	CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(
		      db,
		      "SELECT seq || kind || at_ms || hex(leaf) || hex(bytes) FROM entry UNION ALL "
		      "SELECT seq || rel || hex(digest) FROM entry_ref UNION ALL "
		      "SELECT hex(leaf) || scheme || signer || hex(sig) FROM signature UNION ALL "
		      "SELECT origin || size || hex(head) || hex(frontier) FROM log UNION ALL "
		      "SELECT hex(digest) || bytes || media_type || state FROM blob UNION ALL "
		      "SELECT size || note FROM checkpoint",
		      -1, &q, NULL) == SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW)
		str_addf(&s, "%s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	sqlite3_close(db);
	return str_steal(&s);
}

static void any_byte_of_the_file_is_found_or_means_nothing(void)
{
	AUTO_FREE char *path = NULL, *file = NULL, *rows = NULL;
	struct err err = ERR_INIT;
	size_t n, found = 0, silent = 0;

	make_store();
	path = db_path();
	rows = all_rows();
	CHECK_OK(file_read(path, 10 * MIB, &file, &n, &err), err);
	for (size_t i = 0; i < n; i += i < 120 ? 1 : 397) {
		AUTO_FREE char *got = NULL, *again = NULL;

		file[i] ^= 0x41;
		fix_overwrite(path, file, n);
		file[i] ^= 0x41;
		got = fix_verify();
		if (*got) {
			found++;
			continue;
		}
		silent++;
		again = all_rows();
		if (!streq(again, rows))
			test_fails(__FILE__, __LINE__, "byte %zu changes rows and is not found", i);
	}
	printf("# %zu found, %zu in unused bytes\n", found, silent);
	CHECK(found > 20);
}

static void a_cut_file_is_found(void)
{
	AUTO_FREE char *path = NULL, *file = NULL;
	struct err err = ERR_INIT;
	size_t n;

	make_store();
	path = db_path();
	CHECK_OK(file_read(path, 10 * MIB, &file, &n, &err), err);
	for (size_t keep_n = 0; keep_n < n; keep_n += 4096) {
		AUTO_FREE char *got = NULL;

		fix_overwrite(path, file, keep_n);
		got = fix_verify();
		CHECK(*got);
	}
	memset(file, 'x', 100);
	fix_overwrite(path, file, n);
	AUTO_FREE char *got = fix_verify();

	CHECK_STR(got, "UNREADABLE");
}

/* ---- anchors ---- */

/* Who has the machine and the key can rewrite everything; only what lies elsewhere tells. */
static void a_rewrite_with_the_key_is_found_by_an_outside_anchor(void)
{
	AUTO_FREE char *dir = fix_dir(), *key = path_join(dir, "ledger.key"),
		       *cp = path_join(dir, "checkpoint");
	AUTO_FREE char *out = path_join(test_dir(), "outside"), *secret = NULL, *note = NULL,
		       *got = NULL;
	const char *anchors[] = { out, NULL };
	struct ledger_verify_conf conf = { .path = dir, .anchors = anchors };
	struct err err = ERR_INIT;
	struct ledger *l = fix_open();
	size_t n;

	(void)fix_append(l, "cost", json_pack("{s:i}", "n", 1));
	fix_checkpoint(l);
	ledger_close(l);
	CHECK_OK(file_read(key, 10000, &secret, &n, &err), err);
	CHECK_OK(file_read(cp, 10000, &note, NULL, &err), err);
	CHECK_OK(file_write(out, note, strlen(note), 0644, &err), err);
	got = fix_verify_with(&conf);
	CHECK_STR(got, "");
	test_remove_dir(dir);
	CHECK(mkdir(dir, 0755) == 0);
	CHECK_OK(file_write(key, secret, n, 0600, &err), err);
	l = fix_open();
	(void)fix_append(l, "cost", json_pack("{s:i}", "n", 2));
	fix_checkpoint(l);
	ledger_close(l);
	CHECK_INTACT();
	free(STEAL(got));
	got = fix_verify_with(&conf);
	CHECK_STR(got, "ROOT_MISMATCH@2");
	conf.all = true;
	free(STEAL(got));
	got = fix_verify_with(&conf);
	CHECK_HAS(got, "FORK@2");
}

static void anchors_are_listed_with_their_age(void)
{
	AUTO_FREE char *dir = fix_dir(), *cp = path_join(dir, "checkpoint"),
		       *out = path_join(test_dir(), "out");
	AUTO_FREE char *one = path_join(out, "a"), *note = NULL, *got = NULL;
	const char *anchors[] = { out, NULL };
	struct ledger_verify_conf conf = { .path = dir,
					   .anchor_max_age_ms = 86400000,
					   .now_ms = FIX_T0 + 86400000 * 3 };
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger *l = fix_open();

	(void)fix_append(l, "cost", json_object());
	fix_checkpoint(l);
	(void)fix_append(l, "cost", json_object());
	ledger_close(l);
	got = fix_verify_with(&conf);
	CHECK_STR(got, "ANCHOR_OLD"); /* none outside */
	CHECK(mkdir(out, 0755) == 0);
	CHECK_OK(file_read(cp, 10000, &note, NULL, &err), err);
	CHECK_OK(file_write(one, note, strlen(note), 0644, &err), err);
	conf.anchors = anchors;
	CHECK_OK(ledger_verify(&conf, &r, &err), err);
	CHECK_INT(ledger_report_worst(&r), LEDGER_MISSING);
	CHECK_HAS(r.v[r.n - 1].text, "the newest anchor");
	CHECK_INT(r.n_anchors, 2); /* outside and beside */
	for (size_t i = 0; i < 2; i++)
		CHECK(r.anchors[i].holds && r.anchors[i].beside == !streq(r.anchors[i].name, one));
	CHECK_INT(r.entries_after_anchor, 1);
	conf.now_ms = FIX_T0 + 86400000;
	free(STEAL(got));
	got = fix_verify_with(&conf);
	CHECK_STR(got, "");
}

static void only_pinned_keys_where_that_is_asked(void)
{
	AUTO_FREE char *dir = fix_dir(), *got = NULL;
	const char *vkeys[] = { "twice.example/test+00000000+AAAA", NULL };
	struct ledger_verify_conf conf = { .path = dir, .only_vkeys = true };
	struct ledger_report r = { 0 };
	struct err err = ERR_INIT;

	make_store();
	conf.all = true;
	got = fix_verify_with(&conf);
	CHECK_HAS(got, "ANCHOR_UNTRUSTED@9");
	conf.vkeys = vkeys;
	CHECK_INT(ledger_verify(&conf, &r, &err), -ERR_PARSE);
}

TEST_MAIN(TEST(every_column_of_the_store_is_checked), TEST(triggers_stop_accidents),
	  TEST(every_byte_of_every_entry_is_checked),
	  TEST(any_byte_of_the_file_is_found_or_means_nothing), TEST(a_cut_file_is_found),
	  TEST(a_rewrite_with_the_key_is_found_by_an_outside_anchor),
	  TEST(anchors_are_listed_with_their_age), TEST(only_pinned_keys_where_that_is_asked))
