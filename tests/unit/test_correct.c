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
	  TEST(a_regression_speaks_before_an_open_score),
	  TEST(texts_are_held_against_the_own_agreement),
	  TEST(texts_that_nobody_compared_are_no_result))
