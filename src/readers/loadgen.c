/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/loadgen.h"

#include "base/err.h"
#include "base/vec.h"
#include "base/yaml.h"

#include <math.h>

/* ---- life, values ---------------------------------------------------------------------------- */

static void run_release(struct loadgen_run *r)
{
	for (size_t i = 0; i < r->values.n; i++) {
		free(r->values.v[i].name);
		free(r->values.v[i].theirs);
		free(r->values.v[i].note);
	}
	free(r->values.v);
	free(r->label);
	free(r->limited);
}

void loadgen_release(struct loadgen *g)
{
	for (size_t i = 0; i < g->runs.n; i++)
		run_release(&g->runs.v[i]);
	free(g->runs.v);
	free(g->version);
	free(g->model);
	strs_release(&g->notes);
	*g = (struct loadgen){ 0 };
}

void samples_release(struct samples *n)
{
	free(n->v);
	*n = (struct samples){ 0 };
}

void samples_add(struct samples *n, double v)
{
	if (isfinite(v))
		*VEC_ADD(n) = v;
}

struct loadgen_run *loadgen_run_add(struct loadgen *g, const char *label)
{
	struct loadgen_run *r = VEC_ADD(&g->runs);

	*r = (struct loadgen_run){ .label = xstrdup(label), .ok = -1, .failed = -1, .unended = -1 };
	return r;
}

void loadgen_put(struct loadgen_run *r, const char *name, const char *theirs, enum unit u, double v,
		 const char *note)
{
	if (!isfinite(v))
		return;
	*VEC_ADD(&r->values) =
		(struct loadgen_value){ xstrdup(name), xstrdup(theirs), u, v, xstrdup(note) };
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Type 7 of Hyndman and Fan 1996, as everywhere here. */
static double quantile(const struct samples *n, double p)
{
	double at = p * (double)(n->n - 1);
	size_t low = (size_t)at;

	if (low + 1 >= n->n)
		return n->v[n->n - 1];
	return n->v[low] + (at - (double)low) * (n->v[low + 1] - n->v[low]);
}

double mean_of(const struct samples *n)
{
	double sum = 0;

	for (size_t i = 0; i < n->n; i++)
		sum += n->v[i];
	return n->n ? sum / (double)n->n : NAN;
}

void loadgen_put_samples(struct loadgen_run *r, const char *base, struct samples *n,
			 const char *note)
{
	static const struct {
		const char *name;
		double p;
	} stats[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 }, { "max", 1 }
	};
	char name[64];

	if (n->n == 0)
		return;
	qsort(n->v, n->n, sizeof(*n->v), by_size);
	snprintf(name, sizeof(name), "%s.mean", base);
	loadgen_put(r, name, NULL, UNIT_NS, mean_of(n), note);
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		snprintf(name, sizeof(name), "%s.%s", base, stats[i].name);
		loadgen_put(r, name, NULL, UNIT_NS, quantile(n, stats[i].p), note);
	}
}

void loadgen_put_counts(struct loadgen_run *r)
{
	double all = (double)r->ok + (double)r->failed;

	if (r->ok >= 0)
		loadgen_put(r, "requests.ok", NULL, UNIT_COUNT, (double)r->ok, NULL);
	if (r->unended > 0)
		loadgen_put(r, "requests.cancelled", NULL, UNIT_COUNT, (double)r->unended, NULL);
	if (r->ok < 0 || r->failed < 0 || all <= 0)
		return;
	loadgen_put(r, "requests.scheduled", NULL, UNIT_COUNT, all, NULL);
	loadgen_put(r, "errors", NULL, UNIT_RATIO, (double)r->failed / all, NULL);
}

double json_num(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* ---- recognising ----------------------------------------------------------------------------- */

static bool has(const json_t *o, const char *key)
{
	return json_object_get(o, key) != NULL;
}

/* Python writes NaN and Infinity as bare words, which are not JSON: they become null. */
static char *without_bare_words(struct sv text)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
	struct str s = { 0 };
	bool inside = false;

	for (size_t i = 0; i < text.n; i++) {
		struct sv rest = { text.p + i, text.n - i };
		bool hit = false;

		for (size_t k = 0; !inside && k < ARRAY_SIZE(words) && !hit; k++) {
			if (!sv_starts(rest, words[k]))
				continue;
			str_add(&s, "null");
			i += strlen(words[k]) - 1;
			hit = true;
		}
		if (hit)
			continue;
		if (inside && text.p[i] == '\\' && i + 1 < text.n) {
			str_addc(&s, text.p[i++]);
		} else if (text.p[i] == '"') {
			inside = !inside;
		}
		str_addc(&s, text.p[i]);
	}
	return str_steal(&s);
}

static int parse_json(struct sv text, json_t **ret, struct err *err)
{
	AUTO_FREE char *clean = NULL;

	if (json_read(text, "JSON", ret, err) == 0)
		return 0;
	if (sv_find(text, SV("NaN")) < 0 && sv_find(text, SV("Infinity")) < 0)
		return -ERR_PARSE;
	clean = without_bare_words(text);
	return json_read(sv_of(clean), "JSON", ret, err);
}

/* Every scalar of our YAML is text; the report's are JSON's. */
static json_t *json_of_yaml(const struct yaml *y)
{
	json_t *j;
	double v;

	if (y->kind == YAML_LIST) {
		j = json_array();
		for (size_t i = 0; i < y->n; i++)
			json_array_append_new(j, json_of_yaml(&y->v[i]));
		return j;
	}
	if (y->kind == YAML_MAP) {
		j = json_object();
		for (size_t i = 0; i < y->n; i++)
			json_put(j, y->v[i].key, json_of_yaml(&y->v[i]));
		return j;
	}
	if (yaml_is_null(y))
		return json_null();
	if (!y->quoted && (streq(y->text, "true") || streq(y->text, "false")))
		return json_boolean(streq(y->text, "true"));
	if (!y->quoted && sv_to_f64(sv_of(y->text), &v) && isfinite(v))
		return json_real(v);
	return json_string(y->text);
}

static int read_yaml(struct sv text, struct loadgen *g, struct err *err)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	AUTO_JSON json_t *o = NULL;

	if (yaml_parse(text, &doc, err) < 0)
		return err_wrap(err, "a GuideLLM report as YAML");
	o = json_of_yaml(&doc);
	return guidellm_read(o, g, err);
}

static int read_object(const json_t *o, struct loadgen *g, struct err *err)
{
	if (json_is_array(json_object_get(o, "benchmarks")))
		return guidellm_read(o, g, err);
	if (has(o, "load_summary") && has(o, "successes"))
		return inference_perf_read(o, g, err);
	if (has(o, "avg_latency") && has(o, "latencies") && has(o, "percentiles"))
		return vllm_latency_read(o, g, err);
	if (has(o, "completed") && has(o, "duration") &&
	    (has(o, "mean_e2e_latency_ms") || has(o, "total_output_tokens_retokenized")))
		return sglang_serve_read(o, g, err);
	if (has(o, "completed") && has(o, "duration") && has(o, "request_throughput"))
		return vllm_serve_read(o, g, err);
	if (has(o, "elapsed_time") && has(o, "num_requests") && has(o, "requests_per_second"))
		return vllm_throughput_read(o, g, err);
	if (has(json_object_get(o, "request_latency"), "avg") &&
	    has(json_object_get(o, "request_latency"), "unit"))
		return aiperf_summary_read(o, g, err);
	if (has(o, "results_ttft_s_mean") || has(o, "results_ttft_s_quantiles_p50"))
		return llmperf_summary_read(o, g, err);
	return bail(err, ERR_UNSUPPORTED,
		    "a JSON object that is no result of vLLM bench, SGLang's bench_serving, "
		    "GuideLLM, AIPerf, inference-perf or LLMPerf in a version known here");
}

/* Adds a result's runs to those before it; they have to be of the same tool. */
static int add_result(struct loadgen *g, struct loadgen *one, struct err *err)
{
	if (g->tool && !streq(g->tool, one->tool))
		return bail(err, ERR_PARSE, "a result of %s behind one of %s", one->tool, g->tool);
	for (size_t i = 0; i < one->notes.n; i++) {
		bool there = false;

		for (size_t k = 0; k < g->notes.n; k++)
			there |= streq(g->notes.v[k], one->notes.v[i]);
		if (!there)
			strs_add(&g->notes, one->notes.v[i]);
	}
	if (g->tool && !streq(g->model ? g->model : "", one->model ? one->model : ""))
		strs_addf(&g->notes, "run %zu is of another model: %s", g->runs.n + 1,
			  one->model ? one->model : "not said");
	if (!g->tool) {
		g->model = STEAL(one->model);
		g->version = STEAL(one->version);
	}
	g->tool = one->tool;
	g->form = one->form;
	for (size_t i = 0; i < one->runs.n; i++)
		*VEC_ADD(&g->runs) = one->runs.v[i];
	one->runs.n = 0;
	return 0;
}

/* vllm bench serve --append-result and SGLang write a line for each run. */
static int read_lines(struct sv text, struct loadgen *g, struct err *err)
{
	unsigned number = 0;

	for (struct sv line; sv_line(&text, &line);) {
		struct loadgen one CLEANUP(loadgen_release) = { 0 };
		AUTO_JSON json_t *o = NULL;

		number++;
		line = sv_trim(line);
		if (!line.n)
			continue;
		if (parse_json(line, &o, err) < 0 || read_object(o, &one, err) < 0 ||
		    add_result(g, &one, err) < 0)
			return err_wrap(err, "line %u", number);
	}
	return 0;
}

/* Whole objects, one a line, and more than one. */
static bool is_lines(struct sv text)
{
	struct sv line;

	return sv_line(&text, &line) && sv_ends(sv_trim(line), "}") &&
	       sv_starts(sv_trim(text), "{");
}

static bool is_aiperf_record(struct sv text)
{
	struct sv rest = text, line;

	return sv_line(&rest, &line) && sv_starts(sv_trim(line), "{") &&
	       sv_find(line, SV("\"metrics\"")) >= 0 &&
	       sv_find(line, SV("\"request_start_ns\"")) >= 0;
}

static int read_text(struct sv text, struct loadgen *g, struct err *err)
{
	struct sv rest = text, first = { 0 };

	if (sv_find(text, SV("Serving Benchmark Result")) >= 0)
		return vllm_console_read(text, g, err);
	if (sv_find(text, SV("Time to First Token (ms)")) >= 0 && sv_find(text, SV("┃")) >= 0)
		return aiperf_console_read(text, g, err);
	if (sv_find(text, SV("Benchmarks Stats:")) >= 0 && sv_find(text, SV("TPOT (ms)")) >= 0)
		return bail(err, ERR_UNSUPPORTED,
			    "GuideLLM's table for the console is rounded: give its JSON report");
	if (sv_line(&rest, &first) && sv_starts(first, "Config Name,"))
		return genai_perf_csv_read(text, g, err);
	if (sv_starts(first, "Metric,"))
		return aiperf_csv_read(text, g, err);
	if (sv_find(text, SV("benchmarks:")) >= 0 && sv_find(text, SV("type_:")) >= 0)
		return read_yaml(text, g, err);
	return bail(err, ERR_UNSUPPORTED, "no result of a load generator known here");
}

static int read_any(struct sv text, struct loadgen *g, struct err *err)
{
	AUTO_JSON json_t *o = NULL;

	if (is_aiperf_record(text))
		return aiperf_records_read(text, g, err);
	if (!sv_starts(text, "{") && !sv_starts(text, "["))
		return read_text(text, g, err);
	if (is_lines(text))
		return read_lines(text, g, err);
	TRY(parse_json(text, &o, err));
	if (json_is_object(o))
		return read_object(o, g, err);
	if (has(json_array_get(o, 0), "start_time") && has(json_array_get(o, 0), "info"))
		return inference_perf_requests_read(o, g, err);
	if (has(json_array_get(o, 0), "benchmark") && has(json_array_get(o, 0), "metric"))
		return bail(
			err, ERR_UNSUPPORTED,
			"vLLM's form for PyTorch's dashboard: give the JSON that stands beside it");
	if (has(json_array_get(o, 0), "end_to_end_latency_s"))
		return llmperf_read(o, g, err);
	return bail(err, ERR_UNSUPPORTED,
		    "a JSON list that is not of LLMPerf's or inference-perf's single requests");
}

bool loadgen_sniff(struct sv text)
{
	static const char *const marks[] = {
		"\"benchmarks\"",
		"\"load_summary\"",
		"\"avg_latency\"",
		"\"request_throughput\"",
		"\"requests_per_second\"",
		"\"start_time\"",
		"\"ttft_s\"",
		"\"metrics\"",
		"\"results_ttft_s_mean\"",
		"\"request_latency\"",
		"Serving Benchmark Result",
		"Time to First Token (ms)",
		"Benchmarks Stats:",
		"Config Name,",
		"Metric,",
		"benchmarks:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (sv_find(text, sv_of(marks[i])) >= 0)
			return true;
	return false;
}

int loadgen_read(struct sv text, struct loadgen *ret, struct err *err)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };

	TRY(read_any(sv_trim(text), &g, err));
	for (size_t i = 0; i < g.runs.n; i++)
		loadgen_put_counts(&g.runs.v[i]);
	*ret = g;
	g = (struct loadgen){ 0 };
	return 0;
}
