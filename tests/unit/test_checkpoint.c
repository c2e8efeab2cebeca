/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"

static void checkpoints_name_size_and_root(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	uint8_t root[SHA256_LEN];
	struct checkpoint c;
	uint64_t size;

	scene_add(l, "cost", "{}");
	CHECK_OK(ledger_checkpoint(l, &cp, &err), err);
	CHECK_OK(ledger_size(l, &size, root, &err), err);
	CHECK_INT(cp.size, 2);
	CHECK(size == 2 && memcmp(root, cp.root, SHA256_LEN) == 0);
	CHECK_OK(file_read(scene_path("l/checkpoint"), 10000, &text, NULL, &err), err);
	CHECK_STR(text, cp.note);
	CHECK_OK(note_parse(sv_of(text), &n, &err), err);
	CHECK_OK(checkpoint_parse(n.text, &c, &err), err);
	CHECK_OK(note_key_parse(sv_of(ledger_vkey(l)), &key, &err), err);
	CHECK_INT(note_line_check(&n, &n.lines.v[0], &key, NULL), NOTE_GOOD);
	ledger_close(l);
}

static void a_checkpoint_never_goes_back(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_checkpoint cp = { 0 };
	struct err err = ERR_INIT;

	scene_add(l, "cost", "{}");
	scene_checkpoint(l);
	scene_copy(scene_path("l/checkpoint"), scene_path("larger"));
	ledger_close(l);
	CHECK_INT(unlink(scene_path("l/checkpoint")), 0);
	l = scene_open(scene_path("l"));
	scene_sql(scene_path("l"), "DELETE FROM checkpoint");
	scene_add(l, "cost", "{}");
	scene_checkpoint(l); /* 3 */
	scene_copy(scene_path("l/checkpoint"), scene_path("three"));
	ledger_close(l);
	CHECK_INT(unlink(scene_path("l/ledger.db")), 0);
	CHECK_INT(unlink(scene_path("l/checkpoint")), 0);
	l = scene_open(scene_path("l"));
	scene_copy(scene_path("three"), scene_path("l/checkpoint"));
	CHECK_INT(ledger_checkpoint(l, &cp, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "ledger is shorter than its checkpoint");
	ledger_close(l);
}

static void many(struct ledger *l, size_t n)
{
	AUTO_FREE struct ledger_new *e = xcalloc(n, sizeof(*e));
	AUTO_JSON json_t *body = json_object();
	struct err err = ERR_INIT;

	for (size_t i = 0; i < n; i++)
		e[i] = (struct ledger_new){ .kind = "cost",
					    .body = body,
					    .by_id = SCENE_BY,
					    .role = "machine",
					    .at_ms = SCENE_START };
	CHECK_OK(ledger_append_many(l, e, n, NULL, &err), err);
}

/* Enough entries for kept nodes: proofs from them are those from the leaves. */
static void proofs_from_kept_nodes_hold(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t root[SHA256_LEN], old[SHA256_LEN], slow[SHA256_LEN];
	struct err err = ERR_INIT;
	uint64_t size;

	many(l, 610);
	CHECK_OK(ledger_size(l, &size, old, &err), err);
	CHECK_INT(size, 611);
	many(l, 600);
	CHECK_OK(ledger_size(l, &size, root, &err), err);
	for (uint64_t i = 0; i < size; i += 101) {
		struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 };
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

		CHECK_OK(ledger_inclusion(l, i, size, &p, &err), err);
		CHECK_OK(ledger_get(l, i, &e, &err), err);
		CHECK(merkle_inclusion_holds(&h, i, size, e.ref.leaf,
					     (const uint8_t(*)[SHA256_LEN])p.hash, p.n, root));
	}
	struct ledger_proof q CLEANUP(ledger_proof_release) = { 0 };
	struct merkle_source s = ledger_nodes(l);

	CHECK_OK(ledger_consistency(l, 611, size, &q, &err), err);
	CHECK(merkle_consistency_holds(&h, 611, size, old, root,
				       (const uint8_t(*)[SHA256_LEN])q.hash, q.n));
	CHECK_OK(merkle_root(&s, 611, slow, &err), err);
	CHECK(memcmp(slow, old, SHA256_LEN) == 0);
	l->store->no_nodes = true; /* out of the leaves alone */
	CHECK_OK(merkle_root(&s, size, slow, &err), err);
	CHECK(memcmp(slow, root, SHA256_LEN) == 0);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void kept_nodes_that_differ_are_found(void)
{
	static const char *const edits[][2] = {
		{ "UPDATE node SET hash = randomblob(32) WHERE idx = 1", "INDEX_MISMATCH@256" },
		{ "DELETE FROM node WHERE idx = 1", "INDEX_MISMATCH@256" },
		{ "INSERT INTO node VALUES (8, 2, randomblob(32))", "INDEX_MISMATCH@512" },
		{ "INSERT INTO node VALUES (7, 0, randomblob(32))", "INDEX_MISMATCH@0" },
	};
	struct ledger *l = scene_open(scene_path("l"));

	many(l, 600);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
	scene_sql(scene_path("l"), "CREATE TABLE kept AS SELECT * FROM node");
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		scene_sql(scene_path("l"), edits[i][0]);
		CHECK_HAS(scene_verify(scene_path("l")), edits[i][1]);
		scene_sql(scene_path("l"), "DELETE FROM node; INSERT INTO node SELECT * FROM kept");
	}
}

/* Made before nodes were kept: as good, only slower. */
static void a_store_without_nodes_goes_on(void)
{
	struct ledger *l = scene_open(scene_path("l"));

	many(l, 300);
	ledger_close(l);
	scene_older(scene_path("l"), 1);
	CHECK_STR(scene_verify(scene_path("l")), "");
	l = scene_open(scene_path("l"));
	many(l, 300);
	scene_checkpoint(l);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void proofs_out_of_the_store_hold(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	uint8_t roots[21][SHA256_LEN];
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	struct err err = ERR_INIT;
	uint64_t size;

	for (unsigned i = 1; i <= 20; i++) {
		CHECK_OK(ledger_size(l, &size, roots[i], &err), err);
		CHECK_INT(size, i);
		if (i < 20)
			scene_add(l, "cost", "{\"n\":%u}", i);
	}
	for (unsigned i = 1; i <= 20; i++) {
		struct ledger_proof p CLEANUP(ledger_proof_release) = { 0 },
				      q CLEANUP(ledger_proof_release) = { 0 };
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

		CHECK_OK(ledger_inclusion(l, i - 1, 20, &p, &err), err);
		CHECK_OK(ledger_get(l, i - 1, &e, &err), err);
		CHECK(merkle_inclusion_holds(&h, i - 1, 20, e.ref.leaf,
					     (const uint8_t(*)[SHA256_LEN])p.hash, p.n, roots[20]));
		CHECK_OK(ledger_consistency(l, i, 20, &q, &err), err);
		CHECK(merkle_consistency_holds(&h, i, 20, roots[i], roots[20],
					       (const uint8_t(*)[SHA256_LEN])q.hash, q.n));
	}
	{
		struct ledger_proof p = { 0 };

		CHECK_INT(ledger_inclusion(l, 0, 21, &p, &err), -ERR_RANGE);
		CHECK_INT(ledger_consistency(l, 3, 21, &p, &err), -ERR_RANGE);
	}
	ledger_close(l);
}

static void without_the_key_there_is_no_checkpoint(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_checkpoint cp = { 0 };
	struct err err = ERR_INIT;

	ledger_close(l);
	CHECK_INT(unlink(scene_path("l/ledger.key")), 0);
	l = scene_open(scene_path("l"));
	scene_add(l, "cost", "{}");
	CHECK_INT(ledger_checkpoint(l, &cp, &err), -ERR_NOT_FOUND);
	ledger_close(l);
}

TEST_MAIN(TEST(checkpoints_name_size_and_root), TEST(a_checkpoint_never_goes_back),
	  TEST(proofs_out_of_the_store_hold), TEST(proofs_from_kept_nodes_hold),
	  TEST(kept_nodes_that_differ_are_found), TEST(a_store_without_nodes_goes_on),
	  TEST(without_the_key_there_is_no_checkpoint))
