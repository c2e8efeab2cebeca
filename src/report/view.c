/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the value: numbers, columns, standings, and the words for them. */
#include "report/internal.h"

#include "stat/stat.h"
#include <math.h>

double view_value(const json_t *v, enum unit u)
{
	if (json_is_integer(v))
		return (double)json_integer_value(v) / unit_scale(u);
	if (json_is_string(v) && streq(json_string_value(v), "inf"))
		return INFINITY;
	if (json_is_string(v) && streq(json_string_value(v), "-inf"))
		return -INFINITY;
	return NAN;
}

double view_e9(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? (double)json_integer_value(v) / 1e9 : view_value(v, UNIT_NONE);
}

enum unit view_unit(const json_t *o)
{
	enum unit u = UNIT_NONE;

	(void)unit_parse_name(sv_of(json_str_or(o, "unit", "none")), &u);
	return u;
}

char *view_quantity(const json_t *v, enum unit u)
{
	double x = view_value(v, u);

	if (!v)
		return xstrdup("-");
	if (isinf(x))
		return xstrdup(x > 0 ? "\u221e" : "-\u221e");
	return quantity_text(x, u);
}

char *view_percent(double shift, bool abs_scale)
{
	double x = abs_scale ? 100 * shift : 100 * expm1(shift);

	if (isnan(shift))
		return xstrdup("-");
	if (isinf(shift))
		return xstrdup(shift > 0 ? "\u221e" : "-\u221e");
	if (!abs_scale && x >= 900)
		return xasprintf("%.3gx", exp(shift));
	return xasprintf(fabs(x) >= 100 ? "%.0f %s" : "%.3g %s", x, abs_scale ? "points" : "%");
}

static bool abs_scale(const json_t *number)
{
	return streq(json_str_or(number, "scale", ""), "abs");
}

char *view_interval(const json_t *x)
{
	bool people = json_object_get(x, "low_e9") != NULL;
	double lo = view_e9(x, people ? "low_e9" : "lcb_e9");
	double hi = view_e9(x, people ? "high_e9" : "ucb_e9"), level = view_e9(x, "level_e9");
	AUTO_FREE char *a = view_percent(lo, abs_scale(x));
	AUTO_FREE char *b = view_percent(hi, abs_scale(x));
	char *tail;

	if (isnan(lo) || isnan(hi))
		return xstrdup("-");
	if (isinf(lo) && isinf(hi))
		return xstrdup("none yet");
	/* One unit is enough where both have the same. */
	tail = strchr(a, ' ');
	if (tail && strchr(b, ' ') && streq(tail, strchr(b, ' ')))
		*tail = '\0';
	if (people && isfinite(level))
		return xasprintf("%s to %s (%.0f %%)", a, b, 100 * level);
	return xasprintf("%s to %s", a, b);
}

char *view_stamp(const char *at)
{
	if (!at || strlen(at) < 19 || at[10] != 'T')
		return xstrdup(at ? at : "unknown");
	return xasprintf("%.10s %.8s UTC", at, at + 11);
}

char *view_bytes(int64_t n)
{
	return n < 0 ? xstrdup("-") : quantity_text((double)n, UNIT_BYTES);
}

char *view_short(const char *digest)
{
	if (digest && str_starts(digest, "sha256:"))
		digest += 7;
	return xasprintf("%.12s", digest ? digest : "");
}

/* ---- the verdict ----------------------------------------------------------------------------- */

const json_t *view_decision(const json_t *report)
{
	return json_object_get(json_object_get(report, "verdict"), "decision");
}

const char *view_code(const json_t *report)
{
	const char *code = json_str_or(view_decision(report), "verdict", "");
	enum verdict_kind k;

	return verdict_parse(sv_of(code), &k) ? code : "unknown";
}

enum verdict_kind view_kind(const json_t *report)
{
	enum verdict_kind k;

	return verdict_parse(sv_of(view_code(report)), &k) ? k : VERDICT_N;
}

const char *view_sentence(const json_t *report)
{
	bool first = json_bool_or(view_decision(report), "first", false);

	switch (view_kind(report)) {
	case VERDICT_ACCEPTED:
	case VERDICT_ACCEPTED_NOTE:
		return first ? "Every required check passed and every objective is held."
			     : "Every required check passed, every objective is held, and nothing "
			       "that decides is worse than its margin allows.";
	case VERDICT_REJECTED:
		return "Worse than the contract allows. This stack is not fit for this workload.";
	case VERDICT_INCONCLUSIVE:
		return "The repetitions so far do not decide it. This is not an acceptance.";
	case VERDICT_NO_RESULT:
		return "Something that the contract requires could not be judged. This is not an "
		       "acceptance.";
	case VERDICT_BASELINE_VOID:
		return "There is nothing valid to compare with. This is not an acceptance.";
	default:
		return "This report has no verdict that can be read. This is not an acceptance.";
	}
}

char *view_basis(const json_t *report)
{
	const json_t *d = view_decision(report);
	long long used = json_int_or(d, "used", 0), bank = json_int_or(d, "bank", 0);
	const char *s = used == 1 ? "" : "s";

	if (json_bool_or(d, "first", false) || bank == 0)
		return xasprintf("%lld repetition%s, nothing accepted before", used, s);
	return xasprintf("%lld repetition%s against %lld accepted one%s%s", used, s, bank,
			 bank == 1 ? "" : "s",
			 json_str_or(json_object_get(report, "verdict"), "design", NULL)
				 ? ", made alternately"
				 : "");
}

/* ---- answers --------------------------------------------------------------------------------- */

void answer_view_release(struct answer_view *v)
{
	free(v->n);
	free(v->before);
	free(v->now);
	free(v->change);
	free(v->interval);
	free(v->margin);
	*v = (struct answer_view){ 0 };
}

static char *share_text(double v, bool share)
{
	if (isnan(v))
		return xstrdup("-");
	return share ? xasprintf("%.4g %%", 100 * v) : xasprintf("%.6g", v);
}

/* A gain is a plus: unlike the shift of a metric, this is the change itself. */
static char *change_of(double v)
{
	return isfinite(v) ? xasprintf("%+.3g %%", 100 * v) : xstrdup("-");
}

void answer_view_read(const json_t *x, struct answer_view *ret)
{
	static const struct {
		const char *state, *word;
		enum tone tone;
	} states[] = { { "held", "same", TONE_GOOD },
		       { "worse", "worse", TONE_BAD },
		       { "open", "open", TONE_OPEN },
		       { "unmeasured", "not measured", TONE_OPEN } };
	const char *kind = json_str_or(x, "kind", ""), *state = json_str_or(x, "state", "");
	bool share = !streq(kind, "pairs");
	double low = view_e9(x, "low_e9"), high = view_e9(x, "high_e9");
	long long lost = json_int_or(x, "lost", 0), won = json_int_or(x, "won", 0);
	AUTO_FREE char *lo = change_of(low), *hi = change_of(high);
	AUTO_FREE char *margin = change_of(-view_e9(x, "margin_e9"));

	*ret = (struct answer_view){ .name = json_str_or(x, "name", ""),
				     .what = streq(kind, "pairs")   ? "seeds"
					     : streq(kind, "texts") ? "prompts"
								    : "items",
				     .standing = "unknown",
				     .tone = TONE_OPEN };
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (!streq(states[i].state, state))
			continue;
		ret->standing = states[i].word;
		ret->tone = states[i].tone;
	}
	ret->n = lost + won ? xasprintf("%lld %s, %lld lost, %lld won",
					(long long)json_int_or(x, "n", 0), ret->what, lost, won)
			    : xasprintf("%lld %s", (long long)json_int_or(x, "n", 0), ret->what);
	ret->before = share_text(view_e9(x, "accepted_e9"), share);
	ret->now = share_text(view_e9(x, "candidate_e9"), share);
	ret->change = change_of(view_e9(x, "change_e9"));
	ret->interval =
		isfinite(low) && isfinite(high) ? xasprintf("%s to %s", lo, hi) : xstrdup("-");
	ret->margin = STEAL(margin);
}

char *view_watch(const json_t *report)
{
	const json_t *w = json_object_get(json_object_get(report, "verdict"), "watch");
	long long n = json_int_or(w, "repetitions", 0);

	if (!w)
		return NULL;
	return xasprintf("Watched since the acceptance, %lld repetition%s: %s", n,
			 n == 1 ? "" : "s",
			 json_bool_or(w, "alarm", false)
				 ? "alarm, the evidence that it got worse is over 100 to 1."
				 : "quiet.");
}

/* ---- columns --------------------------------------------------------------------------------- */

void column_release(struct column *c)
{
	free(c->v);
	*c = (struct column){ 0 };
}

const json_t *view_measured(const json_t *rep, const char *metric)
{
	const json_t *list = json_object_get(rep, "measured"), *m;
	size_t i;

	json_array_foreach(list, i, m)
	{
		if (streq(json_str_or(m, "name", NULL), metric))
			return m;
	}
	return NULL;
}

void column_read(const json_t *reps, const char *metric, enum unit u, struct column *ret)
{
	struct column c = { .v = xcalloc(json_array_size(reps) + 1, sizeof(double)),
			    .median = NAN,
			    .low = INFINITY,
			    .high = -INFINITY };
	AUTO_FREE double *seen = xcalloc(json_array_size(reps) + 1, sizeof(double));
	const json_t *r;
	size_t i, n = 0;

	json_array_foreach(reps, i, r)
	{
		const json_t *m = view_measured(r, metric);
		double x = view_value(json_object_get(m, "value"), u);

		if (streq(json_str_or(r, "state", "ok"), "excluded"))
			continue;
		if (!streq(json_str_or(r, "state", "ok"), "ok"))
			x = NAN;
		c.v[c.n++] = x;
		if (isnan(x)) {
			c.missing++;
			continue;
		}
		seen[n++] = x;
		if (isinf(x)) {
			c.infinite++;
			continue;
		}
		c.finite++;
		c.low = fmin(c.low, x);
		c.high = fmax(c.high, x);
	}
	/* With an infinity on each side of the middle there is none. */
	if (n)
		c.median = median(seen, n);
	*ret = c;
}

/* ---- standings ------------------------------------------------------------------------------- */

const char *tone_name(enum tone t)
{
	static const char *const names[] = { "plain", "good", "open", "bad" };

	return names[t];
}

static enum tone limit_standing(const json_t *x, struct str *s)
{
	long long over = json_int_or(x, "over", 0);

	if (json_bool_or(x, "over_limit", false)) {
		str_addf(s, "over its limit in %lld", over);
		return TONE_BAD;
	}
	if (over > 0) {
		str_addf(s, "over its limit in %lld, too few to tell", over);
		return TONE_OPEN;
	}
	if (streq(json_str_or(x, "held", "no"), "no")) {
		str_add(s, "within its limit so far");
		return TONE_OPEN;
	}
	str_add(s, "limit held");
	return TONE_GOOD;
}

static enum tone margin_standing(const json_t *x, struct str *s)
{
	const char *label = json_str_or(x, "label", "none");

	if (streq(label, "regressed") || json_bool_or(x, "gross", false)) {
		str_add(s, "worse than its margin");
		return TONE_BAD;
	}
	if (streq(label, "none") || streq(label, "open")) {
		str_add(s, "not decided");
		return TONE_OPEN;
	}
	str_add(s, label);
	return TONE_GOOD;
}

enum tone view_standing(const json_t *x, char **ret)
{
	bool limit = json_object_get(x, "limit") != NULL;
	bool margin = json_bool_or(x, "gate", false) && json_object_get(x, "shift_e9");
	enum tone a = TONE_PLAIN, b = TONE_PLAIN;
	struct str s = { 0 };

	if (limit)
		a = limit_standing(x, &s);
	if (limit && margin)
		str_add(&s, "; ");
	if (margin)
		b = margin_standing(x, &s);
	if (!limit && !margin)
		str_add(&s,
			json_bool_or(x, "gate", false) ? "nothing to compare with" : "shown only");
	*ret = str_steal(&s);
	return a > b ? a : b;
}

enum tone view_result(const char *result)
{
	return streq(result, "PASS") ? TONE_GOOD : streq(result, "FAIL") ? TONE_BAD : TONE_OPEN;
}

enum tone view_verdict_tone(enum verdict_kind k)
{
	switch (k) {
	case VERDICT_ACCEPTED:
	case VERDICT_ACCEPTED_NOTE:
		return TONE_GOOD;
	case VERDICT_REJECTED:
		return TONE_BAD;
	default:
		return TONE_OPEN;
	}
}

double view_margin_edge(const json_t *x)
{
	double delta = view_e9(x, "margin_e9");
	double from = view_value(json_object_get(x, "accepted"), view_unit(x));
	double worse = streq(json_str_or(x, "better", "lower"), "higher") ? -1 : 1;

	if (!json_bool_or(x, "gate", false))
		return NAN;
	return abs_scale(x) ? from + worse * delta : from * exp(worse * delta);
}

/* ---- changes --------------------------------------------------------------------------------- */

char *view_side(const json_t *change, const char *side)
{
	const json_t *me = json_object_get(change, side);
	const json_t *a = json_object_get(change, "before"), *b = json_object_get(change, "after");
	const char *version = json_str_or(me, "version", NULL);
	struct str s = { 0 };

	if (!me)
		return xstrdup("(none)");
	str_add(&s, version ? version : "unknown");
	/* Digests only where the versions do not tell the two apart. */
	if (a && b && streq(json_str_or(a, "version", NULL), json_str_or(b, "version", NULL)) &&
	    json_str_or(me, "digest", NULL)) {
		AUTO_FREE char *hex = view_short(json_str_or(me, "digest", NULL));

		str_addf(&s, " (%s)", hex);
	}
	for (int i = 0; i < 2; i++) {
		const char *what = i ? "label" : "requested", *is = json_str_or(me, what, NULL);

		if (is && !streq(is, version))
			str_addf(&s, " [%s %s]", what, is);
	}
	return str_steal(&s);
}
