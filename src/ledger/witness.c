/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A witness: keeps the newest head of every log it was told of, and signs a newer one only when it
 * grew out of that.
 *
 *	witness.key                     Ed25519, mode 0600
 *	lock                            flock while a head is looked at
 *	<sha256 of origin>/vkey         the log's key, as it was trusted
 *	<sha256 of origin>/checkpoint   newest head, the log's signature and ours
 *	<sha256 of origin>/fork-...     heads that can't be of the same log: evidence
 */
#include "ledger/witness.h"

#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include "ledger/inner.h"
#include "ledger/tiles.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LL        (unsigned long long)
#define MAX_FORKS 16

/* ---- the wire form ---- */

int witness_request_parse(struct sv text, struct witness_request *ret, struct err *err)
{
	struct witness_request own = { 0 };
	struct sv rest = text, line;

	if (text.n > NOTE_MAX)
		return bail(err, ERR_LIMIT, "request of more than %zu bytes", NOTE_MAX);
	if (!sv_split(&rest, '\n', &line) || !tlog_number_line(line, "old", &own.old))
		return bail(err, ERR_PARSE, "not a request: its first line is not 'old SIZE'");
	while (sv_split(&rest, '\n', &line) && line.n) {
		if (own.n == TLOG_PROOF_HASHES)
			return bail(err, ERR_LIMIT, "request with more than %d hashes",
				    TLOG_PROOF_HASHES);
		if (!tlog_hash_line(line, own.hash[own.n++]))
			return bail(err, ERR_PARSE, "request: line %zu of its proof is no hash",
				    own.n);
	}
	if (!rest.n)
		return bail(err, ERR_PARSE, "request without a checkpoint");
	own.checkpoint = rest;
	*ret = own;
	return 0;
}

void witness_request_write(uint64_t old, const struct ledger_proof *p, struct sv checkpoint,
			   struct str *to)
{
	str_addf(to, "old %llu\n", LL old);
	tlog_hash_lines(p, to);
	str_addc(to, '\n');
	str_addsv(to, checkpoint);
}

static bool wanted(const struct note_line *l, const struct note_filter *keep)
{
	for (size_t i = 0; i < keep->n; i++)
		if (sv_is(l->name, keep->v[i].name) && memcmp(l->id, keep->v[i].id, 4) == 0)
			return true;
	return !keep->v;
}

static bool same_key(const struct note_line *a, const struct note_line *b)
{
	return sv_eq(a->name, b->name) && memcmp(a->id, b->id, 4) == 0;
}

static void add_line(const struct note_line *l, struct str *to)
{
	uint8_t blob[4 + sizeof(l->sig)];

	memcpy(blob, l->id, 4);
	memcpy(blob + 4, l->sig, l->n);
	str_addf(to, "\xe2\x80\x94 " SV_FMT " ", SV_ARG(l->name));
	base64_add(to, blob, 4 + l->n);
	str_addc(to, '\n');
}

int note_merge(struct sv note, struct sv more, const struct note_filter *keep, struct str *to,
	       struct err *err)
{
	struct note a CLEANUP(note_release) = { 0 }, b CLEANUP(note_release) = { 0 };
	struct str both CLEANUP(str_release) = { 0 };

	TRY(note_parse(note, &a, err));
	str_addsv(&both, a.text);
	str_addc(&both, '\n');
	str_addsv(&both, more);
	if (more.n)
		TRY(note_parse(sv_str(&both), &b, err));
	str_addsv(to, a.text);
	str_addc(to, '\n');
	for (size_t i = 0; i < a.lines.n; i++) {
		bool newer = !a.lines.v[i].n;

		for (size_t k = 0; k < b.lines.n; k++)
			newer |= same_key(&a.lines.v[i], &b.lines.v[k]);
		if (!newer && wanted(&a.lines.v[i], keep))
			add_line(&a.lines.v[i], to);
	}
	for (size_t k = 0; k < b.lines.n; k++)
		if (b.lines.v[k].n && wanted(&b.lines.v[k], keep))
			add_line(&b.lines.v[k], to);
	return 0;
}

/* ---- the folder ---- */

struct ledger_witness {
	char *dir, *name, *vkey;
	struct ed25519 key;
};

void ledger_witness_close(struct ledger_witness *w)
{
	if (!w)
		return;
	ed25519_wipe(&w->key);
	free(w->dir);
	free(w->name);
	free(w->vkey);
	free(w);
}

const char *ledger_witness_vkey(const struct ledger_witness *w)
{
	return w->vkey;
}

static int make_key(struct ledger_witness *w, const char *path, const char *name, struct err *err)
{
	AUTO_FREE char *text = NULL;
	int rc;

	if (!note_name_fits(sv_of(name)))
		return bail(err, ERR_USAGE, "'%s' can't be a witness's name", name);
	TRY(ed25519_make(&w->key, err));
	w->name = xstrdup(name);
	text = note_secret(name, &w->key);
	rc = file_write(path, text, strlen(text), 0600, err);
	wipe(text, strlen(text));
	return rc;
}

static int read_key(struct ledger_witness *w, const char *path, struct err *err)
{
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t n;
	int rc;

	if (stat(path, &st) == 0 && (st.st_mode & 077))
		return bail(err, ERR_PARSE, "'%s' can be read by others", path);
	TRY(file_read(path, 4 * KIB, &text, &n, err));
	rc = note_secret_parse((struct sv){ text, n }, &w->name, &w->key, err);
	wipe(text, n);
	return rc < 0 ? err_wrap(err, "'%s'", path) : 0;
}

int ledger_witness_open(const char *dir, const char *name, struct ledger_witness **ret,
			struct err *err)
{
	CLEANUP(ledger_witness_closep) struct ledger_witness *own = xcalloc(1, sizeof(*own));
	AUTO_FREE char *path = path_join(dir, "witness.key");
	struct note_key k CLEANUP(note_key_release) = { 0 };

	own->dir = xstrdup(dir);
	if (file_exists(path)) {
		TRY(read_key(own, path, err));
		if (name && !streq(name, own->name))
			return bail(err, ERR_CONFLICT, "the witness in '%s' is '%s', not '%s'", dir,
				    own->name, name);
	} else {
		if (!name)
			return bail(err, ERR_NOT_FOUND, "no witness in '%s'", dir);
		TRY(dir_make(dir, err));
		TRY(disk_is_local(dir, err));
		TRY(make_key(own, path, name, err));
	}
	note_key_of(own->name, NOTE_COSIGNATURE, own->key.public, &k);
	own->vkey = note_vkey(&k);
	*ret = STEAL(own);
	return 0;
}

static int witness_lock(const struct ledger_witness *w, int *ret, struct err *err)
{
	AUTO_FREE char *path = path_join(w->dir, LEDGER_LOCK);
	CLEANUP(closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return bail_sys(err, "cannot lock '%s'", path);
	*ret = fd;
	fd = -1;
	return 0;
}

/* ---- what it has seen of one log ---- */

struct seen {
	char *dir;  /* of the log, inside the witness's */
	char *vkey; /* as it was trusted; NULL: not known yet */
	char *note; /* newest head; NULL: none yet */
	struct checkpoint cp;
};

static void seen_release(struct seen *s)
{
	free(s->dir);
	free(s->vkey);
	free(s->note);
}

/* NULL in *ret when the file is not there. */
static int read_if_there(const char *dir, const char *name, char **ret, struct err *err)
{
	AUTO_FREE char *path = path_join(dir, name);
	int rc = file_read(path, NOTE_MAX, ret, NULL, err);

	if (rc != -ERR_NOT_FOUND)
		return rc;
	err_clear(err);
	return 0;
}

static int read_seen(const struct ledger_witness *w, struct sv origin, struct seen *ret,
		     struct err *err)
{
	struct note n CLEANUP(note_release) = { 0 };
	char hex[SHA256_HEX];

	sha256_hex(origin.p, origin.n, hex);
	ret->dir = path_join(w->dir, hex);
	TRY(read_if_there(ret->dir, "vkey", &ret->vkey, err));
	TRY(read_if_there(ret->dir, LEDGER_CHECKPOINT, &ret->note, err));
	if (!ret->note)
		return 0;
	/* Never guess: a witness whose memory is damaged signs nothing more. */
	if (note_parse(sv_of(ret->note), &n, err) < 0 ||
	    checkpoint_parse(n.text, &ret->cp, err) < 0)
		return err_wrap(err, "the head kept in '%s' can't be read", ret->dir);
	if (!sv_eq(ret->cp.origin, origin))
		return bail(err, ERR_BROKEN, "the head kept in '%s' is of another log", ret->dir);
	return 0;
}

int ledger_witness_seen(struct ledger_witness *w, struct sv origin, uint64_t *ret, struct err *err)
{
	struct seen s CLEANUP(seen_release) = { 0 };

	TRY(read_seen(w, origin, &s, err));
	*ret = s.note ? s.cp.size : 0;
	return 0;
}

/* ---- judging ---- */

static int key_for(const struct seen *s, struct sv origin, const char *given, struct note_key *ret,
		   struct err *err)
{
	AUTO_FREE char *known = s->vkey ? sv_dup(sv_trim(sv_of(s->vkey))) : NULL;

	if (!known && !given) {
		(void)bail(err, ERR_NOT_FOUND, "log '" SV_FMT "' is not known to this witness",
			   SV_ARG(origin));
		err_hint(err, "Trust its key with --log VKEY, once; 'twice witness log-key' "
			      "there prints it.");
		return -ERR_NOT_FOUND;
	}
	if (known && given && !streq(known, given))
		return bail(err, ERR_BROKEN, "log '" SV_FMT "' was trusted with another key",
			    SV_ARG(origin));
	TRY(note_key_parse(sv_of(known ? known : given), ret, err));
	if (ret->type != NOTE_ED25519 || !sv_is(origin, ret->name))
		return bail(err, ERR_PARSE, "key '%s' is not that of log '" SV_FMT "'", ret->name,
			    SV_ARG(origin));
	return 0;
}

static int signed_well(const struct note *n, const struct note_key *k, struct err *err)
{
	bool good = false;

	for (size_t i = 0; i < n->lines.n; i++) {
		enum note_check c = note_line_check(n, &n->lines.v[i], k, NULL);

		if (c == NOTE_BAD)
			return bail(err, ERR_BROKEN,
				    "the checkpoint's signature by '%s' does not "
				    "fit",
				    k->name);
		good |= c == NOTE_GOOD;
	}
	return good ? 0
		    : bail(err, ERR_BROKEN, "the checkpoint is not signed by the key of '%s'",
			   k->name);
}

/* Two signed heads that can't be of one log convict whoever holds its key: the other is kept. */
static void keep_fork(const struct seen *s, const struct checkpoint *cp, struct sv note)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err ignored = ERR_INIT;
	AUTO_FREE char *name = NULL, *path = NULL;
	char hex[SHA256_HEX];
	size_t forks = 0;

	hex_of(cp->root, SHA256_LEN, hex);
	name = xasprintf("fork-%llu-%.16s", LL cp->size, hex);
	path = path_join(s->dir, name);
	if (dir_list(s->dir, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		forks += str_starts(names.v[i], "fork-");
	if (forks < MAX_FORKS && !file_exists(path) &&
	    file_write(path, note.p, note.n, 0644, &ignored) < 0)
		err_clear(&ignored);
}

/* 0: it may be signed; 1: the request begins elsewhere than where we are. */
static int judge(const struct seen *s, const struct witness_request *r, const struct checkpoint *cp,
		 struct err *err)
{
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint64_t seen = s->note ? s->cp.size : 0;
	uint8_t root[SHA256_LEN];
	bool holds;

	if (r->old > cp->size)
		return bail(err, ERR_PARSE, "request from %llu entries to %llu: backwards",
			    LL r->old, LL cp->size);
	sha256("", 0, root);
	if (!cp->size && memcmp(cp->root, root, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "a log without entries has another root");
	if (cp->size < seen)
		return bail(err, ERR_BROKEN,
			    "rollback: '" SV_FMT "' shows %llu entries, it had %llu",
			    SV_ARG(cp->origin), LL cp->size, LL seen);
	if (s->note && cp->size == seen && memcmp(cp->root, s->cp.root, SHA256_LEN) != 0) {
		keep_fork(s, cp, r->checkpoint);
		return bail(err, ERR_BROKEN, "fork: '" SV_FMT "' has two heads of %llu entries",
			    SV_ARG(cp->origin), LL seen);
	}
	if (r->old != seen)
		return 1;
	holds = r->old ? merkle_consistency_holds(&h, r->old, cp->size, s->cp.root, cp->root,
						  r->hash, r->n)
		       : !r->n;
	if (holds)
		return 0;
	keep_fork(s, cp, r->checkpoint);
	return bail(err, ERR_BROKEN,
		    "fork: '" SV_FMT "' with %llu entries did not grow out of the %llu seen before",
		    SV_ARG(cp->origin), LL cp->size, LL seen);
}

void ledger_witnessed_release(struct ledger_witnessed *d)
{
	free(d->origin);
	free(d->lines);
	*d = (struct ledger_witnessed){ 0 };
}

/* Kept before it is handed out, so that nothing smaller is ever signed afterwards. */
static int sign_and_keep(const struct ledger_witness *w, const struct seen *s, const struct note *n,
			 struct sv note, const struct note_key *log, int64_t now_s,
			 struct ledger_witnessed *ret, struct err *err)
{
	struct note_key keep[2] = { *log, { 0 } };
	struct str line CLEANUP(str_release) = { 0 }, whole CLEANUP(str_release) = { 0 };
	AUTO_FREE char *path = path_join(s->dir, LEDGER_CHECKPOINT);
	AUTO_FREE char *vkey_path = path_join(s->dir, "vkey"), *vkey = NULL;
	int rc;

	note_cosign(n->text, w->name, &w->key, now_s, &line);
	note_key_of(w->name, NOTE_COSIGNATURE, w->key.public, &keep[1]);
	rc = note_merge(note, sv_str(&line), &(struct note_filter){ keep, 2 }, &whole, err);
	note_key_release(&keep[1]);
	TRY(rc);
	if (!s->vkey) {
		AUTO_FREE char *word = note_vkey(log);

		vkey = xasprintf("%s\n", word);
		TRY(dir_make(s->dir, err));
		TRY(file_write(vkey_path, vkey, strlen(vkey), 0644, err));
	}
	TRY(file_write(path, whole.p, whole.n, 0644, err));
	ret->cosigned = true;
	ret->lines = str_steal(&line);
	return 0;
}

int ledger_witness_add(struct ledger_witness *w, struct sv request, const char *log_vkey,
		       int64_t now_s, struct ledger_witnessed *ret, struct err *err)
{
	struct ledger_witnessed own CLEANUP(ledger_witnessed_release) = { 0 };
	struct seen s CLEANUP(seen_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key key CLEANUP(note_key_release) = { 0 };
	CLEANUP(closep) int lock = -1;
	struct witness_request r;
	struct checkpoint cp;
	int rc;

	TRY(witness_request_parse(request, &r, err));
	TRY(note_parse(r.checkpoint, &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	TRY(witness_lock(w, &lock, err));
	TRY(read_seen(w, cp.origin, &s, err));
	TRY(key_for(&s, cp.origin, log_vkey, &key, err));
	TRY(signed_well(&n, &key, err));
	rc = judge(&s, &r, &cp, err);
	if (rc < 0)
		return rc;
	own.origin = sv_dup(cp.origin);
	own.size = cp.size;
	own.seen = s.note ? s.cp.size : 0;
	own.first = !s.note;
	own.time_s = now_s;
	hex_of(cp.root, SHA256_LEN, own.root_hex);
	if (rc == 0)
		TRY(sign_and_keep(w, &s, &n, r.checkpoint, &key, now_s, &own, err));
	*ret = own;
	own = (struct ledger_witnessed){ 0 };
	return 0;
}

/* ---- a folder in place of a request ---- */

static int proof_of_folder(const char *dir, uint64_t old, uint64_t size, struct ledger_proof *ret,
			   struct err *err)
{
	AUTO_FREE char *tile = path_join(dir, "tile");
	struct tiles *t CLEANUP(freep) = xcalloc(1, sizeof(*t));
	struct ledger_conf conf = { .dir = dir, .flags = LEDGER_READONLY };
	struct ledger *l CLEANUP(ledger_closep) = NULL;
	struct merkle_source s;
	int rc;

	if (dir_exists(tile)) {
		t->dir = dir;
		t->size = size;
		s = tiles_source(t);
		rc = merkle_consistency(&s, old, size, ret, err);
		tiles_release(t);
		return rc;
	}
	TRY(ledger_open(&conf, &l, err));
	return ledger_consistency(l, old, size, ret, err);
}

int ledger_witness_request_of(struct ledger_witness *w, const char *dir, struct str *ret,
			      struct err *err)
{
	AUTO_FREE char *path = path_join(dir, LEDGER_CHECKPOINT), *text = NULL;
	struct ledger_proof proof CLEANUP(ledger_proof_release) = { 0 };
	struct seen s CLEANUP(seen_release) = { 0 };
	struct note n CLEANUP(note_release) = { 0 };
	struct checkpoint cp;
	uint64_t old;
	size_t len;

	TRY(file_read(path, NOTE_MAX, &text, &len, err));
	TRY(note_parse((struct sv){ text, len }, &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	TRY(read_seen(w, cp.origin, &s, err));
	old = s.note ? MIN(s.cp.size, cp.size) : 0;
	TRY(proof_of_folder(dir, old, cp.size, &proof, err));
	witness_request_write(old, &proof, (struct sv){ text, len }, ret);
	return 0;
}

/* ---- the list ---- */

int ledger_witness_each(struct ledger_witness *w,
			int (*seen)(void *arg, const struct ledger_witnessed *d, struct err *err),
			void *arg, struct err *err)
{
	struct strs names CLEANUP(strs_release) = { 0 };

	TRY(dir_list(w->dir, &names, err));
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *dir = path_join(w->dir, names.v[i]), *text = NULL;
		struct ledger_witnessed d CLEANUP(ledger_witnessed_release) = { .cosigned = true };
		struct note_key own CLEANUP(note_key_release) = { 0 };
		struct note n CLEANUP(note_release) = { 0 };
		struct strs files CLEANUP(strs_release) = { 0 };
		struct checkpoint cp;

		if (!hex_is_sha256(sv_of(names.v[i])))
			continue;
		TRY(read_if_there(dir, LEDGER_CHECKPOINT, &text, err));
		if (!text)
			continue;
		TRY(note_parse(sv_of(text), &n, err));
		TRY(checkpoint_parse(n.text, &cp, err));
		TRY(dir_list(dir, &files, err));
		for (size_t k = 0; k < files.n; k++)
			d.forks += str_starts(files.v[k], "fork-");
		TRY(note_key_parse(sv_of(w->vkey), &own, err));
		for (size_t k = 0; k < n.lines.n; k++)
			(void)note_line_check(&n, &n.lines.v[k], &own, &d.time_s);
		d.origin = sv_dup(cp.origin);
		d.size = d.seen = cp.size;
		hex_of(cp.root, SHA256_LEN, d.root_hex);
		TRY(seen(arg, &d, err));
	}
	return 0;
}
