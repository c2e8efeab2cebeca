/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a result that have populations of their own: stages, and each objective. */
#include "load/answer.h"
#include "load/gather.h"

#include <math.h>

static const char *const latencies[] = { "ttft", "itl", "tpot", "e2e" };

static void put_quantile(json_t *o, const char *key, double *v, size_t n, double p)
{
	if (n)
		json_put_int(o, key, llround(load_quantile(v, n, p)));
}

/* ---- objectives ------------------------------------------------------------------------------ */

json_t *objectives_kept_json(const struct load_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_objectives; i++) {
		const struct load_objective *o = &r->objectives[i];
		json_t *v = json_object();
		int64_t samples = 0, kept = 0;

		for (size_t k = 0; k < r->n; k++) {
			const struct load_req *q = &r->v[k];
			double got = q->outcome == LOAD_OK
					     ? objective_sample(q, r->events + q->events_at, o)
					     : NAN;

			samples += !isnan(got);
			kept += got <= (double)o->limit_ns;
		}
		json_put_str(v, "latency", latencies[o->what]);
		json_put_int(v, "p_e9", llround(o->p * 1e9));
		json_put_int(v, "limit_ns", o->limit_ns);
		json_put_int(v, "samples", samples);
		json_put_int(v, "kept", kept);
		json_array_append_new(list, v);
	}
	return list;
}

void add_objectives(struct str *s, const json_t *v)
{
	json_t *list = json_object_get(v, "objectives"), *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		double p = (double)json_int_or(o, "p_e9", 0) / 1e9;
		AUTO_FREE char *limit =
			quantity_text((double)json_int_or(o, "limit_ns", 0), UNIT_NS);

		str_addf(s, "  %s", json_str_or(o, "latency", "?"));
		if (streq(json_str_or(o, "latency", ""), "itl") && p < 1)
			str_addf(s, ".p%g", 100 * p);
		str_addf(s, " <= %s: kept by %lld of the %lld that have it\n", limit,
			 (long long)json_int_or(o, "kept", 0),
			 (long long)json_int_or(o, "samples", 0));
	}
}

/* ---- token sources, windows ------------------------------------------------------------------ */

json_t *token_sources_json(const struct load_result *r)
{
	int64_t by[LOAD_TOKENS_EVENT + 1] = { 0 };
	json_t *o = json_object();

	for (size_t i = 0; i < r->n; i++)
		by[r->v[i].source]++;
	for (int i = 0; i <= LOAD_TOKENS_EVENT; i++)
		if (by[i])
			json_put_int(o, load_token_source_name((enum load_token_source)i), by[i]);
	return o;
}

static json_t *one_window(const struct load_result *r, const char *name, int64_t from, int64_t to)
{
	AUTO_FREE double *ttft = xcalloc(r->n + 1, sizeof(*ttft));
	json_t *o = json_object();
	int64_t requests = 0, ok = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		if (q->begun == LOAD_NONE || q->begun < from || q->begun >= to ||
		    q->outcome == LOAD_CANCELLED)
			continue;
		requests++;
		ok += q->outcome == LOAD_OK;
		if (q->outcome == LOAD_OK && q->first_token != LOAD_NONE)
			ttft[n++] = (double)(q->first_token - q->scheduled);
	}
	json_put_str(o, "part", name);
	json_put_int(o, "from_ns", from);
	json_put_int(o, "to_ns", to);
	json_put_int(o, "requests", requests);
	json_put_int(o, "ok", ok);
	put_quantile(o, "ttft_p50_ns", ttft, n, 0.5);
	put_quantile(o, "ttft_p99_ns", ttft, n, 0.99);
	return o;
}

json_t *windows_json(const struct load_result *r)
{
	int64_t from, to, first = 0, last = 0;
	json_t *list;

	if (!load_steady(r, &from, &to))
		return NULL;
	for (size_t i = 0; i < r->n; i++) {
		first = MIN(first, r->v[i].begun == LOAD_NONE ? first : r->v[i].begun);
		last = MAX(last, r->v[i].end == LOAD_NONE ? last : r->v[i].end);
	}
	list = json_array();
	json_array_append_new(list, one_window(r, "ramp", first, from));
	json_array_append_new(list, one_window(r, "steady", from, to));
	json_array_append_new(list, one_window(r, "drain", to, MAX(last, to) + 1));
	return list;
}

/* ---- stages ---------------------------------------------------------------------------------- */

struct stage_of {
	int64_t from, to;
	double *delay, *ttft;
	size_t scheduled, inside, late, ok, n_delay, n_ttft;
};

static void count_stage(const struct load_result *r, struct stage_of *s)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		bool mine = q->scheduled >= s->from && q->scheduled < s->to && !q->turn;

		if (q->outcome == LOAD_CANCELLED)
			continue;
		if (q->begun != LOAD_NONE)
			s->inside += q->begun >= s->from && q->begun < s->to;
		if (!mine)
			continue;
		s->scheduled++;
		s->late += q->begun == LOAD_NONE || q->begun >= s->to;
		if (q->begun != LOAD_NONE)
			s->delay[s->n_delay++] = (double)(q->begun - q->scheduled);
		if (q->outcome != LOAD_OK)
			continue;
		s->ok++;
		if (q->first_token != LOAD_NONE)
			s->ttft[s->n_ttft++] = (double)(q->first_token - q->scheduled);
	}
}

static json_t *one_stage(const struct load_result *r, double rate, struct stage_of *s)
{
	json_t *o = json_object();

	count_stage(r, s);
	json_put_int(o, "from_ns", s->from);
	json_put_int(o, "to_ns", s->to);
	json_put_int(o, "rate_asked_e6", llround(rate * 1e6));
	json_put_int(o, "rate_achieved_e6",
		     llround((double)s->inside * 1e15 / (double)(s->to - s->from)));
	json_put_int(o, "scheduled", (int64_t)s->scheduled);
	json_put_int(o, "begun_late", (int64_t)s->late);
	json_put_int(o, "ok", (int64_t)s->ok);
	put_quantile(o, "delay_p50_ns", s->delay, s->n_delay, 0.5);
	put_quantile(o, "delay_p99_ns", s->delay, s->n_delay, 0.99);
	put_quantile(o, "delay_max_ns", s->delay, s->n_delay, 1);
	put_quantile(o, "ttft_p50_ns", s->ttft, s->n_ttft, 0.5);
	put_quantile(o, "ttft_p99_ns", s->ttft, s->n_ttft, 0.99);
	return o;
}

json_t *stages_json(const struct load_result *r)
{
	AUTO_FREE double *delay = xcalloc(r->n + 1, sizeof(*delay));
	AUTO_FREE double *ttft = xcalloc(r->n + 1, sizeof(*ttft));
	json_t *list = json_array();
	int64_t from = 0;

	for (size_t i = 0; i < r->n_stages; i++) {
		struct stage_of s = { .from = from,
				      .to = from + r->stages[i].duration_ns,
				      .delay = delay,
				      .ttft = ttft };

		json_array_append_new(list, one_stage(r, r->stages[i].rate, &s));
		from = s.to;
	}
	return list;
}

static char *time_text(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return v ? quantity_text((double)json_integer_value(v), UNIT_NS) : xstrdup("-");
}

void add_stages(struct str *s, const json_t *v)
{
	json_t *list = json_object_get(v, "stages"), *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		AUTO_FREE char *delay = time_text(o, "delay_p99_ns");
		AUTO_FREE char *p50 = time_text(o, "ttft_p50_ns");
		AUTO_FREE char *p99 = time_text(o, "ttft_p99_ns");
		long long late = (long long)json_int_or(o, "begun_late", 0);

		str_addf(s, "stage %zu            %.4g/s of %.4g, begun p99 %s after their time",
			 i + 1, (double)json_int_or(o, "rate_achieved_e6", 0) / 1e6,
			 (double)json_int_or(o, "rate_asked_e6", 0) / 1e6, delay);
		if (late)
			str_addf(s, ", %lld OF %lld AFTER THE STAGE", late,
				 (long long)json_int_or(o, "scheduled", 0));
		str_addf(s, ", ttft p50 %s p99 %s\n", p50, p99);
	}
}
