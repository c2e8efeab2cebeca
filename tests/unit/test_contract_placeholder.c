/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_schemas.h"
#include "test.h"

static struct pair some[] = {
	{ "port", "8001" }, { "dir", "/a b" }, { "odd", "it's $(x)" }, { "empty", "" }
};
static const struct pairs values = { some, 4, 4 };

static void names_in_braces_get_their_values(void)
{
	static const char *const cases[][2] = {
		{ "--port={port}", "--port=8001" },
		{ "{port}{port}", "80018001" },
		{ "{dir}/x", "/a b/x" },
		{ "{empty}", "" },
		{ "{{port}}", "{port}" },
		{ "a {{port}} {port}", "a {port} 8001" },
		{ "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}" },
		{ "{\"p\":{port}}", "{\"p\":8001}" },
		{ "{ port }", "{ port }" },
		{ "{Port} {} {1} ${port", "{Port} {} {1} ${port" },
		{ "{{{port}}}", "{{port}}" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = NULL;
		struct err err = ERR_INIT;

		CHECK_OK(contract_expand(cases[i][0], &values, &got, &err), err);
		CHECK_STR(got, cases[i][1]);
	}
}

static void a_name_without_value_is_an_error(void)
{
	AUTO_FREE char *got = NULL;
	struct err err = ERR_INIT;

	CHECK_INT(contract_expand("{work}/x", &values, &got, &err), -ERR_NOT_FOUND);
	CHECK_STR(err.msg, "placeholder '{work}' has no value here");
	CHECK(!got);
}

static void values_are_quoted_in_a_shell_line_only(void)
{
	static char *line[] = { "/bin/sh", "-c", "ls {dir} {odd} {port} {empty}", NULL };
	static char *words[] = { "ls", "{dir}", "{odd}", NULL };
	const struct argv shell = { .words = { line, 3, 4 }, .shell = true };
	const struct argv plain = { .words = { words, 3, 4 } };
	struct strs out CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(contract_expand_argv(&shell, &values, &out, &err), err);
	CHECK_INT(out.n, 3);
	CHECK_STR(out.v[2], "ls '/a b' 'it'\\''s $(x)' 8001 ''");
	CHECK_OK(contract_expand_argv(&plain, &values, &out, &err), err);
	CHECK_STR(out.v[4], "/a b");
	CHECK_STR(out.v[5], "it's $(x)");
}

static void a_failed_expansion_adds_nothing(void)
{
	static char *words[] = { "ls", "{nope}", NULL };
	static struct pair vars[] = { { "A", "{port}" }, { "B", "{nope}" } };
	const struct pairs env = { vars, 2, 2 };
	const struct argv a = { .words = { words, 2, 3 } };
	struct strs out CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(contract_expand_argv(&a, &values, &out, &err), -ERR_NOT_FOUND);
	CHECK_INT(contract_expand_env(&env, &values, &out, &err), -ERR_NOT_FOUND);
	CHECK_INT(out.n, 0);
	vars[1].value = "x";
	CHECK_OK(contract_expand_env(&env, &values, &out, &err), err);
	CHECK_STR(out.v[0], "A=8001");
	CHECK_STR(out.v[1], "B=x");
}

static void values_of(const char *stack, struct pairs *ret)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	AUTO_FREE char *text = xasprintf("twice: 1\nworkload: {name: t, kind: batch}\nstack: {%s}\n"
					 "workload_check: {command: {argv: [./t]}, objectives: ["
					 "\"wall_time <= 1 s\"]}\n",
					 stack);
	struct err err = ERR_INIT;

	CHECK_OK(contract_parse(sv_of(text), "f", NULL, &c, NULL, &err), err);
	CHECK_OK(contract_values(&c, "/srv/c", ret, &err), err);
}

static void a_contract_gives_its_own_values(void)
{
	struct pairs a CLEANUP(pairs_release) = { 0 }, b CLEANUP(pairs_release) = { 0 };

	values_of(
		"files: {model: m.npz, data: /srv/d}, pins: {model: x@1}, python: /usr/bin/python3",
		&a);
	CHECK_STR(pairs_get(&a, "dir"), "/srv/c");
	CHECK_STR(pairs_get(&a, "python"), "/usr/bin/python3");
	CHECK_STR(pairs_get(&a, "model"), "/srv/c/m.npz"); /* from the folder of the contract */
	CHECK_STR(pairs_get(&a, "data"), "/srv/d");
	values_of("pins: {model: org/Model@rev}", &b);
	CHECK_STR(pairs_get(&b, "model"), "org/Model");
	CHECK_STR(pairs_get(&b, "python"), "python3");
	CHECK(!pairs_get(&b, "port"));
}

TEST_MAIN(TEST(names_in_braces_get_their_values), TEST(a_name_without_value_is_an_error),
	  TEST(values_are_quoted_in_a_shell_line_only), TEST(a_failed_expansion_adds_nothing),
	  TEST(a_contract_gives_its_own_values))
