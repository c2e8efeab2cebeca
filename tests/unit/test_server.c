/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "load/server.h"
#include "test.h"

static void names_of_three_servers_mean_the_same(void)
{
	double v[LOAD_SERVER_N];
	char kind[16];

	CHECK_INT(load_server_read(SV("# HELP vllm:num_requests_running x\n"
				      "# TYPE vllm:num_requests_running gauge\n"
				      "vllm:num_requests_running{model_name=\"a,}b\\\"c\"} 3.0\n"
				      "vllm:request_success_total{finished_reason=\"stop\"} 2.0\n"
				      "vllm:request_success_total{finished_reason=\"length\"} 5.0\n"
				      "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 9\n"
				      "vllm:generation_tokens_total 1.5e3 1700000000\n"),
				   v, kind),
		  4);
	CHECK_STR(kind, "vllm");
	CHECK_NEAR(v[LOAD_SERVER_RUNNING], 3, 0);
	CHECK_NEAR(v[LOAD_SERVER_REQUESTS], 7, 0);
	CHECK_NEAR(v[LOAD_SERVER_OUTPUT_TOKENS], 1500, 0);
	CHECK(isnan(v[LOAD_SERVER_WAITING]));
	CHECK(load_server_read(SV("sglang:num_running_reqs{a=\"b\"} 2\nsglang_num_queue_reqs 1\n"),
			       v, kind) == 2);
	CHECK_STR(kind, "sglang");
	CHECK_NEAR(v[LOAD_SERVER_WAITING], 1, 0);
	CHECK(load_server_read(SV("llamacpp:tokens_predicted_total 64\n"), v, kind) == 1);
	CHECK_STR(kind, "llamacpp");
	CHECK_NEAR(v[LOAD_SERVER_OUTPUT_TOKENS], 64, 0);
}

static void lines_that_are_no_samples_are_left_out(void)
{
	double v[LOAD_SERVER_N];
	char kind[16];

	CHECK_INT(load_server_read(SV("hello\n\n{\n} 3\nvllm:num_requests_running\n"
				      "vllm:num_requests_running{a=\"b} 3\n"
				      "vllm:num_requests_waiting NaN\n"
				      "vllm:num_requests_waiting +Inf\n"
				      "vllm:num_requests_waitingx 3\n"),
				   v, kind),
		  0);
	CHECK_STR(kind, "");
	CHECK_INT(load_server_read(SV(""), v, kind), 0);
}

static void totals_are_differences_unless_it_restarted(void)
{
	struct load_server_sample s[3] = { { .at = 1000 }, { .at = 2000 }, { .at = 3000 } };
	struct load_server v = { .v = s, .n = 3, .kind = "vllm" };
	AUTO_JSON json_t *j = NULL;

	for (size_t i = 0; i < 3; i++)
		for (int k = 0; k < LOAD_SERVER_N; k++)
			s[i].v[k] = NAN;
	s[0].v[LOAD_SERVER_OUTPUT_TOKENS] = 100;
	s[1].v[LOAD_SERVER_OUTPUT_TOKENS] = 150;
	s[2].v[LOAD_SERVER_OUTPUT_TOKENS] = 164;
	server_settle(&v, 500);
	CHECK_INT(s[0].at, 500);
	CHECK_NEAR(load_server_total(&v, LOAD_SERVER_OUTPUT_TOKENS), 64, 0);
	CHECK(isnan(load_server_total(&v, LOAD_SERVER_REQUESTS)));
	j = server_json(&v, 60, 3);
	CHECK(!json_bool_or(j, "tokens_agree", true));
	CHECK_INT(json_int_or(json_object_get(j, "totals_e6"), "output_tokens", 0), 64000000);
	s[2].v[LOAD_SERVER_OUTPUT_TOKENS] = 10;
	server_settle(&v, 0);
	CHECK(v.restarted);
	CHECK(isnan(load_server_total(&v, LOAD_SERVER_OUTPUT_TOKENS)));
}

TEST_MAIN(TEST(names_of_three_servers_mean_the_same), TEST(lines_that_are_no_samples_are_left_out),
	  TEST(totals_are_differences_unless_it_restarted))
