/* SPDX-License-Identifier: Apache-2.0 */
/* Repetitions since an acceptance, out of a ledger with other runs in it. */
#include "run_scene.h"

static struct ledger_ref whole(struct run_scene *s, double speed, int reps)
{
	struct ledger_ref run = run_begin(s, "r", "");

	for (int i = 0; i < reps; i++)
		run_rep(s, &run, speed + 0.1 * (i % 3));
	run_end(s, &run);
	return run;
}

static void watched(struct run_scene *s, const struct acceptance *a, unsigned reps, bool alarm)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(run_watch(s->l, &s->c, a, &w, &err), err);
	CHECK_INT(w.reps, reps);
	CHECK_INT(w.alarm, alarm);
	CHECK_INT(w.n, 1);
	CHECK_INT(w.v[0].n_bank, 5);
}

static void every_later_repetition_of_the_accepted_stack_counts(void)
{
	struct acceptance a = { 0 };
	struct ledger_ref run, verdict;
	struct run_scene s;

	run_scene_init(&s);
	run = whole(&s, 100, 5);
	verdict = run_verdict(&s, &run, "accepted");
	a.seq = run_scene_size(&s) - 1;
	memcpy(a.verdict, verdict.hex, 65);
	memcpy(a.contract_digest, s.c.digest, 65);
	memcpy(a.stack_digest, s.stack, 65);
	watched(&s, &a, 0, false);
	(void)whole(&s, 100, 3);
	watched(&s, &a, 3, false);
	s.stack[0] = 'b'; /* another stack is not watched */
	(void)whole(&s, 50, 5);
	s.stack[0] = 'a';
	watched(&s, &a, 3, false);
	for (int night = 0; night < 12; night++)
		(void)whole(&s, 96, 1);
	watched(&s, &a, 15, true);
	run_scene_release(&s);
}

TEST_MAIN(TEST(every_later_repetition_of_the_accepted_stack_counts))
