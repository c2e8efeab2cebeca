/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training job is killed and resumed. Three runs of it: whole; killed at a step; resumed. The
 * resumed one must go on from a checkpoint (not from the start, no step left out), its losses
 * must be those of the whole run at the same steps, and where the job reports a digest of its
 * state, that too.
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

static const char *state(const struct train_stream *s, const char *key)
{
	const char *v = NULL;

	for (size_t i = 0; i < s->state.n; i++)
		if (streq(s->state.v[i].name, key))
			v = s->state.v[i].value; /* the last one */
	return v;
}

/* The points that have a loss, in order; caller frees. */
static size_t losses(const struct train_stream *s, const struct train_point ***ret)
{
	const struct train_point **v = xcalloc(s->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->v[i].loss))
			v[n++] = &s->v[i];
	*ret = v;
	return n;
}

struct continuity {
	size_t compared;
	double gap;
	int64_t broken; /* first step that is missing, repeated or out of order; -1: none */
	int64_t ended;  /* last step of the resumed run */
};

/* From the resumed run's first step on both must report the same steps, one after the other. */
static struct continuity follow(const struct train_stream *whole,
				const struct train_stream *resumed)
{
	AUTO_FREE const struct train_point **a = NULL;
	AUTO_FREE const struct train_point **b = NULL;
	size_t n = losses(whole, &a), m = losses(resumed, &b), i = 0;
	struct continuity c = { .broken = -1, .ended = m ? b[m - 1]->step : -1 };

	while (i < n && m && a[i]->step < b[0]->step)
		i++;
	for (size_t k = 0; k < m && i + k < n; k++) {
		if (a[i + k]->step != b[k]->step) {
			c.broken = MIN(a[i + k]->step, b[k]->step);
			break;
		}
		c.compared++;
		c.gap = MAX(c.gap, fabs(a[i + k]->loss - b[k]->loss));
	}
	if (c.broken < 0 && i + m < n)
		c.broken = a[i + m]->step; /* it ended too early */
	else if (c.broken < 0 && i + m > n && m)
		c.broken = b[n > i ? n - i : 0]->step; /* it went on too long */
	return c;
}

static int same_state(const struct resume_conf *c, const struct train_run *whole,
		      const struct train_run *resumed, struct outcome *o)
{
	const char *a = c->digest ? state(&whole->stream, c->digest) : NULL;
	const char *b = c->digest ? state(&resumed->stream, c->digest) : NULL;

	if (!c->digest)
		return 0;
	if (!a || !b)
		return ends(o, RESULT_ERROR, "no '%s' was reported by the %s job", c->digest,
			    a ? "resumed" : "whole");
	if (!streq(a, b) && c->same_digest)
		return ends(o, RESULT_FAIL, "the final state differs: %.12s, resumed %.12s", a, b);
	return 0;
}

static int compare(const struct resume_conf *c, const struct train_run *whole,
		   const struct train_run *killed, const struct train_run *resumed,
		   struct outcome *o)
{
	const struct train_point *begin = &resumed->stream.v[0];
	int64_t last = killed->stream.v[killed->stream.n - 1].step, first = begin->step;
	int64_t took = begin->at_ns - resumed->started_ns;
	struct continuity f = follow(&whole->stream, &resumed->stream);

	measurements_add(&o->measured, "recovery.resume", UNIT_NS, LOWER_IS_BETTER, (double)took);
	measurements_add(&o->measured, "recovery.steps_repeated", UNIT_STEPS, LOWER_IS_BETTER,
			 (double)(last - first + 1));
	if (first <= whole->stream.v[0].step)
		return ends(o, RESULT_FAIL, "it began again at step %lld instead of resuming",
			    (long long)first);
	if (first > last + 1)
		return ends(o, RESULT_FAIL, "steps %lld to %lld were left out", (long long)last + 1,
			    (long long)first - 1);
	if (resumed->stream.bad_numbers)
		return ends(o, RESULT_FAIL, "the loss is no number after the resume");
	if (!f.compared && f.broken < 0)
		return ends(o, RESULT_ERROR, "no loss could be compared");
	if (f.broken >= 0)
		return ends(o, RESULT_FAIL,
			    "step %lld is missing, repeated or out of order after the resume",
			    (long long)f.broken);
	measurements_add(&o->measured, "recovery.loss_gap", UNIT_NONE, LOWER_IS_BETTER, f.gap);
	if (f.gap > c->loss_gap)
		return ends(o, RESULT_FAIL,
			    "the losses differ by %.3g at the same step, limit %.3g", f.gap,
			    c->loss_gap);
	o->result = RESULT_PASS;
	TRY(same_state(c, whole, resumed, o));
	if (o->result == RESULT_PASS && took > c->within_ns) {
		AUTO_FREE char *t = duration_text(took);
		AUTO_FREE char *limit = duration_text(c->within_ns);

		return ends(o, RESULT_FAIL, "it took %s to go on, limit %s", t, limit);
	}
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
	if (whole.stream.bad_numbers || whole.stream.bad_lines)
		return ends(o, RESULT_ERROR,
			    "the job without a kill reported losses that can't be read");
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
	if (!resumed.stream.n)
		return ends(o, RESULT_FAIL, "the resumed job reported no step");
	if (resumed.stream.bad_lines)
		return ends(o, RESULT_ERROR, "%zu lines of the resumed job can't be read",
			    resumed.stream.bad_lines);
	return compare(c, &whole, &killed, &resumed, o);
}

static int resume_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	if (ctx->contract->workload_check.how != HOW_TRAIN)
		return ends(o, RESULT_SKIP, "the workload is no training job");
	if (three_runs(ctx, conf, o, err) < 0)
		return ends_err(o, RESULT_ERROR, err);
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
