/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inference-perf (kubernetes-sigs): stage files in seconds, single requests, and a summary of the
 * server's own metrics, where 0 stands for "not available". "schedule_delay" is our client_queue; a
 * stage whose rate was not reached was never measured at that rate.
 *
 * LLMPerf: a list of single requests, or a summary. Its inter-token latency takes in the first
 * token, and is not divided by the tokens in a request with an error.
 */
#include "readers/loadgen.h"

#include "base/err.h"

#include <math.h>

/* ---- inference-perf -------------------------------------------------------------------------- */

static const struct {
	const char *theirs, *ours;
} perf_stats[] = { { "mean", "mean" }, { "median", "p50" }, { "p90", "p90" },
		   { "p95", "p95" },   { "p99", "p99" },    { "max", "max" } };

static void put_block(const json_t *o, const char *theirs, const char *ours, const char *note,
		      struct loadgen_run *r)
{
	const json_t *block = json_object_get(o, theirs);

	for (size_t i = 0; i < ARRAY_SIZE(perf_stats); i++) {
		AUTO_FREE char *full = xasprintf("%s.%s", theirs, perf_stats[i].theirs);
		AUTO_FREE char *name = ours ? xasprintf("%s.%s", ours, perf_stats[i].ours) : NULL;

		loadgen_put(r, name, full, UNIT_NS, 1e9 * json_num(block, perf_stats[i].theirs),
			    note);
	}
}

static void judge_rate(const json_t *load, struct loadgen_run *r)
{
	double asked = json_num(load, "requested_rate"), got = json_num(load, "achieved_rate");

	if (asked > 0 && got < 0.95 * asked)
		r->limited = xasprintf("sent %.4g requests/s of %.4g", got, asked);
}

/*
 * Versions before token_count_mismatches took a time for each line that aiohttp gave them, blank
 * ones too: gaps of nearly 0 between real ones, and a time per token of half. Later ones give each
 * token of a text tokenized again the time of its event: then their gap is none between events.
 * Which it was shows where the time from the first token on, over the tokens, is another.
 */
static void put_token_times(const json_t *good, const json_t *latency, struct loadgen_run *r)
{
	double e2e = json_num(json_object_get(latency, "request_latency"), "mean");
	double ttft = json_num(json_object_get(latency, "time_to_first_token"), "mean");
	double tokens = json_num(json_object_get(good, "output_len"), "mean");
	double theirs = json_num(json_object_get(latency, "time_per_output_token"), "mean");
	double ours = (e2e - ttft) / (tokens - 1);
	bool later = json_object_get(good, "token_count_mismatches") != NULL;
	bool fits = tokens > 1 && theirs > 0.8 * ours && theirs < 1.25 * ours;

	put_block(latency, "inter_token_latency", fits && !later ? "itl" : NULL,
		  later  ? "a gap for each token of a text tokenized again, 0 within an event"
		  : fits ? NULL
			 : "counts other things than tokens, such as blank lines",
		  r);
	put_block(latency, "time_per_output_token", fits ? "tpot" : NULL,
		  fits ? NULL
		       : "its mean is not (request_latency - ttft) / (output_len - 1): it counts "
			 "other things than tokens",
		  r);
}

/* Theirs is a share of the requests that succeeded. */
static void put_goodput(const json_t *good, struct loadgen_run *r)
{
	const json_t *g = json_object_get(good, "goodput_metrics");
	double met = json_num(g, "good_requests"), all = (double)r->ok + (double)r->failed;

	loadgen_put(r, NULL, "goodput_percentage", UNIT_RATIO,
		    json_num(g, "goodput_percentage") / 100,
		    "of those that succeeded, where ours is of all");
	if (r->ok >= 0 && r->failed >= 0 && met >= 0 && met <= all && all > 0)
		loadgen_put(r, "goodput", "good_requests", UNIT_RATIO, met / all,
			    "good_requests / all requests");
}

static void stage(const json_t *o, struct loadgen *g)
{
	const json_t *load = json_object_get(o, "load_summary");
	const json_t *good = json_object_get(o, "successes");
	const json_t *latency = json_object_get(good, "latency");
	const json_t *rates = json_object_get(good, "throughput");
	double ok = json_num(good, "count"),
	       failed = json_num(json_object_get(o, "failures"), "count");
	AUTO_FREE char *label = NULL;
	struct loadgen_run *r;

	if (json_num(load, "requested_rate") > 0)
		label = xasprintf("rate %g/s", json_num(load, "requested_rate"));
	r = loadgen_run_add(g, label);
	r->ok = ok >= 0 && ok < 1e9 ? (int64_t)ok : -1;
	r->failed = failed >= 0 && failed < 1e9 ? (int64_t)failed : -1;
	put_block(load, "schedule_delay", "client_queue", NULL, r);
	put_block(latency, "time_to_first_token", "ttft_from_start", NULL, r);
	put_block(latency, "request_latency", "e2e_from_start", NULL, r);
	put_token_times(good, latency, r);
	put_block(latency, "normalized_time_per_output_token", NULL,
		  "takes in the time to the first token", r);
	loadgen_put(r, "throughput", "throughput.requests_per_sec", UNIT_REQUESTS_PER_S,
		    json_num(rates, "requests_per_sec"), NULL);
	loadgen_put(r, "output_tokens_per_s", "throughput.output_tokens_per_sec", UNIT_TOKENS_PER_S,
		    json_num(rates, "output_tokens_per_sec"), NULL);
	put_goodput(good, r);
	judge_rate(load, r);
}

static bool all_zero(const json_t *block)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)block, key, v) if (json_number_value(v) != 0) return false;
	return true;
}

/* What the server said about itself: nothing of it is measured at the client. */
static void server_summary(const json_t *good, struct loadgen *g)
{
	static const char *const blocks[] = { "request_latency", "time_to_first_token",
					      "time_per_output_token" };
	struct loadgen_run *r = loadgen_run_add(g, "the server's own metrics");
	const char *key;
	json_t *v;

	r->ok = json_num(good, "count") >= 0 ? (int64_t)fmin(json_num(good, "count"), 1e9) : -1;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		put_block(good, blocks[i], NULL, "of the server, not of a client", r);
	loadgen_put(r, NULL, "rate", UNIT_REQUESTS_PER_S, json_num(good, "rate"),
		    "of the server, not of a client");
	loadgen_put(r, NULL, "output_len.rate", UNIT_TOKENS_PER_S,
		    json_num(json_object_get(good, "output_len"), "rate"),
		    "of the server, not of a client");
	json_object_foreach((json_t *)good, key, v)
	{
		if (json_is_object(v) && (all_zero(v) || json_num(v, "mean") == 0))
			strs_addf(&g->notes, "'%.60s' is 0, which stands for not available", key);
	}
}

int inference_perf_read(const json_t *o, struct loadgen *g, struct err *err)
{
	const json_t *good = json_object_get(o, "successes");

	g->tool = "inference-perf";
	if (json_is_object(json_object_get(good, "latency"))) {
		g->form = "stage";
		stage(o, g);
		strs_add(&g->notes,
			 "latencies count from the sending, not from the schedule; tokens "
			 "may be of a text tokenized again");
		return 0;
	}
	if (!json_is_object(json_object_get(good, "request_latency")))
		return bail(err, ERR_PARSE, "an inference-perf file without latencies");
	g->form = "server summary";
	server_summary(good, g);
	return 0;
}

/* One request of "per_request_lifecycle_metrics". Its times stand where its version puts them. */
static int one_lifecycle(const json_t *q, struct samples n[4], struct loadgen_run *r,
			 struct err *err)
{
	const json_t *info = json_object_get(q, "info"), *error = json_object_get(q, "error");
	const json_t *streamed = json_object_get(info, "response_metrics"), *times;
	double start = json_num(q, "start_time"), end = json_num(q, "end_time");
	double tokens;
	size_t k, last;

	if (error && !json_is_null(error)) {
		r->failed++;
		return 0;
	}
	if (!(end >= start))
		return bail(err, ERR_PARSE, "no 'end_time' after its 'start_time'");
	r->ok++;
	samples_add(&n[0], 1e9 * (end - start));
	/* Of later versions each event has one; the older list has blank lines in it. */
	times = json_object_get(streamed, "chunk_times");
	if (json_array_size(times) == 0)
		return 0;
	last = json_array_size(times) - 1;
	tokens = json_num(json_object_get(streamed, "server_usage"), "completion_tokens");
	samples_add(&n[1], 1e9 * (json_number_value(json_array_get(times, 0)) - start));
	for (k = 1; k <= last; k++)
		samples_add(&n[2], 1e9 * (json_number_value(json_array_get(times, k)) -
					  json_number_value(json_array_get(times, k - 1))));
	if (tokens > 1 && last > 0)
		samples_add(&n[3], 1e9 *
					   (json_number_value(json_array_get(times, last)) -
					    json_number_value(json_array_get(times, 0))) /
					   (tokens - 1));
	return 0;
}

int inference_perf_requests_read(const json_t *list, struct loadgen *g, struct err *err)
{
	struct samples n[4] = { 0 };
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	const json_t *q;
	size_t i;
	int rc = 0;

	g->tool = "inference-perf";
	g->form = "single requests";
	r->ok = r->failed = 0;
	json_array_foreach(list, i, q)
	{
		rc = rc < 0 ? rc : one_lifecycle(q, n, r, err);
	}
	if (rc == 0) {
		loadgen_put_samples(r, "e2e_from_start", &n[0], "of those that answered");
		loadgen_put_samples(r, "ttft_from_start", &n[1],
				    "to the first event of any kind, of those that answered");
		loadgen_put_samples(r, "itl", &n[2], "between events of any kind");
		loadgen_put_samples(r, "tpot", &n[3], "by the server's own number of tokens");
	}
	if (n[1].n == 0)
		strs_add(&g->notes, "token times of this version have blank lines in them or are "
				    "not there: neither ttft nor what follows from it is taken");
	strs_add(&g->notes, "latencies count from the sending, not from the schedule");
	for (i = 0; i < ARRAY_SIZE(n); i++)
		samples_release(&n[i]);
	return rc;
}

/* ---- LLMPerf --------------------------------------------------------------------------------- */

int llmperf_read(const json_t *list, struct loadgen *g, struct err *err)
{
	struct samples ttft CLEANUP(samples_release) = { 0 };
	struct samples e2e CLEANUP(samples_release) = { 0 };
	struct samples tpot CLEANUP(samples_release) = { 0 };
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	const json_t *q;
	size_t i;

	g->tool = "LLMPerf";
	g->form = "single requests";
	r->ok = r->failed = 0;
	json_array_foreach(list, i, q)
	{
		const json_t *code = json_object_get(q, "error_code");
		double first = json_num(q, "ttft_s"), whole = json_num(q, "end_to_end_latency_s");
		double tokens = json_num(q, "number_output_tokens");

		if (code && !json_is_null(code)) {
			r->failed++;
			continue;
		}
		if (!(first >= 0) || !(whole >= first))
			return bail(err, ERR_PARSE, "request %zu has no ttft_s within its latency",
				    i + 1);
		r->ok++;
		samples_add(&ttft, 1e9 * first);
		samples_add(&e2e, 1e9 * whole);
		if (tokens > 1)
			samples_add(&tpot, 1e9 * (whole - first) / (tokens - 1));
	}
	loadgen_put_samples(r, "ttft_from_start", &ttft, "of those that answered");
	loadgen_put_samples(r, "e2e_from_start", &e2e, "of those that answered");
	loadgen_put_samples(r, "tpot", &tpot, "worked out as (latency - ttft) / (tokens - 1)");
	if (r->failed)
		strs_addf(&g->notes, "%lld of %lld requests failed: latencies are of the others",
			  (long long)r->failed, (long long)r->ok + (long long)r->failed);
	strs_add(&g->notes,
		 "its inter_token_latency_s takes in the first token, so it is not read; "
		 "latencies count from the sending");
	return 0;
}

static void put_summary(const json_t *o, const char *theirs, const char *ours, const char *note,
			struct loadgen_run *r)
{
	static const struct {
		const char *theirs, *ours;
	} list[] = { { "mean", "mean" },         { "quantiles_p50", "p50" },
		     { "quantiles_p90", "p90" }, { "quantiles_p95", "p95" },
		     { "quantiles_p99", "p99" }, { "max", "max" } };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		AUTO_FREE char *full = xasprintf("results_%s_%s", theirs, list[i].theirs);
		AUTO_FREE char *name = ours ? xasprintf("%s.%s", ours, list[i].ours) : NULL;

		loadgen_put(r, name, full, UNIT_NS, 1e9 * json_num(o, full), note);
	}
}

int llmperf_summary_read(const json_t *o, struct loadgen *g, struct err *err)
{
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	double ok = json_num(o, "results_num_completed_requests");
	double errors = json_num(o, "results_number_errors");

	if (!(ok >= 0 && ok < 1e9))
		return bail(err, ERR_PARSE, "no 'results_num_completed_requests'");
	g->tool = "LLMPerf";
	g->form = "summary";
	g->version = xstrdup(json_string_value(json_object_get(o, "version")));
	g->model = xstrdup(json_string_value(json_object_get(o, "model")));
	r->ok = (int64_t)ok;
	if (errors >= 0 && errors < 1e9)
		r->failed = (int64_t)errors;
	put_summary(o, "ttft_s", "ttft_from_start", NULL, r);
	put_summary(o, "end_to_end_latency_s", "e2e_from_start", NULL, r);
	put_summary(o, "inter_token_latency_s", NULL, "takes in the time to the first token", r);
	loadgen_put(r, "output_tokens_per_s", "results_mean_output_throughput_token_per_s",
		    UNIT_TOKENS_PER_S, json_num(o, "results_mean_output_throughput_token_per_s"),
		    NULL);
	loadgen_put(r, NULL, "results_num_completed_requests_per_min", UNIT_REQUESTS_PER_S,
		    json_num(o, "results_num_completed_requests_per_min") / 60,
		    "counts requests with an error as completed");
	strs_add(&g->notes, "latencies count from the sending");
	return 0;
}
