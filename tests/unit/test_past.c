/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"

#include <sys/file.h>
#include <unistd.h>

static struct ledger *begun(const char *dir)
{
	struct ledger *l = scene_open(dir);

	scene_add(l, "cost", "{\"n\":1}");
	scene_checkpoint(l);
	return l;
}

static void it_is_put_aside_and_the_next_one_names_its_root(void)
{
	const char *dir = scene_path("l");
	struct ledger *l = begun(dir);
	struct ledger_past p CLEANUP(ledger_past_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	uint8_t root[SHA256_LEN];
	char hex[SHA256_HEX];
	struct err err = ERR_INIT;
	uint64_t size;

	CHECK_OK(ledger_size(l, &size, root, &err), err);
	hex_of(root, sizeof(root), hex);
	ledger_close(l);
	CHECK_OK(ledger_past_read(dir, &p, &err), err);
	CHECK_STR(p.root, hex);
	CHECK_STR(p.origin, SCENE_ORIGIN);
	CHECK(json_object_get(p.policy, "signoff") != NULL);
	CHECK_OK(ledger_past_aside(&p, SCENE_START, &err), err);
	CHECK(!dir_exists(dir));
	CHECK_STR(scene_verify(p.aside), "");

	struct ledger_conf c = { .dir = dir,
				 .flags = LEDGER_CREATE,
				 .origin = "twice.example/lab/small/2",
				 .old_root = p.root,
				 .by_id = SCENE_BY,
				 .now_ms = SCENE_START };

	CHECK_OK(ledger_open(&c, &l, &err), err);
	CHECK_OK(ledger_get(l, 0, &e, &err), err);
	CHECK_STR(json_str_or(e.body, "old_root", ""), hex);
	ledger_close(l);
	CHECK_STR(scene_verify(dir), "");

	/* Again within the same second: another name. */
	AUTO_FREE char *first = xstrdup(p.aside);

	ledger_past_release(&p);
	CHECK_OK(ledger_past_read(dir, &p, &err), err);
	CHECK_OK(ledger_past_aside(&p, SCENE_START, &err), err);
	CHECK(!streq(first, p.aside) && dir_exists(first) && dir_exists(p.aside));
}

/* The store is gone: the checkpoint still says where it ended; a policy there is none. */
static void a_checkpoint_is_enough(void)
{
	const char *dir = scene_path("l");
	struct ledger_past p CLEANUP(ledger_past_release) = { 0 };
	AUTO_FREE char *db = path_join(dir, LEDGER_DB), *cp = path_join(dir, LEDGER_CHECKPOINT);
	struct err err = ERR_INIT;

	ledger_close(begun(dir));
	CHECK_OK(file_write(db, "no database", 11, 0644, &err), err);
	CHECK_OK(ledger_past_read(dir, &p, &err), err);
	CHECK_STR(p.origin, SCENE_ORIGIN);
	CHECK_INT(strlen(p.root), 64);
	CHECK(p.policy == NULL);
	ledger_past_release(&p);

	CHECK_OK(file_write(cp, "nor this", 8, 0644, &err), err);
	CHECK_INT(ledger_past_read(dir, &p, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "neither");
}

static void not_while_somebody_writes(void)
{
	const char *dir = scene_path("l");
	struct ledger_past p CLEANUP(ledger_past_release) = { 0 };
	AUTO_FREE char *lock = path_join(dir, LEDGER_LOCK);
	struct err err = ERR_INIT;
	FILE *f;

	ledger_close(begun(dir));
	CHECK_OK(ledger_past_read(dir, &p, &err), err);
	f = fopen(lock, "re");
	CHECK(f && flock(fileno(f), LOCK_EX) == 0);
	CHECK_INT(ledger_past_aside(&p, SCENE_START, &err), -ERR_CONFLICT);
	CHECK(dir_exists(dir));
	if (f)
		(void)fclose(f);
	err_clear(&err);
	CHECK_INT(ledger_past_read(scene_path("none"), &p, &err), -ERR_NOT_FOUND);
}

static void evidence_is_counted_by_state(void)
{
	struct ledger *l = begun(scene_path("l"));
	struct ledger_blob a CLEANUP(ledger_blob_release) = { 0 },
			     b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_new who = { .by_id = "jane", .role = "human", .at_ms = SCENE_START + 900000 };
	struct ledger_blob_sums s;
	struct err err = ERR_INIT;

	CHECK_OK(ledger_blob_count(l, &s, &err), err);
	CHECK_INT(s.present + s.withheld + s.expired, 0);
	CHECK_OK(ledger_blob_put(l, "12345", 5, "text/plain", &a, &err), err);
	CHECK_OK(ledger_blob_put(l, "secret", 6, "text/plain", &b, &err), err);
	scene_add(l, "import",
		  "{\"a\":{\"bytes\":5,\"digest\":\"%s\",\"media_type\":\"text/plain\"},"
		  "\"b\":{\"bytes\":6,\"digest\":\"%s\",\"media_type\":\"text/plain\"}}",
		  a.digest, b.digest);
	CHECK_OK(ledger_blob_drop(l, b.digest, "expired", "old", &who, &err), err);
	CHECK_OK(ledger_blob_count(l, &s, &err), err);
	CHECK_INT(s.present, 1);
	CHECK_INT(s.bytes, 5);
	CHECK_INT(s.expired, 1);
	CHECK_INT(s.withheld, 0);
	CHECK_STR(ledger_store_name(l), "sqlite");
	ledger_close(l);
}

TEST_MAIN(TEST(it_is_put_aside_and_the_next_one_names_its_root), TEST(a_checkpoint_is_enough),
	  TEST(not_while_somebody_writes), TEST(evidence_is_counted_by_state))
