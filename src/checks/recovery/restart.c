/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server is killed and started again, under load or not; and the requests that failed meanwhile
 * are
 * sent again and must be answered as before.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "load/load.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

struct restart_conf {
	int64_t within_ns;
	bool under_load;
};

static const struct field restart_fields[] = {
	FIELD_AS("within", restart_conf, within_ns, .type = FIELD_DURATION, .need = true,
		 .min = "1 ms", .help = "from the kill to the first right answer"),
	FIELD(restart_conf, under_load, .type = FIELD_BOOL, .def = "false",
	      .help = "requests are in flight when it is killed"),
	{ 0 },
};

static int only_serve(const struct check_ctx *ctx, struct outcome *o)
{
	const struct workload_check *w = &ctx->contract->workload_check;

	if (w->how != HOW_SERVE || !w->has_load)
		return ends(o, RESULT_SKIP, "the workload is no server under load"), 1;
	if (w->serve.attach)
		return ends(o, RESULT_SKIP, "the server is attached, not started by us"), 1;
	return 0;
}

/* The load runs in a child, so that this process can kill the server meanwhile. */
static pid_t load_in_background(const struct check_ctx *ctx, const char *url, const char *raw)
{
	struct load_result res = { 0 };
	struct err err = ERR_INIT;
	struct check_ctx quiet = *ctx;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	quiet.progress = NULL;
	if (load_server(&quiet, url, 40, /* warmup= */ false, &res, &err) < 0 ||
	    load_raw_write(&res, raw, &err) < 0)
		_exit(1);
	_exit(0);
}

static bool wait_for(pid_t pid, int64_t limit_ns)
{
	int64_t until = clock_ns() + limit_ns;
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if ((got < 0 && errno != EINTR) || clock_ns() > until)
			break;
		sleep_ns(10 * NS_PER_MS);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return false;
}

static size_t count_ok(const struct load_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].outcome == LOAD_OK;
	return n;
}

/* One request that must be answered. */
static int answers_again(const struct check_ctx *ctx, const char *url, bool *ret, struct err *err)
{
	struct load_result res CLEANUP(load_result_release) = { 0 };

	TRY(load_server(ctx, url, 1, /* warmup= */ false, &res, err));
	*ret = count_ok(&res) == 1;
	return 0;
}

static int kill_and_restart(const struct check_ctx *ctx, const struct restart_conf *c,
			    struct server *s, struct outcome *o, struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	AUTO_FREE char *took = NULL;
	AUTO_FREE char *limit = duration_text(c->within_ns);
	bool right = false;
	int64_t killed;

	report(ctx, "kill", "", -1, -1);
	killed = clock_ns();
	server_stop(s, spec, SIGKILL, NULL);
	server_release(s);
	TRY(server_start(ctx, "restarted.log", s, err));
	TRY(answers_again(ctx, s->url, &right, err));
	took = duration_text(clock_ns() - killed);
	measurements_add(&o->measured, "recovery.restart", UNIT_NS, LOWER_IS_BETTER,
			 (double)(clock_ns() - killed));
	if (!right)
		return ends(o, RESULT_FAIL, "the restarted server does not answer");
	if (clock_ns() - killed > c->within_ns)
		return ends(o, RESULT_FAIL, "it took %s, limit %s", took, limit);
	o->result = RESULT_PASS;
	return 0;
}

static int under_load(const struct check_ctx *ctx, const struct restart_conf *c, struct server *s,
		      struct outcome *o, struct err *err)
{
	AUTO_FREE char *raw = ctx_path(ctx, "killed-under-load.zst");
	struct load_result res CLEANUP(load_result_release) = { 0 };
	pid_t pid = load_in_background(ctx, s->url, raw);
	bool finished;
	int rc;

	if (pid < 0)
		return bail_sys(err, "cannot start the load");
	sleep_ns(500 * NS_PER_MS);
	rc = kill_and_restart(ctx, c, s, o, err);
	finished = wait_for(pid, ctx->contract->workload_check.load.timeout_ns + 60 * NS_PER_S);
	TRY(rc);
	if (!finished || load_raw_read(raw, &res, err) < 0) {
		err_clear(err);
		return ends(o, RESULT_ERROR, "the load did not end");
	}
	evidences_add(&o->evidence, "killed-under-load.zst", "application/zstd", raw);
	measurements_add(&o->measured, "recovery.failed_requests", UNIT_COUNT, LOWER_IS_BETTER,
			 (double)(res.n - count_ok(&res)));
	return 0;
}

static int restart_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		       struct err *err)
{
	const struct restart_conf *c = conf;
	struct server s CLEANUP(server_release) = { 0 };

	if (only_serve(ctx, o))
		return 0;
	if (server_start(ctx, "server.log", &s, err) < 0)
		return ends_err(o, RESULT_ERROR, err);
	if ((c->under_load ? under_load(ctx, c, &s, o, err)
			   : kill_and_restart(ctx, c, &s, o, err)) < 0)
		return ends_err(o, RESULT_FAIL, err);
	server_stop(&s, &ctx->contract->workload_check.serve, SIGTERM, NULL);
	return 0;
}

const struct check check_restart = {
	.schema = { .name = "restart",
		    .layers = 1u << LAYER_RECOVERY,
		    .fields = restart_fields,
		    .conf_size = sizeof(struct restart_conf),
		    .help = "kill the server, start it again, time until it answers" },
	.run = restart_run,
};

/* ---- replay ---------------------------------------------------------------------------------- */

struct replay_conf {
	int64_t requests;
};

static const struct field replay_fields[] = {
	FIELD(replay_conf, requests, .type = FIELD_INT, .def = "20", .min = "1", .max = "100000",
	      .help = "sent, cut off by a kill, and sent again"),
	{ 0 },
};

/* Answers of the first server, then of the second, prompt by prompt. */
static size_t differing(const struct load_result *a, const struct load_result *b,
			size_t *ret_compared)
{
	size_t bad = 0;

	*ret_compared = 0;
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		const struct load_req *x = &a->v[i], *y = &b->v[i];

		if (x->outcome != LOAD_OK)
			continue;
		(*ret_compared)++;
		bad += y->outcome != LOAD_OK || x->prompt != y->prompt ||
		       x->answer_n != y->answer_n ||
		       memcmp(a->text + x->answer_at, b->text + y->answer_at, x->answer_n) != 0;
	}
	return bad;
}

static int replay(const struct check_ctx *ctx, const struct replay_conf *c, struct outcome *o,
		  struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct load_result before CLEANUP(load_result_release) = { 0 };
	struct load_result after CLEANUP(load_result_release) = { 0 };
	struct server s CLEANUP(server_release) = { 0 };
	size_t ok, bad, compared;

	TRY(server_start(ctx, "server.log", &s, err));
	TRY(load_server(ctx, s.url, (uint64_t)c->requests, /* warmup= */ false, &before, err));
	server_stop(&s, spec, SIGKILL, NULL);
	server_release(&s);
	TRY(server_start(ctx, "restarted.log", &s, err));
	TRY(load_server(ctx, s.url, (uint64_t)c->requests, /* warmup= */ false, &after, err));
	server_stop(&s, spec, SIGTERM, NULL);
	ok = count_ok(&after);
	bad = differing(&before, &after, &compared);
	measurements_add(&o->measured, "recovery.replayed", UNIT_RATIO, HIGHER_IS_BETTER,
			 after.n ? (double)ok / (double)after.n : NAN);
	measurements_add(&o->measured, "recovery.same_answers", UNIT_RATIO, HIGHER_IS_BETTER,
			 compared ? 1 - (double)bad / (double)compared : NAN);
	if (ok < after.n)
		return ends(o, RESULT_FAIL, "%zu of %zu replayed requests failed", after.n - ok,
			    after.n);
	if (!compared)
		return ends(o, RESULT_ERROR, "no request was answered before the kill");
	if (bad)
		return ends(o, RESULT_FAIL, "%zu of %zu answers differ after the restart", bad,
			    compared);
	o->result = RESULT_PASS;
	return 0;
}

static int replay_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		      struct err *err)
{
	if (only_serve(ctx, o))
		return 0;
	if (replay(ctx, conf, o, err) < 0)
		return ends_err(o, RESULT_FAIL, err);
	return 0;
}

const struct check check_replay = {
	.schema = { .name = "replay",
		    .layers = 1u << LAYER_RECOVERY,
		    .fields = replay_fields,
		    .conf_size = sizeof(struct replay_conf),
		    .help = "requests sent again to a restarted server are answered as before" },
	.run = replay_run,
};
