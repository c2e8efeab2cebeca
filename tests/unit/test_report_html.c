/* SPDX-License-Identifier: Apache-2.0 */
#include "report/internal.h"

#include "report_scene.h"

static const char hostile[] =
	"</title><script>alert(1)</script><img src=x onerror=\"alert('2')\"> ]]> & \x1b[31m "
	"\xe2\x80\xae";

static void hostile_texts_stay_texts(void)
{
	AUTO_JSON json_t *v = scene_rejected(hostile);
	struct str s CLEANUP(str_release) = { 0 };

	report_html(v, &s);
	CHECK(!strstr(s.p, "<script"));
	CHECK(!strstr(s.p, "<img"));
	CHECK(!strchr(s.p, '\x1b'));
	CHECK_HAS(s.p, "&lt;script&gt;alert(1)");
	scene_parses("html", &s);
}

static void bad_utf8_does_not_get_through(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str s CLEANUP(str_release) = { 0 };

	(void)json_object_set_new_nocheck(json_object_get(v, "verdict"), "run",
					  json_stringn_nocheck("a\xff\xc3<b>", 6));
	report_html(v, &s);
	CHECK(utf8_valid(sv_str(&s)));
	scene_parses("html", &s);
}

static void everything_is_said(void)
{
	static const char *const parts[] = {
		"Rejected",
		"Worse than the contract allows",
		"3 repetitions against 5 accepted ones",
		"ttft.p50",
		"22.5 ms",
		"246 %",
		"worse than its margin",
		"over its limit in 3",
		"hardware/cpus",
		"DOUBTFUL",
		"reference 3.11.0",
		"unknown",
		"99 %",
		SCENE_LEAF,
		"twice verify --recompute",
		"log had 44 entries",
		"Content-Security-Policy",
		"prefers-color-scheme",
		"viewport",
		"none yet",
		"pending",
	};
	AUTO_JSON json_t *v = scene_rejected("said");
	struct str s CLEANUP(str_release) = { 0 };

	report_html(v, &s);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcasestr(s.p, parts[i]))
			test_fails(__FILE__, __LINE__, "'%s' is missing", parts[i]);
	CHECK(!strstr(s.p, "://"));
	CHECK(s.n < 60000);
}

/* What is not an acceptance, or can't be read, never looks like one. */
static void bare_and_unknown_verdicts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scene_codes); i++) {
		AUTO_JSON json_t *v = scene_bare(scene_codes[i]);
		struct str s CLEANUP(str_release) = { 0 };

		report_html(v, &s);
		if (i % 6 == 0) /* one of each kind: it starts Python */
			scene_parses("html", &s);
		CHECK_INT(strstr(s.p, "class=\"banner good\"") != NULL, i < 2);
		CHECK_INT(strstr(s.p, "Signed as accepted") != NULL, 0);
	}
}

static void an_empty_value_and_a_wrong_one(void)
{
	AUTO_JSON json_t *empty = json_object();
	AUTO_JSON json_t *wrong =
		json_pack("{s:[], s:i, s:s, s:[i,s,n], s:{s:s}}", "verdict", "times", 3, "log", "x",
			  "checks", 1, "a", "stack", "components", "no");
	struct str s CLEANUP(str_release) = { 0 };

	report_html(empty, &s);
	scene_parses("html", &s);
	CHECK_HAS(s.p, "no verdict");
	str_clear(&s);
	report_html(wrong, &s);
	scene_parses("html", &s);
	CHECK_HAS(s.p, "no verdict");
}

static void only_a_sign_off_in_force_counts(void)
{
	AUTO_JSON json_t *v = scene_bare("accepted");
	json_t *list = json_array(),
	       *one = json_pack("{s:s, s:s}", "by", "jane@x", "standing", "pending");
	struct str s CLEANUP(str_release) = { 0 };

	report_html(v, &s);
	CHECK_HAS(s.p, "Nobody has signed it");
	(void)json_array_append_new(list, one);
	json_put(v, "signoffs", list);
	str_clear(&s);
	report_html(v, &s);
	CHECK(!strstr(s.p, "Signed as accepted"));
	CHECK_HAS(s.p, "none that is in force");
	json_put_str(one, "standing", REPORT_IN_FORCE);
	str_clear(&s);
	report_html(v, &s);
	CHECK_HAS(s.p, "Signed as accepted by <b>jane@x</b>");
}

/* Each kind of answers and each state has a row of its own, in both forms for people. */
static void answers_and_the_watch_are_shown(void)
{
	static const char *const states[] = { "held", "worse", "open", "unmeasured" };
	static const char *const words[] = { "same", "worse", "open", "not measured" };
	AUTO_JSON json_t *v = scene_rejected("x");
	json_t *body = json_object_get(v, "verdict"), *list = json_array();
	struct str s CLEANUP(str_release) = { 0 }, md CLEANUP(str_release) = { 0 };

	for (int i = 0; i < 4; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I}", "name",
					i ? "chat" : "recall", "kind", i == 1 ? "texts" : "items",
					"state", states[i], "n", 600, "lost", 12, "won", 3,
					"accepted_e9", (json_int_t)995000000, "candidate_e9",
					(json_int_t)980000000, "change_e9", (json_int_t)-15000000,
					"low_e9", (json_int_t)-31000000, "high_e9",
					(json_int_t)1000000, "margin_e9", (json_int_t)20000000));
	(void)json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:i,s:I}", "name", "loss", "kind",
						    "pairs", "state", "held", "n", 7, "accepted_e9",
						    (json_int_t)1234500000));
	json_put(json_object_get(body, "decision"), "answers", list);
	json_put(body, "watch", json_pack("{s:i,s:b}", "repetitions", 9, "alarm", 1));
	report_html(v, &s);
	scene_parses("html", &s);
	report_markdown(v, &md);
	for (int i = 0; i < 4; i++) {
		CHECK_HAS(str_text(&s), words[i]);
		CHECK_HAS(str_text(&md), words[i]);
	}
	for (int k = 0; k < 2; k++) {
		const char *text = str_text(k ? &md : &s);

		CHECK_HAS(text, "600 items, 12 lost, 3 won");
		CHECK_HAS(text, "600 prompts");
		CHECK_HAS(text, "7 seeds");
		CHECK_HAS(text, "1.2345");
		CHECK_HAS(text, "99.5 %");
		CHECK_HAS(text, "-3.1 % to +0.1 %");
		CHECK_HAS(text, "Watched since the acceptance, 9 repetitions: alarm");
	}
}

static void one_value_one_text(void)
{
	AUTO_JSON json_t *v = scene_rejected("x");
	struct str a CLEANUP(str_release) = { 0 }, b CLEANUP(str_release) = { 0 };

	report_html(v, &a);
	report_html(v, &b);
	CHECK_STR(a.p, b.p);
}

TEST_MAIN(TEST(hostile_texts_stay_texts), TEST(bad_utf8_does_not_get_through),
	  TEST(everything_is_said), TEST(bare_and_unknown_verdicts),
	  TEST(an_empty_value_and_a_wrong_one), TEST(only_a_sign_off_in_force_counts),
	  TEST(answers_and_the_watch_are_shown), TEST(one_value_one_text))
