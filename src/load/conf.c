/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/err.h"

#include <math.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const endpoints[] = { "chat",       "completions", "responses",
					 "embeddings", "plain",       NULL };
static const char *const arrivals[] = { "poisson", "constant", "gamma",  "ramp",
					"stages",  "trace",    "closed", NULL };
static const char *const engines[] = { "http", "recv", "null" };
static const char *const outcomes[] = { "ok",          "short",      "no_finish", "error_event",
					"http_status", "error_body", "cut",       "reset",
					"timeout",     "connect",    "dropped",   "cancelled" };
static const char *const sources[] = { "none", "usage_every", "usage", "event" };
static const char *const matches[] = { "none", "same", "different", "missing", "near" };

static bool parse(const char *const *names, struct sv s, int *ret)
{
	for (int i = 0; names[i]; i++) {
		if (sv_is(s, names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

const char *load_endpoint_name(enum load_endpoint e)
{
	return endpoints[e];
}

bool load_endpoint_parse(struct sv s, enum load_endpoint *ret)
{
	int i;

	if (!parse(endpoints, s, &i))
		return false;
	*ret = (enum load_endpoint)i;
	return true;
}

const char *load_arrival_name(enum load_arrival a)
{
	return arrivals[a];
}

bool load_arrival_parse(struct sv s, enum load_arrival *ret)
{
	int i;

	if (!parse(arrivals, s, &i))
		return false;
	*ret = (enum load_arrival)i;
	return true;
}

const char *load_engine_name(enum load_engine e)
{
	return engines[e];
}

const char *load_outcome_name(enum load_outcome o)
{
	return outcomes[o];
}

const char *load_token_source_name(enum load_token_source s)
{
	return sources[s];
}

const char *load_match_name(enum load_match m)
{
	return matches[m];
}

/* ---- objectives ------------------------------------------------------------------------------ */

static const char *const latencies[] = { "ttft", "itl", "tpot", "e2e", NULL };

/* ".p99" or ".max", or nothing: then the largest gap counts. */
static bool read_quantile(struct sv name, struct sv *ret_base, double *ret_p)
{
	ptrdiff_t dot = sv_find(name, SV("."));
	struct sv rest;
	double percent;

	*ret_base = name;
	*ret_p = 1;
	if (dot < 0)
		return true;
	ret_base->n = (size_t)dot;
	rest = (struct sv){ name.p + dot + 1, name.n - (size_t)dot - 1 };
	if (sv_is(rest, "max"))
		return true;
	if (rest.n < 2 || rest.p[0] != 'p' ||
	    !sv_to_f64((struct sv){ rest.p + 1, rest.n - 1 }, &percent) || percent <= 0 ||
	    percent > 100)
		return false;
	*ret_p = percent / 100;
	return true;
}

int load_objective_parse(struct sv text, struct load_objective *ret, struct err *err)
{
	ptrdiff_t at = sv_find(text, SV("<="));
	struct sv name, base, limit;
	AUTO_FREE char *shown = sv_dup(text);
	struct load_objective o = { 0 };
	double value;
	enum unit unit;
	int what;

	if (at < 0)
		return bail(err, ERR_PARSE, "objective '%s' has no '<='", shown);
	name = sv_trim((struct sv){ text.p, (size_t)at });
	limit = sv_trim((struct sv){ text.p + at + 2, text.n - (size_t)at - 2 });
	if (!read_quantile(name, &base, &o.p) || !parse(latencies, base, &what)) {
		AUTO_FREE char *got = sv_dup(base);

		(void)bail(err, ERR_PARSE, "objective '%s' is on none of ttft, itl, tpot, e2e",
			   shown);
		err_hint_nearest(err, got, latencies);
		return -ERR_PARSE;
	}
	if (!quantity_parse(limit, &value, &unit) || unit != UNIT_NS || !(value > 0))
		return bail(err, ERR_PARSE, "objective '%s' needs a time like '500 ms'", shown);
	o.what = (enum load_latency)what;
	o.limit_ns = (int64_t)llround(value);
	*ret = o;
	return 0;
}

/* ---- configuration --------------------------------------------------------------------------- */

void load_conf_init(struct load_conf *c)
{
	*c = (struct load_conf){
		.endpoint = LOAD_CHAT,
		.max_tokens = 128,
		.arrival = LOAD_POISSON,
		.burstiness = 1,
		.timeout_ns = 60 * NS_PER_S,
		.seed = 1,
		.answer_limit = MIB,
		.tick_ns = 250 * NS_PER_MS,
	};
}

static bool is_rate(double r)
{
	return r > 0 && r <= 1e7;
}

static int check_stages(const struct load_conf *c, struct err *err)
{
	if (c->n_stages == 0)
		return bail(err, ERR_RANGE, "arrivals in stages without a stage");
	for (size_t i = 0; i < c->n_stages; i++)
		if (!is_rate(c->stages[i].rate) || c->stages[i].duration_ns <= 0)
			return bail(
				err, ERR_RANGE,
				"stage %zu needs a rate from 0 to 10000000/s and a duration over 0",
				i + 1);
	return 0;
}

static int check_trace(const struct load_conf *c, struct err *err)
{
	if (c->n_trace == 0)
		return bail(err, ERR_RANGE, "an empty trace");
	for (size_t i = 0; i < c->n_trace; i++)
		if (c->trace_ns[i] < (i ? c->trace_ns[i - 1] : 0))
			return bail(err, ERR_RANGE, "trace: time %zu is before the one before it",
				    i + 1);
	return 0;
}

static int check_arrivals(const struct load_conf *c, struct err *err)
{
	switch (c->arrival) {
	case LOAD_CLOSED:
		if (c->concurrency == 0 || c->concurrency > 100000)
			return bail(err, ERR_RANGE,
				    "closed loop needs a concurrency from 1 to 100000");
		break;
	case LOAD_STAGES:
		return check_stages(c, err);
	case LOAD_TRACE:
		return check_trace(c, err);
	case LOAD_GAMMA:
		if (!(c->burstiness >= 0.01 && c->burstiness <= 1000))
			return bail(err, ERR_RANGE, "burstiness must be from 0.01 to 1000");
		break;
	case LOAD_RAMP:
		if (!is_rate(c->rate_to) || !c->duration_ns)
			return bail(err, ERR_RANGE,
				    "a ramp needs a rate to end with and a duration");
		break;
	default:
		break;
	}
	if (c->arrival != LOAD_CLOSED && !is_rate(c->rate))
		return bail(err, ERR_RANGE, "the rate must be over 0 and at most 10000000/s");
	if (c->duration_ns <= 0 && c->count == 0)
		return bail(err, ERR_RANGE, "needs a duration or a number of requests");
	return 0;
}

int load_conf_check(const struct load_conf *c, struct err *err)
{
	if (!c->url)
		return bail(err, ERR_RANGE, "needs a URL");
	if (!c->prompts && c->endpoint != LOAD_PLAIN)
		return bail(err, ERR_RANGE, "the %s endpoint needs prompts",
			    load_endpoint_name(c->endpoint));
	for (size_t i = 0; c->prompts && i < c->prompts->n; i++)
		if (c->prompts->v[i].then.n && c->endpoint != LOAD_CHAT)
			return bail(err, ERR_RANGE,
				    "prompt '%s' has 'then': conversations need the chat endpoint",
				    c->prompts->v[i].id);
	TRY(check_arrivals(c, err));
	if (c->duration_ns < 0 || c->warmup_ns < 0)
		return bail(err, ERR_RANGE, "a negative duration");
	if (c->warmup_ns && c->arrival == LOAD_TRACE)
		return bail(err, ERR_RANGE,
			    "a trace has no arrivals to warm up with: give a count");
	/* Token times are kept in 44 bits of ns. */
	if (c->timeout_ns <= 0 || c->timeout_ns > 4 * 3600 * NS_PER_S)
		return bail(err, ERR_RANGE, "the time limit must be over 0 and at most 4 h");
	if (c->max_tokens < 1 || c->max_tokens > 10000000)
		return bail(err, ERR_RANGE, "max_tokens must be from 1 to 10000000");
	if (!(c->temperature <= 100))
		return bail(err, ERR_RANGE, "the temperature is not a number up to 100");
	if (c->loops > 256)
		return bail(err, ERR_RANGE, "more than 256 loops");
	if (c->max_in_flight && c->max_in_flight < c->loops)
		return bail(err, ERR_RANGE, "%u loops can't keep to %u in flight", c->loops,
			    c->max_in_flight);
	if (!(c->golden_tolerance >= 0 && c->golden_tolerance < 1))
		return bail(err, ERR_RANGE, "the tolerance must be from 0 to under 1");
	if (c->shards && c->shard >= c->shards)
		return bail(err, ERR_RANGE, "shard %u of %u: they count from 0", c->shard,
			    c->shards);
	for (size_t i = 0; i < c->n_objectives; i++)
		if (c->objectives[i].limit_ns <= 0)
			return bail(err, ERR_RANGE, "objective %zu has no limit over 0", i + 1);
	return 0;
}
