/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static size_t times(const char *in, const char *what)
{
	size_t n = 0;

	for (const char *p = in; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static const json_t *number(const json_t *report, size_t i)
{
	return json_array_get(json_object_get(view_decision(report), "numbers"), i);
}

static void steps_of_an_axis(void)
{
	CHECK_NEAR(axis_step(0, 10, 5), 2, 1e-12);
	CHECK_NEAR(axis_step(0, 11, 5), 5, 1e-12);
	CHECK_NEAR(axis_step(0.1, 0.13, 5), 0.01, 1e-12);
	CHECK_NEAR(axis_step(1e9, 1e9, 5), 1, 0);
	CHECK_NEAR(axis_step(0, INFINITY, 5), 1, 0);
}

static void every_repetition_has_its_mark(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str s CLEANUP(str_release) = { 0 };

	CHECK(svg_strip(v, number(v, 0), 3, &s));
	CHECK_INT(times(s.p, "class=\"bank\""), 5);
	CHECK_INT(times(s.p, "class=\"cand\""), 3);
	CHECK_INT(times(s.p, "class=\"median"), 2);
	CHECK_INT(times(s.p, "class=\"line margin\""), 1);
	CHECK_INT(times(s.p, "class=\"line limit\""), 0); /* 2 s is far away: an arrow */
	CHECK_HAS(s.p, "limit 2 s \u2192");
	CHECK_HAS(s.p, "margin 10.4 ms");
	CHECK_HAS(s.p, "Candidate: 3 repetitions, median 22.4 ms, from 22.4 ms to 22.5 ms.");
	CHECK_HAS(s.p, "The limit is 2 s. Lower is better.");
	CHECK_HAS(s.p, "id=\"t3\"");
	CHECK_HAS(s.p, "10 ms</text>");
	CHECK(!strstr(s.p, "nan") && !strstr(s.p, "inf"));
	scene_parses("xml", &s);
}

static void a_share_stays_within_0_and_1(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str s CLEANUP(str_release) = { 0 };

	CHECK(svg_strip(v, number(v, 1), 0, &s));
	CHECK_HAS(s.p, "100.0%</text>");
	CHECK_HAS(s.p, "99.0%</text>");
	CHECK(!strstr(s.p, "100.5%"));
	CHECK_INT(times(s.p, "class=\"line limit\""), 1);
	CHECK_HAS(s.p, "Higher is better");
	scene_parses("xml", &s);
}

static void one_repetition_and_infinite_ones(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str s CLEANUP(str_release) = { 0 };
	json_t *reps = json_array();

	(void)json_array_append_new(reps, scene_rep("ok", json_integer(7000000), json_null()));
	json_put(v, "reps", reps);
	json_put(v, "bank", json_array());
	CHECK(svg_strip(v, number(v, 0), 0, &s));
	CHECK_INT(times(s.p, "class=\"cand\""), 1);
	CHECK(!strstr(s.p, ">accepted<"));
	CHECK(!strstr(s.p, "nan"));
	CHECK(!svg_strip(v, number(v, 1), 0, &s)); /* nothing measured */
	str_clear(&s);
	(void)json_array_append_new(reps, scene_rep("ok", json_string("inf"), json_null()));
	(void)json_array_append_new(reps, scene_rep("ok", json_string("inf"), json_null()));
	CHECK(svg_strip(v, number(v, 0), 0, &s));
	CHECK_HAS(s.p, "2 at \u221e");
	CHECK_HAS(s.p, "2 infinite");
	CHECK_INT(times(s.p, "class=\"median"), 0); /* it is infinite */
	CHECK(!strstr(s.p, "nan") && !strstr(s.p, ">inf"));
	scene_parses("xml", &s);
}

static void the_same_value_everywhere_and_zero(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str s CLEANUP(str_release) = { 0 };
	json_t *reps = json_array();

	for (int i = 0; i < 3; i++)
		(void)json_array_append_new(reps,
					    scene_rep("ok", json_integer(0), json_integer(0)));
	json_put(v, "reps", reps);
	json_put(v, "bank", json_array());
	CHECK(svg_strip(v, number(v, 0), 0, &s));
	CHECK(svg_strip(v, number(v, 1), 1, &s));
	CHECK(!strstr(s.p, "nan") && !strstr(s.p, "-0"));
}

TEST_MAIN(TEST(steps_of_an_axis), TEST(every_repetition_has_its_mark),
	  TEST(a_share_stays_within_0_and_1), TEST(one_repetition_and_infinite_ones),
	  TEST(the_same_value_everywhere_and_zero))
