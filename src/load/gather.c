/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gather.h"

#include "base/err.h"

#include <math.h>

/* ---- collecting ------------------------------------------------------------------------------ */

static void shift(int64_t *t, int64_t t0)
{
	if (*t != LOAD_NONE)
		*t -= t0;
}

static void shift_all(struct load_req *r, int64_t t0)
{
	int64_t *const times[] = { &r->scheduled,     &r->begun,      &r->connected,
				   &r->started,       &r->first_byte, &r->first_token,
				   &r->first_visible, &r->last_token, &r->end };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		shift(times[i], t0);
}

static void copy_events(const struct loop *l, struct load_req *r, struct load_result *ret)
{
	uint32_t block = r->events_at, left = r->n_events;

	r->events_at = (uint32_t)ret->n_events;
	while (block && left) {
		const struct ev_block *b = blocks_at(&l->events, block);

		for (uint32_t i = 0; i < b->n && left; i++, left--) {
			ret->events[ret->n_events++] = (struct load_event){
				.at = r->begun + (int64_t)(b->v[i] >> 20),
				.tokens = (uint32_t)(b->v[i] >> 4) & EV_TOKENS_LIMIT,
				.flags = (uint32_t)b->v[i] & 15,
			};
		}
		block = b->next;
	}
	r->n_events = (uint32_t)ret->n_events - r->events_at;
}

static void copy_text(const struct loop *l, struct load_req *r, struct load_result *ret)
{
	uint32_t block = r->answer_at;

	r->answer_at = (uint32_t)ret->n_text;
	while (block) {
		const struct text_block *b = blocks_at(&l->text, block);

		memcpy(ret->text + ret->n_text, b->p, b->n);
		ret->n_text += b->n;
		block = b->next;
	}
	r->answer_n = (uint32_t)ret->n_text - r->answer_at;
}

static size_t begun_records(const struct loop *loops, unsigned n_loops, const struct phase *p,
			    struct load_req *to)
{
	size_t n = 0;

	if (p->closed) {
		size_t all = MIN((size_t)p->next, p->limit);

		for (size_t i = 0; i < all; i++)
			to[n++] = p->records[i];
		return n;
	}
	for (size_t i = 0; i < p->plan->n; i++)
		if (i / n_loops < loops[i % n_loops].head)
			to[n++] = p->records[i];
	/* Of later turns those that were begun: the others are still as they were mapped. */
	for (size_t i = p->plan->n; i < p->plan->n * p->turns; i++)
		if (p->records[i].detail)
			to[n++] = p->records[i];
	return n;
}

static int by_schedule(const void *a, const void *b)
{
	const struct load_req *x = a, *y = b;

	return (x->scheduled > y->scheduled) - (x->scheduled < y->scheduled);
}

void gather(struct loop *loops, unsigned n_loops, const struct phase *p, struct load_result *ret)
{
	size_t most = p->closed ? MIN((size_t)p->next, p->limit) : p->plan->n * MAX(p->turns, 1U);
	size_t n_events = 0, n_text = 0;

	ret->v = xcalloc(MAX(most, (size_t)1), sizeof(*ret->v));
	ret->n = begun_records(loops, n_loops, p, ret->v);
	/* With several loops a closed one's records are taken in turn, not quite in order. */
	if (p->closed || p->turns)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_schedule);
	for (size_t i = 0; i < ret->n; i++) {
		n_events += ret->v[i].n_events;
		n_text += ret->v[i].answer_n;
	}
	ret->events = xcalloc(MAX(n_events, (size_t)1), sizeof(*ret->events));
	ret->text = xcalloc(n_text + 1, 1);
	for (size_t i = 0; i < ret->n; i++) {
		struct load_req *r = &ret->v[i];
		const struct loop *l = &loops[r->differs_at];

		r->differs_at = 0;
		shift_all(r, p->t0);
		copy_events(l, r, ret);
		copy_text(l, r, ret);
	}
	ret->t0 = p->t0;
}

/* ---- golden answers -------------------------------------------------------------------------- */

static uint32_t code_points(const char *p, size_t n)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)p[i] & 0xc0) != 0x80;
	return count;
}

bool golden_same(struct sv got, struct sv want, uint32_t *ret_at)
{
	size_t n = MIN(got.n, want.n), i = 0;

	if (sv_eq(got, want))
		return true;
	while (i < n && got.p[i] == want.p[i])
		i++;
	/* Back to the first byte of the character that differs. */
	while (i > 0 && i < MAX(got.n, want.n) &&
	       ((unsigned char)(i < want.n ? want.p[i] : got.p[i]) & 0xc0) == 0x80)
		i--;
	*ret_at = code_points(want.p, MIN(i, want.n));
	return false;
}

static int golden_by_id(const void *a, const void *b)
{
	const struct load_golden_answer *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

const char **golden_wanted(const struct load_conf *c)
{
	const struct load_golden *g = c->golden;
	size_t n = c->prompts ? c->prompts->n : 0, n_golden = g ? g->n : 0;
	const char **wants = xcalloc(n + 1, sizeof(*wants));
	AUTO_FREE const struct load_golden_answer **sorted = xcalloc(n_golden + 1, sizeof(*sorted));

	for (size_t i = 0; i < n_golden; i++)
		sorted[i] = &g->v[i];
	qsort(sorted, n_golden, sizeof(*sorted), golden_by_id);
	for (size_t i = 0; i < n; i++) {
		struct load_golden_answer key = { .id = c->prompts->v[i].id };
		const struct load_golden_answer *at = &key, *const * hit;

		hit = bsearch(&at, sorted, n_golden, sizeof(*sorted), golden_by_id);
		wants[i] = hit ? (*hit)->answer : c->prompts->v[i].golden;
	}
	return wants;
}

static void compare(const struct load_result *res, struct load_req *r, const char *want)
{
	struct sv got = { res->text + r->answer_at, r->answer_n };
	uint32_t at = 0, event = r->differs_event;

	r->match = LOAD_MATCH_NONE;
	r->differs_event = 0;
	if (!want || r->turn || r->outcome == LOAD_CANCELLED)
		return;
	if (r->outcome != LOAD_OK || r->answer_cut) {
		r->match = LOAD_MATCH_MISSING;
		return;
	}
	if (golden_same(got, sv_of(want), &at)) {
		r->match = LOAD_MATCH_SAME;
		return;
	}
	r->match = golden_near(got, sv_of(want), res->golden_tolerance) ? LOAD_MATCH_NEAR
									: LOAD_MATCH_DIFFERENT;
	r->differs_at = at;
	/* All of it as wanted, and then it ended. */
	r->differs_event = event == UINT32_MAX ? r->n_events : event;
}

/* ---- peak concurrency ------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	if (x[0] != y[0])
		return (x[0] > y[0]) - (x[0] < y[0]);
	return (x[1] > y[1]) - (x[1] < y[1]); /* an end before a begin at the same moment */
}

unsigned requests_peak(const struct load_result *r)
{
	AUTO_FREE int64_t(*edges)[2] = xcalloc(2 * r->n + 1, sizeof(*edges));
	size_t n = 0;
	int64_t now = 0, most = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].begun == LOAD_NONE || r->v[i].end == LOAD_NONE)
			continue;
		edges[n][0] = r->v[i].begun;
		edges[n++][1] = 1;
		edges[n][0] = r->v[i].end;
		edges[n++][1] = -1;
	}
	qsort(edges, n, sizeof(*edges), by_time);
	for (size_t i = 0; i < n; i++) {
		now += edges[i][1];
		most = MAX(most, now);
	}
	return (unsigned)most;
}

void settle(struct load_result *r, const struct load_conf *c)
{
	AUTO_FREE const char **wants = golden_wanted(c);

	for (size_t i = 0; i < r->n; i++) {
		answer_settle(&r->v[i], r->events, r);
		if (c->prompts)
			compare(r, &r->v[i], wants[r->v[i].prompt]);
		else
			r->v[i].differs_event = 0;
	}
	r->peak = requests_peak(r);
}

/* ---- audit ----------------------------------------------------------------------------------- */

static double mean_in_system(const struct load_result *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].begun != LOAD_NONE && r->v[i].end != LOAD_NONE)
			sum += (double)(r->v[i].end - r->v[i].begun);
	return sum;
}

static void offered(const struct phase *p, struct load_result *ret)
{
	struct load_audit *a = &ret->audit;
	size_t begun = 0, due = 0;
	int64_t last = 0, last_due = 0;

	for (size_t i = 0; i < ret->n; i++) {
		const struct load_req *r = &ret->v[i];

		if (r->turn)
			continue; /* its time came from the server */
		due++;
		last_due = MAX(last_due, r->scheduled);
		if (r->begun == LOAD_NONE)
			continue;
		begun++;
		last = MAX(last, r->begun);
	}
	a->rate_asked = p->closed || last_due <= 0 ? NAN : (double)due / ((double)last_due / 1e9);
	a->rate_achieved = last <= 0 ? NAN : (double)begun / ((double)last / 1e9);
}

void audit(const struct loop *loops, unsigned n_loops, const struct phase *p,
	   struct load_result *ret)
{
	struct load_audit *a = &ret->audit;
	AUTO_FREE struct load_hist *stamp = xcalloc(1, sizeof(*stamp));
	AUTO_FREE struct load_hist *lag = xcalloc(1, sizeof(*lag));
	double integral = 0;

	for (unsigned i = 0; i < n_loops; i++) {
		const struct loop *l = &loops[i];

		hist_merge(stamp, &l->stamp_lag);
		hist_merge(lag, &l->lag);
		integral += l->integral;
		a->wall_ns = MAX(a->wall_ns, l->wall_ns);
		a->cpu_ns += l->cpu_ns;
		a->runq_ns = l->runq_ns < 0 || a->runq_ns < 0 ? -1 : a->runq_ns + l->runq_ns;
		a->cpu_share =
			MAX(a->cpu_share, (double)l->cpu_ns / (double)MAX(l->wall_ns, INT64_C(1)));
		a->events += l->ctx.n_events;
		a->merged += l->ctx.n_merged;
		a->late += l->ctx.n_late;
		a->unstamped += l->ctx.n_unstamped;
		a->reads += l->reads;
		a->wakes += l->wakes;
		a->clock_steps = MAX(a->clock_steps, l->stamps.steps);
		a->allocations += l->bufs.grown + l->events.grown + l->text.grown;
		a->out_of_sockets |= l->out_of_sockets;
		a->priority = l->priority;
	}
	a->stamp_lag_p50_ns = hist_quantile(stamp, 0.5);
	a->stamp_lag_p99_ns = hist_quantile(stamp, 0.99);
	a->stamp_lag_max_ns = hist_max(stamp);
	a->lag_p50_ns = hist_quantile(lag, 0.5);
	a->lag_p99_ns = hist_quantile(lag, 0.99);
	a->lag_max_ns = hist_max(lag);
	a->in_flight_mean = integral / (double)MAX(a->wall_ns, INT64_C(1));
	a->little = mean_in_system(ret) / (double)MAX(a->wall_ns, INT64_C(1));
	offered(p, ret);
	audit_judge(ret);
}
