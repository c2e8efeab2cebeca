/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stray.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"

#include "test.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void tags_of_one_process_begin_alike_and_differ(void)
{
	char a[STRAY_TAG], b[STRAY_TAG];

	stray_tag(a);
	stray_tag(b);
	CHECK(str_starts(a, STRAY_NAME "="));
	CHECK(!streq(a, b));
	CHECK_INT(strrchr(a, '.') - a, strrchr(b, '.') - b);
	CHECK(strncmp(a, b, (size_t)(strrchr(a, '.') - a) + 1) == 0);
}

static bool gone(const char *pid_file)
{
	AUTO_FREE char *pid = file_first_line(pid_file);
	int64_t n = 0;

	CHECK(pid && sv_to_i64(sv_of(pid), 2, INT32_MAX, &n));
	return kill((pid_t)n, 0) < 0 && errno == ESRCH;
}

static void who_leaves_the_group_is_ended_too_unless_told(void)
{
	AUTO_FREE char *pid_file = path_join(test_dir(), "pid");
	/* A double fork, and a session of its own. */
	AUTO_FREE char *script =
		xasprintf("(setsid sh -c 'echo $$ > %s.n; mv %s.n %s; exec sleep 60' &) ; "
			  "while [ ! -e %s ]; do sleep 0.01; done",
			  pid_file, pid_file, pid_file, pid_file);
	struct proc_spec spec = { .argv = ARGV("sh", "-c", script) };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_INT(done.exit_code, 0);
	CHECK_INT(done.strays, 1);
	CHECK(gone(pid_file));
	(void)unlink(pid_file);
	proc_done_release(&done);
	done = (struct proc_done){ 0 };

	spec.leave = true;
	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_INT(done.strays, 0);
	CHECK(!gone(pid_file));
	AUTO_FREE char *pid = file_first_line(pid_file);
	int64_t n = 0;

	CHECK(pid && sv_to_i64(sv_of(pid), 2, INT32_MAX, &n) && kill((pid_t)n, SIGKILL) == 0);
}

/* Two children at once: the end of one is not the end of what the other left. */
static void each_child_has_strays_of_its_own(void)
{
	AUTO_FREE char *pid_file = path_join(test_dir(), "pid");
	AUTO_FREE char *script =
		xasprintf("(setsid sh -c 'echo $$ > %s.n; mv %s.n %s; exec sleep 60' &) ; sleep 60",
			  pid_file, pid_file, pid_file);
	struct proc_spec spec = { .argv = ARGV("sh", "-c", script) };
	struct proc_spec other = { .argv = ARGV("true") };
	struct proc *p CLEANUP(proc_freep) = NULL;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_start(&spec, &p, &err), err);
	for (int i = 0; i < 500 && !file_exists(pid_file); i++)
		(void)proc_poll(p, 10 * NS_PER_MS);
	CHECK_OK(proc_run(&other, &done, &err), err);
	CHECK_INT(done.strays, 0);
	CHECK(!gone(pid_file));
	proc_stop(p, SIGTERM, NS_PER_S, NULL);
	CHECK(gone(pid_file));
}

/* kill -9 of the one who started it all. */
static void nothing_that_left_its_group_outlives_a_killed_parent(void)
{
	AUTO_FREE char *pid_file = path_join(test_dir(), "pid");
	AUTO_FREE char *script =
		xasprintf("(setsid sh -c 'echo $$ > %s.n; mv %s.n %s; exec sleep 60' &) ; sleep 60",
			  pid_file, pid_file, pid_file);
	pid_t pid = fork();

	if (pid == 0) {
		struct proc_spec spec = { .argv = ARGV("sh", "-c", script) };
		struct proc *p;
		struct err err = ERR_INIT;

		if (proc_start(&spec, &p, &err) == 0)
			for (;;)
				sleep_ns(NS_PER_S);
		_exit(1);
	}
	for (int i = 0; i < 500 && !file_exists(pid_file); i++)
		sleep_ns(10 * NS_PER_MS);
	CHECK(!gone(pid_file));
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 500 && !gone(pid_file); i++)
		sleep_ns(10 * NS_PER_MS);
	CHECK(gone(pid_file));
}

TEST_MAIN(TEST(tags_of_one_process_begin_alike_and_differ),
	  TEST(who_leaves_the_group_is_ended_too_unless_told),
	  TEST(each_child_has_strays_of_its_own),
	  TEST(nothing_that_left_its_group_outlives_a_killed_parent))
