/* SPDX-License-Identifier: Apache-2.0 */
/* A remembered answer of the loader holds only while nothing it rests on has moved. */
#include "capture/memo.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "readers/readers.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char *at(const char *name)
{
	return path_join(test_dir(), name);
}

static void put(const char *name, const char *text)
{
	AUTO_FREE char *path = at(name);
	struct err err = ERR_INIT;

	CHECK_OK(file_write(path, text, strlen(text), 0644, &err), err);
}

static void folder(const char *name)
{
	AUTO_FREE char *path = at(name);

	CHECK_INT(mkdir(path, 0755), 0);
}

static int64_t later(void)
{
	return clock_wall_ms() * NS_PER_MS + 3600 * NS_PER_S;
}

/* Two folders are searched; the library is in the second, by a link. */
static char *asked(int64_t before_ns)
{
	struct memo m CLEANUP(memo_release) = { .before_ns = before_ns };
	AUTO_FREE char *debug =
		xasprintf("  77:\tfind library=libx.so.1 [0]; searching\n"
			  "  77:\t search path=%s/one/hwcaps:%s/one:%s/two\t\t(LD_"
			  "LIBRARY_PATH)\n"
			  "  77:\t  trying file=%s/one/libx.so.1\n"
			  "  77:\t  trying file=%s/two/libx.so.1\n"
			  "  77:\t search cache=%s/cache\n",
			  test_dir(), test_dir(), test_dir(), test_dir(), test_dir(), test_dir());
	AUTO_FREE char *lib = at("two/libx.so.1");

	memo_loader(&m, sv_of(debug));
	memo_lib(&m, "libx.so.1", lib);
	return memo_text(&m);
}

static void machine(void)
{
	AUTO_FREE char *link = at("two/libx.so.1");

	folder("one");
	folder("two");
	folder("real");
	put("cache", "ld.so.cache");
	put("real/a.so", "first");
	put("real/b.so", "second");
	CHECK_INT(symlink("../real/a.so", link), 0);
}

static bool holds(const char *text)
{
	struct loaded_list l CLEANUP(loaded_list_release) = { 0 };

	if (!memo_read(text, &l))
		return false;
	CHECK_INT(l.n, 1);
	CHECK_STR(l.v[0].name, "libx.so.1");
	CHECK(str_ends(l.v[0].path, "/two/libx.so.1"));
	return true;
}

static void it_holds_while_nothing_moves(void)
{
	AUTO_FREE char *text = NULL;

	machine();
	text = asked(later());
	CHECK(text && !strchr(text, '\n'));
	CHECK(holds(text));
	put("real/c.so", "another one, where nobody looks");
	CHECK(holds(text));
}

static void shadow(void)
{
	put("one/libx.so.1", "found first");
}

static void hwcaps(void)
{
	folder("one/hwcaps");
}

static void retarget(void)
{
	AUTO_FREE char *tmp = at("two/tmp");
	AUTO_FREE char *link = at("two/libx.so.1");

	CHECK_INT(symlink("../real/b.so", tmp), 0);
	CHECK_INT(rename(tmp, link), 0);
}

static void rewrite(void)
{
	AUTO_FREE char *path = at("real/a.so");
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, "FIRST", 5) == 5);
}

/* The same size, and the time set back to what it was: ctime can't be set. */
static void rewrite_and_set_back(void)
{
	AUTO_FREE char *path = at("real/a.so");
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	rewrite();
	CHECK_INT(utimensat(AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
}

static void remove_it(void)
{
	AUTO_FREE char *link = at("two/libx.so.1");

	CHECK_INT(unlink(link), 0);
}

static void loader_cache(void)
{
	put("cache", "another ld.so.cache");
}

static void any_move_ends_it(void)
{
	static void (*const moves[])(void) = {
		shadow, hwcaps, retarget, rewrite, rewrite_and_set_back, remove_it, loader_cache
	};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		AUTO_FREE char *text = NULL;
		struct err err = ERR_INIT;
		static const char *const made[] = { "one", "two", "real" };

		for (size_t k = 0; k < ARRAY_SIZE(made); k++) {
			AUTO_FREE char *dir = at(made[k]);

			if (dir_exists(dir))
				CHECK_OK(dir_remove(dir, &err), err);
		}
		machine();
		text = asked(later());
		CHECK(holds(text));
		/* Two writes within one tick of the file system's clock look alike. */
		sleep_ns(20 * NS_PER_MS);
		moves[i]();
		printf("# move %zu\n", i);
		CHECK(!holds(text));
	}
}

static void what_moved_meanwhile_is_not_kept(void)
{
	AUTO_FREE char *young = NULL;

	machine();
	/* Asked since an hour ago: all of it is younger. */
	young = asked(clock_wall_ms() * NS_PER_MS - 3600 * NS_PER_S);
	CHECK(!young);
}

static void without_proof_nothing_is_kept(void)
{
	struct memo silent CLEANUP(memo_release) = { .before_ns = later() };
	struct memo relative CLEANUP(memo_release) = { .before_ns = later() };
	struct memo lost CLEANUP(memo_release) = { .before_ns = later() };
	AUTO_FREE char *lib = at("two/libx.so.1");
	AUTO_FREE char *gone = at("two/liby.so.1");
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;
	AUTO_FREE char *c = NULL;

	machine();
	memo_loader(&silent, SV("")); /* a loader that does not say where it looked */
	memo_lib(&silent, "libx.so.1", lib);
	a = memo_text(&silent);
	CHECK(!a);
	memo_loader(&relative, SV("find library=x\n search path=lib:.\t\t(LD_LIBRARY_PATH)\n"));
	memo_lib(&relative, "libx.so.1", lib);
	b = memo_text(&relative);
	CHECK(!b);
	memo_loader(&lost, SV("find library=x\n"));
	memo_lib(&lost, "liby.so.1", gone);
	c = memo_text(&lost);
	CHECK(!c);
}

static void broken_texts_prove_nothing(void)
{
	static const char *const bad[] = { "",
					   "x",
					   "L\ta\t/a\t",
					   "-\t/no/such/file\tL\ta\t/a\t",
					   "+\t1\t2\tL\ta\t/a\t",
					   "+\t1\t2\t3\t4\t5\t/etc\tL\ta\t/a\t",
					   "?\t/a\t",
					   "-\t/etc\tL\ta\t/a\t" };
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!holds(bad[i]));
	machine();
	text = asked(later());
	for (size_t n = 0; n < strlen(text); n++) {
		AUTO_FREE char *part = xstrndup(text, n);

		CHECK(!holds(part));
	}
}

TEST_MAIN(TEST(it_holds_while_nothing_moves), TEST(any_move_ends_it),
	  TEST(what_moved_meanwhile_is_not_kept), TEST(without_proof_nothing_is_kept),
	  TEST(broken_texts_prove_nothing))
