/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"

#include "ledger_fixture.h"

static void from_folder_to_folder_with_all_that_belongs_to_it(void)
{
	struct ledger *l = fix_open(), *copy = NULL;
	AUTO_FREE char *to = path_join(test_dir(), "to");
	struct ledger_conf conf = { .dir = to };
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 },
			     gone CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_new who = { .by_id = "me@x", .role = "human", .at_ms = FIX_T0 };
	uint8_t before[SHA256_LEN], after[SHA256_LEN];
	AUTO_FREE char *got = NULL, *data = NULL;
	struct err err = ERR_INIT;
	uint64_t n;
	size_t len;

	CHECK_OK(ledger_blob_put(l, "kept", 4, "a/b", &b, &err), err);
	(void)fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&b)));
	CHECK_OK(ledger_blob_put(l, "secret", 6, "a/b", &gone, &err), err);
	(void)fix_append(l, "import", json_pack("{s:o}", "file", ledger_blob_json(&gone)));
	CHECK_OK(ledger_blob_drop(l, gone.digest, "withheld", "privacy", &who, &err), err);
	for (int i = 0; i < 300; i++)
		(void)fix_append(l, "cost", json_pack("{s:i}", "n", i));
	fix_checkpoint(l);
	CHECK_OK(ledger_size(l, &n, before, &err), err);
	CHECK_OK(ledger_move(l, &conf, &err), err);
	CHECK_INT(ledger_move(l, &conf, &err), -ERR_CONFLICT); /* not onto what is there */
	ledger_close(l);
	got = fix_verify_with(&(struct ledger_verify_conf){ .path = to, .all = true });
	CHECK_STR(got, "");
	CHECK_OK(ledger_open(&conf, &copy, &err), err);
	CHECK_OK(ledger_size(copy, &n, after, &err), err);
	CHECK_INT(n, 304);
	CHECK(memcmp(before, after, SHA256_LEN) == 0);
	CHECK_OK(ledger_blob_get(copy, b.digest, 0, &data, &len, &err), err);
	CHECK_STR(data, "kept");
	(void)fix_append(copy, "cost", json_object()); /* life goes on there */
	fix_checkpoint(copy);
	ledger_close(copy);
	free(STEAL(got));
	got = fix_verify_with(&(struct ledger_verify_conf){ .path = to, .all = true });
	CHECK_STR(got, "");
}

TEST_MAIN(TEST(from_folder_to_folder_with_all_that_belongs_to_it))
