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

/* Without golden answers the repetition is held against itself: every answer to a prompt against
 * the
 * first one to it. */
static double self_match(const struct load_result *res)
{
	size_t same = 0, all = 0;

	for (size_t i = 0; i < res->n; i++) {
		const struct load_req *a = &res->v[i], *first = NULL;

		if (a->outcome == LOAD_CANCELLED)
			continue;
		all++;
		for (size_t k = 0; k <= i && !first; k++)
			if (res->v[k].prompt == a->prompt && res->v[k].outcome == LOAD_OK)
				first = &res->v[k];
		same += first && a->outcome == LOAD_OK && a->answer_n == first->answer_n &&
			memcmp(res->text + a->answer_at, res->text + first->answer_at,
			       a->answer_n) == 0;
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

static void judge_load(const struct load_result *res, struct rep *r)
{
	struct outcome *o = add_outcome(r, "workload/load");
	size_t ok = 0;

	for (size_t i = 0; i < res->n; i++)
		ok += res->v[i].outcome == LOAD_OK;
	if (!res->n)
		ends(o, RESULT_ERROR, "no request was scheduled");
	else if (!ok)
		ends(o, RESULT_FAIL, "none of %zu requests was answered (first: %s, %s)", res->n,
		     load_outcome_name((enum load_outcome)res->v[0].outcome), res->v[0].detail);
	else if (res->audit.client_limited)
		ends(o, RESULT_DOUBTFUL, "client_limited: %s", res->audit.reasons);
	if (o->result == RESULT_FAIL || o->result == RESULT_ERROR)
		failed(r, o->reason);
}

static void metrics(const struct check_ctx *ctx, const struct load_result *res, struct rep *r)
{
	struct measurements all CLEANUP(measurements_release) = { 0 };

	(void)ctx;
	load_metrics(res, &all);
	for (size_t i = 0; i < all.n; i++) {
		struct measurement *m = &all.v[i];

		if (streq(m->name, "answers.match") && isnan(m->value))
			m->value = self_match(res);
		measurements_add(&r->measured, m->name, m->unit, m->dir, m->value);
	}
}

static int measure(const struct check_ctx *ctx, struct server *s, struct rep *r, struct err *err)
{
	struct load_result res CLEANUP(load_result_release) = { 0 };
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;

	TRY(load_server(ctx, s->url, 0, /* warmup= */ true, &res, err));
	metrics(ctx, &res, r);
	TRY(keep_result(ctx, r, &res, err));
	judge_load(&res, r);
	if (spec->metrics) {
		AUTO_FREE char *url = xasprintf("%s%s", s->url, spec->metrics);
		struct str body CLEANUP(str_release) = { 0 };
		long status;

		TRY(http_get(url, 5 * NS_PER_S, &status, &body, err));
		if (status == 200)
			TRY(keep_text(ctx, &r->evidence, "metrics.txt", sv_str(&body), err));
	}
	return 0;
}

static void after(const struct check_ctx *ctx, struct server *s, struct rep *r,
		  const struct watch *w, int64_t own0)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct outcome *o = add_outcome(r, "workload/serve");
	double others;

	if (!s->proc) {
		(void)ends(o, RESULT_PASS, "attached");
	} else if (!proc_poll(s->proc, 0)) {
		AUTO_FREE char *how = NULL;

		server_stop(s, spec, SIGKILL, &done);
		how = proc_how(&done);
		ends(o, RESULT_FAIL, "the server ended while it was measured (%s)", how);
		failed(r, o->reason);
	} else {
		server_stop(s, spec, SIGTERM, &done);
		ends(o, RESULT_PASS, "stopped");
	}
	if (o->result == RESULT_PASS) {
		free(o->reason);
		o->reason = NULL;
	}
	others = watch_others(w, self_cpu_ns() - own0);
	measurements_add(&r->measured, "ready_time", UNIT_NS, LOWER_IS_BETTER, (double)s->ready_ns);
	if (done.wall_ns) {
		measurements_add(&r->measured, "cpu_time", UNIT_NS, LOWER_IS_BETTER,
				 (double)(done.user_ns + done.sys_ns));
		measurements_add(&r->measured, "peak_rss", UNIT_BYTES, LOWER_IS_BETTER,
				 (double)done.max_rss_bytes);
	}
	measurements_add(&r->measured, "host.others", UNIT_RATIO, LOWER_IS_BETTER, others);
}

int workload_serve(const struct check_ctx *ctx, struct rep *r, struct err *err)
{
	struct server s CLEANUP(server_release) = { 0 };
	int64_t own0 = self_cpu_ns();
	struct watch w;
	int rc;

	watch_start(&w);
	rc = server_start(ctx, "server.log", &s, err);
	if (rc < 0) {
		AUTO_FREE char *log = ctx_path(ctx, "server.log");

		if (err->code == ERR_INTERRUPTED)
			return rc;
		ends(add_outcome(r, "workload/serve"), RESULT_FAIL, "%s", err->msg);
		failed(r, err->msg);
		err_clear(err);
		if (file_exists(log))
			evidences_add(&r->evidence, "server.log", "text/plain", log);
		return 0;
	}
	if (ctx->started && s.proc)
		ctx->started(ctx->arg, proc_pid(s.proc));
	rc = measure(ctx, &s, r, err);
	if (rc < 0) {
		if (err->code == ERR_INTERRUPTED)
			return rc;
		ends(add_outcome(r, "workload/load"), RESULT_ERROR, "%s", err->msg);
		failed(r, err->msg);
		err_clear(err);
	}
	after(ctx, &s, r, &w, own0);
	if (s.log)
		evidences_add(&r->evidence, "server.log", "text/plain", s.log);
	return 0;
}
