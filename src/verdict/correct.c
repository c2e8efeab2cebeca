/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right answers. Scored items are paired, so only those that flip count; "p > 0.05, so equal" would
 * accept a true loss of a point two times in three. Generated texts differ between runs of one and
 * the same stack, so the baseline is how often the accepted stack equals itself. Losses at a fixed
 * step are paired by seed, so that the seed's own luck goes out.
 */
#include "verdict/internal.h"

#include <math.h>

enum { REPLICATES = 4000, BOOTSTRAP_MOST = 4000 };

static struct verdict_answer *add_answer(struct verdict *v, enum verdict_answer_kind kind,
					 const char *name, const char *method, double margin)
{
	struct verdict_answer *a = VEC_ADD(&v->answers);

	*a = (struct verdict_answer){ .name = xstrdup(name),
				      .kind = kind,
				      .state = ANSWER_UNMEASURED,
				      .method = method,
				      .before = NAN,
				      .now = NAN,
				      .change = NAN,
				      .low = NAN,
				      .high = NAN,
				      .margin = margin,
				      .mcnemar = NAN,
				      .rate_own = NAN,
				      .rate_now = NAN,
				      .log_ratio = NAN,
				      .log_ratio_se = NAN };
	return a;
}

static void answer_release(struct verdict_answer *a)
{
	free(a->name);
	*a = (struct verdict_answer){ 0 };
}

void answers_release(struct verdict_answers *l)
{
	for (size_t i = 0; i < l->n; i++)
		answer_release(&l->v[i]);
	free(l->v);
	*l = (struct verdict_answers){ 0 };
}

const char *verdict_answer_kind_name(enum verdict_answer_kind k)
{
	static const char *const names[] = { "items", "texts", "pairs" };

	return names[k];
}

const char *verdict_answer_state_name(enum verdict_answer_state s)
{
	static const char *const names[] = { "held", "worse", "open", "unmeasured" };

	return names[s];
}

/* ---- scored items ---------------------------------------------------------------------------- */

static double mean_of(const void *arg, const size_t *pick, size_t n)
{
	const struct items_cluster *c = arg;
	double sum = 0, items = 0;

	for (size_t i = 0; i < n; i++) {
		sum += c[pick[i]].sum;
		items += c[pick[i]].items;
	}
	return sum / items;
}

/* One-sided 99 % bounds of a ratio of sums, by its linear approximation: what the bootstrap comes
 * to with thousands of clusters. */
static void normal_bounds(const struct verdict_items *x, double change, double *lo, double *hi)
{
	double n = (double)x->n_clusters, items = 0, squares = 0, half;

	for (size_t i = 0; i < x->n_clusters; i++) {
		double e = x->clusters[i].sum - change * x->clusters[i].items;

		items += x->clusters[i].items;
		squares += e * e;
	}
	half = norm_quantile(0.99) * sqrt(squares * n / (n - 1)) / items;
	*lo = change - half;
	*hi = change + half;
}

static void cluster_bounds(const struct verdict_items *x, struct verdict_answer *a)
{
	AUTO_FREE size_t *all = xcalloc(x->n_clusters, sizeof(*all));
	struct bootstrap b = { 0 };
	double lost = 0, won = 0;

	for (size_t i = 0; i < x->n_clusters; i++) {
		double mean = x->clusters[i].sum / x->clusters[i].items;

		all[i] = i;
		lost += MAX(-mean, 0.0);
		won += MAX(mean, 0.0);
	}
	a->change = mean_of(x->clusters, all, x->n_clusters);
	a->low = a->high = a->change;
	if (lost + won > 0 && x->n_clusters > BOOTSTRAP_MOST) {
		normal_bounds(x, a->change, &a->low, &a->high);
	} else if (lost + won > 0) {
		bootstrap_bca(mean_of, x->clusters, x->n_clusters, REPLICATES, 1, 0.98, &b);
		a->low = b.lo;
		a->high = b.hi;
	}
	/* Few flips are not none: never surer than the counts of whole clusters. */
	a->low = MIN(a->low, tango_lower((unsigned)x->n_clusters, (unsigned)ceil(lost),
					 (unsigned)floor(won), 0.99));
	a->high = MAX(a->high, -tango_lower((unsigned)x->n_clusters, (unsigned)ceil(won),
					    (unsigned)floor(lost), 0.99));
}

static unsigned as_count(double x)
{
	return x > 0 && x < 1e9 ? (unsigned)ceil(x) : 0;
}

/* So many (items, clusters) would tell this change from the margin with 95 % power, if it stays
 * what it seems: n now, spread sd each. 0: it lies too near the margin to say. */
static unsigned would_decide(const struct verdict_answer *a, double n, double sd, double margin)
{
	double z = norm_quantile(0.99) + norm_quantile(0.95), gap = fabs(margin + a->change);

	return gap < margin / 50 ? 0 : as_count(MAX(pow(z * sd / gap, 2), n + 1));
}

static void judge_clusters(const struct verdict_items *x, struct verdict_answer *a)
{
	a->method = "bootstrap";
	a->clusters = (unsigned)x->n_clusters;
	cluster_bounds(x, a);
	if (x->n_clusters < VERDICT_MIN_CLUSTERS)
		a->state = ANSWER_OPEN;
	else
		a->state = a->low > -x->margin    ? ANSWER_HELD
			   : a->high < -x->margin ? ANSWER_WORSE
						  : ANSWER_OPEN;
	if (a->state == ANSWER_OPEN)
		a->needed = MAX(would_decide(a, (double)x->n_clusters,
					     (a->change - a->low) / norm_quantile(0.99) *
						     sqrt((double)x->n_clusters),
					     x->margin),
				(unsigned)VERDICT_MIN_CLUSTERS);
}

static void judge_counts(const struct verdict_items *x, struct verdict_answer *a)
{
	double at = norm_quantile(0.99), z = tango_z(x->items, x->lost, x->won, x->margin);

	a->mcnemar = mcnemar_exact(x->lost, x->won);
	a->change = ((double)x->won - x->lost) / x->items;
	a->low = tango_lower(x->items, x->lost, x->won, 0.99);
	a->high = -tango_lower(x->items, x->won, x->lost, 0.99);
	a->state = z > at ? ANSWER_HELD : z < -at ? ANSWER_WORSE : ANSWER_OPEN;
	if (a->state == ANSWER_OPEN) {
		double flips = MAX((double)(x->lost + x->won) / x->items, 1. / x->items);

		a->needed = would_decide(a, x->items, sqrt(flips), x->margin);
	}
}

static void note_items(const struct verdict_items *x, const struct verdict_answer *a,
		       struct verdict *v)
{
	AUTO_FREE char *shares = x->before > 0 || x->now > 0
					 ? xasprintf("%.2f %% right before, %.2f %% now; ",
						     100 * x->before, 100 * x->now)
					 : xstrdup("");
	AUTO_FREE char *rest = a->clusters
				       ? xasprintf("%u clusters", a->clusters)
				       : xasprintf("McNemar's p is %.2g, shown only", a->mcnemar);

	say(&v->notes, "items_score", x->name,
	    "%s: %s%u of %u items lost and %u won, %+.2f points (99 %%: %+.2f or more); margin "
	    "%.3g; %s",
	    x->name, shares, x->lost, x->items, x->won, 100 * a->change, 100 * a->low,
	    100 * x->margin, rest);
}

static void open_items(const struct verdict_items *x, const struct verdict_answer *a,
		       struct verdict_reasons *open)
{
	const char *what = a->clusters ? "clusters of items" : "items";
	AUTO_FREE char *would = a->needed ? xasprintf("about %u %s would decide", a->needed, what)
					  : xasprintf("no number of %s decides that", what);

	say(open, "items_undecided", x->name,
	    "%s: the score may have fallen by %.2f points (99 %%), the margin is %.2g; %s", x->name,
	    -100 * a->low, 100 * x->margin, would);
}

static bool judge_items(const struct verdict_items *x, struct verdict *v,
			struct verdict_reasons *open)
{
	struct verdict_answer *a = add_answer(v, ANSWER_ITEMS, x->name, "tango", x->margin);

	a->n = x->items;
	if (!x->items) {
		say(open, "items_unmeasured", x->name, "%s: no item was scored both times",
		    x->name);
		return false;
	}
	a->lost = x->lost;
	a->won = x->won;
	a->before = x->before;
	a->now = x->now;
	if (x->clusters)
		judge_clusters(x, a);
	else
		judge_counts(x, a);
	note_items(x, a, v);
	if (a->state == ANSWER_WORSE)
		say(&v->reasons, "items_worse", x->name,
		    "%s: %u of %u items were lost and %u won, %.2f points; the margin is %.2g",
		    x->name, x->lost, x->items, x->won, 100 * a->change, 100 * x->margin);
	else if (a->state == ANSWER_OPEN)
		open_items(x, a, open);
	return a->state == ANSWER_WORSE;
}

char *verdict_items_plan(const char *name, unsigned items, double margin)
{
	double z = norm_quantile(0.99) + norm_quantile(0.95);
	double flips = items * margin * margin / (z * z);

	return xasprintf("%s: %u items decide a margin of %.3g points when up to %.2g %% of them "
			 "flip; with 6 %% flipping it takes %.0f",
			 name, items, 100 * margin, 100 * MIN(flips, 1.0),
			 ceil(items_needed(0.06, margin, 0.01, 0.05)));
}

/* ---- generated texts ------------------------------------------------------------------------- */

static void note_texts(const struct verdict_texts *x, const struct text_divergence *d,
		       struct verdict *v)
{
	AUTO_FREE char *rates =
		d->rate_self > 0 && d->rate_cross > 0
			? xasprintf("; they part every %.0f tokens, it from them every %.0f",
				    1 / d->rate_self, 1 / d->rate_cross)
			: xstrdup("");

	say(&v->notes, "texts_agreement", x->name,
	    "%s: the accepted stack agrees with itself in %.1f %%, the candidate with it in %.1f "
	    "%%%s",
	    x->name, 100 * d->self, 100 * d->cross, rates);
}

static bool judge_texts(const struct verdict_texts *x, struct verdict *v,
			struct verdict_reasons *open)
{
	struct verdict_answer *a = add_answer(v, ANSWER_TEXTS, x->name,
					      x->invariant ? "equal" : "agreement", x->margin);
	struct text_divergence d;

	text_divergence(x->prompts, x->n_prompts, &d);
	a->n = (unsigned)x->n_prompts;
	if (!x->n_prompts || isnan(d.drop)) {
		say(open, "texts_unmeasured", x->name,
		    "%s: a prompt lacks two accepted texts or one of the candidate's", x->name);
		return false;
	}
	a->before = d.self;
	a->now = d.cross;
	a->change = -d.drop;
	a->low = -d.upper99;
	a->high = d.upper99 - 2 * d.drop;
	a->rate_own = d.rate_self;
	a->rate_now = d.rate_cross;
	a->log_ratio = d.log_ratio;
	a->log_ratio_se = d.se_log_ratio;
	note_texts(x, &d, v);
	if (x->invariant) {
		a->state = d.cross < 1 ? ANSWER_WORSE : ANSWER_HELD;
		if (a->state == ANSWER_WORSE)
			say(&v->reasons, "texts_differ", x->name,
			    "%s: texts differ, and the engine claims that they never do", x->name);
		return a->state == ANSWER_WORSE;
	}
	a->state = d.upper99 < x->margin  ? ANSWER_HELD
		   : a->high < -x->margin ? ANSWER_WORSE
					  : ANSWER_OPEN;
	if (a->state == ANSWER_WORSE)
		say(&v->reasons, "texts_worse", x->name,
		    "%s: agreement fell by %.1f points (99 %%: %.1f or more), the margin is %.2g",
		    x->name, 100 * d.drop, -100 * a->high, 100 * x->margin);
	else if (a->state == ANSWER_OPEN)
		say(open, "texts_undecided", x->name,
		    "%s: agreement may have fallen by %.1f points (99 %%), the margin is %.2g; "
		    "more prompts would decide",
		    x->name, 100 * d.upper99, 100 * x->margin);
	return a->state == ANSWER_WORSE;
}

/* ---- losses by seed -------------------------------------------------------------------------- */

static bool judge_pairs(const struct verdict_pairs *x, struct verdict *v,
			struct verdict_reasons *open)
{
	struct verdict_answer *a =
		add_answer(v, ANSWER_PAIRS, x->name, "signed_rank", log1p(x->margin));
	AUTO_FREE double *d = xcalloc(x->n, sizeof(*d));
	AUTO_FREE double *was = xcalloc(x->n, sizeof(*was));
	AUTO_FREE double *is = xcalloc(x->n, sizeof(*is));
	double turn = x->dir == LOWER_IS_BETTER ? 1 : -1, shift, lcb, ucb;
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		if (!(x->bank[i] > 0 && x->cand[i] > 0) || !isfinite(x->bank[i] * x->cand[i]))
			continue;
		was[n] = x->bank[i];
		is[n] = x->cand[i];
		d[n++] = turn * (log(x->cand[i]) - log(x->bank[i]));
	}
	a->n = (unsigned)n;
	if (!n) {
		say(open, "pairs_unmeasured", x->name,
		    "%s: no seed of the accepted run has a value here", x->name);
		return false;
	}
	paired_shift(d, n, 0.99, &shift, &lcb, &ucb);
	a->before = median(was, n);
	a->now = median(is, n);
	a->change = -shift;
	a->low = -ucb;
	a->high = -lcb;
	a->state = ucb < a->margin ? ANSWER_HELD : lcb > a->margin ? ANSWER_WORSE : ANSWER_OPEN;
	AUTO_FREE char *by = verdict_percent(shift, false);
	AUTO_FREE char *margin = verdict_percent(a->margin, false);

	say(&v->notes, "pairs_loss", x->name,
	    "%s: %.5g -> %.5g over %zu seed%s, worse by %s; margin %s", x->name, a->before, a->now,
	    n, n == 1 ? "" : "s", by, margin);
	if (a->state == ANSWER_WORSE)
		say(&v->reasons, "pairs_worse", x->name,
		    "%s is worse by %s over %zu seeds, the margin is %s", x->name, by, n, margin);
	if (a->state != ANSWER_OPEN)
		return a->state == ANSWER_WORSE;
	a->needed = n < 7 ? 7 : 0;
	if (n < 7)
		say(open, "pairs_undecided", x->name,
		    "%s: %zu pairs of one seed can't show a margin of %s at 99 %%: 7 are the "
		    "fewest",
		    x->name, n, margin);
	else
		say(open, "pairs_undecided", x->name,
		    "%s: worse by %s over %zu seeds, which does not settle a margin of %s", x->name,
		    by, n, margin);
	return false;
}

bool rule_correct(const struct verdict_in *in, struct verdict *v, struct verdict_reasons *open)
{
	bool worse = false;

	for (size_t i = 0; in->has_bank && i < in->n_items; i++)
		worse |= judge_items(&in->items[i], v, open);
	for (size_t i = 0; in->has_bank && i < in->n_texts; i++)
		worse |= judge_texts(&in->texts[i], v, open);
	for (size_t i = 0; in->has_bank && i < in->n_pairs; i++)
		worse |= judge_pairs(&in->pairs[i], v, open);
	return worse ? decided(v, VERDICT_REJECTED, 0) : false;
}
