/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diagnose_case.h"

#include "base/err.h"
#include "base/file.h"
#include "cli/text.h"
#include "diagnose/diagnose.h"

#define CASE_MAX (16 * MIB)

int diagnose_case_value(const char *path, bool without_probes, const struct signatures *all,
			json_t **ret, struct err *err)
{
	struct diagnose_case_opts opts = { without_probes, all };
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *what = xasprintf("'%s'", path);
	AUTO_JSON json_t *doc = NULL;
	enum verdict_kind kind;
	const char *layer;
	size_t n;

	TRY(file_read(path, CASE_MAX, &text, &n, err));
	TRY(json_read((struct sv){ text, n }, what, &doc, err));
	if (diagnose_case(doc, &opts, ret, &kind, err) < 0)
		return err_wrap(err, "%s", what);
	layer = json_str_or(*ret, "layer", "");
	if (kind == VERDICT_ACCEPTED || kind == VERDICT_ACCEPTED_NOTE)
		return 0;
	return streq(layer, "undetermined") || streq(layer, "none") ? 2 : 0;
}

static void put(struct str *out, const char *key, const char *text)
{
	AUTO_FREE char *clean = text_clean(sv_of(text));

	if (clean[0])
		str_addf(out, "  %-10s %s\n", key, clean);
}

static void lines(const json_t *l, const char *lead, struct str *out)
{
	for (size_t i = 0; i < json_array_size(l); i++)
		put(out, i ? "" : lead, json_string_value(json_array_get(l, i)));
}

static void suspects(const json_t *l, struct str *out)
{
	for (size_t i = 0; i < json_array_size(l) && i < 5; i++) {
		const json_t *s = json_array_get(l, i);
		AUTO_FREE char *t =
			xasprintf("%s (owner: %s, weight %lld %%)", json_str_or(s, "change", ""),
				  json_str_or(s, "owner", ""),
				  (long long)(json_int_or(s, "share_e9", 0) / 10000000));

		put(out, i ? "" : "suspects", t);
	}
}

void diagnose_case_text(const json_t *a, struct str *out)
{
	const char *with = json_str_or(a, "verdict_with_probe", NULL);
	AUTO_FREE char *title = text_clean(sv_of(json_str_or(a, "title", "")));

	if (title[0])
		str_addf(out, "%s\n", title);
	str_addf(out, "%s", text_verdict_word(json_str_or(a, "verdict", "")));
	if (with)
		str_addf(out, " (%s with the probes)", text_verdict_word(with));
	str_addf(out, "; layer %s, confidence %s\n", json_str_or(a, "layer", ""),
		 json_str_or(a, "confidence", ""));
	put(out, "cause", json_str_or(a, "component", ""));
	put(out, "second", json_str_or(a, "second_layer", ""));
	put(out, "trigger", json_str_or(a, "trigger", ""));
	put(out, "owner", json_str_or(a, "owner", ""));
	put(out, "symptom", json_str_or(a, "symptom", ""));
	lines(json_object_get(a, "reasons"), "because", out);
	suspects(json_object_get(a, "suspects"), out);
	lines(json_object_get(a, "must_not"), "mind", out);
	put(out, "next", json_str_or(a, "next_action", ""));
	lines(json_object_get(a, "unread"), "not read", out);
}
