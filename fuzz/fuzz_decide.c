/* SPDX-License-Identifier: Apache-2.0 */
/* Any input gives a verdict, and none of them is accepted that must not be. */
#include "verdict/verdict.h"

#include <math.h>

#define MOST    14
#define METRICS 3

struct bytes {
	const uint8_t *p;
	size_t n;
};

static unsigned next(struct bytes *b, unsigned below)
{
	unsigned x = 0;

	for (int i = 0; i < 2 && b->n; i++, b->p++, b->n--)
		x = x * 256 + *b->p;
	return x % below;
}

/* Mostly values near 100; now and then what should not be there. */
static double value(struct bytes *b)
{
	unsigned x = next(b, 1000);

	switch (x) {
	case 0:
		return NAN;
	case 1:
		return INFINITY;
	case 2:
		return -INFINITY;
	case 3:
		return 0;
	case 4:
		return -5;
	case 5:
		return 1e300;
	case 6:
		return 5e-324;
	default:
		return 100 + (x % 200) / 20.0;
	}
}

static void check(const struct verdict_in *in, const struct verdict *v)
{
	bool good = v->kind == VERDICT_ACCEPTED || v->kind == VERDICT_ACCEPTED_NOTE;
	unsigned cap =
		in->has_bank ? in->looks[in->n_looks - 1] : in->first_looks[in->n_first_looks - 1];

	assert(v->kind < VERDICT_N);
	assert(v->final || (v->kind == VERDICT_INCONCLUSIVE && !in->ended && v->used < cap));
	assert(good || !v->final || v->reasons.n > 0);
	if (!good)
		return;
	assert(v->final && v->look >= 3 && (in->has_bank || v->look >= VERDICT_MIN_FIRST));
	for (size_t i = 0; i < in->n_checks; i++)
		assert(!in->checks[i].required || in->checks[i].result == RESULT_PASS);
	for (size_t i = 0; i < v->numbers.n; i++) {
		const struct verdict_number *x = &v->numbers.v[i];

		if (x->gate && !isnan(x->delta))
			assert(x->count >= 0 && x->ucb < x->delta);
		assert(!x->has_limit || x->held != HELD_NO);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { NULL, "a", "b", "c" };
	double bank[METRICS][MOST], cand[METRICS][MOST];
	struct verdict_metric m[METRICS] = { 0 };
	struct verdict_rep reps[MOST] = { 0 };
	struct verdict_check checks[2] = { 0 };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	const char *sessions[MOST];
	struct verdict_in in = { 0 };
	struct bytes b = { data, size };
	AUTO_FREE char *plan = NULL;
	AUTO_JSON json_t *j = NULL;

	verdict_defaults(&in);
	if (next(&b, 4) == 0)
		verdict_cap(&in, 1 + next(&b, 14));
	else if (next(&b, 4) == 0)
		verdict_interleave(&in);
	in.has_bank = next(&b, 4) > 0;
	in.n_bank = next(&b, MOST + 1);
	in.n_reps = next(&b, MOST + 1);
	in.n_metrics = next(&b, METRICS + 1);
	in.n_checks = next(&b, 3);
	in.ended = next(&b, 2);
	in.max_failed = next(&b, 3);
	in.reject_failed = next(&b, 4);
	for (size_t k = 0; k < in.n_metrics; k++) {
		for (size_t i = 0; i < MOST; i++) {
			bank[k][i] = value(&b);
			cand[k][i] = value(&b);
		}
		m[k] = (struct verdict_metric){ .name = "m",
						.dir = next(&b, 2) ? HIGHER_IS_BETTER
								   : LOWER_IS_BETTER,
						.abs_scale = next(&b, 4) == 0,
						.across = next(&b, 8) == 0,
						.gate = next(&b, 2),
						.margin = next(&b, 4) ? 0.1 : NAN,
						.has_limit = next(&b, 2),
						.limit = value(&b) * (next(&b, 2) ? 1.3 : 0.7),
						.bank = bank[k],
						.cand = cand[k] };
	}
	for (size_t i = 0; i < MOST; i++) {
		unsigned state = next(&b, 12);

		reps[i] = (struct verdict_rep){ state == 0   ? REP_FAILED
						: state == 1 ? REP_EXCLUDED
							     : REP_OK,
						NULL, names[next(&b, 40) % 4 * (i % 2)],
						names[next(&b, 4)] };
		sessions[i] = names[next(&b, 4)];
	}
	for (size_t i = 0; i < in.n_checks; i++)
		checks[i] = (struct verdict_check){ "c", LAYER_HARDWARE,
						    (enum result)(next(&b, 8) ? 0 : next(&b, 6)),
						    next(&b, 2), NULL };
	in.metrics = m;
	in.reps = reps;
	in.checks = checks;
	in.bank_sessions = next(&b, 3) ? NULL : sessions;
	verdict_decide(&in, &v);
	check(&in, &v);
	plan = verdict_plan(&in);
	j = verdict_to_json(&v);
	return 0;
}
