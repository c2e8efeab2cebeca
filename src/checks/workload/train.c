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

void train_stream_release(struct train_stream *s)
{
	free(s->v);
	pairs_release(&s->state);
	*s = (struct train_stream){ 0 };
}

void train_run_release(struct train_run *r)
{
	proc_done_release(&r->done);
	train_stream_release(&r->stream);
	*r = (struct train_run){ 0 };
}

static double number_or(const json_t *o, const char *key, double def)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : def;
}

static bool reached(const struct train_spec *t, const json_t *o)
{
	bool all = t->target.n > 0;

	for (size_t i = 0; i < t->target.n; i++)
		all &= limit_holds(&t->target.v[i].limit, number_or(o, t->target.v[i].name, NAN));
	return all;
}

static void jsonl(const struct train_spec *t, struct train_stream *s, const json_t *o,
		  int64_t at_ns)
{
	double step = number_or(o, t->fields.step, NAN);
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)o, key, v) if (json_is_string(v))
		pairs_add(&s->state, key, json_string_value(v));
	if (isnan(step) || json_is_true(json_object_get(o, "final")))
		return;
	*VEC_ADD(s) = (struct train_point){
		.at_ns = at_ns,
		.step = (int64_t)step,
		.loss = number_or(o, t->fields.loss, NAN),
		.eval = t->target.n ? number_or(o, t->target.v[0].name, NAN) : NAN,
		.samples = number_or(o, t->fields.samples, NAN),
		.samples_per_s = number_or(o, t->fields.samples_per_s, NAN),
		.step_ms = number_or(o, t->fields.step_ms, NAN),
		.data_ms = number_or(o, t->fields.data_ms, NAN),
		.reached = reached(t, o),
	};
}

/* An MLLOG event as a line: its key with its value, step and samples from the metadata. */
static void mllog(const struct train_spec *t, struct train_stream *s, const json_t *o,
		  int64_t at_ns)
{
	const json_t *meta = json_object_get(o, "metadata");
	const char *key = json_str_or(o, "key", "");
	double value = number_or(o, "value", NAN);
	struct train_point *p;
	AUTO_JSON json_t *as_line = NULL;

	if (isnan(value) || number_or(meta, "step_num", NAN) != number_or(meta, "step_num", NAN))
		return;
	as_line = json_object();
	json_put(as_line, key, json_real(value));
	p = VEC_ADD(s);
	*p = (struct train_point){
		.at_ns = at_ns,
		.step = (int64_t)number_or(meta, "step_num", 0),
		.loss = streq(key, t->fields.loss) || streq(key, "train_loss") ? value : NAN,
		.eval = t->target.n && streq(key, t->target.v[0].name) ? value : NAN,
		.samples = number_or(meta, "samples_count", NAN),
		.samples_per_s = NAN,
		.step_ms = NAN,
		.data_ms = NAN,
		.reached = reached(t, as_line)
	};
}

void train_line(const struct train_spec *t, struct train_stream *s, struct sv line, int64_t at_ns)
{
	struct err err = ERR_INIT;
	AUTO_JSON json_t *o = NULL;
	ptrdiff_t marker = sv_find(line, SV(":::MLLOG"));

	if (t->metrics.kind == TRAIN_MLLOG) {
		if (marker < 0)
			return;
		line.p += marker + 8;
		line.n -= (size_t)marker + 8;
	}
	line = sv_trim(line);
	if (!line.n || line.p[0] != '{')
		return;
	if (json_read(line, "metrics", &o, &err) < 0 || !json_is_object(o)) {
		s->bad_lines++;
		return;
	}
	if (t->metrics.kind == TRAIN_MLLOG)
		mllog(t, s, o, at_ns);
	else
		jsonl(t, s, o, at_ns);
}

/* ---- following it ---------------------------------------------------------------------------- */

struct follow {
	const struct train_spec *t;
	struct train_stream *s;
	char *path; /* NULL: standard output */
	off_t at;
	struct str rest;
};

static void on_stdout(void *arg, struct sv line)
{
	struct follow *f = arg;

	if (!f->path)
		train_line(f->t, f->s, line, clock_ns());
}

static void catch_up(struct follow *f)
{
	CLEANUP(closep) int fd = f->path ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;
	char buf[16 * KIB];
	ssize_t n;

	if (fd < 0 || lseek(fd, f->at, SEEK_SET) < 0)
		return;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
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
	AUTO_FREE char *live = NULL;
	AUTO_FREE char *t = duration_text(clock_ns() - started);

	if (p)
		live = xasprintf("step %lld, loss %.4g, %.3g ms a step, %s", (long long)p->step,
				 p->loss, p->step_ms, t);
	report(ctx, "train", live ? live : t, -1, -1);
}

static int64_t last_step(const struct train_stream *s)
{
	return s->n ? s->v[s->n - 1].step : -1;
}

static void follow_to_the_end(const struct check_ctx *ctx, struct proc *p, struct follow *f,
			      int64_t kill_at, struct train_run *ret, bool *cancelled)
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
		if (*cancelled || over)
			break;
		if (clock_ns() - shown > 300 * NS_PER_MS) {
			show(ctx, f->s, ret->started_ns);
			shown = clock_ns();
		}
	}
	proc_stop(p, 0, 0, &ret->done);
	ret->done.timed_out = over;
	catch_up(f);
}

int train_start(const struct check_ctx *ctx, const char *tag, bool resume, int64_t kill_at,
		struct train_run *ret, struct evidences *evidence, struct err *err)
{
	const struct train_spec *t = &ctx->contract->workload_check.train;
	const struct argv *program = resume && t->resume.words.n ? &t->resume : &t->run;
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	struct follow f = { .t = t, .s = &ret->stream };
	struct proc *p CLEANUP(proc_freep) = NULL;
	AUTO_FREE char *log_name = xasprintf("%s.log", tag);
	AUTO_FREE char *log = ctx_path(ctx, log_name);
	AUTO_FREE char *cwd = NULL;
	AUTO_FREE char *path = NULL;
	struct proc_spec ps = { .out_limit = (size_t)t->output_limit };
	bool cancelled = false;

	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand_argv(program, &values, &argv, err));
	TRY(ctx_env(ctx, &t->env, &values, &env, err));
	TRY(contract_expand(t->cwd, &values, &cwd, err));
	if (!streq(t->metrics.path, "stdout")) {
		AUTO_FREE char *name = NULL;

		TRY(contract_expand(t->metrics.path, &values, &name, err));
		path = path_join(cwd, name);
		f.path = path;
	}
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	ps.cwd = cwd;
	ps.err_path = log;
	ps.on_line = on_stdout;
	ps.arg = &f;
	/* A resumed job appends to its file: only what is new belongs to this start. */
	if (f.path && resume) {
		CLEANUP(closep) int fd = open(f.path, O_RDONLY | O_CLOEXEC);

		f.at = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	}
	ret->started_ns = clock_ns();
	if (proc_start(&ps, &p, err) < 0)
		return err_wrap(err, "cannot start the training");
	if (ctx->started && !resume && !kill_at) {
		/* Once the first step is there the libraries it uses are mapped. */
		while (ret->stream.n == 0 && proc_poll(p, 20 * NS_PER_MS) && !*ctx->cancel &&
		       clock_ns() - ret->started_ns < t->limit_ns)
			catch_up(&f);
		if (proc_poll(p, 0))
			ctx->started(ctx->arg, proc_pid(p));
	}
	follow_to_the_end(ctx, p, &f, kill_at, ret, &cancelled);
	str_release(&f.rest);
	if (file_exists(log))
		evidences_add(evidence, log_name, "text/plain", log);
	if (path && file_exists(path)) {
		AUTO_FREE char *label = xasprintf("%s.metrics.jsonl", tag);

		evidences_add(evidence, label, "application/x-ndjson", path);
	} else if (!path) {
		AUTO_FREE char *label = xasprintf("%s.out", tag);

		TRY(keep_text(ctx, evidence, label, sv_str(&ret->done.out), err));
	}
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
	*ret_reached = hit != NULL;
	add(r, "time_to_target", UNIT_NS, LOWER_IS_BETTER,
	    hit ? (double)(hit->at_ns - run->started_ns) : NAN);
	add(r, "steps_to_target", UNIT_STEPS, LOWER_IS_BETTER, hit ? (double)hit->step : NAN);
	add(r, "samples_to_target", UNIT_SAMPLES, LOWER_IS_BETTER, hit ? hit->samples : NAN);
	add(r, "final_loss", UNIT_NONE, LOWER_IS_BETTER, loss);
}

static void judge(const struct train_run *run, bool reached_it, struct rep *r)
{
	struct outcome *o = VEC_ADD(&r->outcomes);
	AUTO_FREE char *how = proc_how(&run->done);

	o->check = xstrdup("workload/train");
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	if (run->done.timed_out)
		ends(o, RESULT_FAIL, "%s", how);
	else if (!proc_ok(&run->done))
		ends(o, RESULT_FAIL, "the training ended with %s", how);
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

int workload_train(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	struct train_run run CLEANUP(train_run_release) = { 0 };
	int64_t own0 = self_cpu_ns();
	bool reached_it = false;
	struct watch w;

	watch_start(&w);
	if (train_start(ctx, "train", /* resume= */ false, /* kill_at= */ 0, &run, &r->evidence,
			err) < 0) {
		struct outcome *o;

		if (err->code == ERR_INTERRUPTED)
			return -ERR_INTERRUPTED;
		o = VEC_ADD(&r->outcomes);
		o->check = xstrdup("workload/train");
		o->layer = LAYER_WORKLOAD;
		o->required = true;
		ends(o, RESULT_FAIL, "%s", err->msg);
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
	add(r, "host.others", UNIT_RATIO, LOWER_IS_BETTER, watch_others(&w, self_cpu_ns() - own0));
	judge(&run, reached_it, r);
	return 0;
}
