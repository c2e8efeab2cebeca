/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right answers. Scored items are paired, so only those that flip count; "p > 0.05, so equal" would
 * accept a true loss of a point two times in three. Generated texts differ between runs of one and
 * the same stack, so the baseline is how often the accepted stack equals itself.
 */
#include "verdict/internal.h"

#include <math.h>

static bool judge_items(const struct verdict_items *x, struct verdict *v,
			struct verdict_reasons *open)
{
	double at = norm_quantile(0.99), z = tango_z(x->items, x->lost, x->won, x->margin);
	double lower = tango_lower(x->items, x->lost, x->won, 0.99);
	double diff = x->items ? ((double)x->won - x->lost) / x->items : NAN;

	if (!x->items) {
		say(open, "items_unmeasured", x->name, "%s: no item was scored both times",
		    x->name);
		return false;
	}
	if (z > at)
		return false;
	if (z < -at) {
		say(&v->reasons, "items_worse", x->name,
		    "%s: %u of %u items were lost and %u won, %.2f points; the margin is %.2g",
		    x->name, x->lost, x->items, x->won, 100 * diff, 100 * x->margin);
		return true;
	}
	say(open, "items_undecided", x->name,
	    "%s: the score may have fallen by %.2f points (99 %%), the margin is %.2g; about %.0f "
	    "items would decide",
	    x->name, -100 * lower, 100 * x->margin,
	    items_needed(MAX((double)(x->lost + x->won) / x->items, 1. / x->items), x->margin, 0.01,
			 0.05));
	return false;
}

static bool judge_texts(const struct verdict_texts *x, struct verdict *v,
			struct verdict_reasons *open)
{
	struct text_divergence d;
	double lower;

	text_divergence(x->prompts, x->n_prompts, &d);
	if (!x->n_prompts || isnan(d.drop)) {
		say(open, "texts_unmeasured", x->name,
		    "%s: a prompt lacks two accepted texts or one of the candidate's", x->name);
		return false;
	}
	say(&v->notes, "texts_agreement", x->name,
	    "%s: the accepted stack agrees with itself in %.1f %%, the candidate with it in %.1f "
	    "%%",
	    x->name, 100 * d.self, 100 * d.cross);
	if (x->invariant && d.cross < 1) {
		say(&v->reasons, "texts_differ", x->name,
		    "%s: texts differ, and the engine claims that they never do", x->name);
		return true;
	}
	if (x->invariant || d.upper99 < x->margin)
		return false;
	lower = 2 * d.drop - d.upper99;
	if (lower > x->margin) {
		say(&v->reasons, "texts_worse", x->name,
		    "%s: agreement fell by %.1f points (99 %%: %.1f or more), the margin is %.2g",
		    x->name, 100 * d.drop, 100 * lower, 100 * x->margin);
		return true;
	}
	say(open, "texts_undecided", x->name,
	    "%s: agreement may have fallen by %.1f points (99 %%), the margin is %.2g; more "
	    "prompts "
	    "would decide",
	    x->name, 100 * d.upper99, 100 * x->margin);
	return false;
}

bool rule_correct(const struct verdict_in *in, struct verdict *v, struct verdict_reasons *open)
{
	bool worse = false;

	for (size_t i = 0; i < in->n_items; i++)
		worse |= judge_items(&in->items[i], v, open);
	for (size_t i = 0; i < in->n_texts; i++)
		worse |= judge_texts(&in->texts[i], v, open);
	return worse ? decided(v, VERDICT_REJECTED, 0) : false;
}
