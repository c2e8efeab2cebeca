/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what is decided on drawn values, every number in full: compilers.py builds this file with
 * each compiler and compares. Words stand first in a line, numbers after the bar. */
#include "bisect/bisect.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

#include <math.h>

#define METRICS 3

static void a_verdict(struct rng *r)
{
	static const double covs[] = { 0.005, 0.01, 0.02, 0.04 };
	static double bank[METRICS][12], cand[METRICS][10];
	struct verdict_metric m[METRICS];
	struct verdict_rep reps[10] = { 0 };
	struct verdict_in in = { 0 };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	double shift = 0.1 * rng_unit(r);

	verdict_defaults(&in);
	in.metrics = m;
	in.n_metrics = 1 + rng_below(r, METRICS);
	in.reps = reps;
	in.n_reps = 3 + rng_below(r, 8);
	in.has_bank = rng_unit(r) < 0.8;
	in.n_bank = in.has_bank ? 5 + rng_below(r, 8) : 0;
	in.ended = true;
	for (size_t k = 0; k < in.n_metrics; k++) {
		double cov = covs[rng_below(r, ARRAY_SIZE(covs))];

		m[k] = (struct verdict_metric){ .name = "metric",
						.gate = in.has_bank,
						.margin = in.has_bank ? 0.05 : NAN,
						.has_limit = k == 0,
						.limit = 112,
						.bank = bank[k],
						.cand = cand[k] };
		for (int i = 0; i < 12; i++)
			bank[k][i] = 100 * exp(cov * rng_normal(r));
		for (int i = 0; i < 10; i++)
			cand[k][i] = 100 * exp(shift + cov * rng_normal(r));
	}
	for (int i = 0; i < 10; i++)
		if (rng_unit(r) < 0.03)
			reps[i].state = REP_FAILED;
	verdict_decide(&in, &v);
	printf("%s %u", verdict_code(v.kind), v.look);
	for (size_t i = 0; i < v.reasons.n; i++)
		printf(" %s", v.reasons.v[i].code);
	for (size_t i = 0; i < v.notes.n; i++)
		printf(" %s", v.notes.v[i].code);
	for (size_t i = 0; i < v.numbers.n; i++)
		printf(" (%s)", verdict_label_name(v.numbers.v[i].label));
	printf(" |");
	for (size_t i = 0; i < v.numbers.n; i++) {
		const struct verdict_number *x = &v.numbers.v[i];

		printf(" %.17g %.17g %.17g %.17g %.17g %.17g %.17g", x->shift, x->lcb, x->ucb,
		       x->p_worse, x->p_adjusted, x->cov_cand, x->upper);
	}
	printf("\n");
}

static void a_search(struct rng *r)
{
	double bank[10], cand[6], sd = 0.005 + 0.02 * rng_unit(r);
	struct bisect_trial t[BISECT_MAX_TRIALS];
	unsigned n = 2 + (unsigned)rng_below(r, 11), culprit = (unsigned)rng_below(r, n);
	struct bisect_in in = { .n = n,
				.bank = bank,
				.n_bank = 10,
				.cand = cand,
				.n_cand = 6,
				.trials = t,
				.seed = 7 };
	struct bisect_fit f CLEANUP(bisect_fit_release) = { 0 };
	struct bisect_step s;

	for (int i = 0; i < 10; i++)
		bank[i] = sd * rng_normal(r);
	for (int i = 0; i < 6; i++)
		cand[i] = 0.05 + sd * rng_normal(r);
	for (;;) {
		bisect_fit(&in, &f);
		bisect_next(&in, &f, &s);
		printf("%u %s %u | %.17g %.17g %.17g %.17g\n", (unsigned)s.state,
		       bisect_why_name(s.why), s.config, f.level0, f.effect, f.sigma,
		       f.v[f.best].posterior);
		if (s.state != BISECT_TRY)
			return;
		t[in.n_trials++] = (struct bisect_trial){
			s.config, s.why, 0.05 * (s.config >> culprit & 1) + sd * rng_normal(r)
		};
	}
}

int main(void)
{
	struct rng r = { 20 };

	for (int i = 0; i < 3000; i++)
		a_verdict(&r);
	for (int i = 0; i < 150; i++)
		a_search(&r);
	return 0;
}
