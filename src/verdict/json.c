/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include "base/err.h"
#include <math.h>

char *verdict_percent(double shift, bool abs_scale)
{
	double x = abs_scale ? 100 * shift : 100 * expm1(shift);

	if (isnan(shift))
		return xstrdup("unknown");
	if (isinf(shift))
		return xstrdup(shift > 0 ? "inf" : "-inf");
	if (!abs_scale && x >= 900)
		return xasprintf("%.3gx", exp(shift));
	return xasprintf(fabs(x) >= 100 ? "%.0f %s" : "%.3g %s", x, abs_scale ? "points" : "%");
}

/* ---- writing -----------------------------------------------------------------------------------
 * */

static json_t *e9(double v)
{
	double x = round(v * 1e9);

	if (isnan(v))
		return json_null();
	if (fabs(x) > 9007199254740991.)
		return json_string(v > 0 ? "inf" : "-inf");
	return json_integer((json_int_t)x);
}

static json_t *in_unit(double v, enum unit u)
{
	int64_t i;

	if (isnan(v))
		return json_null();
	return quantity_to_int(v, u, &i) ? json_integer(i) : json_string(v > 0 ? "inf" : "-inf");
}

static json_t *reasons(const struct verdict_reasons *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "code", l->v[i].code);
		json_put_str(o, "about", l->v[i].about);
		json_put_str(o, "text", l->v[i].text);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static const char *const held_names[] = { "no", "repetitions", "bank" };

static void put_limit(json_t *o, const struct verdict_number *x)
{
	json_put(o, "limit", in_unit(x->limit, x->unit));
	json_put_bool(o, "over_limit", x->over_limit);
	json_put_int(o, "over", x->over);
	json_put(o, "over_share_e9", e9(x->over_share));
	json_put(o, "upper", in_unit(x->upper, x->unit));
	json_put_str(o, "held", held_names[x->held]);
}

static void put_shift(json_t *o, const struct verdict_number *x)
{
	json_put(o, "shift_e9", e9(x->shift));
	json_put(o, "lcb_e9", e9(x->lcb));
	json_put(o, "ucb_e9", e9(x->ucb));
	json_put(o, "p_worse_e9", e9(x->p_worse));
	json_put(o, "low_e9", e9(x->lo));
	json_put(o, "high_e9", e9(x->hi));
	json_put(o, "level_e9", e9(x->level));
	json_put_int(o, "count", x->count);
	json_put_str(o, "label", verdict_label_name(x->label));
	if (isnan(x->delta))
		return;
	json_put(o, "margin_e9", e9(x->delta));
	json_put(o, "p_adjusted_e9", e9(x->p_adjusted));
	json_put_bool(o, "gross", x->gross);
}

static json_t *number(const struct verdict_number *x)
{
	json_t *o = json_object();

	json_put_str(o, "name", x->name);
	json_put_str(o, "unit", unit_name(x->unit));
	json_put_str(o, "better", direction_name(x->dir));
	json_put_str(o, "scale", x->abs_scale ? "abs" : "log");
	json_put_bool(o, "gate", x->gate);
	json_put(o, "candidate", in_unit(x->cand_median, x->unit));
	json_put(o, "cov_candidate_e9", e9(x->cov_cand));
	if (x->has_limit)
		put_limit(o, x);
	if (!isnan(x->shift)) {
		json_put(o, "accepted", in_unit(x->bank_median, x->unit));
		json_put(o, "cov_accepted_e9", e9(x->cov_bank));
		put_shift(o, x);
	}
	if (!isnan(x->session_p))
		json_put(o, "session_p_e9", e9(x->session_p));
	if (x->noisier > 0)
		json_put(o, "noisier_e9", e9(x->noisier));
	return o;
}

static json_t *number_list(const struct verdict_numbers *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, number(&l->v[i]));
	return a;
}

/* At a look only what moves from look to look; the rest stands in `numbers`. */
static json_t *look(const struct verdict_look *l)
{
	json_t *o = json_object(), *a = json_array();

	json_put_int(o, "look", l->look);
	json_put_int(o, "failed", l->failed);
	json_put_str(o, "verdict", verdict_code(l->kind));
	for (size_t i = 0; i < l->numbers.n; i++) {
		const struct verdict_number *x = &l->numbers.v[i];
		json_t *m = json_object();

		json_put_str(m, "name", x->name);
		if (x->has_limit)
			json_put_int(m, "over", x->over);
		if (!isnan(x->shift))
			put_shift(m, x);
		(void)json_array_append_new(a, m);
	}
	json_put(o, "numbers", a);
	return o;
}

static const char *const answer_methods[] = { "tango", "bootstrap", "agreement", "equal",
					      "signed_rank" };

static json_t *answer(const struct verdict_answer *x)
{
	json_t *o = json_object();

	json_put_str(o, "name", x->name);
	json_put_str(o, "kind", verdict_answer_kind_name(x->kind));
	json_put_str(o, "state", verdict_answer_state_name(x->state));
	json_put_str(o, "method", x->method);
	json_put_int(o, "n", x->n);
	json_put_int(o, "lost", x->lost);
	json_put_int(o, "won", x->won);
	json_put_int(o, "clusters", x->clusters);
	json_put(o, "accepted_e9", e9(x->before));
	json_put(o, "candidate_e9", e9(x->now));
	json_put(o, "change_e9", e9(x->change));
	json_put(o, "low_e9", e9(x->low));
	json_put(o, "high_e9", e9(x->high));
	json_put(o, "margin_e9", e9(x->margin));
	json_put(o, "mcnemar_p_e9", e9(x->mcnemar));
	json_put(o, "rate_accepted_e9", e9(x->rate_own));
	json_put(o, "rate_candidate_e9", e9(x->rate_now));
	json_put(o, "log_ratio_e9", e9(x->log_ratio));
	json_put(o, "log_ratio_se_e9", e9(x->log_ratio_se));
	json_put_int(o, "needed", x->needed);
	return o;
}

json_t *verdict_to_json(const struct verdict *v)
{
	json_t *o = json_object(), *a = json_array();

	json_put_str(o, "verdict", verdict_code(v->kind));
	json_put_bool(o, "decided", v->final);
	json_put_bool(o, "first", v->first);
	json_put_int(o, "look", v->look);
	json_put_int(o, "used", v->used);
	json_put_int(o, "failed", v->failed);
	json_put_int(o, "excluded", v->excluded);
	json_put_int(o, "bank", (int64_t)v->n_bank);
	json_put(o, "reasons", reasons(&v->reasons));
	json_put(o, "notes", reasons(&v->notes));
	json_put(o, "numbers", number_list(&v->numbers));
	for (size_t i = 0; i < v->trace.n; i++)
		(void)json_array_append_new(a, look(&v->trace.v[i]));
	json_put(o, "trace", a);
	if (v->answers.n)
		json_put(o, "answers", json_array());
	for (size_t i = 0; i < v->answers.n; i++)
		(void)json_array_append_new(json_object_get(o, "answers"),
					    answer(&v->answers.v[i]));
	json_put_int(o, "more", v->more);
	json_put_bool(o, "more_rejects", v->more_rejects);
	json_put_bool(o, "futile", v->futile);
	json_put_str(o, "advice", v->advice);
	return o;
}

/* ---- reading -----------------------------------------------------------------------------------
 * */

/* An integer / scale, "inf", "-inf", null or absent (NAN). */
static int get_scaled(const json_t *o, const char *key, double scale, double *ret, struct err *err)
{
	const json_t *j = json_object_get(o, key);

	if (!j || json_is_null(j))
		*ret = NAN;
	else if (json_is_integer(j))
		*ret = (double)json_integer_value(j) / scale;
	else if (json_is_string(j) && streq(json_string_value(j), "inf"))
		*ret = INFINITY;
	else if (json_is_string(j) && streq(json_string_value(j), "-inf"))
		*ret = -INFINITY;
	else
		return bail(err, ERR_PARSE, "verdict: '%s' is not a number of a record", key);
	return 0;
}

static int get_unsigned(const json_t *o, const char *key, unsigned *ret, struct err *err)
{
	int64_t v;

	TRY(json_get_int(o, key, &v, err));
	if (v < 0 || v > INT32_MAX)
		return bail(err, ERR_RANGE, "verdict: '%s' is out of range", key);
	*ret = (unsigned)v;
	return 0;
}

/* Index of a member's text in a list of names. */
static int get_name(const json_t *o, const char *key, const char *const *names, size_t n,
		    size_t *ret, struct err *err)
{
	const char *s;

	TRY(json_get_str(o, key, &s, err));
	for (size_t i = 0; i < n; i++) {
		if (streq(names[i], s)) {
			*ret = i;
			return 0;
		}
	}
	return bail(err, ERR_PARSE, "verdict: '%s' is no %s", s, key);
}

static int get_kind(const json_t *o, enum verdict_kind *ret, struct err *err)
{
	const char *s;

	TRY(json_get_str(o, "verdict", &s, err));
	if (!verdict_parse(sv_of(s), ret))
		return bail(err, ERR_PARSE, "verdict: '%s' is no verdict", s);
	return 0;
}

static int get_reasons(const json_t *o, const char *key, struct verdict_reasons *ret,
		       struct err *err)
{
	const json_t *x;
	json_t *a;
	size_t i;

	TRY(json_get_arr(o, key, &a, err));
	json_array_foreach(a, i, x)
	{
		struct verdict_reason *r = VEC_ADD(ret);
		const char *code, *text;

		TRY(json_get_str(x, "code", &code, err));
		TRY(json_get_str(x, "text", &text, err));
		r->code = xstrdup(code);
		r->text = xstrdup(text);
		r->about = xstrdup(json_str_or(x, "about", NULL));
	}
	return 0;
}

static int get_shift(const json_t *o, struct verdict_number *x, struct err *err)
{
	const char *names[LABEL_OPEN + 1];
	int64_t count;
	size_t label;

	for (int l = 0; l <= LABEL_OPEN; l++)
		names[l] = verdict_label_name((enum verdict_label)l);
	TRY(get_scaled(o, "shift_e9", 1e9, &x->shift, err));
	TRY(get_scaled(o, "lcb_e9", 1e9, &x->lcb, err));
	TRY(get_scaled(o, "ucb_e9", 1e9, &x->ucb, err));
	TRY(get_scaled(o, "p_worse_e9", 1e9, &x->p_worse, err));
	TRY(get_scaled(o, "low_e9", 1e9, &x->lo, err));
	TRY(get_scaled(o, "high_e9", 1e9, &x->hi, err));
	TRY(get_scaled(o, "level_e9", 1e9, &x->level, err));
	TRY(get_scaled(o, "margin_e9", 1e9, &x->delta, err));
	TRY(get_scaled(o, "p_adjusted_e9", 1e9, &x->p_adjusted, err));
	x->gross = json_bool_or(o, "gross", false);
	TRY(json_get_int(o, "count", &count, err));
	if (count < -1 || count > INT32_MAX)
		return bail(err, ERR_RANGE, "verdict: 'count' is out of range");
	x->count = (int)count;
	TRY(get_name(o, "label", names, ARRAY_SIZE(names), &label, err));
	x->label = (enum verdict_label)label;
	return 0;
}

static const struct verdict_number nothing = { .bank_median = NAN,
					       .cand_median = NAN,
					       .limit = NAN,
					       .shift = NAN,
					       .lcb = -INFINITY,
					       .ucb = INFINITY,
					       .delta = NAN,
					       .p_worse = NAN,
					       .p_adjusted = NAN,
					       .count = -1,
					       .cov_bank = NAN,
					       .cov_cand = NAN,
					       .session_p = NAN,
					       .lo = NAN,
					       .hi = NAN,
					       .level = NAN,
					       .upper = NAN };

static int get_limit(const json_t *o, struct verdict_number *x, struct err *err)
{
	size_t held;

	x->has_limit = true;
	x->over_limit = json_bool_or(o, "over_limit", false);
	TRY(get_scaled(o, "limit", unit_scale(x->unit), &x->limit, err));
	TRY(get_scaled(o, "upper", unit_scale(x->unit), &x->upper, err));
	TRY(get_scaled(o, "over_share_e9", 1e9, &x->over_share, err));
	TRY(get_unsigned(o, "over", &x->over, err));
	TRY(get_name(o, "held", held_names, ARRAY_SIZE(held_names), &held, err));
	x->held = (enum verdict_held)held;
	return 0;
}

static int get_number(const json_t *o, struct verdict_number *x, struct err *err)
{
	static const char *const scales[] = { "log", "abs" };
	const char *name, *unit, *better;
	size_t scale;

	TRY(json_get_str(o, "name", &name, err));
	x->name = xstrdup(name);
	TRY(json_get_str(o, "unit", &unit, err));
	TRY(json_get_str(o, "better", &better, err));
	if (!unit_parse_name(sv_of(unit), &x->unit))
		return bail(err, ERR_PARSE, "verdict: unknown unit '%s'", unit);
	if (!direction_parse(sv_of(better), &x->dir))
		return bail(err, ERR_PARSE, "verdict: unknown direction '%s'", better);
	TRY(get_name(o, "scale", scales, 2, &scale, err));
	x->abs_scale = scale == 1;
	x->gate = json_bool_or(o, "gate", false);
	TRY(get_scaled(o, "candidate", unit_scale(x->unit), &x->cand_median, err));
	TRY(get_scaled(o, "cov_candidate_e9", 1e9, &x->cov_cand, err));
	if (json_object_get(o, "limit"))
		TRY(get_limit(o, x, err));
	if (json_object_get(o, "shift_e9")) {
		TRY(get_scaled(o, "accepted", unit_scale(x->unit), &x->bank_median, err));
		TRY(get_scaled(o, "cov_accepted_e9", 1e9, &x->cov_bank, err));
		TRY(get_shift(o, x, err));
	}
	TRY(get_scaled(o, "session_p_e9", 1e9, &x->session_p, err));
	TRY(get_scaled(o, "noisier_e9", 1e9, &x->noisier, err));
	if (isnan(x->noisier))
		x->noisier = 0;
	return 0;
}

static int get_answer_rates(const json_t *o, struct verdict_answer *x, struct err *err)
{
	TRY(get_scaled(o, "mcnemar_p_e9", 1e9, &x->mcnemar, err));
	TRY(get_scaled(o, "rate_accepted_e9", 1e9, &x->rate_own, err));
	TRY(get_scaled(o, "rate_candidate_e9", 1e9, &x->rate_now, err));
	TRY(get_scaled(o, "log_ratio_e9", 1e9, &x->log_ratio, err));
	return get_scaled(o, "log_ratio_se_e9", 1e9, &x->log_ratio_se, err);
}

static int get_answer(const json_t *o, struct verdict_answer *x, struct err *err)
{
	const char *kinds[ANSWER_PAIRS + 1], *states[ANSWER_UNMEASURED + 1], *name;
	size_t kind, state, method;

	for (int k = 0; k <= ANSWER_PAIRS; k++)
		kinds[k] = verdict_answer_kind_name((enum verdict_answer_kind)k);
	for (int k = 0; k <= ANSWER_UNMEASURED; k++)
		states[k] = verdict_answer_state_name((enum verdict_answer_state)k);
	TRY(json_get_str(o, "name", &name, err));
	x->name = xstrdup(name);
	TRY(get_name(o, "kind", kinds, ARRAY_SIZE(kinds), &kind, err));
	TRY(get_name(o, "state", states, ARRAY_SIZE(states), &state, err));
	TRY(get_name(o, "method", answer_methods, ARRAY_SIZE(answer_methods), &method, err));
	x->kind = (enum verdict_answer_kind)kind;
	x->state = (enum verdict_answer_state)state;
	x->method = answer_methods[method];
	TRY(get_unsigned(o, "n", &x->n, err));
	TRY(get_unsigned(o, "lost", &x->lost, err));
	TRY(get_unsigned(o, "won", &x->won, err));
	TRY(get_unsigned(o, "clusters", &x->clusters, err));
	TRY(get_unsigned(o, "needed", &x->needed, err));
	TRY(get_scaled(o, "accepted_e9", 1e9, &x->before, err));
	TRY(get_scaled(o, "candidate_e9", 1e9, &x->now, err));
	TRY(get_scaled(o, "change_e9", 1e9, &x->change, err));
	TRY(get_scaled(o, "low_e9", 1e9, &x->low, err));
	TRY(get_scaled(o, "high_e9", 1e9, &x->high, err));
	TRY(get_scaled(o, "margin_e9", 1e9, &x->margin, err));
	return get_answer_rates(o, x, err);
}

static int get_look(const json_t *o, struct verdict_look *l, struct err *err)
{
	const json_t *x;
	json_t *a;
	size_t i;

	TRY(get_unsigned(o, "look", &l->look, err));
	TRY(get_unsigned(o, "failed", &l->failed, err));
	TRY(get_kind(o, &l->kind, err));
	TRY(json_get_arr(o, "numbers", &a, err));
	json_array_foreach(a, i, x)
	{
		struct verdict_number *n = VEC_ADD(&l->numbers);
		const char *name;

		*n = nothing;
		TRY(json_get_str(x, "name", &name, err));
		n->name = xstrdup(name);
		if (json_object_get(x, "over")) {
			n->has_limit = true;
			TRY(get_unsigned(x, "over", &n->over, err));
		}
		if (json_object_get(x, "shift_e9"))
			TRY(get_shift(x, n, err));
	}
	return 0;
}

static int get_counts(const json_t *j, struct verdict *v, struct err *err)
{
	unsigned bank;

	TRY(get_unsigned(j, "look", &v->look, err));
	TRY(get_unsigned(j, "used", &v->used, err));
	TRY(get_unsigned(j, "failed", &v->failed, err));
	TRY(get_unsigned(j, "excluded", &v->excluded, err));
	TRY(get_unsigned(j, "bank", &bank, err));
	TRY(get_unsigned(j, "more", &v->more, err));
	v->n_bank = bank;
	v->final = json_bool_or(j, "decided", false);
	v->first = json_bool_or(j, "first", false);
	v->more_rejects = json_bool_or(j, "more_rejects", false);
	v->futile = json_bool_or(j, "futile", false);
	v->advice = xstrdup(json_str_or(j, "advice", NULL));
	return 0;
}

int verdict_from_json(const json_t *j, struct verdict *ret, struct err *err)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	const json_t *x;
	json_t *a;
	size_t i;

	TRY(get_kind(j, &v.kind, err));
	TRY(get_counts(j, &v, err));
	TRY(get_reasons(j, "reasons", &v.reasons, err));
	TRY(get_reasons(j, "notes", &v.notes, err));
	TRY(json_get_arr(j, "numbers", &a, err));
	json_array_foreach(a, i, x)
	{
		struct verdict_number *n = VEC_ADD(&v.numbers);

		*n = nothing;
		TRY(get_number(x, n, err));
	}
	TRY(json_get_arr(j, "trace", &a, err));
	json_array_foreach(a, i, x) TRY(get_look(x, VEC_ADD(&v.trace), err));
	a = json_object_get(j, "answers");
	json_array_foreach(a, i, x) TRY(get_answer(x, VEC_ADD(&v.answers), err));
	*ret = v;
	v = (struct verdict){ 0 };
	return 0;
}
