/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_scene.h"

#include <fcntl.h>

static void a_new_ledger_begins_with_its_genesis(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;
	uint64_t size = 0;
	struct stat st;

	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 1);
	CHECK_OK(ledger_get(l, 0, &e, &err), err);
	CHECK_STR(e.kind, "ledger.genesis");
	CHECK_STR(json_str_or(e.body, "ledger_key", ""), ledger_vkey(l));
	CHECK_STR(ledger_origin(l), SCENE_ORIGIN);
	CHECK(stat(scene_path("l/ledger.key"), &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(file_exists(scene_path("l/checkpoint")));
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void what_was_appended_is_there_when_it_is_opened_again(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_ref a = scene_add(l, "stack.capture", "{\"n\":1}"), b;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;
	char *vkey = xstrdup(ledger_vkey(l));

	ledger_close(l); /* without a checkpoint, as a crash would */
	l = scene_open(scene_path("l"));
	CHECK_STR(ledger_vkey(l), vkey);
	CHECK_OK(ledger_find(l, a.hex, &e, &err), err);
	CHECK_INT(e.ref.seq, 1);
	b = scene_add(l, "stack.capture", "{\"n\":2}");
	CHECK_INT(b.seq, 2);
	ledger_close(l);
	free(vkey);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void without_create_a_missing_ledger_is_not_found(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(scene_try_open(scene_path("none"), 0, &err), -ERR_NOT_FOUND);
	CHECK(!file_exists(scene_path("none")));
	CHECK(!ledger_exists(scene_path("none")));
}

static void a_store_behind_its_checkpoint_is_refused(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct err err = ERR_INIT;

	ledger_close(l);
	scene_copy(scene_path("l/ledger.db"), scene_path("old.db"));
	l = scene_open(scene_path("l"));
	scene_add(l, "stack.capture", "{\"n\":1}");
	scene_checkpoint(l);
	ledger_close(l);
	scene_copy(scene_path("old.db"), scene_path("l/ledger.db"));
	CHECK_INT(scene_try_open(scene_path("l"), 0, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "ledger is shorter than its checkpoint");
	err = ERR_INIT;
	CHECK_INT(scene_try_open(scene_path("l"), LEDGER_CREATE, &err), -ERR_BROKEN);
	CHECK_STR(scene_verify(scene_path("l")), "TRUNCATED@1");
}

static void a_store_that_is_gone_is_not_made_anew(void)
{
	struct err err = ERR_INIT;

	ledger_close(scene_open(scene_path("l")));
	CHECK_INT(unlink(scene_path("l/ledger.db")), 0);
	CHECK_INT(scene_try_open(scene_path("l"), LEDGER_CREATE, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "ledger is shorter than its checkpoint");
	/* Nothing was made in its place that would pass the next time. */
	err = ERR_INIT;
	CHECK_INT(scene_try_open(scene_path("l"), LEDGER_CREATE, &err), -ERR_BROKEN);
	CHECK_STR(scene_verify(scene_path("l")), "TRUNCATED@0");
	CHECK_INT(close(open(scene_path("l/ledger.db"), O_CREAT | O_WRONLY, 0644)), 0);
	CHECK_STR(scene_verify(scene_path("l")), "TRUNCATED@0");
	/* Nothing says how much there was. */
	CHECK_INT(unlink(scene_path("l/checkpoint")), 0);
	CHECK_STR(scene_verify(scene_path("l")), "UNREADABLE");
}

static void other_entries_below_the_checkpoint_are_refused(void)
{
	struct ledger *l = scene_open(scene_path("a"));
	struct err err = ERR_INIT;

	scene_add(l, "stack.capture", "{\"n\":1}");
	scene_checkpoint(l);
	ledger_close(l);
	scene_copy(scene_path("a/checkpoint"), scene_path("checkpoint"));
	l = scene_open(scene_path("b"));
	scene_add(l, "stack.capture", "{\"n\":2}");
	scene_add(l, "stack.capture", "{\"n\":3}");
	ledger_close(l);
	scene_copy(scene_path("checkpoint"), scene_path("b/checkpoint"));
	CHECK_INT(scene_try_open(scene_path("b"), 0, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "not the one of its checkpoint");
}

static void a_key_that_others_can_read_is_refused(void)
{
	struct err err = ERR_INIT;

	ledger_close(scene_open(scene_path("l")));
	CHECK_INT(chmod(scene_path("l/ledger.key"), 0644), 0);
	CHECK_INT(scene_try_open(scene_path("l"), 0, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "can be read by others");
	err = ERR_INIT; /* who only reads needs no key */
	CHECK_INT(scene_try_open(scene_path("l"), LEDGER_READONLY, &err), 0);
}

static void a_reader_writes_nothing(void)
{
	struct ledger *l = scene_open(scene_path("l")), *r;
	struct ledger_blob b = { 0 };
	struct ledger_checkpoint cp;
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	json_t *body = json_object();
	struct ledger_new n = { .kind = "cost", .body = body, .by_id = "x", .role = "machine" };

	r = scene_open_as(scene_path("l"), LEDGER_READONLY, NULL);
	CHECK_STR(ledger_vkey(r), ledger_vkey(l));
	CHECK_INT(ledger_append(r, &n, &ref, &err), -ERR_USAGE);
	CHECK_INT(ledger_blob_put(r, "x", 1, "text/plain", &b, &err), -ERR_USAGE);
	CHECK_INT(ledger_checkpoint(r, &cp, &err), -ERR_USAGE);
	ledger_close(r);
	ledger_close(l);
	json_decref(body);
}

static void many_are_appended_wholly_or_not_at_all(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	json_t *good = json_object(), *bad = scene_json("{\"n\":1.5}");
	struct ledger_new n[3] = {
		{ .kind = "cost", .body = good, .by_id = SCENE_BY, .role = "machine" },
		{ .kind = "cost", .body = bad, .by_id = SCENE_BY, .role = "machine" },
		{ .kind = "cost", .body = good, .by_id = SCENE_BY, .role = "machine" },
	};
	struct ledger_ref refs[3];
	struct err err = ERR_INIT;
	uint64_t size;

	CHECK_INT(ledger_append_many(l, n, 3, refs, &err), -ERR_PARSE);
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 1);
	n[1].body = good;
	CHECK_OK(ledger_append_many(l, n, 3, refs, &err), err);
	CHECK_INT(refs[2].seq, 3);
	ledger_close(l);
	json_decref(good);
	json_decref(bad);
}

static void an_entry_that_is_too_large_is_refused(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct str s CLEANUP(str_release) = { 0 };
	json_t *body = json_object();
	struct ledger_new n = {
		.kind = "cost", .body = body, .by_id = SCENE_BY, .role = "machine"
	};
	struct ledger_ref ref;
	struct err err = ERR_INIT;

	str_pad(&s, 'x', 65535);
	json_put_str(body, "text", str_text(&s));
	CHECK_INT(ledger_append(l, &n, &ref, &err), -ERR_LIMIT);
	CHECK_HAS(err.hint, "blob");
	ledger_close(l);
	json_decref(body);
}

static void a_blob_has_to_be_stored_before_its_entry(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	json_t *body =
		scene_json("{\"log\":{\"bytes\":1,\"digest\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"media_type\":\"text/plain\"}}");
	struct ledger_new n = {
		.kind = "cost", .body = body, .by_id = SCENE_BY, .role = "machine"
	};
	struct ledger_ref ref;
	struct err err = ERR_INIT;

	CHECK_INT(ledger_append(l, &n, &ref, &err), -ERR_NOT_FOUND);
	CHECK_HAS(err.msg, "was not stored before its entry");
	ledger_close(l);
	json_decref(body);
}

static void a_draft_fits_only_the_end_it_was_made_for(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	static const char *const roles[] = { "approver", "admin", NULL };
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct ledger_new n = { .kind = "key.add",
				.by_id = "jane@example.org",
				.role = "human",
				.at_ms = SCENE_START + 5 };
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	char *sig = NULL, *again = NULL;
	json_t *body;

	CHECK_OK(ssh_key_make(scene_path("id"), "jane", &key, &err), err);
	body = ledger_key_body(&key, "jane@example.org", roles, SCENE_START, 0);
	n.body = body;
	CHECK_OK(ledger_draft_make(l, &n, &d, &err), err);
	CHECK_OK(ssh_sign(scene_path("id"), LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	scene_add(l, "cost", "{}");
	CHECK_INT(ledger_draft_append(l, &d, sig, &ref, &err), -ERR_CONFLICT);
	ledger_draft_release(&d);
	CHECK_OK(ledger_draft_make(l, &n, &d, &err), err);
	/* The old signature is one of other bytes. */
	CHECK_INT(ledger_draft_append(l, &d, sig, &ref, &err), -ERR_BROKEN);
	CHECK_OK(ssh_sign(scene_path("id"), LEDGER_NAMESPACE, d.bytes, d.n, &again, &err), err);
	CHECK_OK(ledger_draft_append(l, &d, again, &ref, &err), err);
	CHECK_STR(ref.hex, d.ref.hex);
	ledger_close(l);
	json_decref(body);
	free(sig);
	free(again);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void an_origin_with_a_blank_is_no_name(void)
{
	struct ledger_conf c = {
		.dir = scene_path("l"), .flags = LEDGER_CREATE, .origin = "a b", .by_id = SCENE_BY
	};
	struct ledger *l = NULL;
	struct err err = ERR_INIT;

	CHECK_INT(ledger_open(&c, &l, &err), -ERR_PARSE);
	c.origin = "a";
	err = ERR_INIT;
	CHECK_OK(ledger_open(&c, &l, &err), err);
	ledger_close(l);
}

TEST_MAIN(TEST(a_new_ledger_begins_with_its_genesis),
	  TEST(what_was_appended_is_there_when_it_is_opened_again),
	  TEST(without_create_a_missing_ledger_is_not_found),
	  TEST(a_store_behind_its_checkpoint_is_refused),
	  TEST(a_store_that_is_gone_is_not_made_anew),
	  TEST(other_entries_below_the_checkpoint_are_refused),
	  TEST(a_key_that_others_can_read_is_refused), TEST(a_reader_writes_nothing),
	  TEST(many_are_appended_wholly_or_not_at_all), TEST(an_entry_that_is_too_large_is_refused),
	  TEST(a_blob_has_to_be_stored_before_its_entry),
	  TEST(a_draft_fits_only_the_end_it_was_made_for), TEST(an_origin_with_a_blank_is_no_name))
