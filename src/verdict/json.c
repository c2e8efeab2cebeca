/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

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
	if (x->has_limit) {
		json_put(o, "limit", in_unit(x->limit, x->unit));
		json_put_int(o, "over", x->over);
		json_put(o, "upper", in_unit(x->upper, x->unit));
	}
	if (!isnan(x->shift)) {
		json_put(o, "accepted", in_unit(x->bank_median, x->unit));
		json_put(o, "cov_accepted_e9", e9(x->cov_bank));
		json_put(o, "shift_e9", e9(x->shift));
		json_put(o, "lcb_e9", e9(x->lcb));
		json_put(o, "ucb_e9", e9(x->ucb));
		json_put(o, "p_worse_e9", e9(x->p_worse));
		json_put_str(o, "label", verdict_label_name(x->label));
	}
	if (!isnan(x->delta)) {
		json_put(o, "margin_e9", e9(x->delta));
		json_put(o, "p_adjusted_e9", e9(x->p_adjusted));
		json_put_bool(o, "gross", x->gross);
	}
	if (x->noisier > 0)
		json_put(o, "noisier_e9", e9(x->noisier));
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
	for (size_t i = 0; i < v->numbers.n; i++)
		(void)json_array_append_new(a, number(&v->numbers.v[i]));
	json_put(o, "numbers", a);
	json_put_int(o, "more", v->more);
	json_put_str(o, "advice", v->advice);
	return o;
}
