/* SPDX-License-Identifier: Apache-2.0 */
/* What was accepted, whether it still is, and what changed since. */
#include "run/internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"

void acceptances_release(struct acceptances *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].who);
		free(l->v[i].note);
		free(l->v[i].lapse);
	}
	free(l->v);
	*l = (struct acceptances){ 0 };
}

struct reading {
	struct ledger *ledger;
	const char *workload;
	struct acceptances *ret;
};

static int on_signoff(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct reading *r = arg;
	struct acceptance *a;

	(void)err;
	if (!streq(json_str_or(e->body, "workload", ""), r->workload))
		return 0;
	a = VEC_ADD(r->ret);
	a->seq = e->ref.seq;
	memcpy(a->signoff, e->ref.hex, 65);
	(void)snprintf(a->verdict, 65, "%s",
		       run_ref_of(e->body, "verdict") ? run_ref_of(e->body, "verdict") : "");
	(void)snprintf(a->intent, 65, "%s",
		       run_ref_of(e->body, "intent") ? run_ref_of(e->body, "intent") : "");
	(void)snprintf(a->contract_digest, 65, "%s",
		       run_ref_of(e->body, "contract") ? run_ref_of(e->body, "contract") : "");
	(void)snprintf(a->run, sizeof(a->run), "%s", json_str_or(e->body, "run", ""));
	(void)snprintf(a->stack_digest, 65, "%s", json_str_or(e->body, "stack_digest", ""));
	a->who = xstrdup(e->by_id);
	a->note = xstrdup(json_str_or(e->body, "note", ""));
	a->at_ms = e->at_ms;
	a->expires_ms = json_int_or(e->body, "expires_at_ms", 0);
	return 0;
}

static void rests_on(struct acceptance *a, const struct waiver *w)
{
	int64_t end = w->revoked ? MIN(w->revoked_ms, w->until_ms) : w->until_ms;
	AUTO_FREE char *at = NULL;

	/* Whatever the clocks said: what was taken back has ended. */
	end = MAX(end, (int64_t)1);
	if (a->expires_ms && a->expires_ms < end)
		return;
	at = time_utc(end);
	a->expires_ms = end;
	free(a->lapse);
	a->lapse = xasprintf("the waiver of %s %s %.16sZ (%s)", w->subject,
			     w->revoked ? "was taken back" : "ends", at, w->reason);
}

static int under_waivers(struct ledger *l, const struct waivers *all, struct acceptance *a,
			 struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const json_t *refs;

	if (!all->n || !a->verdict[0])
		return 0;
	TRY(run_entry(l, a->verdict, "verdict", &e, err));
	refs = json_object_get(e.body, "waivers");
	for (size_t i = 0; i < json_array_size(refs); i++) {
		const char *leaf = json_str_or(json_array_get(refs, i), "digest", "");

		for (size_t k = 0; k < all->n; k++)
			if (streq(all->v[k].leaf, leaf))
				rests_on(a, &all->v[k]);
	}
	return 0;
}

int acceptances_read(struct ledger *l, const char *workload, struct acceptances *ret,
		     struct err *err)
{
	static const char *const kinds[] = { "signoff", NULL };
	struct ledger_filter f = { .kinds = kinds, .newest_first = true };
	struct acceptances list CLEANUP(acceptances_release) = { 0 };
	struct waivers waivers CLEANUP(waivers_release) = { 0 };
	struct reading r = { l, workload, &list };

	TRY(waivers_read(l, workload, 0, &waivers, err));
	TRY(ledger_each(l, &f, on_signoff, &r, err));
	for (size_t i = 0; i < list.n; i++) {
		TRY(ledger_standing(l, list.v[i].seq, &list.v[i].standing, NULL, NULL, err));
		TRY(under_waivers(l, &waivers, &list.v[i], err));
	}
	*ret = list;
	list = (struct acceptances){ 0 };
	return 0;
}

const struct acceptance *acceptance_current(const struct acceptances *l, int64_t now_ms)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].standing == LEDGER_IN_FORCE &&
		    (!l->v[i].expires_ms || l->v[i].expires_ms > now_ms))
			return &l->v[i];
	return NULL;
}

struct between {
	uint64_t from, to;
	const char *workload;
	bool rejected, recovered;
};

/* Between two acceptances of one stack: was there a verdict against it, or a drill that went back?
 * */
static int on_between(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct between *b = arg;

	(void)err;
	if (!streq(json_str_or(e->body, "workload", ""), b->workload))
		return 0;
	if (streq(e->kind, "drill") && json_bool_or(e->body, "done", false))
		b->recovered = true;
	return 0;
}

bool acceptances_proven(struct ledger *l, const struct acceptances *a)
{
	static const char *const kinds[] = { "drill", NULL };
	const struct acceptance *first = NULL;

	for (size_t i = a->n; i-- > 0;) {
		const struct acceptance *x = &a->v[i];

		if (x->standing != LEDGER_IN_FORCE)
			continue;
		if (first && !streq(first->stack_digest, x->stack_digest))
			return true;
		if (first) {
			struct ledger_filter f = { .kinds = kinds,
						   .from = first->seq,
						   .to = x->seq };
			struct between b = { .workload = "" };
			struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
			struct err err = ERR_INIT;

			if (ledger_get(l, x->seq, &e, &err) < 0)
				return false;
			b.workload = json_str_or(e.body, "workload", "");
			if (ledger_each(l, &f, on_between, &b, &err) < 0)
				return false;
			if (b.recovered)
				return true;
		}
		if (!first)
			first = x;
	}
	return false;
}

int run_stack_of(struct ledger *l, const char *intent, struct stack *ret, struct err *err)
{
	struct intent i CLEANUP(intent_release) = { 0 };

	TRY(intent_read(l, intent, &i, err));
	if (!i.capture[0])
		return bail(err, ERR_BROKEN, "run '%s' names no stack", i.run);
	return run_get_stack(l, i.capture, ret, err);
}

int run_stack_of_capture(struct ledger *l, const char *capture, struct stack *ret, struct err *err)
{
	return run_get_stack(l, capture, ret, err);
}

const char *standing_name(enum standing s)
{
	static const char *const names[] = { "accepted", "stale", "expired", "never accepted",
					     "unknown" };

	return names[s];
}

void staleness_release(struct staleness *s)
{
	changes_release(&s->changes);
	stack_release(&s->before);
	stack_release(&s->now);
	strs_release(&s->reasons);
	*s = (struct staleness){ 0 };
}

static void add_reason(struct staleness *s, const struct change *c)
{
	AUTO_FREE char *text = change_text(c);

	strs_add(&s->reasons, text);
}

/* What the accepted stack was made of is gone, its digest is not: equal digests are equal stacks,
 * of others nothing can be said. */
static void lose_before(struct staleness *s, const struct acceptance *a, struct err *err)
{
	char digest[65];

	stack_digest(&s->now, digest);
	if (!streq(digest, a->stack_digest)) {
		s->standing = STANDING_UNKNOWN;
		s->layers = (1u << LAYER_N) - 1;
		strs_add(&s->reasons, err->msg);
	}
	err_clear(err);
}

int run_staleness(struct ledger *l, const struct contract *c, const struct acceptance *a,
		  int64_t now_ms, struct stack *now, struct staleness *ret, struct err *err)
{
	struct staleness s CLEANUP(staleness_release) = { 0 };
	size_t lost = 0;

	s.now = *now;
	*now = (struct stack){ 0 };
	if (!a) {
		s.standing = STANDING_NEVER;
		s.layers = (1u << LAYER_N) - 1;
		*ret = s;
		s = (struct staleness){ 0 };
		return 0;
	}
	if (run_stack_of(l, a->intent, &s.before, err) == 0)
		stack_diff(&s.before, &s.now, &s.changes);
	else if (err->code == ERR_MISSING)
		lose_before(&s, a, err);
	else
		return -(int)err->code;
	for (size_t i = 0; i < s.changes.n; i++) {
		const struct change *x = &s.changes.v[i];

		/* Unknown then and unknown now: the acceptance was given with the same gap. */
		if (!x->material)
			continue;
		/* What was read once and can't be read now may or may not have changed. */
		if (x->after && !x->after->version && x->before)
			lost++;
		else
			s.standing = STANDING_STALE;
		s.layers |= check_layers_touched(change_layer(x));
		add_reason(&s, x);
	}
	if (!streq(a->contract_digest, c->digest)) {
		s.contract_changed = true;
		s.standing = STANDING_STALE;
		s.layers = (1u << LAYER_N) - 1;
		strs_addf(&s.reasons, "contract %.12s -> %.12s", a->contract_digest, c->digest);
	}
	if (s.standing == STANDING_ACCEPTED && lost)
		s.standing = STANDING_UNKNOWN;
	if (a->expires_ms && a->expires_ms <= now_ms && a->lapse)
		strs_add(&s.reasons, a->lapse);
	if (s.standing == STANDING_ACCEPTED && a->expires_ms && a->expires_ms <= now_ms) {
		s.standing = STANDING_EXPIRED;
		s.layers = (1u << LAYER_N) - 1;
	}
	*ret = s;
	s = (struct staleness){ 0 };
	return 0;
}
