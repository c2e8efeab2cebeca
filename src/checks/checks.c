/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks, and running one of them. */
#include "checks/checks.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "checks/inner.h"
#include "readers/readers.h"
#include <errno.h>
#include <math.h>

const struct check *const checks[] = {
	&check_allreduce,
	&check_collective,
	&check_cpus,
	&check_ecc,
	&check_gpus,
	&check_host,
	&check_import,
	&check_memory,
	&check_memory_bandwidth,
	&check_replay,
	&check_restart,
	&check_resume,
	NULL,
};

const struct check_schema *const *checks_schemas(void)
{
	static const struct check_schema *list[ARRAY_SIZE(checks)]; /* made once from a constant */

	for (size_t i = 0; checks[i]; i++)
		list[i] = &checks[i]->schema;
	return list;
}

int ends(struct outcome *o, enum result r, const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	o->result = r;
	free(o->reason);
	o->reason = text_clean(sv_str(&s));
	str_release(&s);
	return 0;
}

bool no_answer(const struct err *err)
{
	return err->code == ERR_INTERRUPTED || err->sys == EMFILE || err->sys == ENFILE ||
	       err->sys == ENOMEM;
}

int ends_err(struct outcome *o, enum result r, struct err *err)
{
	if (no_answer(err))
		return -(int)err->code;
	ends(o, r, "%s", err->msg);
	err_clear(err);
	return 0;
}

void report(const struct check_ctx *ctx, const char *what, const char *live, double fraction,
	    int64_t left_ns)
{
	struct check_progress p = { what, live ? live : "", fraction, left_ns };

	if (ctx->progress)
		ctx->progress(ctx->arg, &p);
}

static const struct check *find(const struct check_schema *schema)
{
	for (size_t i = 0; checks[i]; i++)
		if (streq(checks[i]->schema.name, schema->name))
			return checks[i];
	return NULL;
}

static int run_command(const struct check_ctx *ctx, const struct contract_check *k,
		       struct outcome *o, struct err *err)
{
	AUTO_FREE char *prefix = xasprintf("command.%s.", k->name);
	struct proc_done done CLEANUP(proc_done_release) = { 0 };

	return command_do(ctx, k->conf, prefix, o, &done, err);
}

/* A PASS that has no number where the check asked for one is none. */
static void hold_to_its_numbers(struct outcome *o)
{
	for (size_t i = 0; o->result == RESULT_PASS && i < o->measured.n; i++)
		if (isnan(o->measured.v[i].value))
			ends(o, RESULT_ERROR, "%s has no number", o->measured.v[i].name);
}

int check_run_as(const struct check_ctx *ctx, const struct check *c, const struct contract_check *k,
		 struct outcome *ret, struct err *err)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	int64_t start = clock_ns();
	int rc;

	o.check = contract_check_label(k);
	o.layer = k->layer;
	o.required = k->required;
	o.owner = xstrdup(k->owner);
	o.result = RESULT_ERROR;
	o.reason = xstrdup("the check did not say how it ended");
	rc = c ? c->run(ctx, k->conf, &o, err) : run_command(ctx, k, &o, err);
	if (rc < 0) {
		if (err->code == ERR_INTERRUPTED || err->code == ERR_BUG)
			return rc;
		TRY(ends_err(&o, RESULT_ERROR, err));
	}
	o.took_ns = clock_ns() - start;
	hold_to_its_numbers(&o);
	if (o.result == RESULT_PASS) {
		free(o.reason);
		o.reason = NULL;
	}
	*ret = o;
	o = (struct outcome){ 0 };
	return 0;
}

int check_run(const struct check_ctx *ctx, const struct contract_check *k, struct outcome *ret,
	      struct err *err)
{
	const struct check *c = find(k->schema);

	if (!c && k->schema != &command_schema)
		return bail(err, ERR_BUG, "no check '%s'", k->schema->name);
	return check_run_as(ctx, c, k, ret, err);
}

enum { PROFILES_MOST = 4 };

/* A profiler's table that the workload left in its folder: time per kernel, for attributions. */
static int keep_profiles(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	size_t n = 0;

	TRY(dir_list(ctx->work, &names, err));
	for (size_t i = 0; i < names.n && n < PROFILES_MOST; i++) {
		AUTO_FREE char *path = path_join(ctx->work, names.v[i]);

		if (!kernel_times_named(names.v[i]) || str_starts(names.v[i], "kept.") ||
		    !file_exists(path))
			continue;
		TRY(keep_file(ctx, &r->evidence, names.v[i],
			      str_ends(names.v[i], ".json") ? "application/json" : "text/csv", path,
			      err));
		n++;
	}
	return 0;
}

int workload_rep(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	switch (ctx->contract->workload_check.how) {
	case HOW_SERVE:
		TRY(workload_serve(ctx, r, err));
		break;
	case HOW_TRAIN:
		TRY(workload_train(ctx, r, err));
		break;
	case HOW_COMMAND:
	default:
		TRY(workload_command(ctx, r, err));
		break;
	}
	return keep_profiles(ctx, r, err);
}
