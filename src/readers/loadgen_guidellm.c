/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GuideLLM's report. Up to 0.3 a benchmark has "args" and its own "request_totals"; from 0.4 on it
 * has "config", and the totals are among the metrics. Only from 0.5 on the report says its
 * version: 1, from 0.7 on 2. A metric has the groups successful, errored, incomplete and total;
 * latencies are of the successful ones. An incomplete request was in flight when the time was up.
 *
 * "time_per_output_token_ms" is no tpot: up to 0.3 it divides the time from first to last token by
 * all tokens, later it takes in the time to the first one. "inter_token_latency_ms" is
 * (last - first) / (tokens - 1) of each request, which is our tpot and not a gap between events;
 * from 0.4 on a request counts once for each of its tokens, so there it is tpot only when all
 * answers had the same length.
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

static void put_latencies(const json_t *metrics, bool old, struct loadgen_run *r)
{
	bool is_tpot = old || equal_lengths(metrics);

	put_latency(metrics, "time_to_first_token_ms", 1e6, "ttft_from_start", NULL, r);
	put_latency(metrics, "request_latency", 1e9, "e2e_from_start", "theirs is in seconds", r);
	put_latency(metrics, "inter_token_latency_ms", 1e6, is_tpot ? "tpot" : NULL,
		    is_tpot ? "of each request (last - first token) / (tokens - 1), not of gaps"
			    : "each request counts once for each of its tokens",
		    r);
	put_latency(metrics, "time_per_output_token_ms", 1e6, NULL,
		    old ? "(last - first token) / all tokens: the first one counts in the "
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

/* Of up to 0.3. */
static bool is_old(const json_t *b)
{
	return json_object_get(b, "config") == NULL;
}

static int one_benchmark(const json_t *b, struct loadgen *g, struct err *err)
{
	const json_t *metrics = json_object_get(b, "metrics");
	bool old = is_old(b);
	const json_t *config = json_object_get(b, old ? "args" : "config");
	const json_t *totals = json_object_get(old ? b : metrics, "request_totals");
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
	put_latencies(metrics, old, r);
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

static int version_of(const json_t *o, struct loadgen *g, struct err *err)
{
	const json_t *meta = json_object_get(o, "metadata");
	double version = json_num(meta, "version");

	if (!meta || json_is_null(meta)) {
		g->form = is_old(json_array_get(json_object_get(o, "benchmarks"), 0))
				  ? "report without a version, up to 0.3"
				  : "report without a version, 0.4";
		return 0;
	}
	if (version != 1 && version != 2)
		return bail(err, ERR_UNSUPPORTED, "a GuideLLM report of version %g", version);
	g->form = version == 1 ? "report, version 1" : "report, version 2";
	g->version = xstrdup(json_string_value(json_object_get(meta, "guidellm_version")));
	return 0;
}

/* It has moved with nearly every version. */
static const char *model_of(const json_t *o, const json_t *b)
{
	static const char *const ways[][4] = { { "worker", "backend_model" },
					       { "config", "backend", "model" },
					       { "benchmarker", "backend", "model" } };
	const char *name;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const json_t *at = b;

		for (size_t k = 0; k < 4 && ways[i][k]; k++)
			at = json_object_get(at, ways[i][k]);
		if (json_is_string(at))
			return json_string_value(at);
	}
	name = json_string_value(json_object_get(json_object_get(o, "args"), "model"));
	return name;
}

int guidellm_read(const json_t *o, struct loadgen *g, struct err *err)
{
	const json_t *list = json_object_get(o, "benchmarks"), *b;
	size_t i;

	TRY(version_of(o, g, err));
	if (json_array_size(list) == 0)
		return bail(err, ERR_PARSE, "a GuideLLM report without a benchmark");
	g->tool = "GuideLLM";
	json_array_foreach(list, i, b)
	{
		if (one_benchmark(b, g, err) < 0)
			return err_wrap(err, "benchmark %zu", i + 1);
	}
	g->model = xstrdup(model_of(o, json_array_get(list, 0)));
	strs_add(&g->notes, "latencies count from the sending; its clock is the wall clock");
	return 0;
}
