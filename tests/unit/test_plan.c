/* SPDX-License-Identifier: Apache-2.0 */
#include "load/plan.h"

#include "base/err.h"
#include "test.h"

static struct plan made(const struct load_conf *c)
{
	struct plan p = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(plan_make(c, c->duration_ns, c->count, 3, &p, &err), err);
	for (size_t i = 1; i < p.n; i++)
		CHECK(p.at[i] >= p.at[i - 1]);
	return p;
}

static struct load_conf conf(enum load_arrival a, double rate, int64_t duration_s)
{
	struct load_conf c;

	load_conf_init(&c);
	c.arrival = a;
	c.rate = rate;
	c.duration_ns = duration_s * NS_PER_S;
	return c;
}

/* Mean and squared coefficient of variation of the gaps. */
static void gaps(const struct plan *p, double *ret_mean, double *ret_cv2)
{
	double sum = 0, squares = 0, n = (double)p->n - 1;

	for (size_t i = 1; i < p->n; i++) {
		double g = (double)(p->at[i] - p->at[i - 1]) / 1e9;

		sum += g;
		squares += g * g;
	}
	*ret_mean = sum / n;
	*ret_cv2 = squares / n / (*ret_mean * *ret_mean) - 1;
}

static void the_seed_fixes_everything(void)
{
	struct load_conf c = conf(LOAD_POISSON, 100, 10);
	struct plan a = made(&c), b = made(&c), other;

	CHECK_STR(a.digest, b.digest);
	CHECK_INT(memcmp(a.at, b.at, a.n * sizeof(*a.at)), 0);
	c.seed = 2;
	other = made(&c);
	CHECK(strcmp(a.digest, other.digest) != 0);
	plan_release(&a);
	plan_release(&b);
	plan_release(&other);
}

static void arrivals_are_distributed_as_named(void)
{
	/* 20,000 gaps: the mean is good to 0.7 %, the squared coefficient of variation to some %. */
	static const struct {
		enum load_arrival a;
		double burstiness, cv2;
	} cases[] = {
		{ LOAD_POISSON, 1, 1 }, { LOAD_CONSTANT, 1, 0 }, { LOAD_GAMMA, 1, 1 },
		{ LOAD_GAMMA, 0.5, 2 }, { LOAD_GAMMA, 4, 0.25 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct load_conf c = conf(cases[i].a, 100, 200);
		struct plan p;
		double mean, cv2;

		c.burstiness = cases[i].burstiness;
		p = made(&c);
		gaps(&p, &mean, &cv2);
		CHECK_NEAR(mean, 0.01, 0.0003);
		CHECK_NEAR(cv2, cases[i].cv2, 0.08 * cases[i].cv2 + 0.001);
		plan_release(&p);
	}
}

static size_t between(const struct plan *p, double from_s, double to_s)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += (double)p->at[i] >= from_s * 1e9 && (double)p->at[i] < to_s * 1e9;
	return n;
}

static void a_ramp_rises_and_falls(void)
{
	struct load_conf c = conf(LOAD_RAMP, 100, 100);
	struct plan p;

	c.rate_to = 300;
	p = made(&c);
	/* 20,000 in all; the first tenth has a mean rate of 110, the last of 290. */
	CHECK_NEAR((double)p.n, 20000, 600);
	CHECK_NEAR((double)between(&p, 0, 10), 1100, 130);
	CHECK_NEAR((double)between(&p, 90, 100), 2900, 220);
	plan_release(&p);
	c.rate = 300;
	c.rate_to = 100;
	p = made(&c);
	CHECK_NEAR((double)between(&p, 90, 100), 1100, 130);
	plan_release(&p);
}

static void stages_have_their_own_rates(void)
{
	static const struct load_stage stages[] = { { 10, 10 * NS_PER_S },
						    { 500, 10 * NS_PER_S },
						    { 10, 10 * NS_PER_S } };
	struct load_conf c = conf(LOAD_STAGES, 0, 0);
	struct plan p;

	c.stages = stages;
	c.n_stages = 3;
	p = made(&c);
	CHECK_NEAR((double)between(&p, 0, 10), 100, 40);
	CHECK_NEAR((double)between(&p, 10, 20), 5000, 280);
	CHECK_NEAR((double)between(&p, 20, 30), 100, 40);
	CHECK(p.at[p.n - 1] < 30 * NS_PER_S);
	plan_release(&p);
}

static void a_trace_is_taken_as_it_is(void)
{
	static const int64_t at[] = { 0, 0, 5, 7 * NS_PER_S };
	struct load_conf c = conf(LOAD_TRACE, 0, 0);
	struct plan p;

	c.trace_ns = at;
	c.n_trace = 4;
	p = made(&c);
	CHECK_INT(p.n, 4);
	CHECK_INT(p.at[3], 7 * NS_PER_S);
	plan_release(&p);
	c.duration_ns = NS_PER_S;
	p = made(&c);
	CHECK_INT(p.n, 3);
	plan_release(&p);
}

static void shuffles_only_when_told(void)
{
	struct load_conf c = conf(LOAD_CONSTANT, 1, 5);
	struct plan p = { 0 };
	struct err err = ERR_INIT;
	bool seen[100] = { false }, moved = false;

	CHECK_OK(plan_make(&c, c.duration_ns, 0, 100, &p, &err), err);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_INT(p.order[i], i);
	plan_release(&p);
	c.shuffle = true;
	CHECK_OK(plan_make(&c, c.duration_ns, 0, 100, &p, &err), err);
	for (uint32_t i = 0; i < 100; i++) {
		CHECK(!seen[p.order[i]]);
		seen[p.order[i]] = true;
		moved |= p.order[i] != i;
	}
	CHECK(moved);
	plan_release(&p);
}

/* The digest is in records: it may not move with a compiler, an optimisation or a C library. */
static void the_schedule_of_a_seed_never_changes(void)
{
	static const struct {
		enum load_arrival a;
		const char *digest;
	} cases[] = {
		{ LOAD_POISSON,
		  "5306528b7fb25acd783776f4dbca1428f963b2470eaf1f4234951530108427e4" },
		{ LOAD_GAMMA, "bd609e650b9b813dce1d7a0c87b156a9a7b899d8f2d151987da6a649cd8a0628" },
		{ LOAD_RAMP, "110bc066e9d2b19487a2aec678dc680d006ff7d4fb9d7df10cc0c0453c4adc65" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct load_conf c = conf(cases[i].a, 50, 100);
		struct plan p;

		c.seed = 7;
		c.burstiness = 0.5;
		c.rate_to = 90;
		c.shuffle = true;
		p = made(&c);
		CHECK_STR(p.digest, cases[i].digest);
		plan_release(&p);
	}
}

static void refuses_a_run_without_requests(void)
{
	struct load_conf c = conf(LOAD_POISSON, 0.0001, 1);
	struct plan p = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(plan_make(&c, c.duration_ns, 0, 1, &p, &err), -ERR_RANGE);
	c = conf(LOAD_CONSTANT, 1e6, 1000);
	CHECK_INT(plan_make(&c, c.duration_ns, 0, 1, &p, &err), -ERR_LIMIT);
}

TEST_MAIN(TEST(the_seed_fixes_everything), TEST(arrivals_are_distributed_as_named),
	  TEST(a_ramp_rises_and_falls), TEST(stages_have_their_own_rates),
	  TEST(a_trace_is_taken_as_it_is), TEST(shuffles_only_when_told),
	  TEST(the_schedule_of_a_seed_never_changes), TEST(refuses_a_run_without_requests))
