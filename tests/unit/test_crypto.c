/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto.h"

#include "base/err.h"
#include "base/file.h"

#include "test.h"

static void sha256_of_known_texts(void)
{
	/* FIPS 180-2 appendix B */
	static const struct {
		const char *in, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	struct err err = ERR_INIT;
	AUTO_FREE char *path = path_join(test_dir(), "f");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sha256 h CLEANUP(sha256_release) = { 0 };
		char hex[SHA256_HEX];
		uint8_t d[SHA256_LEN];
		uint64_t n;

		sha256_hex(cases[i].in, strlen(cases[i].in), hex);
		CHECK_STR(hex, cases[i].hex);
		for (int twice = 0; twice < 2; twice++) {
			sha256_init(&h);
			for (const char *p = cases[i].in; *p; p++)
				sha256_add(&h, p, 1);
			sha256_end(&h, d);
			hex_of(d, sizeof(d), hex);
			CHECK_STR(hex, cases[i].hex);
		}
		CHECK_OK(file_write(path, cases[i].in, strlen(cases[i].in), 0600, &err), err);
		CHECK_OK(sha256_file(path, d, &n, &err), err);
		hex_of(d, sizeof(d), hex);
		CHECK_STR(hex, cases[i].hex);
		CHECK_INT(n, strlen(cases[i].in));
	}
	uint8_t d[SHA256_LEN];

	CHECK_INT(sha256_file("/nowhere/x", d, NULL, &err), -ERR_NOT_FOUND);
	CHECK_INT(sha256_file(test_dir(), d, NULL, &err), -ERR_PARSE);
	CHECK_INT(sha256_file("/dev/zero", d, NULL, &err), -ERR_PARSE);
}

static void hex_is_strict(void)
{
	uint8_t b[2];

	CHECK(hex_to(SV("0aff"), b, 2) && b[0] == 10 && b[1] == 255);
	CHECK(!hex_to(SV("0AFF"), b, 2));
	CHECK(!hex_to(SV("0af"), b, 2));
	CHECK(!hex_to(SV("0afg"), b, 2));
	CHECK(!hex_to(SV("0aff00"), b, 2));
	CHECK(!hex_is_sha256(SV("ab")));
}

static void base64_is_strict(void)
{
	/* RFC 4648 §10 */
	static const char *const cases[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	static const char *const bad[] = { "Zg",   "Zg=",      "Zg===", "Zh==", "Zm9=",  "=Zg=",
					   "Z===", "Zg==Zg==", "Zm 8",  "Zm-_", "Zm9v\n" };
	char buf[16];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = base64_of(cases[i][0], strlen(cases[i][0]));

		CHECK_STR(text, cases[i][1]);
		CHECK(base64_to(sv_of(text), buf, sizeof(buf), &n));
		CHECK_INT(n, strlen(cases[i][0]));
		CHECK(memcmp(buf, cases[i][0], n) == 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!base64_to(sv_of(bad[i]), buf, sizeof(buf), &n));
	CHECK(!base64_to(SV("Zm9vYmFy"), buf, 5, &n));
	CHECK(base64_to(SV("Zm9vYmFy"), buf, 6, &n));
}

static void ed25519_of_rfc_8032(void)
{
	/* RFC 8032 §7.1, TEST 2 */
	struct ed25519 k;
	uint8_t seed[32], sig[64];
	char hex[129];

	CHECK(hex_to(SV("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"), seed,
		     32));
	ed25519_from_seed(seed, &k);
	hex_of(k.public, 32, hex);
	CHECK_STR(hex, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
	ed25519_sign(&k, "\x72", 1, sig);
	hex_of(sig, 64, hex);
	CHECK_STR(hex, "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
		       "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
	CHECK(ed25519_verify(k.public, "\x72", 1, sig));
	CHECK(!ed25519_verify(k.public, "\x73", 1, sig));
	sig[40] ^= 1;
	CHECK(!ed25519_verify(k.public, "\x72", 1, sig));
}

static void p256_signs_and_survives_pem(void)
{
	struct p256 a CLEANUP(p256_release) = { 0 }, b CLEANUP(p256_release) = { 0 };
	struct str sig CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *pem = NULL, *pub = NULL;
	uint8_t point[65];
	struct sv where = { (char *)point, 65 };

	CHECK_OK(p256_make(&a, &err), err);
	pem = p256_private_pem(&a);
	CHECK_HAS(pem, "BEGIN PRIVATE KEY");
	CHECK_OK(p256_from_pem(sv_of(pem), &b, &err), err);
	pub = p256_public_pem(a.point);
	CHECK_OK(p256_point_from_pem(sv_of(pub), point, &err), err);
	CHECK(memcmp(point, b.point, 65) == 0);
	p256_sign(&b, "abc", 3, &sig);
	CHECK(ecdsa_verify_der(EC_P256, where, "abc", 3, sv_str(&sig)));
	CHECK(!ecdsa_verify_der(EC_P256, where, "abd", 3, sv_str(&sig)));
	point[64] ^= 1; /* off the curve */
	CHECK(!ecdsa_verify_der(EC_P256, where, "abc", 3, sv_str(&sig)));
	CHECK_INT(p256_from_pem(SV("nonsense"), &b, &err), -ERR_PARSE);
}

static void random_bytes_differ(void)
{
	struct err err = ERR_INIT;
	uint8_t a[32], b[32];

	CHECK_OK(random_bytes(a, 32, &err), err);
	CHECK_OK(random_bytes(b, 32, &err), err);
	CHECK(memcmp(a, b, 32) != 0);
	CHECK_INT(rsa_bits((struct sv){ "\0\x80\0", 3 }), 16);
	CHECK_INT(rsa_bits((struct sv){ "\x01\0", 2 }), 9);
}

TEST_MAIN(TEST(sha256_of_known_texts), TEST(hex_is_strict), TEST(base64_is_strict),
	  TEST(ed25519_of_rfc_8032), TEST(p256_signs_and_survives_pem), TEST(random_bytes_differ))
