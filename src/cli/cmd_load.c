/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/file.h"
#include "cli/load_parts.h"

static const char *const endpoints[] = { "chat",       "completions", "responses",
					 "embeddings", "plain",       NULL };
static const char *const arrivals[] = { "poisson", "constant", "gamma",  "ramp",
					"stages",  "trace",    "closed", NULL };
static const char *const displays[] = { "auto", "json", "none", NULL };
static const char *const engines[] = { "http", "recv", "null", NULL };

static const struct opt options[] = {
	OPT(load_opts, endpoint, .name = "endpoint", .arg = "KIND", .type = OPT_CHOICE,
	    .def = "chat", .choices = endpoints,
	    .help = "chat, completions, responses, embeddings or plain HTTP"),
	OPT(load_opts, model, .name = "model", .arg = "NAME", .type = OPT_TEXT,
	    .help = "the model's name in requests"),
	OPT(load_opts, key_env, .name = "key-env", .arg = "NAME", .type = OPT_TEXT,
	    .help = "environment variable that holds the bearer key; it is stored nowhere"),
	OPT(load_opts, prompts, .name = "prompts", .arg = "FILE", .type = OPT_TEXT,
	    .help = "JSON lines with messages or a prompt each"),
	OPT(load_opts, prompt, .name = "prompt", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "one prompt for every request"),
	OPT(load_opts, synthetic, .name = "synthetic", .arg = "SPEC", .type = OPT_TEXT,
	    .help = "made up from the seed, such as 'input=normal(512,64) output=128 prefix=64'"),
	OPT(load_opts, shuffle, .name = "shuffle", .type = OPT_FLAG,
	    .help = "prompts in an order drawn from the seed"),
	OPT(load_opts, golden, .name = "golden", .arg = "FILE", .type = OPT_TEXT,
	    .help = "answers to compare with"),
	OPT(load_opts, save_golden, .name = "save-golden", .arg = "FILE", .type = OPT_TEXT,
	    .help = "writes this run's answers, to compare with later"),
	OPT(load_opts, max_tokens, .name = "max-tokens", .arg = "N", .type = OPT_NUMBER,
	    .def = "128", .min = 1, .max = 10000000, .help = "for prompts that don't say"),
	OPT(load_opts, temperature, .name = "temperature", .arg = "X", .type = OPT_TEXT, .def = "0",
	    .help = "sampling temperature; 'none' leaves it out"),
	OPT(load_opts, ignore_eos, .name = "ignore-eos", .type = OPT_FLAG,
	    .help = "asks for exactly that many tokens; fewer is a failure"),
	OPT(load_opts, usage_every, .name = "usage-every", .type = OPT_FLAG,
	    .help = "asks for token counts in every event"),
	OPT(load_opts, no_stream, .name = "no-stream", .type = OPT_FLAG,
	    .help = "asks for whole answers"),
	OPT(load_opts, no_keep_alive, .name = "no-keep-alive", .type = OPT_FLAG,
	    .help = "a new connection for every request"),
	OPT(load_opts, arrival, .name = "arrival", .arg = "KIND", .type = OPT_CHOICE,
	    .def = "poisson", .choices = arrivals,
	    .help = "poisson, constant, gamma, ramp, stages, trace, or closed loop"),
	OPT(load_opts, rate, .name = "rate", .arg = "N", .type = OPT_TEXT, .def = "1",
	    .help = "requests a second"),
	OPT(load_opts, rate_to, .name = "rate-to", .arg = "N", .type = OPT_TEXT,
	    .help = "where a ramp ends"),
	OPT(load_opts, burstiness, .name = "burstiness", .arg = "X", .type = OPT_TEXT, .def = "1",
	    .help = "shape of gamma arrivals; below 1 is burstier than poisson"),
	OPT(load_opts, stages, .name = "stage", .arg = "RATE:TIME", .type = OPT_LIST,
	    .help = "one stage, such as 5:30s; may be given again"),
	OPT(load_opts, trace, .name = "trace", .arg = "FILE", .type = OPT_TEXT,
	    .help = "arrival times: seconds, or JSON lines with timestamp in ms"),
	OPT(load_opts, concurrency, .name = "concurrency", .arg = "N", .type = OPT_NUMBER,
	    .def = "1", .min = 1, .max = 100000, .help = "requests at a time in a closed loop"),
	OPT(load_opts, for_ns, .name = "for", .arg = "TIME", .type = OPT_TIME,
	    .help = "length of the measured part (60 s when no number is given either)"),
	OPT(load_opts, requests, .name = "requests", .arg = "N", .type = OPT_NUMBER, .min = 0,
	    .max = 16777216, .help = "ends after so many"),
	OPT(load_opts, warmup_ns, .name = "warmup", .arg = "TIME", .type = OPT_TIME,
	    .help = "the same arrivals before, unmeasured"),
	OPT(load_opts, warmup_requests, .name = "warmup-requests", .arg = "N", .type = OPT_NUMBER,
	    .min = 0, .max = 16777216, .help = "so many before, one after another"),
	OPT(load_opts, timeout_ns, .name = "timeout", .arg = "TIME", .type = OPT_TIME,
	    .def = "60 s", .min = 1000000, .max = 14400 * NS_PER_S, .help = "of one request"),
	OPT(load_opts, max_in_flight, .name = "max-in-flight", .arg = "N", .type = OPT_NUMBER,
	    .min = 0, .max = 100000,
	    .help = "waiting for a place counts in every latency; 0: no limit"),
	OPT(load_opts, seed, .name = "seed", .arg = "N", .type = OPT_NUMBER, .def = "1", .min = 0,
	    .max = INT64_MAX, .help = "of arrival times and order"),
	OPT(load_opts, objectives, .name = "objective", .arg = "LIMIT", .type = OPT_LIST,
	    .help = "what a request must keep, such as 'ttft <= 500 ms'; may be given again"),
	OPT(load_opts, loops, .name = "loops", .arg = "N", .type = OPT_NUMBER, .def = "1", .min = 1,
	    .max = 256, .help = "threads that send and receive"),
	OPT(load_opts, proxy, .name = "proxy", .arg = "URL", .type = OPT_TEXT,
	    .help = "http://host:port: every connection is a tunnel through it"),
	OPT(load_opts, server_metrics, .name = "server-metrics", .arg = "URL", .type = OPT_TEXT,
	    .def = "auto", .help = "the server's own metrics: a page, auto (/metrics) or off"),
	OPT(load_opts, tolerance, .name = "golden-tolerance", .arg = "N", .type = OPT_TEXT,
	    .help = "share of an answer's characters that may differ to be called near"),
	OPT(load_opts, shard, .name = "shard", .arg = "I/N", .type = OPT_TEXT,
	    .help = "only this part of the schedule, from 0/N; the others do the rest"),
	OPT(load_opts, shards, .name = "shards", .arg = "N", .type = OPT_NUMBER, .min = 2,
	    .max = 1000, .help = "starts so many clients and merges what they measured"),
	OPT(load_opts, launcher, .name = "launcher", .arg = "COMMAND", .type = OPT_TEXT,
	    .help = "starts each of them, such as 'ssh node{shard}'"),
	OPT(load_opts, lead_ns, .name = "lead", .arg = "TIME", .type = OPT_TIME, .min = 0,
	    .max = 3600 * NS_PER_S,
	    .help = "until they all begin at once: to be started, warmed up (0.5 s, 10 s with a "
		    "launcher, and --warmup)"),
	OPT(load_opts, start_at, .name = "start-at", .arg = "TIME", .type = OPT_TEXT,
	    .help = "begins to measure then (UTC, or ms since 1970)"),
	OPT(load_opts, merge, .name = "merge", .arg = "FILE", .type = OPT_LIST,
	    .help = "no run: raw samples of several clients as one result"),
	OPT(load_opts, ca, .name = "ca", .arg = "FILE", .type = OPT_TEXT,
	    .help = "certificates to trust instead of the system's"),
	OPT(load_opts, insecure, .name = "insecure", .type = OPT_FLAG,
	    .help = "doesn't verify the server's certificate; the result says so"),
	OPT(load_opts, engine, .name = "engine", .arg = "KIND", .type = OPT_CHOICE, .def = "http",
	    .choices = engines, .help = "http; recv and null measure the generator itself"),
	OPT(load_opts, client_lag_ns, .name = "client-lag", .arg = "TIME", .type = OPT_TIME,
	    .help = "how late this client may be: for machines that the server shares"),
	OPT(load_opts, search, .name = "search", .type = OPT_FLAG,
	    .help = "finds the highest rate, from --rate on, that keeps the objectives"),
	OPT(load_opts, share, .name = "share", .arg = "N", .type = OPT_TEXT, .def = "95 %",
	    .help = "of the requests that must keep every objective in a search"),
	OPT(load_opts, progress, .name = "progress", .arg = "KIND", .type = OPT_CHOICE,
	    .def = "auto", .choices = displays,
	    .help = "what is shown meanwhile: auto, json (lines) or none"),
	OPT(load_opts, raw, .name = "raw", .arg = "FILE", .type = OPT_TEXT,
	    .help = "writes every sample (JSON lines, zstd)"),
	OPT(load_opts, replay, .name = "replay", .arg = "FILE", .type = OPT_TEXT,
	    .help = "no run: the numbers of such a file again"),
	OPT(load_opts, import, .name = "import", .arg = "FILE", .type = OPT_TEXT,
	    .help = "no run: a result of vLLM bench, GuideLLM, AIPerf, inference-perf or LLMPerf"),
	OPT(load_opts, vllm_json, .name = "vllm-json", .arg = "FILE", .type = OPT_TEXT,
	    .help = "also writes a result file like vllm bench serve's"),
	{ 0 },
};

/* ---- the command ----------------------------------------------------------------------------- */

static int write_files(const struct load_opts *o, const struct load_result *r, struct err *err)
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
	const struct load_opts *o = conf;
	struct load_result r CLEANUP(load_result_release) = { 0 };
	struct load_owned own CLEANUP(load_owned_release) = { 0 };
	AUTO_JSON json_t *made = NULL;
	struct load_conf c;

	if ((o->replay != NULL) + (o->import != NULL) + (o->merge.n != 0) + (cli->args.n != 0) != 1)
		return bail(err, ERR_USAGE, "needs a URL, --replay, --import or --merge");
	if (o->import)
		return load_import(o->import, value, err);
	if (o->replay) {
		TRY(load_raw_read(o->replay, &r, err));
	} else if (o->merge.n) {
		TRY(load_merge_files(&o->merge, &r, err));
	} else if (o->shards) {
		TRY(load_shards_run(o, &r, err));
	} else {
		TRY(load_make_conf(cli, o, &own, &c, err));
		if (!cli->quiet && o->progress < 2) {
			c.tick = o->progress ? load_show_json : load_show;
			c.tick_ns = o->progress ? NS_PER_S : c.tick_ns;
			c.arg = cli;
		}
		if (o->search)
			return load_search_run(o, &c, value, err);
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
	else if (json_object_get(v, "search"))
		load_curve_text(json_object_get(v, "search"), out);
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
	.opts = options,
	.conf_size = sizeof(struct load_opts),
	.run = load_cmd_run,
	.text = load_cmd_text,
};
