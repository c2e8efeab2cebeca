/* SPDX-License-Identifier: Apache-2.0 */
#include "base/extract.h"

#include "base/err.h"
#include "base/vec.h"
#include <jansson.h>
#include <math.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
	MATCH_STEPS = 1000000, /* of PCRE2's matcher, per match: a backtracking bomb ends here */
	MATCH_DEPTH = 1000,
	MATCH_HEAP_KIB = 20000,
	JSON_MAX_DEPTH = 64,
	QUOTED = 60,
};

static const char *const agg_names[AGG_N] = {
	[AGG_LAST] = "last",     [AGG_FIRST] = "first", [AGG_MIN] = "min", [AGG_MAX] = "max",
	[AGG_MEDIAN] = "median", [AGG_MEAN] = "mean",   [AGG_SUM] = "sum", [AGG_COUNT] = "count",
};

const char *extract_agg_name(enum extract_agg agg)
{
	return agg_names[agg];
}

void numbers_release(struct numbers *l)
{
	free(l->v);
	*l = (struct numbers){ 0 };
}

static int add(struct numbers *l, double v, struct err *err)
{
	if (l->n >= EXTRACT_MAX_NUMBERS)
		return bail(err, ERR_LIMIT, "more than %zu numbers", EXTRACT_MAX_NUMBERS);
	*VEC_ADD(l) = v;
	return 0;
}

/* 1,234,567.8: groups of three after the first comma. Copies without the commas; false: not that.
 */
static bool without_thousands(struct sv v, char *to, size_t room)
{
	size_t digits = 0, n = 0;
	bool grouped = false, fraction = false;

	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (n + 1 >= room)
			return false;
		if (c == ',' && !fraction) {
			if (!digits || digits > 3 || (grouped && digits != 3))
				return false;
			grouped = true;
			digits = 0;
			continue;
		}
		if (c == '.' || c == 'e' || c == 'E') {
			if (grouped && !fraction && digits != 3)
				return false;
			fraction = true;
		} else if (c >= '0' && c <= '9') {
			digits += !fraction;
		}
		to[n++] = c;
	}
	to[n] = '\0';
	return grouped && (fraction || digits == 3);
}

static bool to_number(struct sv v, double *ret)
{
	char plain[64];

	v = sv_trim(v);
	if (v.n > 1 && v.p[0] == '+' && v.p[1] != '-')
		v = (struct sv){ v.p + 1, v.n - 1 };
	if (sv_to_f64(v, ret))
		return true;
	return without_thousands(v, plain, sizeof(plain)) && sv_to_f64(sv_of(plain), ret);
}

static int add_text(struct numbers *l, struct sv v, struct err *err)
{
	AUTO_FREE char *shown = NULL;
	double d;

	if (to_number(v, &d))
		return add(l, d, err);
	shown = text_clean((struct sv){ v.p, MIN(v.n, (size_t)QUOTED) });
	return bail(err, ERR_PARSE, "'%s' is not a number", shown);
}

/* ---- JSON pointer ---------------------------------------------------------------------------- */

/* The next token of a pointer, "~1" and "~0" undone. False: the pointer ends, or is malformed
 * (*bad). */
static bool pointer_token(const char **at, struct str *token, bool *bad)
{
	str_clear(token);
	*bad = false;
	if (!**at)
		return false;
	*bad = **at != '/';
	if (*bad)
		return false;
	for (++*at; **at && **at != '/'; ++*at) {
		if (**at != '~') {
			str_addc(token, **at);
			continue;
		}
		++*at;
		*bad = **at != '0' && **at != '1';
		if (*bad)
			return false;
		str_addc(token, **at == '0' ? '~' : '/');
	}
	return true;
}

static json_t *member(json_t *in, const char *token)
{
	uint64_t i;

	if (json_is_object(in))
		return json_object_get(in, token);
	if (!json_is_array(in) || (token[0] == '0' && token[1]))
		return NULL;
	return sv_to_u64(sv_of(token), &i) ? json_array_get(in, (size_t)i) : NULL;
}

static json_t *point(json_t *root, const char *pointer)
{
	struct str token CLEANUP(str_release) = { 0 };
	bool bad;

	while (root && pointer_token(&pointer, &token, &bad))
		root = member(root, str_text(&token));
	return root;
}

static int json_number(const json_t *j, struct numbers *l, struct err *err)
{
	if (json_is_number(j)) {
		double d = json_number_value(j);

		return isfinite(d) ? add(l, d, err) : bail(err, ERR_PARSE, "a number too large");
	}
	if (json_is_boolean(j))
		return add(l, json_is_true(j), err);
	if (json_is_string(j))
		return add_text(l, (struct sv){ json_string_value(j), json_string_length(j) }, err);
	return bail(err, ERR_PARSE, "%s where a number was expected",
		    json_is_null(j)     ? "null"
		    : json_is_object(j) ? "an object"
					: "an array in an array");
}

static int json_numbers(const json_t *j, struct numbers *l, struct err *err)
{
	if (!json_is_array(j))
		return json_number(j, l, err);
	for (size_t i = 0; i < json_array_size(j); i++)
		TRY(json_number(json_array_get(j, i), l, err));
	return 0;
}

/* jansson allows 2048 levels; nobody means more than a few, and its frees are recursive. */
static bool too_deep(struct sv text)
{
	size_t depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (in_string) {
			i += c == '\\';
			in_string = c != '"';
		} else if (c == '"') {
			in_string = true;
		} else if (c == '[' || c == '{') {
			if (++depth > JSON_MAX_DEPTH)
				return true;
		} else if ((c == ']' || c == '}') && depth) {
			depth--;
		}
	}
	return false;
}

/* Integers as reals: foreign counters above int64 are no reason to see nothing. */
static json_t *load(struct sv text, json_error_t *e)
{
	const size_t flags = JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL;

	if (too_deep(text)) {
		*e = (json_error_t){ .line = 1 };
		(void)snprintf(e->text, sizeof(e->text), "more than %d levels", JSON_MAX_DEPTH);
		return NULL;
	}
	return json_loadb(text.p ? text.p : "", text.n, flags, e);
}

static void json_unref(json_t **j)
{
	json_decref(*j);
}

/* JSON lines among other text: every line that is an object or array and has the pointer. */
static int run_json_lines(const struct extract_spec *s, struct sv text, struct numbers *l,
			  bool *any, struct err *err)
{
	struct sv line;

	while (sv_line(&text, &line)) {
		CLEANUP(json_unref) json_t *root = NULL;
		json_error_t e;
		json_t *at;

		line = sv_trim(line);
		if (!sv_starts(line, "{") && !sv_starts(line, "["))
			continue;
		root = load(line, &e);
		if (!root)
			continue;
		*any = true;
		at = point(root, s->pointer);
		if (at)
			TRY(json_numbers(at, l, err));
	}
	return 0;
}

static int run_json(const struct extract_spec *s, struct sv text, struct numbers *l,
		    struct err *err)
{
	CLEANUP(json_unref) json_t *root = NULL;
	json_error_t e;
	bool any = false;
	json_t *at;

	if (!sv_trim(text).n)
		return bail(err, ERR_NOT_FOUND, "no output");
	root = load(text, &e);
	if (!root) {
		TRY(run_json_lines(s, text, l, &any, err));
		if (any)
			return 0;
		return bail(err, ERR_PARSE, "neither JSON nor JSON lines: line %d: %s", e.line,
			    e.text);
	}
	at = point(root, s->pointer);
	return at ? json_numbers(at, l, err) : 0;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

struct record {
	struct strs cells;
	size_t line; /* where it begins */
};

static void record_release(struct record *r)
{
	strs_release(&r->cells);
}

struct csv {
	struct sv rest;
	char delimiter;
	size_t line;
};

static bool take(struct csv *c, char *ret)
{
	if (!c->rest.n)
		return false;
	*ret = *c->rest.p;
	c->rest = (struct sv){ c->rest.p + 1, c->rest.n - 1 };
	c->line += *ret == '\n';
	return true;
}

static bool peek_is(const struct csv *c, char want)
{
	assert(c->rest.p);
	return c->rest.n && *c->rest.p == want;
}

/* After the opening quote; doubled quotes stand for one. */
static int quoted_cell(struct csv *c, struct str *cell, struct err *err)
{
	size_t from = c->line;
	char ch;

	while (take(c, &ch)) {
		if (ch == '"' && !peek_is(c, '"'))
			return 0;
		if (ch == '"')
			(void)take(c, &ch);
		str_addc(cell, ch);
	}
	return bail(err, ERR_PARSE, "line %zu: a quoted cell does not end", from);
}

/* 1: a record, 0: the end. Blank lines are no records. */
static int next_record(struct csv *c, struct record *ret, struct err *err)
{
	struct str cell CLEANUP(str_release) = { 0 };
	char ch;

	strs_release(&ret->cells);
	while (peek_is(c, '\n') || peek_is(c, '\r'))
		(void)take(c, &ch);
	ret->line = c->line;
	if (!c->rest.n)
		return 0;
	for (;;) {
		bool more = take(c, &ch);

		if (more && ch == '"' && !cell.n) {
			TRY(quoted_cell(c, &cell, err));
			continue;
		}
		if (more && ch == '\r' && (peek_is(c, '\n') || !c->rest.n))
			continue;
		if (more && ch != c->delimiter && ch != '\n') {
			str_addc(&cell, ch);
			continue;
		}
		strs_add(&ret->cells, str_text(&cell));
		str_clear(&cell);
		if (!more || ch == '\n')
			return 1;
	}
}

/* Index of a column by header, or by number from 1. -1: not there. Blanks around names don't count.
 */
static ptrdiff_t column_index(const struct strs *header, const char *name)
{
	uint64_t i;

	for (size_t k = 0; k < header->n; k++)
		if (sv_eq(sv_trim(sv_of(header->v[k])), sv_trim(sv_of(name))))
			return (ptrdiff_t)k;
	if (sv_to_u64(sv_of(name), &i) && i > 0 && i <= header->n)
		return (ptrdiff_t)i - 1;
	return -1;
}

static bool row_wanted(const struct extract_spec *s, const struct strs *header,
		       const struct strs *row)
{
	for (size_t i = 0; s->where && i < s->where->n; i++) {
		ptrdiff_t k = column_index(header, s->where->v[i].name);

		if (k < 0 || (size_t)k >= row->n ||
		    !sv_eq(sv_trim(sv_of(row->v[k])), sv_trim(sv_of(s->where->v[i].value))))
			return false;
	}
	return true;
}

static int run_csv_rows(const struct extract_spec *s, struct csv *c, const struct strs *header,
			size_t column, struct numbers *l, struct err *err)
{
	struct record row CLEANUP(record_release) = { 0 };
	struct strs all CLEANUP(strs_release) = { 0 };
	int64_t at = 0;
	int rc;

	while ((rc = next_record(c, &row, err)) > 0) {
		if (!row_wanted(s, header, &row.cells))
			continue;
		at++;
		if (s->row > 0 && at != s->row)
			continue;
		if (column >= row.cells.n)
			return bail(err, ERR_PARSE, "line %zu: %zu cells, column %zu was expected",
				    row.line, row.cells.n, column + 1);
		if (s->row < 0) {
			strs_add(&all, row.cells.v[column]);
		} else if (add_text(l, sv_of(row.cells.v[column]), err) < 0) {
			return err_wrap(err, "line %zu", row.line);
		}
	}
	TRY(rc);
	/* 0 - x in unsigned: INT64_MIN has no positive twin. */
	if (s->row < 0 && all.v && all.n >= 0 - (uint64_t)s->row)
		return add_text(l, sv_of(all.v[all.n - (0 - (uint64_t)s->row)]), err);
	return 0;
}

static int run_csv(const struct extract_spec *s, struct sv text, struct numbers *l, struct err *err)
{
	struct record header CLEANUP(record_release) = { 0 };
	struct csv c = { .rest = text, .delimiter = s->delimiter ? s->delimiter : ',', .line = 1 };
	ptrdiff_t column;
	int rc;

	if (sv_starts(text, "\xef\xbb\xbf"))
		c.rest = (struct sv){ text.p + 3, text.n - 3 };
	if (memchr(text.p ? text.p : "", '\0', text.n))
		return bail(err, ERR_PARSE, "a NUL byte in it");
	rc = next_record(&c, &header, err);
	TRY(rc);
	if (!rc)
		return bail(err, ERR_NOT_FOUND, "no output");
	column = column_index(&header.cells, s->column);
	if (column < 0)
		return bail(err, ERR_NOT_FOUND, "no column '%s'", s->column);
	for (size_t i = 0; s->where && i < s->where->n; i++)
		if (column_index(&header.cells, s->where->v[i].name) < 0)
			return bail(err, ERR_NOT_FOUND, "no column '%s'", s->where->v[i].name);
	return run_csv_rows(s, &c, &header.cells, (size_t)column, l, err);
}

/* ---- patterns -------------------------------------------------------------------------------- */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

static void pattern_release(struct pattern *p)
{
	pcre2_match_context_free(p->limits);
	pcre2_match_data_free(p->match);
	pcre2_code_free(p->code);
}

/* Foreign output may be any bytes: they match as bytes unless the pattern asks for (*UTF). That is
 * refused: an invalid text would then end the search instead of being skipped. */
static int pattern_compile(const char *text, struct pattern *ret, struct err *err)
{
	const uint32_t flags =
		PCRE2_MULTILINE | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_SIZE at;
	int code;

	ret->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), flags, &code, &at, NULL);
	if (!ret->code) {
		PCRE2_UCHAR msg[160];

		(void)pcre2_get_error_message(code, msg, sizeof(msg));
		return bail(err, ERR_PARSE, "pattern: %s at character %zu", (const char *)msg,
			    at + 1);
	}
	ret->match = pcre2_match_data_create_from_pattern(ret->code, NULL);
	ret->limits = pcre2_match_context_create(NULL);
	assert(ret->match && ret->limits);
	(void)pcre2_set_match_limit(ret->limits, MATCH_STEPS);
	(void)pcre2_set_depth_limit(ret->limits, MATCH_DEPTH);
	(void)pcre2_set_heap_limit(ret->limits, MATCH_HEAP_KIB);
	return 0;
}

/* Group number of `value`; a pattern's single nameless group will do as well. */
static int value_group(const struct pattern *p, uint32_t *ret, struct err *err)
{
	int n = pcre2_substring_number_from_name(p->code, (PCRE2_SPTR) "value");
	uint32_t groups = 0;

	if (n > 0) {
		*ret = (uint32_t)n;
		return 0;
	}
	(void)pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups != 1)
		return bail(err, ERR_PARSE, "pattern: a group (?<value>...) must mark the number");
	*ret = 1;
	return 0;
}

/* 1 match, 0 none, or -ERR_LIMIT. */
static int match(const struct pattern *p, struct sv text, size_t from, struct err *err)
{
	int rc = pcre2_match(p->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, from, 0, p->match,
			     p->limits);
	PCRE2_UCHAR msg[160];

	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	(void)pcre2_get_error_message(rc, msg, sizeof(msg));
	return bail(err, ERR_LIMIT, "pattern: %s", (const char *)msg);
}

static int run_pattern(const struct extract_spec *s, struct sv text, struct numbers *l,
		       struct err *err)
{
	struct pattern p CLEANUP(pattern_release) = { 0 };
	uint32_t group;
	size_t from = 0;

	TRY(pattern_compile(s->pattern, &p, err));
	TRY(value_group(&p, &group, err));
	while (from <= text.n) {
		const PCRE2_SIZE *at;
		int rc = match(&p, text, from, err);

		TRY(rc);
		if (!rc)
			break;
		at = pcre2_get_ovector_pointer(p.match);
		/* An optional group that took no part has no number to give. */
		if (at[2 * group] != PCRE2_UNSET)
			TRY(add_text(l,
				     (struct sv){ text.p + at[2 * group],
						  at[2 * group + 1] - at[2 * group] },
				     err));
		from = at[1] > from ? at[1] : from + 1;
	}
	return 0;
}

int extract_word(const char *pattern, struct sv text, char **ret, struct err *err)
{
	struct pattern p CLEANUP(pattern_release) = { 0 };
	struct sv found = { NULL, 0 };
	uint32_t group;
	size_t from = 0;

	TRY(pattern_compile(pattern, &p, err));
	TRY(value_group(&p, &group, err));
	if (text.n > EXTRACT_MAX_BYTES)
		return bail(err, ERR_LIMIT, "the text is too long to be searched");
	while (from <= text.n) {
		const PCRE2_SIZE *at;
		int rc = match(&p, text, from, err);

		TRY(rc);
		if (!rc)
			break;
		at = pcre2_get_ovector_pointer(p.match);
		if (at[2 * group] != PCRE2_UNSET)
			found = (struct sv){ text.p + at[2 * group],
					     at[2 * group + 1] - at[2 * group] };
		from = at[1] > from ? at[1] : from + 1;
	}
	if (!found.p)
		return bail(err, ERR_NOT_FOUND, "nothing matches '%.80s'", pattern);
	*ret = text_clean(sv_trim(found));
	return 0;
}

static int run_lines(const struct extract_spec *s, struct sv text, struct numbers *l,
		     struct err *err)
{
	struct pattern p CLEANUP(pattern_release) = { 0 };
	struct sv line;
	double count = 0;

	TRY(pattern_compile(s->pattern, &p, err));
	while (sv_line(&text, &line)) {
		int rc = match(&p, line, 0, err);

		TRY(rc);
		count += rc;
	}
	return add(l, count, err);
}

/* ---- all together ---------------------------------------------------------------------------- */

static int check_pointer(const char *pointer, struct err *err)
{
	struct str token CLEANUP(str_release) = { 0 };
	const char *at = pointer;
	bool bad;

	while (pointer_token(&at, &token, &bad))
		;
	if (bad)
		return bail(err, ERR_PARSE,
			    "'%s' is not a JSON pointer: it looks like '/results/0/value'",
			    pointer);
	return 0;
}

int extract_check(const struct extract_spec *s, struct err *err)
{
	struct pattern p CLEANUP(pattern_release) = { 0 };
	uint32_t group;

	switch (s->how) {
	case EXTRACT_JSON:
		return check_pointer(s->pointer, err);
	case EXTRACT_CSV:
		if (!s->column || !*s->column)
			return bail(err, ERR_PARSE, "a CSV column must be named");
		if (s->delimiter == '"' || s->delimiter == '\n' || s->delimiter == '\r')
			return bail(err, ERR_PARSE, "a quote or a line end can't part cells");
		return 0;
	case EXTRACT_PATTERN:
		TRY(pattern_compile(s->pattern, &p, err));
		return value_group(&p, &group, err);
	case EXTRACT_LINES:
		return pattern_compile(s->pattern, &p, err);
	case EXTRACT_EXIT:
		return 0;
	case EXTRACT_NONE:
		break;
	}
	return bail(err, ERR_PARSE, "nothing says where the number stands");
}

static int run(const struct extract_spec *s, struct sv text, int exit_code, struct numbers *ret,
	       struct err *err)
{
	switch (s->how) {
	case EXTRACT_JSON:
		return run_json(s, text, ret, err);
	case EXTRACT_CSV:
		return run_csv(s, text, ret, err);
	case EXTRACT_PATTERN:
		return run_pattern(s, text, ret, err);
	case EXTRACT_LINES:
		return run_lines(s, text, ret, err);
	case EXTRACT_EXIT:
		return add(ret, exit_code, err);
	case EXTRACT_NONE:
		break;
	}
	return bail(err, ERR_BUG, "an extraction of nothing");
}

int extract_run(const struct extract_spec *s, struct sv text, int exit_code, struct numbers *ret,
		struct err *err)
{
	struct numbers l CLEANUP(numbers_release) = { 0 };

	if (text.n > EXTRACT_MAX_BYTES)
		return bail(err, ERR_LIMIT, "more than %zu bytes", EXTRACT_MAX_BYTES);
	if (!text.p)
		text = SV("");
	TRY(extract_check(s, err));
	TRY(run(s, text, exit_code, &l, err));
	if (!l.n)
		return bail(err, ERR_NOT_FOUND, "nothing found");
	for (size_t i = 0; i < l.n; i++) {
		l.v[i] *= s->scale != 0 ? s->scale : 1;
		if (!isfinite(l.v[i]))
			return bail(err, ERR_PARSE, "a number too large");
	}
	*ret = l;
	l = (struct numbers){ 0 };
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const struct numbers *l)
{
	AUTO_FREE double *v = xmalloc(l->n * sizeof(double));
	size_t half = l->n / 2;

	memcpy(v, l->v, l->n * sizeof(double));
	qsort(v, l->n, sizeof(double), by_value);
	return l->n % 2 ? v[half] : v[half - 1] / 2 + v[half] / 2;
}

double extract_agg(enum extract_agg agg, const struct numbers *l)
{
	double sum = 0, low = INFINITY, high = -INFINITY;

	if (agg == AGG_COUNT)
		return (double)l->n;
	if (!l->n)
		return NAN;
	for (size_t i = 0; i < l->n; i++) {
		sum += l->v[i];
		low = MIN(low, l->v[i]);
		high = MAX(high, l->v[i]);
	}
	switch (agg) {
	case AGG_FIRST:
		return l->v[0];
	case AGG_MIN:
		return low;
	case AGG_MAX:
		return high;
	case AGG_MEDIAN:
		return median(l);
	case AGG_MEAN:
		return sum / (double)l->n;
	case AGG_SUM:
		return sum;
	default:
		return l->v[l->n - 1];
	}
}
