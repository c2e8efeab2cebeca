/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/internal.h"
#include "contract_schemas.h"
#include "test.h"

static void each_kind_of_workload_has_its_metrics(void)
{
	static const struct {
		enum workload_how how;
		bool load;
		const char *name;
		bool known;
		enum unit unit;
		enum direction dir;
		enum metric_scale scale;
		double margin;
	} cases[] = {
		{ HOW_SERVE, true, "ttft.p99", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG, 0.10 },
		{ HOW_SERVE, true, "ttft.p50", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG, 0.05 },
		{ HOW_SERVE, true, "e2e.p99.all", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG, 0.10 },
		{ HOW_SERVE, true, "itl.max", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG, 0.10 },
		{ HOW_SERVE, true, "throughput", true, UNIT_REQUESTS_PER_S, HIGHER_IS_BETTER,
		  SCALE_LOG, 0.05 },
		{ HOW_SERVE, true, "goodput", true, UNIT_RATIO, HIGHER_IS_BETTER, SCALE_ABS, 0.02 },
		{ HOW_SERVE, true, "errors", true, UNIT_RATIO, LOWER_IS_BETTER, SCALE_ABS, 0.02 },
		{ HOW_SERVE, false, "ready_time", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG, 0.05 },
		{ HOW_SERVE, false, "ttft.p99", false, 0, 0, 0, 0 },
		{ HOW_SERVE, true, "itl.p99.all", false, 0, 0, 0, 0 },
		{ HOW_SERVE, true, "time_to_target", false, 0, 0, 0, 0 },
		{ HOW_TRAIN, false, "throughput", true, UNIT_SAMPLES_PER_S, HIGHER_IS_BETTER,
		  SCALE_LOG, 0.05 },
		{ HOW_TRAIN, false, "step_time.p50", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG,
		  0.05 },
		{ HOW_TRAIN, false, "final_loss", true, UNIT_NONE, LOWER_IS_BETTER, SCALE_LOG,
		  0.05 },
		{ HOW_COMMAND, false, "wall_time", true, UNIT_NS, LOWER_IS_BETTER, SCALE_LOG,
		  0.05 },
		{ HOW_COMMAND, false, "peak_rss", true, UNIT_BYTES, LOWER_IS_BETTER, SCALE_LOG,
		  0.05 },
		{ HOW_COMMAND, false, "throughput", false, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct contract c = { 0 };
		struct metric_info m;

		c.workload_check.how = cases[i].how;
		c.workload_check.has_load = cases[i].load;
		CHECK_INT(contract_metric(&c, cases[i].name, &m), cases[i].known);
		if (!cases[i].known)
			continue;
		CHECK_STR(m.name, cases[i].name);
		CHECK_INT(m.unit, cases[i].unit);
		CHECK_INT(m.dir, cases[i].dir);
		CHECK_INT(m.scale, cases[i].scale);
		CHECK_NEAR(m.margin, cases[i].margin, 0);
	}
}

static void a_commands_metrics_are_its_extracts(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct err err = ERR_INIT;
	struct metric_info m;
	const char *names[METRIC_NAMES_MAX];

	CHECK_OK(contract_parse(
			 SV("twice: 1\nworkload: {name: t, kind: evaluation}\nworkload_check:\n"
			    "  command: {argv: [./t], extract: [{metric: acc, unit: '%', better: "
			    "higher, json: /acc}]}\n  objectives: [acc >= 70 %]\n"),
			 "f", NULL, &c, NULL, &err),
		 err);
	CHECK(contract_metric(&c, "acc", &m));
	CHECK_INT(m.unit, UNIT_RATIO);
	CHECK_INT(m.scale, SCALE_ABS);
	metric_names(&c, names);
	CHECK_STR(names[0], "acc");
	CHECK(!contract_metric(&c, "bcc", &m));
}

static void goodput_goes_by_its_own_limits_or_the_objectives(void)
{
	static const char head[] =
		"twice: 1\nworkload: {name: t, kind: inference}\nworkload_check:\n"
		"  serve: {start: [./s]}\n"
		"  load: {prompts: p, arrival: {poisson: 4/s}, duration: 1 min%s}\n"
		"  objectives: [ttft.p99 <= 500 ms, ttft.p50 <= 100 ms, e2e.mean <= 9 s,"
		" goodput >= 9 %%]\n";
	static const struct {
		const char *extra;
		int64_t ttft_ms, itl_ms, e2e_ms;
	} cases[] = { { "", 100, 0, 9000 }, { ", goodput: {ttft: 2 s, itl: 50 ms}", 2000, 50, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		struct str text CLEANUP(str_release) = { 0 };
		struct err err = ERR_INIT;
		struct goodput_limits g;

		str_addf(&text, head, cases[i].extra);
		CHECK_OK(contract_parse(sv_str(&text), "f", NULL, &c, NULL, &err), err);
		contract_goodput(&c, &g);
		CHECK_INT(g.ttft_ns, cases[i].ttft_ms * NS_PER_MS);
		CHECK_INT(g.itl_ns, cases[i].itl_ms * NS_PER_MS);
		CHECK_INT(g.e2e_ns, cases[i].e2e_ms * NS_PER_MS);
		CHECK_INT(g.tpot_ns, 0);
	}
}

TEST_MAIN(TEST(each_kind_of_workload_has_its_metrics), TEST(a_commands_metrics_are_its_extracts),
	  TEST(goodput_goes_by_its_own_limits_or_the_objectives))
