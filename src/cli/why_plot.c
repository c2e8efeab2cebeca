/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a verdict for a person: each metric in its own unit, its repetitions on one scale
 * with the margin and the limit in it, and what would have to be otherwise. */
#include "cli/why_plot.h"

#include "cli/text.h"
#include "model/model.h"
#include <math.h>

enum { PLOT = 64 };

/* One metric of the decision, out of its JSON. NAN: not there. */
struct metric {
	const char *name;
	enum unit unit;
	double scale; /* of the record */
	bool abs_scale, higher, gate;
	double accepted, candidate, limit;      /* in the record's unit */
	double shift, low, high, level, margin; /* worseness */
};

static double number_of(const json_t *o, const char *key, double scale)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_integer(v))
		return (double)json_integer_value(v) / scale;
	if (json_is_string(v))
		return streq(json_string_value(v), "-inf") ? -INFINITY : INFINITY;
	return NAN;
}

static struct metric metric_of(const json_t *x)
{
	struct metric m = { .name = json_str_or(x, "name", ""), .unit = UNIT_NONE };

	(void)unit_parse_name(sv_of(json_str_or(x, "unit", "none")), &m.unit);
	m.scale = unit_scale(m.unit);
	m.abs_scale = streq(json_str_or(x, "scale", ""), "abs");
	m.higher = streq(json_str_or(x, "better", ""), "higher");
	m.gate = json_bool_or(x, "gate", false);
	m.accepted = number_of(x, "accepted", m.scale);
	m.candidate = number_of(x, "candidate", m.scale);
	m.limit = number_of(x, "limit", m.scale);
	m.shift = number_of(x, "shift_e9", 1e9);
	m.low = number_of(x, "low_e9", 1e9);
	m.high = number_of(x, "high_e9", 1e9);
	m.level = number_of(x, "level_e9", 1e9);
	m.margin = m.gate ? number_of(x, "margin_e9", 1e9) : NAN;
	return m;
}

/* The accepted median made worse by so much. */
static double worse_by(const struct metric *m, double shift)
{
	double turned = m->higher ? -shift : shift;

	return m->abs_scale ? m->accepted + turned : m->accepted * exp(turned);
}

/* How much worse that is, in the unit: above 0 is worse. */
static char *loss_text(const struct metric *m, double shift)
{
	double d = worse_by(m, shift) - m->accepted;

	if (isinf(shift))
		return xstrdup(shift > 0 ? "inf" : "-inf");
	return quantity_text(m->higher ? -d : d, m->unit);
}

/* ---- the repetitions ------------------------------------------------------------------------- */

struct values {
	double *v;
	size_t n;
};

static void values_release(struct values *l)
{
	free(l->v);
	*l = (struct values){ 0 };
}

static void values_of(const json_t *reps, const char *arm, const struct metric *m,
		      struct values *ret)
{
	ret->v = xcalloc(json_array_size(reps), sizeof(double));
	for (size_t i = 0; i < json_array_size(reps); i++) {
		const json_t *r = json_array_get(reps, i), *l = json_object_get(r, "measured");

		for (size_t k = 0; streq(json_str_or(r, "arm", ""), arm) && k < json_array_size(l);
		     k++) {
			const json_t *x = json_array_get(l, k);

			if (streq(json_str_or(x, "name", ""), m->name) &&
			    json_is_integer(json_object_get(x, "value")))
				ret->v[ret->n++] = number_of(x, "value", m->scale);
		}
	}
}

static void span(const struct values *l, double *lo, double *hi)
{
	for (size_t i = 0; i < l->n; i++) {
		*lo = fmin(*lo, l->v[i]);
		*hi = fmax(*hi, l->v[i]);
	}
}

/* A mark belongs on the scale unless it would squeeze everything else into a corner. */
static void stretch(double mark, double *lo, double *hi)
{
	double width = fmax(*hi - *lo, fabs(*hi) * 0.02);

	if (isnan(mark) || mark < *lo - 3 * width || mark > *hi + 3 * width)
		return;
	*lo = fmin(*lo, mark);
	*hi = fmax(*hi, mark);
}

static size_t column(double x, double lo, double hi)
{
	return (size_t)((x - lo) / (hi - lo) * (PLOT - 1) + 0.5);
}

static void row(const char *label, const struct values *l, double lo, double hi,
		const size_t *marks, struct str *out)
{
	char line[PLOT + 1];

	memset(line, '.', PLOT);
	line[PLOT] = '\0';
	for (size_t k = 0; k < 2; k++)
		if (marks[k] < PLOT)
			line[marks[k]] = k ? '!' : '|';
	for (size_t i = 0; i < l->n; i++) {
		char *at = &line[column(l->v[i], lo, hi)];

		*at = *at == '9' || *at == '+' ? '+'
		      : *at < '1' || *at > '9' ? '1'
					       : (char)(*at + 1);
	}
	str_addf(out, "    %-10s [%s]\n", label, line);
}

static void axis(const struct metric *m, double lo, double hi, struct str *out)
{
	AUTO_FREE char *a = quantity_text(lo, m->unit), *b = quantity_text(hi, m->unit);
	int gap = PLOT - (int)strlen(b);

	str_addf(out, "    %-10s  %-*s%s\n", "", MAX(gap, (int)strlen(a) + 1), a, b);
}

static void plot(const json_t *reps, const struct metric *m, struct str *out)
{
	struct values before CLEANUP(values_release) = { 0 }, now CLEANUP(values_release) = { 0 };
	double edge = isnan(m->margin) ? NAN : worse_by(m, m->margin), lo = INFINITY,
	       hi = -INFINITY;
	size_t marks[2] = { PLOT, PLOT };

	values_of(reps, "accepted", m, &before);
	values_of(reps, "candidate", m, &now);
	span(&before, &lo, &hi);
	span(&now, &lo, &hi);
	if (!(hi >= lo))
		return;
	stretch(edge, &lo, &hi);
	stretch(m->limit, &lo, &hi);
	if (!(hi > lo))
		return; /* all the same: nothing to draw */
	if (edge >= lo && edge <= hi)
		marks[0] = column(edge, lo, hi);
	if (m->limit >= lo && m->limit <= hi)
		marks[1] = column(m->limit, lo, hi);
	if (before.n)
		row("accepted", &before, lo, hi, marks, out);
	row("candidate", &now, lo, hi, marks, out);
	axis(m, lo, hi, out);
	str_addf(out, "    %-10s  digits: repetitions there%s%s; %s is better\n", "",
		 marks[0] < PLOT ? "; | the margin" : "", marks[1] < PLOT ? "; ! the limit" : "",
		 m->higher ? "right" : "left");
}

/* ---- in words -------------------------------------------------------------------------------- */

static void compared(const struct metric *m, struct str *out)
{
	AUTO_FREE char *was = quantity_text(m->accepted, m->unit);
	AUTO_FREE char *is = quantity_text(m->candidate, m->unit);
	AUTO_FREE char *by = loss_text(m, m->shift), *lo = loss_text(m, m->low),
		       *hi = loss_text(m, m->high);

	str_addf(out, "    %s -> %s: worse by %s [%s, %s], at %.0f %%\n", was, is, by, lo, hi,
		 100 * m->level);
	if (!isnan(m->margin)) {
		AUTO_FREE char *edge = quantity_text(worse_by(m, m->margin), m->unit);
		AUTO_FREE char *room = loss_text(m, m->margin);

		str_addf(out, "    the margin ends at %s (%s worse)\n", edge, room);
	}
}

void why_metric(const json_t *reps, const json_t *number, struct str *out)
{
	struct metric m = metric_of(number);

	str_addf(out, "\n  %s%s\n", m.name, m.gate ? "" : isnan(m.limit) ? " (shown only)" : "");
	if (!isnan(m.shift) && !isnan(m.accepted)) {
		compared(&m, out);
	} else if (!isnan(m.candidate)) {
		AUTO_FREE char *is = quantity_text(m.candidate, m.unit);

		str_addf(out, "    median %s\n", is);
	}
	if (!isnan(m.limit)) {
		AUTO_FREE char *limit = quantity_text(m.limit, m.unit);
		AUTO_FREE char *upper = quantity_text(number_of(number, "upper", m.scale), m.unit);
		bool shown = !isnan(number_of(number, "upper", m.scale));

		str_addf(out, "    limit %s%s%s\n", limit,
			 shown ? "; 9 of 10 starts are expected within " : "", shown ? upper : "");
	}
	plot(reps, &m, out);
}

static void points(const json_t *a, const char *key, const char *fmt, struct str *out)
{
	double v = number_of(a, key, 1e9);

	if (isnan(v))
		str_add(out, "-");
	else
		str_addf(out, streq(fmt, "%") ? "%.2f %%" : "%+.2f", 100 * v);
}

/* Agreement, scores and losses by seed have no repetitions to draw: their interval is drawn. */
void why_answer(const json_t *a, struct str *out)
{
	const char *kind = json_str_or(a, "kind", "");
	bool pairs = streq(kind, "pairs");
	double lo = number_of(a, "low_e9", 1e9), hi = number_of(a, "high_e9", 1e9),
	       margin = number_of(a, "margin_e9", 1e9), at = number_of(a, "change_e9", 1e9);
	double least = fmin(fmin(lo, -margin), 0), most = fmax(fmax(hi, 0), margin);
	char line[PLOT + 1];

	str_addf(out, "\n  %s: %s, %lld %s\n    ", json_str_or(a, "name", ""),
		 json_str_or(a, "state", ""), (long long)json_int_or(a, "n", 0),
		 pairs                  ? "seeds"
		 : streq(kind, "texts") ? "prompts"
					: "items");
	if (isnan(at)) {
		str_add(out, "not measured on both sides\n");
		return;
	}
	if (pairs) {
		str_addf(out, "%.6g -> %.6g, ", number_of(a, "accepted_e9", 1e9),
			 number_of(a, "candidate_e9", 1e9));
	} else {
		points(a, "accepted_e9", "%", out);
		str_add(out, streq(kind, "texts") ? " equal with itself, " : " right before, ");
		points(a, "candidate_e9", "%", out);
		str_add(out, streq(kind, "texts") ? " with it; " : " now; ");
	}
	points(a, "change_e9", "+", out);
	str_add(out, " [");
	points(a, "low_e9", "+", out);
	str_add(out, ", ");
	points(a, "high_e9", "+", out);
	str_addf(out, "] %s (99 %% each side), the margin is -%.3g\n", pairs ? "%" : "points",
		 100 * margin);
	if (!isfinite(lo) || !isfinite(hi) || !(most > least))
		return;
	memset(line, '.', PLOT);
	line[PLOT] = '\0';
	for (size_t i = column(lo, least, most); i <= column(hi, least, most); i++)
		line[i] = '=';
	line[column(-margin, least, most)] = '|';
	line[column(at, least, most)] = '*';
	str_addf(out, "    %-10s [%s]\n    %-10s  %-+*.2f%+.2f\n", "change", line, "", PLOT - 6,
		 100 * least, 100 * most);
}
