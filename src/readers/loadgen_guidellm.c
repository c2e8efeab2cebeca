/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GuideLLM's report. Version 1 (to 0.3) has no "metadata"; version 2 (from 0.4) says so. A metric
 * has the groups successful, errored, incomplete and total; latencies are of the successful ones.
 * An incomplete request was in flight when the time was up.
 *
 * "time_per_output_token_ms" is no tpot: in version 1 it divides the time from first to last
 * token by all tokens, in version 2 it takes in the time to the first one. "inter_token_latency_ms"
 * is (last - first) / (tokens - 1) of each request, which is our tpot and not a gap between events;
 * version 2 counts a request once for each of its tokens, so there it is tpot only when all answers
 * had the same length.
 */
#include "readers/loadgen.h"

#include "base/err.h"

#include <math.h>

static const struct {
	const char *theirs, *ours;
} stats[] = { { "mean", "mean" }, { "median", "p50" }, { "max", "max" } };
static const struct {
	const char *theirs, *ours;
} quantiles[] = { { "p90", "p90" }, { "p95", "p95" }, { "p99", "p99" } };

static void put_one(struct loadgen_run *r, const char *metric, const char *theirs, const char *ours,
		    const char *stat, double v, const char *note)
{
	AUTO_FREE char *full = xasprintf("%s.successful.%s", metric, theirs);
	AUTO_FREE char *name = ours ? xasprintf("%s.%s", ours, stat) : NULL;

	loadgen_put(r, name, full, UNIT_NS, v, note);
}

static void put_latency(const json_t *metrics, const char *metric, double scale, const char *ours,
			const char *note, struct loadgen_run *r)
{
	const json_t *ok = json_object_get(json_object_get(metrics, metric), "successful");
	const json_t *p = json_object_get(ok, "percentiles");

	/* A group without a sample is written as zeros. */
	if (!(json_num(ok, "count") > 0))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++)
		put_one(r, metric, stats[i].theirs, ours, stats[i].ours,
			scale * json_num(ok, stats[i].theirs), note);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		put_one(r, metric, quantiles[i].theirs, ours, quantiles[i].ours,
			scale * json_num(p, quantiles[i].theirs), note);
}

static bool equal_lengths(const json_t *metrics)
{
	const json_t *ok =
		json_object_get(json_object_get(metrics, "output_token_count"), "successful");

	return json_num(ok, "count") > 0 && json_num(ok, "min") == json_num(ok, "max");
}

static void put_latencies(const json_t *metrics, int version, struct loadgen_run *r)
{
	bool is_tpot = version == 1 || equal_lengths(metrics);

	put_latency(metrics, "time_to_first_token_ms", 1e6, "ttft_from_start", NULL, r);
	put_latency(metrics, "request_latency", 1e9, "e2e_from_start", "theirs is in seconds", r);
	put_latency(metrics, "inter_token_latency_ms", 1e6, is_tpot ? "tpot" : NULL,
		    is_tpot ? "of each request (last - first token) / (tokens - 1), not of gaps"
			    : "each request counts once for each of its tokens",
		    r);
	put_latency(metrics, "time_per_output_token_ms", 1e6, NULL,
		    version == 1 ? "(last - first token) / all tokens: the first one counts in the "
				   "number, not in the time"
				 : "takes in the time to the first token",
		    r);
}

static char *label_of(const json_t *strategy)
{
	const char *type = json_string_value(json_object_get(strategy, "type_"));
	double rate = json_num(strategy, "rate"), streams = json_num(strategy, "streams");
	struct str s = { 0 };

	str_add(&s, type ? type : "?");
	if (rate > 0)
		str_addf(&s, " %g/s", rate);
	if (streams > 0)
		str_addf(&s, " %g", streams);
	return str_steal(&s);
}

static double rate_of(const json_t *metrics, const char *name)
{
	return json_num(json_object_get(json_object_get(metrics, name), "successful"), "mean");
}

static int one_benchmark(const json_t *b, int version, struct loadgen *g, struct err *err)
{
	const json_t *metrics = json_object_get(b, "metrics");
	const json_t *config = json_object_get(b, version == 1 ? "args" : "config");
	/* Version 2 moved them in among the metrics. */
	const json_t *totals = json_object_get(version == 1 ? b : metrics, "request_totals");
	const json_t *tokens =
		json_object_get(json_object_get(metrics, "output_token_count"), "successful");
	AUTO_FREE char *label = label_of(json_object_get(config, "strategy"));
	double duration = json_num(b, "duration"), ok = json_num(totals, "successful");
	struct loadgen_run *r;

	if (!json_is_object(metrics) || !(ok >= 0 && ok < 1e9))
		return bail(err, ERR_PARSE, "a benchmark without 'metrics' or 'request_totals'");
	r = loadgen_run_add(g, label);
	r->ok = (int64_t)ok;
	if (json_num(totals, "errored") >= 0)
		r->failed = (int64_t)fmin(json_num(totals, "errored"), 1e9);
	if (json_num(totals, "incomplete") >= 0)
		r->unended = (int64_t)fmin(json_num(totals, "incomplete"), 1e9);
	put_latencies(metrics, version, r);
	if (duration > 0) {
		loadgen_put(r, "throughput", NULL, UNIT_REQUESTS_PER_S, ok / duration,
			    "successful / duration");
		loadgen_put(r, "output_tokens_per_s", NULL, UNIT_TOKENS_PER_S,
			    json_num(tokens, "total_sum") / duration,
			    "output tokens of the successful ones / duration");
	}
	loadgen_put(r, NULL, "requests_per_second.successful.mean", UNIT_REQUESTS_PER_S,
		    rate_of(metrics, "requests_per_second"),
		    "a mean over instants, not a count over time");
	loadgen_put(r, NULL, "output_tokens_per_second.successful.mean", UNIT_TOKENS_PER_S,
		    rate_of(metrics, "output_tokens_per_second"),
		    "a mean over instants, not a count over time");
	return 0;
}

static int version_of(const json_t *o, int *ret, struct loadgen *g, struct err *err)
{
	const json_t *meta = json_object_get(o, "metadata");
	double version = json_num(meta, "version");

	*ret = 1;
	if (!meta || json_is_null(meta))
		return 0;
	if (version != 1 && version != 2)
		return bail(err, ERR_UNSUPPORTED, "a GuideLLM report of version %g", version);
	*ret = (int)version;
	g->version = xstrdup(json_string_value(json_object_get(meta, "guidellm_version")));
	return 0;
}

int guidellm_read(const json_t *o, struct loadgen *g, struct err *err)
{
	const json_t *list = json_object_get(o, "benchmarks"), *b;
	int version;
	size_t i;

	TRY(version_of(o, &version, g, err));
	if (json_array_size(list) == 0)
		return bail(err, ERR_PARSE, "a GuideLLM report without a benchmark");
	g->tool = "GuideLLM";
	g->form = version == 1 ? "report, version 1" : "report, version 2";
	json_array_foreach(list, i, b)
	{
		if (one_benchmark(b, version, g, err) < 0)
			return err_wrap(err, "benchmark %zu", i + 1);
	}
	b = json_array_get(list, 0);
	g->model = xstrdup(
		json_string_value(json_object_get(json_object_get(b, "worker"), "backend_model")));
	strs_add(&g->notes, "latencies count from the sending; its clock is the wall clock");
	return 0;
}
