/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"

static struct ledger_blob put(struct ledger *l, const void *p, size_t n)
{
	struct ledger_blob b = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_blob_put(l, p, n, "application/octet-stream", &b, &err), err);
	CHECK_INT(b.bytes, n);
	return b;
}

static void comes_back(struct ledger *l, const struct ledger_blob *b, const void *p, size_t n)
{
	struct err err = ERR_INIT;
	char *got = NULL;
	size_t m = 0;

	CHECK_OK(ledger_blob_get(l, b->digest, 0, &got, &m, &err), err);
	CHECK(m == n && memcmp(got, p, n) == 0);
	free(got);
}

/* Compressible, incompressible, empty; around the sizes at which zstd hands out its output. */
static void bytes_come_back_as_they_went_in(void)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 131071, 131072, 131073, 262144, 1000003 };
	struct ledger *l = scene_open(scene_path("l"));
	char *p = xmalloc(1000003);

	for (int noise = 0; noise < 2; noise++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			uint32_t x = 1;

			for (size_t k = 0; k < sizes[i]; k++) {
				x = x * 1664525 + 1013904223;
				p[k] = noise ? (char)(x >> 24) : (char)(k / 1000);
			}
			struct ledger_blob b CLEANUP(ledger_blob_release) = put(l, p, sizes[i]);

			comes_back(l, &b, p, sizes[i]);
		}
	free(p);
	ledger_close(l);
}

static char *file_of(const struct ledger_blob *b, const char *end)
{
	return xasprintf("%s/%.2s/%s%s", scene_path("l/blobs"), b->digest, b->digest + 2, end);
}

static void text_is_kept_compressed(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct str s CLEANUP(str_release) = { 0 };
	struct stat st;
	AUTO_FREE char *path = NULL;

	str_pad(&s, 'x', 100000);
	struct ledger_blob b CLEANUP(ledger_blob_release) = put(l, s.p, s.n);

	path = file_of(&b, ".zst");
	CHECK(stat(path, &st) == 0 && st.st_size < 1000);
	ledger_close(l);
}

static void damage_is_told_from_absence(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *path = NULL, *text = NULL;
	char *got;
	size_t n, m;

	str_pad(&s, 'x', 100000);
	struct ledger_blob b CLEANUP(ledger_blob_release) = put(l, s.p, s.n);

	path = file_of(&b, ".zst");
	CHECK_OK(file_read(path, 100000, &text, &n, &err), err);
	for (size_t cut = 0; cut < n; cut++) {
		CHECK_OK(file_write(path, text, cut, 0644, &err), err);
		CHECK_INT(ledger_blob_get(l, b.digest, 0, &got, &m, &err), -ERR_BROKEN);
		err = ERR_INIT;
	}
	{
		struct str twice CLEANUP(str_release) = { 0 };

		str_addn(&twice, text, n);
		str_addn(&twice, text, n);
		CHECK_OK(file_write(path, twice.p, twice.n, 0644, &err), err);
		CHECK_INT(ledger_blob_get(l, b.digest, 0, &got, &m, &err), -ERR_BROKEN);
	}
	err = ERR_INIT;
	CHECK_INT(unlink(path), 0);
	CHECK_INT(ledger_blob_get(l, b.digest, 0, &got, &m, &err), -ERR_NOT_FOUND);
	ledger_close(l);
}

static void a_torn_blob_is_written_again(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_blob a CLEANUP(ledger_blob_release) = put(l, "evidence", 8);
	AUTO_FREE char *path = file_of(&a, "");
	struct err err = ERR_INIT;

	CHECK_OK(file_write(path, "evid", 4, 0644, &err), err);
	struct ledger_blob b CLEANUP(ledger_blob_release) = put(l, "evidence", 8);

	comes_back(l, &b, "evidence", 8);
	ledger_close(l);
}

static void a_small_limit_stops_a_large_blob(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	char *got;
	size_t n;

	str_pad(&s, 'x', 10 * MIB); /* 1 KiB on disk */
	struct ledger_blob b CLEANUP(ledger_blob_release) = put(l, s.p, s.n);

	CHECK_INT(ledger_blob_get(l, b.digest, 1000, &got, &n, &err), -ERR_LIMIT);
	err = ERR_INIT;
	CHECK_INT(ledger_blob_get(l, "../../etc/passwd", 1000, &got, &n, &err), -ERR_PARSE);
	ledger_close(l);
}

static void a_link_in_the_place_of_a_blob_is_not_followed(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_blob a CLEANUP(ledger_blob_release) = put(l, "evidence", 8);
	AUTO_FREE char *path = file_of(&a, "");
	struct err err = ERR_INIT;
	char *got;
	size_t n;

	CHECK_INT(unlink(path), 0);
	CHECK_OK(file_write(scene_path("other"), "evidence", 8, 0644, &err), err);
	CHECK_INT(symlink(scene_path("other"), path), 0);
	CHECK(ledger_blob_get(l, a.digest, 0, &got, &n, &err) < 0);
	ledger_close(l);
}

static void a_media_type_holds_no_blank(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_blob b = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(ledger_blob_put(l, "x", 1, "text/plain; charset=\"x\"", &b, &err), -ERR_PARSE);
	ledger_close(l);
}

TEST_MAIN(TEST(bytes_come_back_as_they_went_in), TEST(text_is_kept_compressed),
	  TEST(damage_is_told_from_absence), TEST(a_torn_blob_is_written_again),
	  TEST(a_small_limit_stops_a_large_blob),
	  TEST(a_link_in_the_place_of_a_blob_is_not_followed), TEST(a_media_type_holds_no_blank))
