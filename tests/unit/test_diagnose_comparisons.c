/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded comparisons and what must come of each: those of tests/comparisons, and the shared ones
 * beside the checkout where they are. A comparison carries its own `expected`.
 */
#include "diagnose/diagnose.h"

#include "base/err.h"
#include "diagnose/part.h"
#include "diagnose/signature.h"
#include "test.h"
#include <dirent.h>
#include <jansson.h>

static struct signatures all;

static json_t *answer(const char *path, const json_t *doc, bool without_probes)
{
	struct diagnose_case_opts opts = { without_probes, &all };
	struct err err = ERR_INIT;
	enum verdict_kind kind;
	json_t *ret = NULL;

	if (diagnose_case(doc, &opts, &ret, &kind, &err) < 0)
		test_fails(path, 0, "%s", err.msg);
	if (!streq(json_str_or(ret, "verdict", ""), verdict_code(kind)))
		test_fails(path, 0, "two verdicts");
	return ret;
}

/* "reject", "accept": short words for the same. */
static const char *verdict_word(const char *word)
{
	return streq(word, "reject")      ? "rejected"
	       : streq(word, "accept")    ? "accepted"
	       : streq(word, "no result") ? "no_result"
					  : word;
}

static bool layer_same(const char *want, const char *got)
{
	enum component_layer a, b;

	return streq(want, got) ||
	       (diagnosis_layer_parse(sv_of(want), &a) && diagnosis_layer_parse(sv_of(got), &b) &&
		streq(diagnosis_layer_report_name(a), diagnosis_layer_report_name(b)));
}

/* Names are free text: half of the words of what is wanted have to be there. */
static bool names_same(const char *want, const char *got)
{
	AUTO_FREE char *w = part_words(want), *g = part_words(got);
	struct sv rest = sv_of(w), one;
	size_t words = 0, there = 0;

	while (sv_split(&rest, '_', &one)) {
		AUTO_FREE char *word = xasprintf("_%.*s_", SV_ARG(one));

		if (one.n < 2)
			continue;
		words++;
		there += strstr(g, word) != NULL;
	}
	return words && 2 * there >= words;
}

static void check_text(const char *path, const json_t *want, const json_t *got, const char *key)
{
	const char *w = json_str_or(want, key, NULL), *g = json_str_or(got, key, "(none)");
	bool same;

	if (!w)
		return;
	if (streq(key, "verdict") || streq(key, "verdict_with_probe"))
		same = streq(verdict_word(w), g);
	else if (streq(key, "layer") || streq(key, "second_layer"))
		same = layer_same(w, g);
	else if (streq(key, "component"))
		same = names_same(w, g);
	else
		same = streq(w, g);
	if (!same)
		test_fails(path, 0, "%s is '%s', not '%s' (rule: %s)", key, g, w,
			   json_str_or(got, "rule", ""));
}

static bool suspects_have(const json_t *got, const char *want)
{
	const json_t *a = json_object_get(got, "suspects");

	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *s = json_array_get(a, i);

		if (names_same(want, json_str_or(s, "component", "")) ||
		    layer_same(want, json_str_or(s, "layer", "")))
			return true;
	}
	return false;
}

static bool texts_have(const json_t *a, const char *part)
{
	for (size_t i = 0; i < json_array_size(a); i++)
		if (strstr(json_string_value(json_array_get(a, i)), part))
			return true;
	return false;
}

/* "blame X", "name X as the cause": the answer names it neither as component nor as
 * layer's owner. */
static void check_must_not(const char *path, const json_t *want, const json_t *got)
{
	const char *component = json_str_or(got, "component", ""),
		   *v = json_str_or(got, "verdict", "");

	for (size_t i = 0; i < json_array_size(want); i++) {
		const char *t = json_string_value(json_array_get(want, i));
		AUTO_FREE char *words = part_words(t), *name = part_words(component);
		bool accepts = str_starts(v, "accepted");

		if ((str_starts(t, "accept ") || str_starts(t, "pass ")) && accepts)
			test_fails(path, 0, "it accepts, and must not %s", t);
		if (str_starts(t, "reject ") && streq(v, "rejected"))
			test_fails(path, 0, "it rejects, and must not %s", t);
		if ((strstr(t, "faulty") || strstr(t, "GPU hardware")) &&
		    streq(json_str_or(got, "layer", ""), "hardware"))
			test_fails(path, 0, "it names hardware, and must not %s", t);
		if ((str_starts(t, "blame ") || str_starts(t, "name ") ||
		     str_starts(t, "attribute ")) &&
		    strlen(name) > 2 && strstr(words, name))
			test_fails(path, 0, "it names %s, and must not %s", component, t);
	}
	if (json_array_size(want) && !json_array_size(json_object_get(got, "must_not")))
		test_fails(path, 0, "it says of nothing that it must not be concluded");
}

static void check_answer(const char *path, const json_t *want, const json_t *got)
{
	static const char *const keys[] = { "verdict", "layer", "second_layer", "component",
					    "trigger", "owner", "confidence",   "symptom" };
	const json_t *a;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		check_text(path, want, got, keys[i]);
	a = json_object_get(want, "suspects");
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!suspects_have(got, json_string_value(json_array_get(a, i))))
			test_fails(path, 0, "'%s' is no suspect",
				   json_string_value(json_array_get(a, i)));
	a = json_object_get(want, "must_not_has");
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!texts_have(json_object_get(got, "must_not"),
				json_string_value(json_array_get(a, i))))
			test_fails(path, 0, "nothing in must_not says '%s'",
				   json_string_value(json_array_get(a, i)));
	if (!json_str_or(got, "next_action", NULL) || !*json_str_or(got, "next_action", ""))
		test_fails(path, 0, "no next action");
	if (!json_array_size(json_object_get(got, "reasons")) &&
	    !str_starts(json_str_or(got, "verdict", ""), "accepted"))
		test_fails(path, 0, "no reason");
}

static void check_one(const char *path)
{
	json_error_t why;
	AUTO_JSON json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	const json_t *want = json_object_get(doc, "expected"), *without;

	if (!want)
		test_fails(path, 0, "no expectation: %s", why.text);
	{
		AUTO_JSON json_t *got = answer(path, doc, /* without_probes= */ false);

		check_answer(path, want, got);
		check_must_not(path, json_object_get(want, "must_not"), got);
		check_text(path, want, got, "verdict_with_probe");
	}
	without = json_object_get(want, "without_probes");
	if (without) {
		AUTO_JSON json_t *got = answer(path, doc, /* without_probes= */ true);

		check_answer(path, without, got);
		check_must_not(path, json_object_get(want, "must_not"), got);
	}
}

static int is_json(const struct dirent *d)
{
	return str_ends(d->d_name, ".json");
}

static int check_folder(const char *folder)
{
	struct err err = ERR_INIT;
	struct dirent **names = NULL;
	int n = scandir(folder, &names, is_json, alphasort);

	if (n < 0)
		return 0;
	CHECK_OK(signatures_builtin(&all, &err), err);
	for (int i = 0; i < n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, names[i]->d_name);

		free(names[i]);
		check_one(path);
	}
	free(names);
	signatures_release(&all);
	return n;
}

static void every_situation_is_attributed(void)
{
	const char *src = getenv("TWICE_SRC");
	AUTO_FREE char *folder = xasprintf("%s/tests/comparisons", src ? src : ".");

	CHECK(check_folder(folder) >= 20);
}

static void the_shared_scenarios_too(void)
{
	const char *shared = getenv("TWICE_SHARED"), *src = getenv("TWICE_SRC");
	AUTO_FREE char *folder =
		shared ? xasprintf("%s/cases/scenarios", shared)
		       : xasprintf("%s/../shared/cases/scenarios", src ? src : ".");
	int n;

	if (access(folder, R_OK) < 0)
		test_skip("no scenarios at %s", folder);
	n = check_folder(folder);
	printf("# %d scenarios\n", n);
	CHECK(n > 0);
}

TEST_MAIN(TEST(every_situation_is_attributed), TEST(the_shared_scenarios_too))
