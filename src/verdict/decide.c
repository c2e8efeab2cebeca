/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/internal.h"

#include <math.h>

void verdict_defaults(struct verdict_in *in)
{
	static const unsigned looks[] = { 3, 4, 5, 6, 8, 10 }, first[] = { 3, 5, 7, 10 };

	memcpy(in->looks, looks, sizeof(looks));
	in->n_looks = ARRAY_SIZE(looks);
	memcpy(in->first_looks, first, sizeof(first));
	in->n_first_looks = ARRAY_SIZE(first);
	in->alpha = 0.01;
	in->alpha_reject = 0.02;
	in->rho = 0.4;
	in->max_cov = 0.05;
	in->max_failed = 0;
	in->reject_failed = 2;
}

static size_t cap_looks(unsigned *looks, size_t n, unsigned at_most)
{
	while (n && looks[n - 1] >= at_most)
		n--;
	if (n == VERDICT_MAX_LOOKS)
		n--;
	looks[n] = at_most;
	return n + 1;
}

void verdict_cap(struct verdict_in *in, unsigned at_most)
{
	assert(at_most >= 1);
	in->n_looks = cap_looks(in->looks, in->n_looks, at_most);
	in->n_first_looks = cap_looks(in->first_looks, in->n_first_looks, at_most);
}

void verdict_interleave(struct verdict_in *in)
{
	static const unsigned looks[] = { 5, 6, 7, 8, 10, 12 };

	memcpy(in->looks, looks, sizeof(looks));
	in->n_looks = ARRAY_SIZE(looks);
	in->interleaved = true;
}

void reasons_release(struct verdict_reasons *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].code);
		free(l->v[i].about);
		free(l->v[i].text);
	}
	free(l->v);
	*l = (struct verdict_reasons){ 0 };
}

void verdict_release(struct verdict *v)
{
	reasons_release(&v->reasons);
	reasons_release(&v->notes);
	number_list_release(&v->numbers);
	answers_release(&v->answers);
	for (size_t i = 0; i < v->trace.n; i++)
		number_list_release(&v->trace.v[i].numbers);
	free(v->trace.v);
	free(v->advice);
	*v = (struct verdict){ 0 };
}

void say(struct verdict_reasons *l, const char *code, const char *about, const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	*VEC_ADD(l) = (struct verdict_reason){ xstrdup(code), xstrdup(about), str_steal(&s) };
}

bool decided(struct verdict *v, enum verdict_kind kind, size_t look)
{
	v->kind = kind;
	v->final = true;
	v->look = (unsigned)look;
	return true;
}

/* Moves all of `from` to the end of `to`. */
static void take_reasons(struct verdict_reasons *to, struct verdict_reasons *from)
{
	for (size_t i = 0; i < from->n; i++)
		*VEC_ADD(to) = from->v[i];
	from->n = 0;
}

static bool is_information(const char *code)
{
	static const char *const codes[] = { "small_bank",  "outlook",     "same_stack",
					     "drift",       "look_stands", "texts_agreement",
					     "items_score", "pairs_loss",  "few_sessions" };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (streq(code, codes[i]))
			return true;
	return false;
}

/* An open answer that further repetitions sharpen: pairs, texts, items that waver. Plain counts of
 * flips stay what they are. */
static bool answers_move(const struct verdict *v)
{
	for (size_t i = 0; i < v->answers.n; i++) {
		const struct verdict_answer *a = &v->answers.v[i];

		if (a->state == ANSWER_OPEN && !streq(a->method, "tango"))
			return true;
	}
	return false;
}

/* Everything in the numbers says accepted; `open` holds what correctness still lacks. */
static bool accepted(const struct series *s, size_t n, struct verdict_reasons *open,
		     struct verdict *v)
{
	const struct verdict_in *in = s->in;
	bool noted = false, unmeasured = false;
	bool last = n >= series_cap(in) || (in->ended && n == s->n);

	rule_repeatable(s, v);
	if (v->reasons.n && !last) {
		reasons_release(&v->reasons); /* a later look may see it settle */
		return false;
	}
	if (!last && answers_move(v))
		return false;
	for (size_t i = 0; i < open->n; i++)
		unmeasured |= str_ends(open->v[i].code, "_unmeasured");
	take_reasons(&v->reasons, open);
	rule_sessions(s, v);
	if (v->reasons.n)
		return decided(v, unmeasured ? VERDICT_NO_RESULT : VERDICT_INCONCLUSIVE, n);
	decided(v, VERDICT_ACCEPTED, n);
	rule_notes(s, v);
	if (v->first)
		outlook(s, v);
	note_few_sessions(s, v);
	if (n < s->n && !v->answers.n)
		say(&v->notes, "look_stands", NULL,
		    "decided after %zu repetitions; the %zu made later are not part of it", n,
		    s->n - n);
	for (size_t i = 0; i < v->notes.n; i++)
		noted |= !is_information(v->notes.v[i].code);
	return decided(v, noted ? VERDICT_ACCEPTED_NOTE : VERDICT_ACCEPTED, n);
}

static bool first_look(const struct series *s, size_t n, struct verdict_reasons *open,
		       struct verdict *v)
{
	if (rule_objectives_missed(s, n, v))
		return true;
	if (n < VERDICT_MIN_FIRST || series_failed(s, n) > 0 || !rule_objectives_held(s, v))
		return false;
	return accepted(s, n, open, v);
}

static bool second_look(const struct series *s, size_t n, struct verdict_reasons *open,
			struct verdict *v)
{
	if (rule_objectives_missed(s, n, v))
		return true;
	if (series_failed(s, n) <= s->in->max_failed && rule_below_margins(v) &&
	    rule_objectives_held(s, v))
		return accepted(s, n, open, v);
	return rule_regressed(s, n, v);
}

static void trace(const struct series *s, size_t n, struct verdict *v)
{
	struct verdict_look *l = VEC_ADD(&v->trace);

	l->look = (unsigned)n;
	l->failed = series_failed(s, n);
	l->kind = v->final ? v->kind : VERDICT_INCONCLUSIVE;
	numbers_copy(&v->numbers, &l->numbers);
}

/* The looks that have been reached, in order, until one decides. */
static bool looks(struct series *s, struct verdict_reasons *open, struct verdict *v)
{
	const struct verdict_in *in = s->in;
	const unsigned *at = in->has_bank ? in->looks : in->first_looks;
	size_t n_looks = in->has_bank ? in->n_looks : in->n_first_looks;
	bool done = false;

	for (size_t k = 0; k < n_looks && at[k] <= s->n && !done; k++) {
		numbers_make(s, at[k], /* with_counts= */ true, &v->numbers);
		done = in->has_bank ? second_look(s, at[k], open, v)
				    : first_look(s, at[k], open, v);
		trace(s, at[k], v);
	}
	return done;
}

static void why_not_decided(const struct series *s, const struct verdict_reasons *open,
			    struct verdict *v)
{
	const struct verdict_in *in = s->in;
	unsigned cap = series_cap(in), failed = series_failed(s, s->n);

	if (s->n - failed < 3) {
		v->kind = VERDICT_NO_RESULT;
		say(&v->reasons, "too_few", NULL, "%zu valid repetitions, at least 3 are needed",
		    s->n - failed);
	} else if (!in->has_bank && s->n < VERDICT_MIN_FIRST) {
		say(&v->reasons, "too_few_for_first", NULL,
		    "a first acceptance needs %d repetitions, there are %zu", VERDICT_MIN_FIRST,
		    s->n);
	} else if (s->n >= cap) {
		say(&v->reasons, "cap_reached", NULL, "not decided within %u repetitions", cap);
	} else {
		say(&v->reasons, "not_yet", NULL, "not decided after %zu repetitions", s->n);
	}
	if (failed > in->max_failed || (failed && !in->has_bank))
		say(&v->reasons, "repetition_failed", NULL, "%u failed repetition%s: no acceptance",
		    failed, failed == 1 ? "" : "s");
	rule_repeatable(s, v);
	for (size_t i = 0; i < open->n; i++)
		say(&v->reasons, open->v[i].code, open->v[i].about, "%s", open->v[i].text);
}

static void undecided(struct series *s, const struct verdict_reasons *open, struct verdict *v)
{
	size_t last = 0;

	/* To show: at the latest look where that is all there is, else of all so far. */
	for (size_t k = 0; k < v->trace.n; k++)
		last = v->trace.v[k].look;
	numbers_make(s, s->n, /* with_counts= */ last == s->n, &v->numbers);
	v->kind = VERDICT_INCONCLUSIVE;
	v->look = (unsigned)s->n;
	v->final = s->n >= series_cap(s->in) || s->in->ended;
	advise(s, v);
	if (v->final)
		why_not_decided(s, open, v);
	if (v->final && !s->in->has_bank && s->n < VERDICT_MIN_FIRST)
		v->more = VERDICT_MIN_FIRST - (unsigned)s->n;
}

void verdict_decide(const struct verdict_in *in, struct verdict *ret)
{
	struct verdict_reasons open CLEANUP(reasons_release) = { 0 };
	struct verdict_reasons blocked CLEANUP(reasons_release) = { 0 };
	struct series s CLEANUP(series_release) = { 0 };
	struct verdict v = { .kind = VERDICT_INCONCLUSIVE,
			     .first = !in->has_bank,
			     .n_bank = MIN(in->n_bank, (size_t)VERDICT_MAX_BANK) };

	assert(in->n_looks >= 1 && in->n_looks <= VERDICT_MAX_LOOKS);
	assert(in->n_first_looks >= 1 && in->n_first_looks <= VERDICT_MAX_LOOKS);
	series_make(in, &s);
	v.used = (unsigned)s.n;
	v.failed = series_failed(&s, s.n);
	for (size_t i = 0; i < in->n_reps; i++) {
		if (in->reps[i].state != REP_EXCLUDED)
			continue;
		v.excluded++;
		say(&v.notes, "repetition_excluded", NULL, "repetition %zu was left out: %s", i + 1,
		    in->reps[i].reason ? in->reps[i].reason : "no reason was recorded");
	}
	if (!gate_void(in, &v) && !gate_checks(in, &blocked, &v) && !rule_correct(in, &v, &open) &&
	    !gate_failed(&s, s.n, &v) && !gate_unmeasured(&s, s.n, &v) && !looks(&s, &open, &v))
		undecided(&s, &open, &v);
	if (v.kind != VERDICT_ACCEPTED && v.kind != VERDICT_ACCEPTED_NOTE)
		note_parts(&s, &v);
	gate_hold_back(&blocked, &v);
	*ret = v;
}
