/* SPDX-License-Identifier: Apache-2.0 */
/* Member names and definitions: vllm/benchmarks/serve.py and lib/endpoint_request_func.py, 0.10. */
#include "load/load.h"

#include "base/clock.h"
#include "base/vec.h"
#include "load/answer.h"
#include "stat/stat.h"

#include <math.h>

struct samples {
	double *v; /* ms */
	size_t n, room;
};

static void add(struct samples *s, double ns)
{
	if (!isnan(ns))
		*VEC_ADD(s) = ns / 1e6;
}

static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static void put_stats(json_t *o, const char *name, struct samples *s)
{
	char key[64];

	sort_doubles(s->v, s->n);
	snprintf(key, sizeof(key), "mean_%s_ms", name);
	json_put(o, key, number(mean(s->v, s->n)));
	snprintf(key, sizeof(key), "median_%s_ms", name);
	json_put(o, key, number(quantile_sorted(s->v, s->n, 0.5)));
	snprintf(key, sizeof(key), "std_%s_ms", name);
	json_put(o, key, number(s->n > 1 ? stdev(s->v, s->n) : 0));
	for (int p = 90; p <= 99; p += p == 90 ? 5 : 4) {
		snprintf(key, sizeof(key), "p%d_%s_ms", p, name);
		json_put(o, key, number(quantile_sorted(s->v, s->n, p / 100.0)));
	}
	free(s->v);
}

struct totals {
	size_t ok;
	double in, out, seconds;
};

static struct totals total(const struct load_result *r)
{
	struct totals t = { 0 };
	int64_t from = INT64_MAX, to = INT64_MIN;

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		from = MIN(from, q->scheduled);
		if (q->end != LOAD_NONE)
			to = MAX(to, q->end);
		if (q->outcome != LOAD_OK)
			continue;
		t.ok++;
		t.in += q->prompt_tokens;
		t.out += q->tokens;
	}
	t.seconds = r->n && to > from ? (double)(to - from) / 1e9 : NAN;
	return t;
}

static json_t *gaps_of(const struct load_result *r, const struct load_req *q, struct samples *itl)
{
	json_t *list = json_array();

	for (uint32_t k = 1; q->outcome == LOAD_OK && k < q->n_events; k++) {
		double gap = (double)(r->events[q->events_at + k].at -
				      r->events[q->events_at + k - 1].at);

		json_array_append_new(list, json_real(gap / 1e9));
		add(itl, gap);
	}
	return list;
}

static void put_requests(const struct load_result *r, json_t *o)
{
	json_t *in = json_array(), *out = json_array(), *ttfts = json_array(), *itls = json_array();
	json_t *texts = json_array(), *errors = json_array();
	struct samples ttft = { 0 }, tpot = { 0 }, itl = { 0 }, e2e = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		bool ok = q->outcome == LOAD_OK, first = ok && q->first_token != LOAD_NONE;
		double first_ns = first ? (double)(q->first_token - q->begun) : 0;
		/* Its latency ends with the last piece of text, not with the body. */
		int64_t last = q->last_token != LOAD_NONE ? q->last_token : q->end;
		double all_ns = ok ? (double)(last - q->begun) : 0;

		json_array_append_new(in, json_integer(q->prompt_tokens));
		json_array_append_new(out, json_integer(ok ? q->tokens : 0));
		json_array_append_new(ttfts, json_real(first_ns / 1e9));
		json_array_append_new(itls, gaps_of(r, q, &itl));
		json_array_append_new(texts, json_stringn(r->text + q->answer_at, q->answer_n));
		json_array_append_new(
			errors, ok ? json_string("")
				   : json_sprintf("%s: %s",
						  load_outcome_name((enum load_outcome)q->outcome),
						  q->detail));
		if (!ok)
			continue;
		add(&e2e, all_ns);
		if (first)
			add(&ttft, first_ns);
		if (first && q->tokens > 1)
			add(&tpot, (all_ns - first_ns) / (q->tokens - 1));
	}
	json_put(o, "input_lens", in);
	json_put(o, "output_lens", out);
	json_put(o, "ttfts", ttfts);
	json_put(o, "itls", itls);
	json_put(o, "generated_texts", texts);
	json_put(o, "errors", errors);
	put_stats(o, "ttft", &ttft);
	put_stats(o, "tpot", &tpot);
	put_stats(o, "itl", &itl);
	put_stats(o, "e2el", &e2e);
}

static void put_date(const struct load_result *r, json_t *o)
{
	AUTO_FREE char *utc = time_utc(r->wall_ms); /* 2026-12-01T10:04:00.000Z */
	char date[16];

	snprintf(date, sizeof(date), "%.4s%.2s%.2s-%.2s%.2s%.2s", utc, utc + 5, utc + 8, utc + 11,
		 utc + 14, utc + 17);
	json_put_str(o, "date", date);
}

json_t *load_vllm_json(const struct load_result *r)
{
	json_t *o = json_object();
	struct totals t = total(r);
	bool closed = r->arrival == LOAD_CLOSED;

	put_date(r, o);
	json_put_str(o, "backend", r->endpoint == LOAD_CHAT ? "openai-chat" : "openai");
	json_put(o, "model_id", r->model ? json_string(r->model) : json_null());
	json_put(o, "tokenizer_id", json_null());
	json_put_int(o, "num_prompts", (int64_t)r->n);
	json_put(o, "request_rate", closed ? json_string("inf") : json_real(r->rate));
	json_put(o, "burstiness", json_real(r->burstiness));
	json_put(o, "max_concurrency",
		 closed             ? json_integer(r->concurrency)
		 : r->max_in_flight ? json_integer(r->max_in_flight)
				    : json_null());
	json_put(o, "duration", number(t.seconds));
	json_put_int(o, "completed", (int64_t)t.ok);
	json_put_int(o, "failed", (int64_t)(r->n - t.ok));
	json_put_int(o, "total_input_tokens", (int64_t)t.in);
	json_put_int(o, "total_output_tokens", (int64_t)t.out);
	json_put(o, "request_throughput", number((double)t.ok / t.seconds));
	json_put(o, "output_throughput", number(t.out / t.seconds));
	json_put(o, "total_token_throughput", number((t.in + t.out) / t.seconds));
	put_requests(r, o);
	return o;
}
