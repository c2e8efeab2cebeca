/* SPDX-License-Identifier: Apache-2.0 */
#include "loadgen_scene.h"

#include "base/file.h"

#include <unistd.h>

#define VLLM                                                                                       \
	"\"backend\":\"openai\",\"model_id\":\"m\",\"num_prompts\":3,\"request_rate\":10.0,"       \
	"\"max_concurrency\":2,\"duration\":2.0,\"completed\":2,\"request_throughput\":1.0,"       \
	"\"output_throughput\":3.5,\"total_token_throughput\":9.0,\"request_goodput:\":null"

static void vllm_samples_are_worked_out_again(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	/* A failed request has zeros that are no samples. */
	reads("{" VLLM ",\"ttfts\":[0.1,0.3,0.0],\"itls\":[[0.01,0.03],[],[]],"
	      "\"output_lens\":[3,1,0],\"errors\":[\"\",\"\",\"boom\"],\"mean_ttft_ms\":200.0,"
	      "\"mean_tpot_ms\":20.0}",
	      &g);
	CHECK_STR(g.tool, "vLLM bench serve");
	CHECK_STR(g.model, "m");
	CHECK_STR(g.runs.v[0].label, "rate 10/s, at most 2 at a time");
	CHECK_INT(g.runs.v[0].ok, 2);
	CHECK_INT(g.runs.v[0].failed, 1);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p50"), 200e6, 1);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.max"), 300e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.p50"), 20e6, 1);
	CHECK_NEAR(get(&g, 0, "itl.max"), 30e6, 1);
	CHECK_NEAR(get(&g, 0, "throughput"), 1, 1e-9);
	CHECK_NEAR(get(&g, 0, "errors"), 1.0 / 3, 1e-9);
	CHECK(isnan(get(&g, 0, "ttft.p50")));
	CHECK_HAS(note_of(&g, 0, "total_token_throughput"), "prompts");
}

static void vllm_summaries_that_their_samples_contradict_are_refused(void)
{
	refuses("{" VLLM ",\"ttfts\":[0.1,0.3,0.0],\"itls\":[[0.01,0.03],[],[]],"
		"\"output_lens\":[3,1,0],\"errors\":[\"\",\"\",\"boom\"],\"mean_ttft_ms\":150.0}",
		"'mean_ttft_ms' is 150.0000, but its samples give 200.0000");
	refuses("{" VLLM ",\"ttfts\":[0.1],\"itls\":[[]],\"output_lens\":[1],\"errors\":[\"\"]}",
		"'completed' is 2, but 1 requests have an answer");
}

static void vllm_summaries_alone_are_read(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{" VLLM ",\"failed\":0,\"mean_ttft_ms\":12.5,\"median_itl_ms\":3,\"p99_tpot_ms\":4,"
	      "\"p99_e2el_ms\":900,\"burstiness\":Infinity}",
	      &g);
	CHECK_STR(g.form, "JSON, summary only");
	CHECK_NEAR(get(&g, 0, "ttft_from_start.mean"), 12.5e6, 1);
	CHECK_NEAR(get(&g, 0, "itl.p50"), 3e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.p99"), 4e6, 1);
	CHECK_NEAR(get(&g, 0, "e2e_from_start.p99"), 900e6, 1);
	CHECK_INT(g.runs.v[0].failed, 0);
}

static void vllm_latency_is_a_batch(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"avg_latency\":0.7,\"latencies\":[0.6,0.8],\"percentiles\":{\"50\":0.7}}", &g);
	CHECK_NEAR(get(&g, 0, "batch.mean"), 0.7e9, 1);
	CHECK(isnan(get(&g, 0, "e2e.mean")));
	refuses("{\"avg_latency\":0.9,\"latencies\":[0.6,0.8],\"percentiles\":{}}", "not the mean");
}

static void vllm_console_rows_behind_progress_bars(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	const char *text = " 50%|###  | 1/2\r100%|#####| 2/2\n"
			   "============ Serving Benchmark Result ============\n"
			   "Successful requests:                     318       \n"
			   "Failed requests:                         2         \n"
			   "Request throughput (req/s):              3.66      \n"
			   "Peak concurrent requests:                134.00    \n"
			   "---------------Time to First Token----------------\n"
			   "Mean TTFT (ms):                          16764.52  \n"
			   "P99 ITL (ms):                            170.62    \n"
			   "==================================================\n"
			   "P99 ITL (ms): 1.00\n";

	reads(text, &g);
	CHECK_INT(g.runs.v[0].ok, 318);
	CHECK_INT(g.runs.v[0].failed, 2);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.mean"), 16764.52e6, 1);
	CHECK_NEAR(get(&g, 0, "itl.p99"), 170.62e6, 1);
	CHECK(isnan(get(&g, 0, "peak_concurrency")));
	refuses("= Serving Benchmark Result =\nSuccessful requests: 3\n", "cut short");
}

#define GROUP(mean, n)                                                                             \
	"{\"successful\":{\"mean\":" mean ",\"median\":" mean ",\"max\":" mean ",\"min\":" mean    \
	",\"count\":" n ",\"total_sum\":64,"                                                       \
	"\"percentiles\":{\"p90\":" mean ",\"p95\":" mean ",\"p99\":" mean "}}}"
#define TOTALS "\"request_totals\":{\"successful\":8,\"errored\":2,\"incomplete\":1,\"total\":11}"
#define GUIDE(conf, lens)                                                                          \
	"{\"type_\":\"generative_benchmark\",\"" conf "\":{\"strategy\":{\"type_\":\"constant\","  \
	"\"rate\":2.0}},\"duration\":4.0," TOTALS ",\"metrics\":{" TOTALS                          \
	",\"time_to_first_token_ms\":" GROUP("11.0", "8") ",\"request_latency\":" GROUP(           \
		"0.5",                                                                             \
		"8") ",\"inter_token_latency_ms\":" GROUP("1.5",                                   \
							  "8") ",\"time_per_output_token_"         \
							       "ms\":" GROUP("2.5",                \
									     "8") ",\"output_"     \
										  "token_"         \
										  "count\":" lens  \
										  ",\"requests_"   \
										  "per_"           \
										  "second\""       \
										  ":" GROUP(       \
											  "2.1",   \
											  "8") "}" \
											       "}"
#define UNEVEN "{\"successful\":{\"min\":1,\"max\":9,\"count\":8,\"total_sum\":64}}"

static void guidellm_time_per_output_token_is_no_tpot(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"benchmarks\":[" GUIDE("args", UNEVEN) "]}", &g);
	CHECK_STR(g.form, "report without a version, up to 0.3");
	CHECK_STR(g.runs.v[0].label, "constant 2/s");
	CHECK_INT(g.runs.v[0].failed, 2);
	CHECK_INT(g.runs.v[0].unended, 1);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p99"), 11e6, 1);
	CHECK_NEAR(get(&g, 0, "e2e_from_start.p50"), 0.5e9, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 1.5e6, 1);
	CHECK_NEAR(get(&g, 0, "throughput"), 2, 1e-9);
	CHECK_NEAR(get(&g, 0, "output_tokens_per_s"), 16, 1e-9);
	CHECK_NEAR(get(&g, 0, "errors"), 0.2, 1e-9);
	CHECK(isnan(get(&g, 0, "itl.mean")));
	CHECK_NEAR(get(&g, 0, "time_per_output_token_ms.successful.mean"), 2.5e6, 1);
	CHECK_HAS(note_of(&g, 0, "time_per_output_token_ms.successful.mean"), "all tokens");
}

static void guidellm_2_weighs_requests_by_their_tokens(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct loadgen even CLEANUP(loadgen_release) = { 0 };

	reads("{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.8.0\"},\"benchmarks\":[" GUIDE(
		      "config", UNEVEN) "," GUIDE("config", UNEVEN) "]}",
	      &g);
	CHECK_STR(g.version, "0.8.0");
	CHECK_INT(g.runs.n, 2);
	CHECK(isnan(get(&g, 1, "tpot.mean")));
	CHECK_HAS(note_of(&g, 1, "inter_token_latency_ms.successful.mean"), "once for each");
	CHECK_HAS(note_of(&g, 1, "time_per_output_token_ms.successful.mean"), "first token");
	reads("{\"metadata\":{\"version\":2},\"benchmarks\":[" GUIDE("config",
								     GROUP("8", "8")) "]}",
	      &even);
	CHECK_NEAR(get(&even, 0, "tpot.mean"), 1.5e6, 1);
	refuses("{\"metadata\":{\"version\":3},\"benchmarks\":[{}]}", "version 3");
	refuses("{\"benchmarks\":[]}", "without a benchmark");
	refuses("Benchmarks Stats:\n TTFT (ms) TPOT (ms)\n", "rounded");
}

static void guidellm_as_yaml_is_the_same(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("benchmarks:\n- type_: generative_benchmark\n  args:\n    strategy:\n"
	      "      type_: synchronous\n  duration: 2\n  request_totals:\n    successful: 3\n"
	      "    errored: 0\n  metrics:\n    time_to_first_token_ms:\n      successful:\n"
	      "        mean: 16.5\n        count: 3\n",
	      &g);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.mean"), 16.5e6, 1);
	CHECK_NEAR(get(&g, 0, "throughput"), 1.5, 1e-9);
}

static void inference_perf_names_a_rate_it_did_not_reach(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"load_summary\":{\"count\":10,\"schedule_delay\":{\"mean\":12.3,\"p99\":26.5},"
	      "\"requested_rate\":152.98,\"achieved_rate\":105.58},\"successes\":{\"count\":9,"
	      "\"latency\":{\"request_latency\":{\"mean\":4.1},\"time_to_first_token\":"
	      "{\"mean\":2.9,\"median\":3.0,\"p99\":3.3},\"inter_token_latency\":{\"p90\":0.02},"
	      "\"time_per_output_token\":{\"mean\":0.009},"
	      "\"normalized_time_per_output_token\":{\"mean\":0.06}},"
	      "\"throughput\":{\"requests_per_sec\":101.4,\"output_tokens_per_sec\":6323.7},"
	      "\"output_len\":{\"mean\":134.3}},"
	      "\"failures\":{\"count\":1}}",
	      &g);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p50"), 3e9, 1);
	CHECK_NEAR(get(&g, 0, "client_queue.p99"), 26.5e9, 1);
	CHECK_NEAR(get(&g, 0, "itl.p90"), 20e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 9e6, 1);
	CHECK_HAS(note_of(&g, 0, "normalized_time_per_output_token.mean"), "first token");
	CHECK_STR(g.runs.v[0].limited, "sent 105.6 requests/s of 153");
	CHECK_NEAR(get(&g, 0, "errors"), 0.1, 1e-9);
}

static void a_zero_of_the_servers_summary_is_not_available(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"load_summary\":{},\"successes\":{\"count\":5,\"rate\":120.7,"
	      "\"prompt_len\":{\"mean\":0,\"rate\":2464.0},\"request_latency\":{\"mean\":3.1}},"
	      "\"failures\":{}}",
	      &g);
	CHECK(isnan(get(&g, 0, "e2e_from_start.mean")));
	CHECK_NEAR(get(&g, 0, "request_latency.mean"), 3.1e9, 1);
	CHECK_STR(g.notes.v[0], "'prompt_len' is 0, which stands for not available");
}

static void llmperf_failures_stay_out_of_its_latencies(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("[{\"error_code\":-100,\"ttft_s\":0.6,\"end_to_end_latency_s\":5.0,"
	      "\"inter_token_latency_s\":5.04,\"number_output_tokens\":102},"
	      "{\"error_code\":null,\"ttft_s\":0.2,\"end_to_end_latency_s\":1.2,"
	      "\"inter_token_latency_s\":0.0119,\"number_output_tokens\":101}]",
	      &g);
	CHECK_INT(g.runs.v[0].ok, 1);
	CHECK_INT(g.runs.v[0].failed, 1);
	CHECK_NEAR(get(&g, 0, "ttft_from_start.max"), 200e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.mean"), 10e6, 1);
	CHECK_HAS(g.notes.v[0], "1 of 2 requests failed");
	refuses("[{\"ttft_s\":2,\"end_to_end_latency_s\":1}]", "request 1 has no ttft_s");
}

static void aiperf_takes_no_value_given_twice(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("{\"metadata\":{\"request_start_ns\":1},\"metrics\":{\"time_to_first_token\":"
	      "{\"value\":255.8,\"unit\":\"ms\"},\"time_to_first_token\":{\"value\":4.8,"
	      "\"unit\":\"ms\"},\"request_latency\":{\"value\":297.5,\"unit\":\"ms\"},"
	      "\"inter_chunk_latency\":{\"value\":[4.0,6.0],\"unit\":\"ms\"},"
	      "\"inter_token_latency\":{\"value\":5.2,\"unit\":\"ms\"}},\"error\":null}\n"
	      "{\"metadata\":{\"request_start_ns\":1},\"metrics\":{},\"error\":{\"code\":499}}\n"
	      "{\"metadata\":{\"request_start_ns\":1},\"metrics\":{},\"error\":{\"code\":500}}\n",
	      &g);
	CHECK_INT(g.runs.v[0].ok, 1);
	CHECK_INT(g.runs.v[0].failed, 1);
	CHECK_INT(g.runs.v[0].unended, 1);
	CHECK(isnan(get(&g, 0, "ttft_from_start.p50")));
	CHECK_HAS(g.notes.v[0], "'time_to_first_token' twice");
	CHECK_NEAR(get(&g, 0, "e2e_from_start.p50"), 297.5e6, 1);
	CHECK_NEAR(get(&g, 0, "itl.p50"), 5e6, 1);
	CHECK_NEAR(get(&g, 0, "tpot.p50"), 5.2e6, 1);
}

static void aiperf_summaries_in_every_dress(void)
{
	struct loadgen a CLEANUP(loadgen_release) = { 0 };
	struct loadgen b CLEANUP(loadgen_release) = { 0 };
	struct loadgen c CLEANUP(loadgen_release) = { 0 };

	reads("{\"request_latency\":{\"unit\":\"ms\",\"avg\":487.3,\"p99\":715.9},"
	      "\"request_count\":{\"unit\":\"requests\",\"avg\":711}}",
	      &a);
	CHECK_NEAR(get(&a, 0, "e2e_from_start.mean"), 487.3e6, 1);
	CHECK_INT(a.runs.v[0].ok, 711);
	reads("┃ Metric ┃ avg ┃ min ┃ p99 ┃\n"
	      "│ Time to First Token (ms) │ 1,018.26 │ 11.22 │ 68.82 │\n"
	      "│ Output Token Throughput Per User │ 89.2 │ 1 │ 2 │\n"
	      "│ (tokens/sec/user) │ │ │ │\n"
	      "│ Request Throughput (requests/sec) │ 255.54 │ N/A │ N/A │\n",
	      &b);
	CHECK_NEAR(get(&b, 0, "ttft_from_start.mean"), 1018.26e6, 1);
	CHECK_NEAR(get(&b, 0, "ttft_from_start.p99"), 68.82e6, 1);
	CHECK_NEAR(get(&b, 0, "throughput"), 255.54, 1e-9);
	reads("Metric,avg,min,max,p99\nInter Token Latency (ms),11.23,8,13,12.48\n", &c);
	CHECK_NEAR(get(&c, 0, "tpot.p99"), 12.48e6, 1);
}

static void genai_perf_has_two_tables_in_one_file(void)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	reads("Config Name,Concurrency,p99 Time To First Token (ms),Request Throughput "
	      "(requests/sec)\n"
	      "a,1,33.54,1.32\nb,2,82.02,1.30\n\n"
	      "Config Name,GPU,p99 GPU Power Usage (W)\na,gpu0,64.46\n",
	      &g);
	CHECK_INT(g.runs.n, 2);
	CHECK_STR(g.runs.v[1].label, "b");
	CHECK_NEAR(get(&g, 0, "ttft_from_start.p99"), 33.54e6, 1);
	CHECK_NEAR(get(&g, 1, "throughput"), 1.3, 1e-9);
}

static void what_it_does_not_know_is_refused(void)
{
	refuses("", "no result");
	refuses("{}", "known here");
	refuses("[1]", "not of LLMPerf");
	refuses("{\"benchmarks\":[{\"metrics\":{}}]}", "request_totals");
	refuses("hello, world", "no result");
}

/* ---- recorded results beside the checkout ---------------------------------------------------- */

static void recorded(const char *name, struct loadgen *g)
{
	const char *src = getenv("TWICE_SRC");
	AUTO_FREE char *path =
		xasprintf("%s/../shared/samples/fw/workload/%s", src ? src : ".", name);
	AUTO_FREE char *text = NULL;
	struct err err = ERR_INIT;
	size_t n;

	if (access(path, R_OK) != 0)
		test_skip("no recorded results beside the checkout");
	CHECK_OK(file_read(path, 64 * MIB, &text, &n, &err), err);
	CHECK_OK(loadgen_read((struct sv){ text, n }, g, &err), err);
}

static void recorded_results_are_read(void)
{
	struct loadgen g[9] = { 0 };

	recorded("guidellm/benchmarks-0.2-full.json", &g[0]);
	CHECK_NEAR(get(&g[0], 0, "ttft_from_start.mean"), 16.792535781860348e6, 1);
	CHECK_NEAR(get(&g[0], 0, "ttft_from_start.p99"), 21.281957626342773e6, 1);
	CHECK_NEAR(get(&g[0], 0, "requests_per_second.successful.mean"), 1.5481806532737452, 1e-9);
	CHECK_NEAR(get(&g[0], 0, "throughput"), 46 / 29.997201442718506, 1e-9);
	recorded("guidellm/benchmarks-0.2.yaml", &g[1]);
	CHECK_NEAR(get(&g[1], 0, "ttft_from_start.mean"), 16.792535781860348e6, 1);
	recorded("guidellm/report-v2-0.8.0.dev18.json", &g[2]);
	CHECK_NEAR(get(&g[2], 0, "ttft_from_start.p99"), 11.686325073242188e6, 1);
	CHECK_INT(g[2].runs.n, 2);
	recorded("inference-perf/vllm__results__stage_5_lifecycle_metrics.json", &g[3]);
	CHECK_NEAR(get(&g[3], 0, "ttft_from_start.p50"), 3.034543322515674e9, 1);
	CHECK(g[3].runs.v[0].limited != NULL);
	recorded("llmperf/bedrock_70b.json", &g[4]);
	CHECK_INT(g[4].runs.v[0].failed, 49);
	CHECK_INT(g[4].runs.v[0].ok, 101);
	recorded("llmperf/groq_70b.json", &g[5]);
	CHECK_NEAR(get(&g[5], 0, "ttft_from_start.p50"), 0.2218883791938424e9, 1);
	CHECK_NEAR(get(&g[5], 0, "e2e_from_start.max"), 1.0057721510529518e9, 1);
	recorded("aiperf/profile_export.jsonl", &g[6]);
	CHECK_NEAR(get(&g[6], 0, "e2e_from_start.p50"), 297.525228e6, 1);
	recorded("vllm-bench-serve/FP8-8xH100-results-70B-llama-date-2025-03-27__openai-10.0qps-"
		 "itkns-512-otkns-85-concurrency16-Meta-Llama-3.1-70B-Instruct-FP8-20250327-"
		 "023015.json",
		 &g[7]);
	CHECK_NEAR(get(&g[7], 0, "ttft_from_start.p50"), 622.3674180000671e6, 1);
	CHECK_NEAR(get(&g[7], 0, "itl.p99"), 246.6801493601088e6, 1);
	CHECK_NEAR(get(&g[7], 0, "throughput"), 3.2610781362957577, 1e-9);
	recorded("aiperf/console-readme.txt", &g[8]);
	CHECK_NEAR(get(&g[8], 0, "output_tokens_per_s"), 10944.03, 1e-6);
	for (size_t i = 0; i < ARRAY_SIZE(g); i++)
		loadgen_release(&g[i]);
}

TEST_MAIN(TEST(vllm_samples_are_worked_out_again),
	  TEST(vllm_summaries_that_their_samples_contradict_are_refused),
	  TEST(vllm_summaries_alone_are_read), TEST(vllm_latency_is_a_batch),
	  TEST(vllm_console_rows_behind_progress_bars),
	  TEST(guidellm_time_per_output_token_is_no_tpot),
	  TEST(guidellm_2_weighs_requests_by_their_tokens), TEST(guidellm_as_yaml_is_the_same),
	  TEST(inference_perf_names_a_rate_it_did_not_reach),
	  TEST(a_zero_of_the_servers_summary_is_not_available),
	  TEST(llmperf_failures_stay_out_of_its_latencies), TEST(aiperf_takes_no_value_given_twice),
	  TEST(aiperf_summaries_in_every_dress), TEST(genai_perf_has_two_tables_in_one_file),
	  TEST(what_it_does_not_know_is_refused), TEST(recorded_results_are_read))
