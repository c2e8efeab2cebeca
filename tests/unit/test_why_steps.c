/* SPDX-License-Identifier: Apache-2.0 */
/* Every verdict, every reason and every note has its words: what would change it, what to do. */
#include "cli/why_steps.h"

#include "base/str.h"
#include "model/model.h"

#include "test.h"

/* The codes as verdict.h lists them; "" ends what the list cannot be read for. */
static const struct {
	const char *code, *change, *what;
} reasons[] = {
	{ "baseline_void", "under the contract as it is now", "run --first" },
	{ "other_contract", "under the contract as it is now", "run --first" },
	{ "other_workload", "the same workload", "run --first" },
	{ "other_schedule", "the same requests", "put the prompts back" },
	{ "effective_differs", "what was asked for", "correct the setting" },
	{ "effective_unknown", "can be read", "pattern" },
	{ "nothing_decides", "an objective or a margin", "write one" },
	{ "check_failed", "the check passes", "repair" },
	{ "check_skipped", "runs and passes", "waive" },
	{ "check_error", "says something", "repair" },
	{ "check_doubtful", "without what disturbed it", "quiet" },
	{ "items_worse", "right again", "twice diff" },
	{ "items_unmeasured", "same items on both sides", "make the workload write them" },
	{ "items_undecided", "more items", "add items" },
	{ "pairs_worse", "seed by seed", "twice diff" },
	{ "pairs_unmeasured", "losses at those steps", "report them" },
	{ "pairs_undecided", "more seeds", "repeat.runs" },
	{ "texts_worse", "agree as often", "twice diff" },
	{ "texts_differ", "equal texts", "owner" },
	{ "texts_unmeasured", "same prompts", "make the workload write them" },
	{ "texts_undecided", "more prompts", "add prompts" },
	{ "repetition_failed", "no more fail", "look at their logs" },
	{ "not_measured", "a number in every repetition", "make the workload report it" },
	{ "bank_too_small", "five repetitions", "on the accepted stack" },
	{ "objective_missed", "keep the limit", "twice rollback" },
	{ "regressed", "inside the margins", "twice bisect" },
	{ "gross_regression", "inside the margins", "twice bisect" },
	{ "not_repeatable", "vary less", "from start to start" },
	{ "sessions_not_spread", "three sessions", "reboot" },
	{ "cap_reached", "less noise", "advice" },
	{ "too_few", "three valid", "goes on" },
	{ "too_few_for_first", "five repetitions", "goes on" },
	{ "not_yet", "more repetitions", "goes on" },
};

static const char *const notes[] = {
	"note",
	"sessions_waived",
	"check_not_passed",
	"repetition_excluded",
	"worse_inside_margin",
	"noisier",
	"much_better",
	"speed_against_samples",
	"session_effect",
	"no_margin",
	"small_bank",
	"few_sessions",
	"outlook",
	"same_stack",
	"drift",
	"look_stands",
	"texts_agreement",
	"items_score",
	"pairs_loss",
};

static char *said(const char *verdict, const char *list, const char *code, const char *about)
{
	AUTO_JSON json_t *d = json_pack("{s:s, s:[{s:s, s:s*, s:s}]}", "verdict", verdict, list,
					"code", code, "about", about, "text", "x");
	struct str out = { 0 };

	why_next(d, /* found= */ false, &out);
	return str_steal(&out);
}

static void every_reason_says_what_would_change_it(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		AUTO_FREE char *text = said("rejected", "reasons", reasons[i].code, NULL);

		CHECK(why_code_known(reasons[i].code));
		CHECK_HAS(text, "what would change it: ");
		CHECK_HAS(text, reasons[i].change);
		CHECK_HAS(text, "what to do: ");
		CHECK_HAS(text, reasons[i].what);
	}
	CHECK(!why_code_known("no_such_reason"));
}

static void a_search_with_its_answer_is_not_asked_for(void)
{
	AUTO_JSON json_t *d = json_pack("{s:s, s:[{s:s, s:s}]}", "verdict", "rejected", "reasons",
					"code", "regressed", "text", "x");
	struct str open CLEANUP(str_release) = { 0 }, found CLEANUP(str_release) = { 0 };

	why_next(d, false, &open);
	why_next(d, true, &found);
	CHECK_HAS(str_text(&open), "'twice bisect' finds the component");
	CHECK(!strstr(str_text(&found), "bisect"));
	CHECK_HAS(str_text(&found), "shows what changed, 'twice rollback' goes back");
}

static void every_note_is_known(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		CHECK(why_note_known(notes[i]));
	AUTO_FREE char *good = said("accepted_with_note", "notes", "much_better", "ttft.p50");

	CHECK_HAS(good, "same before you sign");
	CHECK(!why_note_known("no_such_note"));
}

static void every_verdict_ends_with_what_is_left(void)
{
	for (int k = 0; k < VERDICT_N; k++) {
		const char *code = verdict_code((enum verdict_kind)k);
		AUTO_FREE char *text = said(code, "notes", "outlook", NULL);

		CHECK(why_end(code) != NULL);
		CHECK_HAS(text, why_end(code));
	}
	CHECK(why_end("expired") == NULL);
}

static void more_samples_are_another_search_than_a_slower_step(void)
{
	AUTO_FREE char *more = said("rejected", "reasons", "regressed", "samples_to_target");
	AUTO_FREE char *slow = said("rejected", "reasons", "regressed", "sample_time");

	CHECK_HAS(more, "data order");
	CHECK(strstr(slow, "data order") == NULL);
}

/* A code that verdict.h lists and the tables have not is a fault. */
static void the_tables_are_the_list_of_the_room(void)
{
	AUTO_FREE char *path = xasprintf("%s/src/verdict/verdict.h", getenv("TWICE_SRC"));
	FILE *f = fopen(path, "re");
	static char text[64 << 10];
	const char *at, *mid, *end;
	size_t n;

	CHECK(f != NULL);
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	at = strstr(text, "Codes of reasons:");
	mid = at ? strstr(at, "Codes of notes:") : NULL;
	end = mid ? strstr(mid, "*/") : NULL;
	CHECK(end != NULL);
	for (size_t k = 0, seen = 0; end && at<end; at += k, seen += k> 0) {
		char code[64];

		at += strcspn(at, "abcdefghijklmnopqrstuvwxyz");
		k = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
		(void)snprintf(code, sizeof(code), "%.*s", (int)k, at);
		if (!strchr(code, '_') || at >= end)
			continue;
		if (!(at < mid ? why_code_known(code) : why_note_known(code)))
			CHECK_STR(code, "a code that why has words for");
	}
}

TEST_MAIN(TEST(every_reason_says_what_would_change_it),
	  TEST(a_search_with_its_answer_is_not_asked_for), TEST(every_note_is_known),
	  TEST(every_verdict_ends_with_what_is_left),
	  TEST(more_samples_are_another_search_than_a_slower_step),
	  TEST(the_tables_are_the_list_of_the_room))
