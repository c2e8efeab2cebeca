/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload tells beside its numbers: scored items, texts, settings in effect. */
#include "checks_scene.h"

static const char *evidence(const struct rep *r, const char *label)
{
	for (size_t i = 0; i < r->evidence.n; i++)
		if (streq(r->evidence.v[i].label, label))
			return r->evidence.v[i].path;
	return NULL;
}

static void told(struct scene *s, const char *script, const char *more)
{
	AUTO_FREE char *rest = xasprintf("workload_check:\n"
					 "  command:\n"
					 "    argv: \"%s\"\n"
					 "    shell: true\n"
					 "    extract: [{metric: n, exit: true, better: lower}]\n"
					 "%s"
					 "  objectives: [n <= 0]\n",
					 script, more);
	struct err err = ERR_INIT;

	scene(s, rest);
	s->ctx.seed = 3;
	CHECK_OK(workload_rep(&s->ctx, &s->r, &err), err);
}

static void items_texts_and_settings_are_kept(void)
{
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	size_t n;

	SCENE(s);
	told(&s,
	     "echo '{\\\"id\\\": 2, \\\"ok\\\": true}'; echo '{\\\"id\\\": 1, \\\"ok\\\": false}'; "
	     "echo '{\\\"id\\\": 1, \\\"text\\\": \\\"hi {seed}\\\"}' > {work}/t.jsonl; "
	     "echo batch=64 >&2; echo batch=32 >&2",
	     "  items: {quiz: {from: stdout, correct: ok}}\n"
	     "  texts: {chat: {from: 'file:{work}/t.jsonl'}}\n"
	     "  settings:\n"
	     "    batch: {from: stderr, pattern: 'batch=(?<value>[0-9]+)', requested: '32'}\n"
	     "    gone: {from: stderr, pattern: 'gone=(?<value>.+)', required: false}\n");
	CHECK_INT(s.r.state, REP_OK);
	CHECK_NEAR(measured(&s.r.measured, "quiz.score"), 0.5, 0);
	CHECK_STR(pairs_get(&s.r.settings, "batch"), "32"); /* the last that was said */
	CHECK(!pairs_get(&s.r.settings, "gone"));
	CHECK_OK(file_read(evidence(&s.r, "items.quiz.jsonl"), 1000, &text, &n, &err), err);
	CHECK_STR(text, "{\"id\":\"1\",\"right\":false}\n{\"id\":\"2\",\"right\":true}\n");
	free(text);
	CHECK_OK(file_read(evidence(&s.r, "texts.chat.jsonl"), 1000, &text, &n, &err), err);
	CHECK_STR(text, "{\"id\":\"1\",\"text\":\"hi 3\"}\n");
	CHECK(evidence(&s.r, "stdout.txt"));
}

static void what_cannot_be_read_is_an_error_not_a_zero(void)
{
	SCENE(s);
	told(&s, "echo '{\\\"id\\\": 2, \\\"ok\\\": 0.5}'",
	     "  items: {quiz: {from: stdout, correct: ok}}\n"
	     "  texts: {chat: {from: 'file:nothing-here'}}\n");
	CHECK_INT(s.r.state, REP_OK);
	CHECK_INT(s.r.outcomes.n, 3);
	CHECK_STR(s.r.outcomes.v[1].check, "workload/items.quiz");
	CHECK_INT(s.r.outcomes.v[1].result, RESULT_ERROR);
	CHECK(s.r.outcomes.v[1].required);
	CHECK_STR(s.r.outcomes.v[2].check, "workload/texts.chat");
	CHECK(!evidence(&s.r, "items.quiz.jsonl"));
	for (size_t i = 0; i < s.r.measured.n; i++)
		CHECK(!streq(s.r.measured.v[i].name, "quiz.score"));
}

static void an_output_that_was_cut_tells_nothing(void)
{
	SCENE(s);
	told(&s, "yes '{}' | head -c 3000000", "  items: {quiz: {from: stdout}}\n");
	CHECK_INT(s.r.outcomes.v[1].result, RESULT_ERROR);
}

TEST_MAIN(TEST(items_texts_and_settings_are_kept), TEST(what_cannot_be_read_is_an_error_not_a_zero),
	  TEST(an_output_that_was_cut_tells_nothing))
