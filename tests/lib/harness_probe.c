/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that end in every way a test can end, for tests/tools/test_harness.py. */
#include "test.h"

#include <sys/mman.h>

static int *plays; /* shared with the tests, which are children */

static void passes(void)
{
	CHECK(access(test_dir(), W_OK) == 0);
	CHECK_INT(1 + 1, 2);
	CHECK_STR("a", "a");
	CHECK_HAS("abc", "bc");
	CHECK_NEAR(0.1 + 0.2, 0.3, 1e-12);
}

static void fails_true(void)
{
	CHECK(1 > 2);
}

static void fails_int(void)
{
	CHECK_INT(1 + 1, 3);
}

static void fails_str(void)
{
	CHECK_STR("a", "b");
}

static void fails_has(void)
{
	CHECK_HAS("abc", "x");
}

static void fails_near(void)
{
	CHECK_NEAR(NAN, 0.0, 1.0);
}

static void stops_at_the_first_failure(void)
{
	CHECK(false);
	printf("not reached\n");
}

static void crashes(void)
{
	raise(SIGSEGV);
}

static void exits(void)
{
	exit(3);
}

static void hangs(void)
{
	/* Not even a blocked alarm keeps it alive. */
	for (;;)
		pause();
}

static void leaves_a_process(void)
{
	if (fork() == 0)
		for (;;)
			pause();
}

static void writes_for_ever(void)
{
	for (;;)
		printf("\n");
}

static void is_skipped(void)
{
	test_skip("no %s here", "GPU");
}

static void exits_77_without_a_reason(void)
{
	exit(77);
}

static void says_ok_itself(void)
{
	printf("ok 99 - forged\nnot ok 98 - forged\n");
}

static void ends_its_line_late(void)
{
	printf("no end of line");
}

static void starts_a_process_and_waits(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* A test on a machine that is busy for two plays, and one whose span is wrong in all. */
static void in_time_the_third_time(void)
{
	plays[0]++;
	CHECK_TIME(plays[0], 3, 3);
}

static void never_in_time(void)
{
	plays[1]++;
	if (plays[1] > TEST_PLAYS)
		exit(4);
	CHECK_TIME(NAN, 0, 1);
}

__attribute__((constructor)) static void share(void)
{
	plays = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

TEST_MAIN(TEST(passes), TEST(fails_true), TEST(fails_int), TEST(fails_str), TEST(fails_has),
	  TEST(fails_near), TEST(stops_at_the_first_failure), TEST(crashes), TEST(exits),
	  TEST(hangs), TEST(leaves_a_process), TEST(writes_for_ever), TEST(is_skipped),
	  TEST(exits_77_without_a_reason), TEST(says_ok_itself), TEST(ends_its_line_late),
	  TEST(starts_a_process_and_waits), TEST(in_time_the_third_time), TEST(never_in_time))
