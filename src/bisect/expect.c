/* SPDX-License-Identifier: Apache-2.0 */
/* What a search will cost, by playing it on made-up values before the first trial. */
#include "bisect/bisect.h"

#include "stat/stat.h"

/* One search to its end; trials made, and whether it named the truth. */
static size_t play(const struct bisect_in *from, const struct bisect_fit *known,
		   const struct bisect_hyp *truth, struct rng *r, bool *ret_right)
{
	unsigned limit = from->max_trials ? from->max_trials : BISECT_MAX_TRIALS;
	AUTO_FREE struct bisect_trial *t = xcalloc(limit, sizeof(*t));
	struct bisect_fit fit CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_in in = *from;
	struct bisect_step step;

	in.trials = t;
	in.n_trials = 0;
	for (;;) {
		const struct bisect_hyp *h;

		bisect_fit(&in, &fit);
		bisect_next(&in, &fit, &step);
		h = &fit.v[step.hyp];
		if (step.state != BISECT_TRY) {
			*ret_right = step.state == BISECT_FOUND && h->kind == truth->kind &&
				     h->a == truth->a && h->b == truth->b;
			return in.n_trials;
		}
		t[in.n_trials++] = (struct bisect_trial){
			step.config, step.why,
			known->level0 + known->effect * bisect_level2(truth, step.config) / 2 +
				known->sigma * rng_normal(r)
		};
	}
}

void bisect_expect(const struct bisect_in *in, unsigned games, uint64_t seed,
		   struct bisect_expect *ret)
{
	static const enum bisect_kind kinds[] = { BISECT_ONE, BISECT_BOTH, BISECT_HALVES };
	struct bisect_fit known CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_in none = *in;
	struct rng r = { seed };

	none.n_trials = 0;
	bisect_fit(&none, &known);
	*ret = (struct bisect_expect){ .effect = known.effect, .sigma = known.sigma };
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (unsigned g = 0; g < games && (k == 0 || in->n > 1); g++) {
			unsigned a = (unsigned)rng_below(&r, in->n), b = a;
			struct bisect_hyp truth;
			bool right;

			while (k > 0 && b == a)
				b = (unsigned)rng_below(&r, in->n);
			truth = (struct bisect_hyp){ .kind = kinds[k],
						     .a = MIN(a, b),
						     .b = MAX(a, b) };
			ret->trials[k] += (double)play(in, &known, &truth, &r, &right) / games;
			ret->right[k] += right / (double)games;
		}
	}
}
