/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "base/str.h"
#include <stdarg.h>

static const struct {
	const char *name;
	int exit_code;
} codes[] = {
	[ERR_OK] = { "ok", 0 },
	[ERR_PARSE] = { "parse", 65 },
	[ERR_RANGE] = { "range", 65 },
	[ERR_NOT_FOUND] = { "not_found", 65 },
	[ERR_USAGE] = { "usage", 64 },
	[ERR_IO] = { "io", 74 },
	[ERR_LIMIT] = { "limit", 65 },
	[ERR_UNSUPPORTED] = { "unsupported", 3 },
	[ERR_TIMEOUT] = { "timeout", 2 },
	[ERR_INTERRUPTED] = { "interrupted", 2 },
	[ERR_CONFLICT] = { "conflict", 74 },
	[ERR_MISSING] = { "missing", 2 },
	[ERR_BROKEN] = { "broken", 1 },
	[ERR_BUG] = { "bug", 70 },
};

int err_set(struct err *err, enum err_code code, int sys, const char *file, int line,
	    const char *fmt, ...)
{
	va_list ap;
	int n;

	assert(code != ERR_OK);
	*err = (struct err){ .code = code, .sys = sys, .file = file, .line = line };
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (sys && n >= 0 && (size_t)n < sizeof(err->msg))
		(void)snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", strerror(sys));
	/* One line whatever was put into it. */
	for (char *p = err->msg; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return -(int)code;
}

int err_put_in_front(struct err *err, const char *fmt, ...)
{
	char front[sizeof(err->msg)], whole[2 * sizeof(err->msg) + 4];
	va_list ap;

	assert(err->code != ERR_OK);
	va_start(ap, fmt);
	(void)vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	(void)snprintf(whole, sizeof(whole), "%s: %s", front, err->msg);
	(void)snprintf(err->msg, sizeof(err->msg), "%.*s", (int)sizeof(err->msg) - 1, whole);
	return -(int)err->code;
}

void err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

void err_clear(struct err *err)
{
	*err = (struct err)ERR_INIT;
}

int err_exit_code(const struct err *err)
{
	return err->code < ARRAY_SIZE(codes) ? codes[err->code].exit_code : 70;
}

const char *err_code_name(enum err_code code)
{
	return code < ARRAY_SIZE(codes) ? codes[code].name : "bug";
}

/* Damerau-Levenshtein (optimal string alignment) on short names; longer ones are cut. */
static size_t distance(const char *a, const char *b)
{
	enum { MOST = 48 };
	size_t n = MIN(strlen(a), (size_t)MOST), m = MIN(strlen(b), (size_t)MOST);
	size_t d[MOST + 1][MOST + 1] = { { 0 } };

	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			size_t cost = a[i - 1] != b[j - 1];
			size_t best = MIN(d[i - 1][j] + 1, d[i][j - 1] + 1);

			best = MIN(best, d[i - 1][j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, d[i - 2][j - 2] + 1);
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *nearest_name(const char *got, const char *const *names)
{
	const char *best = NULL;
	size_t best_d = MAX(strlen(got) / 3, (size_t)1) + 1;

	for (; names && *names; names++) {
		size_t d = distance(got, *names);

		if (d < best_d) {
			best = *names;
			best_d = d;
		}
	}
	return best;
}

void err_hint_nearest(struct err *err, const char *got, const char *const *names)
{
	const char *near = nearest_name(got, names);

	if (near)
		err_hint(err, "Did you mean '%s'?", near);
}
