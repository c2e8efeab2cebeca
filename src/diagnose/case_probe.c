/* SPDX-License-Identifier: Apache-2.0 */
/* What the extra arms of a recorded comparison came out as. */
#include "diagnose/case.h"

#include <math.h>

/* Where a probe's value lies between accepted (0) and candidate (1). */
static double place(double a, double b, double x, bool ratio)
{
	if (ratio && a > 0 && b > 0 && x > 0) {
		a = log(a);
		b = log(b);
		x = log(x);
	}
	return a == b ? NAN : (x - a) / (b - a);
}

static const char *say(struct comparison *c, char *text)
{
	strs_take(&c->words, text);
	return c->words.v[c->words.n - 1];
}

struct sum {
	unsigned good, bad, partly;
	const char *text;
};

static void by_count(struct comparison *c, const struct ev *a, const struct ev *b,
		     const struct ev *x, struct sum *s)
{
	double before = a && a->kind == EV_COUNT && a->tries ? (double)a->bad / a->tries : 0;
	double now = (double)b->bad / b->tries, probe = (double)x->bad / x->tries;

	s->text = say(c, xasprintf("%s: %u of %u bad", x->name, x->bad, x->tries));
	if (!x->bad)
		s->good++;
	else if (probe > before + 0.5 * (now - before))
		s->bad++;
	else
		s->partly++;
}

static void by_values(struct comparison *c, const struct ev *a, const struct ev *b,
		      const struct ev *x, struct sum *s)
{
	double at = place(ev_median(a), ev_median(b), ev_median(x), !b->equal);

	if (!x->n && x->failed) {
		s->bad++;
		s->text = say(c, xasprintf("%s: failed", x->name));
		return;
	}
	s->text = say(c, xasprintf("%s %.5g; accepted %.5g, candidate %.5g", x->name, ev_median(x),
				   ev_median(a), ev_median(b)));
	if (isnan(at))
		return;
	if (at < 0.25)
		s->good++;
	else if (at > 0.75)
		s->bad++;
	else
		s->partly++;
}

/* Only what is worse in the candidate can get well in a probe. */
static void outcome(struct comparison *c, const struct probe_read *p)
{
	struct diagnose_probe *o = VEC_ADD(&c->outcomes);
	struct sum s = { 0 };

	*o = (struct diagnose_probe){ .name = p->name, .base = p->base };
	for (size_t i = 0; i < p->changes.n; i++)
		pairs_add(&o->changes, p->changes.v[i].name, p->changes.v[i].value);
	for (size_t i = 0; i < c->seen.n; i++) {
		const struct ev *a = evs_find(&c->a.evs, c->seen.v[i].name);
		const struct ev *b = evs_find(&c->b.evs, c->seen.v[i].name);
		const struct ev *x = evs_find(&p->evs, c->seen.v[i].name);

		if (c->seen.v[i].moved != MOVED_WORSE || !x || !b)
			continue;
		if (x->kind == EV_COUNT && b->kind == EV_COUNT)
			by_count(c, a, b, x, &s);
		else if (x->kind == EV_VALUES && b->kind == EV_VALUES)
			by_values(c, a, b, x, &s);
		else if (x->kind == EV_TEXT && a && a->kind == EV_TEXT)
			streq(x->text, a->text) ? s.good++ : s.bad++;
		if (!p->changes.n && p->base == ARM_ACCEPTED && x->kind == EV_COUNT && x->bad) {
			o->latent = true;
			o->text = say(c, xasprintf("%u of %u good", x->tries - x->bad, x->tries));
		}
	}
	o->outcome = s.partly || (s.good && s.bad) ? PROBE_PARTLY
		     : s.bad                       ? PROBE_BAD
		     : s.good                      ? PROBE_GOOD
						   : PROBE_UNCLEAR;
	if (!o->text)
		o->text = s.text ? s.text : "not measured";
}

static unsigned items_of(const struct probe_read *p, unsigned def)
{
	static const char *const names[] = { "n_questions", "n_items", "questions", "n_samples" };
	uint64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = pairs_get(&p->changes, names[i]);

		if (v && sv_to_u64(sv_of(v), &n) && n && n < INT32_MAX)
			return (unsigned)n;
	}
	return def;
}

/* Values of two runs of one arm together. */
static struct ev *joined(const struct ev *x, const struct ev *y)
{
	struct ev *e = xcalloc(1, sizeof(*e));

	*e = *x;
	e->v = xcalloc(x->n + y->n + 1, sizeof(*e->v));
	memcpy(e->v, x->v, x->n * sizeof(*e->v));
	memcpy(e->v + x->n, y->v, y->n * sizeof(*e->v));
	e->n = x->n + y->n;
	e->failed = x->failed + y->failed;
	e->bad = x->bad + y->bad;
	e->tries = x->tries + y->tries;
	return e;
}

static void ev_free(struct ev **e)
{
	if (*e)
		free((*e)->v);
	free(*e);
}

/* What the arms could not decide, judged with what a probe brought: pairs, more items, more
 * repetitions of either arm. */
static bool decide_one(struct comparison *c, const struct limit_read *l, const struct probe_read *p,
		       struct limit_read *ret)
{
	AUTO_FREE char *na = xasprintf("%s_accepted", l->name),
		       *nb = xasprintf("%s_candidate", l->name);
	struct ev *more CLEANUP(ev_free) = NULL;
	const struct ev *x = evs_find(&p->evs, l->name), *pairs = NULL;

	*ret = *l;
	ret->text = NULL;
	for (size_t i = 0; i < p->evs.n; i++)
		if (p->evs.v[i].paired)
			pairs = &p->evs.v[i];
	if (pairs && l->abs_scale) {
		struct ev one = *pairs;

		judge_pairs(ret, &one, pairs->items ? pairs->items : items_of(p, c->b.items));
		return true;
	}
	if (evs_find(&p->evs, na) && evs_find(&p->evs, nb)) {
		struct ev a = *evs_find(&p->evs, na), b = *evs_find(&p->evs, nb);

		a.items = a.items ? a.items : items_of(p, c->a.items);
		b.items = b.items ? b.items : items_of(p, c->b.items);
		limit_judge(c, ret, &a, &b);
		return true;
	}
	if (!x || p->changes.n || !l->now || !l->before || x->kind != l->now->kind)
		return false;
	more = joined(p->base == ARM_ACCEPTED ? l->before : l->now, x);
	if (p->base == ARM_ACCEPTED)
		limit_judge(c, ret, more, l->now);
	else
		limit_judge(c, ret, l->before, more);
	return true;
}

static void decide_open(struct comparison *c)
{
	enum verdict_kind kind = VERDICT_ACCEPTED;
	struct strs said CLEANUP(strs_release) = { 0 };
	size_t open = 0, judged = 0;

	for (size_t i = 0; i < c->limits.n; i++) {
		const struct limit_read *l = &c->limits.v[i];
		bool done = false;

		if (l->result != LIMIT_OPEN)
			continue;
		open++;
		for (size_t k = 0; k < c->probes.n && !done; k++) {
			struct limit_read r;

			done = decide_one(c, l, &c->probes.v[k], &r);
			if (!done)
				continue;
			judged++;
			if (r.result == LIMIT_FAIL)
				kind = VERDICT_REJECTED;
			else if (r.result != LIMIT_PASS && kind != VERDICT_REJECTED)
				kind = VERDICT_INCONCLUSIVE;
			strs_addf(&said, "with '%s': %s", c->probes.v[k].name, r.text);
			free(r.text);
		}
	}
	if (!open || judged < open)
		return;
	c->with_probe = true;
	c->by_probe = kind;
	for (size_t i = 0; i < said.n; i++)
		reason_add(&c->verdict.notes, "with_probe", NULL, "%s", said.v[i]);
}

void comparison_probes(struct comparison *c)
{
	for (size_t i = 0; i < c->probes.n; i++)
		outcome(c, &c->probes.v[i]);
	if (c->verdict.kind == VERDICT_INCONCLUSIVE)
		decide_open(c);
}
