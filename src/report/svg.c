/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strip plots: every repetition a mark, the accepted ones above, the candidate's below, on one
 * linear axis as wide as the repetitions, the margin's end and the limit need. A limit that is far
 * away is an arrow at the edge, so that it does not squash the rest.
 */
#include "report/internal.h"

#include <math.h>

enum {
	WIDTH = 460,
	LEFT = 66,
	RIGHT = 434,
	ROW_A = 44,
	ROW_C = 74,
	AXIS = 94,
	HEIGHT = 122,
};

double axis_step(double lo, double hi, unsigned most)
{
	double raw = (hi - lo) / most, ten, f;

	if (!(raw > 0) || isinf(raw))
		return 1;
	ten = pow(10, floor(log10(raw)));
	f = raw / ten;
	return ten * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10);
}

/* How numbers of an axis are written: value / factor with `decimals`, then the suffix. */
struct notation {
	double factor;
	int decimals;
	const char *suffix;
	char own[32];
};

struct prefix {
	double factor;
	const char *text;
};

static const struct prefix times[] = { { 1, "ns" },  { 1e3, "us" },   { 1e6, "ms" },
				       { 1e9, "s" }, { 60e9, "min" }, { 3600e9, "h" } };
static const struct prefix thousands[] = { { 1, "" },    { 1e3, "k" },  { 1e6, "M" },
					   { 1e9, "G" }, { 1e12, "T" }, { 1e15, "P" } };

static void plain_suffix(enum unit u, struct notation *n)
{
	AUTO_FREE char *one = quantity_text(1, u);
	const char *blank = strchr(one, ' ');

	(void)snprintf(n->own, sizeof(n->own), "%s", blank ? blank + 1 : "");
	n->suffix = n->own;
}

/* The largest step of a ladder that is not above the biggest value. */
static const struct prefix *rung(const struct prefix *l, size_t n, double biggest)
{
	const struct prefix *p = l;

	for (size_t i = 1; i < n; i++)
		/* Minutes and hours only from three on: "90 s" reads better than "1.5 min". */
		if (biggest >= l[i].factor * (l[i].factor == 60e9 || l[i].factor == 3600e9 ? 3 : 1))
			p = &l[i];
	return p;
}

static void prefixed(enum unit u, double biggest, struct notation *n)
{
	const struct prefix *p = rung(thousands, ARRAY_SIZE(thousands), biggest);
	const char *joined = u == UNIT_BYTES         ? "B"
			     : u == UNIT_BYTES_PER_S ? "B/s"
			     : u == UNIT_FLOP_PER_S  ? "FLOP/s"
			     : u == UNIT_HZ          ? "Hz"
						     : NULL;
	AUTO_FREE char *whole = joined ? xasprintf("%s%s", p->text, joined)
				       : xasprintf("%s%s%s", p->text, n->own[0] ? " " : "", n->own);

	(void)snprintf(n->own, sizeof(n->own), "%s", whole);
	n->factor = p->factor;
}

static void notation_for(enum unit u, double biggest, double step, struct notation *n)
{
	*n = (struct notation){ .factor = 1 };
	plain_suffix(u, n);
	if (u == UNIT_NS) {
		const struct prefix *p = rung(times, ARRAY_SIZE(times), biggest);

		n->suffix = p->text;
		n->factor = p->factor;
	} else if (u == UNIT_RATIO) {
		n->suffix = "%";
		n->factor = 0.01;
	} else if (biggest >= 1e4) {
		prefixed(u, biggest, n);
	}
	while (n->decimals < 9 && fabs(step / n->factor * pow(10, n->decimals) -
				       round(step / n->factor * pow(10, n->decimals))) > 1e-6)
		n->decimals++;
}

static void add_tick_text(struct str *out, double v, const struct notation *n, bool with_suffix)
{
	str_addf(out, "%.*f", n->decimals, fabs(v / n->factor) < 1e-12 ? 0. : v / n->factor);
	if (with_suffix && n->suffix[0])
		esc_xml_in(out, n->suffix[0] == '%' ? "" : " ", n->suffix, "");
}

struct plot {
	struct column bank, cand;
	enum unit unit;
	double lo, hi;            /* of the axis */
	double limit, edge;       /* NAN: none */
	bool limit_off, edge_off; /* beyond the axis: an arrow */
	bool higher;
};

static void plot_release(struct plot *p)
{
	column_release(&p->bank);
	column_release(&p->cand);
}

static void reach(struct plot *p, double x)
{
	if (!isfinite(x))
		return;
	p->lo = fmin(p->lo, x);
	p->hi = fmax(p->hi, x);
}

/* Takes a line into the axis when that costs the marks at most three quarters of its length. */
static bool line_off(struct plot *p, double x)
{
	double lo = fmin(p->lo, x), hi = fmax(p->hi, x);
	double span = p->hi - p->lo;

	if (!isfinite(x) || (x >= p->lo && x <= p->hi))
		return false;
	if (span > 0 ? hi - lo > 4 * span
		     : fabs(x - p->lo) > fabs(p->lo) && fpclassify(p->lo) != FP_ZERO)
		return true;
	reach(p, x);
	return false;
}

static bool plot_make(const json_t *report, const json_t *number, struct plot *p)
{
	const char *name = json_str_or(number, "name", "");
	double pad;

	p->unit = view_unit(number);
	p->higher = streq(json_str_or(number, "better", "lower"), "higher");
	p->limit = view_value(json_object_get(number, "limit"), p->unit);
	p->edge = view_margin_edge(number);
	column_read(json_object_get(report, "bank"), name, p->unit, &p->bank);
	column_read(json_object_get(report, "reps"), name, p->unit, &p->cand);
	p->lo = INFINITY;
	p->hi = -INFINITY;
	reach(p, p->bank.low);
	reach(p, p->bank.high);
	reach(p, p->cand.low);
	reach(p, p->cand.high);
	if (!(p->hi >= p->lo))
		return false;
	p->edge_off = line_off(p, p->edge);
	p->limit_off = line_off(p, p->limit);
	pad = p->hi > p->lo ? (p->hi - p->lo) * 0.06 : fabs(p->hi) * 0.05;
	if (!(pad > 0))
		pad = p->unit == UNIT_RATIO ? 0.005 : p->unit == UNIT_NS ? (double)NS_PER_MS : 1;
	/* No axis goes below zero or over 100 % for the sake of its margins. */
	p->lo = p->lo >= 0 ? fmax(0, p->lo - pad) : p->lo - pad;
	p->hi = p->unit == UNIT_RATIO && p->hi <= 1 ? fmin(1, p->hi + pad) : p->hi + pad;
	if (!(p->hi > p->lo))
		p->lo -= pad;
	return true;
}

static double at(const struct plot *p, double x)
{
	return LEFT + (x - p->lo) / (p->hi - p->lo) * (RIGHT - LEFT);
}

static void axis(const struct plot *p, struct str *out)
{
	double step = axis_step(p->lo, p->hi, 5);
	double first = ceil(p->lo / step - 1e-9) * step;
	struct notation n;

	notation_for(p->unit, fmax(fabs(p->lo), fabs(p->hi)), step, &n);
	str_addf(out, "<path class=\"axis\" d=\"M%d %dH%d\"/>", LEFT, AXIS, RIGHT);
	for (int i = 0; i < 12; i++) {
		double v = first + i * step;

		if (v > p->hi + step * 1e-9)
			break;
		str_addf(out, "<path class=\"grid\" d=\"M%.1f 30V%d\"/>", at(p, v), AXIS);
		str_addf(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">",
			 at(p, v), AXIS + 15);
		add_tick_text(out, v, &n, true);
		str_add(out, "</text>");
	}
}

/* Marks that would lie on each other move up and down in turn. */
static void marks(const struct plot *p, const struct column *c, int row, const char *class,
		  struct str *out)
{
	size_t infinite = 0;

	for (size_t i = 0; i < c->n; i++) {
		static const int shifts[] = { 0, -5, 5, -9, 9 };
		size_t near = 0;
		double x;

		if (isnan(c->v[i]))
			continue;
		if (isinf(c->v[i])) {
			infinite++;
			continue;
		}
		x = at(p, c->v[i]);
		for (size_t k = 0; k < i; k++)
			near += isfinite(c->v[k]) && fabs(at(p, c->v[k]) - x) < 7;
		str_addf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"4\"/>", class, x,
			 row + shifts[near % ARRAY_SIZE(shifts)]);
	}
	if (infinite)
		str_addf(out,
			 "<text class=\"bad-text\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%zu at "
			 "\u221e</text>",
			 WIDTH - 2, row + 16, infinite);
	if (isfinite(c->median))
		str_addf(out, "<path class=\"median %s\" d=\"M%.1f %dV%d\"/>", class,
			 at(p, c->median), row - 11, row + 11);
}

static void arm(const struct plot *p, const struct column *c, int row, const char *label,
		const char *class, struct str *out)
{
	if (!c->n)
		return;
	str_addf(out, "<text class=\"arm\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%s</text>",
		 LEFT - 8, row + 4, label);
	marks(p, c, row, class, out);
}

/* A vertical line with its name; or at the edge of the axis an arrow that says where it is. */
static void line(const struct plot *p, double v, bool off, const char *name, const char *class,
		 int y, struct str *out)
{
	AUTO_FREE char *text = quantity_text(v, p->unit);
	double x = off ? (v > p->hi ? RIGHT : LEFT) : at(p, v);
	bool left = x > (LEFT + RIGHT) / 2.;

	if (!isfinite(v))
		return;
	if (!off)
		str_addf(out, "<path class=\"line %s\" d=\"M%.1f %dV%d\"/>", class, x, y - 8, AXIS);
	str_addf(out, "<text class=\"line-text %s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%d\">%s%s ",
		 class, left ? "end" : "start",
		 off    ? x
		 : left ? x - 4
			: x + 4,
		 y, off && !left ? "\u2190 " : "", name);
	esc_xml(out, text);
	str_add(out, off && left ? " \u2192</text>" : "</text>");
}

/* What lies beyond the margin, shaded. */
static void shade(const struct plot *p, struct str *out)
{
	double from = p->higher ? LEFT : at(p, p->edge), to = p->higher ? at(p, p->edge) : RIGHT;

	if (isfinite(p->edge) && !p->edge_off && to > from)
		str_addf(
			out,
			"<rect class=\"beyond\" x=\"%.1f\" y=\"30\" width=\"%.1f\" height=\"%d\"/>",
			from, to - from, AXIS - 30);
}

static void describe_arm(const struct column *c, enum unit u, const char *who, struct str *out)
{
	AUTO_FREE char *med = quantity_text(c->median, u);
	AUTO_FREE char *lo = quantity_text(c->low, u);
	AUTO_FREE char *hi = quantity_text(c->high, u);

	if (!c->n)
		return;
	str_addf(out, "%s: %zu repetition%s", who, c->n, c->n == 1 ? "" : "s");
	if (c->finite)
		str_addf(out, ", median %s, from %s to %s", med, lo, hi);
	if (c->infinite)
		str_addf(out, ", %zu infinite", c->infinite);
	if (c->missing)
		str_addf(out, ", %zu without a number", c->missing);
	str_add(out, ". ");
}

static void describe(const struct plot *p, struct str *out)
{
	AUTO_FREE char *limit = quantity_text(p->limit, p->unit);
	AUTO_FREE char *edge = quantity_text(p->edge, p->unit);

	describe_arm(&p->bank, p->unit, "Accepted", out);
	describe_arm(&p->cand, p->unit, "Candidate", out);
	if (isfinite(p->edge))
		str_addf(out, "The margin ends at %s. ", edge);
	if (isfinite(p->limit))
		str_addf(out, "The limit is %s. ", limit);
	str_addf(out, "%s is better.", p->higher ? "Higher" : "Lower");
}

bool svg_strip(const json_t *report, const json_t *number, size_t id, struct str *out)
{
	struct plot p CLEANUP(plot_release) = { 0 };
	struct str words CLEANUP(str_release) = { 0 };

	if (!plot_make(report, number, &p))
		return false;
	describe(&p, &words);
	str_addf(out,
		 "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t%zu d%zu\"><title "
		 "id=\"t%zu\">",
		 WIDTH, HEIGHT, id, id, id);
	esc_xml(out, json_str_or(number, "name", ""));
	str_addf(out, "</title><desc id=\"d%zu\">", id);
	esc_xml(out, str_text(&words));
	str_add(out, "</desc>");
	shade(&p, out);
	axis(&p, out);
	line(&p, p.edge, p.edge_off, "margin", "margin", 24, out);
	line(&p, p.limit, p.limit_off, "limit", "limit", 10, out);
	arm(&p, &p.bank, ROW_A, "accepted", "bank", out);
	arm(&p, &p.cand, p.bank.n ? ROW_C : (ROW_A + ROW_C) / 2, "candidate", "cand", out);
	str_add(out, "</svg>\n");
	return true;
}
