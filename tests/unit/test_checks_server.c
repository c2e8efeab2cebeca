/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the contract: started, waited for, ended, and nobody left on its port. */
#include "checks_server.h"

static int start(struct scene *s, struct server *ret, struct err *err)
{
	return server_start(&s->ctx, "server.log", 0, ret, err);
}

static void it_is_ready_when_it_answers_and_says_so(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "", NULL);
	CHECK_OK(start(&s, &v, &err), err);
	CHECK(v.ready_ns > 0 && v.port > 0 && !port_is_free(v.port));
	server_stop(&v, &s.c.workload_check.serve, SIGTERM, &done);
	CHECK_INT(done.exit_code, 0);
	CHECK(port_is_free(v.port));
}

static void a_line_that_never_comes_is_not_ready(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "quiet", NULL);
	s.c.workload_check.serve.ready.within_ns = NS_PER_S;
	CHECK_INT(start(&s, &v, &err), -ERR_TIMEOUT);
	CHECK_HAS(err.msg, "was not ready within 1");
}

static void one_that_never_answers_is_not_ready(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "never-ready", NULL);
	s.c.workload_check.serve.ready.within_ns = NS_PER_S;
	CHECK_INT(start(&s, &v, &err), -ERR_TIMEOUT);
}

static void one_that_dies_says_why_without_secrets(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "dies-at-once", NULL);
	CHECK_INT(start(&s, &v, &err), -ERR_BROKEN);
	CHECK_HAS(err.msg, "ended before it was ready (exit 1): cannot load the model");
	CHECK(!strstr(err.msg, "a1b2c3d4e5"));
}

static void one_that_does_not_hear_is_killed(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "deaf", NULL);
	CHECK_OK(start(&s, &v, &err), err);
	server_stop(&v, &s.c.workload_check.serve, SIGTERM, &done);
	CHECK_INT(done.term_signal, SIGKILL);
	CHECK(port_is_free(v.port));
}

static void a_successor_takes_the_same_address(void)
{
	struct server a CLEANUP(server_release) = { 0 }, b CLEANUP(server_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "", NULL);
	CHECK_OK(start(&s, &a, &err), err);
	server_stop(&a, &s.c.workload_check.serve, SIGKILL, NULL);
	CHECK_OK(server_start(&s.ctx, "again.log", a.port, &b, &err), err);
	CHECK_STR(b.url, a.url);
}

static void an_interruption_ends_the_wait(void)
{
	struct server v CLEANUP(server_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	server_scene(&s, NULL, "never-ready", NULL);
	scene_cancel = 1;
	CHECK_INT(start(&s, &v, &err), -ERR_INTERRUPTED);
}

static void a_log_over_its_limit_is_seen(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "log");

	test_file("log", "x", 0644);
	CHECK(!log_too_long(path) && !log_too_long("/no/such/file") && !log_too_long(NULL));
	CHECK_INT(truncate(path, 1024L * 1024 * 1024 + 1), 0); /* sparse */
	CHECK(log_too_long(path));
}

TEST_MAIN(TEST(it_is_ready_when_it_answers_and_says_so), TEST(a_line_that_never_comes_is_not_ready),
	  TEST(one_that_never_answers_is_not_ready), TEST(one_that_dies_says_why_without_secrets),
	  TEST(one_that_does_not_hear_is_killed), TEST(a_successor_takes_the_same_address),
	  TEST(an_interruption_ends_the_wait), TEST(a_log_over_its_limit_is_seen))
