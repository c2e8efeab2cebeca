/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

static size_t intents(struct run_scene *s, uint64_t from, uint64_t as_of, struct strs *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(series_intents(s->l, "w", s->c.digest, s->stack, NULL, from, as_of, ret, &err),
		 err);
	return ret->n;
}

static size_t count(struct run_scene *s, uint64_t from, uint64_t as_of)
{
	struct strs l CLEANUP(strs_release) = { 0 };

	return intents(s, from, as_of, &l);
}

static void runs_of_one_stack_make_a_series(void)
{
	struct strs l CLEANUP(strs_release) = { 0 };
	struct ledger_ref a, b, other;
	struct run_scene s;

	run_scene_init(&s);
	a = run_begin(&s, "a", "");
	run_end(&s, &a);
	s.stack[0] = 'b';
	other = run_begin(&s, "other stack", "");
	run_end(&s, &other);
	s.stack[0] = 'a';
	b = run_begin(&s, "b", "");
	run_end(&s, &b);
	CHECK_INT(intents(&s, 0, run_scene_size(&s), &l), 2);
	CHECK_STR(l.v[0], a.hex);
	CHECK_STR(l.v[1], b.hex);
	CHECK_INT(count(&s, a.seq + 1, run_scene_size(&s)), 1);
	CHECK_INT(count(&s, 0, b.seq), 1);
	CHECK_INT(count(&s, 9, 9), 0);
	run_scene_release(&s);
}

static void a_run_that_goes_on_is_not_in_it_yet(void)
{
	struct ledger_ref a, b;
	struct run_scene s;
	uint64_t open;

	run_scene_init(&s);
	a = run_begin(&s, "a", "");
	run_rep(&s, &a, 5);
	open = run_scene_size(&s);
	CHECK_INT(count(&s, 0, open), 0);
	run_end(&s, &a);
	CHECK_INT(count(&s, 0, open), 0); /* what was seen then is what was seen */
	CHECK_INT(count(&s, 0, open + 1), 1);
	b = run_begin(&s, "b", "");
	run_abandoned(&s, &b);
	CHECK_INT(count(&s, 0, run_scene_size(&s)), 2);
	run_scene_release(&s);
}

static void a_new_series_forgets_the_old_one(void)
{
	struct strs l CLEANUP(strs_release) = { 0 };
	struct ledger_ref a, b, c;
	struct run_scene s;

	run_scene_init(&s);
	a = run_begin(&s, "a", "");
	run_end(&s, &a);
	b = run_begin(&s, "b", ",\"new_series\":\"fan repaired\"");
	run_end(&s, &b);
	c = run_begin(&s, "c", "");
	run_end(&s, &c);
	CHECK_INT(intents(&s, 0, run_scene_size(&s), &l), 2);
	CHECK_STR(l.v[0], b.hex);
	run_scene_release(&s);
}

static struct reps reps_of(struct run_scene *s)
{
	struct strs l CLEANUP(strs_release) = { 0 };
	struct reps r = { 0 };
	struct err err = ERR_INIT;

	(void)intents(s, 0, run_scene_size(s), &l);
	CHECK_OK(series_reps(s->l, &l, &r, NULL, &err), err);
	return r;
}

static void interrupted_ones_count_from_the_third_on(void)
{
	struct reps r CLEANUP(reps_release) = { 0 };
	struct run_scene s;

	run_scene_init(&s);
	for (int i = 0; i < 4; i++) {
		struct ledger_ref run = run_begin(&s, "x", "");
		struct ledger_ref rep;

		run_rep(&s, &run, 5);
		rep = run_rep_begin(&s, &run, 1);
		run_abandoned(&s, &rep);
		run_end(&s, &run);
	}
	r = reps_of(&s);
	CHECK_INT(r.n, 8);
	for (size_t i = 0; i < r.n; i++) {
		CHECK_INT(r.v[i].index, i);
		CHECK_INT(r.v[i].state, i % 2 == 0 ? REP_OK : i < 4 ? REP_EXCLUDED : REP_FAILED);
		CHECK_INT(strlen(r.v[i].leaf), 64);
	}
	CHECK_STR(r.v[3].reason, "interrupted");
	CHECK_STR(r.v[5].reason, "interrupted, and too many were before");
	run_scene_release(&s);
}

static void announced_and_nothing_more_is_a_failure(void)
{
	struct reps r CLEANUP(reps_release) = { 0 };
	struct ledger_ref run, rep;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	rep = run_rep_begin(&s, &run, 0);
	run_end(&s, &run);
	r = reps_of(&s);
	CHECK_INT(r.n, 1);
	CHECK_INT(r.v[0].state, REP_FAILED);
	CHECK_STR(r.v[0].leaf, rep.hex);
	run_scene_release(&s);
}

static void the_first_word_of_a_repetition_counts(void)
{
	struct reps r CLEANUP(reps_release) = { 0 };
	struct ledger_ref run, rep, first;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", "");
	rep = run_rep_begin(&s, &run, 0);
	first = run_rep_end(&s, &rep, 4, REP_FAILED);
	(void)run_rep_end(&s, &rep, 9, REP_OK);
	run_abandoned(&s, &rep);
	run_end(&s, &run);
	r = reps_of(&s);
	CHECK_INT(r.n, 1);
	CHECK_INT(r.v[0].state, REP_FAILED);
	CHECK_STR(r.v[0].leaf, first.hex);
	run_scene_release(&s);
}

static void an_entry_that_announces_no_run_is_refused(void)
{
	struct intent i CLEANUP(intent_release) = { 0 };
	struct ledger_ref run, rep;
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	run = run_begin(&s, "x", ",\"as_of\":0,\"looks\":[3,5]");
	rep = run_rep_begin(&s, &run, 0);
	CHECK_INT(intent_read(s.l, rep.hex, &i, &err), -ERR_BROKEN);
	CHECK_OK(intent_read(s.l, run.hex, &i, &err), err);
	CHECK_STR(i.run, "x");
	CHECK_INT(i.n_looks, 2);
	CHECK_INT(i.as_of, 0);
	run_scene_release(&s);
}

TEST_MAIN(TEST(runs_of_one_stack_make_a_series), TEST(a_run_that_goes_on_is_not_in_it_yet),
	  TEST(a_new_series_forgets_the_old_one), TEST(interrupted_ones_count_from_the_third_on),
	  TEST(announced_and_nothing_more_is_a_failure),
	  TEST(the_first_word_of_a_repetition_counts),
	  TEST(an_entry_that_announces_no_run_is_refused))
