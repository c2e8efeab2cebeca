/* SPDX-License-Identifier: Apache-2.0 */
/* The open ledger: made, opened against its checkpoint, appended to, closed. */
#include "ledger/inner.h"
#include "ledger/sshwire.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include <unistd.h>

bool ledger_exists(const char *dir)
{
	AUTO_FREE char *db = path_join(dir, LEDGER_DB);

	return file_exists(db);
}

const char *ledger_origin(const struct ledger *l)
{
	return l->origin;
}

const char *ledger_dir(const struct ledger *l)
{
	return l->dir;
}

const char *ledger_vkey(const struct ledger *l)
{
	return l->vkey;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	store_closep(&l->store);
	closep(&l->lock_fd);
	wipe(&l->key, sizeof(l->key));
	sha256_release(&l->h);
	free(l->dir);
	free(l->origin);
	free(l->vkey);
	free(l);
}

static void rollbackp(struct store **s)
{
	if (*s)
		(*s)->ops->rollback(*s);
}

/* ---- the key ------------------------------------------------------------------------------------ */

static int key_read(struct ledger *l, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_KEY);
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *name = NULL;
	struct note_key k CLEANUP(note_key_release) = { 0 };
	size_t n;
	int rc = file_read(path, 4096, &text, &n, err);

	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	rc = note_secret_parse((struct sv){ text, n }, &name, &l->key, err);
	wipe(text, n);
	if (rc < 0)
		return err_wrap(err, "'%s'", path);
	if (!streq(name, l->origin))
		return bail(err, ERR_BROKEN, "'%s' is the key of '%s', this log is '%s'", path, name, l->origin);
	l->have_key = true;
	note_key_of(l->origin, NOTE_ED25519, l->key.public, &k);
	free(l->vkey);
	l->vkey = note_vkey(&k);
	return 0;
}

static int key_make(struct ledger *l, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_KEY);
	AUTO_FREE char *text = NULL;
	int rc;

	if (file_exists(path))
		return key_read(l, err);
	TRY(ed25519_make(&l->key, err));
	text = note_secret(l->origin, &l->key);
	rc = file_write(path, text, strlen(text), 0600, err);
	wipe(text, strlen(text));
	TRY(rc);
	return key_read(l, err);
}

/* ---- appending ------------------------------------------------------------------------------------ */

/* After an append inside the same transaction: what else the store keeps of it. */
static int side_effects(struct ledger *l, const struct ledger_new *n, struct err *err)
{
	const char *digest = json_str_or(json_object_get(n->body, "blob"), "digest", NULL);
	const char *state = json_str_or(n->body, "state", NULL);
	uint8_t d[SHA256_LEN];

	if (!streq(n->kind, "evidence.state") || !digest || !state || !hex_to(sv_of(digest), d, SHA256_LEN))
		return 0;
	return l->store->ops->blob_state(l->store, d, state, err);
}

static int add_bytes(struct ledger *l, struct sv bytes, struct log_head *head, struct ledger_ref *ret,
		     struct err *err)
{
	struct entry e CLEANUP(entry_release) = { 0 };
	struct entry_row row = { .bytes = bytes };

	TRY(entry_scan(bytes, &e, err));
	if (e.seq != head->frontier.size)
		return bail(err, ERR_CONFLICT, "the log has grown to %llu entries meanwhile",
			    (unsigned long long)head->frontier.size);
	merkle_leaf(&l->h, bytes, row.leaf);
	row.seq = e.seq;
	row.kind = e.kind;
	row.at_ms = e.at_ms;
	frontier_add(&head->frontier, &l->h, row.leaf);
	memcpy(head->head, row.leaf, SHA256_LEN);
	TRY(l->store->ops->add(l->store, &row, &e, head, err));
	ret->seq = row.seq;
	memcpy(ret->leaf, row.leaf, SHA256_LEN);
	hex_of(row.leaf, SHA256_LEN, ret->hex);
	return 0;
}

int ledger_check_head(struct ledger *l, const struct log_head *head, struct err *err)
{
	if (!streq(head->origin, l->origin))
		return bail(err, ERR_BROKEN, "the log is '%s' now, it was '%s'", head->origin, l->origin);
	if (head->frontier.size < l->seen_size)
		return bail(err, ERR_BROKEN, "ledger is shorter than its checkpoint: %llu entries, %llu were there",
			    (unsigned long long)head->frontier.size, (unsigned long long)l->seen_size);
	return 0;
}

static int writable(const struct ledger *l, struct err *err)
{
	return l->readonly ? bail(err, ERR_USAGE, "the ledger is open for reading only") : 0;
}

int ledger_append_many(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		       struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ledger *locked CLEANUP(lock_dropp) = NULL;
	struct store *open CLEANUP(rollbackp) = NULL;
	AUTO_FREE struct ledger_ref *own = xcalloc(MAX(n, (size_t)1), sizeof(*own));

	TRY(writable(l, err));
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, true, err));
	open = l->store;
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	for (size_t i = 0; i < n; i++) {
		struct entry_place at = { l->origin, head.frontier.size, head.head };
		struct str bytes CLEANUP(str_release) = { 0 };

		TRY(entry_make(&e[i], &at, &bytes, err));
		TRY(add_bytes(l, sv_str(&bytes), &head, &own[i], err));
		TRY(side_effects(l, &e[i], err));
	}
	TRY(l->store->ops->commit(l->store, err));
	open = NULL;
	l->seen_size = head.frontier.size;
	if (ret)
		memcpy(ret, own, n * sizeof(*own));
	return 0;
}

int ledger_append(struct ledger *l, const struct ledger_new *e, struct ledger_ref *ret, struct err *err)
{
	return ledger_append_many(l, e, 1, ret, err);
}

/* ---- drafts ------------------------------------------------------------------------------------------ */

void ledger_draft_release(struct ledger_draft *d)
{
	free(d->bytes);
	free(d->kind);
	*d = (struct ledger_draft){ 0 };
}

int ledger_draft_make(struct ledger *l, const struct ledger_new *e, struct ledger_draft *ret,
		      struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct str bytes CLEANUP(str_release) = { 0 };
	struct entry_place at;

	TRY(writable(l, err));
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	at = (struct entry_place){ l->origin, head.frontier.size, head.head };
	TRY(entry_make(e, &at, &bytes, err));
	ret->ref.seq = at.seq;
	merkle_leaf(&l->h, sv_str(&bytes), ret->ref.leaf);
	hex_of(ret->ref.leaf, SHA256_LEN, ret->ref.hex);
	ret->n = bytes.n;
	ret->bytes = str_steal(&bytes);
	ret->kind = xstrdup(e->kind);
	return 0;
}

int ledger_draft_append(struct ledger *l, const struct ledger_draft *d, const char *armored,
			struct ledger_ref *ret, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ledger *locked CLEANUP(lock_dropp) = NULL;
	struct store *open CLEANUP(rollbackp) = NULL;
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str normal CLEANUP(str_release) = { 0 };
	struct sig_row row = { .scheme = SV("sshsig") };
	struct ledger_ref own;

	TRY(writable(l, err));
	TRY(ssh_verify(sv_of(armored), LEDGER_NAMESPACE, d->bytes, d->n, &key, err));
	if (!ssh_sig_normal(sv_of(armored), &normal))
		return bail(err, ERR_PARSE, "the signature is not armored as SSHSIG");
	TRY(ledger_may_sign(l, d, &key, err));
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, true, err));
	open = l->store;
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	TRY(add_bytes(l, (struct sv){ d->bytes, d->n }, &head, &own, err));
	memcpy(row.leaf, own.leaf, SHA256_LEN);
	row.signer = sv_of(key.fingerprint);
	row.sig = sv_str(&normal);
	TRY(l->store->ops->sign(l->store, &row, err));
	TRY(l->store->ops->commit(l->store, err));
	open = NULL;
	l->seen_size = head.frontier.size;
	*ret = own;
	return 0;
}

/* ---- checkpoints ---------------------------------------------------------------------------------------- */

void ledger_checkpoint_release(struct ledger_checkpoint *c)
{
	free(c->note);
	*c = (struct ledger_checkpoint){ 0 };
}

int ledger_checkpoint(struct ledger *l, struct ledger_checkpoint *ret, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ledger_checkpoint own CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger *locked CLEANUP(lock_dropp) = NULL;
	struct store *open CLEANUP(rollbackp) = NULL;
	struct str text CLEANUP(str_release) = { 0 }, note CLEANUP(str_release) = { 0 };
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT);

	TRY(writable(l, err));
	if (!l->have_key)
		return bail(err, ERR_UNSUPPORTED, "no '%s' in '%s': checkpoints can't be signed", LEDGER_KEY, l->dir);
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, true, err));
	open = l->store;
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	own.size = head.frontier.size;
	frontier_root(&head.frontier, &l->h, own.root);
	hex_of(own.root, SHA256_LEN, own.root_hex);
	checkpoint_text(l->origin, own.size, own.root, &text);
	str_addf(&note, "%s\n", str_text(&text));
	note_sign(sv_str(&text), l->origin, &l->key, &note);
	TRY(l->store->ops->note_add(l->store, own.size, sv_str(&note), err));
	TRY(l->store->ops->commit(l->store, err));
	open = NULL;
	/* The file only after the commit: it must never promise what is not on disk. */
	TRY(file_write(path, note.p, note.n, 0644, err));
	own.note = str_steal(&note);
	*ret = own;
	own = (struct ledger_checkpoint){ 0 };
	return 0;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

/* The file beside the store against the store: an older copy of a database opens without complaint. */
static int against_checkpoint(struct ledger *l, const struct log_head *head, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT);
	struct note note CLEANUP(note_release) = { 0 };
	AUTO_FREE char *text = NULL;
	struct checkpoint cp;
	size_t n;
	int rc = file_read(path, NOTE_MAX, &text, &n, err);

	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	if (note_parse((struct sv){ text, n }, &note, err) < 0 || checkpoint_parse(note.text, &cp, err) < 0) {
		err->code = ERR_BROKEN;
		return err_wrap(err, "'%s'", path);
	}
	if (!sv_is(cp.origin, l->origin))
		return bail(err, ERR_BROKEN, "'%s' is of another log", path);
	l->seen_size = cp.size;
	TRY(ledger_check_head(l, head, err));
	if (cp.size == head->frontier.size) {
		uint8_t root[SHA256_LEN];

		frontier_root(&head->frontier, &l->h, root);
		if (memcmp(root, cp.root, SHA256_LEN) != 0)
			return bail(err, ERR_BROKEN, "the ledger's root is not that of its checkpoint");
	}
	return 0;
}

static int open_store(struct ledger *l, const struct ledger_conf *conf, struct err *err)
{
	AUTO_FREE char *db = path_join(l->dir, LEDGER_DB);
	unsigned flags = (conf->flags & LEDGER_CREATE ? STORE_CREATE : 0) |
			 (conf->flags & LEDGER_READONLY ? STORE_READONLY : 0);

	if (conf->pg)
		return store_pg_open(conf->pg, flags, &l->store, err);
	if (!(conf->flags & LEDGER_CREATE) && !file_exists(db))
		return bail(err, ERR_NOT_FOUND, "no ledger in '%s'", l->dir);
	TRY(disk_is_local(l->dir, err));
	return store_sqlite_open(db, flags, &l->store, err);
}

static json_t *genesis_body(const struct ledger *l, const struct ledger_conf *conf)
{
	json_t *o = json_object();

	json_put_str(o, "origin", l->origin);
	json_put_str(o, "purpose", conf->purpose);
	json_put(o, "policy",
		 conf->policy ? json_deep_copy(conf->policy) : ledger_default_policy());
	json_put_str(o, "vkey", l->vkey);
	json_put_str(o, "old_root", conf->old_root);
	return o;
}

/* The first writer makes the log and its first entry in one transaction. */
static int make_log(struct ledger *l, const struct ledger_conf *conf, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ledger *locked CLEANUP(lock_dropp) = NULL;
	struct store *open CLEANUP(rollbackp) = NULL;
	struct str bytes CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *body = NULL;
	struct ledger_new e = { .kind = "ledger.genesis", .by_id = conf->by_id, .role = "machine",
				.at_ms = conf->now_ms };
	struct entry_place at;
	struct ledger_ref ref;
	bool made;

	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, true, err));
	open = l->store;
	TRY(l->store->ops->made(l->store, &made, err));
	if (made)
		return 0;
	if (!conf->origin || !note_name_fits(sv_of(conf->origin)))
		return bail(err, ERR_PARSE, "'%s' is no name for a log", conf->origin ? conf->origin : "");
	l->origin = xstrdup(conf->origin);
	TRY(key_make(l, err));
	if (conf->policy)
		TRY(policy_check(conf->policy, err));
	TRY(l->store->ops->make(l->store, l->origin, err));
	TRY(l->store->ops->head(l->store, &head, err));
	body = genesis_body(l, conf);
	e.body = body;
	at = (struct entry_place){ l->origin, 0, head.head };
	TRY(entry_make(&e, &at, &bytes, err));
	TRY(add_bytes(l, sv_str(&bytes), &head, &ref, err));
	TRY(l->store->ops->commit(l->store, err));
	open = NULL;
	return 0;
}

static int read_log(struct ledger *l, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	bool made;

	TRY(l->store->ops->made(l->store, &made, err));
	if (!made)
		return bail(err, ERR_BROKEN, "the store of '%s' is empty", l->dir);
	TRY(l->store->ops->head(l->store, &head, err));
	free(l->origin);
	l->origin = xstrdup(head.origin);
	TRY(key_read(l, err));
	return against_checkpoint(l, &head, err);
}

static void ledger_freep(struct ledger **l)
{
	ledger_close(*l);
}

int ledger_open(const struct ledger_conf *conf, struct ledger **ret, struct err *err)
{
	struct ledger *l CLEANUP(ledger_freep) = xcalloc(1, sizeof(*l));
	bool created = false;

	l->lock_fd = -1;
	l->dir = xstrdup(conf->dir);
	l->readonly = conf->flags & LEDGER_READONLY;
	if (conf->flags & LEDGER_CREATE)
		TRY(dir_make(conf->dir, err));
	TRY(open_store(l, conf, err));
	if (conf->flags & LEDGER_CREATE) {
		bool made;

		TRY(l->store->ops->made(l->store, &made, err));
		if (!made) {
			TRY(make_log(l, conf, err));
			created = true;
		}
	}
	TRY(read_log(l, err));
	if (created) {
		struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };

		TRY(ledger_checkpoint(l, &cp, err));
	}
	*ret = STEAL(l);
	return 0;
}
