/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence, logs, ports, HTTP for control. */
#include "checks_scene.h"

#define SECRET "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"

static void what_is_kept_is_redacted(void)
{
	struct evidences e CLEANUP(evidences_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	scene(&s, scene_command);
	test_file("log", "ready\nHF_TOKEN=" SECRET "\n", 0644);
	AUTO_FREE char *path = path_join(test_dir(), "log");
	CHECK_OK(keep_file(&s.ctx, &e, "server.log", "text/plain", path, &err), err);
	CHECK_OK(keep_text(&s.ctx, &e, "out.txt",
			   SV("token: gh"
			      "p_" SECRET SECRET),
			   &err),
		 err);
	CHECK_OK(keep_text(&s.ctx, &e, "empty.txt", SV(""), &err), err);
	CHECK_OK(keep_file(&s.ctx, &e, "gone.log", "text/plain", "/no/such/file", &err), err);
	CHECK_INT(e.n, 2);
	AUTO_FREE char *a = evidence_text(&e, "server.log");
	AUTO_FREE char *b = evidence_text(&e, "out.txt");
	CHECK_STR(a, "ready\nHF_TOKEN=[redacted]\n");
	CHECK(!strstr(b, SECRET));
}

static void of_a_huge_file_the_ends_are_kept(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "log");
	struct evidences e CLEANUP(evidences_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	scene(&s, scene_command);
	test_file("log", "begin\n", 0644);
	CHECK_INT(truncate(path, 80 * 1024 * 1024), 0); /* sparse */
	CLEANUP(fclosep) FILE *f = fopen(path, "ae");
	CHECK(f && fputs("the end\n", f) >= 0 && fflush(f) == 0);
	CHECK_OK(keep_file(&s.ctx, &e, "log", "text/plain", path, &err), err);
	AUTO_FREE char *kept = NULL;
	size_t n;
	CHECK_OK(file_read(e.v[0].path, 100 * MIB, &kept, &n, &err), err);
	CHECK(n < 65 * MIB && n > 60 * MIB);
	CHECK(strncmp(kept, "begin\n", 6) == 0);
	CHECK_STR(kept + n - 8, "the end\n");
	CHECK(memmem(kept, n, "bytes left out]", 15));
}

static void the_last_line_of_a_log_says_why(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "log");

	test_file("log", "first\nRuntimeError: bad thing \x1b[31m, API_KEY=" SECRET "\n\n  \n",
		  0644);
	AUTO_FREE char *a = tail_of(path, 300);
	CHECK_HAS(a, "RuntimeError: bad thing");
	CHECK(!strstr(a, SECRET) && !strchr(a, '\x1b'));
	AUTO_FREE char *b = tail_of(path, 7);
	CHECK_STR(b, "Runtime");
	AUTO_FREE char *c = tail_of("/no/such/file", 10);
	CHECK_STR(c, "");
}

static void a_port_is_free_until_somebody_listens(void)
{
	struct err err = ERR_INIT;
	int port = free_port(&err);
	struct str body CLEANUP(str_release) = { 0 };
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/health", port);
	long status = -1;

	CHECK(port > 0 && port_is_free(port));
	CHECK_OK(http_get(url, NS_PER_S, &status, &body, &err), err);
	CHECK_INT(status, 0);
	CHECK_INT(http_get("file:///etc/passwd", NS_PER_S, &status, &body, &err), -ERR_PARSE);
	CHECK_INT(body.n, 0);
}

static void a_workload_gets_its_values_and_variables(void)
{
	struct pairs values CLEANUP(pairs_release) = { 0 }, own CLEANUP(pairs_release) = { 0 };
	struct pairs stack CLEANUP(pairs_release) = { 0 };
	struct strs env CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	scene(&s, scene_command);
	pairs_add(&stack, "LD_LIBRARY_PATH", "/x");
	pairs_add(&own, "PORT", "{port}");
	s.ctx.environment = &stack;
	CHECK_OK(ctx_values(&s.ctx, 4711, &values, &err), err);
	CHECK_STR(pairs_get(&values, "work"), s.work);
	CHECK_STR(pairs_get(&values, "port"), "4711");
	CHECK_OK(ctx_env(&s.ctx, &own, &values, &env, &err), err);
	CHECK(strs_has(&env, "LD_LIBRARY_PATH=/x") && strs_has(&env, "PORT=4711"));
}

TEST_MAIN(TEST(what_is_kept_is_redacted), TEST(of_a_huge_file_the_ends_are_kept),
	  TEST(the_last_line_of_a_log_says_why), TEST(a_port_is_free_until_somebody_listens),
	  TEST(a_workload_gets_its_values_and_variables))
