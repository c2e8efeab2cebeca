/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static json_t *one(const char *text)
{
	struct err err = ERR_INIT;
	json_t *v = NULL;

	CHECK_OK(json_read(sv_of(text), "x", &v, &err), err);
	return keep_json(v);
}

static char *standing_text;
static enum tone standing(const char *number)
{
	enum tone t = view_standing(one(number), &standing_text);

	(void)keep(standing_text);
	return t;
}

static void numbers_of_records(void)
{
	CHECK_NEAR(view_value(keep_json(json_integer(980000000)), UNIT_RATIO), 0.98, 1e-12);
	CHECK(isinf(view_value(keep_json(json_string("inf")), UNIT_NS)));
	CHECK(view_value(keep_json(json_string("-inf")), UNIT_NS) < 0);
	CHECK(isnan(view_value(json_null(), UNIT_NS)));
	CHECK(isnan(view_value(NULL, UNIT_NS)));
	CHECK(isnan(view_value(keep_json(json_string("12")), UNIT_NS)));
	CHECK_STR(keep(view_quantity(NULL, UNIT_NS)), "-");
	CHECK_STR(keep(view_quantity(json_null(), UNIT_NS)), "not measured");
	CHECK_STR(keep(view_quantity(keep_json(json_string("inf")), UNIT_NS)), "\u221e");
	CHECK_STR(keep(view_percent(log(1.25), false)), "25 %");
	CHECK_STR(keep(view_percent(0.02, true)), "2 points");
	CHECK_STR(keep(view_percent(NAN, true)), "-");
}

static void only_a_known_verdict_is_one(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scene_codes); i++) {
		json_t *v = keep_json(scene_bare(scene_codes[i]));
		bool good = i < 2;

		CHECK_INT(view_verdict_tone(view_kind(v)) == TONE_GOOD, good);
		CHECK_INT(strstr(view_sentence(v), "not an acceptance") ||
					  strstr(view_sentence(v), "not fit")
				  ? 0
				  : 1,
			  good);
	}
	CHECK_STR(view_code(keep_json(scene_bare("maybe_accepted"))), "unknown");
	CHECK_STR(view_code(keep_json(json_object())), "unknown");
}

static void standings(void)
{
	CHECK_INT(standing("{\"limit\":5,\"over_limit\":true,\"over\":3,\"held\":\"no\"}"),
		  TONE_BAD);
	CHECK_STR(standing_text, "over its limit in 3");
	CHECK_INT(standing("{\"limit\":5,\"over_limit\":false,\"over\":0,\"held\":\"no\"}"),
		  TONE_OPEN);
	CHECK_INT(standing("{\"limit\":5,\"over_limit\":false,\"over\":1,\"held\":\"bank\"}"),
		  TONE_OPEN);
	CHECK_INT(standing("{\"limit\":5,\"over_limit\":false,\"over\":0,\"held\":\"bank\"}"),
		  TONE_GOOD);
	CHECK_STR(standing_text, "limit held");
	CHECK_INT(standing("{\"gate\":true,\"shift_e9\":1,\"label\":\"open\"}"), TONE_OPEN);
	CHECK_INT(standing("{\"gate\":true,\"shift_e9\":1,\"label\":\"same\"}"), TONE_GOOD);
	CHECK_INT(standing("{\"gate\":true,\"shift_e9\":1,\"label\":\"none\",\"gross\":true}"),
		  TONE_BAD);
	/* The worse of the two stands. */
	CHECK_INT(standing("{\"limit\":5,\"over_limit\":false,\"over\":0,\"held\":"
			   "\"bank\",\"gate\":true,"
			   "\"shift_e9\":1,\"label\":\"regressed\"}"),
		  TONE_BAD);
	CHECK_STR(standing_text, "limit held; worse than its margin");
	CHECK_INT(standing("{}"), TONE_PLAIN);
}

static void columns_leave_out_what_does_not_count(void)
{
	AUTO_JSON json_t *reps = json_array();
	struct column c;

	(void)json_array_append_new(reps, scene_rep("ok", json_integer(10), json_null()));
	(void)json_array_append_new(reps, scene_rep("ok", json_integer(30), json_null()));
	(void)json_array_append_new(reps, scene_rep("ok", json_string("inf"), json_null()));
	(void)json_array_append_new(reps, scene_rep("failed", json_integer(1), json_null()));
	(void)json_array_append_new(reps, scene_rep("excluded", json_integer(2), json_null()));
	column_read(reps, "ttft.p50", UNIT_NS, &c);
	CHECK_INT(c.n, 4);
	CHECK_INT(c.finite, 2);
	CHECK_INT(c.infinite, 1);
	CHECK_INT(c.missing, 1);
	CHECK_NEAR(c.median, 30, 0);
	CHECK_NEAR(c.low, 10, 0);
	column_release(&c);
	column_read(reps, "answers.match", UNIT_RATIO, &c);
	CHECK(isnan(c.median));
	CHECK_INT(c.missing, 4);
	column_release(&c);
	column_read(NULL, "x", UNIT_NONE, &c);
	CHECK_INT(c.n, 0);
	column_release(&c);
}

static void the_margin_ends_on_the_worse_side(void)
{
	json_t *low = one("{\"gate\":true,\"unit\":\"ns\",\"better\":\"lower\",\"scale\":\"log\","
			  "\"accepted\":"
			  "100,\"margin_e9\":"
			  "223143551}");
	json_t *high = one("{\"gate\":true,\"unit\":\"ns\",\"better\":\"higher\",\"scale\":\"log\","
			   "\"accepted\":"
			   "100,\"margin_e9\":"
			   "223143551}");
	json_t *share =
		one("{\"gate\":true,\"unit\":\"ratio\",\"better\":\"higher\",\"scale\":\"abs\","
		    "\"accepted\":990000000,"
		    "\"margin_e9\":20000000}");

	CHECK_NEAR(view_margin_edge(low), 125, 1e-4);
	CHECK_NEAR(view_margin_edge(high), 80, 1e-4);
	CHECK_NEAR(view_margin_edge(share), 0.97, 1e-9);
	CHECK(isnan(view_margin_edge(one("{\"gate\":true,\"unit\":\"ns\",\"accepted\":100}"))));
}

static void sides_of_a_change(void)
{
	json_t *c = one("{\"before\":{\"version\":\"1\",\"digest\":\"sha256:00112233445566\"},"
			"\"after\":{\"version\":"
			"\"1\",\"digest\":\"sha256:ffee2233445566\",\"requested\":\"2\"}}");

	CHECK_STR(keep(view_side(c, "before")), "1 (001122334455)");
	CHECK_STR(keep(view_side(c, "after")), "1 (ffee22334455) [requested 2]");
	CHECK_STR(keep(view_side(one("{\"after\":{\"version\":null}}"), "after")), "unknown");
	CHECK_STR(keep(view_side(one("{\"after\":{\"version\":null}}"), "before")), "(none)");
}

static void intervals(void)
{
	CHECK_STR(keep(view_interval(
			  one("{\"scale\":\"abs\",\"low_e9\":-10000000,\"high_e9\":20000000,"
			      "\"level_e9\":960000000,"
			      "\"lcb_e9\":\"-inf\",\"ucb_e9\":\"inf\"}"))),
		  "-1 to 2 points (96 %)");
	CHECK_STR(keep(view_interval(
			  one("{\"scale\":\"log\",\"lcb_e9\":\"-inf\",\"ucb_e9\":223143551}"))),
		  "-\u221e to 25 %");
	CHECK_STR(keep(view_interval(one("{\"lcb_e9\":\"-inf\",\"ucb_e9\":\"inf\"}"))), "none yet");
	CHECK_STR(keep(view_interval(one("{}"))), "-");
	CHECK_STR(keep(view_interval(one("{\"low_e9\":null,\"high_e9\":null}"))), "-");
}

static void stamps(void)
{
	CHECK_STR(keep(view_stamp("2026-12-01T10:04:00.000Z")), "2026-12-01 10:04:00 UTC");
	CHECK_STR(keep(view_stamp("soon")), "soon");
	CHECK_STR(keep(view_stamp(NULL)), "unknown");
}

TEST_MAIN(TEST(numbers_of_records), TEST(only_a_known_verdict_is_one), TEST(standings),
	  TEST(columns_leave_out_what_does_not_count), TEST(the_margin_ends_on_the_worse_side),
	  TEST(sides_of_a_change), TEST(intervals), TEST(stamps))
