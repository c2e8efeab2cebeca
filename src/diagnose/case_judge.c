/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict of a recorded comparison. Each limit is judged by itself from the samples: margins by
 * the sequential rank test of room verdict, scores over items as proportions (paired ones
 * by Tango),
 * counts and equalities exactly. Any failure rejects; what was not measured can't accept.
 */
#include "diagnose/case.h"

#include "stat/stat.h"
#include <ctype.h>
#include <math.h>

void reason_add(struct verdict_reasons *l, const char *code, const char *about, const char *fmt,
		...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	*VEC_ADD(l) = (struct verdict_reason){ xstrdup(code), xstrdup(about), str_steal(&s) };
}

PRINTF(3, 4)
static void result(struct limit_read *l, enum limit_result r, const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	free(l->text);
	l->text = str_steal(&s);
	l->result = r;
}

double ev_median(const struct ev *e)
{
	return e && e->kind == EV_VALUES && e->n ? median(e->v, e->n) : NAN;
}

/* As recorded, else by its unit and its name. */
enum direction ev_direction(const struct ev *e)
{
	AUTO_FREE char *w = part_words(e->name);

	if (e->has_dir)
		return e->dir;
	if (e->unit && (streq(e->unit, "ms") || streq(e->unit, "s") || streq(e->unit, "us") ||
			streq(e->unit, "ns")))
		return LOWER_IS_BETTER;
	return part_has(w,
			"_ms_|_latency|_time_|_temp|_loss|_error|_fail|_bad|_ecc|_throttl|_stall|"
			"_wait|_used|_ttft|_tpot|_itl|_junction|_weight|_retries|_dropped")
		       ? LOWER_IS_BETTER
		       : HIGHER_IS_BETTER;
}

static double worse_value(double v, enum direction d, bool abs_scale)
{
	double w = abs_scale ? v : log(v);

	return d == LOWER_IS_BETTER ? w : -w;
}

double ev_worse(const struct ev *a, const struct ev *b, bool abs_scale)
{
	double x = ev_median(a), y = ev_median(b);
	enum direction d;

	if (!a || !b || isnan(x) || isnan(y) || (!abs_scale && (x <= 0 || y <= 0)))
		return NAN;
	d = ev_direction(a->has_dir ? a : b);
	return worse_value(y, d, abs_scale) - worse_value(x, d, abs_scale);
}

/* ---- finding the evidence of a limit ---- */

static bool is_stop_word(struct sv w)
{
	static const char *const words[] = { "not", "worse", "than", "accepted", "all",
					     "the", "and",   "with", "must",     "pass",
					     "per", "run",   "from" };

	if (w.n < 3)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (sv_is(w, words[i]))
			return true;
	return false;
}

static unsigned shared_words(const char *limit, const char *name)
{
	AUTO_FREE char *l = part_words(limit), *n = part_words(name);
	struct sv rest = sv_of(l), w;
	unsigned shared = 0;

	while (sv_split(&rest, '_', &w)) {
		AUTO_FREE char *one = sv_dup(w);

		if (!is_stop_word(w) && strstr(n, one))
			shared++;
	}
	return shared;
}

static const char *evidence_name(const struct comparison *c, const struct limit_read *l)
{
	AUTO_FREE char *words = xasprintf("%s %s", l->name, l->rule);
	const char *best = NULL;
	unsigned most = 0;

	if (evs_find(&c->b.evs, l->name) || evs_find(&c->a.evs, l->name))
		return l->name;
	for (size_t i = 0; i < c->b.evs.n; i++) {
		const char *name = c->b.evs.v[i].name;
		unsigned k = shared_words(words, name);

		if (k > most || (k && k == most && best && strlen(name) < strlen(best))) {
			most = k;
			best = name;
		}
	}
	return best;
}

/* ---- rules in words ---- */

static bool has(const char *text, const char *like)
{
	AUTO_FREE char *w = part_words(text);

	return part_has(w, like);
}

/* The first number of a rule; false: there is none. */
static bool number_in(const char *text, double *ret, bool *ret_percent)
{
	const char *p = text;

	while (*p && !isdigit((unsigned char)*p))
		p++;
	if (!*p)
		return false;
	*ret = strtod(p, NULL);
	while (isdigit((unsigned char)*p) || *p == '.')
		p++;
	while (*p == ' ')
		p++;
	*ret_percent = *p == '%';
	return true;
}

enum rule_kind {
	RULE_MARGIN,
	RULE_WITHIN,
	RULE_EQUAL,
	RULE_AT_LEAST,
	RULE_AT_MOST,
	RULE_NONE_BAD,
	RULE_IS,
	RULE_UNKNOWN
};

static enum rule_kind rule_kind(const char *rule, double *ret, bool *ret_percent)
{
	bool number = number_in(rule, ret, ret_percent);
	struct sv t = sv_trim(sv_of(rule));
	double x;

	if (has(rule, "_not_worse|_not_lower|_not_higher|_not_slower|_no_worse|_not_less|_not_more|"
		      "_non_inferior"))
		return RULE_MARGIN;
	if (number && has(rule, "_within_") && !has(rule, "_finish|_done_within"))
		return RULE_WITHIN;
	if (number && (strstr(rule, "<") || has(rule, "_at_most_|_below_|_under_|_within_|_no_more|"
						      "_less_than|_maximum|_up_to_")))
		return RULE_AT_MOST;
	if (number && (strstr(rule, ">") || has(rule, "_at_least_|_above_|_over_|_or_more|_minimum|"
						      "_more_than")))
		return RULE_AT_LEAST;
	if (has(rule, "_equal|_same_|_identical|_unchanged|_match"))
		return RULE_EQUAL;
	if (sv_to_f64(t, &x)) {
		*ret = x;
		return RULE_IS;
	}
	if (has(rule, "_all_|_pass|_no_|_none_|_never_|_zero_|_every_|_succeed|_without_"))
		return RULE_NONE_BAD;
	return RULE_UNKNOWN;
}

/* ---- each kind of judgement ---- */

/* Two scores over items, not paired: Newcombe's interval of the difference from Wilson's. */
static void judge_scores(struct limit_read *l, const struct ev *a, const struct ev *b, unsigned na,
			 unsigned nb)
{
	double p = mean(a->v, a->n), q = mean(b->v, b->n), d, lo_p, hi_p, lo_q, hi_q, lower, upper;
	unsigned n1 = na * (unsigned)a->n, n2 = nb * (unsigned)b->n;
	bool percent = p > 1 || q > 1;

	if (percent) {
		p /= 100;
		q /= 100;
	}
	if (!(p >= 0 && p <= 1 && q >= 0 && q <= 1)) {
		result(l, LIMIT_NONE, "%s is no share of items", l->name);
		return;
	}
	if (ev_direction(a) == LOWER_IS_BETTER) {
		p = 1 - p;
		q = 1 - q;
	}
	wilson((unsigned)lround(p * n1), n1, 0.98, &lo_p, &hi_p);
	wilson((unsigned)lround(q * n2), n2, 0.98, &lo_q, &hi_q);
	d = q - p;
	lower = d - sqrt((q - lo_q) * (q - lo_q) + (hi_p - p) * (hi_p - p));
	upper = d + sqrt((hi_q - q) * (hi_q - q) + (p - lo_p) * (p - lo_p));
	l->shift = -d;
	if (upper < -l->margin)
		result(l, LIMIT_FAIL,
		       "%s fell from %.4g to %.4g over %u and %u items: at least %.1f points (99 "
		       "%%), "
		       "outside noise",
		       l->name, p, q, n1, n2, -100 * upper);
	else if (lower > -l->margin)
		result(l, LIMIT_PASS,
		       "%s went from %.4g to %.4g: at most %.1f points lower (99 %%), inside the "
		       "margin of %.3g",
		       l->name, p, q, -100 * lower, l->margin);
	else
		result(l, LIMIT_OPEN,
		       "%s went from %.4g to %.4g: one score over %u items has a standard error of "
		       "%.3f, the difference one of %.3f, so %.3f is inside noise; paired by item, "
		       "about %.0f items would decide",
		       l->name, p, q, n2, sqrt(q * (1 - q) / n2),
		       sqrt(p * (1 - p) / n1 + q * (1 - q) / n2), fabs(d),
		       items_needed(0.06, l->margin, 0.01, 0.05));
}

void judge_pairs(struct limit_read *l, const struct ev *pairs, unsigned items)
{
	double z99 = norm_quantile(0.99), z, lower;
	unsigned lost = (unsigned)pairs->v[0], won = (unsigned)pairs->v[1];

	if (!items || pairs->n != 2 || pairs->v[0] < 0 || pairs->v[1] < 0 || lost + won > items) {
		result(l, LIMIT_NONE, "%s: pairs that do not fit %u items", l->name, items);
		return;
	}
	z = tango_z(items, lost, won, l->margin);
	lower = tango_lower(items, lost, won, 0.99);
	l->shift = ((double)lost - won) / items;
	if (z > z99)
		result(l, LIMIT_PASS,
		       "%s: paired over %u items, %u only the accepted run had right, %u only the "
		       "candidate: at most %.2f points lower (99 %%), inside the margin of %.3g",
		       l->name, items, lost, won, -100 * lower, l->margin);
	else if (z < -z99)
		result(l, LIMIT_FAIL, "%s: paired over %u items, %u lost and %u won", l->name,
		       items, lost, won);
	else
		result(l, LIMIT_OPEN,
		       "%s: paired over %u items, it may be %.2f points lower (99 %%); about %.0f "
		       "items would decide",
		       l->name, items, -100 * lower,
		       items_needed((double)MAX(lost + won, 1u) / items, l->margin, 0.01, 0.05));
}

/* Fewer than a bank: only what no plausible noise makes can reject, and nothing can accept. */
static void judge_few(struct limit_read *l, const struct ev *a, const struct ev *b)
{
	enum direction d = ev_direction(a->has_dir ? a : b);
	double most = -INFINITY, least = INFINITY, sd = l->abs_scale ? 0.03 : 0.05, half;
	AUTO_FREE double *x = xcalloc(a->n + 1, sizeof(*x));
	AUTO_FREE double *y = xcalloc(b->n + 1, sizeof(*y));

	for (size_t i = 0; i < a->n; i++) {
		x[i] = worse_value(a->v[i], d, l->abs_scale);
		most = fmax(most, x[i]);
	}
	for (size_t i = 0; i < b->n; i++) {
		y[i] = worse_value(b->v[i], d, l->abs_scale);
		least = fmin(least, y[i]);
	}
	l->shift = median(y, b->n) - median(x, a->n);
	sd = fmax(sd, fmax(a->n > 1 ? stdev(x, a->n) : 0, b->n > 1 ? stdev(y, b->n) : 0));
	half = 4.5 * sd * sqrt(1. / (double)a->n + 1. / (double)b->n);
	{
		AUTO_FREE char *by = verdict_percent(l->shift, l->abs_scale);
		double delta = l->abs_scale ? l->margin : log1p(l->margin);

		if (least - most > delta && l->shift - half > delta)
			result(l, LIMIT_FAIL,
			       "%s is %s worse (%zu against %zu): further than noise of %.0f %% "
			       "carries",
			       l->name, by, b->n, a->n, 100 * sd);
		else
			result(l, LIMIT_OPEN,
			       "%s: %s worse by %zu against %zu repetitions, too few to tell; "
			       "accept "
			       "with 5 or more, better 10",
			       l->name, by, b->n, a->n);
	}
}

static void judge_ranks(struct limit_read *l, const struct ev *a, const struct ev *b,
			unsigned gates)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	size_t n = b->n + b->failed;
	AUTO_FREE double *cand = xcalloc(n + 1, sizeof(*cand));
	AUTO_FREE struct verdict_rep *reps = xcalloc(n + 1, sizeof(*reps));
	struct verdict_metric m = { .name = l->name,
				    .dir = ev_direction(a->has_dir ? a : b),
				    .abs_scale = l->abs_scale,
				    .gate = true,
				    .margin = l->margin,
				    .limit = NAN,
				    .bank = a->v,
				    .cand = cand };
	struct verdict_in in = { .metrics = &m, .n_metrics = 1, .reps = reps, .n_reps = n };

	verdict_defaults(&in);
	in.has_bank = true;
	in.n_bank = a->n;
	in.alpha_reject /= gates;
	in.ended = true;
	for (size_t i = 0; i < n; i++) {
		cand[i] = i < b->n ? b->v[i] : NAN;
		reps[i].state = i < b->n ? REP_OK : REP_FAILED;
	}
	verdict_decide(&in, &v);
	l->shift = ev_worse(a, b, l->abs_scale);
	{
		const struct verdict_number *x = v.numbers.n ? &v.numbers.v[0] : NULL;
		AUTO_FREE char *by = verdict_percent(x ? x->shift : NAN, l->abs_scale);
		AUTO_FREE char *lo = verdict_percent(x ? x->lo : NAN, l->abs_scale);
		AUTO_FREE char *hi = verdict_percent(x ? x->hi : NAN, l->abs_scale);
		AUTO_FREE char *margin =
			verdict_percent(l->abs_scale ? l->margin : log1p(l->margin), l->abs_scale);
		bool good = v.kind == VERDICT_ACCEPTED || v.kind == VERDICT_ACCEPTED_NOTE;
		bool bad = v.kind == VERDICT_REJECTED;

		result(l,
		       good  ? LIMIT_PASS
		       : bad ? LIMIT_FAIL
			     : LIMIT_OPEN,
		       "%s: worse by %s [%s, %s], margin %s, %zu against %zu repetitions%s%s",
		       l->name, by, lo, hi, margin, n, a->n,
		       good || bad || !v.reasons.n ? "" : ": ",
		       good || bad || !v.reasons.n ? "" : v.reasons.v[0].text);
	}
}

static bool all_positive(const struct ev *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (!(e->v[i] > 0))
			return false;
	return true;
}

static void judge_margin(const struct comparison *c, struct limit_read *l, const struct ev *a,
			 const struct ev *b)
{
	unsigned na = a->items ? a->items : c->a.items, nb = b->items ? b->items : c->b.items;

	l->across = true;
	if (b->failed >= 2) {
		result(l, LIMIT_FAIL, "%s: %zu of %zu repetitions failed", l->name, b->failed,
		       b->n + b->failed);
		return;
	}
	if (!b->n || !a->n) {
		result(l, LIMIT_NONE, "%s was not measured in %s", l->name,
		       b->n ? "the accepted run" : "the candidate");
		return;
	}
	if (l->abs_scale && na && nb) {
		judge_scores(l, a, b, na, nb);
		return;
	}
	if (!l->abs_scale && (!all_positive(a) || !all_positive(b))) {
		/* Zero has no ratio: from zero to something, or to zero, is no small step. */
		double x = ev_median(a), y = ev_median(b);
		bool up = y > x, bad = up == (ev_direction(a) == LOWER_IS_BETTER);

		result(l,
		       x == y ? LIMIT_PASS
		       : bad  ? LIMIT_FAIL
			      : LIMIT_OPEN,
		       "%s went from %.6g to %.6g", l->name, x, y);
		return;
	}
	if (a->n >= VERDICT_MIN_BANK && b->n >= 3)
		judge_ranks(l, a, b, (unsigned)MAX(c->limits.n, (size_t)1));
	else
		judge_few(l, a, b);
}

static void judge_within(struct limit_read *l, const struct ev *a, const struct ev *b, double limit,
			 bool percent)
{
	double worst = 0;

	if (!a || !a->n || !b->n) {
		result(l, LIMIT_NONE, "%s was not measured on both sides", l->name);
		return;
	}
	/* The same step against the same step where both have as many; else the medians. */
	if (a->n == b->n && !b->failed)
		for (size_t i = 0; i < a->n; i++)
			worst = fmax(worst,
				     fabs(b->v[i] - a->v[i]) / (percent ? fabs(a->v[i]) / 100 : 1));
	else
		worst = fabs(ev_median(b) - ev_median(a)) /
			(percent ? fabs(ev_median(a)) / 100 : 1);
	l->shift = ev_median(b) - ev_median(a);
	result(l, worst <= limit && !b->failed ? LIMIT_PASS : LIMIT_FAIL,
	       "%s: %.6g instead of %.6g, up to %.3g%s apart; allowed %.3g", l->name, ev_median(b),
	       ev_median(a), worst, percent ? " %" : "", limit);
}

static void judge_equal(struct limit_read *l, const struct ev *a, const struct ev *b)
{
	if (a && a->kind == EV_TEXT && b->kind == EV_TEXT) {
		result(l, streq(a->text, b->text) ? LIMIT_PASS : LIMIT_FAIL,
		       "%s: '%.60s', accepted '%.60s'", l->name, b->text, a->text);
		return;
	}
	if (!a || !a->n || a->kind != EV_VALUES || b->kind != EV_VALUES || (!b->n && !b->failed)) {
		result(l, LIMIT_NONE, "%s was not measured on both sides", l->name);
		return;
	}
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i] != a->v[0]) {
			l->shift = b->v[i] - a->v[0];
			result(l, LIMIT_FAIL, "%s is %.9g instead of %.9g", l->name, b->v[i],
			       a->v[0]);
			return;
		}
	result(l, b->failed ? LIMIT_FAIL : LIMIT_PASS, "%s is %.9g%s", l->name, a->v[0],
	       b->failed ? ", and some repetitions failed" : ", as accepted");
}

static void judge_threshold(struct limit_read *l, const struct ev *b, double limit, bool at_least)
{
	size_t over = 0;

	if (b->kind == EV_COUNT) {
		double share = (double)(b->tries - b->bad) / b->tries;

		result(l, (at_least ? share >= limit : b->bad <= limit) ? LIMIT_PASS : LIMIT_FAIL,
		       "%s: %u of %u failed", l->name, b->bad, b->tries);
		return;
	}
	if (!b->n && !b->failed) {
		result(l, LIMIT_NONE, "%s was not measured", l->name);
		return;
	}
	for (size_t i = 0; i < b->n; i++)
		over += at_least ? b->v[i] < limit : b->v[i] > limit;
	over += b->failed;
	/* One start of many may be odd; the share that misses is what counts. */
	result(l,
	       !over ? LIMIT_PASS
	       : b->n + b->failed < 3 ||
			       cp_lower((unsigned)over, (unsigned)(b->n + b->failed), 0.95) > 0.1
		       ? LIMIT_FAIL
		       : LIMIT_OPEN,
	       "%s: %zu of %zu miss the limit of %.6g", l->name, over, b->n + b->failed, limit);
}

static void judge_none_bad(struct limit_read *l, const struct ev *b)
{
	bool zero_is_good = has(b->name, "_fail|_bad|_error|_fatal|_record|_alarm|_hang|_timeout|"
					 "_wrong|_nan|_ecc|_crash|_missing|_xid|_lost");
	size_t bad = b->failed;

	if (b->kind == EV_COUNT) {
		result(l, b->bad ? LIMIT_FAIL : LIMIT_PASS, "%s: %u of %u bad", b->name, b->bad,
		       b->tries);
		return;
	}
	if (b->kind == EV_TEXT) {
		bool good = has(b->text, "_pass|_ok_|_true_|_success|_good_|_none_");

		result(l, good ? LIMIT_PASS : LIMIT_FAIL, "%s: %.60s", b->name, b->text);
		return;
	}
	for (size_t i = 0; i < b->n; i++)
		bad += zero_is_good ? b->v[i] != 0 : b->v[i] == 0;
	result(l, bad ? LIMIT_FAIL : LIMIT_PASS, "%s: %zu of %zu bad", b->name, bad,
	       b->n + b->failed);
}

void limit_judge(const struct comparison *c, struct limit_read *l, const struct ev *a,
		 const struct ev *b)
{
	double number = NAN;
	bool percent = false;
	enum rule_kind kind = rule_kind(l->rule, &number, &percent);

	l->before = a;
	l->now = b;
	if (!b || b->kind == EV_MISSING) {
		result(l, LIMIT_NONE, "%s was not measured%s%s", l->name, b && b->text ? ": " : "",
		       b && b->text ? b->text : "");
		return;
	}
	if (b->kind == EV_COUNT && kind != RULE_AT_LEAST && kind != RULE_AT_MOST)
		kind = RULE_NONE_BAD;
	if (b->kind == EV_TEXT && kind != RULE_NONE_BAD)
		kind = RULE_EQUAL;
	switch (kind) {
	case RULE_MARGIN:
		if (!a || a->kind != EV_VALUES)
			result(l, LIMIT_NONE, "%s was not measured in the accepted run", l->name);
		else
			judge_margin(c, l, a, b);
		return;
	case RULE_WITHIN:
		judge_within(l, a, b, number, percent);
		return;
	case RULE_EQUAL:
		judge_equal(l, a, b);
		return;
	case RULE_AT_LEAST:
	case RULE_AT_MOST:
		judge_threshold(l, b,
				percent && number > 1 && ev_median(b) <= 1 ? number / 100 : number,
				kind == RULE_AT_LEAST);
		return;
	case RULE_IS:
		for (size_t i = 0; i < b->n; i++)
			if (b->v[i] != number) {
				result(l, LIMIT_FAIL, "%s is %.9g and not %.9g", l->name, b->v[i],
				       number);
				return;
			}
		result(l, b->n && !b->failed ? LIMIT_PASS : LIMIT_FAIL, "%s is %.9g", l->name,
		       number);
		return;
	case RULE_NONE_BAD:
		judge_none_bad(l, b);
		return;
	case RULE_UNKNOWN:
		break;
	}
	result(l, LIMIT_NONE, "%s: the rule '%s' is not one that is known", l->name, l->rule);
}

static void judge_exit(const struct comparison *c, struct limit_read *l)
{
	double want = 0;
	bool percent;

	(void)number_in(l->rule, &want, &percent);
	if (!c->b.has_exit)
		result(l, LIMIT_NONE, "the exit code was not recorded");
	else
		result(l, c->b.exit_code == (int)want ? LIMIT_PASS : LIMIT_FAIL,
		       "the exit code is %d", c->b.exit_code);
}

/* ---- what makes the accepted evidence speak of something else ---- */

static bool same_word(const char *a, const char *b)
{
	static const char *const yes[] = { "1", "true", "on", "yes" }, *const no[] = { "0", "false",
										       "off",
										       "no" };
	bool ya = false, yb = false, na = false, nb = false;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		ya |= streq(a, yes[i]);
		yb |= streq(b, yes[i]);
		na |= streq(a, no[i]);
		nb |= streq(b, no[i]);
	}
	if ((ya && yb) || (na && nb))
		return true;
	{
		AUTO_FREE char *x = part_words(a), *y = part_words(b);

		return streq(x, y);
	}
}

static bool mismatch(const struct comparison *c, const char *arm, const struct stack *s,
		     bool with_requests, struct verdict *v)
{
	bool any = false;

	(void)c;
	for (size_t i = 0; i < s->n; i++) {
		const struct component *x = &s->v[i];
		const char *ran = x->version ? x->version : x->requested;

		if (x->label && ran && !same_word(x->label, ran)) {
			reason_add(&v->reasons, "effective_differs", x->name,
				   "%s: the label says %s %s, what ran had %s", arm, x->name,
				   x->label, ran);
			any = true;
		} else if (with_requests && x->requested && *x->requested && x->version &&
			   !streq(x->requested, "auto") && !streq(x->requested, "default") &&
			   !same_word(x->requested, x->version)) {
			reason_add(&v->reasons, "effective_differs", x->name,
				   "%s: %s %s was asked for, in effect was %s", arm, x->name,
				   x->requested, x->version);
			any = true;
		}
	}
	return any;
}

static bool is_void(struct comparison *c, bool regressed)
{
	struct verdict *v = &c->verdict;
	bool any = false;

	for (size_t i = 0; i < c->changes.n; i++) {
		const struct change *x = &c->changes.v[i];
		enum part_kind k = part_of(change_name(x))->kind;
		AUTO_FREE char *w = NULL;

		if (!x->material || (k != PART_WORK && k != PART_LIMIT))
			continue;
		w = change_words(x);
		reason_add(&v->reasons, k == PART_WORK ? "other_workload" : "other_contract",
			   change_name(x), "the accepted evidence was for other %s: %s",
			   k == PART_WORK ? "work" : "limits", w);
		any = true;
	}
	if (c->a.work && c->b.work && !streq(c->a.work, c->b.work)) {
		reason_add(&v->reasons, "other_workload", NULL,
			   "the two arms say that they measured different work");
		any = true;
	}
	any |= mismatch(c, "accepted", &c->a.stack, /* with_requests= */ true, v);
	/* A candidate that does not do what was asked for and is worse for it is a regression. */
	any |= mismatch(c, "candidate", &c->b.stack, /* with_requests= */ !regressed, v);
	return any;
}

/* The job was ended from outside: what is missing says nothing about the candidate. */
static bool ended_outside(const struct comparison *c)
{
	for (size_t i = 0; i < c->b.stack.n; i++) {
		const struct component *x = &c->b.stack.v[i];

		if (part_of(x->name)->layer == CL_PLATFORM && x->version &&
		    has(x->version, "_time_limit_|_timeout_|_timed_out_|_preempt|_node_fail_"))
			return true;
	}
	for (size_t i = 0; i < c->b.log.n; i++)
		if (has(c->b.log.v[i], "_due_to_time_limit_|_due_to_preemption_"))
			return true;
	return false;
}

static void combine(struct comparison *c)
{
	struct verdict *v = &c->verdict;
	unsigned fail = 0, open = 0, none = 0;
	bool outside = ended_outside(c);

	for (size_t i = 0; i < c->limits.n; i++) {
		struct limit_read *l = &c->limits.v[i];

		if (l->result == LIMIT_FAIL && outside &&
		    (streq(l->name, "exit_code") || (l->now && l->now->kind == EV_COUNT)))
			l->result = LIMIT_NONE;
		fail += l->result == LIMIT_FAIL;
		open += l->result == LIMIT_OPEN;
		none += l->result == LIMIT_NONE;
	}
	v->final = true;
	if (is_void(c, fail > 0)) {
		v->kind = VERDICT_BASELINE_VOID;
		return;
	}
	v->kind = fail   ? VERDICT_REJECTED
		  : none ? VERDICT_NO_RESULT
		  : open ? VERDICT_INCONCLUSIVE
			 : VERDICT_ACCEPTED;
	for (size_t i = 0; i < c->limits.n; i++) {
		const struct limit_read *l = &c->limits.v[i];

		if (l->result == LIMIT_FAIL)
			reason_add(&v->reasons, l->across ? "regressed" : "limit_missed", l->name,
				   "%s", l->text);
		else if (l->result == LIMIT_OPEN)
			reason_add(fail || none ? &v->notes : &v->reasons, "not_yet", l->name, "%s",
				   l->text);
		else if (l->result == LIMIT_NONE)
			reason_add(fail ? &v->notes : &v->reasons, "not_measured", l->name, "%s",
				   l->text);
		else
			reason_add(&v->notes, "limit_held", l->name, "%s", l->text);
	}
}

/* ---- evidence that moved ---- */

static bool is_alarm(const char *name)
{
	return has(name, "_record|_alarm|_ecc|_ras_|_xid|_health|_cper|_uncorrectable|_fatal");
}

static void look_at(struct comparison *c, const struct ev *b)
{
	const struct limit_read *l = NULL;
	const struct ev *a = evs_find(&c->a.evs, b->name);
	struct diagnose_seen *s;
	double by;

	for (size_t i = 0; i < c->limits.n; i++)
		if (c->limits.v[i].now == b)
			l = &c->limits.v[i];
	s = VEC_ADD(&c->seen);
	*s = (struct diagnose_seen){
		.name = b->name, .by = NAN, .decides = l != NULL, .alarm = is_alarm(b->name)
	};
	if (b->kind == EV_COUNT) {
		s->counted = true;
		s->bad = b->bad;
		s->tries = b->tries;
		s->bad_before = a && a->kind == EV_COUNT ? a->bad : 0;
		s->tries_before = a && a->kind == EV_COUNT ? a->tries : 0;
		s->moved =
			l && l->result == LIMIT_FAIL ? MOVED_WORSE
			: b->bad == 0                ? MOVED_NOT
			: a && (double)b->bad / b->tries > 0.1 + (double)a->bad / MAX(a->tries, 1u)
				? MOVED_WORSE
				: MOVED_UNKNOWN;
		return;
	}
	s->before = ev_median(a);
	s->now = ev_median(b);
	if (b->kind == EV_TEXT || b->equal || (a && a->equal)) {
		bool same =
			a && (b->kind == EV_TEXT ? streq(a->text, b->text) : s->before == s->now);

		s->equal = !same && b->kind != EV_TEXT;
		s->moved = !a ? MOVED_UNKNOWN : same ? MOVED_NOT : MOVED_WORSE;
		return;
	}
	if (!a || isnan(s->before) || isnan(s->now)) {
		s->moved = l && l->result == LIMIT_FAIL ? MOVED_WORSE : MOVED_UNKNOWN;
		return;
	}
	if (s->before == s->now) {
		s->moved = MOVED_NOT;
		return;
	}
	by = ev_worse(a, b, l && l->abs_scale);
	if (isnan(by)) {
		bool up = s->now > s->before;

		s->moved = up == (ev_direction(a) == LOWER_IS_BETTER) ? MOVED_WORSE : MOVED_BETTER;
		return;
	}
	s->by = l && l->abs_scale                    ? by
		: ev_direction(a) == LOWER_IS_BETTER ? expm1(by)
						     : -expm1(-by);
	s->moved = l && l->result == LIMIT_FAIL   ? MOVED_WORSE
		   : by > (l ? l->margin : 0.05)  ? MOVED_WORSE
		   : by < -(l ? l->margin : 0.05) ? MOVED_BETTER
						  : MOVED_NOT;
}

static void kernels(struct comparison *c)
{
	double slower = 1;

	for (size_t i = 0; i < c->limits.n; i++)
		if (c->limits.v[i].result == LIMIT_FAIL && c->limits.v[i].across &&
		    !c->limits.v[i].abs_scale && isfinite(c->limits.v[i].shift))
			slower = fmax(slower, exp(c->limits.v[i].shift));
	for (size_t i = 0; i < c->b.kernels.n; i++) {
		const struct pair *p = &c->b.kernels.v[i];
		const char *before = pairs_get(&c->a.kernels, p->name);

		*VEC_ADD(&c->kernels) =
			(struct diagnose_kernel){ p->name, before ? strtod(before, NULL) : 0,
						  strtod(p->value, NULL) * slower };
	}
}

void comparison_judge(struct comparison *c)
{
	for (size_t i = 0; i < c->limits.n; i++) {
		struct limit_read *l = &c->limits.v[i];
		const char *name = evidence_name(c, l);

		if (streq(l->name, "exit_code") && !evs_find(&c->b.evs, "exit_code"))
			judge_exit(c, l);
		else
			limit_judge(c, l, name ? evs_find(&c->a.evs, name) : NULL,
				    name ? evs_find(&c->b.evs, name) : NULL);
	}
	combine(c);
	for (size_t i = 0; i < c->b.evs.n; i++)
		look_at(c, &c->b.evs.v[i]);
	kernels(c);
}
