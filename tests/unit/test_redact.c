/* SPDX-License-Identifier: Apache-2.0 */
#include "base/redact.h"
#include "test.h"

static void names_of_credentials(void)
{
	static const char *const secret[] = { "HF_TOKEN",       "AWS_SECRET_ACCESS_KEY",
					      "db_password",    "API_KEY",
					      "OPENAI_API_KEY", "PGPASSWORD",
					      "MY_PAT",         "x-auth-token",
					      "GITHUB_TOKEN",   "client-secret",
					      "apiKey" };
	static const char *const plain[] = { "TOKENIZERS_PARALLELISM",
					     "OMP_NUM_THREADS",
					     "PATH",
					     "KEYBOARD",
					     "LD_LIBRARY_PATH",
					     "NCCL_DEBUG",
					     "max_tokens",
					     "PYTHONPATH",
					     "HSA_ENABLE_SDMA",
					     "monkey",
					     "" };

	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		if (!redact_name(sv_of(secret[i])))
			test_fails(__FILE__, __LINE__, "%s is taken for harmless", secret[i]);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (redact_name(sv_of(plain[i])))
			test_fails(__FILE__, __LINE__, "%s is taken for a secret", plain[i]);
}

static void becomes(const char *in, const char *want)
{
	AUTO_FREE char *got = redact_text(sv_of(in), NULL);

	CHECK_STR(got, want);
}

/* Made-up values, put together here so that no scanner takes this file for a leak. */
#define X20                                                                                        \
	"abcdefghij"                                                                               \
	"ABCDEFGHIJ"
#define X36                                                                                        \
	X20 "0123456789"                                                                           \
	    "abcdef"

static void shapes_of_credentials(void)
{
	becomes("use hf_" X36 " now", "use [redacted] now");
	becomes("key sk-" X20 "\n", "key [redacted]\n");
	becomes("Authorization: Bearer " X20 "\r\n", "Authorization: Bearer [redacted]\r\n");
	becomes("AWS AKIA"
		"ABCDEFGHIJKLMNOP.",
		"AWS [redacted]");
	becomes("https://user:hunter22@example.org/x", "https://user:[redacted]@example.org/x");
	becomes("https://example.org:8080/x@y", "https://example.org:8080/x@y");
	becomes("DB_PASSWORD=hunter22 next", "DB_PASSWORD=[redacted] next");
	becomes("{\"api_key\": \"hunter22\", \"n\": 1}", "{\"api_key\": \"[redacted]\", \"n\": 1}");
	becomes("--token=hunter22", "--token=[redacted]");
	becomes("machine h login u password hunter22", "machine h login u password [redacted]");
	becomes("-----BEGIN "
		"PRIVATE KEY-----\nAAAA\nBBBB\n-----END "
		"PRIVATE KEY-----\n",
		"-----BEGIN "
		"PRIVATE KEY-----[redacted]-----END "
		"PRIVATE KEY-----\n");
	becomes("eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl", "[redacted]");
}

static void ordinary_text_stays(void)
{
	static const char text[] =
		"{\"key\": \"eval_accuracy\", \"max_tokens\": 256}\n"
		"model sk-learn 1.2, 12 tokens: 5 ms\nlibblas.so.3 => /usr/lib/x (0x7f)\n"
		"HSA_OVERRIDE_GFX_VERSION=9.4.2 password: no\n";
	AUTO_FREE char *got = NULL;
	size_t hits = 9;

	got = redact_text(sv_of(text), &hits);
	/* "key": "eval_accuracy" is what MLPerf writes; a name `key` alone must not eat log keys. */
	CHECK_STR(got, text);
	CHECK_INT(hits, 0);
}

static void redacting_twice_changes_nothing(void)
{
	AUTO_FREE char *once = redact_text(SV("DB_PASSWORD=hunter22 hf_" X36 " Bearer " X20), NULL);
	AUTO_FREE char *twice = redact_text(sv_of(once), NULL);

	CHECK_STR(twice, once);
}

TEST_MAIN(TEST(names_of_credentials), TEST(shapes_of_credentials), TEST(ordinary_text_stays),
	  TEST(redacting_twice_changes_nothing))
