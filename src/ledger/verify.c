/* SPDX-License-Identifier: Apache-2.0 */
/* Is a ledger what it says? Never writes, never repairs. */
#include "ledger/verifying.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"
#include <errno.h>

#define LL   (unsigned long long)
#define PAGE 512 /* rows held in memory at once: at most 32 MiB of entries */

static void anchor_release(struct anchor *a)
{
	free(a->name);
	free(a->text);
	free(a->fault);
	note_release(&a->note);
}

void verifying_release(struct verifying *v)
{
	ledger_close(v->l);
	sha256_release(&v->h);
	entry_release(&v->e);
	free(v->origin);
	ledger_keys_release(&v->keys);
	note_keys_release(&v->vkeys);
	json_decref(v->policy);
	runs_release(&v->runs);
	for (size_t i = 0; i < v->anchors.n; i++)
		anchor_release(&v->anchors.v[i]);
	free(v->anchors.v);
	for (size_t i = 0; i < v->blobs.n; i++)
		free(v->blobs.v[i].media_type);
	free(v->blobs.v);
	free(v->states.v);
	free(v->signed_leaves.v);
	free(v->nodes.v);
}

/* ---- pages of rows and their references ---- */

/* Text lies in one buffer that may move while it grows, so places in it are offsets until it is
 * full. */
struct page {
	struct str text;
	struct entry_row *rows;
	size_t n_rows, room_rows;
	struct page_ref {
		uint64_t seq;
		uint8_t digest[SHA256_LEN];
		size_t rel;
	} * refs;
	size_t n_refs, room_refs;
	struct entry_ref *row_refs;
};

static void page_release(struct page *p)
{
	str_release(&p->text);
	free(p->rows);
	free(p->refs);
	free(p->row_refs);
}

static int on_row(void *arg, const struct entry_row *r, struct err *err)
{
	struct page *p = arg;

	(void)err;
	p->rows = vec_grow(p->rows, p->n_rows, &p->room_rows, sizeof(*p->rows));
	p->rows[p->n_rows++] = *r;
	str_addsv(&p->text, r->kind);
	str_addsv(&p->text, r->bytes);
	return 0;
}

static int on_ref(void *arg, uint64_t seq, struct sv rel, const uint8_t digest[SHA256_LEN],
		  struct err *err)
{
	struct page *p = arg;
	struct page_ref *r;

	(void)err;
	p->refs = vec_grow(p->refs, p->n_refs, &p->room_refs, sizeof(*p->refs));
	r = &p->refs[p->n_refs++];
	r->seq = seq;
	r->rel = p->text.n;
	memcpy(r->digest, digest, SHA256_LEN);
	str_addsv(&p->text, rel);
	str_addc(&p->text, '\0');
	return 0;
}

static int page_read(struct verifying *v, uint64_t from, struct page *p, struct err *err)
{
	const struct store_ops *ops = v->l->store->ops;
	uint64_t end = (uint64_t)INT64_MAX;
	size_t at = 0;

	str_clear(&p->text);
	p->n_rows = p->n_refs = 0;
	TRY(ops->rows(v->l->store, &(struct row_query){ .from = from, .limit = PAGE }, on_row, p,
		      err));
	if (p->n_rows == PAGE)
		end = p->rows[p->n_rows - 1].seq + 1;
	TRY(ops->refs(v->l->store, from, end, on_ref, p, err));
	for (size_t i = 0; i < p->n_rows; i++) {
		p->rows[i].kind.p = p->text.p + at;
		at += p->rows[i].kind.n;
		p->rows[i].bytes.p = p->text.p + at;
		at += p->rows[i].bytes.n;
	}
	p->row_refs = xrealloc(p->row_refs, (p->n_refs + 1) * sizeof(*p->row_refs));
	for (size_t i = 0; i < p->n_refs; i++) {
		p->row_refs[i].rel = p->text.p + p->refs[i].rel;
		memcpy(p->row_refs[i].digest, p->refs[i].digest, SHA256_LEN);
	}
	return 0;
}

static void stray(struct verifying *v, const struct page_ref *r)
{
	find(v, LEDGER_INDEX_MISMATCH, r->seq,
	     "the store has a reference of an entry that is not there");
}

static int walk_page(struct verifying *v, const struct page *p, struct err *err)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n_rows && !v->stopped; i++) {
		const struct entry_row *row = &p->rows[i];
		struct row_refs refs = { 0 };

		for (; at < p->n_refs && p->refs[at].seq < row->seq; at++)
			stray(v, &p->refs[at]);
		refs.v = &p->row_refs[at];
		for (; at < p->n_refs && p->refs[at].seq == row->seq; at++)
			refs.n++;
		TRY(verify_entry(v, row->bytes, row, &refs, err));
	}
	for (; at < p->n_refs && !v->stopped; at++)
		stray(v, &p->refs[at]);
	return 0;
}

static int walk(struct verifying *v, uint64_t total, struct err *err)
{
	struct page p CLEANUP(page_release) = { 0 };
	uint64_t from = 0;

	anchors_pass(v);
	do {
		TRY(page_read(v, from, &p, err));
		TRY(walk_page(v, &p, err));
		if (p.n_rows)
			from = p.rows[p.n_rows - 1].seq + 1;
		if (v->conf->progress)
			v->conf->progress(v->conf->arg, v->frontier.size,
					  MAX(total, v->frontier.size));
	} while (p.n_rows == PAGE && !v->stopped);
	return 0;
}

/* ---- a store ---- */

static void on_fault(void *arg, const char *text)
{
	find(arg, LEDGER_UNREADABLE, UINT64_MAX, "%s", text);
}

static int on_signature(void *arg, const struct sig_row *r, struct err *err)
{
	struct verifying *v = arg;
	struct signed_leaf *last;

	(void)err;
	last = v->signed_leaves.n ? &v->signed_leaves.v[v->signed_leaves.n - 1] : NULL;
	if (last && memcmp(last->leaf, r->leaf, SHA256_LEN) == 0)
		return 0;
	memcpy(VEC_ADD(&v->signed_leaves)->leaf, r->leaf, SHA256_LEN);
	return 0;
}

static void check_head(struct verifying *v, const struct log_head *head)
{
	if (v->origin && !streq(head->origin, v->origin))
		find(v, LEDGER_INDEX_MISMATCH, UINT64_MAX, "the store calls the log '%s'",
		     head->origin);
	if (head->frontier.size != v->frontier.size)
		find(v, LEDGER_INDEX_MISMATCH, v->frontier.size,
		     "the store counts %llu entries, %llu are there", LL head->frontier.size,
		     LL v->frontier.size);
	else if (memcmp(head->head, v->prev, SHA256_LEN) != 0 ||
		 memcmp(head->frontier.hash, v->frontier.hash,
			frontier_count(&v->frontier) * SHA256_LEN) != 0)
		find(v, LEDGER_INDEX_MISMATCH, v->frontier.size,
		     "the head that the store keeps is not that of its entries");
}

static int by_place(const void *a, const void *b)
{
	const struct kept_node *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

struct comparing {
	struct verifying *v;
	size_t next;
	bool differs;
};

static int on_node(void *arg, unsigned level, uint64_t index, const uint8_t hash[SHA256_LEN],
		   struct err *err)
{
	struct comparing *c = arg;
	const struct kept_node *want = c->next < c->v->nodes.n ? &c->v->nodes.v[c->next] : NULL;

	(void)err;
	c->next++;
	c->differs = !want || want->level != level || want->index != index ||
		     memcmp(want->hash, hash, SHA256_LEN) != 0;
	if (c->differs)
		find(c->v, LEDGER_INDEX_MISMATCH, index << level,
		     "a node of the tree that the store keeps (level %u, %llu) is not that of its "
		     "entries",
		     level, LL index);
	return c->differs;
}

static int check_nodes(struct verifying *v, struct err *err)
{
	const struct store *s = v->l->store;
	struct comparing c = { .v = v };

	if (!s->ops->nodes || s->no_nodes)
		return 0;
	if (v->nodes.n > 1)
		qsort(v->nodes.v, v->nodes.n, sizeof(*v->nodes.v), by_place);
	TRY(s->ops->nodes(v->l->store, 0, 0, INT64_MAX, on_node, &c, err));
	if (!c.differs && c.next < v->nodes.n)
		find(v, LEDGER_INDEX_MISMATCH, v->nodes.v[c.next].index << v->nodes.v[c.next].level,
		     "a node of the tree that the store has to keep is missing");
	return 0;
}

static void check_signed(struct verifying *v)
{
	for (size_t i = 0; i < v->signed_leaves.n; i++) {
		char hex[SHA256_HEX];

		if (v->signed_leaves.v[i].used)
			continue;
		hex_of(v->signed_leaves.v[i].leaf, SHA256_LEN, hex);
		find(v, LEDGER_BAD_SIGNATURE, UINT64_MAX, "a signature of %.16s, which is no entry",
		     hex);
	}
}

static int steps(struct verifying *v, struct err *err)
{
	const struct store_ops *ops = v->l->store->ops;
	struct log_head head CLEANUP(log_head_release) = { 0 };

	TRY(ops->check(v->l->store, on_fault, v, err));
	TRY(ops->head(v->l->store, &head, err));
	TRY(ops->signatures(v->l->store, NULL, on_signature, v, err));
	TRY(anchors_read(v, err));
	TRY(walk(v, head.frontier.size, err));
	if (v->stopped)
		return 0;
	check_head(v, &head);
	TRY(check_nodes(v, err));
	check_signed(v);
	anchors_finish(v);
	TRY(blobs_finish(v, err));
	runs_finish(v);
	return 0;
}

/* Opens without the checks of ledger_open: those are what is to be found out. */
static int open_raw(struct verifying *v, struct err *err)
{
	AUTO_FREE char *db = path_join(v->conf->path, LEDGER_DB);

	v->l = xcalloc(1, sizeof(*v->l));
	v->l->lock_fd = -1;
	v->l->dir = xstrdup(v->conf->path);
	v->l->readonly = true;
	if (v->conf->pg)
		return store_pg_open(v->conf->pg, STORE_READONLY, &v->l->store, err);
	if (!file_exists(db) && export_exists(v->conf->path))
		return store_export_open(v->conf->path, &v->l->store, err);
	if (!file_exists(db)) {
		v->nothing = true;
		return 0;
	}
	return store_sqlite_open(db, STORE_READONLY, &v->l->store, err);
}

/* What is left says how much there was. */
static int nothing_there(struct verifying *v, struct err *err)
{
	TRY(anchors_read(v, err));
	anchors_finish(v);
	for (size_t i = 0; i < v->report->n; i++)
		if (v->report->v[i].code == LEDGER_TRUNCATED)
			return 0;
	return bail(err, ERR_BROKEN, "the store in '%s' is not there, or empty", v->conf->path);
}

/* One read transaction, so that writers who go on meanwhile change nothing of what is looked at. */
static int verify_store(struct verifying *v, struct err *err)
{
	bool made = false;
	int rc;

	TRY(open_raw(v, err));
	if (v->l->store) {
		TRY(v->l->store->ops->made(v->l->store, &made, err));
		v->nothing = !made;
	}
	if (v->nothing)
		return nothing_there(v, err);
	TRY(v->l->store->ops->begin(v->l->store, /* write= */ false, err));
	rc = steps(v, err);
	v->l->store->ops->rollback(v->l->store);
	return rc;
}

static void settle(struct verifying *v, struct ledger_report *ret)
{
	report_settle(v);
	v->report->size = v->frontier.size;
	frontier_root(&v->frontier, &v->h, v->report->root);
	*ret = *v->report;
	*v->report = (struct ledger_report){ 0 };
}

int ledger_verify(const struct ledger_verify_conf *conf, struct ledger_report *ret, struct err *err)
{
	struct ledger_report own CLEANUP(ledger_report_release) = { 0 };
	struct verifying v CLEANUP(verifying_release) = { .conf = conf, .report = &own };
	struct err why = ERR_INIT;

	if (!conf->pg && !ledger_exists(conf->path))
		return bail(err, ERR_NOT_FOUND, "no ledger in '%s'", conf->path);
	TRY(anchors_trust(&v, err));
	if (verify_store(&v, &why) < 0) {
		/* No handles, no rights: that says nothing about the ledger. */
		if (why.sys == EMFILE || why.sys == ENFILE || why.sys == EACCES ||
		    why.code == ERR_UNSUPPORTED || why.code == ERR_CONFLICT) {
			*err = why;
			return -(int)why.code;
		}
		find(&v, LEDGER_UNREADABLE, UINT64_MAX, "%s", why.msg);
	}
	settle(&v, ret);
	return 0;
}

int ledger_verify_lines(const struct sv *lines, size_t n, const char *origin,
			const struct sv *anchors, size_t n_anchors,
			const struct ledger_verify_conf *conf, struct ledger_report *ret,
			struct err *err)
{
	struct ledger_report own CLEANUP(ledger_report_release) = { 0 };
	struct verifying v CLEANUP(
		verifying_release) = { .conf = conf, .report = &own, .origin = xstrdup(origin) };

	TRY(anchors_trust(&v, err));
	for (size_t i = 0; i < n_anchors; i++) {
		AUTO_FREE char *name = xasprintf("anchor %zu", i + 1);

		anchors_add(&v, name, anchors[i], /* beside= */ false, /* kept= */ false);
	}
	anchors_sort(&v);
	anchors_pass(&v);
	for (size_t i = 0; i < n && !v.stopped; i++)
		TRY(verify_entry(&v, lines[i], NULL, NULL, err));
	if (!v.stopped) {
		anchors_finish(&v);
		runs_finish(&v);
	}
	settle(&v, ret);
	return 0;
}
