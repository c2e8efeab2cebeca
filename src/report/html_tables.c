/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the page. */
#include "report/internal.h"

#include <math.h>

static void table_begin(struct str *out, const char *label, const char *const *heads)
{
	str_addf(out,
		 "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
		 "aria-label=\"%s\"><table><thead><tr>",
		 label);
	for (size_t i = 0; heads[i]; i++) {
		bool num = heads[i][0] == '>';

		str_addf(out, "<th scope=\"col\"%s>%s</th>", num ? " class=\"num\"" : "",
			 heads[i] + num);
	}
	str_add(out, "</tr></thead><tbody>\n");
}

static void table_end(struct str *out)
{
	str_add(out, "</tbody></table></div>\n");
}

static void cell(struct str *out, const char *class, const char *text)
{
	str_addf(out, class ? "<td class=\"%s\">" : "<td>", class);
	esc_xml_in(out, "", text, "</td>");
}

/* A word or a few: stays on one line. */
static void tone_cell(struct str *out, enum tone t, const char *text)
{
	static const char *const marks[] = { "", "\u2713 ", "? ", "\u2715 " };

	str_addf(out, "<td class=\"%s nowrap\">%s", tone_name(t), marks[t]);
	esc_xml_in(out, "", text, "</td>");
}

static void digest_cell(struct str *out, const char *digest)
{
	cell(out, "hex", digest ? digest : "-");
}

static void group_row(struct str *out, const char *name, int columns)
{
	str_addf(out, "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\">", columns);
	esc_xml_in(out, "", name, "</th></tr>\n");
}

/* ---- what decides ---------------------------------------------------------------------------- */

static void number_row(const json_t *x, bool compared, struct str *out)
{
	enum unit u = view_unit(x);
	bool abs = streq(json_str_or(x, "scale", ""), "abs"), gate = json_bool_or(x, "gate", false);
	AUTO_FREE char *limit = view_quantity(json_object_get(x, "limit"), u);
	AUTO_FREE char *before = view_quantity(json_object_get(x, "accepted"), u);
	AUTO_FREE char *now = view_quantity(json_object_get(x, "candidate"), u);
	AUTO_FREE char *shift = view_percent(view_e9(x, "shift_e9"), abs);
	AUTO_FREE char *interval = view_interval(x);
	AUTO_FREE char *margin = gate ? view_percent(view_e9(x, "margin_e9"), abs) : xstrdup("-");
	AUTO_FREE char *standing = NULL;
	enum tone t = view_standing(x, &standing);

	esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(x, "name", ""), "</th>");
	tone_cell(out, t, standing);
	cell(out, "num", now);
	if (json_object_get(x, "limit"))
		str_addf(out, "<td class=\"num\">%s %s</td>",
			 streq(json_str_or(x, "better", ""), "higher") ? "\u2265" : "\u2264",
			 limit);
	else
		cell(out, "num", "-");
	if (compared) {
		cell(out, "num", before);
		cell(out, "num", shift);
		cell(out, "num", interval);
		cell(out, "num", margin);
	}
	str_add(out, "</tr>\n");
}

void html_numbers(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Metric",    "Standing",  ">Now",
					     ">Limit",    ">Accepted", ">Worse by",
					     ">Interval", ">Margin",   NULL };
	static const char *const first[] = { "Metric", "Standing", ">Now", ">Limit", NULL };
	const json_t *list = json_object_get(view_decision(report), "numbers"), *x;
	bool compared = false;
	size_t i;

	if (!json_array_size(list)) {
		str_add(out, "<p>No metric was judged.</p>\n");
		return;
	}
	json_array_foreach(list, i, x)
	{
		compared |= json_object_get(x, "shift_e9") != NULL;
	}
	table_begin(out, "metrics", compared ? heads : first);
	json_array_foreach(list, i, x)
	{
		number_row(x, compared, out);
	}
	table_end(out);
}

void html_answers(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Answers", "Standing",  ">Of",     ">Accepted", ">Now",
					     ">Change", ">Interval", ">Margin", NULL };
	const json_t *list = json_object_get(view_decision(report), "answers"), *x;
	size_t i;

	if (!json_array_size(list))
		return;
	table_begin(out, "answers", heads);
	json_array_foreach(list, i, x)
	{
		struct answer_view v CLEANUP(answer_view_release) = { 0 };

		answer_view_read(x, &v);
		esc_xml_in(out, "<tr><th scope=\"row\">", v.name, "</th>");
		tone_cell(out, v.tone, v.standing);
		cell(out, "num", v.n);
		cell(out, "num", v.before);
		cell(out, "num", v.now);
		cell(out, "num", v.change);
		cell(out, "num", v.interval);
		cell(out, "num", v.margin);
		str_add(out, "</tr>\n");
	}
	table_end(out);
	str_add(out, "<p>Shares are of right items, or of texts that agree; the "
		     "bounds hold at 99 % each.</p>\n");
}

/* ---- the stack ------------------------------------------------------------------------------- */

static size_t change_rows(const json_t *list, bool material, struct str *out)
{
	static const char *const heads[] = { "Layer", "Component", "Accepted", "Now", NULL };
	const json_t *c;
	size_t i, n = 0;

	json_array_foreach(list, i, c)
	{
		AUTO_FREE char *before = view_side(c, "before");
		AUTO_FREE char *after = view_side(c, "after");

		if (json_bool_or(c, "material", true) != material)
			continue;
		if (!n++)
			table_begin(out, material ? "material changes" : "other changes", heads);
		str_add(out, "<tr>");
		cell(out, NULL, json_str_or(c, "layer", ""));
		esc_xml_in(out, "<th scope=\"row\">", json_str_or(c, "name", ""), "</th>");
		cell(out, "text", before);
		cell(out, "text", after);
		str_add(out, "</tr>\n");
	}
	if (n)
		table_end(out);
	return n;
}

void html_changes(const json_t *report, struct str *out)
{
	const json_t *list = json_object_get(json_object_get(report, "verdict"), "changes");
	struct str other CLEANUP(str_release) = { 0 };
	size_t n;

	if (!list) {
		str_add(out, "<p>There was no accepted stack to compare with.</p>\n");
		return;
	}
	if (!change_rows(list, true, out))
		str_add(out, "<p>No component changed in a way that matters.</p>\n");
	n = change_rows(list, false, &other);
	if (n)
		str_addf(out,
			 "<details><summary>%zu cosmetic or unknown on both "
			 "sides</summary>\n%s</details>\n",
			 n, str_text(&other));
}

static const char *component_version(const json_t *c)
{
	return json_str_or(c, "version", "unknown");
}

void html_stack(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Component", "Version", "Digest", "Read from", NULL };
	const json_t *stack = json_object_get(report, "stack");
	const json_t *list = json_object_get(stack, "components"), *c;
	const char *layer = NULL;
	size_t i;

	if (!json_array_size(list))
		return;
	str_addf(out, "<details><summary>The complete stack: %zu components</summary>\n",
		 json_array_size(list));
	esc_xml_in(out, "<p>Digest of what counts: <code>", json_str_or(stack, "digest", "unknown"),
		   "</code></p>\n");
	table_begin(out, "the complete stack", heads);
	json_array_foreach(list, i, c)
	{
		const char *is = json_str_or(c, "layer", ""),
			   *digest = json_str_or(c, "digest", NULL);
		AUTO_FREE char *hex = view_short(digest);

		if (!streq(is, layer))
			group_row(out, is, 4);
		layer = is;
		esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(c, "name", ""), "</th>");
		cell(out, "text", component_version(c));
		esc_xml_in(out, "<td class=\"mono\" title=\"", digest, "\">");
		esc_xml_in(out, "", hex, "</td>");
		cell(out, "text soft", json_str_or(c, "origin", ""));
		str_add(out, "</tr>\n");
	}
	table_end(out);
	str_add(out, "</details>\n");
}

static void texts(const json_t *list, const char *lead, struct str *out)
{
	const json_t *t;
	size_t i;

	json_array_foreach(list, i, t)
	{
		str_addf(out, "<li>%s", lead);
		esc_xml_in(out, "",
			   json_is_string(t) ? json_string_value(t) : json_str_or(t, "text", ""),
			   "</li>\n");
	}
}

static void item(struct str *out, const char *text)
{
	esc_xml_in(out, "<li>", text, "</li>\n");
}

static void shares_table(const json_t *search, struct str *out)
{
	static const char *const heads[] = { "Component",    "Accepted",          "Now",
					     ">Probability", "Share of the loss", NULL };
	const json_t *list = json_object_get(search, "components"), *c;
	size_t i;

	if (!json_array_size(list))
		return;
	table_begin(out, "shares", heads);
	json_array_foreach(list, i, c)
	{
		struct str share CLEANUP(str_release) = { 0 };

		report_search_share(c, "share_e9", "low_e9", "high_e9", &share);
		esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(c, "component", ""), "</th>");
		cell(out, "text", json_str_or(c, "old", "-"));
		cell(out, "text", json_str_or(c, "new", "-"));
		str_addf(out, "<td class=\"num\">%.1f %%</td>", 100 * view_e9(c, "posterior_e9"));
		cell(out, NULL, str_text(&share));
		str_add(out, "</tr>\n");
	}
	table_end(out);
}

void html_search(const json_t *report, struct str *out)
{
	const json_t *search = json_object_get(report, "search"), *r;
	const json_t *refused = json_object_get(search, "refused");
	struct str line CLEANUP(str_release) = { 0 };
	AUTO_FREE char *at = view_stamp(json_str_or(search, "at", NULL));
	size_t i;

	report_search_line(search, &line);
	esc_xml_in(out, "<p><b>", str_text(&line), "</b></p>\n");
	str_addf(out, "<p>By %lld trials of ", (long long)json_int_or(search, "trials", 0));
	esc_xml_in(out, "<code>twice bisect</code> (", json_str_or(search, "run", ""), ", ");
	esc_xml_in(out, "", at, "), ");
	esc_xml_in(out, "measured by ", json_str_or(search, "metric", "-"), ".</p>\n<ul>\n");
	if (report_search_kind(search))
		item(out, report_search_kind(search));
	for (int back = 0; back < 2 && streq(json_str_or(search, "state", ""), "found"); back++) {
		struct str way CLEANUP(str_release) = { 0 };

		report_search_way(search, back == 1, &way);
		item(out, str_text(&way));
	}
	if (json_object_get(search, "factorial")) {
		struct str plan CLEANUP(str_release) = { 0 };

		report_search_factorial(json_object_get(search, "factorial"), &plan);
		item(out, str_text(&plan));
	}
	json_array_foreach(refused, i, r)
	{
		esc_xml_in(out, "<li>Not tried: ", json_str_or(r, "why", ""), " (");
		esc_xml_in(out, "", json_str_or(r, "source", ""), ")</li>\n");
	}
	str_add(out, "</ul>\n");
	shares_table(search, out);
}

void html_suspects(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Suspect",  "Layer",   "What changed",
					     "Who acts", ">Weight", NULL };
	const json_t *d = json_object_get(json_object_get(report, "verdict"), "attribution");
	const json_t *list = json_object_get(d, "suspects"), *s;
	struct str cause CLEANUP(str_release) = { 0 };
	size_t i;

	if (report_search_leads(json_object_get(report, "search")))
		str_add(out, "<p class=\"soft\">What was suspected before the search. The search "
			     "measured it and supersedes this.</p>\n");
	esc_xml_in(out, "<p>Symptom: <b>", json_str_or(d, "symptom", "unknown"), "</b>. ");
	esc_xml_in(out, "Confidence: <b>", json_str_or(d, "confidence", "unknown"), "</b>.</p>\n");
	report_cause_line(d, &cause);
	esc_xml_in(out, "<p><b>", str_text(&cause), "</b></p>\n");
	if (json_array_size(list))
		table_begin(out, "suspects", heads);
	json_array_foreach(list, i, s)
	{
		esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(s, "component", ""), "</th>");
		cell(out, NULL, json_str_or(s, "layer", ""));
		cell(out, "text", json_str_or(s, "change", ""));
		cell(out, NULL, json_str_or(s, "owner", "-"));
		str_addf(out, "<td class=\"num\">%.0f %%</td></tr>\n",
			 100 * view_e9(s, "share_e9"));
	}
	if (json_array_size(list))
		table_end(out);
	str_add(out, "<ul>\n");
	texts(json_object_get(d, "reasons"), "", out);
	texts(json_object_get(d, "must_not"), "Mind: ", out);
	if (json_str_or(d, "next", NULL))
		esc_xml_in(out, "<li>Next: ", json_str_or(d, "next", ""), "</li>\n");
	str_add(out, "</ul>\n<p class=\"soft\">The weight ranks the suspects. It is not a "
		     "probability, and a suspect "
		     "is not a proof: that takes exchanging one component alone, both ways.</p>\n");
}

/* ---- checks and repetitions ------------------------------------------------------------------ */

static void took_cell(struct str *out, int64_t ns)
{
	AUTO_FREE char *text = ns > 0 ? quantity_text((double)ns, UNIT_NS) : xstrdup("-");

	cell(out, "num", text);
}

static void check_row(const json_t *o, struct str *out)
{
	const char *result = json_str_or(o, "result", "unknown");
	const json_t *list = json_object_get(o, "measured"), *m;
	struct str found CLEANUP(str_release) = { 0 };
	size_t i;

	str_add(&found, json_str_or(o, "reason", ""));
	json_array_foreach(list, i, m)
	{
		AUTO_FREE char *v = view_quantity(json_object_get(m, "value"), view_unit(m));

		str_addf(&found, "%s%s %s",
			 i         ? ", "
			 : found.n ? "; "
				   : "",
			 json_str_or(m, "name", ""), v);
	}
	esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(o, "check", ""), "</th>");
	tone_cell(out, view_result(result), result);
	cell(out, NULL, json_bool_or(o, "required", true) ? "yes" : "no");
	cell(out, "text", str_text(&found));
	cell(out, NULL, json_str_or(o, "owner", "-"));
	took_cell(out, json_int_or(o, "took_ns", 0));
	str_add(out, "</tr>\n");
}

void html_checks(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Check",    "Result", "Required", "Found",
					     "Who acts", ">Took",  NULL };
	const json_t *list = json_object_get(report, "checks"), *o;
	size_t i;

	if (!json_array_size(list)) {
		str_add(out, "<p>No check of a layer was made.</p>\n");
		return;
	}
	table_begin(out, "checks", heads);
	for (int l = 0; l <= LAYER_N; l++) {
		bool any = false;

		json_array_foreach(list, i, o)
		{
			enum check_layer is;
			const char *name = json_str_or(o, "layer", "");

			if (!check_layer_parse(sv_of(name), &is))
				is = LAYER_N;
			if ((int)is != l)
				continue;
			if (!any)
				group_row(out, l == LAYER_N ? "other" : name, 6);
			any = true;
			check_row(o, out);
		}
	}
	table_end(out);
}

static void rep_failures(const json_t *r, struct str *out)
{
	const json_t *list = json_object_get(r, "outcomes"), *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		const char *result = json_str_or(o, "result", "");

		if (!streq(result, "PASS"))
			str_addf(out, "%s%s %s: %s", out->n ? "; " : "",
				 json_str_or(o, "check", ""), result, json_str_or(o, "reason", ""));
	}
}

static void rep_rows(const json_t *list, const char *name, struct str *out)
{
	const json_t *r;
	size_t i;

	if (json_array_size(list))
		group_row(out, name, 5);
	json_array_foreach(list, i, r)
	{
		const char *state = json_str_or(r, "state", "unknown");
		struct str why CLEANUP(str_release) = { 0 };
		AUTO_FREE char *session = view_short(json_str_or(r, "session", NULL));

		str_add(&why, json_str_or(r, "reason", ""));
		rep_failures(r, &why);
		str_addf(out, "<tr><th scope=\"row\">%zu</th>", i + 1);
		tone_cell(out,
			  streq(state, "ok")       ? TONE_GOOD
			  : streq(state, "failed") ? TONE_BAD
						   : TONE_OPEN,
			  state);
		cell(out, "text", str_text(&why));
		cell(out, "mono", session);
		digest_cell(out, json_str_or(r, "leaf", NULL));
		str_add(out, "</tr>\n");
	}
}

void html_reps(const json_t *report, struct str *out)
{
	static const char *const heads[] = {
		"No.", "State", "Reason", "Session", "Entry in the ledger", NULL
	};
	const json_t *reps = json_object_get(report, "reps"),
		     *bank = json_object_get(report, "bank");

	if (!json_array_size(reps) && !json_array_size(bank)) {
		str_add(out, "<p>No repetition was made.</p>\n");
		return;
	}
	table_begin(out, "repetitions", heads);
	rep_rows(reps, "this run's series", out);
	rep_rows(bank, "accepted, compared with", out);
	table_end(out);
}

static void metric_names(const json_t *reps, struct strs *names, json_t *seen)
{
	const json_t *r, *m;
	size_t i, k;

	json_array_foreach(reps, i, r)
	{
		const json_t *list = json_object_get(r, "measured");

		json_array_foreach(list, k, m)
		{
			const char *name = json_str_or(m, "name", "");

			if (json_object_get(seen, name))
				continue;
			json_put(seen, name, json_string(json_str_or(m, "unit", "none")));
			strs_add(names, name);
		}
	}
}

static void metric_cells(const struct column *c, enum unit u, struct str *out)
{
	AUTO_FREE char *med = c->finite ? quantity_text(c->median, u) : xstrdup("-");
	AUTO_FREE char *lo = c->finite ? quantity_text(c->low, u) : xstrdup("");
	AUTO_FREE char *hi = c->finite ? quantity_text(c->high, u) : xstrdup("");
	AUTO_FREE char *range = c->finite ? xasprintf("%s \u2013 %s", lo, hi) : xstrdup("-");

	cell(out, "num", med);
	cell(out, "num", range);
}

void html_all_metrics(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Metric",
					     ">Now, median",
					     ">lowest \u2013 highest",
					     ">Accepted, median",
					     ">lowest \u2013 highest",
					     NULL };
	const json_t *reps = json_object_get(report, "reps"),
		     *bank = json_object_get(report, "bank");
	struct strs names CLEANUP(strs_release) = { 0 };
	AUTO_JSON json_t *seen = json_object();

	metric_names(reps, &names, seen);
	metric_names(bank, &names, seen);
	if (!names.n)
		return;
	str_addf(out, "<details><summary>Every metric of the repetitions: %zu</summary>\n",
		 names.n);
	table_begin(out, "every metric", heads);
	for (size_t i = 0; i < names.n; i++) {
		struct column a CLEANUP(column_release) = { 0 }, b CLEANUP(column_release) = { 0 };
		enum unit u = UNIT_NONE;

		(void)unit_parse_name(sv_of(json_str_or(seen, names.v[i], "none")), &u);
		column_read(reps, names.v[i], u, &a);
		column_read(bank, names.v[i], u, &b);
		esc_xml_in(out, "<tr><th scope=\"row\">", names.v[i], "</th>");
		metric_cells(&a, u, out);
		metric_cells(&b, u, out);
		str_add(out, "</tr>\n");
	}
	table_end(out);
	str_add(out, "</details>\n");
}

/* ---- evidence -------------------------------------------------------------------------------- */

void html_evidence(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "File", ">Size", "Kind", "SHA-256", NULL };
	const json_t *list = json_object_get(report, "evidence"), *e;
	const char *of = NULL;
	size_t i;

	if (!json_array_size(list)) {
		str_add(out, "<p>The run kept no evidence.</p>\n");
		return;
	}
	if (json_int_or(report, "evidence_lost", 0))
		str_addf(out,
			 "<p class=\"lost\"><strong>%lld of %zu files are not there any more:"
			 "</strong> what rests on them can't be looked at again.</p>\n",
			 (long long)json_int_or(report, "evidence_lost", 0), json_array_size(list));
	str_addf(out, "<details><summary>%zu files, by digest</summary>\n", json_array_size(list));
	table_begin(out, "evidence", heads);
	json_array_foreach(list, i, e)
	{
		const char *is = json_str_or(e, "of", "");
		AUTO_FREE char *size = view_bytes(json_int_or(e, "bytes", -1));

		if (!streq(is, of))
			group_row(out, is, 4);
		of = is;
		esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(e, "label", ""), "</th>");
		cell(out, "num", size);
		if (json_str_or(e, "state", NULL))
			tone_cell(out, TONE_OPEN, json_str_or(e, "state", ""));
		else
			cell(out, NULL, json_str_or(e, "media_type", ""));
		digest_cell(out, json_str_or(e, "digest", NULL));
		str_add(out, "</tr>\n");
	}
	table_end(out);
	str_add(out, "</details>\n");
}

void html_signoffs(const json_t *report, struct str *out)
{
	static const char *const heads[] = { "Signed by",           "When", "Standing", "Note",
					     "Entry in the ledger", NULL };
	const json_t *list = json_object_get(report, "signoffs"), *s;
	size_t i;

	if (!json_array_size(list)) {
		str_add(out, "<p>Nobody has signed this run as accepted.</p>\n");
		return;
	}
	table_begin(out, "sign-offs", heads);
	json_array_foreach(list, i, s)
	{
		AUTO_FREE char *at = view_stamp(json_str_or(s, "at", NULL));
		const char *standing = json_str_or(s, "standing", "unknown");

		esc_xml_in(out, "<tr><th scope=\"row\">", json_str_or(s, "by", "unknown"), "</th>");
		cell(out, "nowrap", at);
		tone_cell(out, streq(standing, REPORT_IN_FORCE) ? TONE_GOOD : TONE_OPEN, standing);
		esc_xml_in(out, "<td class=\"text\">", json_str_or(s, "note", ""), "");
		if (json_str_or(s, "why", NULL))
			esc_xml_in(out, " (", json_str_or(s, "why", ""), ")");
		str_add(out, "</td>");
		digest_cell(out, json_str_or(s, "leaf", NULL));
		str_add(out, "</tr>\n");
	}
	table_end(out);
}
