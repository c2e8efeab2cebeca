/* SPDX-License-Identifier: Apache-2.0 */
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

static void output_that_was_cut_is_doubtful(void)
{
	CHECK_INT(run_one("hardware",
			  "command: {argv: [sh, -c, \"echo bw 12; head -c 90000 /dev/zero\"], "
			  "output_limit: 4 KiB, "
			  "extract: [{metric: bw, pattern: 'bw (?<value>[0-9]+)', better: higher, "
			  "limit: '>= 10'}]}",
			  NULL, 0),
		  RESULT_DOUBTFUL);
}

static void numbers_come_from_stderr_and_files_too(void)
{
	struct outcome o CLEANUP(outcome_release) =
		scene_check("framework",
			    "command: {name: two, argv: [sh, -c, \"echo 7 >&2; echo n,v > t.csv; "
			    "echo a,3 >> t.csv\"], "
			    "extract: [{metric: e, from: stderr, pattern: '(?<value>[0-9]+)', "
			    "better: higher, limit: '>= 7'}, "
			    "{metric: f, from: 'file:t.csv', csv: {column: v}, unit: ms, better: "
			    "lower, limit: '<= 3 ms'}]}",
			    scene_command);

	CHECK_INT(o.result, RESULT_PASS);
	CHECK_NEAR(scene_number(&o.measured, "command.two.e"), 7, 0);
	CHECK_NEAR(scene_number(&o.measured, "command.two.f"), 3e6, 0);
	CHECK_STR(o.check, "framework/two");
	CHECK_INT(o.evidence.n, 1); /* what it printed; nothing came on stdout */
}

static void the_workload_as_a_command(void)
{
	static const char tail[] =
		"workload_check:\n"
		"  command: {argv: [sh, \"{dir}/job.sh\"], extract: [{metric: speed, pattern: "
		"'speed (?<value>[0-9]+)', unit: tokens/s, better: higher}]}\n"
		"  objectives: [speed >= 1 tokens/s]\n";
	static const struct {
		const char *job;
		enum rep_state state;
		const char *reason;
	} t[] = {
		{ "echo speed 5", REP_OK, NULL },
		{ "echo speed", REP_FAILED, "speed: " },
		{ "echo speed 5; exit 9", REP_FAILED, "exit 9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct rep r CLEANUP(rep_release) = { 0 };
		struct err err = ERR_INIT;
		struct scene s CLEANUP(scene_release) = { 0 };

		scene_init(&s, "", tail);
		scene_file("job.sh", t[i].job);
		CHECK_OK(workload_rep(&s.ctx, &r, &err), err);
		CHECK_INT(r.state, t[i].state);
		if (t[i].reason)
			CHECK_HAS(r.reason, t[i].reason);
		CHECK(i == 1 || scene_number(&r.measured, "speed") == 5);
		CHECK(scene_number(&r.measured, "wall_time") > 0);
		CHECK(scene_number(&r.measured, "peak_rss") > 0);
		scene_release(&s);
	}
}

TEST_MAIN(TEST(a_command_passes_only_on_its_numbers), TEST(a_command_over_its_time_is_an_error),
	  TEST(output_that_was_cut_is_doubtful), TEST(numbers_come_from_stderr_and_files_too),
	  TEST(the_workload_as_a_command))
