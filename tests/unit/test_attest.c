/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/dsse.h"
#include "ledger/inner.h"
#include "ledger/proof.h"
#include "ledger_scene.h"

#include "base/canon.h"
#include "model/model.h"

#define D64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define E64 "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct ledger_entry verdict; /* of the test that runs */

static struct ledger *with_verdict(const char *word)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct err err = ERR_INIT;

	scene_add(l, "cost", "{}");
	scene_add(l, "verdict",
		  "{\"workload\":\"chat b\",\"contract\":{\"digest\":\"" D64 "\"},"
		  "\"stack_digest\":\"" E64 "\",\"decision\":{\"verdict\":\"%s\"}}",
		  word);
	CHECK_OK(ledger_get(l, 2, &verdict, &err), err);
	scene_add(l, "cost", "{}");
	return l;
}

static json_t *statement(struct ledger *l, const struct ledger_attest *a, enum ledger_predicate p)
{
	struct err err = ERR_INIT;
	json_t *j = NULL;

	CHECK_OK(ledger_statement(l, a, p, &j, &err), err);
	CHECK_STR(json_str_or(j, "_type", ""), "https://in-toto.io/Statement/v1");
	CHECK_STR(json_str_or(j, "predicateType", ""), ledger_predicate_type(p));
	return j;
}

static const char *digest_at(const json_t *list, size_t i)
{
	return json_str_or(json_object_get(json_array_get(list, i), "digest"), "sha256", "");
}

static void subjects_are_told_by_their_digests(void)
{
	struct ledger *l = with_verdict("accepted");
	struct stack s CLEANUP(stack_release) = { 0 };
	struct ledger_attest a = { .verdict = &verdict, .stack = &s };
	const json_t *list;
	AUTO_JSON json_t *j = NULL;

	stack_add(&s, CL_MODEL, "weights", "1", "/m")->digest = xstrdup("sha256:" D64);
	stack_add(&s, CL_IMAGE, "image", "1", "/i")->digest = xstrdup("sha256:" E64);
	stack_add(&s, CL_IMAGE, "other", "1", "/i")->digest = xstrdup("md5:00");
	stack_add(&s, CL_ENGINE, "engine", "1", "/e")->digest = xstrdup("sha256:" D64);
	j = statement(l, &a, LEDGER_PREDICATE_TEST_RESULT);
	list = json_object_get(j, "subject");
	CHECK_INT(json_array_size(list), 4);
	CHECK_STR(json_str_or(json_array_get(list, 0), "name", ""), "model/weights");
	CHECK_STR(digest_at(list, 0), D64);
	CHECK_STR(json_str_or(json_array_get(list, 1), "name", ""), "image/image");
	CHECK_STR(json_str_or(json_array_get(list, 2), "name", ""), "stack");
	CHECK_STR(digest_at(list, 2), E64);
	CHECK_STR(json_str_or(json_array_get(list, 3), "name", ""), "contract");
	ledger_entry_release(&verdict);
	ledger_close(l);
}

/* What somebody who has the statement and the log's key alone can check. */
static void our_own_predicate_proves_itself(void)
{
	struct ledger *l = with_verdict("accepted");
	struct ledger_attest a = { .verdict = &verdict };
	struct ledger_proof proof CLEANUP(ledger_proof_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct tlog_proof p CLEANUP(tlog_proof_release) = { 0 };
	struct str bytes CLEANUP(str_release) = { 0 }, text CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *j = NULL;
	const json_t *o, *inclusion, *hashes;
	struct checkpoint cp;
	struct err err = ERR_INIT;

	CHECK_INT(ledger_statement(l, &a, LEDGER_PREDICATE_VERDICT, &j, &err), -ERR_NOT_FOUND);
	scene_checkpoint(l);
	j = statement(l, &a, LEDGER_PREDICATE_VERDICT);
	o = json_object_get(j, "predicate");
	inclusion = json_object_get(o, "inclusionProof");
	hashes = json_object_get(inclusion, "hashes");
	CHECK_STR(json_str_or(o, "verdict", ""), "accepted");
	CHECK_STR(json_str_or(o, "leaf", ""), verdict.ref.hex);
	CHECK_INT(json_int_or(inclusion, "index", -1), 2);
	CHECK_INT(json_int_or(inclusion, "treeSize", -1), 4);
	/* The entry's bytes are its canonical JSON. */
	CHECK_OK(canon_write(json_object_get(o, "entry"), 0, &bytes, &err), err);
	CHECK(bytes.n == verdict.n && memcmp(bytes.p, verdict.bytes, verdict.n) == 0);
	proof.n = json_array_size(hashes);
	proof.hash = xcalloc(proof.n + 1, sizeof(*proof.hash));
	for (size_t i = 0; i < proof.n; i++)
		CHECK(tlog_hash_line(sv_of(json_string_value(json_array_get(hashes, i))),
				     proof.hash[i]));
	tlog_proof_write((struct sv){ 0 }, 2, &proof, sv_of(json_str_or(o, "checkpoint", "")),
			 &text);
	CHECK_OK(tlog_proof_parse(sv_str(&text), &p, &err), err);
	CHECK_OK(note_key_parse(sv_of(json_str_or(o, "ledgerKey", "")), &key, &err), err);
	CHECK_OK(tlog_proof_check(&p, sv_str(&bytes), &key, &cp, &err), err);
	ledger_entry_release(&verdict);
	ledger_close(l);
}

static void judge(const char *word, const char *result, const char *vsa, const char *level)
{
	struct ledger *l = with_verdict(word);
	json_t *tests = scene_json("[{\"name\":\"a\",\"status\":\"passed\"},"
				   "{\"name\":\"b\",\"status\":\"failed\"},"
				   "{\"name\":\"c\",\"status\":\"skipped\"},"
				   "{\"name\":\"d\",\"status\":\"other\"},{\"name\":\"e\"}]");
	struct ledger_attest a = { .verdict = &verdict, .tests = tests, .proven = true };
	json_t *t = statement(l, &a, LEDGER_PREDICATE_TEST_RESULT),
	       *v = statement(l, &a, LEDGER_PREDICATE_VSA);
	const json_t *o = json_object_get(t, "predicate"), *levels;

	CHECK_STR(json_str_or(o, "result", ""), result);
	CHECK_STR(digest_at(json_object_get(o, "configuration"), 0), D64);
	CHECK_INT(json_array_size(json_object_get(o, "passedTests")), 1);
	CHECK_INT(json_array_size(json_object_get(o, "warnedTests")), 1);
	CHECK_INT(json_array_size(json_object_get(o, "failedTests")), 3);
	o = json_object_get(v, "predicate");
	levels = json_object_get(o, "verifiedLevels");
	CHECK_STR(json_str_or(o, "verificationResult", ""), vsa);
	CHECK_STR(json_string_value(json_array_get(levels, 0)), level);
	CHECK_INT(json_array_size(levels), streq(vsa, "PASSED") ? 2 : 1);
	CHECK_STR(json_str_or(o, "resourceUri", ""),
		  "https://twice.example/lab/small/workload/chat%20b");
	CHECK_STR(json_str_or(o, "timeVerified", ""), verdict.at);
	json_decref(t);
	json_decref(v);
	json_decref(tests);
	ledger_entry_release(&verdict);
	ledger_close(l);
	{
		struct err err = ERR_INIT;

		CHECK_OK(dir_remove(scene_path("l"), &err), err);
	}
}

static void only_an_acceptance_passes(void)
{
	static const char *const others[] = { "rejected",      "inconclusive", "no_result",
					      "baseline_void", "unheard_of",   "" };

	judge("accepted", "PASSED", "PASSED", "TWICE_ACCEPTED");
	judge("accepted_with_note", "WARNED", "PASSED", "TWICE_ACCEPTED");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		judge(others[i], "FAILED", "FAILED", "FAILED");
}

static void what_is_no_verdict_makes_no_statement(void)
{
	struct ledger *l = with_verdict("accepted");
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_attest a = { .verdict = &e };
	struct err err = ERR_INIT;
	json_t *j = NULL;

	CHECK_OK(ledger_get(l, 1, &e, &err), err);
	CHECK_INT(ledger_statement(l, &a, LEDGER_PREDICATE_VSA, &j, &err), -ERR_UNSUPPORTED);
	ledger_entry_release(&e);
	scene_add(l, "verdict", "{\"decision\":{\"verdict\":\"accepted\"}}");
	CHECK_OK(ledger_get(l, 4, &e, &err), err);
	CHECK_INT(ledger_statement(l, &a, LEDGER_PREDICATE_VSA, &j, &err), -ERR_BROKEN);
	ledger_entry_release(&verdict);
	ledger_close(l);
}

static void bundles_hold_one_envelope_and_a_hint(void)
{
	struct ledger *l = with_verdict("accepted");
	struct ledger_attest a = { .verdict = &verdict };
	AUTO_JSON json_t *j = statement(l, &a, LEDGER_PREDICATE_VSA), *b = NULL;
	CLEANUP(ledger_signer_freep) struct ledger_signer *s = NULL, *again = NULL;
	struct dsse_envelope e CLEANUP(dsse_envelope_release) = { 0 };
	struct dsse_key key CLEANUP(dsse_key_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	AUTO_FREE char *inner = NULL, *hint = NULL;
	struct err err = ERR_INIT;
	struct stat st;
	const json_t *m;

	CHECK_OK(ledger_signer_make(scene_path("k"), &s, &err), err);
	CHECK_INT(ledger_signer_make(scene_path("k"), &again, &err), -ERR_CONFLICT);
	CHECK(stat(scene_path("k"), &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK_OK(ledger_signer_read(scene_path("k"), &again, &err), err);
	CHECK_STR(ledger_signer_id(again), ledger_signer_id(s));
	ledger_bundle(again, j, &text);
	CHECK_OK(json_read(sv_str(&text), "bundle", &b, &err), err);
	CHECK_STR(json_str_or(b, "mediaType", ""), "application/vnd.dev.sigstore.bundle.v0.3+json");
	m = json_object_get(json_object_get(b, "verificationMaterial"), "publicKey");
	CHECK_OK(dsse_key_parse(sv_of(ledger_signer_public(s)), &key, &err), err);
	hint = base64_of(key.id, SHA256_LEN);
	CHECK_STR(json_str_or(m, "hint", ""), hint);
	inner = json_text(json_object_get(b, "dsseEnvelope"), /* pretty= */ false);
	CHECK_OK(dsse_parse(sv_of(inner), &e, &err), err);
	CHECK_STR(e.type, DSSE_TYPE_INTOTO);
	CHECK_INT(e.n, 1);
	CHECK(dsse_signed_by(&e, &key));
	ledger_entry_release(&verdict);
	ledger_close(l);
}

static void keys_that_can_not_sign_or_lie_open_are_refused(void)
{
	CLEANUP(ledger_signer_freep) struct ledger_signer *s = NULL;
	struct ledger_signer *none = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(ledger_signer_make(scene_path("k"), &s, &err), err);
	CHECK_INT(chmod(scene_path("k.pub"), 0600), 0);
	CHECK_INT(ledger_signer_read(scene_path("k.pub"), &none, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "is a public key");
	CHECK_INT(chmod(scene_path("k"), 0640), 0);
	CHECK_INT(ledger_signer_read(scene_path("k"), &none, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "can be read by others");
	CHECK_INT(ledger_signer_read(scene_path("no"), &none, &err), -ERR_NOT_FOUND);
}

TEST_MAIN(TEST(subjects_are_told_by_their_digests), TEST(our_own_predicate_proves_itself),
	  TEST(only_an_acceptance_passes), TEST(what_is_no_verdict_makes_no_statement),
	  TEST(bundles_hold_one_envelope_and_a_hint),
	  TEST(keys_that_can_not_sign_or_lie_open_are_refused))
