/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness: one fork and 30 s a test, TAP out.
 *
 *	static void adds_up(void) { CHECK_INT(1 + 1, 2); }
 *	TEST_MAIN(TEST(adds_up), TEST(needs_two_gpus))
 *
 * A CHECK that fails prints where and what, and ends that test; test_skip("no GPU here") ends it as
 * skipped. Each test has a fresh empty folder: test_dir().
 */
#pragma once

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct test {
	const char *name;
	void (*run)(void);
};
#define TEST(f)      ((struct test){ #f, f })
#define TEST_LIMIT_S 30

static char test_dir_path[64];

static inline const char *test_dir(void)
{
	return test_dir_path;
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void test_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("#SKIP ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	exit(77);
}

__attribute__((noreturn, format(printf, 3, 4))) static inline void
test_fails(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# %s:%d: ", file, line);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	_exit(1);
}

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			test_fails(__FILE__, __LINE__, "not true: %s", #cond);                     \
	} while (0)
#define CHECK_INT(got, want)                                                                       \
	do {                                                                                       \
		long long g_ = (long long)(got), w_ = (long long)(want);                           \
		if (g_ != w_)                                                                      \
			test_fails(__FILE__, __LINE__, "%s is %lld, want %lld", #got, g_, w_);     \
	} while (0)
#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *g_ = (got), *w_ = (want);                                              \
		if (!g_ || !w_ || strcmp(g_, w_) != 0)                                             \
			test_fails(__FILE__, __LINE__, "%s is '%s', want '%s'", #got,              \
				   g_ ? g_ : "(null)", w_ ? w_ : "(null)");                        \
	} while (0)
#define CHECK_HAS(got, part)                                                                       \
	do {                                                                                       \
		const char *g_ = (got), *w_ = (part);                                              \
		if (!g_ || !strstr(g_, w_))                                                        \
			test_fails(__FILE__, __LINE__, "%s is '%s', want '%s' in it", #got,        \
				   g_ ? g_ : "(null)", w_);                                        \
	} while (0)
#define CHECK_NEAR(got, want, tol)                                                                 \
	do {                                                                                       \
		double g_ = (got), w_ = (want);                                                    \
		if (!(fabs(g_ - w_) <= (tol)))                                                     \
			test_fails(__FILE__, __LINE__, "%s is %.17g, want %.17g", #got, g_, w_);   \
	} while (0)
/* A call that returns 0, or the test ends with the error's text. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		int rc_ = (call);                                                                  \
		if (rc_ != 0)                                                                      \
			test_fails(__FILE__, __LINE__, "%s: %d: %s", #call, rc_, (err).msg);       \
	} while (0)

static inline int test_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static inline void test_remove_dir(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", dir, (char *)NULL);
		_exit(127);
	}
	(void)test_reap(pid);
}

static inline void test_one(const struct test *t, size_t number, bool *all_ok)
{
	char skip[200] = "";
	int pipe_fd[2], status;
	FILE *from;
	pid_t pid;

	snprintf(test_dir_path, sizeof(test_dir_path), "/tmp/twice-test-XXXXXX");
	if (!mkdtemp(test_dir_path) || pipe(pipe_fd) < 0)
		exit(99);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(pipe_fd[0]);
		dup2(pipe_fd[1], 1);
		alarm(TEST_LIMIT_S);
		t->run();
		fflush(stdout);
		exit(0);
	}
	close(pipe_fd[1]);
	from = fdopen(pipe_fd[0], "r");
	for (char line[1000]; from && fgets(line, sizeof(line), from);) {
		if (strncmp(line, "#SKIP ", 6) == 0)
			snprintf(skip, sizeof(skip), "%.*s", (int)strcspn(line + 6, "\n"),
				 line + 6);
		else
			printf("%s%s", line[0] == '#' ? "" : "# ", line);
	}
	fclose(from);
	status = test_reap(pid);
	test_remove_dir(test_dir_path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77 && skip[0]) {
		printf("ok %zu - %s # SKIP %s\n", number, t->name, skip);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		printf("ok %zu - %s\n", number, t->name);
	} else {
		if (WIFSIGNALED(status))
			printf("# signal %d%s\n", WTERMSIG(status),
			       WTERMSIG(status) == SIGALRM ? " (time limit)" : "");
		printf("not ok %zu - %s\n", number, t->name);
		*all_ok = false;
	}
}

static inline int test_main(const struct test *tests, size_t n)
{
	bool all_ok = true;

	printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++)
		test_one(&tests[i], i + 1, &all_ok);
	return all_ok ? 0 : 1;
}

#define TEST_MAIN(...)                                                                             \
	int main(void)                                                                             \
	{                                                                                          \
		static const struct test tests[] = { __VA_ARGS__ };                                \
		return test_main(tests, sizeof(tests) / sizeof(tests[0]));                         \
	}
