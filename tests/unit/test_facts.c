/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "capture/capture.h"
#include "capture/facts.h"
#include "test.h"

static char *make(const char *name, const char *text)
{
	char *path = path_join(test_dir(), name);
	AUTO_FREE char *dir = path_dir(path);
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(dir, &err), err);
	CHECK_OK(file_write(path, text, strlen(text), 0644, &err), err);
	return path;
}

static void a_file_is_its_sha256(void)
{
	AUTO_FREE char *path = make("x", "abc");
	struct err err = ERR_INIT;
	uint64_t n;
	char hex[65];

	CHECK_OK(capture_digest(path, hex, &n, &err), err);
	CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_INT(n, 3);
}

static void a_folder_is_its_sorted_list(void)
{
	AUTO_FREE UNUSED char *b = make("d/b", "abc");
	AUTO_FREE UNUSED char *a = make("d/a/x", "");
	AUTO_FREE char *dir = path_join(test_dir(), "d");
	AUTO_FREE char *link = path_join(dir, "l");
	/* e3b0... is SHA-256 of nothing. */
	static const char list[] =
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a/x\n"
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
		"link ../nowhere  l\n";
	struct err err = ERR_INIT;
	char want[SHA256_HEX], got[65];
	uint64_t n;

	CHECK_INT(symlink("../nowhere", link), 0);
	sha256_hex(list, strlen(list), want);
	CHECK_OK(capture_digest(dir, got, &n, &err), err);
	CHECK_STR(got, want);
	CHECK_INT(n, 3);
}

static void what_is_not_there_is_an_error(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "none");
	struct err err = ERR_INIT;
	char hex[65];

	CHECK(capture_digest(path, hex, NULL, &err) < 0);
	CHECK_HAS(err.msg, "none");
	CHECK(capture_digest("/dev/null", hex, NULL, &err) < 0);
}

static void facts_survive_cache_and_record(void)
{
	static const char digest[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	struct facts f = { .path = (char *)"/l",
			   .real = (char *)"/r",
			   .elf = true,
			   .bytes = 7,
			   .soname = (char *)"libx.so.1",
			   .package = NULL };
	struct facts g = { 0 };
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *again = NULL;
	AUTO_JSON json_t *j = NULL;
	struct facts *h;

	memcpy(f.digest, digest, sizeof(digest));
	strs_add(&f.needed, "libc.so.6");
	strs_add(&f.needed, "libm.so.6");
	line = facts_line(&f);
	CHECK(facts_from_line(line, &g));
	again = facts_line(&g);
	CHECK_STR(again, line);
	CHECK(!g.package);
	CHECK_INT(g.needed.n, 2);
	j = facts_to_json(&f);
	h = facts_from_json("/l", j);
	CHECK_STR(h->real, "/r");
	CHECK_STR(h->needed.v[1], "libm.so.6");
	CHECK_INT(h->bytes, 7);
	facts_free(h);
	CHECK(!facts_from_line("x\ty", &g));
	json_put_str(j, "sha256", "short");
	CHECK(!facts_from_json("/l", j));
	strs_release(&f.needed);
	strs_release(&g.needed);
	free(g.soname);
}

TEST_MAIN(TEST(a_file_is_its_sha256), TEST(a_folder_is_its_sorted_list),
	  TEST(what_is_not_there_is_an_error), TEST(facts_survive_cache_and_record))
