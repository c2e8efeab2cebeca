/* SPDX-License-Identifier: Apache-2.0 */
/* Any program as a check: run it, read its numbers, hold them to their limits. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include <math.h>

static int text_of(const char *cwd, const struct command_metric *m, const struct proc_done *done,
		   char **owned, struct sv *ret, struct err *err)
{
	size_t n;

	switch (m->source) {
	case FROM_STDERR:
		*ret = sv_str(&done->err);
		return 0;
	case FROM_FILE: {
		AUTO_FREE char *path = path_join(cwd, m->path);

		TRY(file_read(path, EXTRACT_MAX_BYTES, owned, &n, err));
		*ret = (struct sv){ *owned, n };
		return 0;
	}
	case FROM_STDOUT:
	default:
		*ret = sv_str(&done->out);
		return 0;
	}
}

static void one_metric(const char *cwd, const struct command_metric *m, const char *prefix,
		       const struct proc_done *done, struct outcome *o)
{
	AUTO_FREE char *name = xasprintf("%s%s", prefix, m->metric);
	AUTO_FREE char *owned = NULL;
	struct err err = ERR_INIT;
	double value = NAN;
	struct sv text;

	if (text_of(cwd, m, done, &owned, &text, &err) < 0 ||
	    command_metric_read(m, text, done->exit_code, &value, &err) < 0) {
		value = NAN;
		if (o->result == RESULT_PASS)
			ends(o, RESULT_ERROR, "%s: %s", m->metric, err.msg);
	}
	measurements_add(&o->measured, name, m->unit, (enum direction)m->better, value);
	if (!isnan(value) && !limit_holds(&m->limit, value)) {
		AUTO_FREE char *got = quantity_text(value, m->unit);
		AUTO_FREE char *limit = limit_text(&m->limit);

		ends(o, RESULT_FAIL, "%s is %s, limit %s", m->metric, got, limit);
	}
}

int command_do(const struct check_ctx *ctx, const struct command_spec *c, const char *prefix,
	       struct outcome *o, struct proc_done *done, struct err *err)
{
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	struct proc_spec ps = { .limit_ns = c->limit_ns,
				.out_limit = (size_t)c->output_limit,
				.cancel = ctx->cancel };

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand_argv(&c->argv, &values, &argv, err));
	TRY(ctx_env(ctx, &c->env, &values, &env, err));
	TRY(contract_expand(c->cwd, &values, &cwd, err));
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	ps.cwd = cwd;
	if (proc_run(&ps, done, err) < 0) {
		/* A program that is not there was not run: that is no verdict on what it would
		 * have said. */
		if (err->code == ERR_NOT_FOUND)
			return ends_err(o, RESULT_SKIP, err);
		return ends_err(o, RESULT_ERROR, err);
	}
	TRY(keep_text(ctx, &o->evidence, "stdout.txt", sv_str(&done->out), err));
	TRY(keep_text(ctx, &o->evidence, "stderr.txt", sv_str(&done->err), err));
	if (done->timed_out) {
		AUTO_FREE char *how = proc_how(done);

		return ends(o, RESULT_ERROR, "%s", how);
	}
	o->result = RESULT_PASS;
	for (size_t i = 0; i < c->extract.n; i++)
		one_metric(cwd, &c->extract.v[i], prefix, done, o);
	if (done->exit_code < 0 || !command_exit_ok(c, done->exit_code)) {
		AUTO_FREE char *how = proc_how(done);

		return ends(o, RESULT_FAIL, "ended with %s", how);
	}
	if (o->result == RESULT_PASS && (done->out_cut || done->err_cut))
		return ends(o, RESULT_DOUBTFUL, "its output was cut at the limit");
	return 0;
}

static void numbers(const struct outcome *o, const struct proc_done *done, struct rep *r)
{
	for (size_t i = 0; i < o->measured.n; i++)
		measurements_add(&r->measured, o->measured.v[i].name, o->measured.v[i].unit,
				 o->measured.v[i].dir, o->measured.v[i].value);
	if (!done->wall_ns)
		return; /* it did not run */
	measurements_add(&r->measured, "wall_time", UNIT_NS, LOWER_IS_BETTER,
			 (double)done->wall_ns);
	measurements_add(&r->measured, "cpu_time", UNIT_NS, LOWER_IS_BETTER,
			 (double)(done->user_ns + done->sys_ns));
	measurements_add(&r->measured, "peak_rss", UNIT_BYTES, LOWER_IS_BETTER,
			 (double)done->max_rss_bytes);
}

/* Items, texts and settings that its output or its files tell. */
static int tell(const struct check_ctx *ctx, const struct command_spec *c,
		const struct proc_done *done, struct rep *r, struct err *err)
{
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	AUTO_FREE char *log = ctx_path(ctx, "stderr.txt");

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand(c->cwd, &values, &cwd, err));
	return told_collect(ctx,
			    &(struct told){ .out = sv_str(&done->out),
					    .out_cut = done->out_cut,
					    .log = log,
					    .cwd = cwd,
					    .values = &values },
			    r, err);
}

int workload_command(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	const struct command_spec *c = &ctx->contract->workload_check.command;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct outcome *o = VEC_ADD(&r->outcomes);
	int64_t own0 = self_cpu_ns();
	struct watch w;

	o->check = xstrdup("workload/command");
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	watch_start(ctx, &w);
	report(ctx, "command", "", -1, -1);
	if (command_do(ctx, c, "", o, &done, err) < 0)
		TRY(ends_err(o, RESULT_ERROR, err));
	numbers(o, &done, r);
	if (o->result != RESULT_PASS) {
		r->state = REP_FAILED;
		r->reason = xstrdup(o->reason);
	}
	if (r->state == REP_OK)
		TRY(tell(ctx, c, &done, r, err));
	o = &r->outcomes.v[0]; /* the list may have moved */
	/* What a repetition rests on is kept with it. */
	for (size_t i = 0; i < r->evidence.n; i++)
		*VEC_ADD(&o->evidence) = r->evidence.v[i];
	free(r->evidence.v);
	r->evidence = o->evidence;
	o->evidence = (struct evidences){ 0 };
	watch_end(ctx, &w, self_cpu_ns() - own0, r); /* may add an outcome: o is gone then */
	return 0;
}
