/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/dsse.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/proc.h"
#include "shared_vectors.h"

#define TYPE "http://example.com/HelloWorld"
#define PAE  "DSSEv1 29 http://example.com/HelloWorld 11 hello world"

/* Keys and signatures over PAE that OpenSSL's own program made. */
static const char ED_PUBLIC[] = "-----BEGIN PUBLIC KEY-----\n"
				"MCowBQYDK2VwAyEAebMcGdg2WN4hG24iitGGZN/gLcG2dDXCBB/OwZ60VIE=\n"
				"-----END PUBLIC KEY-----\n";
static const char ED_ID[] = "a9974d6bb10694173aa1b6385ee0c38323f080e18ebda142d888a1c871689059";
static const char ED_SIG[] = "OcEiBye5G3HJD2W96d9oDy47eFMdEH6ru+LWsvLZOgbLm9KqXdDmHLcKjJ99AHlwWPM8"
			     "QQc+UU7salqL+3r+Aw==";
static const char EC_PUBLIC[] = "-----BEGIN PUBLIC KEY-----\n"
				"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6gOHct746NGUwSvQ/VO3DkZfFxjt\n"
				"zF7AVIqf+7NZLW4gthrRSS96BKq4XqoYa1UXMX5pW5cPHnHs4QEsSfJHJw==\n"
				"-----END PUBLIC KEY-----\n";
static const char EC_ID[] = "98f769e411584df24911102394ff31fd53fd6b23e461055630ecf1a1c0596022";
static const char EC_SIG[] = "MEYCIQCRunlL2+/yc2of24PDEFzhXFRran9jdqPt68VPfMekhAIhAOCTeKroxTX4FAGS"
			     "ztff+58kwdFd4IgkjvOabpU+EXhW";

static void key_of(const char *pem, struct dsse_key *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(dsse_key_parse(sv_of(pem), ret, &err), err);
}

/* PKCS#8 of an Ed25519 seed: a fixed head and the seed. */
static char *ed_private(const uint8_t seed[ED25519_LEN])
{
	static const uint8_t head[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
					0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };
	uint8_t der[sizeof(head) + ED25519_LEN];
	AUTO_FREE char *b64 = NULL;

	memcpy(der, head, sizeof(head));
	memcpy(der + sizeof(head), seed, ED25519_LEN);
	b64 = base64_of(der, sizeof(der));
	return xasprintf("-----BEGIN %s KEY-----\n%s\n-----END %s KEY-----\n", "PRIVATE", b64,
			 "PRIVATE");
}

static void what_is_signed_is_the_type_and_the_payload_with_their_lengths(void)
{
	struct str s CLEANUP(str_release) = { 0 };

	dsse_pae(SV(TYPE), SV("hello world"), &s);
	CHECK_STR(str_text(&s), PAE);
	str_clear(&s);
	dsse_pae(SV(""), SV(""), &s);
	CHECK_STR(str_text(&s), "DSSEv1 0  0 ");
}

static void check_foreign(const char *pem, const char *id, const char *sig64)
{
	struct dsse_key k CLEANUP(dsse_key_release) = { 0 };
	uint8_t sig[128];
	char hex[SHA256_HEX];
	size_t n = 0;

	key_of(pem, &k);
	hex_of(k.id, SHA256_LEN, hex);
	CHECK_STR(hex, id);
	CHECK_STR(k.public_pem, pem);
	CHECK(!k.can_sign);
	CHECK(base64_to(sv_of(sig64), sig, sizeof(sig), &n));
	CHECK(dsse_verify(&k, SV(TYPE), SV("hello world"), (struct sv){ (char *)sig, n }));
	CHECK(!dsse_verify(&k, SV(TYPE), SV("hello worlD"), (struct sv){ (char *)sig, n }));
	CHECK(!dsse_verify(&k, SV("http://example.com/"), SV("hello world"),
			   (struct sv){ (char *)sig, n }));
	for (size_t i = 0; i < n; i++) {
		sig[i] ^= 1;
		CHECK(!dsse_verify(&k, SV(TYPE), SV("hello world"), (struct sv){ (char *)sig, n }));
		sig[i] ^= 1;
		CHECK(!dsse_verify(&k, SV(TYPE), SV("hello world"), (struct sv){ (char *)sig, i }));
	}
}

static void signatures_of_openssl_are_read(void)
{
	check_foreign(ED_PUBLIC, ED_ID, ED_SIG);
	check_foreign(EC_PUBLIC, EC_ID, EC_SIG);
}

static void round_trip(const struct dsse_key *k)
{
	struct dsse_envelope e CLEANUP(dsse_envelope_release) = { 0 };
	struct dsse_key public CLEANUP(dsse_key_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	dsse_write(k, SV(DSSE_TYPE_INTOTO), SV("{\"a\":\"\xc3\xa4\"}"), &s);
	CHECK(!strchr(str_text(&s), '\n'));
	CHECK_OK(dsse_parse(sv_str(&s), &e, &err), err);
	CHECK_STR(e.type, DSSE_TYPE_INTOTO);
	CHECK_STR(e.payload, "{\"a\":\"\xc3\xa4\"}");
	CHECK_INT(e.n, 1);
	CHECK(dsse_signed_by(&e, k));
	key_of(k->public_pem, &public);
	CHECK(dsse_signed_by(&e, &public) && !public.can_sign);
	CHECK(memcmp(public.id, k->id, SHA256_LEN) == 0);
	e.payload[2] ^= 1;
	CHECK(!dsse_signed_by(&e, k));
}

static void both_kinds_of_key_sign_envelopes(void)
{
	struct dsse_key ec CLEANUP(dsse_key_release) = { 0 }, ed CLEANUP(dsse_key_release) = { 0 };
	struct dsse_key again CLEANUP(dsse_key_release) = { 0 };
	uint8_t seed[ED25519_LEN] = "32 bytes of a seed, for the test";
	AUTO_FREE char *pem = NULL, *ed_pem = ed_private(seed);
	struct dsse_envelope e CLEANUP(dsse_envelope_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(dsse_key_make(&ec, &pem, &err), err);
	key_of(pem, &again);
	CHECK(again.can_sign && !again.ed25519);
	CHECK(memcmp(again.id, ec.id, SHA256_LEN) == 0);
	round_trip(&ec);
	round_trip(&again);
	key_of(ed_pem, &ed);
	CHECK(ed.can_sign && ed.ed25519);
	round_trip(&ed);
	dsse_write(&ed, SV("t"), SV("p"), &s);
	CHECK_OK(dsse_parse(sv_str(&s), &e, &err), err);
	CHECK(!dsse_signed_by(&e, &ec));
}

static void keys_of_another_kind_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOszfgmjFD9t3vPRCxkmYgXUosWpzfKJOpiMvkIA7X8a",
		/* P-384 */
		"-----BEGIN PUBLIC KEY-----\n"
		"MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEJGIlmTUupah4z7kb4qfKVE+0Pfv7bD3a\n"
		"6K+gwO7e3Kq4kbjJIWRi+1jeaHDFrHYf6I34QPs58k2aHx4lrBq1lOwREsQ10kKW\n"
		"xIr1X7Qcuggmv+dRj4aq4gc3jZS7/XOu\n-----END PUBLIC KEY-----\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct dsse_key k = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(dsse_key_parse(sv_of(bad[i]), &k, &err), -ERR_PARSE);
	}
}

static void what_is_no_envelope_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"payload\":\"\",\"payloadType\":\"t\"}",
		"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[]}",
		"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{}]}",
		"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"!\"}]}",
		"{\"payload\":\"a\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]}",
		"{\"payload\":1,\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]}",
		"{\"payload\":\"\",\"payloadType\":\"t\",\"signatures\":[{\"sig\":\"\"}]} x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct dsse_envelope e = { 0 };
		struct err err = ERR_INIT;

		if (dsse_parse(sv_of(bad[i]), &e, &err) == 0)
			test_fails(__FILE__, __LINE__, "case %zu was read", i);
	}
}

static void base64_for_urls_and_unknown_members_are_fine(void)
{
	struct dsse_envelope e CLEANUP(dsse_envelope_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(dsse_parse(SV("{\"payload\":\"_-8=\",\"payloadType\":\"t\",\"more\":1,"
			       "\"signatures\":[{\"sig\":\"_w==\",\"more\":{}}]}"),
			    &e, &err),
		 err);
	CHECK_INT(e.payload_n, 2);
	CHECK(memcmp(e.payload, "\xff\xef", 2) == 0);
	CHECK_STR(e.v[0].keyid, "");
}

static void put(const char *name, const void *p, size_t n, char **ret)
{
	struct err err = ERR_INIT;

	*ret = path_join(test_dir(), name);
	CHECK_OK(file_write(*ret, p, n, 0644, &err), err);
}

static void openssl_agrees_with(const struct dsse_key *k)
{
	struct str pae CLEANUP(str_release) = { 0 }, sig CLEANUP(str_release) = { 0 };
	AUTO_FREE char *pub_file = NULL, *pae_file = NULL, *sig_file = NULL;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	dsse_pae(SV(DSSE_TYPE_INTOTO), SV("{}"), &pae);
	dsse_sign(k, SV(DSSE_TYPE_INTOTO), SV("{}"), &sig);
	put("pub", k->public_pem, strlen(k->public_pem), &pub_file);
	put("pae", pae.p, pae.n, &pae_file);
	put("sig", sig.p, sig.n, &sig_file);
	{
		const char *ed[] = { "openssl", "pkeyutl",  "-verify", "-pubin",
				     "-rawin",  "-inkey",   pub_file,  "-in",
				     pae_file,  "-sigfile", sig_file,  NULL };
		const char *ec[] = { "openssl",    "dgst",   "-sha256", "-verify", pub_file,
				     "-signature", sig_file, pae_file,  NULL };
		struct proc_spec spec = { .argv = k->ed25519 ? ed : ec };

		CHECK_OK(proc_run(&spec, &done, &err), err);
	}
	if (!proc_ok(&done))
		test_fails(__FILE__, __LINE__, "%s%s", str_text(&done.out), str_text(&done.err));
}

static void openssl_reads_our_signatures(void)
{
	AUTO_FREE char *program = path_program("openssl", NULL), *pem = NULL, *ed_pem = NULL;
	struct dsse_key ec CLEANUP(dsse_key_release) = { 0 }, ed CLEANUP(dsse_key_release) = { 0 };
	uint8_t seed[ED25519_LEN] = "32 bytes of a seed, for the test";
	struct err err = ERR_INIT;

	if (!program)
		test_skip("no openssl here");
	CHECK_OK(dsse_key_make(&ec, &pem, &err), err);
	openssl_agrees_with(&ec);
	ed_pem = ed_private(seed);
	key_of(ed_pem, &ed);
	openssl_agrees_with(&ed);
}

static void vectors_of_envelopes(void)
{
	json_t *doc = shared_vectors("ledger_dsse.json"), *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "cases"), i, c)
	{
		struct str pae CLEANUP(str_release) = { 0 }, sig CLEANUP(str_release) = { 0 };
		struct sv type = sv_of(vector_str(c, "payload_type")), payload;
		struct dsse_key k CLEANUP(dsse_key_release) = { 0 };
		AUTO_FREE char *pem = NULL;
		const uint8_t *want;
		size_t n;

		payload.p = (const char *)vector_hex(c, "payload_hex", &payload.n);
		want = vector_hex(c, "pae_hex", &n);
		dsse_pae(type, payload, &pae);
		CHECK(pae.n == n && memcmp(pae.p, want, n) == 0);
		if (!json_object_get(c, "seed_hex"))
			continue;
		pem = ed_private(vector_hex(c, "seed_hex", NULL));
		key_of(pem, &k);
		CHECK(memcmp(k.ed.public, vector_hex(c, "public_hex", NULL), ED25519_LEN) == 0);
		want = vector_hex(c, "sig_hex", &n);
		dsse_sign(&k, type, payload, &sig);
		CHECK(sig.n == n && memcmp(sig.p, want, n) == 0);
		CHECK(dsse_verify(&k, type, payload, (struct sv){ (const char *)want, n }));
	}
	CHECK(i > 0);
}

TEST_MAIN(TEST(what_is_signed_is_the_type_and_the_payload_with_their_lengths),
	  TEST(signatures_of_openssl_are_read), TEST(both_kinds_of_key_sign_envelopes),
	  TEST(keys_of_another_kind_are_refused), TEST(what_is_no_envelope_is_refused),
	  TEST(base64_for_urls_and_unknown_members_are_fine), TEST(openssl_reads_our_signatures),
	  TEST(vectors_of_envelopes))
