/* SPDX-License-Identifier: Apache-2.0 */
/* Reading entries back, sizes, proofs. */
#include "ledger/inner.h"

#include "base/err.h"

int ledger_size(struct ledger *l, uint64_t *ret_size, uint8_t ret_root[SHA256_LEN], struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };

	TRY(l->store->ops->head(l->store, &head, err));
	*ret_size = head.frontier.size;
	if (ret_root)
		frontier_root(&head.frontier, &l->h, ret_root);
	return 0;
}

struct walking {
	ledger_seen *seen;
	void *arg;
};

static int on_row(void *arg, const struct entry_row *r, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct walking *w = arg;

	if (entry_full(r->bytes, r->leaf, &e, err) < 0) {
		err->code = ERR_BROKEN;
		return err_wrap(err, "entry %llu", (unsigned long long)r->seq);
	}
	return w->seen(w->arg, &e, err);
}

struct by_filter {
	const struct ledger_filter *f;
	struct walking w;
	uint64_t n;
};

static int on_filtered(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct by_filter *b = arg;
	int rc;

	if (!streq(e->by_id, b->f->by))
		return 0;
	rc = b->w.seen(b->w.arg, e, err);
	b->n++;
	return rc == 0 && b->f->limit && b->n >= b->f->limit ? 1 : rc;
}

int ledger_each(struct ledger *l, const struct ledger_filter *f, ledger_seen *seen, void *arg,
		struct err *err)
{
	struct row_query q = { .from = f->from, .to = f->to, .kinds = f->kinds, .since_ms = f->since_ms,
			       .until_ms = f->until_ms, .rel = f->rel, .newest_first = f->newest_first,
			       .limit = f->limit };
	struct by_filter by = { f, { seen, arg }, 0 };
	struct walking w = { seen, arg };
	uint8_t digest[SHA256_LEN];
	int rc;

	if (f->digest) {
		if (!hex_to(sv_of(f->digest), digest, SHA256_LEN))
			return bail(err, ERR_PARSE, "'%s' is no digest", f->digest);
		q.digest = digest;
	}
	if (f->by) { /* not a column: counted here, so the limit is too */
		q.limit = 0;
		w = (struct walking){ on_filtered, &by };
	}
	rc = l->store->ops->rows(l->store, &q, on_row, &w, err);
	return rc > 0 ? 0 : rc;
}

struct taking {
	struct ledger_entry *ret;
	bool found, several;
};

static int take_row(void *arg, const struct entry_row *r, struct err *err)
{
	struct taking *t = arg;

	if (t->found) {
		t->several = true;
		return 1;
	}
	if (entry_full(r->bytes, r->leaf, t->ret, err) < 0) {
		err->code = ERR_BROKEN;
		return err_wrap(err, "entry %llu", (unsigned long long)r->seq);
	}
	t->found = true;
	return 0;
}

static int take(struct ledger *l, const struct row_query *q, const char *name, struct ledger_entry *ret,
		struct err *err)
{
	struct ledger_entry own CLEANUP(ledger_entry_release) = { 0 };
	struct taking t = { .ret = &own };
	int rc = l->store->ops->rows(l->store, q, take_row, &t, err);

	if (rc < 0)
		return rc;
	if (!t.found)
		return bail(err, ERR_NOT_FOUND, "no entry %s", name);
	if (t.several)
		return bail(err, ERR_PARSE, "'%s' fits several entries", name);
	*ret = own;
	own = (struct ledger_entry){ 0 };
	return 0;
}

int ledger_get(struct ledger *l, uint64_t seq, struct ledger_entry *ret, struct err *err)
{
	AUTO_FREE char *name = xasprintf("%llu", (unsigned long long)seq);
	struct row_query q = { .from = seq, .to = seq + 1 };

	return take(l, &q, name, ret, err);
}

/* The leaves that begin with these hex digits: from the prefix filled with 0 to filled with f. */
static bool leaf_range(struct sv hex, uint8_t lo[SHA256_LEN], uint8_t hi[SHA256_LEN])
{
	char a[2 * SHA256_LEN], b[2 * SHA256_LEN];

	if (hex.n < 4 || hex.n > sizeof(a))
		return false;
	memset(a, '0', sizeof(a));
	memset(b, 'f', sizeof(b));
	memcpy(a, hex.p, hex.n);
	memcpy(b, hex.p, hex.n);
	return hex_to((struct sv){ a, sizeof(a) }, lo, SHA256_LEN) &&
	       hex_to((struct sv){ b, sizeof(b) }, hi, SHA256_LEN);
}

int ledger_find(struct ledger *l, const char *name, struct ledger_entry *ret, struct err *err)
{
	struct sv v = sv_of(name);
	uint8_t lo[SHA256_LEN], hi[SHA256_LEN];
	struct row_query q = { .leaf_lo = lo, .leaf_hi = hi, .limit = 2 };
	struct err again = ERR_INIT;
	bool hash = sv_starts(v, "#");
	uint64_t seq;

	if (hash) {
		v.p++;
		v.n--;
	}
	/* A short number is a position; digits alone that long are a leaf. */
	if (v.n < 12 && sv_to_u64(v, &seq) && seq < INT64_MAX) {
		if (ledger_get(l, seq, ret, err) == 0 || hash || v.n < 4)
			return err->code ? -(int)err->code : 0;
		if (!leaf_range(v, lo, hi) || take(l, &q, name, ret, &again) < 0)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	if (hash || !leaf_range(v, lo, hi))
		return bail(err, ERR_PARSE, "'%s' is neither a number nor at least 4 hex digits of an entry", name);
	return take(l, &q, name, ret, err);
}

struct last {
	struct ledger_entry *ret;
	bool found;
};

static int on_last(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct last *t = arg;
	uint8_t leaf[SHA256_LEN];

	memcpy(leaf, e->ref.leaf, SHA256_LEN);
	TRY(entry_full((struct sv){ e->bytes, e->n }, leaf, t->ret, err));
	t->found = true;
	return 1;
}

int ledger_last(struct ledger *l, const struct ledger_filter *f, struct ledger_entry *ret, struct err *err)
{
	struct ledger_entry own CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_filter newest = *f;
	struct last t = { .ret = &own };

	newest.newest_first = true;
	newest.limit = 1;
	TRY(ledger_each(l, &newest, on_last, &t, err));
	if (!t.found)
		return bail(err, ERR_NOT_FOUND, "no such entry");
	*ret = own;
	own = (struct ledger_entry){ 0 };
	return 0;
}

/* ---- nodes out of the store's leaves ------------------------------------------------------------------ */

struct folding {
	struct ledger *l;
	struct frontier f;
};

static int on_leaf(void *arg, uint64_t seq, const uint8_t leaf[SHA256_LEN], struct err *err)
{
	struct folding *f = arg;

	(void)seq;
	(void)err;
	frontier_add(&f->f, &f->l->h, leaf);
	return 0;
}

static int node(void *arg, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN], struct err *err)
{
	struct ledger *l = arg;
	struct folding f = { .l = l };
	uint64_t from = index << level, n = UINT64_C(1) << level;

	TRY(l->store->ops->leaves(l->store, from, from + n, on_leaf, &f, err));
	if (f.f.size != n)
		return bail(err, ERR_BROKEN, "entries %llu to %llu are not all there", (unsigned long long)from,
			    (unsigned long long)(from + n));
	memcpy(ret, f.f.hash[0], SHA256_LEN);
	return 0;
}

struct merkle_source ledger_nodes(struct ledger *l)
{
	return (struct merkle_source){ node, l, &l->h };
}

int ledger_inclusion(struct ledger *l, uint64_t seq, uint64_t size, struct ledger_proof *ret,
		     struct err *err)
{
	struct merkle_source s = ledger_nodes(l);

	return merkle_inclusion(&s, seq, size, ret, err);
}

int ledger_consistency(struct ledger *l, uint64_t old_size, uint64_t size, struct ledger_proof *ret,
		       struct err *err)
{
	struct merkle_source s = ledger_nodes(l);

	return merkle_consistency(&s, old_size, size, ret, err);
}
