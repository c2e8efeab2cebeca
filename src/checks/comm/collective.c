/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rccl-tests and nccl-tests, and whatever prints their table: wrong results fail whatever the
 * speed, what was not compared never passes, then bandwidth by size, dips, and what the library's
 * own log (NCCL_DEBUG=INFO) says carried the traffic.
 */
#include "checks/inner.h"

#include "base/err.h"
#include "base/extract.h"
#include "base/file.h"
#include "readers/readers.h"
#include <math.h>

struct collective_conf {
	struct argv argv;
	struct pairs env;
	char *cwd;
	int64_t limit_ns, output_limit;
	struct limits busbw;
	double dip;
	struct limit ranks;
	struct strs expect, refuse;
};

static const struct field collective_fields[] = {
	FIELD(collective_conf, argv, .type = FIELD_ARGV, .need = true,
	      .help = "[mpirun, -np, \"8\", all_reduce_perf, -b, 1M, -e, 1G, -c, \"1\"]"),
	FIELD(collective_conf, env, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "variables on top of stack.environment"),
	FIELD(collective_conf, cwd, .type = FIELD_STR, .def = "{dir}", .expand = true,
	      .help = "folder it runs in"),
	FIELD(collective_conf, ranks, .type = FIELD_LIMIT, .unit = UNIT_COUNT,
	      .help = "how many took part"),
	FIELD(collective_conf, busbw, .type = FIELD_LIMITS, .unit = UNIT_BYTES_PER_S,
	      .help = "limits by message size: \"1 GiB\": \">= 300 GB/s\""),
	FIELD(collective_conf, dip, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .min = "0.1 %",
	      .max = "100 %",
	      .help = "most that a larger message may be slower than the best smaller one"),
	FIELD(collective_conf, expect, .type = FIELD_STRS,
	      .help = "patterns that lines of its output must match: \"via P2P/IPC\""),
	FIELD(collective_conf, refuse, .type = FIELD_STRS,
	      .help = "patterns that no line may match: \"via NET/Socket\""),
	FIELD_AS("limit", collective_conf, limit_ns, .type = FIELD_DURATION, .def = "10 min",
		 .min = "10 ms", .help = "time it may take"),
	FIELD(collective_conf, output_limit, .type = FIELD_BYTES, .def = "16 MiB", .min = "1 KiB",
	      .max = "64 MiB", .help = "bytes kept of each output"),
	{ 0 },
};

int comm_limits_valid(const struct limits *busbw, struct err *err)
{
	for (size_t i = 0; i < busbw->n; i++) {
		double v;
		enum unit u;

		if (!quantity_parse(sv_of(busbw->v[i].name), &v, &u) || u != UNIT_BYTES)
			return bail(err, ERR_PARSE, "busbw: '%s' is no size", busbw->v[i].name);
	}
	return 0;
}

static int patterns_valid(const struct strs *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++)
		TRY(extract_check(
			&(struct extract_spec){ .how = EXTRACT_LINES, .pattern = l->v[i] }, err));
	return 0;
}

static int collective_valid(void *conf, struct err *err)
{
	const struct collective_conf *c = conf;

	TRY(comm_limits_valid(&c->busbw, err));
	TRY(patterns_valid(&c->expect, err));
	return patterns_valid(&c->refuse, err);
}

/* The slower of the two columns. */
static double busbw(const struct nccl_row *row)
{
	if (!row)
		return NAN;
	if (isnan(row->out.busbw) || isnan(row->in.busbw))
		return isnan(row->out.busbw) ? row->in.busbw : row->out.busbw;
	return MIN(row->out.busbw, row->in.busbw);
}

/* Whether there is something to judge. */
static int whole(const struct nccl_tests *t, const struct proc_done *done, struct outcome *o)
{
	AUTO_FREE char *how = proc_how(done);

	if (t->wrong_total > 0 || t->out_of_bounds > 0)
		return ends(o, RESULT_FAIL, "%lld elements are wrong",
			    (long long)MAX(t->wrong_total, t->out_of_bounds));
	if (t->failures.n)
		return ends(o, RESULT_FAIL, "%s", t->failures.v[0]);
	if (done->timed_out)
		return ends(o, RESULT_ERROR, "%s", how);
	if (!proc_ok(done))
		return ends(o, RESULT_FAIL, "ended with %s", how);
	if (!t->checked)
		return ends(o, RESULT_ERROR, "the results were not compared");
	if (done->out_cut)
		return ends(o, RESULT_ERROR, "its output was cut at the limit");
	if (!t->complete)
		return ends(o, RESULT_ERROR, "the output is not whole: %s", t->why_not);
	if (t->avg_failed)
		return ends(o, RESULT_FAIL, "the tool calls its average too low");
	o->result = RESULT_PASS;
	return 0;
}

static void fast_enough(const struct nccl_tests *t, const struct limits *l, struct outcome *o)
{
	for (size_t i = 0; o->result == RESULT_PASS && i < l->n; i++) {
		AUTO_FREE char *limit = limit_text(&l->v[i].limit);
		AUTO_FREE char *got = NULL;
		double bytes, v;
		enum unit u;

		(void)quantity_parse(sv_of(l->v[i].name), &bytes, &u);
		v = busbw(nccl_tests_row(t, (uint64_t)bytes));
		got = quantity_text(v, UNIT_BYTES_PER_S);
		if (isnan(v))
			ends(o, RESULT_ERROR, "no message of %s was measured", l->v[i].name);
		else if (!limit_holds(&l->v[i].limit, v))
			ends(o, RESULT_FAIL, "busbw at %s is %s, limit %s", l->v[i].name, got,
			     limit);
	}
}

/* Bandwidth grows with the size up to a plateau; a hole in it is a wrong protocol or algorithm. */
static void no_dips(const struct nccl_tests *t, double most, struct outcome *o)
{
	double best = 0;

	for (size_t i = 0; o->result == RESULT_PASS && !isnan(most) && i < t->rows.n; i++) {
		double v = busbw(&t->rows.v[i]);

		if (v < best * (1 - most)) {
			AUTO_FREE char *size =
				quantity_text((double)t->rows.v[i].bytes, UNIT_BYTES);

			ends(o, RESULT_FAIL,
			     "busbw at %s is %.0f %% below that of a smaller message", size,
			     100 * (1 - v / best));
		}
		if (v > best)
			best = v;
	}
}

int comm_judge(const struct check_ctx *ctx, const struct proc_done *done, const char *prefix,
	       const struct comm_limits *limits, struct outcome *o)
{
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };
	struct err err = ERR_INIT;

	if (nccl_tests_read(sv_str(&done->out), &t, &err) < 0) {
		AUTO_FREE char *how = proc_how(done);
		AUTO_FREE char *log = ctx_path(ctx, "stderr.txt");
		AUTO_FREE char *tail = tail_of(log, 200);

		/* Nothing was measured; a program that failed is told apart from one that says
		 * nothing. */
		return ends(o, done->timed_out || proc_ok(done) ? RESULT_ERROR : RESULT_FAIL,
			    "no results (%s)%s%s", how, tail[0] ? ": " : "", tail);
	}
	for (size_t i = 0; i < t.rows.n; i++) {
		AUTO_FREE char *name =
			xasprintf("%s.busbw.%llu", prefix, (unsigned long long)t.rows.v[i].bytes);

		measurements_add(&o->measured, name, UNIT_BYTES_PER_S, HIGHER_IS_BETTER,
				 busbw(&t.rows.v[i]));
	}
	measurements_add(&o->measured, "ranks", UNIT_COUNT, HIGHER_IS_BETTER, t.ranks);
	(void)whole(&t, done, o);
	fast_enough(&t, limits->busbw, o);
	no_dips(&t, limits->dip, o);
	return 0;
}

static int lines(const char *pattern, const struct proc_done *done, double *ret, struct err *err)
{
	struct extract_spec spec = { .how = EXTRACT_LINES, .pattern = pattern };
	const struct str *texts[] = { &done->out, &done->err };

	*ret = 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct numbers n CLEANUP(numbers_release) = { 0 };

		TRY(extract_run(&spec, sv_str(texts[i]), 0, &n, err));
		*ret += n.n ? n.v[0] : 0;
	}
	return 0;
}

static int transports(const struct collective_conf *c, const struct proc_done *done,
		      struct outcome *o, struct err *err)
{
	double n;

	for (size_t i = 0; o->result == RESULT_PASS && i < c->refuse.n; i++) {
		TRY(lines(c->refuse.v[i], done, &n, err));
		if (n > 0)
			ends(o, RESULT_FAIL, "%.0f lines match '%s'", n, c->refuse.v[i]);
	}
	for (size_t i = 0; o->result == RESULT_PASS && i < c->expect.n; i++) {
		TRY(lines(c->expect.v[i], done, &n, err));
		if (n == 0)
			ends(o, RESULT_FAIL, "no line matches '%s'", c->expect.v[i]);
	}
	if (o->result == RESULT_PASS && done->err_cut && (c->expect.n || c->refuse.n))
		ends(o, RESULT_ERROR, "its output was cut at the limit");
	return 0;
}

static int collective_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			  struct err *err)
{
	const struct collective_conf *c = conf;
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	struct proc_spec ps = { .limit_ns = c->limit_ns,
				.out_limit = (size_t)c->output_limit,
				.cancel = ctx->cancel };
	const struct measurement *ranks;

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand_argv(&c->argv, &values, &argv, err));
	TRY(ctx_env(ctx, &c->env, &values, &env, err));
	TRY(contract_expand(c->cwd, &values, &cwd, err));
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	ps.cwd = cwd;
	report(ctx, "collective", "", -1, -1);
	if (proc_run(&ps, &done, err) < 0)
		return ends_err(o, err->code == ERR_NOT_FOUND ? RESULT_SKIP : RESULT_ERROR, err);
	TRY(keep_text(ctx, &o->evidence, "stdout.txt", sv_str(&done.out), err));
	TRY(keep_text(ctx, &o->evidence, "stderr.txt", sv_str(&done.err), err));
	TRY(comm_judge(ctx, &done, "collective", &(struct comm_limits){ &c->busbw, c->dip }, o));
	ranks = measurements_find(&o->measured, "ranks");
	if (o->result == RESULT_PASS && !limit_holds(&c->ranks, ranks ? ranks->value : NAN)) {
		AUTO_FREE char *limit = limit_text(&c->ranks);

		return ends(o, RESULT_FAIL, "%.0f ranks took part, limit %s",
			    ranks ? ranks->value : 0, limit);
	}
	return transports(c, &done, o, err);
}

const struct check check_collective = {
	.schema = { .name = "collective",
		    .layers = 1u << LAYER_COMM,
		    .fields = collective_fields,
		    .conf_size = sizeof(struct collective_conf),
		    .valid = collective_valid,
		    .help = "rccl-tests or nccl-tests: results right, bandwidth, transport" },
	.run = collective_run,
};
