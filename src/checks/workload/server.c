/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the contract: started, waited for, loaded, stopped. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/extract.h"
#include "base/file.h"
#include "load/load.h"

void server_release(struct server *s)
{
	proc_free(s->proc);
	free(s->url);
	free(s->log);
	pairs_release(&s->values);
	*s = (struct server){ 0 };
}

void server_stop(struct server *s, const struct serve_spec *spec, int sig, struct proc_done *done)
{
	if (!s->proc)
		return;
	proc_stop(s->proc, sig, spec->stop_within_ns, done);
	proc_free(s->proc);
	s->proc = NULL;
}

static int died(struct server *s, const struct serve_spec *spec, struct err *err)
{
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	AUTO_FREE char *how = NULL;
	AUTO_FREE char *tail = NULL;

	server_stop(s, spec, SIGKILL, &done);
	how = proc_how(&done);
	tail = tail_of(s->log, 300);
	return bail(err, ERR_BROKEN, "the server ended before it was ready (%s)%s%s", how,
		    tail[0] ? ": " : "", tail);
}

static bool line_seen(const struct serve_spec *spec, const char *log)
{
	struct extract_spec e = { .how = EXTRACT_LINES, .pattern = spec->ready.line };
	struct numbers found CLEANUP(numbers_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	size_t n;

	return file_read(log, EXTRACT_MAX_BYTES, &text, &n, &err) == 0 &&
	       extract_run(&e, (struct sv){ text, n }, 0, &found, &err) == 0 && found.n &&
	       found.v[0] > 0;
}

static int answers(const struct serve_spec *spec, const struct server *s, bool *ret,
		   struct err *err)
{
	AUTO_FREE char *url =
		xasprintf("%s%s", s->url, spec->ready.http ? spec->ready.http : "/health");
	long status;

	TRY(http_get(url, 2 * NS_PER_S, &status, NULL, err));
	*ret = status == 200;
	return 0;
}

static int wait_ready(const struct check_ctx *ctx, struct server *s, struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	int64_t start = clock_ns(), pause = 10 * NS_PER_MS;

	for (;;) {
		int64_t spent = clock_ns() - start;
		bool ready = false;

		if (*ctx->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted while the server started");
		if (s->proc && !proc_poll(s->proc, 0))
			return died(s, spec, err);
		if (spec->ready.line && s->proc)
			ready = line_seen(spec, s->log);
		else
			TRY(answers(spec, s, &ready, err));
		if (ready) {
			s->ready_ns = clock_ns() - start;
			return 0;
		}
		if (spent > spec->ready.within_ns) {
			AUTO_FREE char *limit = duration_text(spec->ready.within_ns);
			AUTO_FREE char *tail = tail_of(s->log ? s->log : "/dev/null", 300);

			return bail(err, ERR_TIMEOUT, "the server was not ready within %s%s%s",
				    limit, tail[0] ? ": " : "", tail);
		}
		report(ctx, "start", "", -1, -1);
		sleep_ns(pause);
		pause = MIN(pause * 2, 200 * NS_PER_MS);
	}
}

static int launch(const struct check_ctx *ctx, const char *log_name, struct server *s,
		  struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	struct proc_spec ps = { 0 };

	s->port = spec->port ? (int)spec->port : free_port(err);
	if (s->port < 0)
		return s->port;
	TRY(ctx_values(ctx, s->port, &s->values, err));
	TRY(contract_expand(spec->url, &s->values, &s->url, err));
	TRY(contract_expand_argv(&spec->start, &s->values, &argv, err));
	TRY(ctx_env(ctx, &spec->env, &s->values, &env, err));
	TRY(contract_expand(spec->cwd, &s->values, &cwd, err));
	s->log = ctx_path(ctx, log_name);
	ps.argv = (const char *const *)argv.v;
	ps.env = (const char *const *)env.v;
	ps.cwd = cwd;
	ps.out_path = ps.err_path = s->log;
	if (proc_start(&ps, &s->proc, err) < 0)
		return err_wrap(err, "cannot start the server");
	return 0;
}

int server_start(const struct check_ctx *ctx, const char *log_name, struct server *ret,
		 struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct server s CLEANUP(server_release) = { 0 };

	if (spec->attach) {
		TRY(ctx_values(ctx, 0, &s.values, err));
		TRY(contract_expand(spec->attach, &s.values, &s.url, err));
	} else {
		TRY(launch(ctx, log_name, &s, err));
	}
	TRY(wait_ready(ctx, &s, err));
	*ret = s;
	s = (struct server){ 0 };
	return 0;
}

/* ---- load ------------------------------------------------------------------------------------ */

struct live {
	const struct check_ctx *ctx;
	int64_t warm_ns, run_ns;
};

static int on_tick(void *arg, const struct load_progress *p)
{
	const struct live *l = arg;
	AUTO_FREE char *ttft = quantity_text(p->ttft_p50_ns, UNIT_NS);
	AUTO_FREE char *live =
		xasprintf("%.3g/s, %llu in flight, %llu ok, %llu failed, ttft %s", p->rate_achieved,
			  (unsigned long long)p->in_flight, (unsigned long long)p->ok,
			  (unsigned long long)p->failed, ttft);
	double total = (double)(p->elapsed_ns + p->left_ns);

	report(l->ctx, p->warming ? "warm-up" : "load", live,
	       total > 0 ? (double)p->elapsed_ns / total : -1, p->left_ns);
	return *l->ctx->cancel != 0;
}

static size_t goodput_objectives(const struct contract *c, struct load_objective ret[4])
{
	struct goodput_limits g;
	size_t n = 0;

	contract_goodput(c, &g);
	if (g.ttft_ns)
		ret[n++] = (struct load_objective){ LOAD_TTFT, 1, g.ttft_ns };
	if (g.itl_ns)
		ret[n++] = (struct load_objective){ LOAD_ITL, 0.99, g.itl_ns };
	if (g.tpot_ns)
		ret[n++] = (struct load_objective){ LOAD_TPOT, 1, g.tpot_ns };
	if (g.e2e_ns)
		ret[n++] = (struct load_objective){ LOAD_E2E, 1, g.e2e_ns };
	return n;
}

static void arrivals(const struct load_spec *spec, struct load_conf *c)
{
	static const enum load_arrival kinds[] = {
		[ARRIVAL_POISSON] = LOAD_POISSON,
		[ARRIVAL_CONSTANT] = LOAD_CONSTANT,
		[ARRIVAL_GAMMA] = LOAD_GAMMA,
		[ARRIVAL_CLOSED] = LOAD_CLOSED,
	};
	static const enum load_endpoint endpoints[] = {
		[ENDPOINT_CHAT] = LOAD_CHAT,
		[ENDPOINT_COMPLETIONS] = LOAD_COMPLETIONS,
		[ENDPOINT_PLAIN] = LOAD_PLAIN,
	};

	c->endpoint = endpoints[spec->endpoint];
	c->arrival = kinds[spec->arrival.kind];
	c->rate = spec->arrival.kind == ARRIVAL_CLOSED ? 0 : spec->arrival.rate;
	c->burstiness = spec->arrival.burstiness;
	c->concurrency = (unsigned)spec->arrival.closed;
	c->duration_ns = spec->duration_ns;
	c->count = (uint64_t)spec->count;
	c->max_tokens = spec->max_tokens;
	c->temperature = spec->temperature;
	c->no_stream = !spec->stream;
	c->ignore_eos = spec->ignore_eos;
	c->timeout_ns = spec->timeout_ns;
	c->seed = (uint64_t)spec->seed;
	c->max_in_flight = (unsigned)spec->max_in_flight;
	c->client_lag_ns = spec->client_lag_ns;
	c->key_env = spec->key_env;
	c->model = spec->model;
}

static int read_golden(const struct check_ctx *ctx, const struct load_spec *spec, const char *name,
		       struct load_golden *ret, struct err *err)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *text = NULL;
	size_t n;

	if (streq(spec->answers.golden, "accepted")) {
		if (!ctx->golden)
			return 0;
		path = xstrdup(ctx->golden);
	} else {
		path = path_join(ctx->dir, name);
	}
	TRY(file_read(path, 64 * MIB, &text, &n, err));
	return load_golden_parse((struct sv){ text, n }, path, ret, err);
}

/* The name requests must carry: the contract's, or the first that the server lists. */
static char *served_model(const struct load_spec *spec, const char *url)
{
	AUTO_FREE char *at = xasprintf("%s/v1/models", url);
	struct str body CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL;
	const char *id;
	long status;

	if (spec->model || spec->endpoint == ENDPOINT_PLAIN)
		return xstrdup(spec->model);
	if (http_get(at, 5 * NS_PER_S, &status, &body, &err) < 0 || status != 200 ||
	    json_read(sv_str(&body), "models", &j, &err) < 0)
		return NULL;
	id = json_str_or(json_array_get(json_object_get(j, "data"), 0), "id", NULL);
	return xstrdup(id);
}

int load_server(const struct check_ctx *ctx, const char *url, uint64_t count, bool warmup,
		struct load_result *ret, struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	struct load_prompts prompts CLEANUP(load_prompts_release) = { 0 };
	struct load_golden golden CLEANUP(load_golden_release) = { 0 };
	struct load_objective objectives[4];
	struct live live = { ctx, spec->warmup_ns, spec->duration_ns };
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *full = xasprintf("%s%s", url, spec->path ? spec->path : "");
	AUTO_FREE char *model = served_model(spec, url);
	struct load_conf c;

	load_conf_init(&c);
	arrivals(spec, &c);
	c.url = full;
	c.model = model;
	if (spec->prompts) {
		AUTO_FREE char *name = NULL;
		AUTO_FREE char *path = NULL;

		TRY(ctx_values(ctx, 0, &values, err));
		TRY(contract_expand(spec->prompts, &values, &name, err));
		path = path_join(ctx->dir, name);
		TRY(load_prompts_file(path, &prompts, err));
		c.prompts = &prompts;
	}
	TRY(read_golden(ctx, spec, spec->answers.golden, &golden, err));
	c.golden = golden.n ? &golden : NULL;
	c.warmup_ns = warmup ? spec->warmup_ns : 0;
	if (count) {
		c.count = count;
		c.duration_ns = 0;
	}
	c.objectives = objectives;
	c.n_objectives = goodput_objectives(ctx->contract, objectives);
	c.tick = on_tick;
	c.arg = &live;
	c.cancel = ctx->cancel;
	TRY(load_run(&c, ret, err));
	return *ctx->cancel ? bail(err, ERR_INTERRUPTED, "interrupted under load") : 0;
}
