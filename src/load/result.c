/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "load/server.h"

#include "base/crypto.h"
#include "stat/stat.h"

#include <math.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *scaled(double v, double scale)
{
	if (isnan(v))
		return NULL;
	if (isinf(v))
		return json_string(v > 0 ? "inf" : "-inf");
	if (fabs(v * scale) > 9007199254740991.0)
		return json_string("out of range");
	return json_integer(llround(v * scale));
}

static json_t *metrics_json(const struct load_result *r)
{
	struct measurements m CLEANUP(measurements_release) = { 0 };
	json_t *list = json_array();

	load_metrics(r, &m);
	for (size_t i = 0; i < m.n; i++) {
		json_t *v = scaled(m.v[i].value, unit_scale(m.v[i].unit)), *o;

		if (!v)
			continue;
		o = json_object();
		json_put_str(o, "name", m.v[i].name);
		json_put_str(o, "unit", unit_name(m.v[i].unit));
		json_put_str(o, "direction", direction_name(m.v[i].dir));
		json_put(o, "value", v);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *audit_json(const struct load_audit *a)
{
	json_t *o = json_object();

	json_put_bool(o, "client_limited", a->client_limited);
	json_put_str(o, "reasons", a->reasons);
	json_put_int(o, "wall_ns", a->wall_ns);
	json_put_int(o, "cpu_ns", a->cpu_ns);
	if (a->runq_ns >= 0)
		json_put_int(o, "run_queue_ns", a->runq_ns);
	json_put(o, "cpu_share_e9", scaled(a->cpu_share, 1e9));
	json_put_int(o, "token_events", (int64_t)a->events);
	json_put_int(o, "merged_events", (int64_t)a->merged);
	json_put_int(o, "late_events", (int64_t)a->late);
	json_put_int(o, "unstamped_events", (int64_t)a->unstamped);
	json_put_int(o, "reads", (int64_t)a->reads);
	json_put_int(o, "wakes", (int64_t)a->wakes);
	json_put(o, "stamp_lag_p50_ns", scaled(a->stamp_lag_p50_ns, 1));
	json_put(o, "stamp_lag_p99_ns", scaled(a->stamp_lag_p99_ns, 1));
	json_put(o, "stamp_lag_max_ns", scaled(a->stamp_lag_max_ns, 1));
	json_put(o, "schedule_lag_p50_ns", scaled(a->lag_p50_ns, 1));
	json_put(o, "schedule_lag_p99_ns", scaled(a->lag_p99_ns, 1));
	json_put(o, "schedule_lag_max_ns", scaled(a->lag_max_ns, 1));
	json_put(o, "rate_asked_e6", scaled(a->rate_asked, 1e6));
	json_put(o, "rate_achieved_e6", scaled(a->rate_achieved, 1e6));
	json_put(o, "in_flight_mean_e6", scaled(a->in_flight_mean, 1e6));
	json_put(o, "little_e6", scaled(a->little, 1e6));
	json_put_int(o, "clock_steps", (int64_t)a->clock_steps);
	json_put_int(o, "allocations", (int64_t)a->allocations);
	json_put_bool(o, "kernel_stamps", a->stamps);
	json_put_bool(o, "priority", a->priority);
	json_put_bool(o, "out_of_sockets", a->out_of_sockets);
	return o;
}

static json_t *conf_json(const struct load_result *r)
{
	static const char *const latencies[] = { "ttft", "itl", "tpot", "e2e" };
	json_t *o = json_object(), *list = json_array();

	json_put_str(o, "url", r->url);
	json_put_str(o, "model", r->model);
	json_put_str(o, "proxy", r->proxy);
	json_put_str(o, "engine", load_engine_name(r->engine));
	json_put_str(o, "endpoint", load_endpoint_name(r->endpoint));
	json_put_str(o, "arrival", load_arrival_name(r->arrival));
	json_put(o, "rate_e6", scaled(r->rate, 1e6));
	json_put(o, "rate_to_e6", scaled(r->rate_to, 1e6));
	json_put(o, "burstiness_e6", scaled(r->burstiness, 1e6));
	json_put_int(o, "concurrency", r->concurrency);
	json_put_int(o, "max_in_flight", r->max_in_flight);
	json_put_int(o, "client_lag_ns", r->client_lag_ns);
	json_put_int(o, "loops", r->loops);
	if (r->shards) {
		json_put_int(o, "shard", r->shard);
		json_put_int(o, "shards", r->shards);
	}
	if (r->golden_tolerance > 0)
		json_put(o, "golden_tolerance_e9", scaled(r->golden_tolerance, 1e9));
	json_put(o, "seed", json_integer((json_int_t)(r->seed & INT64_MAX)));
	json_put_int(o, "duration_ns", r->duration_ns);
	json_put_int(o, "timeout_ns", r->timeout_ns);
	json_put_bool(o, "ignore_eos", r->ignore_eos);
	json_put_bool(o, "stream", !r->no_stream);
	json_put_bool(o, "keep_alive", !r->no_keep_alive);
	json_put_bool(o, "tls_verified", !r->tls_insecure);
	if (r->prompts_digest[0])
		json_put_str(o, "prompts_digest", r->prompts_digest);
	json_put_str(o, "schedule_digest", r->schedule_digest);
	for (size_t i = 0; i < r->n_objectives; i++) {
		json_t *v = json_object();

		json_put_str(v, "latency", latencies[r->objectives[i].what]);
		json_put(v, "p_e9", scaled(r->objectives[i].p, 1e9));
		json_put_int(v, "limit_ns", r->objectives[i].limit_ns);
		json_array_append_new(list, v);
	}
	json_put(o, "objectives", list);
	return o;
}

/* How many requests failed for which reason, most first. */
struct failure {
	uint8_t outcome;
	const char *detail;
	size_t n;
};
struct failures {
	struct failure v[64];
	size_t n;
};

static int most_first(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	if (x->outcome != y->outcome)
		return x->outcome < y->outcome ? -1 : 1;
	return strcmp(x->detail, y->detail);
}

static void count_failures(const struct load_result *r, struct failures *f)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		size_t k = 0;

		if (q->outcome == LOAD_OK)
			continue;
		while (k < f->n &&
		       (f->v[k].outcome != q->outcome || !streq(f->v[k].detail, q->detail)))
			k++;
		if (k == ARRAY_SIZE(f->v))
			continue;
		if (k == f->n)
			f->v[f->n++] = (struct failure){ q->outcome, q->detail, 0 };
		f->v[k].n++;
	}
	qsort(f->v, f->n, sizeof(f->v[0]), most_first);
}

static json_t *failures_json(const struct load_result *r)
{
	struct failures f = { 0 };
	json_t *list = json_array();

	count_failures(r, &f);
	for (size_t i = 0; i < f.n; i++) {
		json_t *o = json_object();

		json_put_str(o, "outcome", load_outcome_name((enum load_outcome)f.v[i].outcome));
		json_put_str(o, "detail", f.v[i].detail);
		json_put_int(o, "requests", (int64_t)f.v[i].n);
		json_array_append_new(list, o);
	}
	return list;
}

/* Digest of all answers in order of schedule: equal runs of a deterministic server agree in it. */
static void answers_digest(const struct load_result *r, char ret[SHA256_HEX])
{
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t digest[SHA256_LEN];

	sha256_init(&h);
	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		char line[64];
		int n = snprintf(line, sizeof(line), "%u %u\n", q->prompt, q->answer_n);

		sha256_add(&h, line, (size_t)n);
		sha256_add(&h, r->text + q->answer_at, q->answer_n);
	}
	sha256_end(&h, digest);
	hex_of(digest, sizeof(digest), ret);
}

/* Clopper and Pearson, 95 %, two-sided: of requests scheduled, those that met every objective. */
static void goodput_interval(const struct load_result *r, json_t *o)
{
	unsigned n = 0, good = 0;

	for (size_t i = 0; i < r->n; i++) {
		n += r->v[i].outcome != LOAD_CANCELLED;
		good += r->v[i].outcome != LOAD_CANCELLED && r->v[i].good;
	}
	if (!n || !r->n_objectives)
		return;
	json_put(o, "goodput_low_e9", scaled(cp_lower(good, n, 0.975), 1e9));
	json_put(o, "goodput_high_e9", scaled(cp_upper(good, n, 0.975), 1e9));
}

/* The first answers that are not as wanted: where, by character and by event. With token counts in
 * every event the token is known as well. */
static json_t *differences_json(const struct load_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n && json_array_size(list) < 20; i++) {
		const struct load_req *q = &r->v[i];
		json_t *o;
		int64_t token = 0;

		if (q->match != LOAD_MATCH_DIFFERENT && q->match != LOAD_MATCH_NEAR)
			continue;
		o = json_object();
		json_put_int(o, "request", (int64_t)i);
		if (q->prompt < r->n_prompt_ids)
			json_put_str(o, "id", r->prompt_ids[q->prompt]);
		json_put_str(o, "match", load_match_name((enum load_match)q->match));
		json_put_int(o, "character", q->differs_at);
		json_put_int(o, "event", q->differs_event);
		for (uint32_t k = 0; k < MIN(q->differs_event, q->n_events); k++)
			token += r->events[q->events_at + k].tokens;
		if (q->source == LOAD_TOKENS_EVERY)
			json_put_int(o, "token", token);
		json_array_append_new(list, o);
	}
	return list;
}

/* Against the server's own counters: what every request that was answered got. */
static json_t *against_server(const struct load_result *r)
{
	int64_t tokens = 0, requests = 0;

	for (size_t i = 0; i < r->n; i++) {
		tokens += r->v[i].tokens;
		requests += r->v[i].outcome == LOAD_OK;
	}
	return server_json(&r->server, tokens, requests);
}

json_t *load_result_to_json(const struct load_result *r)
{
	json_t *o = json_object();
	AUTO_JSON json_t *differ = differences_json(r);
	char digest[SHA256_HEX];
	int64_t from, to;

	json_put_str(o, "schema", "twice.load/1");
	json_put_int(o, "started_at_ms", r->wall_ms);
	if (r->start_at_ms) {
		json_put_int(o, "start_asked_at_ms", r->start_at_ms);
		json_put_int(o, "start_late_ns", r->start_late_ns);
	}
	json_put_bool(o, "interrupted", r->interrupted);
	json_put(o, "conf", conf_json(r));
	json_put(o, "metrics", metrics_json(r));
	json_put(o, "failures", failures_json(r));
	json_put(o, "audit", audit_json(&r->audit));
	json_put_int(o, "warmup_requests", (int64_t)r->n_warmup);
	json_put_int(o, "warmup_ok", (int64_t)r->n_warmup_ok);
	json_put_int(o, "repeated_prompts", (int64_t)r->repeated_prompts);
	json_put_int(o, "attempts", (int64_t)r->attempts);
	goodput_interval(r, o);
	json_put(o, "definitions", definitions_json());
	json_put(o, "token_sources", token_sources_json(r));
	json_put(o, "parts", windows_json(r));
	if (r->n_objectives)
		json_put(o, "objectives", objectives_kept_json(r));
	if (r->n_stages)
		json_put(o, "stages", stages_json(r));
	if (r->server.n)
		json_put(o, "server", against_server(r));
	if (json_array_size(differ))
		json_put(o, "differences", json_incref(differ));
	answers_digest(r, digest);
	json_put_str(o, "answers_digest", digest);
	if (load_steady(r, &from, &to)) {
		json_put_int(o, "steady_from_ns", from);
		json_put_int(o, "steady_to_ns", to);
	}
	return o;
}

/* ---- text -------------------------------------------------------------------------------------
 * */

/* Value of a metric as text; NULL when it isn't there. Caller frees. */
static char *metric_text(const json_t *v, const char *name, const char *stat)
{
	AUTO_FREE char *full = xasprintf("%s%s", name, stat);
	json_t *list = json_object_get(v, "metrics"), *m;
	size_t i;

	json_array_foreach(list, i, m)
	{
		const json_t *value = json_object_get(m, "value");
		enum unit u;

		if (!streq(json_str_or(m, "name", ""), full))
			continue;
		if (!json_is_integer(value))
			return xstrdup(json_string_value(value) ? json_string_value(value) : "?");
		if (!unit_parse_name(sv_of(json_str_or(m, "unit", "")), &u))
			u = UNIT_NONE;
		return quantity_text((double)json_integer_value(value) / unit_scale(u), u);
	}
	return NULL;
}

static void add_latency(struct str *s, const json_t *v, const char *name)
{
	static const char *const stats[] = { ".mean", ".p50", ".p90", ".p95", ".p99", ".max" };
	AUTO_FREE char *median = metric_text(v, name, ".p50");

	if (!median)
		return;
	str_addf(s, "%-12s", name);
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		AUTO_FREE char *text = metric_text(v, name, stats[i]);

		str_addf(s, " %10s", text ? text : "-");
	}
	str_addc(s, '\n');
}

static void add_line(struct str *s, const json_t *v, const char *label, const char *name,
		     const char *steady)
{
	AUTO_FREE char *text = metric_text(v, name, "");
	AUTO_FREE char *more = steady ? metric_text(v, name, steady) : NULL;

	if (!text)
		return;
	str_addf(s, "%-18s %s", label, text);
	if (more)
		str_addf(s, " (steady part: %s)", more);
	str_addc(s, '\n');
}

static void add_failures(struct str *s, const json_t *v)
{
	json_t *list = json_object_get(v, "failures"), *f;
	AUTO_FREE char *p50 = metric_text(v, "ttft.p50", ".all");
	AUTO_FREE char *p99 = metric_text(v, "ttft.p99", ".all");
	size_t i;

	if (json_array_size(list) == 0)
		return;
	json_array_foreach(list, i, f)
	{
		const char *detail = json_str_or(f, "detail", "");

		str_addf(s, "  %lld %s%s%s\n", (long long)json_int_or(f, "requests", 0),
			 json_str_or(f, "outcome", "?"), detail[0] ? ": " : "", detail);
	}
	if (p50 && p99)
		str_addf(s, "  counting those as infinite: ttft p50 %s, p99 %s\n", p50, p99);
}

static void add_difference(struct str *s, const json_t *v)
{
	const json_t *d = json_array_get(json_object_get(v, "differences"), 0);

	if (d)
		str_addf(s, "  the first that differs: '%s', from character %lld in event %lld\n",
			 json_str_or(d, "id", "?"), (long long)json_int_or(d, "character", 0),
			 (long long)json_int_or(d, "event", 0));
}

/* Events that a server writes together come together: gaps of 0 that are no measure of a token. */
static void add_merged(struct str *s, const json_t *a)
{
	int64_t all = json_int_or(a, "token_events", 0);
	double share = (double)json_int_or(a, "merged_events", 0) / (double)MAX(all, INT64_C(1));

	if (share > 0.1)
		str_addf(s,
			 "%.0f %% of token events came together with others: itl has gaps of 0, "
			 "tpot is the time of a token\n",
			 100 * share);
}

static void add_server(struct str *s, const json_t *v)
{
	const json_t *server = json_object_get(v, "server");
	const json_t *totals = json_object_get(server, "totals_e6");
	int64_t theirs = json_int_or(totals, "output_tokens", -1);

	if (!server)
		return;
	str_addf(s, "%-18s %s", "server's metrics", json_str_or(server, "kind", "?"));
	if (theirs >= 0)
		str_addf(s, ", %lld output tokens by its count, %lld by ours%s",
			 (long long)(theirs / 1000000),
			 (long long)json_int_or(server, "client_output_tokens", 0),
			 json_bool_or(server, "tokens_agree", true) ? "" : ": THEY DISAGREE");
	if (json_bool_or(server, "restarted", false))
		str_add(s, ", IT RESTARTED during the run");
	str_addc(s, '\n');
}

void load_json_text(const json_t *v, struct str *out)
{
	static const char *const names[] = { "ttft", "ttft_visible", "itl",     "tpot",
					     "e2e",  "client_queue", "connect", "tls" };
	const json_t *conf = json_object_get(v, "conf"), *a = json_object_get(v, "audit");
	AUTO_FREE char *n = metric_text(v, "requests.scheduled", "");
	AUTO_FREE char *peak = metric_text(v, "peak_concurrency", "");

	str_addf(out, "%s: %s arrivals, %s requests, at most %s in flight%s\n",
		 json_str_or(conf, "url", "?"), json_str_or(conf, "arrival", "?"), n ? n : "0",
		 peak ? peak : "0", json_bool_or(v, "interrupted", false) ? ", INTERRUPTED" : "");
	str_addf(out, "%-12s %10s %10s %10s %10s %10s %10s\n", "", "mean", "p50", "p90", "p95",
		 "p99", "max");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_latency(out, v, names[i]);
	add_line(out, v, "throughput", "throughput", ".steady");
	add_line(out, v, "output", "output_tokens_per_s", ".steady");
	add_line(out, v, "errors", "errors", NULL);
	add_failures(out, v);
	add_line(out, v, "goodput", "goodput", NULL);
	add_objectives(out, v);
	add_stages(out, v);
	add_line(out, v, "answers as wanted", "answers.match", NULL);
	add_line(out, v, "... or near", "answers.near", NULL);
	add_difference(out, v);
	add_server(out, v);
	if (json_int_or(v, "repeated_prompts", 0))
		str_addf(out,
			 "%lld requests repeat a prompt sent before: a prefix cache makes those "
			 "faster\n",
			 (long long)json_int_or(v, "repeated_prompts", 0));
	add_merged(out, a);
	if (json_bool_or(a, "client_limited", false))
		str_addf(out, "CLIENT LIMITED, no verdict can rest on this: %s\n",
			 json_str_or(a, "reasons", "?"));
}

char *load_result_text(const struct load_result *r)
{
	AUTO_JSON json_t *v = load_result_to_json(r);
	struct str s = { 0 };

	load_json_text(v, &s);
	return str_steal(&s);
}

char *load_golden_text(const struct load_result *r)
{
	AUTO_FREE bool *seen = xcalloc(r->n_prompt_ids + 1, sizeof(*seen));
	struct str s = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		AUTO_JSON json_t *o = NULL;
		AUTO_FREE char *text = NULL;

		if (q->outcome != LOAD_OK || q->answer_cut || q->prompt >= r->n_prompt_ids ||
		    seen[q->prompt])
			continue;
		seen[q->prompt] = true;
		o = json_object();
		json_put_str(o, "id", r->prompt_ids[q->prompt]);
		json_put(o, "answer", json_stringn(r->text + q->answer_at, q->answer_n));
		text = json_text(o, /* pretty= */ false);
		str_add(&s, text);
		str_addc(&s, '\n');
	}
	return str_steal(&s);
}
