/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include <math.h>

static double pooled_sd(const double *bank, size_t m, const double *w, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(double));
	size_t k = finite_of(w, n, v);
	double a = m > 1 ? stdev(bank, m) : 0, b = k > 1 ? stdev(v, k) : 0;
	double da = m > 1 ? (double)(m - 1) : 0, db = k > 1 ? (double)(k - 1) : 0;

	return da + db < 1 ? NAN : sqrt((da * a * a + db * b * b) / (da + db));
}

static double reach_of(struct series *s, size_t k)
{
	const struct verdict_in *in = s->in;
	int c[VERDICT_MAX_LOOKS];

	series_counts(s, k, c);
	return sequential_reach((unsigned)s->n_bank[k], in->looks, in->n_looks, in->alpha, c);
}

struct hope {
	unsigned more;
	bool rejects, futile;
};

/* When would this metric's margin likely be decided? */
static void hope_of_margin(struct series *s, size_t k, const struct verdict_number *x,
			   unsigned gates, struct hope *ret)
{
	const struct verdict_in *in = s->in;
	struct plan_look looks[VERDICT_MAX_LOOKS];
	double sd = pooled_sd(s->bank[k], s->n_bank[k], s->w[k], s->n);
	double shift = isnan(x->shift) ? 0 : x->shift;
	int c[VERDICT_MAX_LOOKS];

	*ret = (struct hope){ 0 };
	series_counts(s, k, c);
	plan_looks((unsigned)s->n_bank[k], in->looks, c, in->n_looks, sd, gates, in->alpha_reject,
		   in->rho, looks);
	ret->more = plan_more(looks, in->n_looks, shift, x->delta, (unsigned)s->n, &ret->rejects);
	ret->futile = !ret->more;
}

/* Below its margin it would also meet this objective, as far as the bank shows. */
static bool bank_carries(const struct series *s, size_t k)
{
	const struct verdict_metric *m = &s->in->metrics[k];
	size_t n = s->n_bank[k];
	double upper;

	if (!s->in->has_bank || n < VERDICT_MIN_BANK || !m->gate || isnan(m->margin))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (isfinite(s->w[k][i]) && s->w[k][i] > limit_of(m))
			return false;
	upper = mean(s->bank[k], n) +
		tolerance_factor((unsigned)n, 0.90, 0.98) * stdev(s->bank[k], n) + delta_of(m);
	return upper <= limit_of(m);
}

/* When would its objective be shown by its own repetitions, if they go on as they were? */
static void hope_of_objective(const struct series *s, size_t k, const unsigned *looks,
			      size_t n_looks, struct hope *ret)
{
	const struct verdict_metric *m = &s->in->metrics[k];
	AUTO_FREE double *v = xcalloc(s->n, sizeof(double));
	size_t n = finite_of(s->w[k], s->n, v);
	double room = n > 1 ? limit_of(m) - mean(v, n) : NAN, sd = stdev(v, n);

	*ret = (struct hope){ .futile = true };
	for (size_t i = 0; i < n_looks; i++) {
		if (looks[i] <= s->n || looks[i] < VERDICT_MIN_FIRST)
			continue;
		if (n > 1 && !(room >= tolerance_factor(looks[i], 0.90, 0.98) * sd))
			continue;
		*ret = (struct hope){ .more = looks[i] - (unsigned)s->n };
		return;
	}
}

static PRINTF(2, 3) void advice(struct verdict *v, const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	free(v->advice);
	v->advice = str_steal(&s);
}

static void advise_margin_futile(struct series *s, size_t k, const struct verdict_number *x,
				 struct verdict *v)
{
	double sd = pooled_sd(s->bank[k], s->n_bank[k], s->w[k], s->n);
	AUTO_FREE char *could = verdict_percent(reach_of(s, k) * sd, x->abs_scale);
	AUTO_FREE char *noise = xasprintf("%.2g %s", 100 * sd, x->abs_scale ? "points" : "%");

	v->futile = true;
	v->more = 0;
	if (isfinite(reach_of(s, k)))
		advice(v,
		       "%s is not likely decided within %u repetitions at this noise (%s): the "
		       "smallest margin that could be is %s",
		       x->name, series_cap(s->in), noise, could);
	else
		advice(v, "%s cannot be decided within %u repetitions against a bank of %zu",
		       x->name, series_cap(s->in), s->n_bank[k]);
}

static void advise_objective_futile(const struct series *s, size_t k,
				    const struct verdict_number *x, struct verdict *v)
{
	AUTO_FREE double *w = xcalloc(s->n, sizeof(double));
	size_t n = finite_of(s->w[k], s->n, w);
	double sd = stdev(w, n);
	double room = n > 1 ? limit_of(&s->in->metrics[k]) - mean(w, n) : NAN;

	v->futile = true;
	v->more = 0;
	if (series_cap(s->in) < VERDICT_MIN_FIRST)
		advice(v,
		       "%d repetitions are the least that can show an objective, the contract "
		       "stops at %u",
		       VERDICT_MIN_FIRST, series_cap(s->in));
	else if (sd > 0)
		advice(v,
		       "%s is %.1f standard deviations from its limit: too close to be shown "
		       "within "
		       "%u repetitions",
		       x->name, room / sd, series_cap(s->in));
	else
		advice(v, "%s cannot be shown to hold within %u repetitions", x->name,
		       series_cap(s->in));
}

/* A failed repetition stays in the series: no acceptance where none is allowed. */
static bool barred(const struct series *s)
{
	unsigned failed = series_failed(s, s->n);

	return failed > s->in->max_failed || (failed && !s->in->has_bank);
}

void advise(struct series *s, struct verdict *v)
{
	const struct verdict_in *in = s->in;
	unsigned gates = 0, most = 0;
	bool rejects = false;

	for (size_t k = 0; k < v->numbers.n; k++)
		gates += number_gates(&v->numbers.v[k]);
	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_number *x = &v->numbers.v[k];
		struct hope h = { 0 };

		if (number_gates(x) && s->n_bank[k] >= 2 && !isinf(x->shift) &&
		    !(x->ucb < x->delta)) {
			hope_of_margin(s, k, x, gates, &h);
			if (h.futile) {
				advise_margin_futile(s, k, x, v);
				return;
			}
		}
		if (h.more > most) {
			most = h.more;
			rejects = h.rejects;
		}
		if (!x->has_limit || in->metrics[k].across || x->held != HELD_NO ||
		    bank_carries(s, k))
			continue;
		hope_of_objective(s, k, in->has_bank ? in->looks : in->first_looks,
				  in->has_bank ? in->n_looks : in->n_first_looks, &h);
		if (h.futile && !rejects) {
			advise_objective_futile(s, k, x, v);
			return;
		}
		if (h.more > most) {
			most = h.more;
			rejects = false;
		}
	}
	if (!rejects && barred(s)) {
		advice(v, "a repetition failed: this series cannot be accepted any more");
		v->futile = true;
		return;
	}
	if (!most)
		return;
	v->more = most;
	v->more_rejects = rejects;
	advice(v, "%u more repetition%s, likely %s", most, most == 1 ? "" : "s",
	       rejects ? "rejected" : "accepted");
}

/* At a first acceptance: what these repetitions, as a bank, can decide later. */
void outlook(const struct series *s, struct verdict *v)
{
	static const unsigned recommended = 10;
	size_t m = MIN((size_t)v->look, (size_t)VERDICT_MAX_BANK);

	for (size_t k = 0; k < v->numbers.n; k++) {
		const struct verdict_metric *x = &s->in->metrics[k];
		double spend[6], now, then, delta = delta_of(x);
		static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 };
		AUTO_FREE char *margin = NULL;
		int c[6];

		if (!x->gate || x->across || isnan(x->margin) || x->abs_scale)
			continue;
		sequential_spend(6, spend);
		(void)sequential_counts((unsigned)m, looks, spend, 6, 0.01, c, NULL);
		now = delta / sequential_reach((unsigned)m, looks, 6, 0.01, c);
		(void)sequential_counts(recommended, looks, spend, 6, 0.01, c, NULL);
		then = delta / sequential_reach(recommended, looks, 6, 0.01, c);
		margin = verdict_percent(delta, false);
		say(&v->notes, "outlook", x->name,
		    "%s varies by %.2g %%; with these %zu repetitions a later check for %s is "
		    "decided up to %.2g %%%s",
		    x->name, 100 * v->numbers.v[k].cov_cand, m, margin, 100 * now,
		    m >= recommended ? "" : ", with 10 up to ");
		if (m < recommended) {
			struct verdict_reason *r = &v->notes.v[v->notes.n - 1];
			char *longer = xasprintf("%s%.2g %%", r->text, 100 * then);

			free(r->text);
			r->text = longer;
		}
	}
}

/* ---- before the first repetition ------------------------------------------------------------- */

static void expect_metric(struct series *s, size_t k, unsigned gates, struct verdict_expect *ret)
{
	const struct verdict_in *in = s->in;
	double sd = stdev(s->bank[k], s->n_bank[k]), delta = delta_of(&in->metrics[k]);
	struct plan_look looks[VERDICT_MAX_LOOKS];
	int c[VERDICT_MAX_LOOKS];
	bool rejects;
	unsigned n;

	series_counts(s, k, c);
	plan_looks((unsigned)s->n_bank[k], in->looks, c, in->n_looks, sd, gates, in->alpha_reject,
		   in->rho, looks);
	n = plan_more(looks, in->n_looks, 0, delta, 0, &rejects);
	if (!n || reach_of(s, k) * sd > delta)
		ret->decidable = false;
	ret->likely = MAX(ret->likely, n ? n : ret->cap);
}

void verdict_expect(const struct verdict_in *in, struct verdict_expect *ret)
{
	struct series s CLEANUP(series_release) = { 0 };
	unsigned gates = 0;

	*ret = (struct verdict_expect){ .decidable = true, .cap = series_cap(in) };
	if (!in->has_bank) {
		ret->decidable = ret->cap >= VERDICT_MIN_FIRST;
		ret->likely = MIN(ret->cap, (unsigned)VERDICT_MIN_FIRST);
		return;
	}
	series_make(in, &s);
	for (size_t k = 0; k < in->n_metrics; k++)
		gates += in->metrics[k].gate && !isnan(in->metrics[k].margin);
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];

		if (!m->gate || m->across || isnan(m->margin))
			continue;
		if (s.n_bank[k] < VERDICT_MIN_BANK)
			ret->decidable = false;
		else
			expect_metric(&s, k, gates, ret);
	}
	if (!ret->likely)
		ret->likely = MIN(ret->cap, in->looks[0]);
}

static void plan_metric(struct series *s, size_t k, struct str *to)
{
	const struct verdict_metric *m = &s->in->metrics[k];
	double sd = stdev(s->bank[k], s->n_bank[k]), reach = reach_of(s, k);
	AUTO_FREE char *can = verdict_percent(reach * sd, m->abs_scale);
	AUTO_FREE char *want = verdict_percent(delta_of(m), m->abs_scale);

	str_addf(to, "%s%s: ", to->n ? "\n" : "", m->name);
	if (s->n_bank[k] < VERDICT_MIN_BANK)
		str_addf(to,
			 "the accepted run has %zu usable repetitions, %d are needed: "
			 "inconclusive",
			 s->n_bank[k], VERDICT_MIN_BANK);
	else if (isinf(reach))
		str_addf(to, "margin %s, cannot be decided within %u repetitions", want,
			 series_cap(s->in));
	else
		str_addf(to, "margin %s, this bank of %zu decides %s or more%s", want, s->n_bank[k],
			 can, reach * sd > delta_of(m) ? " (too noisy: likely inconclusive)" : "");
}

char *verdict_plan(const struct verdict_in *in)
{
	struct series s CLEANUP(series_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	struct verdict_expect e;

	verdict_expect(in, &e);
	if (!in->has_bank)
		return xasprintf("first acceptance: at least %d repetitions, every objective to "
				 "hold in 9 of 10 starts%s",
				 VERDICT_MIN_FIRST,
				 e.decidable ? ""
					     : "; the contract stops before that: inconclusive");
	series_make(in, &s);
	for (size_t k = 0; k < in->n_metrics; k++)
		if (in->metrics[k].gate && !in->metrics[k].across && !isnan(in->metrics[k].margin))
			plan_metric(&s, k, &text);
	if (text.n && e.decidable)
		str_addf(&text,
			 "\nlikely decided after %u of at most %u repetitions when nothing "
			 "changed",
			 e.likely, e.cap);
	return text.n ? str_steal(&text) : NULL;
}
