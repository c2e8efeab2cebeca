/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML as the common readers take it: testsuites > testsuite > testcase > failure | error |
 * skipped. There is no schema of its maker; elements and attributes are those of junit-10.xsd, the
 * Jenkins plugin's.
 */
#include "report/internal.h"

struct count {
	size_t n, failures, errors, skipped;
	int64_t took_ns;
};

static struct count count(const struct report_cases *l, const char *suite)
{
	struct count c = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		if (suite && !streq(suite, l->v[i].suite))
			continue;
		c.n++;
		c.failures += l->v[i].result == CASE_FAIL;
		c.errors += l->v[i].result == CASE_ERROR;
		c.skipped += l->v[i].result == CASE_SKIP;
		/* The verdict's time is that of the whole run: its parts are not added to it. */
		if (suite || streq(l->v[i].suite, "verdict"))
			c.took_ns += l->v[i].took_ns;
	}
	return c;
}

static void counts(const struct count *c, bool with_skipped, struct str *out)
{
	str_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", c->n, c->failures,
		 c->errors);
	if (with_skipped)
		str_addf(out, " skipped=\"%zu\"", c->skipped);
	str_addf(out, " time=\"%.3f\"", (double)c->took_ns / 1e9);
}

static void test_case(const struct report_case *c, const char *workload, struct str *out)
{
	static const char *const elements[] = { NULL, "failure", "error", "skipped" };
	const char *element = elements[c->result];

	esc_xml_in(out, "    <testcase classname=\"", workload, ".");
	esc_xml_in(out, "", c->suite, "\"");
	esc_xml_in(out, " name=\"", c->name, "\"");
	str_addf(out, " time=\"%.3f\"", (double)c->took_ns / 1e9);
	if (!element) {
		str_add(out, "/>\n");
		return;
	}
	str_addf(out, ">\n      <%s message=\"", element);
	esc_xml(out, c->message);
	/* skipped has no type in junit-10.xsd */
	if (c->result != CASE_SKIP)
		esc_xml_in(out, "\" type=\"", c->kind, "");
	str_add(out, "\"/>\n    </testcase>\n");
}

static void suite(const struct report_cases *l, size_t from, const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict");
	const char *name = l->v[from].suite;
	const char *begun = json_str_or(json_object_get(report, "times"), "begun", NULL);
	struct count c = count(l, name);

	esc_xml_in(out, "  <testsuite name=\"", name, "\"");
	counts(&c, true, out);
	if (begun && strlen(begun) >= 19) {
		AUTO_FREE char *stamp = xstrndup(begun, 19);

		esc_xml_in(out, " timestamp=\"", stamp, "\"");
	}
	str_add(out, ">\n");
	if (streq(name, "verdict")) {
		esc_xml_in(out, "    <properties>\n      <property name=\"run\" value=\"",
			   json_str_or(body, "run", ""), "\"/>\n");
		esc_xml_in(out, "      <property name=\"verdict\" value=\"", view_code(report),
			   "\"/>\n");
		esc_xml_in(out, "      <property name=\"entry\" value=\"",
			   json_str_or(json_object_get(report, "entry"), "leaf", ""),
			   "\"/>\n    </properties>\n");
	}
	for (size_t i = from; i < l->n && streq(l->v[i].suite, name); i++)
		test_case(&l->v[i], json_str_or(body, "workload", "workload"), out);
	str_add(out, "  </testsuite>\n");
}

void report_junit(const json_t *report, struct str *out)
{
	struct report_cases l CLEANUP(report_cases_release) = { 0 };
	struct count all;

	report_cases_read(report, &l);
	all = count(&l, NULL);
	str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"twice\"");
	counts(&all, false, out);
	str_add(out, ">\n");
	for (size_t i = 0; i < l.n; i++)
		if (i == 0 || !streq(l.v[i].suite, l.v[i - 1].suite))
			suite(&l, i, report, out);
	str_add(out, "</testsuites>\n");
}
