/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include "cli/searched.h"
#include "cli/watching.h"
#include "report/report.h"
#include "verdict/verdict.h"
#include <math.h>

char *text_clean_lines(const char *text)
{
	struct str s = { 0 };

	for (struct sv rest = sv_of(text), line; sv_line(&rest, &line);) {
		AUTO_FREE char *clean = text_clean(line);

		str_addf(&s, "%s%s", clean, rest.n ? "\n" : "");
	}
	if (str_ends(text, "\n"))
		str_addc(&s, '\n');
	return str_steal(&s);
}

char *text_value(const json_t *v, const char *unit)
{
	enum unit u = UNIT_NONE;

	(void)unit_parse_name(sv_of(unit), &u);
	if (json_is_integer(v))
		return quantity_text((double)json_integer_value(v) / unit_scale(u), u);
	if (json_is_string(v))
		return xstrdup(json_string_value(v));
	return xstrdup("-");
}

char *text_percent_e9(const json_t *e9, bool abs_scale)
{
	if (json_is_integer(e9))
		return verdict_percent((double)json_integer_value(e9) / 1e9, abs_scale);
	return xstrdup(json_is_string(e9) ? json_string_value(e9) : "-");
}

const char *text_verdict_word(const char *code)
{
	enum verdict_kind k;

	return verdict_parse(sv_of(code), &k) ? verdict_name(k) : code;
}

static void list(const json_t *a, const char *lead, struct str *out)
{
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *x = json_array_get(a, i);
		AUTO_FREE char *t = text_clean(sv_of(
			json_is_string(x) ? json_string_value(x) : json_str_or(x, "text", "")));

		str_addf(out, "  %s%s\n", lead, t);
	}
}

static void numbers(const json_t *a, struct str *out)
{
	if (json_array_size(a))
		str_addf(out, "\n  %-24s %12s %12s %10s %-26s %-10s %s\n", "metric", "accepted",
			 "now", "worse by", "[interval]", "margin", "limit");
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *x = json_array_get(a, i);
		const char *unit = json_str_or(x, "unit", "none");
		bool abs = streq(json_str_or(x, "scale", ""), "abs");
		AUTO_FREE char *before = text_value(json_object_get(x, "accepted"), unit);
		AUTO_FREE char *now = text_value(json_object_get(x, "candidate"), unit);
		AUTO_FREE char *shift = text_percent_e9(json_object_get(x, "shift_e9"), abs);
		AUTO_FREE char *lo = text_percent_e9(json_object_get(x, "low_e9"), abs);
		AUTO_FREE char *hi = text_percent_e9(json_object_get(x, "high_e9"), abs);
		AUTO_FREE char *margin = text_percent_e9(json_object_get(x, "margin_e9"), abs);
		AUTO_FREE char *limit = text_value(json_object_get(x, "limit"), unit);
		AUTO_FREE char *bounds =
			xasprintf("[%s, %s] %lld %%", lo, hi,
				  (long long)(json_int_or(x, "level_e9", 0) + 5000000) / 10000000);
		bool compared = json_object_get(x, "shift_e9") != NULL;

		str_addf(out, "  %-24s %12s %12s %10s %-26s %-10s %s\n", json_str_or(x, "name", ""),
			 before, now, compared ? shift : "-", compared ? bounds : "-",
			 json_bool_or(x, "gate", false) ? margin : "-", limit);
	}
}

static void suspects(const json_t *d, const json_t *search, struct str *out)
{
	const json_t *a = json_object_get(d, "suspects");
	struct str cause CLEANUP(str_release) = { 0 };
	AUTO_FREE char *clean = NULL;

	if (search)
		str_addc(out, '\n');
	searched_text(search, out);
	if (!d)
		return;
	if (report_search_leads(search))
		str_add(out, "\n  before the search, which supersedes it, was suspected:");
	str_addf(out, "\n  symptom: %s; attribution: %s\n", json_str_or(d, "symptom", ""),
		 json_str_or(d, "confidence", ""));
	report_cause_line(d, &cause);
	clean = text_clean(sv_str(&cause));
	str_addf(out, "  %s\n", clean);
	for (size_t i = 0; i < json_array_size(a) && i < 5; i++) {
		const json_t *s = json_array_get(a, i);

		str_addf(out, "  suspect %zu: %s (owner: %s, weight %lld %%)\n", i + 1,
			 json_str_or(s, "change", ""), json_str_or(s, "owner", ""),
			 (long long)(json_int_or(s, "share_e9", 0) / 10000000));
	}
	list(json_object_get(d, "reasons"), "because ", out);
	list(json_object_get(d, "must_not"), "mind: ", out);
	if (json_str_or(d, "next", NULL))
		str_addf(out, "  next: %s\n", json_str_or(d, "next", ""));
}

void text_verdict(const json_t *body, bool long_form, struct str *out)
{
	text_verdict_searched(body, NULL, long_form, out);
}

void text_verdict_searched(const json_t *body, const json_t *search, bool long_form,
			   struct str *out)
{
	const json_t *d = json_object_get(body, "decision"),
		     *watch = json_object_get(body, "watch");

	str_addf(out, "%s: %s (run %s, %lld repetition%s%s", json_str_or(body, "workload", ""),
		 text_verdict_word(json_str_or(d, "verdict", "")), json_str_or(body, "run", ""),
		 (long long)json_int_or(d, "used", 0), json_int_or(d, "used", 0) == 1 ? "" : "s",
		 json_bool_or(d, "first", false) ? ", first acceptance" : "");
	if (!json_bool_or(d, "first", false))
		str_addf(out, " against %lld accepted ones%s", (long long)json_int_or(d, "bank", 0),
			 json_str_or(body, "design", NULL) ? ", made alternately" : "");
	str_add(out, ")\n");
	list(json_object_get(d, "reasons"), "", out);
	list(json_object_get(d, "notes"), "note: ", out);
	if (long_form)
		numbers(json_object_get(d, "numbers"), out);
	if (watch)
		str_addf(out, "  watched since the acceptance, %lld repetition%s: %s\n",
			 (long long)json_int_or(watch, "repetitions", 0),
			 json_int_or(watch, "repetitions", 0) == 1 ? "" : "s",
			 json_bool_or(watch, "alarm", false) ? "ALARM, it seems to get worse"
							     : "quiet");
	watching_text(watch, /* all= */ false, out);
	suspects(json_object_get(body, "attribution"), search, out);
	if (json_str_or(d, "advice", NULL))
		str_addf(out, "  %s\n", json_str_or(d, "advice", ""));
}
