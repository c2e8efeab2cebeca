/* SPDX-License-Identifier: Apache-2.0 */
/* The cases as Common Test Report Format, specVersion 0.0.0 (ctrf.io). */
#include "report/internal.h"

#include "base/clock.h"

static json_t *test(const struct report_case *c)
{
	/* An error is neither passed nor failed: "other". */
	static const char *const states[] = { "passed", "failed", "other", "skipped" };
	json_t *o = json_object();

	json_put_str(o, "name", c->name);
	json_put_str(o, "status", states[c->result]);
	json_put_int(o, "duration", c->took_ns / NS_PER_MS);
	json_put_str(o, "suite", c->suite);
	json_put_str(o, "message", c->message);
	json_put_str(o, "rawStatus", c->kind);
	return o;
}

static json_t *summary(const struct report_cases *l, const json_t *times)
{
	static const char *const names[] = { "passed", "failed", "other", "skipped" };
	int64_t n[4] = { 0 }, start = 0;
	json_t *o = json_object();

	for (size_t i = 0; i < l->n; i++)
		n[l->v[i].result]++;
	json_put_int(o, "tests", (int64_t)l->n);
	for (size_t i = 0; i < 4; i++)
		json_put_int(o, names[i], n[i]);
	json_put_int(o, "pending", 0);
	if (!time_utc_parse(json_str_or(times, "begun", ""), &start))
		start = 0;
	json_put_int(o, "start", start);
	json_put_int(o, "stop", start + json_int_or(times, "took_ns", 0) / NS_PER_MS);
	return o;
}

void report_ctrf(const json_t *report, struct str *out)
{
	struct report_cases l CLEANUP(report_cases_release) = { 0 };
	AUTO_JSON json_t *root = json_object();
	json_t *results = json_object(), *tool = json_object(), *tests = json_array(),
	       *extra = json_object();
	const json_t *body = json_object_get(report, "verdict");
	AUTO_FREE char *text = NULL;

	report_cases_read(report, &l);
	json_put_str(tool, "name", "twice");
	json_put_str(
		tool, "version",
		json_str_or(body, "tool_version", json_str_or(report, "tool_version", "unknown")));
	for (size_t i = 0; i < l.n; i++)
		(void)json_array_append_new(tests, test(&l.v[i]));
	json_put(results, "tool", tool);
	json_put(results, "summary", summary(&l, json_object_get(report, "times")));
	json_put(results, "tests", tests);
	json_put_str(extra, "run", json_str_or(body, "run", NULL));
	json_put_str(extra, "workload", json_str_or(body, "workload", NULL));
	json_put_str(extra, "verdict", view_code(report));
	json_put_str(extra, "entry", json_str_or(json_object_get(report, "entry"), "leaf", NULL));
	json_put(results, "extra", extra);
	json_put_str(root, "reportFormat", "CTRF");
	json_put_str(root, "specVersion", "0.0.0");
	json_put(root, "results", results);
	text = json_text(root, true);
	str_addf(out, "%s\n", text);
}
