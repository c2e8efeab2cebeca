/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/err.h"
#include "base/str.h"

#include "test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void writes_whole_and_reads_back(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "a");
	AUTO_FREE char *text = NULL;
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	struct stat st;
	size_t n;

	CHECK_OK(file_write(path, "x\0y", 3, 0600, &err), err);
	CHECK_OK(file_read(path, 10, &text, &n, &err), err);
	CHECK_INT(n, 3);
	CHECK_INT(memcmp(text, "x\0y", 4), 0);
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK_OK(dir_list(test_dir(), &names, &err), err);
	CHECK_INT(names.n, 1); /* no temporary file is left */
}

static void refuses_what_is_too_large_or_not_there(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "a");
	char *text = NULL;
	struct err err = ERR_INIT;

	CHECK_INT(file_read(path, 10, &text, NULL, &err), -ERR_NOT_FOUND);
	CHECK_OK(file_write(path, "12345678901", 11, 0644, &err), err);
	CHECK_INT(file_read(path, 10, &text, NULL, &err), -ERR_LIMIT);
	CHECK_INT(file_read(test_dir(), 10, &text, NULL, &err), -ERR_IO);
	CHECK(text == NULL);
}

static void reads_proc_files_of_size_zero(void)
{
	AUTO_FREE char *line = file_first_line("/proc/self/stat");

	CHECK(line && strlen(line) > 10);
}

static void a_device_is_written_into_and_stays(void)
{
	AUTO_FREE char *link = path_join(test_dir(), "null");
	struct err err = ERR_INIT;
	struct stat st;

	CHECK_INT(symlink("/dev/null", link), 0);
	CHECK_OK(file_write(link, "x", 1, 0644, &err), err);
	CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK_INT(unlink(link), 0);
	CHECK_INT(symlink("/dev/full", link), 0);
	CHECK_INT(file_write(link, "x", 1, 0644, &err), -ERR_IO);
	CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
}

static void makes_and_removes_trees(void)
{
	AUTO_FREE char *deep = path_join(test_dir(), "a/b/c");
	AUTO_FREE char *top = path_join(test_dir(), "a");
	AUTO_FREE char *link = path_join(deep, "link");
	AUTO_FREE char *keep = path_join(test_dir(), "keep");
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(deep, &err), err);
	CHECK_OK(dir_make(deep, &err), err);
	CHECK_OK(dir_make(keep, &err), err);
	CHECK_INT(symlink(keep, link), 0);
	CHECK_OK(dir_remove(top, &err), err);
	CHECK(!file_exists(top));
	CHECK(dir_exists(keep)); /* links are not followed */
}

static void joins_and_splits_paths(void)
{
	AUTO_FREE char *a = path_join("x", "y");
	AUTO_FREE char *b = path_join("x/", "/y");
	AUTO_FREE char *c = path_dir("/y");
	AUTO_FREE char *sh = path_program("sh", NULL);

	CHECK_STR(a, "x/y");
	CHECK_STR(b, "/y");
	CHECK_STR(c, "/");
	CHECK_STR(path_base("a/b"), "b");
	CHECK(sh && sh[0] == '/');
	CHECK(path_program("no-such-program-here", NULL) == NULL);
}

static void make_old(const char *path)
{
	struct timespec then[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };

	CHECK_INT(utimensat(AT_FDCWD, path, then, 0), 0);
}

static void temporary_folders_of_the_killed_are_removed(void)
{
	AUTO_FREE char *left = path_join(test_dir(), "twice-x-AAAAAA");
	AUTO_FREE char *young = path_join(test_dir(), "twice-x-BBBBBB");
	AUTO_FREE char *longer = path_join(test_dir(), "twice-x-results");
	AUTO_FREE char *other = path_join(test_dir(), "twice-y-AAAAAA");
	AUTO_FREE char *link = path_join(test_dir(), "twice-x-CCCCCC");
	AUTO_FREE char *in = path_join(left, "in/deep");
	AUTO_FREE char *first = NULL;
	AUTO_FREE char *second = NULL;
	struct err err = ERR_INIT;

	CHECK_INT(setenv("TMPDIR", test_dir(), 1), 0);
	CHECK_OK(dir_make(in, &err), err);
	CHECK_OK(dir_make(young, &err), err);
	CHECK_OK(dir_make(longer, &err), err);
	CHECK_OK(dir_make(other, &err), err);
	CHECK_INT(symlink(other, link), 0);
	make_old(left);
	make_old(longer);
	make_old(other);
	CHECK_OK(dir_temp("x", &first, &err), err);
	CHECK(dir_exists(first));
	CHECK(!file_exists(left));
	CHECK(dir_exists(young) && dir_exists(longer) && dir_exists(other));
	make_old(first); /* in use for long, by this process */
	CHECK_OK(dir_temp("x", &second, &err), err);
	CHECK(dir_exists(first) && dir_exists(second));
}

TEST_MAIN(TEST(writes_whole_and_reads_back), TEST(refuses_what_is_too_large_or_not_there),
	  TEST(reads_proc_files_of_size_zero), TEST(a_device_is_written_into_and_stays),
	  TEST(makes_and_removes_trees), TEST(joins_and_splits_paths),
	  TEST(temporary_folders_of_the_killed_are_removed))
