/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "base/str.h"
#include "base/vec.h"
#include "stat/stat.h"
#include <math.h>

void verdict_defaults(struct verdict_in *in)
{
	static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 }, first[] = { 3, 5, 7, 10 };

	memcpy(in->looks, looks, sizeof(looks));
	in->n_looks = ARRAY_SIZE(looks);
	memcpy(in->first_looks, first, sizeof(first));
	in->n_first_looks = ARRAY_SIZE(first);
	in->alpha = 0.01;
	in->alpha_reject = 0.02;
	in->rho = 0.4;
	in->max_cov = 0.05;
	in->max_failed = 0;
	in->reject_failed = 2;
}

void verdict_release(struct verdict *v)
{
	struct verdict_reasons *lists[] = { &v->reasons, &v->notes };

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < lists[k]->n; i++) {
			free(lists[k]->v[i].code);
			free(lists[k]->v[i].about);
			free(lists[k]->v[i].text);
		}
		free(lists[k]->v);
	}
	for (size_t i = 0; i < v->numbers.n; i++)
		free(v->numbers.v[i].name);
	free(v->numbers.v);
	free(v->advice);
	*v = (struct verdict){ 0 };
}

/* The candidate once excluded repetitions are gone and shared starts are one. */
struct cand {
	size_t n;
	size_t *first; /* index of the repetition that stands for each */
	bool *failed;
	double **w;     /* per metric: worseness, +inf for failed, NAN for not measured */
	double **bank;  /* per metric */
	size_t *n_bank; /* measured ones */
};

static PRINTF(4, 5) void say(struct verdict_reasons *l, const char *code, const char *about,
			     const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	*VEC_ADD(l) = (struct verdict_reason){ xstrdup(code), xstrdup(about), str_steal(&s) };
}

static double worseness(const struct verdict_metric *m, double v)
{
	double w;

	if (isnan(v))
		return NAN;
	if (!m->abs_scale && v <= 0)
		return NAN; /* no logarithm: as good as not measured */
	w = m->abs_scale ? v : log(v);
	return m->dir == LOWER_IS_BETTER ? w : -w;
}

static double value_of(const struct verdict_metric *m, double w)
{
	double x = m->dir == LOWER_IS_BETTER ? w : -w;

	return m->abs_scale ? x : exp(x);
}

static double delta_of(const struct verdict_metric *m)
{
	return m->abs_scale ? m->margin : log1p(m->margin);
}

static void cand_release(struct cand *c, size_t n_metrics)
{
	for (size_t i = 0; i < n_metrics; i++) {
		free(c->w[i]);
		free(c->bank[i]);
	}
	free(c->w);
	free(c->bank);
	free(c->n_bank);
	free(c->first);
	free(c->failed);
}

/* Median of a metric over the repetitions that share the start of repetition `of`. */
static double shared(const struct verdict_in *in, const struct verdict_metric *m, size_t of)
{
	AUTO_FREE double *v = xcalloc(in->n_reps, sizeof(double));
	size_t n = 0;

	for (size_t i = of; i < in->n_reps; i++) {
		bool same = i == of ||
			    (in->reps[of].start && streq(in->reps[i].start, in->reps[of].start));

		if (!same || in->reps[i].state != REP_OK)
			continue;
		v[n] = worseness(m, m->cand[i]);
		if (isnan(v[n]))
			return NAN;
		n++;
	}
	return median(v, n);
}

static void cand_make(const struct verdict_in *in, struct cand *c)
{
	*c = (struct cand){ .first = xcalloc(in->n_reps, sizeof(size_t)),
			    .failed = xcalloc(in->n_reps, sizeof(bool)),
			    .w = xcalloc(in->n_metrics, sizeof(double *)),
			    .bank = xcalloc(in->n_metrics, sizeof(double *)),
			    .n_bank = xcalloc(in->n_metrics, sizeof(size_t)) };
	for (size_t i = 0; i < in->n_reps; i++) {
		bool seen = false;

		if (in->reps[i].state == REP_EXCLUDED)
			continue;
		for (size_t k = 0; k < c->n; k++) {
			if (in->reps[i].start &&
			    streq(in->reps[i].start, in->reps[c->first[k]].start)) {
				c->failed[k] |= in->reps[i].state == REP_FAILED;
				seen = true;
			}
		}
		if (!seen) {
			c->failed[c->n] = in->reps[i].state == REP_FAILED;
			c->first[c->n++] = i;
		}
	}
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];

		c->w[k] = xcalloc(c->n, sizeof(double));
		c->bank[k] = xcalloc(in->n_bank, sizeof(double));
		for (size_t i = 0; !m->across && i < c->n; i++)
			c->w[k][i] = c->failed[i] ? INFINITY : shared(in, m, c->first[i]);
		for (size_t i = 0; !m->across && in->has_bank && i < in->n_bank; i++) {
			double w = worseness(m, m->bank[i]);

			if (!isnan(w))
				c->bank[k][c->n_bank[k]++] = w;
		}
	}
}

static bool over(const struct verdict_metric *m, double w)
{
	double limit = worseness(m, m->limit);

	/* A limit of nothing (0 errors) has no logarithm: compare on the metric's own scale. */
	if (isnan(limit))
		limit = m->dir == LOWER_IS_BETTER ? -INFINITY : INFINITY;
	return m->limit_strict ? w >= limit : w > limit;
}

static size_t finite_of(const double *w, size_t n, double *ret)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(w[i]))
			ret[k++] = w[i];
	return k;
}

static unsigned failed_in(const struct cand *c, size_t n)
{
	unsigned k = 0;

	for (size_t i = 0; i < n; i++)
		k += c->failed[i];
	return k;
}

/* ---- what can be said of each metric at L repetitions ---------------------------------------- */

static const char *const label_names[] = {
	"none", "same", "better", "not worse", "worse, inside the margin", "regressed", "open"
};

const char *verdict_label_name(enum verdict_label l)
{
	return l <= LABEL_OPEN ? label_names[l] : "none";
}

static enum verdict_label label_of(const struct verdict_number *x)
{
	if (isnan(x->shift) || isnan(x->delta))
		return LABEL_NONE;
	if (!isfinite(x->ucb))
		return x->shift >= x->delta ? LABEL_REGRESSED : LABEL_OPEN;
	if (x->ucb < 0)
		return LABEL_BETTER;
	if (x->ucb < x->delta) {
		if (x->lcb > 0)
			return LABEL_WORSE_INSIDE;
		return x->lcb > -x->delta ? LABEL_SAME : LABEL_NOT_WORSE;
	}
	return x->shift >= x->delta ? LABEL_REGRESSED : LABEL_OPEN;
}

static void noise(struct verdict_number *x, const double *bank, size_t m, const double *w, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(double));
	size_t k = finite_of(w, n, v);

	x->cov_cand = stdev(v, k);
	x->cov_bank = stdev(bank, m);
	if (k > 2 && m > 2 && x->cov_bank > 0) {
		double r = x->cov_cand / x->cov_bank;

		if (f_upper(r * r, (double)(k - 1), (double)(m - 1)) < 0.05)
			x->noisier = r;
	}
}

static void number(const struct verdict_in *in, const struct cand *c, size_t k, size_t n, int count,
		   struct verdict_number *x)
{
	const struct verdict_metric *m = &in->metrics[k];
	const double *w = c->w[k];
	struct shift s;

	*x = (struct verdict_number){ .name = xstrdup(m->name),
				      .unit = m->unit,
				      .dir = m->dir,
				      .abs_scale = m->abs_scale,
				      .gate = m->gate && in->has_bank,
				      .has_limit = m->has_limit,
				      .limit = m->has_limit ? m->limit : NAN,
				      .bank_median = NAN,
				      .cand_median = NAN,
				      .shift = NAN,
				      .lcb = NAN,
				      .ucb = NAN,
				      .delta = NAN,
				      .p_worse = NAN,
				      .p_adjusted = NAN,
				      .cov_bank = NAN,
				      .cov_cand = NAN,
				      .upper = NAN };
	if (m->across) {
		x->cand_median = m->cand[0];
		x->over_limit =
			m->has_limit && (isnan(m->cand[0]) || over(m, worseness(m, m->cand[0])));
		return;
	}
	x->cand_median = n ? value_of(m, median(w, n)) : NAN;
	noise(x, c->bank[k], c->n_bank[k], w, n);
	for (size_t i = 0; m->has_limit && i < n; i++)
		x->over += over(m, w[i]);
	if (m->has_limit && n >= 2 && failed_in(c, n) == 0)
		x->upper = value_of(m, mean(w, n) + tolerance_factor((unsigned)n, 0.90, 0.98) *
							    stdev(w, n));
	if (!in->has_bank || !c->n_bank[k])
		return;
	x->bank_median = value_of(m, median(c->bank[k], c->n_bank[k]));
	shift_of(c->bank[k], c->n_bank[k], w, n, count, &s);
	x->shift = s.shift;
	x->lcb = s.lcb;
	x->ucb = s.ucb;
	x->p_worse = s.p_worse;
	if (isnan(m->margin))
		return;
	x->delta = delta_of(m);
	x->gross = n >= 3 && s.lowest > x->delta;
	x->label = label_of(x);
}

static void numbers(const struct verdict_in *in, const struct cand *c, size_t n, const int *counts,
		    struct verdict *v)
{
	AUTO_FREE double *p = xcalloc(in->n_metrics, sizeof(double));
	AUTO_FREE double *adjusted = xcalloc(in->n_metrics, sizeof(double));
	size_t gates = 0;

	for (size_t i = 0; i < v->numbers.n; i++)
		free(v->numbers.v[i].name);
	v->numbers.n = 0;
	for (size_t k = 0; k < in->n_metrics; k++) {
		struct verdict_number *x = VEC_ADD(&v->numbers);

		number(in, c, k, n, counts[k], x);
		if (x->gate && !isnan(x->delta))
			p[gates++] = x->shift >= x->delta ? x->p_worse : 1;
	}
	holm(p, gates, adjusted);
	gates = 0;
	for (size_t k = 0; k < v->numbers.n; k++)
		if (v->numbers.v[k].gate && !isnan(v->numbers.v[k].delta))
			v->numbers.v[k].p_adjusted = adjusted[gates++];
}

/* ---- rules before the statistics ------------------------------------------------------------- */

static bool decide(struct verdict *v, enum verdict_kind kind, size_t look)
{
	v->kind = kind;
	v->final = true;
	v->look = (unsigned)look;
	return true;
}

static bool void_baseline(const struct verdict_in *in, struct verdict *v)
{
	for (size_t i = 0; in->void_reasons && in->void_reasons[i]; i++)
		say(&v->reasons, "baseline_void", NULL, "%s", in->void_reasons[i]);
	return v->reasons.n ? decide(v, VERDICT_BASELINE_VOID, 0) : false;
}

static bool checks(const struct verdict_in *in, struct verdict *v)
{
	bool blocked = false, failed = false;

	for (size_t i = 0; i < in->n_checks; i++) {
		const struct verdict_check *c = &in->checks[i];
		const char *why = c->reason ? c->reason : "no reason was given";

		if (c->result == RESULT_PASS)
			continue;
		if (!c->required) {
			say(&v->notes, "check_not_passed", c->name, "%s: %s: %s", c->name,
			    result_name(c->result), why);
			continue;
		}
		if (c->result == RESULT_FAIL) {
			say(&v->reasons, "check_failed", c->name, "%s failed: %s", c->name, why);
			failed = true;
		} else {
			static const char *const codes[] = {
				[RESULT_SKIP] = "check_skipped",
				[RESULT_ERROR] = "check_error",
				[RESULT_DOUBTFUL] = "check_doubtful",
			};

			say(&v->reasons, codes[c->result], c->name, "%s: %s: %s", c->name,
			    result_name(c->result), why);
			blocked = true;
		}
	}
	if (failed)
		return decide(v, VERDICT_REJECTED, 0);
	for (size_t i = 0; in->mismatches && in->mismatches[i]; i++) {
		say(&v->reasons, "effective_differs", NULL, "%s", in->mismatches[i]);
		blocked = true;
	}
	return blocked ? decide(v, VERDICT_NO_RESULT, 0) : false;
}

static bool too_many_failed(const struct verdict_in *in, const struct cand *c, size_t n,
			    struct verdict *v)
{
	unsigned failed = failed_in(c, n);

	if (failed < MAX(in->reject_failed, 1u))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct verdict_rep *r = &in->reps[c->first[i]];

		if (c->failed[i])
			say(&v->reasons, "repetition_failed", NULL, "repetition %zu failed: %s",
			    c->first[i] + 1, r->reason ? r->reason : "no reason was recorded");
	}
	return decide(v, VERDICT_REJECTED, n);
}

static bool unmeasured(const struct verdict_in *in, const struct cand *c, size_t n,
		       struct verdict *v)
{
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];
		size_t missing = 0;

		if (!m->has_limit && !(m->gate && in->has_bank))
			continue;
		if (m->across) {
			missing = isnan(m->cand[0]) && n;
		} else {
			for (size_t i = 0; i < n; i++)
				missing += isnan(c->w[k][i]);
		}
		if (missing)
			say(&v->reasons, "not_measured", m->name,
			    "%s has no number in %zu of %zu repetitions", m->name, missing, n);
		else if (m->gate && in->has_bank && c->n_bank[k] < 5)
			say(&v->reasons, "bank_too_small", m->name,
			    "%s: the accepted run has %zu usable repetitions, 5 are needed",
			    m->name, c->n_bank[k]);
	}
	if (!v->reasons.n)
		return false;
	return decide(v,
		      streq(v->reasons.v[0].code, "not_measured") ? VERDICT_NO_RESULT
								  : VERDICT_INCONCLUSIVE,
		      n);
}

/* ---- objectives (first acceptance, and held against the second too) -------------------------- */

static bool objectives_missed(const struct verdict_in *in, size_t n, struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];
		AUTO_FREE char *limit = quantity_text(x->limit, x->unit);
		AUTO_FREE char *got = quantity_text(x->cand_median, x->unit);

		if (!x->has_limit)
			continue;
		if (in->metrics[k].across) {
			if (x->over_limit)
				say(&v->reasons, "objective_missed", x->name, "%s is %s, limit %s",
				    x->name, got, limit);
		} else if (cp_lower(x->over, (unsigned)n, 0.95) > 0.10) {
			say(&v->reasons, "objective_missed", x->name,
			    "%s is over its limit %s in %u of %zu repetitions (median %s)", x->name,
			    limit, x->over, n, got);
		}
	}
	return v->reasons.n ? decide(v, VERDICT_REJECTED, n) : false;
}

/* Value of a limit against the upper tolerance bound, both as worseness. */
static bool covered(const struct verdict_metric *m, const struct verdict_number *x)
{
	double w;

	if (isnan(x->upper))
		return false;
	/* exp() of a log bound is positive, abs bounds may pass 0: both compare in the unit. */
	w = m->dir == LOWER_IS_BETTER ? x->upper - m->limit : m->limit - x->upper;
	return m->limit_strict ? w < 0 : w <= 0;
}

static bool objectives_held(const struct verdict_in *in, const struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (!x->has_limit)
			continue;
		if (in->metrics[k].across ? x->over_limit : !covered(&in->metrics[k], x))
			return false;
	}
	return true;
}

/* Second acceptance: not one repetition over a limit, or covered as in the first. */
static bool objectives_still_hold(const struct verdict_in *in, const struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (!x->has_limit)
			continue;
		if (in->metrics[k].across ? x->over_limit
					  : x->over > 0 && !covered(&in->metrics[k], x))
			return false;
	}
	return true;
}

static bool repeatable(const struct verdict_in *in, struct verdict *v)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if ((x->gate || (!in->has_bank && in->metrics[k].gate)) && !x->abs_scale &&
		    x->cov_cand > in->max_cov) {
			say(&v->reasons, "not_repeatable", x->name,
			    "%s varies by %.1f %% between repetitions, the limit is %.1f %%",
			    x->name, 100 * x->cov_cand, 100 * in->max_cov);
		}
	}
	return v->reasons.n == 0;
}

static void accept_notes(const struct verdict_in *in, struct verdict *v)
{
	for (size_t i = 0; in->notes && in->notes[i]; i++)
		say(&v->notes, "note", NULL, "%s", in->notes[i]);
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (!x->gate)
			continue;
		if (x->label == LABEL_WORSE_INSIDE) {
			AUTO_FREE char *s = verdict_percent(x->shift, x->abs_scale);
			AUTO_FREE char *lo = verdict_percent(x->lcb, x->abs_scale);
			AUTO_FREE char *hi = verdict_percent(x->ucb, x->abs_scale);

			say(&v->notes, "worse_inside_margin", x->name,
			    "%s is worse by %s [%s, %s], inside its margin", x->name, s, lo, hi);
		}
		if (x->noisier > 0)
			say(&v->notes, "noisier", x->name,
			    "%s: the candidate is %.1f times noisier", x->name, x->noisier);
		if (x->label == LABEL_BETTER && x->ucb < -x->delta && !x->abs_scale)
			say(&v->notes, "much_better", x->name,
			    "%s is better by more than its margin: same work, same data?", x->name);
	}
	if (in->has_bank && in->n_bank < 10)
		say(&v->notes, "small_bank", NULL,
		    "the accepted run has %zu repetitions; 10 decide small margins better",
		    in->n_bank);
}

static bool accept(const struct verdict_in *in, size_t n, struct verdict *v)
{
	bool noted = v->notes.n > 0;

	if (!repeatable(in, v)) {
		if (n < in->looks[in->n_looks - 1] && !in->ended) {
			/* A later look may see it settle: not final yet. */
			for (size_t i = 0; i < v->reasons.n; i++) {
				free(v->reasons.v[i].code);
				free(v->reasons.v[i].about);
				free(v->reasons.v[i].text);
			}
			v->reasons.n = 0;
			return false;
		}
		return decide(v, VERDICT_INCONCLUSIVE, n);
	}
	accept_notes(in, v);
	for (size_t i = 0; i < v->notes.n; i++)
		noted |= !streq(v->notes.v[i].code, "small_bank");
	return decide(v, noted ? VERDICT_ACCEPTED_NOTE : VERDICT_ACCEPTED, n);
}

/* ---- first acceptance ------------------------------------------------------------------------ */

static bool first_look(const struct verdict_in *in, const struct cand *c, size_t n,
		       struct verdict *v)
{
	AUTO_FREE int *none = xmalloc(MAX(in->n_metrics, (size_t)1) * sizeof(int));

	for (size_t k = 0; k < in->n_metrics; k++)
		none[k] = -1;
	numbers(in, c, n, none, v);
	if (objectives_missed(in, n, v))
		return true;
	if (n < 5 || failed_in(c, n) > 0 || !objectives_held(in, v))
		return false;
	return accept(in, n, v);
}

/* ---- second acceptance ----------------------------------------------------------------------- */

static void counts_at(const struct verdict_in *in, const struct cand *c, size_t look, int *ret)
{
	double spend[VERDICT_MAX_LOOKS];

	for (size_t k = 0; k < in->n_looks; k++)
		spend[k] =
			in->n_looks == 1
				? 1
				: (k + 1 == in->n_looks
					   ? 1
					   : 0.40 + 0.60 * (double)k / (double)(in->n_looks - 1));
	/* The default spending as it is written, so that it is met to the last bit. */
	if (in->n_looks == 6) {
		static const double f[] = { .40, .52, .64, .76, .88, 1 };

		memcpy(spend, f, sizeof(f));
	}
	for (size_t k = 0; k < in->n_metrics; k++) {
		int table[VERDICT_MAX_LOOKS];

		ret[k] = -1;
		if (c->n_bank[k] < 1 || c->n_bank[k] > VERDICT_MAX_BANK || in->metrics[k].across)
			continue;
		if (k && c->n_bank[k] == c->n_bank[0] && !in->metrics[0].across) {
			ret[k] = ret[0];
			continue;
		}
		sequential_counts((unsigned)c->n_bank[k], in->looks, spend, in->n_looks, in->alpha,
				  table, NULL);
		ret[k] = table[look];
	}
}

static bool all_below_margin(const struct verdict_in *in, const struct verdict *v,
			     const int *counts)
{
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (x->gate && (counts[k] < 0 || !(x->ucb < x->delta)))
			return false;
	}
	(void)in;
	return true;
}

static void say_regressed(struct verdict *v, const struct verdict_number *x)
{
	AUTO_FREE char *before = quantity_text(x->bank_median, x->unit);
	AUTO_FREE char *now = quantity_text(x->cand_median, x->unit);
	AUTO_FREE char *shift = verdict_percent(x->shift, x->abs_scale);
	AUTO_FREE char *margin = verdict_percent(x->delta, x->abs_scale);
	AUTO_FREE char *lo = verdict_percent(x->lcb, x->abs_scale);
	AUTO_FREE char *hi = verdict_percent(x->ucb, x->abs_scale);

	say(&v->reasons, x->gross ? "gross_regression" : "regressed", x->name,
	    "%s: %s -> %s, worse by %s%s%s%s%s%s, margin %s", x->name, before, now, shift,
	    isfinite(x->lcb) ? " [" : "", isfinite(x->lcb) ? lo : "", isfinite(x->lcb) ? ", " : "",
	    isfinite(x->lcb) ? hi : "", isfinite(x->lcb) ? "]" : "", margin);
}

static bool regressed(const struct verdict_in *in, size_t n, struct verdict *v)
{
	double smallest = 1, at = in->rho * in->alpha_reject;
	bool gross = false;

	for (size_t k = 0; k < v->numbers.n; k++)
		gross |= v->numbers.v[k].gate && v->numbers.v[k].gross;
	for (size_t k = 0; k < v->numbers.n; k++)
		if (v->numbers.v[k].gate && v->numbers.v[k].p_adjusted < smallest)
			smallest = v->numbers.v[k].p_adjusted;
	if (!gross && smallest > at)
		return false;
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];

		if (x->gate && (x->gross || x->p_adjusted <= at))
			say_regressed(v, x);
	}
	return decide(v, VERDICT_REJECTED, n);
}

static bool second_look(const struct verdict_in *in, const struct cand *c, size_t k,
			struct verdict *v)
{
	AUTO_FREE int *counts = xcalloc(MAX(in->n_metrics, (size_t)1), sizeof(int));
	size_t n = in->looks[k];

	counts_at(in, c, k, counts);
	numbers(in, c, n, counts, v);
	if (objectives_missed(in, n, v))
		return true;
	if (failed_in(c, n) <= in->max_failed && all_below_margin(in, v, counts) &&
	    objectives_still_hold(in, v))
		return accept(in, n, v);
	return regressed(in, n, v);
}

/* ---- what more would decide ------------------------------------------------------------------ */

/* Smallest margin / CoV that is decided 95 times in 100 within ten repetitions, by bank size. */
static const double k_m[] = { [5] = 2.83, [6] = 2.63,  [7] = 2.49,  [8] = 2.31,
			      [9] = 2.23, [10] = 2.18, [11] = 2.14, [12] = 2.05 };

static double pooled_sd(const double *bank, size_t m, const double *w, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(double));
	size_t k = finite_of(w, n, v);
	double a = m > 1 ? stdev(bank, m) : 0, b = k > 1 ? stdev(v, k) : 0;
	double df = (m > 1 ? (double)(m - 1) : 0) + (k > 1 ? (double)(k - 1) : 0);

	if (df < 1)
		return NAN;
	return sqrt(
		((m > 1 ? (double)(m - 1) : 0) * a * a + (k > 1 ? (double)(k - 1) : 0) * b * b) /
		df);
}

static void advise_metric(const struct verdict_in *in, const struct cand *c, size_t k,
			  const struct verdict_number *x, unsigned gates, unsigned *ret_look,
			  bool *ret_reject)
{
	double s = pooled_sd(c->bank[k], c->n_bank[k], c->w[k], c->n);
	AUTO_FREE int *counts = xcalloc(in->n_metrics, sizeof(int));

	*ret_look = 0;
	for (size_t l = 0; l < in->n_looks; l++) {
		double root = sqrt(1.0 / (double)c->n_bank[k] + 1.0 / in->looks[l]), a;

		if (in->looks[l] <= c->n)
			continue;
		counts_at(in, c, l, counts);
		if (counts[k] < 0)
			continue;
		a = mw_cdf((unsigned)counts[k], in->looks[l], (unsigned)c->n_bank[k]);
		if (x->shift + norm_quantile(1 - a) * s * root < x->delta) {
			*ret_look = in->looks[l];
			*ret_reject = false;
			return;
		}
	}
	for (size_t l = 0; l < in->n_looks; l++) {
		double root = sqrt(1.0 / (double)c->n_bank[k] + 1.0 / in->looks[l]);

		if (in->looks[l] > c->n && x->shift >= x->delta &&
		    x->shift - norm_quantile(1 - in->rho * in->alpha_reject / gates) * s * root >
			    0) {
			*ret_look = in->looks[l];
			*ret_reject = true;
			return;
		}
	}
}

static void advise(const struct verdict_in *in, const struct cand *c, struct verdict *v)
{
	unsigned gates = 0, most = 0;
	bool reject = false;

	for (size_t k = 0; k < v->numbers.n; k++)
		gates += v->numbers.v[k].gate;
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];
		unsigned look = 0;
		bool r = false;

		if (!x->gate || isnan(x->delta) || !isfinite(x->shift) || c->n_bank[k] < 5)
			continue;
		advise_metric(in, c, k, x, gates, &look, &r);
		if (!look) {
			double s = pooled_sd(c->bank[k], c->n_bank[k], c->w[k], c->n);
			AUTO_FREE char *could = verdict_percent(
				k_m[MIN(c->n_bank[k], (size_t)12)] * s, x->abs_scale);

			free(v->advice);
			v->advice = xasprintf("%s cannot be decided within %u repetitions at this "
					      "noise (CoV %.2g %%); "
					      "the smallest margin that could be is %s",
					      x->name, in->looks[in->n_looks - 1], 100 * s, could);
			v->more = 0;
			return;
		}
		if (look > most) {
			most = look;
			reject = r;
		}
	}
	if (most > c->n) {
		v->more = most - (unsigned)c->n;
		v->more_rejects = reject;
		v->advice = xasprintf("%u more repetition%s, likely %s", v->more,
				      v->more == 1 ? "" : "s", reject ? "rejected" : "accepted");
	}
}

static void advise_first(const struct verdict_in *in, const struct cand *c, struct verdict *v)
{
	for (size_t i = 0; i < in->n_first_looks; i++) {
		if (in->first_looks[i] >= 5 && in->first_looks[i] > c->n) {
			v->more = in->first_looks[i] - (unsigned)c->n;
			v->advice = xasprintf(
				"%u more repetition%s before a first acceptance can be decided",
				v->more, v->more == 1 ? "" : "s");
			return;
		}
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void undecided(const struct verdict_in *in, const struct cand *c, struct verdict *v)
{
	unsigned cap =
		in->has_bank ? in->looks[in->n_looks - 1] : in->first_looks[in->n_first_looks - 1];
	unsigned failed = failed_in(c, c->n);

	v->kind = VERDICT_INCONCLUSIVE;
	v->look = (unsigned)c->n;
	if (c->n >= cap) {
		v->final = true;
		say(&v->reasons, "cap_reached", NULL, "not decided within %u repetitions", cap);
	} else if (in->ended && c->n - failed < 3) {
		v->final = true;
		v->kind = VERDICT_NO_RESULT;
		say(&v->reasons, "too_few", NULL, "%zu valid repetitions, at least 3 are needed",
		    c->n - failed);
	} else if (in->ended) {
		v->final = true;
		say(&v->reasons, "not_yet", NULL, "not decided after %zu repetitions", c->n);
	}
	if (v->final && failed > in->max_failed)
		say(&v->reasons, "repetition_failed", NULL, "%u failed repetition%s: no acceptance",
		    failed, failed == 1 ? "" : "s");
	if (in->has_bank && c->n)
		advise(in, c, v);
	else if (!in->has_bank)
		advise_first(in, c, v);
}

static bool statistics(const struct verdict_in *in, const struct cand *c, struct verdict *v)
{
	AUTO_FREE int *none = xmalloc(MAX(in->n_metrics, (size_t)1) * sizeof(int));

	if (in->has_bank) {
		for (size_t k = 0; k < in->n_looks && in->looks[k] <= c->n; k++)
			if (too_many_failed(in, c, in->looks[k], v) || second_look(in, c, k, v))
				return true;
	} else {
		for (size_t k = 0; k < in->n_first_looks && in->first_looks[k] <= c->n; k++)
			if (too_many_failed(in, c, in->first_looks[k], v) ||
			    first_look(in, c, in->first_looks[k], v))
				return true;
	}
	/* Between looks: numbers to show, nothing to decide. */
	for (size_t k = 0; k < in->n_metrics; k++)
		none[k] = -1;
	if (in->has_bank) {
		for (size_t k = in->n_looks; k-- > 0;) {
			if (in->looks[k] <= c->n) {
				counts_at(in, c, k, none);
				break;
			}
		}
	}
	numbers(in, c, c->n, none, v);
	return false;
}

void verdict_decide(const struct verdict_in *in, struct verdict *ret)
{
	struct verdict v = { .kind = VERDICT_INCONCLUSIVE,
			     .first = !in->has_bank,
			     .n_bank = in->n_bank };
	struct cand c;

	cand_make(in, &c);
	v.used = (unsigned)c.n;
	v.failed = failed_in(&c, c.n);
	for (size_t i = 0; i < in->n_reps; i++) {
		if (in->reps[i].state == REP_EXCLUDED) {
			v.excluded++;
			say(&v.notes, "repetition_excluded", NULL,
			    "repetition %zu was left out: %s", i + 1,
			    in->reps[i].reason ? in->reps[i].reason : "no reason was recorded");
		}
	}
	if (!void_baseline(in, &v) && !checks(in, &v) && !too_many_failed(in, &c, c.n, &v) &&
	    !unmeasured(in, &c, c.n, &v) && !statistics(in, &c, &v))
		undecided(in, &c, &v);
	cand_release(&c, in->n_metrics);
	*ret = v;
}

char *verdict_plan(const struct verdict_in *in)
{
	struct str s = { 0 };
	struct cand c;

	if (!in->has_bank)
		return xstrdup("first acceptance: at least 5 repetitions, every objective to hold "
			       "in 9 of 10 starts");
	cand_make(in, &c);
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];
		double sd = c.n_bank[k] > 1 ? stdev(c.bank[k], c.n_bank[k]) : NAN;
		double smallest;

		if (!m->gate || isnan(m->margin) || c.n_bank[k] < 5 || isnan(sd))
			continue;
		smallest = k_m[MIN(c.n_bank[k], (size_t)12)] * sd;
		AUTO_FREE char *can = verdict_percent(smallest, m->abs_scale);
		AUTO_FREE char *want = verdict_percent(delta_of(m), m->abs_scale);

		str_addf(&s, "%s%s: margin %s, this bank of %zu decides %s or more%s",
			 s.n ? "\n" : "", m->name, want, c.n_bank[k], can,
			 smallest > delta_of(m) ? " (too noisy: likely inconclusive)" : "");
	}
	cand_release(&c, in->n_metrics);
	return s.n ? str_steal(&s) : NULL;
}
