/* SPDX-License-Identifier: Apache-2.0 */
/* One repetition of a training job: run, followed line by line, judged by what it reports. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "stat/stat.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

void train_run_release(struct train_run *r)
{
	proc_done_release(&r->done);
	train_stream_release(&r->stream);
	*r = (struct train_run){ 0 };
}

/* ---- following it ---------------------------------------------------------------------------- */

struct follow {
	const struct train_spec *t;
	struct train_stream *s;
	char *path; /* NULL: standard output */
	off_t at;
	struct str rest;
};

static void follow_release(struct follow *f)
{
	free(f->path);
	str_release(&f->rest);
}

static void on_stdout(void *arg, struct sv line)
{
	struct follow *f = arg;

	if (!f->path)
		train_line(f->t, f->s, line, clock_ns());
}

/* What was written since; a job may begin its file anew. */
static void catch_up(struct follow *f)
{
	CLEANUP(closep) int fd = f->path ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;
	char buf[16 * KIB];
	ssize_t n;

	if (fd < 0)
		return;
	if (lseek(fd, 0, SEEK_END) < f->at) {
		f->at = 0;
		str_clear(&f->rest);
	}
	while ((n = pread(fd, buf, sizeof(buf), f->at)) > 0) {
		f->at += n;
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				if (!f->rest.limit)
					str_init(&f->rest, MIB);
				str_addc(&f->rest, buf[i]);
				continue;
			}
			train_line(f->t, f->s, sv_str(&f->rest), clock_ns());
			str_clear(&f->rest);
		}
	}
}

static void show(const struct check_ctx *ctx, const struct train_stream *s, int64_t started)
{
	const struct train_point *p = s->n ? &s->v[s->n - 1] : NULL;
	AUTO_FREE char *t = duration_text(clock_ns() - started);
	struct str text CLEANUP(str_release) = { 0 };

	if (p) {
		str_addf(&text, "step %lld, ", (long long)p->step);
		if (!isnan(p->loss))
			str_addf(&text, "loss %.4g, ", p->loss);
		if (!isnan(p->step_ms))
			str_addf(&text, "%.3g ms a step, ", p->step_ms);
	}
	str_add(&text, t);
	report(ctx, "train", str_text(&text), -1, -1);
}

static int64_t last_step(const struct train_stream *s)
{
	return s->n ? s->v[s->n - 1].step : -1;
}

static void follow_to_the_end(const struct check_ctx *ctx, struct proc *p, const char *log,
			      struct follow *f, int64_t kill_at, struct train_run *ret,
			      bool *cancelled)
{
	const struct train_spec *t = f->t;
	int64_t shown = 0;
	bool over = false;

	while (proc_poll(p, 20 * NS_PER_MS)) {
		catch_up(f);
		if (kill_at && last_step(f->s) >= kill_at) {
			proc_signal(p, SIGKILL);
			ret->killed = true;
			kill_at = 0;
		}
		*cancelled = *ctx->cancel != 0;
		over = clock_ns() - ret->started_ns > t->limit_ns;
		ret->log_too_long = log_too_long(log);
		if (*cancelled || over || ret->log_too_long)
			break;
		if (clock_ns() - shown > 300 * NS_PER_MS) {
			show(ctx, f->s, ret->started_ns);
			shown = clock_ns();
		}
	}
	proc_stop(p, 0, 0, &ret->done);
	ret->done.timed_out = over;
	catch_up(f);
	/* A last line without its end is whole if the job ended by itself. */
	if (f->rest.n && ret->done.exit_code >= 0)
		train_line(t, f->s, sv_str(&f->rest), clock_ns());
}

/* Where the job reports. Lines of an earlier run would be taken for this one's. */
static int find_metrics(const struct train_spec *t, const struct pairs *values, const char *cwd,
			bool resume, struct follow *f, struct err *err)
{
	AUTO_FREE char *name = NULL;

	if (streq(t->metrics.path, "stdout"))
		return 0;
	TRY(contract_expand(t->metrics.path, values, &name, err));
	f->path = path_join(cwd, name);
	if (resume) {
		/* A resumed job appends to its file: only what is new belongs to this start. */
		CLEANUP(closep) int fd = open(f->path, O_RDONLY | O_CLOEXEC);

		f->at = fd >= 0 ? MAX(lseek(fd, 0, SEEK_END), 0) : 0;
	} else if (file_exists(f->path)) {
		bail(err, ERR_CONFLICT, "metrics: '%s' is there before the training starts", name);
		err_hint(err, "Let it report to a file of the repetition: {work}/steps.jsonl.");
		return -ERR_CONFLICT;
	}
	return 0;
}

/* Once the first step is there the libraries it uses are mapped. */
static void tell_started(const struct check_ctx *ctx, struct proc *p, struct follow *f,
			 int64_t started_ns)
{
	while (f->s->n == 0 && proc_poll(p, 20 * NS_PER_MS) && !*ctx->cancel &&
	       clock_ns() - started_ns < f->t->limit_ns)
		catch_up(f);
	if (proc_poll(p, 0))
		ctx->started(ctx->arg, proc_pid(p));
}

static int keep_all(const struct check_ctx *ctx, const char *tag, const char *log,
		    const struct follow *f, const struct train_run *run, struct evidences *to,
		    struct err *err)
{
	AUTO_FREE char *log_name = xasprintf("%s.log", tag);
	AUTO_FREE char *out_name = xasprintf("%s.out", tag);
	AUTO_FREE char *metrics_name = xasprintf("%s.metrics.jsonl", tag);

	TRY(keep_file(ctx, to, log_name, "text/plain", log, err));
	TRY(keep_text(ctx, to, out_name, sv_str(&run->done.out), err));
	return f->path ? keep_file(ctx, to, metrics_name, "application/x-ndjson", f->path, err) : 0;
}

int train_start(const struct check_ctx *ctx, const char *tag, bool resume, int64_t kill_at,
		struct train_run *ret, struct evidences *evidence, struct err *err)
{
	const struct train_spec *t = &ctx->contract->workload_check.train;
	const struct argv *program = resume && t->resume.words.n ? &t->resume : &t->run;
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct follow f CLEANUP(follow_release) = { .t = t, .s = &ret->stream };
	struct proc *p CLEANUP(proc_freep) = NULL;
	AUTO_FREE char *log_name = xasprintf("%s.stderr", tag);
	AUTO_FREE char *log = ctx_path(ctx, log_name);
	AUTO_FREE char *cwd = NULL;
	struct proc_spec ps = { .out_limit = (size_t)t->output_limit,
				.err_path = log,
				.on_line = on_stdout,
				.arg = &f };
	bool cancelled = false;

	assert(t->launcher == LAUNCHER_LOCAL); /* the contract refuses others */
	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand_argv(program, &values, &argv, err));
	TRY(ctx_env(ctx, &t->env, &values, &env, err));
	TRY(contract_expand(t->cwd, &values, &cwd, err));
	TRY(find_metrics(t, &values, cwd, resume, &f, err));
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	ps.cwd = cwd;
	ret->started_ns = clock_ns();
	if (proc_start(&ps, &p, err) < 0)
		return err_wrap(err, "cannot start the training");
	if (ctx->started && !resume && !kill_at)
		tell_started(ctx, p, &f, ret->started_ns);
	follow_to_the_end(ctx, p, log, &f, kill_at, ret, &cancelled);
	TRY(keep_all(ctx, tag, log, &f, ret, evidence, err));
	return cancelled ? bail(err, ERR_INTERRUPTED, "interrupted while training") : 0;
}

/* ---- its numbers ----------------------------------------------------------------------------- */

static void add(struct rep *r, const char *name, enum unit u, enum direction d, double v)
{
	measurements_add(&r->measured, name, u, d, v);
}

static size_t collect(const struct train_stream *s, size_t member, double **ret)
{
	double *v = xcalloc(s->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		double x;

		memcpy(&x, (const char *)&s->v[i] + member, sizeof(x));

		if (!isnan(x))
			v[n++] = x;
	}
	*ret = v;
	return n;
}

static void step_times(const struct train_stream *s, struct rep *r)
{
	static const struct {
		const char *name;
		double p;
	} q[] = { { "step_time.p50", .5 },
		  { "step_time.p90", .9 },
		  { "step_time.p95", .95 },
		  { "step_time.p99", .99 },
		  { "step_time.max", 1 } };
	AUTO_FREE double *ms = NULL;
	AUTO_FREE double *data = NULL;
	size_t n = collect(s, offsetof(struct train_point, step_ms), &ms);
	size_t k = collect(s, offsetof(struct train_point, data_ms), &data);
	double all = 0, wait = 0;

	for (size_t i = 0; i < n; i++)
		all += ms[i];
	for (size_t i = 0; i < k; i++)
		wait += data[i];
	add(r, "step_time.mean", UNIT_NS, LOWER_IS_BETTER, mean(ms, n) * 1e6);
	sort_doubles(ms, n);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++)
		add(r, q[i].name, UNIT_NS, LOWER_IS_BETTER, quantile_sorted(ms, n, q[i].p) * 1e6);
	add(r, "data_stall", UNIT_RATIO, LOWER_IS_BETTER,
	    n && k == n && all > 0 ? wait / all : NAN);
}

static void rates(const struct train_run *run, struct rep *r)
{
	const struct train_stream *s = &run->stream;
	const struct train_point *last = s->n ? &s->v[s->n - 1] : NULL;
	AUTO_FREE double *rate = NULL;
	size_t n = collect(s, offsetof(struct train_point, samples_per_s), &rate);
	double per_s = median(rate, n);

	if (isnan(per_s) && last && !isnan(last->samples) && last->at_ns > run->started_ns)
		per_s = last->samples / ((double)(last->at_ns - run->started_ns) / 1e9);
	add(r, "throughput", UNIT_SAMPLES_PER_S, HIGHER_IS_BETTER, per_s);
	add(r, "sample_time", UNIT_NS, LOWER_IS_BETTER, per_s > 0 ? 1e9 / per_s : NAN);
}

static void target(const struct train_run *run, struct rep *r, bool *ret_reached)
{
	const struct train_stream *s = &run->stream;
	const struct train_point *hit = NULL;
	double loss = NAN;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].reached && !hit)
			hit = &s->v[i];
		if (!isnan(s->v[i].loss))
			loss = s->v[i].loss;
	}
	if (s->bad_numbers)
		loss = NAN;
	*ret_reached = hit != NULL;
	add(r, "time_to_target", UNIT_NS, LOWER_IS_BETTER,
	    hit ? (double)(hit->at_ns - run->started_ns) : NAN);
	add(r, "steps_to_target", UNIT_STEPS, LOWER_IS_BETTER, hit ? (double)hit->step : NAN);
	add(r, "samples_to_target", UNIT_SAMPLES, LOWER_IS_BETTER, hit ? hit->samples : NAN);
	add(r, "final_loss", UNIT_NONE, LOWER_IS_BETTER, loss);
}

static void judge(const struct check_ctx *ctx, const struct train_run *run, bool reached_it,
		  struct rep *r)
{
	struct outcome *o = VEC_ADD(&r->outcomes);
	AUTO_FREE char *how = proc_how(&run->done);
	AUTO_FREE char *log = ctx_path(ctx, "train.stderr");
	AUTO_FREE char *tail = tail_of(log, 200);

	o->check = xstrdup("workload/train");
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	if (run->done.timed_out)
		ends(o, RESULT_FAIL, "%s", how);
	else if (run->log_too_long)
		ends(o, RESULT_FAIL, "it wrote more than 1 GiB to its error output");
	else if (!proc_ok(&run->done))
		ends(o, RESULT_FAIL, "the training ended with %s%s%s", how, tail[0] ? ": " : "",
		     tail);
	else if (run->stream.bad_numbers)
		ends(o, RESULT_FAIL, "the loss is no number in %zu lines", run->stream.bad_numbers);
	else if (run->stream.bad_lines)
		ends(o, RESULT_ERROR, "%zu lines of its metrics can't be read",
		     run->stream.bad_lines);
	else if (!run->stream.n)
		ends(o, RESULT_ERROR, "the training reported no step");
	else if (!reached_it)
		ends(o, RESULT_FAIL, "the target was not reached in %lld steps",
		     (long long)last_step(&run->stream));
	if (o->result != RESULT_PASS) {
		r->state = REP_FAILED;
		r->reason = xstrdup(o->reason);
	}
}

/* Losses at the steps that the contract names; one that was not reported has no number. */
static void losses_at(const struct train_spec *t, const struct train_stream *s, struct rep *r)
{
	for (size_t k = 0; k < t->loss_at.steps.n; k++) {
		AUTO_FREE char *name = xasprintf("loss_at.%lld", (long long)t->loss_at.steps.v[k]);
		double loss = NAN;

		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].step == t->loss_at.steps.v[k] && !isnan(s->v[i].loss))
				loss = s->v[i].loss;
		add(r, name, UNIT_NONE, LOWER_IS_BETTER, loss);
	}
}

/* Every evaluation is looked at, not only the last: one that is worse than the best before it by
 * more than the set size is a finding, though the target may have been reached later. */
static void evaluations(const struct check_ctx *ctx, const struct train_stream *s, struct rep *r)
{
	const struct train_spec *t = &ctx->contract->workload_check.train;
	const struct named_limit *target = &t->target.v[0];
	bool lower = target->limit.op == LIMIT_LE || target->limit.op == LIMIT_LT;
	double best = NAN, worst = 0, from = 0, to = 0;
	int64_t at = 0;
	struct outcome *o;

	losses_at(t, s, r);
	for (size_t i = 0; i < s->n; i++) {
		double v = s->v[i].eval, back;

		if (isnan(v))
			continue;
		back = isnan(best) || best == 0 ? 0 : (lower ? v - best : best - v) / fabs(best);
		if (back > worst) {
			worst = back;
			from = best;
			to = v;
			at = s->v[i].step;
		}
		if (isnan(best) || (lower ? v < best : v > best))
			best = v;
	}
	if (isnan(best))
		return;
	add(r, "eval_jump", UNIT_RATIO, LOWER_IS_BETTER, worst);
	if (!(worst > t->jump))
		return;
	o = VEC_ADD(&r->outcomes);
	o->check = xstrdup("workload/evaluations");
	o->layer = LAYER_WORKLOAD;
	ends(o, RESULT_DOUBTFUL,
	     "%s went from %.4g back to %.4g at step %lld (%.0f %%, more than %.3g %%)",
	     target->name, from, to, (long long)at, 100 * worst, 100 * t->jump);
}

static int tell(const struct check_ctx *ctx, const struct train_run *run, struct rep *r,
		struct err *err)
{
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	AUTO_FREE char *log = ctx_path(ctx, "train.stderr");

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand(ctx->contract->workload_check.train.cwd, &values, &cwd, err));
	return told_collect(ctx,
			    &(struct told){ .out = sv_str(&run->done.out),
					    .out_cut = run->done.out_cut,
					    .log = log,
					    .cwd = cwd,
					    .values = &values },
			    r, err);
}

int workload_train(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	struct train_run run CLEANUP(train_run_release) = { 0 };
	int64_t own0 = self_cpu_ns();
	bool reached_it = false;
	struct watch w;

	watch_start(ctx, &w);
	if (train_start(ctx, "train", /* resume= */ false, /* kill_at= */ 0, &run, &r->evidence,
			err) < 0) {
		struct outcome *o;

		if (no_answer(err))
			return -(int)err->code;
		o = VEC_ADD(&r->outcomes);
		o->check = xstrdup("workload/train");
		o->layer = LAYER_WORKLOAD;
		o->required = true;
		/* What could not be started was not judged. */
		ends(o, RESULT_ERROR, "%s", err->msg);
		r->state = REP_FAILED;
		r->reason = xstrdup(err->msg);
		err_clear(err);
		return 0;
	}
	target(&run, r, &reached_it);
	step_times(&run.stream, r);
	rates(&run, r);
	add(r, "wall_time", UNIT_NS, LOWER_IS_BETTER, (double)run.done.wall_ns);
	add(r, "cpu_time", UNIT_NS, LOWER_IS_BETTER, (double)(run.done.user_ns + run.done.sys_ns));
	add(r, "peak_rss", UNIT_BYTES, LOWER_IS_BETTER, (double)run.done.max_rss_bytes);
	judge(ctx, &run, reached_it, r);
	evaluations(ctx, &run.stream, r);
	if (r->state == REP_OK)
		TRY(tell(ctx, &run, r, err));
	watch_end(ctx, &w, self_cpu_ns() - own0, r);
	return 0;
}
