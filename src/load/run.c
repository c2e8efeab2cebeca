/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"
#include "load/server.h"
#include "load/session.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define START_IN_NS (5 * NS_PER_MS)

/* All that a run holds; released in one go. */
struct runner {
	const struct load_conf *conf;
	struct target target;
	struct wires wires;
	struct plan plan, warm_plan;
	SSL_CTX *tls;
	struct loop *loops;
	unsigned n_loops, n_ready;
	struct load_req *records;
	size_t records_size;
	int done_fd, stamp_fd;
	bool stamps, interrupted;
	uint64_t attempts;
};

static void records_release(struct runner *r)
{
	if (r->records)
		munmap(r->records, r->records_size);
	r->records = NULL;
}

static void runner_release(struct runner *r)
{
	for (unsigned i = 0; i < r->n_ready; i++)
		loop_release(&r->loops[i]);
	free(r->loops);
	records_release(r);
	SSL_CTX_free(r->tls);
	plan_release(&r->plan);
	plan_release(&r->warm_plan);
	wires_release(&r->wires);
	target_release(&r->target);
	closep(&r->done_fd);
	closep(&r->stamp_fd);
}

/* Each stream is a descriptor: as many as we are allowed. */
static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

/* Laid out before the run. A closed loop ended by time alone gets room by address space only. */
static int records_make(struct runner *r, size_t n, size_t *ret_limit, struct err *err)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t want = n ? n : PLAN_LIMIT;

	records_release(r);
	if (n && n <= 65536)
		flags |= MAP_POPULATE;
	for (; want; want = n ? 0 : want / 2) {
		void *p;

		r->records_size = want * sizeof(*r->records);
		p = mmap(NULL, r->records_size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p != MAP_FAILED) {
			r->records = p;
			*ret_limit = want;
			return 0;
		}
	}
	return bail_sys(err, "no memory for the records of %zu requests", n ? n : PLAN_LIMIT);
}

static int get_key(const struct load_conf *c, const char **ret, struct err *err)
{
	*ret = c->key_env ? getenv(c->key_env) : NULL;
	if (c->key_env && (!*ret || !**ret))
		return bail(err, ERR_NOT_FOUND, "environment variable '%s' for the key is not set",
			    c->key_env);
	for (const char *p = *ret; p && *p; p++)
		if (*p <= ' ' || *p == 127)
			return bail(
				err, ERR_RANGE,
				"the key in '%s' has a blank, a control byte or a byte over 127",
				c->key_env);
	return 0;
}

static int prepare(struct runner *r, struct err *err)
{
	const struct load_conf *c = r->conf;
	const char *key;

	TRY(get_key(c, &key, err));
	TRY(target_parse(c->url, c->endpoint, &r->target, err));
	TRY(plan_make(c, c->duration_ns, c->count, c->prompts ? c->prompts->n : 1, &r->plan, err));
	TRY(wires_render(c, &r->target, key, &r->wires, err));
	if (c->proxy)
		TRY(target_through(&r->target, c->proxy, err));
	else if (c->engine != LOAD_ENGINE_NULL)
		TRY(target_resolve(&r->target, err));
	if (r->target.tls) {
		r->tls = tls_context(c, err);
		if (!r->tls)
			return -(int)err->code;
	}
	raise_descriptors();
	r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->done_fd < 0)
		return bail_sys(err, "cannot make an eventfd");
	if (c->engine != LOAD_ENGINE_NULL)
		r->stamp_fd = stamps_switch_on(&r->stamps);
	r->n_loops = MAX(c->loops, 1U);
	r->loops = xcalloc(r->n_loops, sizeof(*r->loops));
	while (r->n_ready < r->n_loops) {
		unsigned i = r->n_ready++;

		TRY(loop_init(&r->loops[i], i, r->n_loops, c, err));
	}
	return 0;
}

/* ---- progress -------------------------------------------------------------------------------- */

static uint64_t load64(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void sum_lives(const struct runner *r, struct load_progress *p)
{
	AUTO_FREE struct load_hist *h = xcalloc(3, sizeof(*h));

	for (unsigned i = 0; i < r->n_loops; i++) {
		const struct live *l = &r->loops[i].live;

		p->scheduled += load64(&l->scheduled);
		p->started += load64(&l->started);
		for (int o = 0; o < LOAD_OUTCOMES; o++) {
			uint64_t n = load64(&l->by_outcome[o]);

			p->by_outcome[o] += n;
			if (o == LOAD_OK)
				p->ok += n;
			else
				p->failed += n;
		}
		p->in_flight += __atomic_load_n(&l->in_flight, __ATOMIC_RELAXED);
		hist_merge(&h[0], &l->ttft);
		hist_merge(&h[1], &l->itl);
		hist_merge(&h[2], &l->e2e);
	}
	p->ttft_p50_ns = hist_quantile(&h[0], 0.5);
	p->ttft_p99_ns = hist_quantile(&h[0], 0.99);
	p->itl_p50_ns = hist_quantile(&h[1], 0.5);
	p->itl_p99_ns = hist_quantile(&h[1], 0.99);
	p->e2e_p50_ns = hist_quantile(&h[2], 0.5);
	p->e2e_p99_ns = hist_quantile(&h[2], 0.99);
}

static void time_left(const struct phase *ph, struct load_progress *p)
{
	double done, share;

	if (ph->until) {
		p->left_ns = MAX(ph->until - ph->t0 - p->elapsed_ns, INT64_C(0));
	} else if (!ph->closed) {
		p->left_ns = MAX(ph->plan->at[ph->plan->n - 1] - p->elapsed_ns, INT64_C(0));
	} else {
		done = (double)(p->ok + p->failed);
		share = done > 0 ? (double)ph->plan->n / done - 1 : 0;
		p->left_ns = (int64_t)(share * (double)p->elapsed_ns);
	}
}

static bool tick(const struct runner *r, const struct phase *ph)
{
	struct load_progress p = { .warming = ph->warming };

	if (!r->conf->tick)
		return false;
	p.elapsed_ns = MAX(clock_ns() - ph->t0, INT64_C(0));
	sum_lives(r, &p);
	time_left(ph, &p);
	if (p.elapsed_ns > 0)
		p.rate_achieved = (double)p.started / ((double)p.elapsed_ns / 1e9);
	p.rate_asked = ph->closed || p.elapsed_ns == 0
			       ? NAN
			       : (double)p.scheduled / ((double)p.elapsed_ns / 1e9);
	return r->conf->tick(r->conf->arg, &p) != 0;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void stop_all(struct runner *r, struct phase *ph)
{
	r->interrupted = true;
	__atomic_store_n(&ph->stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < r->n_loops; i++)
		loop_wake(&r->loops[i]);
}

/* Until every loop is through; meanwhile the display, and whoever wants to stop us. */
static void wait_for_loops(struct runner *r, struct phase *ph)
{
	int64_t each = MAX(r->conf->tick_ns, 10 * NS_PER_MS), next_tick = clock_ns() + each;
	uint64_t done = 0, n;

	while (done < r->n_loops) {
		struct pollfd p = { .fd = r->done_fd, .events = POLLIN };
		int64_t left = MIN(next_tick - clock_ns(), 50 * NS_PER_MS);

		(void)poll(&p, 1, (int)(MAX(left, INT64_C(0)) / NS_PER_MS) + 1);
		if (read(r->done_fd, &n, sizeof(n)) == sizeof(n))
			done += n;
		if (!ph->stop && r->conf->cancel && *r->conf->cancel)
			stop_all(r, ph);
		if (clock_ns() < next_tick)
			continue;
		next_tick = clock_ns() + each;
		if (tick(r, ph) && !ph->stop)
			stop_all(r, ph);
	}
}

static int run_phase(struct runner *r, struct phase *ph, struct err *err)
{
	sigset_t all, before;
	unsigned started = 0;
	int rc = 0;

	ph->done_fd = r->done_fd;
	for (unsigned i = 0; i < r->n_loops; i++)
		loop_prepare(&r->loops[i], ph);
	if (!ph->t0)
		ph->t0 = clock_ns() + START_IN_NS;
	if (ph->until)
		ph->until += ph->t0;
	/* Signals are the calling thread's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < r->n_loops && rc == 0; started += rc == 0)
		rc = pthread_create(&r->loops[started].thread, NULL, loop_thread,
				    &r->loops[started]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		wait_for_loops(r, ph);
	else
		stop_all(r, ph);
	for (unsigned i = 0; i < started; i++) {
		pthread_join(r->loops[i].thread, NULL);
		r->attempts += r->loops[i].attempts;
	}
	if (rc) {
		errno = rc;
		return bail_sys(err, "cannot start a thread");
	}
	return 0;
}

static struct phase phase_of(const struct runner *r, const struct plan *plan)
{
	return (struct phase){
		.conf = r->conf,
		.target = &r->target,
		.wires = &r->wires,
		.plan = plan,
		.tls = r->tls,
	};
}

static int warm_up(struct runner *r, struct load_result *res, struct err *err)
{
	const struct load_conf *c = r->conf;
	struct load_conf one_by_one = *c;
	struct phase ph;

	if (!c->warmup_ns && !c->warmup_count)
		return 0;
	if (c->warmup_count) {
		one_by_one.arrival = LOAD_CLOSED;
		one_by_one.concurrency = 1;
	}
	TRY(plan_make(&one_by_one, c->warmup_count ? 0 : c->warmup_ns, c->warmup_count,
		      r->plan.n_prompts, &r->warm_plan, err));
	ph = phase_of(r, &r->warm_plan);
	ph.closed = one_by_one.arrival == LOAD_CLOSED;
	ph.concurrency = one_by_one.concurrency;
	ph.until = ph.closed && !c->warmup_count ? c->warmup_ns : 0;
	ph.warming = ph.reverse = true;
	TRY(records_make(r, r->warm_plan.n, &ph.limit, err));
	ph.records = r->records;
	TRY(run_phase(r, &ph, err));
	gather(r->loops, r->n_loops, &ph, res);
	res->n_warmup = res->n;
	for (size_t i = 0; i < res->n; i++)
		res->n_warmup_ok += res->v[i].outcome == LOAD_OK;
	return 0;
}

static int by_digest(const void *a, const void *b)
{
	const struct wire *const *x = a, *const *y = b;
	int d = memcmp((*x)->digest, (*y)->digest, sizeof((*x)->digest));

	return d ? d : (*x > *y) - (*x < *y);
}

/* Requests whose body had been sent before: a prefix cache makes those faster than they would be.
 */
static uint64_t repeated(const struct runner *r, const struct load_result *warm,
			 const struct load_result *res)
{
	size_t n = r->wires.n;
	AUTO_FREE const struct wire **sorted = xcalloc(n, sizeof(*sorted));
	AUTO_FREE size_t *same_as = xcalloc(n, sizeof(*same_as));
	AUTO_FREE bool *seen = xcalloc(n, sizeof(*seen));
	uint64_t count = 0;

	if (!r->conf->prompts)
		return 0;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &r->wires.v[i];
	qsort(sorted, n, sizeof(*sorted), by_digest);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (memcmp(sorted[i]->digest, sorted[first]->digest, sizeof(sorted[i]->digest)) !=
		    0)
			first = i;
		same_as[sorted[i] - r->wires.v] = (size_t)(sorted[first] - r->wires.v);
	}
	for (size_t i = 0; i < warm->n; i++)
		seen[same_as[warm->v[i].prompt]] = true;
	for (size_t i = 0; i < res->n; i++) {
		size_t p = same_as[res->v[i].prompt];

		if (res->v[i].turn)
			continue; /* it has answers in it that were never there before */
		count += seen[p];
		seen[p] = true;
	}
	return count;
}

/* Where the measured part begins: at once, or when it was agreed on with others. */
static void begin_together(const struct load_conf *c, struct phase *ph, struct load_result *res)
{
	int64_t now = clock_ns(), wall = clock_wall_ms();
	int64_t at = now + (c->start_at_ms - wall) * NS_PER_MS;

	ph->t0 = now + START_IN_NS;
	res->wall_ms = wall;
	res->start_at_ms = c->start_at_ms;
	if (!c->start_at_ms)
		return;
	res->start_late_ns = MAX(ph->t0 - at, INT64_C(0));
	ph->t0 = MAX(ph->t0, at);
	res->wall_ms = wall + (ph->t0 - now) / NS_PER_MS;
}

static int measure(struct runner *r, struct load_result *res, struct err *err)
{
	const struct load_conf *c = r->conf;
	struct scraper *scraper CLEANUP(scraper_freep) = NULL;
	AUTO_FREE const char **wants = golden_wanted(c);
	const char *key;
	size_t n;
	struct phase ph = phase_of(r, &r->plan);

	ph.wants = wants;
	ph.turns = session_turns(c->prompts);
	if (ph.turns < 2)
		ph.turns = 0;
	ph.closed = c->arrival == LOAD_CLOSED;
	ph.concurrency = c->concurrency;
	ph.until = ph.closed ? c->duration_ns : 0;
	/* Later turns lie behind all the first ones; in a closed loop they are requests as any. */
	n = ph.turns && !ph.closed ? ph.turns : 1;
	if (r->plan.n > PLAN_LIMIT / n)
		return bail(err, ERR_LIMIT, "a run of more than %zu requests", PLAN_LIMIT);
	TRY(records_make(r, r->plan.n * n, &ph.limit, err));
	ph.records = r->records;
	TRY(get_key(c, &key, err));
	TRY(scraper_start(c, &r->target, key, &res->server, &scraper, err));
	begin_together(c, &ph, res);
	TRY(run_phase(r, &ph, err));
	scraper_stop(scraper);
	for (unsigned i = 0; i < r->n_loops; i++)
		loop_disconnect(&r->loops[i]);
	gather(r->loops, r->n_loops, &ph, res);
	server_settle(&res->server, ph.t0);
	res->attempts = r->attempts;
	res->interrupted = r->interrupted;
	res->audit.stamps = r->stamps && !r->target.unix_socket;
	settle(res, c);
	audit(r->loops, r->n_loops, &ph, res);
	return 0;
}

static void describe(const struct runner *r, struct load_result *res)
{
	const struct load_conf *c = r->conf;

	res->url = xstrdup(c->url);
	res->model = xstrdup(c->model);
	res->proxy = xstrdup(c->proxy);
	res->golden_tolerance = c->golden_tolerance;
	res->shard = c->shard;
	res->shards = c->shards;
	res->engine = c->engine;
	res->endpoint = c->endpoint;
	res->arrival = c->arrival;
	res->rate = c->rate;
	res->rate_to = c->rate_to;
	res->burstiness = c->burstiness;
	res->concurrency = c->arrival == LOAD_CLOSED ? c->concurrency : 0;
	res->max_in_flight = c->max_in_flight;
	res->client_lag_ns = c->client_lag_ns;
	res->loops = r->n_loops;
	res->seed = c->seed;
	res->duration_ns = c->duration_ns;
	res->timeout_ns = c->timeout_ns;
	res->ignore_eos = c->ignore_eos;
	res->no_stream = c->no_stream;
	res->no_keep_alive = c->no_keep_alive;
	res->tls_insecure = c->tls_insecure;
	if (c->prompts)
		memcpy(res->prompts_digest, c->prompts->digest, sizeof(res->prompts_digest));
	memcpy(res->schedule_digest, r->plan.digest, sizeof(res->schedule_digest));
	res->n_objectives = c->n_objectives;
	res->objectives = xcalloc(c->n_objectives + 1, sizeof(*res->objectives));
	if (c->n_objectives)
		memcpy(res->objectives, c->objectives, c->n_objectives * sizeof(*res->objectives));
	if (c->arrival == LOAD_STAGES) {
		res->n_stages = c->n_stages;
		res->stages = xcalloc(c->n_stages + 1, sizeof(*res->stages));
		memcpy(res->stages, c->stages, c->n_stages * sizeof(*res->stages));
	}
	res->n_prompt_ids = c->prompts ? c->prompts->n : 0;
	res->prompt_ids = xcalloc(res->n_prompt_ids + 1, sizeof(*res->prompt_ids));
	for (size_t i = 0; i < res->n_prompt_ids; i++)
		res->prompt_ids[i] = xstrdup(c->prompts->v[i].id);
}

void load_result_release(struct load_result *r)
{
	free(r->url);
	free(r->model);
	free(r->proxy);
	free(r->server.v);
	free(r->objectives);
	free(r->stages);
	free(r->v);
	free(r->events);
	free(r->text);
	for (size_t i = 0; i < r->n_prompt_ids; i++)
		free(r->prompt_ids[i]);
	free(r->prompt_ids);
	strs_release(&r->details);
	*r = (struct load_result){ 0 };
}

int load_run(const struct load_conf *c, struct load_result *ret, struct err *err)
{
	struct runner r CLEANUP(runner_release) = { .conf = c, .done_fd = -1, .stamp_fd = -1 };
	struct load_result res CLEANUP(load_result_release) = { 0 };
	struct load_result warm CLEANUP(load_result_release) = { 0 };

	TRY(load_conf_check(c, err));
	TRY(prepare(&r, err));
	describe(&r, &res);
	TRY(warm_up(&r, &warm, err));
	if (r.interrupted) {
		/* Nothing was measured; the record says so. */
		res.interrupted = true;
		res.v = xcalloc(1, sizeof(*res.v));
		res.events = xcalloc(1, sizeof(*res.events));
		res.text = xcalloc(1, 1);
	} else {
		TRY(measure(&r, &res, err));
	}
	res.n_warmup = warm.n_warmup;
	res.n_warmup_ok = warm.n_warmup_ok;
	res.attempts = r.attempts;
	res.repeated_prompts = repeated(&r, &warm, &res);
	*ret = res;
	res = (struct load_result){ 0 };
	return 0;
}
