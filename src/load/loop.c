/* SPDX-License-Identifier: Apache-2.0 */
#include "load/loop.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "load/session.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TAG_WAKE  UINT64_MAX
#define TAG_CLOCK (UINT64_MAX - 1)
#define TAG_TIMER (UINT64_MAX - 2)

/* ---- life ------------------------------------------------------------------------------------ */

static int watch(int epoll_fd, int fd, uint64_t tag)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* Becomes readable when CLOCK_REALTIME is set. Not everywhere allowed: stamps are checked anyway.
 */
static int watch_clock(void)
{
	struct itimerspec far = { .it_value = { .tv_sec = INT64_C(1) << 34 } };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd >= 0)
		(void)timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
	return fd;
}

int loop_init(struct loop *l, unsigned index, unsigned count, const struct load_conf *c,
	      struct err *err)
{
	const struct timespec none = { 0 };
	struct epoll_event ev;

	*l = (struct loop){ .index = index, .count = count, .timer_fd = -1 };
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	l->clock_fd = watch_clock();
	if (l->epoll_fd < 0 || l->wake_fd < 0 || watch(l->epoll_fd, l->wake_fd, TAG_WAKE) < 0)
		return bail_sys(err, "cannot make an event loop");
	if (l->clock_fd >= 0)
		(void)watch(l->epoll_fd, l->clock_fd, TAG_CLOCK);
	/* Where ns timeouts are refused (old kernel, strict seccomp), a timerfd stands in. */
	if (epoll_pwait2(l->epoll_fd, &ev, 1, &none, NULL) < 0 && errno != EINTR) {
		l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (l->timer_fd < 0 || watch(l->epoll_fd, l->timer_fd, TAG_TIMER) < 0)
			return bail_sys(err, "cannot make a timer");
	}
	l->rx = xmalloc(RX_SIZE);
	l->tx = xcalloc(1, TX_SIZE);
	l->events_now = xcalloc(EVENTS_A_WAKE, sizeof(*l->events_now));
	l->ready = l->ready_last = NO_CONN;
	memset(l->rx, 0, RX_SIZE);
	blocks_init(&l->events);
	blocks_init(&l->text);
	lbuf_pool_fill(&l->bufs, 64);
	conn_slab(l);
	l->ctx = (struct answer_ctx){
		.bufs = &l->bufs,
		.events = &l->events,
		.text = &l->text,
		.itl = &l->live.itl,
		.endpoint = c->endpoint,
		.no_stream = c->no_stream,
		.answer_limit = c->answer_limit,
	};
	return 0;
}

void loop_disconnect(struct loop *l)
{
	for (size_t i = 0; i < l->n_slabs * CONNS_A_SLAB; i++) {
		struct conn *c = conn_at(l, (uint32_t)i);

		tls_free(c->tls);
		closep(&c->fd);
	}
	for (size_t i = 0; i < l->n_slabs; i++)
		munmap(l->slabs[i], CONNS_A_SLAB * sizeof(**l->slabs));
	free(l->slabs);
	l->slabs = NULL;
	l->n_slabs = 0;
	l->busy = l->kept = l->free = (struct conn_list){ 0 };
}

void loop_release(struct loop *l)
{
	loop_disconnect(l);
	free(l->events_now);
	free(l->rx);
	if (l->tx)
		explicit_bzero(l->tx, TX_SIZE); /* a key was in it */
	free(l->tx);
	lbuf_pool_release(&l->bufs);
	blocks_release(&l->events);
	blocks_release(&l->text);
	closep(&l->epoll_fd);
	closep(&l->wake_fd);
	closep(&l->clock_fd);
	closep(&l->timer_fd);
}

void loop_prepare(struct loop *l, struct phase *p)
{
	size_t each = 2, mine = p->plan->n / l->count + 1;

	l->phase = p;
	l->ctx.wants = p->wants;
	l->due = l->head = 0;
	l->in_flight = 0;
	l->reads = l->wakes = l->attempts = 0;
	l->integral = 0;
	l->integral_at = 0;
	l->ctx.n_events = l->ctx.n_merged = l->ctx.n_late = l->ctx.n_unstamped = 0;
	l->live = (struct live){ 0 };
	l->stamp_lag = l->lag = (struct load_hist){ 0 };
	l->stamps.steps = 0;
	l->bufs.grown = 0;
	blocks_reset(&l->events);
	blocks_reset(&l->text);
	/* A guess at what the first answers need; idle moments add to it. */
	blocks_ahead(&l->events, MIN(mine * each, 16 * BLOCKS_A_SLAB), /* slowly= */ false);
	blocks_ahead(&l->text, MIN(mine * each, 16 * BLOCKS_A_SLAB), /* slowly= */ false);
	while (l->n_slabs * CONNS_A_SLAB < MIN(mine, (size_t)2048))
		conn_slab(l);
	/* An open loop is held up by nothing but a cap that was asked for. */
	l->share = 0;
	if (p->closed) {
		l->share = p->concurrency / l->count + (l->index < p->concurrency % l->count);
	} else if (p->conf->max_in_flight) {
		unsigned cap = p->conf->max_in_flight;

		l->share = MAX(cap / l->count + (l->index < cap % l->count), 1U);
	}
}

void loop_wake(struct loop *l)
{
	uint64_t one = 1;

	(void)!write(l->wake_fd, &one, sizeof(one));
}

/* ---- requests -------------------------------------------------------------------------------- */

static void integrate(struct loop *l, int64_t now)
{
	if (l->integral_at && now > l->integral_at)
		l->integral += (double)l->in_flight * (double)(now - l->integral_at);
	l->integral_at = MAX(now, l->integral_at);
}

/* i: the request's place in the schedule, which says its prompt; r: its record. */
static void begin_record(struct loop *l, uint32_t i, int64_t scheduled, int64_t now,
			 struct load_req *r)
{
	const struct phase *p = l->phase;
	const struct plan *plan = p->plan;
	size_t at = ((size_t)i * MAX(p->conf->shards, 1U) + p->conf->shard) % plan->n_prompts;

	*r = (struct load_req){
		.scheduled = scheduled,
		.begun = now,
		.connected = LOAD_NONE,
		.started = LOAD_NONE,
		.first_byte = LOAD_NONE,
		.first_token = LOAD_NONE,
		.first_visible = LOAD_NONE,
		.last_token = LOAD_NONE,
		.end = LOAD_NONE,
		.connect_ns = LOAD_NONE,
		.tls_ns = LOAD_NONE,
		.prompt = plan->order[p->reverse ? plan->n_prompts - 1 - at : at],
		.differs_at = l->index, /* until the answer is compared: whose pools hold it */
		.differs_event = UINT32_MAX,
		.retry_after_s = -1,
		.outcome = LOAD_CANCELLED,
		.detail = "",
	};
	r->asked = p->wires->v[r->prompt].asked;
}

/* i: its record; place: that of its prompt, the same in an open loop. */
static void begin(struct loop *l, uint32_t i, uint32_t place, int64_t scheduled, int64_t now)
{
	struct load_req *r = &l->phase->records[i];

	begin_record(l, place, scheduled, now, r);
	integrate(l, now);
	l->in_flight++;
	live_add(&l->live.started, 1);
	__atomic_store_n(&l->live.in_flight, l->in_flight, __ATOMIC_RELAXED);
	if (l->phase->conf->engine == LOAD_ENGINE_NULL) {
		r->started = r->first_byte = r->end = clock_ns();
		r->outcome = LOAD_OK;
		loop_ended(l, r);
		return;
	}
	conn_begin(l, i, r, NULL);
}

void loop_ended(struct loop *l, struct load_req *r)
{
	integrate(l, l->now);
	l->in_flight--;
	__atomic_store_n(&l->live.in_flight, l->in_flight, __ATOMIC_RELAXED);
	live_add(&l->live.by_outcome[r->outcome], 1);
	if (r->outcome != LOAD_OK)
		return;
	if (r->first_token != LOAD_NONE)
		hist_add(&l->live.ttft, r->first_token - r->scheduled);
	hist_add(&l->live.e2e, r->end - r->scheduled);
}

static bool stopped(const struct loop *l)
{
	return __atomic_load_n(&l->phase->stop, __ATOMIC_RELAXED) != 0;
}

/* This loop's j-th request among all of them. */
static size_t nth(const struct loop *l, size_t j)
{
	return l->index + j * l->count;
}

static int64_t due_at(const struct loop *l, size_t j)
{
	size_t i = nth(l, j);

	return i < l->phase->plan->n ? l->phase->t0 + l->phase->plan->at[i] : INT64_MAX;
}

static bool has_room(const struct loop *l)
{
	return l->share == 0 || l->in_flight < l->share;
}

static void drop(struct loop *l, uint32_t i, int64_t scheduled, int64_t now)
{
	struct load_req *r = &l->phase->records[i];

	begin_record(l, i, scheduled, now, r);
	r->begun = LOAD_NONE;
	r->end = now;
	r->outcome = LOAD_DROPPED;
	r->detail = "no free place in time";
	live_add(&l->live.by_outcome[LOAD_DROPPED], 1);
}

static void begin_due(struct loop *l)
{
	int64_t now = clock_ns(), at;

	l->now = now;
	while (!stopped(l)) {
		bool waited = l->head < l->due;

		at = due_at(l, l->head);
		if (at > now)
			return;
		while (due_at(l, l->due) <= now) {
			l->due++;
			live_add(&l->live.scheduled, 1);
		}
		if (now - at > l->phase->conf->timeout_ns) {
			drop(l, (uint32_t)nth(l, l->head++), at, now);
			continue;
		}
		if (!has_room(l))
			return;
		/* Only what nothing but us held up says how punctual we are. */
		if (l->share == 0 || !waited)
			hist_add(&l->lag, now - at);
		begin(l, (uint32_t)nth(l, l->head), (uint32_t)nth(l, l->head), at, now);
		l->head++;
		now = l->now = clock_ns();
	}
}

static bool closed_open(struct loop *l)
{
	const struct phase *p = l->phase;

	return (!p->until || l->now < p->until) &&
	       __atomic_load_n(&p->next, __ATOMIC_RELAXED) < p->limit;
}

void loop_follow(struct loop *l, uint32_t req, const struct load_req *rec, struct follow *f)
{
	if (!l->phase->turns) {
		follow_free(f);
		return;
	}
	f = follow_next(l, rec, req, f);
	if (!f)
		return;
	if (l->follow_last)
		l->follow_last->next = f;
	else
		l->follow = f;
	l->follow_last = f;
}

static struct follow *take_follow(struct loop *l)
{
	struct follow *f = l->follow;

	l->follow = f->next;
	if (!l->follow)
		l->follow_last = NULL;
	f->next = NULL;
	return f;
}

static void drop_follows(struct loop *l)
{
	while (l->follow)
		follow_free(take_follow(l));
}

/* A later turn's record: behind all the first ones, or in a closed loop the next. False: the count
 * has ended the run. */
static bool record_of(struct loop *l, const struct follow *f, size_t *ret)
{
	struct phase *p = l->phase;

	*ret = p->closed ? __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED)
			 : f->first + (size_t)f->turn * p->plan->n;
	return *ret < p->limit;
}

/* Later turns have waited for an answer already: they go before new conversations. */
static void begin_follows(struct loop *l)
{
	while (l->follow && has_room(l) && !stopped(l)) {
		struct follow *f = take_follow(l);
		struct load_req *r;
		uint32_t prompt;
		size_t i;

		if (!record_of(l, f, &i)) {
			follow_free(f);
			continue;
		}
		r = &l->phase->records[i];
		prompt = l->phase->records[f->first].prompt;
		l->now = clock_ns();
		begin_record(l, f->first, f->scheduled, l->now, r);
		r->prompt = prompt;
		r->asked = l->phase->wires->v[prompt].asked;
		r->turn = f->turn;
		integrate(l, l->now);
		l->in_flight++;
		live_add(&l->live.started, 1);
		live_add(&l->live.scheduled, 1);
		__atomic_store_n(&l->live.in_flight, l->in_flight, __ATOMIC_RELAXED);
		conn_begin(l, (uint32_t)i, r, f);
	}
}

static void begin_closed(struct loop *l)
{
	l->now = clock_ns();
	if (!closed_open(l))
		drop_follows(l); /* the time is over */
	begin_follows(l);
	while (!stopped(l) && l->now >= l->phase->t0 && l->in_flight < l->share && closed_open(l)) {
		uint64_t i = __atomic_fetch_add(&l->phase->next, 1, __ATOMIC_RELAXED), place;

		if (i >= l->phase->limit)
			return;
		live_add(&l->live.scheduled, 1);
		/* With later turns conversations are fewer than records. */
		place = l->phase->turns ? __atomic_fetch_add(&l->phase->talks, 1, __ATOMIC_RELAXED)
					: i;
		begin(l, (uint32_t)i, (uint32_t)place, l->now, l->now);
		l->now = clock_ns();
	}
}

static void begin_open(struct loop *l)
{
	begin_follows(l);
	begin_due(l);
}

static void begin_some(struct loop *l)
{
	if (l->phase->closed)
		begin_closed(l);
	else
		begin_open(l);
}

static void expire(struct loop *l)
{
	int64_t limit = l->phase->conf->timeout_ns;

	while (l->busy.first && l->now - l->busy.first->answer.req->begun >= limit) {
		struct conn *c = l->busy.first;

		conn_abort(l, c, LOAD_TIMEOUT,
			   c->state == CONN_CONNECTING || c->state == CONN_PROXY ||
					   c->state == CONN_TLS
				   ? "while connecting"
			   : c->state == CONN_SENDING               ? "while sending"
			   : c->answer.req->first_byte == LOAD_NONE ? "before any answer"
			   : c->answer.done ? "after [DONE], the body has no end"
					    : "inside the answer");
	}
}

static bool finished(struct loop *l)
{
	if (l->in_flight || l->follow)
		return false;
	if (l->phase->closed)
		return l->share == 0 || !closed_open(l);
	return nth(l, l->head) >= l->phase->plan->n;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int64_t wake_at(const struct loop *l)
{
	int64_t limit = l->phase->conf->timeout_ns, at = INT64_MAX;

	if (l->phase->closed) {
		at = l->now < l->phase->t0 ? l->phase->t0 : INT64_MAX;
	} else if (has_room(l)) {
		at = due_at(l, l->head);
	} else if (l->head < l->due) {
		at = due_at(l, l->head) + limit; /* then it is dropped */
	}
	if (l->busy.first)
		at = MIN(at, l->busy.first->answer.req->begun + limit);
	return at;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

static int wait_for(struct loop *l, struct epoll_event *ev)
{
	int64_t at = wake_at(l), now;
	struct itimerspec when = { 0 };
	struct timespec left;

	if (l->ready != NO_CONN)
		return epoll_wait(l->epoll_fd, ev, EVENTS_A_WAKE, 0);
	if (at != INT64_MAX && at - l->now > 5 * NS_PER_MS) {
		/* An idle moment: pools grow now rather than when they are needed. */
		blocks_ahead(&l->events, BLOCKS_A_SLAB / 2, /* slowly= */ true);
		blocks_ahead(&l->text, BLOCKS_A_SLAB / 2, /* slowly= */ true);
	}
	now = clock_ns();
	left = timespec_of(at == INT64_MAX ? NS_PER_S : MAX(at - now, INT64_C(0)));
	if (l->timer_fd < 0)
		return epoll_pwait2(l->epoll_fd, ev, EVENTS_A_WAKE, &left, NULL);
	if (at != INT64_MAX && at <= now)
		return epoll_wait(l->epoll_fd, ev, EVENTS_A_WAKE, 0);
	when.it_value = timespec_of(at == INT64_MAX ? now + NS_PER_S : at);
	(void)timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	return epoll_wait(l->epoll_fd, ev, EVENTS_A_WAKE, -1);
}

static void special(struct loop *l, uint64_t tag)
{
	uint64_t n;

	if (tag == TAG_WAKE)
		(void)!read(l->wake_fd, &n, sizeof(n));
	else if (tag == TAG_TIMER)
		(void)!read(l->timer_fd, &n, sizeof(n));
	else if (read(l->clock_fd, &n, sizeof(n)) < 0 && errno == ECANCELED)
		stamps_pair(&l->stamps);
}

static void handle(struct loop *l, const struct epoll_event *ev)
{
	struct conn *c;

	if (ev->data.u64 >= TAG_TIMER) {
		special(l, ev->data.u64);
		return;
	}
	c = conn_at(l, (uint32_t)(ev->data.u64 >> 32));
	if (c->gen == (uint32_t)ev->data.u64 && c->state != CONN_FREE)
		conn_event(l, c, ev->events);
}

/* With many streams each one's memory has left the cache since its last event: it is asked for
 * while the ones before are read. */
static void look_ahead(const struct loop *l, const struct epoll_event *ev, int n, int i)
{
	if (i + 2 < n && ev[i + 2].data.u64 < TAG_TIMER) {
		const char *c = (char *)conn_at(l, (uint32_t)(ev[i + 2].data.u64 >> 32));

		for (size_t at = 0; at < sizeof(struct conn); at += 64)
			__builtin_prefetch(c + at, 1);
	}
	if (i + 1 < n && ev[i + 1].data.u64 < TAG_TIMER) {
		const struct conn *c = conn_at(l, (uint32_t)(ev[i + 1].data.u64 >> 32));
		const char *rec = (char *)c->answer.req;

		for (size_t at = 0; rec && at < sizeof(struct load_req); at += 64)
			__builtin_prefetch(rec + at, 1);
		if (c->answer.ev_last)
			__builtin_prefetch(blocks_at(&l->events, c->answer.ev_last), 1);
		if (c->answer.text_last)
			__builtin_prefetch(blocks_at(&l->text, c->answer.text_last), 1);
	}
}

static void read_ready(struct loop *l)
{
	uint32_t i = l->ready;

	l->ready = l->ready_last = NO_CONN;
	while (i != NO_CONN) {
		struct conn *c = conn_at(l, i);

		i = c->next_ready;
		c->on_ready = false;
		if (c->answer.req && (c->state == CONN_READING || c->state == CONN_SENDING))
			conn_read(l, c);
	}
}

static void one_turn(struct loop *l)
{
	struct epoll_event *ev = l->events_now;
	int64_t next = l->phase->closed ? INT64_MAX : due_at(l, l->head);
	int n = wait_for(l, ev);

	l->wakes++;
	l->now = clock_ns();
	stamps_refresh(&l->stamps, l->now);
	for (int i = 0; i < n; i++) {
		look_ahead(l, ev, n, i);
		handle(l, &ev[i]);
		/* A long turn must not make requests late. */
		if (l->now >= next && has_room(l)) {
			begin_due(l);
			next = due_at(l, l->head);
		}
	}
	read_ready(l);
}

static void cancel_all(struct loop *l)
{
	while (l->busy.first)
		conn_abort(l, l->busy.first, LOAD_CANCELLED, "interrupted");
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Nanoseconds this thread waited for a CPU: second field of schedstat. */
static int64_t run_queue_ns(void)
{
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	struct sv rest, part;
	int64_t n = 0;

	if (file_read("/proc/thread-self/schedstat", 4096, &text, NULL, &err) < 0)
		return -1;
	rest = sv_of(text);
	if (!sv_word(&rest, &part) || !sv_word(&rest, &part) || !sv_to_i64(part, 0, INT64_MAX, &n))
		return -1;
	return n;
}

static int64_t cpu_time_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) < 0)
		return 0;
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

void *loop_thread(void *arg)
{
	struct loop *l = arg;
	uint64_t one = 1;
	int64_t cpu = cpu_time_ns(), runq = run_queue_ns(), begun = clock_ns();

	/* The default slack lets timers be 50 us late. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	/* Little time, but at once: on a busy machine being sent late would be charged to the
	 * server. */
	l->priority = setpriority(PRIO_PROCESS, (id_t)gettid(), -10) == 0;
	stamps_pair(&l->stamps);
	l->now = begun;
	for (;;) {
		if (stopped(l)) {
			cancel_all(l);
			break;
		}
		begin_some(l);
		expire(l);
		if (finished(l))
			break;
		one_turn(l);
	}
	drop_follows(l);
	integrate(l, clock_ns());
	l->wall_ns = clock_ns() - begun;
	l->cpu_ns = cpu_time_ns() - cpu;
	l->runq_ns = runq < 0 ? -1 : run_queue_ns() - runq;
	(void)!write(l->phase->done_fd, &one, sizeof(one));
	return NULL;
}
