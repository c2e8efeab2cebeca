/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "readers/readers.h"
#include "test.h"

#define E(ms, key, value, meta)                                                                    \
	":::MLLOG {\"namespace\": \"\", \"time_ms\": " #ms ", \"event_type\": \"POINT_IN_TIME\", " \
	"\"key\": \"" key "\", \"value\": " value ", \"metadata\": {" meta "}}\n"

static void reads(const char *text, struct mllog *m)
{
	struct err err = ERR_INIT;

	CHECK_OK(mllog_read(sv_of(text), m, &err), err);
}

static void a_run_that_reached_its_target(void)
{
	struct mllog m CLEANUP(mllog_release) = { 0 };

	reads(E(900, "submission_benchmark", "\"smallgpt\"", "\"lineno\": 1")
		      E(901, "seed", "7", "") E(902, "global_batch_size", "12", "") "  3: " E(
			      1000, "run_start", "null",
			      "") " 90%|###   " E(2000, "eval_accuracy", "0.93",
						  "\"samples_count\": 1536, \"epoch_num\": 0.5")
			      E(2001, "tracked_stats", "{\"throughput\": 21.5}",
				"\"step\": 40") "NCCL INFO something\n" E(3000, "eval_accuracy",
									  "0.92",
									  "\"samples_count\": "
									  "1920, \"step_num\": 80")
				      E(3500, "run_stop", "null", "\"status\": \"success\""),
	      &m);
	CHECK_INT(m.n_events, 8);
	CHECK_INT(m.n_bad, 0);
	CHECK_STR(m.benchmark, "smallgpt");
	CHECK_INT(m.seed, 7);
	CHECK_INT(m.global_batch_size, 12);
	CHECK_INT(m.time_to_train_ms, 2500);
	CHECK(!m.why_not);
	CHECK_INT(m.evals.n, 2);
	CHECK_NEAR(m.evals.v[0].value, 0.93, 1e-12);
	CHECK_INT(m.evals.v[0].samples, 1536);
	CHECK_INT(m.evals.v[0].step, -1);
	CHECK_NEAR(m.evals.v[0].epoch, 0.5, 0);
	CHECK_INT(m.evals.v[1].step, 80);
	CHECK(isnan(m.evals.v[1].epoch));
	CHECK_INT(m.throughput.n, 1);
	CHECK_NEAR(m.throughput.v[0].value, 21.5, 0);
	CHECK_INT(m.throughput.v[0].step, 40);
}

static void has_no_time(const char *text, const char *why)
{
	struct mllog m CLEANUP(mllog_release) = { 0 };

	reads(text, &m);
	CHECK_INT(m.time_to_train_ms, -1);
	CHECK_STR(m.why_not, why);
}

static void no_time_without_a_good_end(void)
{
	has_no_time(E(1, "run_start", "null", ""), "no run_stop: the run did not end");
	has_no_time(E(1, "run_start", "null", "")
			    E(2, "run_stop", "null", "\"status\": \"aborted\""),
		    "the run's status is not success");
	has_no_time(E(1, "run_start", "null", "") E(2, "run_stop", "null", ""),
		    "run_stop has no status");
	has_no_time(E(2, "run_stop", "null", "\"status\": \"success\""), "no run_start");
	has_no_time(E(5, "run_start", "null", "")
			    E(2, "run_stop", "null", "\"status\": \"success\""),
		    "run_stop is before run_start");
	has_no_time(E(1, "run_start", "null", "")
			    E(2, "run_stop", "null", "\"status\": \"success\"")
				    E(3, "run_start", "null", ""),
		    "several runs in one log");
}

static void broken_lines_are_counted(void)
{
	struct mllog m CLEANUP(mllog_release) = { 0 };

	reads(E(1, "run_start", "null",
		"") ":::MLLOG {\"key\": \"cut\n:::MLLOG\n:::MLLOG {\"key\":1}\n"
		    ":::MLLOG {\"key\":\"eval_accuracy\",\"time_ms\":3.5,\"value\":\"N/A\"} "
		    "trailing\r\n",
	      &m);
	CHECK_INT(m.n_events, 2);
	CHECK_INT(m.n_bad, 3);
	CHECK_INT(m.evals.n, 0);
}

static void other_text_is_refused(void)
{
	struct mllog m CLEANUP(mllog_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK(!mllog_sniff(SV("{\"step\": 1}\n")));
	CHECK_INT(mllog_read(SV("{\"step\": 1}\n"), &m, &err), -ERR_PARSE);
	CHECK_INT(mllog_read(SV(""), &m, &err), -ERR_PARSE);
}

TEST_MAIN(TEST(a_run_that_reached_its_target), TEST(no_time_without_a_good_end),
	  TEST(broken_lines_are_counted), TEST(other_text_is_refused))
