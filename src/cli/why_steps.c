/* SPDX-License-Identifier: Apache-2.0 */
/* What each code of a reason and of a note, and each verdict, asks a person to do. */
#include "cli/why_steps.h"

#include "base/str.h"

#define BISECT "'twice bisect' finds the component that did it, "
#define SEARCH                                                                                     \
	"'twice diff' shows what changed, " BISECT "'twice "                                       \
	"rollback' goes back, 'twice why --pack FILE' collects the evidence for its owner"

static const struct step {
	const char *code, *about; /* about: of this metric alone; NULL: any */
	const char *change, *what;
} steps[] = {
	{ "regressed", "samples_to_target",
	  "no more samples for the same target; speed does not make up for them",
	  "precision, batch size, learning rate, data order and seeds move the samples, kernels "
	  "and "
	  "clocks do not; " SEARCH },
	{ "gross_regression", "samples_to_target",
	  "no more samples for the same target; speed does not make up for them",
	  "precision, batch size, learning rate, data order and seeds move the samples, kernels "
	  "and "
	  "clocks do not; " SEARCH },
	{ "regressed", NULL,
	  "repetitions of the candidate that stay inside the margins drawn above", SEARCH },
	{ "gross_regression", NULL,
	  "repetitions of the candidate that stay inside the margins drawn above", SEARCH },
	{ "objective_missed", NULL, "starts that keep the limit, nine in ten of them",
	  "'twice rollback' when the accepted stack kept it; 'twice waive METRIC --limit ...' for "
	  "an "
	  "exception that ends" },
	{ "items_worse", NULL, "items that are right again: only those that flipped count",
	  "'twice diff' shows what changed; compare items.NAME.jsonl of both runs ('twice show "
	  "RUN')" },
	{ "texts_worse", NULL, "texts that agree as often as the accepted stack does with itself",
	  "'twice diff' shows what changed (precision, kernels, batching?)" },
	{ "texts_differ", NULL, "equal texts, or a contract that does not claim them ('invariant')",
	  "ask the engine's owner, or take the claim back" },
	{ "pairs_worse", NULL, "losses that are not worse seed by seed",
	  "'twice diff' shows what changed (precision, data order, kernels?)" },
	{ "check_failed", NULL, "the check passes", "repair what it names, then 'twice run'" },
	{ "check_skipped", NULL, "the check runs and passes",
	  "make it able to run here, or 'twice waive CHECK' for an exception that ends" },
	{ "check_error", NULL, "the check says something",
	  "repair what it names, then 'twice run'" },
	{ "check_doubtful", NULL, "the check is repeated without what disturbed it",
	  "'twice run' when the machine is quiet" },
	{ "repetition_failed", NULL, "a series in which no more fail than the contract allows",
	  "look at their logs ('twice show RUN'), repair, then 'twice run --new-series REASON'" },
	{ "not_measured", NULL, "the metric has a number in every repetition",
	  "make the workload report it, then 'twice run --new-series REASON'" },
	{ "bank_too_small", NULL, "five repetitions or more in the accepted run",
	  "'twice run' on the accepted stack adds to it" },
	{ "not_repeatable", NULL, "repetitions that vary less",
	  "find what differs from start to start (placement, clocks, other work), or raise "
	  "'gates.max_cov'" },
	{ "sessions_not_spread", NULL,
	  "the accepted stack in three sessions (boots), or both stacks in one session",
	  "'twice run --interleave' runs both in one session; or boot the accepted stack, 'twice "
	  "run' there, and once more after a reboot; then 'twice "
	  "run' "
	  "here goes on. If boots are known not to matter: 'twice waive sessions --reason ...'" },
	{ "cap_reached", NULL, "a wider margin, less noise, or more repetitions ('repeat.at_most')",
	  "with the advice above; a changed contract needs 'twice run --first REASON'" },
	{ "not_yet", NULL, "more repetitions", "'twice run' goes on with the series" },
	{ "too_few", NULL, "three valid repetitions", "'twice run' goes on with the series" },
	{ "too_few_for_first", NULL, "five repetitions", "'twice run' goes on with the series" },
	{ "items_undecided", NULL, "more items in the set, or a wider margin",
	  "add items; a changed contract needs 'twice run --first REASON'" },
	{ "texts_undecided", NULL, "more prompts, or a wider margin",
	  "add prompts; a changed contract needs 'twice run --first REASON'" },
	{ "pairs_undecided", NULL, "more seeds on both sides",
	  "raise 'repeat.runs' and 'repeat.at_most' to 7 or more" },
	{ "items_unmeasured", NULL, "scores of the same items on both sides",
	  "make the workload write them, then 'twice run'" },
	{ "texts_unmeasured", NULL, "texts of the same prompts on both sides",
	  "make the workload write them, then 'twice run'" },
	{ "pairs_unmeasured", NULL, "losses at those steps on both sides",
	  "make the training report them, then 'twice run'" },
	{ "baseline_void", NULL, "an accepted run under the contract as it is now",
	  "'twice run --first REASON', then 'twice accept'" },
	{ "other_contract", NULL, "an accepted run under the contract as it is now",
	  "'twice run --first REASON', then 'twice accept'" },
	{ "other_workload", NULL, "the same workload on both sides",
	  "'twice run --first REASON', then 'twice accept'" },
	{ "other_schedule", NULL, "the same requests on both sides",
	  "put the prompts back, or 'twice run --first REASON', then 'twice accept'" },
	{ "effective_differs", NULL, "a process that has what was asked for",
	  "correct the setting or the label, then 'twice run --new-series REASON'" },
	{ "effective_unknown", NULL, "a value that can be read",
	  "let the pattern of 'settings' find it, then 'twice run --new-series REASON'" },
	{ "nothing_decides", NULL, "an objective or a margin in the contract", "write one" },
};

/* What goes with a verdict: read before it is signed. Those for information have nothing to do. */
static const struct noted {
	const char *code, *what;
} noted[] = {
	{ "note", "read it before you sign" },
	{ "sessions_waived", "the waiver ends, and what was accepted under it with it: measure the "
			     "accepted stack in three sessions before" },
	{ "check_not_passed", "repair what it names, or take the check out of the contract" },
	{ "repetition_excluded", "look whether the cause goes on ('twice show RUN'); a rule of the "
				 "contract left it out" },
	{ "worse_inside_margin",
	  "decide whether a loss of this size is worth it; later runs are held against this one "
	  "once it is accepted" },
	{ "noisier", "find what differs from start to start (placement, clocks, other work): the "
		     "chance to accept a loss is higher than it says" },
	{ "much_better", "make sure that work, data and target are the same before you sign" },
	{ "speed_against_samples",
	  "decide by which of the two is paid for; a margin of its own for each says it for good" },
	{ "session_effect",
	  "measure the accepted stack in more sessions ('twice run' after a boot)" },
	{ "no_margin", "give it a margin, or it is never judged" },
	{ "small_bank", NULL },
	{ "few_sessions", NULL },
	{ "outlook", NULL },
	{ "same_stack", NULL },
	{ "drift", NULL },
	{ "look_stands", NULL },
	{ "texts_agreement", NULL },
	{ "items_score", NULL },
	{ "pairs_loss", NULL },
};

/* What is left to do whatever the reason; one for each verdict. */
static const struct {
	const char *verdict, *what;
} ends[] = {
	{ "accepted", "'twice accept' signs it" },
	{ "accepted_with_note", "'twice accept' signs it, with what is said above" },
	{ "rejected",
	  "it cannot be accepted as it is: 'twice rollback' goes back to the accepted stack" },
	{ "inconclusive",
	  "it is not shown to be worse, nor that it is not: what was accepted stays" },
	{ "no_result", "nothing is said about the stack: what was accepted stays" },
	{ "baseline_void", "nothing was compared: what was accepted stays, for what it was" },
};

const char *why_end(const char *verdict)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (streq(ends[i].verdict, verdict))
			return ends[i].what;
	return NULL;
}

bool why_code_known(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (streq(steps[i].code, code))
			return true;
	return false;
}

bool why_note_known(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++)
		if (streq(noted[i].code, code))
			return true;
	return false;
}

static const struct step *step_for(const char *code, const char *about)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (streq(steps[i].code, code) && (!steps[i].about || streq(steps[i].about, about)))
			return &steps[i];
	return NULL;
}

static void next_of_notes(const json_t *notes, struct str *out)
{
	bool told[ARRAY_SIZE(noted)] = { false };

	for (size_t i = 0; i < json_array_size(notes); i++) {
		const char *code = json_str_or(json_array_get(notes, i), "code", "");

		for (size_t k = 0; k < ARRAY_SIZE(noted); k++) {
			if (told[k] || !noted[k].what || !streq(noted[k].code, code))
				continue;
			told[k] = true;
			str_addf(out, "\n  of the note (%s): %s\n", code, noted[k].what);
		}
	}
}

/* A search that has its answer is not asked for again. */
static void add_what(const char *what, bool found, struct str *out)
{
	const char *search = found ? strstr(what, BISECT) : NULL;

	str_add(out, "\n  what to do: ");
	if (search) {
		str_addn(out, what, (size_t)(search - what));
		what = search + strlen(BISECT);
	}
	str_addf(out, "%s\n", what);
}

void why_next(const json_t *decision, bool found, struct str *out)
{
	const json_t *reasons = json_object_get(decision, "reasons");
	const char *end = why_end(json_str_or(decision, "verdict", ""));
	bool told[ARRAY_SIZE(steps)] = { false };
	const char *last = "";

	for (size_t i = 0; i < json_array_size(reasons); i++) {
		const json_t *r = json_array_get(reasons, i);
		const struct step *s =
			step_for(json_str_or(r, "code", ""), json_str_or(r, "about", NULL));

		if (!s || told[s - steps] || streq(last, s->change))
			continue;
		told[s - steps] = true;
		last = s->change;
		str_addf(out, "\n  what would change it: %s", s->change);
		add_what(s->what, found, out);
	}
	next_of_notes(json_object_get(decision, "notes"), out);
	if (end)
		str_addf(out, "\n  %s: %s\n", json_array_size(reasons) ? "and" : "what to do", end);
}
