/* SPDX-License-Identifier: Apache-2.0 */
#include "bisect/bisect.h"

#include "vectors.h"

static enum bisect_kind kind_of(const char *word)
{
	return strcmp(word, "single") == 0 ? BISECT_ONE
	       : strcmp(word, "and") == 0  ? BISECT_BOTH
	       : strcmp(word, "add") == 0  ? BISECT_HALVES
	       : strcmp(word, "env") == 0  ? BISECT_ENV
					   : BISECT_GONE;
}

static double posterior_of(const struct bisect_fit *f, enum bisect_kind kind, unsigned a,
			   unsigned b)
{
	for (size_t k = 0; k < f->n; k++)
		if (f->v[k].kind == kind && f->v[k].a == a && f->v[k].b == b)
			return f->v[k].posterior;
	return NAN;
}

static double posterior_of_json(const struct bisect_fit *f, const json_t *h)
{
	enum bisect_kind kind = kind_of(json_string_value(json_array_get(h, 0)));
	unsigned a = (unsigned)json_integer_value(json_array_get(h, 1));
	unsigned b = kind == BISECT_ONE ? a : (unsigned)json_integer_value(json_array_get(h, 2));

	return posterior_of(f, kind, a, b);
}

/* Every step of every series: the three numbers, the leading hypotheses, the next trial. */
static void as_the_vectors_say(void)
{
	struct vectors vec;
	json_t *c;
	size_t at;

	vectors_load("bisect", &vec);
	json_array_foreach(vec.cases, at, c)
	{
		const json_t *in = json_object_get(c, "in");
		json_t *obs = json_object_get(in, "observations"), *o, *step;
		struct bisect_trial *t = calloc(json_array_size(obs) + 1, sizeof(*t));
		struct bisect_fit f = { 0 };
		size_t n_bank, n_cand, i, n_steps = 0;
		double *bank = vector_array(json_object_get(in, "bank"), &n_bank);
		double *cand = vector_array(json_object_get(in, "cand"), &n_cand);
		struct bisect_in b = {
			.bank = bank, .n_bank = n_bank, .cand = cand, .n_cand = n_cand, .trials = t
		};

		b.n = (unsigned)json_integer_value(json_object_get(in, "components"));
		json_array_foreach(obs, i, o)
		{
			t[i].config = (uint32_t)json_integer_value(json_object_get(o, "config"));
			t[i].w = vector_num(json_object_get(o, "value"));
		}
		json_array_foreach(json_object_get(json_object_get(c, "out"), "steps"), i, step)
		{
			uint32_t config;
			double variance;
			json_t *top;
			size_t k;

			b.n_trials =
				(size_t)json_integer_value(json_object_get(step, "observations"));
			bisect_fit(&b, &f);
			VECTOR_NEAR(&vec, f.level0, json_object_get(step, "level0"));
			VECTOR_NEAR(&vec, f.effect, json_object_get(step, "effect"));
			VECTOR_NEAR(&vec, f.sigma, json_object_get(step, "sigma"));
			json_array_foreach(json_object_get(step, "top"), k, top) VECTOR_NEAR(
				&vec, posterior_of_json(&f, json_object_get(top, "hypothesis")),
				json_object_get(top, "posterior"));
			CHECK(bisect_search(&b, &f, &config, &variance));
			CHECK_INT(config, json_integer_value(json_object_get(step, "next_config")));
			VECTOR_NEAR(&vec, variance, json_object_get(step, "next_variance"));
			n_steps++;
		}
		CHECK(n_steps > 0);
		bisect_fit_release(&f);
		free(t);
		free(bank);
		free(cand);
	}
	vectors_release(&vec);
}

/* Halves of 1 and 3 out of five, one odd repetition; numbers by a second implementation. */
static const double bank[] = { -0.0141, -0.0138, 0.008,  -0.0275, -0.0017,
			       -0.0271, 0.0132,  0.0024, 0.0163 };
static const double cand[] = { 0.0639, 0.0748, 0.0666, 0.0611, 0.0717 };
static const struct bisect_trial trials[] = {
	{ 0, BISECT_REPRODUCE, -0.0151 }, { 31, BISECT_REPRODUCE, 0.0657 },
	{ 7, BISECT_SEARCH, 0.0434 },     { 3, BISECT_SEARCH, 0.0357 },
	{ 13, BISECT_SEARCH, 0.0301 },    { 14, BISECT_SEARCH, 0.31 },
	{ 14, BISECT_SEARCH, 0.0707 },    { 10, BISECT_SEARCH, 0.063 },
	{ 8, BISECT_SEARCH, 0.0369 },
};

static struct bisect_in series(void)
{
	return (struct bisect_in){ .n = 5,
				   .bank = bank,
				   .n_bank = sizeof(bank) / sizeof(*bank),
				   .cand = cand,
				   .n_cand = sizeof(cand) / sizeof(*cand),
				   .trials = trials,
				   .n_trials = sizeof(trials) / sizeof(*trials) };
}

static void halves_of_a_pair_are_found_in_spite_of_an_odd_repetition(void)
{
	struct bisect_in in = series();
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	double variance;
	uint32_t config;

	bisect_fit(&in, &f);
	CHECK_NEAR(f.level0, -0.004947401910923115, 1e-12);
	CHECK_NEAR(f.effect, 0.07333496422727798, 1e-12);
	CHECK_NEAR(f.sigma, 0.01142814894412966, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_HALVES, 1, 3), 0.9999724090474524, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_HALVES, 1, 2), 2.2047729203824908e-05, 1e-15);
	CHECK_NEAR(posterior_of(&f, BISECT_ONE, 1, 1), 3.1537252213188388e-06, 1e-15);
	CHECK_INT((int)f.v[f.best].kind, BISECT_HALVES);
	CHECK_INT(bisect_hyp_mask(&f.v[f.best]), 10);
	CHECK(bisect_search(&in, &f, &config, &variance));
	CHECK_INT(config, 8);
	CHECK_NEAR(variance, 6.339321556656211e-06, 1e-15);
}

static void the_order_of_trials_does_not_matter(void)
{
	struct bisect_in in = series();
	struct bisect_trial other[9];
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_fit g CLEANUP(bisect_fit_release) = { 0 };

	for (size_t i = 0; i < 9; i++)
		other[i] = trials[(i * 4 + 3) % 9];
	bisect_fit(&in, &f);
	in.trials = other;
	bisect_fit(&in, &g);
	CHECK_NEAR(f.effect, g.effect, 1e-14);
	for (size_t k = 0; k < f.n; k++)
		CHECK_NEAR(f.v[k].posterior, g.v[k].posterior, 1e-12);
}

/* What is not finite says nothing: a failed repetition, a trial that could not run. */
static void what_is_not_finite_is_left_out(void)
{
	struct bisect_in in = series();
	struct bisect_trial more[11];
	double b[10], c[6];
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_fit g CLEANUP(bisect_fit_release) = { 0 };

	bisect_fit(&in, &f);
	memcpy(b, bank, sizeof(bank));
	memcpy(c, cand, sizeof(cand));
	memcpy(more, trials, sizeof(trials));
	b[9] = NAN;
	c[5] = INFINITY;
	more[9] = (struct bisect_trial){ 5, BISECT_SEARCH, NAN };
	more[10] = (struct bisect_trial){ 6, BISECT_SEARCH, INFINITY };
	in.bank = b;
	in.n_bank = 10;
	in.cand = c;
	in.n_cand = 6;
	in.trials = more;
	in.n_trials = 11;
	bisect_fit(&in, &g);
	CHECK(f.effect == g.effect && f.sigma == g.sigma);
	for (size_t k = 0; k < f.n; k++)
		CHECK(f.v[k].posterior == g.v[k].posterior);
}

static void priors_follow_the_weights(void)
{
	static const double w[] = { 1, 4, 1, 1, 1 };
	struct bisect_in in = series();
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	double sum = 0;

	in.weight = w;
	in.n_trials = 0;
	bisect_fit(&in, &f);
	for (size_t k = 0; k < f.n; k++)
		sum += f.v[k].posterior;
	CHECK_NEAR(sum, 1, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_ONE, 1, 1), 0.75 * 4 / 8, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_ONE, 0, 0), 0.75 / 8, 1e-12);
	/* products: 4 x 4 pairs with 1, 6 x 1 without */
	CHECK_NEAR(posterior_of(&f, BISECT_BOTH, 0, 1), 0.12 * 4 / 22, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_HALVES, 2, 3), 0.09 / 22, 1e-12);
	CHECK_NEAR(posterior_of(&f, BISECT_ENV, 0, 0), 0.02, 1e-12);
}

static void one_component_and_the_most_there_are(void)
{
	struct bisect_in in = series();
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	double sum = 0;

	in.n = 1;
	in.n_trials = 0;
	bisect_fit(&in, &f);
	CHECK_INT(f.n, 3);
	CHECK_NEAR(posterior_of(&f, BISECT_ONE, 0, 0), 0.75 / 0.79, 1e-12);
	in.n = BISECT_MAX_COMPONENTS;
	bisect_fit(&in, &f);
	CHECK_INT(f.n, 2 + 31 + 2 * 31 * 30 / 2);
	for (size_t k = 0; k < f.n; k++)
		sum += f.v[k].posterior;
	CHECK_NEAR(sum, 1, 1e-9);
}

/* Repetitions without any spread are no reason for infinite certainty. */
static void equal_values_do_not_divide_by_zero(void)
{
	static const double same[] = { 1, 1, 1, 1, 1 }, more[] = { 1.1, 1.1, 1.1 };
	static const struct bisect_trial t[] = { { 0, BISECT_REPRODUCE, 1 },
						 { 3, BISECT_REPRODUCE, 1.1 },
						 { 1, BISECT_SEARCH, 1.1 } };
	struct bisect_in in = { .n = 2,
				.bank = same,
				.n_bank = 5,
				.cand = more,
				.n_cand = 3,
				.trials = t,
				.n_trials = 3 };
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };

	bisect_fit(&in, &f);
	CHECK(isfinite(f.effect) && f.sigma >= 1e-4);
	CHECK_INT(bisect_hyp_mask(&f.v[f.best]), 1);
	CHECK(f.v[f.best].posterior > 0.99 && f.v[f.best].posterior < 1);
	/* no effect at all: nothing is learnt, nothing breaks */
	in.cand = same;
	in.n_trials = 1;
	bisect_fit(&in, &f);
	CHECK(f.effect == 0.001 && isfinite(f.v[f.best].posterior));
}

static void levels_by_hand(void)
{
	static const struct bisect_hyp one = { BISECT_ONE, 2, 2, 0, 0 },
				       both = { BISECT_BOTH, 0, 2, 0, 0 },
				       halves = { BISECT_HALVES, 0, 2, 0, 0 },
				       env = { BISECT_ENV, 0, 0, 0, 0 },
				       gone = { BISECT_GONE, 0, 0, 0, 0 };

	CHECK_INT(bisect_level2(&one, 4), 2);
	CHECK_INT(bisect_level2(&one, 3), 0);
	CHECK_INT(bisect_level2(&both, 4), 0);
	CHECK_INT(bisect_level2(&both, 7), 2);
	CHECK_INT(bisect_level2(&halves, 4), 1);
	CHECK_INT(bisect_level2(&halves, 5), 2);
	CHECK_INT(bisect_level2(&halves, 2), 0);
	CHECK_INT(bisect_level2(&env, 0), 2);
	CHECK_INT(bisect_level2(&gone, 7), 0);
	CHECK_STR(bisect_kind_name(BISECT_BOTH), "and");
	CHECK_STR(bisect_why_name(BISECT_CONFIRMS), "confirm");
}

TEST_MAIN(TEST(as_the_vectors_say), TEST(halves_of_a_pair_are_found_in_spite_of_an_odd_repetition),
	  TEST(the_order_of_trials_does_not_matter), TEST(what_is_not_finite_is_left_out),
	  TEST(priors_follow_the_weights), TEST(one_component_and_the_most_there_are),
	  TEST(equal_values_do_not_divide_by_zero), TEST(levels_by_hand))
