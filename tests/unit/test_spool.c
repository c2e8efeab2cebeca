/* SPDX-License-Identifier: Apache-2.0 */
/* A PostgreSQL server that goes away and comes back: its socket is moved out of sight. */
#include "ledger_fixture.h"
#include "pg_server.h"

static struct pg_server server;

static struct ledger *open_spooling(const char *machine)
{
	AUTO_FREE char *dir = path_join(test_dir(), machine);
	struct ledger_conf conf = { .dir = dir,
				    .pg = server.where,
				    .flags = LEDGER_CREATE | LEDGER_SPOOL,
				    .origin = FIX_ORIGIN,
				    .by_id = "twice@test",
				    .now_ms = FIX_T0 };
	struct err err = ERR_INIT;
	struct ledger *l = NULL;
	int rc = ledger_open(&conf, &l, &err);

	if (rc == -ERR_UNSUPPORTED)
		test_skip("%s", err.msg);
	CHECK_OK(rc, err);
	return l;
}

/* Every connection is cut (but that which cuts), and no other can be made. */
static void away(bool gone)
{
	AUTO_FREE char *there = path_join(server.dir, ".s.PGSQL.5432"),
		       *hidden = path_join(server.dir, "hidden");

	if (gone)
		CHECK(pg_sql(&server,
			     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
			     "application_name = 'twice'"));
	CHECK_INT(gone ? rename(there, hidden) : rename(hidden, there), 0);
}

static char *verdict_of(const char *machine)
{
	AUTO_FREE char *dir = path_join(test_dir(), machine);

	return fix_verify_with(&(struct ledger_verify_conf){ .path = dir, .pg = server.where });
}

static int collect(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct str *s = arg;
	const char *about = json_str_or(json_object_get(e->body, "about"), "digest", "");

	(void)err;
	if (streq(e->kind, "cost"))
		str_addf(s, "%lld%s ", (long long)json_int_or(e->body, "n", -1), *about ? "+" : "");
	return 0;
}

static char *order(struct ledger *l)
{
	struct str s = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_each(l, &(struct ledger_filter){ 0 }, collect, &s, &err), err);
	return str_steal(&s);
}

static struct ledger_ref plain(struct ledger *l, int n)
{
	return fix_append(l, "cost", json_pack("{s:i}", "n", n));
}

static struct ledger_ref about(struct ledger *l, int n, const struct ledger_ref *r)
{
	return fix_append(l, "cost", json_pack("{s:i,s:{s:s}}", "n", n, "about", "digest", r->hex));
}

static void what_waits_lands_in_order_and_once(void)
{
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *dir = path_join(test_dir(), "one"), *got = NULL, *bytes = NULL, *how = NULL;
	struct ledger_ref one, two, three;
	struct err err = ERR_INIT;
	struct ledger *l;
	size_t left, n;

	pg_database(&server, "spool");
	l = open_spooling("one");
	one = plain(l, 1);
	away(true);
	two = about(l, 2, &one);
	CHECK(two.seq == UINT64_MAX);
	CHECK(ledger_spooled(dir));
	CHECK_OK(ledger_blob_put(l, "evidence", 8, "text/plain", &b, &err), err);
	/* It can be read while it waits. */
	CHECK_OK(ledger_blob_get(l, b.digest, 100, &bytes, &n, &err), err);
	CHECK_STR(bytes, "evidence");
	(void)fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&b)));
	three = about(l, 3, &two);
	CHECK_OK(ledger_land(l, &left, &err), err);
	CHECK_INT(left, 3);
	away(false);
	CHECK_OK(ledger_land(l, &left, &err), err);
	CHECK_INT(left, 0);
	CHECK(!ledger_spooled(dir));
	/* Ids of what waited are leaves now, and still good in what comes after. */
	ledger_landed_hex(l, three.hex);
	CHECK_OK(ledger_find(l, three.hex, &e, &err), err);
	ledger_landed_hex(l, two.hex);
	CHECK_STR(json_str_or(json_object_get(e.body, "about"), "digest", ""), two.hex);
	(void)about(l, 4, &three);
	got = order(l);
	CHECK_STR(got, "1 2+ 3+ 4+ ");
	fix_checkpoint(l);
	ledger_close(l);
	how = verdict_of("one");
	CHECK_STR(how, "");
}

static void the_next_append_brings_what_waits_along(void)
{
	AUTO_FREE char *got = NULL, *how = NULL;
	struct ledger_ref one, two;
	struct ledger *l;

	pg_database(&server, "along");
	l = open_spooling("one");
	one = plain(l, 1);
	away(true);
	two = about(l, 2, &one);
	away(false);
	ledger_close(l);
	/* Another process, which knows only the id. */
	l = open_spooling("one");
	(void)about(l, 3, &two);
	got = order(l);
	CHECK_STR(got, "1 2+ 3+ ");
	ledger_close(l);
	how = verdict_of("one");
	CHECK_STR(how, "");
}

/* Killed between the commit and the note of it, and a commit whose answer was lost: the entry is
 * there and waits as well. */
static void what_is_there_already_does_not_land_again(void)
{
	AUTO_FREE char *dir = path_join(test_dir(), "one"), *spool = path_join(dir, "spool.jsonl"),
		       *map = path_join(dir, "spool.map"), *text = NULL, *got = NULL;
	struct err err = ERR_INIT;
	struct ledger *l;
	size_t left, n;

	pg_database(&server, "twice_there");
	l = open_spooling("one");
	away(true);
	(void)plain(l, 1);
	(void)plain(l, 2);
	CHECK_OK(file_read(spool, MIB, &text, &n, &err), err);
	away(false);
	CHECK_OK(ledger_land(l, &left, &err), err);
	CHECK_INT(left, 0);
	CHECK_OK(file_write(spool, text, n, 0600, &err), err);
	CHECK_INT(unlink(map), 0);
	CHECK_OK(ledger_land(l, &left, &err), err);
	CHECK_INT(left, 0);
	got = order(l);
	CHECK_STR(got, "1 2 ");
	ledger_close(l);
}

static void a_line_that_was_not_finished_was_not_done(void)
{
	AUTO_FREE char *dir = path_join(test_dir(), "one"), *spool = path_join(dir, "spool.jsonl"),
		       *text = NULL, *got = NULL;
	struct err err = ERR_INIT;
	struct ledger *l;
	size_t left, n;

	pg_database(&server, "unfinished");
	l = open_spooling("one");
	away(true);
	(void)plain(l, 1);
	(void)plain(l, 2);
	CHECK_OK(file_read(spool, MIB, &text, &n, &err), err);
	CHECK_OK(file_write(spool, text, n - 9, 0600, &err), err);
	(void)plain(l, 3);
	away(false);
	CHECK_OK(ledger_land(l, &left, &err), err);
	got = order(l);
	CHECK_STR(got, "1 3 ");
	ledger_close(l);
}

int main(void)
{
	static const struct test tests[] = { TEST(what_waits_lands_in_order_and_once),
					     TEST(the_next_append_brings_what_waits_along),
					     TEST(what_is_there_already_does_not_land_again),
					     TEST(a_line_that_was_not_finished_was_not_done) };
	return pg_main(&server, tests, ARRAY_SIZE(tests));
}
