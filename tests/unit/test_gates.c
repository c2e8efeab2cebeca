/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static const char *const digest_a = "aaaaaaaaaaaaaaaa", *const digest_b = "bbbbbbbbbbbbbbbb";

static void evidence_for_something_else_is_void(void)
{
	static const struct {
		const char *bank, *cand, *want;
	} t[] = {
		{ "aaaa", "aaaa", NULL },
		{ "aaaa", "bbbb", "other_contract" },
		{ "aaaa", NULL, "other_contract" }, /* unknown is not the same */
		{ NULL, "bbbb", "other_contract" },
		{ NULL, NULL, NULL }, /* the caller compares by itself */
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct scene s;

		scene(&s, 1, 3, true);
		s.in.bank_id.contract = t[i].bank;
		s.in.cand_id.contract = t[i].cand;
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind, t[i].want ? VERDICT_BASELINE_VOID : VERDICT_ACCEPTED);
		CHECK_STR(first_code(&v), t[i].want ? t[i].want : "");
		CHECK(v.final);
	}
}

static void each_part_of_the_identity_counts_and_the_stack_does_not(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	s.in.bank_id = (struct verdict_identity){ digest_a, digest_a, digest_a, digest_a };
	s.in.cand_id = (struct verdict_identity){ digest_a, digest_b, digest_a, digest_b };
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "other_workload");
	s.in.cand_id.workload = digest_a;
	s.in.cand_id.schedule = digest_b;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "other_schedule");
	s.in.cand_id.schedule = digest_a;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.in.cand_id.stack = digest_a;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED); /* for information only */
	CHECK_STR(v.notes.v[0].code, "same_stack");
	/* Without a bank there is nothing to be void against. */
	scene(&s, 1, 5, false);
	s.in.bank_id.contract = digest_a;
	s.in.cand_id.contract = digest_b;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
}

/* "The label says ep 8, the server ran ep 1." */
static void asked_for_in_effect_and_label_must_agree(void)
{
	static const struct {
		struct verdict_setting x;
		enum verdict_kind want;
		const char *code;
	} t[] = {
		{ { "ep", "8", "8", "8", true }, VERDICT_ACCEPTED, "" },
		{ { "ep", "8", "1", "8", true }, VERDICT_BASELINE_VOID, "effective_differs" },
		{ { "ep", NULL, "1", "8", false }, VERDICT_BASELINE_VOID, "effective_differs" },
		{ { "ep", "1", NULL, "8", false }, VERDICT_BASELINE_VOID, "effective_differs" },
		{ { "ep", "8", NULL, NULL, true }, VERDICT_NO_RESULT, "effective_unknown" },
		{ { "ep", "8", NULL, NULL, false }, VERDICT_ACCEPTED, "" },
		{ { "ep", NULL, "1", NULL, true }, VERDICT_ACCEPTED, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct scene s;

		scene(&s, 1, 3, true);
		s.in.settings = &t[i].x;
		s.in.n_settings = 1;
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind, t[i].want);
		CHECK_STR(first_code(&v), t[i].code);
	}
}

static void a_failed_check_is_worse_than_one_that_was_skipped(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	s.checks[0] = (struct verdict_check){ "comm/allreduce", LAYER_COMM, RESULT_SKIP, true,
					      "no MPI here" };
	s.checks[1] = (struct verdict_check){ "hardware/ecc", LAYER_HARDWARE, RESULT_FAIL, true,
					      "3 uncorrected errors" };
	s.in.checks = s.checks;
	s.in.n_checks = 2;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_INT(v.reasons.n, 1); /* both are said */
	/* A result that is none of the five is not a pass. */
	s.checks[0].result = RESULT_N;
	s.in.n_checks = 1;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	CHECK_STR(first_code(&v), "check_error");
}

static void nothing_to_go_by_is_not_nothing_wrong(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 10, false);
	s.m[0].has_limit = false;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK_STR(first_code(&v), "nothing_decides");
	scene(&s, 1, 10, true);
	s.m[0].has_limit = false;
	s.m[0].gate = false;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "nothing_decides");
	s.m[0].gate = true;
	s.m[0].margin = NAN;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "nothing_decides");
	/* Objectives alone: accepted, and it says that nothing was compared. */
	s.m[0].has_limit = true;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_STR(v.notes.v[0].code, "no_margin");
	/* No metric at all. */
	s.in.n_metrics = 0;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), "nothing_decides");
}

static void failures_count_in_the_series_whenever_they_come(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 2, true);
	s.reps[0].state = s.reps[1].state = REP_FAILED;
	s.reps[0].reason = "server died";
	verdict_decide(&s.in, &v);
	CHECK(v.final); /* no third is needed */
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(v.reasons.v[0].text, "repetition 1 failed: server died");
	CHECK_STR(v.reasons.v[1].text, "repetition 2 failed: no reason was recorded");
	/* reject_failed 0 would reject everything: it is read as 1. */
	scene(&s, 1, 3, true);
	s.in.reject_failed = 0;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
}

static void a_metric_over_all_repetitions_needs_its_number(void)
{
	static const double some[] = { 0.8 }, all[] = { 1 }, none[] = { NAN };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, false);
	s.m[1] = (struct verdict_metric){ .name = "runs_reaching_target",
					  .unit = UNIT_RATIO,
					  .dir = HIGHER_IS_BETTER,
					  .abs_scale = true,
					  .across = true,
					  .margin = NAN,
					  .has_limit = true,
					  .limit = 1,
					  .cand = all };
	s.in.n_metrics = 2;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.m[1].cand = some;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_HAS(v.reasons.v[0].text, "runs_reaching_target is 80 %, limit 100 %");
	s.m[1].cand = none;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	s.m[1].cand = NULL;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

/* Recovery is skipped once the workload is rejected: that must not hide the rejection. */
static void what_was_skipped_does_not_hide_a_regression(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.5, 3, true);
	s.m[0].has_limit = false;
	s.checks[0] = (struct verdict_check){ "recovery/restart", LAYER_RECOVERY, RESULT_SKIP, true,
					      "why" };
	s.in.checks = s.checks;
	s.in.n_checks = 1;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "gross_regression");
	CHECK_STR(v.notes.v[v.notes.n - 1].code, "check_skipped");
	scene(&s, 1, 3, true);
	s.checks[0] = (struct verdict_check){ "recovery/restart", LAYER_RECOVERY, RESULT_SKIP, true,
					      "why" };
	s.in.checks = s.checks;
	s.in.n_checks = 1;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

TEST_MAIN(TEST(what_was_skipped_does_not_hide_a_regression),
	  TEST(evidence_for_something_else_is_void),
	  TEST(each_part_of_the_identity_counts_and_the_stack_does_not),
	  TEST(asked_for_in_effect_and_label_must_agree),
	  TEST(a_failed_check_is_worse_than_one_that_was_skipped),
	  TEST(nothing_to_go_by_is_not_nothing_wrong),
	  TEST(failures_count_in_the_series_whenever_they_come),
	  TEST(a_metric_over_all_repetitions_needs_its_number))
