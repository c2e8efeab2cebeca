/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

static int environment(const char *file, struct pairs *ret, struct err *err)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	AUTO_FREE char *path = path_join(test_dir(), "env");
	AUTO_FREE char *text = xasprintf(
		"twice: 1\nworkload: {name: w, kind: batch, unit: item}\n"
		"stack: {environment: {A: one, L: \"{dir}/lib\"}, environment_file: env}\n%s",
		strstr(run_scene_contract, "workload_check:"));

	if (file)
		CHECK_OK(file_write(path, file, strlen(file), 0600, err), *err);
	run_scene_parse(&c, text);
	return run_environment(&c, test_dir(), ret, err);
}

static void the_file_comes_after_the_contract(void)
{
	struct pairs p CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *lib = path_join(test_dir(), "lib");
	struct err err = ERR_INIT;

	CHECK_OK(environment(
			 "# comment\n\nexport B=two\n  A=x  \nC=\"a = 'b'\"\nD='q'\nE=\nF=\"open\n",
			 &p, &err),
		 err);
	CHECK_INT(p.n, 8);
	CHECK_STR(p.v[1].value, lib);
	CHECK_STR(p.v[2].name, "B");
	CHECK_STR(p.v[3].value, "x");
	CHECK_STR(p.v[4].value, "a = 'b'");
	CHECK_STR(p.v[5].value, "q");
	CHECK_STR(p.v[6].value, "");
	CHECK_STR(p.v[7].value, "\"open");
}

static void a_mistake_has_its_line(void)
{
	static const struct {
		const char *file, *want;
	} t[] = {
		{ "A=1\nnonsense\n", "env:2: not of the form NAME=value" },
		{ "=1\n", "env:1: not of the form NAME=value" },
		{ "1A=1\n", "env:1: no name of a variable" },
		{ "A-B=1\n", "env:1: no name of a variable" },
	};
	struct pairs none CLEANUP(pairs_release) = { 0 };
	struct err missing = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct pairs p CLEANUP(pairs_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(environment(t[i].file, &p, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, t[i].want);
	}
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	CHECK_INT(environment(NULL, &none, &missing), -ERR_NOT_FOUND);
	CHECK_HAS(missing.msg, "environment_file: ");
}

TEST_MAIN(TEST(the_file_comes_after_the_contract), TEST(a_mistake_has_its_line))
