/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"

#include "base/vec.h"
#include "stat/stat.h"

#include <math.h>

/* ---- samples ----------------------------------------------------------------------------------
 */

double load_quantile(double *v, size_t n, double p)
{
	if (n)
		sort_doubles(v, n);
	return quantile_sorted(v, n, p);
}

struct samples {
	double *v;
	size_t n, room;
};

static void add(struct samples *s, double value)
{
	if (!isnan(value))
		*VEC_ADD(s) = value;
}

static double span(int64_t to, int64_t from)
{
	return to == LOAD_NONE || from == LOAD_NONE ? NAN : (double)(to - from);
}

enum span_of {
	S_TTFT,
	S_TTFT_FROM_START,
	S_TTFT_VISIBLE,
	S_ITL,
	S_TPOT,
	S_E2E,
	S_CLIENT_QUEUE,
	S_CONNECT,
	S_TLS,
	S_N,
};
static const char *const span_names[S_N] = {
	"ttft", "ttft_from_start", "ttft_visible", "itl", "tpot",
	"e2e",  "client_queue",    "connect",      "tls",
};

static double one_span(const struct load_result *r, const struct load_req *q, enum span_of what)
{
	switch (what) {
	case S_TTFT:
		return span(q->first_token, q->scheduled);
	case S_TTFT_FROM_START:
		return span(q->first_token, q->started);
	case S_TTFT_VISIBLE:
		return span(q->first_visible, q->scheduled);
	case S_TPOT:
		return load_tpot(q, r->events + q->events_at);
	case S_E2E:
		return span(q->end, q->scheduled);
	case S_CLIENT_QUEUE:
		return span(q->begun, q->scheduled);
	case S_CONNECT:
		return q->connect_ns == LOAD_NONE ? NAN : (double)q->connect_ns;
	case S_TLS:
		return q->tls_ns == LOAD_NONE ? NAN : (double)q->tls_ns;
	default:
		return NAN;
	}
}

static void collect(const struct load_result *r, enum span_of what, struct samples *s)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		if (q->outcome != LOAD_OK)
			continue;
		if (what != S_ITL) {
			add(s, one_span(r, q, what));
			continue;
		}
		for (uint32_t k = 1; k < q->n_events; k++)
			add(s, (double)(r->events[q->events_at + k].at -
					r->events[q->events_at + k - 1].at));
	}
}

size_t load_samples(const struct load_result *r, enum load_latency what, double **ret)
{
	static const enum span_of map[] = { S_TTFT, S_ITL, S_TPOT, S_E2E };
	struct samples s = { 0 };

	collect(r, map[what], &s);
	*ret = s.v;
	return s.n;
}

/* ---- the steady window ------------------------------------------------------------------------
 */

struct edge {
	int64_t at;
	int step;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at != y->at)
		return (x->at > y->at) - (x->at < y->at);
	return x->step - y->step;
}

static size_t edges_of(const struct load_result *r, struct edge **ret)
{
	struct edge *e = xcalloc(2 * r->n + 1, sizeof(*e));
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		if (q->begun == LOAD_NONE || q->end == LOAD_NONE)
			continue;
		e[n++] = (struct edge){ q->begun, 1 };
		e[n++] = (struct edge){ q->end, -1 };
	}
	qsort(e, n, sizeof(*e), by_time);
	*ret = e;
	return n;
}

/* Number in flight that was kept or passed for half of the time. */
static int usual_number(const struct edge *e, size_t n, unsigned peak)
{
	AUTO_FREE int64_t *time_at = xcalloc((size_t)peak + 1, sizeof(*time_at));
	int64_t all = e[n - 1].at - e[0].at, seen = 0;
	int now = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		now += e[i].step;
		time_at[MIN(MAX(now, 0), (int)peak)] += e[i + 1].at - e[i].at;
	}
	for (int k = (int)peak; k > 0; k--) {
		seen += time_at[k];
		if (2 * seen >= all)
			return k;
	}
	return 0;
}

bool load_steady(const struct load_result *r, int64_t *ret_from, int64_t *ret_to)
{
	AUTO_FREE struct edge *e = NULL;
	size_t n = edges_of(r, &e);
	int64_t from = LOAD_NONE, to = LOAD_NONE;
	int want, now = 0;

	if (n < 2)
		return false;
	want = usual_number(e, n, r->peak);
	want = (want * 9 + 9) / 10;
	for (size_t i = 0; i < n; i++) {
		bool was = now >= want;

		now += e[i].step;
		if (now >= want && from == LOAD_NONE)
			from = e[i].at;
		if (was || now >= want)
			to = e[i].at;
	}
	if (from == LOAD_NONE || to - from < NS_PER_MS)
		return false;
	*ret_from = from;
	*ret_to = to;
	return true;
}

/* ---- metrics ----------------------------------------------------------------------------------
 */

static const struct stat {
	const char *name;
	double p; /* < 0: the mean */
} stats[] = {
	{ "mean", -1 },  { "p50", 0.5 },  { "p90", 0.9 },
	{ "p95", 0.95 }, { "p99", 0.99 }, { "max", 1 },
};

static double stat_of(const struct samples *s, double p)
{
	if (s->n == 0)
		return NAN;
	if (p >= 0)
		return quantile_sorted(s->v, s->n, p);
	return mean(s->v, s->n);
}

static void put(struct measurements *m, const char *name, enum unit u, enum direction d, double v)
{
	(void)measurements_add(m, name, u, d, v);
}

static void put_span(const struct load_result *r, enum span_of what, struct measurements *m)
{
	struct samples s = { 0 };
	char name[64];

	collect(r, what, &s);
	if (s.n)
		sort_doubles(s.v, s.n);
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		snprintf(name, sizeof(name), "%s.%s", span_names[what], stats[i].name);
		put(m, name, UNIT_NS, LOWER_IS_BETTER, stat_of(&s, stats[i].p));
	}
	if (what == S_TTFT || what == S_E2E) {
		/* The second column: who failed waited forever. */
		for (size_t i = 0; i < r->n; i++)
			if (r->v[i].outcome != LOAD_OK && r->v[i].outcome != LOAD_CANCELLED)
				*VEC_ADD(&s) = INFINITY;
		for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
			snprintf(name, sizeof(name), "%s.%s.all", span_names[what], stats[i].name);
			put(m, name, UNIT_NS, LOWER_IS_BETTER, stat_of(&s, stats[i].p));
		}
	}
	free(s.v);
}

struct counts {
	size_t by[LOAD_OUTCOMES], all, good, golden, same, near;
	size_t contradictions, reconnects, merged;
};

static struct counts count(const struct load_result *r)
{
	struct counts c = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		c.by[q->outcome]++;
		if (q->outcome == LOAD_CANCELLED)
			continue;
		c.all++;
		c.good += q->good;
		c.golden += q->match != LOAD_MATCH_NONE;
		c.same += q->match == LOAD_MATCH_SAME;
		c.near += q->match == LOAD_MATCH_SAME || q->match == LOAD_MATCH_NEAR;
		c.contradictions += q->contradiction;
		c.reconnects += q->reconnects;
	}
	return c;
}

static double ratio(size_t part, size_t of)
{
	return of ? (double)part / (double)of : NAN;
}

/* Whole run: from the first request's time to the end of the last one. */
static bool whole_window(const struct load_result *r, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = INT64_MAX;
	*ret_to = INT64_MIN;
	for (size_t i = 0; i < r->n; i++) {
		*ret_from = MIN(*ret_from, r->v[i].scheduled);
		if (r->v[i].end != LOAD_NONE)
			*ret_to = MAX(*ret_to, r->v[i].end);
	}
	return r->n && *ret_to > *ret_from;
}

static double requests_in(const struct load_result *r, int64_t from, int64_t to)
{
	double n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].outcome == LOAD_OK && r->v[i].end >= from && r->v[i].end <= to;
	return n / ((double)(to - from) / 1e9);
}

/* Tokens by when they came; where only a total is known, each event carries its share of it. */
static double tokens_in(const struct load_result *r, int64_t from, int64_t to)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];
		double share = q->n_events ? (double)q->tokens / (double)q->n_events : 0;

		if (q->outcome != LOAD_OK)
			continue;
		if (q->n_events == 0 && q->has_usage && q->end >= from && q->end <= to)
			sum += q->usage_tokens; /* one whole answer */
		for (uint32_t k = 0; k < q->n_events; k++) {
			const struct load_event *e = &r->events[q->events_at + k];

			if (e->at >= from && e->at <= to)
				sum += q->source == LOAD_TOKENS_EVERY ? (double)e->tokens : share;
		}
	}
	return sum / ((double)(to - from) / 1e9);
}

static void put_rates(const struct load_result *r, struct measurements *m)
{
	int64_t from, to, steady_from, steady_to;
	bool whole = whole_window(r, &from, &to);
	/* Where no answer has tokens 0 would look like a measurement. */
	bool tokens = r->endpoint != LOAD_PLAIN && r->endpoint != LOAD_EMBEDDINGS;
	bool steady = load_steady(r, &steady_from, &steady_to);

	put(m, "throughput", UNIT_REQUESTS_PER_S, HIGHER_IS_BETTER,
	    whole ? requests_in(r, from, to) : NAN);
	put(m, "throughput.steady", UNIT_REQUESTS_PER_S, HIGHER_IS_BETTER,
	    steady ? requests_in(r, steady_from, steady_to) : NAN);
	put(m, "output_tokens_per_s", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER,
	    whole && tokens ? tokens_in(r, from, to) : NAN);
	put(m, "output_tokens_per_s.steady", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER,
	    steady && tokens ? tokens_in(r, steady_from, steady_to) : NAN);
}

void load_metrics(const struct load_result *r, struct measurements *ret)
{
	struct counts c = count(r);
	char name[64];

	for (int i = 0; i < S_N; i++)
		put_span(r, (enum span_of)i, ret);
	put_rates(r, ret);
	put(ret, "errors", UNIT_RATIO, LOWER_IS_BETTER, ratio(c.all - c.by[LOAD_OK], c.all));
	put(ret, "goodput", UNIT_RATIO, HIGHER_IS_BETTER,
	    r->n_objectives ? ratio(c.good, c.all) : NAN);
	put(ret, "answers.match", UNIT_RATIO, HIGHER_IS_BETTER, ratio(c.same, c.golden));
	put(ret, "answers.near", UNIT_RATIO, HIGHER_IS_BETTER,
	    r->golden_tolerance > 0 ? ratio(c.near, c.golden) : NAN);
	put(ret, "requests.scheduled", UNIT_COUNT, HIGHER_IS_BETTER, (double)c.all);
	for (int i = 0; i < LOAD_OUTCOMES; i++) {
		snprintf(name, sizeof(name), "requests.%s",
			 load_outcome_name((enum load_outcome)i));
		put(ret, name, UNIT_COUNT, i == LOAD_OK ? HIGHER_IS_BETTER : LOWER_IS_BETTER,
		    (double)c.by[i]);
	}
	put(ret, "usage_contradictions", UNIT_COUNT, LOWER_IS_BETTER, (double)c.contradictions);
	put(ret, "reconnects", UNIT_COUNT, LOWER_IS_BETTER, (double)c.reconnects);
	put(ret, "peak_concurrency", UNIT_COUNT, LOWER_IS_BETTER, (double)r->peak);
}

bool load_metric_known(struct sv name, enum unit *ret_unit, enum direction *ret_dir)
{
	/* Asked of an empty result, so that there is one list only. */
	static const struct load_result none;
	struct measurements m CLEANUP(measurements_release) = { 0 };

	load_metrics(&none, &m);
	for (size_t i = 0; i < m.n; i++) {
		if (!sv_is(name, m.v[i].name))
			continue;
		*ret_unit = m.v[i].unit;
		*ret_dir = m.v[i].dir;
		return true;
	}
	return false;
}
