/* SPDX-License-Identifier: Apache-2.0 */
/* Reading entries. What is read is hashed again: an altered row is never handed out as an entry. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/vec.h"

static int full(struct ledger *l, const struct entry_row *r, struct ledger_entry *ret,
		struct err *err)
{
	uint8_t leaf[SHA256_LEN];

	merkle_leaf(&l->h, r->bytes, leaf);
	if (memcmp(leaf, r->leaf, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "entry %llu is not what it was",
			    (unsigned long long)r->seq);
	if (entry_full(r->bytes, leaf, ret, err) < 0)
		return err_wrap(err, "entry %llu", (unsigned long long)r->seq);
	return 0;
}

struct one {
	struct ledger *l;
	struct ledger_entry *ret;
	size_t n;
};

static int take_one(void *arg, const struct entry_row *r, struct err *err)
{
	struct one *o = arg;

	if (o->n++)
		return 1;
	return full(o->l, r, o->ret, err);
}

int ledger_get(struct ledger *l, uint64_t seq, struct ledger_entry *ret, struct err *err)
{
	struct ledger_entry own CLEANUP(ledger_entry_release) = { 0 };
	struct row_query q = { .from = seq, .to = seq + 1 };
	struct one o = { l, &own, 0 };

	TRY(l->store->ops->rows(l->store, &q, take_one, &o, err));
	if (!o.n)
		return bail(err, ERR_NOT_FOUND, "no entry %llu", (unsigned long long)seq);
	*ret = own;
	own = (struct ledger_entry){ 0 };
	return 0;
}

static bool hex_prefix(struct sv v, uint8_t lo[SHA256_LEN], uint8_t hi[SHA256_LEN])
{
	char text[2][2 * SHA256_LEN];

	if (v.n < 4 || v.n > sizeof(text[0]))
		return false;
	memset(text[0], '0', sizeof(text[0]));
	memset(text[1], 'f', sizeof(text[1]));
	memcpy(text[0], v.p, v.n);
	memcpy(text[1], v.p, v.n);
	return hex_to((struct sv){ text[0], sizeof(text[0]) }, lo, SHA256_LEN) &&
	       hex_to((struct sv){ text[1], sizeof(text[1]) }, hi, SHA256_LEN);
}

int ledger_find(struct ledger *l, const char *name, struct ledger_entry *ret, struct err *err)
{
	struct ledger_entry own CLEANUP(ledger_entry_release) = { 0 };
	uint8_t lo[SHA256_LEN], hi[SHA256_LEN];
	struct row_query q = { .leaf_lo = lo, .leaf_hi = hi, .limit = 2 };
	struct one o = { l, &own, 0 };
	struct sv v = sv_of(name);
	uint64_t seq;

	if (v.n && v.p[0] == '#') {
		v.p++;
		v.n--;
		if (!sv_to_u64(v, &seq) || seq > INT64_MAX - 1)
			return bail(err, ERR_PARSE, "'%s' is no number of an entry", name);
		return ledger_get(l, seq, ret, err);
	}
	/* Short and all digits is a position; an entry's hash is given with eight digits or
	 * more. */
	if (v.n < 8 && sv_to_u64(v, &seq))
		return ledger_get(l, seq, ret, err);
	if (!hex_prefix(v, lo, hi))
		return bail(err, ERR_PARSE, "'%s' is neither a number nor at least 4 hex digits",
			    name);
	TRY(l->store->ops->rows(l->store, &q, take_one, &o, err));
	if (!o.n)
		return bail(err, ERR_NOT_FOUND, "no entry '%s'", name);
	if (o.n > 1)
		return bail(err, ERR_PARSE, "'%s' fits more than one entry", name);
	*ret = own;
	own = (struct ledger_entry){ 0 };
	return 0;
}

struct walk {
	struct ledger *l;
	const struct ledger_filter *f;
	ledger_seen *seen;
	void *arg;
	uint64_t n;
	bool stopped;
};

static int walk_row(void *arg, const struct entry_row *r, struct err *err)
{
	struct walk *w = arg;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	int rc;

	TRY(full(w->l, r, &e, err));
	if (w->f->by && !streq(w->f->by, e.by_id))
		return 0;
	rc = w->seen(w->arg, &e, err);
	if (rc == 0 && w->f->limit && ++w->n == w->f->limit)
		rc = 1;
	return rc;
}

/*
 * Rows come in pages, so that `seen` may append or read meanwhile and a long log costs no long read
 * transaction (which would keep SQLite from folding its WAL back).
 */
void kept_rows_release(struct kept_rows *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].bytes);
		free(p->v[i].kind);
	}
	free(p->v);
	*p = (struct kept_rows){ 0 };
}

int kept_rows_take(void *arg, const struct entry_row *r, struct err *err)
{
	struct kept_rows *p = arg;
	struct kept_row *to = VEC_ADD(p);

	(void)err;
	to->row = *r;
	to->bytes = sv_dup(r->bytes);
	to->kind = sv_dup(r->kind);
	to->row.bytes.p = to->bytes;
	to->row.kind.p = to->kind;
	return 0;
}

#define PAGE 256

static int walk_page(struct walk *w, struct row_query *q, bool *ret_more, struct err *err)
{
	struct kept_rows p CLEANUP(kept_rows_release) = { 0 };
	int rc;

	TRY(w->l->store->ops->rows(w->l->store, q, kept_rows_take, &p, err));
	for (size_t i = 0; i < p.n; i++) {
		rc = walk_row(w, &p.v[i].row, err);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ret_more = false;
			return 0;
		}
	}
	*ret_more = p.n == PAGE;
	if (*ret_more && q->newest_first)
		q->to = p.v[p.n - 1].row.seq;
	else if (*ret_more)
		q->from = p.v[p.n - 1].row.seq + 1;
	/* `to` 0 means no end, so the walk backwards is over when 0 was seen. */
	if (q->newest_first && *ret_more && !q->to)
		*ret_more = false;
	return 0;
}

int ledger_each(struct ledger *l, const struct ledger_filter *f, ledger_seen *seen, void *arg,
		struct err *err)
{
	uint8_t digest[SHA256_LEN];
	struct row_query q = { .from = f->from,
			       .to = f->to,
			       .kinds = f->kinds,
			       .since_ms = f->since_ms,
			       .until_ms = f->until_ms,
			       .rel = f->rel,
			       .newest_first = f->newest_first,
			       .limit = PAGE };
	struct walk w = { .l = l, .f = f, .seen = seen, .arg = arg };
	bool more = true;

	if (f->digest) {
		if (!hex_to(sv_of(f->digest), digest, SHA256_LEN))
			return bail(err, ERR_PARSE, "'%s' is no digest", f->digest);
		q.digest = digest;
	}
	while (more)
		TRY(walk_page(&w, &q, &more, err));
	return 0;
}

struct last {
	struct ledger_entry e;
	bool there;
};

static int take_last(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct last *l = arg;

	TRY(entry_full((struct sv){ e->bytes, e->n }, e->ref.leaf, &l->e, err));
	l->there = true;
	return 1;
}

int ledger_last(struct ledger *l, const struct ledger_filter *f, struct ledger_entry *ret,
		struct err *err)
{
	struct ledger_filter newest = *f;
	struct last last = { 0 };

	newest.newest_first = true;
	TRY(ledger_each(l, &newest, take_last, &last, err));
	if (!last.there)
		return bail(err, ERR_NOT_FOUND, "no such entry");
	*ret = last.e;
	return 0;
}
