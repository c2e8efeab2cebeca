/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in a real PostgreSQL server that the test starts. */
#include "ledger/ledger.h"

#include "base/clock.h"
#include "ledger_fixture.h"
#include "pg_server.h"

static struct pg_server server;

static struct ledger *open_as(const char *machine, unsigned flags)
{
	AUTO_FREE char *dir = path_join(test_dir(), machine);
	struct ledger_conf conf = { .dir = dir,
				    .pg = server.where,
				    .flags = flags,
				    .origin = FIX_ORIGIN,
				    .by_id = machine,
				    .now_ms = FIX_T0 };
	struct err err = ERR_INIT;
	struct ledger *l = NULL;

	if (ledger_open(&conf, &l, &err) == -ERR_UNSUPPORTED)
		test_skip("%s", err.msg);
	CHECK_STR(err.msg, "");
	return l;
}

static char *verify_as(const char *machine)
{
	AUTO_FREE char *dir = path_join(test_dir(), machine);

	return fix_verify_with(
		&(struct ledger_verify_conf){ .path = dir, .pg = server.where, .all = true });
}

static void sql(const char *text, bool wanted)
{
	if (pg_sql(&server, text) != wanted)
		test_fails(__FILE__, __LINE__, "%s: %s", wanted ? "failed" : "was let through",
			   text);
}

static void everything_that_a_ledger_does(void)
{
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_new who = { .by_id = "me@x", .role = "human", .at_ms = FIX_T0 };
	static const char *const kinds[] = { "run.result", "import", NULL };
	struct ledger_ref a;
	struct err err = ERR_INIT;
	AUTO_FREE char *got = NULL, *data = NULL;
	char head[9];
	struct ledger *l;
	size_t n;

	pg_database(&server, "everything");
	l = open_as("one", LEDGER_CREATE);
	CHECK_OK(ledger_blob_put(l, "evid\0ence", 9, "text/plain", &b, &err), err);
	ledger_blob_release(&b);
	CHECK_OK(ledger_blob_put(l, "evid\0ence", 9, "text/plain", &b, &err), err);
	a = fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&b)));
	a = fix_append(l, "cost", fix_ref("about", &a));
	(void)snprintf(head, sizeof(head), "%.8s", a.hex);
	CHECK_OK(ledger_find(l, head, &e, &err), err);
	CHECK_INT(e.ref.seq, 2);
	ledger_entry_release(&e);
	CHECK_OK(ledger_last(l,
			     &(struct ledger_filter){
				     .kinds = kinds, .digest = b.digest, .rel = "file" },
			     &e, &err),
		 err);
	CHECK_INT(e.ref.seq, 1);
	CHECK_OK(ledger_blob_get(l, b.digest, 0, &data, &n, &err), err);
	CHECK(n == 9 && memcmp(data, "evid\0ence", 9) == 0);
	fix_checkpoint(l);
	got = verify_as("one");
	CHECK_STR(got, "");
	CHECK_OK(ledger_blob_drop(l, b.digest, "expired", "age", &who, &err), err);
	CHECK_INT(ledger_blob_get(l, b.digest, 0, &data, &n, &err), -ERR_NOT_FOUND);
	for (int i = 0; i < 600; i++)
		(void)fix_append(l, "cost", json_pack("{s:i}", "n", i));
	fix_checkpoint(l);
	ledger_close(l);
	free(STEAL(got));
	got = verify_as("one");
	CHECK_STR(got, "");
	l = open_as("one", LEDGER_READONLY);
	CHECK_OK(ledger_find(l, "#604", &e, &err) == -ERR_NOT_FOUND ? 0 : -1, err);
	ledger_close(l);
}

static void triggers_and_checks_guard_the_rows(void)
{
	struct ledger *l;
	AUTO_FREE char *got = NULL;

	pg_database(&server, "guards");
	l = open_as("one", LEDGER_CREATE);
	for (int i = 0; i < 5; i++)
		(void)fix_append(l, "cost", json_pack("{s:i}", "n", i));
	fix_checkpoint(l);
	ledger_close(l);
	sql("UPDATE twice.entry SET kind = 'x' WHERE seq = 1", false);
	sql("DELETE FROM twice.entry WHERE seq = 5", false);
	sql("TRUNCATE twice.entry CASCADE", false);
	sql("INSERT INTO twice.entry VALUES (9, 'cost', 1, sha256('a'), 'x')", false);
	got = verify_as("one");
	CHECK_STR(got, "");
	sql("ALTER TABLE twice.entry DISABLE TRIGGER entry_no_change;"
	    " UPDATE twice.entry SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), "
	    "'\"n\":2', '\"n\":7'),"
	    " 'UTF8') WHERE seq = 3",
	    true);
	free(STEAL(got));
	got = verify_as("one");
	CHECK_HAS(got, "INDEX_MISMATCH@3");
	CHECK_HAS(got, "PREV_MISMATCH@4");
	CHECK_HAS(got, "ROOT_MISMATCH@6");
	CHECK_HAS(got, "UNREADABLE"); /* the trigger is off */
	sql("UPDATE twice.entry SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), "
	    "'\"n\":7', '\"n\":2'),"
	    " 'UTF8') WHERE seq = 3; DELETE FROM twice.entry WHERE seq = 5; UPDATE twice.log SET "
	    "size = 5;"
	    " ALTER TABLE twice.entry ENABLE TRIGGER entry_no_change",
	    true);
	free(STEAL(got));
	got = verify_as("one");
	CHECK_HAS(got, "TRUNCATED@5");
	sql("DROP SCHEMA twice CASCADE", true);
	struct ledger_conf conf = {
		.pg = server.where, .flags = LEDGER_CREATE, .origin = FIX_ORIGIN, .by_id = "x"
	};
	AUTO_FREE char *dir = path_join(test_dir(), "one");
	struct err err = ERR_INIT;

	conf.dir = dir;
	CHECK_INT(ledger_open(&conf, &l, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "shorter than its checkpoint");
}

/* The role of a writer, as docs/ledger.md grants it: it can append and cannot do anything else. */
/* What is added waits for no answer of its own: more than can wait at once, and one that fails. */
static void many_at_once_are_all_there_or_none(void)
{
	enum { MANY = 700 };
	AUTO_FREE struct ledger_new *e = xcalloc(MANY, sizeof(*e));
	AUTO_JSON json_t *body = NULL;
	char digest[SHA256_HEX];
	struct err err = ERR_INIT;
	struct ledger *l;
	AUTO_FREE char *got = NULL;
	uint64_t size = 0;

	sha256_hex("x", 1, digest);
	body = json_pack("{s:s,s:i}", "stack", digest, "n", 1);
	pg_database(&server, "lots");
	l = open_as("one", LEDGER_CREATE);
	for (size_t i = 0; i < MANY; i++)
		e[i] = (struct ledger_new){ .kind = "cost",
					    .body = body,
					    .by_id = "me@x",
					    .role = "machine",
					    .at_ms = FIX_T0 };
	CHECK_OK(ledger_append_many(l, e, MANY, NULL, &err), err);
	/* The server refuses the 300th of the next ones. */
	sql("ALTER TABLE twice.entry ADD CONSTRAINT odd CHECK (seq <> 1000)", true);
	CHECK_INT(ledger_append_many(l, e, MANY, NULL, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "odd");
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, MANY + 1);
	sql("ALTER TABLE twice.entry DROP CONSTRAINT odd", true);
	err = ERR_INIT;
	CHECK_OK(ledger_append_many(l, e, MANY, NULL, &err), err);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 2 * MANY + 1);
	ledger_close(l);
	got = verify_as("one");
	CHECK_STR(got, "");
}

static void a_writer_s_role_is_enough_to_write(void)
{
	AUTO_FREE char *where = NULL, *dir = path_join(test_dir(), "two"), *got = NULL;
	struct ledger_conf conf = {
		.dir = dir, .origin = FIX_ORIGIN, .by_id = "two", .now_ms = FIX_T0
	};
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger *l;

	pg_database(&server, "role");
	l = open_as("one", LEDGER_CREATE);
	fix_checkpoint(l);
	ledger_close(l);
	sql("CREATE ROLE writer LOGIN; GRANT USAGE ON SCHEMA twice TO writer;"
	    " GRANT SELECT, INSERT ON twice.entry, twice.entry_ref, twice.signature, "
	    "twice.checkpoint,"
	    " twice.blob, twice.blob_data, twice.node TO writer; GRANT SELECT ON twice.log TO "
	    "writer;"
	    " GRANT UPDATE (size, head, frontier) ON twice.log TO writer;"
	    " GRANT UPDATE (note) ON twice.checkpoint TO writer; GRANT UPDATE (state) ON "
	    "twice.blob TO writer;"
	    " GRANT UPDATE (data), DELETE ON twice.blob_data TO writer",
	    true);
	where = xasprintf("host=%s user=writer dbname=role", server.dir);
	conf.pg = where;
	CHECK(mkdir(dir, 0755) == 0);
	CHECK_OK(ledger_open(&conf, &l, &err), err);
	CHECK_OK(ledger_blob_put(l, "x", 1, "a/b", &b, &err), err);
	(void)fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&b)));
	/* This machine has not the ledger's key: it keeps the newest head that was signed. */
	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
	CHECK_INT(cp.size, 2);
	CHECK_STR(cp.note, "");
	ledger_close(l);
	AUTO_FREE char *kept = path_join(dir, "checkpoint"), *text = NULL;

	CHECK_OK(file_read(kept, 10000, &text, NULL, &err), err);
	CHECK_HAS(text, FIX_ORIGIN "\n1\n");
	got = verify_as("two");
	CHECK_STR(got, "");
	sql("SET ROLE writer; UPDATE twice.entry SET kind = 'x'", false);
	sql("SET ROLE writer; ALTER TABLE twice.entry DISABLE TRIGGER ALL", false);
	sql("SET ROLE writer; UPDATE twice.log SET origin = 'x'", false);
}

enum { WRITERS = 4, EACH = 40 };

static int count(void *arg, const struct ledger_entry *e, struct err *err)
{
	uint64_t *n = arg;
	int64_t w = json_int_or(e->body, "writer", -1);

	(void)err;
	CHECK_INT(e->ref.seq, n[WRITERS]++);
	if (w >= 0 && w < WRITERS)
		CHECK_INT(json_int_or(e->body, "n", -1), n[w]++);
	return 0;
}

static void writers_on_many_machines_take_turns(void)
{
	pid_t pid[WRITERS + 1];
	uint64_t n[WRITERS + 1] = { 0 };
	AUTO_FREE char *got = NULL;
	struct err err = ERR_INIT;
	struct ledger *l;

	pg_database(&server, "many");
	/* All at once, from creation on; the last one is killed. */
	for (int w = 0; w <= WRITERS; w++) {
		AUTO_FREE char *machine = xasprintf("m%d", w);

		pid[w] = fork();
		if (pid[w] != 0)
			continue;
		l = open_as(machine, LEDGER_CREATE);
		for (int i = 0; i < EACH || w == WRITERS; i++)
			(void)fix_append(l, "cost", json_pack("{s:i,s:i}", "writer", w, "n", i));
		ledger_close(l);
		_exit(0);
	}
	sleep_ns(150 * NS_PER_MS);
	CHECK(kill(pid[WRITERS], SIGKILL) == 0);
	for (int w = 0; w <= WRITERS; w++)
		CHECK_INT(test_reap(pid[w]), w < WRITERS ? 0 : SIGKILL);
	l = open_as("m0", 0);
	CHECK_OK(ledger_each(l, &(struct ledger_filter){ 0 }, count, n, &err), err);
	for (int w = 0; w < WRITERS; w++)
		CHECK_INT(n[w], EACH);
	ledger_close(l);
	got = verify_as("m0");
	CHECK_STR(got, "");
}

static void a_connection_that_was_cut_is_made_again(void)
{
	struct ledger_new e = { .kind = "cost", .by_id = "x", .role = "machine", .at_ms = FIX_T0 };
	AUTO_JSON json_t *body = json_object();
	struct err err = ERR_INIT;
	struct ledger *l;
	uint64_t n;

	pg_database(&server, "cut");
	l = open_as("one", LEDGER_CREATE);
	sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
	    "'twice'",
	    true);
	e.body = body;
	CHECK_OK(ledger_append(l, &e, NULL, &err), err);
	CHECK_OK(ledger_size(l, &n, NULL, &err), err);
	CHECK_INT(n, 2);
	ledger_close(l);
}

static void a_ledger_moves_there_and_back_with_the_same_root(void)
{
	struct ledger *l = fix_open(), *pg;
	AUTO_FREE char *there = path_join(test_dir(), "there"),
		       *back = path_join(test_dir(), "back");
	AUTO_FREE char *got = NULL;
	struct ledger_conf to_pg = { .dir = there }, to_lite = { .dir = back };
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	uint8_t root[3][SHA256_LEN];
	struct err err = ERR_INIT;
	uint64_t n;

	pg_database(&server, "moves");
	to_pg.pg = server.where;
	CHECK_OK(ledger_blob_put(l, "kept", 4, "a/b", &b, &err), err);
	(void)fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&b)));
	for (int i = 0; i < 20; i++)
		(void)fix_append(l, "cost", json_object());
	fix_checkpoint(l);
	CHECK_OK(ledger_size(l, &n, root[0], &err), err);
	if (ledger_move(l, &to_pg, &err) == -ERR_UNSUPPORTED)
		test_skip("%s", err.msg);
	CHECK_STR(err.msg, "");
	ledger_close(l);
	got = verify_as("there");
	CHECK_STR(got, "");
	pg = open_as("there", 0);
	CHECK_OK(ledger_size(pg, &n, root[1], &err), err);
	CHECK_OK(ledger_move(pg, &to_lite, &err), err);
	ledger_close(pg);
	free(STEAL(got));
	got = fix_verify_with(&(struct ledger_verify_conf){ .path = back });
	CHECK_STR(got, "");
	CHECK_OK(ledger_open(&to_lite, &l, &err), err);
	CHECK_OK(ledger_size(l, &n, root[2], &err), err);
	ledger_close(l);
	CHECK_INT(n, 22);
	CHECK(memcmp(root[0], root[1], SHA256_LEN) == 0 &&
	      memcmp(root[0], root[2], SHA256_LEN) == 0);
}

static void an_address_that_leads_nowhere_is_an_error(void)
{
	AUTO_FREE char *dir = path_join(test_dir(), "x");
	struct ledger_conf conf = { .dir = dir,
				    .pg = "host=/nowhere/at/all dbname=x password=hush",
				    .flags = LEDGER_CREATE,
				    .origin = FIX_ORIGIN,
				    .by_id = "x" };
	struct err err = ERR_INIT;
	struct ledger *l = NULL;
	int rc = ledger_open(&conf, &l, &err);

	if (rc == -ERR_UNSUPPORTED)
		test_skip("%s", err.msg);
	CHECK_INT(rc, -ERR_IO);
	CHECK(!strstr(err.msg, "hush"));
}

int main(void)
{
	static const struct test tests[] = { TEST(everything_that_a_ledger_does),
					     TEST(triggers_and_checks_guard_the_rows),
					     TEST(many_at_once_are_all_there_or_none),
					     TEST(a_writer_s_role_is_enough_to_write),
					     TEST(writers_on_many_machines_take_turns),
					     TEST(a_connection_that_was_cut_is_made_again),
					     TEST(a_ledger_moves_there_and_back_with_the_same_root),
					     TEST(an_address_that_leads_nowhere_is_an_error) };
	return pg_main(&server, tests, ARRAY_SIZE(tests));
}
