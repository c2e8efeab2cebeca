/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what was decided and why, on top; then what it rests on. */
#include "report/internal.h"

#include <math.h>

static void head(const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict");
	enum verdict_kind k = view_kind(report);

	str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		     "style-src "
		     "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		     "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	esc_xml(out, json_str_or(body, "workload", "a run"));
	str_addf(out, ": %s</title>\n<style>\n%s</style></head>\n<body>\n",
		 k == VERDICT_N ? "no verdict" : verdict_name(k), html_style);
}

static void list(const json_t *a, const char *lead, struct str *out)
{
	const json_t *x;
	size_t i;

	if (!json_array_size(a))
		return;
	str_add(out, "<ul>\n");
	json_array_foreach(a, i, x)
	{
		str_addf(out, "<li>%s", lead);
		esc_xml_in(out, "",
			   json_is_string(x) ? json_string_value(x) : json_str_or(x, "text", ""),
			   "</li>\n");
	}
	str_add(out, "</ul>\n");
}

/* The newest sign-off that counts, in the banner too: accepting is a person's deed. */
static void signed_by(const json_t *report, struct str *out)
{
	const json_t *a = json_object_get(report, "signoffs"), *s;
	size_t i;

	json_array_foreach(a, i, s)
	{
		AUTO_FREE char *at = view_stamp(json_str_or(s, "at", NULL));

		if (!streq(json_str_or(s, "standing", ""), REPORT_IN_FORCE))
			continue;
		esc_xml_in(out, "<p>Signed as accepted by <b>", json_str_or(s, "by", ""), "</b>, ");
		esc_xml_in(out, "", at, ".</p>\n");
		return;
	}
	if (json_array_size(a))
		str_add(out, "<p>There is a sign-off, but none that is in force.</p>\n");
	else if (view_verdict_tone(view_kind(report)) == TONE_GOOD)
		str_add(out, "<p>Nobody has signed it as accepted yet.</p>\n");
}

static void banner(const json_t *report, struct str *out)
{
	static const char *const marks[] = { "", "\u2713", "?", "\u2715" };
	const json_t *body = json_object_get(report, "verdict"), *d = view_decision(report);
	enum verdict_kind k = view_kind(report);
	enum tone t = view_verdict_tone(k);
	AUTO_FREE char *basis = view_basis(report);

	str_addf(out, "<header class=\"banner %s\">\n<h1>", tone_name(t));
	esc_xml_in(out, "", json_str_or(body, "workload", "a workload without a name"), "</h1>\n");
	str_addf(out, "<p class=\"word %s\"><span aria-hidden=\"true\">%s</span> %s</p>\n",
		 tone_name(t), marks[t], k == VERDICT_N ? "no verdict" : verdict_name(k));
	str_addf(out, "<p>%s</p>\n", view_sentence(report));
	list(json_object_get(d, "reasons"), "", out);
	if (json_str_or(d, "advice", NULL))
		esc_xml_in(out, "<p>", json_str_or(d, "advice", ""), "</p>\n");
	signed_by(report, out);
	str_add(out, "<p class=\"soft\">Run ");
	esc_xml(out, json_str_or(body, "run", "unknown"));
	str_addf(out, ", %s.</p>\n</header>\n", basis);
}

static void item(struct str *out, const char *name, const char *value, bool mono)
{
	str_addf(out, "<dt>%s</dt><dd>", name);
	esc_xml_in(out, mono ? "<code>" : "", value, mono ? "</code>" : "");
	str_add(out, "</dd>\n");
}

static void facts(const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict"),
		     *times = json_object_get(report, "times");
	const json_t *acc = json_object_get(report, "accepted"),
		     *log = json_object_get(report, "log");
	AUTO_FREE char *begun = view_stamp(json_str_or(times, "begun", NULL));
	AUTO_FREE char *took = view_quantity(json_object_get(times, "took_ns"), UNIT_NS);
	AUTO_FREE char *acc_at = view_stamp(json_str_or(acc, "at", NULL));
	AUTO_FREE char *acc_text = xasprintf(
		"run %s, signed by %s on %s%s%s", json_str_or(acc, "run", "unknown"),
		json_str_or(acc, "by", "unknown"), acc_at,
		json_str_or(acc, "note", "")[0] ? ": " : "", json_str_or(acc, "note", ""));
	AUTO_FREE char *log_text =
		xasprintf("%s, %lld entries", json_str_or(log, "origin", "unknown"),
			  (long long)json_int_or(log, "size", 0));

	str_add(out, "<dl>\n");
	item(out, "Begun", begun, false);
	item(out, "Took", took, false);
	item(out, "Compared with", acc ? acc_text : "nothing: first acceptance", false);
	item(out, "Contract", json_str_or(json_object_get(report, "contract"), "digest", "unknown"),
	     true);
	item(out, "Stack", json_str_or(body, "stack_digest", "unknown"), true);
	item(out, "Verdict's entry",
	     json_str_or(json_object_get(report, "entry"), "leaf", "unknown"), true);
	item(out, "Ledger", log ? log_text : "unknown", false);
	item(out, "Made by", json_str_or(json_object_get(report, "entry"), "by", "unknown"), false);
	item(out, "Tool",
	     json_str_or(body, "tool_version", json_str_or(report, "tool_version", "unknown")),
	     false);
	str_add(out, "</dl>\n");
}

static void figure(const json_t *report, const json_t *x, size_t id, struct str *out)
{
	struct str svg CLEANUP(str_release) = { 0 };
	enum unit u = view_unit(x);
	AUTO_FREE char *before = view_quantity(json_object_get(x, "accepted"), u);
	AUTO_FREE char *now = view_quantity(json_object_get(x, "candidate"), u);
	AUTO_FREE char *standing = NULL;
	enum tone t = view_standing(x, &standing);

	if (!svg_strip(report, x, id, &svg))
		return;
	esc_xml_in(out, "<figure><figcaption><b>", json_str_or(x, "name", ""), "</b> ");
	if (json_object_get(x, "accepted"))
		str_addf(out, "%s \u2192 ", before);
	str_addf(out, "%s <span class=\"%s\">", now, tone_name(t));
	esc_xml_in(out, "", standing, "</span></figcaption>\n");
	str_addf(out, "%s</figure>\n", str_text(&svg));
}

static void figures(const json_t *report, struct str *out)
{
	const json_t *a = json_object_get(view_decision(report), "numbers"), *x;
	size_t i;

	if (!json_array_size(a))
		return;
	str_add(out, "<h3>Every repetition</h3>\n<p class=\"soft\">A mark is one fresh start of "
		     "the workload, the bar is "
		     "the median. Beyond the dashed line it would be worse than its margin; the "
		     "solid line is the "
		     "contract's limit.</p>\n<div class=\"plots\">\n");
	json_array_foreach(a, i, x)
	{
		figure(report, x, i, out);
	}
	str_add(out, "</div>\n");
}

static void contract(const json_t *report, struct str *out)
{
	const json_t *c = json_object_get(report, "contract");
	const char *source = json_str_or(c, "source", NULL);

	if (!source)
		return;
	str_add(out, "<h2 id=\"contract\">Contract</h2>\n<details><summary>As it was "
		     "written</summary>\n");
	esc_xml_in(out, "<pre>", source, "</pre></details>\n");
}

static void verify(const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict"),
		     *log = json_object_get(report, "log");
	const json_t *entry = json_object_get(report, "entry");

	str_add(out, "<h2 id=\"verify\">Check it yourself</h2>\n"
		     "<p>This page is a copy. What counts is the ledger, and it can be checked "
		     "without trusting this "
		     "page:</p>\n<pre>");
	str_add(out, "twice verify --recompute        # entries, signatures, evidence, and every "
		     "verdict again\n");
	esc_xml_in(out, "twice show ", json_str_or(entry, "leaf", "LEAF"),
		   "   # the verdict's entry\n");
	str_add(out, "twice show DIGEST --out FILE    # a piece of evidence, checked against its "
		     "digest\n");
	esc_xml_in(out, "twice why ", json_str_or(body, "run", "RUN"), "</pre>\n");
	if (!log)
		return;
	str_addf(out, "<p>When this page was made the log had %lld entries and the root</p>\n",
		 (long long)json_int_or(log, "size", 0));
	esc_xml_in(out, "<p><code>", json_str_or(log, "root", "unknown"), "</code></p>\n");
	if (json_str_or(log, "key", NULL))
		esc_xml_in(out, "<p>Its key: <code>", json_str_or(log, "key", ""), "</code></p>\n");
}

void report_html(const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict");
	bool suspects = json_object_get(body, "attribution") != NULL;
	bool search = json_object_get(report, "search") != NULL;
	AUTO_FREE char *watch = view_watch(report);

	head(report, out);
	banner(report, out);
	str_add(out, "<nav aria-label=\"contents\"><a href=\"#metrics\">Metrics</a><a "
		     "href=\"#stack\">Stack</a>");
	if (search)
		str_add(out, "<a href=\"#search\">Which component</a>");
	if (suspects)
		str_add(out, "<a href=\"#suspects\">Suspects</a>");
	str_add(out, "<a href=\"#checks\">Checks</a><a href=\"#repetitions\">Repetitions</a><a "
		     "href=\"#evidence\">"
		     "Evidence</a><a href=\"#verify\">Verify</a></nav>\n<main>\n");
	facts(report, out);
	str_add(out, "<h2 id=\"metrics\">Metrics</h2>\n");
	html_numbers(report, out);
	html_answers(report, out);
	if (watch)
		esc_xml_in(out, "<p>", watch, "</p>\n");
	list(json_object_get(view_decision(report), "notes"), "Note: ", out);
	figures(report, out);
	str_add(out, "<h2 id=\"stack\">What changed in the stack</h2>\n");
	html_changes(report, out);
	html_stack(report, out);
	if (search) {
		str_add(out, "<h2 id=\"search\">Which component did it</h2>\n");
		html_search(report, out);
	}
	if (suspects) {
		str_add(out, "<h2 id=\"suspects\">Suspects</h2>\n");
		html_suspects(report, out);
	}
	str_add(out, "<h2 id=\"checks\">Checks</h2>\n");
	html_checks(report, out);
	str_add(out, "<h2 id=\"repetitions\">Repetitions</h2>\n");
	html_reps(report, out);
	html_all_metrics(report, out);
	str_add(out, "<h2 id=\"evidence\">Evidence</h2>\n");
	html_evidence(report, out);
	str_add(out, "<h3>Sign-offs</h3>\n");
	html_signoffs(report, out);
	contract(report, out);
	verify(report, out);
	str_add(out, "</main>\n</body></html>\n");
}
