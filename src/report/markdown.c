/* SPDX-License-Identifier: Apache-2.0 */
/* The run as Markdown: what a reviewer needs at once, the rest folded away. */
#include "report/internal.h"

#include <math.h>

static void md_in(struct str *out, const char *before, const char *text, const char *after)
{
	str_add(out, before);
	esc_md(out, text);
	str_add(out, after);
}

static void list(const json_t *a, const char *lead, struct str *out)
{
	const json_t *x;
	size_t i;

	json_array_foreach(a, i, x)
	{
		str_addf(out, "- %s", lead);
		md_in(out, "",
		      json_is_string(x) ? json_string_value(x) : json_str_or(x, "text", ""), "\n");
	}
	if (json_array_size(a))
		str_add(out, "\n");
}

static void headline(const json_t *report, struct str *out)
{
	static const char *const marks[] = { "", "\u2705", "\u2754", "\u274c" };
	const json_t *body = json_object_get(report, "verdict"), *d = view_decision(report);
	enum verdict_kind k = view_kind(report);
	AUTO_FREE char *basis = view_basis(report);

	str_addf(out, "## %s ", marks[view_verdict_tone(k)]);
	md_in(out, "", json_str_or(body, "workload", "a workload without a name"), ": ");
	str_addf(out, "%s\n\n%s\n\n", k == VERDICT_N ? "no verdict" : verdict_name(k),
		 view_sentence(report));
	list(json_object_get(d, "reasons"), "", out);
	if (json_str_or(d, "advice", NULL))
		md_in(out, "", json_str_or(d, "advice", ""), "\n\n");
	md_in(out, "Run ", json_str_or(body, "run", "unknown"), ", ");
	str_addf(out, "%s.\n\n", basis);
}

static void numbers(const json_t *a, struct str *out)
{
	static const char *const marks[] = { "", "\u2713 ", "? ", "\u2715 " };
	const json_t *x;
	size_t i;

	if (!json_array_size(a))
		return;
	str_add(out,
		"| Metric | Standing | Now | Limit | Accepted | Worse by | Interval | Margin |\n"
		"|---|---|--:|--:|--:|--:|--:|--:|\n");
	json_array_foreach(a, i, x)
	{
		enum unit u = view_unit(x);
		bool abs = streq(json_str_or(x, "scale", ""), "abs");
		AUTO_FREE char *now = view_quantity(json_object_get(x, "candidate"), u);
		AUTO_FREE char *limit = view_quantity(json_object_get(x, "limit"), u);
		AUTO_FREE char *before = view_quantity(json_object_get(x, "accepted"), u);
		AUTO_FREE char *shift = view_percent(view_e9(x, "shift_e9"), abs);
		AUTO_FREE char *interval = view_interval(x);
		AUTO_FREE char *margin = json_bool_or(x, "gate", false)
						 ? view_percent(view_e9(x, "margin_e9"), abs)
						 : xstrdup("-");
		AUTO_FREE char *standing = NULL;
		enum tone t = view_standing(x, &standing);

		md_in(out, "| ", json_str_or(x, "name", ""), " | ");
		md_in(out, marks[t], standing, " | ");
		str_addf(out, "%s | %s | %s | %s | %s | %s |\n", now, limit, before, shift,
			 interval, margin);
	}
	str_add(out, "\n");
}

static void answers(const json_t *a, struct str *out)
{
	static const char *const marks[] = { "", "\u2713 ", "? ", "\u2715 " };
	const json_t *x;
	size_t i;

	if (!json_array_size(a))
		return;
	str_add(out, "| Answers | Standing | Of | Accepted | Now | Change | Interval | Margin |\n"
		     "|---|---|--:|--:|--:|--:|--:|--:|\n");
	json_array_foreach(a, i, x)
	{
		struct answer_view v CLEANUP(answer_view_release) = { 0 };

		answer_view_read(x, &v);
		md_in(out, "| ", v.name, " | ");
		md_in(out, marks[v.tone], v.standing, " | ");
		str_addf(out, "%s | %s | %s | %s | %s | %s |\n", v.n, v.before, v.now, v.change,
			 v.interval, v.margin);
	}
	str_add(out, "\n");
}

static void changes(const json_t *a, struct str *out)
{
	const json_t *c;
	size_t i, n = 0;

	if (!a)
		return;
	str_add(out, "### What changed in the stack\n\n");
	json_array_foreach(a, i, c)
	{
		AUTO_FREE char *before = view_side(c, "before");
		AUTO_FREE char *after = view_side(c, "after");

		if (!json_bool_or(c, "material", true))
			continue;
		if (!n++)
			str_add(out, "| Layer | Component | Accepted | Now |\n|---|---|---|---|\n");
		md_in(out, "| ", json_str_or(c, "layer", ""), " | ");
		md_in(out, "", json_str_or(c, "name", ""), " | ");
		md_in(out, "", before, " | ");
		md_in(out, "", after, " |\n");
	}
	str_add(out, n ? "\n" : "Nothing that matters.\n\n");
}

static void item(const char *text, struct str *out)
{
	md_in(out, "- ", text, "\n");
}

static void search(const json_t *found, struct str *out)
{
	const json_t *parts = json_object_get(found, "components"), *c;
	const json_t *refused = json_object_get(found, "refused"), *r;
	struct str line CLEANUP(str_release) = { 0 };
	size_t i;

	if (!found)
		return;
	report_search_line(found, &line);
	md_in(out, "### Which component did it\n\n**", str_text(&line), "**\n\n");
	str_addf(out, "By %lld trials of `twice bisect` (",
		 (long long)json_int_or(found, "trials", 0));
	md_in(out, "", json_str_or(found, "run", ""), "), measured by ");
	md_in(out, "", json_str_or(found, "metric", "-"), ".\n\n");
	if (report_search_kind(found))
		item(report_search_kind(found), out);
	for (int back = 0; back < 2 && streq(json_str_or(found, "state", ""), "found"); back++) {
		struct str way CLEANUP(str_release) = { 0 };

		report_search_way(found, back == 1, &way);
		item(str_text(&way), out);
	}
	if (json_object_get(found, "factorial")) {
		struct str plan CLEANUP(str_release) = { 0 };

		report_search_factorial(json_object_get(found, "factorial"), &plan);
		item(str_text(&plan), out);
	}
	json_array_foreach(refused, i, r)
	{
		md_in(out, "- Not tried: ", json_str_or(r, "why", ""), " (");
		md_in(out, "", json_str_or(r, "source", ""), ")\n");
	}
	str_add(out, "\n");
	if (json_array_size(parts))
		str_add(out, "| Component | Accepted | Now | Probability | Share |\n"
			     "|---|---|---|--:|---|\n");
	json_array_foreach(parts, i, c)
	{
		struct str share CLEANUP(str_release) = { 0 };

		report_search_share(c, "share_e9", "low_e9", "high_e9", &share);
		md_in(out, "| ", json_str_or(c, "component", ""), " | ");
		md_in(out, "", json_str_or(c, "old", "-"), " | ");
		md_in(out, "", json_str_or(c, "new", "-"), " | ");
		str_addf(out, "%.1f %% | ", 100 * view_e9(c, "posterior_e9"));
		md_in(out, "", str_text(&share), " |\n");
	}
	if (i)
		str_add(out, "\n");
}

static void suspects(const json_t *d, bool superseded, struct str *out)
{
	const json_t *a = json_object_get(d, "suspects"), *s;
	struct str cause CLEANUP(str_release) = { 0 };
	size_t i;

	if (!d)
		return;
	str_add(out, superseded ? "### Suspected before the search, which supersedes it\n\n"
				: "### Suspects\n\n");
	md_in(out, "Symptom: ", json_str_or(d, "symptom", "unknown"), "; ");
	md_in(out, "confidence: ", json_str_or(d, "confidence", "unknown"), "\n\n");
	report_cause_line(d, &cause);
	md_in(out, "", str_text(&cause), "\n\n");
	json_array_foreach(a, i, s)
	{
		str_addf(out, "%zu. ", i + 1);
		md_in(out, "", json_str_or(s, "change", ""), "; who acts: ");
		md_in(out, "", json_str_or(s, "owner", "unknown"), "");
		str_addf(out, "; weight %.0f %%\n", 100 * view_e9(s, "share_e9"));
	}
	if (i)
		str_add(out, "\n");
	list(json_object_get(d, "reasons"), "", out);
	list(json_object_get(d, "must_not"), "Mind: ", out);
	if (json_str_or(d, "next", NULL))
		md_in(out, "Next: ", json_str_or(d, "next", ""), "\n\n");
}

static void checks(const json_t *a, struct str *out)
{
	const json_t *o;
	size_t i;

	if (!json_array_size(a))
		return;
	str_add(out, "### Checks\n\n| Check | Result | Required | Reason |\n|---|---|---|---|\n");
	json_array_foreach(a, i, o)
	{
		md_in(out, "| ", json_str_or(o, "check", ""), " | ");
		md_in(out, "", json_str_or(o, "result", "unknown"), " | ");
		str_addf(out, "%s | ", json_bool_or(o, "required", true) ? "yes" : "no");
		md_in(out, "", json_str_or(o, "reason", ""), " |\n");
	}
	str_add(out, "\n");
}

static void evidence(const json_t *a, struct str *out)
{
	const json_t *e;
	size_t i;

	size_t lost = 0;

	if (!json_array_size(a))
		return;
	json_array_foreach(a, i, e) lost += json_str_or(e, "state", NULL) != NULL;
	if (lost)
		str_addf(out, "**%zu of %zu files of evidence are not there any more.**\n\n", lost,
			 json_array_size(a));
	str_addf(out, "<details><summary>Evidence: %zu files by digest</summary>\n\n",
		 json_array_size(a));
	str_add(out, "| Of | File | Bytes | SHA-256 |\n|---|---|--:|---|\n");
	json_array_foreach(a, i, e)
	{
		md_in(out, "| ", json_str_or(e, "of", ""), " | ");
		md_in(out, "", json_str_or(e, "label", ""),
		      json_str_or(e, "state", NULL) ? " " : " | ");
		if (json_str_or(e, "state", NULL))
			md_in(out, "(", json_str_or(e, "state", ""), ") | ");
		str_addf(out, "%lld | ", (long long)json_int_or(e, "bytes", 0));
		md_in(out, "", json_str_or(e, "digest", ""), " |\n");
	}
	str_add(out, "\n</details>\n\n");
}

static void signoffs(const json_t *a, struct str *out)
{
	const json_t *s;
	size_t i;

	json_array_foreach(a, i, s)
	{
		AUTO_FREE char *at = view_stamp(json_str_or(s, "at", NULL));

		md_in(out, "Signed as accepted by ", json_str_or(s, "by", "unknown"), ", ");
		md_in(out, "", at, " (");
		md_in(out, "", json_str_or(s, "standing", "unknown"), ")");
		md_in(out, json_str_or(s, "note", "")[0] ? ": " : "", json_str_or(s, "note", ""),
		      "\n\n");
	}
}

void report_markdown(const json_t *report, struct str *out)
{
	const json_t *body = json_object_get(report, "verdict"), *d = view_decision(report);
	const json_t *log = json_object_get(report, "log");
	const json_t *found = json_object_get(report, "search");
	AUTO_FREE char *watch = view_watch(report);

	headline(report, out);
	signoffs(json_object_get(report, "signoffs"), out);
	numbers(json_object_get(d, "numbers"), out);
	answers(json_object_get(d, "answers"), out);
	if (watch)
		md_in(out, "", watch, "\n\n");
	list(json_object_get(d, "notes"), "Note: ", out);
	changes(json_object_get(body, "changes"), out);
	search(found, out);
	suspects(json_object_get(body, "attribution"), report_search_leads(found), out);
	checks(json_object_get(report, "checks"), out);
	evidence(json_object_get(report, "evidence"), out);
	md_in(out,
	      "Verdict's entry: ", json_str_or(json_object_get(report, "entry"), "leaf", "unknown"),
	      "");
	if (log) {
		str_addf(out, "; log of %lld entries, root ",
			 (long long)json_int_or(log, "size", 0));
		esc_md(out, json_str_or(log, "root", "unknown"));
	}
	str_add(out, ". Check it: `twice verify --recompute`\n");
}
