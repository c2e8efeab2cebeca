/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"
#include "contract_schemas.h"
#include "test.h"

static void read_command(const char *text, struct command_spec *ret)
{
	struct yaml y CLEANUP(yaml_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(yaml_parse(sv_of(text), &y, &err), err);
	if (fields_parse(command_schema.fields, &y, "command", ret, &bad) < 0)
		test_fails(__FILE__, __LINE__, "%s", bad.v[0].text);
	CHECK_OK(command_schema.valid(ret, &err), err);
}

static void release(struct command_spec *c)
{
	fields_release(command_schema.fields, c);
}

static void numbers_come_in_base_units(void)
{
	static const struct {
		const char *metric, *text;
		double want;
	} cases[] = {
		{ "json: /bw, unit: GB/s", "{\"bw\": 2.5}", 2.5e9 },
		{ "json: /t, unit: ms", "{\"t\": [3, 1, 2]}", 2e6 },
		{ "json: /t, unit: ms, agg: min", "{\"t\": [3, 1, 2]}", 1e6 },
		{ "json: /t, unit: ms, agg: median", "{\"t\": [3, 1, 2]}", 2e6 },
		{ "json: /t, unit: ms, agg: count", "{\"t\": [3, 1, 2]}", 3 },
		{ "json: /t, scale: 0.001, unit: GiB", "{\"t\": 1000}", 1073741824. },
		{ "pattern: 'acc (?<value>[0-9.]+)', unit: '%'", "acc 71.5\nacc 72\n", 0.72 },
		{ "lines: '^ok'", "ok\nno\nok\n", 2 },
		{ "exit: true", "", 3 },
		{ "csv: {column: v, filter: {k: b}}", "k,v\na,1\nb,7\n", 7 },
		{ "csv: {column: v, row: 1, delimiter: tab}", "k\tv\na\t1\nb\t7\n", 1 },
		{ "csv: v", "v\n5\n", 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct command_spec c CLEANUP(release) = { 0 };
		AUTO_FREE char *text =
			xasprintf("{argv: [./t], extract: [{metric: m, better: higher, %s}]}",
				  cases[i].metric);
		struct err err = ERR_INIT;
		double got;

		read_command(text, &c);
		CHECK_OK(command_metric_read(&c.extract.v[0], sv_of(cases[i].text), 3, &got, &err),
			 err);
		CHECK_NEAR(got, cases[i].want, fabs(cases[i].want) * 1e-12);
	}
}

static void a_number_that_is_not_there_is_an_error(void)
{
	struct command_spec c CLEANUP(release) = { 0 };
	struct err err = ERR_INIT;
	double got = -1;

	read_command("{argv: [./t], extract: [{metric: rate, better: higher, json: /r}]}", &c);
	CHECK_INT(command_metric_read(&c.extract.v[0], SV("{\"x\": 1}"), 0, &got, &err),
		  -ERR_NOT_FOUND);
	CHECK_STR(err.msg, "'rate': nothing found");
	CHECK_INT(command_metric_read(&c.extract.v[0], SV("{\"r\": \"slow\"}"), 0, &got, &err),
		  -ERR_PARSE);
	CHECK_STR(err.msg, "'rate': 'slow' is not a number");
	CHECK_INT(command_metric_read(&c.extract.v[0], SV(""), 0, &got, &err), -ERR_NOT_FOUND);
	CHECK_NEAR(got, -1, 0); /* untouched */
}

static void sources_and_exit_codes(void)
{
	struct command_spec c CLEANUP(release) = { 0 }, any CLEANUP(release) = { 0 };

	read_command("{argv: [./t], exit: [0, 3], limit: 5 s, extract: ["
		     "{metric: a, better: lower, json: /a, from: stderr},"
		     "{metric: b, better: lower, json: /a, from: 'file:{work}/out.json',"
		     " limit: '<= 3'}]}",
		     &c);
	CHECK_INT(c.extract.v[0].source, FROM_STDERR);
	CHECK_INT(c.extract.v[1].source, FROM_FILE);
	CHECK_STR(c.extract.v[1].path, "{work}/out.json");
	CHECK_INT(c.limit_ns, 5 * NS_PER_S);
	CHECK(command_exit_ok(&c, 0) && command_exit_ok(&c, 3));
	CHECK(!command_exit_ok(&c, 1) && !command_exit_ok(&c, -1));
	read_command("{argv: [./t], exit: any, extract: [{metric: a, better: lower, exit: true, "
		     "limit: '<= 3'}]}",
		     &any);
	CHECK(command_exit_ok(&any, 99));
}

TEST_MAIN(TEST(numbers_come_in_base_units), TEST(a_number_that_is_not_there_is_an_error),
	  TEST(sources_and_exit_codes))
