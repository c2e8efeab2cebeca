/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/store.h"
#include "ledger_scene.h"

/* A statement that the store itself must refuse. */
static void refused(const char *sql)
{
	sqlite3 *db = NULL;
	char path[600];

	snprintf(path, sizeof(path), "%s/ledger.db", scene_path("l"));
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		test_fails(__FILE__, __LINE__, "done: %s", sql);
	sqlite3_close(db);
}

static void triggers_stop_accidents(void)
{
	struct ledger *l = scene_open(scene_path("l"));

	scene_add(l, "cost", "{}");
	ledger_close(l);
	refused("UPDATE entry SET kind = 'x' WHERE seq = 1");
	refused("DELETE FROM entry WHERE seq = 1");
	refused("INSERT INTO entry VALUES (5, 'cost', 0, zeroblob(32), x'00')");
	refused("INSERT INTO entry VALUES (1, 'cost', 0, zeroblob(32), x'00')");
	refused("INSERT INTO entry VALUES ('a', 'cost', 0, zeroblob(32), x'00')");
	refused("INSERT INTO log VALUES (2, 'a', 0, zeroblob(32), x'')");
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void the_store_flushes_before_it_says_done(void)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;

	ledger_close(scene_open(scene_path("l")));
	CHECK_INT(sqlite3_open(scene_path("l/ledger.db"), &db), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &q, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_step(q), SQLITE_ROW);
	CHECK_STR((const char *)sqlite3_column_text(q, 0), "wal");
	sqlite3_finalize(q);
	sqlite3_close(db);
}

static void other_databases_are_refused_by_name(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(mkdir(scene_path("l"), 0700), 0);
	scene_sql(scene_path("l"), "CREATE TABLE t (x)");
	CHECK_INT(scene_try_open(scene_path("l"), LEDGER_CREATE, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "is not a store of a ledger");
	ledger_close(scene_open(scene_path("m")));
	scene_sql(scene_path("m"), "PRAGMA user_version = 4");
	err = ERR_INIT;
	CHECK_INT(scene_try_open(scene_path("m"), 0, &err), -ERR_UNSUPPORTED);
	CHECK_HAS(err.msg, "of version 4");
}

static void no_database_at_all_is_broken(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(mkdir(scene_path("l"), 0700), 0);
	CHECK_OK(file_write(scene_path("l/ledger.db"),
			    "this is no database, it is a text of some length", 48, 0644, &err),
		 err);
	CHECK_INT(scene_try_open(scene_path("l"), 0, &err), -ERR_BROKEN);
	CHECK_STR(scene_verify(scene_path("l")), "UNREADABLE");
}

static void a_reader_needs_no_right_to_write(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	uint64_t size = 0;
	struct err err = ERR_INIT;

	scene_add(l, "cost", "{}");
	ledger_close(l);
	CHECK_INT(chmod(scene_path("l/ledger.db"), 0444), 0);
	CHECK_INT(chmod(scene_path("l"), 0555), 0);
	l = scene_open_as(scene_path("l"), LEDGER_READONLY, NULL);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 2);
	ledger_close(l);
	CHECK_INT(chmod(scene_path("l"), 0755), 0);
}

static void a_path_with_odd_characters_is_opened_as_it_is(void)
{
	struct ledger *l = scene_open(scene_path("a?b#c%20d"));

	scene_add(l, "cost", "{}");
	ledger_close(l);
	CHECK(file_exists(scene_path("a?b#c%20d/ledger.db")));
	CHECK_STR(scene_verify(scene_path("a?b#c%20d")), "");
}

static int count(void *arg, const struct ledger_entry *e, struct err *err)
{
	(void)e, (void)err;
	++*(size_t *)arg;
	return 0;
}

static size_t that_name(struct ledger *l, const char *digest, const char *rel, bool newest)
{
	struct ledger_filter f = { .digest = digest, .rel = rel, .newest_first = newest };
	struct err err = ERR_INIT;
	size_t n = 0;

	CHECK_OK(ledger_each(l, &f, count, &n, &err), err);
	return n;
}

/* 600 entries, two runs of 256 and a rest: hashes are found in each. */
static void find_by_hash(struct ledger *l, size_t times)
{
	static const uint64_t at[] = { 0, 1, 255, 256, 257, 511, 512, 599, 600 };
	struct err err = ERR_INIT;
	char digest[SHA256_HEX];
	unsigned other = 7;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 },
				      f CLEANUP(ledger_entry_release) = { 0 };
		char begin[13];

		CHECK_OK(ledger_get(l, at[i], &e, &err), err);
		memcpy(begin, e.ref.hex, 12);
		begin[12] = '\0';
		CHECK_OK(ledger_find(l, begin, &f, &err), err);
		CHECK_INT(f.ref.seq, at[i]);
		CHECK_OK(ledger_find(l, e.ref.hex, (ledger_entry_release(&f), &f), &err), err);
		CHECK_INT(f.ref.seq, at[i]);
	}
	sha256_hex("stack", 5, digest);
	CHECK_INT(that_name(l, digest, NULL, false), 600 * times);
	CHECK_INT(that_name(l, digest, "stack", true), 600 * times);
	CHECK_INT(that_name(l, digest, "other", true), 0);
	for (unsigned i = 0; i < 600; i += 97) {
		sha256_hex(&i, sizeof(i), digest);
		CHECK_INT(that_name(l, digest, NULL, true), times);
	}
	sha256_hex(&other, 1, digest);
	CHECK_INT(that_name(l, digest, NULL, true), 0);
}

static void fill(struct ledger *l)
{
	char digest[SHA256_HEX], stack[SHA256_HEX];

	sha256_hex("stack", 5, stack);
	for (unsigned i = 0; i < 600; i++) {
		sha256_hex(&i, sizeof(i), digest);
		scene_add(l, "cost", "{\"it\":\"%s\",\"n\":%u,\"stack\":\"%s\"}", digest, i, stack);
	}
}

static void entries_are_found_by_their_hashes(void)
{
	struct ledger *l = scene_open(scene_path("l"));

	fill(l);
	find_by_hash(l, 1);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

/* Read and written as they are. */
static void stores_of_earlier_programs_go_on(void)
{
	for (int version = 1; version <= 2; version++) {
		const char *dir = scene_path(version == 1 ? "one" : "two");
		struct ledger *l = scene_open(dir);
		struct err err = ERR_INIT;
		uint64_t size = 0;

		fill(l);
		ledger_close(l);
		scene_older(dir, version);
		CHECK_STR(scene_verify(dir), "");
		l = scene_open(dir);
		find_by_hash(l, 1);
		fill(l);
		find_by_hash(l, 2);
		CHECK_OK(ledger_size(l, &size, NULL, &err), err);
		CHECK_INT(size, 1201);
		ledger_close(l);
		CHECK_STR(scene_verify(dir), "");
		scene_sql(dir, "DROP INDEX entry_ref_by_digest; CREATE INDEX entry_ref_by_digest"
			       " ON entry_ref (seq >> 8, digest)");
		CHECK_HAS(scene_verify(dir), "UNREADABLE"); /* not what that version made */
	}
}

TEST_MAIN(TEST(entries_are_found_by_their_hashes), TEST(stores_of_earlier_programs_go_on),
	  TEST(triggers_stop_accidents), TEST(the_store_flushes_before_it_says_done),
	  TEST(other_databases_are_refused_by_name), TEST(no_database_at_all_is_broken),
	  TEST(a_reader_needs_no_right_to_write),
	  TEST(a_path_with_odd_characters_is_opened_as_it_is))
