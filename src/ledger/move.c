/* SPDX-License-Identifier: Apache-2.0 */
/* From one store to another: what was said is copied, what follows from it is worked out again. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"

#define LL   (unsigned long long)
#define PAGE 256

struct move {
	struct ledger *from;
	struct ledger *to; /* only its folder and store are set up */
	struct log_head head;
	struct sha256 h;
};

static void move_release(struct move *m)
{
	ledger_close(m->to);
	log_head_release(&m->head);
	sha256_release(&m->h);
}

/* ---- evidence, before the entries that name it ---- */

static int move_blob(void *arg, const struct blob_row *r, struct err *err)
{
	struct move *m = arg;
	AUTO_FREE char *data = NULL;
	char hex[SHA256_HEX];
	size_t n;

	if (!sv_is(r->state, "present"))
		return 0;
	hex_of(r->digest, SHA256_LEN, hex);
	if (ledger_blob_get(m->from, hex, 0, &data, &n, err) < 0) {
		/* What is lost there cannot be moved; the log stays whole, and verify says so. */
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	if (m->to->store->ops->data_put)
		return m->to->store->ops->data_put(m->to->store, r->digest, (struct sv){ data, n },
						   err);
	return blob_file_put(m->to->dir, hex, (struct sv){ data, n }, err);
}

/* ---- entries ---- */

static int take_state(struct move *m, const struct entry *e, const uint8_t leaf[SHA256_LEN],
		      struct err *err)
{
	struct ledger_entry full CLEANUP(ledger_entry_release) = { 0 };
	uint8_t d[SHA256_LEN];

	if (e->v != 1 || !sv_is(e->kind, "evidence.state"))
		return 0;
	TRY(entry_full(e->bytes, leaf, &full, err));
	if (!hex_to(sv_of(json_str_or(json_object_get(full.body, "blob"), "digest", "")), d,
		    SHA256_LEN))
		return 0;
	return m->to->store->ops->blob_state(m->to->store, d, json_str_or(full.body, "state", ""),
					     err);
}

static int move_row(struct move *m, const struct entry_row *r, struct err *err)
{
	struct entry e CLEANUP(entry_release) = { 0 };
	struct entry_row row = *r;
	char prev[SHA256_HEX];

	if (entry_scan(r->bytes, &e, err) < 0)
		return err_wrap(err, "entry %llu", LL r->seq);
	hex_of(m->head.head, SHA256_LEN, prev);
	if (e.seq != m->head.frontier.size || !sv_is(e.log, m->head.origin) || !sv_is(e.prev, prev))
		return bail(err, ERR_BROKEN, "entry %llu does not follow the one before it",
			    LL m->head.frontier.size);
	merkle_leaf(&m->h, r->bytes, row.leaf);
	row.seq = e.seq;
	if (e.v == 1) {
		row.kind = e.kind;
		row.at_ms = e.at_ms;
	}
	TRY(ledger_add_row(m->to->store, &m->h, &m->head, &row, &e, err));
	return take_state(m, &e, row.leaf, err);
}

static int move_entries(struct move *m, struct err *err)
{
	struct row_query q = { .limit = PAGE };

	for (bool more = true; more;) {
		struct kept_rows p CLEANUP(kept_rows_release) = { 0 };

		TRY(m->from->store->ops->rows(m->from->store, &q, kept_rows_take, &p, err));
		for (size_t i = 0; i < p.n; i++)
			TRY(move_row(m, &p.v[i].row, err));
		more = p.n == PAGE;
		if (p.n)
			q.from = p.v[p.n - 1].row.seq + 1;
	}
	return 0;
}

static int move_signature(void *arg, const struct sig_row *r, struct err *err)
{
	struct move *m = arg;

	return m->to->store->ops->sign(m->to->store, r, err);
}

static int move_note(void *arg, uint64_t size, struct sv note, struct err *err)
{
	struct move *m = arg;

	return m->to->store->ops->note_add(m->to->store, size, note, err);
}

static int move_log(struct move *m, const struct log_head *want, struct err *err)
{
	const struct store_ops *from = m->from->store->ops, *to = m->to->store->ops;

	TRY(to->make(m->to->store, want->origin, err));
	TRY(to->head(m->to->store, &m->head, err));
	TRY(from->blobs(m->from->store, NULL, move_blob, m, err));
	TRY(move_entries(m, err));
	TRY(from->signatures(m->from->store, NULL, move_signature, m, err));
	TRY(from->notes(m->from->store, move_note, m, err));
	if (m->head.frontier.size != want->frontier.size ||
	    memcmp(m->head.frontier.hash, want->frontier.hash,
		   frontier_count(&want->frontier) * SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN,
			    "the entries of '%s' do not give the root that it keeps", m->from->dir);
	return to->commit(m->to->store, err);
}

/* ---- folder ---- */

/* Key and checkpoint come last: a checkpoint beside an empty store would stop a second attempt. */
static int move_file(struct move *m, const char *name, unsigned mode, struct err *err)
{
	AUTO_FREE char *from = path_join(m->from->dir, name), *to = path_join(m->to->dir, name);
	AUTO_FREE char *text = NULL;
	size_t n;
	int rc;

	if (streq(m->from->dir, m->to->dir) || !file_exists(from))
		return 0;
	TRY(file_read(from, NOTE_MAX, &text, &n, err));
	rc = file_write(to, text, n, mode, err);
	wipe(text, n);
	return rc;
}

static int open_target(struct move *m, const struct ledger_conf *to, struct err *err)
{
	AUTO_FREE char *db = path_join(to->dir, LEDGER_DB),
		       *cp = path_join(to->dir, LEDGER_CHECKPOINT);
	bool made;

	m->to = xcalloc(1, sizeof(*m->to));
	m->to->lock_fd = -1;
	m->to->dir = xstrdup(to->dir);
	TRY(dir_make(to->dir, err));
	if (!streq(to->dir, m->from->dir) && file_exists(cp))
		return bail(err, ERR_CONFLICT, "'%s' belongs to another ledger", to->dir);
	if (to->pg) {
		TRY(store_pg_open(to->pg, STORE_CREATE, &m->to->store, err));
	} else {
		TRY(disk_is_local(to->dir, err));
		TRY(store_sqlite_open(db, STORE_CREATE, &m->to->store, err));
	}
	TRY(m->to->store->ops->made(m->to->store, &made, err));
	return made ? bail(err, ERR_CONFLICT, "there is a log already where '%s' was to go",
			   m->from->dir)
		    : 0;
}

int ledger_move(struct ledger *from, const struct ledger_conf *to, struct err *err)
{
	struct move m CLEANUP(move_release) = { .from = from };
	struct log_head want CLEANUP(log_head_release) = { 0 };
	int rc;

	TRY(open_target(&m, to, err));
	/* One view of the old store, whoever goes on writing to it. */
	TRY(from->store->ops->begin(from->store, /* write= */ false, err));
	rc = from->store->ops->head(from->store, &want, err);
	if (rc == 0)
		rc = m.to->store->ops->begin(m.to->store, /* write= */ true, err);
	if (rc == 0)
		rc = move_log(&m, &want, err);
	m.to->store->ops->rollback(m.to->store);
	from->store->ops->rollback(from->store);
	if (rc < 0)
		return rc;
	TRY(move_file(&m, LEDGER_KEY, 0600, err));
	return move_file(&m, LEDGER_CHECKPOINT, 0644, err);
}
