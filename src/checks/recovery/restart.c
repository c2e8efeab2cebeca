/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server is killed and started again at the same address. Under load its clients go on asking:
 * the time counts from the kill to the end of the first answer to a request sent after it.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "load/load.h"
#include <math.h>

struct restart_conf {
	int64_t within_ns, times;
	bool under_load;
};

static const struct field restart_fields[] = {
	FIELD_AS("within", restart_conf, within_ns, .type = FIELD_DURATION, .need = true,
		 .min = "1 ms", .help = "from the kill to the first right answer"),
	FIELD(restart_conf, under_load, .type = FIELD_BOOL, .def = "false",
	      .help = "requests are in flight when it is killed, and go on meanwhile"),
	FIELD(restart_conf, times, .type = FIELD_INT, .def = "1", .min = "1", .max = "100",
	      .help = "it is killed so often; the slowest counts"),
	{ 0 },
};

struct trial {
	int64_t took_ns; /* negative: never answered */
	size_t failed, requests;
};

static int kill_and_start(const struct check_ctx *ctx, int k, struct server *s, int64_t *ret_killed,
			  struct err *err)
{
	AUTO_FREE char *log = xasprintf("restarted-%d.log", k + 1);
	int port = s->port;

	report(ctx, "kill", "", -1, -1);
	*ret_killed = clock_ns();
	server_stop(s, &ctx->contract->workload_check.serve, SIGKILL, NULL);
	server_release(s);
	return server_start(ctx, log, port, s, err);
}

static int alone(const struct check_ctx *ctx, int k, struct server *s, struct trial *ret,
		 struct err *err)
{
	struct load_ask one = { .count = 1, .one_by_one = true, .no_golden = true };
	struct load_result res CLEANUP(load_result_release) = { 0 };
	int64_t killed;

	TRY(kill_and_start(ctx, k, s, &killed, err));
	TRY(load_server(ctx, s->url, &one, &res, err));
	ret->requests++;
	if (load_count_ok(&res) == 1) {
		ret->took_ns = clock_ns() - killed;
	} else {
		ret->took_ns = -1;
		ret->failed++;
	}
	return 0;
}

/* When the first answer to a request that was sent after the kill was whole; negative: never. */
static int64_t answered_again(const struct load_result *r, int64_t killed_ns)
{
	int64_t best = -1;

	for (size_t i = 0; i < r->n; i++) {
		const struct load_req *q = &r->v[i];

		if (q->outcome == LOAD_OK && q->begun != LOAD_NONE &&
		    r->t0 + q->begun > killed_ns && (best < 0 || r->t0 + q->end - killed_ns < best))
			best = r->t0 + q->end - killed_ns;
	}
	return best;
}

static int wait_for_answers(const struct check_ctx *ctx, const struct restart_conf *c,
			    struct background *b, uint64_t ok_before, int64_t killed,
			    struct err *err)
{
	while (background_look(b, 20 * NS_PER_MS) && b->last.ok <= ok_before) {
		if (*ctx->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted under load");
		/* Somewhat longer than the limit, to be able to say how long it took. */
		if (clock_ns() - killed > c->within_ns + 5 * NS_PER_S)
			break;
		report(ctx, "restart", "", -1, -1);
	}
	return 0;
}

static int under_load(const struct check_ctx *ctx, const struct restart_conf *c, int k,
		      struct server *s, struct outcome *o, struct trial *ret, struct err *err)
{
	struct load_ask ask = { .duration_ns = c->within_ns + 10 * 60 * NS_PER_S,
				.open_loop = true,
				.no_golden = true };
	struct background b CLEANUP(background_release) = BACKGROUND_INIT;
	struct load_result res CLEANUP(load_result_release) = { 0 };
	AUTO_FREE char *label = xasprintf("killed-under-load-%d.zst", k + 1);
	int64_t killed;
	uint64_t ok_before;

	TRY(background_start(ctx, s->url, &ask, label, &b, err));
	TRY(background_under_way(ctx, &b, err));
	TRY(kill_and_start(ctx, k, s, &killed, err));
	/* Reports of before the kill may still have been in the pipe. */
	(void)background_look(&b, 0);
	ok_before = b.last.ok;
	TRY(wait_for_answers(ctx, c, &b, ok_before, killed, err));
	TRY(background_end(ctx, &b, /* now= */ true, &o->evidence, &res, err));
	ret->took_ns = answered_again(&res, killed);
	for (size_t i = 0; i < res.n; i++) {
		ret->requests += res.v[i].outcome != LOAD_CANCELLED;
		ret->failed += res.v[i].outcome != LOAD_CANCELLED && res.v[i].outcome != LOAD_OK;
	}
	return 0;
}

static void measured(struct outcome *o, const double *took, size_t n, const struct trial *t)
{
	struct measurement *m;
	double worst = 0;

	for (size_t i = 0; i < n; i++)
		worst = MAX(worst, took[i]);
	m = measurements_add(&o->measured, "recovery.restart", UNIT_NS, LOWER_IS_BETTER,
			     n ? worst : INFINITY);
	m->samples = xcalloc(n + 1, sizeof(double));
	memcpy(m->samples, took, n * sizeof(double));
	m->n_samples = n;
	measurements_add(&o->measured, "recovery.requests", UNIT_COUNT, HIGHER_IS_BETTER,
			 (double)t->requests);
	measurements_add(&o->measured, "recovery.failed_requests", UNIT_COUNT, LOWER_IS_BETTER,
			 (double)t->failed);
}

static int trials(const struct check_ctx *ctx, const struct restart_conf *c, struct server *s,
		  struct outcome *o, struct err *err)
{
	AUTO_FREE double *took = xcalloc((size_t)c->times, sizeof(*took));
	AUTO_FREE char *limit = duration_text(c->within_ns);
	struct trial t = { 0 };
	size_t n = 0;

	o->result = RESULT_PASS;
	while (n < (size_t)c->times && o->result == RESULT_PASS) {
		AUTO_FREE char *text = NULL;

		TRY(c->under_load ? under_load(ctx, c, (int)n, s, o, &t, err)
				  : alone(ctx, (int)n, s, &t, err));
		if (t.took_ns < 0) {
			ends(o, RESULT_FAIL, "the restarted server did not answer within %s",
			     limit);
			break;
		}
		text = duration_text(t.took_ns);
		took[n++] = (double)t.took_ns;
		if (t.took_ns > c->within_ns)
			ends(o, RESULT_FAIL, "it took %s, limit %s", text, limit);
	}
	measured(o, took, n, &t);
	return 0;
}

static int restart_run(const struct check_ctx *ctx, const void *conf, struct outcome *o,
		       struct err *err)
{
	const struct restart_conf *c = conf;
	struct server s CLEANUP(server_release) = { 0 };
	int rc;

	if (only_serve(ctx, o))
		return 0;
	if (server_start(ctx, "server.log", 0, &s, err) < 0)
		return ends_err(o, RESULT_ERROR, err);
	rc = trials(ctx, c, &s, o, err);
	server_stop(&s, &ctx->contract->workload_check.serve, SIGTERM, NULL);
	/* A load that did not get under way says nothing about the restart. */
	return rc < 0 ? ends_err(o,
				 err->code == ERR_BROKEN || err->code == ERR_TIMEOUT ? RESULT_FAIL
										     : RESULT_ERROR,
				 err)
		      : 0;
}

const struct check check_restart = {
	.schema = { .name = "restart",
		    .layers = 1u << LAYER_RECOVERY,
		    .fields = restart_fields,
		    .conf_size = sizeof(struct restart_conf),
		    .help = "kill the server, start it again, time until it answers" },
	.run = restart_run,
};
