/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training job is killed and resumed. Three runs of it: whole; killed at a step; resumed. The
 * resumed
 * one must go on from a checkpoint (not from the start, no step left out), its losses must be
 * those of
 * the whole run at the same steps, and where the job reports a digest of its state, that too.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include <math.h>

struct resume_conf {
	double kill_at;
	int64_t within_ns;
	double loss_gap;
	char *digest;
	bool same_digest;
};

static const struct field resume_fields[] = {
	FIELD(resume_conf, kill_at, .type = FIELD_QUANTITY, .unit = UNIT_RATIO, .def = "50 %",
	      .min = "5 %", .max = "95 %", .help = "share of the steps after which it is killed"),
	FIELD_AS("within", resume_conf, within_ns, .type = FIELD_DURATION, .def = "10 min",
		 .min = "1 ms", .help = "from the resume to the first new step"),
	FIELD(resume_conf, loss_gap, .type = FIELD_NUM, .def = "0.000001", .min = "0",
	      .help = "largest difference of a loss at the same step"),
	FIELD(resume_conf, digest, .type = FIELD_STR,
	      .help = "text member of the JSON lines that identifies the final state"),
	FIELD(resume_conf, same_digest, .type = FIELD_BOOL, .def = "true",
	      .help = "it must be equal (otherwise it is only recorded)"),
	{ 0 },
};

static const struct train_point *at_step(const struct train_stream *s, int64_t step)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].step == step && !isnan(s->v[i].loss))
			return &s->v[i];
	return NULL;
}

static const char *state(const struct train_stream *s, const char *key)
{
	const char *v = NULL;

	for (size_t i = 0; i < s->state.n; i++)
		if (streq(s->state.v[i].name, key))
			v = s->state.v[i].value; /* the last one */
	return v;
}

static int first_new_step(const struct train_run *r, int64_t *ret_step, int64_t *ret_ns)
{
	if (!r->stream.n)
		return -1;
	*ret_step = r->stream.v[0].step;
	*ret_ns = r->stream.v[0].at_ns - r->started_ns;
	return 0;
}

static double largest_gap(const struct train_stream *whole, const struct train_stream *resumed,
			  size_t *ret_compared)
{
	double gap = 0;

	*ret_compared = 0;
	for (size_t i = 0; i < resumed->n; i++) {
		const struct train_point *p = &resumed->v[i], *q = at_step(whole, p->step);

		if (isnan(p->loss) || !q)
			continue;
		(*ret_compared)++;
		gap = MAX(gap, fabs(p->loss - q->loss));
	}
	return gap;
}

static int compare(const struct resume_conf *c, const struct train_run *whole,
		   const struct train_run *killed, const struct train_run *resumed,
		   struct outcome *o)
{
	int64_t last = killed->stream.v[killed->stream.n - 1].step, first, took;
	AUTO_FREE char *limit = duration_text(c->within_ns);
	size_t compared;
	double gap;

	if (first_new_step(resumed, &first, &took) < 0)
		return ends(o, RESULT_FAIL, "the resumed job reported no step");
	measurements_add(&o->measured, "recovery.resume", UNIT_NS, LOWER_IS_BETTER, (double)took);
	measurements_add(&o->measured, "recovery.steps_repeated", UNIT_STEPS, LOWER_IS_BETTER,
			 (double)(last - first + 1));
	if (first <= whole->stream.v[0].step)
		return ends(o, RESULT_FAIL, "it began again at step %lld instead of resuming",
			    (long long)first);
	if (first > last + 1)
		return ends(o, RESULT_FAIL, "steps %lld to %lld were left out", (long long)last + 1,
			    (long long)first - 1);
	gap = largest_gap(&whole->stream, &resumed->stream, &compared);
	if (!compared)
		return ends(o, RESULT_ERROR, "no loss could be compared");
	measurements_add(&o->measured, "recovery.loss_gap", UNIT_NONE, LOWER_IS_BETTER, gap);
	if (gap > c->loss_gap)
		return ends(o, RESULT_FAIL,
			    "the losses differ by %.3g at the same step, limit %.3g", gap,
			    c->loss_gap);
	if (resumed->stream.v[resumed->stream.n - 1].step !=
	    whole->stream.v[whole->stream.n - 1].step)
		return ends(o, RESULT_FAIL,
			    "the resumed job ended at step %lld, the whole one at %lld",
			    (long long)resumed->stream.v[resumed->stream.n - 1].step,
			    (long long)whole->stream.v[whole->stream.n - 1].step);
	if (c->digest) {
		const char *a = state(&whole->stream, c->digest),
			   *b = state(&resumed->stream, c->digest);

		if (!a || !b)
			return ends(o, RESULT_ERROR, "no '%s' was reported", c->digest);
		if (!streq(a, b) && c->same_digest)
			return ends(o, RESULT_FAIL, "the final state differs: %.12s, resumed %.12s",
				    a, b);
	}
	if (took > c->within_ns) {
		AUTO_FREE char *t = duration_text(took);

		return ends(o, RESULT_FAIL, "it took %s to go on, limit %s", t, limit);
	}
	o->result = RESULT_PASS;
	return 0;
}

/* A folder of its own for each of the two starts; caller frees. */
static int sub_folder(const struct check_ctx *ctx, const char *name, char **ret, struct err *err)
{
	*ret = ctx_path(ctx, name);
	return dir_make(*ret, err);
}

static int three_runs(const struct check_ctx *ctx, const struct resume_conf *c, struct outcome *o,
		      struct err *err)
{
	struct train_run whole CLEANUP(train_run_release) = { 0 };
	struct train_run killed CLEANUP(train_run_release) = { 0 };
	struct train_run resumed CLEANUP(train_run_release) = { 0 };
	AUTO_FREE char *work_a = NULL;
	AUTO_FREE char *work_b = NULL;
	struct check_ctx a = *ctx, b = *ctx;
	int64_t steps, kill_at;

	a.started = b.started = NULL;
	TRY(sub_folder(ctx, "whole", &work_a, err));
	TRY(sub_folder(ctx, "cut", &work_b, err));
	a.work = work_a;
	b.work = work_b;
	TRY(train_start(&a, "whole", false, 0, &whole, &o->evidence, err));
	if (!proc_ok(&whole.done) || whole.stream.n < 4) {
		AUTO_FREE char *how = proc_how(&whole.done);

		return ends(o, RESULT_ERROR, "the job without a kill ended with %s after %zu steps",
			    how, whole.stream.n);
	}
	steps = whole.stream.v[whole.stream.n - 1].step;
	kill_at = MAX((int64_t)(c->kill_at * (double)steps), 1);
	TRY(train_start(&b, "killed", false, kill_at, &killed, &o->evidence, err));
	if (!killed.killed || !killed.stream.n)
		return ends(o, RESULT_ERROR, "it ended before it could be killed at step %lld",
			    (long long)kill_at);
	TRY(train_start(&b, "resumed", true, 0, &resumed, &o->evidence, err));
	if (!proc_ok(&resumed.done)) {
		AUTO_FREE char *how = proc_how(&resumed.done);

		return ends(o, RESULT_FAIL, "the resumed job ended with %s", how);
	}
	return compare(c, &whole, &killed, &resumed, o);
}

static int resume_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	if (ctx->contract->workload_check.how != HOW_TRAIN)
		return ends(o, RESULT_SKIP, "the workload is no training job");
	if (three_runs(ctx, conf, o, err) < 0)
		return ends_err(o, RESULT_FAIL, err);
	return 0;
}

const struct check check_resume = {
	.schema = { .name = "resume",
		    .layers = 1u << LAYER_RECOVERY,
		    .fields = resume_fields,
		    .conf_size = sizeof(struct resume_conf),
		    .help = "kill the training, resume it, compare steps, losses and state" },
	.run = resume_run,
};
