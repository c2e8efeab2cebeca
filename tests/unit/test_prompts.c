/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/err.h"
#include "test.h"

static void reads_both_forms(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(load_prompts_parse(SV("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"
				       "\"max_tokens\":5}\n\n"
				       "{\"prompt\":\"b\",\"id\":7,\"golden\":\"c\",\"extra\":{"
				       "\"top_p\":1}}\r\n"),
				    "x", &p, &err),
		 err);
	CHECK_INT(p.n, 2);
	CHECK_STR(p.v[0].id, "1");
	CHECK_INT(p.v[0].max_tokens, 5);
	CHECK_STR(p.v[1].id, "7");
	CHECK_STR(p.v[1].golden, "c");
	CHECK_INT(strlen(p.digest), 64);
}

static void refuses_with_the_line(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "x: no prompt in it" },
		{ "{\"prompt\":\"a\"}\n{", "x: line 2: JSON" },
		{ "[]", "x: line 1: not a JSON object" },
		{ "{\"id\":1}", "x: line 1: needs either 'messages' or 'prompt'" },
		{ "{\"prompt\":\"a\",\"messages\":[{\"role\":\"u\"}]}", "needs either" },
		{ "{\"prompt\":1}", "'prompt' is not a text" },
		{ "{\"messages\":[]}", "'messages' is not a list with something in it" },
		{ "{\"messages\":[{}]}", "message 1 has no 'role'" },
		{ "{\"prompt\":\"a\",\"max_token\":1}", "unknown member 'max_token'" },
		{ "{\"prompt\":\"a\",\"max_tokens\":0}", "'max_tokens' is not a number" },
		{ "{\"prompt\":\"a\",\"id\":[]}", "'id' is neither" },
		{ "{\"prompt\":\"a\",\"id\":\"2\"}\n{\"prompt\":\"b\"}",
		  "two prompts have the id '2'" },
		{ "{\"prompt\":\"a\",\"prompt\":\"b\"}", "duplicate" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct load_prompts p = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(load_prompts_parse(sv_of(cases[i].text), "x", &p, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, cases[i].want);
		CHECK_INT(p.n, 0);
	}
}

static void the_digest_is_of_the_meaning(void)
{
	struct load_prompts a = { 0 }, b = { 0 }, c = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"x\",\"id\":\"1\"}"), "a", &a, &err), err);
	CHECK_OK(load_prompts_parse(SV("{ \"id\" : \"1\", \"prompt\":\"\\u0078\" }\n"), "b", &b,
				    &err),
		 err);
	CHECK_OK(load_prompts_parse(SV("{\"prompt\":\"y\",\"id\":\"1\"}"), "c", &c, &err), err);
	CHECK_STR(a.digest, b.digest);
	CHECK(strcmp(a.digest, c.digest) != 0);
	load_prompts_release(&a);
	load_prompts_release(&b);
	load_prompts_release(&c);
}

static void reads_golden_answers(void)
{
	struct load_golden g = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(load_golden_parse(SV("{\"id\":\"a\",\"answer\":\"x\"}\n"), "g", &g, &err), err);
	CHECK_STR(g.v[0].answer, "x");
	load_golden_release(&g);
	CHECK_INT(load_golden_parse(SV("{\"id\":\"a\"}\n"), "g", &g, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "g: line 1: member 'answer' is missing");
}

TEST_MAIN(TEST(reads_both_forms), TEST(refuses_with_the_line), TEST(the_digest_is_of_the_meaning),
	  TEST(reads_golden_answers))
