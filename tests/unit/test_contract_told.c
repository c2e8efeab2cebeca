/* SPDX-License-Identifier: Apache-2.0 */
/* Scored items, texts and settings: where a workload tells them. */
#include "base/err.h"
#include "contract/internal.h"
#include "contract_schemas.h"
#include "test.h"

static void parsed(const char *check, const char *more, const char *want)
{
	AUTO_FREE char *text = xasprintf("twice: 1\nworkload: {name: t, kind: evaluation}\n"
					 "workload_check:\n  %s\n  %s\n",
					 check, more);
	struct contract c CLEANUP(contract_release) = { 0 };
	struct err err = ERR_INIT;
	int rc = contract_parse(sv_of(text), "t.yaml", test_schemas, &c, NULL, &err);

	printf("# %s: %s\n", more, rc ? err.msg : "right");
	CHECK_INT(rc == 0, want == NULL);
	if (want)
		CHECK_HAS(err.msg, want);
}

static const char command[] = "command: {argv: [./t]}\n  objectives: [wall_time <= 5 s]";
static const char serve[] = "serve: {start: [./s]}\n  objectives: [ready_time <= 5 s]";
static const char load[] =
	"serve: {start: [./s], metrics: /m}\n  load: {prompts: p, arrival: {closed: 1}, count: 5}\n"
	"  objectives: [errors <= 5 %]";

static void what_can_be_told_can_be_asked_for(void)
{
	parsed(command, "items: {quiz: {from: stdout}}", NULL);
	parsed(command, "items: {quiz: {from: 'file:{work}/s.jsonl', margin: 0.5 points}}", NULL);
	parsed(command, "texts: {chat: {from: stderr, invariant: true}}", NULL);
	parsed(load, "texts: {chat: {}}", NULL);
	parsed(load, "settings: {a: {from: log, pattern: '(?<value>.)'}}", NULL);
	parsed(load, "settings: {a: {from: metrics, pattern: '(?<value>.)'}}", NULL);
	parsed("command: {argv: [./t]}\n  objectives: [wall_time <= 5 s, quiz.score >= 60 %]",
	       "items: {quiz: {from: stdout}}", NULL);
}

static void what_cannot_be_told_is_refused(void)
{
	parsed(command, "items: {quiz: {from: answers}}", "has no 'answers'");
	parsed(command, "items: {quiz: {from: somewhere}}", "got 'somewhere'");
	parsed(command, "items: {quiz: {margin: 1 points}}", "from");
	parsed(command, "items: {quiz: {from: stdout, margin: 5 ms}}", "margin");
	parsed(command, "items: {'Quiz 1': {from: stdout}}", "begins with a letter");
	parsed(command, "texts: {chat: {}}", "has no 'answers'");
	parsed(serve, "texts: {chat: {}}", "'load', which is missing");
	parsed(serve, "texts: {chat: {from: stdout}}", "has no 'stdout'");
	parsed(serve, "settings: {a: {from: metrics, pattern: '(?<value>.)'}}", "no page");
	parsed(command, "settings: {a: {from: stderr, pattern: '('}}", "pattern");
	parsed(command, "settings: {a: {from: answers, pattern: '(?<value>.)'}}",
	       "has no 'answers'");
	parsed("command: {argv: [./t]}\n  objectives: [wall_time <= 5 s, quiz.score >= 60 %]",
	       "texts: {quiz: {from: stdout}}", "unknown metric 'quiz.score'");
	parsed(command, "items: {quiz: {from: stdout}}\ncompare: {quiz.score: 2 points}",
	       "compared one by one: write 'items.quiz.margin'");
}

/* A share is no metric that gates by itself: its items do. */
static void a_score_has_no_margin_of_its_own(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(contract_parse(SV("twice: 1\nworkload: {name: t, kind: evaluation}\n"
				   "workload_check:\n  command: {argv: [./t]}\n"
				   "  items: {quiz: {from: stdout}}\n"
				   "  objectives: [wall_time <= 5 s, quiz.score >= 60 %]\n"),
				"t.yaml", test_schemas, &c, NULL, &err),
		 err);
	CHECK_INT(c.compare.n, 1);
	CHECK_STR(c.compare.v[0].metric, "wall_time");
	CHECK_NEAR(c.workload_check.items.v[0].margin, 0.01, 1e-15);
	CHECK_INT(c.workload_check.items.v[0].source, TOLD_STDOUT);
}

TEST_MAIN(TEST(what_can_be_told_can_be_asked_for), TEST(what_cannot_be_told_is_refused),
	  TEST(a_score_has_no_margin_of_its_own))
