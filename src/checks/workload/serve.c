/* SPDX-License-Identifier: Apache-2.0 */
/* One repetition of a service: a fresh server, warm-up, open-loop load, its numbers, its end. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "load/load.h"
#include <math.h>

static struct outcome *add_outcome(struct rep *r, const char *name)
{
	struct outcome *o = VEC_ADD(&r->outcomes);

	o->check = xstrdup(name);
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	return o;
}

static void failed(struct rep *r, const char *why)
{
	if (r->state == REP_OK)
		r->state = REP_FAILED;
	if (!r->reason)
		r->reason = xstrdup(why);
}

/* Whether two answers count as equal: `answers.match` of the contract. */
static bool alike(const struct load_spec *spec, struct sv got, struct sv want)
{
	if (spec->answers.match == ANSWERS_EXACT)
		return sv_eq(got, want);
	/* An empty answer is the beginning of everything, and so of nothing. */
	return want.n && got.n >= want.n && memcmp(got.p, want.p, want.n) == 0;
}

static const char *golden_answer(const struct load_golden *g, const char *id)
{
	for (size_t i = 0; id && i < g->n; i++)
		if (streq(g->v[i].id, id))
			return g->v[i].answer;
	return NULL;
}

/*
 * The share of requests whose answer is the golden one; one that failed does not match. Without
 * golden answers the repetition is held against itself: each answer to a prompt against the first
 * one to it.
 */
static double match(const struct load_spec *spec, const struct load_result *res,
		    const struct load_golden *g)
{
	AUTO_FREE const char **want = xcalloc(res->n_prompt_ids + 1, sizeof(*want));
	AUTO_FREE ptrdiff_t *first = xcalloc(res->n_prompt_ids + 1, sizeof(*first));
	size_t same = 0, all = 0;

	for (size_t i = 0; i < res->n_prompt_ids; i++) {
		want[i] = golden_answer(g, res->prompt_ids[i]);
		first[i] = -1;
	}
	for (size_t i = 0; i < res->n; i++) {
		const struct load_req *q = &res->v[i];
		size_t p = MIN(q->prompt, res->n_prompt_ids);
		struct sv got = { res->text + q->answer_at, q->answer_n };

		if (q->outcome == LOAD_CANCELLED || (g->n && !want[p]))
			continue;
		all++;
		if (q->outcome != LOAD_OK)
			continue;
		if (!g->n && (first[p] < 0 || p == res->n_prompt_ids))
			first[p] = (ptrdiff_t)i;
		if (g->n) {
			same += alike(spec, got, sv_of(want[p]));
		} else {
			const struct load_req *f = &res->v[first[p]];

			same += alike(spec, got,
				      (struct sv){ res->text + f->answer_at, f->answer_n });
		}
	}
	return all ? (double)same / (double)all : NAN;
}

static int keep_result(const struct check_ctx *ctx, struct rep *r, const struct load_result *res,
		       struct err *err)
{
	AUTO_FREE char *raw = ctx_path(ctx, "requests.zst");
	AUTO_FREE char *golden = ctx_path(ctx, EVIDENCE_GOLDEN);
	AUTO_FREE char *summary = ctx_path(ctx, "load.json");
	AUTO_FREE char *answers = load_golden_text(res);
	AUTO_JSON json_t *j = load_result_to_json(res);
	AUTO_FREE char *text = json_text(j, true);

	TRY(load_raw_write(res, raw, err));
	TRY(file_write(golden, answers, strlen(answers), 0600, err));
	TRY(file_write(summary, text, strlen(text), 0600, err));
	evidences_add(&r->evidence, "requests.zst", "application/zstd", raw);
	evidences_add(&r->evidence, EVIDENCE_GOLDEN, "application/x-ndjson", golden);
	evidences_add(&r->evidence, "load.json", "application/json", summary);
	return 0;
}

/* Whether an objective is lost, or at least moved, by requests that fail. */
static bool about_failures(const struct objectives *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct sv m = sv_of(l->v[i].metric);

		if (sv_is(m, "errors") || sv_is(m, "goodput") || sv_is(m, "answers.match") ||
		    sv_starts(m, "requests.") || sv_ends(m, ".all"))
			return true;
	}
	return false;
}

/*
 * A server that refuses looks faster: latencies are of the requests that succeeded, and those are
 * not the ones that were measured when all did. With more than this share of failures and no
 * objective about them they are no sample to compare.
 */
#define FAILED_SHARE 0.01

static void judge_load(const struct objectives *l, const struct load_result *res, struct rep *r)
{
	struct outcome *o = add_outcome(r, "workload/load");
	size_t ok = 0, n = 0;

	for (size_t i = 0; i < res->n; i++) {
		ok += res->v[i].outcome == LOAD_OK;
		n += res->v[i].outcome != LOAD_CANCELLED;
	}
	if (!res->n)
		ends(o, RESULT_ERROR, "no request was scheduled");
	else if (!ok)
		ends(o, RESULT_FAIL, "none of %zu requests was answered (first: %s, %s)", res->n,
		     load_outcome_name((enum load_outcome)res->v[0].outcome), res->v[0].detail);
	else if ((double)(n - ok) > FAILED_SHARE * (double)n && !about_failures(l))
		ends(o, RESULT_DOUBTFUL,
		     "%zu of %zu requests failed and no objective is about that (errors, goodput): "
		     "latencies are of the others alone",
		     n - ok, n);
	else if (res->audit.client_limited)
		ends(o, RESULT_DOUBTFUL, "client_limited: %s", res->audit.reasons);
	if (o->result == RESULT_FAIL || o->result == RESULT_ERROR)
		failed(r, o->reason);
}

static int metrics(const struct check_ctx *ctx, const struct load_result *res, struct rep *r,
		   struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	struct measurements all CLEANUP(measurements_release) = { 0 };
	struct load_golden golden CLEANUP(load_golden_release) = { 0 };

	load_metrics(res, &all);
	TRY(load_golden_of(ctx, &golden, err));
	for (size_t i = 0; i < all.n; i++) {
		struct measurement *m = &all.v[i];

		/* Golden answers in the prompts themselves are compared by the load engine. */
		if (streq(m->name, "answers.match") &&
		    (isnan(m->value) || (golden.n && spec->answers.match != ANSWERS_EXACT)))
			m->value = match(spec, res, &golden);
		measurements_add(&r->measured, m->name, m->unit, m->dir, m->value);
	}
	return 0;
}

static int keep_page(const struct check_ctx *ctx, const struct server *s, const char *label,
		     struct rep *r, struct err *err)
{
	const char *path = ctx->contract->workload_check.serve.metrics;
	AUTO_FREE char *url = path ? xasprintf("%s%s", s->url, path) : NULL;
	struct str body CLEANUP(str_release) = { 0 };
	long status;

	if (!url)
		return 0;
	TRY(http_get(url, 5 * NS_PER_S, &status, &body, err));
	return status == 200 ? keep_text(ctx, &r->evidence, label, sv_str(&body), err) : 0;
}

/* What was asked for, in which order and when: candidates must be asked the same. */
static void work_of(const struct load_result *res, struct rep *r)
{
	AUTO_FREE char *text = xasprintf("%s %s", res->prompts_digest, res->schedule_digest);
	char hex[65];

	sha256_hex(text, strlen(text), hex);
	free(r->work);
	r->work = xstrdup(hex);
}

static int tell(const struct check_ctx *ctx, const struct server *s, const struct load_result *res,
		struct rep *r, struct err *err)
{
	AUTO_FREE char *page = ctx_path(ctx, "metrics-after.txt");
	AUTO_FREE char *cwd = NULL;

	TRY(contract_expand(ctx->contract->workload_check.serve.cwd, &s->values, &cwd, err));
	return told_collect(ctx,
			    &(struct told){ .log = s->log,
					    .metrics = page,
					    .cwd = cwd,
					    .values = &s->values,
					    .load = res },
			    r, err);
}

static int measure(const struct check_ctx *ctx, struct server *s, struct rep *r, struct err *err)
{
	struct load_result res CLEANUP(load_result_release) = { 0 };

	TRY(keep_page(ctx, s, "metrics-before.txt", r, err));
	TRY(load_server(ctx, s->url, &(struct load_ask){ .warmup = true, .log = s->log }, &res,
			err));
	TRY(keep_page(ctx, s, "metrics-after.txt", r, err));
	TRY(metrics(ctx, &res, r, err));
	TRY(keep_result(ctx, r, &res, err));
	judge_load(&ctx->contract->workload_check.objectives, &res, r);
	work_of(&res, r);
	return r->state == REP_OK ? tell(ctx, s, &res, r, err) : 0;
}

/* Ends the server and says how that went. */
static void stop(const struct serve_spec *spec, struct server *s, struct proc_done *done,
		 struct rep *r)
{
	struct outcome *o = add_outcome(r, "workload/serve");
	int64_t start = clock_ns();
	AUTO_FREE char *how = NULL;

	if (!s->proc) {
		(void)ends(o, RESULT_PASS, "attached");
		return;
	}
	if (!proc_poll(s->proc, 0)) {
		server_stop(s, spec, SIGKILL, done);
		how = proc_how(done);
		ends(o, RESULT_FAIL, "the server ended while it was measured (%s)", how);
		failed(r, o->reason);
		return;
	}
	server_stop(s, spec, SIGTERM, done);
	measurements_add(&o->measured, "stop_time", UNIT_NS, LOWER_IS_BETTER,
			 (double)(clock_ns() - start));
	/* What holds the port can't be told to be the server's. */
	if (s->port && !port_is_free(s->port)) {
		ends(o, RESULT_FAIL, "port %d is still served after the server has ended", s->port);
		failed(r, o->reason);
		return;
	}
	if (done->strays) /* also told of a good repetition: somebody should mend the server */
		(void)ends(o, RESULT_PASS, "stopped; %u that had left its process group %s ended",
			   done->strays, done->strays == 1 ? "was" : "were");
	else
		(void)ends(o, RESULT_PASS, "stopped");
}

static void after(const struct check_ctx *ctx, struct server *s, struct rep *r,
		  const struct watch *w, int64_t own0)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct outcome *o;

	stop(spec, s, &done, r);
	o = &r->outcomes.v[r->outcomes.n - 1];
	if (o->result == RESULT_PASS && !done.strays) {
		free(o->reason);
		o->reason = NULL;
	}
	measurements_add(&r->measured, "ready_time", UNIT_NS, LOWER_IS_BETTER, (double)s->ready_ns);
	if (done.wall_ns) {
		measurements_add(&r->measured, "cpu_time", UNIT_NS, LOWER_IS_BETTER,
				 (double)(done.user_ns + done.sys_ns));
		measurements_add(&r->measured, "peak_rss", UNIT_BYTES, LOWER_IS_BETTER,
				 (double)done.max_rss_bytes);
	}
	watch_end(ctx, w, self_cpu_ns() - own0, r);
}

int workload_serve(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	struct server s CLEANUP(server_release) = { 0 };
	int64_t own0 = self_cpu_ns();
	struct watch w;
	int rc;

	watch_start(ctx, &w);
	rc = server_start(ctx, "server.log", 0, &s, err);
	if (rc < 0) {
		AUTO_FREE char *log = ctx_path(ctx, "server.log");

		if (no_answer(err))
			return rc;
		ends(add_outcome(r, "workload/serve"), RESULT_FAIL, "%s", err->msg);
		failed(r, err->msg);
		err_clear(err);
		return keep_file(ctx, &r->evidence, "server.log", "text/plain", log, err);
	}
	if (ctx->started && s.proc)
		ctx->started(ctx->arg, proc_pid(s.proc));
	rc = measure(ctx, &s, r, err);
	if (rc < 0) {
		if (no_answer(err))
			return rc;
		ends(add_outcome(r, "workload/load"), RESULT_ERROR, "%s", err->msg);
		failed(r, err->msg);
		err_clear(err);
	}
	after(ctx, &s, r, &w, own0);
	return s.log ? keep_file(ctx, &r->evidence, "server.log", "text/plain", s.log, err) : 0;
}
