/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of workload can be measured by: unit, direction and the margin nobody has to
 * write. */
#include "base/err.h"
#include "contract/internal.h"
#include <math.h>

enum { SERVE = 1 << HOW_SERVE, TRAIN = 1 << HOW_TRAIN, COMMAND = 1 << HOW_COMMAND };
enum { LOADED = 8, ACROSS = 16 }; /* needs load:, one number over all repetitions */

#define PARTS(name, suffix, hows, text)                                                            \
	{ name ".p50" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", median" },                   \
		{ name ".p90" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", 90 % are below" },   \
		{ name ".p95" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", 95 % are below" },   \
		{ name ".p99" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", 99 % are below" },   \
		{ name ".mean" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", mean" },            \
	{                                                                                          \
		name ".max" suffix, UNIT_NS, LOWER_IS_BETTER, hows, text ", the largest"           \
	}
#define LATENCY(name, text) PARTS(name, "", SERVE | LOADED, text)

static const struct row {
	const char *name;
	enum unit unit;
	enum direction dir;
	int flags;
	const char *help;
} rows[] = {
	LATENCY("ttft", "from the scheduled time to the first token"),
	LATENCY("ttft_from_start", "from sending to the first token"),
	LATENCY("ttft_visible", "to the first token that is no reasoning"),
	LATENCY("itl", "gap between events that carry tokens"),
	LATENCY("tpot", "time per token after the first event"),
	LATENCY("e2e", "from the scheduled time to the end of the answer"),
	LATENCY("client_queue", "from the scheduled time to sending"),
	LATENCY("connect", "time to connect"),
	LATENCY("tls", "time of the TLS handshake"),
	PARTS("ttft", ".all", SERVE | LOADED, "ttft with failed requests as infinite"),
	PARTS("e2e", ".all", SERVE | LOADED, "e2e with failed requests as infinite"),
	{ "throughput", UNIT_REQUESTS_PER_S, HIGHER_IS_BETTER, SERVE | LOADED,
	  "answered requests a second" },
	{ "throughput.steady", UNIT_REQUESTS_PER_S, HIGHER_IS_BETTER, SERVE | LOADED,
	  "the same in the steady window" },
	{ "output_tokens_per_s", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER, SERVE | LOADED,
	  "tokens of answers a second" },
	{ "output_tokens_per_s.steady", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER, SERVE | LOADED,
	  "the same in the steady window" },
	{ "errors", UNIT_RATIO, LOWER_IS_BETTER, SERVE | LOADED, "failed of scheduled requests" },
	{ "goodput", UNIT_RATIO, HIGHER_IS_BETTER, SERVE | LOADED,
	  "share of scheduled requests that met every latency objective" },
	{ "answers.match", UNIT_RATIO, HIGHER_IS_BETTER, SERVE | LOADED,
	  "share of answers that equal the golden ones" },
	{ "ready_time", UNIT_NS, LOWER_IS_BETTER, SERVE, "from the start to ready" },
	{ "time_to_target", UNIT_NS, LOWER_IS_BETTER, TRAIN, "from the start to the target" },
	{ "throughput", UNIT_SAMPLES_PER_S, HIGHER_IS_BETTER, TRAIN, "samples a second" },
	PARTS("step_time", "", TRAIN, "time of a step"),
	{ "sample_time", UNIT_NS, LOWER_IS_BETTER, TRAIN, "training time per sample" },
	{ "samples_to_target", UNIT_SAMPLES, LOWER_IS_BETTER, TRAIN, "samples until the target" },
	{ "steps_to_target", UNIT_STEPS, LOWER_IS_BETTER, TRAIN, "steps until the target" },
	{ "final_loss", UNIT_NONE, LOWER_IS_BETTER, TRAIN, "the last loss that was reported" },
	{ "eval_jump", UNIT_RATIO, LOWER_IS_BETTER, TRAIN,
	  "largest step back of an evaluation from the best before it" },
	{ "data_stall", UNIT_RATIO, LOWER_IS_BETTER, TRAIN,
	  "share of time spent waiting for data" },
	{ "runs_reaching_target", UNIT_RATIO, HIGHER_IS_BETTER, TRAIN | ACROSS,
	  "share of repetitions that reached the target" },
	{ "wall_time", UNIT_NS, LOWER_IS_BETTER, TRAIN | COMMAND, "from start to end" },
	{ "cpu_time", UNIT_NS, LOWER_IS_BETTER, SERVE | TRAIN | COMMAND,
	  "processor time of the processes" },
	{ "peak_rss", UNIT_BYTES, LOWER_IS_BETTER, SERVE | TRAIN | COMMAND,
	  "most memory resident in one process" },
};

const char *workload_how_name(enum workload_how how)
{
	static const char *const names[] = {
		[HOW_SERVE] = "serve", [HOW_TRAIN] = "train", [HOW_COMMAND] = "command"
	};

	return names[how];
}

/*
 * Margins when the contract says none. Tails wobble by 5 to 10 % by themselves at a thousand
 * requests, so a 5 % margin on them would mostly be undecidable.
 */
static double default_margin(const char *name, enum unit unit)
{
	if (unit == UNIT_RATIO)
		return 0.02;
	return strstr(name, ".p99") || strstr(name, ".max") ? 0.10 : 0.05;
}

static struct metric_info info_of(const char *name, enum unit unit, enum direction dir,
				  const char *help)
{
	return (struct metric_info){ .name = name,
				     .unit = unit,
				     .dir = dir,
				     .scale = unit == UNIT_RATIO ? SCALE_ABS : SCALE_LOG,
				     .margin = default_margin(name, unit),
				     .help = help };
}

static bool row_fits(const struct row *w, const struct workload_check *k)
{
	return w->flags & 1 << k->how && (!(w->flags & LOADED) || k->has_load);
}

bool contract_metric(const struct contract *c, const char *name, struct metric_info *ret)
{
	const struct workload_check *k = &c->workload_check;

	for (size_t i = 0; k->how == HOW_COMMAND && i < k->command.extract.n; i++) {
		const struct command_metric *m = &k->command.extract.v[i];

		if (!streq(m->metric, name))
			continue;
		*ret = info_of(m->metric, m->unit, (enum direction)m->better, "");
		return true;
	}
	for (size_t i = 0; i < k->items.n; i++) {
		const char *item = k->items.v[i].name;
		size_t n = strlen(item);

		if (strncmp(name, item, n) != 0 || !streq(name + n, ".score"))
			continue;
		*ret = info_of(name, UNIT_RATIO, HIGHER_IS_BETTER, "share of items that are right");
		ret->paired = true;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *w = &rows[i];

		if (!row_fits(w, k) || !streq(w->name, name))
			continue;
		*ret = info_of(w->name, w->unit, w->dir, w->help);
		ret->across = w->flags & ACROSS;
		return true;
	}
	return false;
}

void metric_names(const struct contract *c, const char *ret[METRIC_NAMES_MAX])
{
	const struct workload_check *k = &c->workload_check;
	size_t n = 0;

	for (size_t i = 0; k->how == HOW_COMMAND && i < k->command.extract.n; i++)
		if (k->command.extract.v[i].metric && n + 1 < METRIC_NAMES_MAX)
			ret[n++] = k->command.extract.v[i].metric;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (row_fits(&rows[i], k) && n + 1 < METRIC_NAMES_MAX)
			ret[n++] = rows[i].name;
	ret[n] = NULL;
}

/* The tightest upper limit on any part of one latency; 0: none. */
static int64_t tightest(const struct contract *c, const char *prefix)
{
	size_t n = strlen(prefix);
	double best = INFINITY;

	for (size_t i = 0; i < c->workload_check.objectives.n; i++) {
		const struct objective *o = &c->workload_check.objectives.v[i];

		if (strncmp(o->metric, prefix, n) == 0 && o->metric[n] == '.')
			best = MIN(best, o->limit.value);
	}
	return isfinite(best) ? llround(best) : 0;
}

void contract_goodput(const struct contract *c, struct goodput_limits *ret)
{
	const struct load_spec *l = &c->workload_check.load;

	*ret = (struct goodput_limits){ l->goodput.ttft_ns, l->goodput.tpot_ns, l->goodput.itl_ns,
					l->goodput.e2e_ns };
	if (ret->ttft_ns || ret->tpot_ns || ret->itl_ns || ret->e2e_ns)
		return;
	*ret = (struct goodput_limits){ tightest(c, "ttft"), tightest(c, "tpot"),
					tightest(c, "itl"), tightest(c, "e2e") };
}

void metrics_help(struct str *ret)
{
	for (int how = HOW_SERVE; how <= HOW_COMMAND; how++) {
		str_addf(ret, "%s:\n", workload_how_name((enum workload_how)how));
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const struct row *w = &rows[i];

			if (w->flags & 1 << how)
				str_addf(ret, "  %-26s %-15s %-6s %s%s\n", w->name,
					 unit_name(w->unit), direction_name(w->dir), w->help,
					 w->flags & LOADED ? " (with load)" : "");
		}
	}
	str_add(ret, "  and those of 'extract' in a command, and NAME.score of scored items\n");
}
