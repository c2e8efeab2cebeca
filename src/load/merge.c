/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"

#include "base/err.h"

#include <math.h>

static bool same_stages(const struct load_result *a, const struct load_result *b)
{
	bool same = a->n_stages == b->n_stages;

	for (size_t i = 0; same && i < a->n_stages; i++)
		same = a->stages[i].duration_ns == b->stages[i].duration_ns &&
		       a->stages[i].rate == b->stages[i].rate;
	return same;
}

/* What has to be the same, or the requests are of different populations. */
static int belongs(const struct load_result *a, const struct load_result *b, size_t i,
		   struct err *err)
{
	const char *what = NULL;

	if (a->endpoint != b->endpoint || a->engine != b->engine)
		what = "another endpoint or engine";
	else if (!streq(a->model ? a->model : "", b->model ? b->model : ""))
		what = "another model";
	else if (!streq(a->prompts_digest, b->prompts_digest))
		what = "other prompts";
	else if (a->ignore_eos != b->ignore_eos || a->no_stream != b->no_stream)
		what = "other options";
	else if (a->arrival != b->arrival || a->shards != b->shards || !same_stages(a, b))
		what = "other arrivals";
	else if (a->shards && !streq(a->schedule_digest, b->schedule_digest))
		what = "a part of another schedule";
	else if (a->n_objectives != b->n_objectives)
		what = "other objectives";
	for (size_t k = 0; !what && k < a->n_objectives; k++)
		if (a->objectives[k].what != b->objectives[k].what ||
		    a->objectives[k].p != b->objectives[k].p ||
		    a->objectives[k].limit_ns != b->objectives[k].limit_ns)
			what = "other objectives";
	return what ? bail(err, ERR_RANGE, "result %zu is of %s", i + 1, what) : 0;
}

/* Each shard once, and all of them. */
static int whole_schedule(const struct load_result *v, size_t n, struct err *err)
{
	AUTO_FREE bool *seen = NULL;

	if (!v[0].shards)
		return 0;
	seen = xcalloc(v[0].shards, sizeof(*seen));
	for (size_t i = 0; i < n; i++) {
		if (v[i].shard >= v[0].shards || seen[v[i].shard])
			return bail(err, ERR_RANGE, "shard %u is there twice", v[i].shard);
		seen[v[i].shard] = true;
	}
	if (n != v[0].shards)
		return bail(err, ERR_RANGE, "%zu of %u shards are there", n, v[0].shards);
	return 0;
}

static void shift(int64_t *t, int64_t by)
{
	if (*t != LOAD_NONE)
		*t += by;
}

/* by: how much later this one began than the first of all. */
static void add_requests(const struct load_result *from, int64_t by, struct load_result *to)
{
	for (size_t i = 0; i < from->n_events; i++) {
		to->events[to->n_events + i] = from->events[i];
		to->events[to->n_events + i].at += by;
	}
	for (size_t i = 0; i < from->n; i++) {
		struct load_req *r = &to->v[to->n++];
		int64_t *const times[] = { &r->scheduled,     &r->begun,      &r->connected,
					   &r->started,       &r->first_byte, &r->first_token,
					   &r->first_visible, &r->last_token, &r->end };

		*r = from->v[i];
		for (size_t k = 0; k < ARRAY_SIZE(times); k++)
			shift(times[k], by);
		r->events_at += (uint32_t)to->n_events;
		r->answer_at += (uint32_t)to->n_text;
		if (r->detail[0]) {
			size_t k = 0;

			while (k < to->details.n && !streq(to->details.v[k], r->detail))
				k++;
			if (k == to->details.n)
				strs_add(&to->details, r->detail);
			r->detail = to->details.v[k];
		} else {
			r->detail = "";
		}
	}
	if (from->n_text)
		memcpy(to->text + to->n_text, from->text, from->n_text);
	to->n_events += from->n_events;
	to->n_text += from->n_text;
}

static double larger(double a, double b)
{
	return fmax(a, b); /* NAN gives way */
}

static void add_audit(const struct load_audit *from, size_t i, struct load_audit *to)
{
	size_t n = strlen(to->reasons);

	to->client_limited |= from->client_limited;
	if (from->client_limited)
		(void)snprintf(to->reasons + n, sizeof(to->reasons) - n, "%sclient %zu: %s",
			       n ? "; " : "", i, from->reasons);
	to->wall_ns = MAX(to->wall_ns, from->wall_ns);
	to->cpu_ns += from->cpu_ns;
	to->runq_ns = to->runq_ns < 0 || from->runq_ns < 0 ? -1 : to->runq_ns + from->runq_ns;
	to->cpu_share = larger(to->cpu_share, from->cpu_share);
	to->events += from->events;
	to->merged += from->merged;
	to->late += from->late;
	to->unstamped += from->unstamped;
	to->reads += from->reads;
	to->wakes += from->wakes;
	to->stamp_lag_p50_ns = larger(to->stamp_lag_p50_ns, from->stamp_lag_p50_ns);
	to->stamp_lag_p99_ns = larger(to->stamp_lag_p99_ns, from->stamp_lag_p99_ns);
	to->stamp_lag_max_ns = larger(to->stamp_lag_max_ns, from->stamp_lag_max_ns);
	to->lag_p50_ns = larger(to->lag_p50_ns, from->lag_p50_ns);
	to->lag_p99_ns = larger(to->lag_p99_ns, from->lag_p99_ns);
	to->lag_max_ns = larger(to->lag_max_ns, from->lag_max_ns);
	to->rate_asked += from->rate_asked;
	to->rate_achieved += from->rate_achieved;
	to->in_flight_mean += from->in_flight_mean;
	to->little += from->little;
	to->clock_steps = MAX(to->clock_steps, from->clock_steps);
	to->allocations += from->allocations;
	to->stamps &= from->stamps;
	to->priority &= from->priority;
	to->out_of_sockets |= from->out_of_sockets;
}

/*
 * Parts of one schedule are one load only when they begin together: by a hundredth of its length,
 * 100 ms at least. Clients whose clocks differ more than that can't be told from late ones.
 */
static void judge_starts(const struct load_result *v, size_t n, struct load_result *ret)
{
	struct load_audit *a = &ret->audit;
	int64_t bound = MAX(100 * NS_PER_MS, ret->client_lag_ns);

	for (size_t i = 0; i < n; i++)
		bound = MAX(bound, v[i].audit.wall_ns / 100);
	for (size_t i = 0; v[0].shards && i < n; i++) {
		int64_t after = (v[i].wall_ms - ret->wall_ms) * NS_PER_MS;
		size_t at = strlen(a->reasons);

		if (after <= bound)
			continue;
		a->client_limited = true;
		(void)snprintf(a->reasons + at, sizeof(a->reasons) - at,
			       "%sclient %zu began %.1f s after the first one", at ? "; " : "", i,
			       (double)after / 1e9);
	}
}

/* A prompt that another client sent as well is repeated all the same. */
static uint64_t repeated(const struct load_result *v, size_t n, const struct load_result *all)
{
	AUTO_FREE bool *seen = xcalloc(all->n_prompt_ids + 1, sizeof(*seen));
	uint64_t sum = 0, by_index = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].repeated_prompts;
	for (size_t i = 0; i < all->n && all->n_prompt_ids; i++) {
		by_index += seen[all->v[i].prompt];
		seen[all->v[i].prompt] = true;
	}
	return MAX(sum, by_index);
}

static int room_for(const struct load_result *v, size_t n, struct load_result *ret, struct err *err)
{
	size_t requests = 0, events = 0, text = 0;

	for (size_t i = 0; i < n; i++) {
		requests += v[i].n;
		events += v[i].n_events;
		text += v[i].n_text;
	}
	if (events > UINT32_MAX || text > UINT32_MAX)
		return bail(err, ERR_LIMIT, "more than 4 Gi of token times or text together");
	ret->v = xcalloc(requests + 1, sizeof(*ret->v));
	ret->events = xcalloc(events + 1, sizeof(*ret->events));
	ret->text = xcalloc(text + 1, 1);
	return 0;
}

static void describe(const struct load_result *v, size_t n, struct load_result *ret)
{
	ret->url = xstrdup(v[0].url);
	ret->model = xstrdup(v[0].model);
	ret->proxy = xstrdup(v[0].proxy);
	ret->engine = v[0].engine;
	ret->endpoint = v[0].endpoint;
	ret->arrival = v[0].arrival;
	ret->burstiness = v[0].burstiness;
	ret->rate = v[0].rate;
	ret->rate_to = v[0].rate_to;
	ret->seed = v[0].seed;
	ret->duration_ns = v[0].duration_ns;
	ret->timeout_ns = v[0].timeout_ns;
	ret->golden_tolerance = v[0].golden_tolerance;
	ret->ignore_eos = v[0].ignore_eos;
	ret->no_stream = v[0].no_stream;
	ret->no_keep_alive = v[0].no_keep_alive;
	memcpy(ret->prompts_digest, v[0].prompts_digest, sizeof(ret->prompts_digest));
	memcpy(ret->schedule_digest, v[0].schedule_digest, sizeof(ret->schedule_digest));
	ret->n_objectives = v[0].n_objectives;
	ret->objectives = xcalloc(ret->n_objectives + 1, sizeof(*ret->objectives));
	if (ret->n_objectives)
		memcpy(ret->objectives, v[0].objectives,
		       ret->n_objectives * sizeof(*ret->objectives));
	ret->n_stages = v[0].n_stages;
	ret->stages = xcalloc(ret->n_stages + 1, sizeof(*ret->stages));
	if (ret->n_stages)
		memcpy(ret->stages, v[0].stages, ret->n_stages * sizeof(*ret->stages));
	ret->n_prompt_ids = v[0].n_prompt_ids;
	ret->prompt_ids = xcalloc(ret->n_prompt_ids + 1, sizeof(*ret->prompt_ids));
	for (size_t i = 0; i < ret->n_prompt_ids; i++)
		ret->prompt_ids[i] = xstrdup(v[0].prompt_ids[i]);
	ret->wall_ms = v[0].wall_ms;
	ret->start_at_ms = v[0].start_at_ms;
	for (size_t i = 0; i < n; i++) {
		ret->wall_ms = MIN(ret->wall_ms, v[i].wall_ms);
		/* Parts of one schedule have its rate; separate schedules add up. */
		if (i && !v[i].shards)
			ret->rate += v[i].rate;
		ret->concurrency += v[i].concurrency;
		ret->max_in_flight += v[i].max_in_flight;
		ret->loops += v[i].loops;
		ret->client_lag_ns = MAX(ret->client_lag_ns, v[i].client_lag_ns);
		ret->interrupted |= v[i].interrupted;
		ret->tls_insecure |= v[i].tls_insecure;
		ret->n_warmup += v[i].n_warmup;
		ret->n_warmup_ok += v[i].n_warmup_ok;
		ret->attempts += v[i].attempts;
		ret->start_late_ns = MAX(ret->start_late_ns, v[i].start_late_ns);
		if (ret->start_at_ms != v[i].start_at_ms)
			ret->start_at_ms = 0; /* not begun together */
	}
}

static int by_schedule(const void *a, const void *b)
{
	const struct load_req *x = a, *y = b;

	return (x->scheduled > y->scheduled) - (x->scheduled < y->scheduled);
}

/* The first one's series: shards that talk to one server would only see the same. */
static void take_server(const struct load_server *from, int64_t by, struct load_server *to)
{
	*to = *from;
	to->v = xcalloc(from->n + 1, sizeof(*to->v));
	to->room = from->n + 1;
	for (size_t i = 0; i < from->n; i++) {
		to->v[i] = from->v[i];
		to->v[i].at += by;
	}
}

int load_merge(const struct load_result *v, size_t n, struct load_result *ret, struct err *err)
{
	struct load_result r CLEANUP(load_result_release) = { 0 };
	bool served = false;

	if (n == 0)
		return bail(err, ERR_RANGE, "nothing to merge");
	for (size_t i = 1; i < n; i++)
		TRY(belongs(&v[0], &v[i], i, err));
	TRY(whole_schedule(v, n, err));
	TRY(room_for(v, n, &r, err));
	describe(v, n, &r);
	r.audit.stamps = r.audit.priority = true;
	for (size_t i = 0; i < n; i++) {
		int64_t by = (v[i].wall_ms - r.wall_ms) * NS_PER_MS;

		add_requests(&v[i], by, &r);
		add_audit(&v[i].audit, i, &r.audit);
		if (!served && v[i].server.n) {
			take_server(&v[i].server, by, &r.server);
			served = true;
		}
	}
	qsort(r.v, r.n, sizeof(*r.v), by_schedule);
	judge_starts(v, n, &r);
	r.peak = requests_peak(&r);
	r.repeated_prompts = repeated(v, n, &r);
	*ret = r;
	r = (struct load_result){ 0 };
	return 0;
}
