/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/entry.h"
#include "ledger_scene.h"

#include "base/canon.h"
#include "shared_vectors.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define D1    "1111111111111111111111111111111111111111111111111111111111111111"
#define D2    "2222222222222222222222222222222222222222222222222222222222222222"
#define AROUND(body)                                                                               \
	"{\"at\":\"2026-12-01T10:04:00.000Z\",\"body\":" body                                      \
	",\"by\":{\"id\":\"twice@node\",\"role\":\"machine\"},\"kind\":\"cost\",\"log\":\"a\","    \
	"\"prev\":\"" ZEROS "\",\"seq\":0,\"v\":1}"

static void made_entries_are_read_back(void)
{
	AUTO_JSON json_t *body = scene_json("{\"b\":\"x\\ny\",\"a\":1}");
	struct ledger_new n = { .kind = "cost",
				.body = body,
				.by_id = "jane \"j\"",
				.role = "human",
				.at_ms = SCENE_START };
	static const uint8_t prev[SHA256_LEN] = { 1 };
	struct entry_place at = { "log.example", 7, prev };
	struct entry e CLEANUP(entry_release) = { 0 };
	struct ledger_entry full CLEANUP(ledger_entry_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(entry_make(&n, &at, &s, &err), err);
	CHECK_OK(entry_scan(sv_str(&s), &e, &err), err);
	CHECK_INT(e.seq, 7);
	CHECK_INT(e.at_ms, SCENE_START);
	CHECK(sv_is(e.kind, "cost") && sv_is(e.log, "log.example"));
	CHECK_OK(entry_full(sv_str(&s), prev, &full, &err), err);
	CHECK_STR(full.by_id, "jane \"j\"");
	CHECK_STR(json_str_or(full.body, "b", ""), "x\ny");
}

static void references_are_named_by_the_keys_that_lead_to_them(void)
{
	const char *text =
		AROUND("{\"intent\":{\"digest\":\"" D2
		       "\"},\"no\":\"11\",\"reps\":[{\"digest\":\"" D1 "\"},{\"digest\":\"" D2
		       "\"},{\"digest\":\"" D1 "\"}],\"stack_digest\":\"sha256:" D1 "\"}");
	static const char *const want[] = { "intent", "reps", "reps", "stack_digest" };
	struct entry e CLEANUP(entry_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(entry_scan(sv_of(text), &e, &err), err);
	CHECK_INT(e.n_refs, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_STR(e.refs[i].rel, want[i]);
	CHECK_INT(e.refs[1].digest[0], 0x11);
	CHECK_INT(e.refs[2].digest[0], 0x22);
	CHECK_INT(e.n_blobs, 0);
}

static void blobs_are_objects_with_all_three(void)
{
	const char *text =
		AROUND("{\"a\":{\"bytes\":3,\"digest\":\"" D1 "\",\"media_type\":\"text/plain\"},"
		       "\"b\":{\"bytes\":3,\"digest\":\"" D2 "\"},"
		       "\"c\":[{\"bytes\":4,\"digest\":\"" D2 "\",\"media_type\":\"x/y\"}],"
		       "\"d\":{\"bytes\":3,\"in\":{\"digest\":\"" D2
		       "\"},\"media_type\":\"text/plain\"}}");
	struct entry e CLEANUP(entry_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(entry_scan(sv_of(text), &e, &err), err);
	CHECK_INT(e.n_blobs, 2);
	CHECK_INT(e.blobs[0].bytes, 3);
	CHECK(sv_is(e.blobs[1].media_type, "x/y"));
}

static void what_is_no_entry_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"1",
		AROUND("1"),
		AROUND("{\"a\": 1}"),
		AROUND("{\"b\":1,\"a\":1}"),
		AROUND("{}") " ",
		"{\"seq\":0}",
		"{\"at\":\"yesterday\",\"body\":{},\"by\":{\"id\":\"a\",\"role\":\"machine\"},"
		"\"kind\":\"cost\",\"log\":\"a\","
		"\"prev\":\"" ZEROS "\",\"seq\":0,\"v\":1}",
		"{\"at\":\"2026-12-01T10:04:00.000Z\",\"body\":{},\"by\":{\"id\":\"a\"},\"kind\":"
		"\"cost\",\"log\":\"a\","
		"\"prev\":\"" ZEROS "\",\"seq\":0,\"v\":1}",
		"{\"at\":\"2026-12-01T10:04:00.000Z\",\"body\":{},\"by\":{\"id\":\"a\",\"role\":"
		"\"machine\"},\"extra\":1,"
		"\"kind\":\"cost\",\"log\":\"a\",\"prev\":\"" ZEROS "\",\"seq\":0,\"v\":1}",
		"{\"at\":\"2026-12-01T10:04:00.000Z\",\"body\":{},\"by\":{\"id\":\"a\",\"role\":"
		"\"machine\"},\"kind\":\"cost\","
		"\"log\":\"a\",\"prev\":\"00\",\"seq\":0,\"v\":1}",
	};
	struct entry e CLEANUP(entry_release) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = ERR_INIT;

		if (entry_scan(sv_of(bad[i]), &e, &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was read: %s", i, bad[i]);
	}
}

static void a_newer_version_still_has_its_place_in_the_chain(void)
{
	struct entry e CLEANUP(entry_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(entry_scan(
			 SV("{\"log\":\"a\",\"more\":[],\"prev\":\"" ZEROS "\",\"seq\":3,\"v\":2}"),
			 &e, &err),
		 err);
	CHECK_INT(e.v, 2);
	CHECK_INT(e.seq, 3);
}

static void unknown_kinds_and_bad_names_are_not_written(void)
{
	AUTO_JSON json_t *body = json_object();
	static const uint8_t prev[SHA256_LEN];
	struct entry_place at = { "a", 0, prev };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(entry_make(
			  &(struct ledger_new){
				  .kind = "costs", .body = body, .by_id = "a", .role = "b" },
			  &at, &s, &err),
		  -ERR_BUG);
	CHECK_INT(entry_make(
			  &(struct ledger_new){
				  .kind = "cost", .body = body, .by_id = "", .role = "b" },
			  &at, &s, &err),
		  -ERR_PARSE);
	CHECK_INT(entry_make(
			  &(struct ledger_new){
				  .kind = "cost", .body = body, .by_id = "a", .role = "b c" },
			  &at, &s, &err),
		  -ERR_PARSE);
	CHECK_INT(s.n, 0);
}

static void kinds_are_sorted(void)
{
	for (size_t i = 1; ledger_kinds[i]; i++)
		CHECK(strcmp(ledger_kinds[i - 1], ledger_kinds[i]) < 0);
}

static void vectors_of_canonical_json(void)
{
	json_t *doc = shared_vectors("ledger_canonical_json.json"), *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "cases"), i, c)
	{
		const char *text = vector_str(c, "json");
		struct str s CLEANUP(str_release) = { 0 };
		AUTO_JSON json_t *j = NULL;
		struct err err = ERR_INIT;
		int rc = canon_read(sv_of(text), 0, CANON_LOOSE, &j, &err);
		size_t n;
		uint8_t *want;

		if (json_object_get(c, "error")) {
			if (rc == 0)
				test_fails(__FILE__, __LINE__, "read: %s", text);
			continue;
		}
		CHECK_OK(rc, err);
		CHECK_OK(canon_write(j, 0, &s, &err), err);
		want = vector_hex(c, "out_hex", &n);
		CHECK(n == s.n && memcmp(want, s.p, n) == 0);
	}
	CHECK(i > 0);
}

TEST_MAIN(TEST(made_entries_are_read_back),
	  TEST(references_are_named_by_the_keys_that_lead_to_them),
	  TEST(blobs_are_objects_with_all_three), TEST(what_is_no_entry_is_refused),
	  TEST(a_newer_version_still_has_its_place_in_the_chain),
	  TEST(unknown_kinds_and_bad_names_are_not_written), TEST(kinds_are_sorted),
	  TEST(vectors_of_canonical_json))
