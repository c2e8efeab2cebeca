/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/tiles.h"

#include "ledger_scene.h"

static void widths_are_those_of_the_specification(void)
{
	/* 70,000 entries: 273 full tiles and one of 112; one full and one of 17; one of 1. */
	CHECK_INT(tile_width(0, 272, 70000), 256);
	CHECK_INT(tile_width(0, 273, 70000), 112);
	CHECK_INT(tile_width(0, 274, 70000), 0);
	CHECK_INT(tile_width(1, 0, 70000), 256);
	CHECK_INT(tile_width(1, 1, 70000), 17);
	CHECK_INT(tile_width(2, 0, 70000), 1);
	CHECK_INT(tile_width(3, 0, 70000), 0);
	CHECK_INT(tile_width(0, 0, 256), 256);
	CHECK_INT(tile_width(0, 1, 256), 0);
	CHECK_INT(tile_width(1, 0, 256), 1);
	CHECK_INT(tile_width(0, 0, 0), 0);
	CHECK_INT(tile_width(99, 0, 256), 0);
}

static void same_proofs(struct ledger *l, struct tiles *t, uint64_t old, uint64_t size)
{
	struct ledger_proof a CLEANUP(ledger_proof_release) = { 0 },
			      b CLEANUP(ledger_proof_release) = { 0 };
	struct merkle_source s = tiles_source(t);
	struct err err = ERR_INIT;

	CHECK_OK(ledger_consistency(l, old, size, &a, &err), err);
	CHECK_OK(merkle_consistency(&s, old, size, &b, &err), err);
	CHECK_INT(a.n, b.n);
	CHECK(!a.n || memcmp(a.hash, b.hash, a.n * SHA256_LEN) == 0);
}

static void proofs_out_of_tiles_are_those_of_the_store(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct tiles *t = calloc(1, sizeof(*t));
	struct ledger_new many[600];
	json_t *body = scene_json("{}");
	uint8_t want[SHA256_LEN], root[SHA256_LEN];
	struct merkle_source s;
	struct err err = ERR_INIT;
	uint64_t size = 0;

	CHECK(t);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct ledger_new){ .kind = "cost",
					       .body = body,
					       .by_id = SCENE_BY,
					       .role = "machine",
					       .at_ms = SCENE_START };
	CHECK_OK(ledger_append_many(l, many, ARRAY_SIZE(many), NULL, &err), err);
	scene_checkpoint(l);
	scene_add(l, "cost", "{}"); /* behind the checkpoint: in no tile */
	CHECK_OK(ledger_tiles(l, scene_path("t"), &err), err);
	CHECK(file_exists(scene_path("t/checkpoint")) &&
	      !file_exists(scene_path("t/entries.jsonl")));
	CHECK_OK(ledger_size(l, &size, NULL, &err), err);
	CHECK_INT(size, 602);
	t->dir = scene_path("t");
	t->size = 601;
	s = tiles_source(t);
	CHECK_OK(merkle_root(&s, 601, root, &err), err);
	{
		struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };

		CHECK_OK(ledger_checkpoint_covering(l, 600, &cp, &err), err);
		memcpy(want, cp.root, SHA256_LEN);
	}
	CHECK(memcmp(root, want, SHA256_LEN) == 0);
	for (uint64_t old = 1; old <= 601; old += 1 + old / 7)
		same_proofs(l, t, old, 601);
	CHECK_INT(unlink(scene_path("t/tile/0/002.p/89")), 0);
	t->level[0].n = 0;
	CHECK(merkle_root(&s, 601, root, &err) < 0);
	tiles_release(t);
	free(t);
	json_decref(body);
	ledger_close(l);
}

static void a_tile_of_another_length_is_refused(void)
{
	struct tile *t = calloc(1, sizeof(*t));
	char bytes[65] = { 0 };
	struct err err = ERR_INIT;

	CHECK(t);
	CHECK_OK(tile_parse((struct sv){ bytes, 64 }, 2, t, &err), err);
	CHECK_INT(t->n, 2);
	CHECK_INT(tile_parse((struct sv){ bytes, 65 }, 2, t, &err), -ERR_BROKEN);
	CHECK_INT(tile_parse((struct sv){ bytes, 32 }, 2, t, &err), -ERR_BROKEN);
	CHECK_INT(tile_parse((struct sv){ bytes, 0 }, 0, t, &err), -ERR_BROKEN);
	free(t);
}

static void bundles_part_into_entries(void)
{
	struct sv rest = SV("\0\3abc\0\0\0\1x"), e;

	CHECK(bundle_next(&rest, &e) && sv_is(e, "abc"));
	CHECK(bundle_next(&rest, &e) && !e.n);
	CHECK(bundle_next(&rest, &e) && sv_is(e, "x"));
	CHECK(!bundle_next(&rest, &e) && !rest.n);
	rest = SV("\0\4abc");
	CHECK(!bundle_next(&rest, &e) && rest.n);
	rest = SV("\1");
	CHECK(!bundle_next(&rest, &e) && rest.n);
}

TEST_MAIN(TEST(widths_are_those_of_the_specification),
	  TEST(proofs_out_of_tiles_are_those_of_the_store),
	  TEST(a_tile_of_another_length_is_refused), TEST(bundles_part_into_entries))
