/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/contract.h"

#include "base/file.h"
#include "contract_schemas.h"
#include "test.h"

static const char service[] =
	"twice: 1\n"
	"workload: {name: chat, kind: inference, unit: request, owner: ml, about: answers}\n"
	"stack:\n"
	"  pins: {rocm: \"7.0.*\", model: \"org/Model-8B@0e9e39f2\"}\n"
	"  owners: {driver: vendor, image: cloud, openblas: maths}\n"
	"  environment: {OMP_NUM_THREADS: \"1\", HOME: \"{work}\", EMPTY: ''}\n"
	"  python: /usr/bin/python3\n"
	"  modules: [numpy]\n"
	"  env: [MYAPP_*]\n"
	"  files:\n"
	"    weights: weights.npz\n"
	"    data: {path: /srv/data, layer: platform}\n"
	"  programs: {engine: [vllm, --version]}\n"
	"  switch:\n"
	"    blas: {set: [kernellib, set, \"{dir}/alt\", \"{version}\"], get: [kernellib, get]}\n"
	"    driver: {set: \"switch {version} && echo done\", shell: true}\n"
	"hardware:\n"
	"  - gpus: {count: 8, arch: gfx942, memory: \">= 191 GiB\", required: false, owner: ops}\n"
	"  - bandwidth: {hbm: \">= 4.0 TB/s\"}\n"
	"  - command:\n"
	"      name: stream\n"
	"      argv: [./stream, \"{weights}\"]\n"
	"      extract:\n"
	"        - {metric: triad, unit: GB/s, better: higher, pattern: 'Triad: (?<value>\\S+)',"
	" limit: '>= 20 GB/s'}\n"
	"communication:\n"
	"  - collective: {ranks: 8, busbw: {\"1 GiB\": \">= 300 GB/s\", \"8 B\": \">= 1 MB/s\"}}\n"
	"workload_check:\n"
	"  serve:\n"
	"    start: [vllm, serve, \"{model}\", --port, \"{port}\"]\n"
	"    ready: {http: /healthz, within: 10 min}\n"
	"  load:\n"
	"    prompts: prompts.jsonl\n"
	"    arrival: {poisson: 4/s}\n"
	"    duration: 120 s\n"
	"    warmup: 20 s\n"
	"  objectives:\n"
	"    - ttft.p99 <= 500 ms\n"
	"    - itl.p99 <= 40ms\n"
	"    - errors <= 0.1 %\n"
	"    - goodput >= 95 %\n"
	"    - answers.match = 100 %\n"
	"repeat: {runs: 5, at_most: 12}\n"
	"compare: {throughput: 3 %, ttft.p99: {margin: 10 %, gate: false}, goodput: 2 points}\n"
	"gates: {exclude: [throttled, host_busy]}\n"
	"recovery:\n"
	"  - restart\n"
	"fallback: {plan: the other pool, drill: [./failover.sh], owner: sre}\n"
	"cost: {currency: USD, per_hour: 12.5}\n"
	"expires: 90 days\n";

static void parse_ok(const char *text, struct contract *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(contract_parse(sv_of(text), "twice.yaml", test_schemas, ret, NULL, &err), err);
}

static void every_part_of_a_service_is_read(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	const struct workload_check *k = &c.workload_check;

	parse_ok(service, &c);
	CHECK_STR(c.file, "twice.yaml");
	CHECK_STR(c.workload.name, "chat");
	CHECK_INT(c.workload.kind, KIND_INFERENCE);
	CHECK_STR(pairs_get(&c.stack.pins, "rocm"), "7.0.*");
	CHECK_STR(pairs_get(&c.stack.environment, "EMPTY"), "");
	CHECK_STR(c.stack.python, "/usr/bin/python3");
	CHECK_INT(c.stack.files.n, 2);
	CHECK_INT(c.stack.files.v[0].layer, CL_APPLICATION);
	CHECK_INT(c.stack.files.v[1].layer, CL_PLATFORM);
	CHECK_STR(c.stack.programs.v[0].argv.words.v[1], "--version");
	CHECK_STR(c.stack.switches.v[0].set.words.v[3], "{version}");
	CHECK(c.stack.switches.v[1].set.shell);
	CHECK_STR(c.stack.switches.v[1].set.words.v[2], "switch {version} && echo done");
	CHECK_INT(k->how, HOW_SERVE);
	CHECK_INT(k->serve.start.words.n, 5);
	CHECK_INT(k->serve.ready.within_ns, 600 * NS_PER_S);
	CHECK_STR(k->serve.url, "http://127.0.0.1:{port}");
	CHECK_INT(k->load.arrival.kind, ARRIVAL_POISSON);
	CHECK_NEAR(k->load.arrival.rate, 4, 0);
	CHECK_INT(k->load.duration_ns, 120 * NS_PER_S);
	CHECK_INT(k->load.count, 0);
	CHECK_INT(k->load.max_tokens, 128);
	CHECK(k->load.stream);
	CHECK_STR(k->load.answers.golden, "accepted");
	CHECK_INT(k->objectives.n, 5);
	CHECK_INT(k->objectives.v[4].limit.op, LIMIT_GE); /* "= 100 %" is the same */
	CHECK_INT(c.repeat.at_most, 12);
	CHECK_INT(c.repeat.looks.n, 7);
	CHECK_INT(c.repeat.looks.v[6], 12);
	CHECK_INT(c.gates.exclude, 1u << EXCLUDE_THROTTLED | 1u << EXCLUDE_HOST_BUSY);
	CHECK_INT(c.gates.reject_failed, 2);
	CHECK_NEAR(c.gates.max_cov, 0.05, 1e-12);
	CHECK(c.has_fallback && c.has_cost);
	CHECK_NEAR(c.cost.per_hour, 12.5, 0);
	CHECK_INT(c.expires_ns, 90 * 86400 * NS_PER_S);
}

static void checks_are_read_by_their_own_tables(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	const struct contract_check *k;
	const struct gpus_conf *gpus;
	const struct collective_conf *coll;
	const struct command_spec *cmd;
	const struct restart_conf *restart;
	AUTO_FREE char *label = NULL;
	size_t from = 0;

	parse_ok(service, &c);
	CHECK_INT(c.checks.n, 5);
	k = contract_find_check(&c, LAYER_HARDWARE, "gpus", NULL);
	gpus = k->conf;
	CHECK_INT(gpus->count, 8);
	CHECK_INT(gpus->memory.op, LIMIT_GE);
	CHECK_NEAR(gpus->memory.value, 191. * 1024 * 1024 * 1024, 0);
	CHECK(!k->required);
	CHECK_STR(k->owner, "ops");
	CHECK_INT(k->line, 18);
	k = contract_find_check(&c, LAYER_HARDWARE, "command", NULL);
	cmd = k->conf;
	label = contract_check_label(k);
	CHECK_STR(label, "hardware/stream");
	CHECK(k->required);
	CHECK_INT(cmd->extract.v[0].unit, UNIT_BYTES_PER_S);
	CHECK_NEAR(cmd->extract.v[0].factor, 1e9, 0);
	coll = contract_find_check(&c, LAYER_COMM, NULL, NULL)->conf;
	CHECK_STR(coll->op, "all_reduce");
	CHECK_STR(coll->busbw.v[1].name, "8 B");
	restart = contract_find_check(&c, LAYER_RECOVERY, "restart", NULL)->conf;
	CHECK_INT(restart->within_ns, 300 * NS_PER_S);
	while (contract_find_check(&c, LAYER_HARDWARE, NULL, &from))
		;
	CHECK_INT(from, 3);
	CHECK(!contract_find_check(&c, LAYER_FRAMEWORK, NULL, NULL));
}

static void owners_go_by_component_then_by_layer(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };

	parse_ok(service, &c);
	CHECK_STR(contract_owner(&c, CL_KERNELLIB, "openblas"), "maths");
	CHECK_STR(contract_owner(&c, CL_DRIVER, "amdgpu"), "vendor");
	CHECK(!contract_owner(&c, CL_HOST, "linux"));
}

#define TINY_TOP "twice: 1\nworkload: {name: t, kind: batch}\n"
#define TINY_CHECK                                                                                 \
	"workload_check:\n  command: {argv: [./t], extract: [{metric: rate, unit: tokens/s, "      \
	"better: higher, json: /rate}]}\n  objectives: [rate >= 5 tokens/s]\n"

/* Texts that mean the same contract. */
static void digest_is_the_meaning_not_the_text(void)
{
	static const char *const same[] = {
		TINY_TOP TINY_CHECK,
		"# a comment\n" TINY_CHECK
		"workload:\n    kind: \"batch\"\n    name: 't'\ntwice: 1\n",
		TINY_TOP TINY_CHECK "repeat: {runs: 5, at_most: 10, looks: [3, 4, 5, 6, 8, 10]}\n",
		TINY_TOP TINY_CHECK
		"gates: {max_cov: 0.05, max_failed: 0, exclude: []}\nrepeat: {}\n",
		TINY_TOP TINY_CHECK "hardware: []\nstack: {python: python3, pins: {}}\n",
		"twice: 1\nworkload: {name: t, kind: batch, unit: run, about: what a team "
		"does}\n" TINY_CHECK,
		TINY_TOP
		"workload_check:\n  command: {exit: 0, argv: [./t], shell: false, limit: 600 s, "
		"extract: [{unit: tokens/s, agg: last, metric: rate, scale: 1.0, json: /rate, "
		"from: stdout, better: higher}]}\n  objectives:\n  - \"rate>=5 tok/s\"\n",
	};
	struct contract first CLEANUP(contract_release) = { 0 };

	parse_ok(same[0], &first);
	CHECK_INT(strlen(first.digest), 64);
	for (size_t i = 1; i < ARRAY_SIZE(same); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };

		parse_ok(same[i], &c);
		CHECK_STR(c.digest, first.digest);
	}
}

static void digest_moves_with_every_meaning(void)
{
	static const char *const others[] = {
		"twice: 1\nworkload: {name: u, kind: batch}\n" TINY_CHECK,
		"twice: 1\nworkload: {name: t, kind: evaluation}\n" TINY_CHECK,
		TINY_TOP TINY_CHECK "expires: 1 day\n",
		TINY_TOP TINY_CHECK "repeat: {runs: 6}\n",
		TINY_TOP TINY_CHECK "repeat: {looks: [5, 10]}\n",
		TINY_TOP TINY_CHECK "compare: {rate: 5 %}\n",
		TINY_TOP TINY_CHECK "compare: {rate: 5.001 %}\n",
		TINY_TOP TINY_CHECK "compare: {rate: 5 %, wall_time: {margin: 5 %, gate: false}}\n",
		TINY_TOP TINY_CHECK "gates: {exclude: throttled}\n",
		TINY_TOP TINY_CHECK "cost: cost.yaml\n",
		TINY_TOP TINY_CHECK "cost: {per_hour: 0.000000001, currency: USD}\n",
		TINY_TOP TINY_CHECK "fallback: x\n",
		TINY_TOP TINY_CHECK "stack: {pins: {a: b}}\n",
		TINY_TOP TINY_CHECK "stack: {pins: {b: a}}\n",
		TINY_TOP TINY_CHECK "hardware: [gpus]\n",
		TINY_TOP TINY_CHECK "hardware: [gpus: {required: false}]\n",
		TINY_TOP TINY_CHECK "hardware: [gpus: {name: cards}]\n",
		TINY_TOP TINY_CHECK "hardware: [gpus: {count: 1}]\n",
		TINY_TOP TINY_CHECK "stack: {switch: {x: {set: [a, b]}}}\n",
		TINY_TOP TINY_CHECK "stack: {switch: {x: {set: a b, shell: true}}}\n",
		TINY_TOP
		"workload_check:\n  command: {argv: [./t, -x], extract: [{metric: rate, unit: "
		"tokens/s, better: higher, json: /rate}]}\n  objectives: [rate >= 5 tok/s]\n",
		TINY_TOP
		"workload_check:\n  command: {argv: [./t], extract: [{metric: rate, unit: "
		"tokens/s, better: higher, json: /rate}]}\n  objectives: [rate > 5 tok/s]\n",
	};
	struct strs seen CLEANUP(strs_release) = { 0 };
	struct contract first CLEANUP(contract_release) = { 0 };

	parse_ok(TINY_TOP TINY_CHECK, &first);
	strs_add(&seen, first.digest);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };

		parse_ok(others[i], &c);
		CHECK(!strs_has(&seen, c.digest));
		strs_add(&seen, c.digest);
	}
}

static void canonical_form_is_small_and_exact(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	AUTO_JSON json_t *j = NULL;
	AUTO_FREE char *text = NULL;

	parse_ok(TINY_TOP TINY_CHECK "compare: {wall_time: 3 %}\n"
				     "stack: {environment: {B: x, A: y}}\nexpires: 2 days\n",
		 &c);
	j = contract_to_json(&c);
	text = json_text(j, /* pretty= */ false);
	CHECK_STR(text,
		  "{\"compare\":[{\"margin_e9\":30000000,\"name\":\"wall_time\"}],"
		  "\"expires_ns\":172800000000000,"
		  "\"stack\":{\"environment\":[{\"name\":\"A\",\"value\":\"y\"},"
		  "{\"name\":\"B\",\"value\":\"x\"}]},\"twice\":1,"
		  "\"workload\":{\"kind\":\"batch\",\"name\":\"t\"},"
		  "\"workload_check\":{\"command\":{\"argv\":[\"./t\"],\"extract\":[{"
		  "\"better\":\"higher\",\"json\":\"/rate\",\"metric\":\"rate\",\"unit\":"
		  "\"tokens/s\"}]},\"objectives\":[{\"metric\":\"rate\",\"op\":\">=\",\"unit\":"
		  "\"tokens_per_s\",\"value\":5000000}]}}");
}

static void a_training_contract_is_read(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	const struct train_spec *t = &c.workload_check.train;

	parse_ok("twice: 1\n"
		 "workload: {name: tune, kind: training, unit: fine-tune}\n"
		 "stack: {files: {model: base}}\n"
		 "workload_check:\n"
		 "  train:\n"
		 "    run: [\"{python}\", train.py, --base, \"{model}\", --seed, \"{seed}\"]\n"
		 "    metrics: {mllog: run.log}\n"
		 "    target: {eval_loss: \"<= 0.15\", eval_accuracy: \">= 70 %\"}\n"
		 "  objectives:\n"
		 "    - time_to_target <= 45 min\n"
		 "    - throughput >= 1200 samples/s\n"
		 "    - data_stall <= 2 %\n"
		 "    - runs_reaching_target = 100 %\n"
		 "compare: {time_to_target: 4 %, throughput: 3 %, final_loss: 0.5 %}\n",
		 &c);
	CHECK_INT(c.workload_check.how, HOW_TRAIN);
	CHECK_INT(c.stack.files.v[0].layer, CL_MODEL);
	CHECK_INT(t->metrics.kind, TRAIN_MLLOG);
	CHECK_STR(t->metrics.path, "run.log");
	CHECK_STR(t->cwd, "{work}");
	CHECK_STR(t->fields.loss, "loss");
	CHECK_INT(t->target.n, 2);
	CHECK_INT(t->target.v[1].limit.unit, UNIT_RATIO);
	CHECK_INT(t->limit_ns, 3600 * NS_PER_S);
	CHECK(c.workload_check.objectives.v[3].info.across);
	CHECK_INT(c.compare.n, 3);
	CHECK_STR(c.compare.v[0].metric, "final_loss"); /* sorted */
	CHECK_NEAR(c.compare.v[0].margin, 0.005, 1e-12);
}

static void help_names_every_part(void)
{
	static const char *const topics[] = { "stack",   "load",     "serve",         "train",
					      "command", "hardware", "hardware/gpus", "gpus",
					      "metrics", "compare" };

	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		struct str s CLEANUP(str_release) = { 0 };
		bool known = contract_help(test_schemas, topics[i], &s);

		CHECK_INT(known, strcmp(topics[i], "compare") != 0);
		CHECK_INT(s.n > 0, known);
	}
	struct str all CLEANUP(str_release) = { 0 };
	CHECK(contract_help(test_schemas, NULL, &all));
	CHECK_HAS(str_text(&all), "workload_check:");
	CHECK_HAS(str_text(&all), "communication/collective: collective operations");
}

static void every_mistake_is_told_in_order(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *second = NULL;

	CHECK_INT(contract_parse(SV("twice: 1\n"
				    "workload: {nam: t, kind: batch}\n"
				    "workload_check:\n"
				    "  command: {argv: ./t}\n"
				    "  objectives: [peak_rss <= 5 ms]\n"
				    "expires: -1 s\n"),
				 "my.yaml", test_schemas, &c, &bad, &err),
		  -ERR_PARSE);
	CHECK_INT(bad.n, 5);
	CHECK_STR(err.msg, "my.yaml:2:11: 'workload' needs 'name': what the workload is called");
	CHECK_STR(err.hint, "4 more mistakes were found.");
	second = problem_line("my.yaml", &bad.v[1]);
	CHECK_STR(second, "my.yaml:2:12: unknown key 'nam' in 'workload' (nearest: 'name')");
	CHECK_INT(bad.v[4].line, 6);
	CHECK(!c.file && !c.checks.n); /* ret untouched */
}

static void a_flood_of_mistakes_is_cut(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	str_add(&s, "twice: 1\n");
	for (int i = 0; i < 5000; i++)
		str_addf(&s, "zzz%d: x\n", i);
	CHECK_INT(contract_parse(sv_str(&s), "f", test_schemas, &c, &bad, &err), -ERR_PARSE);
	CHECK_INT(bad.n, PROBLEMS_MAX);
}

/* Nothing that fits in a file takes long, whatever is wrong with it: a test has 30 s. */
static void a_large_wrong_file_is_told_quickly(void)
{
	static const char *const lines[][2] = {
		{ "", "x%d: 1\n" },
		{ "workload_check:\n  objectives:\n", "  - ttft.p%d <= 5 ms\n" },
		{ "compare:\n", "  ttft.q%d: 5 %%\n" },
		{ "hardware:\n", "  - gpux%d\n" },
		{ "hardware:\n", "  - gpus: {name: g%d}\n" },
		{ "gates:\n  exclude:\n", "  - slow%d\n" },
		{ "stack:\n  environment:\n", "    V%d: \"{portx}{portx}{portx}\"\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		struct problems bad CLEANUP(problems_release) = { 0 };
		struct str s CLEANUP(str_release) = { 0 };
		struct err err = ERR_INIT;
		char line[80];

		str_addf(&s, "twice: 1\n%s", lines[i][0]);
		for (int k = 0; k < 20000; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(line, sizeof(line), lines[i][1], k);
#pragma GCC diagnostic pop
			str_add(&s, line);
		}
		CHECK_INT(contract_parse(sv_str(&s), "f", test_schemas, &c, &bad, &err),
			  -ERR_PARSE);
		CHECK(bad.n > 0 && bad.n <= PROBLEMS_MAX);
	}
}

TEST_MAIN(TEST(every_part_of_a_service_is_read), TEST(checks_are_read_by_their_own_tables),
	  TEST(owners_go_by_component_then_by_layer), TEST(digest_is_the_meaning_not_the_text),
	  TEST(digest_moves_with_every_meaning), TEST(canonical_form_is_small_and_exact),
	  TEST(a_training_contract_is_read), TEST(help_names_every_part),
	  TEST(every_mistake_is_told_in_order), TEST(a_flood_of_mistakes_is_cut),
	  TEST(a_large_wrong_file_is_told_quickly))
