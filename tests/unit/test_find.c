/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_scene.h"

#define D "1111111111111111111111111111111111111111111111111111111111111111"

static struct ledger *filled(int n)
{
	struct ledger *l = scene_open(scene_path("l"));

	for (int i = 1; i < n; i++)
		scene_add(l, i % 3 ? "cost" : "capacity",
			  i == 4 ? "{\"stack_digest\":\"" D "\"}" : "{\"n\":%d}", i);
	return l;
}

static int note_seq(void *arg, const struct ledger_entry *e, struct err *err)
{
	(void)err;
	str_addf(arg, "%llu ", (unsigned long long)e->ref.seq);
	return 0;
}

static void lists(struct ledger *l, const struct ledger_filter *f, const char *want)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_each(l, f, note_seq, &s, &err), err);
	CHECK_STR(str_text(&s), want);
}

static void filters_pick_and_order(void)
{
	static const char *const capacity[] = { "capacity", NULL }, *const both[] = { "capacity",
										      "cost",
										      NULL };
	struct ledger *l = filled(9);

	lists(l, &(struct ledger_filter){ 0 }, "0 1 2 3 4 5 6 7 8 ");
	lists(l, &(struct ledger_filter){ .newest_first = true, .limit = 3 }, "8 7 6 ");
	lists(l, &(struct ledger_filter){ .kinds = capacity }, "3 6 ");
	lists(l, &(struct ledger_filter){ .kinds = both, .from = 3, .to = 5 }, "3 4 ");
	lists(l, &(struct ledger_filter){ .digest = D }, "4 ");
	lists(l, &(struct ledger_filter){ .digest = D, .rel = "stack_digest" }, "4 ");
	lists(l, &(struct ledger_filter){ .digest = D, .rel = "other" }, "");
	lists(l,
	      &(struct ledger_filter){ .since_ms = SCENE_START + 6000,
				       .until_ms = SCENE_START + 8000 },
	      "6 7 ");
	lists(l, &(struct ledger_filter){ .by = SCENE_BY, .limit = 2 }, "0 1 ");
	lists(l, &(struct ledger_filter){ .by = "nobody" }, "");
	ledger_close(l);
}

/* More than one page, in both directions and with limits at their edges. */
static void long_logs_come_in_pages(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	static const uint64_t limits[] = { 0, 255, 256, 257, 512, 600 };
	json_t *body = json_object();
	struct ledger_new n[600];
	struct err err = ERR_INIT;

	for (size_t i = 0; i < 600; i++)
		n[i] = (struct ledger_new){ .kind = "cost",
					    .body = body,
					    .by_id = SCENE_BY,
					    .role = "machine",
					    .at_ms = SCENE_START };
	CHECK_OK(ledger_append_many(l, n, 600, NULL, &err), err);
	for (int back = 0; back < 2; back++)
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
			struct str got CLEANUP(str_release) = { 0 },
				       want CLEANUP(str_release) = { 0 };
			struct ledger_filter f = { .newest_first = back, .limit = limits[i] };

			CHECK_OK(ledger_each(l, &f, note_seq, &got, &err), err);
			for (unsigned k = 0; k < (limits[i] ? limits[i] : 601); k++)
				str_addf(&want, "%u ", back ? 600 - k : k);
			CHECK_STR(str_text(&got), str_text(&want));
		}
	json_decref(body);
	ledger_close(l);
}

static int append_one(void *arg, const struct ledger_entry *e, struct err *err)
{
	(void)err;
	if (e->ref.seq < 3)
		scene_add(arg, "cost", "{\"from\":%d}", (int)e->ref.seq);
	return 0;
}

static void a_walk_may_append(void)
{
	struct ledger *l = filled(3);
	struct err err = ERR_INIT;
	uint64_t size;

	CHECK_OK(ledger_each(l, &(struct ledger_filter){ 0 }, append_one, l, &err), err);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 6);
	ledger_close(l);
}

static int refuse(void *arg, const struct ledger_entry *e, struct err *err)
{
	(*(int *)arg)++;
	return e->ref.seq == 1 ? bail(err, ERR_LIMIT, "enough") : 0;
}

static void an_error_of_the_callee_ends_the_walk(void)
{
	struct ledger *l = filled(5);
	struct err err = ERR_INIT;
	int calls = 0;

	CHECK_INT(ledger_each(l, &(struct ledger_filter){ 0 }, refuse, &calls, &err), -ERR_LIMIT);
	CHECK_INT(calls, 2);
	ledger_close(l);
}

static void names_find_entries(void)
{
	struct ledger *l = filled(12);
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 },
			      f CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;
	char hex[SHA256_HEX], part[17];

	CHECK_OK(ledger_find(l, "11", &e, &err), err);
	CHECK_INT(e.ref.seq, 11);
	memcpy(hex, e.ref.hex, SHA256_HEX);
	ledger_entry_release(&e);
	CHECK_OK(ledger_find(l, "#11", &e, &err), err);
	CHECK_OK(ledger_find(l, hex, &f, &err), err);
	CHECK_INT(f.ref.seq, 11);
	ledger_entry_release(&f);
	snprintf(part, sizeof(part), "%.16s", hex);
	CHECK_OK(ledger_find(l, part, &f, &err), err);
	CHECK_INT(f.ref.seq, 11);
	CHECK_INT(ledger_find(l, "#99", &e, &err), -ERR_NOT_FOUND);
	CHECK_INT(ledger_find(l, "abc", &e, &err), -ERR_PARSE);
	CHECK_INT(ledger_find(l, "verdict", &e, &err), -ERR_PARSE);
	CHECK_INT(ledger_find(l, "#-1", &e, &err), -ERR_PARSE);
	CHECK_INT(ledger_find(l, "ffffffffffffffff", &e, &err), -ERR_NOT_FOUND);
	ledger_close(l);
}

static void a_prefix_of_several_entries_is_refused(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;

	/* 16 bits of hash: two of 600 entries agree nearly surely; found by looking. */
	for (int i = 1; i < 1200; i++) {
		struct ledger_ref r = scene_add(l, "cost", "{\"n\":%d}", i);
		char part[5];
		int rc;

		snprintf(part, sizeof(part), "%.4s", r.hex);
		if (strspn(part, "0123456789") == 4)
			continue;
		err = ERR_INIT;
		rc = ledger_find(l, part, &e, &err);
		ledger_entry_release(&e);
		if (rc == -ERR_PARSE) {
			CHECK_HAS(err.msg, "more than one");
			ledger_close(l);
			return;
		}
		CHECK_INT(rc, 0);
	}
	test_fails(__FILE__, __LINE__, "no two entries share 16 bits");
}

static void an_altered_row_is_never_handed_out(void)
{
	struct ledger *l = filled(5);
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;

	ledger_close(l);
	scene_sql(scene_path("l"),
		  "DROP TRIGGER entry_no_update; UPDATE entry SET bytes ="
		  " CAST(replace(bytes, '\"n\":2', '\"n\":3') AS BLOB) WHERE seq = 2;"
		  "CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN"
		  " SELECT RAISE(ABORT, 'an entry is never changed'); END");
	l = scene_open(scene_path("l"));
	CHECK_INT(ledger_get(l, 2, &e, &err), -ERR_BROKEN);
	err = ERR_INIT;
	CHECK_OK(ledger_get(l, 3, &e, &err), err);
	ledger_close(l);
}

static void the_newest_that_fits_is_the_last(void)
{
	static const char *const capacity[] = { "capacity", NULL }, *const none[] = { "drill",
										      NULL };
	struct ledger *l = filled(9);
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_last(l, &(struct ledger_filter){ .kinds = capacity }, &e, &err), err);
	CHECK_INT(e.ref.seq, 6);
	CHECK_INT(ledger_last(l, &(struct ledger_filter){ .kinds = none }, &e, &err),
		  -ERR_NOT_FOUND);
	ledger_close(l);
}

TEST_MAIN(TEST(filters_pick_and_order), TEST(long_logs_come_in_pages), TEST(a_walk_may_append),
	  TEST(an_error_of_the_callee_ends_the_walk), TEST(names_find_entries),
	  TEST(a_prefix_of_several_entries_is_refused), TEST(an_altered_row_is_never_handed_out),
	  TEST(the_newest_that_fits_is_the_last))
