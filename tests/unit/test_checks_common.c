/* SPDX-License-Identifier: Apache-2.0 */
#include "checks/inner.h"

#include "base/clock.h"
#include "checks_scene.h"

static void names_are_filled_in(void)
{
	struct pairs values CLEANUP(pairs_release) = { 0 }, own CLEANUP(pairs_release) = { 0 };
	struct pairs all CLEANUP(pairs_release) = { 0 }, none CLEANUP(pairs_release) = { 0 };
	struct strs env CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(&s, "", scene_command);
	CHECK_OK(ctx_values(&s.ctx, 8123, &values, &err), err);
	CHECK_STR(pairs_get(&values, "port"), "8123");
	CHECK_STR(pairs_get(&values, "work"), s.work);
	CHECK_STR(pairs_get(&values, "dir"), test_dir());
	CHECK_STR(pairs_get(&values, "python"), "/usr/bin/python3");
	CHECK_OK(ctx_values(&s.ctx, 0, &none, &err), err);
	CHECK(pairs_get(&none, "port") == NULL);
	pairs_add(&all, "A", "1");
	pairs_add(&own, "B", "{port}");
	s.ctx.environment = &all;
	CHECK_OK(ctx_env(&s.ctx, &own, &values, &env, &err), err);
	CHECK_INT(env.n, 2);
	CHECK_STR(env.v[0], "A=1");
	CHECK_STR(env.v[1], "B=8123"); /* the workload's own comes last, so it wins */
	scene_release(&s);
}

static void what_is_kept_has_no_secrets(void)
{
	struct evidences l CLEANUP(evidences_release) = { 0 };
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };
	size_t n;

	scene_init(&s, "", scene_command);
	CHECK_OK(keep_text(&s.ctx, &l, "empty.txt", SV(""), &err), err);
	CHECK_INT(l.n, 0);
	CHECK_OK(keep_text(&s.ctx, &l, "log.txt",
			   SV("Authorization: Bearer abcdefgh12345678\nfine\n"), &err),
		 err);
	CHECK_INT(l.n, 1);
	CHECK_STR(l.v[0].label, "log.txt");
	CHECK_OK(file_read(l.v[0].path, MIB, &text, &n, &err), err);
	CHECK(strstr(text, "abcdefgh12345678") == NULL);
	CHECK_HAS(text, "fine");
	scene_release(&s);
}

static void the_last_line_is_the_reason(void)
{
	AUTO_FREE char *path = path_join(test_dir(), "log");
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;
	AUTO_FREE char *c = NULL;

	scene_file("log", "first\nlast \t one\n\n");
	a = tail_of(path, 300);
	CHECK_HAS(a, "last");
	CHECK(strstr(a, "first") == NULL && strchr(a, '\n') == NULL);
	b = tail_of(path, 3);
	CHECK_STR(b, "one");
	c = tail_of("/no/such/file", 300);
	CHECK_STR(c, "");
}

static void a_free_port_can_be_had(void)
{
	struct err err = ERR_INIT;
	int port = free_port(&err);

	CHECK(port > 0 && port < 65536);
}

static void http_without_an_answer_is_no_error(void)
{
	struct str body CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/", free_port(&err));
	long status = 7;

	CHECK_OK(http_get(url, NS_PER_S, &status, &body, &err), err);
	CHECK_INT(status, 0);
	CHECK_INT(http_get("file:///etc/passwd", NS_PER_S, &status, &body, &err), -ERR_PARSE);
	CHECK_INT(body.n, 0);
}

static void others_are_a_share(void)
{
	struct watch w;
	double share;
	int64_t own = self_cpu_ns();

	watch_start(&w);
	while (self_cpu_ns() - own < 60 * NS_PER_MS)
		;
	share = watch_others(&w, self_cpu_ns() - own);
	CHECK(share >= 0 && share <= 1);
	/* More than there was: never below nothing. */
	CHECK_NEAR(watch_others(&w, 1000 * NS_PER_S), 0, 0);
}

static void an_end_is_one_clean_line(void)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(ends(&o, RESULT_FAIL, "two\nlines \x1b[31m%s", "red"), 0);
	CHECK(strchr(o.reason, '\n') == NULL && strchr(o.reason, '\x1b') == NULL);
	bail(&err, ERR_IO, "lost");
	CHECK_INT(ends_err(&o, RESULT_ERROR, &err), 0);
	CHECK_STR(o.reason, "lost");
	CHECK_INT(err.code, ERR_OK);
	bail(&err, ERR_INTERRUPTED, "stop");
	CHECK_INT(ends_err(&o, RESULT_ERROR, &err), -ERR_INTERRUPTED);
	CHECK_STR(o.reason, "lost");
}

TEST_MAIN(TEST(names_are_filled_in), TEST(what_is_kept_has_no_secrets),
	  TEST(the_last_line_is_the_reason), TEST(a_free_port_can_be_had),
	  TEST(http_without_an_answer_is_no_error), TEST(others_are_a_share),
	  TEST(an_end_is_one_clean_line))
