/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "cli/load_parts.h"
#include "load/load.h"

#include <math.h>

struct opts {
	const char *model, *key_env, *prompts, *prompt, *golden, *save_golden, *rate, *rate_to,
		*burstiness, *trace, *temperature, *ca, *raw, *replay, *import, *vllm_json;
	struct strs stages, objectives;
	int endpoint, arrival, engine;
	int64_t for_ns, requests, warmup_ns, warmup_requests, timeout_ns, seed, concurrency,
		max_in_flight, max_tokens, loops;
	bool ignore_eos, usage_every, no_stream, no_keep_alive, shuffle, insecure;
};

static const char *const endpoints[] = { "chat",       "completions", "responses",
					 "embeddings", "plain",       NULL };
static const char *const arrivals[] = { "poisson", "constant", "gamma",  "ramp",
					"stages",  "trace",    "closed", NULL };
static const char *const engines[] = { "http", "recv", "null", NULL };

static const struct opt load_opts[] = {
	OPT(opts, endpoint, .name = "endpoint", .arg = "KIND", .type = OPT_CHOICE, .def = "chat",
	    .choices = endpoints, .help = "chat, completions, responses, embeddings or plain HTTP"),
	OPT(opts, model, .name = "model", .arg = "NAME", .type = OPT_TEXT,
	    .help = "the model's name in requests"),
	OPT(opts, key_env, .name = "key-env", .arg = "NAME", .type = OPT_TEXT,
	    .help = "environment variable that holds the bearer key; it is stored nowhere"),
	OPT(opts, prompts, .name = "prompts", .arg = "FILE", .type = OPT_TEXT,
	    .help = "JSON lines with messages or a prompt each"),
	OPT(opts, prompt, .name = "prompt", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "one prompt for every request"),
	OPT(opts, shuffle, .name = "shuffle", .type = OPT_FLAG,
	    .help = "prompts in an order drawn from the seed"),
	OPT(opts, golden, .name = "golden", .arg = "FILE", .type = OPT_TEXT,
	    .help = "answers to compare with"),
	OPT(opts, save_golden, .name = "save-golden", .arg = "FILE", .type = OPT_TEXT,
	    .help = "writes this run's answers, to compare with later"),
	OPT(opts, max_tokens, .name = "max-tokens", .arg = "N", .type = OPT_NUMBER, .def = "128",
	    .min = 1, .max = 10000000, .help = "for prompts that don't say"),
	OPT(opts, temperature, .name = "temperature", .arg = "X", .type = OPT_TEXT, .def = "0",
	    .help = "sampling temperature; 'none' leaves it out"),
	OPT(opts, ignore_eos, .name = "ignore-eos", .type = OPT_FLAG,
	    .help = "asks for exactly that many tokens; fewer is a failure"),
	OPT(opts, usage_every, .name = "usage-every", .type = OPT_FLAG,
	    .help = "asks for token counts in every event"),
	OPT(opts, no_stream, .name = "no-stream", .type = OPT_FLAG,
	    .help = "asks for whole answers"),
	OPT(opts, no_keep_alive, .name = "no-keep-alive", .type = OPT_FLAG,
	    .help = "a new connection for every request"),
	OPT(opts, arrival, .name = "arrival", .arg = "KIND", .type = OPT_CHOICE, .def = "poisson",
	    .choices = arrivals,
	    .help = "poisson, constant, gamma, ramp, stages, trace, or closed loop"),
	OPT(opts, rate, .name = "rate", .arg = "N", .type = OPT_TEXT, .def = "1",
	    .help = "requests a second"),
	OPT(opts, rate_to, .name = "rate-to", .arg = "N", .type = OPT_TEXT,
	    .help = "where a ramp ends"),
	OPT(opts, burstiness, .name = "burstiness", .arg = "X", .type = OPT_TEXT, .def = "1",
	    .help = "shape of gamma arrivals; below 1 is burstier than poisson"),
	OPT(opts, stages, .name = "stage", .arg = "RATE:TIME", .type = OPT_LIST,
	    .help = "one stage, such as 5:30s; may be given again"),
	OPT(opts, trace, .name = "trace", .arg = "FILE", .type = OPT_TEXT,
	    .help = "arrival times: seconds, or JSON lines with timestamp in ms"),
	OPT(opts, concurrency, .name = "concurrency", .arg = "N", .type = OPT_NUMBER, .def = "1",
	    .min = 1, .max = 100000, .help = "requests at a time in a closed loop"),
	OPT(opts, for_ns, .name = "for", .arg = "TIME", .type = OPT_TIME,
	    .help = "length of the measured part (60 s when no number is given either)"),
	OPT(opts, requests, .name = "requests", .arg = "N", .type = OPT_NUMBER, .min = 0,
	    .max = 16777216, .help = "ends after so many"),
	OPT(opts, warmup_ns, .name = "warmup", .arg = "TIME", .type = OPT_TIME,
	    .help = "the same arrivals before, unmeasured"),
	OPT(opts, warmup_requests, .name = "warmup-requests", .arg = "N", .type = OPT_NUMBER,
	    .min = 0, .max = 16777216, .help = "so many before, one after another"),
	OPT(opts, timeout_ns, .name = "timeout", .arg = "TIME", .type = OPT_TIME, .def = "60 s",
	    .min = 1000000, .max = 14400 * NS_PER_S, .help = "of one request"),
	OPT(opts, max_in_flight, .name = "max-in-flight", .arg = "N", .type = OPT_NUMBER, .min = 0,
	    .max = 100000, .help = "waiting for a place counts in every latency; 0: no limit"),
	OPT(opts, seed, .name = "seed", .arg = "N", .type = OPT_NUMBER, .def = "1", .min = 0,
	    .max = INT64_MAX, .help = "of arrival times and order"),
	OPT(opts, objectives, .name = "objective", .arg = "LIMIT", .type = OPT_LIST,
	    .help = "what a request must keep, such as 'ttft <= 500 ms'; may be given again"),
	OPT(opts, loops, .name = "loops", .arg = "N", .type = OPT_NUMBER, .def = "1", .min = 1,
	    .max = 256, .help = "threads that send and receive"),
	OPT(opts, ca, .name = "ca", .arg = "FILE", .type = OPT_TEXT,
	    .help = "certificates to trust instead of the system's"),
	OPT(opts, insecure, .name = "insecure", .type = OPT_FLAG,
	    .help = "doesn't verify the server's certificate; the result says so"),
	OPT(opts, engine, .name = "engine", .arg = "KIND", .type = OPT_CHOICE, .def = "http",
	    .choices = engines, .help = "http; recv and null measure the generator itself"),
	OPT(opts, raw, .name = "raw", .arg = "FILE", .type = OPT_TEXT,
	    .help = "writes every sample (JSON lines, zstd)"),
	OPT(opts, replay, .name = "replay", .arg = "FILE", .type = OPT_TEXT,
	    .help = "no run: the numbers of such a file again"),
	OPT(opts, import, .name = "import", .arg = "FILE", .type = OPT_TEXT,
	    .help = "no run: a result of vLLM bench, GuideLLM, AIPerf, inference-perf or LLMPerf"),
	OPT(opts, vllm_json, .name = "vllm-json", .arg = "FILE", .type = OPT_TEXT,
	    .help = "also writes a result file like vllm bench serve's"),
	{ 0 },
};

/* ---- from options to a configuration --------------------------------------------------------- */

/* What a configuration borrows. */
struct owned {
	struct load_prompts prompts;
	struct load_golden golden;
	struct load_stage *stages;
	struct load_objective *objectives;
	int64_t *trace;
};

static void owned_release(struct owned *o)
{
	load_prompts_release(&o->prompts);
	load_golden_release(&o->golden);
	free(o->stages);
	free(o->objectives);
	free(o->trace);
}

/* "4", "4/s", "0.5 req/s" */
static int read_rate(const char *name, struct sv text, double *ret, struct err *err)
{
	enum unit u;
	AUTO_FREE char *shown = sv_dup(text);

	if (!quantity_parse(text, ret, &u) || !(*ret > 0) ||
	    (u != UNIT_NONE && u != UNIT_REQUESTS_PER_S && u != UNIT_HZ))
		return bail(err, ERR_USAGE, "--%s: '%s' is no rate such as '4/s'", name, shown);
	return 0;
}

static int read_stages(const struct opts *o, struct owned *own, struct load_conf *c,
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
		TRY(read_rate("stage", sv_trim(rate), &own->stages[i].rate, err));
		own->stages[i].duration_ns = (int64_t)ns;
	}
	c->stages = own->stages;
	c->n_stages = o->stages.n;
	return 0;
}

static int read_objectives(const struct opts *o, struct owned *own, struct load_conf *c,
			   struct err *err)
{
	own->objectives = xcalloc(o->objectives.n + 1, sizeof(*own->objectives));
	for (size_t i = 0; i < o->objectives.n; i++)
		TRY(load_objective_parse(sv_of(o->objectives.v[i]), &own->objectives[i], err));
	c->objectives = own->objectives;
	c->n_objectives = o->objectives.n;
	return 0;
}

static int read_prompts(const struct opts *o, struct owned *own, struct load_conf *c,
			struct err *err)
{
	AUTO_JSON json_t *line = NULL;
	AUTO_FREE char *text = NULL;

	if (o->prompts && o->prompt)
		return bail(err, ERR_USAGE, "--prompt and --prompts exclude each other");
	if (o->prompts) {
		TRY(load_prompts_file(o->prompts, &own->prompts, err));
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

static int read_golden(const struct opts *o, struct owned *own, struct load_conf *c,
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

static int read_trace(const struct opts *o, struct owned *own, struct load_conf *c, struct err *err)
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

static int read_numbers(const struct opts *o, struct load_conf *c, struct err *err)
{
	TRY(read_rate("rate", sv_of(o->rate), &c->rate, err));
	if (o->rate_to)
		TRY(read_rate("rate-to", sv_of(o->rate_to), &c->rate_to, err));
	if (!sv_to_f64(sv_of(o->burstiness), &c->burstiness))
		return bail(err, ERR_USAGE, "--burstiness: '%s' is no number", o->burstiness);
	if (streq(o->temperature, "none"))
		c->temperature = -1;
	else if (!sv_to_f64(sv_of(o->temperature), &c->temperature) || c->temperature < 0)
		return bail(err, ERR_USAGE, "--temperature: '%s' is no number from 0",
			    o->temperature);
	return 0;
}

static int make_conf(const struct cli *cli, const struct opts *o, struct owned *own,
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

/* ---- display --------------------------------------------------------------------------------- */

static void add_time(struct str *s, const char *name, double p50, double p99)
{
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;

	if (isnan(p50))
		return;
	a = quantity_text(p50, UNIT_NS);
	b = quantity_text(p99, UNIT_NS);
	str_addf(s, "  %s %s/%s", name, a, b);
}

static int show(void *arg, const struct load_progress *p)
{
	struct cli *cli = arg;
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_FREE char *left = p->left_ns < NS_PER_S
				       ? xstrdup("0 s")
				       : duration_text(p->left_ns / NS_PER_S * NS_PER_S);

	str_addf(&s, "%s  %s left  %.4g/s", p->warming ? "warm-up" : "load", left,
		 p->rate_achieved);
	if (!isnan(p->rate_asked))
		str_addf(&s, " of %.4g", p->rate_asked);
	str_addf(&s, "  %llu in flight  %llu ok", (unsigned long long)p->in_flight,
		 (unsigned long long)p->ok);
	add_time(&s, "ttft", p->ttft_p50_ns, p->ttft_p99_ns);
	add_time(&s, "itl", p->itl_p50_ns, p->itl_p99_ns);
	add_time(&s, "e2e", p->e2e_p50_ns, p->e2e_p99_ns);
	for (int i = 1; i < LOAD_OUTCOMES; i++)
		if (p->by_outcome[i])
			str_addf(&s, "  %llu %s", (unsigned long long)p->by_outcome[i],
				 load_outcome_name((enum load_outcome)i));
	cli_progress(cli, /* last= */ false, "%s", str_text(&s));
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_files(const struct opts *o, const struct load_result *r, struct err *err)
{
	if (o->raw)
		TRY(load_raw_write(r, o->raw, err));
	if (o->save_golden) {
		AUTO_FREE char *text = load_golden_text(r);

		TRY(file_write(o->save_golden, text, strlen(text), 0666, err));
	}
	if (o->vllm_json) {
		AUTO_JSON json_t *v = load_vllm_json(r);
		AUTO_FREE char *text = json_text(v, /* pretty= */ false);

		TRY(file_write(o->vllm_json, text, strlen(text), 0666, err));
	}
	return 0;
}

/* 0 measured; 1 not one request was answered well; 2 the numbers can't be relied on. */
static int exit_of(const struct load_result *r)
{
	size_t ok = 0;

	for (size_t i = 0; i < r->n; i++)
		ok += r->v[i].outcome == LOAD_OK;
	if (r->interrupted || r->audit.client_limited)
		return 2;
	return ok ? 0 : 1;
}

static int load_cmd_run(struct cli *cli, const void *conf, json_t *value, struct err *err)
{
	const struct opts *o = conf;
	struct load_result r CLEANUP(load_result_release) = { 0 };
	struct owned own CLEANUP(owned_release) = { 0 };
	AUTO_JSON json_t *made = NULL;
	struct load_conf c;

	if ((o->replay != NULL) + (o->import != NULL) + (cli->args.n != 0) != 1)
		return bail(err, ERR_USAGE, "needs a URL, --replay FILE or --import FILE");
	if (o->import)
		return load_import(o->import, value, err);
	if (o->replay) {
		TRY(load_raw_read(o->replay, &r, err));
	} else {
		TRY(make_conf(cli, o, &own, &c, err));
		if (!cli->quiet) {
			c.tick = show;
			c.arg = cli;
		}
		TRY(load_run(&c, &r, err));
	}
	TRY(write_files(o, &r, err));
	made = load_result_to_json(&r);
	(void)json_object_update(value, made);
	return exit_of(&r);
}

static void load_cmd_text(const json_t *v, struct str *out)
{
	if (json_object_get(v, "imported"))
		load_import_text(v, out);
	else
		load_json_text(v, out);
}

const struct cmd cmd_load = {
	.name = "load",
	.group = GROUP_TOOL,
	.args = "[URL]",
	.max_args = 1,
	.help = "send load to a server and measure it",
	.about = "Sends requests at times fixed before the run, follows every answer as it "
		 "streams, and\n"
		 "reports latencies from the scheduled times, failures, tokens, and whether this "
		 "client\n"
		 "was fit to measure. Exit code 1: no request succeeded; 2: interrupted, or the "
		 "client\n"
		 "itself was the limit.",
	.opts = load_opts,
	.conf_size = sizeof(struct opts),
	.run = load_cmd_run,
	.text = load_cmd_text,
};
