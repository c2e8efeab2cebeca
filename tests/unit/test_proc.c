/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

#include "test.h"
#include <fcntl.h>

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void keeps_output_code_and_times(void)
{
	struct proc_spec spec = { .argv = ARGV("sh", "-c", "cat; echo oops >&2; exit 3"),
				  .in = "hello" };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_STR(str_text(&done.out), "hello");
	CHECK_STR(str_text(&done.err), "oops\n");
	CHECK_INT(done.exit_code, 3);
	CHECK(!proc_ok(&done));
	CHECK(done.wall_ns > 0);
}

static void ends_a_whole_group_at_the_time_limit(void)
{
	AUTO_FREE char *pid_file = path_join(test_dir(), "pid");
	AUTO_FREE char *script = xasprintf("sleep 60 & echo $! > %s; wait", pid_file);
	struct proc_spec spec = { .argv = ARGV("sh", "-c", script), .limit_ns = 300 * NS_PER_MS };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *pid = NULL;
	int64_t n;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK(done.timed_out);
	CHECK(!proc_ok(&done));
	pid = file_first_line(pid_file);
	CHECK(pid && sv_to_i64(sv_of(pid), 2, INT32_MAX, &n));
	for (int i = 0; i < 100 && kill((pid_t)n, 0) == 0; i++)
		sleep_ns(20 * NS_PER_MS);
	CHECK(kill((pid_t)n, 0) < 0 && errno == ESRCH);
}

static void cuts_output_at_its_limit_and_reads_on(void)
{
	struct proc_spec spec = { .argv = ARGV("sh", "-c", "yes | head -c 200000"),
				  .out_limit = 1000 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_INT(done.out.n, 1000);
	CHECK(done.out_cut && !done.err_cut);
	CHECK_INT(done.exit_code, 0);
}

static void who_never_stops_writing_is_ended_in_time(void)
{
	struct proc_spec spec = { .argv = ARGV("sh", "-c",
					       "trap '' TERM; cat /dev/zero & cat /dev/zero & cat "
					       "/dev/zero >&2 & cat /dev/zero"),
				  .out_limit = 1000,
				  .limit_ns = 300 * NS_PER_MS,
				  .grace_ns = 100 * NS_PER_MS };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK(done.timed_out && done.out_cut && done.err_cut);
	CHECK_INT(done.out.n, 1000);
}

/* Files, locks and sockets of ours are none of the child's business. */
static void a_child_gets_three_descriptors_and_no_more(void)
{
	CLEANUP(closep)
	int mine = open("/dev/null", O_RDONLY); /* as a careless parent leaves one */
	struct proc_spec spec = { .argv = ARGV("ls", "/proc/self/fd") };
	struct proc_spec first = { .argv = ARGV("sleep", "60") };
	struct proc *other CLEANUP(proc_freep) = NULL;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK(mine > 2);
	CHECK_OK(proc_start(&first, &other, &err), err);
	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_STR(str_text(&done.out), "0\n1\n2\n3\n"); /* 3 is that of ls itself */
}

/* Nothing between us and the program looks at the words. */
static void argv_is_taken_literally(void)
{
	struct proc_spec spec = { .argv = ARGV("printf", "%s|", "$HOME", "`id`", "a b", "*", ";",
					       "\n", "", "'\"") };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_STR(str_text(&done.out), "$HOME|`id`|a b|*|;|\n||'\"|");
}

static void says_which_program_is_missing(void)
{
	struct proc_spec spec = { .argv = ARGV("no-such-program-here") };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(proc_run(&spec, &done, &err), -ERR_NOT_FOUND);
	CHECK_STR(err.msg, "no program 'no-such-program-here'");
}

static void changes_the_environment_on_top_of_ours(void)
{
	struct proc_spec spec = { .argv = ARGV("sh", "-c", "echo $A,$B,${C-unset}"),
				  .env = ARGV("A=1", "C") };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	setenv("A", "0", 1);
	setenv("B", "2", 1);
	setenv("C", "3", 1);
	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_STR(str_text(&done.out), "1,2,unset\n");
}

struct seen {
	int n;
	char last[32];
};

static void see(void *arg, struct sv line)
{
	struct seen *s = arg;

	s->n++;
	snprintf(s->last, sizeof(s->last), SV_FMT, SV_ARG(line));
}

static void hands_over_whole_lines_while_it_runs(void)
{
	struct seen seen = { 0 };
	struct proc_spec spec = { .argv = ARGV("printf", "a\\nb\\nlast"),
				  .on_line = see,
				  .arg = &seen };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_INT(seen.n, 3);
	CHECK_STR(seen.last, "last");
}

static void a_signal_is_kept(void)
{
	struct proc_spec spec = { .argv = ARGV("sh", "-c", "kill -SEGV $$") };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *how = NULL;

	CHECK_OK(proc_run(&spec, &done, &err), err);
	CHECK_INT(done.term_signal, SIGSEGV);
	CHECK_INT(done.exit_code, -1);
	how = proc_how(&done);
	CHECK_STR(how, "signal 11 (Segmentation fault)");
}

static void a_cancelled_run_is_interrupted(void)
{
	volatile int cancel = 1;
	struct proc_spec spec = { .argv = ARGV("sleep", "20"), .cancel = &cancel };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(proc_run(&spec, &done, &err), -ERR_INTERRUPTED);
	CHECK(done.cancelled);
}

/* A parent that is killed outright leaves nothing behind, grandchildren included. */
static void nothing_outlives_a_killed_parent(void)
{
	AUTO_FREE char *pid_file = path_join(test_dir(), "pid");
	AUTO_FREE char *script = xasprintf("sleep 60 & echo $! > %s; wait", pid_file);
	AUTO_FREE char *line = NULL;
	pid_t parent = fork();
	int64_t n = 0;

	if (parent == 0) {
		struct proc_spec spec = { .argv = ARGV("sh", "-c", script) };
		struct err err = ERR_INIT;
		struct proc *p;

		if (proc_start(&spec, &p, &err) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < 250; i++) {
		free(line);
		line = file_first_line(pid_file);
		if (line && *line)
			break;
		sleep_ns(20 * NS_PER_MS);
	}
	CHECK(line && sv_to_i64(sv_of(line), 2, INT32_MAX, &n));
	CHECK_INT(kill((pid_t)n, 0), 0);
	kill(parent, SIGKILL);
	test_reap(parent);
	for (int i = 0; i < 250 && kill((pid_t)n, 0) == 0; i++)
		sleep_ns(20 * NS_PER_MS);
	CHECK(kill((pid_t)n, 0) < 0 && errno == ESRCH);
}

TEST_MAIN(TEST(keeps_output_code_and_times), TEST(ends_a_whole_group_at_the_time_limit),
	  TEST(cuts_output_at_its_limit_and_reads_on),
	  TEST(who_never_stops_writing_is_ended_in_time),
	  TEST(a_child_gets_three_descriptors_and_no_more), TEST(argv_is_taken_literally),
	  TEST(says_which_program_is_missing), TEST(changes_the_environment_on_top_of_ours),
	  TEST(hands_over_whole_lines_while_it_runs), TEST(a_signal_is_kept),
	  TEST(a_cancelled_run_is_interrupted), TEST(nothing_outlives_a_killed_parent))
