/* SPDX-License-Identifier: Apache-2.0 */
#include "load/load.h"

#include "base/err.h"
#include "base/vec.h"

#include <math.h>

struct times {
	int64_t *v;
	size_t n, room;
};

static void times_release(struct times *t)
{
	free(t->v);
}

static int one_time(struct sv line, double *ret_ns, struct err *err)
{
	AUTO_JSON json_t *o = NULL;
	json_t *at;

	if (line.p[0] != '{') {
		if (!sv_to_f64(line, ret_ns))
			return bail(err, ERR_PARSE,
				    "neither a number of seconds nor a JSON object");
		*ret_ns *= 1e9;
		return 0;
	}
	TRY(json_read(line, "JSON", &o, err));
	at = json_object_get(o, "timestamp");
	if (!json_is_number(at))
		return bail(err, ERR_PARSE, "member 'timestamp' is missing or not a number");
	*ret_ns = json_number_value(at) * 1e6;
	return 0;
}

int load_trace_parse(struct sv text, const char *what, int64_t **ret, size_t *ret_n,
		     struct err *err)
{
	struct times t CLEANUP(times_release) = { 0 };
	unsigned number = 0;
	double first = 0, before = 0;

	for (struct sv rest = text, line; sv_line(&rest, &line);) {
		double ns = 0;

		number++;
		line = sv_trim(line);
		if (line.n == 0)
			continue;
		if (one_time(line, &ns, err) < 0)
			return err_wrap(err, "%s: line %u", what, number);
		if (t.n == 0)
			first = before = ns;
		if (!(ns >= before) || ns - first > 9e18)
			return bail(err, ERR_PARSE, "%s: line %u: earlier than the line before it",
				    what, number);
		before = ns;
		*VEC_ADD(&t) = (int64_t)llround(ns - first);
	}
	if (t.n == 0)
		return bail(err, ERR_PARSE, "%s: no time in it", what);
	*ret = STEAL(t.v);
	*ret_n = t.n;
	return 0;
}
