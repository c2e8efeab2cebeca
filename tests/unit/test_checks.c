/* SPDX-License-Identifier: Apache-2.0 */
/* Each check against small real programs: what passes, what fails, and what never counts as a
 * pass. */
#include "checks/checks.h"

#include "base/err.h"
#include "base/file.h"

#include "test.h"

static volatile int cancel;

struct scene {
	struct contract c;
	struct check_ctx ctx;
	char *work;
};

static void scene_release(struct scene *s)
{
	contract_release(&s->c);
	free(s->work);
}

static const char head[] = "twice: 1\n"
			   "workload: {name: w, kind: batch, unit: item}\n"
			   "stack: {python: /usr/bin/python3}\n";
static const char command_tail[] =
	"workload_check:\n"
	"  command: {argv: [\"true\"], extract: [{metric: n, exit: true, better: lower}]}\n"
	"  objectives: [n <= 1]\n";

static void scene(struct scene *s, const char *middle, const char *tail)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	AUTO_FREE char *text = xasprintf("%s%s%s", head, middle, tail);
	struct err err = ERR_INIT;

	*s = (struct scene){ 0 };
	if (contract_parse(sv_of(text), "t.yaml", checks_schemas(), &s->c, &bad, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s", err.msg);
	s->work = path_join(test_dir(), "work");
	CHECK_OK(dir_make(s->work, &err), err);
	s->ctx = (struct check_ctx){
		.contract = &s->c, .dir = test_dir(), .work = s->work, .cancel = &cancel
	};
}

static enum result run_one(const char *layer, const char *settings, char *reason, size_t n)
{
	AUTO_FREE char *middle = xasprintf("%s:\n  - %s\n", layer, settings);
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };
	enum result r;

	scene(&s, middle, command_tail);
	CHECK_OK(check_run(&s.ctx, &s.c.checks.v[0], &o, &err), err);
	r = o.result;
	CHECK(r == RESULT_PASS || (o.reason && o.reason[0]));
	if (reason)
		snprintf(reason, n, "%s", o.reason ? o.reason : "");
	err_clear(&err);
	CHECK_OK(dir_remove(s.ctx.work ? test_dir() : "", &err), err);
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	return r;
}

static void a_command_passes_only_on_its_numbers(void)
{
	static const struct {
		const char *argv, *extract;
		enum result want;
		const char *reason;
	} t[] = {
		{ "[sh, -c, \"echo bw 12\"]",
		  "[{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
		  "limit: '>= 10 GB/s'}]",
		  RESULT_PASS, "" },
		{ "[sh, -c, \"echo bw 9\"]",
		  "[{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
		  "limit: '>= 10 GB/s'}]",
		  RESULT_FAIL, "bw is 9 GB/s, limit >= 10 GB/s" },
		{ "[sh, -c, \"echo nothing\"]",
		  "[{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
		  "limit: '>= 10 GB/s'}]",
		  RESULT_ERROR, "bw: " },
		{ "[sh, -c, \"echo bw 12; exit 3\"]",
		  "[{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
		  "limit: '>= 10 GB/s'}]",
		  RESULT_FAIL, "ended with exit 3" },
		{ "[sh, -c, \"echo bw 12; kill -9 $$\"]",
		  "[{metric: bw, pattern: 'bw (?<value>[0-9]+)', unit: GB/s, better: higher, "
		  "limit: '>= 10 GB/s'}]",
		  RESULT_FAIL, "ended with signal 9" },
		{ "[no-such-program-here]", "[{metric: n, better: lower, lines: x, limit: '= 0'}]",
		  RESULT_SKIP, "no program 'no-such-program-here'" },
		{ "[sh, -c, \"echo '{\\\"a\\\": [1, 2.5]}'\"]",
		  "[{metric: a, json: /a/1, better: higher, limit: '>= 2'}]", RESULT_PASS, "" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		AUTO_FREE char *settings =
			xasprintf("command: {argv: %s, extract: %s}", t[i].argv, t[i].extract);
		char reason[300];

		printf("# %s\n", settings);
		CHECK_INT(run_one("hardware", settings, reason, sizeof(reason)), t[i].want);
		CHECK_HAS(reason, t[i].reason);
	}
}

static void a_command_over_its_time_is_an_error(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware",
			  "command: {argv: [sleep, \"20\"], limit: 200 ms, extract: [{metric: n, "
			  "exit: true, better: lower}]}",
			  reason, sizeof(reason)),
		  RESULT_ERROR);
	CHECK_HAS(reason, "time limit");
}

static void processors_and_memory_are_held_to_limits(void)
{
	CHECK_INT(run_one("hardware", "cpus: {count: \">= 1\"}", NULL, 0), RESULT_PASS);
	CHECK_INT(run_one("hardware", "cpus: {count: \">= 100000\"}", NULL, 0), RESULT_FAIL);
	CHECK_INT(run_one("hardware", "memory: {size: \">= 16 MiB\"}", NULL, 0), RESULT_PASS);
	CHECK_INT(run_one("hardware", "memory: {size: \">= 900 TiB\"}", NULL, 0), RESULT_FAIL);
}

static void bandwidth_is_measured_and_held(void)
{
	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 2 MiB, repeats: 3}", NULL, 0),
		  RESULT_PASS);
	CHECK_INT(run_one("hardware",
			  "memory_bandwidth: {size: 2 MiB, repeats: 3, at_least: \">= 900 TB/s\"}",
			  NULL, 0),
		  RESULT_FAIL);
}

static void a_setting_that_cannot_be_read_never_passes(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware", "host: {settings: {vm.no_such_setting: \"1\"}}", reason,
			  sizeof(reason)),
		  RESULT_ERROR);
	CHECK_HAS(reason, "cannot be read here");
	CHECK_INT(run_one("hardware", "host: {settings: {vm.swappiness: no such value}}", NULL, 0),
		  RESULT_FAIL);
}

static void gpus_that_are_not_there_fail(void)
{
	char reason[300];

	CHECK_INT(run_one("hardware", "gpus: {count: \">= 4096\"}", reason, sizeof(reason)),
		  RESULT_FAIL);
	CHECK_HAS(reason, "GPUs found, limit >= 4096");
}

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

static void all_reduce_is_exact_or_skipped(void)
{
	char reason[300];
	enum result r =
		run_one("communication", "allreduce: {ranks: 2, max: 16 KiB, iterations: 3}",
			reason, sizeof(reason));

	if (r == RESULT_SKIP)
		test_skip("%s", reason);
	printf("# %s\n", reason);
	CHECK_INT(r, RESULT_PASS);
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 2, max: 16 KiB, iterations: 3, busbw: {16 KiB: \">= "
			  "900 TB/s\"}}",
			  NULL, 0),
		  RESULT_FAIL);
	CHECK_INT(run_one("communication",
			  "allreduce: {ranks: 2, max: 16 KiB, iterations: 3, busbw: {1 MiB: \">= 1 "
			  "B/s\"}}",
			  NULL, 0),
		  RESULT_ERROR);
}

/* A training job in shell: counts steps, keeps a checkpoint every 5, loss falls with the step. */
static const char trainer[] = "#!/bin/sh\n"
			      "i=0; [ \"$1\" = resume ] && i=$(cat ckpt)\n"
			      "while [ $i -lt 20 ]; do\n"
			      " i=$((i+1)); echo \"{\\\"step\\\": $i, \\\"loss\\\": 0.$((90-i)), "
			      "\\\"eval_loss\\\": 0.$((90-i)), "
			      "\\\"ms\\\": 2, \\\"data_ms\\\": 1, \\\"samples_per_s\\\": 500}\"\n"
			      " [ $((i%5)) = 0 ] && echo $i > ckpt; sleep 0.02\n"
			      "done\n"
			      "echo '{\"final\": true, \"weights\": \"abc\"}'\n";

static const char train_tail[] =
	"workload_check:\n"
	"  train:\n"
	"    run: [sh, \"{dir}/train.sh\"]\n"
	"    resume: [sh, \"{dir}/train.sh\", resume]\n"
	"    metrics: {jsonl: stdout}\n"
	"    target: {eval_loss: \"<= %s\"}\n"
	"    checkpoints: \"{work}\"\n"
	"  objectives: [final_loss <= 0.8, runs_reaching_target = 100 %%]\n";

static void write_trainer(const char *text)
{
	AUTO_FREE char *path = path_join(test_dir(), "train.sh");
	struct err err = ERR_INIT;

	CHECK_OK(file_write(path, text, strlen(text), 0755, &err), err);
}

static double value(const struct rep *r, const char *name)
{
	const struct measurement *m = measurements_find(&r->measured, name);

	return m ? m->value : NAN;
}

static void training_is_followed_to_its_target(void)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.75");
	struct rep r CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene(&s, "", tail);
	write_trainer(trainer);
	CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
	printf("# %s\n", r.reason ? r.reason : "");
	CHECK_INT(r.state, REP_OK);
	CHECK_NEAR(value(&r, "steps_to_target"), 15, 0);
	CHECK_NEAR(value(&r, "final_loss"), 0.70, 1e-12);
	CHECK_NEAR(value(&r, "step_time.p50"), 2e6, 1);
	CHECK_NEAR(value(&r, "data_stall"), 0.5, 1e-12);
	CHECK_NEAR(value(&r, "throughput"), 500, 0);
	CHECK(value(&r, "time_to_target") > 0 &&
	      value(&r, "wall_time") > value(&r, "time_to_target"));
}

static void training_that_misses_its_target_failed(void)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.1");
	struct rep r CLEANUP(rep_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene(&s, "", tail);
	write_trainer(trainer);
	CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
	CHECK_INT(r.state, REP_FAILED);
	CHECK_HAS(r.reason, "target was not reached in 20 steps");
	CHECK(isnan(value(&r, "time_to_target")));
}

static void training_that_dies_or_says_nothing_failed(void)
{
	static const char *const bad[] = {
		"echo '{\"step\": 1, \"loss\": 0.1, \"eval_loss\": 0.1}'; exit 7\n", "echo hello\n"
	};
	AUTO_FREE char *tail = xasprintf(train_tail, "0.5");

	for (size_t i = 0; i < 2; i++) {
		struct rep r CLEANUP(rep_release) = { 0 };
		struct err err = ERR_INIT;
		struct scene s CLEANUP(scene_release) = { 0 };

		scene(&s, "", tail);
		write_trainer(bad[i]);
		CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
		CHECK_INT(r.state, REP_FAILED);
	}
}

static enum result resume_with(const char *script, char *reason, size_t n)
{
	AUTO_FREE char *tail = xasprintf(train_tail, "0.75");
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene(&s, "recovery:\n  - resume: {kill_at: 60 %, digest: weights, within: 20 s}\n", tail);
	write_trainer(script);
	CHECK_OK(check_run(&s.ctx, &s.c.checks.v[0], &o, &err), err);
	snprintf(reason, n, "%s", o.reason ? o.reason : "");
	return o.result;
}

static void a_resume_goes_on_from_its_checkpoint(void)
{
	char reason[300];

	CHECK_INT(resume_with(trainer, reason, sizeof(reason)), RESULT_PASS);
}

static void a_resume_that_starts_over_fails(void)
{
	AUTO_FREE char *script = xstrdup(trainer);
	char reason[300];

	memcpy(strstr(script, "i=$(cat ckpt)"), "i=0;: ignored", 13);
	CHECK_INT(resume_with(script, reason, sizeof(reason)), RESULT_FAIL);
	CHECK_HAS(reason, "began again at step 1");
}

TEST_MAIN(TEST(a_command_passes_only_on_its_numbers), TEST(a_command_over_its_time_is_an_error),
	  TEST(processors_and_memory_are_held_to_limits), TEST(bandwidth_is_measured_and_held),
	  TEST(a_setting_that_cannot_be_read_never_passes), TEST(gpus_that_are_not_there_fail),
	  TEST(a_module_is_really_imported), TEST(all_reduce_is_exact_or_skipped),
	  TEST(training_is_followed_to_its_target), TEST(training_that_misses_its_target_failed),
	  TEST(training_that_dies_or_says_nothing_failed),
	  TEST(a_resume_goes_on_from_its_checkpoint), TEST(a_resume_that_starts_over_fails))
