/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log's side of anchors: what a witness is asked, what it answered, a copy in another place.
 *
 *	anchors/<size>     checkpoints with the cosignatures of witnesses
 *	witnesses          their keys, one a line
 */
#include "ledger/inner.h"
#include "ledger/witness.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"

#define LL   (unsigned long long)
#define DASH "\xe2\x80\x94 "

/* ---- the newest head, and whether one is ours ---- */

/* Our tree at that size has that root. */
static int is_ours(struct ledger *l, const struct checkpoint *cp, const char *whose,
		   struct err *err)
{
	struct merkle_source s = ledger_nodes(l);
	uint8_t root[SHA256_LEN];
	uint64_t now;

	if (!sv_is(cp->origin, l->origin))
		return bail(err, ERR_PARSE, "%s is of log '" SV_FMT "'", whose, SV_ARG(cp->origin));
	TRY(ledger_size(l, &now, NULL, err));
	if (cp->size > now)
		return bail(err, ERR_BROKEN,
			    "rollback: %s covers %llu entries, the ledger has %llu", whose,
			    LL cp->size, LL now);
	TRY(merkle_root(&s, cp->size, root, err));
	if (memcmp(root, cp->root, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "fork: %s has another root over %llu entries", whose,
			    LL cp->size);
	return 0;
}

struct newest {
	char *note;
	uint64_t size;
};

static int take_newest(void *arg, uint64_t size, struct sv note, struct err *err)
{
	struct newest *n = arg;

	(void)err;
	free(n->note);
	n->note = sv_dup(note);
	n->size = size;
	return 0;
}

/* The file beside the store, or what the store kept when that is newer or alone. */
static int newest_note(struct ledger *l, char **ret, struct checkpoint *ret_cp, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_CHECKPOINT), *text = NULL;
	struct note n CLEANUP(note_release) = { 0 };
	struct newest kept = { 0 };
	int rc = file_read(path, NOTE_MAX, &text, NULL, err);

	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		rc = l->store->ops->notes(l->store, take_newest, &kept, err);
		text = kept.note;
		if (rc == 0 && !text)
			rc = bail(err, ERR_NOT_FOUND, "ledger '%s' has no checkpoint yet", l->dir);
	}
	TRY(rc);
	TRY(note_parse(sv_of(text), &n, err));
	TRY(checkpoint_parse(n.text, ret_cp, err));
	TRY(is_ours(l, ret_cp, "the checkpoint", err));
	*ret = STEAL(text);
	return 0;
}

/* ---- keys of witnesses ---- */

static int keys_of(const char *dir, const char *more, struct note_keys *ret, struct err *err)
{
	AUTO_FREE char *path = path_join(dir, LEDGER_WITNESSES), *text = NULL;
	struct sv rest, line;
	int rc;

	if (more)
		TRY(note_key_parse(sv_of(more), VEC_ADD(ret), err));
	rc = file_read(path, MIB, &text, NULL, err);
	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	rest = sv_of(text);
	while (sv_line(&rest, &line))
		if (sv_trim(line).n)
			TRY(note_key_parse(line, VEC_ADD(ret), err));
	return 0;
}

static int remember_key(struct ledger *l, const struct note_key *k, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_WITNESSES), *vkey = note_vkey(k);
	struct note_keys known CLEANUP(note_keys_release) = { 0 };
	struct str all CLEANUP(str_release) = { 0 };

	TRY(keys_of(l->dir, NULL, &known, err));
	for (size_t i = 0; i < known.n; i++) {
		AUTO_FREE char *line = note_vkey(&known.v[i]);

		if (streq(line, vkey))
			return 0;
		str_addf(&all, "%s\n", line);
	}
	str_addf(&all, "%s\n", vkey);
	return file_write(path, all.p, all.n, 0644, err);
}

/* ---- asking ---- */

int ledger_cosigned(struct ledger *l, const char *witness, uint64_t *ret, struct err *err)
{
	AUTO_FREE char *dir = path_join(l->dir, LEDGER_ANCHORS);
	struct strs names CLEANUP(strs_release) = { 0 };

	*ret = 0;
	if (!dir_exists(dir))
		return 0;
	TRY(dir_list(dir, &names, err));
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = path_join(dir, names.v[i]), *text = NULL;
		struct note n CLEANUP(note_release) = { 0 };
		struct err ignored = ERR_INIT;
		struct checkpoint cp;
		bool its = !witness;

		TRY(file_read(path, NOTE_MAX, &text, NULL, err));
		if (note_parse(sv_of(text), &n, &ignored) < 0 ||
		    checkpoint_parse(n.text, &cp, &ignored) < 0)
			continue; /* verify says so */
		for (size_t k = 0; witness && k < n.lines.n; k++)
			its |= sv_is(n.lines.v[k].name, witness);
		if (its)
			*ret = MAX(*ret, cp.size);
	}
	return 0;
}

int ledger_witness_request(struct ledger *l, uint64_t since, struct str *ret, struct err *err)
{
	struct ledger_proof proof CLEANUP(ledger_proof_release) = { 0 };
	AUTO_FREE char *note = NULL;
	struct checkpoint cp;

	TRY(newest_note(l, &note, &cp, err));
	if (since > cp.size)
		return bail(err, ERR_BROKEN,
			    "rollback: a witness saw %llu entries, the newest checkpoint covers "
			    "%llu",
			    LL since, LL cp.size);
	TRY(ledger_consistency(l, since, cp.size, &proof, err));
	witness_request_write(since, &proof, sv_of(note), ret);
	return 0;
}

/* ---- what came back ---- */

struct answer {
	struct ledger *l;
	struct sv lines; /* signature lines alone */
	const struct note_keys *keys;
	char *note; /* the checkpoint that they fit */
	struct checkpoint cp;
	const struct note_key *who;
	int64_t time_s;
	bool bad; /* a known key's line fits nothing */
};

/* Do lines of this note carry a good cosignature by a key that we know? */
static bool cosigned_by(struct answer *a, const struct note *n)
{
	for (size_t i = 0; i < n->lines.n; i++)
		for (size_t k = 0; k < a->keys->n; k++) {
			enum note_check c = NOTE_OTHER_KEY;

			if (a->keys->v[k].type == NOTE_COSIGNATURE)
				c = note_line_check(n, &n->lines.v[i], &a->keys->v[k], &a->time_s);
			a->bad |= c == NOTE_BAD;
			if (c == NOTE_GOOD) {
				a->who = &a->keys->v[k];
				return true;
			}
		}
	return false;
}

static int try_note(void *arg, uint64_t size, struct sv text, struct err *err)
{
	struct answer *a = arg;
	struct note kept CLEANUP(note_release) = { 0 }, n CLEANUP(note_release) = { 0 };
	struct str whole CLEANUP(str_release) = { 0 };
	struct err ignored = ERR_INIT;

	(void)size;
	if (a->who || note_parse(text, &kept, &ignored) < 0)
		return 0;
	str_addsv(&whole, kept.text);
	str_addc(&whole, '\n');
	str_addsv(&whole, a->lines);
	TRY(note_parse(sv_str(&whole), &n, err)); /* hostile lines are an error at once */
	if (!cosigned_by(a, &n))
		return 0;
	str_clear(&whole);
	TRY(note_merge(text, a->lines, &(struct note_filter){ 0 }, &whole, err));
	a->note = str_steal(&whole);
	return 1;
}

static int find_signed(struct answer *a, struct err *err)
{
	AUTO_FREE char *path = path_join(a->l->dir, LEDGER_CHECKPOINT), *text = NULL;
	struct err ignored = ERR_INIT;

	if (file_read(path, NOTE_MAX, &text, NULL, &ignored) == 0)
		TRY(try_note(a, 0, sv_of(text), err));
	if (!a->who)
		TRY(a->l->store->ops->notes(a->l->store, try_note, a, err));
	return 0;
}

static int whole_note(struct answer *a, struct sv text, struct err *err)
{
	struct note_key log CLEANUP(note_key_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	bool good = false;

	TRY(note_parse(text, &n, err));
	TRY(note_key_parse(sv_of(a->l->vkey), &log, err));
	for (size_t i = 0; i < n.lines.n; i++)
		good |= note_line_check(&n, &n.lines.v[i], &log, NULL) == NOTE_GOOD;
	if (!good)
		return bail(err, ERR_BROKEN, "the checkpoint is not signed by this ledger's key");
	if (cosigned_by(a, &n))
		a->note = sv_dup(text);
	return 0;
}

static int answer_read(struct answer *a, struct sv text, struct err *err)
{
	struct note n CLEANUP(note_release) = { 0 };

	if (text.n > NOTE_MAX)
		return bail(err, ERR_LIMIT, "answer of more than %zu bytes", NOTE_MAX);
	if (sv_starts(text, DASH)) {
		a->lines = text;
		TRY(find_signed(a, err));
	} else {
		TRY(whole_note(a, text, err));
	}
	if (!a->who && a->bad)
		return bail(err, ERR_BROKEN,
			    "a witness's signature fits no checkpoint of this ledger");
	if (!a->who) {
		(void)bail(err, ERR_NOT_FOUND, "no cosignature by a witness that is known");
		err_hint(err, "Name its key with --witness VKEY, once; 'twice witness key' there "
			      "prints it.");
		return -ERR_NOT_FOUND;
	}
	TRY(note_parse(sv_of(a->note), &n, err));
	TRY(checkpoint_parse(n.text, &a->cp, err));
	return is_ours(a->l, &a->cp, "what the witness signed", err);
}

void ledger_anchored_release(struct ledger_anchored *a)
{
	free(a->witness);
	free(a->path);
	*a = (struct ledger_anchored){ 0 };
}

static int append_anchor(struct ledger *l, json_t *body, const struct ledger_new *who,
			 struct ledger_anchored *ret, struct err *err)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger_new e = *who;
	struct ledger_ref ref;

	e.kind = "anchor";
	e.body = body;
	TRY(ledger_append(l, &e, &ref, err));
	ret->seq = ref.seq;
	ret->added = true;
	return ledger_checkpoint(l, &cp, err);
}

/* Adds the lines to what others said of the same head. ret_known: it had said so already. */
static int merge_file(const char *path, struct sv note, const struct note_key *who, bool *ret_known,
		      struct err *err)
{
	struct note old CLEANUP(note_release) = { 0 }, n CLEANUP(note_release) = { 0 };
	struct str whole CLEANUP(str_release) = { 0 };
	AUTO_FREE char *had = NULL;
	struct sv lines = note;
	int rc = file_read(path, NOTE_MAX, &had, NULL, err);

	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return file_write(path, note.p, note.n, 0644, err);
	}
	TRY(rc);
	TRY(note_parse(sv_of(had), &old, err));
	TRY(note_parse(note, &n, err));
	if (!sv_eq(old.text, n.text))
		return bail(err, ERR_BROKEN, "fork: '%s' is another head of that size", path);
	for (size_t i = 0; i < old.lines.n; i++)
		*ret_known |= note_line_check(&old, &old.lines.v[i], who, NULL) == NOTE_GOOD;
	lines.p += n.text.n + 1;
	lines.n -= n.text.n + 1;
	TRY(note_merge(sv_of(had), lines, &(struct note_filter){ 0 }, &whole, err));
	return file_write(path, whole.p, whole.n, 0644, err);
}

static int keep_answer(struct ledger *l, const struct answer *a, const struct ledger_new *who,
		       struct ledger_anchored *ret, struct err *err)
{
	AUTO_FREE char *dir = path_join(l->dir, LEDGER_ANCHORS), *vkey = note_vkey(a->who);
	AUTO_JSON json_t *body = json_object();
	bool known = false;

	ret->path = xasprintf("%s/%llu", dir, LL a->cp.size);
	ret->size = a->cp.size;
	ret->time_s = a->time_s;
	ret->witness = xstrdup(a->who->name);
	TRY(dir_make(dir, err));
	TRY(merge_file(ret->path, sv_of(a->note), a->who, &known, err));
	TRY(remember_key(l, a->who, err));
	if (known)
		return 0;
	json_put_str(body, "witness", vkey);
	json_put_int(body, "size", (int64_t)a->cp.size);
	json_put_int(body, "time_s", a->time_s);
	json_put_str(body, "note", a->note);
	return append_anchor(l, body, who, ret, err);
}

int ledger_anchor_import(struct ledger *l, struct sv text, const char *vkey,
			 const struct ledger_new *who, struct ledger_anchored *ret, struct err *err)
{
	struct ledger_anchored own CLEANUP(ledger_anchored_release) = { 0 };
	struct note_keys keys CLEANUP(note_keys_release) = { 0 };
	struct answer a = { .l = l, .keys = &keys };
	int rc;

	TRY(keys_of(l->dir, vkey, &keys, err));
	rc = answer_read(&a, text, err);
	if (rc == 0)
		rc = keep_answer(l, &a, who, &own, err);
	free(a.note);
	TRY(rc);
	*ret = own;
	own = (struct ledger_anchored){ 0 };
	return 0;
}

/* ---- a copy in another place ---- */

/* What lies there already must have been a head of this log. */
static int place_is_behind(struct ledger *l, const char *path, uint64_t size, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct note n CLEANUP(note_release) = { 0 };
	struct checkpoint cp;
	int rc = file_read(path, NOTE_MAX, &text, NULL, err);

	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	if (note_parse(sv_of(text), &n, err) < 0 || checkpoint_parse(n.text, &cp, err) < 0)
		return err_wrap(err, "'%s' is there and no checkpoint", path);
	if (cp.size > size && sv_is(cp.origin, l->origin))
		return bail(err, ERR_BROKEN,
			    "rollback: the checkpoint that lies there covers %llu entries, the "
			    "newest %llu",
			    LL cp.size, LL size);
	return is_ours(l, &cp, "the checkpoint that lies there", err);
}

int ledger_anchor_place(struct ledger *l, const char *where, const struct ledger_new *who,
			struct ledger_anchored *ret, struct err *err)
{
	struct ledger_anchored own CLEANUP(ledger_anchored_release) = { 0 };
	AUTO_FREE char *note = NULL, *path = NULL, *dir = NULL, *real = NULL, *here = NULL;
	AUTO_JSON json_t *body = json_object();
	struct checkpoint cp;

	path = dir_exists(where) ? path_join(where, LEDGER_CHECKPOINT) : xstrdup(where);
	dir = path_dir(path);
	real = path_real(dir);
	here = path_real(l->dir);
	if (!real)
		return bail(err, ERR_NOT_FOUND, "no folder '%s'", dir);
	if (here && streq(real, here))
		return bail(err, ERR_USAGE, "'%s' is the ledger's own folder", where);
	TRY(newest_note(l, &note, &cp, err));
	TRY(place_is_behind(l, path, cp.size, err));
	TRY(file_write(path, note, strlen(note), 0644, err));
	own.path = xasprintf("%s/%s", streq(real, "/") ? "" : real, path_base(path));
	own.size = cp.size;
	json_put_str(body, "place", own.path);
	json_put_int(body, "size", (int64_t)cp.size);
	json_put_str(body, "note", note);
	TRY(append_anchor(l, body, who, &own, err));
	*ret = own;
	own = (struct ledger_anchored){ 0 };
	return 0;
}
