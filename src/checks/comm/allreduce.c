/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce over MPI by our helper twice-allreduce: every element compared, then bandwidth. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <unistd.h>

struct allreduce_conf {
	int64_t ranks, iterations, limit_ns, min_bytes, max_bytes;
	struct argv launcher;
	struct limits busbw;
	double dip;
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
	FIELD(allreduce_conf, dip, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .min = "0.1 %",
	      .max = "100 %",
	      .help = "most that a larger message may be slower than the best smaller one"),
	FIELD_AS("limit", allreduce_conf, limit_ns, .type = FIELD_DURATION, .def = "2 min",
		 .min = "1 s", .help = "time it may take"),
	{ 0 },
};

static int allreduce_valid(void *conf, struct err *err)
{
	const struct allreduce_conf *c = conf;

	if (c->min_bytes > c->max_bytes)
		return bail(err, ERR_PARSE, "'min' is more than 'max'");
	TRY(comm_limits_valid(&c->busbw, err));
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

static int allreduce_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			 struct err *err)
{
	const struct allreduce_conf *c = conf;
	AUTO_FREE char *program = helper(ctx);
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct proc_spec ps = { .limit_ns = c->limit_ns, .cancel = ctx->cancel, .cwd = ctx->work };

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
	return comm_judge(ctx, &done, "allreduce", &(struct comm_limits){ &c->busbw, c->dip }, o);
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
