/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce over MPI by our helper twice-allreduce: every element compared, then bandwidth. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include "readers/readers.h"
#include <math.h>
#include <unistd.h>

struct allreduce_conf {
	int64_t ranks, iterations, limit_ns, min_bytes, max_bytes;
	struct argv launcher;
	struct limits busbw;
};

static const struct field allreduce_fields[] = {
	FIELD(allreduce_conf, ranks, .type = FIELD_INT, .def = "2", .min = "2", .max = "4096",
	      .help = "processes"),
	FIELD_AS("min", allreduce_conf, min_bytes, .type = FIELD_BYTES, .def = "1 KiB",
		 .min = "4 B", .help = "smallest message"),
	FIELD_AS("max", allreduce_conf, max_bytes, .type = FIELD_BYTES, .def = "1 MiB",
		 .min = "4 B", .max = "1 GiB",
		 .help = "largest message; each size is four times the one before"),
	FIELD(allreduce_conf, iterations, .type = FIELD_INT, .def = "20", .min = "1",
	      .max = "100000", .help = "of each size"),
	FIELD(allreduce_conf, launcher, .type = FIELD_ARGV,
	      .help = "else mpirun --oversubscribe --bind-to none -np RANKS"),
	FIELD(allreduce_conf, busbw, .type = FIELD_LIMITS, .unit = UNIT_BYTES_PER_S,
	      .help = "limits by message size: \"1 MiB\": \">= 0.1 GB/s\""),
	FIELD_AS("limit", allreduce_conf, limit_ns, .type = FIELD_DURATION, .def = "2 min",
		 .min = "1 s", .help = "time it may take"),
	{ 0 },
};

static int allreduce_valid(void *conf, struct err *err)
{
	const struct allreduce_conf *c = conf;

	if (c->min_bytes > c->max_bytes)
		return bail(err, ERR_PARSE, "'min' is more than 'max'");
	for (size_t i = 0; i < c->busbw.n; i++) {
		double v;
		enum unit u;

		if (!quantity_parse(sv_of(c->busbw.v[i].name), &v, &u) || u != UNIT_BYTES)
			return bail(err, ERR_PARSE, "busbw: '%s' is no size", c->busbw.v[i].name);
	}
	return 0;
}

static char *helper(const struct check_ctx *ctx)
{
	const char *places[] = { ctx->libexec, getenv("TWICE_LIBEXEC"), TWICE_BUILD_LIBEXEC,
				 TWICE_LIBEXEC_DIR };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO_FREE char *p = places[i] ? path_join(places[i], "twice-allreduce") : NULL;

		if (p && access(p, X_OK) == 0)
			return STEAL(p);
	}
	return NULL;
}

static void add_number(struct strs *l, int64_t v)
{
	strs_addf(l, "%lld", (long long)v);
}

static int command(const struct check_ctx *ctx, const struct allreduce_conf *c, const char *program,
		   struct strs *argv, struct err *err)
{
	struct pairs values CLEANUP(pairs_release) = { 0 };

	TRY(ctx_values(ctx, 0, &values, err));
	if (c->launcher.words.n) {
		TRY(contract_expand_argv(&c->launcher, &values, argv, err));
	} else {
		strs_add(argv, "mpirun");
		if (geteuid() == 0)
			strs_add(argv, "--allow-run-as-root");
		strs_add(argv, "--oversubscribe");
		strs_add(argv, "--bind-to");
		strs_add(argv, "none");
		strs_add(argv, "-np");
		add_number(argv, c->ranks);
	}
	strs_add(argv, program);
	add_number(argv, c->min_bytes);
	add_number(argv, c->max_bytes);
	add_number(argv, c->iterations);
	return 0;
}

static double busbw(const struct nccl_row *row)
{
	double best = NAN;

	if (row && !isnan(row->out.busbw))
		best = row->out.busbw;
	if (row && !isnan(row->in.busbw))
		best = isnan(best) ? row->in.busbw : MIN(best, row->in.busbw);
	return best;
}

static int judge(const struct allreduce_conf *c, const struct nccl_tests *t, struct outcome *o)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		AUTO_FREE char *name =
			xasprintf("allreduce.busbw.%llu", (unsigned long long)t->rows.v[i].bytes);

		measurements_add(&o->measured, name, UNIT_BYTES_PER_S, HIGHER_IS_BETTER,
				 busbw(&t->rows.v[i]));
	}
	if (t->wrong_total > 0)
		return ends(o, RESULT_FAIL, "%lld elements are wrong", (long long)t->wrong_total);
	if (!t->checked)
		return ends(o, RESULT_ERROR, "the results were not compared");
	if (!t->complete)
		return ends(o, RESULT_ERROR, "the output is not whole: %s", t->why_not);
	for (size_t i = 0; i < c->busbw.n; i++) {
		AUTO_FREE char *limit = limit_text(&c->busbw.v[i].limit);
		AUTO_FREE char *got = NULL;
		double bytes, v;
		enum unit u;

		(void)quantity_parse(sv_of(c->busbw.v[i].name), &bytes, &u);
		v = busbw(nccl_tests_row(t, (uint64_t)bytes));
		if (isnan(v))
			return ends(o, RESULT_ERROR, "no message of %s was measured",
				    c->busbw.v[i].name);
		got = quantity_text(v, UNIT_BYTES_PER_S);
		if (!limit_holds(&c->busbw.v[i].limit, v))
			return ends(o, RESULT_FAIL, "busbw at %s is %s, limit %s",
				    c->busbw.v[i].name, got, limit);
	}
	o->result = RESULT_PASS;
	return 0;
}

static int allreduce_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			 struct err *err)
{
	const struct allreduce_conf *c = conf;
	AUTO_FREE char *program = helper(ctx);
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct nccl_tests t CLEANUP(nccl_tests_release) = { 0 };
	struct proc_spec ps = { .limit_ns = c->limit_ns, .cancel = ctx->cancel, .cwd = ctx->work };
	AUTO_FREE char *how = NULL;

	if (!program)
		return ends(o, RESULT_SKIP, "twice was built without MPI (no twice-allreduce)");
	TRY(command(ctx, c, program, &argv, err));
	TRY(ctx_env(ctx, NULL, NULL, &env, err));
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	report(ctx, "all-reduce", "", -1, -1);
	if (proc_run(&ps, &done, err) < 0)
		return ends_err(o, err->code == ERR_NOT_FOUND ? RESULT_SKIP : RESULT_ERROR, err);
	TRY(keep_text(ctx, &o->evidence, "stdout.txt", sv_str(&done.out), err));
	TRY(keep_text(ctx, &o->evidence, "stderr.txt", sv_str(&done.err), err));
	how = proc_how(&done);
	if (nccl_tests_read(sv_str(&done.out), &t, err) < 0) {
		err_clear(err);
		return ends(o, done.timed_out || proc_ok(&done) ? RESULT_ERROR : RESULT_FAIL,
			    "no results (%s)", how);
	}
	TRY(judge(c, &t, o));
	if (o->result == RESULT_PASS && !proc_ok(&done))
		return ends(o, RESULT_FAIL, "ended with %s", how);
	return 0;
}

const struct check check_allreduce = {
	.schema = { .name = "allreduce",
		    .layers = 1u << LAYER_COMM,
		    .fields = allreduce_fields,
		    .conf_size = sizeof(struct allreduce_conf),
		    .valid = allreduce_valid,
		    .help = "all-reduce over MPI: results exact, then bandwidth" },
	.run = allreduce_run,
};
