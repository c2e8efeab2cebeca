/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger as plain files, for people who check it without this program. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <unistd.h>

#define LL   (unsigned long long)
#define TILE 256

struct exporting {
	struct ledger *l;
	const char *dir;
	FILE *entries, *sums;
	struct frontier frontier;
	struct str
		bundle; /* entries of the tile that is being filled, as tlog-tiles bundles them */
	/* Hashes of the tile that is being filled, level by level. */
	struct level {
		uint8_t hash[TILE][SHA256_LEN];
		size_t n;
		uint64_t index;
	} level[8];
};

static void exporting_release(struct exporting *x)
{
	fclosep(&x->entries);
	fclosep(&x->sums);
	str_release(&x->bundle);
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
	struct level *t = &x->level[level];
	AUTO_FREE char *name = tile_path(level, t->index, (unsigned)t->n);

	TRY(put_file(x, name, t->hash, t->n * SHA256_LEN, err));
	if (level)
		return 0;
	free(name);
	name = NULL;
	name = tile_path(0, t->index, (unsigned)t->n);
	{
		AUTO_FREE char *entries = xasprintf("tile/entries%s", name + strlen("tile/0"));

		return put_file(x, entries, str_text(&x->bundle), x->bundle.n, err);
	}
}

/* A full tile is one hash of the level above: the root over it. */
static int add_hash(struct exporting *x, unsigned level, const uint8_t hash[SHA256_LEN],
		    struct err *err)
{
	struct level *t = &x->level[level];
	struct frontier f = { 0 };
	uint8_t root[SHA256_LEN];

	memcpy(t->hash[t->n++], hash, SHA256_LEN);
	if (t->n < TILE)
		return 0;
	TRY(put_tile(x, level, err));
	for (size_t i = 0; i < TILE; i++)
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

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct exporting *x = arg;
	struct signing s = { x, e->ref.seq, 0 };
	unsigned char length[2] = { (unsigned char)(e->n >> 8), (unsigned char)e->n };

	if (fwrite(e->bytes, 1, e->n, x->entries) != e->n || fputc('\n', x->entries) == EOF)
		return bail_sys(err, "cannot write entries");
	str_addn(&x->bundle, length, sizeof(length));
	str_addn(&x->bundle, e->bytes, e->n);
	frontier_add(&x->frontier, &x->l->h, e->ref.leaf);
	TRY(add_hash(x, 0, e->ref.leaf, err));
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
	TRY(ledger_blob_get(x->l, hex, 0, &data, &n, err));
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

/* The checkpoint of the store that fits what was exported; the newest of them. */
struct newest {
	uint64_t size;
	struct str note;
};

static int on_note(void *arg, uint64_t size, struct sv note, struct err *err)
{
	struct newest *to = arg;

	(void)err;
	if (size > to->size)
		return 1;
	str_clear(&to->note);
	str_addsv(&to->note, note);
	return 0;
}

static int put_checkpoint(struct exporting *x, struct err *err)
{
	struct newest newest = { .size = x->frontier.size };
	int rc = x->l->store->ops->notes(x->l->store, on_note, &newest, err);

	if (rc == 0 && newest.note.n)
		rc = put_file(x, LEDGER_CHECKPOINT, newest.note.p, newest.note.n, err);
	str_release(&newest.note);
	return rc;
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
	TRY(close_file(&x->entries, "entries", err));
	return close_file(&x->sums, "sums", err);
}

bool export_exists(const char *dir)
{
	AUTO_FREE char *path = path_join(dir, LEDGER_ENTRIES);

	return file_exists(path);
}

int ledger_export(struct ledger *l, const char *dir, struct err *err)
{
	struct exporting *x CLEANUP(freep) = xcalloc(1, sizeof(*x));
	struct strs names CLEANUP(strs_release) = { 0 };
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
	rc = put_all(x, err);
	l->store->ops->rollback(l->store);
	exporting_release(x);
	return rc;
}
