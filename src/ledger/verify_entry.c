/* SPDX-License-Identifier: Apache-2.0 */
/* One entry under verification: its bytes, its place in chain and tree, its columns, its
 * signatures. */
#include "ledger/verifying.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

#define LL (unsigned long long)

/* Is it the next link? False: a fault was found. */
static bool chain(struct verifying *v, const struct entry *e)
{
	char prev[SHA256_HEX];

	if (!v->origin)
		v->origin = sv_dup(e->log);
	if (!sv_is(e->log, v->origin)) {
		find(v, LEDGER_WRONG_LOG, v->expect,
		     "the entry is of log '" SV_FMT "', not of '%s'", SV_ARG(e->log), v->origin);
		return false;
	}
	if (e->seq != v->expect) {
		find(v, LEDGER_SEQ_GAP, v->expect, "entry %llu stands where %llu belongs",
		     LL e->seq, LL v->expect);
		return false;
	}
	hex_of(v->prev, SHA256_LEN, prev);
	if (sv_is(e->prev, prev))
		return true;
	find(v, LEDGER_PREV_MISMATCH, v->expect, "it does not follow the entry before it");
	return false;
}

static bool same_refs(const struct entry *e, const struct row_refs *refs)
{
	if (refs->n != e->n_refs)
		return false;
	for (size_t i = 0; i < refs->n; i++)
		if (!streq(refs->v[i].rel, e->refs[i].rel) ||
		    memcmp(refs->v[i].digest, e->refs[i].digest, SHA256_LEN) != 0)
			return false;
	return true;
}

static void derived(struct verifying *v, const struct entry *e, const uint8_t leaf[SHA256_LEN],
		    const struct entry_row *row, const struct row_refs *refs)
{
	const char *what = NULL;

	if (row->seq != e->seq)
		what = "its number differs";
	else if (memcmp(row->leaf, leaf, SHA256_LEN) != 0)
		what = "its kept hash differs";
	else if (e->v != 1)
		return; /* what else is derived from it only a newer program knows */
	else if (!sv_eq(row->kind, e->kind))
		what = "its kept kind differs";
	else if (row->at_ms != e->at_ms)
		what = "its kept time differs";
	else if (!same_refs(e, refs))
		what = "its kept references differ";
	if (what)
		find(v, LEDGER_INDEX_MISMATCH, row->seq, "%s from what its bytes say", what);
}

/* ---- signatures ---- */

static int by_leaf(const void *a, const void *b)
{
	const struct signed_leaf *x = a, *y = b;

	return memcmp(x->leaf, y->leaf, SHA256_LEN);
}

static bool is_signed(struct verifying *v, const uint8_t leaf[SHA256_LEN])
{
	struct signed_leaf key = { 0 }, *at;

	if (!v->signed_leaves.n)
		return false;
	memcpy(key.leaf, leaf, SHA256_LEN);
	at = bsearch(&key, v->signed_leaves.v, v->signed_leaves.n, sizeof(key), by_leaf);
	if (at)
		at->used = true;
	return at != NULL;
}

/* Does the entry count? A key that was added without what the policy asks for makes nothing
 * valid. */
static int judge(struct verifying *v, const struct ledger_entry *e, bool *ret_counts,
		 struct err *err)
{
	struct signed_by by CLEANUP(signed_by_release) = { 0 };
	struct policy_rule rule = policy_rule_of(v->policy, e->kind);
	enum ledger_standing standing;
	uint64_t seq = e->ref.seq;

	TRY(signed_by_read(v->l, e, &v->keys, &rule, &by, err));
	standing = signed_by_standing(&by, &rule);
	v->report->signatures += by.good + by.bad + by.not_valid;
	if (by.bad)
		find(v, LEDGER_BAD_SIGNATURE, seq, "%s", str_text(&by.why));
	else if (by.not_valid)
		find(v, LEDGER_KEY_NOT_VALID, seq, "%s", str_text(&by.why));
	else if (standing == LEDGER_NOT_SIGNED || standing == LEDGER_PENDING)
		find(v, LEDGER_POLICY, seq,
		     "%zu of the %lld holders that '%s' needs have signed%s%s", by.holders.n,
		     (long long)rule.holders, e->kind, by.why.n ? ": " : "", str_text(&by.why));
	/* Signed well so far, only not by everybody yet: nothing is broken, it is not in force. */
	if (standing == LEDGER_PENDING)
		v->report->v[v->report->n - 1].severity = LEDGER_MISSING;
	*ret_counts = standing == LEDGER_IN_FORCE ||
		      (standing == LEDGER_NO_POLICY && !by.bad && !by.not_valid);
	return 0;
}

/* ---- meaning ---- */

static void recompute(struct verifying *v, const struct ledger_entry *e)
{
	struct str text CLEANUP(str_release) = { 0 };
	struct err why = ERR_INIT;
	int rc = v->conf->recompute(v->conf->arg, e, &text, &why);

	if (rc == 0)
		return;
	find(v, LEDGER_VERDICT_DIFFERS, e->ref.seq, "%s", rc > 0 ? str_text(&text) : why.msg);
	/* What it rests on was withheld or is lost: that says nothing against the verdict. */
	if (rc == -ERR_NOT_FOUND)
		v->report->v[v->report->n - 1].severity = LEDGER_MISSING;
}

/* Do we have to understand the body? Most entries only have to be there. */
static bool matters(const struct entry *e)
{
	static const char *const kinds[] = { "ledger.genesis", "key.add",        "key.revoke",
					     "run.intent",     "run.result",     "run.abandon",
					     "verdict",        "evidence.state", "bisect.trial" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (sv_is(e->kind, kinds[i]))
			return true;
	return false;
}

static bool has_rule(const struct verifying *v, const struct entry *e)
{
	AUTO_FREE char *kind = NULL;

	if (!v->l || !v->policy || !e->seq)
		return false;
	kind = sv_dup(e->kind);
	return policy_rule_of(v->policy, kind).there;
}

static int meaning(struct verifying *v, const struct entry *e, const uint8_t leaf[SHA256_LEN],
		   struct err *err)
{
	struct ledger_entry full CLEANUP(ledger_entry_release) = { 0 };
	bool counts = true, judged = is_signed(v, leaf) || has_rule(v, e);

	if (e->v != 1 || (!judged && !matters(e)))
		return 0;
	TRY(entry_full(e->bytes, leaf, &full, err));
	if (e->seq == 0 && !v->policy)
		v->policy = json_incref(json_object_get(full.body, "policy"));
	if (judged)
		TRY(judge(v, &full, &counts, err));
	if (counts) {
		keys_take(&v->keys, e->seq, full.kind, full.body);
		if (!v->conf->only_vkeys)
			note_keys_take(&v->vkeys, full.kind, full.body);
	}
	runs_take(v, &full);
	blobs_state(v, &full);
	if (v->conf->recompute && streq(full.kind, "verdict"))
		recompute(v, &full);
	return 0;
}

static void grow(struct verifying *v, const uint8_t leaf[SHA256_LEN])
{
	uint64_t seq = v->frontier.size;
	struct merkle_grown grown;

	frontier_grow(&v->frontier, &v->h, leaf, &grown);
	for (unsigned level = MERKLE_KEPT; level <= grown.n; level += MERKLE_KEPT) {
		struct kept_node *k = VEC_ADD(&v->nodes);

		k->level = level;
		k->index = seq >> level;
		memcpy(k->hash, grown.hash[level - 1], SHA256_LEN);
	}
}

int verify_entry(struct verifying *v, struct sv bytes, const struct entry_row *row,
		 const struct row_refs *refs, struct err *err)
{
	struct entry *e = &v->e;
	struct err why = ERR_INIT;
	uint8_t leaf[SHA256_LEN];
	bool readable = entry_scan(bytes, e, &why) == 0, linked = false;

	if (!readable)
		find(v, LEDGER_NOT_CANONICAL, v->expect, "%s", why.msg);
	else
		linked = chain(v, e);
	merkle_leaf(&v->h, bytes, leaf);
	if (linked && row)
		derived(v, e, leaf, row, refs);
	if (readable && e->v == 1 && e->at_ms < v->last_at)
		find(v, LEDGER_CLOCK_BACK, v->expect,
		     "its time is before that of an entry before it");
	if (readable && (e->v != 1 || !entry_kind_known(e->kind)))
		find(v, LEDGER_UNKNOWN_KIND, v->expect,
		     "kind '" SV_FMT "' of version %lld is not known", SV_ARG(e->kind),
		     (long long)e->v);
	/* Go on from what stands there: the next fault is told from this one. */
	memcpy(v->prev, leaf, SHA256_LEN);
	v->expect = (readable ? e->seq : v->expect) + 1;
	v->at_ms = e->at_ms;
	v->last_at = MAX(v->last_at, e->at_ms);
	grow(v, leaf);
	anchors_pass(v);
	if (!linked && !v->conf->all) {
		v->stopped = true;
		return 0;
	}
	if (!readable)
		return 0;
	blobs_take(v, e);
	return meaning(v, e, leaf, err);
}
