/* SPDX-License-Identifier: Apache-2.0 */
/* Signed heads and proofs. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/file.h"

/* ---- nodes of the tree out of the store ---- */

struct folder {
	struct frontier f;
	struct sha256 *h;
};

static int fold_leaf(void *arg, uint64_t seq, const uint8_t leaf[SHA256_LEN], struct err *err)
{
	struct folder *to = arg;

	(void)seq, (void)err;
	frontier_add(&to->f, to->h, leaf);
	return 0;
}

static int fold_node(void *arg, unsigned level, uint64_t index, const uint8_t hash[SHA256_LEN],
		     struct err *err)
{
	struct folder *to = arg;

	(void)level, (void)index, (void)err;
	frontier_add(&to->f, to->h, hash);
	return 0;
}

/* Out of the kept nodes below it; false in ret_done: they are not all there. */
static int kept_node(struct ledger *l, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN],
		     bool *ret_done, struct err *err)
{
	unsigned kept = level - level % MERKLE_KEPT;
	uint64_t n = (uint64_t)1 << (level - kept);
	struct folder to = { .h = &l->h };

	*ret_done = false;
	if (!kept || !l->store->ops->nodes || l->store->no_nodes)
		return 0;
	TRY(l->store->ops->nodes(l->store, kept, index * n, (index + 1) * n, fold_node, &to, err));
	*ret_done = to.f.size == n;
	if (*ret_done)
		frontier_root(&to.f, &l->h, ret);
	return 0;
}

static int store_node(void *arg, unsigned level, uint64_t index, uint8_t ret[SHA256_LEN],
		      struct err *err)
{
	struct ledger *l = arg;
	uint64_t n = (uint64_t)1 << level;
	struct folder to = { .h = &l->h };
	bool done;

	TRY(kept_node(l, level, index, ret, &done, err));
	if (done)
		return 0;
	TRY(l->store->ops->leaves(l->store, index * n, (index + 1) * n, fold_leaf, &to, err));
	if (to.f.size != n)
		return bail(err, ERR_BROKEN, "entries below %llu are missing",
			    (unsigned long long)((index + 1) * n));
	frontier_root(&to.f, &l->h, ret);
	return 0;
}

struct merkle_source ledger_nodes(struct ledger *l)
{
	return (struct merkle_source){ store_node, l, &l->h };
}

static int sized(struct ledger *l, uint64_t size, struct err *err)
{
	uint64_t now;

	TRY(ledger_size(l, &now, NULL, err));
	if (size > now)
		return bail(err, ERR_RANGE, "the log has %llu entries, not %llu",
			    (unsigned long long)now, (unsigned long long)size);
	return 0;
}

int ledger_inclusion(struct ledger *l, uint64_t seq, uint64_t size, struct ledger_proof *ret,
		     struct err *err)
{
	struct merkle_source s = ledger_nodes(l);

	TRY(sized(l, size, err));
	return merkle_inclusion(&s, seq, size, ret, err);
}

int ledger_consistency(struct ledger *l, uint64_t old_size, uint64_t size, struct ledger_proof *ret,
		       struct err *err)
{
	struct merkle_source s = ledger_nodes(l);

	TRY(sized(l, size, err));
	return merkle_consistency(&s, old_size, size, ret, err);
}

/* ---- checkpoints ---- */

void ledger_checkpoint_release(struct ledger_checkpoint *c)
{
	free(c->note);
	*c = (struct ledger_checkpoint){ 0 };
}

/* The one beside the store must never go backwards, whoever writes it last. */
static int not_behind(const char *path, uint64_t size, bool *ret_same, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct note n CLEANUP(note_release) = { 0 };
	struct checkpoint cp;
	size_t len;

	if (file_read(path, NOTE_MAX, &text, &len, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	TRY(note_parse((struct sv){ text, len }, &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	if (cp.size > size)
		return bail(err, ERR_BROKEN,
			    "ledger is shorter than its checkpoint: %llu entries of "
			    "%llu",
			    (unsigned long long)size, (unsigned long long)cp.size);
	*ret_same = cp.size == size;
	return 0;
}

struct newest {
	struct str note;
	uint64_t size;
};

static void newest_release(struct newest *n)
{
	str_release(&n->note);
}

static int take_newest(void *arg, uint64_t size, struct sv note, struct err *err)
{
	struct newest *n = arg;

	(void)err;
	n->size = size;
	str_clear(&n->note);
	str_addsv(&n->note, note);
	return 0;
}

static bool signed_by_ledger(const struct ledger *l, struct sv text)
{
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	struct err ignored = ERR_INIT;

	if (note_parse(text, &n, &ignored) < 0 ||
	    note_key_parse(sv_of(l->vkey), &key, &ignored) < 0)
		return false;
	for (size_t i = 0; i < n.lines.n; i++)
		if (note_line_check(&n, &n.lines.v[i], &key, NULL) == NOTE_GOOD)
			return true;
	return false;
}

/*
 * Without the ledger's key (another machine of a shared store): nothing is signed, but the newest
 * head that was signed is kept beside, so that this machine too sees when the store goes back.
 */
static int follow(struct ledger *l, struct ledger_checkpoint *ret, struct err *err)
{
	struct newest n CLEANUP(newest_release) = { 0 };
	struct log_head head CLEANUP(log_head_release) = { 0 };
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT);
	CLEANUP(lock_dropp) struct ledger *locked = NULL;
	bool same = false;

	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->notes(l->store, take_newest, &n, err));
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	if (n.note.n && signed_by_ledger(l, sv_str(&n.note))) {
		TRY(not_behind(path, n.size, &same, err));
		if (!same)
			TRY(file_write(path, n.note.p, n.note.n, 0644, err));
	}
	ret->size = head.frontier.size;
	frontier_root(&head.frontier, &l->h, ret->root);
	hex_of(ret->root, SHA256_LEN, ret->root_hex);
	ret->note = xstrdup("");
	return 0;
}

int ledger_checkpoint(struct ledger *l, struct ledger_checkpoint *ret, struct err *err)
{
	struct ledger_checkpoint own CLEANUP(ledger_checkpoint_release) = { 0 };
	struct log_head head CLEANUP(log_head_release) = { 0 };
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT), *signed_text = NULL;
	struct str note CLEANUP(str_release) = { 0 };
	CLEANUP(lock_dropp) struct ledger *locked = NULL;
	bool same = false;
	size_t text;

	if (l->readonly)
		return bail(err, ERR_USAGE, "the ledger is open for reading only");
	if (!l->have_key && l->store->ops->data_get)
		return follow(l, ret, err);
	if (!l->have_key)
		return bail(err, ERR_NOT_FOUND, "no key in '%s' to sign a checkpoint with", l->dir);
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	own.size = head.frontier.size;
	frontier_root(&head.frontier, &l->h, own.root);
	hex_of(own.root, SHA256_LEN, own.root_hex);
	checkpoint_text(l->origin, own.size, own.root, &note);
	text = note.n;
	signed_text = xstrndup(note.p, text); /* `note` moves while it grows */
	str_addc(&note, '\n');
	note_sign((struct sv){ signed_text, text }, l->origin, &l->key, &note);
	TRY(not_behind(path, own.size, &same, err));
	if (!same) {
		TRY(file_write(path, note.p, note.n, 0644, err));
		TRY(l->store->ops->note_add(l->store, own.size, sv_str(&note), err));
	}
	own.note = str_steal(&note);
	*ret = own;
	own = (struct ledger_checkpoint){ 0 };
	return 0;
}
