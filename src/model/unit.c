/* SPDX-License-Identifier: Apache-2.0 */
/* Units: reading what people write, printing what people read, and the integers of the records. */
#include "model/model.h"

#include "base/clock.h"
#include <math.h>

/*
 * scale: record integer = value x scale. Chosen so that +-(2^53 - 1) holds everything seen in
 * practice (ns: 104 days; bytes/s: 9 PB/s; rates: 9e9/s at 1e-6) and nothing that is decided on is
 * rounded away.
 */
static const struct {
	const char *name;
	double scale;
	const char *shown; /* suffix for people */
	enum unit kind;    /* units of one kind compare */
} units[UNIT_N] = {
	[UNIT_NONE] = { "none", 1e9, "", UNIT_NONE },
	[UNIT_NS] = { "ns", 1, "s", UNIT_NS },
	[UNIT_RATIO] = { "ratio", 1e9, "%", UNIT_RATIO },
	[UNIT_COUNT] = { "count", 1e3, "", UNIT_NONE },
	[UNIT_TOKENS] = { "tokens", 1e3, "tokens", UNIT_TOKENS },
	[UNIT_STEPS] = { "steps", 1e3, "steps", UNIT_STEPS },
	[UNIT_SAMPLES] = { "samples", 1e3, "samples", UNIT_SAMPLES },
	[UNIT_BYTES] = { "bytes", 1, "B", UNIT_BYTES },
	[UNIT_BYTES_PER_S] = { "bytes_per_s", 1, "B/s", UNIT_BYTES_PER_S },
	[UNIT_REQUESTS_PER_S] = { "requests_per_s", 1e6, "req/s", UNIT_REQUESTS_PER_S },
	[UNIT_TOKENS_PER_S] = { "tokens_per_s", 1e6, "tokens/s", UNIT_TOKENS_PER_S },
	[UNIT_SAMPLES_PER_S] = { "samples_per_s", 1e6, "samples/s", UNIT_SAMPLES_PER_S },
	[UNIT_STEPS_PER_S] = { "steps_per_s", 1e6, "steps/s", UNIT_STEPS_PER_S },
	[UNIT_FLOP_PER_S] = { "flop_per_s", 1e-3, "FLOP/s", UNIT_FLOP_PER_S },
	[UNIT_HZ] = { "hz", 1, "Hz", UNIT_HZ },
	[UNIT_CELSIUS] = { "celsius", 1e3, "C", UNIT_CELSIUS },
	[UNIT_WATT] = { "watt", 1e3, "W", UNIT_WATT },
	[UNIT_JOULE] = { "joule", 1e3, "J", UNIT_JOULE },
};

/* What people write after a number. Prefixes stand only where the field uses them. */
static const struct {
	const char *text;
	double factor;
	enum unit unit;
} written[] = {
	{ "ns", 1, UNIT_NS },
	{ "us", 1e3, UNIT_NS },
	{ "\xc2\xb5s", 1e3, UNIT_NS },
	{ "ms", 1e6, UNIT_NS },
	{ "s", 1e9, UNIT_NS },
	{ "sec", 1e9, UNIT_NS },
	{ "second", 1e9, UNIT_NS },
	{ "seconds", 1e9, UNIT_NS },
	{ "min", 60e9, UNIT_NS },
	{ "minute", 60e9, UNIT_NS },
	{ "minutes", 60e9, UNIT_NS },
	{ "h", 3600e9, UNIT_NS },
	{ "hour", 3600e9, UNIT_NS },
	{ "hours", 3600e9, UNIT_NS },
	{ "d", 86400e9, UNIT_NS },
	{ "day", 86400e9, UNIT_NS },
	{ "days", 86400e9, UNIT_NS },
	{ "%", 0.01, UNIT_RATIO },
	{ "ppm", 1e-6, UNIT_RATIO },
	{ "points", 0.01, UNIT_RATIO },
	{ "point", 0.01, UNIT_RATIO },
	{ "tokens", 1, UNIT_TOKENS },
	{ "token", 1, UNIT_TOKENS },
	{ "tok", 1, UNIT_TOKENS },
	{ "steps", 1, UNIT_STEPS },
	{ "step", 1, UNIT_STEPS },
	{ "samples", 1, UNIT_SAMPLES },
	{ "sample", 1, UNIT_SAMPLES },
	{ "requests", 1, UNIT_COUNT },
	{ "times", 1, UNIT_COUNT },
	{ "B", 1, UNIT_BYTES },
	{ "kB", 1e3, UNIT_BYTES },
	{ "KB", 1e3, UNIT_BYTES },
	{ "MB", 1e6, UNIT_BYTES },
	{ "GB", 1e9, UNIT_BYTES },
	{ "TB", 1e12, UNIT_BYTES },
	{ "KiB", 1024., UNIT_BYTES },
	{ "MiB", 1048576., UNIT_BYTES },
	{ "GiB", 1073741824., UNIT_BYTES },
	{ "TiB", 1099511627776., UNIT_BYTES },
	{ "B/s", 1, UNIT_BYTES_PER_S },
	{ "kB/s", 1e3, UNIT_BYTES_PER_S },
	{ "MB/s", 1e6, UNIT_BYTES_PER_S },
	{ "GB/s", 1e9, UNIT_BYTES_PER_S },
	{ "TB/s", 1e12, UNIT_BYTES_PER_S },
	{ "KiB/s", 1024., UNIT_BYTES_PER_S },
	{ "MiB/s", 1048576., UNIT_BYTES_PER_S },
	{ "GiB/s", 1073741824., UNIT_BYTES_PER_S },
	{ "TiB/s", 1099511627776., UNIT_BYTES_PER_S },
	{ "Gb/s", 1e9 / 8, UNIT_BYTES_PER_S },
	{ "Gbit/s", 1e9 / 8, UNIT_BYTES_PER_S },
	{ "/s", 1, UNIT_REQUESTS_PER_S },
	{ "req/s", 1, UNIT_REQUESTS_PER_S },
	{ "requests/s", 1, UNIT_REQUESTS_PER_S },
	{ "/min", 1 / 60., UNIT_REQUESTS_PER_S },
	{ "tokens/s", 1, UNIT_TOKENS_PER_S },
	{ "tok/s", 1, UNIT_TOKENS_PER_S },
	{ "ktok/s", 1e3, UNIT_TOKENS_PER_S },
	{ "samples/s", 1, UNIT_SAMPLES_PER_S },
	{ "steps/s", 1, UNIT_STEPS_PER_S },
	{ "FLOP/s", 1, UNIT_FLOP_PER_S },
	{ "GFLOP/s", 1e9, UNIT_FLOP_PER_S },
	{ "TFLOP/s", 1e12, UNIT_FLOP_PER_S },
	{ "GFLOPS", 1e9, UNIT_FLOP_PER_S },
	{ "TFLOPS", 1e12, UNIT_FLOP_PER_S },
	{ "Hz", 1, UNIT_HZ },
	{ "kHz", 1e3, UNIT_HZ },
	{ "MHz", 1e6, UNIT_HZ },
	{ "GHz", 1e9, UNIT_HZ },
	{ "C", 1, UNIT_CELSIUS },
	{ "\u00b0C", 1, UNIT_CELSIUS },
	{ "W", 1, UNIT_WATT },
	{ "kW", 1e3, UNIT_WATT },
	{ "J", 1, UNIT_JOULE },
	{ "kJ", 1e3, UNIT_JOULE },
};

const char *unit_name(enum unit u)
{
	return u < UNIT_N ? units[u].name : "none";
}

bool unit_parse_name(struct sv s, enum unit *ret)
{
	for (size_t i = 0; i < UNIT_N; i++) {
		if (sv_is(s, units[i].name)) {
			*ret = (enum unit)i;
			return true;
		}
	}
	return false;
}

double unit_scale(enum unit u)
{
	return u < UNIT_N ? units[u].scale : 1e9;
}

bool unit_same_kind(enum unit a, enum unit b)
{
	return a < UNIT_N && b < UNIT_N && units[a].kind == units[b].kind;
}

bool quantity_parse(struct sv s, double *ret_value, enum unit *ret_unit)
{
	size_t n = 0;
	struct sv suffix;
	double v;

	s = sv_trim(s);
	while (n < s.n && memchr("0123456789.+-", s.p[n], 13))
		n++;
	/* An exponent: only when digits follow the e. */
	if (n && n + 1 < s.n && (s.p[n] == 'e' || s.p[n] == 'E')) {
		size_t k = n + 1;

		if (k < s.n && (s.p[k] == '+' || s.p[k] == '-'))
			k++;
		if (k < s.n && s.p[k] >= '0' && s.p[k] <= '9') {
			while (k < s.n && s.p[k] >= '0' && s.p[k] <= '9')
				k++;
			n = k;
		}
	}
	if (!n || s.p[0] == '+' || !sv_to_f64((struct sv){ s.p, n }, &v))
		return false;
	suffix = sv_trim((struct sv){ s.p + n, s.n - n });
	if (!suffix.n) {
		*ret_value = v;
		*ret_unit = UNIT_NONE;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		if (sv_is(suffix, written[i].text)) {
			*ret_value = v * written[i].factor;
			*ret_unit = written[i].unit;
			return isfinite(*ret_value);
		}
	}
	return false;
}

bool quantity_to_int(double value, enum unit u, int64_t *ret)
{
	double x = round(value * unit_scale(u)); /* half away from zero */

	if (!isfinite(x) || fabs(x) > 9007199254740991.)
		return false;
	*ret = (int64_t)x;
	return true;
}

static char *with_prefix(double v, const char *suffix)
{
	static const char *const up[] = { "", "k", "M", "G", "T", "P" };
	size_t i = 0;

	while (fabs(v) >= 999.5 && i + 1 < ARRAY_SIZE(up)) {
		v /= 1000;
		i++;
	}
	return xasprintf("%.3g %s%s", v, up[i], suffix);
}

/* Whole where the digits end before the point: 100000, not 1e+05. Beyond 2^53 as it is. */
static char *plain(double v, const char *suffix)
{
	const char *gap = *suffix ? " " : "";

	if (fabs(v) >= 999.5 && fabs(v) < 9e15)
		return xasprintf("%.0f%s%s", v, gap, suffix);
	return xasprintf("%.4g%s%s", v, gap, suffix);
}

char *quantity_text(double v, enum unit u)
{
	if (isnan(v))
		return xstrdup("not measured");
	if (isinf(v))
		return xstrdup(v > 0 ? "inf" : "-inf");
	switch (u) {
	case UNIT_NS:
		if (fabs(v) < 999.5)
			return xasprintf("%.3g ns", v);
		if (fabs(v) < 999.5e3)
			return xasprintf("%.3g us", v / 1e3);
		if (fabs(v) < 999.5e6)
			return xasprintf("%.3g ms", v / 1e6);
		if (v < 0 || v >= 9e18)
			return xasprintf("%.4g s", v / 1e9);
		if (v < 60e9)
			return xasprintf("%.3g s", v / 1e9);
		return duration_text((int64_t)v);
	case UNIT_RATIO:
		return fabs(v) < 99 ? xasprintf("%.4g %%", v * 100) : xasprintf("%.0f %%", v * 100);
	case UNIT_BYTES:
	case UNIT_BYTES_PER_S:
	case UNIT_FLOP_PER_S:
	case UNIT_HZ:
		return with_prefix(v, units[u].shown);
	case UNIT_NONE:
	case UNIT_COUNT:
		return plain(v, "");
	default:
		return plain(v, u < UNIT_N ? units[u].shown : "");
	}
}
