/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness: one fork and 30 s a test, TAP out.
 *
 *	static void adds_up(void) { CHECK_INT(1 + 1, 2); }
 *	TEST_MAIN(TEST(adds_up), TEST(needs_two_gpus))
 *
 * A CHECK that fails prints where and what, and ends that test; test_skip("no GPU here") ends it as
 * skipped. Each test has a fresh empty folder: test_dir(). A test that crashes, leaks (under a
 * sanitizer), runs over the limit or leaves a process running fails, and only that test.
 *
 * CHECK_TIME is for spans of time that a busy machine may stretch: a test that ends by one is
 * played again, TEST_PLAYS times in all. What is wrong is wrong in every play; a busy machine is
 * not busy in all of them.
 */
#pragma once

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* gcc says it by macros, clang by features. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED
#endif

struct test {
	const char *name;
	void (*run)(void);
};
#define TEST(f)      ((struct test){ #f, f })
#define TEST_LIMIT_S 30
#define TEST_PLAYS   5
#define TEST_BUSY    75 /* exit code: only a span of time was not as wanted */

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
/* low <= got <= high, in any unit of time (or what follows from it, like a rate). */
#define CHECK_TIME(got, low, high)                                                                 \
	do {                                                                                       \
		double g_ = (got), l_ = (low), h_ = (high);                                        \
		if (!(g_ >= l_ && g_ <= h_)) {                                                     \
			printf("# %s:%d: %s is %g, want %g to %g\n", __FILE__, __LINE__, #got, g_, \
			       l_, h_);                                                            \
			fflush(stdout);                                                            \
			_exit(TEST_BUSY);                                                          \
		}                                                                                  \
	} while (0)
/* A call that returns 0, or the test ends with the error's text. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		int rc_ = (call);                                                                  \
		if (rc_ != 0)                                                                      \
			test_fails(__FILE__, __LINE__, "%s: %d: %s", #call, rc_, (err).msg);       \
	} while (0)

/* The limit of one test; TWICE_TEST_LIMIT_S changes it, for slow builds and the harness's own test.
 */
static inline int64_t test_limit_ms(void)
{
	const char *text = getenv("TWICE_TEST_LIMIT_S");
	double s = text ? strtod(text, NULL) : 0;

	return (int64_t)((s > 0 ? s : TEST_LIMIT_S) * 1000);
}

static inline int64_t test_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for a child and returns its status, or -1. */
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

/* Prints what the test wrote, as comments; keeps the reason of a skip. */
struct test_output {
	char line[1000], skip[200];
	size_t n;
};

static inline void test_output_line(struct test_output *o)
{
	o->line[o->n] = '\0';
	if (strncmp(o->line, "#SKIP ", 6) == 0)
		snprintf(o->skip, sizeof(o->skip), "%s", o->line + 6);
	else if (o->n > 0)
		printf("%s%s\n", o->line[0] == '#' ? "" : "# ", o->line);
	o->n = 0;
}

/* False at the end. */
static inline bool test_output_read(struct test_output *o, int fd)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\n' || o->n == sizeof(o->line) - 1)
			test_output_line(o);
		if (buf[i] != '\n')
			o->line[o->n++] = buf[i];
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

/*
 * Kills and reaps what the test left behind: this process is the subreaper, so they are its
 * children now. A process that is just ending has half a second. Returns how many had to be killed.
 */
static inline int test_kill_left_overs(void)
{
	int64_t until = test_now_ms() + 500;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) != -1 && test_now_ms() < until)
		if (pid == 0)
			usleep(2000);
	for (int killed = 0;; killed++) {
		char path[64];
		long child = 0;
		FILE *f;

		if (waitpid(-1, NULL, WNOHANG) == -1)
			return killed;
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
		f = fopen(path, "r");
		if (!f || fscanf(f, "%ld", &child) != 1 || child <= 0) {
			if (f)
				fclose(f);
			return killed + 1;
		}
		fclose(f);
		kill((pid_t)child, SIGKILL);
		(void)test_reap((pid_t)child);
	}
}

/* Waits for the test and passes its output on. False: it was over its limit and was killed. */
static inline bool test_watch(pid_t pid, int fd, struct test_output *o, int *status)
{
	int64_t until = test_now_ms() + test_limit_ms();
	struct pollfd from = { .fd = fd, .events = POLLIN };
	bool open = true, in_time = true;

	for (;;) {
		pid_t ended;

		/* Orphans of the test are reaped as init would: at once. */
		do {
			ended = waitpid(-1, status, WNOHANG);
		} while (ended > 0 && ended != pid);
		/* Something it started may hold the pipe, or never stop writing. */
		for (int k = 0; open && k < 64 && poll(&from, 1, ended == pid ? 0 : 5) > 0; k++)
			open = test_output_read(o, fd);
		if (ended == pid)
			break;
		if (!open)
			usleep(1000);
		if (test_now_ms() > until && in_time) {
			in_time = false;
			kill(pid, SIGKILL);
		}
	}
	test_output_line(o);
	return in_time;
}

enum test_end { TEST_OK, TEST_SKIPPED, TEST_FAILED, TEST_AGAIN };

/* One play; out has the reason of a skip. */
static inline enum test_end test_play(const struct test *t, bool last, struct test_output *out)
{
	int pipe_fd[2], status = 0, left;
	bool in_time;
	pid_t pid;

	snprintf(test_dir_path, sizeof(test_dir_path), "/tmp/twice-test-XXXXXX");
	if (!mkdtemp(test_dir_path) || pipe(pipe_fd) < 0)
		exit(99);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(pipe_fd[0]);
		dup2(pipe_fd[1], 1);
		close(pipe_fd[1]);
		t->run();
		fflush(stdout);
		exit(0);
	}
	close(pipe_fd[1]);
	in_time = test_watch(pid, pipe_fd[0], out, &status);
	close(pipe_fd[0]);
	left = test_kill_left_overs();
	test_remove_dir(test_dir_path);
	/* It ended in the middle: what it left running says nothing then. */
	if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == TEST_BUSY)
		return last ? TEST_FAILED : TEST_AGAIN;
	if (!in_time)
		printf("# over the time limit of %lld ms\n", (long long)test_limit_ms());
	else if (WIFSIGNALED(status))
		printf("# signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 1 && !out->skip[0])
		printf("# exit code %d\n", WEXITSTATUS(status));
	if (left > 0)
		printf("# left %d process%s running\n", left, left == 1 ? "" : "es");
	if (!in_time || left > 0 || !WIFEXITED(status))
		return TEST_FAILED;
	if (WEXITSTATUS(status) == 77 && out->skip[0])
		return TEST_SKIPPED;
	return WEXITSTATUS(status) == 0 ? TEST_OK : TEST_FAILED;
}

static inline bool test_one(const struct test *t, size_t number)
{
	struct test_output out = { .n = 0 };
	enum test_end end = TEST_AGAIN;

	for (int play = 1; end == TEST_AGAIN; play++) {
		end = test_play(t, play == TEST_PLAYS, &out);
		if (end == TEST_AGAIN)
			printf("# play %d of %d was not in time\n", play, TEST_PLAYS);
	}
	printf("%sok %zu - %s%s%s\n", end == TEST_FAILED ? "not " : "", number, t->name,
	       end == TEST_SKIPPED ? " # SKIP " : "", end == TEST_SKIPPED ? out.skip : "");
	return end != TEST_FAILED;
}

static inline int test_main(const struct test *tests, size_t n)
{
	bool all_ok = true;

	/* What a test leaves behind becomes our child, so that it is seen and ended. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++)
		all_ok = test_one(&tests[i], i + 1) && all_ok;
	return all_ok ? 0 : 1;
}

#define TEST_MAIN(...)                                                                             \
	int main(void)                                                                             \
	{                                                                                          \
		static const struct test tests[] = { __VA_ARGS__ };                                \
		return test_main(tests, sizeof(tests) / sizeof(tests[0]));                         \
	}
