/* SPDX-License-Identifier: Apache-2.0 */
/* The general check: any program, its exit code, and numbers found in what it wrote. */
#include "base/err.h"
#include "contract/internal.h"
#include <math.h>

static const char *const better_names[] = { "lower", "higher", NULL };
static const char *const agg_names[] = { "last", "first", "min",   "max", "median",
					 "mean", "sum",   "count", NULL };

static const struct field csv_fields[] = {
	FIELD(csv_spec, column, .type = FIELD_STR, .need = true,
	      .help = "header of the column, or its number from 1"),
	FIELD(csv_spec, row, .type = FIELD_INT, .min = "-1000000", .max = "1000000",
	      .help = "row from 1 after the filter, -1 the last; 0 all"),
	FIELD_AS("filter", csv_spec, where, .type = FIELD_MAP,
		 .help = "only rows with these values in these columns"),
	FIELD(csv_spec, delimiter, .type = FIELD_STR, .def = ",", .help = "one character, or tab"),
	{ 0 },
};

static const struct field metric_fields[] = {
	FIELD(command_metric, metric, .type = FIELD_STR, .need = true,
	      .help = "name: lower-case letters, digits, '_' and '.'"),
	FIELD_AS("unit", command_metric, unit_text, .type = FIELD_STR,
		 .help = "what one of the number is: ms, GB/s, %, tokens/s; without it a plain "
			 "number"),
	FIELD(command_metric, better, .type = FIELD_ENUM, .names = better_names, .need = true,
	      .help = "which direction is better"),
	FIELD(command_metric, from, .type = FIELD_STR, .def = "stdout", .expand = true,
	      .help = "stdout, stderr, or file:PATH"),
	FIELD(command_metric, json, .type = FIELD_STR, .one_of = "where", .need = true,
	      .help = "JSON pointer: /results/0/value"),
	FIELD(command_metric, csv, .type = FIELD_SUB, .sub = csv_fields, .one_of = "where",
	      .need = true, .brief = "column", .has = FIELD_HAS(command_metric, has_csv),
	      .help = "a column of a table"),
	FIELD(command_metric, pattern, .type = FIELD_STR, .one_of = "where", .need = true,
	      .help = "PCRE2 pattern with a group (?<value>...)"),
	FIELD(command_metric, lines, .type = FIELD_STR, .one_of = "where", .need = true,
	      .help = "PCRE2 pattern: the number of lines it matches"),
	FIELD(command_metric, exit, .type = FIELD_BOOL, .def = "false", .one_of = "where",
	      .need = true, .help = "the exit code"),
	FIELD(command_metric, scale, .type = FIELD_NUM, .def = "1",
	      .help = "factor to the number before its unit"),
	FIELD(command_metric, agg, .type = FIELD_ENUM, .names = agg_names, .def = "last",
	      .help = "which, or what, of several numbers"),
	FIELD(command_metric, limit, .type = FIELD_LIMIT, .unit = UNIT_N,
	      .help = "what the number must keep, with its unit"),
	{ 0 },
};

static int metric_valid(void *conf, struct err *err);

const struct field command_fields[] = {
	FIELD(command_spec, argv, .type = FIELD_ARGV, .need = true, .help = "the program"),
	FIELD(command_spec, shell, .type = FIELD_BOOL, .def = "false",
	      .help = "argv is one line for /bin/sh"),
	FIELD(command_spec, env, .type = FIELD_MAP, .keys = KEYS_ENV, .expand = true,
	      .help = "variables on top of stack.environment"),
	FIELD(command_spec, cwd, .type = FIELD_STR, .def = "{dir}", .expand = true,
	      .help = "folder it runs in"),
	FIELD_AS("limit", command_spec, limit_ns, .type = FIELD_DURATION, .def = "10 min",
		 .min = "10 ms", .help = "time after which it is ended and counts as an error"),
	FIELD(command_spec, output_limit, .type = FIELD_BYTES, .def = "4 MiB", .min = "1 KiB",
	      .max = "64 MiB", .help = "bytes kept of each of its outputs"),
	FIELD(command_spec, exit, .type = FIELD_STRS, .def = "0",
	      .help = "exit codes that are right, or any"),
	FIELD(command_spec, extract, .type = FIELD_LIST, .sub = metric_fields,
	      .size = sizeof(struct command_metric), .valid = metric_valid,
	      .help = "numbers in its output"),
	{ 0 },
};

void command_metric_spec(const struct command_metric *m, struct extract_spec *ret)
{
	const char *d = m->csv.delimiter;

	*ret = (struct extract_spec){
		.pointer = m->json,
		.column = m->csv.column,
		.where = &m->csv.where,
		.row = m->csv.row,
		.delimiter = !d                ? ','
			     : streq(d, "tab") ? '\t'
					       : *d,
		.pattern = m->pattern ? m->pattern : m->lines,
	};
	ret->how = m->json      ? EXTRACT_JSON
		   : m->has_csv ? EXTRACT_CSV
		   : m->pattern ? EXTRACT_PATTERN
		   : m->lines   ? EXTRACT_LINES
		   : m->exit    ? EXTRACT_EXIT
				: EXTRACT_NONE;
}

int command_metric_read(const struct command_metric *m, struct sv text, int exit_code, double *ret,
			struct err *err)
{
	struct numbers l CLEANUP(numbers_release) = { 0 };
	struct extract_spec s;
	double v;

	command_metric_spec(m, &s);
	if (extract_run(&s, text, exit_code, &l, err) < 0)
		return err_wrap(err, "'%s'", m->metric);
	v = extract_agg((enum extract_agg)m->agg, &l);
	/* A count of numbers has no unit to be scaled by. */
	v *= m->agg == AGG_COUNT ? 1 : m->factor;
	if (!isfinite(v))
		return bail(err, ERR_PARSE, "'%s': a number too large", m->metric);
	*ret = v;
	return 0;
}

bool command_exit_ok(const struct command_spec *c, int exit_code)
{
	for (size_t i = 0; i < c->exit.n; i++) {
		int64_t v;

		if (streq(c->exit.v[i], "any") ||
		    (sv_to_i64(sv_of(c->exit.v[i]), 0, 255, &v) && v == exit_code))
			return true;
	}
	return false;
}

/* ---- what the rows can't say ----------------------------------------------------------------- */

static int check_name(const char *name, struct err *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.");

	if (name[n] || *name < 'a' || *name > 'z' || str_ends(name, ".") || n > 64)
		return bail(err, ERR_PARSE,
			    "'%.60s' is no metric's name (a-z, 0-9, '_', '.', a letter first)",
			    name);
	return 0;
}

static int derive_unit(struct command_metric *m, struct err *err)
{
	AUTO_FREE char *one = NULL;
	enum unit u = UNIT_NONE;
	double factor = 1;

	if (m->unit_text) {
		one = xasprintf("1 %s", m->unit_text);
		if (!quantity_parse(sv_of(one), &factor, &u) || u == UNIT_NONE)
			return bail(err, ERR_PARSE,
				    "unknown unit '%.40s' (ms, s, %%, GB/s, GiB, tokens/s, ...)",
				    m->unit_text);
	}
	if (m->scale == 0)
		return bail(err, ERR_PARSE, "a scale of 0 makes every number 0");
	m->unit = m->agg == AGG_COUNT ? UNIT_COUNT : u;
	m->factor = factor * m->scale;
	return 0;
}

static int derive_source(struct command_metric *m, struct err *err)
{
	if (streq(m->from, "stdout")) {
		m->source = FROM_STDOUT;
	} else if (streq(m->from, "stderr")) {
		m->source = FROM_STDERR;
	} else if (str_starts(m->from, "file:") && m->from[5]) {
		m->source = FROM_FILE;
		m->path = m->from + 5;
	} else {
		return bail(err, ERR_PARSE,
			    "from: expected stdout, stderr or file:PATH, got '%.60s'", m->from);
	}
	return 0;
}

static int check_limit(const struct command_metric *m, struct err *err)
{
	const struct limit *l = &m->limit;
	bool lower = m->better == LOWER_IS_BETTER;

	if (l->op == LIMIT_NONE)
		return 0;
	if (!unit_same_kind(l->unit, m->unit) && l->value != 0)
		return bail(err, ERR_PARSE, "the limit is %s, '%s' is %s", unit_subject(l->unit),
			    m->metric, unit_subject(m->unit));
	if (l->op != LIMIT_EQ && (l->op == LIMIT_LE || l->op == LIMIT_LT) != lower)
		return bail(err, ERR_PARSE, "%s is better, so the limit is %s one ('%s')",
			    lower ? "less" : "more", lower ? "an upper" : "a lower",
			    lower ? "<=" : ">=");
	return 0;
}

static int metric_checks(struct command_metric *m, struct err *err)
{
	struct extract_spec s;

	TRY(check_name(m->metric, err));
	TRY(derive_unit(m, err));
	TRY(derive_source(m, err));
	if (m->has_csv && m->csv.delimiter[1] && !streq(m->csv.delimiter, "tab"))
		return bail(err, ERR_PARSE, "a delimiter is one character, or tab");
	command_metric_spec(m, &s);
	if (s.how == EXTRACT_NONE)
		return bail(err, ERR_PARSE, "'exit: false' says nothing: leave it out");
	TRY(extract_check(&s, err));
	TRY(check_limit(m, err));
	if (m->limit.op != LIMIT_NONE)
		m->limit.unit = m->unit;
	return 0;
}

static int metric_valid(void *conf, struct err *err)
{
	struct command_metric *m = conf;

	if (metric_checks(m, err) < 0)
		return err_wrap(err, "metric '%.60s'", m->metric);
	return 0;
}

int command_valid(void *conf, struct err *err)
{
	const struct command_spec *c = conf;

	for (size_t i = 0; i < c->exit.n; i++) {
		int64_t v;

		if (streq(c->exit.v[i], "any") ? c->exit.n > 1
					       : !sv_to_i64(sv_of(c->exit.v[i]), 0, 255, &v))
			return bail(err, ERR_PARSE,
				    "exit: expected codes of 0 to 255, or 'any' alone, got '%.20s'",
				    c->exit.v[i]);
	}
	if (!c->exit.n)
		return bail(err, ERR_PARSE, "exit: no code would be right");
	for (size_t i = 0; i < c->extract.n; i++)
		for (size_t k = 0; k < i; k++)
			if (streq(c->extract.v[i].metric, c->extract.v[k].metric))
				return bail(err, ERR_PARSE, "metric '%s' is extracted twice",
					    c->extract.v[i].metric);
	return 0;
}

/* As a check of a layer it must be able to fail; as the workload its objectives do that. */
static int check_valid(void *conf, struct err *err)
{
	const struct command_spec *c = conf;
	bool any = false;

	TRY(command_valid(conf, err));
	for (size_t i = 0; i < c->extract.n; i++)
		any = any || c->extract.v[i].limit.op != LIMIT_NONE;
	if (streq(c->exit.v[0], "any") && !any)
		return bail(
			err, ERR_PARSE,
			"it could never fail: any exit code is right and no number has a limit");
	return 0;
}

const struct check_schema command_schema = {
	.name = "command",
	.layers = 1u << LAYER_HARDWARE | 1u << LAYER_COMM | 1u << LAYER_FRAMEWORK |
		  1u << LAYER_RECOVERY,
	.fields = command_fields,
	.conf_size = sizeof(struct command_spec),
	.valid = check_valid,
	.help = "any program: its exit code, and numbers in what it writes",
};
