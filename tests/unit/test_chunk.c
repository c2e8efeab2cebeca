/* SPDX-License-Identifier: Apache-2.0 */
#include "load/chunk.h"

#include "base/json.h"
#include "test.h"

static struct chunk parsed(const char *text)
{
	struct chunk c;

	if (!chunk_parse(sv_of(text), &c))
		test_fails(__FILE__, __LINE__, "'%s' is refused at %zu", text, c.bad_at);
	return c;
}

static void is(struct sv got, const char *want)
{
	char *plain = xcalloc(got.n + 1, 1);

	plain[chunk_unescape(got, plain)] = '\0';
	CHECK_STR(plain, want);
	free(plain);
}

static void finds_chat_chunks(void)
{
	struct chunk c = parsed(
		"{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
		"\"delta\":{\"role\":\"assistant\",\"content\":\"a\\\"b\"},"
		"\"finish_reason\":null}]}");

	is(c.content, "a\"b");
	CHECK(c.has_choices && !c.has_usage && !c.has_error && c.finish.n == 0);
	c = parsed("{\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}");
	is(c.finish, "length");
	is(c.content, "");
	c = parsed("{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"content\":null}}]}");
	is(c.reasoning, "hm");
	c = parsed("{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"reasoning\":\"\"}}]}");
	is(c.reasoning, "hm");
	c = parsed("{\"choices\":[{\"text\":\"t\"},{\"text\":\"no\"}]}");
	is(c.content, "t");
	c = parsed("{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"whole\"}}]}");
	is(c.content, "whole");
	c = parsed("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"first of the list\"}}]}");
	is(c.content, "first of the list");
}

static void finds_tool_calls(void)
{
	CHECK(parsed("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":"
		     "{\"name\":\"f\",\"arguments\":\"\"}}]}}]}")
		      .tool);
	CHECK(parsed("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{\"}"
		     "}]}}]}")
		      .tool);
	CHECK(!parsed("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"\"}"
		      "}]}}]}")
		       .tool);
	CHECK(!parsed("{\"choices\":[{\"delta\":{\"tool_calls\":[]}}]}").tool);
}

static void finds_usage(void)
{
	struct chunk c =
		parsed("{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":64,"
		       "\"prompt_tokens_details\":{\"cached_tokens\":5},"
		       "\"completion_tokens_details\":{\"reasoning_tokens\":3}}}");

	CHECK(c.has_usage && c.has_cached && c.has_reasoning_tokens);
	CHECK_INT(c.completion_tokens, 64);
	CHECK_INT(c.prompt_tokens, 7);
	CHECK_INT(c.cached_tokens, 5);
	CHECK_INT(c.reasoning_tokens, 3);
	CHECK(!parsed("{\"usage\":null}").has_usage);
	CHECK(!parsed("{\"usage\":{\"completion_tokens\":-1}}").has_usage);
	CHECK(!parsed("{\"usage\":{\"completion_tokens\":1.5}}").has_usage);
	CHECK(!parsed("{\"completion_tokens\":5}").has_usage);
}

static void finds_errors(void)
{
	CHECK(parsed("{\"error\":{\"message\":\"x\"}}").has_error);
	CHECK(parsed("{\"error\":\"x\"}").has_error);
	CHECK(parsed("{\"object\":\"error\",\"message\":\"x\"}").has_error);
	CHECK(!parsed("{\"error\":null,\"choices\":[]}").has_error);
	CHECK(!parsed("{\"choices\":[{\"error\":{\"x\":1}}]}").has_error);
}

static void reads_events_of_the_responses_endpoint(void)
{
	struct chunk c = parsed("{\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}");

	is(c.content, "hi");
	c = parsed("{\"delta\":\"hm\",\"type\":\"response.reasoning_text.delta\"}");
	is(c.reasoning, "hm");
	c = parsed("{\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,"
		   "\"output_tokens\":9},\"error\":null}}");
	is(c.finish, "stop");
	CHECK_INT(c.completion_tokens, 9);
	CHECK(!c.has_error);
	CHECK(parsed("{\"type\":\"response.failed\"}").has_error);
	is(parsed("{\"type\":\"response.output_text.done\",\"delta\":\"x\"}").content, "");
}

static void tells_why_a_response_ended(void)
{
	static const char *const deltas[] = { "response.function_call_arguments.delta",
					      "response.custom_tool_call_input.delta",
					      "response.of_tomorrow.delta" };
	struct chunk c = parsed("{\"type\":\"response.incomplete\",\"response\":{"
				"\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}");

	is(c.finish, "length");
	c = parsed("{\"type\":\"response.incomplete\",\"response\":{"
		   "\"incomplete_details\":{\"reason\":\"content_filter\"}}}");
	is(c.finish, "content_filter");
	is(parsed("{\"type\":\"response.incomplete\"}").finish, "length");
	is(parsed("{\"type\":\"response.cancelled\"}").finish, "cancelled");
	is(parsed("{\"type\":\"response.refusal.delta\",\"delta\":\"no\"}").content, "no");
	is(parsed("{\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"h\"}").reasoning,
	   "h");
	for (size_t i = 0; i < ARRAY_SIZE(deltas); i++) {
		char *text = xasprintf("{\"type\":\"%s\",\"delta\":\"x\"}", deltas[i]);

		c = parsed(text);
		CHECK(c.tool && c.content.n == 0);
		free(text);
	}
}

static void reads_a_whole_response(void)
{
	struct chunk c = parsed(
		"{\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":["
		"{\"type\":\"reasoning\",\"summary\":[]},{\"type\":\"message\",\"content\":["
		"{\"type\":\"output_text\",\"text\":\"yes\"}]}],\"usage\":{\"output_tokens\":2}}");

	is(c.content, "yes");
	is(c.status, "completed");
	CHECK_INT(c.completion_tokens, 2);
	c = parsed("{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"x\"},"
		   "\"output\":[{\"type\":\"function_call\",\"arguments\":\"{}\"}]}");
	CHECK(c.tool);
	is(chunk_reason(&c), "x");
	/* Inside an event it is no text of its own: the deltas were. */
	c = parsed("{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
		   "\"output\":[{\"content\":[{\"text\":\"yes\"}]}]}}");
	is(c.content, "");
}

static void tells_answers_apart(void)
{
	CHECK_INT(parsed("{\"choices\":[{\"index\":2,\"delta\":{\"content\":\"x\"}}]}").choice, 2);
	CHECK_INT(parsed("{\"index\":2,\"choices\":[{\"delta\":{}}]}").choice, 0);
	is(parsed("{\"choices\":[{\"delta\":{\"content\":null,\"refusal\":\"no\"}}]}").content,
	   "no");
	is(parsed("{\"choices\":[{\"delta\":{\"content\":\"x\",\"refusal\":\"\"}}]}").content, "x");
	CHECK(parsed("{\"data\":[{\"embedding\":[1]}]}").has_embedding);
	CHECK(!parsed("{\"data\":[ ]}").has_embedding);
}

static void undoes_escapes(void)
{
	is(parsed("{\"choices\":[{\"text\":\"\\b\\f\\n\\r\\t\\/"
		  "\\\\\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"}]}")
		   .content,
	   "\b\f\n\r\t/\\A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	/* A key may be written with escapes as well. */
	is(parsed("{\"choi\\u0063es\":[{\"t\\u0065xt\":\"x\"}]}").content, "x");
}

/* What is JSON and what is not, the same as jansson says. */
static void agrees_with_jansson(void)
{
	static const char *const texts[] = {
		"{}",
		" { } ",
		"{\"a\":1}",
		"{\"a\":-0.5e+10}",
		"{\"a\":[1,2,{\"b\":[]}]}",
		"{\"a\":true,\"b\":false,\"c\":null}",
		"{\"a\":\"\\ud83d\\ude00\"}",
		"",
		"[",
		"[]x",
		"{\"a\":01}",
		"{\"a\":1.}",
		"{\"a\":.5}",
		"{\"a\":1e}",
		"{\"a\":-}",
		"{\"a\":+1}",
		"{\"a\" 1}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":[1,]}",
		"{\"a\":tru}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\\ude00\"}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\xc3\"}",
		"{\"a\":\"\xc0\x80\"}",
		"{\"a\":\"\xed\xa0\x80\"}",
		"{\"a\":\"\xf4\x90\x80\x80\"}",
		"{\"a\":\"\xe2\x82\xac\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":1}}",
		"{\"a\":1} x",
		"{a:1}",
		"{'a':1}",
		"{\"a\":NaN}",
		"{\"a\":\"b",
		"{\"a\"",
		"{\"a\":{",
		"{\"a\":1\t,\r\n\"b\":2}",
		"{\"a\":\"\\ud83dx\"}",
		"{\"a\":\"\x7f\"}",
		"{\"a\":truex}",
		"{\"a\":-01}",
		"{\"a\":1e+}",
		"{\"a\":1E5}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct chunk c;
		json_t *j = json_loads(texts[i], 0, NULL);
		bool ours = chunk_parse(sv_of(texts[i]), &c);

		if (ours != (j && json_is_object(j)))
			test_fails(__FILE__, __LINE__, "'%s': ours %d, jansson %d", texts[i], ours,
				   j != NULL);
		json_decref(j);
	}
}

static void limits_the_depth(void)
{
	struct str s = { 0 };
	struct chunk c;

	str_add(&s, "{\"a\":");
	str_pad(&s, '[', 100000);
	CHECK(!chunk_parse(sv_str(&s), &c));
	str_release(&s);
}

#define DELTA(inside) SV("{\"choices\":[{\"delta\":{" inside "}}]}")

static void remembers_the_last_event(void)
{
	struct chunk_memo m = { 0 };
	struct chunk c;

	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"a\""), &c));
	is(c.content, "a");
	CHECK(m.n > 0 && m.head == 33 && m.tail == 5);
	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"b\\nc\""), &c));
	is(c.content, "b\nc");
	CHECK(c.has_choices && c.reasoning.n == 0);
	/* What only begins alike. */
	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"a\"},\"finish_reason\":\"stop\",\"x\":{"),
			       &c));
	is(c.finish, "stop");
	is(c.content, "a");
	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"\""), &c));
	CHECK(c.content.n == 0);
	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"a\",\"content\":\"b\""), &c));
	is(c.content, "b");
	/* What is no JSON stays none. */
	CHECK(chunk_parse_next(&m, DELTA("\"content\":\"a\""), &c));
	CHECK(!chunk_parse_next(&m, DELTA("\"content\":\"a\n\""), &c));
	CHECK(!chunk_parse_next(&m, DELTA("\"content\":\"\xc3\""), &c));
	CHECK(!chunk_parse_next(&m, SV("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}x"), &c));
	CHECK(!chunk_parse_next(&m, SV("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]"), &c));
	CHECK(!chunk_parse_next(&m, SV("{\"choices\":[{\"delta\":{\"content\":\"a"), &c));
}

static void remembers_reasoning(void)
{
	struct chunk_memo m = { 0 };
	struct chunk c;

	CHECK(chunk_parse_next(&m, DELTA("\"reasoning\":\"a\""), &c));
	CHECK(chunk_parse_next(&m, DELTA("\"reasoning\":\"bb\""), &c));
	is(c.reasoning, "bb");
	CHECK(c.content.n == 0);
}

TEST_MAIN(TEST(finds_chat_chunks), TEST(finds_tool_calls), TEST(finds_usage), TEST(finds_errors),
	  TEST(reads_events_of_the_responses_endpoint), TEST(undoes_escapes),
	  TEST(tells_why_a_response_ended), TEST(reads_a_whole_response), TEST(tells_answers_apart),
	  TEST(remembers_the_last_event), TEST(remembers_reasoning), TEST(agrees_with_jansson),
	  TEST(limits_the_depth))
