/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: "<= 500 ms". One that can't hold or can't fail is a mistake wherever it stands. */
#include "contract/internal.h"

#include "base/err.h"
#include <math.h>

static const char *const op_texts[] = {
	[LIMIT_NONE] = "", [LIMIT_LE] = "<=", [LIMIT_GE] = ">=",
	[LIMIT_LT] = "<",  [LIMIT_GT] = ">",  [LIMIT_EQ] = "=",
};

/* How people call what a unit measures, with an example, and the values that it can have at all. */
#define KIND(subject, example, low, high)                                                          \
	{                                                                                          \
		subject, subject " such as '" example "'", low, high                               \
	}
static const struct {
	const char *subject, *phrase;
	double low, high;
} kinds[UNIT_N] = {
	[UNIT_NONE] = KIND("a plain number", "0.5", -INFINITY, INFINITY),
	[UNIT_NS] = KIND("a time", "250 ms", 0, INFINITY),
	[UNIT_RATIO] = KIND("a share", "5 %", 0, 1),
	[UNIT_COUNT] = KIND("a count", "8", 0, INFINITY),
	[UNIT_TOKENS] = KIND("a number of tokens", "256 tokens", 0, INFINITY),
	[UNIT_STEPS] = KIND("a number of steps", "100 steps", 0, INFINITY),
	[UNIT_SAMPLES] = KIND("a number of samples", "5000 samples", 0, INFINITY),
	[UNIT_BYTES] = KIND("a size", "16 GiB", 0, INFINITY),
	[UNIT_BYTES_PER_S] = KIND("a bandwidth", "300 GB/s", 0, INFINITY),
	[UNIT_REQUESTS_PER_S] = KIND("a request rate", "4/s", 0, INFINITY),
	[UNIT_TOKENS_PER_S] = KIND("a token rate", "1000 tokens/s", 0, INFINITY),
	[UNIT_SAMPLES_PER_S] = KIND("a sample rate", "1200 samples/s", 0, INFINITY),
	[UNIT_STEPS_PER_S] = KIND("a step rate", "2 steps/s", 0, INFINITY),
	[UNIT_FLOP_PER_S] = KIND("a compute rate", "100 TFLOP/s", 0, INFINITY),
	[UNIT_HZ] = KIND("a frequency", "2 GHz", 0, INFINITY),
	[UNIT_CELSIUS] = KIND("a temperature", "80 C", -273.15, INFINITY),
	[UNIT_WATT] = KIND("a power", "300 W", 0, INFINITY),
	[UNIT_JOULE] = KIND("an energy", "5 kJ", 0, INFINITY),
};

const char *limit_op_text(enum limit_op op)
{
	return op_texts[op];
}

const char *unit_subject(enum unit u)
{
	return u < UNIT_N ? kinds[u].subject : "a quantity";
}

const char *unit_phrase(enum unit u)
{
	return u < UNIT_N ? kinds[u].phrase : "a quantity such as '250 ms'";
}

bool unit_in_range(enum unit u, double v)
{
	return v >= kinds[u].low && v <= kinds[u].high;
}

bool limit_holds(const struct limit *l, double value)
{
	if (l->op == LIMIT_NONE)
		return true;
	if (isnan(value))
		return false;
	switch (l->op) {
	case LIMIT_LE:
		return value <= l->value;
	case LIMIT_GE:
		return value >= l->value;
	case LIMIT_LT:
		return value < l->value;
	case LIMIT_GT:
		return value > l->value;
	default:
		return value == l->value;
	}
}

char *limit_text(const struct limit *l)
{
	AUTO_FREE char *q = NULL;

	if (l->op == LIMIT_NONE)
		return xstrdup("no limit");
	q = quantity_text(l->value, l->unit);
	return xasprintf("%s %s", op_texts[l->op], q);
}

json_t *limit_to_json(const struct limit *l)
{
	json_t *o = json_object();
	int64_t i = 0;

	(void)quantity_to_int(l->value, l->unit, &i);
	json_put_str(o, "op", op_texts[l->op]);
	json_put_str(o, "unit", unit_name(l->unit));
	json_put_int(o, "value", i);
	return o;
}

enum limit_op limit_op_take(struct sv *text)
{
	static const struct {
		const char *text;
		enum limit_op op;
	} ops[] = {
		{ "<=", LIMIT_LE },
		{ ">=", LIMIT_GE },
		{ "==", LIMIT_EQ },
		{ "\xe2\x89\xa4", LIMIT_LE },
		{ "\xe2\x89\xa5", LIMIT_GE },
		{ "<", LIMIT_LT },
		{ ">", LIMIT_GT },
		{ "=", LIMIT_EQ },
	};

	*text = sv_trim(*text);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t n = strlen(ops[i].text);

		if (sv_starts(*text, ops[i].text)) {
			*text = sv_trim((struct sv){ text->p + n, text->n - n });
			return ops[i].op;
		}
	}
	return LIMIT_NONE;
}

/* 0 it can go either way, -1 it can never hold, 1 it can never fail. */
static int sense(const struct limit *l)
{
	double low = kinds[l->unit].low, high = kinds[l->unit].high, v = l->value;

	switch (l->op) {
	case LIMIT_LE:
		return v < low ? -1 : v >= high;
	case LIMIT_LT:
		return v <= low ? -1 : v > high;
	case LIMIT_GE:
		return v > high ? -1 : v <= low;
	case LIMIT_GT:
		return v >= high ? -1 : v < low;
	default:
		return v < low || v > high ? -1 : 0;
	}
}

/* True when the limit means something. */
static bool check_sense(struct reading *r, const char *key, const struct yaml *y,
			const struct limit *l, struct sv text)
{
	int s = sense(l);
	const char *subject = unit_subject(l->unit), *op = op_texts[l->op];

	if (!s)
		return true;
	if (!unit_in_range(l->unit, l->value))
		complain(r, y->line, y->col, "'%s': %s is never %s, got '%s " SV_FMT "'", key,
			 subject, l->value > kinds[l->unit].high ? "above 100 %" : "below zero", op,
			 SV_ARG(text));
	else
		complain(r, y->line, y->col, "'%s': '%s " SV_FMT "' can never %s: %s is never %s",
			 key, op, SV_ARG(text), s < 0 ? "hold" : "fail", subject,
			 l->op == LIMIT_LE || l->op == LIMIT_GT ? "above 100 %" : "below zero");
	return false;
}

bool limit_read(struct reading *r, const char *key, const struct yaml *y, struct sv text,
		enum unit unit, struct limit *ret)
{
	struct limit l = { .unit = unit };

	l.op = limit_op_take(&text);
	if (l.op == LIMIT_NONE)
		l.op = LIMIT_EQ;
	if (unit == UNIT_N && !quantity_parse(text, &l.value, &l.unit)) {
		AUTO_FREE char *got = yaml_got(y);

		complain(r, y->line, y->col,
			 "'%s': expected a limit such as '<= 250 ms' or '>= 0.9', got %s", key,
			 got);
		return false;
	}
	if (!quantity_read(r, key, y, text, l.unit, &l.value) || !check_sense(r, key, y, &l, text))
		return false;
	*ret = l;
	return true;
}

int limit_parse(struct sv text, const char *name, enum unit unit, struct limit *ret,
		struct err *err)
{
	AUTO_FREE char *copy = sv_dup(text);
	struct yaml y = { .kind = YAML_SCALAR, .text = copy };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct reading r = { .bad = &bad };
	struct limit l;

	if (!limit_read(&r, name, &y, text, unit, &l))
		return bail(err, ERR_PARSE, "%s", bad.n ? bad.v[0].text : "not a limit");
	*ret = l;
	return 0;
}
