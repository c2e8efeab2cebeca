/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/stat.h"

#include <math.h>

/* Equal? Else where the two part: tokens up to and with the first difference; a text that is the
 * beginning of the other parts from it at its own end. */
static bool same_text(const struct text *a, const struct text *b, double *ret_tokens)
{
	size_t common = MIN(a->n, b->n), i = 0;

	while (i < common && a->token[i] == b->token[i])
		i++;
	if (i == a->n && i == b->n) {
		*ret_tokens = (double)i;
		return true;
	}
	*ret_tokens = (double)i + 1;
	return false;
}

void text_agree(const struct text_prompt *p, struct text_agreement *ret)
{
	double equal = 0, pairs = 0, tokens;

	*ret = (struct text_agreement){ .self = NAN, .cross = NAN };
	for (size_t i = 0; i < p->n_base; i++)
		for (size_t j = i + 1; j < p->n_base; j++) {
			bool same = same_text(&p->base[i], &p->base[j], &tokens);

			equal += same;
			pairs++;
			ret->diverged_self += !same;
			ret->tokens_self += tokens;
		}
	if (pairs > 0)
		ret->self = equal / pairs;
	equal = pairs = 0;
	for (size_t i = 0; i < p->n_base; i++)
		for (size_t j = 0; j < p->n_cand; j++) {
			bool same = same_text(&p->base[i], &p->cand[j], &tokens);

			equal += same;
			pairs++;
			ret->diverged_cross += !same;
			ret->tokens_cross += tokens;
		}
	if (pairs > 0)
		ret->cross = equal / pairs;
}

/* ln of the ratio of the two rates, of all prompts but one (SIZE_MAX: of all). */
static double log_ratio(const struct text_agreement *a, size_t n, size_t without)
{
	double ds = 0, ts = 0, dc = 0, tc = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == without)
			continue;
		ds += a[i].diverged_self;
		ts += a[i].tokens_self;
		dc += a[i].diverged_cross;
		tc += a[i].tokens_cross;
	}
	return log(dc / tc) - log(ds / ts);
}

static double jackknife_error(const struct text_agreement *a, size_t n)
{
	AUTO_FREE double *v = xcalloc(n, sizeof(*v));
	double m, s = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = log_ratio(a, n, i);
	m = mean(v, n);
	for (size_t i = 0; i < n; i++)
		s += (v[i] - m) * (v[i] - m);
	return n > 1 ? sqrt(s * (double)(n - 1) / (double)n) : NAN;
}

void text_divergence(const struct text_prompt *p, size_t n, struct text_divergence *ret)
{
	AUTO_FREE struct text_agreement *a = xcalloc(n, sizeof(*a));
	AUTO_FREE double *drop = xcalloc(n, sizeof(*drop));
	struct text_agreement all = { 0 };

	*ret = (struct text_divergence){ 0 };
	for (size_t i = 0; i < n; i++) {
		text_agree(&p[i], &a[i]);
		ret->self += a[i].self / (double)n;
		ret->cross += a[i].cross / (double)n;
		drop[i] = a[i].self - a[i].cross;
		all.diverged_self += a[i].diverged_self;
		all.tokens_self += a[i].tokens_self;
		all.diverged_cross += a[i].diverged_cross;
		all.tokens_cross += a[i].tokens_cross;
	}
	ret->drop = mean(drop, n);
	ret->se_drop = stdev(drop, n) / sqrt((double)n);
	ret->upper99 =
		n > 1 ? ret->drop + t_quantile(0.99, (double)(n - 1)) * ret->se_drop : INFINITY;
	ret->rate_self = all.diverged_self / all.tokens_self;
	ret->rate_cross = all.diverged_cross / all.tokens_cross;
	ret->log_ratio = log_ratio(a, n, SIZE_MAX);
	ret->se_log_ratio = jackknife_error(a, n);
	/* A stack that always agrees with itself has no rate to compare with. */
	if (!isfinite(ret->log_ratio))
		ret->log_ratio = ret->se_log_ratio = NAN;
	if (!isfinite(ret->se_log_ratio))
		ret->se_log_ratio = NAN;
}
