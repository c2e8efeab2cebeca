/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include "test.h"

#define T(...)                                                                                     \
	{                                                                                          \
		(const int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / 8           \
	}

static void counts_pairs_and_the_tokens_up_to_where_they_part(void)
{
	const struct text base[] = { T(1, 2, 3), T(1, 2, 3), T(1, 9) };
	const struct text cand[] = { T(1, 2, 3), T(1, 2) };
	const struct text_prompt p = { base, cand, 3, 2 };
	struct text_agreement a;

	text_agree(&p, &a);
	CHECK_NEAR(a.self, 1 / 3., 1e-15);
	CHECK_NEAR(a.cross, 2 / 6., 1e-15);
	CHECK_NEAR(a.diverged_self, 2, 0);
	CHECK_NEAR(a.tokens_self, 3 + 2 + 2, 0);
	CHECK_NEAR(a.diverged_cross, 4, 0);
	/* equal twice: 3 + 3; against the beginning: its end, 3 + 3; against 1 9: 2 + 2 */
	CHECK_NEAR(a.tokens_cross, 3 + 3 + 3 + 3 + 2 + 2, 0);
}

/* A stack whose texts wobble, against itself: no drop; against one that always differs: all of it.
 * */
static void a_drop_is_measured_against_the_own_wobble(void)
{
	const struct text wobble[] = { T(1, 2, 3), T(1, 2, 4), T(1, 2, 3), T(1, 2, 4) };
	const struct text other[] = { T(7, 7, 7), T(7, 7, 7) };
	const struct text_prompt same[] = { { wobble, wobble, 4, 4 }, { wobble, wobble, 4, 4 } };
	const struct text_prompt away[] = { { wobble, other, 4, 2 }, { wobble, other, 4, 2 } };
	struct text_divergence d;

	text_divergence(same, 2, &d);
	CHECK(d.drop <= 0);
	text_divergence(away, 2, &d);
	CHECK_NEAR(d.cross, 0, 0);
	CHECK_NEAR(d.drop, 1 / 3., 1e-15);
	CHECK(d.log_ratio > 0.5); /* they part at the first token instead of the third */
}

static void what_nobody_knows_is_no_number(void)
{
	const struct text one[] = { T(1) };
	const struct text_prompt p = { one, one, 1, 1 };
	struct text_divergence d;

	text_divergence(&p, 1, &d); /* one output has no agreement with itself */
	CHECK(isnan(d.self) && isnan(d.drop) && isnan(d.log_ratio));
	CHECK(!(d.upper99 < 0.02));
	text_divergence(&p, 0, &d);
	CHECK(!(d.upper99 < 0.02));
}

TEST_MAIN(TEST(counts_pairs_and_the_tokens_up_to_where_they_part),
	  TEST(a_drop_is_measured_against_the_own_wobble), TEST(what_nobody_knows_is_no_number))
