/* SPDX-License-Identifier: Apache-2.0 */
/* GuideLLM, inference-perf, AIPerf and LLMPerf as their versions write them. */
#include "loadgen_scene.h"

/* ---- GuideLLM -------------------------------------------------------------------------------- */

#define DIST(mean)                                                                                 \
	"{\"successful\":{\"mean\":" mean ",\"median\":" mean ",\"min\":1,\"max\":9,\"count\":4,"  \
	"\"total_sum\":40,\"percentiles\":{\"p90\":9,\"p95\":9,\"p99\":9}}}"
/* From 0.4 on. */
#define TIMES     "\"request_latency\":" DIST("0.5") ",\"time_to_first_token_ms\":" DIST("8")
#define PER_TOKEN "\"inter_token_latency_ms\":" DIST("3") ",\"time_per_output_token_ms\":" DIST("4")
#define BENCHMARK                                                                                  \
	"{\"type_\":\"generative_benchmark\",\"config\":{\"strategy\":{\"type_\":\"concurrent\","  \
	"\"streams\":8},\"backend\":{\"model\":\"m\"}},\"scheduler_metrics\":{},\"duration\":2.0," \
	"\"metrics\":{\"request_totals\":{\"successful\":4,\"errored\":1,\"incomplete\":2,"        \
	"\"total\":7}," TIMES "," PER_TOKEN ",\"output_token_count\":" DIST("6") "}}"

static void guidellm_by_its_form_and_not_by_its_number(void)
{
	static const struct {
		const char *text, *form;
	} all[] = {
		{ "{\"args\":{\"model\":\"a\"},\"benchmarks\":[" BENCHMARK "]}",
		  "report without a version, 0.4" },
		{ "{\"metadata\":{\"version\":1,\"guidellm_version\":\"0.6.0\"},\"args\":{},"
		  "\"benchmarks\":[" BENCHMARK "]}",
		  "report, version 1" },
		{ "{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.7.3\"},\"benchmarks\":"
		  "[" BENCHMARK "]}",
		  "report, version 2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct loadgen g CLEANUP(loadgen_release) = { 0 };

		reads(all[i].text, &g);
		CHECK_STR(g.form, all[i].form);
		CHECK_STR(g.model, "m");
		CHECK_STR(g.runs.v[0].label, "concurrent 8");
		CHECK_INT(g.runs.v[0].ok, 4);
		CHECK_INT(g.runs.v[0].failed, 1);
		CHECK_INT(g.runs.v[0].unended, 2);
		CHECK_NEAR(get(&g, 0, "ttft_from_start.mean"), 8e6, 1);
		CHECK_NEAR(get(&g, 0, "throughput"), 2, 1e-9);
		/* Answers of 1 to 9 tokens, each counted once for each of its tokens. */
		CHECK(isnan(get(&g, 0, "tpot.mean")));
		CHECK_HAS(note_of(&g, 0, "time_per_output_token_ms.successful.mean"),
			  "takes in the time to the first token");
	}
}

/* ---- inference-perf -------------------------------------------------------------------------- */

#define STAGE(tpot, itl, more)                                                                     \
	"{\"load_summary\":{\"count\":10,\"schedule_delay\":null,\"send_duration\":9.0,"           \
	"\"requested_rate\":1.0,\"achieved_rate\":1.0},\"successes\":{\"count\":9,\"latency\":{"   \
	"\"request_latency\":{\"mean\":0.5},\"time_to_first_token\":{\"mean\":0.1},"               \
	"\"inter_token_latency\":{\"mean\":" itl "},\"time_per_output_token\":{\"mean\":" tpot     \
	"}},\"throughput\":{\"requests_per_sec\":1.0},\"output_len\":{\"mean\":41.0}" more         \
	"},\"failures\":{\"count\":1}}"

static void inference_perf_that_counted_lines_is_no_time_of_a_token(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct loadgen good CLEANUP(loadgen_release) = { 0 };

	/* (0.5 - 0.1) / 40 is 10 ms; blank lines between the events halve it. */
	reads(STAGE("0.005", "0.005", ""), &g);
	CHECK(isnan(get(&g, 0, "tpot.mean")) && isnan(get(&g, 0, "itl.mean")));
	CHECK_HAS(note_of(&g, 0, "time_per_output_token.mean"), "counts other things");
	CHECK_HAS(note_of(&g, 0, "inter_token_latency.mean"), "blank lines");
	CHECK_NEAR(get(&g, 0, "ttft_from_start.mean"), 0.1e9, 1);
	reads(STAGE("0.01", "0.01", ""), &good);
	CHECK_NEAR(get(&good, 0, "tpot.mean"), 10e6, 1);
	CHECK_NEAR(get(&good, 0, "itl.mean"), 10e6, 1);
}

static void inference_perf_of_later_versions(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads(STAGE("0.01", "0.01",
		    ",\"token_count_mismatches\":3,\"goodput_metrics\":{\"goodput_percentage\":"
		    "100.0,\"good_requests\":9,\"total_requests\":9}"),
	      &g);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 10e6, 1);
	CHECK(isnan(get(&g, 0, "itl.mean")));
	CHECK_HAS(note_of(&g, 0, "inter_token_latency.mean"), "tokenized again");
	/* 9 of the 9 that succeeded; 9 of 10 in all. */
	CHECK_NEAR(get(&g, 0, "goodput"), 0.9, 1e-9);
	CHECK_NEAR(get(&g, 0, "goodput_percentage"), 1, 1e-9);
	CHECK_HAS(note_of(&g, 0, "goodput_percentage"), "of those that succeeded");
}

static void inference_perf_by_request(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct loadgen old CLEANUP(loadgen_release) = { 0 };

	reads("[{\"start_time\":10.0,\"end_time\":10.5,\"request\":\"{}\",\"response\":\"\","
	      "\"info\":{\"response_metrics\":{\"chunk_times\":[10.1,10.3,10.5],"
	      "\"server_usage\":{\"completion_tokens\":9}}},\"error\":null},"
	      "{\"start_time\":11.0,\"end_time\":11.1,\"info\":null,\"error\":{\"error_type\":"
	      "\"x\",\"error_msg\":\"y\"}}]",
	      &g);
	CHECK_STR(g.tool, "inference-perf");
	CHECK_INT(g.runs.v[0].ok, 1);
	CHECK_INT(g.runs.v[0].failed, 1);
	CHECK_NEAR(get(&g, 0, "e2e_from_start.p50"), 0.5e9, 1e3);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p50"), 0.1e9, 1e3);
	CHECK_NEAR(get(&g, 0, "itl.mean"), 0.2e9, 1e3);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 0.05e9, 1e3);
	reads("[{\"start_time\":10.0,\"end_time\":10.5,\"info\":{\"input_tokens\":3,"
	      "\"output_tokens\":2,\"output_token_times\":[10.1,10.1,10.5,10.5]},\"error\":null}]",
	      &old);
	CHECK_NEAR(get(&old, 0, "e2e_from_start.p50"), 0.5e9, 1e3);
	CHECK(isnan(get(&old, 0, "ttft_from_start.p50")) && isnan(get(&old, 0, "tpot.p50")));
	CHECK_HAS(old.notes.v[0], "blank lines");
	refuses("[{\"start_time\":10.0,\"info\":{}}]", "no 'end_time'");
}

/* ---- AIPerf and GenAI-Perf ------------------------------------------------------------------- */

static void aiperf_has_its_counts_in_a_second_table(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("Metric,avg,min,max,p1,p50,p90,p95,p99,std\n"
	      "Inter Token Latency (ms),5.20,1,9,1,5,6,7,8,1\n"
	      "Time to First Token (ms),18.26,1,99,1,16,27,30,68,2\n"
	      "\n"
	      "Metric,Value\n"
	      "Error Request Count,2\n"
	      "Output Token Throughput (tokens/sec),321.50\n"
	      "Request Count,6\n"
	      "Request Throughput (requests/sec),1.25\n",
	      &g);
	CHECK_STR(g.form, "CSV");
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p99"), 68e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 5.2e6, 1);
	CHECK_NEAR(get(&g, 0, "throughput"), 1.25, 1e-9);
	CHECK_NEAR(get(&g, 0, "output_tokens_per_s"), 321.5, 1e-9);
	CHECK_NEAR(get(&g, 0, "errors"), 0.25, 1e-9);
}

static void genai_perf_writes_its_names_otherwise(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"
	      "Time To First Token (ms),18.26,1,99,68,30,27,20,16,5\n"
	      "\n"
	      "Metric,Value\n"
	      "Output Token Throughput (per sec),321.50\n"
	      "Request Throughput (per sec),1.25\n"
	      "Request Count (count),6.00\n",
	      &g);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p50"), 16e6, 1);
	CHECK_NEAR(get(&g, 0, "throughput"), 1.25, 1e-9);
	CHECK_INT(g.runs.v[0].ok, 6);
}

#define RECORD(phase, cancelled, more)                                                             \
	"{\"metadata\":{\"request_start_ns\":1,\"benchmark_phase\":\"" phase                       \
	"\",\"was_cancelled\":" cancelled "},\"metrics\":{\"time_to_first_token\":{\"value\":9,"   \
	"\"unit\":\"ms\"}}" more "}\n"

static void aiperf_warm_up_is_not_measured(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads(RECORD("warmup", "false", "") RECORD("profiling", "false", ",\"error\":null")
		      RECORD("profiling", "true", "")
			      RECORD("profiling", "false", ",\"error\":{\"code\":500}"),
	      &g);
	CHECK_INT(g.runs.v[0].ok, 1);
	CHECK_INT(g.runs.v[0].failed, 1);
	CHECK_INT(g.runs.v[0].unended, 1);
}

static void aiperf_goodput_is_made_a_share(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"request_latency\":{\"unit\":\"ms\",\"avg\":5,\"p99\":9},\"request_count\":{"
	      "\"unit\":\"requests\",\"avg\":8},\"error_request_count\":{\"unit\":\"requests\","
	      "\"avg\":2},\"goodput\":{\"unit\":\"requests/sec\",\"avg\":0.5},"
	      "\"good_request_count\":{\"unit\":\"requests\",\"avg\":5}}",
	      &g);
	CHECK_NEAR(get(&g, 0, "goodput"), 0.5, 1e-9);
	CHECK_HAS(note_of(&g, 0, "goodput avg"), "a rate");
}

TEST_MAIN(TEST(guidellm_by_its_form_and_not_by_its_number),
	  TEST(inference_perf_that_counted_lines_is_no_time_of_a_token),
	  TEST(inference_perf_of_later_versions), TEST(inference_perf_by_request),
	  TEST(aiperf_has_its_counts_in_a_second_table),
	  TEST(genai_perf_writes_its_names_otherwise), TEST(aiperf_warm_up_is_not_measured),
	  TEST(aiperf_goodput_is_made_a_share))
