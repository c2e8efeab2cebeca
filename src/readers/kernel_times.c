/* SPDX-License-Identifier: Apache-2.0 */
/* Time per kernel from profilers' tables and traces. */
#include "readers/readers.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include <math.h>

enum { COLUMNS_MOST = 64, KERNELS_MOST = 20000 };

void kernel_times_release(struct kernel_times *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].name);
	free(l->v);
	*l = (struct kernel_times){ 0 };
}

bool kernel_times_named(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return (str_ends(base, ".csv") &&
		(strstr(base, "kernel") || strstr(base, "kern_sum") || strstr(base, ".stats"))) ||
	       str_ends(base, ".trace.json");
}

static void add(struct kernel_times *l, const char *name, double ns, uint64_t calls)
{
	struct kernel_time *x = l->n < KERNELS_MOST ? VEC_ADD(l) : NULL;

	if (x)
		*x = (struct kernel_time){ xstrdup(name), ns, calls };
}

static int by_name(const void *pa, const void *pb)
{
	const struct kernel_time *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static int longest(const void *pa, const void *pb)
{
	const struct kernel_time *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void merge(struct kernel_times *l)
{
	size_t n = 0;

	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	for (size_t i = 0; i < l->n; i++) {
		if (n && streq(l->v[n - 1].name, l->v[i].name)) {
			l->v[n - 1].ns += l->v[i].ns;
			l->v[n - 1].calls += l->v[i].calls;
			free(l->v[i].name);
		} else {
			l->v[n++] = l->v[i];
		}
	}
	l->n = n;
	if (n > 1)
		qsort(l->v, n, sizeof(*l->v), longest);
}

/* One cell; quotes are doubled inside quotes. false: the line has ended. */
static bool cell(struct sv *rest, struct str *ret)
{
	str_clear(ret);
	if (!rest->p)
		return false;
	if (rest->n && rest->p[0] == '"') {
		size_t i = 1;

		for (; i < rest->n; i++) {
			if (rest->p[i] == '"' && i + 1 < rest->n && rest->p[i + 1] == '"')
				i++;
			else if (rest->p[i] == '"')
				break;
			str_addc(ret, rest->p[i]);
		}
		i = MIN(i + 1, rest->n);
		rest->p += i;
		rest->n -= i;
	}
	while (rest->n && rest->p[0] != ',') {
		str_addc(ret, rest->p[0]);
		rest->p++;
		rest->n--;
	}
	if (rest->n) {
		rest->p++;
		rest->n--;
	} else {
		rest->p = NULL;
	}
	return true;
}

struct columns {
	int name, time, calls;
	double scale; /* to ns */
};

static bool head(struct sv line, struct columns *ret)
{
	struct str c CLEANUP(str_release) = { 0 };

	*ret = (struct columns){ -1, -1, -1, 1 };
	for (int i = 0; i < COLUMNS_MOST && cell(&line, &c); i++) {
		struct sv t = sv_trim(sv_str(&c));

		if (sv_is(t, "Name") || sv_is(t, "KernelName") || sv_is(t, "Kernel_Name")) {
			ret->name = i;
		} else if (sv_is(t, "TotalDurationNs") || sv_is(t, "Total Time (ns)") ||
			   sv_is(t, "DurationNs")) {
			ret->time = i;
		} else if (sv_is(t, "TotalDurationUs") || sv_is(t, "Total Time (us)")) {
			ret->time = i;
			ret->scale = 1e3;
		} else if (sv_is(t, "Calls") || sv_is(t, "Instances")) {
			ret->calls = i;
		}
	}
	return ret->name >= 0 && ret->time >= 0;
}

static int row(struct sv line, const struct columns *at, unsigned number, struct kernel_times *l,
	       struct err *err)
{
	struct str c CLEANUP(str_release) = { 0 };
	AUTO_FREE char *name = NULL;
	double ns = NAN;
	uint64_t calls = 1;

	for (int i = 0; i < COLUMNS_MOST && cell(&line, &c); i++) {
		struct sv t = sv_trim(sv_str(&c));

		if (i == at->name) {
			free(name);
			name = sv_dup(t);
		} else if (i == at->time && !sv_to_f64(t, &ns)) {
			return bail(err, ERR_PARSE, "line %u: '%.40s' is no time", number,
				    str_text(&c));
		} else if (i == at->calls && !sv_to_u64(t, &calls)) {
			calls = 1;
		}
	}
	if (!name || !*name || !(ns >= 0) || !isfinite(ns))
		return bail(err, ERR_PARSE, "line %u: no name or no time", number);
	add(l, name, ns * at->scale, calls);
	return 0;
}

static int read_csv(struct sv text, struct kernel_times *l, struct err *err)
{
	struct columns at = { -1, -1, -1, 1 };
	struct sv line;
	unsigned number = 0;
	bool begun = false;

	while (sv_line(&text, &line)) {
		number++;
		line = sv_trim(line);
		if (!line.n)
			continue;
		if (!begun)
			begun = head(line, &at);
		else
			TRY(row(line, &at, number, l, err));
	}
	if (!begun)
		return bail(err, ERR_PARSE,
			    "no table of kernel times: no columns for name and time");
	return 0;
}

static int read_trace(struct sv text, struct kernel_times *l, struct err *err)
{
	AUTO_JSON json_t *doc = NULL;
	const json_t *events;

	TRY(json_read(text, "the trace", &doc, err));
	events = json_is_array(doc) ? doc : json_object_get(doc, "traceEvents");
	if (!json_is_array(events))
		return bail(err, ERR_PARSE, "no 'traceEvents' in the trace");
	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *e = json_array_get(events, i), *d = json_object_get(e, "dur");
		const char *cat = json_str_or(e, "cat", ""), *name = json_str_or(e, "name", NULL);

		if (name && (streq(cat, "kernel") || streq(cat, "Kernel")) && json_is_number(d) &&
		    json_number_value(d) >= 0)
			add(l, name, json_number_value(d) * 1e3, 1);
	}
	return 0;
}

int kernel_times_read(struct sv text, struct kernel_times *ret, struct err *err)
{
	struct kernel_times l CLEANUP(kernel_times_release) = { 0 };
	struct sv t = sv_trim(text);

	if (t.n && (t.p[0] == '{' || t.p[0] == '['))
		TRY(read_trace(t, &l, err));
	else
		TRY(read_csv(t, &l, err));
	if (!l.n)
		return bail(err, ERR_PARSE, "no kernel in it");
	merge(&l);
	*ret = l;
	l = (struct kernel_times){ 0 };
	return 0;
}
