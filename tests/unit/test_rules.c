/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static const char *note(const struct verdict *v, const char *code)
{
	for (size_t i = 0; i < v->notes.n; i++)
		if (strcmp(v->notes.v[i].code, code) == 0)
			return v->notes.v[i].text;
	return NULL;
}

static void a_loss_inside_the_margin_is_accepted_with_its_size(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.025, 3, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_HAS(note(&v, "worse_inside_margin"), "ttft.p50 is worse by 2.");
}

static void too_good_is_noted(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 0.9, 3, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_HAS(note(&v, "much_better"), "same work, same data, same target?");
}

static void a_small_bank_is_information_only(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.in.n_bank = 6;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK(note(&v, "small_bank") != NULL);
	s.in.n_bank = 10;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(note(&v, "small_bank") == NULL);
}

/* The first look that decides stands, whatever was made after it. */
static void a_decided_series_stays_decided(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 8, true);
	for (int i = 3; i < 8; i++)
		s.cand[i] = 150;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK_INT(v.look, 3);
	CHECK_INT(v.trace.n, 1);
	CHECK_HAS(note(&v, "look_stands"), "the 5 made later are not part of it");
}

static void a_failure_that_the_contract_allows_is_noted(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 10, true);
	s.m[0].has_limit = false;
	s.in.max_failed = 1;
	s.reps[1].state = REP_FAILED;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_HAS(note(&v, "note"), "1 failed repetition");
	/* First acceptance knows no such allowance. */
	scene(&s, 1, 10, false);
	s.in.max_failed = 1;
	s.reps[1].state = REP_FAILED;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK(v.final);
}

static void noise_may_settle_before_the_cap(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 0.9, 3, true);
	s.m[0].has_limit = false;
	s.cand[0] = 80;
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	s.in.ended = true;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(v.final);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK_STR(first_code(&v), "not_repeatable");
	CHECK_HAS(v.reasons.v[0].text, "the limit is 5.0 %");
	s.in.max_cov = 0.20;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
}

static void the_callers_notes_go_with_an_acceptance(void)
{
	static const char *const notes[] = { "waiver 7 covers the driver", NULL };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	s.in.notes = notes;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_STR(note(&v, "note"), notes[0]);
	scene(&s, 1.5, 3, true);
	s.in.notes = notes;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
}

static void objectives_reject_by_counting(void)
{
	static const struct {
		unsigned over, of;
		bool rejected;
	} t[] = { { 1, 3, false }, { 2, 3, true }, { 2, 5, false },  { 3, 5, true },
		  { 2, 7, false }, { 3, 7, true }, { 3, 10, false }, { 4, 10, true } };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct scene s;

		scene(&s, 1, t[i].of, false);
		/* the last ones, so that no earlier look rejects */
		for (unsigned k = 0; k < t[i].over; k++)
			s.cand[t[i].of - 1 - k] = 116;
		/* a first one is over only by itself: nothing is accepted before */
		s.cand[0] = t[i].of > 5 ? 114.9 : s.cand[0];
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind == VERDICT_REJECTED, t[i].rejected);
	}
}

/* Speed and samples each with a margin: what one gains does not pay for what the other loses. */
static void speed_and_samples_are_judged_apart(void)
{
	static const struct {
		double speed, amount; /* factors of the accepted ones */
		enum verdict_kind kind;
		const char *about, *says;
	} t[] = {
		{ .90, 1.10, VERDICT_REJECTED, "samples_to_target",
		  "faster, but with more samples" },
		{ 1.10, .90, VERDICT_REJECTED, "sample_time", "fewer samples, but slower" },
		{ .96, 1.03, VERDICT_ACCEPTED_NOTE, NULL, "faster, but with more samples" },
		{ .96, .97, VERDICT_ACCEPTED, NULL, NULL },
		{ 1.08, 1.08, VERDICT_REJECTED, "sample_time", NULL },
		{ 1, 1, VERDICT_ACCEPTED, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		double samples[10];
		struct scene s;

		scene(&s, t[i].speed, 10, true);
		for (size_t k = 0; k < 10; k++)
			samples[k] = noise[k] * t[i].amount;
		s.m[1] = s.m[0];
		s.m[0].has_limit = s.m[1].has_limit = false;
		s.m[0].name = "sample_time";
		s.m[0].part = PART_SPEED;
		s.m[1].name = "samples_to_target";
		s.m[1].unit = UNIT_SAMPLES;
		s.m[1].part = PART_AMOUNT;
		s.m[1].cand = samples;
		s.in.n_metrics = 2;
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind, t[i].kind);
		if (t[i].about)
			CHECK_STR(v.reasons.v[0].about, t[i].about);
		CHECK_INT(note(&v, "speed_against_samples") != NULL, t[i].says != NULL);
		if (t[i].says)
			CHECK_HAS(note(&v, "speed_against_samples"), t[i].says);
	}
}

TEST_MAIN(TEST(speed_and_samples_are_judged_apart),
	  TEST(a_loss_inside_the_margin_is_accepted_with_its_size), TEST(too_good_is_noted),
	  TEST(a_small_bank_is_information_only), TEST(a_decided_series_stays_decided),
	  TEST(a_failure_that_the_contract_allows_is_noted), TEST(noise_may_settle_before_the_cap),
	  TEST(the_callers_notes_go_with_an_acceptance), TEST(objectives_reject_by_counting))
