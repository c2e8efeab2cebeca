/* SPDX-License-Identifier: Apache-2.0 */
/* First line: how, then the pointer, column or pattern; the rest is the text. */
#include "base/err.h"
#include "base/extract.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct extract_spec spec_of(struct sv line, char *arg)
{
	static struct pair where[] = { { "op", "triad" } };
	static const struct pairs filter = { where, 1, 1 };
	struct extract_spec s = { .how = (enum extract_how)((unsigned char)line.p[0] % 6) };

	s.pointer = s.column = s.pattern = arg;
	s.row = (int)((unsigned char)line.p[0] / 16) - 8;
	if ((unsigned char)line.p[0] & 8)
		s.where = &filter;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sv text = { (const char *)data, n }, line;
	struct numbers l CLEANUP(numbers_release) = { 0 };
	AUTO_FREE char *arg = NULL;
	struct err err = ERR_INIT;
	struct extract_spec s;

	if (!n || !sv_line(&text, &line) || !line.n)
		return 0;
	arg = sv_dup((struct sv){ line.p + 1, line.n - 1 });
	s = spec_of(line, arg);
	if (extract_run(&s, text, 0, &l, &err) < 0) {
		assert(l.n == 0 && err.msg[0] && !strchr(err.msg, '\n'));
		return 0;
	}
	assert(l.n > 0);
	for (size_t i = 0; i < l.n; i++)
		assert(isfinite(l.v[i]));
	for (int i = 0; i < AGG_N; i++)
		(void)extract_agg((enum extract_agg)i, &l);
	return 0;
}
