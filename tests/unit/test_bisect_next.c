/* SPDX-License-Identifier: Apache-2.0 */
#include "bisect/bisect.h"
#include "stat/stat.h"

#include "test.h"

/* One whole search on made-up values: truth h, effect `effect`, spread `sd`. */
struct game {
	struct bisect_hyp truth;
	double bank[10], cand[6];
	struct bisect_trial trials[64];
	struct bisect_in in;
	struct bisect_fit fit;
	struct bisect_step step;
};

static void game_init(struct game *g, unsigned n, struct bisect_hyp truth, double effect, double sd,
		      struct rng *r)
{
	*g = (struct game){ .truth = truth };
	for (int i = 0; i < 10; i++)
		g->bank[i] = sd * rng_normal(r);
	for (int i = 0; i < 6; i++)
		g->cand[i] = effect + sd * rng_normal(r);
	g->in = (struct bisect_in){ .n = n,
				    .bank = g->bank,
				    .n_bank = 10,
				    .cand = g->cand,
				    .n_cand = 6,
				    .trials = g->trials };
}

static void game_play(struct game *g, double effect, double sd, struct rng *r)
{
	for (;;) {
		struct bisect_trial *t = &g->trials[g->in.n_trials];

		bisect_fit(&g->in, &g->fit);
		bisect_next(&g->in, &g->fit, &g->step);
		if (g->step.state != BISECT_TRY)
			break;
		CHECK(g->in.n_trials < 40);
		CHECK(bisect_can_run(&g->in, g->step.config));
		t->config = g->step.config;
		t->why = g->step.why;
		t->w = effect * bisect_level2(&g->truth, t->config) / 2 + sd * rng_normal(r);
		g->in.n_trials++;
	}
	bisect_fit_release(&g->fit);
}

static bool is_hyp(const struct bisect_hyp *h, const struct bisect_hyp *want)
{
	return h->kind == want->kind && h->a == want->a && h->b == want->b;
}

static void finds_what_there_is(void)
{
	static const struct bisect_hyp truths[] = {
		{ BISECT_ONE, 0, 0, 0, 0 },  { BISECT_ONE, 4, 4, 0, 0 },
		{ BISECT_BOTH, 1, 3, 0, 0 }, { BISECT_HALVES, 0, 4, 0, 0 },
		{ BISECT_ENV, 0, 0, 0, 0 },  { BISECT_GONE, 0, 0, 0, 0 },
	};
	static const enum bisect_state ends[] = { BISECT_OUTSIDE, BISECT_VANISHED, BISECT_FOUND,
						  BISECT_FOUND, BISECT_FOUND };
	struct rng r = { 7 };

	for (size_t k = 0; k < sizeof(truths) / sizeof(*truths); k++)
		for (int i = 0; i < 20; i++) {
			struct game g;
			struct bisect_hyp found;

			game_init(&g, 5, truths[k], 0.10, 0.01, &r);
			game_play(&g, 0.10, 0.01, &r);
			CHECK_INT((int)g.step.state, (int)ends[truths[k].kind]);
			bisect_fit(&g.in, &g.fit);
			found = g.fit.v[g.step.hyp];
			bisect_fit_release(&g.fit);
			CHECK(is_hyp(&found, &truths[k]));
		}
}

static void it_begins_with_both_ends_and_ends_with_both_ways(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 2, 2, 0, 0 };
	struct rng r = { 8 };
	struct game g;
	size_t n, only = 0, but = 0;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	game_play(&g, 0.10, 0.005, &r);
	n = g.in.n_trials;
	CHECK_INT((int)g.step.state, BISECT_FOUND);
	CHECK(n >= 7);
	CHECK_INT(g.trials[0].config, 0);
	CHECK_INT(g.trials[1].config, 15);
	CHECK_INT((int)g.trials[1].why, BISECT_REPRODUCE);
	CHECK_INT((int)g.trials[n - 5].why, BISECT_SEARCH);
	for (size_t i = n - 4; i < n; i++) {
		CHECK_INT((int)g.trials[i].why, BISECT_CONFIRMS);
		only += g.trials[i].config == 4;
		but += g.trials[i].config == 11;
	}
	CHECK_INT(only, 2);
	CHECK_INT(but, 2);
}

/* Mask 0 and 2 of three, four may not be combined. */
static bool not_together(const void *arg, uint32_t config)
{
	const uint32_t *pair = arg;

	return (config & *pair) != *pair;
}

static bool only_ends(const void *arg, uint32_t config)
{
	(void)arg;
	return config == 0 || config == 15;
}

static bool in_step(const void *arg, uint32_t config)
{
	(void)arg;
	return (config & 1) == (config >> 1 & 1); /* 0 and 1 only go together */
}

static void what_is_not_feasible_is_never_asked_for(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 0, 0, 0, 0 };
	static const uint32_t pair = 5;
	struct rng r = { 9 };
	struct game g;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	g.in.feasible = not_together;
	g.in.arg = &pair;
	game_play(&g, 0.10, 0.005, &r); /* checks each with bisect_can_run() */
	CHECK_INT((int)g.step.state, BISECT_FOUND);
	for (size_t i = 0; i < g.in.n_trials; i++)
		CHECK(g.trials[i].config != 15 && g.trials[i].config != 5);
}

static void what_cannot_be_told_apart_is_undetermined_soon(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 0, 0, 0, 0 };
	struct rng r = { 10 };
	struct game g;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	g.in.feasible = only_ends;
	game_play(&g, 0.10, 0.005, &r);
	CHECK_INT((int)g.step.state, BISECT_UNDETERMINED);
	CHECK_STR(g.step.reason, "no configuration that can be tried tells the remaining suspects "
				 "apart");
	CHECK(g.in.n_trials < 12);
	game_init(&g, 4, truth, 0.10, 0.005, &r);
	g.in.feasible = in_step;
	game_play(&g, 0.10, 0.005, &r);
	CHECK_INT((int)g.step.state, BISECT_UNDETERMINED);
	CHECK(g.in.n_trials < 20);
}

static void a_trial_that_could_not_run_is_not_asked_for_again(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 1, 1, 0, 0 };
	struct rng r = { 11 };
	struct game g;
	uint32_t broken = 0;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	/* both ends, then the first search is broken */
	g.trials[0] = (struct bisect_trial){ 0, BISECT_REPRODUCE, 0.001 };
	g.trials[1] = (struct bisect_trial){ 15, BISECT_REPRODUCE, 0.101 };
	g.in.n_trials = 2;
	bisect_fit(&g.in, &g.fit);
	bisect_next(&g.in, &g.fit, &g.step);
	bisect_fit_release(&g.fit);
	CHECK_INT((int)g.step.state, BISECT_TRY);
	CHECK_INT((int)g.step.why, BISECT_SEARCH);
	broken = g.step.config;
	g.trials[2] = (struct bisect_trial){ broken, BISECT_SEARCH, NAN };
	g.in.n_trials = 3;
	CHECK(!bisect_can_run(&g.in, broken));
	game_play(&g, 0.10, 0.005, &r);
	CHECK_INT((int)g.step.state, BISECT_FOUND);
	for (size_t i = 3; i < g.in.n_trials; i++)
		CHECK(g.trials[i].config != broken);
	/* all of them broken: nothing to try */
	game_init(&g, 1, truth, 0.10, 0.005, &r);
	g.trials[0] = (struct bisect_trial){ 0, BISECT_REPRODUCE, NAN };
	g.trials[1] = (struct bisect_trial){ 1, BISECT_REPRODUCE, NAN };
	g.in.n_trials = 2;
	game_play(&g, 0.10, 0.005, &r);
	CHECK_INT((int)g.step.state, BISECT_UNDETERMINED);
	CHECK_STR(g.step.reason, "no configuration can be tried");
}

static bool one_way(const void *arg, uint32_t config)
{
	(void)arg;
	return config != 2;
}

static void one_way_is_enough_where_the_other_cannot_be_tried(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 1, 1, 0, 0 };
	struct rng r = { 12 };
	struct game g;
	size_t n;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	g.in.feasible = one_way;
	game_play(&g, 0.10, 0.005, &r);
	CHECK_INT((int)g.step.state, BISECT_FOUND);
	n = g.in.n_trials;
	CHECK_INT(g.trials[n - 1].config, 13);
	CHECK_INT(g.trials[n - 2].config, 13);
	CHECK_INT((int)g.trials[n - 3].why, BISECT_SEARCH);
}

static void the_limit_ends_it(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 1, 1, 0, 0 };
	struct rng r = { 13 };
	struct game g;

	game_init(&g, 6, truth, 0.10, 0.02, &r);
	g.in.max_trials = 4;
	game_play(&g, 0.10, 0.02, &r);
	CHECK_INT((int)g.step.state, BISECT_UNDETERMINED);
	CHECK_STR(g.step.reason, "the limit of trials is reached");
	CHECK_INT(g.in.n_trials, 4);
}

/* Confirming that fails goes back to searching, and a later one starts afresh. */
static void a_confirmation_that_fails_is_no_answer(void)
{
	static const struct bisect_hyp truth = { BISECT_ONE, 1, 1, 0, 0 };
	struct rng r = { 14 };
	struct game g;
	uint32_t other = 0;

	game_init(&g, 4, truth, 0.10, 0.005, &r);
	while (g.step.state == BISECT_TRY) {
		struct bisect_trial *t = &g.trials[g.in.n_trials];

		bisect_fit(&g.in, &g.fit);
		bisect_next(&g.in, &g.fit, &g.step);
		if (g.step.why == BISECT_CONFIRMS)
			break;
		*t = (struct bisect_trial){ g.step.config, g.step.why,
					    0.10 * (g.step.config >> 1 & 1) };
		g.in.n_trials++;
		CHECK(g.in.n_trials < 40);
	}
	/* contrary to everything before, each of the four is what component 1 does not say */
	for (int i = 0; i < 4; i++) {
		struct bisect_trial *t = &g.trials[g.in.n_trials];

		CHECK_INT((int)g.step.why, BISECT_CONFIRMS);
		CHECK(g.step.config == 2 || g.step.config == 13);
		*t = (struct bisect_trial){ g.step.config, g.step.why,
					    0.10 * !(g.step.config >> 1 & 1) };
		g.in.n_trials++;
		bisect_fit(&g.in, &g.fit);
		bisect_next(&g.in, &g.fit, &g.step);
		other = g.step.config;
	}
	(void)other;
	CHECK_INT((int)g.step.state, BISECT_TRY);
	CHECK(g.step.why == BISECT_SEARCH || (g.step.config != 2 && g.step.config != 13));
	bisect_fit_release(&g.fit);
}

/* Resumed anywhere, it asks for the same trial: nothing is kept but the trials. */
static void resumed_it_goes_on_the_same(void)
{
	static const struct bisect_hyp truth = { BISECT_BOTH, 0, 2, 0, 0 };
	struct rng r = { 15 };
	struct game g;

	game_init(&g, 5, truth, 0.10, 0.01, &r);
	game_play(&g, 0.10, 0.01, &r);
	for (size_t n = 0; n < g.in.n_trials; n++) {
		struct bisect_in in = g.in;
		struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
		struct bisect_step s;

		in.n_trials = n;
		bisect_fit(&in, &f);
		bisect_next(&in, &f, &s);
		CHECK_INT((int)s.state, BISECT_TRY);
		CHECK_INT(s.config, g.trials[n].config);
		CHECK_INT((int)s.why, (int)g.trials[n].why);
	}
}

/* The quick way over all masks against the definition. */
static void the_search_is_as_defined(void)
{
	static const struct bisect_hyp truth = { BISECT_HALVES, 1, 4, 0, 0 };
	struct rng r = { 16 };

	for (int round = 0; round < 20; round++) {
		struct game g;
		double most = -1;
		uint32_t want = 0, got, last;
		double variance, v[64];

		game_init(&g, 6, truth, 0.10, 0.03, &r);
		g.in.n_trials = 2 + (size_t)rng_below(&r, 6);
		for (size_t i = 0; i < g.in.n_trials; i++) {
			uint32_t c = (uint32_t)rng_below(&r, 64);

			g.trials[i] = (struct bisect_trial){ c, BISECT_SEARCH,
							     0.05 * bisect_level2(&truth, c) +
								     0.03 * rng_normal(&r) };
		}
		last = g.trials[g.in.n_trials - 1].config;
		bisect_fit(&g.in, &g.fit);
		for (uint32_t c = 0; c < 64; c++) {
			double e = 0;

			v[c] = 0;
			for (size_t k = 0; k < g.fit.n; k++)
				e += g.fit.v[k].posterior * bisect_level2(&g.fit.v[k], c) / 2;
			for (size_t k = 0; k < g.fit.n; k++) {
				double d = bisect_level2(&g.fit.v[k], c) / 2.0 - e;

				v[c] += g.fit.v[k].posterior * d * d;
			}
			most = v[c] > most ? v[c] : most;
		}
		want = 64;
		for (uint32_t c = 0; c < 64; c++)
			if (v[c] >= most - 1e-6 &&
			    (want == 64 ||
			     __builtin_popcount(c ^ last) < __builtin_popcount(want ^ last)))
				want = c;
		CHECK(bisect_search(&g.in, &g.fit, &got, &variance));
		CHECK_INT(got, want);
		CHECK_NEAR(variance, v[want], 1e-12);
		bisect_fit_release(&g.fit);
	}
}

static void twenty_components_by_drawn_masks(void)
{
	static const struct bisect_hyp one = { BISECT_ONE, 17, 17, 0, 0 },
				       both = { BISECT_BOTH, 3, 11, 0, 0 };
	struct rng r = { 17 };

	for (int i = 0; i < 3; i++) {
		struct game g;
		struct bisect_hyp found;
		const struct bisect_hyp *truth = i % 2 ? &both : &one;

		game_init(&g, 20, *truth, 0.10, 0.01, &r);
		g.in.seed = 99 + (uint64_t)i;
		game_play(&g, 0.10, 0.01, &r);
		CHECK_INT((int)g.step.state, BISECT_FOUND);
		CHECK(g.in.n_trials <= 24);
		bisect_fit(&g.in, &g.fit);
		found = g.fit.v[g.step.hyp];
		bisect_fit_release(&g.fit);
		CHECK(is_hyp(&found, truth));
	}
}

TEST_MAIN(TEST(finds_what_there_is), TEST(it_begins_with_both_ends_and_ends_with_both_ways),
	  TEST(what_is_not_feasible_is_never_asked_for),
	  TEST(what_cannot_be_told_apart_is_undetermined_soon),
	  TEST(a_trial_that_could_not_run_is_not_asked_for_again),
	  TEST(one_way_is_enough_where_the_other_cannot_be_tried), TEST(the_limit_ends_it),
	  TEST(a_confirmation_that_fails_is_no_answer), TEST(resumed_it_goes_on_the_same),
	  TEST(the_search_is_as_defined), TEST(twenty_components_by_drawn_masks))
