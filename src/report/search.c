/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for the component found, in words: the same in every form. */
#include "report/internal.h"

#include <math.h>

void report_cause_line(const json_t *d, struct str *out)
{
	const char *component = json_str_or(d, "component", NULL);
	const char *layer = json_str_or(d, "layer", "undetermined");
	const char *owner = json_str_or(d, "owner", NULL);

	if (streq(layer, "none"))
		str_add(out, "cause: nothing in the stack");
	else if (streq(layer, "undetermined"))
		str_addf(out, "cause: undetermined%s%s", component ? ", perhaps " : "",
			 component ? component : "");
	else
		str_addf(out, "cause: %s, layer %s", component ? component : "not named", layer);
	if (json_str_or(d, "second_layer", NULL))
		str_addf(out, " with a part of layer %s", json_str_or(d, "second_layer", ""));
	if (owner && !streq(owner, "none"))
		str_addf(out, " (owner: %s)", owner);
	str_addf(out, "; trigger: %s", json_str_or(d, "trigger", "unknown"));
}

bool report_search_leads(const json_t *search)
{
	const char *state = json_str_or(search, "state", "");

	return streq(state, "found") || streq(state, "outside") || streq(state, "vanished");
}

static void names(const json_t *list, const char *between, struct str *out)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		str_addf(out, "%s%s", i ? between : "", json_string_value(json_array_get(list, i)));
}

void report_search_share(const json_t *o, const char *share, const char *low, const char *high,
			 struct str *out)
{
	double x = view_e9(o, share), lo = view_e9(o, low), hi = view_e9(o, high);

	if (!isfinite(x)) {
		str_add(out, "a share of the loss that cannot be told");
		return;
	}
	str_addf(out, "%.0f %% of the loss", 100 * x);
	if (isfinite(lo) && isfinite(hi))
		str_addf(out, " [%.0f, %.0f]", 100 * lo, 100 * hi);
	else
		str_add(out, " [cannot be bounded]");
}

void report_search_line(const json_t *search, struct str *out)
{
	const char *state = json_str_or(search, "state", "");
	const json_t *a = json_object_get(search, "answer");
	const char *kind = json_str_or(a, "kind", "");
	const json_t *l = json_object_get(a, "components");

	if (streq(state, "outside")) {
		str_add(out, "none of the components that changed: all old is as bad now");
	} else if (streq(state, "vanished")) {
		str_add(out, "none of the components that changed: all new is as good now, it "
			     "does not reproduce");
	} else if (streq(state, "found")) {
		names(l, streq(kind, "and") ? " together with " : " and ", out);
		str_add(out, ": ");
		report_search_share(a, "share_e9", "low_e9", "high_e9", out);
		str_addf(out, ", %.1f %% sure", 100 * view_e9(a, "posterior_e9"));
	} else {
		str_addf(out, "%s%s%s", state, json_str_or(search, "reason", NULL) ? ": " : "",
			 json_str_or(search, "reason", ""));
	}
}

const char *report_search_kind(const json_t *search)
{
	const char *kind = json_str_or(json_object_get(search, "answer"), "kind", "");

	if (!streq(json_str_or(search, "state", ""), "found"))
		return NULL;
	return streq(kind, "and")   ? "an interaction: neither alone is enough, both are needed"
	       : streq(kind, "add") ? "no interaction: each of them brings about half of the loss"
				    : NULL;
}

static void effect(const json_t *f, const char *key, const char *half, const char *label,
		   struct str *out)
{
	double v = view_e9(f, key), h = view_e9(f, half);

	str_addf(out, "%s %+.1f +- %.1f %%%s", label, 100 * v, 100 * h,
		 fabs(v) > h ? "" : " (could be nothing)");
}

void report_search_factorial(const json_t *f, struct str *out)
{
	const char *a = json_str_or(f, "a", "?"), *b = json_str_or(f, "b", "?");
	AUTO_FREE char *first = xasprintf("%s alone", a);
	AUTO_FREE char *second = xasprintf("%s alone", b);

	str_addf(out, "full plan of %s and %s: ", a, b);
	if (!json_bool_or(f, "complete", false)) {
		str_add(out, "not complete yet");
		return;
	}
	effect(f, "a_e9", "a_half_e9", first, out);
	str_add(out, ", ");
	effect(f, "b_e9", "b_half_e9", second, out);
	str_add(out, ", ");
	effect(f, "interaction_e9", "interaction_half_e9", "more than both added", out);
}

void report_search_way(const json_t *search, bool back, struct str *out)
{
	const json_t *a = json_object_get(search, "answer");
	int64_t n = json_int_or(a, back ? "back_trials" : "forward_trials", 0);

	str_add(out, back ? "all new but there: " : "only new there: ");
	if (!n) {
		str_add(out, "not tried");
		return;
	}
	if (back)
		report_search_share(a, "back_e9", "back_low_e9", "back_high_e9", out);
	else
		report_search_share(a, "forward_e9", "forward_low_e9", "forward_high_e9", out);
	str_addf(out, ", %lld trial%s", (long long)n, n == 1 ? "" : "s");
}
