/* SPDX-License-Identifier: Apache-2.0 */
/* One pin's pattern against one version. The grammar stands in envelope.h. */
#include "base/err.h"
#include "envelope/envelope.h"

#define LEAST_DIGEST 12 /* hex digits that name a digest */
#define MAX_PATTERN  1000

enum op { OP_NONE, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_EQ };

/* Takes the operator off the front. A single '=' is not among them. */
static enum op op_of(struct sv *v)
{
	static const struct {
		const char *text;
		enum op op;
	} ops[] = { { ">=", OP_GE }, { "<=", OP_LE }, { "!=", OP_NE },
		    { "==", OP_EQ }, { ">", OP_GT },  { "<", OP_LT } };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t n = strlen(ops[i].text);

		if (!sv_starts(*v, ops[i].text))
			continue;
		*v = sv_trim((struct sv){ v->p + n, v->n - n });
		return ops[i].op;
	}
	return OP_NONE;
}

static bool next_alternative(struct sv *rest, struct sv *ret)
{
	ptrdiff_t at;

	if (!rest->p)
		return false;
	at = sv_find(*rest, SV("||"));
	if (at < 0) {
		*ret = sv_trim(*rest);
		*rest = (struct sv){ NULL, 0 };
		return true;
	}
	*ret = sv_trim((struct sv){ rest->p, (size_t)at });
	*rest = (struct sv){ rest->p + at + 2, rest->n - (size_t)at - 2 };
	return true;
}

static bool is_comparison(struct sv v)
{
	return op_of(&v) != OP_NONE;
}

static bool is_hex(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!((v.p[i] >= '0' && v.p[i] <= '9') || (v.p[i] >= 'a' && v.p[i] <= 'f')))
			return false;
	return v.n > 0;
}

static int comparisons_valid(struct sv v, struct err *err)
{
	struct sv part;

	while (sv_split(&v, ',', &part)) {
		struct sv rest = sv_trim(part);
		enum op op = op_of(&rest);

		if (op == OP_NONE)
			return bail(err, ERR_PARSE,
				    "'" SV_FMT "' in a range has no operator (>= > <= < != ==)",
				    SV_ARG(sv_trim(part)));
		if (!rest.n)
			return bail(err, ERR_PARSE, "an operator of a range has no version");
		if (memchr(rest.p, '*', rest.n) || memchr(rest.p, '=', rest.n))
			return bail(err, ERR_PARSE, "'" SV_FMT "' in a range is no version",
				    SV_ARG(rest));
		if (rest.p[0] < '0' || rest.p[0] > '9')
			return bail(err, ERR_PARSE, "'" SV_FMT "' in a range begins with no digit",
				    SV_ARG(rest));
	}
	return 0;
}

int pin_valid(const char *pattern, struct err *err)
{
	struct sv rest = sv_of(pattern), one;

	if (rest.n > MAX_PATTERN)
		return bail(err, ERR_LIMIT, "a pin of more than %d characters", MAX_PATTERN);
	if (!sv_trim(rest).n)
		return bail(err, ERR_PARSE, "an empty pin");
	while (next_alternative(&rest, &one)) {
		if (!one.n)
			return bail(err, ERR_PARSE, "an empty alternative beside '||'");
		if (sv_is(one, "*"))
			return bail(err, ERR_PARSE, "'*' pins nothing: every version fits");
		if (is_comparison(one)) {
			TRY(comparisons_valid(one, err));
		} else if (sv_starts(one, "sha256:")) {
			struct sv hex = { one.p + 7, one.n - 7 };

			if (hex.n < LEAST_DIGEST || hex.n > 64 || !is_hex(hex))
				return bail(err, ERR_PARSE,
					    "a digest pin is sha256: and %d to 64 hex digits",
					    LEAST_DIGEST);
		} else if (sv_is(one, "=")) {
			return bail(err, ERR_PARSE, "'=' without a version");
		} else if (sv_starts(one, "=>") || sv_starts(one, "=<")) {
			return bail(err, ERR_PARSE, "'%.2s' is no operator: write '%c='", one.p,
				    one.p[1]);
		}
	}
	return 0;
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* The first word that begins with a digit, without what punctuates it; the whole text if none
 * does. */
static struct sv number_of(struct sv version)
{
	struct sv rest = version, w;

	while (sv_word(&rest, &w)) {
		if (w.p[0] < '0' || w.p[0] > '9')
			continue;
		while (w.n && strchr(",;)", w.p[w.n - 1]))
			w.n--;
		return w;
	}
	return version;
}

static bool glob(struct sv pattern, struct sv text)
{
	size_t i = 0, k = 0, star = SIZE_MAX, back = 0;

	while (i < text.n) {
		if (k < pattern.n && pattern.p[k] == '*') {
			star = k++;
			back = i;
		} else if (k < pattern.n && (pattern.p[k] == '?' || pattern.p[k] == text.p[i])) {
			k++;
			i++;
		} else if (star != SIZE_MAX) {
			k = star + 1;
			i = ++back;
		} else {
			return false;
		}
	}
	while (k < pattern.n && pattern.p[k] == '*')
		k++;
	return k == pattern.n;
}

static bool comparison_fits(struct sv v, struct sv number)
{
	struct sv part;

	while (sv_split(&v, ',', &part)) {
		struct sv bound = sv_trim(part);
		enum op op = op_of(&bound);
		int order = version_compare(number, bound);
		bool ok = op == OP_GE   ? order >= 0
			  : op == OP_GT ? order > 0
			  : op == OP_LE ? order <= 0
			  : op == OP_LT ? order < 0
			  : op == OP_NE ? order != 0
			  : op == OP_EQ ? order == 0
					: false;

		if (!ok)
			return false;
	}
	return true;
}

/* "7.0.2" fits 7.0.2 and 7.0.2-56, not 7.0.21 and not 7.0.2.1. */
static bool plain_fits(struct sv pattern, struct sv text)
{
	if (text.n < pattern.n || memcmp(text.p, pattern.p, pattern.n) != 0)
		return false;
	return text.n == pattern.n || strchr("-+~ ,", text.p[pattern.n]);
}

static bool one_fits(struct sv one, struct sv version, const char *digest)
{
	struct sv number = number_of(version), exact = { one.p + 1, one.n - 1 };

	if (sv_starts(one, "sha256:"))
		return digest && sv_starts(one, "sha256:") && strlen(digest) >= one.n &&
		       memcmp(digest, one.p, one.n) == 0;
	if (!version.n)
		return false;
	if (is_comparison(one))
		return number.p[0] >= '0' && number.p[0] <= '9' && comparison_fits(one, number);
	if (one.p[0] == '=')
		return sv_eq(sv_trim(exact), version) || sv_eq(sv_trim(exact), number);
	if (memchr(one.p, '*', one.n) || memchr(one.p, '?', one.n))
		return glob(one, version) || glob(one, number);
	return plain_fits(one, version) || plain_fits(one, number);
}

bool pin_fits(const char *pattern, const char *version, const char *digest)
{
	struct sv rest = sv_of(pattern), one;

	while (next_alternative(&rest, &one))
		if (one.n && one_fits(one, sv_of(version), digest))
			return true;
	return false;
}
