/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

static size_t close_all(struct run_scene *s)
{
	struct err err = ERR_INIT;
	size_t n;

	CHECK_OK(run_close_abandoned(&s->env, &n, &err), err);
	return n;
}

static void what_never_ended_is_closed_by_the_next(void)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_ref run, rep;
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	run_rep(&s, &run, 5);
	rep = run_rep_begin(&s, &run, 1);
	CHECK_INT(close_all(&s), 2);
	CHECK_INT(close_all(&s), 0);
	/* The repetition first, then its run. */
	CHECK_OK(ledger_get(s.l, rep.seq + 1, &e, &err), err);
	CHECK_STR(run_ref_of(e.body, "intent"), rep.hex);
	run_scene_release(&s);
}

static void what_ended_is_left_alone(void)
{
	struct ledger_ref run;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	run_rep(&s, &run, 5);
	run_end(&s, &run);
	CHECK_INT(close_all(&s), 0);
	run_scene_release(&s);
}

/* Whether a process of another machine lives can't be seen from here. */
static void a_run_of_another_machine_is_left_alone(void)
{
	struct ledger_ref run;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	(void)run_rep_begin(&s, &run, 0);
	s.env.machine = "twice@elsewhere";
	CHECK_INT(close_all(&s), 0);
	run_scene_release(&s);
}

/* One real run, small as it is; then the verdict again from the ledger alone. */
static void a_verdict_is_decided_again_from_the_ledger(void)
{
	struct run_done done CLEANUP(run_done_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct run_recompute_arg arg;
	struct str text CLEANUP(str_release) = { 0 };
	volatile int cancel = 0;
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	s.env.cancel = &cancel;
	CHECK_INT(setenv("TMPDIR", test_dir(), 1), 0);
	CHECK_OK(run_contract(&s.env, &done, &err), err);
	CHECK_INT(done.kind, VERDICT_REJECTED); /* 5 tokens/s, at least 10 are wanted */
	CHECK_OK(ledger_find(s.l, done.verdict_leaf, &e, &err), err);
	arg = (struct run_recompute_arg){ s.l, checks_schemas() };
	CHECK_INT(run_recompute(&arg, &e, &text, &err), 0);
	json_put_str(json_object_get(e.body, "decision"), "verdict", "accepted");
	CHECK_INT(run_recompute(&arg, &e, &text, &err), 1);
	CHECK_STR(str_text(&text), "recorded accepted, recomputed rejected");
	(void)json_object_del(e.body, "intent");
	CHECK_INT(run_recompute(&arg, &e, &text, &err), -ERR_BROKEN);
	run_scene_release(&s);
}

TEST_MAIN(TEST(what_never_ended_is_closed_by_the_next), TEST(what_ended_is_left_alone),
	  TEST(a_run_of_another_machine_is_left_alone),
	  TEST(a_verdict_is_decided_again_from_the_ledger))
