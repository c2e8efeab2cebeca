/* SPDX-License-Identifier: Apache-2.0 */
/* Any program as a check and as a workload: it passes only on its numbers and its exit code. */
#include "checks_scene.h"

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
		char reason[REASON];

		printf("# %s\n", settings);
		CHECK_INT(run_one("hardware", settings, reason), t[i].want);
		CHECK_HAS(reason, t[i].reason);
	}
}

static void a_command_over_its_time_is_an_error(void)
{
	char reason[REASON];

	CHECK_INT(run_one("hardware",
			  "command: {argv: [sleep, \"20\"], limit: 200 ms, extract: [{metric: n, "
			  "exit: true, better: lower}]}",
			  reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "time limit");
}

static void a_program_that_starts_nothing_is_no_pass(void)
{
	char reason[REASON];

	CHECK_INT(run_one("recovery",
			  "command: {argv: [sh, -c, \"yes | head -c 300000\"], output_limit: 1 "
			  "KiB, extract: "
			  "[{metric: n, exit: true, better: lower}]}",
			  reason),
		  RESULT_DOUBTFUL);
	CHECK_HAS(reason, "cut at the limit");
	/* In each layer where it can stand its measurements carry its name. */
	SCENE(s);
	scene_check(&s, "framework",
		    "command: {name: probe, argv: [echo, \"7\"], extract: [{metric: n, pattern: "
		    "'(?<value>.+)', better: lower}]}",
		    scene_command);
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK_NEAR(measured(&s.o.measured, "command.probe.n"), 7, 0);
}

static void numbers_come_from_stderr_and_files_too(void)
{
	SCENE(s);

	scene_check(&s, "framework",
		    "command: {name: two, argv: [sh, -c, \"echo 7 >&2; echo n,v > t.csv; echo a,3 "
		    ">> t.csv\"], "
		    "extract: [{metric: e, from: stderr, pattern: '(?<value>[0-9]+)', better: "
		    "higher, limit: "
		    "'>= 7'}, {metric: f, from: 'file:t.csv', csv: {column: v}, unit: ms, better: "
		    "lower, limit: "
		    "'<= 3 ms'}]}",
		    scene_command);
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK_NEAR(measured(&s.o.measured, "command.two.e"), 7, 0);
	CHECK_NEAR(measured(&s.o.measured, "command.two.f"), 3e6, 0);
	CHECK_STR(s.o.check, "framework/two");
	CHECK_INT(s.o.evidence.n, 1); /* what it printed; nothing came on stdout */
}

static const char workload[] =
	"workload_check:\n"
	"  command:\n"
	"    argv: [sh, \"{dir}/job.sh\", \"{work}\"]\n"
	"    env: {WHERE: \"{dir}\"}\n"
	"    limit: 3 s\n"
	"    extract: [{metric: speed, pattern: 'speed (?<value>\\S+)', better: higher}]\n"
	"  objectives: [speed >= 1]\n";

static enum rep_state job(struct scene *s, const char *script)
{
	scene(s, workload);
	test_file("job.sh", script, 0755);
	return rep_scene(s);
}

static void a_repetition_keeps_what_it_rests_on(void)
{
	SCENE(s);

	CHECK_INT(job(&s, "echo speed 3.5; echo $WHERE >&2; echo API_TOKEN=abcdefgh12345678 >&2; "
			  "echo $1"),
		  REP_OK);
	AUTO_FREE char *out = evidence_text(&s.r.evidence, "stdout.txt");
	AUTO_FREE char *log = evidence_text(&s.r.evidence, "stderr.txt");
	CHECK_HAS(out, "speed 3.5");
	CHECK_HAS(out, s.work);
	CHECK_HAS(log, test_dir());
	CHECK(!strstr(log, "abcdefgh12345678"));
	CHECK_NEAR(measured(&s.r.measured, "speed"), 3.5, 0);
	CHECK(measured(&s.r.measured, "wall_time") > 0 && measured(&s.r.measured, "peak_rss") > 0);
	CHECK(!isnan(measured(&s.r.measured, "cpu_time")));
}

static void a_repetition_without_its_number_failed(void)
{
	static const char *const bad[] = { "echo nothing",
					   "echo speed fast",
					   "echo speed 3; exit 1",
					   "sleep 20",
					   "echo speed 3; kill -SEGV $$",
					   "echo speed nan" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		SCENE(s);

		CHECK_INT(job(&s, bad[i]), REP_FAILED);
		CHECK(outcome_of(&s.r, "workload/command")->result != RESULT_PASS);
	}
}

static void a_program_that_is_not_there_was_not_measured(void)
{
	SCENE(s);

	scene(&s, "workload_check:\n"
		  "  command: {argv: [no-such-program-x], extract: [{metric: n, exit: true, "
		  "better: lower}]}\n"
		  "  objectives: [n <= 1]\n");
	CHECK_INT(rep_scene(&s), REP_FAILED);
	CHECK_INT(outcome_of(&s.r, "workload/command")->result, RESULT_SKIP);
	CHECK(isnan(measured(&s.r.measured, "wall_time")));
}

static void nobody_is_left_behind(void)
{
	SCENE(s);

	/* The test harness fails a test that leaves a process running. */
	CHECK_INT(job(&s, "sleep 60 & sleep 61 & echo speed 2"), REP_OK);
}

TEST_MAIN(TEST(numbers_come_from_stderr_and_files_too), TEST(a_command_passes_only_on_its_numbers),
	  TEST(a_command_over_its_time_is_an_error), TEST(a_program_that_starts_nothing_is_no_pass),
	  TEST(a_repetition_keeps_what_it_rests_on), TEST(a_repetition_without_its_number_failed),
	  TEST(a_program_that_is_not_there_was_not_measured), TEST(nobody_is_left_behind))
