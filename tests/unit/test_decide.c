/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "base/str.h"
#include "vectors.h"

/* A bank of ten around 100 ms with about 1 % noise, and candidates at a factor of it. */
static const double bank[10] = { 100.0, 101.1, 99.2, 100.4, 98.9, 100.9, 99.6, 100.2, 99.8, 101.3 };
static const double noise[10] = {
	100.3, 99.1, 100.8, 99.5, 100.1, 101.0, 98.8, 100.6, 99.9, 100.2
};

struct scene {
	struct verdict_in in;
	struct verdict_metric m[2];
	struct verdict_rep reps[10];
	struct verdict_check checks[2];
	double cand[10], limited[10];
};

static void scene(struct scene *s, double factor, size_t n, bool has_bank)
{
	*s = (struct scene){ 0 };
	verdict_defaults(&s->in);
	for (size_t i = 0; i < n; i++)
		s->cand[i] = noise[i] * factor;
	s->m[0] = (struct verdict_metric){ .name = "ttft.p50",
					   .unit = UNIT_NS,
					   .dir = LOWER_IS_BETTER,
					   .gate = true,
					   .margin = 0.05,
					   .bank = bank,
					   .cand = s->cand,
					   .has_limit = true,
					   .limit = 115 };
	s->in.metrics = s->m;
	s->in.n_metrics = 1;
	s->in.reps = s->reps;
	s->in.n_reps = n;
	s->in.has_bank = has_bank;
	s->in.n_bank = has_bank ? 10 : 0;
}

static const char *first_code(const struct verdict *v)
{
	return v->reasons.n ? v->reasons.v[0].code : "";
}

static void accepts_no_change_at_the_first_look(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	CHECK(v.final);
	CHECK_INT(v.look, 3);
	CHECK_INT(v.numbers.v[0].label, LABEL_SAME);
}

static void rejects_a_gross_regression_and_says_how_much(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.5, 3, true);
	s.m[0].has_limit = false;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "gross_regression");
	CHECK_HAS(v.reasons.v[0].text,
		  "ttft.p50: 100 ns -> 150 ns, worse by 49.9 % [46.7 %, 52.9 %], margin 5 %");
}

static void an_undecided_series_goes_on_and_says_how_far(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1.035, 3, true);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK(!v.final);
	CHECK(v.advice != NULL);
	scene(&s, 1, 2, true);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	s.in.ended = true;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK(v.final);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

static void only_pass_lets_a_required_check_be_accepted(void)
{
	static const struct {
		enum result result;
		enum verdict_kind want;
		const char *code;
	} t[] = {
		{ RESULT_PASS, VERDICT_ACCEPTED, "" },
		{ RESULT_FAIL, VERDICT_REJECTED, "check_failed" },
		{ RESULT_SKIP, VERDICT_NO_RESULT, "check_skipped" },
		{ RESULT_ERROR, VERDICT_NO_RESULT, "check_error" },
		{ RESULT_DOUBTFUL, VERDICT_NO_RESULT, "check_doubtful" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct scene s;

		scene(&s, 1, 3, true);
		s.checks[0] = (struct verdict_check){ "hardware/gpus", LAYER_HARDWARE, t[i].result,
						      true, "why" };
		s.in.checks = s.checks;
		s.in.n_checks = 1;
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind, t[i].want);
		CHECK_STR(first_code(&v), t[i].code);
		/* One that is not required becomes a note, never silence. */
		s.checks[0].required = false;
		verdict_release(&v);
		verdict_decide(&s.in, &v);
		CHECK_INT(v.kind,
			  t[i].result == RESULT_PASS ? VERDICT_ACCEPTED : VERDICT_ACCEPTED_NOTE);
	}
}

static void a_number_that_is_missing_is_no_result(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.cand[3] = NAN;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	CHECK_STR(v.reasons.v[0].text, "ttft.p50 has no number in 1 of 5 repetitions");
	scene(&s, 1, 5, false);
	s.cand[0] = NAN;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	/* On the log scale zero is no measurement either. */
	scene(&s, 1, 5, true);
	s.cand[3] = 0;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

static void failed_repetitions_block_and_then_reject(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 10, true);
	s.reps[4].state = REP_FAILED;
	s.reps[4].reason = "server died";
	s.cand[4] = NAN;
	s.in.reps = s.reps;
	s.in.max_failed = 0;
	/* Accepted at look 3, before it failed: the failure belongs to the series all the same. */
	s.reps[4].state = REP_OK;
	s.reps[1].state = REP_FAILED;
	s.cand[4] = noise[4];
	verdict_decide(&s.in, &v);
	CHECK(v.kind == VERDICT_INCONCLUSIVE && v.final);
	s.reps[2].state = REP_FAILED;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "repetition_failed");
}

static void excluded_repetitions_are_listed_and_enter_nothing(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 4, true);
	s.reps[0].state = REP_EXCLUDED;
	s.reps[0].reason = "host_busy";
	s.cand[0] = 500;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_INT(v.excluded, 1);
	CHECK_STR(v.notes.v[0].text, "repetition 1 was left out: host_busy");
}

static void repetitions_of_one_start_count_as_one(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 4, true);
	for (int i = 0; i < 4; i++)
		s.reps[i].start = "a";
	verdict_decide(&s.in, &v);
	CHECK_INT(v.used, 1);
	CHECK(!v.final);
}

static void first_acceptance_wants_five_starts_with_headroom(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 4, false);
	verdict_decide(&s.in, &v);
	CHECK(!v.final);
	CHECK_HAS(v.advice, "1 more repetition");
	scene(&s, 1, 5, false);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	scene(&s, 1.2, 3, false);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "objective_missed");
}

static void a_candidate_as_good_as_the_bank_must_still_meet_its_objectives(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.m[0].limit = 95;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "objective_missed");
}

static void a_void_baseline_says_why(void)
{
	static const char *const why[] = { "the accepted run was of another contract", NULL };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.in.void_reasons = why;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_BASELINE_VOID);
	CHECK_STR(v.reasons.v[0].text, why[0]);
}

static void what_ran_must_be_what_was_captured(void)
{
	static const char *const why[] = { "blas: captured openblas, the process has reference",
					   NULL };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 5, true);
	s.in.mismatches = why;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

static void noise_over_the_limit_is_not_repeatable(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 0.5, 10, true);
	for (int i = 0; i < 10; i++)
		s.cand[i] = i % 2 ? 40 : 60;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK(v.final);
	CHECK_STR(first_code(&v), "not_repeatable");
}

static void a_small_bank_can_accept_nothing(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 10, true);
	s.in.n_bank = 4;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK_STR(first_code(&v), "bank_too_small");
}

static void shares_are_judged_on_their_own_scale(void)
{
	static const double ones[10] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	double bad[10] = { 0.9, 0.9, 0.9, 0.9, 0.9 };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	s.m[0] = (struct verdict_metric){ .name = "goodput",
					  .unit = UNIT_RATIO,
					  .dir = HIGHER_IS_BETTER,
					  .abs_scale = true,
					  .gate = true,
					  .margin = 0.02,
					  .bank = ones,
					  .cand = ones,
					  .has_limit = true,
					  .limit = 0.95 };
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	s.m[0].cand = bad;
	s.m[0].has_limit = false;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_HAS(v.reasons.v[0].text, "worse by 10 points");
}

static void the_same_input_gives_the_same_record(void)
{
	struct verdict a CLEANUP(verdict_release) = { 0 }, b CLEANUP(verdict_release) = { 0 };
	AUTO_JSON json_t *ja = NULL, *jb = NULL;
	struct scene s;

	scene(&s, 1.02, 8, true);
	verdict_decide(&s.in, &a);
	verdict_decide(&s.in, &b);
	ja = verdict_to_json(&a);
	jb = verdict_to_json(&b);
	CHECK(json_equal(ja, jb));
	CHECK(json_is_integer(
		json_object_get(json_array_get(json_object_get(ja, "numbers"), 0), "shift_e9")));
}

/* ---- the shared vectors ---------------------------------------------------------------------- */

static enum verdict_kind kind_of(const char *s)
{
	return strcmp(s, "ACCEPT") == 0   ? VERDICT_ACCEPTED
	       : strcmp(s, "REJECT") == 0 ? VERDICT_REJECTED
					  : VERDICT_INCONCLUSIVE;
}

static void metric_of(const json_t *m, struct verdict_metric *ret, size_t *ret_bank)
{
	size_t n;

	*ret = (struct verdict_metric){
		.name = json_string_value(json_object_get(m, "name")),
		.gate = true,
		.dir = strcmp(json_string_value(json_object_get(m, "direction")), "higher") == 0,
		.abs_scale = strcmp(json_string_value(json_object_get(m, "scale")), "abs") == 0,
		.margin = json_number_value(json_object_get(m, "margin")),
	};
	ret->bank = vector_array(json_object_get(m, "bank"), ret_bank);
	ret->cand = vector_array(json_object_get(m, "cand"), &n);
}

static void second_vector(struct vectors *vec, const json_t *c)
{
	const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out"), *t, *tm;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct verdict_metric m[8];
	struct verdict_rep reps[16] = { 0 };
	struct verdict_in vi = { 0 };
	size_t n = json_array_size(json_object_get(in, "metrics")), bank_n;

	verdict_defaults(&vi);
	for (size_t k = 0; k < n; k++)
		metric_of(json_array_get(json_object_get(in, "metrics"), k), &m[k], &bank_n);
	vi.metrics = m;
	vi.n_metrics = n;
	vi.has_bank = true;
	vi.n_bank = bank_n;
	vi.max_cov = INFINITY;
	vi.max_failed = (unsigned)json_integer_value(json_object_get(in, "max_failed"));
	vi.reject_failed = (unsigned)json_integer_value(json_object_get(in, "reject_failed"));
	vi.reps = reps;
	t = json_object_get(out, "trace");
	t = json_array_get(t, json_array_size(t) - 1);
	vi.n_reps = (size_t)json_integer_value(json_object_get(t, "look"));
	for (size_t i = 0; i < vi.n_reps; i++)
		for (size_t k = 0; k < n; k++)
			if (isinf(m[k].cand[i]))
				reps[i].state = REP_FAILED;
	verdict_decide(&vi, &v);
	if (v.kind == VERDICT_ACCEPTED_NOTE)
		v.kind = VERDICT_ACCEPTED;
	CHECK_INT(v.kind, kind_of(json_string_value(json_object_get(out, "verdict"))));
	tm = json_object_get(t, "metrics");
	for (size_t k = 0; k < json_array_size(tm); k++) {
		const json_t *x = json_array_get(tm, k);

		if (v.numbers.n <= k)
			continue; /* rejected for failed repetitions: no statistics were needed */
		VECTOR_NEAR(vec, v.numbers.v[k].shift, json_object_get(x, "est"));
		VECTOR_NEAR(vec, v.numbers.v[k].p_worse, json_object_get(x, "p_worse"));
		VECTOR_NEAR(vec, v.numbers.v[k].delta, json_object_get(x, "delta"));
		CHECK_INT(v.numbers.v[k].gross, json_is_true(json_object_get(x, "gross")));
		if (json_integer_value(json_object_get(t, "c")) >= 0) {
			VECTOR_NEAR(vec, v.numbers.v[k].ucb, json_object_get(x, "ucb"));
			VECTOR_NEAR(vec, v.numbers.v[k].lcb, json_object_get(x, "lcb"));
		}
		VECTOR_NEAR(vec, v.numbers.v[k].p_adjusted, json_object_get(x, "p_holm"));
	}
}

static void second_acceptance_vectors(void)
{
	struct vectors vec;
	size_t i;
	json_t *c;

	vectors_load("second_acceptance", &vec);
	json_array_foreach(vec.cases, i, c)
	{
		printf("# %s\n", json_string_value(json_object_get(c, "name")));
		fflush(stdout);
		second_vector(&vec, c);
	}
}

static void first_acceptance_vectors(void)
{
	struct vectors vec;
	size_t i;
	json_t *c;

	vectors_load("first_acceptance", &vec);
	json_array_foreach(vec.cases, i, c)
	{
		const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct verdict_rep reps[16] = { 0 };
		struct verdict_in vi = { 0 };
		struct verdict_metric m = {
			.name = "x",
			.margin = NAN,
			.has_limit = true,
			.dir = strcmp(json_string_value(json_object_get(in, "direction")),
				      "higher") == 0,
			.abs_scale =
				strcmp(json_string_value(json_object_get(in, "scale")), "abs") == 0,
			.limit = json_number_value(json_object_get(in, "slo")),
		};
		size_t n;

		verdict_defaults(&vi);
		m.cand = vector_array(json_object_get(in, "values"), &n);
		vi.metrics = &m;
		vi.n_metrics = 1;
		vi.reps = reps;
		vi.n_reps = n;
		vi.max_cov = INFINITY;
		vi.reject_failed = 100;
		for (size_t k = 0; k < n; k++)
			if (isinf(m.cand[k]))
				reps[k].state = REP_FAILED;
		verdict_decide(&vi, &v);
		printf("# %s\n", json_string_value(json_object_get(c, "name")));
		CHECK_INT(v.kind, kind_of(json_string_value(json_object_get(out, "verdict"))));
	}
}

TEST_MAIN(TEST(accepts_no_change_at_the_first_look),
	  TEST(rejects_a_gross_regression_and_says_how_much),
	  TEST(an_undecided_series_goes_on_and_says_how_far),
	  TEST(only_pass_lets_a_required_check_be_accepted),
	  TEST(a_number_that_is_missing_is_no_result),
	  TEST(failed_repetitions_block_and_then_reject),
	  TEST(excluded_repetitions_are_listed_and_enter_nothing),
	  TEST(repetitions_of_one_start_count_as_one),
	  TEST(first_acceptance_wants_five_starts_with_headroom),
	  TEST(a_candidate_as_good_as_the_bank_must_still_meet_its_objectives),
	  TEST(a_void_baseline_says_why), TEST(what_ran_must_be_what_was_captured),
	  TEST(noise_over_the_limit_is_not_repeatable), TEST(a_small_bank_can_accept_nothing),
	  TEST(shares_are_judged_on_their_own_scale), TEST(the_same_input_gives_the_same_record),
	  TEST(second_acceptance_vectors), TEST(first_acceptance_vectors))
