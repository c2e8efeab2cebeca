/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

static void a_contract_is_kept_once(void)
{
	char a[65], b[65];
	struct err err = ERR_INIT;
	struct run_scene s;
	uint64_t n;

	run_scene_init(&s);
	CHECK_OK(run_put_contract(&s.env, a, &err), err);
	n = run_scene_size(&s);
	CHECK_OK(run_put_contract(&s.env, b, &err), err);
	CHECK_STR(a, b);
	CHECK_INT(run_scene_size(&s), n);
	run_scene_release(&s);
}

static void a_stack_comes_back_as_it_was(void)
{
	struct stack in CLEANUP(stack_release) = { 0 }, out CLEANUP(stack_release) = { 0 };
	char leaf[65], da[65], db[65];
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	(void)stack_add(&in, CL_HOST, "kernel", "6.1", "uname");
	(void)stack_add(&in, CL_KERNELLIB, "openblas", NULL, "maps");
	stack_sort(&in);
	CHECK_OK(run_put_stack(&s.env, &in, leaf, &err), err);
	CHECK_OK(run_get_stack(s.l, leaf, &out, &err), err);
	stack_digest(&in, da);
	stack_digest(&out, db);
	CHECK_STR(da, db);
	CHECK_INT(out.n, 2);
	CHECK(stack_find(&out, CL_KERNELLIB, "openblas")->version == NULL);
	run_scene_release(&s);
}

static void a_capture_that_lies_about_its_digest_is_broken(void)
{
	struct stack out CLEANUP(stack_release) = { 0 };
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	CHECK_OK(ledger_blob_put(s.l, "[]", 2, "application/json", &b, &err), err);
	ref = scene_add(s.l, "stack.capture",
			"{\"stack_digest\":\"%s\",\"components\":{\"digest\":\"%s\",\"bytes\":2,"
			"\"media_type\":\"application/json\"}}",
			s.stack, b.digest);
	CHECK_INT(run_get_stack(s.l, ref.hex, &out, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "digest is not its components'");
	run_scene_release(&s);
}

static void evidence_is_redacted_before_it_is_hashed(void)
{
	struct evidences l CLEANUP(evidences_release) = { 0 };
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct run_scene s;
	size_t n;

	run_scene_init(&s);
	CHECK_OK(file_write(scene_path("log"), "Authorization: Bearer abcdefgh12345678\n", 39, 0600,
			    &err),
		 err);
	CHECK_OK(file_write(scene_path("bin"), "\0\1\2", 3, 0600, &err), err);
	evidences_add(&l, "log", "text/plain", scene_path("log"));
	evidences_add(&l, "bin", "application/zstd", scene_path("bin"));
	evidences_add(&l, "gone", "text/plain", scene_path("gone"));
	CHECK_OK(run_put_evidence(&s.env, &l, &err), err);
	CHECK(l.v[0].digest && l.v[1].digest && !l.v[2].digest && !l.v[0].path);
	CHECK_INT(l.v[1].bytes, 3);
	CHECK_OK(run_evidence_text(s.l, &l, "log", &text, &n, &err), err);
	CHECK(strstr(text, "abcdefgh") == NULL);
	CHECK_INT(run_evidence_text(s.l, &l, "gone", &text, &n, &err), -ERR_NOT_FOUND);
	run_scene_release(&s);
}

static void an_entry_of_another_kind_is_refused(void)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_ref run;
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	CHECK_INT(run_entry(s.l, run.hex, "verdict", &e, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "is 'run.intent', not 'verdict'");
	run_scene_release(&s);
}

static void a_reference_is_64_digits(void)
{
	AUTO_JSON json_t *o = scene_json("{\"a\":{\"digest\":\"abc\"},\"b\":7}");

	CHECK(run_ref_of(o, "a") == NULL && run_ref_of(o, "b") == NULL &&
	      run_ref_of(o, "c") == NULL);
}

TEST_MAIN(TEST(a_contract_is_kept_once), TEST(a_stack_comes_back_as_it_was),
	  TEST(a_capture_that_lies_about_its_digest_is_broken),
	  TEST(evidence_is_redacted_before_it_is_hashed), TEST(an_entry_of_another_kind_is_refused),
	  TEST(a_reference_is_64_digits))
