/* SPDX-License-Identifier: Apache-2.0 */
#include "checks_scene.h"

static void a_module_is_really_imported(void)
{
	if (access("/usr/bin/python3", X_OK) != 0)
		test_skip("no /usr/bin/python3");
	CHECK_INT(run_one("framework", "import: {module: json, smoke: \"m.loads('[1]') == [1]\"}",
			  NULL, 0),
		  RESULT_PASS);
	CHECK_INT(run_one("framework", "import: {module: json, smoke: \"1 == 2\"}", NULL, 0),
		  RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: no_such_module_x}", NULL, 0), RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: json, version: \"99.*\"}", NULL, 0),
		  RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: json, python: /no/such/python}", NULL, 0),
		  RESULT_FAIL);
}

static void python(const char *text, enum result want, const char *reason)
{
	char got[300];

	scene_file("python", text);
	CHECK_INT(run_one("framework",
			  "import: {module: m, python: \"{dir}/python\", within: 1 s, version: "
			  "\"1.*\"}",
			  got, sizeof(got)),
		  want);
	CHECK_HAS(got, reason);
}

static void what_the_python_says_counts(void)
{
	python("#!/bin/sh\necho noise; echo '{\"version\": \"1.2\", \"file\": \"x\"}'\n",
	       RESULT_PASS, "");
	python("#!/bin/sh\necho '{\"version\": \"2.0\", \"file\": \"x\"}'\n", RESULT_FAIL,
	       "m is 2.0, wanted 1.*");
	python("#!/bin/sh\necho '{\"file\": \"x\"}'\n", RESULT_ERROR, "does not say its version");
	python("#!/bin/sh\necho '{\"version\": \"1.2\", \"exact\": false}'\n", RESULT_FAIL,
	       "comes out wrong");
	python("#!/bin/sh\necho hello\n", RESULT_ERROR, "");
	python("#!/bin/sh\necho no such module >&2; exit 1\n", RESULT_FAIL,
	       "exit 1: no such module");
	python("#!/bin/sh\nexec sleep 20\n", RESULT_ERROR, "time limit");
}

TEST_MAIN(TEST(a_module_is_really_imported), TEST(what_the_python_says_counts))
