/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/searched.h"

#include "base/err.h"
#include "cli/text.h"
#include "report/report.h"

struct looking {
	json_t *search, *factorial;
};

static json_t *taken(const struct ledger_entry *e)
{
	static const char *const keys[] = { "run",    "state",   "reason",     "metric",
					    "answer", "refused", "components", "hypotheses" };
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(e->body, keys[i]))
			json_put(o, keys[i], json_incref(json_object_get(e->body, keys[i])));
	json_put_int(o, "trials", (int64_t)json_array_size(json_object_get(e->body, "trials")));
	json_put_str(o, "entry", e->ref.hex);
	json_put_int(o, "seq", (int64_t)e->ref.seq);
	json_put_str(o, "at", e->at);
	return o;
}

/* Newest first. */
static int on_answer(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct looking *k = arg;
	bool plan = streq(json_str_or(e->body, "state", ""), "factorial");

	(void)err;
	if (!streq(json_str_or(e->body, "what", ""), "bisect"))
		return 0;
	if (plan && !k->factorial)
		k->factorial = json_incref(json_object_get(e->body, "factorial"));
	if (!k->search)
		k->search = plan ? NULL : taken(e);
	return k->search && k->factorial;
}

int searched_put(struct ledger *l, const char *verdict_leaf, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "attribution", NULL };
	struct ledger_filter f = {
		.kinds = kinds, .digest = verdict_leaf, .rel = "verdict", .newest_first = true
	};
	struct looking k = { 0 };
	int rc = ledger_each(l, &f, on_answer, &k, err);

	if (k.factorial && !k.search)
		k.search = json_pack("{s:s}", "state", "factorial");
	if (k.factorial)
		json_put(k.search, "factorial", k.factorial);
	if (k.search)
		json_put(v, "search", k.search);
	return rc;
}

static void clean_line(const char *lead, const struct str *s, struct str *out)
{
	AUTO_FREE char *t = text_clean(sv_str(s));

	str_addf(out, "  %s%s\n", lead, t);
}

static void likely(const json_t *search, struct str *out)
{
	const json_t *l = json_object_get(search, "components"), *c;
	size_t i;

	json_array_foreach(l, i, c)
	{
		struct str s CLEANUP(str_release) = { 0 };
		int64_t p = json_int_or(c, "posterior_e9", 0);

		if (p < 10000000)
			continue;
		str_addf(&s, "%s %.1f %%, ", json_str_or(c, "component", ""), (double)p / 1e7);
		report_search_share(c, "share_e9", "low_e9", "high_e9", &s);
		clean_line("  ", &s, out);
	}
}

void searched_text(const json_t *search, struct str *out)
{
	const char *state = json_str_or(search, "state", "");
	size_t refused = json_array_size(json_object_get(search, "refused"));
	struct str s CLEANUP(str_release) = { 0 };

	if (!search)
		return;
	if (!streq(state, "factorial")) {
		str_addf(&s, "'twice bisect' (%s, %lld trials): ", json_str_or(search, "run", ""),
			 (long long)json_int_or(search, "trials", 0));
		report_search_line(search, &s);
		clean_line("", &s, out);
	}
	if (report_search_kind(search))
		str_addf(out, "    %s\n", report_search_kind(search));
	for (int back = 0; back < 2 && streq(state, "found"); back++) {
		struct str way CLEANUP(str_release) = { 0 };

		report_search_way(search, back == 1, &way);
		clean_line("  ", &way, out);
	}
	if (streq(state, "undetermined"))
		likely(search, out);
	if (json_object_get(search, "factorial")) {
		struct str plan CLEANUP(str_release) = { 0 };

		report_search_factorial(json_object_get(search, "factorial"), &plan);
		clean_line(streq(state, "factorial") ? "" : "  ", &plan, out);
	}
	if (refused)
		str_addf(out,
			 "    %zu combination%s refused and not tried; 'twice bisect "
			 "--dry-run' lists them\n",
			 refused, refused == 1 ? " was" : "s were");
}
