/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include <math.h>

static void differ(struct verdict *v, const char *code, const char *what, const char *bank,
		   const char *cand)
{
	if (streq(bank, cand))
		return;
	if (!bank || !cand)
		say(&v->reasons, code, NULL, "the %s of the %s is unknown", what,
		    bank ? "candidate" : "accepted run");
	else
		say(&v->reasons, code, NULL,
		    "the accepted run was of another %s (%.12s, now %.12s)", what, bank, cand);
}

static void settings_differ(const struct verdict_in *in, struct verdict *v)
{
	for (size_t i = 0; i < in->n_settings; i++) {
		const struct verdict_setting *x = &in->settings[i];

		if (x->requested && x->effective && !streq(x->requested, x->effective))
			say(&v->reasons, "effective_differs", x->name,
			    "%s: asked for %s, in effect is %s", x->name, x->requested,
			    x->effective);
		if (x->label && x->effective && !streq(x->label, x->effective))
			say(&v->reasons, "effective_differs", x->name,
			    "%s: the label says %s, in effect is %s", x->name, x->label,
			    x->effective);
		else if (x->label && x->requested && !x->effective &&
			 !streq(x->label, x->requested))
			say(&v->reasons, "effective_differs", x->name,
			    "%s: the label says %s, asked for was %s", x->name, x->label,
			    x->requested);
	}
}

bool gate_void(const struct verdict_in *in, struct verdict *v)
{
	for (size_t i = 0; in->void_reasons && in->void_reasons[i]; i++)
		say(&v->reasons, "baseline_void", NULL, "%s", in->void_reasons[i]);
	if (in->has_bank) {
		const struct verdict_identity *a = &in->bank_id, *b = &in->cand_id;

		differ(v, "other_contract", "contract", a->contract, b->contract);
		differ(v, "other_workload", "workload", a->workload, b->workload);
		differ(v, "other_schedule", "schedule of requests", a->schedule, b->schedule);
		if (a->stack && streq(a->stack, b->stack))
			say(&v->notes, "same_stack", NULL,
			    "the stack is the accepted one: these repetitions may join its bank");
	}
	for (size_t i = 0; in->mismatches && in->mismatches[i]; i++)
		say(&v->reasons, "effective_differs", NULL, "%s", in->mismatches[i]);
	settings_differ(in, v);
	return v->reasons.n ? decided(v, VERDICT_BASELINE_VOID, 0) : false;
}

static const char *code_of(enum result r)
{
	switch (r) {
	case RESULT_FAIL:
		return "check_failed";
	case RESULT_SKIP:
		return "check_skipped";
	case RESULT_DOUBTFUL:
		return "check_doubtful";
	default: /* what is not one of the five was not measured either */
		return "check_error";
	}
}

bool gate_checks(const struct verdict_in *in, struct verdict_reasons *blocked, struct verdict *v)
{
	bool failed = false;

	for (size_t i = 0; i < in->n_checks; i++) {
		const struct verdict_check *c = &in->checks[i];
		const char *why = c->reason ? c->reason : "no reason was given";

		if (c->result == RESULT_PASS)
			continue;
		if (!c->required) {
			say(&v->notes, "check_not_passed", c->name, "%s: %s: %s", c->name,
			    result_name(c->result), why);
			continue;
		}
		if (c->result == RESULT_FAIL) {
			say(&v->reasons, code_of(c->result), c->name, "%s failed: %s", c->name,
			    why);
			failed = true;
		} else {
			say(blocked, code_of(c->result), c->name, "%s: %s: %s", c->name,
			    result_name(c->result), why);
		}
	}
	for (size_t i = 0; i < in->n_settings; i++) {
		const struct verdict_setting *x = &in->settings[i];

		if (!x->required || x->effective)
			continue;
		say(blocked, "effective_unknown", x->name, "%s: what is in effect is unknown%s%s",
		    x->name, x->requested ? ", asked for was " : "",
		    x->requested ? x->requested : "");
	}
	return failed ? decided(v, VERDICT_REJECTED, 0) : false;
}

void gate_hold_back(const struct verdict_reasons *blocked, struct verdict *v)
{
	bool rejected =
		v->final && (v->kind == VERDICT_REJECTED || v->kind == VERDICT_BASELINE_VOID);
	struct verdict_reasons *to = rejected ? &v->notes : &v->reasons;

	if (!blocked->n)
		return;
	if (!rejected) {
		reasons_release(&v->reasons);
		(void)decided(v, VERDICT_NO_RESULT, v->look);
	}
	for (size_t i = 0; i < blocked->n; i++)
		say(to, blocked->v[i].code, blocked->v[i].about, "%s", blocked->v[i].text);
}

bool gate_failed(const struct series *s, size_t n, struct verdict *v)
{
	const struct verdict_in *in = s->in;

	if (series_failed(s, n) < MAX(in->reject_failed, 1u))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct verdict_rep *r = &in->reps[s->first[i]];

		if (s->failed[i])
			say(&v->reasons, "repetition_failed", NULL, "repetition %zu failed: %s",
			    s->first[i] + 1, r->reason ? r->reason : "no reason was recorded");
	}
	return decided(v, VERDICT_REJECTED, n);
}

/* Nothing to go by must not look like nothing wrong. */
static bool nothing_decides(const struct verdict_in *in, struct verdict *v)
{
	bool limits = false, margins = in->n_items || in->n_texts || in->n_pairs;

	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];

		limits |= m->has_limit;
		margins |= m->gate && !m->across && !isnan(m->margin);
	}
	if (!limits && !(in->has_bank && margins))
		say(&v->reasons, "nothing_decides", NULL,
		    in->has_bank ? "no objective and no margin: nothing would decide"
				 : "no objective: nothing says what is good enough");
	else if (in->has_bank && !margins)
		say(&v->notes, "no_margin", NULL,
		    "no metric has a margin: nothing was compared with the accepted run");
	return v->reasons.n ? decided(v, VERDICT_INCONCLUSIVE, 0) : false;
}

bool gate_unmeasured(const struct series *s, size_t n, struct verdict *v)
{
	const struct verdict_in *in = s->in;
	bool unmeasured = false;

	if (nothing_decides(in, v))
		return true;
	for (size_t k = 0; k < in->n_metrics; k++) {
		const struct verdict_metric *m = &in->metrics[k];
		bool gates = m->gate && in->has_bank && !m->across;
		size_t missing = 0;

		if (!m->has_limit && !gates)
			continue;
		if (m->across)
			missing = n && (!m->cand || isnan(m->cand[0])) ? n : 0;
		for (size_t i = 0; !m->across && i < n; i++)
			missing += isnan(s->w[k][i]);
		if (missing)
			say(&v->reasons, "not_measured", m->name,
			    "%s has no number in %zu of %zu repetitions", m->name, missing, n);
		else if (gates && !in->interleaved && s->n_bank[k] < VERDICT_MIN_BANK)
			say(&v->reasons, "bank_too_small", m->name,
			    "%s: the accepted run has %zu usable repetitions, %d are needed",
			    m->name, s->n_bank[k], VERDICT_MIN_BANK);
		unmeasured |= missing > 0;
	}
	if (!v->reasons.n)
		return false;
	return decided(v, unmeasured ? VERDICT_NO_RESULT : VERDICT_INCONCLUSIVE, n);
}
