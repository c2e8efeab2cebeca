/* SPDX-License-Identifier: Apache-2.0 */
#include "readers/clean.h"

/* Length of the escape sequence at p: ESC [ parameters final, or ESC and one more byte. */
static size_t escape_length(struct sv v)
{
	size_t i = 2;

	if (v.n < 2 || v.p[1] != '[')
		return MIN(v.n, (size_t)2);
	while (i < v.n && ((v.p[i] >= '0' && v.p[i] <= '9') || v.p[i] == ';' || v.p[i] == '?'))
		i++;
	return MIN(i + 1, v.n);
}

/* mpirun --tag-output: "[1,0]<stdout>:" and "[1,0]<stderr>:" */
static struct sv without_tag(struct sv v)
{
	ptrdiff_t at = sv_find(v, SV("<stdout>:"));

	if (at < 0)
		at = sv_find(v, SV("<stderr>:"));
	if (at < 0 || at > 32 || v.p[0] != '[')
		return v;
	return (struct sv){ v.p + at + 9, v.n - (size_t)at - 9 };
}

struct sv line_clean(struct sv line, struct str *s)
{
	str_clear(s);
	while (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	for (size_t i = 0; i < line.n;) {
		if (line.p[i] == '\x1b') {
			i += escape_length((struct sv){ line.p + i, line.n - i });
		} else if (line.p[i] == '\r') {
			str_clear(s);
			i++;
		} else {
			str_addc(s, line.p[i++]);
		}
	}
	return without_tag(sv_str(s));
}

bool line_elides(struct sv line)
{
	struct sv v = sv_trim(line);

	return sv_is(v, "...") || sv_is(v, ". . .") || sv_is(v, "[...]") || sv_is(v, "# ...") ||
	       sv_is(v, "<SNIP>") || sv_is(v, "\xe2\x80\xa6") ||
	       sv_find(v, SV("[output truncated]")) >= 0;
}

bool word_not_available(struct sv word)
{
	static const char *const words[] = {
		"",
		"N/A",
		"n/a",
		"[N/A]",
		"None",
		"Not supported",
		"Not Supported",
		"[Not Supported]",
		"[Unknown Error]",
		"Unknown Error",
		"GPU is lost",
		"[GPU is lost]",
		"Not supported on the given system",
		"N/A (Secondary die)",
		"Requested functionality has been deprecated",
		"[Requested functionality has been deprecated]",
	};
	struct sv v = sv_trim(word);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (sv_is(v, words[i]))
			return true;
	return sv_starts(v, "N/A ");
}

bool line_value(struct sv line, const char *key, struct sv *ret)
{
	ptrdiff_t at = sv_find(line, sv_of(key));
	struct sv v;

	if (at < 0)
		return false;
	v = (struct sv){ line.p + at + strlen(key), line.n - (size_t)at - strlen(key) };
	while (v.n && (v.p[0] == ' ' || v.p[0] == '\t' || v.p[0] == ':')) {
		v.p++;
		v.n--;
	}
	*ret = sv_trim(v);
	return true;
}
