/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AIPerf: one request a line (values with their unit), a summary as JSON, CSV or for the console,
 * and GenAI-Perf's `analyze` table. Its inter-token latency is (latency - ttft) / (tokens - 1) of
 * each request: our tpot, as long as the first event carried one token. "inter_chunk_latency" is
 * our itl. A cancelled request has code 499.
 */
#include "readers/loadgen.h"

#include "base/err.h"
#include "base/vec.h"

#include <math.h>
#include <strings.h>

static const struct metric {
	const char *tag, *title, *ours, *note;
} metrics[] = {
	{ "time_to_first_token", "Time to First Token", "ttft_from_start", NULL },
	{ "time_to_second_token", "Time to Second Token", NULL, "no metric of ours" },
	{ "request_latency", "Request Latency", "e2e_from_start", NULL },
	{ "inter_token_latency", "Inter Token Latency", "tpot",
	  "of each request (latency - ttft) / (tokens - 1), not of gaps" },
	{ "inter_chunk_latency", "Inter Chunk Latency", "itl", NULL },
};

static double ns_of(double v, const char *unit)
{
	if (!unit)
		return NAN;
	return streq(unit, "ms")                        ? 1e6 * v
	       : streq(unit, "ns")                      ? v
	       : streq(unit, "us")                      ? 1e3 * v
	       : streq(unit, "s") || streq(unit, "sec") ? 1e9 * v
							: NAN;
}

static const char *goodput_rate = "a rate, where ours is a share of the requests scheduled";
static const char *note_start =
	"latencies count from the sending; the first event is taken for one token";

/* ---- one request a line ---------------------------------------------------------------------- */

/* How often a member of this name stands in a line: its own example has one twice. */
static size_t times_given(struct sv line, const char *name)
{
	AUTO_FREE char *key = xasprintf("\"%s\":", name);
	size_t n = 0;
	ptrdiff_t at;

	while ((at = sv_find(line, sv_of(key))) >= 0) {
		n++;
		line.p += (size_t)at + strlen(key);
		line.n -= (size_t)at + strlen(key);
	}
	return n;
}

static void add_values(const json_t *m, struct samples *to)
{
	const json_t *v = json_object_get(m, "value"), *e;
	const char *unit = json_string_value(json_object_get(m, "unit"));
	size_t i;

	if (json_is_number(v))
		samples_add(to, ns_of(json_number_value(v), unit));
	json_array_foreach(v, i, e) samples_add(to, ns_of(json_number_value(e), unit));
}

struct records {
	struct samples n[ARRAY_SIZE(metrics)];
	size_t twice[ARRAY_SIZE(metrics)];
};

static void records_release(struct records *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		samples_release(&r->n[i]);
}

static int one_record(struct sv line, struct records *all, struct loadgen_run *r, struct err *err)
{
	json_error_t at;
	AUTO_JSON json_t *o = json_loadb(line.p, line.n, 0, &at);
	const json_t *error = json_object_get(o, "error"), *m = json_object_get(o, "metrics");
	const json_t *about = json_object_get(o, "metadata");

	if (!o || !json_is_object(m))
		return bail(err, ERR_PARSE, "not a record with 'metrics'");
	/* Warm-up is not measured. */
	if (streq(json_str_or(about, "benchmark_phase", "profiling"), "warmup"))
		return 0;
	if ((error && !json_is_null(error)) || json_bool_or(about, "was_cancelled", false)) {
		if (json_num(error, "code") == 499 || json_bool_or(about, "was_cancelled", false))
			r->unended++;
		else
			r->failed++;
		return 0;
	}
	r->ok++;
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (times_given(line, metrics[i].tag) > 1)
			all->twice[i]++;
		else
			add_values(json_object_get(m, metrics[i].tag), &all->n[i]);
	}
	return 0;
}

int aiperf_records_read(struct sv text, struct loadgen *g, struct err *err)
{
	struct records all CLEANUP(records_release) = { 0 };
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	unsigned number = 0;

	g->tool = "AIPerf";
	g->form = "one request a line";
	r->ok = r->failed = r->unended = 0;
	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		number++;
		line = sv_trim(line);
		if (line.n && one_record(line, &all, r, err) < 0)
			return err_wrap(err, "line %u", number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		if (metrics[i].ours)
			loadgen_put_samples(r, metrics[i].ours, &all.n[i], metrics[i].note);
		if (all.twice[i])
			strs_addf(&g->notes,
				  "%zu records give '%s' twice: which one is meant is not known, "
				  "and neither is taken",
				  all.twice[i], metrics[i].tag);
	}
	strs_add(&g->notes, note_start);
	return 0;
}

/* ---- summary --------------------------------------------------------------------------------- */

static const struct {
	const char *theirs, *ours;
} stats[] = { { "avg", "mean" }, { "p50", "p50" }, { "p90", "p90" },
	      { "p95", "p95" },  { "p99", "p99" }, { "max", "max" } };

static void put_stat(struct loadgen_run *r, const struct metric *m, const char *theirs,
		     const char *label, double ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++) {
		AUTO_FREE char *name = NULL;
		AUTO_FREE char *full = NULL;

		if (!streq(theirs, stats[i].theirs))
			continue;
		name = m->ours ? xasprintf("%s.%s", m->ours, stats[i].ours) : NULL;
		full = xasprintf("%s %s", label, theirs);
		loadgen_put(r, name, full, UNIT_NS, ns, m->note);
	}
}

static void put_count(struct loadgen_run *r, double v, int64_t *at)
{
	(void)r;
	if (v >= 0 && v < 1e9)
		*at = (int64_t)v;
}

static void put_goodput(const json_t *o, struct loadgen_run *r)
{
	double met = json_num(json_object_get(o, "good_request_count"), "avg");
	double all = (double)r->ok + (double)MAX(r->failed, INT64_C(0));

	loadgen_put(r, NULL, "goodput avg", UNIT_REQUESTS_PER_S,
		    json_num(json_object_get(o, "goodput"), "avg"), goodput_rate);
	if (r->ok >= 0 && met >= 0 && met <= all && all > 0)
		loadgen_put(r, "goodput", "good_request_count", UNIT_RATIO, met / all,
			    "good_request_count / all requests");
}

int aiperf_summary_read(const json_t *o, struct loadgen *g, struct err *err)
{
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	const char *version = json_string_value(json_object_get(o, "aiperf_version"));
	bool any = false;

	g->tool = "AIPerf";
	g->form = "summary";
	g->version = xstrdup(version);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		const json_t *m = json_object_get(o, metrics[i].tag);
		const char *unit = json_string_value(json_object_get(m, "unit"));

		for (size_t k = 0; m && k < ARRAY_SIZE(stats); k++) {
			double ns = ns_of(json_num(m, stats[k].theirs), unit);

			any |= isfinite(ns);
			put_stat(r, &metrics[i], stats[k].theirs, metrics[i].tag, ns);
		}
	}
	if (!any)
		return bail(err, ERR_PARSE, "an AIPerf summary without a latency");
	put_count(r, json_num(json_object_get(o, "request_count"), "avg"), &r->ok);
	put_count(r, json_num(json_object_get(o, "error_request_count"), "avg"), &r->failed);
	put_goodput(o, r);
	loadgen_put(r, "throughput", "request_throughput avg", UNIT_REQUESTS_PER_S,
		    json_num(json_object_get(o, "request_throughput"), "avg"), NULL);
	loadgen_put(r, "output_tokens_per_s", "output_token_throughput avg", UNIT_TOKENS_PER_S,
		    json_num(json_object_get(o, "output_token_throughput"), "avg"), NULL);
	strs_add(&g->notes, note_start);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Cells of a line, apart by one of several separators of several bytes; trimmed. */
static struct strs cells_of(struct sv line, const char *const seps[])
{
	struct strs v = { 0 };
	struct str cell = { 0 };

	while (line.n) {
		size_t skip = 0;

		for (size_t i = 0; seps[i] && !skip; i++)
			if (sv_starts(line, seps[i]))
				skip = strlen(seps[i]);
		if (skip || line.n == 1) {
			AUTO_FREE char *text = NULL;

			if (!skip)
				str_addc(&cell, line.p[0]);
			text = sv_dup(sv_trim(sv_str(&cell)));
			strs_add(&v, text);
			str_clear(&cell);
			skip = MAX(skip, (size_t)1);
		} else {
			str_addc(&cell, line.p[0]);
			skip = 1;
		}
		line.p += skip;
		line.n -= skip;
	}
	str_release(&cell);
	return v;
}

/* "3,651.23"; "N/A" is no number. */
static double cell_number(const char *text)
{
	struct str s CLEANUP(str_release) = { 0 };
	double v;

	for (; *text; text++)
		if (*text != ',')
			str_addc(&s, *text);
	return s.n && sv_to_f64(sv_str(&s), &v) ? v : NAN;
}

static void put_single(struct loadgen_run *r, const char *title, double v)
{
	if (streq(title, "Request Throughput (requests/sec)") ||
	    streq(title, "Request Throughput (per sec)"))
		loadgen_put(r, "throughput", title, UNIT_REQUESTS_PER_S, v, NULL);
	if (streq(title, "Output Token Throughput (tokens/sec)") ||
	    streq(title, "Output Token Throughput (per sec)"))
		loadgen_put(r, "output_tokens_per_s", title, UNIT_TOKENS_PER_S, v, NULL);
	if (streq(title, "Request Count (requests)") || streq(title, "Request Count (count)") ||
	    streq(title, "Request Count"))
		put_count(r, v, &r->ok);
	if (streq(title, "Error Request Count (requests)") || streq(title, "Error Request Count"))
		put_count(r, v, &r->failed);
	if (str_starts(title, "Goodput"))
		loadgen_put(r, NULL, title, UNIT_REQUESTS_PER_S, v, goodput_rate);
}

/* "Time to First Token (ms)": the unit in brackets is part of the name. */
static void put_row(struct loadgen_run *r, const struct strs *head, const struct strs *row)
{
	const char *title = row->v[0];

	for (size_t k = 1; k < MIN(head->n, row->n); k++) {
		double v = cell_number(row->v[k]);

		for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
			AUTO_FREE char *full = xasprintf("%s (ms)", metrics[i].title);

			/* GenAI-Perf writes "Time To". */
			if (strcasecmp(title, full) == 0)
				put_stat(r, &metrics[i], head->v[k], title, 1e6 * v);
		}
		/* A table of its own has what is no distribution. */
		if (streq(head->v[k], "avg") || streq(head->v[k], "Value"))
			put_single(r, title, v);
	}
}

static int table_end(struct loadgen *g, const char *form, struct err *err)
{
	g->tool = "AIPerf";
	g->form = form;
	if (g->runs.v[0].values.n == 0)
		return bail(err, ERR_PARSE, "an AIPerf table without a latency");
	strs_add(&g->notes, note_start);
	return 0;
}

int aiperf_console_read(struct sv text, struct loadgen *g, struct err *err)
{
	static const char *const seps[] = { "┃", "│", NULL };
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	struct strs head CLEANUP(strs_release) = { 0 };

	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		struct strs row CLEANUP(strs_release) = cells_of(sv_trim(line), seps);
		size_t shift = row.n && !row.v[0][0]; /* the border at the left */

		if (row.n < 3 + shift)
			continue;
		if (shift) {
			free(row.v[0]);
			memmove(row.v, row.v + 1, --row.n * sizeof(*row.v));
		}
		if (streq(row.v[0], "Metric")) {
			strs_release(&head);
			head = row;
			row = (struct strs){ 0 };
		} else if (head.n) {
			put_row(r, &head, &row);
		}
	}
	return table_end(g, "console", err);
}

int aiperf_csv_read(struct sv text, struct loadgen *g, struct err *err)
{
	static const char *const seps[] = { ",", NULL };
	struct loadgen_run *r = loadgen_run_add(g, NULL);
	struct strs head CLEANUP(strs_release) = { 0 };

	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		struct strs row CLEANUP(strs_release) = cells_of(sv_trim(line), seps);

		if (row.n < 2)
			continue;
		if (streq(row.v[0], "Metric")) {
			strs_release(&head);
			head = row;
			row = (struct strs){ 0 };
		} else if (head.n) {
			put_row(r, &head, &row);
		}
	}
	return table_end(g, "CSV", err);
}

/* ---- GenAI-Perf analyze ---------------------------------------------------------------------- */

static void analyze_cell(struct loadgen_run *r, const char *column, double v)
{
	static const struct {
		const char *column, *name;
		enum unit unit;
		double scale;
	} known[] = {
		{ "p99 Time To First Token (ms)", "ttft_from_start.p99", UNIT_NS, 1e6 },
		{ "p99 Inter Token Latency (ms)", "tpot.p99", UNIT_NS, 1e6 },
		{ "p99 Request Latency (ms)", "e2e_from_start.p99", UNIT_NS, 1e6 },
		{ "Avg. Output Token Throughput (tokens/sec)", "output_tokens_per_s",
		  UNIT_TOKENS_PER_S, 1 },
		{ "Request Throughput (requests/sec)", "throughput", UNIT_REQUESTS_PER_S, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (streq(column, known[i].column))
			loadgen_put(r, known[i].name, column, known[i].unit, v * known[i].scale,
				    NULL);
}

int genai_perf_csv_read(struct sv text, struct loadgen *g, struct err *err)
{
	static const char *const seps[] = { ",", NULL };
	struct strs head CLEANUP(strs_release) = { 0 };
	bool gpus = false;

	g->tool = "GenAI-Perf";
	g->form = "analyze, CSV";
	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		struct strs row CLEANUP(strs_release) = cells_of(sv_trim(line), seps);
		struct loadgen_run *r;

		if (row.n < 2)
			continue;
		if (streq(row.v[0], "Config Name")) {
			gpus = streq(row.v[1], "GPU"); /* a second table, of other columns */
			strs_release(&head);
			head = row;
			row = (struct strs){ 0 };
			continue;
		}
		if (gpus || row.n != head.n)
			continue;
		r = loadgen_run_add(g, row.v[0]);
		for (size_t i = 1; i < row.n; i++)
			analyze_cell(r, head.v[i], cell_number(row.v[i]));
	}
	if (g->runs.n == 0 || g->runs.v[0].values.n == 0)
		return bail(err, ERR_PARSE, "a GenAI-Perf table without a latency");
	strs_add(&g->notes, note_start);
	return 0;
}
