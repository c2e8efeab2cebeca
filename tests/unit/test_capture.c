/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of the machine the test runs on, whatever it is. */
#include "base/err.h"
#include "base/file.h"
#include "capture/capture.h"
#include "test.h"

#define PYTHON "/usr/bin/python3"

static char *text_of(const struct stack *s)
{
	AUTO_JSON json_t *j = stack_to_json(s);

	return json_text(j, /* pretty= */ true);
}

static void fill(struct capture_conf *conf)
{
	if (file_exists(PYTHON)) {
		conf->python = PYTHON;
		strs_add(&conf->modules, "numpy");
	}
	conf->tool_version = "0.1.0";
}

static void a_quick_capture_says_the_same_as_a_full_one(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };
	AUTO_FREE char *cache = path_join(test_dir(), "cache");
	struct stack full CLEANUP(stack_release) = { 0 };
	struct stack quick CLEANUP(stack_release) = { 0 };
	struct stack cached CLEANUP(stack_release) = { 0 };
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;
	AUTO_FREE char *c = NULL;
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct err err = ERR_INIT;

	fill(&conf);
	conf.cache_path = cache;
	CHECK_OK(capture_stack(&conf, &full, &err), err);
	conf.quick = true;
	conf.known = &full;
	CHECK_OK(capture_stack(&conf, &quick, &err), err);
	CHECK_OK(capture_stack(&conf, &cached, &err), err);
	stack_diff(&full, &quick, &changes);
	CHECK_INT(changes.n_material, 0);
	a = text_of(&quick);
	b = text_of(&cached);
	CHECK_STR(b, a);
	/* A broken cache is no cache. */
	CHECK_OK(file_write(cache, "twice digest cache 1\nrubbish\n", 29, 0600, &err), err);
	stack_release(&cached);
	CHECK_OK(capture_stack(&conf, &cached, &err), err);
	c = text_of(&cached);
	CHECK_STR(c, a);
}

static int grep_finds(const char *what, const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("grep", "grep", "-rq", what, dir, (char *)NULL);
		_exit(127);
	}
	return WEXITSTATUS(test_reap(pid));
}

static void a_recording_gives_the_same_stack(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };
	AUTO_FREE char *dir = path_join(test_dir(), "machine");
	struct stack live CLEANUP(stack_release) = { 0 };
	struct stack replayed CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(setenv("NCCL_SECRET_KEY", "hunter22", 1), 0);
	CHECK_INT(setenv("NCCL_DEBUG", "INFO", 1), 0);
	fill(&conf);
	CHECK_OK(capture_save(&conf, dir, &live, &err), err);
	conf.root = dir;
	CHECK_INT(setenv("NCCL_DEBUG", "WARN", 1), 0); /* another day, another shell */
	CHECK_OK(capture_stack(&conf, &replayed, &err), err);
	stack_diff(&live, &replayed, &changes);
	for (size_t i = 0; i < changes.n_material; i++) {
		AUTO_FREE char *t = change_text(&changes.v[i]);

		printf("# %s\n", t);
	}
	CHECK_INT(changes.n_material, 0);
	CHECK_STR(stack_find_name(&replayed, "env.NCCL_DEBUG")->version, "INFO");
	CHECK_STR(stack_find_name(&replayed, "env.NCCL_SECRET_KEY")->version, "[redacted]");
	CHECK_INT(grep_finds("hunter22", dir), 1); /* grep's "nowhere" */
	conf.root = NULL;
	CHECK_INT(capture_save(&conf, dir, &live, &err), -ERR_CONFLICT);
}

static void unknown_things_are_unknown(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };
	struct stack s CLEANUP(stack_release) = { 0 };
	static const char *const names[] = { "python", "numpy", "blas", "model", "server" };
	struct capture_program *p;
	struct err err = ERR_INIT;

	conf.python = "/nonexistent/python";
	strs_add(&conf.modules, "numpy");
	capture_add_file(&conf, "model", "/nonexistent/model", CL_MODEL);
	p = capture_add_program(&conf, "server", CL_ENGINE);
	strs_add(&p->argv, "/bin/false");
	CHECK_OK(capture_stack(&conf, &s, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct component *c = stack_find_name(&s, names[i]);

		CHECK(c);
		CHECK(!c->version);
		CHECK(c->note && c->note[0]);
	}
}

static void a_process_tells_what_it_really_has(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { 0 };
	struct stack s CLEANUP(stack_release) = { 0 };
	struct stack quick CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct err err = ERR_INIT;
	const struct component *c;
	int ready[2];
	pid_t pid;
	char byte;

	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		/* A start script that overrides what it was given. */
		dup2(ready[1], 1);
		setenv("OMP_NUM_THREADS", "1", 1);
		unsetenv("NCCL_DEBUG");
		execlp("sh", "sh", "-c", "echo x; exec sleep 100", (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	conf.pid = pid;
	strs_add(&conf.environment, "OMP_NUM_THREADS=4");
	strs_add(&conf.environment, "NCCL_DEBUG=INFO");
	CHECK_OK(capture_stack(&conf, &s, &err), err);
	c = stack_find_name(&s, "env.OMP_NUM_THREADS");
	CHECK_STR(c->version, "1");
	CHECK_STR(c->requested, "4");
	CHECK_STR(stack_find_name(&s, "env.NCCL_DEBUG")->version, "not set");
	CHECK_HAS(stack_find_name(&s, "libc")->origin, "process /");
	kill(pid, SIGKILL);
	CHECK_INT(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	/* Dead but not reaped: an empty environment would say that nothing was set. */
	CHECK_INT(capture_stack(&conf, &quick, &err), -ERR_NOT_FOUND);
	test_reap(pid);

	/* Without the process nothing is stale ... */
	conf.pid = 0;
	conf.quick = true;
	conf.known = &s;
	CHECK_OK(capture_stack(&conf, &quick, &err), err);
	stack_diff(&s, &quick, &changes);
	CHECK_INT(changes.n_material, 0);
	/* ... until we would give it something else. */
	free(conf.environment.v[0]);
	conf.environment.v[0] = xstrdup("OMP_NUM_THREADS=8");
	stack_release(&quick);
	changes_release(&changes);
	CHECK_OK(capture_stack(&conf, &quick, &err), err);
	stack_diff(&s, &quick, &changes);
	CHECK_INT(changes.n_material, 1);
	CHECK_STR(change_name(&changes.v[0]), "env.OMP_NUM_THREADS");
	/* A process that is gone is an error, not an empty answer. */
	conf.pid = pid;
	CHECK_INT(capture_stack(&conf, &quick, &err), -ERR_NOT_FOUND);
}

static void a_changed_model_shows(void)
{
	struct capture_conf conf CLEANUP(capture_conf_release) = { .dir = test_dir() };
	AUTO_FREE char *path = path_join(test_dir(), "model.bin");
	struct stack a CLEANUP(stack_release) = { 0 };
	struct stack b CLEANUP(stack_release) = { 0 };
	AUTO_FREE char *cache = path_join(test_dir(), "cache");
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct err err = ERR_INIT;

	conf.cache_path = cache;
	conf.quick = true;
	capture_add_file(&conf, "model", "model.bin", CL_MODEL);
	CHECK_OK(file_write(path, "aaaa", 4, 0644, &err), err);
	CHECK_OK(capture_stack(&conf, &a, &err), err);
	/* The same size, at once: the cache must not be fooled by coarse time stamps. */
	CHECK_OK(file_write(path, "aaab", 4, 0644, &err), err);
	CHECK_OK(capture_stack(&conf, &b, &err), err);
	stack_diff(&a, &b, &changes);
	CHECK_INT(changes.n_material, 1);
	CHECK_INT(change_layer(&changes.v[0]), CL_MODEL);
}

static void a_cancelled_capture_is_an_error(void)
{
	static const int stop = 1;
	const struct capture_conf conf = { .cancel = &stop };
	struct stack s CLEANUP(stack_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(capture_stack(&conf, &s, &err), -ERR_INTERRUPTED);
}

TEST_MAIN(TEST(a_quick_capture_says_the_same_as_a_full_one), TEST(a_recording_gives_the_same_stack),
	  TEST(unknown_things_are_unknown), TEST(a_process_tells_what_it_really_has),
	  TEST(a_changed_model_shows), TEST(a_cancelled_capture_is_an_error))
