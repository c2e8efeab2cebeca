/* SPDX-License-Identifier: Apache-2.0 */
/* The run as test cases: checks, repetitions, objectives, margins, and the verdict at last. */
#include "report/internal.h"

#include "base/vec.h"

void report_cases_release(struct report_cases *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].message);
		free(l->v[i].kind);
	}
	free(l->v);
	*l = (struct report_cases){ 0 };
}

static struct report_case *add(struct report_cases *l, const char *suite, char *name,
			       enum case_result r, const char *kind, const char *message)
{
	struct report_case *c = VEC_ADD(l);

	*c = (struct report_case){ .suite = suite, .name = name, .result = r };
	if (r != CASE_PASS) {
		c->kind = xstrdup(kind);
		c->message = xstrdup(message);
	}
	return c;
}

/* A check that the contract does not require can't fail a build; a doubtful one is never a pass. */
static void add_check(struct report_cases *l, const char *suite, const json_t *o, const char *where)
{
	const char *result = json_str_or(o, "result", "unknown");
	bool required = json_bool_or(o, "required", true);
	const char *why = json_str_or(o, "reason", "no reason given"),
		   *owner = json_str_or(o, "owner", NULL);
	AUTO_FREE char *message =
		xasprintf("%s%s: %s%s%s", required ? "" : "not required: ", result, why,
			  owner ? "; who acts: " : "", owner ? owner : "");
	enum case_result r = CASE_ERROR;
	struct report_case *c;

	if (streq(result, "PASS"))
		r = CASE_PASS;
	else if (streq(result, "SKIP") || !required)
		r = CASE_SKIP;
	else if (streq(result, "FAIL"))
		r = CASE_FAIL;
	c = add(l, suite,
		xasprintf("%s%s", json_str_or(o, "check", "a check without a name"), where), r,
		result, message);
	c->took_ns = json_int_or(o, "took_ns", 0);
}

static void add_rep(struct report_cases *l, const char *suite, const json_t *r, size_t number)
{
	const char *state = json_str_or(r, "state", "unknown");
	const json_t *list = json_object_get(r, "outcomes"), *o;
	AUTO_FREE char *where = xasprintf(" in repetition %zu", number);
	enum case_result result = streq(state, "ok")         ? CASE_PASS
				  : streq(state, "failed")   ? CASE_FAIL
				  : streq(state, "excluded") ? CASE_SKIP
							     : CASE_ERROR;
	size_t i;

	add(l, suite, xasprintf("repetition %zu", number), result, state,
	    json_str_or(r, "reason", "no reason given"));
	json_array_foreach(list, i, o)
	{
		if (!streq(json_str_or(o, "result", ""), "PASS"))
			add_check(l, suite, o, where);
	}
}

static void add_number(struct report_cases *l, const char *suite, const json_t *x)
{
	enum unit u = view_unit(x);
	bool abs = streq(json_str_or(x, "scale", ""), "abs");
	AUTO_FREE char *limit = view_quantity(json_object_get(x, "limit"), u);
	AUTO_FREE char *now = view_quantity(json_object_get(x, "candidate"), u);
	AUTO_FREE char *before = view_quantity(json_object_get(x, "accepted"), u);
	AUTO_FREE char *shift = view_percent(view_e9(x, "shift_e9"), abs);
	AUTO_FREE char *margin = view_percent(view_e9(x, "margin_e9"), abs);
	AUTO_FREE char *interval = view_interval(x);
	const char *name = json_str_or(x, "name", ""), *label = json_str_or(x, "label", "none");

	if (json_object_get(x, "limit")) {
		bool over = json_bool_or(x, "over_limit", false);
		AUTO_FREE char *m = xasprintf("%s, limit %s, over it in %lld", now, limit,
					      (long long)json_int_or(x, "over", 0));
		bool open = !over && streq(json_str_or(x, "held", "no"), "no");

		add(l, suite, xasprintf("objective %s", name),
		    over   ? CASE_FAIL
		    : open ? CASE_SKIP
			   : CASE_PASS,
		    over ? "over_limit" : "undecided", m);
	}
	if (json_bool_or(x, "gate", false) && json_object_get(x, "shift_e9")) {
		bool bad = streq(label, "regressed") || json_bool_or(x, "gross", false);
		bool open = !bad && (streq(label, "none") || streq(label, "open"));
		AUTO_FREE char *m = xasprintf("%s -> %s, worse by %s (interval: %s), margin %s",
					      before, now, shift, interval, margin);

		add(l, suite, xasprintf("margin %s", name),
		    bad    ? CASE_FAIL
		    : open ? CASE_SKIP
			   : CASE_PASS,
		    bad ? "regression" : "undecided", m);
	}
}

static void add_verdict(struct report_cases *l, const json_t *report)
{
	const json_t *a = json_object_get(view_decision(report), "reasons"), *x;
	enum verdict_kind k = view_kind(report);
	struct str why CLEANUP(str_release) = { 0 };
	enum case_result r = CASE_ERROR;
	struct report_case *c;
	size_t i;

	str_add(&why, view_sentence(report));
	json_array_foreach(a, i, x)
	{
		str_addf(&why, "\n%s", json_str_or(x, "text", ""));
	}
	if (json_object_get(report, "search")) {
		str_add(&why, "\nBy trials of 'twice bisect': ");
		report_search_line(json_object_get(report, "search"), &why);
	}
	if (view_verdict_tone(k) == TONE_GOOD)
		r = CASE_PASS;
	else if (k == VERDICT_REJECTED)
		r = CASE_FAIL;
	c = add(l, "verdict",
		xasprintf("%s",
			  json_str_or(json_object_get(report, "verdict"), "workload", "workload")),
		r, view_code(report), str_text(&why));
	c->took_ns = json_int_or(json_object_get(report, "times"), "took_ns", 0);
}

void report_cases_read(const json_t *report, struct report_cases *ret)
{
	const json_t *checks = json_object_get(report, "checks"),
		     *reps = json_object_get(report, "reps");
	const json_t *numbers = json_object_get(view_decision(report), "numbers"), *o;
	size_t i;

	for (int layer = 0; layer <= LAYER_N; layer++) {
		const char *suite =
			layer < LAYER_N ? check_layer_name((enum check_layer)layer) : "other";

		json_array_foreach(checks, i, o)
		{
			enum check_layer is;

			if (!check_layer_parse(sv_of(json_str_or(o, "layer", "")), &is))
				is = LAYER_N;
			if ((int)is == layer)
				add_check(ret, suite, o, "");
		}
		if (layer != LAYER_WORKLOAD)
			continue;
		json_array_foreach(reps, i, o)
		{
			add_rep(ret, suite, o, i + 1);
		}
		json_array_foreach(numbers, i, o)
		{
			add_number(ret, suite, o);
		}
	}
	add_verdict(ret, report);
}
