/* SPDX-License-Identifier: Apache-2.0 */
/* Items, texts, losses and settings of repetitions, out of a ledger, into the verdict's input. */
#include "run_scene.h"

#include "base/vec.h"

static const char contract[] =
	"twice: 1\n"
	"workload: {name: w, kind: evaluation, unit: item}\n"
	"workload_check:\n"
	"  command: {argv: [echo], extract: [{metric: n, exit: true, better: lower}]}\n"
	"  items: {quiz: {from: stdout, margin: 2 points}}\n"
	"  texts: {chat: {from: stdout, margin: 5 points}}\n"
	"  settings: {batch: {from: stderr, pattern: '(?<value>.)', requested: '64'}}\n"
	"  objectives: [n <= 9, quiz.score >= 50 %]\n"
	"compare: {n: 5 %}\n";

struct answers_scene {
	struct run_scene s;
	struct contract c;
	struct judge j;
};

static void begin(struct answers_scene *a)
{
	*a = (struct answers_scene){ 0 };
	run_scene_init(&a->s);
	run_scene_parse(&a->c, contract);
	a->j.contract = &a->c;
	a->j.has_bank = true;
	memcpy(a->j.bank_contract, a->c.digest, 65);
	a->j.ended = true;
}

static void end(struct answers_scene *a)
{
	judge_release(&a->j);
	contract_release(&a->c);
	run_scene_release(&a->s);
}

static void keep(struct answers_scene *a, struct rep *r, const char *label, const char *text)
{
	struct ledger_blob blob CLEANUP(ledger_blob_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_blob_put(a->s.l, text, strlen(text), "application/x-ndjson", &blob, &err),
		 err);
	evidences_add(&r->evidence, label, "application/x-ndjson", NULL);
	r->evidence.v[r->evidence.n - 1].digest = xstrdup(blob.digest);
}

/* n items; those from `wrong_from` on, `wrong` of them, are wrong. */
static void rep(struct answers_scene *a, struct reps *l, int items, int wrong_from, int wrong,
		const char *text, const char *batch)
{
	struct str lines CLEANUP(str_release) = { 0 };
	struct str texts CLEANUP(str_release) = { 0 };
	struct rep *r = VEC_ADD(l);

	r->seed = (int)l->n;
	r->start_digest = xasprintf("%p %zu", (void *)l, l->n);
	r->session = xstrdup("s");
	(void)measurements_add(&r->measured, "n", UNIT_NONE, LOWER_IS_BETTER, 5);
	(void)measurements_add(&r->measured, "quiz.score", UNIT_RATIO, HIGHER_IS_BETTER,
			       (double)(items - wrong) / items);
	for (int i = 0; i < items; i++) {
		str_addf(&lines, "{\"id\":\"%05d\",\"right\":%s}\n", i,
			 i >= wrong_from && i < wrong_from + wrong ? "false" : "true");
		if (i < 40)
			str_addf(&texts, "{\"id\":\"%d\",\"text\":\"%s\"}\n", i, text);
	}
	keep(a, r, "items.quiz.jsonl", str_text(&lines));
	keep(a, r, "texts.chat.jsonl", str_text(&texts));
	pairs_add(&r->settings, "batch", batch);
}

static void decide(struct answers_scene *a, struct verdict *v)
{
	struct err err = ERR_INIT;

	CHECK_OK(judge_read_told(a->s.l, &a->j, NULL, &err), err);
	judge_decide(&a->j, v);
	for (size_t i = 0; i < v->reasons.n; i++)
		printf("# %s\n", v->reasons.v[i].text);
	for (size_t i = 0; i < v->notes.n; i++)
		printf("# note: %s\n", v->notes.v[i].text);
}

static enum verdict_kind judged(int lost, const char *text, const char *batch, const char *code)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct answers_scene a;
	enum verdict_kind kind;

	begin(&a);
	for (int i = 0; i < 10; i++)
		rep(&a, &a.j.bank, 2000, 0, 20, "yes", "6");
	for (int i = 0; i < 3; i++)
		rep(&a, &a.j.cand, 2000, 0, 20 + lost, text, batch);
	a.c.workload_check.settings.v[0].requested[1] = '\0'; /* "6" */
	decide(&a, &v);
	kind = v.kind;
	CHECK_STR(v.reasons.n ? v.reasons.v[0].code : "", code);
	CHECK_INT(v.answers.n, kind == VERDICT_BASELINE_VOID ? 0 : 2);
	end(&a);
	return kind;
}

static void the_same_answers_are_accepted(void)
{
	CHECK_INT(judged(0, "yes", "6", ""), VERDICT_ACCEPTED);
	CHECK_INT(judged(2, "yes", "6", ""), VERDICT_ACCEPTED);
}

static void lost_items_reject(void)
{
	CHECK_INT(judged(90, "yes", "6", "items_worse"), VERDICT_REJECTED);
	CHECK_INT(judged(40, "yes", "6", "items_undecided"), VERDICT_INCONCLUSIVE);
}

static void other_texts_reject(void)
{
	CHECK_INT(judged(0, "no", "6", "texts_worse"), VERDICT_REJECTED);
}

static void what_is_in_effect_is_what_was_asked_for(void)
{
	CHECK_INT(judged(0, "yes", "3", "effective_differs"), VERDICT_BASELINE_VOID);
}

/* Items that a stack by itself gets right only sometimes are no coin tossed once. */
static void items_that_waver_are_means_over_repetitions(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct answers_scene a;

	begin(&a);
	for (int i = 0; i < 6; i++)
		rep(&a, &a.j.bank, 2000, 100 * i, 100, "yes", "6");
	for (int i = 0; i < 3; i++)
		rep(&a, &a.j.cand, 2000, 200 * i, 100, "yes", "6");
	a.c.workload_check.settings.v[0].requested[1] = '\0';
	decide(&a, &v);
	CHECK_STR(v.answers.v[0].method, "bootstrap");
	CHECK_NEAR(v.answers.v[0].change, 0, 1e-12);
	CHECK_NEAR(v.answers.v[0].before, 0.95, 1e-12);
	CHECK_INT(v.answers.v[0].clusters, 2000);
	end(&a);
}

static void an_item_that_was_not_told_was_not_right(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct answers_scene a;

	begin(&a);
	for (int i = 0; i < 5; i++)
		rep(&a, &a.j.bank, 2000, 0, 0, "yes", "6");
	for (int i = 0; i < 5; i++)
		rep(&a, &a.j.cand, 1800, 0, 0, "yes", "6");
	a.c.workload_check.settings.v[0].requested[1] = '\0';
	decide(&a, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_INT(v.answers.v[0].lost, 200);
	end(&a);
	verdict_release(&v);
	begin(&a); /* more items than the accepted run had: another set */
	for (int i = 0; i < 5; i++)
		rep(&a, &a.j.bank, 1800, 0, 0, "yes", "6");
	for (int i = 0; i < 5; i++)
		rep(&a, &a.j.cand, 2000, 0, 0, "yes", "6");
	a.c.workload_check.settings.v[0].requested[1] = '\0';
	decide(&a, &v);
	CHECK_INT(v.kind, VERDICT_BASELINE_VOID);
	end(&a);
}

TEST_MAIN(TEST(the_same_answers_are_accepted), TEST(lost_items_reject), TEST(other_texts_reject),
	  TEST(what_is_in_effect_is_what_was_asked_for),
	  TEST(items_that_waver_are_means_over_repetitions),
	  TEST(an_item_that_was_not_told_was_not_right))
