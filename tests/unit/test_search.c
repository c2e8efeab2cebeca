/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/err.h"
#include "load/load.h"
#include "test.h"

/* The engine without a server answers everything at once: any objective holds at any rate. */
static void null_conf(struct load_conf *c, const struct load_objective *o)
{
	load_conf_init(c);
	c->engine = LOAD_ENGINE_NULL;
	c->endpoint = LOAD_PLAIN;
	c->url = "http://127.0.0.1:1";
	c->count = 40;
	c->client_lag_ns = 100 * NS_PER_S;
	c->rate = 1;
	c->objectives = o;
	c->n_objectives = 1;
}

static void refuses_what_has_no_rate_or_nothing_to_keep(void)
{
	const struct load_objective o = { LOAD_E2E, 1, NS_PER_S };
	struct load_search_conf s;
	struct load_conf c;
	struct err err = ERR_INIT;

	null_conf(&c, &o);
	load_search_init(&s);
	CHECK_OK(load_search_check(&c, &s, &err), err);
	c.arrival = LOAD_CLOSED;
	CHECK_INT(load_search_check(&c, &s, &err), -ERR_RANGE);
	CHECK_HAS(err.msg, "poisson");
	c.arrival = LOAD_POISSON;
	c.n_objectives = 0;
	CHECK_INT(load_search_check(&c, &s, &err), -ERR_RANGE);
	c.n_objectives = 1;
	s.share = 1;
	CHECK_INT(load_search_check(&c, &s, &err), -ERR_RANGE);
	s.share = 0.9;
	s.from = 5;
	s.to = 4;
	CHECK_INT(load_search_check(&c, &s, &err), -ERR_RANGE);
}

static void a_rate_that_is_never_lost_is_a_lower_bound(void)
{
	const struct load_objective o = { LOAD_E2E, 1, 100 * NS_PER_S };
	struct load_curve curve CLEANUP(load_curve_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *v = NULL;
	struct load_search_conf s;
	struct load_conf c;
	struct err err = ERR_INIT;

	null_conf(&c, &o);
	load_search_init(&s);
	s.from = 400;
	s.to = 1500;
	s.share = 0.9;
	CHECK_OK(load_search(&c, &s, &curve, &err), err);
	CHECK_INT(curve.end, LOAD_SEARCH_ALL_KEPT);
	CHECK_INT(curve.n, 3); /* 400, 800, 1500 */
	CHECK_NEAR(curve.highest, 1500, 1e-9);
	CHECK(isnan(curve.lost_at));
	CHECK_INT(curve.v[0].kept, LOAD_KEPT);
	CHECK_INT(curve.v[0].n, 40);
	CHECK_INT(curve.v[0].runs, 1);
	v = load_curve_to_json(&curve);
	CHECK_INT(json_int_or(v, "highest_rate_e6", 0), 1500000000);
	CHECK(!json_object_get(v, "lost_at_e6"));
	load_curve_text(v, &text);
	CHECK_HAS(str_text(&text), "keep every objective: 1500/s; it was not lost anywhere");
}

static void too_few_requests_leave_it_open(void)
{
	const struct load_objective o = { LOAD_E2E, 1, 100 * NS_PER_S };
	struct load_curve curve CLEANUP(load_curve_release) = { 0 };
	struct load_search_conf s;
	struct load_conf c;
	struct err err = ERR_INIT;

	null_conf(&c, &o);
	load_search_init(&s);
	s.from = s.to = 500;
	c.count = 10; /* 20 of 20 good: the interval goes down to 83 % */
	CHECK_OK(load_search(&c, &s, &curve, &err), err);
	CHECK_INT(curve.v[0].kept, LOAD_UNCLEAR);
	CHECK_INT(curve.v[0].runs, 2);
	CHECK_INT(curve.v[0].n, 20);
	CHECK(curve.v[0].held);
}

TEST_MAIN(TEST(refuses_what_has_no_rate_or_nothing_to_keep),
	  TEST(a_rate_that_is_never_lost_is_a_lower_bound), TEST(too_few_requests_leave_it_open))
