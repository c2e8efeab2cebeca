/* SPDX-License-Identifier: Apache-2.0 */
#include "bisect/bisect.h"

#include "test.h"

static const double bank[] = { 0.00, 0.01, -0.01, 0.012, -0.008, 0.002, 0.004, -0.004 };
static const double cand[] = { 0.10, 0.11, 0.09, 0.104, 0.096 };
static const struct bisect_in in = { .n = 5, .bank = bank, .n_bank = 8, .cand = cand, .n_cand = 5 };

static void a_clear_effect_takes_few_trials(void)
{
	struct bisect_expect e, again;

	bisect_expect(&in, 20, 1, &e);
	CHECK_NEAR(e.effect, 0.1, 0.005);
	CHECK(e.sigma > 0.002 && e.sigma < 0.02);
	CHECK(e.trials[0] > 6 && e.trials[0] < 12);
	CHECK(e.trials[1] > e.trials[0] && e.trials[1] < 18);
	for (int k = 0; k < 3; k++)
		CHECK(e.right[k] > 0.85);
	bisect_expect(&in, 20, 1, &again);
	CHECK(memcmp(&e, &again, sizeof(e)) == 0);
}

static void the_limit_and_the_number_of_components_count(void)
{
	struct bisect_in few = in;
	struct bisect_expect e;

	few.max_trials = 3;
	bisect_expect(&few, 5, 2, &e);
	CHECK(e.trials[0] == 3 && e.right[0] == 0);
	few.max_trials = 0;
	few.n = 1;
	bisect_expect(&few, 5, 3, &e);
	CHECK(e.trials[0] >= 6 && e.trials[1] == 0);
}

TEST_MAIN(TEST(a_clear_effect_takes_few_trials), TEST(the_limit_and_the_number_of_components_count))
