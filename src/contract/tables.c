/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's own settings, one row each. twice-contract(5) explains them at length. */
#include "base/err.h"
#include "contract/internal.h"
#include <math.h>

const char *const component_layer_names[] = {
	"hardware",  "firmware", "host",  "driver", "runtime",  "commlib",     "kernellib",
	"framework", "engine",   "model", "image",  "platform", "application", NULL,
};
const char *const workload_kind_names[] = { "inference", "training", "evaluation", "batch", NULL };
const char *const exclude_names[] = { "throttled", "ecc_error", "host_busy", "client_limited",
				      NULL };
static const char *const endpoint_names[] = { "chat", "completions", "plain", NULL };
static const char *const match_names[] = { "exact", "prefix", NULL };
static const char *const launcher_names[] = { "local", "slurm", "mpi", "kubernetes", NULL };
static const char *const source_names[] = { "measured", "billed", "quoted", "assumed", NULL };

const char *workload_kind_name(enum workload_kind k)
{
	return workload_kind_names[k];
}

const char *exclude_cause_name(enum exclude_cause c)
{
	return exclude_names[c];
}

/* A member of a struct that has no name of its own. */
#define PART(s, outer, m, ...)                                                                     \
	{                                                                                          \
		.name = #m, .at = offsetof(struct s, outer.m) - offsetof(struct s, outer),         \
		__VA_ARGS__                                                                        \
	}
#define PART_AS(n, s, outer, m, ...)                                                               \
	{                                                                                          \
		.name = (n), .at = offsetof(struct s, outer.m) - offsetof(struct s, outer),        \
		__VA_ARGS__                                                                        \
	}

/* ---- workload, stack ------------------------------------------------------------------------- */

static int workload_valid(void *conf, struct err *err)
{
	const struct workload *w = conf;
	size_t n = strspn(w->name, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	if (w->name[n] || n > 64 || strchr("._-", w->name[0]))
		return bail(
			err, ERR_PARSE,
			"a workload's name has a-z, 0-9, '.', '_' and '-' and up to 64 of them, "
			"got '%.70s'",
			w->name);
	return 0;
}

static const struct field workload_fields[] = {
	FIELD(workload, name, .type = FIELD_STR, .need = true,
	      .help = "what the workload is called"),
	FIELD(workload, kind, .type = FIELD_ENUM, .names = workload_kind_names, .need = true,
	      .help = "inference, training, evaluation or batch"),
	FIELD(workload, unit, .type = FIELD_STR, .def = "run",
	      .help = "what one accepted output is: request, fine-tune, ..."),
	FIELD(workload, owner, .type = FIELD_STR, .help = "who answers for it"),
	FIELD(workload, about, .type = FIELD_STR, .prose = true, .help = "a sentence for people"),
	{ 0 },
};

static int stack_file_valid(void *conf, struct err *err)
{
	struct stack_file *f = conf;

	if (!f->path)
		return bail(err, ERR_PARSE, "a path is missing");
	for (size_t i = 0; placeholder_names[i]; i++)
		if (streq(f->name, placeholder_names[i]) && !streq(f->name, "model"))
			return bail(err, ERR_PARSE, "{%s} means something else already", f->name);
	if (!f->has_layer && streq(f->name, "model"))
		f->layer = CL_MODEL;
	return 0;
}

static const struct field file_fields[] = {
	FIELD(stack_file, path, .type = FIELD_STR, .need = true, .expand = true,
	      .help = "file, or folder of files"),
	FIELD(stack_file, layer, .type = FIELD_ENUM, .names = component_layer_names,
	      .def = "application", .has = FIELD_HAS(stack_file, has_layer),
	      .help = "layer it belongs to; 'model' by default for a file of that name"),
	{ 0 },
};

static const struct field program_fields[] = {
	FIELD(stack_program, argv, .type = FIELD_ARGV, .need = true,
	      .help = "prints the version on its first line"),
	{ 0 },
};

static const struct field switch_fields[] = {
	FIELD(stack_switch, set, .type = FIELD_ARGV, .need = true,
	      .help = "puts {version} of the component in place, and nothing else"),
	FIELD(stack_switch, get, .type = FIELD_ARGV, .help = "prints the version that is in place"),
	FIELD(stack_switch, shell, .type = FIELD_BOOL, .def = "false",
	      .help = "set and get are lines for /bin/sh"),
	FIELD(stack_switch, about, .type = FIELD_STR, .prose = true,
	      .help = "a sentence for people"),
	{ 0 },
};

static const struct field stack_fields[] = {
	FIELD(stack_spec, envelope, .type = FIELD_STRS,
	      .help = "support matrices that must list the combination"),
	FIELD(stack_spec, pins, .type = FIELD_MAP,
	      .help = "component: version it must have (7.0.2, 7.0.*, >=7.0,<8, sha256:...)"),
	FIELD(stack_spec, owners, .type = FIELD_MAP,
	      .help = "component or layer: who acts when it is at fault"),
	FIELD(stack_spec, environment, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "variables of every process of the workload and of the capture"),
	FIELD(stack_spec, environment_file, .type = FIELD_STR, .expand = true,
	      .help = "file of KEY=VALUE lines; a change of them is a change of the stack"),
	FIELD(stack_spec, python, .type = FIELD_STR, .def = "python3",
	      .help = "the Python: {python}"),
	FIELD(stack_spec, modules, .type = FIELD_STRS, .help = "Python modules to capture"),
	FIELD(stack_spec, env, .type = FIELD_STRS,
	      .help = "patterns (MYAPP_*) of further variables to capture"),
	FIELD(stack_spec, files, .type = FIELD_NAMED, .sub = file_fields, .keys = KEYS_WORD,
	      .size = sizeof(struct stack_file), .brief = "path", .valid = stack_file_valid,
	      .help = "files whose digests belong to the stack; {NAME} is their path"),
	FIELD(stack_spec, programs, .type = FIELD_NAMED, .sub = program_fields,
	      .size = sizeof(struct stack_program), .brief = "argv",
	      .help = "programs that tell their own version"),
	FIELD_AS("switch", stack_spec, switches, .type = FIELD_NAMED, .sub = switch_fields,
		 .size = sizeof(struct stack_switch), .help = "how to change one component alone"),
	{ 0 },
};

/* ---- the workload's check -------------------------------------------------------------------- */

static const struct field ready_fields[] = {
	FIELD(ready_spec, http, .type = FIELD_STR, .def = "/health",
	      .help = "path that answers 200 once it is ready"),
	FIELD(ready_spec, line, .type = FIELD_STR,
	      .help = "PCRE2 pattern of a line of its output, besides that"),
	FIELD_AS("within", ready_spec, within_ns, .type = FIELD_DURATION, .def = "5 min",
		 .min = "10 ms", .help = "else it counts as not started"),
	{ 0 },
};

static int ready_valid(void *conf, struct err *err)
{
	const struct ready_spec *r = conf;

	if (r->http[0] != '/')
		return bail(err, ERR_PARSE, "http: a path begins with '/', got '%.60s'", r->http);
	if (r->line)
		return extract_check(
			&(struct extract_spec){ .how = EXTRACT_LINES, .pattern = r->line }, err);
	return 0;
}

static int serve_valid(void *conf, struct err *err)
{
	const struct serve_spec *s = conf;
	const char *url = s->attach ? s->attach : s->url;

	if (!str_starts(url, "http://") && !str_starts(url, "https://"))
		return bail(err, ERR_PARSE, "a URL begins with http:// or https://, got '%.60s'",
			    url);
	if (s->metrics && s->metrics[0] != '/')
		return bail(err, ERR_PARSE, "metrics: a path begins with '/', got '%.60s'",
			    s->metrics);
	return 0;
}

static const struct field serve_fields[] = {
	FIELD(serve_spec, start, .type = FIELD_ARGV, .one_of = "server", .need = true,
	      .help = "the server, in the foreground; {port} is a free one"),
	FIELD(serve_spec, attach, .type = FIELD_STR, .one_of = "server", .need = true,
	      .help = "URL of a server that runs already and is left alone"),
	FIELD(serve_spec, shell, .type = FIELD_BOOL, .def = "false",
	      .help = "start is one line for /bin/sh"),
	FIELD(serve_spec, url, .type = FIELD_STR, .def = "http://127.0.0.1:{port}", .expand = true,
	      .help = "where the started server answers"),
	FIELD(serve_spec, port, .type = FIELD_INT, .def = "0", .min = "0", .max = "65535",
	      .help = "0: a free one is chosen"),
	FIELD(serve_spec, env, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "variables on top of stack.environment"),
	FIELD(serve_spec, cwd, .type = FIELD_STR, .def = "{dir}", .expand = true,
	      .help = "folder it runs in"),
	FIELD(serve_spec, ready, .type = FIELD_SUB, .sub = ready_fields, .valid = ready_valid,
	      .help = "how to see that it is ready"),
	FIELD(serve_spec, metrics, .type = FIELD_STR,
	      .help = "path of a Prometheus page, read before and after"),
	FIELD_AS("stop_within", serve_spec, stop_within_ns, .type = FIELD_DURATION, .def = "30 s",
		 .help = "from SIGTERM to SIGKILL"),
	{ 0 },
};

static int arrival_valid(void *conf, struct err *err)
{
	struct arrival_spec *a = conf;

	a->kind = a->closed             ? ARRIVAL_CLOSED
		  : !isnan(a->poisson)  ? ARRIVAL_POISSON
		  : !isnan(a->constant) ? ARRIVAL_CONSTANT
					: ARRIVAL_GAMMA;
	a->rate = a->kind == ARRIVAL_POISSON    ? a->poisson
		  : a->kind == ARRIVAL_CONSTANT ? a->constant
						: a->gamma;
	if (a->kind != ARRIVAL_CLOSED && !(a->rate > 0))
		return bail(err, ERR_PARSE, "a rate is above 0");
	if (a->kind != ARRIVAL_GAMMA && a->burstiness != 1)
		return bail(err, ERR_PARSE, "burstiness belongs to 'gamma'");
	return 0;
}

static const struct field arrival_fields[] = {
	FIELD(arrival_spec, poisson, .type = FIELD_QUANTITY, .unit = UNIT_REQUESTS_PER_S,
	      .one_of = "process", .need = true, .max = "1000000/s",
	      .help = "independent requests"),
	FIELD(arrival_spec, constant, .type = FIELD_QUANTITY, .unit = UNIT_REQUESTS_PER_S,
	      .one_of = "process", .need = true, .max = "1000000/s", .help = "equal gaps"),
	FIELD(arrival_spec, gamma, .type = FIELD_QUANTITY, .unit = UNIT_REQUESTS_PER_S,
	      .one_of = "process", .need = true, .max = "1000000/s", .help = "bursts"),
	FIELD(arrival_spec, closed, .type = FIELD_INT, .one_of = "process", .need = true,
	      .min = "1", .max = "100000", .help = "clients that each wait for their answer"),
	FIELD(arrival_spec, burstiness, .type = FIELD_NUM, .def = "1", .min = "0.001",
	      .max = "1000", .help = "shape of gamma: 1 is poisson, below it comes in bursts"),
	{ 0 },
};

static const struct field answers_fields[] = {
	PART(load_spec, answers, golden, .type = FIELD_STR, .def = "accepted", .expand = true,
	     .help = "accepted (those of the accepted run) or a file of JSON lines"),
	PART(load_spec, answers, match, .type = FIELD_ENUM, .names = match_names, .def = "exact",
	     .help = "the whole text, or the golden one as its beginning"),
	{ 0 },
};

static const struct field goodput_fields[] = {
	PART_AS("ttft", load_spec, goodput, ttft_ns, .type = FIELD_DURATION,
		.help = "first token within"),
	PART_AS("tpot", load_spec, goodput, tpot_ns, .type = FIELD_DURATION,
		.help = "time per token"),
	PART_AS("itl", load_spec, goodput, itl_ns, .type = FIELD_DURATION, .help = "largest gap"),
	PART_AS("e2e", load_spec, goodput, e2e_ns, .type = FIELD_DURATION, .help = "whole answer"),
	{ 0 },
};

static int load_valid(void *conf, struct err *err)
{
	const struct load_spec *l = conf;

	if (l->path && l->path[0] != '/')
		return bail(err, ERR_PARSE, "path: a path begins with '/', got '%.60s'", l->path);
	if (l->endpoint != ENDPOINT_PLAIN && !l->prompts)
		return bail(err, ERR_PARSE, "'prompts' is missing: a file of JSON lines");
	if (l->endpoint == ENDPOINT_PLAIN && !l->path)
		return bail(err, ERR_PARSE, "endpoint 'plain' needs a 'path'");
	return 0;
}

static const struct field load_fields[] = {
	FIELD(load_spec, endpoint, .type = FIELD_ENUM, .names = endpoint_names, .def = "chat",
	      .help = "OpenAI's chat or text completions, or plain HTTP"),
	FIELD(load_spec, path, .type = FIELD_STR, .help = "instead of the endpoint's usual path"),
	FIELD(load_spec, model, .type = FIELD_STR, .expand = true,
	      .help = "name that requests carry; else the first that the server lists"),
	FIELD(load_spec, prompts, .type = FIELD_STR, .expand = true, .help = "file of JSON lines"),
	FIELD(load_spec, arrival, .type = FIELD_SUB, .sub = arrival_fields, .need = true,
	      .valid = arrival_valid, .help = "when requests come"),
	FIELD_AS("duration", load_spec, duration_ns, .type = FIELD_DURATION, .one_of = "length",
		 .need = true, .min = "1 ms", .help = "length of the measured part"),
	FIELD(load_spec, count, .type = FIELD_INT, .one_of = "length", .need = true, .min = "1",
	      .max = "10000000", .help = "number of requests of the measured part"),
	FIELD_AS("warmup", load_spec, warmup_ns, .type = FIELD_DURATION, .def = "0 s",
		 .help = "the same load before that, measured apart"),
	FIELD(load_spec, max_tokens, .type = FIELD_INT, .def = "128", .min = "1", .max = "1000000",
	      .help = "for prompts that don't say"),
	FIELD(load_spec, temperature, .type = FIELD_NUM, .def = "0", .min = "0", .max = "2",
	      .help = "of sampling"),
	FIELD(load_spec, stream, .type = FIELD_BOOL, .def = "true",
	      .help = "answers come by token"),
	FIELD(load_spec, ignore_eos, .type = FIELD_BOOL, .def = "false",
	      .help = "ask for exactly max_tokens"),
	FIELD_AS("timeout", load_spec, timeout_ns, .type = FIELD_DURATION, .def = "60 s",
		 .min = "1 ms", .help = "of one request"),
	FIELD(load_spec, seed, .type = FIELD_INT, .def = "1", .min = "0",
	      .help = "of arrivals; the same for all runs that are compared"),
	FIELD_AS("client_lag", load_spec, client_lag_ns, .type = FIELD_DURATION, .max = "10 s",
		 .help = "how late our own client may be before its timing can't be used; else "
			 "strict"),
	FIELD(load_spec, max_in_flight, .type = FIELD_INT, .def = "4096", .min = "1",
	      .max = "100000", .help = "more wait at the client, which counts in their latency"),
	FIELD(load_spec, key_env, .type = FIELD_STR, .help = "variable that holds the API key"),
	FIELD(load_spec, answers, .type = FIELD_SUB, .sub = answers_fields, .brief = "golden",
	      .help = "what answers.match compares with"),
	FIELD(load_spec, goodput, .type = FIELD_SUB, .sub = goodput_fields,
	      .help = "a good request; else by the latency objectives"),
	{ 0 },
};

static const struct field train_metrics_fields[] = {
	FIELD(train_metrics_spec, mllog, .type = FIELD_STR, .one_of = "format", .need = true,
	      .expand = true, .help = "file of MLPerf log lines, or stdout"),
	FIELD(train_metrics_spec, jsonl, .type = FIELD_STR, .one_of = "format", .need = true,
	      .expand = true, .help = "file of JSON lines, or stdout"),
	{ 0 },
};

static int train_metrics_valid(void *conf, struct err *err)
{
	struct train_metrics_spec *m = conf;

	(void)err;
	m->kind = m->mllog ? TRAIN_MLLOG : TRAIN_JSONL;
	m->path = m->mllog ? m->mllog : m->jsonl;
	return 0;
}

static const struct field train_names_fields[] = {
	PART(train_spec, fields, step, .type = FIELD_STR, .def = "step",
	     .help = "number of the step"),
	PART(train_spec, fields, loss, .type = FIELD_STR, .def = "loss", .help = "training loss"),
	PART(train_spec, fields, samples, .type = FIELD_STR, .def = "samples",
	     .help = "samples so far"),
	PART(train_spec, fields, samples_per_s, .type = FIELD_STR, .def = "samples_per_s",
	     .help = "rate, when samples are not counted"),
	PART(train_spec, fields, step_ms, .type = FIELD_STR, .def = "ms",
	     .help = "milliseconds of the step"),
	PART(train_spec, fields, data_ms, .type = FIELD_STR, .def = "data_ms",
	     .help = "milliseconds of it that waited for data"),
	{ 0 },
};

static const struct field loss_at_fields[] = {
	PART(train_spec, loss_at, steps, .type = FIELD_INTS, .min = "0", .max = "1000000000",
	     .help = "steps whose loss is compared"),
	PART(train_spec, loss_at, margin, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "1 %",
	     .min = "0.001 %", .max = "100 %", .help = "largest loss of it that is the same"),
	{ 0 },
};

static const struct field train_fields[] = {
	FIELD(train_spec, run, .type = FIELD_ARGV, .need = true, .help = "the training program"),
	FIELD(train_spec, resume, .type = FIELD_ARGV,
	      .help = "goes on from the newest checkpoint; else run does by itself"),
	FIELD(train_spec, shell, .type = FIELD_BOOL, .def = "false",
	      .help = "run and resume are lines for /bin/sh"),
	FIELD(train_spec, env, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "variables on top of stack.environment"),
	FIELD(train_spec, cwd, .type = FIELD_STR, .def = "{work}", .expand = true,
	      .help = "folder it runs in"),
	FIELD(train_spec, launcher, .type = FIELD_ENUM, .names = launcher_names, .def = "local",
	      .help = "what starts it"),
	FIELD(train_spec, metrics, .type = FIELD_SUB, .sub = train_metrics_fields, .need = true,
	      .valid = train_metrics_valid, .help = "where it reports"),
	FIELD(train_spec, fields, .type = FIELD_SUB, .sub = train_names_fields,
	      .help = "names in the JSON lines"),
	FIELD(train_spec, target, .type = FIELD_LIMITS, .unit = UNIT_N, .need = true,
	      .help = "reached when all these hold: eval_loss: \"<= 0.15\""),
	FIELD(train_spec, loss_at, .type = FIELD_SUB, .sub = loss_at_fields, .brief = "steps",
	      .help = "losses at fixed steps, compared seed by seed"),
	FIELD(train_spec, jump, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "10 %",
	      .min = "0.01 %",
	      .help = "an evaluation that is worse than the best so far by more is a finding"),
	FIELD(train_spec, checkpoints, .type = FIELD_STR, .expand = true,
	      .help = "folder where checkpoints appear"),
	FIELD_AS("limit", train_spec, limit_ns, .type = FIELD_DURATION, .def = "1 h",
		 .min = "10 ms", .help = "time after which a repetition failed"),
	FIELD(train_spec, output_limit, .type = FIELD_BYTES, .def = "64 MiB", .min = "1 KiB",
	      .max = "64 MiB", .help = "bytes kept of its outputs"),
	{ 0 },
};

static const struct field items_fields[] = {
	FIELD(items_spec, from, .type = FIELD_STR, .need = true, .expand = true,
	      .help = "stdout, stderr or file:PATH of JSON lines, one an item"),
	FIELD(items_spec, id, .type = FIELD_STR, .def = "id", .help = "member that names the item"),
	FIELD(items_spec, correct, .type = FIELD_STR, .def = "correct",
	      .help = "member that is true, false, 1 or 0"),
	FIELD(items_spec, cluster, .type = FIELD_STR,
	      .help = "member that items of one passage or template share"),
	FIELD(items_spec, where, .type = FIELD_MAP, .keys = KEYS_ANY,
	      .help = "only lines with these members"),
	FIELD(items_spec, margin, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "1 points",
	      .min = "0.001 points", .max = "50 points",
	      .help = "largest loss of the score that is still the same"),
	FIELD(items_spec, about, .type = FIELD_STR, .prose = true, .help = "a sentence for people"),
	{ 0 },
};

static const struct field texts_fields[] = {
	FIELD(texts_spec, from, .type = FIELD_STR, .def = "answers", .expand = true,
	      .help = "answers of the load, stdout, stderr or file:PATH of JSON lines"),
	FIELD(texts_spec, id, .type = FIELD_STR, .def = "id",
	      .help = "member that names the prompt"),
	FIELD(texts_spec, text, .type = FIELD_STR, .def = "text", .help = "member with the text"),
	FIELD(texts_spec, tokens, .type = FIELD_STR, .def = "token_ids",
	      .help = "member with the ids of its tokens, if there are any"),
	FIELD(texts_spec, where, .type = FIELD_MAP, .keys = KEYS_ANY,
	      .help = "only lines with these members"),
	FIELD(texts_spec, margin, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "2 points",
	      .min = "0.001 points", .max = "100 points",
	      .help = "largest loss of agreement that is still the same"),
	FIELD(texts_spec, invariant, .type = FIELD_BOOL, .def = "false",
	      .help = "the engine claims that batches change nothing: any difference is wrong"),
	FIELD(texts_spec, about, .type = FIELD_STR, .prose = true, .help = "a sentence for people"),
	{ 0 },
};

static const struct field setting_fields[] = {
	FIELD(setting_spec, requested, .type = FIELD_STR, .help = "what was asked for"),
	FIELD(setting_spec, label, .type = FIELD_STR, .help = "what the evidence is labelled with"),
	FIELD(setting_spec, from, .type = FIELD_STR, .need = true, .expand = true,
	      .help = "log (of the server), metrics, stdout, stderr or file:PATH"),
	FIELD(setting_spec, pattern, .type = FIELD_STR, .need = true,
	      .help = "PCRE2 pattern whose group (?<value>...) is what is in effect"),
	FIELD(setting_spec, required, .type = FIELD_BOOL, .def = "true",
	      .help = "false: what is not found does not matter"),
	FIELD(setting_spec, about, .type = FIELD_STR, .prose = true,
	      .help = "a sentence for people"),
	{ 0 },
};

static const struct field check_fields[] = {
	FIELD(workload_check, serve, .type = FIELD_SUB, .sub = serve_fields, .one_of = "how",
	      .need = true, .has = FIELD_HAS(workload_check, has_serve), .valid = serve_valid,
	      .help = "a server, measured by requests"),
	FIELD(workload_check, train, .type = FIELD_SUB, .sub = train_fields, .one_of = "how",
	      .need = true, .has = FIELD_HAS(workload_check, has_train),
	      .help = "a training job, measured by what it reports"),
	FIELD(workload_check, command, .type = FIELD_SUB, .sub = command_fields, .one_of = "how",
	      .need = true, .has = FIELD_HAS(workload_check, has_command), .valid = command_valid,
	      .help = "any program, measured by numbers in what it writes"),
	FIELD(workload_check, load, .type = FIELD_SUB, .sub = load_fields, .valid = load_valid,
	      .has = FIELD_HAS(workload_check, has_load), .help = "the requests for 'serve'"),
	FIELD(workload_check, items, .type = FIELD_NAMED, .sub = items_fields,
	      .size = sizeof(struct items_spec), .keys = KEYS_WORD, .valid = items_valid,
	      .help = "NAME: scored items, compared one by one"),
	FIELD(workload_check, texts, .type = FIELD_NAMED, .sub = texts_fields,
	      .size = sizeof(struct texts_spec), .keys = KEYS_WORD, .valid = texts_valid,
	      .help = "NAME: generated texts, against the stack's own agreement"),
	FIELD(workload_check, settings, .type = FIELD_NAMED, .sub = setting_fields,
	      .size = sizeof(struct setting_spec), .keys = KEYS_ANY, .valid = setting_valid,
	      .help = "NAME: what is in effect against what was asked for"),
	FIELD(workload_check, objectives, .type = FIELD_SKIP, .need = true,
	      .min = "list of METRIC <= LIMIT",
	      .help = "list of limits that each repetition must keep: ttft.p99 <= 500 ms"),
	{ 0 },
};

/* ---- decisions, plans ------------------------------------------------------------------------ */

static const struct field repeat_fields[] = {
	PART(contract, repeat, runs, .type = FIELD_INT, .def = "5", .min = "1", .max = "100",
	     .help = "repetitions of a run that has no accepted one to compare with"),
	PART(contract, repeat, at_most, .type = FIELD_INT, .def = "10", .min = "3", .max = "100",
	     .help = "most repetitions of one stack"),
	PART(contract, repeat, looks, .type = FIELD_INTS, .min = "3", .max = "100",
	     .help = "repetitions after which a comparison may decide; else 3 4 5 6 8 10 at_most"),
	{ 0 },
};

static const struct field gates_fields[] = {
	PART(contract, gates, max_failed, .type = FIELD_INT, .def = "0", .min = "0", .max = "100",
	     .help = "more failed repetitions than this can't be accepted"),
	PART(contract, gates, reject_failed, .type = FIELD_INT, .def = "2", .min = "1",
	     .max = "100", .help = "so many failed repetitions are a rejection"),
	PART(contract, gates, max_cov, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "5 %",
	     .min = "0.01 %", .help = "more spread than this is not repeatable: inconclusive"),
	PART(contract, gates, exclude, .type = FIELD_ENUMS, .names = exclude_names,
	     .help = "causes that take a repetition out of the comparison"),
	{ 0 },
};

static const struct field fallback_fields[] = {
	PART(contract, fallback, plan, .type = FIELD_STR, .need = true,
	     .help = "what is done when the stack can't be used"),
	PART(contract, fallback, when, .type = FIELD_STR, .help = "what triggers it"),
	PART(contract, fallback, owner, .type = FIELD_STR, .help = "who does it"),
	PART(contract, fallback, drill, .type = FIELD_ARGV, .help = "rehearses it"),
	PART(contract, fallback, shell, .type = FIELD_BOOL, .def = "false",
	     .help = "drill is one line for /bin/sh"),
	PART_AS("within", contract, fallback, within_ns, .type = FIELD_DURATION,
		.help = "time the drill may take"),
	{ 0 },
};

static const struct field cost_fields[] = {
	PART(contract, cost, file, .type = FIELD_STR, .one_of = "cost", .need = true,
	     .help = "file with the whole calculation"),
	PART(contract, cost, per_hour, .type = FIELD_NUM, .one_of = "cost", .need = true,
	     .min = "0", .help = "price of an hour of all that the workload uses"),
	PART(contract, cost, currency, .type = FIELD_STR, .help = "USD, EUR, ..."),
	PART(contract, cost, source, .type = FIELD_ENUM, .names = source_names, .def = "assumed",
	     .help = "where the price comes from"),
	{ 0 },
};

const struct field contract_fields[] = {
	FIELD_AS("twice", contract, schema, .type = FIELD_INT, .need = true,
		 .help = "version of this format: 1"),
	FIELD(contract, workload, .type = FIELD_SUB, .sub = workload_fields, .need = true,
	      .valid = workload_valid, .help = "what is accepted"),
	FIELD(contract, stack, .type = FIELD_SUB, .sub = stack_fields, .help = "what it stands on"),
	{ .name = "hardware",
	  .type = FIELD_SKIP,
	  .min = "list of CHECK: settings",
	  .help = "checks of the machine" },
	{ .name = "communication",
	  .type = FIELD_SKIP,
	  .min = "list of CHECK: settings",
	  .help = "checks between processes and nodes" },
	{ .name = "framework",
	  .type = FIELD_SKIP,
	  .min = "list of CHECK: settings",
	  .help = "checks of what is imported" },
	FIELD(contract, workload_check, .type = FIELD_SUB, .sub = check_fields, .need = true,
	      .help = "how the workload is run and measured"),
	{ .name = "recovery",
	  .type = FIELD_SKIP,
	  .min = "list of CHECK: settings",
	  .help = "checks of restart, resume and rollback" },
	FIELD(contract, repeat, .type = FIELD_SUB, .sub = repeat_fields,
	      .help = "how often the workload is started afresh"),
	{ .name = "compare",
	  .type = FIELD_SKIP,
	  .min = "map METRIC: margin, or {margin, gate}",
	  .help = "largest loss against the accepted run that is still the same" },
	FIELD(contract, gates, .type = FIELD_SUB, .sub = gates_fields,
	      .help = "rules about failed and doubtful repetitions"),
	FIELD(contract, fallback, .type = FIELD_SUB, .sub = fallback_fields, .brief = "plan",
	      .has = FIELD_HAS(contract, has_fallback), .help = "what is done without it"),
	FIELD(contract, cost, .type = FIELD_SUB, .sub = cost_fields, .brief = "file",
	      .has = FIELD_HAS(contract, has_cost), .help = "what it costs"),
	FIELD_AS("expires", contract, expires_ns, .type = FIELD_DURATION, .min = "1 s",
		 .help = "how long an acceptance is good; without it until something changes"),
	{ 0 },
};

const struct field check_common_fields[] = {
	FIELD(check_common, name, .type = FIELD_STR, .help = "to tell it from others of its kind"),
	FIELD(check_common, required, .type = FIELD_BOOL, .def = "true",
	      .help = "false: shown, but decides nothing"),
	FIELD(check_common, owner, .type = FIELD_STR, .help = "who acts when it fails"),
	FIELD(check_common, about, .type = FIELD_STR, .prose = true,
	      .help = "a sentence for people"),
	{ 0 },
};
