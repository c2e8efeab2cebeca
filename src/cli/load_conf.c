/* SPDX-License-Identifier: Apache-2.0 */
/* From options to a configuration. */
#include "cli/load_parts.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

void load_owned_release(struct load_owned *o)
{
	load_prompts_release(&o->prompts);
	load_golden_release(&o->golden);
	free(o->stages);
	free(o->objectives);
	free(o->trace);
}

int load_read_rate(const char *name, struct sv text, double *ret, struct err *err)
{
	enum unit u;
	AUTO_FREE char *shown = sv_dup(text);

	if (!quantity_parse(text, ret, &u) || !(*ret > 0) ||
	    (u != UNIT_NONE && u != UNIT_REQUESTS_PER_S && u != UNIT_HZ))
		return bail(err, ERR_USAGE, "--%s: '%s' is no rate such as '4/s'", name, shown);
	return 0;
}

static int read_stages(const struct load_opts *o, struct load_owned *own, struct load_conf *c,
		       struct err *err)
{
	own->stages = xcalloc(o->stages.n + 1, sizeof(*own->stages));
	for (size_t i = 0; i < o->stages.n; i++) {
		struct sv rest = sv_of(o->stages.v[i]), rate;
		double ns;
		enum unit u;

		if (!sv_split(&rest, ':', &rate) || !quantity_parse(rest, &ns, &u) || u != UNIT_NS)
			return bail(err, ERR_USAGE, "--stage: '%s' is not like '5:30s'",
				    o->stages.v[i]);
		TRY(load_read_rate("stage", sv_trim(rate), &own->stages[i].rate, err));
		own->stages[i].duration_ns = (int64_t)ns;
	}
	c->stages = own->stages;
	c->n_stages = o->stages.n;
	return 0;
}

static int read_objectives(const struct load_opts *o, struct load_owned *own, struct load_conf *c,
			   struct err *err)
{
	own->objectives = xcalloc(o->objectives.n + 1, sizeof(*own->objectives));
	for (size_t i = 0; i < o->objectives.n; i++)
		TRY(load_objective_parse(sv_of(o->objectives.v[i]), &own->objectives[i], err));
	c->objectives = own->objectives;
	c->n_objectives = o->objectives.n;
	return 0;
}

static int read_prompts(const struct load_opts *o, struct load_owned *own, struct load_conf *c,
			struct err *err)
{
	AUTO_JSON json_t *line = NULL;
	AUTO_FREE char *text = NULL;

	if ((o->prompts != NULL) + (o->prompt != NULL) + (o->synthetic != NULL) > 1)
		return bail(err, ERR_USAGE,
			    "--prompt, --prompts and --synthetic exclude each other");
	if (o->prompts) {
		TRY(load_prompts_file(o->prompts, &own->prompts, err));
	} else if (o->synthetic) {
		TRY(load_prompts_synthetic(o->synthetic, (uint64_t)o->seed, &own->prompts, err));
	} else if (o->prompt) {
		line = json_object();
		json_put_str(line, "prompt", o->prompt);
		text = json_text(line, /* pretty= */ false);
		TRY(load_prompts_parse(sv_of(text), "--prompt", &own->prompts, err));
	} else {
		return 0;
	}
	c->prompts = &own->prompts;
	return 0;
}

static int read_golden(const struct load_opts *o, struct load_owned *own, struct load_conf *c,
		       struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t n;

	if (!o->golden)
		return 0;
	TRY(file_read(o->golden, 1024 * MIB, &text, &n, err));
	TRY(load_golden_parse((struct sv){ text, n }, o->golden, &own->golden, err));
	c->golden = &own->golden;
	return 0;
}

static int read_trace(const struct load_opts *o, struct load_owned *own, struct load_conf *c,
		      struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t n;

	if (!o->trace)
		return 0;
	TRY(file_read(o->trace, 1024 * MIB, &text, &n, err));
	TRY(load_trace_parse((struct sv){ text, n }, o->trace, &own->trace, &c->n_trace, err));
	c->trace_ns = own->trace;
	c->arrival = LOAD_TRACE;
	return 0;
}

static int read_numbers(const struct load_opts *o, struct load_conf *c, struct err *err)
{
	TRY(load_read_rate("rate", sv_of(o->rate), &c->rate, err));
	if (o->rate_to)
		TRY(load_read_rate("rate-to", sv_of(o->rate_to), &c->rate_to, err));
	if (!sv_to_f64(sv_of(o->burstiness), &c->burstiness))
		return bail(err, ERR_USAGE, "--burstiness: '%s' is no number", o->burstiness);
	if (streq(o->temperature, "none"))
		c->temperature = -1;
	else if (!sv_to_f64(sv_of(o->temperature), &c->temperature) || c->temperature < 0)
		return bail(err, ERR_USAGE, "--temperature: '%s' is no number from 0",
			    o->temperature);
	return 0;
}

static int read_tolerance(const char *text, double *ret, struct err *err)
{
	enum unit u;

	if (!text)
		return 0;
	if (!quantity_parse(sv_of(text), ret, &u) || (u != UNIT_RATIO && u != UNIT_NONE))
		return bail(err, ERR_USAGE, "--golden-tolerance: '%s' is no share such as '5 %%'",
			    text);
	return 0;
}

/* "0/4": the first of four */
static int read_shard(const char *text, struct load_conf *c, struct err *err)
{
	struct sv rest = sv_of(text), part;
	int64_t i, n;

	if (!text)
		return 0;
	if (!sv_split(&rest, '/', &part) || !sv_to_i64(part, 0, 9999, &i) ||
	    !sv_to_i64(rest, 1, 10000, &n) || i >= n)
		return bail(err, ERR_USAGE, "--shard: '%s' is not like '0/4'", text);
	c->shard = (unsigned)i;
	c->shards = (unsigned)n;
	return 0;
}

/* "2026-12-01T10:04:00.000Z", or ms since 1970 */
static int read_start(const char *text, int64_t *ret, struct err *err)
{
	int64_t now = clock_wall_ms();

	if (!text)
		return 0;
	if (!time_utc_parse(text, ret) && !sv_to_i64(sv_of(text), 1, INT64_MAX / NS_PER_MS, ret))
		return bail(err, ERR_USAGE,
			    "--start-at: '%s' is neither like '2026-12-01T10:04:00.000Z' nor ms "
			    "since 1970",
			    text);
	if (*ret > now + 24 * 3600 * INT64_C(1000))
		return bail(err, ERR_USAGE, "--start-at: '%s' is more than a day ahead", text);
	return 0;
}

int load_make_conf(const struct cli *cli, const struct load_opts *o, struct load_owned *own,
		   struct load_conf *c, struct err *err)
{
	load_conf_init(c);
	c->url = cli->args.v[0];
	c->endpoint = (enum load_endpoint)o->endpoint;
	c->arrival = (enum load_arrival)o->arrival;
	c->engine = (enum load_engine)o->engine;
	c->model = o->model;
	c->key_env = o->key_env;
	c->max_tokens = o->max_tokens;
	c->ignore_eos = o->ignore_eos;
	c->usage_every = o->usage_every;
	c->no_stream = o->no_stream;
	c->no_keep_alive = o->no_keep_alive;
	c->shuffle = o->shuffle;
	c->concurrency = (unsigned)o->concurrency;
	c->duration_ns = o->for_ns;
	c->count = (uint64_t)o->requests;
	c->warmup_ns = o->warmup_ns;
	c->warmup_count = (uint64_t)o->warmup_requests;
	c->timeout_ns = o->timeout_ns;
	c->max_in_flight = (unsigned)o->max_in_flight;
	c->seed = (uint64_t)o->seed;
	c->loops = (unsigned)o->loops;
	c->client_lag_ns = o->client_lag_ns;
	c->proxy = o->proxy;
	c->server_metrics = streq(o->server_metrics, "off") ? NULL : o->server_metrics;
	TRY(read_tolerance(o->tolerance, &c->golden_tolerance, err));
	TRY(read_shard(o->shard, c, err));
	TRY(read_start(o->start_at, &c->start_at_ms, err));
	c->tls_ca = o->ca;
	c->tls_insecure = o->insecure;
	c->cancel = &cli_cancel;
	TRY(read_numbers(o, c, err));
	TRY(read_stages(o, own, c, err));
	TRY(read_objectives(o, own, c, err));
	TRY(read_prompts(o, own, c, err));
	TRY(read_golden(o, own, c, err));
	TRY(read_trace(o, own, c, err));
	if (!c->duration_ns && !c->count && c->arrival != LOAD_TRACE && c->arrival != LOAD_STAGES)
		c->duration_ns = 60 * NS_PER_S;
	return 0;
}
