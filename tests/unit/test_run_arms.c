/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of a ledger are pairs of two stacks that alternated. The whole of it, with switches
 * and a workload, is in tests/story/test_arms.py. */
#include "run_scene.h"

#include "run/arms.h"

#define SIGNOFF "1111111111111111111111111111111111111111111111111111111111111111"
#define OTHER   "2222222222222222222222222222222222222222222222222222222222222222"

static struct ledger_ref alternating(struct run_scene *s, const char *signoff, const char *more)
{
	AUTO_FREE char *members = xasprintf(
		",\"design\":\"interleaved\",\"accepted\":{\"digest\":\"%s\"}%s", signoff, more);

	return run_begin(s, "alternating", members);
}

static void rep_of(struct run_scene *s, const struct ledger_ref *run, const char *arm, double speed,
		   enum rep_state state)
{
	struct ledger_ref i = scene_add(s->l, "run.intent",
					"{\"scope\":\"rep\",\"run\":\"r\",\"rep\":0,\"arm\":\"%s\","
					"\"of\":{\"digest\":\"%s\"}}",
					arm, run->hex);

	if (state == REP_EXCLUDED)
		run_abandoned(s, &i);
	else
		(void)run_rep_end(s, &i, speed, state);
}

static void series(struct run_scene *s, const char *signoff, struct strs *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(series_intents(s->l, "w", s->c.digest, s->stack, signoff, 0, run_scene_size(s),
				ret, &err),
		 err);
}

static void pairs_are_a_series_of_their_own(void)
{
	struct strs pairs CLEANUP(strs_release) = { 0 }, plain CLEANUP(strs_release) = { 0 };
	struct strs other CLEANUP(strs_release) = { 0 }, again CLEANUP(strs_release) = { 0 };
	struct ledger_ref a, b, c, d;
	struct run_scene s;

	run_scene_init(&s);
	a = run_begin(&s, "plain", "");
	run_end(&s, &a);
	b = alternating(&s, SIGNOFF, "");
	run_end(&s, &b);
	c = alternating(&s, OTHER, "");
	run_end(&s, &c);
	series(&s, NULL, &plain);
	CHECK_INT(plain.n, 1);
	CHECK_STR(plain.v[0], a.hex);
	series(&s, SIGNOFF, &pairs);
	CHECK_INT(pairs.n, 1);
	CHECK_STR(pairs.v[0], b.hex);
	series(&s, OTHER, &other);
	CHECK_INT(other.n, 1);
	d = alternating(&s, SIGNOFF, ",\"new_series\":\"once more\"");
	run_end(&s, &d);
	series(&s, SIGNOFF, &again);
	CHECK_INT(again.n, 1);
	CHECK_STR(again.v[0], d.hex);
	run_scene_release(&s);
}

static void each_repetition_is_of_its_own_stack(void)
{
	struct strs l CLEANUP(strs_release) = { 0 }, leaves CLEANUP(strs_release) = { 0 };
	struct reps cand CLEANUP(reps_release) = { 0 }, bank CLEANUP(reps_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger_ref a;
	struct run_scene s;
	size_t failed = 9;

	run_scene_init(&s);
	a = alternating(&s, SIGNOFF, "");
	rep_of(&s, &a, ARMS_ACCEPTED, 100, REP_OK);
	rep_of(&s, &a, ARMS_OTHER, 80, REP_OK);
	rep_of(&s, &a, ARMS_OTHER, 0, REP_FAILED);
	rep_of(&s, &a, ARMS_ACCEPTED, 0, REP_FAILED);
	rep_of(&s, &a, ARMS_ACCEPTED, 101, REP_OK);
	rep_of(&s, &a, ARMS_ACCEPTED, 0, REP_EXCLUDED);
	run_end(&s, &a);
	series(&s, SIGNOFF, &l);
	CHECK_OK(series_reps(s.l, &l, &cand, NULL, &err), err);
	CHECK_OK(series_arms(s.l, &l, &bank, &leaves, &failed, &err), err);
	CHECK_INT(cand.n, 2);
	CHECK_INT(cand.v[0].state, REP_OK);
	CHECK_INT(cand.v[1].state, REP_FAILED);
	CHECK_INT(bank.n, 2); /* only good ones stand against the candidate */
	CHECK_NEAR(measurements_find(&bank.v[1].measured, "speed")->value, 101, 1e-9);
	CHECK_INT(bank.v[1].index, 1);
	CHECK_INT(failed, 1);
	CHECK_INT(leaves.n, 4); /* but each has to be named by the verdict */
	run_scene_release(&s);
}

static void what_it_found_is_announced(void)
{
	struct arm_switch sw = { "kernel", NULL, NULL };
	struct going g = { .arms = { .on = true, .v = &sw, .n = 1, .seed = 7 } };
	AUTO_FREE char *found = xstrdup("new"), *text = NULL;
	AUTO_JSON json_t *body = json_object();

	sw.found = found;
	arms_announce(&g, body);
	text = json_text(body, false);
	CHECK_HAS(text, "\"design\":\"interleaved\"");
	CHECK_HAS(text, "\"order_seed\":7");
	CHECK_HAS(text, "\"found\":[{\"name\":\"kernel\",\"value\":\"new\"}]");
}

TEST_MAIN(TEST(pairs_are_a_series_of_their_own), TEST(each_repetition_is_of_its_own_stack),
	  TEST(what_it_found_is_announced))
