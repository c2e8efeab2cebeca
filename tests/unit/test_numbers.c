/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static enum verdict_label label_at(double factor, size_t n)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, factor, n, true);
	s.m[0].has_limit = false;
	verdict_decide(&s.in, &v);
	return v.numbers.v[0].label;
}

static void labels_say_what_the_bounds_show(void)
{
	CHECK_INT(label_at(1, 3), LABEL_SAME);
	CHECK_INT(label_at(0.95, 3), LABEL_BETTER);
	CHECK_INT(label_at(1.025, 3), LABEL_WORSE_INSIDE);
	CHECK_INT(label_at(1.06, 3), LABEL_REGRESSED);
	CHECK_INT(label_at(1.2, 3), LABEL_REGRESSED);
	CHECK_INT(label_at(1.035, 3), LABEL_OPEN);
	CHECK_INT(label_at(1, 2), LABEL_OPEN); /* no look yet, no bounds */
	CHECK_STR(verdict_label_name(LABEL_WORSE_INSIDE), "worse, inside the margin");
	CHECK_STR(verdict_label_name((enum verdict_label)99), "none");
}

static void both_directions_are_mirrors(void)
{
	double speed_bank[10], speed[3];
	double shift;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.03, 3, true);
	verdict_decide(&s.in, &v);
	shift = v.numbers.v[0].shift;
	for (int i = 0; i < 10; i++)
		speed_bank[i] = 1e6 / bank[i];
	for (int i = 0; i < 3; i++)
		speed[i] = 1e6 / s.cand[i];
	s.m[0].dir = HIGHER_IS_BETTER;
	s.m[0].bank = speed_bank;
	s.m[0].cand = speed;
	s.m[0].limit = 1e6 / s.m[0].limit;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_NEAR(v.numbers.v[0].shift, shift, 1e-12);
	CHECK_NEAR(v.numbers.v[0].bank_median, 1e4, 30);
	CHECK_INT(v.numbers.v[0].held, HELD_BANK);
}

static void a_noisier_candidate_is_noted(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	for (int i = 0; i < 5; i++)
		s.cand[i] = 98 + (i - 2) * 2;
	s.m[0].has_limit = false;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK(v.numbers.v[0].noisier > 2);
	CHECK_STR(v.notes.v[0].code, "noisier");
}

static void an_objective_is_held_by_repetitions_or_by_the_bank(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	/* Room for the bank's spread and the margin: three repetitions are enough. */
	scene(&s, 1, 3, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.numbers.v[0].held, HELD_BANK);
	/* Less room than the shift's bound leaves: not yet shown, though no repetition is over. */
	s.m[0].limit = 103.2;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	CHECK_INT(v.numbers.v[0].over, 0);
	CHECK_INT(v.numbers.v[0].held, HELD_NO);
	/* ... until its own five show it, if they are quiet enough. */
	scene(&s, 1, 5, true);
	for (int i = 0; i < 5; i++)
		s.cand[i] = 101 + 0.1 * i;
	s.m[0].limit = 103.2;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_INT(v.look, 5);
	CHECK_INT(v.numbers.v[0].held, HELD_OWN);
	/* One over it: the bank cannot carry it. */
	scene(&s, 1, 3, true);
	s.cand[1] = 116;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	CHECK_INT(v.numbers.v[0].held, HELD_NO);
}

static void a_limit_that_is_just_met_is_met(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, false);
	for (int i = 0; i < 5; i++)
		s.cand[i] = 115; /* exp(log(115)) may be a bit more */
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.m[0].limit_strict = true;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	/* A limit of nothing on a share. */
	scene(&s, 1, 5, false);
	for (int i = 0; i < 5; i++)
		s.cand[i] = 0;
	s.m[0].abs_scale = true;
	s.m[0].unit = UNIT_RATIO;
	s.m[0].limit = 0;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.cand[0] = 1e-6;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(v.kind != VERDICT_ACCEPTED);
}

static void several_metrics_share_the_doubt(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.06, 3, true);
	s.m[0].has_limit = false;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	/* The same candidate beside three quiet metrics: 4 x 1/286 is more than 0.008. */
	for (int i = 1; i < 4; i++) {
		s.m[i] = s.m[0];
		s.m[i].cand = noise;
	}
	s.in.n_metrics = 4;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	CHECK_NEAR(v.numbers.v[0].p_adjusted, 4 / 286., 1e-12);
	/* One that only is shown takes no part. */
	s.m[1].gate = s.m[2].gate = s.m[3].gate = false;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
}

TEST_MAIN(TEST(labels_say_what_the_bounds_show), TEST(both_directions_are_mirrors),
	  TEST(a_noisier_candidate_is_noted),
	  TEST(an_objective_is_held_by_repetitions_or_by_the_bank),
	  TEST(a_limit_that_is_just_met_is_met), TEST(several_metrics_share_the_doubt))
