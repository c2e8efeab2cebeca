/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "base/str.h"
#include "vectors.h"
#include "verdict_scene.h"

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
	CHECK_HAS(v.reasons.v[0].text, "ttft.p50: 100 ns -> 150 ns, worse by 49.9 %");
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
	CHECK_INT(v.kind, VERDICT_BASELINE_VOID);
	CHECK_STR(first_code(&v), "effective_differs");
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

static uint64_t mix(uint64_t h, uint64_t x)
{
	return (h ^ x) * UINT64_C(0x100000001b3);
}

static uint64_t mix_verdict(uint64_t h, const struct verdict *v)
{
	h = mix(h, (uint64_t)v->kind * 64 + v->look);
	h = mix(h, v->more * 4u + v->more_rejects * 2u + v->futile);
	for (size_t i = 0; i < v->reasons.n; i++)
		for (const char *c = v->reasons.v[i].code; *c; c++)
			h = mix(h, (unsigned char)*c);
	for (size_t i = 0; i < v->numbers.n; i++)
		h = mix(h, (uint64_t)v->numbers.v[i].label * 16 + v->numbers.v[i].held);
	return h;
}

/* 4,000 drawn series, judged: the same verdicts, reasons and labels whatever compiled this. */
static void every_compiler_gives_the_same_verdicts(void)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t kinds[VERDICT_N] = { 0 };
	struct rng r = { 2026 };
	double shifts = 0;

	for (int i = 0; i < 4000; i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		double mine[12], sd = 0.002 + 0.05 * rng_unit(&r);
		double shift = 0.2 * rng_unit(&r) - 0.05;
		size_t n = rng_below(&r, 11);
		struct scene s;

		scene(&s, 1, n, rng_below(&r, 4) > 0);
		draw(&r, mine, 12, 0, sd);
		draw(&r, s.cand, s.in.n_reps, shift, sd);
		s.m[0].bank = mine;
		s.in.n_bank = s.in.has_bank ? 5 + rng_below(&r, 8) : 0;
		s.m[1] = s.m[0];
		s.m[1].name = "other";
		s.m[1].cand = noise;
		s.in.n_metrics = 1 + rng_below(&r, 2);
		s.in.max_cov = 0.04;
		s.in.ended = rng_below(&r, 2);
		for (size_t k = 0; k < s.in.n_reps; k++)
			s.reps[k].state = rng_below(&r, 40) ? REP_OK : REP_FAILED;
		verdict_decide(&s.in, &v);
		h = mix_verdict(h, &v);
		kinds[v.kind]++;
		if (v.numbers.n && isfinite(v.numbers.v[0].shift))
			shifts += v.numbers.v[0].shift;
	}
	for (int k = 0; k < VERDICT_BASELINE_VOID; k++)
		CHECK(kinds[k] > 50); /* all kinds take part */
	printf("# %zu accepted, %zu with note, %zu rejected, %zu inconclusive, %zu without "
	       "result\n",
	       kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]);
	CHECK_NEAR(shifts, 132.25248047655944, 1e-9);
	/* Changes with the rules; never with the compiler. */
	CHECK_INT(h, INT64_C(-5136502159991944748));
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

static void same_numbers(struct vectors *vec, const struct verdict_look *got, const json_t *want)
{
	static const char *const labels[][2] = { { "same", "same" },
						 { "better", "better" },
						 { "worse-within-margin",
						   "worse, inside the margin" },
						 { "not-worse", "not worse" },
						 { "regressed", "regressed" },
						 { "undecided", "open" } };
	const json_t *list = json_object_get(want, "metrics");

	CHECK_INT(got->look, json_integer_value(json_object_get(want, "look")));
	CHECK_INT(got->failed, json_integer_value(json_object_get(want, "failed_runs")));
	for (size_t k = 0; k < json_array_size(list); k++) {
		const struct verdict_number *x = &got->numbers.v[k];
		const json_t *w = json_array_get(list, k);
		const char *label = json_string_value(json_object_get(w, "label"));
		bool known = false;

		VECTOR_NEAR(vec, x->shift, json_object_get(w, "est"));
		VECTOR_NEAR(vec, x->lcb, json_object_get(w, "lcb"));
		VECTOR_NEAR(vec, x->ucb, json_object_get(w, "ucb"));
		VECTOR_NEAR(vec, x->delta, json_object_get(w, "delta"));
		VECTOR_NEAR(vec, x->p_worse, json_object_get(w, "p_worse"));
		VECTOR_NEAR(vec, x->p_adjusted, json_object_get(w, "p_holm"));
		CHECK_INT(x->count, json_integer_value(json_object_get(want, "c")));
		CHECK_INT(x->gross, json_is_true(json_object_get(w, "gross")));
		for (size_t l = 0; l < ARRAY_SIZE(labels); l++) {
			if (strcmp(labels[l][0], label) == 0) {
				CHECK_STR(verdict_label_name(x->label), labels[l][1]);
				known = true;
			}
		}
		CHECK(known);
	}
}

static void second_input(const json_t *in, struct verdict_metric *m, struct verdict_rep *reps,
			 struct verdict_in *vi)
{
	size_t n = json_array_size(json_object_get(in, "metrics")), n_bank = 0;

	CHECK(n <= 8);
	verdict_defaults(vi);
	for (size_t k = 0; k < n; k++)
		metric_of(json_array_get(json_object_get(in, "metrics"), k), &m[k], &n_bank);
	vi->metrics = m;
	vi->n_metrics = n;
	vi->has_bank = true;
	vi->n_bank = n_bank;
	vi->max_cov = INFINITY;
	vi->max_failed = (unsigned)json_integer_value(json_object_get(in, "max_failed"));
	vi->reject_failed = (unsigned)json_integer_value(json_object_get(in, "reject_failed"));
	vi->reps = reps;
	vi->n_reps = json_array_size(
		json_object_get(json_array_get(json_object_get(in, "metrics"), 0), "cand"));
	for (size_t i = 0; i < vi->n_reps; i++)
		for (size_t k = 0; k < n; k++)
			if (isinf(m[k].cand[i]))
				reps[i].state = REP_FAILED;
}

static void second_judge(struct vectors *vec, struct verdict_in *vi, const json_t *t,
			 const char *want)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	size_t last = json_array_size(t) - 1;
	unsigned look =
		(unsigned)json_integer_value(json_object_get(json_array_get(t, last), "look"));

	/* The series as it was when it was decided: a failure after that is another matter. */
	vi->n_reps = MIN(vi->n_reps, (size_t)look);
	verdict_decide(vi, &v);
	if (v.kind == VERDICT_ACCEPTED_NOTE)
		v.kind = VERDICT_ACCEPTED;
	CHECK_INT(v.kind, kind_of(want));
	CHECK_INT(v.final, strcmp(want, "CONTINUE") != 0);
	if (v.failed >= vi->reject_failed)
		return; /* rejected for failed repetitions: no statistics were needed */
	CHECK_INT(v.trace.n, last + 1);
	for (size_t k = 0; k <= last; k++) {
		const char *decision =
			json_string_value(json_object_get(json_array_get(t, k), "decision"));
		enum verdict_kind kind = v.trace.v[k].kind;

		same_numbers(vec, &v.trace.v[k], json_array_get(t, k));
		if (kind == VERDICT_ACCEPTED_NOTE)
			kind = VERDICT_ACCEPTED;
		CHECK_INT(kind, kind_of(decision));
	}
}

static void second_vector(struct vectors *vec, const json_t *c)
{
	const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
	const json_t *t = json_object_get(out, "trace");
	const char *want = json_string_value(json_object_get(out, "verdict"));
	struct verdict_metric m[8];
	struct verdict_rep reps[16] = { 0 };
	struct verdict_in vi = { 0 };

	second_input(in, m, reps, &vi);
	second_judge(vec, &vi, t, want);
	for (size_t k = 0; k < vi.n_metrics; k++) {
		free((void *)m[k].bank);
		free((void *)m[k].cand);
	}
}

static void second_acceptance_vectors(void)
{
	struct vectors vec CLEANUP(vectors_release) = { 0 };
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

static void first_trace(struct vectors *vec, const struct verdict *v,
			const struct verdict_metric *m, const json_t *want)
{
	CHECK_INT(v->trace.n, json_array_size(want));
	for (size_t k = 0; k < v->trace.n; k++) {
		const struct verdict_number *x = &v->trace.v[k].numbers.v[0];
		const json_t *w = json_array_get(want, k), *upper = json_object_get(w, "upper");
		double up = m->dir == LOWER_IS_BETTER ? 1 : -1;

		CHECK_INT(v->trace.v[k].look, json_integer_value(json_object_get(w, "K")));
		CHECK_INT(x->over, json_integer_value(json_object_get(w, "over")));
		VECTOR_NEAR(vec, x->over_share, json_object_get(w, "cp_lower"));
		if (upper)
			VECTOR_NEAR(vec, up * (m->abs_scale ? x->upper : log(x->upper)), upper);
	}
}

static void first_acceptance_vectors(void)
{
	struct vectors vec CLEANUP(vectors_release) = { 0 };
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
		first_trace(&vec, &v, &m, json_object_get(out, "trace"));
		free((void *)m.cand);
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
	  TEST(every_compiler_gives_the_same_verdicts), TEST(second_acceptance_vectors),
	  TEST(first_acceptance_vectors))
