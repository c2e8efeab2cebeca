/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_schemas.h"
#include "test.h"

static void parse_template(enum workload_kind kind, const struct pairs *values, struct str *text,
			   struct contract *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(contract_template(kind, values, text, &err), err);
	if (contract_parse(sv_str(text), "twice.yaml", test_schemas, ret, NULL, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s in\n%s", err.msg, str_text(text));
}

static void every_template_is_a_contract(void)
{
	for (int i = 0; i < KIND_N; i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		struct str text CLEANUP(str_release) = { 0 };

		parse_template((enum workload_kind)i, NULL, &text, &c);
		CHECK_INT(c.workload.kind, i);
		CHECK_STR(c.workload.name, "my-workload");
		CHECK_INT(c.expires_ns, 90 * 86400 * NS_PER_S);
		CHECK(c.compare.n > 0 && !c.compare.v[0].by_default);
		CHECK(!strchr(str_text(&text), '@'));
		CHECK(!c.has_fallback);
		CHECK_HAS(str_text(&text), "#   owner: the team");
	}
}

/* "#   owner: ..." and "# fallback: ..."; comments for people begin with a capital. */
static bool is_example(struct sv line)
{
	struct sv rest = sv_trim((struct sv){ line.p + (line.n > 0), line.n - (line.n > 0) });

	return sv_starts(line, "# ") && rest.n && rest.p[0] >= 'a' && rest.p[0] <= 'z' &&
	       sv_find(rest, SV(": ")) > 0;
}

/* The lines that were left as comments would be right as well. */
static void examples_in_comments_are_right(void)
{
	for (int i = 0; i < KIND_N; i++) {
		struct str text CLEANUP(str_release) = { 0 }, open CLEANUP(str_release) = { 0 };
		struct contract c CLEANUP(contract_release) = { 0 },
				  d CLEANUP(contract_release) = { 0 };
		struct err err = ERR_INIT;
		struct sv rest, line;

		parse_template((enum workload_kind)i, NULL, &text, &c);
		rest = sv_str(&text);
		while (sv_line(&rest, &line)) {
			bool example = is_example(line);

			if (example)
				line = (struct sv){ line.p + 2, line.n - 2 };
			str_addf(&open, SV_FMT "\n", SV_ARG(line));
		}
		if (contract_parse(sv_str(&open), "f", test_schemas, &d, NULL, &err) < 0)
			test_fails(__FILE__, __LINE__, "%s in\n%s", err.msg, str_text(&open));
		CHECK(d.has_fallback);
		CHECK_INT(d.checks.n, 4);
		CHECK(d.workload.owner && d.stack.pins.n && d.stack.switches.n && d.stack.files.n);
	}
}

static void values_are_filled_in(void)
{
	static struct pair v[] = {
		{ "name", "chat" },
		{ "owner", "ml: \"team\" # 1" },
		{ "about", "null" },
		{ "python", "/usr/bin/python3" },
		{ "start", "[\"{python}\", serve.py, --port, \"{port}\"]" },
		{ "environment", "{OMP_NUM_THREADS: \"1\"}" },
		{ "objectives", "[ttft.p99 <= 50 ms]" },
		{ "hardware", "  - gpus: {count: 2}\n  - bandwidth: {ram: \">= 5 GB/s\"}" },
		{ "recovery", "  - restart\n" },
		{ "arrival", "{constant: 20/s}" },
	};
	const struct pairs values = { v, ARRAY_SIZE(v), ARRAY_SIZE(v) };
	struct contract c CLEANUP(contract_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };

	parse_template(KIND_INFERENCE, &values, &text, &c);
	CHECK_STR(c.workload.name, "chat");
	CHECK_STR(c.workload.owner, "ml: \"team\" # 1");
	CHECK_STR(c.workload.about, "null");
	CHECK_STR(c.stack.python, "/usr/bin/python3");
	CHECK_STR(pairs_get(&c.stack.environment, "OMP_NUM_THREADS"), "1");
	CHECK_INT(c.checks.n, 3);
	CHECK_INT(c.workload_check.objectives.n, 1);
	CHECK_NEAR(c.workload_check.load.arrival.rate, 20, 0);
}

static void values_that_would_break_out_are_refused(void)
{
	static const char *const cases[][3] = {
		{ "strat", "x", "a template has no value 'strat'" },
		{ "start", "[a\nb: c]", "value of 'start': expected one line of YAML" },
		{ "start", "[a", "value of 'start': '[a' is not YAML" },
		{ "start", "", "value of 'start': expected one line of YAML" },
		{ "name", "\xff", "value of 'name' is not UTF-8" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair v = { (char *)(uintptr_t)cases[i][0], (char *)(uintptr_t)cases[i][1] };
		const struct pairs values = { &v, 1, 1 };
		struct str text CLEANUP(str_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK(contract_template(KIND_INFERENCE, &values, &text, &err) < 0);
		CHECK_STR(err.msg, cases[i][2]);
		CHECK_INT(text.n, 0);
	}
}

static void the_list_of_names_is_whole(void)
{
	const char *const *l = contract_template_names(KIND_TRAINING);
	struct err err = ERR_INIT;
	size_t n = 0;

	for (; l[n]; n++) {
		struct pair v = { (char *)(uintptr_t)l[n], "x" };
		const struct pairs values = { &v, 1, 1 };
		struct str text CLEANUP(str_release) = { 0 };

		CHECK_OK(contract_template(KIND_TRAINING, &values, &text, &err), err);
	}
	CHECK_INT(n, 36);
}

TEST_MAIN(TEST(every_template_is_a_contract), TEST(examples_in_comments_are_right),
	  TEST(values_are_filled_in), TEST(values_that_would_break_out_are_refused),
	  TEST(the_list_of_names_is_whole))
