/* SPDX-License-Identifier: Apache-2.0 */
/* A module counts as there when the workload's Python imported it. */
#include "checks_scene.h"

static void a_module_is_really_imported(void)
{
	if (access("/usr/bin/python3", X_OK) != 0)
		test_skip("no /usr/bin/python3");
	CHECK_INT(run_one("framework", "import: {module: json, smoke: \"m.loads('[1]') == [1]\"}",
			  NULL),
		  RESULT_PASS);
	CHECK_INT(run_one("framework", "import: {module: json, smoke: \"1 == 2\"}", NULL),
		  RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: no_such_module_x}", NULL), RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: json, version: \"99.*\"}", NULL),
		  RESULT_FAIL);
	CHECK_INT(run_one("framework", "import: {module: json, python: /no/such/python}", NULL),
		  RESULT_FAIL);
}

static void python(const char *text, enum result want, const char *reason)
{
	char got[REASON];

	test_file("python", text, 0755);
	CHECK_INT(run_one("framework",
			  "import: {module: m, python: \"{dir}/python\", within: 1 s, version: "
			  "\"1.*\"}",
			  got),
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

static void numpy_is_asked_for_an_exact_product(void)
{
	if (access("/usr/bin/python3", X_OK) != 0)
		test_skip("no /usr/bin/python3");
	SCENE(s);
	scene_check(&s, "framework", "import: {module: numpy, version: \"9.*\"}", scene_command);
	test_file("work/numpy.py",
		  "__version__ = '9.9.9'\n"
		  "class A(list):\n"
		  "  reshape = lambda s, *a: s\n"
		  "  astype = lambda s, t: s\n"
		  "  __mod__ = lambda s, n: s\n"
		  "  __getitem__ = lambda s, k: 1\n"
		  "  __matmul__ = lambda s, o: s\n"
		  "  __eq__ = lambda s, o: s\n"
		  "  all = lambda s: True\n"
		  "arange = lambda n: A([1])\n",
		  0644);
	/* Found before the system's: a numpy whose product is wrong. */
	CHECK_INT(run_scene(&s), RESULT_FAIL); /* 1 where the sum of 64 products is 64 */
	CHECK_HAS(s.o.reason, "comes out wrong");
}

TEST_MAIN(TEST(what_the_python_says_counts), TEST(a_module_is_really_imported),
	  TEST(numpy_is_asked_for_an_exact_product))
