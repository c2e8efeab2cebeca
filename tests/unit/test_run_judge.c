/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

#include "base/vec.h"

static struct ledger_ref whole_run(struct run_scene *s, double speed, int reps, const char *code,
				   struct ledger_ref *verdict)
{
	struct ledger_ref run = run_begin(s, "r", "");
	struct ledger_ref v;

	for (int i = 0; i < reps; i++)
		run_rep(s, &run, speed + i % 3);
	run_end(s, &run);
	v = run_verdict(s, &run, code);
	if (verdict)
		*verdict = v;
	return run;
}

static struct acceptance accepted(struct run_scene *s, const struct ledger_ref *run,
				  const struct ledger_ref *verdict)
{
	struct acceptance a = { 0 };

	memcpy(a.verdict, verdict->hex, 65);
	memcpy(a.intent, run->hex, 65);
	memcpy(a.contract_digest, s->c.digest, 65);
	memcpy(a.stack_digest, s->stack, 65);
	return a;
}

static size_t bank(struct run_scene *s, const struct acceptance *a, uint64_t as_of, uint64_t *next)
{
	struct judge j CLEANUP(judge_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(judge_bank(s->l, &s->c, a, as_of, &j, next, &err), err);
	CHECK(j.has_bank);
	return j.bank.n;
}

static void the_bank_is_what_was_accepted_and_what_held_since(void)
{
	struct ledger_ref verdict, run;
	struct acceptance a;
	struct run_scene s;
	uint64_t first, next;

	run_scene_init(&s);
	run = whole_run(&s, 100, 5, "accepted", &verdict);
	a = accepted(&s, &run, &verdict);
	first = run_scene_size(&s);
	CHECK_INT(bank(&s, &a, first, &next), 5);
	CHECK_INT(next, first);
	(void)whole_run(&s, 50, 5, "rejected", NULL);
	(void)whole_run(&s, 99, 3, "inconclusive", NULL);
	CHECK_INT(bank(&s, &a, run_scene_size(&s), &next), 5);
	CHECK_INT(next, first);
	(void)whole_run(&s, 100, 5, "accepted_with_note", NULL);
	CHECK_INT(bank(&s, &a, run_scene_size(&s), &next), 10);
	CHECK_INT(next, run_scene_size(&s));
	CHECK_INT(bank(&s, &a, first, &next), 5); /* as it was then */
	(void)whole_run(&s, 100, 5, "accepted", NULL);
	CHECK_INT(bank(&s, &a, run_scene_size(&s), &next), VERDICT_MAX_BANK);
	run_scene_release(&s);
}

static void what_only_lacked_sessions_brings_them(void)
{
	static const char *const reasons[] = {
		("inconclusive\",\"reasons\":[{\"code\":\"sessions_not_spread\"},"
		 "{\"code\":\"not_repeatable\"}],\"x\":\""),
		"inconclusive\",\"reasons\":[],\"x\":\"",
		"rejected\",\"reasons\":[{\"code\":\"sessions_not_spread\"}],\"x\":\"",
		"inconclusive\",\"reasons\":[{\"code\":\"sessions_not_spread\"}],\"x\":\"",
	};
	static const size_t want[] = { 5, 5, 5, 10 };
	struct ledger_ref verdict, run;
	struct acceptance a;
	struct run_scene s;
	uint64_t next;

	run_scene_init(&s);
	run = whole_run(&s, 100, 5, "accepted", &verdict);
	a = accepted(&s, &run, &verdict);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		(void)whole_run(&s, 100, 5, reasons[i], NULL);
		CHECK_INT(bank(&s, &a, run_scene_size(&s), &next), (long long)want[i]);
	}
	run_scene_release(&s);
}

static void another_stack_is_not_in_the_bank(void)
{
	struct ledger_ref verdict, run;
	struct acceptance a;
	struct run_scene s;
	uint64_t next;

	run_scene_init(&s);
	run = whole_run(&s, 100, 5, "accepted", &verdict);
	a = accepted(&s, &run, &verdict);
	s.stack[0] = 'b';
	(void)whole_run(&s, 100, 5, "accepted", NULL);
	CHECK_INT(bank(&s, &a, run_scene_size(&s), &next), 5);
	run_scene_release(&s);
}

static void add(struct reps *l, double speed, enum rep_state state)
{
	struct rep *r = VEC_ADD(l);

	r->index = (int)l->n - 1;
	r->state = state;
	r->start_digest = xasprintf("%zu", l->n);
	r->session = xstrdup("s");
	(void)measurements_add(&r->measured, "speed", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER, speed);
}

/* Five good repetitions in session `now` against five in session `then`. */
static enum verdict_kind decide_sessions(const char *then, const char *now)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct judge j CLEANUP(judge_release) = { .contract = &c, .ended = true, .has_bank = true };
	struct verdict v CLEANUP(verdict_release) = { 0 };

	run_scene_parse(&c, run_scene_contract);
	memcpy(j.bank_contract, c.digest, 65);
	for (int i = 0; i < 5; i++) {
		add(&j.cand, 100 + 0.1 * i, REP_OK);
		add(&j.bank, 100 + 0.1 * i, REP_OK);
		free(j.cand.v[i].session);
		free(j.bank.v[i].session);
		j.cand.v[i].session = xstrdup(now);
		j.bank.v[i].session = xstrdup(then);
	}
	judge_decide(&j, &v);
	return v.kind;
}

static void sessions_reach_the_verdict(void)
{
	CHECK_INT(decide_sessions("a", "a"), VERDICT_ACCEPTED);
	CHECK_INT(decide_sessions("a", "b"), VERDICT_INCONCLUSIVE);
}

static enum verdict_kind decide(double bank, double now, const char *bank_contract,
				enum result check)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct judge j CLEANUP(judge_release) = { .contract = &c, .ended = true };
	struct verdict v CLEANUP(verdict_release) = { 0 };

	run_scene_parse(&c, run_scene_contract);
	for (int i = 0; i < 5; i++)
		add(&j.cand, now + 0.1 * i, REP_OK);
	if (bank > 0) {
		j.has_bank = true;
		snprintf(j.bank_contract, 65, "%s", bank_contract ? bank_contract : c.digest);
		for (int i = 0; i < 5; i++)
			add(&j.bank, bank + 0.1 * i, REP_OK);
	}
	if (check != RESULT_PASS) {
		struct outcome *o = VEC_ADD(&j.outcomes);

		o->check = xstrdup("hardware/x");
		o->required = true;
		o->result = check;
		o->reason = xstrdup("why");
	}
	judge_decide(&j, &v);
	return v.kind;
}

static void the_verdict_is_made_of_it(void)
{
	CHECK_INT(decide(0, 100, NULL, RESULT_PASS), VERDICT_ACCEPTED);
	CHECK_INT(decide(0, 5, NULL, RESULT_PASS), VERDICT_REJECTED);
	CHECK_INT(decide(100, 50, NULL, RESULT_PASS), VERDICT_REJECTED);
	CHECK_INT(decide(100, 100, "another contract", RESULT_PASS), VERDICT_BASELINE_VOID);
	CHECK_INT(decide(0, 100, NULL, RESULT_FAIL), VERDICT_REJECTED);
	for (int r = RESULT_SKIP; r < RESULT_N; r++) {
		enum verdict_kind k = decide(0, 100, NULL, (enum result)r);

		CHECK(k != VERDICT_ACCEPTED && k != VERDICT_ACCEPTED_NOTE);
	}
}

TEST_MAIN(TEST(what_only_lacked_sessions_brings_them), TEST(sessions_reach_the_verdict),
	  TEST(the_bank_is_what_was_accepted_and_what_held_since),
	  TEST(another_stack_is_not_in_the_bank), TEST(the_verdict_is_made_of_it))
