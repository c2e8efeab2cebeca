/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions that people signed: which there are, and which of them count. */
#include "run/internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"

void waivers_release(struct waivers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct waiver *w = &l->v[i];

		free(w->subject);
		free(w->limit);
		free(w->reason);
		free(w->owner);
		free(w->who);
		free(w->why);
	}
	free(l->v);
	*l = (struct waivers){ 0 };
}

static struct waiver *find_leaf(const struct waivers *l, const char *leaf)
{
	for (size_t i = 0; leaf && i < l->n; i++)
		if (streq(l->v[i].leaf, leaf))
			return &l->v[i];
	return NULL;
}

struct reading {
	struct ledger *ledger;
	const char *workload;
	struct waivers *list;
};

static int on_waiver(struct reading *r, const struct ledger_entry *e, struct err *err)
{
	struct str why CLEANUP(str_release) = { 0 };
	enum ledger_standing standing;
	struct waiver *w;

	if (!streq(json_str_or(e->body, "workload", ""), r->workload))
		return 0;
	TRY(ledger_standing(r->ledger, e->ref.seq, &standing, NULL, &why, err));
	w = VEC_ADD(r->list);
	w->seq = e->ref.seq;
	memcpy(w->leaf, e->ref.hex, 65);
	w->subject = xstrdup(json_str_or(e->body, "subject", ""));
	w->limit = xstrdup(json_str_or(e->body, "limit", NULL));
	w->reason = xstrdup(json_str_or(e->body, "reason", ""));
	w->owner = xstrdup(json_str_or(e->body, "owner", ""));
	w->who = xstrdup(e->by_id);
	w->why = str_steal(&why);
	w->at_ms = e->at_ms;
	w->until_ms = json_int_or(e->body, "expires_at_ms", 0);
	w->standing = standing;
	return 0;
}

/* Taken back with fewer signatures than that needs, it stays. */
static int on_revoke(struct reading *r, const struct ledger_entry *e, struct err *err)
{
	struct waiver *w = find_leaf(r->list, run_ref_of(e->body, "waiver"));
	enum ledger_standing standing;

	if (!w || w->revoked)
		return 0;
	TRY(ledger_standing(r->ledger, e->ref.seq, &standing, NULL, NULL, err));
	if (standing != LEDGER_IN_FORCE && standing != LEDGER_NO_POLICY)
		return 0;
	w->revoked = e->ref.seq;
	w->revoked_ms = e->at_ms;
	return 0;
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	return streq(e->kind, "waiver") ? on_waiver(arg, e, err) : on_revoke(arg, e, err);
}

int waivers_read(struct ledger *l, const char *workload, uint64_t as_of, struct waivers *ret,
		 struct err *err)
{
	static const char *const kinds[] = { "waiver", "waiver.revoke", NULL };
	struct ledger_filter f = { .kinds = kinds, .to = as_of };
	struct waivers list CLEANUP(waivers_release) = { 0 };
	struct reading r = { l, workload, &list };

	TRY(ledger_each(l, &f, on_entry, &r, err));
	*ret = list;
	list = (struct waivers){ 0 };
	return 0;
}

enum waiver_state waiver_state(const struct waiver *w, int64_t now_ms)
{
	if (w->revoked)
		return WAIVER_REVOKED;
	/* Without an end it would be a change of the contract: it never counts. */
	if (w->until_ms <= now_ms)
		return WAIVER_EXPIRED;
	if (w->standing == LEDGER_PENDING)
		return WAIVER_PENDING;
	return w->standing == LEDGER_IN_FORCE ? WAIVER_IN_FORCE : WAIVER_NOT_SIGNED;
}

const char *waiver_state_name(enum waiver_state s)
{
	static const char *const names[] = { "in force", "pending", "not signed", "expired",
					     "revoked" };

	return names[s];
}

const struct waiver *waivers_for(const struct waivers *l, const char *subject, int64_t now_ms)
{
	for (size_t i = l->n; i-- > 0;)
		if (streq(l->v[i].subject, subject) &&
		    waiver_state(&l->v[i], now_ms) == WAIVER_IN_FORCE)
			return &l->v[i];
	return NULL;
}

void waivers_keep(struct waivers *l, const json_t *refs, int64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct waivers one = { &l->v[i], 1, 1 };
		bool named = !refs;

		for (size_t k = 0; k < json_array_size(refs); k++)
			named |= streq(l->v[i].leaf,
				       json_str_or(json_array_get(refs, k), "digest", ""));
		if (named && waiver_state(&l->v[i], now_ms) == WAIVER_IN_FORCE) {
			l->v[kept++] = l->v[i];
			continue;
		}
		one.v = xmalloc(sizeof(*one.v));
		*one.v = l->v[i];
		waivers_release(&one);
	}
	l->n = kept;
}

json_t *waivers_refs(const struct waivers *l)
{
	json_t *a = l->n ? json_array() : NULL;

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, run_ref(l->v[i].leaf));
	return a;
}

char *waiver_text(const struct waiver *w)
{
	AUTO_FREE char *until = time_utc(w->until_ms);

	return xasprintf("waived until %.10s by %s (owner %s): %s", until, w->who, w->owner,
			 w->reason);
}

json_t *waiver_json(const struct waiver *w, int64_t now_ms)
{
	AUTO_FREE char *until = w->until_ms > 0 ? time_utc(w->until_ms) : NULL,
		       *at = time_utc(w->at_ms);
	json_t *o = json_object();

	json_put_int(o, "seq", (int64_t)w->seq);
	json_put_str(o, "entry", w->leaf);
	json_put_str(o, "subject", w->subject);
	json_put_str(o, "limit", w->limit);
	json_put_str(o, "reason", w->reason);
	json_put_str(o, "owner", w->owner);
	json_put_str(o, "by", w->who);
	json_put_str(o, "at", at);
	json_put_str(o, "until", until);
	json_put_str(o, "state", waiver_state_name(waiver_state(w, now_ms)));
	if (waiver_state(w, now_ms) == WAIVER_PENDING ||
	    waiver_state(w, now_ms) == WAIVER_NOT_SIGNED)
		json_put_str(o, "why", w->why);
	return o;
}

/* ---- what may be waived ---- */

static const struct objective *objective_of(const struct contract *c, const char *metric)
{
	for (size_t i = 0; i < c->workload_check.objectives.n; i++)
		if (streq(c->workload_check.objectives.v[i].metric, metric))
			return &c->workload_check.objectives.v[i];
	return NULL;
}

static bool is_looser(const struct limit *now, const struct limit *was)
{
	bool upper = was->op == LIMIT_LE || was->op == LIMIT_LT;

	return upper ? now->value > was->value : now->value < was->value;
}

int waiver_limit(const struct contract *c, const char *subject, const char *text, struct limit *ret,
		 struct err *err)
{
	const struct objective *o = objective_of(c, subject);
	bool upper;

	if (!o)
		return bail(err, ERR_UNSUPPORTED, "the contract has no objective '%s'", subject);
	if (o->limit.op == LIMIT_EQ)
		return bail(err, ERR_UNSUPPORTED, "'%s' has to be one value: nothing is looser",
			    subject);
	TRY(limit_parse(sv_of(text), subject, o->info.unit, ret, err));
	upper = o->limit.op == LIMIT_LE || o->limit.op == LIMIT_LT;
	if (upper ? ret->op != LIMIT_LE && ret->op != LIMIT_LT
		  : ret->op != LIMIT_GE && ret->op != LIMIT_GT)
		return bail(err, ERR_UNSUPPORTED, "a limit of '%s' begins with '%s', got '%s'",
			    subject, limit_op_text(o->limit.op), text);
	if (!is_looser(ret, &o->limit)) {
		AUTO_FREE char *was = limit_text(&o->limit);

		return bail(err, ERR_UNSUPPORTED, "'%s' is no looser than the contract's '%s'",
			    text, was);
	}
	return 0;
}

static bool is_check(const struct contract *c, const char *subject)
{
	for (size_t i = 0; i < c->checks.n; i++) {
		AUTO_FREE char *label = contract_check_label(&c->checks.v[i]);

		if (streq(label, subject))
			return true;
	}
	return false;
}

static void known_subjects(const struct contract *c, struct strs *ret)
{
	for (size_t i = 0; i < c->checks.n; i++) {
		AUTO_FREE char *label = contract_check_label(&c->checks.v[i]);

		strs_add(ret, label);
	}
	for (size_t i = 0; i < c->workload_check.objectives.n; i++)
		strs_add(ret, c->workload_check.objectives.v[i].metric);
	for (size_t i = 0; i < c->stack.pins.n; i++)
		strs_addf(ret, WAIVER_PIN "%s", c->stack.pins.v[i].name);
	strs_add(ret, WAIVER_SESSIONS);
}

int waiver_valid(const struct contract *c, const char *subject, const char *limit, struct err *err)
{
	struct strs known CLEANUP(strs_release) = { 0 };
	struct limit l;
	bool pin = streq(subject, WAIVER_SESSIONS) ||
		   (str_starts(subject, WAIVER_PIN) &&
		    pairs_get(&c->stack.pins, subject + strlen(WAIVER_PIN)));

	if (objective_of(c, subject)) {
		if (!limit) {
			(void)bail(err, ERR_USAGE, "'%s' is an objective: waived to which limit?",
				   subject);
			err_hint(err, "Give the limit that counts meanwhile with --limit.");
			return -ERR_USAGE;
		}
		return waiver_limit(c, subject, limit, &l, err);
	}
	if ((is_check(c, subject) || pin) && limit)
		return bail(err, ERR_USAGE, "'%s' is no objective: it has no --limit", subject);
	if (is_check(c, subject) || pin)
		return 0;
	known_subjects(c, &known);
	(void)bail(err, ERR_UNSUPPORTED, "the contract has no check, objective or pin '%s'",
		   subject);
	err_hint_nearest(err, subject, (const char *const *)known.v);
	return -ERR_UNSUPPORTED;
}
