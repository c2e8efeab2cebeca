/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a ledger: made, opened, appended to. */
#include "ledger/inner.h"
#include "ledger/sshwire.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LL (unsigned long long)

/* ---- key ---- */

static int key_make(struct ledger *l, const char *origin, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_KEY), *text = NULL;
	int rc;

	TRY(ed25519_make(&l->key, err));
	text = note_secret(origin, &l->key);
	rc = file_write(path, text, strlen(text), 0600, err);
	wipe(text, strlen(text));
	return rc;
}

/* Reads ledger.key. Not there: have_key stays false. */
static int key_read(struct ledger *l, char **ret_name, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_KEY), *text = NULL;
	struct stat st;
	size_t n;
	int rc;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : bail_sys(err, "cannot read '%s'", path);
	if (st.st_mode & 077) {
		(void)bail(err, ERR_PARSE, "'%s' can be read by others", path);
		err_hint(err,
			 "Run chmod 600 on it; if others may have read it, begin a new ledger.");
		return -ERR_PARSE;
	}
	TRY(file_read(path, 4 * KIB, &text, &n, err));
	rc = note_secret_parse((struct sv){ text, n }, ret_name, &l->key, err);
	wipe(text, n);
	if (rc < 0)
		return err_wrap(err, "'%s'", path);
	l->have_key = true;
	return 0;
}

static void set_vkey(struct ledger *l)
{
	struct note_key k CLEANUP(note_key_release) = { 0 };

	note_key_of(l->origin, NOTE_ED25519, l->key.public, &k);
	free(l->vkey);
	l->vkey = note_vkey(&k);
}

/* ---- append ---- */

struct transaction {
	struct ledger *l;
	bool open;
};

static void transaction_end(struct transaction *t)
{
	if (t->open)
		t->l->store->ops->rollback(t->l->store);
}

static int same_leaf(void *arg, uint64_t seq, const uint8_t leaf[SHA256_LEN], struct err *err)
{
	uint8_t *to = arg;

	(void)seq, (void)err;
	memcpy(to, leaf, SHA256_LEN);
	return 0;
}

int ledger_check_head(struct ledger *l, const struct log_head *head, struct err *err)
{
	uint64_t size = head->frontier.size;
	uint8_t last[SHA256_LEN] = { 0 };

	if (l->origin && !streq(l->origin, head->origin))
		return bail(err, ERR_BROKEN, "the log in '%s' is now '%s'", l->dir, head->origin);
	if (size < l->seen_size)
		return bail(err, ERR_BROKEN, "ledger '%s' has lost entries: it had %llu, now %llu",
			    l->dir, LL l->seen_size, LL size);
	if (size)
		TRY(l->store->ops->leaves(l->store, size - 1, size, same_leaf, last, err));
	if (memcmp(last, head->head, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "the head of ledger '%s' is not its last entry",
			    l->dir);
	return 0;
}

/* Every blob an entry names must be there before it, or have been taken away by evidence.state. */
static int blob_known(void *arg, const struct blob_row *r, struct err *err)
{
	(void)r, (void)err;
	*(bool *)arg = true;
	return 1;
}

static int check_blobs(struct ledger *l, const struct entry *e, struct err *err)
{
	for (size_t i = 0; i < e->n_blobs; i++) {
		char hex[SHA256_HEX];
		bool known = false;

		hex_of(e->blobs[i].digest, SHA256_LEN, hex);
		if (!l->store->ops->data_get && blob_file_there(l->dir, hex))
			continue;
		if (l->store->ops->data_there)
			TRY(l->store->ops->data_there(l->store, e->blobs[i].digest, &known, err));
		if (!known)
			TRY(l->store->ops->blobs(l->store, e->blobs[i].digest, blob_known, &known,
						 err));
		if (!known)
			return bail(err, ERR_NOT_FOUND,
				    "blob %.12s was not stored before its entry", hex);
	}
	return 0;
}

/* {"blob":{"digest":D},"state":S}: the row follows the entry. */
static int take_state(struct ledger *l, const struct ledger_new *n, struct err *err)
{
	const char *state = json_str_or(n->body, "state", "");
	const char *digest = json_str_or(json_object_get(n->body, "blob"), "digest", "");
	uint8_t d[SHA256_LEN];
	bool known = false;

	if (!streq(n->kind, "evidence.state"))
		return 0;
	if (!hex_to(sv_of(digest), d, SHA256_LEN) ||
	    (!streq(state, "withheld") && !streq(state, "expired")))
		return bail(err, ERR_PARSE, "evidence.state needs blob.digest and a state");
	TRY(l->store->ops->blobs(l->store, d, blob_known, &known, err));
	if (!known)
		return bail(err, ERR_NOT_FOUND, "no entry names blob %.12s", digest);
	return l->store->ops->blob_state(l->store, d, state, err);
}

int ledger_add_row(struct store *s, struct sha256 *h, struct log_head *head,
		   const struct entry_row *r, const struct entry *e, struct err *err)
{
	struct merkle_grown grown;

	frontier_grow(&head->frontier, h, r->leaf, &grown);
	memcpy(head->head, r->leaf, SHA256_LEN);
	TRY(s->ops->add(s, r, e, head, err));
	for (unsigned level = MERKLE_KEPT; s->ops->node_add && !s->no_nodes && level <= grown.n;
	     level += MERKLE_KEPT)
		TRY(s->ops->node_add(s, level, r->seq >> level, grown.hash[level - 1], err));
	return 0;
}

/* What one append after another can use again. */
struct scratch {
	struct str bytes;
	struct entry e;
};

static void scratch_release(struct scratch *s)
{
	str_release(&s->bytes);
	entry_release(&s->e);
}

/* Adds finished entry bytes that follow `head`, and moves `head` on. */
static int add_bytes(struct ledger *l, struct log_head *head, struct sv bytes, struct entry *e,
		     struct ledger_ref *ret, struct err *err)
{
	struct entry_row row = { .seq = head->frontier.size };

	/* What we write is read by the same reader as everything else, before it counts. */
	if (entry_scan(bytes, e, err) < 0)
		return err_wrap(err, "an entry of our own making");
	TRY(check_blobs(l, e, err));
	merkle_leaf(&l->h, bytes, row.leaf);
	row.kind = e->kind;
	row.at_ms = e->at_ms;
	row.bytes = bytes;
	TRY(ledger_add_row(l->store, &l->h, head, &row, e, err));
	ret->seq = row.seq;
	memcpy(ret->leaf, row.leaf, SHA256_LEN);
	hex_of(row.leaf, SHA256_LEN, ret->hex);
	return 0;
}

static int add_new(struct ledger *l, struct log_head *head, const struct ledger_new *n,
		   struct scratch *s, struct ledger_ref *ret, struct err *err)
{
	struct entry_place at = { head->origin, head->frontier.size, head->head };

	str_clear(&s->bytes);
	TRY(entry_make(n, &at, &s->bytes, err));
	TRY(add_bytes(l, head, sv_str(&s->bytes), &s->e, ret, err));
	return take_state(l, n, err);
}

static int may_write(struct ledger *l, struct err *err)
{
	return l->readonly ? bail(err, ERR_USAGE, "the ledger is open for reading only") : 0;
}

int append_locked(struct ledger *l, const struct ledger_new *e, size_t n, struct ledger_ref *ret,
		  struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct scratch s CLEANUP(scratch_release) = { 0 };

	TRY(l->store->ops->begin(l->store, /* write= */ true, err));
	struct transaction t CLEANUP(transaction_end) = { l, true };

	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	for (size_t i = 0; i < n; i++)
		TRY(add_new(l, &head, &e[i], &s, &ret[i], err));
	TRY(l->store->ops->commit(l->store, err));
	t.open = false;
	l->seen_size = head.frontier.size;
	return 0;
}

int ledger_append_many(struct ledger *l, const struct ledger_new *e, size_t n,
		       struct ledger_ref *ret, struct err *err)
{
	AUTO_FREE struct ledger_ref *refs = xcalloc(n + 1, sizeof(*refs));
	CLEANUP(lock_dropp) struct ledger *locked = NULL;

	TRY(may_write(l, err));
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->spool ? spool_append(l, e, n, refs, err) : append_locked(l, e, n, refs, err));
	if (ret)
		memcpy(ret, refs, n * sizeof(*refs));
	return 0;
}

int ledger_append(struct ledger *l, const struct ledger_new *e, struct ledger_ref *ret,
		  struct err *err)
{
	struct ledger_ref own;

	TRY(ledger_append_many(l, e, 1, &own, err));
	if (ret)
		*ret = own;
	return 0;
}

/* ---- drafts ---- */

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
	struct ledger_draft own = { 0 };

	TRY(l->store->ops->head(l->store, &head, err));
	TRY(entry_make(e, &(struct entry_place){ head.origin, head.frontier.size, head.head },
		       &bytes, err));
	own.ref.seq = head.frontier.size;
	merkle_leaf(&l->h, sv_str(&bytes), own.ref.leaf);
	hex_of(own.ref.leaf, SHA256_LEN, own.ref.hex);
	own.kind = xstrdup(e->kind);
	own.n = bytes.n;
	own.bytes = str_steal(&bytes);
	*ret = own;
	return 0;
}

/* The signature as a row; the key must be one that may sign here. */
static int check_signer(struct ledger *l, const struct ledger_draft *d, const char *armored,
			struct ssh_key *ret_key, struct str *ret_sig, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(ssh_verify(sv_of(armored), LEDGER_NAMESPACE, d->bytes, d->n, ret_key, err));
	if (!ssh_sig_normal(sv_of(armored), ret_sig))
		return bail(err, ERR_PARSE, "not an SSH signature");
	TRY(ledger_keys_read(l, &keys, err));
	TRY(entry_full((struct sv){ d->bytes, d->n }, d->ref.leaf, &e, err));
	if (streq(e.kind, "key.add") && d->ref.seq && keys_none(&keys, d->ref.seq))
		keys_take(&keys, d->ref.seq - 1, e.kind, e.body);
	if (!ledger_key_valid(&keys, ret_key->fingerprint, d->ref.seq, e.at_ms)) {
		(void)bail(err, ERR_UNSUPPORTED, "key %s is not known to this ledger, or not valid",
			   ret_key->fingerprint);
		err_hint(err, "A key that is valid has to add it first.");
		return -ERR_UNSUPPORTED;
	}
	/* Nothing in the log says when a signature was added: whoever stole a key that is
	 * revoked now must not approve what was written while it was good. */
	if (key_is_revoked(&keys, ret_key->fingerprint))
		return bail(err, ERR_UNSUPPORTED, "key %s is revoked", ret_key->fingerprint);
	return 0;
}

int ledger_draft_append(struct ledger *l, const struct ledger_draft *d, const char *armored,
			struct ledger_ref *ret, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str sig CLEANUP(str_release) = { 0 };
	CLEANUP(lock_dropp) struct ledger *locked = NULL;
	struct entry e CLEANUP(entry_release) = { 0 };
	struct sig_row row = { .scheme = SV("sshsig") };
	struct ledger_ref own;

	TRY(may_write(l, err));
	TRY(check_signer(l, d, armored, &key, &sig, err));
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, /* write= */ true, err));
	struct transaction t CLEANUP(transaction_end) = { l, true };

	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	/* The bytes name the entry they follow, so they fit only where they were drafted. */
	if (head.frontier.size != d->ref.seq)
		return bail(err, ERR_CONFLICT, "the log has grown since this was drafted");
	TRY(add_bytes(l, &head, (struct sv){ d->bytes, d->n }, &e, &own, err));
	memcpy(row.leaf, own.leaf, SHA256_LEN);
	row.signer = sv_of(key.fingerprint);
	row.sig = sv_str(&sig);
	TRY(l->store->ops->sign(l->store, &row, err));
	TRY(l->store->ops->commit(l->store, err));
	t.open = false;
	l->seen_size = head.frontier.size;
	if (ret)
		*ret = own;
	return 0;
}

int ledger_sign(struct ledger *l, uint64_t seq, const char *armored, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str sig CLEANUP(str_release) = { 0 };
	CLEANUP(lock_dropp) struct ledger *locked = NULL;
	struct sig_row row = { .scheme = SV("sshsig") };

	TRY(may_write(l, err));
	TRY(ledger_get(l, seq, &e, err));
	struct ledger_draft d = { .bytes = e.bytes, .n = e.n, .kind = e.kind, .ref = e.ref };

	TRY(check_signer(l, &d, armored, &key, &sig, err));
	memcpy(row.leaf, e.ref.leaf, SHA256_LEN);
	row.signer = sv_of(key.fingerprint);
	row.sig = sv_str(&sig);
	TRY(lock_take(l, err));
	locked = l;
	TRY(l->store->ops->begin(l->store, /* write= */ true, err));
	struct transaction t CLEANUP(transaction_end) = { l, true };

	TRY(l->store->ops->sign(l->store, &row, err));
	TRY(l->store->ops->commit(l->store, err));
	t.open = false;
	return 0;
}

/* ---- open ---- */

static json_t *genesis_body(struct ledger *l, const struct ledger_conf *c)
{
	json_t *b = json_object();

	json_put_str(b, "ledger_key", l->vkey);
	json_put_str(b, "origin", c->origin);
	json_put_str(b, "purpose", c->purpose);
	json_put_str(b, "old_root", c->old_root);
	json_put(b, "policy", c->policy ? json_deep_copy(c->policy) : ledger_default_policy());
	return b;
}

/* Tables and genesis in one transaction. The key is on disk before an entry names it. */
static int make_log(struct ledger *l, const struct ledger_conf *c, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct scratch s CLEANUP(scratch_release) = { 0 };
	AUTO_JSON json_t *body = NULL;
	struct ledger_ref ref;

	if (!c->origin || !note_name_fits(sv_of(c->origin)))
		return bail(err, ERR_PARSE, "'%s' cannot be the name of a log",
			    c->origin ? c->origin : "");
	if (c->policy)
		TRY(policy_check(c->policy, err));
	if (!l->have_key)
		TRY(key_make(l, c->origin, err));
	l->have_key = true;
	l->origin = xstrdup(c->origin);
	set_vkey(l);
	body = genesis_body(l, c);
	TRY(l->store->ops->begin(l->store, /* write= */ true, err));
	struct transaction t CLEANUP(transaction_end) = { l, true };

	TRY(l->store->ops->make(l->store, c->origin, err));
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(add_new(l, &head,
		    &(struct ledger_new){ .kind = "ledger.genesis",
					  .body = body,
					  .by_id = c->by_id,
					  .role = "machine",
					  .at_ms = c->now_ms },
		    &s, &ref, err));
	TRY(l->store->ops->commit(l->store, err));
	t.open = false;
	return ledger_checkpoint(l, &cp, err);
}

/* Newest local checkpoint against the store: size, root, signature. */
static int check_local(struct ledger *l, const struct log_head *head, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT), *text = NULL;
	struct note n CLEANUP(note_release) = { 0 };
	uint8_t root[SHA256_LEN];
	struct checkpoint cp;
	size_t len;

	if (file_read(path, NOTE_MAX, &text, &len, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -err->code;
		err_clear(err);
		return 0;
	}
	if (note_parse((struct sv){ text, len }, &n, err) < 0 ||
	    checkpoint_parse(n.text, &cp, err) < 0) {
		(void)err_wrap(err, "'%s'", path);
		err->code = ERR_BROKEN;
		return -ERR_BROKEN;
	}
	if (!sv_is(cp.origin, l->origin))
		return bail(err, ERR_BROKEN, "'%s' is of another ledger, '" SV_FMT "'", path,
			    SV_ARG(cp.origin));
	if (cp.size > head->frontier.size) {
		(void)bail(err, ERR_BROKEN,
			   "ledger is shorter than its checkpoint: '%s' has %llu entries of %llu",
			   l->dir, LL head->frontier.size, LL cp.size);
		err_hint(err, "Restore the store or its -wal file from where it was moved or cut; "
			      "'twice verify' says more.");
		return -ERR_BROKEN;
	}
	if (cp.size == head->frontier.size) {
		frontier_root(&head->frontier, &l->h, root);
	} else {
		struct merkle_source s = ledger_nodes(l);

		TRY(merkle_root(&s, cp.size, root, err));
	}
	if (memcmp(root, cp.root, SHA256_LEN) != 0)
		return bail(
			err, ERR_BROKEN,
			"ledger '%s' is not the one of its checkpoint: other entries below %llu",
			l->dir, LL cp.size);
	return 0;
}

static int vkey_of_genesis(struct ledger *l, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(ledger_get(l, 0, &e, err));
	l->vkey = xstrdup(json_str_or(e.body, "ledger_key", ""));
	return 0;
}

static int open_log(struct ledger *l, struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };
	AUTO_FREE char *name = NULL;

	TRY(l->store->ops->begin(l->store, /* write= */ false, err));
	struct transaction t CLEANUP(transaction_end) UNUSED = { l, true };

	if (l->store->ops->sound)
		TRY(l->store->ops->sound(l->store, err));
	TRY(l->store->ops->head(l->store, &head, err));
	TRY(ledger_check_head(l, &head, err));
	if (!l->origin)
		l->origin = xstrdup(head.origin);
	TRY(check_local(l, &head, err));
	l->seen_size = head.frontier.size;
	if (!l->have_key && !l->readonly)
		TRY(key_read(l, &name, err));
	if (name && !streq(name, l->origin))
		return bail(err, ERR_BROKEN, "the key in '%s' is that of '%s', not of '%s'", l->dir,
			    name, l->origin);
	if (l->have_key)
		set_vkey(l);
	return l->vkey ? 0 : vkey_of_genesis(l, err);
}

bool ledger_exists(const char *dir)
{
	AUTO_FREE char *db = path_join(dir, LEDGER_DB), *cp = path_join(dir, LEDGER_CHECKPOINT);

	return file_exists(db) || file_exists(cp) || export_exists(dir);
}

static int store_gone(const struct ledger *l, struct err *err)
{
	(void)bail(err, ERR_BROKEN, "ledger is shorter than its checkpoint: '%s' is empty", l->dir);
	err_hint(err, "Restore the store; a new ledger goes into another folder.");
	return -ERR_BROKEN;
}

static int open_store(struct ledger *l, const struct ledger_conf *c, struct err *err)
{
	AUTO_FREE char *db = path_join(l->dir, LEDGER_DB);
	unsigned flags = l->readonly ? STORE_READONLY : 0;

	if (c->flags & LEDGER_CREATE)
		flags |= STORE_CREATE;
	if (c->pg)
		return store_pg_open(c->pg, flags, &l->store, err);
	if (l->readonly && !file_exists(db) && export_exists(l->dir))
		return store_export_open(l->dir, &l->store, err);
	if (l->readonly && !file_exists(db))
		return store_gone(l, err);
	if (!l->readonly)
		TRY(disk_is_local(l->dir, err));
	return store_sqlite_open(db, flags, &l->store, err);
}

/* Somebody on another machine made the log in the same moment: theirs counts, our key is none of
 * it. */
static int made_elsewhere(struct ledger *l, bool key_was_there, struct err *err)
{
	AUTO_FREE char *key = path_join(l->dir, LEDGER_KEY);

	if (!key_was_there)
		(void)unlink(key);
	l->have_key = false;
	free(STEAL(l->origin));
	free(STEAL(l->vkey));
	err_clear(err);
	return open_log(l, err);
}

static int open_or_make(struct ledger *l, const struct ledger_conf *c, struct err *err)
{
	AUTO_FREE char *cp = path_join(l->dir, LEDGER_CHECKPOINT), *name = NULL;
	CLEANUP(lock_dropp) struct ledger *locked = NULL;
	bool made = false, key_was_there;

	if (!l->readonly) { /* one process makes it, the others find it */
		TRY(lock_take(l, err));
		locked = l;
	}
	TRY(open_store(l, c, err));
	TRY(l->store->ops->made(l->store, &made, err));
	if (made)
		return open_log(l, err);
	if (file_exists(cp))
		return store_gone(l, err);
	if (!(c->flags & LEDGER_CREATE) || l->readonly)
		return bail(err, ERR_NOT_FOUND, "no ledger in '%s'", l->dir);
	TRY(key_read(l, &name, err));
	if (name && !streq(name, c->origin)) /* left by a creation under another name */
		l->have_key = false;
	key_was_there = l->have_key;
	if (make_log(l, c, err) == 0)
		return 0;
	return c->pg && err->code == ERR_CONFLICT ? made_elsewhere(l, key_was_there, err)
						  : -(int)err->code;
}

int ledger_open(const struct ledger_conf *conf, struct ledger **ret, struct err *err)
{
	CLEANUP(ledger_closep) struct ledger *l = xcalloc(1, sizeof(*l));
	bool create = conf->flags & LEDGER_CREATE;

	l->lock_fd = -1;
	l->readonly = conf->flags & LEDGER_READONLY;
	l->spool = conf->pg && !l->readonly && conf->flags & LEDGER_SPOOL;
	l->dir = xstrdup(conf->dir);
	if (!dir_exists(conf->dir)) {
		if (!create || l->readonly) {
			(void)bail(err, ERR_NOT_FOUND, "no ledger in '%s'", conf->dir);
			return -ERR_NOT_FOUND;
		}
		TRY(dir_make(conf->dir, err));
	}
	if (!create && !conf->pg && !ledger_exists(conf->dir))
		return bail(err, ERR_NOT_FOUND, "no ledger in '%s'", conf->dir);
	TRY(open_or_make(l, conf, err));
	*ret = STEAL(l);
	return 0;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	store_closep(&l->store);
	closep(&l->lock_fd);
	sha256_release(&l->h);
	ed25519_wipe(&l->key);
	free(l->dir);
	free(l->origin);
	free(l->vkey);
	free(l);
}

const char *ledger_origin(const struct ledger *l)
{
	return l->origin;
}

const char *ledger_store_name(const struct ledger *l)
{
	return l->store->ops->name;
}

const char *ledger_dir(const struct ledger *l)
{
	return l->dir;
}

const char *ledger_vkey(const struct ledger *l)
{
	return l->vkey;
}

int ledger_size(struct ledger *l, uint64_t *ret_size, uint8_t ret_root[SHA256_LEN], struct err *err)
{
	struct log_head head CLEANUP(log_head_release) = { 0 };

	TRY(l->store->ops->head(l->store, &head, err));
	*ret_size = head.frontier.size;
	if (ret_root)
		frontier_root(&head.frontier, &l->h, ret_root);
	return 0;
}
