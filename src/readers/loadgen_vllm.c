/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM: benchmarks/serve.py and latency.py. Arrays are in seconds, summaries in ms. A request that
 * failed has a text in "errors" and zeros in the other arrays. Its clock starts when the request is
 * sent, after the wait for one of max_concurrency places. tpot is (latency - ttft) / (tokens - 1),
 * where latency ends with the last piece of text; an answer of one token has none.
 */
#include "readers/loadgen.h"

#include "base/err.h"
#include "readers/clean.h"

#include <math.h>

struct arrays {
	const json_t *ttfts, *itls, *lens, *errors;
	size_t n;
};

static const char *const summary_stats[][2] = {
	{ "mean", "mean" }, { "median", "p50" }, { "p50", "p50" },
	{ "p90", "p90" },   { "p95", "p95" },    { "p99", "p99" },
};
static const char *const summary_of[][2] = {
	{ "ttft", "ttft_from_start" },
	{ "tpot", "tpot" },
	{ "itl", "itl" },
	{ "e2el", "e2e_from_start" },
};

static bool is_ok(const struct arrays *a, size_t i)
{
	const char *e = json_string_value(json_array_get(a->errors, i));

	return (!e || !*e) && json_number_value(json_array_get(a->lens, i)) > 0;
}

static bool find_arrays(const json_t *o, struct arrays *a)
{
	a->ttfts = json_object_get(o, "ttfts");
	a->itls = json_object_get(o, "itls");
	a->lens = json_object_get(o, "output_lens");
	a->errors = json_object_get(o, "errors");
	a->n = json_array_size(a->ttfts);
	return a->n > 0 && json_array_size(a->itls) == a->n && json_array_size(a->lens) == a->n &&
	       (!a->errors || json_array_size(a->errors) == a->n);
}

static void one_request(const struct arrays *a, size_t i, struct samples *ttft, struct samples *itl,
			struct samples *tpot)
{
	const json_t *gaps = json_array_get(a->itls, i), *g;
	double len = json_number_value(json_array_get(a->lens, i)), sum = 0;
	size_t k;

	samples_add(ttft, 1e9 * json_number_value(json_array_get(a->ttfts, i)));
	json_array_foreach(gaps, k, g)
	{
		sum += json_number_value(g);
		samples_add(itl, 1e9 * json_number_value(g));
	}
	if (len > 1)
		samples_add(tpot, 1e9 * sum / (len - 1));
}

/* A summary that its own samples contradict is not to be believed, nor are the samples. */
static int agrees(const json_t *o, const char *key, double ours_ns, struct err *err)
{
	double theirs = 1e6 * json_num(o, key);

	if (isnan(theirs) || isnan(ours_ns) || fabs(theirs - ours_ns) <= 1e-3 * fabs(ours_ns) + 1e3)
		return 0;
	return bail(err, ERR_PARSE, "'%s' is %.4f, but its samples give %.4f", key, theirs / 1e6,
		    ours_ns / 1e6);
}

static void put_summary(const json_t *o, const char *what, const char *ours, const char *note,
			struct loadgen_run *r)
{
	for (size_t k = 0; k < ARRAY_SIZE(summary_stats); k++) {
		AUTO_FREE char *theirs = xasprintf("%s_%s_ms", summary_stats[k][0], what);
		AUTO_FREE char *name = ours ? xasprintf("%s.%s", ours, summary_stats[k][1]) : NULL;

		loadgen_put(r, name, theirs, UNIT_NS, 1e6 * json_num(o, theirs), note);
	}
}

static int put_samples(const json_t *o, const struct arrays *a, struct loadgen_run *r,
		       struct err *err)
{
	struct samples ttft CLEANUP(samples_release) = { 0 };
	struct samples itl CLEANUP(samples_release) = { 0 };
	struct samples tpot CLEANUP(samples_release) = { 0 };
	int64_t ok = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!is_ok(a, i))
			continue;
		one_request(a, i, &ttft, &itl, &tpot);
		ok++;
	}
	if (ok != r->ok)
		return bail(err, ERR_PARSE, "'completed' is %lld, but %lld requests have an answer",
			    (long long)r->ok, (long long)ok);
	TRY(agrees(o, "mean_ttft_ms", mean_of(&ttft), err));
	TRY(agrees(o, "mean_itl_ms", mean_of(&itl), err));
	TRY(agrees(o, "mean_tpot_ms", mean_of(&tpot), err));
	loadgen_put_samples(r, "ttft_from_start", &ttft, "from its samples");
	loadgen_put_samples(r, "itl", &itl, "from its samples");
	loadgen_put_samples(r, "tpot", &tpot, "from its samples: sum of gaps / (tokens - 1)");
	put_summary(o, "e2el", "e2e_from_start", NULL, r);
	return 0;
}

static void put_summaries(const json_t *o, struct loadgen_run *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(summary_of); i++)
		put_summary(o, summary_of[i][0], summary_of[i][1], NULL, r);
}

static char *label_of(const json_t *o)
{
	const json_t *rate = json_object_get(o, "request_rate");
	double cap = json_num(o, "max_concurrency");
	struct str s = { 0 };

	if (json_is_number(rate))
		str_addf(&s, "rate %g/s", json_number_value(rate));
	else
		str_addf(&s, "rate %s", json_is_string(rate) ? json_string_value(rate) : "inf");
	if (cap > 0)
		str_addf(&s, ", at most %g at a time", cap);
	return str_steal(&s);
}

int vllm_serve_read(const json_t *o, struct loadgen *g, struct err *err)
{
	AUTO_FREE char *label = label_of(o);
	double completed = json_num(o, "completed"), asked = json_num(o, "num_prompts");
	double duration = json_num(o, "duration");
	double failed = json_num(o, "failed");
	struct loadgen_run *r;
	struct arrays a;

	if (!(completed >= 0 && completed < 1e9) || !(duration > 0))
		return bail(err, ERR_PARSE, "'completed' or 'duration' is no number");
	g->tool = "vLLM bench serve";
	g->model = xstrdup(json_string_value(json_object_get(o, "model_id")));
	r = loadgen_run_add(g, label);
	r->ok = (int64_t)completed;
	if (isnan(failed) && asked >= completed)
		failed = asked - completed;
	if (failed >= 0 && failed < 1e9)
		r->failed = (int64_t)failed;
	if (find_arrays(o, &a)) {
		g->form = "JSON with samples";
		TRY(put_samples(o, &a, r, err));
	} else {
		g->form = "JSON, summary only";
		put_summaries(o, r);
	}
	loadgen_put(r, "throughput", "request_throughput", UNIT_REQUESTS_PER_S,
		    completed / duration, "completed / duration");
	loadgen_put(r, "output_tokens_per_s", "output_throughput", UNIT_TOKENS_PER_S,
		    json_num(o, "output_throughput"), "over the whole run");
	loadgen_put(r, NULL, "total_token_throughput", UNIT_TOKENS_PER_S,
		    json_num(o, "total_token_throughput"), "counts the prompts' tokens as well");
	loadgen_put(r, NULL,
		    json_object_get(o, "request_goodput:") ? "request_goodput:" : "request_goodput",
		    UNIT_REQUESTS_PER_S,
		    fmax(json_num(o, "request_goodput:"), json_num(o, "request_goodput")),
		    "a rate, where ours is a share of the requests scheduled");
	strs_add(&g->notes, "latencies count from the sending; the wait for a place under "
			    "max_concurrency is in none of them");
	return 0;
}

/*
 * SGLang's bench_serving, a line for each run. Like vLLM's, from which it comes, but: a gap is
 * divided by the tokens that came with it (older versions don't), and the end of the latency in its
 * tpot is the last line of the stream.
 */
static const char sglang_gap[] = "a gap is divided by the tokens that came with it: no gap between "
				 "events";

static void sglang_samples(const json_t *o, const struct arrays *a, struct loadgen_run *r)
{
	struct samples ttft CLEANUP(samples_release) = { 0 };
	struct samples itl CLEANUP(samples_release) = { 0 };
	struct samples tpot CLEANUP(samples_release) = { 0 };
	int64_t ok = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!is_ok(a, i))
			continue;
		one_request(a, i, &ttft, &itl, &tpot);
		ok++;
	}
	if (ok == r->ok)
		r->failed = (int64_t)a->n - ok;
	loadgen_put_samples(r, "ttft_from_start", &ttft, "from its samples");
	loadgen_put_samples(r, "tpot", &tpot, "from its samples: sum of gaps / (tokens - 1)");
	put_summary(o, "e2e_latency", "e2e_from_start", NULL, r);
}

int sglang_serve_read(const json_t *o, struct loadgen *g, struct err *err)
{
	AUTO_FREE char *label = label_of(o);
	double completed = json_num(o, "completed"), duration = json_num(o, "duration");
	struct loadgen_run *r;
	struct arrays a;

	if (!(completed >= 0 && completed < 1e9) || !(duration > 0))
		return bail(err, ERR_PARSE, "'completed' or 'duration' is no number");
	g->tool = "SGLang bench_serving";
	g->form = "JSON lines";
	r = loadgen_run_add(g, label);
	r->ok = (int64_t)completed;
	if (find_arrays(o, &a)) {
		sglang_samples(o, &a, r);
	} else {
		put_summary(o, "ttft", "ttft_from_start", NULL, r);
		put_summary(o, "tpot", "tpot", NULL, r);
		put_summary(o, "e2e_latency", "e2e_from_start", NULL, r);
	}
	put_summary(o, "itl", NULL, sglang_gap, r);
	loadgen_put(r, "throughput", "request_throughput", UNIT_REQUESTS_PER_S,
		    completed / duration, "completed / duration");
	loadgen_put(r, "output_tokens_per_s", "output_throughput", UNIT_TOKENS_PER_S,
		    json_num(o, "output_throughput"), "over the whole run");
	strs_add(&g->notes, "latencies count from the sending; how many requests failed is not in "
			    "a summary");
	return 0;
}

/* All prompts at once, offline. */
int vllm_throughput_read(const json_t *o, struct loadgen *g, struct err *err)
{
	double n = json_num(o, "num_requests"), took = json_num(o, "elapsed_time");
	struct loadgen_run *r;

	if (!(n >= 0 && n < 1e9) || !(took > 0))
		return bail(err, ERR_PARSE, "'num_requests' or 'elapsed_time' is no number");
	g->tool = "vLLM bench throughput";
	g->form = "JSON";
	r = loadgen_run_add(g, "offline");
	r->ok = (int64_t)n;
	loadgen_put(r, "throughput", "requests_per_second", UNIT_REQUESTS_PER_S, n / took,
		    "num_requests / elapsed_time");
	loadgen_put(r, NULL, "tokens_per_second", UNIT_TOKENS_PER_S,
		    json_num(o, "tokens_per_second"), "counts the prompts' tokens as well");
	strs_add(&g->notes, "no server: all prompts were there at once");
	return 0;
}

int vllm_latency_read(const json_t *o, struct loadgen *g, struct err *err)
{
	const json_t *list = json_object_get(o, "latencies"), *v;
	struct samples n CLEANUP(samples_release) = { 0 };
	struct loadgen_run *r;
	size_t i;

	json_array_foreach(list, i, v) samples_add(&n, 1e9 * json_number_value(v));
	if (n.n == 0)
		return bail(err, ERR_PARSE, "no latency in 'latencies'");
	if (fabs(mean_of(&n) - 1e9 * json_num(o, "avg_latency")) > 1e-6 * mean_of(&n))
		return bail(err, ERR_PARSE, "'avg_latency' is not the mean of 'latencies'");
	g->tool = "vLLM bench latency";
	g->form = "JSON";
	r = loadgen_run_add(g, NULL);
	r->ok = (int64_t)n.n;
	loadgen_put_samples(r, "batch", &n, "one whole batch, without a server");
	strs_add(&g->notes, "the file tells neither model nor batch size nor hardware");
	return 0;
}

/* ---- console --------------------------------------------------------------------------------- */

struct row {
	const char *label, *name;
	enum unit unit;
	double scale;
	const char *why; /* of one that is none of ours */
};
static const struct row rows[] = {
	{ "Request throughput (req/s):", "throughput", UNIT_REQUESTS_PER_S, 1, NULL },
	{ "Output token throughput (tok/s):", "output_tokens_per_s", UNIT_TOKENS_PER_S, 1, NULL },
	{ "Total Token throughput (tok/s):", NULL, UNIT_TOKENS_PER_S, 1,
	  "counts the prompts' tokens as well" },
	{ "Total token throughput (tok/s):", NULL, UNIT_TOKENS_PER_S, 1,
	  "counts the prompts' tokens as well" },
	{ "Peak concurrent requests:", NULL, UNIT_COUNT, 1,
	  "counted by whole seconds, so more than were ever in flight at once" },
	{ "Request goodput (req/s):", NULL, UNIT_REQUESTS_PER_S, 1,
	  "a rate, where ours is a share of the requests scheduled" },
};

static bool latency_row(struct sv label, char *name, size_t room)
{
	static const struct {
		const char *label, *name;
	} whats[] = { { "TTFT (ms)", "ttft_from_start" },
		      { "TPOT (ms)", "tpot" },
		      { "ITL (ms)", "itl" },
		      { "E2EL (ms)", "e2e_from_start" },
		      { "E2E Latency (ms)", "e2e_from_start" } };
	static const struct {
		const char *label, *name;
	} stats[] = { { "Mean", "mean" }, { "Median", "p50" }, { "P50", "p50" },
		      { "P90", "p90" },   { "P95", "p95" },    { "P99", "p99" } };

	for (size_t i = 0; i < ARRAY_SIZE(whats); i++)
		for (size_t k = 0; k < ARRAY_SIZE(stats); k++) {
			AUTO_FREE char *want = xasprintf("%s %s", stats[k].label, whats[i].label);

			if (!sv_is(label, want))
				continue;
			snprintf(name, room, "%s.%s", whats[i].name, stats[k].name);
			return true;
		}
	return false;
}

static void console_line(struct loadgen_run *r, struct sv line, bool sglang)
{
	ptrdiff_t colon = sv_find(line, SV(":"));
	struct sv label, value;
	AUTO_FREE char *theirs = NULL;
	char name[64];
	double v;

	if (colon < 0)
		return;
	label = (struct sv){ line.p, (size_t)colon };
	value = sv_trim((struct sv){ line.p + colon + 1, line.n - (size_t)colon - 1 });
	if (!sv_to_f64(value, &v) || !(v >= 0 && v < 1e15))
		return;
	if (sv_is(label, "Successful requests"))
		r->ok = (int64_t)v;
	if (sv_is(label, "Failed requests"))
		r->failed = (int64_t)v;
	theirs = sv_dup(label);
	if (latency_row(label, name, sizeof(name))) {
		bool gap = sglang && str_starts(name, "itl.");

		loadgen_put(r, gap ? NULL : name, theirs, UNIT_NS, 1e6 * v,
			    gap ? sglang_gap : NULL);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (sv_starts(line, rows[i].label))
			loadgen_put(r, rows[i].name, theirs, rows[i].unit, v * rows[i].scale,
				    rows[i].why);
}

int vllm_console_read(struct sv text, struct loadgen *g, struct err *err)
{
	struct loadgen_run *r = NULL;
	struct str s CLEANUP(str_release) = { 0 };
	bool ended = false, sglang = sv_find(text, SV("E2E Latency (ms):")) >= 0;

	g->tool = sglang ? "SGLang bench_serving" : "vLLM bench serve";
	g->form = "console";
	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		line = sv_trim(line_clean(line, &s));
		if (sv_find(line, SV("= Serving Benchmark Result =")) >= 0) {
			r = loadgen_run_add(g, NULL);
			ended = false;
		} else if (r && !ended) {
			ended = sv_starts(line, "==========");
			console_line(r, line, sglang);
		}
	}
	if (!r || !ended || r->ok < 0)
		return bail(err, ERR_PARSE, "vLLM's table is cut short");
	strs_add(&g->notes,
		 "rounded for the console; the number of failed requests is missing from "
		 "older versions");
	return 0;
}
