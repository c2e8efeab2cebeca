/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

#define NIGHTS 200

struct nights {
	struct verdict_in in;
	struct verdict_metric m;
	struct verdict_rep reps[NIGHTS];
	double bank[10], cand[NIGHTS];
};

/* Ten accepted and n nights at 1 % of noise; from night `from` on they are slower by `loss`. */
static void nights(struct nights *s, uint64_t seed, size_t n, size_t from, double loss)
{
	struct rng r = { seed };

	*s = (struct nights){ 0 };
	verdict_defaults(&s->in);
	draw(&r, s->bank, 10, 0, 0.01);
	draw(&r, s->cand, MIN(from, n), 0, 0.01);
	if (from < n)
		draw(&r, s->cand + from, n - from, loss, 0.01);
	s->m = (struct verdict_metric){ .name = "ttft.p50",
					.unit = UNIT_NS,
					.dir = LOWER_IS_BETTER,
					.gate = true,
					.margin = 0.05,
					.has_limit = true,
					.limit = 120,
					.bank = s->bank,
					.cand = s->cand };
	s->in.metrics = &s->m;
	s->in.n_metrics = 1;
	s->in.reps = s->reps;
	s->in.n_reps = n;
	s->in.has_bank = true;
	s->in.n_bank = 10;
}

/* Looked at after every night of a hundred series in which nothing happens. */
static void nothing_is_quiet_however_often_one_looks(void)
{
	int alarms = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		bool any = false;

		for (size_t n = 1; n <= 14; n++) { /* below 20 values in all: E alone */
			struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
			struct nights s;

			nights(&s, seed, n, n, 0);
			s.in.n_bank = 5;
			verdict_watch(&s.in, &w);
			any |= w.alarm;
		}
		alarms += any;
	}
	CHECK(alarms <= 3);
}

static void a_lasting_loss_raises_an_alarm(void)
{
	int alarms = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
		struct nights s;

		nights(&s, seed, 30, 0, 0.03);
		verdict_watch(&s.in, &w);
		CHECK_NEAR(w.v[0].shift, 0.03, 0.012);
		alarms += w.alarm;
	}
	CHECK_INT(alarms, 20);
}

/* Faster is no reason to run anything. */
static void a_gain_is_no_alarm(void)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	struct nights s;

	nights(&s, 3, 30, 0, -0.05);
	verdict_watch(&s.in, &w);
	CHECK(!w.alarm);
	CHECK_NEAR(w.v[0].log_e, 0, 0);
}

static void starts_that_fail_more_often_raise_one(void)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	struct nights s;

	nights(&s, 5, 20, 20, 0);
	for (size_t i = 0; i < 20; i += 2)
		s.reps[i].state = REP_FAILED;
	s.reps[1].state = REP_EXCLUDED;
	s.cand[3] = 130; /* over the limit */
	verdict_watch(&s.in, &w);
	CHECK_INT(w.reps, 19);
	CHECK_INT(w.bad, 11);
	CHECK(w.alarm && w.bad_log_e > log(100));
	/* Two of twenty are what is allowed. */
	verdict_watch_release(&w);
	nights(&s, 5, 20, 20, 0);
	s.reps[4].state = s.reps[9].state = REP_FAILED;
	verdict_watch(&s.in, &w);
	CHECK_INT(w.bad, 2);
	CHECK(!w.alarm);
}

/* Advice: where a long series moved, and none where it did not. */
static void a_long_series_says_where_it_moved(void)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	struct nights s;
	int moved = 0;

	nights(&s, 7, 30, 14, 0.03);
	verdict_watch(&s.in, &w);
	CHECK(w.v[0].moved >= 23 && w.v[0].moved <= 25); /* ten accepted ones before */
	verdict_watch_release(&w);
	nights(&s, 7, 9, 4, 0.05);
	verdict_watch(&s.in, &w);
	CHECK_INT(w.v[0].moved, 0); /* 19 values are too few to say so */
	for (uint64_t seed = 1; seed <= 40; seed++) {
		verdict_watch_release(&w);
		nights(&s, seed, 20, 20, 0);
		verdict_watch(&s.in, &w);
		moved += w.v[0].moved > 0;
	}
	CHECK(moved <= 3);
}

static void without_enough_there_is_nothing_to_say(void)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	struct nights s;

	nights(&s, 3, 30, 0, 0.10);
	s.in.n_bank = 4;
	verdict_watch(&s.in, &w);
	CHECK(isnan(w.v[0].shift) && !w.v[0].alarm);
	verdict_watch_release(&w);
	nights(&s, 3, 0, 0, 0);
	verdict_watch(&s.in, &w);
	CHECK(!w.alarm && w.reps == 0);
}

TEST_MAIN(TEST(nothing_is_quiet_however_often_one_looks), TEST(a_lasting_loss_raises_an_alarm),
	  TEST(a_gain_is_no_alarm), TEST(starts_that_fail_more_often_raise_one),
	  TEST(a_long_series_says_where_it_moved), TEST(without_enough_there_is_nothing_to_say))
