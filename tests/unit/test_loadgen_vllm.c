/* SPDX-License-Identifier: Apache-2.0 */
/* vLLM's and SGLang's results as their versions write them. */
#include "loadgen_scene.h"

#define RUN(rate, done)                                                                            \
	"{\"date\":\"20260101-000000\",\"backend\":\"vllm\",\"model_id\":\"m\",\"num_prompts\":4," \
	"\"request_rate\":" rate ",\"burstiness\":1.0,\"max_concurrency\":null,\"duration\":2.0,"  \
	"\"completed\":" done ",\"failed\":0,\"request_throughput\":2.0,"                          \
	"\"request_goodput\":null,\"output_throughput\":64.0,\"total_token_throughput\":128.0,"    \
	"\"max_output_tokens_per_s\":99.0,\"max_concurrent_requests\":8,\"mean_ttft_ms\":20.0,"    \
	"\"p99_ttft_ms\":30.0,\"mean_tpot_ms\":5.0,\"mean_itl_ms\":10.0}"

static void appended_results_are_several_runs(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads(RUN("2.0", "4") "\n" RUN("\"inf\"", "4") "\n", &g);
	CHECK_INT(g.runs.n, 2);
	CHECK_STR(g.tool, "vLLM bench serve");
	CHECK_STR(g.runs.v[0].label, "rate 2/s");
	CHECK_STR(g.runs.v[1].label, "rate inf");
	CHECK_NEAR(get(&g, 1, "ttft_from_start.p99"), 30e6, 1);
	CHECK_NEAR(get(&g, 1, "itl.mean"), 10e6, 1);
	CHECK_INT(g.notes.n, 1);
	refuses(RUN("2.0", "4") "\n{\"completed\":3", "line 2");
	refuses(RUN("2.0",
		    "4") "\n{\"elapsed_time\":2,\"num_requests\":8,\"requests_per_second\":4}",
		"behind one of");
}

static void e2e_of_a_detailed_result_is_read_too(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"completed\":1,\"duration\":1.0,\"request_throughput\":1.0,\"ttfts\":[0.1],"
	      "\"itls\":[[0.02]],\"output_lens\":[2],\"errors\":[\"\"],\"mean_e2el_ms\":120.0}",
	      &g);
	CHECK_NEAR(get(&g, 0, "e2e_from_start.mean"), 120e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 20e6, 1);
}

static void offline_throughput_has_no_latency(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"elapsed_time\":2.0,\"num_requests\":8,\"total_num_tokens\":800,"
	      "\"requests_per_second\":4.0,\"tokens_per_second\":400.0}",
	      &g);
	CHECK_STR(g.tool, "vLLM bench throughput");
	CHECK_NEAR(get(&g, 0, "throughput"), 4, 1e-9);
	CHECK_HAS(note_of(&g, 0, "tokens_per_second"), "prompts");
	refuses("[{\"benchmark\":{\"name\":\"x\"},\"model\":{},\"metric\":{\"name\":\"y\"}}]",
		"PyTorch");
}

#define SGLANG                                                                                     \
	"\"backend\":\"sglang\",\"dataset_name\":\"random\",\"request_rate\":4,"                   \
	"\"max_concurrency\":16,\"random_input_len\":1024,\"duration\":2.0,\"completed\":2,"       \
	"\"total_input_tokens\":9,\"total_output_tokens\":6,"                                      \
	"\"total_output_tokens_retokenized\":6,\"request_throughput\":1.0,"                        \
	"\"output_throughput\":3.0,\"mean_e2e_latency_ms\":150.0,\"median_e2e_latency_ms\":140.0," \
	"\"mean_ttft_ms\":110.0,\"p99_ttft_ms\":120.0,\"mean_tpot_ms\":20.0,\"mean_itl_ms\":7.0,"  \
	"\"accept_length\":2.5"

static void sglang_has_no_gaps_between_events(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct loadgen d CLEANUP(loadgen_release) = { 0 };

	reads("{" SGLANG "}\n{" SGLANG "}\n", &g);
	CHECK_STR(g.tool, "SGLang bench_serving");
	CHECK_INT(g.runs.n, 2);
	CHECK_STR(g.runs.v[0].label, "rate 4/s, at most 16 at a time");
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p99"), 120e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 20e6, 1);
	CHECK_NEAR(get(&g, 0, "e2e_from_start.p50"), 140e6, 1);
	CHECK(isnan(get(&g, 0, "itl.mean")));
	CHECK_NEAR(get(&g, 0, "mean_itl_ms"), 7e6, 1);
	CHECK_HAS(note_of(&g, 0, "mean_itl_ms"), "divided by the tokens");
	CHECK_INT(g.runs.v[0].failed, -1);
	/* --output-details: samples of each request, and which of them failed. */
	reads("{" SGLANG ",\"ttfts\":[0.1,0.12,0.0],\"itls\":[[0.02,0.02],[0.03,0.01],[]],"
	      "\"output_lens\":[3,3,0],\"errors\":[\"\",\"\",\"boom\"]}",
	      &d);
	CHECK_NEAR(get(&d, 0, "ttft_from_start.p50"), 110e6, 1);
	CHECK_NEAR(get(&d, 0, "tpot.mean"), 20e6, 1);
	CHECK(isnan(get(&d, 0, "itl.mean")));
	CHECK_INT(d.runs.v[0].failed, 1);
}

static void sglangs_table_is_told_by_its_latency(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("============ Serving Benchmark Result ============\n"
	      "Backend:                                 sglang\n"
	      "Successful requests:                     996\n"
	      "Request throughput (req/s):              3.77\n"
	      "Mean E2E Latency (ms):                   2098.07\n"
	      "Mean TTFT (ms):                          74.09\n"
	      "Mean TPOT (ms):                          1.76\n"
	      "Mean ITL (ms):                           1.50\n"
	      "==================================================\n",
	      &g);
	CHECK_STR(g.tool, "SGLang bench_serving");
	CHECK_NEAR(get(&g, 0, "e2e_from_start.mean"), 2098.07e6, 1);
	CHECK(isnan(get(&g, 0, "itl.mean")));
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 1.76e6, 1);
}

TEST_MAIN(TEST(appended_results_are_several_runs), TEST(e2e_of_a_detailed_result_is_read_too),
	  TEST(offline_throughput_has_no_latency), TEST(sglang_has_no_gaps_between_events),
	  TEST(sglangs_table_is_told_by_its_latency))
