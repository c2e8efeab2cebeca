/* SPDX-License-Identifier: Apache-2.0 */
/* Is a ledger what it says? Never writes, never repairs. */
#include "ledger/verifying.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"

void verifying_release(struct verifying *v)
{
	ledger_close(v->l);
	sha256_release(&v->h);
	free(v->origin);
	ledger_keys_release(&v->keys);
	note_keys_release(&v->vkeys);
	json_decref(v->policy);
	free(v->starts.v);
	free(v->wanted.v);
}

/* ---- runs: what was announced and how it ended ------------------------------------------------------ */

static const char *ref_of(const json_t *o, const char *key)
{
	const char *hex = json_str_or(json_object_get(o, key), "digest", NULL);

	return hex && hex_is_sha256(sv_of(hex)) ? hex : NULL;
}

static struct started *start_of(struct verifying *v, const char *leaf)
{
	for (size_t i = v->starts.n; leaf && i-- > 0;)
		if (streq(v->starts.v[i].leaf, leaf))
			return &v->starts.v[i];
	return NULL;
}

static void take_start(struct verifying *v, const char *leaf, uint64_t seq, const json_t *body)
{
	struct started *s = VEC_ADD(&v->starts);
	const char *of = ref_of(body, "of");

	of = of ? of : ref_of(body, "run");
	memcpy(s->leaf, leaf, SHA256_HEX);
	s->seq = seq;
	s->whole = streq(json_str_or(body, "scope", ""), "run");
	(void)snprintf(s->run, sizeof(s->run), "%s", s->whole || !of ? leaf : of);
}

static void take_end(struct verifying *v, const char *leaf, uint64_t seq, const char *kind, const json_t *body)
{
	struct started *s = start_of(v, ref_of(body, "intent"));

	if (!s || s->ended || streq(json_str_or(body, "scope", ""), "checks"))
		return;
	s->ended = seq;
	memcpy(s->result, leaf, SHA256_HEX);
	/* An abandoned run takes its repetitions along. */
	for (size_t i = 0; streq(kind, "run.abandon") && s->whole && i < v->starts.n; i++) {
		struct started *x = &v->starts.v[i];

		if (!x->whole && !x->ended && streq(x->run, s->leaf)) {
			x->ended = seq;
			memcpy(x->result, leaf, SHA256_HEX);
		}
	}
}

static bool listed(const json_t *list, const char *leaf)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (streq(json_str_or(json_array_get(list, i), "digest", ""), leaf))
			return true;
	return false;
}

/* Every repetition of the runs that a verdict rests on, and that ended before it, has to be in it. */
static int take_verdict(struct verifying *v, uint64_t seq, const json_t *body)
{
	const json_t *reps = json_object_get(body, "reps"), *series = json_object_get(body, "series");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->starts.n; i++) {
		const struct started *s = &v->starts.v[i];
		bool mine = listed(series, s->run) || streq(s->run, ref_of(body, "intent"));

		for (size_t k = 0; !mine && k < v->starts.n; k++)
			mine = !v->starts.v[k].whole && streq(v->starts.v[k].run, s->run) &&
			       v->starts.v[k].ended && listed(reps, v->starts.v[k].result);
		if (s->whole || !mine || !s->ended)
			continue;
		if (!listed(reps, s->result) && !listed(reps, s->leaf))
			rc = report_find(v, LEDGER_REPS_LEFT_OUT, seq,
					 "the repetition announced at %llu is not in the verdict",
					 (unsigned long long)s->seq);
	}
	return rc;
}

static int recompute(struct verifying *v, const struct ledger_entry *e, struct err *err)
{
	struct str text CLEANUP(str_release) = { 0 };
	struct err why = ERR_INIT;
	int rc = v->conf->recompute(v->conf->arg, e, &text, &why);

	(void)err;
	if (rc == 0)
		return 0;
	return report_find(v, LEDGER_VERDICT_DIFFERS, e->ref.seq, "%s", rc > 0 ? str_text(&text) : why.msg);
}

/* ---- one entry ------------------------------------------------------------------------------------------ */

static int derived_columns(struct verifying *v, const struct entry *e, const uint8_t leaf[SHA256_LEN],
			   const struct entry_row *d)
{
	if (d->seq != v->next)
		return report_find(v, LEDGER_SEQ_GAP, v->next, "entry %llu is where %llu should be",
				   (unsigned long long)d->seq, (unsigned long long)v->next);
	if (memcmp(d->leaf, leaf, SHA256_LEN) != 0)
		return report_find(v, LEDGER_INDEX_MISMATCH, v->next, "the kept leaf is not that of the bytes");
	if (e->v == 1 && (!sv_eq(d->kind, e->kind) || d->at_ms != e->at_ms))
		return report_find(v, LEDGER_INDEX_MISMATCH, v->next, "kind or time differ from the bytes");
	return 0;
}

static int chain(struct verifying *v, const struct entry *e)
{
	char prev[SHA256_HEX];

	hex_of(v->prev, SHA256_LEN, prev);
	if (v->origin && !sv_is(e->log, v->origin))
		return report_find(v, LEDGER_WRONG_LOG, v->next, "the entry is of log '" SV_FMT "'", SV_ARG(e->log));
	if (e->seq != v->next)
		return report_find(v, LEDGER_SEQ_GAP, v->next, "the entry says it is number %llu",
				   (unsigned long long)e->seq);
	if (!sv_is(e->prev, prev))
		return report_find(v, LEDGER_PREV_MISMATCH, v->next, "it does not follow the entry before it");
	return 0;
}

static int meaning(struct verifying *v, const struct ledger_entry *e, struct err *err)
{
	keys_take(&v->keys, e->ref.seq, e->kind, e->body);
	note_keys_take(&v->vkeys, e->kind, e->body);
	if (e->ref.seq == 0 && !v->policy)
		v->policy = json_incref(json_object_get(e->body, "policy"));
	if (streq(e->kind, "run.intent"))
		take_start(v, e->ref.hex, e->ref.seq, e->body);
	else if (streq(e->kind, "run.result") || streq(e->kind, "run.abandon"))
		take_end(v, e->ref.hex, e->ref.seq, e->kind, e->body);
	if (!streq(e->kind, "verdict"))
		return 0;
	if (take_verdict(v, e->ref.seq, e->body) > 0)
		return 1;
	return v->conf->recompute ? recompute(v, e, err) : 0;
}

int verifying_entry(struct verifying *v, struct sv bytes, const struct entry_row *derived, struct err *err)
{
	struct entry e CLEANUP(entry_release) = { 0 };
	struct ledger_entry full CLEANUP(ledger_entry_release) = { 0 };
	struct err why = ERR_INIT;
	uint8_t leaf[SHA256_LEN];
	int rc;

	if (entry_scan(bytes, &e, &why) < 0)
		return report_find(v, LEDGER_NOT_CANONICAL, v->next, "%s", why.msg);
	if (!v->origin)
		v->origin = sv_dup(e.log);
	merkle_leaf(&v->h, bytes, leaf);
	rc = chain(v, &e);
	if (rc == 0 && derived)
		rc = derived_columns(v, &e, leaf, derived);
	if (rc)
		return rc;
	if (e.v == 1 && e.at_ms < v->last_at)
		rc = report_find(v, LEDGER_CLOCK_BACK, v->next, "its time is before that of the entry before it");
	if (e.v != 1 || !entry_kind_known(e.kind))
		rc = report_find(v, LEDGER_UNKNOWN_KIND, v->next, "kind '" SV_FMT "' is not known here",
				 SV_ARG(e.kind));
	v->last_at = MAX(v->last_at, e.at_ms);
	memcpy(v->prev, leaf, SHA256_LEN);
	frontier_add(&v->frontier, &v->h, leaf);
	v->next++;
	for (size_t i = 0; i < v->wanted.n; i++)
		if (v->wanted.v[i].size == v->next)
			frontier_root(&v->frontier, &v->h, v->wanted.v[i].root);
	if (rc || e.v != 1)
		return rc;
	TRY(entry_full(bytes, leaf, &full, err));
	return meaning(v, &full, err);
}

/* ---- the store ------------------------------------------------------------------------------------------- */

static int on_row(void *arg, const struct entry_row *r, struct err *err)
{
	return verifying_entry(arg, r->bytes, r, err);
}

/* Refs are derived from the bytes: compared entry by entry. */
struct ref_walk {
	struct verifying *v;
	struct entry e;
	size_t at;
	uint64_t seq;
	bool loaded;
	int found;
};

static int count_refs(void *arg, uint64_t seq, struct sv rel, const uint8_t digest[SHA256_LEN],
		      struct err *err)
{
	struct ref_walk *w = arg;
	const struct entry_ref *r = w->at < w->e.n_refs ? &w->e.refs[w->at] : NULL;

	(void)err;
	(void)seq;
	if (!r || !sv_is(rel, r->rel) || memcmp(r->digest, digest, SHA256_LEN) != 0) {
		w->found = 1;
		return 1;
	}
	w->at++;
	return 0;
}

static int check_refs_row(void *arg, const struct entry_row *r, struct err *err)
{
	struct verifying *v = arg;
	struct ref_walk w = { .v = v };
	struct err why = ERR_INIT;
	int rc = 0;

	if (entry_scan(r->bytes, &w.e, &why) == 0) {
		rc = v->l->store->ops->refs(v->l->store, r->seq, r->seq + 1, count_refs, &w, err);
		if (rc >= 0)
			rc = w.found || w.at != w.e.n_refs
				     ? report_find(v, LEDGER_INDEX_MISMATCH, r->seq, "its references differ from the bytes")
				     : 0;
	}
	entry_release(&w.e);
	return rc;
}

static int check_head(struct verifying *v, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };

	TRY(v->l->store->ops->head(v->l->store, &head, err));
	if (head.frontier.size != v->next)
		return report_find(v, LEDGER_SEQ_GAP, v->next, "%llu entries are there, the log says %llu",
				   (unsigned long long)v->next, (unsigned long long)head.frontier.size);
	if (memcmp(head.head, v->prev, SHA256_LEN) != 0 ||
	    memcmp(head.frontier.hash, v->frontier.hash, frontier_count(&v->frontier) * SHA256_LEN) != 0)
		return report_find(v, LEDGER_INDEX_MISMATCH, UINT64_MAX, "head or frontier differ from the entries");
	if (v->origin && !streq(head.origin, v->origin))
		return report_find(v, LEDGER_WRONG_LOG, UINT64_MAX, "the log is named '%s'", head.origin);
	return 0;
}

static void on_fault(void *arg, const char *text)
{
	(void)report_find(arg, LEDGER_UNREADABLE, UINT64_MAX, "%s", text);
}

/* ---- signatures and policy --------------------------------------------------------------------------------- */

struct sig_walk {
	struct verifying *v;
	struct signed_by s;
	struct policy_rule rule;
	struct strs self;
	const struct ledger_entry *e;
	size_t n;
};

static int on_sig(void *arg, const struct sig_row *r, struct err *err)
{
	struct sig_walk *w = arg;

	(void)err;
	w->n++;
	w->v->report->signatures++;
	signed_by_take(&w->s, r, (struct sv){ w->e->bytes, w->e->n }, w->e->ref.seq, w->e->at_ms, &w->v->keys,
		       &w->rule, &w->self);
	return 0;
}

static int judge_signatures(struct sig_walk *w)
{
	uint64_t seq = w->e->ref.seq;

	if (w->s.bad)
		return report_find(w->v, LEDGER_BAD_SIGNATURE, seq, "%s", str_text(&w->s.why));
	if (w->s.not_valid)
		return report_find(w->v, LEDGER_KEY_NOT_VALID, seq, "%s", str_text(&w->s.why));
	if (w->rule.there && (int64_t)w->s.holders.n < w->rule.holders)
		return report_find(w->v, LEDGER_POLICY, seq, "'%s' wants %lld holders, %zu have signed%s%s", w->e->kind,
				   (long long)w->rule.holders, w->s.holders.n, w->s.why.n ? ": " : "",
				   str_text(&w->s.why));
	return 0;
}

static int on_signed_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct verifying *v = arg;
	struct sig_walk w = { .v = v, .e = e };
	int rc;

	w.rule = policy_rule_of(v->policy, e->kind);
	if (json_str_or(e->body, "run_by", NULL))
		strs_add(&w.self, json_str_or(e->body, "run_by", ""));
	rc = v->l->store->ops->signatures(v->l->store, e->ref.leaf, on_sig, &w, err);
	if (rc >= 0 && (w.n || w.rule.there))
		rc = judge_signatures(&w);
	signed_by_release(&w.s);
	strs_release(&w.self);
	return rc;
}

/* ---- evidence ------------------------------------------------------------------------------------------------ */

static int on_blob(void *arg, const struct blob_row *b, struct err *err)
{
	struct verifying *v = arg;
	struct err why = ERR_INIT;
	char hex[SHA256_HEX];
	uint64_t bytes = 0;
	int rc;

	(void)err;
	hex_of(b->digest, SHA256_LEN, hex);
	if (!sv_is(b->state, "present")) {
		v->report->blobs_withheld++;
		return report_find(v, LEDGER_WITHHELD, UINT64_MAX, "evidence %.16s is " SV_FMT, hex, SV_ARG(b->state));
	}
	v->report->blobs++;
	if (v->l->store->ops->data_get) {
		struct str data CLEANUP(str_release) = { 0 };
		uint8_t got[SHA256_LEN];

		rc = v->l->store->ops->data_get(v->l->store, b->digest, &data, &why);
		sha256(str_text(&data), data.n, got);
		bytes = data.n;
		if (rc == 0 && memcmp(got, b->digest, SHA256_LEN) != 0)
			rc = -ERR_BROKEN;
	} else {
		rc = blob_file_check(v->l->dir, b->digest, &bytes, &why);
	}
	if (rc == -ERR_NOT_FOUND)
		return report_find(v, LEDGER_BLOB_MISSING, UINT64_MAX, "evidence %.16s is not there", hex);
	if (rc < 0)
		return report_find(v, LEDGER_BLOB_DIFFERS, UINT64_MAX, "evidence %.16s: %s", hex,
				   why.msg[0] ? why.msg : "holds other bytes");
	if (bytes != b->bytes)
		return report_find(v, LEDGER_BLOB_DIFFERS, UINT64_MAX, "evidence %.16s has %llu bytes, not %llu", hex,
				   (unsigned long long)bytes, (unsigned long long)b->bytes);
	return 0;
}

static int unfinished(struct verifying *v)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->starts.n; i++)
		if (!v->starts.v[i].ended)
			rc = report_find(v, LEDGER_UNFINISHED, v->starts.v[i].seq,
					 "the %s announced here has no end (it runs still, or it was killed)",
					 v->starts.v[i].whole ? "run" : "repetition");
	return rc;
}

static int steps(struct verifying *v, struct err *err)
{
	struct row_query all = { 0 };
	struct ledger_filter every = { 0 };
	size_t before = v->report->n;
	int rc;

	TRY(v->l->store->ops->check(v->l->store, on_fault, v, err));
	if (v->report->n > before && !v->conf->all)
		return 1;
	rc = v->l->store->ops->rows(v->l->store, &all, on_row, v, err);
	if (rc == 0)
		rc = check_head(v, err);
	if (rc == 0)
		rc = v->l->store->ops->rows(v->l->store, &all, check_refs_row, v, err);
	if (rc == 0)
		rc = verifying_anchors(v, err);
	if (rc == 0)
		rc = ledger_each(v->l, &every, on_signed_entry, v, err);
	if (rc == 0 && !v->conf->skip_blobs)
		rc = v->l->store->ops->blobs(v->l->store, NULL, on_blob, v, err);
	return rc == 0 ? unfinished(v) : rc;
}

/* Opens without any of the checks of ledger_open: those are what is to be found out. */
static int open_raw(const struct ledger_verify_conf *conf, struct ledger **ret, struct err *err)
{
	AUTO_FREE char *db = path_join(conf->path, LEDGER_DB);
	struct ledger *l = xcalloc(1, sizeof(*l));
	int rc;

	l->lock_fd = -1;
	l->dir = xstrdup(conf->path);
	l->readonly = true;
	if (conf->pg)
		rc = store_pg_open(conf->pg, STORE_READONLY, &l->store, err);
	else if (!file_exists(db))
		rc = bail(err, ERR_NOT_FOUND, "no ledger in '%s'", conf->path);
	else
		rc = store_sqlite_open(db, STORE_READONLY, &l->store, err);
	if (rc < 0) {
		ledger_close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

int ledger_verify(const struct ledger_verify_conf *conf, struct ledger_report *ret, struct err *err)
{
	struct ledger_report own CLEANUP(ledger_report_release) = { 0 };
	struct verifying v CLEANUP(verifying_release) = { .conf = conf, .report = &own };
	struct err why = ERR_INIT;
	int rc = open_raw(conf, &v.l, &why);

	if (rc == -ERR_NOT_FOUND) {
		*err = why;
		return rc;
	}
	if (rc == 0)
		rc = steps(&v, &why);
	/* What can't be read is a finding: somebody may have damaged it on purpose. */
	if (rc < 0)
		(void)report_find(&v, LEDGER_UNREADABLE, UINT64_MAX, "%s", why.msg);
	own.size = v.next;
	frontier_root(&v.frontier, &v.h, own.root);
	*ret = own;
	own = (struct ledger_report){ 0 };
	return 0;
}

int ledger_verify_lines(const struct sv *lines, size_t n, const char *origin, const struct sv *anchors,
			size_t n_anchors, const struct ledger_verify_conf *conf, struct ledger_report *ret,
			struct err *err)
{
	struct ledger_report own CLEANUP(ledger_report_release) = { 0 };
	struct verifying v CLEANUP(verifying_release) = { .conf = conf, .report = &own,
							  .origin = xstrdup(origin) };
	int rc = 0;

	(void)anchors;
	(void)n_anchors;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = verifying_entry(&v, lines[i], NULL, err);
	TRY(rc < 0 ? rc : 0);
	own.size = v.next;
	frontier_root(&v.frontier, &v.h, own.root);
	*ret = own;
	own = (struct ledger_report){ 0 };
	return 0;
}
