/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/file.h"
#include "capture/cache.h"
#include "test.h"

static const struct cache_id id = {
	.dev = 1, .ino = UINT64_MAX, .size = 3, .mtime_ns = 4, .ctime_ns = 5
};
#define LATER (10 * NS_PER_S)

static void remembers_what_is_unchanged(void)
{
	struct cache c CLEANUP(cache_release) = { 0 };
	struct cache d CLEANUP(cache_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct cache_id other = id;

	cache_put(&c, 'f', "/a b", &id, "x\ty", LATER);
	cache_put(&c, 'p', "/a b", &id, "program", LATER);
	cache_text(&c, &s);
	CHECK(cache_parse(&d, sv_str(&s)));
	CHECK_STR(cache_get(&d, 'f', "/a b", &id), "x\ty");
	CHECK_STR(cache_get(&d, 'p', "/a b", &id), "program");
	CHECK(!cache_get(&d, 'f', "/c", &id));
	other.ctime_ns++;
	CHECK(!cache_get(&d, 'f', "/a b", &other));
	other = id;
	other.ino--;
	CHECK(!cache_get(&d, 'f', "/a b", &other));
}

static void a_young_file_is_not_remembered(void)
{
	struct cache c CLEANUP(cache_release) = { 0 };

	cache_put(&c, 'f', "/a", &id, "x", id.ctime_ns + NS_PER_S);
	CHECK(!cache_get(&c, 'f', "/a", &id));
	CHECK(!c.changed);
}

static void odd_texts_are_not_remembered(void)
{
	struct cache c CLEANUP(cache_release) = { 0 };

	cache_put(&c, 'f', "/a\nb", &id, "x", LATER);
	cache_put(&c, 'f', "/a\tb", &id, "x", LATER);
	cache_put(&c, 'f', "/a", &id, "x\ny", LATER);
	CHECK_INT(c.n, 0);
}

static void any_changed_byte_empties_it(void)
{
	struct cache c CLEANUP(cache_release) = { 0 };
	struct cache d CLEANUP(cache_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };

	cache_put(&c, 'f', "/a", &id, "x", LATER);
	cache_text(&c, &s);
	for (size_t i = 0; i < s.n; i++) {
		s.p[i] ^= 1;
		CHECK(!cache_parse(&d, sv_str(&s)));
		CHECK_INT(d.n, 0);
		CHECK(!cache_parse(&d, (struct sv){ s.p, i }));
		s.p[i] ^= 1;
	}
	CHECK(cache_parse(&d, sv_str(&s)));
}

static void saved_and_loaded(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "cache");
	struct cache c CLEANUP(cache_release) = { 0 };
	struct cache d CLEANUP(cache_release) = { 0 };
	struct stat st;

	cache_load(&c, path);
	cache_save(&c, path);
	CHECK(!file_exists(path)); /* nothing to keep */
	cache_put(&c, 'f', "/a", &id, "x", LATER);
	cache_save(&c, path);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	cache_load(&d, path);
	CHECK_STR(cache_get(&d, 'f', "/a", &id), "x");
	cache_save(&c, "/nonexistent/folder/cache"); /* no error: it only saves time */
}

TEST_MAIN(TEST(remembers_what_is_unchanged), TEST(a_young_file_is_not_remembered),
	  TEST(odd_texts_are_not_remembered), TEST(any_changed_byte_empties_it),
	  TEST(saved_and_loaded))
