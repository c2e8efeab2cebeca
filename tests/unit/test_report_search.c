/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a search for the component, in words and in the forms of the report. */
#include "report/report.h"
#include "test.h"

#include "base/err.h"

static json_t *value(const char *text)
{
	struct err err = ERR_INIT;
	json_t *v = NULL;

	CHECK_INT(json_read(sv_of(text), "test", &v, &err), 0);
	return v;
}

#define ANSWER(kind, names)                                                                        \
	"{\"state\":\"found\",\"run\":\"r\",\"metric\":\"speed\",\"trials\":9,\"answer\":{"        \
	"\"kind\":\"" kind "\",\"components\":" names ",\"posterior_e9\":999400000,"               \
	"\"share_e9\":981000000,\"low_e9\":964000000,\"high_e9\":1002000000,"                      \
	"\"forward_e9\":981000000,\"forward_low_e9\":null,\"forward_high_e9\":null,"               \
	"\"forward_trials\":2,\"back_trials\":0},\"components\":[{\"component\":\"a\",\"old\":"    \
	"\"<1>\",\"new\":\"2\",\"posterior_e9\":999400000,\"share_e9\":981000000,"                 \
	"\"low_e9\":964000000,\"high_e9\":1002000000}]}"

static const struct {
	const char *search, *line, *kind;
	bool leads;
} rows[] = {
	{ ANSWER("one", "[\"a\"]"), "a: 98 % of the loss [96, 100], 99.9 % sure", NULL, true },
	{ ANSWER("and", "[\"a\",\"b\"]"),
	  "a together with b: 98 % of the loss [96, 100], 99.9 % sure",
	  "an interaction: neither alone is enough, both are needed", true },
	{ ANSWER("add", "[\"a\",\"b\"]"), "a and b: 98 % of the loss [96, 100], 99.9 % sure",
	  "no interaction: each of them brings about half of the loss", true },
	{ "{\"state\":\"outside\",\"answer\":{\"kind\":\"env\"}}",
	  "none of the components that changed: all old is as bad now", NULL, true },
	{ "{\"state\":\"vanished\",\"answer\":{\"kind\":\"gone\"}}",
	  "none of the components that changed: all new is as good now, it does not reproduce",
	  NULL, true },
	{ "{\"state\":\"undetermined\",\"reason\":\"the limit of trials is reached\"}",
	  "undetermined: the limit of trials is reached", NULL, false },
	{ "{\"state\":\"factorial\"}", "factorial", NULL, false },
	{ "{\"state\":\"found\",\"answer\":{\"kind\":\"one\",\"components\":[\"a\"],"
	  "\"posterior_e9\":1000000000,\"share_e9\":\"inf\"}}",
	  "a: a share of the loss that cannot be told, 100.0 % sure", NULL, true },
};

static void in_words(void)
{
	CHECK(!report_search_leads(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_JSON json_t *v = value(rows[i].search);
		struct str s CLEANUP(str_release) = { 0 };
		const char *kind = report_search_kind(v);

		report_search_line(v, &s);
		CHECK_STR(str_text(&s), rows[i].line);
		CHECK_STR(kind ? kind : "", rows[i].kind ? rows[i].kind : "");
		CHECK_INT(report_search_leads(v), rows[i].leads);
	}
}

/* Trigger and cause are two answers; what is not known is said. */
static void the_cause(void)
{
	static const char *const cases[][2] = {
		{ "{\"component\":\"BLAS\",\"layer\":\"kernellib\",\"owner\":\"me\","
		  "\"trigger\":\"image\"}",
		  "cause: BLAS, layer kernellib (owner: me); trigger: image" },
		{ "{\"layer\":\"engine\",\"second_layer\":\"kernellib\"}",
		  "cause: not named, layer engine with a part of layer kernellib; trigger: "
		  "unknown" },
		{ "{\"layer\":\"undetermined\",\"owner\":\"me\",\"trigger\":\"blas\"}",
		  "cause: undetermined (owner: me); trigger: blas" },
		{ "{\"layer\":\"none\",\"owner\":\"none\",\"trigger\":\"contract\"}",
		  "cause: nothing in the stack; trigger: contract" },
		{ "{}", "cause: undetermined; trigger: unknown" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = xasprintf("{\"verdict\":{\"attribution\":%s}}", cases[i][0]);
		AUTO_JSON json_t *v = value(cases[i][0]), *report = value(text);
		struct str s CLEANUP(str_release) = { 0 };
		struct str html CLEANUP(str_release) = { 0 }, md CLEANUP(str_release) = { 0 };

		report_cause_line(v, &s);
		CHECK_STR(str_text(&s), cases[i][1]);
		report_html(report, &html);
		report_markdown(report, &md);
		CHECK(strstr(str_text(&html), cases[i][1]) != NULL);
		CHECK(strstr(str_text(&md), "cause: ") != NULL);
	}
}

static void both_ways(void)
{
	AUTO_JSON json_t *v = value(rows[0].search);
	struct str there CLEANUP(str_release) = { 0 }, back CLEANUP(str_release) = { 0 };

	report_search_way(v, false, &there);
	report_search_way(v, true, &back);
	CHECK_STR(str_text(&there),
		  "only new there: 98 % of the loss [cannot be bounded], 2 trials");
	CHECK_STR(str_text(&back), "all new but there: not tried");
}

static void a_full_plan(void)
{
	AUTO_JSON json_t *f = value(
		"{\"a\":\"x\",\"b\":\"y\",\"complete\":true,\"a_e9\":1000000,\"a_half_e9\":4000000,"
		"\"b_e9\":0,\"b_half_e9\":4000000,\"interaction_e9\":220000000,"
		"\"interaction_half_e9\":9000000}");
	AUTO_JSON json_t *open = value("{\"a\":\"x\",\"b\":\"y\",\"complete\":false}");
	struct str s CLEANUP(str_release) = { 0 }, t CLEANUP(str_release) = { 0 };

	report_search_factorial(f, &s);
	CHECK_STR(str_text(&s),
		  "full plan of x and y: x alone +0.1 +- 0.4 % (could be nothing), y alone +0.0 +- "
		  "0.4 % (could be nothing), more than both added +22.0 +- 0.9 %");
	report_search_factorial(open, &t);
	CHECK_STR(str_text(&t), "full plan of x and y: not complete yet");
}

/* It stands before the suspects, which are said to be older; without it they are as they were. */
static void in_the_report(void)
{
	static const char *const before = "{\"verdict\":{\"attribution\":{\"symptom\":\"slower\","
					  "\"confidence\":\"low\",\"suspects\":[]}}";

	for (size_t i = 0; i <= ARRAY_SIZE(rows); i++) {
		const char *search = i < ARRAY_SIZE(rows) ? rows[i].search : NULL;
		AUTO_FREE char *text = xasprintf("%s%s%s}", before, search ? ",\"search\":" : "",
						 search ? search : "");
		AUTO_JSON json_t *v = value(text);
		struct str html CLEANUP(str_release) = { 0 }, md CLEANUP(str_release) = { 0 };
		const char *at, *old;

		report_html(v, &html);
		report_markdown(v, &md);
		at = strstr(str_text(&html), "<h2 id=\"search\">");
		old = strstr(str_text(&html), "<h2 id=\"suspects\">");
		CHECK(old != NULL);
		CHECK_INT(at != NULL, search != NULL);
		CHECK(!at || at < old);
		CHECK_INT(strstr(str_text(&html), "supersedes this") != NULL,
			  search && rows[i].leads);
		CHECK_INT(strstr(str_text(&md), "which supersedes it") != NULL,
			  search && rows[i].leads);
		CHECK_INT(strstr(str_text(&md), "### Which component did it") != NULL,
			  search != NULL);
		CHECK(!strstr(str_text(&html), "<1>")); /* escaped */
	}
}

TEST_MAIN(TEST(in_words), TEST(the_cause), TEST(both_ways), TEST(a_full_plan), TEST(in_the_report))
