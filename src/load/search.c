/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The highest rate that keeps the objectives: doubled until it is lost, then halved in logarithm.
 * A point is a whole run of its own seed, so that all requests of a rate are waited for before the
 * next rate begins, and what a saturated server still owes is charged to the rate that caused it.
 */
#include "load/load.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "stat/stat.h"

#include <math.h>

static const char *const kept_words[] = { "kept", "lost", "unclear", "unmeasured" };
static const char *const end_words[] = { "found", "all_lost", "all_kept", "client_limited",
					 "interrupted" };

const char *load_kept_name(enum load_kept k)
{
	return kept_words[k];
}

const char *load_search_end_name(enum load_search_end e)
{
	return end_words[e];
}

void load_search_init(struct load_search_conf *c)
{
	*c = (struct load_search_conf){
		.from = 1, .to = 1e7, .share = 0.95, .close = 1.1, .most = 24
	};
}

void load_curve_release(struct load_curve *c)
{
	free(c->v);
	*c = (struct load_curve){ 0 };
}

static double metric(const struct measurements *m, const char *name)
{
	const struct measurement *x = measurements_find(m, name);

	return x ? x->value : NAN;
}

static void take(const struct load_result *r, struct load_point *p)
{
	struct measurements m CLEANUP(measurements_release) = { 0 };

	load_metrics(r, &m);
	p->achieved = r->audit.rate_achieved;
	p->throughput = metric(&m, "throughput");
	p->output = metric(&m, "output_tokens_per_s");
	p->errors = metric(&m, "errors");
	p->ttft_p50_ns = metric(&m, "ttft.p50");
	p->ttft_p99_ns = metric(&m, "ttft.p99");
	p->itl_p99_ns = metric(&m, "itl.p99");
	p->tpot_p50_ns = metric(&m, "tpot.p50");
	p->e2e_p99_ns = metric(&m, "e2e.p99");
	p->peak = r->peak;
	for (size_t i = 0; i < r->n; i++) {
		p->n += r->v[i].outcome != LOAD_CANCELLED;
		p->good += r->v[i].outcome != LOAD_CANCELLED && r->v[i].good;
	}
}

/* 95 %, two-sided: over the wanted share for sure, under it for sure, or neither. */
static void judge(double share, struct load_point *p)
{
	p->goodput = p->n ? (double)p->good / p->n : NAN;
	p->low = p->n ? cp_lower(p->good, p->n, 0.975) : 0;
	p->high = p->n ? cp_upper(p->good, p->n, 0.975) : 1;
	p->kept = p->low >= share ? LOAD_KEPT : p->high < share ? LOAD_LOST : LOAD_UNCLEAR;
}

struct searching {
	const struct load_conf *conf;
	const struct load_search_conf *s;
	struct load_curve *curve;
	unsigned runs;
};

static int one_run(struct searching *w, double rate, struct load_point *p, bool *ret_stop,
		   struct err *err)
{
	struct load_conf c = *w->conf;
	struct load_result r CLEANUP(load_result_release) = { 0 };

	c.rate = rate;
	c.seed = w->conf->seed + w->runs;
	if (w->runs++) /* once warm is warm */
		c.warmup_ns = 0, c.warmup_count = 0;
	TRY(load_run(&c, &r, err));
	take(&r, p);
	p->runs++;
	*ret_stop = r.interrupted;
	/* What the client was too slow for says nothing about the server. */
	p->limited = r.audit.client_limited;
	if (p->limited)
		memcpy(p->why, r.audit.reasons, sizeof(p->why));
	return 0;
}

/* One rate: a second run when the first leaves it open; then the share itself decides. */
static int point(struct searching *w, double rate, struct load_point *ret, bool *ret_stop,
		 struct err *err)
{
	struct load_point p = { .rate = rate };

	do {
		TRY(one_run(w, rate, &p, ret_stop, err));
		judge(w->s->share, &p);
	} while (p.kept == LOAD_UNCLEAR && p.runs < 2 && !*ret_stop && !p.limited);
	p.held = p.kept == LOAD_KEPT || (p.kept == LOAD_UNCLEAR && p.goodput >= w->s->share);
	if (p.limited || *ret_stop) {
		p.kept = LOAD_UNMEASURED;
		p.held = false;
	}
	*VEC_ADD(w->curve) = p;
	*ret = p;
	return 0;
}

/* Stops for good? Then *ret_end says why. */
static bool over(const struct load_point *p, bool stop, enum load_search_end *ret_end)
{
	if (!stop && !p->limited)
		return false;
	*ret_end = stop ? LOAD_SEARCH_INTERRUPTED : LOAD_SEARCH_LIMITED;
	return true;
}

static int climb(struct searching *w, double *ret_low, double *ret_high, bool *ret_over,
		 struct err *err)
{
	double rate = w->s->from;
	struct load_point p;
	bool stop;

	while (w->curve->n < w->s->most) {
		TRY(point(w, rate, &p, &stop, err));
		*ret_over = over(&p, stop, &w->curve->end);
		if (*ret_over)
			return 0;
		if (!p.held) {
			*ret_high = rate;
			return 0;
		}
		*ret_low = rate;
		if (rate >= w->s->to)
			return 0;
		rate = fmin(2 * rate, w->s->to);
	}
	return 0;
}

/* Below the first rate, when that was lost already. */
static int descend(struct searching *w, double *ret_low, double *ret_high, bool *ret_over,
		   struct err *err)
{
	struct load_point p;
	bool stop;

	for (int i = 0; i < 4 && w->curve->n < w->s->most; i++) {
		TRY(point(w, *ret_high / 2, &p, &stop, err));
		*ret_over = over(&p, stop, &w->curve->end);
		if (*ret_over)
			return 0;
		if (p.held) {
			*ret_low = p.rate;
			return 0;
		}
		*ret_high = p.rate;
	}
	return 0;
}

static int narrow(struct searching *w, double low, double high, bool *ret_over, struct err *err)
{
	struct load_point p;
	bool stop;

	while (high / low > w->s->close && w->curve->n < w->s->most) {
		TRY(point(w, sqrt(low * high), &p, &stop, err));
		*ret_over = over(&p, stop, &w->curve->end);
		if (*ret_over)
			return 0;
		if (p.held)
			low = p.rate;
		else
			high = p.rate;
	}
	return 0;
}

static int by_rate(const void *a, const void *b)
{
	const struct load_point *x = a, *y = b;

	return (x->rate > y->rate) - (x->rate < y->rate);
}

/* The highest rate that held, below the lowest that did not. */
static void conclude(struct load_curve *c)
{
	c->highest = c->lost_at = NAN;
	qsort(c->v, c->n, sizeof(*c->v), by_rate);
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].held) {
			c->highest = c->v[i].rate;
		} else if (c->v[i].kept != LOAD_UNMEASURED) {
			c->lost_at = c->v[i].rate;
			return;
		}
	}
}

int load_search_check(const struct load_conf *c, const struct load_search_conf *s, struct err *err)
{
	if (c->arrival == LOAD_CLOSED || c->arrival == LOAD_TRACE || c->arrival == LOAD_STAGES ||
	    c->arrival == LOAD_RAMP)
		return bail(err, ERR_RANGE, "a search needs poisson, constant or gamma arrivals");
	if (c->n_objectives == 0)
		return bail(err, ERR_RANGE, "a search needs an objective to keep");
	if (!(s->from > 0) || !(s->to >= s->from) || !(s->to <= 1e7))
		return bail(err, ERR_RANGE, "the search goes from %g/s to %g/s", s->from, s->to);
	if (!(s->share > 0 && s->share < 1) || !(s->close > 1) || s->most == 0)
		return bail(err, ERR_RANGE,
			    "the share to keep must be between 0 and 1, and how "
			    "close to come over 1");
	return 0;
}

int load_search(const struct load_conf *c, const struct load_search_conf *s, struct load_curve *ret,
		struct err *err)
{
	struct load_curve curve CLEANUP(load_curve_release) = { .share = s->share };
	struct searching w = { .conf = c, .s = s, .curve = &curve };
	double low = NAN, high = NAN;
	bool stopped = false;

	TRY(load_search_check(c, s, err));
	TRY(climb(&w, &low, &high, &stopped, err));
	if (!stopped && isnan(low))
		TRY(descend(&w, &low, &high, &stopped, err));
	if (!stopped && !isnan(low) && !isnan(high))
		TRY(narrow(&w, low, high, &stopped, err));
	if (!stopped)
		curve.end = isnan(low)    ? LOAD_SEARCH_ALL_LOST
			    : isnan(high) ? LOAD_SEARCH_ALL_KEPT
					  : LOAD_SEARCH_FOUND;
	conclude(&curve);
	*ret = curve;
	curve = (struct load_curve){ 0 };
	return 0;
}

/* ---- as a value and as text ------------------------------------------------------------------ */

static void put_scaled(json_t *o, const char *key, double v, double scale)
{
	if (isfinite(v) && fabs(v * scale) < 9e15)
		json_put_int(o, key, llround(v * scale));
}

static json_t *point_json(const struct load_point *p)
{
	json_t *o = json_object();

	put_scaled(o, "rate_e6", p->rate, 1e6);
	put_scaled(o, "rate_achieved_e6", p->achieved, 1e6);
	json_put_str(o, "objectives", load_kept_name(p->kept));
	json_put_bool(o, "held", p->held);
	json_put_int(o, "requests", p->n);
	json_put_int(o, "good", p->good);
	json_put_int(o, "runs", p->runs);
	json_put_int(o, "peak_concurrency", p->peak);
	put_scaled(o, "goodput_e9", p->goodput, 1e9);
	put_scaled(o, "goodput_low_e9", p->low, 1e9);
	put_scaled(o, "goodput_high_e9", p->high, 1e9);
	put_scaled(o, "errors_e9", p->errors, 1e9);
	put_scaled(o, "throughput_e6", p->throughput, 1e6);
	put_scaled(o, "output_tokens_per_s_e6", p->output, 1e6);
	put_scaled(o, "ttft_p50_ns", p->ttft_p50_ns, 1);
	put_scaled(o, "ttft_p99_ns", p->ttft_p99_ns, 1);
	put_scaled(o, "itl_p99_ns", p->itl_p99_ns, 1);
	put_scaled(o, "tpot_p50_ns", p->tpot_p50_ns, 1);
	put_scaled(o, "e2e_p99_ns", p->e2e_p99_ns, 1);
	if (p->limited)
		json_put_str(o, "client_limited", p->why);
	return o;
}

json_t *load_curve_to_json(const struct load_curve *c)
{
	json_t *o = json_object(), *list = json_array();

	json_put_str(o, "end", load_search_end_name(c->end));
	put_scaled(o, "share_e9", c->share, 1e9);
	put_scaled(o, "highest_rate_e6", c->highest, 1e6);
	put_scaled(o, "lost_at_e6", c->lost_at, 1e6);
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(list, point_json(&c->v[i]));
	json_put(o, "points", list);
	return o;
}

static void add_time(struct str *s, const json_t *p, const char *key)
{
	const json_t *v = json_object_get(p, key);
	AUTO_FREE char *text = NULL;

	if (json_is_integer(v))
		text = quantity_text((double)json_integer_value(v), UNIT_NS);
	str_addf(s, " %9s", text ? text : "-");
}

static void add_point(struct str *s, const json_t *p)
{
	double goodput = (double)json_int_or(p, "goodput_e9", 0) / 1e9;
	int bar = (int)lround(20 * goodput);

	str_addf(s, "%10.4g %10.4g %7lld %6.1f %% %-20.*s %-10s",
		 (double)json_int_or(p, "rate_e6", 0) / 1e6,
		 (double)json_int_or(p, "throughput_e6", 0) / 1e6,
		 (long long)json_int_or(p, "requests", 0), 100 * goodput, MIN(MAX(bar, 0), 20),
		 "####################", json_str_or(p, "objectives", "?"));
	add_time(s, p, "ttft_p50_ns");
	add_time(s, p, "ttft_p99_ns");
	add_time(s, p, "itl_p99_ns");
	add_time(s, p, "e2e_p99_ns");
	str_addc(s, '\n');
}

void load_curve_text(const json_t *v, struct str *out)
{
	const json_t *points = json_object_get(v, "points"), *p;
	const char *end = json_str_or(v, "end", "?");
	double share = (double)json_int_or(v, "share_e9", 0) / 1e7;
	double lost = (double)json_int_or(v, "lost_at_e6", 0) / 1e6;
	size_t i;

	str_addf(out, "%10s %10s %7s %8s %-20s %-10s %9s %9s %9s %9s\n", "rate/s", "done/s", "sent",
		 "good", "", "", "ttft p50", "ttft p99", "itl p99", "e2e p99");
	json_array_foreach(points, i, p) add_point(out, p);
	if (json_object_get(v, "highest_rate_e6"))
		str_addf(out,
			 "highest rate at which %.4g %% of requests keep every objective: "
			 "%.4g/s",
			 share, (double)json_int_or(v, "highest_rate_e6", 0) / 1e6);
	else
		str_addf(out, "no rate tried kept the objectives for %.4g %% of requests", share);
	if (lost > 0)
		str_addf(out, ", lost at %.4g/s", lost);
	if (streq(end, "all_kept"))
		str_add(out, "; it was not lost anywhere");
	if (streq(end, "client_limited"))
		str_add(out, "; beyond, this client was the limit");
	if (streq(end, "interrupted"))
		str_add(out, "; INTERRUPTED");
	str_addc(out, '\n');
}
