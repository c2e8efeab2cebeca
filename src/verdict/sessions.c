/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared luck of a session does not average out inside it: with a session effect as large as
 * the
 * repetition noise, one bank session against one candidate session accepts a true 5 % loss one time
 * in six. Exact again when every repetition has a session of its own, or the arms are interleaved.
 */
#include "verdict/internal.h"

#include <math.h>

static const char *bank_session(const struct series *s, size_t metric, size_t i)
{
	return s->in->bank_sessions ? s->in->bank_sessions[s->place[metric][i]] : NULL;
}

/* Session number of each value of a metric's bank; their count. */
static size_t group(const struct series *s, size_t metric, size_t *ret)
{
	size_t k = 0;

	for (size_t i = 0; i < s->n_bank[metric]; i++) {
		const char *name = bank_session(s, metric, i);
		size_t j = 0;

		while (name && j < i && !streq(bank_session(s, metric, j), name))
			j++;
		ret[i] = name && j < i ? ret[j] : k++;
	}
	return k;
}

double session_p(const struct series *s, size_t metric)
{
	struct variance_components vc;
	size_t g[VERDICT_MAX_BANK], k;

	if (!s->in->bank_sessions)
		return NAN;
	k = group(s, metric, g);
	if (k < 2 || k == s->n_bank[metric])
		return NAN;
	variance_components(s->bank[metric], g, s->n_bank[metric], k, &vc);
	/* No spread inside any session but between them: as sure as it gets. A relative difference
	 * of 1e-12 is the rounding of logarithms. */
	return vc.msw > 1e-24 ? vc.p : vc.msb > 1e-24 ? 0 : NAN;
}

static bool cand_shares(const struct series *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < i; j++) {
			const char *a = s->in->reps[s->first[i]].session;

			if (a && streq(a, s->in->reps[s->first[j]].session))
				return true;
		}
	return false;
}

/* Bank and candidate all in one session: what it does, it does to both. */
static bool same_session(const struct series *s, size_t metric)
{
	const char *one = s->n ? s->in->reps[s->first[0]].session : NULL;

	for (size_t i = 0; one && i < s->n; i++)
		if (!streq(s->in->reps[s->first[i]].session, one))
			return false;
	for (size_t i = 0; one && i < s->n_bank[metric]; i++)
		if (!streq(bank_session(s, metric, i), one))
			return false;
	return one != NULL;
}

static void not_spread(const struct series *s, struct verdict *v, struct verdict_reasons *to)
{
	const char *code = to == &v->notes ? "sessions_waived" : "sessions_not_spread";
	bool shares = cand_shares(s);

	for (size_t m = 0; m < v->numbers.n; m++) {
		const struct verdict_number *x = &v->numbers.v[m];
		size_t g[VERDICT_MAX_BANK], k;

		if (!number_gates(x))
			continue;
		k = group(s, m, g);
		if ((!shares && k == s->n_bank[m]) || same_session(s, m))
			continue;
		if (k < 3)
			say(to, code, x->name,
			    "%s: the accepted run has %zu session%s (a boot of a host) and these "
			    "repetitions share one: what a boot does by itself can't be told from "
			    "the change; run the accepted stack in %zu more",
			    x->name, k, k == 1 ? "" : "s", 3 - k);
		else if (isnan(x->session_p) || x->session_p < 0.05)
			say(to, code, x->name,
			    isnan(x->session_p)
				    ? "%s: the candidate's repetitions share a session, and what a "
				      "session does cannot be told from the accepted run"
				    : "%s: sessions differ by more than their repetitions do; "
				      "spread the repetitions, or run both stacks alternately",
			    x->name);
	}
}

void rule_sessions(const struct series *s, struct verdict *v)
{
	const struct verdict_in *in = s->in;

	if (!in->has_bank || in->interleaved || !in->bank_sessions)
		return;
	not_spread(s, v, in->sessions_waived ? &v->notes : &v->reasons);
}

static void add_session(const char **seen, size_t *n, const char *one)
{
	for (size_t i = 0; i < *n; i++)
		if (streq(seen[i], one))
			return;
	seen[(*n)++] = one;
}

/* Said while there is time: once the stack has changed, the old one may be hard to boot again. */
void note_few_sessions(const struct series *s, struct verdict *v)
{
	const struct verdict_in *in = s->in;
	size_t n = 0, most = s->n + (in->has_bank && in->bank_sessions ? in->n_bank : 0);
	AUTO_FREE const char **seen = xcalloc(most, sizeof(*seen));

	for (size_t i = 0; i < s->n; i++) {
		const char *one = in->reps[s->first[i]].session;

		if (!one)
			return; /* not kept, or each its own */
		add_session(seen, &n, one);
	}
	for (size_t i = 0; most > s->n && i < in->n_bank; i++)
		if (in->bank_sessions[i])
			add_session(seen, &n, in->bank_sessions[i]);
	if (n && n < 3)
		say(&v->notes, "few_sessions", NULL,
		    "%zu session%s (a boot of a host) so far: a change that needs a reboot can be "
		    "accepted once the accepted stack was run in 3 ('twice run' after a reboot "
		    "adds "
		    "one)",
		    n, n == 1 ? "" : "s");
}
