/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "verdict_scene.h"

static void scored(struct scene *s, unsigned items, unsigned lost, unsigned won,
		   struct verdict_items *x)
{
	scene(s, 1, 3, true);
	*x = (struct verdict_items){ "mmlu", items, lost, won, 0.01 };
	s->in.items = x;
	s->in.n_items = 1;
}

static void a_score_is_accepted_rejected_or_open(void)
{
	struct verdict_items x;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scored(&s, 14042, 310, 295, &x);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED);
	/* The same flips on a tenth of the items: "not significant" is not "equal". */
	scored(&s, 1319, 40, 35, &x);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_INCONCLUSIVE);
	CHECK(v.final);
	CHECK_STR(first_code(&v), "items_undecided");
	CHECK_HAS(v.reasons.v[0].text, "may have fallen by 1.96 points (99 %)");
	scored(&s, 5000, 300, 150, &x);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK_STR(first_code(&v), "items_worse");
	scored(&s, 0, 0, 0, &x);
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	CHECK_STR(first_code(&v), "items_unmeasured");
}

/* A score that is open does not stop a speed that is rejected. */
static void a_regression_speaks_before_an_open_score(void)
{
	struct verdict_items x;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scored(&s, 1319, 40, 35, &x);
	for (int i = 0; i < 3; i++)
		s.cand[i] *= 1.5;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_REJECTED);
	CHECK(strcmp(first_code(&v), "items_undecided") != 0);
}

#define PROMPTS 40

struct answers {
	int64_t token[PROMPTS][6][8];
	struct text base[PROMPTS][3], cand[PROMPTS][3];
	struct text_prompt prompts[PROMPTS];
};

/* Three texts each side; `own` and `away` are the shares of texts that part from the usual one. */
static void answer(struct answers *a, double own, double away)
{
	struct rng r = { 4 };

	for (int p = 0; p < PROMPTS; p++) {
		for (int t = 0; t < 6; t++) {
			bool parts = rng_unit(&r) < (t < 3 ? own : away);

			for (int k = 0; k < 8; k++)
				a->token[p][t][k] = k + (parts && k >= 3 ? 100 * (t + 1) : 0);
			*(t < 3 ? &a->base[p][t] : &a->cand[p][t - 3]) =
				(struct text){ a->token[p][t], 8 };
		}
		a->prompts[p] = (struct text_prompt){ a->base[p], a->cand[p], 3, 3 };
	}
}

static enum verdict_kind judged(double own, double away, double margin, bool invariant,
				const char *code)
{
	static struct answers a;
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct verdict_texts t = { "chat", a.prompts, PROMPTS, margin, invariant };
	struct scene s;

	answer(&a, own, away);
	scene(&s, 1, 3, true);
	s.in.texts = &t;
	s.in.n_texts = 1;
	s.in.ended = true; /* more repetitions would sharpen it */
	verdict_decide(&s.in, &v);
	CHECK_STR(first_code(&v), code);
	return v.kind;
}

static void texts_are_held_against_the_own_agreement(void)
{
	CHECK_INT(judged(0, 0, 0.02, false, ""), VERDICT_ACCEPTED);
	CHECK_INT(judged(0.1, 0.1, 0.5, false, ""), VERDICT_ACCEPTED);
	CHECK_INT(judged(0.1, 0.1, 0.001, false, "texts_undecided"), VERDICT_INCONCLUSIVE);
	CHECK_INT(judged(0.05, 0.9, 0.02, false, "texts_worse"), VERDICT_REJECTED);
	/* "Batch invariant" makes one difference a wrong result. */
	CHECK_INT(judged(0, 0, 0.02, true, ""), VERDICT_ACCEPTED);
	CHECK_INT(judged(0, 0.02, 0.5, true, "texts_differ"), VERDICT_REJECTED);
}

static struct items_cluster flips[400];

/* Clusters of five items; in the first `lost` of them one item is lost. */
static void clustered(struct scene *s, size_t n, size_t lost, struct verdict_items *x)
{
	for (size_t i = 0; i < n; i++)
		flips[i] = (struct items_cluster){ i < lost ? -1 : 0, 5 };
	scored(s, (unsigned)(5 * n), (unsigned)lost, 0, x);
	x->clusters = flips;
	x->n_clusters = n;
	x->margin = 0.02;
	s->in.ended = true;
}

static void clusters_are_what_is_drawn(void)
{
	static const struct {
		size_t n, lost;
		enum verdict_answer_state want;
	} t[] = { { 400, 0, ANSWER_HELD },    { 400, 4, ANSWER_HELD }, { 400, 30, ANSWER_OPEN },
		  { 400, 200, ANSWER_WORSE }, { 29, 0, ANSWER_OPEN },  { 29, 29, ANSWER_OPEN } };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 };
		struct verdict_items x;
		struct scene s;

		clustered(&s, t[i].n, t[i].lost, &x);
		verdict_decide(&s.in, &v);
		printf("# %zu of %zu: %.4f in [%.4f, %.4f]\n", t[i].lost, t[i].n,
		       v.answers.v[0].change, v.answers.v[0].low, v.answers.v[0].high);
		CHECK_INT(v.answers.v[0].state, t[i].want);
		CHECK_STR(v.answers.v[0].method, "bootstrap");
		CHECK(v.answers.v[0].low <= v.answers.v[0].change);
		CHECK(v.answers.v[0].high >= v.answers.v[0].change);
		CHECK_INT(v.kind, t[i].want == ANSWER_HELD    ? VERDICT_ACCEPTED
				  : t[i].want == ANSWER_WORSE ? VERDICT_REJECTED
							      : VERDICT_INCONCLUSIVE);
	}
}

static enum verdict_kind losses(size_t n, double factor, enum verdict_answer_state want)
{
	static const double was[9] = { 2.1, 2.4, 2.2, 2.3, 2.5, 2.0, 2.6, 2.15, 2.35 };
	double is[9];
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct verdict_pairs x = { "loss_at.100", LOWER_IS_BETTER, was, is, n, 0.01 };
	struct scene s;

	for (size_t i = 0; i < n; i++)
		is[i] = was[i] * factor * (1 + 0.0005 * (double)(i % 3));
	scene(&s, 1, 3, true);
	s.in.pairs = &x;
	s.in.n_pairs = 1;
	s.in.ended = true;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.answers.v[0].state, want);
	return v.kind;
}

/* Seeds differ by a quarter, and a change of 2 % is seen all the same. */
static void losses_are_paired_by_seed(void)
{
	CHECK_INT(losses(8, 1, ANSWER_HELD), VERDICT_ACCEPTED);
	CHECK_INT(losses(8, 1.02, ANSWER_WORSE), VERDICT_REJECTED);
	CHECK_INT(losses(6, 1, ANSWER_OPEN), VERDICT_INCONCLUSIVE);
	CHECK_INT(losses(6, 1.02, ANSWER_OPEN), VERDICT_INCONCLUSIVE);
	CHECK_INT(losses(8, 1.0097, ANSWER_OPEN), VERDICT_INCONCLUSIVE);
	CHECK_INT(losses(0, 1, ANSWER_UNMEASURED), VERDICT_NO_RESULT);
}

static void it_is_said_how_many_items_decide(void)
{
	AUTO_FREE char *text = verdict_items_plan("mmlu", 1319, 0.01);

	CHECK_HAS(text, "1319 items decide a margin of 1 points when up to 0.84 % of them flip");
	CHECK_HAS(text, "with 6 % flipping it takes 9463");
}

static void texts_that_nobody_compared_are_no_result(void)
{
	const int64_t token[] = { 1, 2 };
	const struct text x[] = { { token, 2 } };
	const struct text_prompt p = { x, x, 1, 1 };
	struct verdict_texts t = { "chat", &p, 1, 0.02, false };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct scene s;

	scene(&s, 1, 3, true);
	s.in.texts = &t;
	s.in.n_texts = 1;
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
	t.n_prompts = 0;
	verdict_release(&v);
	verdict_decide(&s.in, &v);
	CHECK_INT(v.kind, VERDICT_NO_RESULT);
}

TEST_MAIN(TEST(a_score_is_accepted_rejected_or_open),
	  TEST(a_regression_speaks_before_an_open_score), TEST(clusters_are_what_is_drawn),
	  TEST(losses_are_paired_by_seed), TEST(it_is_said_how_many_items_decide),
	  TEST(texts_are_held_against_the_own_agreement),
	  TEST(texts_that_nobody_compared_are_no_result))
