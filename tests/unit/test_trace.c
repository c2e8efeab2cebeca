/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/err.h"
#include "test.h"

static void reads_seconds_and_mooncake_lines(void)
{
	struct err err = ERR_INIT;
	int64_t *v;
	size_t n;

	CHECK_OK(load_trace_parse(SV("10.5\n\n10.5\n12\n"), "t", &v, &n, &err), err);
	CHECK_INT(n, 3);
	CHECK_INT(v[0], 0);
	CHECK_INT(v[2], 1500 * NS_PER_MS);
	free(v);
	CHECK_OK(load_trace_parse(SV("{\"timestamp\": 27000, \"input_length\": 6758}\r\n"
				     "{\"timestamp\": 30001}\n"),
				  "t", &v, &n, &err),
		 err);
	CHECK_INT(v[1], 3001 * NS_PER_MS);
	free(v);
}

static void refuses_the_rest(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "t: no time in it" },         { "1\nx\n", "t: line 2: neither a number" },
		{ "2\n1\n", "t: line 2: earlier" }, { "{\"time\":1}", "'timestamp' is missing" },
		{ "{", "t: line 1: JSON" },         { "nan", "neither" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		int64_t *v;
		size_t n;

		CHECK_INT(load_trace_parse(sv_of(cases[i].text), "t", &v, &n, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, cases[i].want);
	}
}

TEST_MAIN(TEST(reads_seconds_and_mooncake_lines), TEST(refuses_the_rest))
