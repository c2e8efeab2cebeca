/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_schemas.h"
#include "test.h"

static void parse(const char *objectives, const char *rest, struct contract *ret)
{
	struct str text CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	str_addf(&text,
		 "twice: 1\nworkload: {name: t, kind: inference}\nworkload_check:\n"
		 "  serve: {start: [./s]}\n"
		 "  load: {prompts: p, arrival: {poisson: 4/s}, duration: 1 min}\n"
		 "  objectives: [%s]\n%s",
		 objectives, rest);
	CHECK_OK(contract_parse(sv_str(&text), "f", NULL, ret, NULL, &err), err);
}

static void an_objective_is_metric_sign_and_quantity(void)
{
	static const struct {
		const char *text, *metric;
		enum limit_op op;
		double value;
	} cases[] = {
		{ "ttft.p99 <= 500 ms", "ttft.p99", LIMIT_LE, 5e8 },
		{ "ttft.p99<0.5s", "ttft.p99", LIMIT_LT, 5e8 },
		{ "\"ttft.p99 \xe2\x89\xa4 500 ms\"", "ttft.p99", LIMIT_LE, 5e8 },
		{ "throughput >= 4/s", "throughput", LIMIT_GE, 4 },
		{ "throughput > 240/min", "throughput", LIMIT_GT, 4 },
		{ "errors = 0", "errors", LIMIT_LE, 0 },
		{ "errors <= 0.001", "errors", LIMIT_LE, 0.001 },
		{ "answers.match = 100 %", "answers.match", LIMIT_GE, 1 },
		{ "peak_rss <= 16 GiB", "peak_rss", LIMIT_LE, 17179869184. },
		{ "output_tokens_per_s >= 1000 tokens/s", "output_tokens_per_s", LIMIT_GE, 1000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		const struct objective *o;

		parse(cases[i].text, "", &c);
		CHECK_INT(c.workload_check.objectives.n, 1);
		o = &c.workload_check.objectives.v[0];
		CHECK_STR(o->metric, cases[i].metric);
		CHECK_STR(o->info.name, cases[i].metric);
		CHECK_INT(o->limit.op, cases[i].op);
		CHECK_NEAR(o->limit.value, cases[i].value, fabs(cases[i].value) * 1e-12);
		CHECK_INT(o->line, 6);
	}
}

static void without_compare_the_objectives_gate_with_usual_margins(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };

	parse("ttft.p99 <= 500 ms, goodput >= 95 %, itl.p50 <= 30 ms", "", &c);
	CHECK_INT(c.compare.n, 3);
	CHECK_STR(c.compare.v[0].metric, "goodput");
	CHECK_NEAR(c.compare.v[0].margin, 0.02, 0);
	CHECK_NEAR(c.compare.v[1].margin, 0.05, 0);
	CHECK_NEAR(c.compare.v[2].margin, 0.10, 0);
	CHECK(c.compare.v[2].gate && c.compare.v[2].by_default);
}

static void compare_names_what_gates(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };

	parse("ttft.p99 <= 500 ms",
	      "compare:\n  throughput: 3 %\n  goodput: 0.015\n  itl.p50: {gate: false}\n"
	      "  e2e.p99: {margin: 12.5 %}\n  answers.match: {margin: 1 point, gate: true}\n",
	      &c);
	CHECK_INT(c.compare.n, 5);
	CHECK_STR(c.compare.v[0].metric, "answers.match");
	CHECK_NEAR(c.compare.v[0].margin, 0.01, 1e-15);
	CHECK_NEAR(c.compare.v[1].margin, 0.125, 1e-15);
	CHECK_NEAR(c.compare.v[2].margin, 0.015, 0);
	CHECK_NEAR(c.compare.v[3].margin, 0.05, 0); /* its usual one */
	CHECK(!c.compare.v[3].gate && !c.compare.v[3].by_default);
	CHECK(c.compare.v[4].gate);
}

TEST_MAIN(TEST(an_objective_is_metric_sign_and_quantity),
	  TEST(without_compare_the_objectives_gate_with_usual_margins),
	  TEST(compare_names_what_gates))
