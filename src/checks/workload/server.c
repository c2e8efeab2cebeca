/* SPDX-License-Identifier: Apache-2.0 */
/* A server of the contract: started, waited for, loaded, stopped. */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/extract.h"
#include "base/file.h"
#include "load/load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

void server_release(struct server *s)
{
	proc_free(s->proc);
	free(s->url);
	free(s->log);
	pairs_release(&s->values);
	*s = (struct server){ 0 };
}

/* How long a port may stay in use after its server has ended. */
#define PORT_WAIT_NS (3 * NS_PER_S)

bool port_is_free(int port)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int e = 0;
	socklen_t n = sizeof(e);

	if (fd < 0)
		return false;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		e = errno;
	/* A listener that is stuck neither refuses nor accepts. */
	if (e == EINPROGRESS &&
	    (poll(&p, 1, 1000) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) < 0))
		return false;
	/* Refused: nobody listens. Connections that still wind down don't count. */
	return e == ECONNREFUSED;
}

void server_stop(struct server *s, const struct serve_spec *spec, int sig, struct proc_done *done)
{
	int64_t until;

	if (!s->proc)
		return;
	proc_stop(s->proc, sig, spec->stop_within_ns, done);
	proc_free(s->proc);
	s->proc = NULL;
	/* Members of its group are killed with it, but a large one takes its time to be gone. */
	until = clock_ns() + PORT_WAIT_NS;
	while (s->port && !port_is_free(s->port) && clock_ns() < until)
		sleep_ns(5 * NS_PER_MS);
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

enum { LOG_MOST = 1024 * 1024 * 1024 };

bool log_too_long(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && st.st_size > LOG_MOST;
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

/* Answers, and has written its line if the contract wants one (whose log we can read). */
static int is_ready(const struct serve_spec *spec, const struct server *s, bool *ret,
		    struct err *err)
{
	*ret = false;
	if (spec->ready.line && s->proc && !line_seen(spec, s->log))
		return 0;
	return answers(spec, s, ret, err);
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
		TRY(is_ready(spec, s, &ready, err));
		if (ready) {
			s->ready_ns = clock_ns() - start;
			return 0;
		}
		if (log_too_long(s->log))
			return bail(err, ERR_LIMIT, "the server wrote more than 1 GiB of output");
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

static int launch(const struct check_ctx *ctx, const char *log_name, int port, struct server *s,
		  struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct strs argv CLEANUP(strs_release) = { 0 }, env CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *cwd = NULL;
	struct proc_spec ps = { 0 };

	s->port = spec->port ? (int)spec->port : port ? port : free_port(err);
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

int server_start(const struct check_ctx *ctx, const char *log_name, int port, struct server *ret,
		 struct err *err)
{
	const struct serve_spec *spec = &ctx->contract->workload_check.serve;
	struct server s CLEANUP(server_release) = { 0 };

	if (spec->attach) {
		TRY(ctx_values(ctx, 0, &s.values, err));
		TRY(contract_expand(spec->attach, &s.values, &s.url, err));
	} else {
		TRY(launch(ctx, log_name, port, &s, err));
	}
	TRY(wait_ready(ctx, &s, err));
	*ret = s;
	s = (struct server){ 0 };
	return 0;
}

/* ---- load ------------------------------------------------------------------------------------ */

struct live {
	const struct check_ctx *ctx;
	const struct load_ask *ask;
};

static int on_tick(void *arg, const struct load_progress *p)
{
	const struct live *l = arg;
	AUTO_FREE char *ttft = quantity_text(p->ttft_p50_ns, UNIT_NS);
	AUTO_FREE char *live =
		xasprintf("%.3g/s, %llu in flight, %llu ok, %llu failed%s%s", p->rate_achieved,
			  (unsigned long long)p->in_flight, (unsigned long long)p->ok,
			  (unsigned long long)p->failed, isnan(p->ttft_p50_ns) ? "" : ", ttft ",
			  isnan(p->ttft_p50_ns) ? "" : ttft);
	double total = (double)(p->elapsed_ns + p->left_ns);

	report(l->ctx, p->warming ? "warm-up" : "load", live,
	       total > 0 ? (double)p->elapsed_ns / total : -1, p->left_ns);
	if (l->ask->tick && l->ask->tick(l->ask->arg, p) != 0)
		return 1;
	return *l->ctx->cancel != 0 || log_too_long(l->ask->log);
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

int load_golden_of(const struct check_ctx *ctx, struct load_golden *ret, struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *text = NULL;
	size_t n;

	if (streq(spec->answers.golden, "accepted")) {
		if (!ctx->golden)
			return 0;
		path = xstrdup(ctx->golden);
	} else {
		TRY(ctx_values(ctx, 0, &values, err));
		TRY(contract_expand(spec->answers.golden, &values, &name, err));
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

int load_prompts_of(const struct check_ctx *ctx, struct load_prompts *ret, struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	struct pairs values CLEANUP(pairs_release) = { 0 };
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *path = NULL;

	if (!spec->prompts)
		return 0;
	TRY(ctx_values(ctx, 0, &values, err));
	TRY(contract_expand(spec->prompts, &values, &name, err));
	path = path_join(ctx->dir, name);
	return load_prompts_file(path, ret, err);
}

/* How much is asked for, when that is not the contract's own load. */
static void limit_load(const struct load_ask *ask, struct load_conf *c)
{
	if (ask->count) {
		c->count = ask->count;
		c->duration_ns = 0;
	}
	if (ask->duration_ns) {
		c->count = 0;
		c->duration_ns = ask->duration_ns;
	}
	/* Clients that wait for an answer would ask a dead server again at once, and never stop. */
	if (ask->open_loop && c->arrival == LOAD_CLOSED) {
		c->arrival = LOAD_CONSTANT;
		c->rate = MIN(2.0 * c->concurrency, 20.0);
	}
	if (ask->one_by_one) {
		c->arrival = LOAD_CLOSED;
		c->concurrency = 1;
	}
}

int load_server(const struct check_ctx *ctx, const char *url, const struct load_ask *ask,
		struct load_result *ret, struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	struct load_prompts prompts CLEANUP(load_prompts_release) = { 0 };
	struct load_golden golden CLEANUP(load_golden_release) = { 0 };
	struct load_objective objectives[4];
	struct live live = { ctx, ask };
	AUTO_FREE char *full = xasprintf("%s%s", url, spec->path ? spec->path : "");
	AUTO_FREE char *model = served_model(spec, url);
	struct load_conf c;

	load_conf_init(&c);
	arrivals(spec, &c);
	limit_load(ask, &c);
	c.url = full;
	c.model = model;
	if (!ask->prompts)
		TRY(load_prompts_of(ctx, &prompts, err));
	c.prompts = ask->prompts ? ask->prompts : prompts.n ? &prompts : NULL;
	if (!ask->no_golden)
		TRY(load_golden_of(ctx, &golden, err));
	c.golden = golden.n ? &golden : NULL;
	c.warmup_ns = ask->warmup ? spec->warmup_ns : 0;
	c.objectives = objectives;
	c.n_objectives = goodput_objectives(ctx->contract, objectives);
	c.tick = on_tick;
	c.arg = &live;
	if (ask->tick)
		c.tick_ns = 20 * NS_PER_MS;
	c.cancel = ctx->cancel;
	TRY(load_run(&c, ret, err));
	if (*ctx->cancel)
		return bail(err, ERR_INTERRUPTED, "interrupted under load");
	if (log_too_long(ask->log))
		return bail(err, ERR_LIMIT, "the server wrote more than 1 GiB of output");
	return 0;
}
