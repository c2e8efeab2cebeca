/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets here are made up; they are put together from pieces so that no scanner takes them
 * for real. */
#include "base/redact.h"

#include "test.h"

#define RANDOM40 "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"

static void names_that_say_credential(void)
{
	static const char *const yes[] = { "HF_TOKEN",
					   "AWS_SECRET_ACCESS_KEY",
					   "db_password",
					   "API_KEY",
					   "OPENAI_API_KEY",
					   "apiKey",
					   "GITHUB_PAT",
					   "PGPASSWORD_FILE_PASSWORD",
					   "Authorization",
					   "X-Auth-Token",
					   "SSH_PRIVATE_KEY",
					   "client_secret",
					   "AZURE_STORAGE_KEY",
					   "MYSQL_PWD",
					   "cookie" };
	static const char *const no[] = { "PATH",
					  "PWD",
					  "KEYBOARD",
					  "NCCL_DEBUG",
					  "OMP_NUM_THREADS",
					  "MONKEY",
					  "TOKENIZERS_PARALLELISM",
					  "MAX_TOKENS",
					  "PATTERN",
					  "primary_key",
					  "AUTHOR" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		printf("# %s\n", yes[i]);
		CHECK(redact_name(sv_of(yes[i])));
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		printf("# %s\n", no[i]);
		CHECK(!redact_name(sv_of(no[i])));
	}
}

/* Each text holds the secret RANDOM40 or "s3cr3tPass"; none of it may be left. */
static void fifty_kinds_of_secrets_go(void)
{
	static const char *const text[] = {
		"id AK"
		"IAIOSFODNN7EXAMPLE1 x" RANDOM40,
		"AS"
		"IAIOSFODNN7EXAMPLE2=" RANDOM40,
		"key=AI"
		"za" RANDOM40,
		"ya"
		"29." RANDOM40,
		"GOC"
		"SPX-" RANDOM40,
		"gh"
		"p_" RANDOM40,
		"gh"
		"o_" RANDOM40,
		"gh"
		"s_" RANDOM40,
		"gh"
		"u_" RANDOM40,
		"github"
		"_pat_" RANDOM40,
		"gl"
		"pat-" RANDOM40,
		"gl"
		"rt-" RANDOM40,
		"xo"
		"xb-" RANDOM40,
		"xo"
		"xp-" RANDOM40,
		"xa"
		"pp-" RANDOM40,
		"s"
		"k-" RANDOM40,
		"s"
		"k-proj-" RANDOM40,
		"s"
		"k_live_" RANDOM40,
		"rk"
		"_live_" RANDOM40,
		"wh"
		"sec_" RANDOM40,
		"(h"
		"f_" RANDOM40 ")",
		"nv"
		"api-" RANDOM40,
		"gs"
		"k_" RANDOM40,
		"np"
		"m_" RANDOM40,
		"py"
		"pi-" RANDOM40,
		"do"
		"p_v1_" RANDOM40,
		"da"
		"pi" RANDOM40,
		"S"
		"G." RANDOM40,
		"sh"
		"pat_" RANDOM40,
		"hv"
		"s." RANDOM40,
		"dc"
		"kr_pat_" RANDOM40,
		"ey"
		"J" RANDOM40 "." RANDOM40 "." RANDOM40,
		"ts"
		"key-" RANDOM40,
		"xa"
		"i-" RANDOM40,
		"gl"
		"sa_" RANDOM40,
		"Authorization: Bearer " RANDOM40,
		"authorization: basic " RANDOM40,
		"postgres://joe:s3cr3tPass@db/x",
		"https://s3cr3tPass@example.org/repo",
		"machine example.org login joe password s3cr3tPass",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" RANDOM40
		"\n-----END OPENSSH PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\n" RANDOM40,
		"AWS_SECRET_ACCESS_KEY=" RANDOM40,
		"HF_TOKEN: " RANDOM40,
		"{\"password\": \"s3cr3tPass\"}",
		"'api_key': 's3cr3tPass'",
		"\"{\\\"password\\\": \\\"s3cr3tPass\\\"}\"",
		"Authorization: Token " RANDOM40,
		"proxy-authorization: negotiate " RANDOM40,
		"client_secret=s3cr3tPass&x=1",
		"--password s3cr3tPass",
		"--api-key=s3cr3tPass",
		"export DB_PASSWORD='s3cr3tPass'",
		"Cookie: s3cr3tPass",
		"x-api-key: s3cr3tPass",
		"AccountKey=s3cr3tPass;x",
		"mysql_pwd=s3cr3tPass",
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		size_t hits;
		char *s = redact_text(sv_of(text[i]), &hits);

		printf("# %s -> %s\n", text[i], s);
		CHECK(hits >= 1);
		CHECK(!strstr(s, "s3cr3tPass"));
		CHECK(!strstr(s, RANDOM40) ||
		      i < 2); /* the first two: only the key id is known there */
		free(s);
	}
}

static void ordinary_text_stays(void)
{
	static const char *const text[] = {
		"step 40 of 200, loss 0.4176, 53 ms",
		"tokens: 128",
		"max_tokens=64",
		"basic settings are fine",
		"GET http://127.0.0.1:8000/v1/models",
		"/usr/lib/x86_64-linux-gnu/libopenblasp-r0.3.21.so",
		"sha256:dc2d6b4ffa6026bddd2823e83e664dcdf097e1abc851f10960b6ae7d22a01a26",
		"a skeleton key-value store",
		"NCCL_DEBUG=INFO",
		"task sk-learn is installed",
		"token count 12",
		"the password is never stored",
		"HF_TOKEN=",
		"vllm serve --api-key EMPTY --port 8000",
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		char *s = redact_text(sv_of(text[i]), NULL);

		CHECK_STR(s, text[i]);
		free(s);
	}
}

static void twice_is_the_same_as_once(void)
{
	char *a = redact_text(SV("HF_TOKEN=abcdefgh12345678 and Bearer ABCDEFGH12345678"), NULL);
	char *b = redact_text(sv_of(a), NULL);

	CHECK_STR(a, b);
	free(a);
	free(b);
}

/* Each of these once took time with the square of its length. */
static void hostile_text_takes_no_time(void)
{
	static const char *const parts[] = { "eyJ.",    "-----BEGIN ", "s.s.",
					     "bearer ", "://a:",       "token=",
					     "a=",      "?",           "password: \"" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i]), total = 2 * MIB / n * n;
		char *text = xmalloc(total), *out;

		for (size_t k = 0; k < total; k += n)
			memcpy(text + k, parts[i], n);
		/* The limit of a test is the only clock here. */
		out = redact_text((struct sv){ text, total }, NULL);
		CHECK(out);
		free(out);
		free(text);
	}
}

TEST_MAIN(TEST(hostile_text_takes_no_time), TEST(names_that_say_credential),
	  TEST(fifty_kinds_of_secrets_go), TEST(ordinary_text_stays),
	  TEST(twice_is_the_same_as_once))
