/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger as plain files, for people who check it without this program. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/file.h"
#include "ledger/tiles.h"
#include <errno.h>
#include <unistd.h>

#define LL (unsigned long long)

struct exporting {
	struct ledger *l;
	const char *dir;
	FILE *entries, *sums; /* NULL: tiles alone */
	uint64_t tiled;       /* entries that go into tiles: those the checkpoint covers */
	struct str note;      /* that checkpoint */
	struct str
		bundle; /* entries of the tile that is being filled, as tlog-tiles bundles them */
	struct tile level[TILE_LEVELS]; /* the tile that is being filled, level by level */
};

static void exporting_release(struct exporting *x)
{
	fclosep(&x->entries);
	fclosep(&x->sums);
	str_release(&x->bundle);
	str_release(&x->note);
}

static int put_file(const struct exporting *x, const char *name, const void *p, size_t n,
		    struct err *err)
{
	AUTO_FREE char *path = path_join(x->dir, name), *dir = path_dir(path);

	if (!dir_exists(dir))
		TRY(dir_make(dir, err));
	return file_write(path, p, n, 0644, err);
}

static int open_file(const struct exporting *x, const char *name, FILE **ret, struct err *err)
{
	AUTO_FREE char *path = path_join(x->dir, name);

	*ret = fopen(path, "wxe");
	return *ret ? 0 : bail_sys(err, "cannot make '%s'", path);
}

/* ---- tiles ---- */

static int put_tile(struct exporting *x, unsigned level, struct err *err)
{
	struct tile *t = &x->level[level];
	AUTO_FREE char *name = tile_path(level, t->index, t->n);

	TRY(put_file(x, name, t->hash, t->n * SHA256_LEN, err));
	if (level)
		return 0;
	free(name);
	name = NULL;
	name = tile_path(0, t->index, t->n);
	{
		AUTO_FREE char *entries = xasprintf("tile/entries%s", name + strlen("tile/0"));

		return put_file(x, entries, str_text(&x->bundle), x->bundle.n, err);
	}
}

/* A full tile is one hash of the level above: the root over it. */
static int add_hash(struct exporting *x, unsigned level, const uint8_t hash[SHA256_LEN],
		    struct err *err)
{
	struct tile *t = &x->level[level];
	struct frontier f = { 0 };
	uint8_t root[SHA256_LEN];

	memcpy(t->hash[t->n++], hash, SHA256_LEN);
	if (t->n < TILE_WIDTH)
		return 0;
	TRY(put_tile(x, level, err));
	for (size_t i = 0; i < TILE_WIDTH; i++)
		frontier_add(&f, &x->l->h, t->hash[i]);
	frontier_root(&f, &x->l->h, root);
	t->n = 0;
	t->index++;
	if (!level)
		str_clear(&x->bundle);
	return level + 1 < ARRAY_SIZE(x->level) ? add_hash(x, level + 1, root, err) : 0;
}

static int put_partial_tiles(struct exporting *x, struct err *err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(x->level); i++)
		if (x->level[i].n)
			TRY(put_tile(x, i, err));
	return 0;
}

/* ---- entries and what belongs to them ---- */

struct signing {
	const struct exporting *x;
	uint64_t seq;
	unsigned n;
};

static int on_signature(void *arg, const struct sig_row *r, struct err *err)
{
	struct signing *s = arg;
	AUTO_FREE char *name = NULL;

	if (!sv_is(r->scheme, "sshsig"))
		return 0;
	name = xasprintf("signatures/%llu-%u.sshsig", LL s->seq, ++s->n);
	return put_file(s->x, name, r->sig.p, r->sig.n, err);
}

static int add_to_tiles(struct exporting *x, const struct ledger_entry *e, struct err *err)
{
	unsigned char length[2] = { (unsigned char)(e->n >> 8), (unsigned char)e->n };

	str_addn(&x->bundle, length, sizeof(length));
	str_addn(&x->bundle, e->bytes, e->n);
	return add_hash(x, 0, e->ref.leaf, err);
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct exporting *x = arg;
	struct signing s = { x, e->ref.seq, 0 };

	if (e->ref.seq < x->tiled)
		TRY(add_to_tiles(x, e, err));
	if (!x->entries)
		return 0;
	if (fwrite(e->bytes, 1, e->n, x->entries) != e->n || fputc('\n', x->entries) == EOF)
		return bail_sys(err, "cannot write entries");
	return x->l->store->ops->signatures(x->l->store, e->ref.leaf, on_signature, &s, err);
}

static int on_blob(void *arg, const struct blob_row *r, struct err *err)
{
	struct exporting *x = arg;
	AUTO_FREE char *name = NULL, *data = NULL;
	char hex[SHA256_HEX];
	size_t n;

	if (!sv_is(r->state, "present"))
		return 0;
	hex_of(r->digest, SHA256_LEN, hex);
	if (ledger_blob_get(x->l, hex, 0, &data, &n, err) < 0) {
		/* What is lost can't be handed on; the log stays whole, and verify says it. */
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	name = xasprintf("blobs/%.2s/%s", hex, hex + 2);
	if (fprintf(x->sums, "%s  %s\n", hex, name) < 0)
		return bail_sys(err, "cannot write sums");
	return put_file(x, name, data, n, err);
}

static int close_file(FILE **f, const char *what, struct err *err)
{
	FILE *own = STEAL(*f);
	bool good = fflush(own) == 0 && fsync(fileno(own)) == 0;

	if (fclose(own) != 0 || !good)
		return bail_sys(err, "cannot write %s", what);
	return 0;
}

static int put_signers(struct exporting *x, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	AUTO_FREE char *text = NULL;

	TRY(ledger_keys_read(x->l, &keys, err));
	text = ledger_allowed_signers(&keys);
	return put_file(x, "allowed_signers", text, strlen(text), err);
}

/* ---- the checkpoint, and what witnesses said ---- */

static int on_note(void *arg, uint64_t size, struct sv note, struct err *err)
{
	struct exporting *x = arg;

	(void)err;
	if (size > x->tiled)
		return 1;
	str_clear(&x->note);
	str_addsv(&x->note, note);
	return 0;
}

/* The newest that covers no more than is there; an export has it as a file alone. */
static int find_checkpoint(struct exporting *x, struct err *err)
{
	AUTO_FREE char *path = path_join(x->l->dir, LEDGER_CHECKPOINT), *text = NULL;
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	struct err ignored = ERR_INIT;
	struct checkpoint cp;

	TRY(x->l->store->ops->head(x->l->store, &head, err));
	x->tiled = head.frontier.size;
	TRY(x->l->store->ops->notes(x->l->store, on_note, x, err));
	if (!x->note.n && file_read(path, NOTE_MAX, &text, NULL, &ignored) == 0)
		str_add(&x->note, text);
	if (!x->note.n)
		return 0;
	TRY(note_parse(sv_str(&x->note), &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	if (cp.size > x->tiled)
		return bail(err, ERR_BROKEN, "ledger '%s' is shorter than its checkpoint",
			    x->l->dir);
	x->tiled = cp.size;
	return 0;
}

static int put_checkpoint(const struct exporting *x, struct err *err)
{
	return x->note.n ? put_file(x, LEDGER_CHECKPOINT, x->note.p, x->note.n, err) : 0;
}

static int copy_file(const struct exporting *x, const char *name, struct err *err)
{
	AUTO_FREE char *path = path_join(x->l->dir, name), *text = NULL;
	size_t n;

	TRY(file_read(path, MIB, &text, &n, err));
	return put_file(x, name, text, n, err);
}

static int put_anchors(const struct exporting *x, struct err *err)
{
	AUTO_FREE char *dir = path_join(x->l->dir, LEDGER_ANCHORS),
		       *keys = path_join(x->l->dir, LEDGER_WITNESSES);
	struct strs names CLEANUP(strs_release) = { 0 };

	if (file_exists(keys))
		TRY(copy_file(x, LEDGER_WITNESSES, err));
	if (!dir_exists(dir))
		return 0;
	TRY(dir_list(dir, &names, err));
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *name = path_join(LEDGER_ANCHORS, names.v[i]);

		TRY(copy_file(x, name, err));
	}
	return 0;
}

static int put_tiles(struct exporting *x, struct err *err)
{
	struct ledger_filter f = { .to = x->tiled };

	if (!x->note.n)
		return bail(err, ERR_NOT_FOUND, "ledger '%s' has no checkpoint yet", x->l->dir);
	if (x->tiled)
		TRY(ledger_each(x->l, &f, on_entry, x, err));
	TRY(put_partial_tiles(x, err));
	return put_checkpoint(x, err);
}

static int put_all(struct exporting *x, struct err *err)
{
	TRY(open_file(x, LEDGER_ENTRIES, &x->entries, err));
	TRY(open_file(x, "SHA256SUMS", &x->sums, err));
	TRY(ledger_each(x->l, &(struct ledger_filter){ 0 }, on_entry, x, err));
	TRY(put_partial_tiles(x, err));
	TRY(x->l->store->ops->blobs(x->l->store, NULL, on_blob, x, err));
	TRY(put_signers(x, err));
	TRY(put_checkpoint(x, err));
	TRY(put_anchors(x, err));
	TRY(close_file(&x->entries, "entries", err));
	return close_file(&x->sums, "sums", err);
}

bool export_exists(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, LEDGER_ENTRIES);

	return file_exists(path);
}

static int export_to(struct ledger *l, const char *dir,
		     int (*put)(struct exporting *x, struct err *err), struct err *err)
{
	struct exporting *x CLEANUP(freep) = xcalloc(1, sizeof(*x));
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err ignored = ERR_INIT;
	int rc;

	if (dir_exists(dir)) {
		TRY(dir_list(dir, &names, err));
		if (names.n)
			return bail(err, ERR_CONFLICT, "'%s' is not empty", dir);
	}
	TRY(dir_make(dir, err));
	x->l = l;
	x->dir = dir;
	/* One state of the log, whoever writes meanwhile. */
	TRY(l->store->ops->begin(l->store, /* write= */ false, err));
	rc = find_checkpoint(x, err);
	if (rc == 0)
		rc = put(x, err);
	l->store->ops->rollback(l->store);
	exporting_release(x);
	/* Nothing was there before: half an export is worse than none. */
	if (rc < 0 && dir_remove(dir, &ignored) < 0)
		err_clear(&ignored);
	return rc;
}

int ledger_export(struct ledger *l, const char *dir, struct err *err)
{
	return export_to(l, dir, put_all, err);
}

int ledger_tiles(struct ledger *l, const char *dir, struct err *err)
{
	return export_to(l, dir, put_tiles, err);
}
