/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exported folder as a store that can only be read. All that a store keeps beside the bytes is
 * derived from them here, so there is nothing in it that could differ.
 */
#include "ledger/inner.h"
#include "ledger/sshwire.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct line {
	struct sv bytes, kind;
	int64_t at_ms;
	uint8_t leaf[SHA256_LEN];
};
struct out_blob {
	uint8_t digest[SHA256_LEN];
	uint64_t bytes;
	size_t order;
	struct sv media_type;
	const char *state;
};
struct out_state {
	uint8_t digest[SHA256_LEN];
	const char *state;
};
struct out_sig {
	uint8_t leaf[SHA256_LEN];
	char *signer, *text;
};

struct folder {
	struct store base;
	char *dir;
	void *map;
	size_t map_n;
	struct line *v;
	size_t n, room;
	struct out_blob *blobs;
	size_t n_blobs, room_blobs;
	struct out_state *states;
	size_t n_states, room_states;
	struct out_sig *sigs;
	size_t n_sigs, room_sigs;
	struct frontier frontier;
	struct sha256 h;
	char *origin;
};

static struct folder *folder_of(struct store *s)
{
	return (struct folder *)s;
}

static void f_close(struct store *s)
{
	struct folder *f = folder_of(s);

	if (f->map)
		(void)munmap(f->map, f->map_n);
	for (size_t i = 0; i < f->n_sigs; i++) {
		free(f->sigs[i].signer);
		free(f->sigs[i].text);
	}
	free(f->sigs);
	free(f->blobs);
	free(f->states);
	free(f->v);
	free(f->dir);
	free(f->origin);
	sha256_release(&f->h);
	free(f);
}

static int read_only(struct err *err)
{
	return bail(err, ERR_USAGE, "an export can only be read");
}

/* ---- loading ---- */

static void take_state(struct folder *f, struct sv bytes, const uint8_t leaf[SHA256_LEN])
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err ignored = ERR_INIT;
	struct out_state st = { .state = "withheld" };

	if (entry_full(bytes, leaf, &e, &ignored) < 0 ||
	    !hex_to(sv_of(json_str_or(json_object_get(e.body, "blob"), "digest", "")), st.digest,
		    SHA256_LEN))
		return;
	if (streq(json_str_or(e.body, "state", ""), "expired"))
		st.state = "expired";
	f->states = vec_grow(f->states, f->n_states, &f->room_states, sizeof(*f->states));
	f->states[f->n_states++] = st;
}

static void take_line(struct folder *f, struct sv bytes, struct entry *e)
{
	struct err ignored = ERR_INIT;
	struct line *l;

	f->v = vec_grow(f->v, f->n, &f->room, sizeof(*f->v));
	l = &f->v[f->n];
	*l = (struct line){ .bytes = bytes };
	f->n++;
	merkle_leaf(&f->h, bytes, l->leaf);
	frontier_add(&f->frontier, &f->h, l->leaf);
	if (entry_scan(bytes, e, &ignored) < 0)
		return;
	l->kind = e->kind;
	l->at_ms = e->at_ms;
	if (!f->origin)
		f->origin = sv_dup(e->log);
	for (size_t i = 0; i < e->n_blobs; i++) {
		f->blobs = vec_grow(f->blobs, f->n_blobs, &f->room_blobs, sizeof(*f->blobs));
		f->blobs[f->n_blobs] = (struct out_blob){ .bytes = e->blobs[i].bytes,
							  .media_type = e->blobs[i].media_type,
							  .order = f->n_blobs,
							  .state = "present" };
		memcpy(f->blobs[f->n_blobs++].digest, e->blobs[i].digest, SHA256_LEN);
	}
	if (sv_is(e->kind, "evidence.state"))
		take_state(f, bytes, l->leaf);
}

static int by_digest(const void *a, const void *b)
{
	const struct out_blob *x = a, *y = b;
	int d = memcmp(x->digest, y->digest, SHA256_LEN);

	return d ? d : x->order < y->order ? -1 : x->order > y->order;
}

static int digest_only(const void *key, const void *at)
{
	return memcmp(key, ((const struct out_blob *)at)->digest, SHA256_LEN);
}

/* Each once, as the first entry names it, in its newest state. */
static void settle_blobs(struct folder *f)
{
	size_t n = 0;

	if (f->n_blobs > 1)
		qsort(f->blobs, f->n_blobs, sizeof(*f->blobs), by_digest);
	for (size_t i = 0; i < f->n_blobs; i++)
		if (!n || memcmp(f->blobs[n - 1].digest, f->blobs[i].digest, SHA256_LEN) != 0)
			f->blobs[n++] = f->blobs[i];
	f->n_blobs = n;
	for (size_t i = 0; n && i < f->n_states; i++) {
		struct out_blob *b =
			bsearch(f->states[i].digest, f->blobs, n, sizeof(*f->blobs), digest_only);

		if (b)
			b->state = f->states[i].state;
	}
}

static int load_entries(struct folder *f, struct err *err)
{
	AUTO_FREE char *path = path_join(f->dir, LEDGER_ENTRIES);
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct entry e CLEANUP(entry_release) = { 0 };
	struct sv rest, line;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return bail_sys(err, "cannot read '%s'", path);
	f->map_n = (size_t)st.st_size;
	if (f->map_n) {
		f->map = mmap(NULL, f->map_n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f->map == MAP_FAILED) {
			f->map = NULL;
			return bail_sys(err, "cannot read '%s'", path);
		}
	}
	rest = (struct sv){ f->map ? f->map : "", f->map_n };
	/* Exactly one newline after each: a view that sv_line would trim is other bytes. */
	while (rest.n && sv_split(&rest, '\n', &line))
		take_line(f, line, &e);
	settle_blobs(f);
	return 0;
}

static int by_leaf(const void *a, const void *b)
{
	const struct out_sig *x = a, *y = b;
	int d = memcmp(x->leaf, y->leaf, SHA256_LEN);

	return d ? d : strcmp(x->signer, y->signer);
}

/* signatures/SEQ-N.sshsig; who signed is in the signature itself. */
static int load_signature(struct folder *f, const char *dir, const char *name, struct err *err)
{
	AUTO_FREE char *path = path_join(dir, name), *text = NULL;
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct err ignored = ERR_INIT;
	struct sv rest = sv_of(name), number;
	struct out_sig *s;
	uint64_t seq;

	if (!sv_ends(rest, ".sshsig") || !sv_split(&rest, '-', &number) || !sv_to_u64(number, &seq))
		return bail(err, ERR_BROKEN, "'%s' is no name of a signature", path);
	TRY(file_read(path, 64 * KIB, &text, NULL, err));
	f->sigs = vec_grow(f->sigs, f->n_sigs, &f->room_sigs, sizeof(*f->sigs));
	s = &f->sigs[f->n_sigs];
	*s = (struct out_sig){ 0 };
	if (seq < f->n)
		memcpy(s->leaf, f->v[seq].leaf, SHA256_LEN);
	if (ssh_signer(sv_of(text), &key, &ignored) == 0)
		s->signer = xstrdup(key.fingerprint);
	else
		s->signer = xstrdup("");
	s->text = STEAL(text);
	f->n_sigs++;
	return 0;
}

static int load_signatures(struct folder *f, struct err *err)
{
	AUTO_FREE char *dir = path_join(f->dir, "signatures");
	struct strs names CLEANUP(strs_release) = { 0 };

	if (!dir_exists(dir))
		return 0;
	TRY(dir_list(dir, &names, err));
	for (size_t i = 0; i < names.n; i++)
		TRY(load_signature(f, dir, names.v[i], err));
	if (f->n_sigs > 1)
		qsort(f->sigs, f->n_sigs, sizeof(*f->sigs), by_leaf);
	return 0;
}

/* ---- reading ---- */

static int f_made(struct store *s, bool *ret, struct err *err)
{
	(void)s, (void)err;
	*ret = true;
	return 0;
}

static int f_make(struct store *s, const char *origin, struct err *err)
{
	(void)s, (void)origin;
	return read_only(err);
}

static int f_begin(struct store *s, bool write, struct err *err)
{
	(void)s;
	return write ? read_only(err) : 0;
}

static int f_commit(struct store *s, struct err *err)
{
	(void)s, (void)err;
	return 0;
}

static void f_rollback(struct store *s)
{
	(void)s;
}

static int f_head(struct store *s, struct log_head *ret, struct err *err)
{
	const struct folder *f = folder_of(s);

	(void)err;
	*ret = (struct log_head){ .origin = xstrdup(f->origin ? f->origin : ""),
				  .frontier = f->frontier };
	if (f->n)
		memcpy(ret->head, f->v[f->n - 1].leaf, SHA256_LEN);
	return 0;
}

static bool fits(const struct line *l, const struct row_query *q)
{
	bool kind = !q->kinds;

	for (const char *const *k = q->kinds; k && *k; k++)
		kind |= sv_is(l->kind, *k);
	return kind && (!q->since_ms || l->at_ms >= q->since_ms) &&
	       (!q->until_ms || l->at_ms < q->until_ms) &&
	       (!q->leaf_lo || (memcmp(l->leaf, q->leaf_lo, SHA256_LEN) >= 0 &&
				memcmp(l->leaf, q->leaf_hi, SHA256_LEN) <= 0));
}

static bool refers(const struct line *l, const struct row_query *q, struct entry *e)
{
	struct err ignored = ERR_INIT;

	if (!q->digest)
		return true;
	if (entry_scan(l->bytes, e, &ignored) < 0)
		return false;
	for (size_t i = 0; i < e->n_refs; i++)
		if (memcmp(e->refs[i].digest, q->digest, SHA256_LEN) == 0 &&
		    (!q->rel || streq(e->refs[i].rel, q->rel)))
			return true;
	return false;
}

/* An entry is where it stands in the file; whether it says so itself is for verify to find. */
static int f_rows(struct store *s, const struct row_query *q, row_seen *seen, void *arg,
		  struct err *err)
{
	const struct folder *f = folder_of(s);
	struct entry e CLEANUP(entry_release) = { 0 };
	uint64_t end = q->to ? MIN(q->to, (uint64_t)f->n) : f->n, given = 0;

	for (uint64_t i = q->from; i < end; i++) {
		uint64_t at = q->newest_first ? end - 1 - (i - q->from) : i;
		const struct line *l = &f->v[at];
		struct entry_row r = { at, l->kind, l->bytes, l->at_ms, { 0 } };
		int rc;

		if (!fits(l, q) || !refers(l, q, &e))
			continue;
		memcpy(r.leaf, l->leaf, SHA256_LEN);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
		if (q->limit && ++given == q->limit)
			break;
	}
	return 0;
}

static int f_refs(struct store *s, uint64_t from, uint64_t to, ref_seen *seen, void *arg,
		  struct err *err)
{
	const struct folder *f = folder_of(s);
	struct entry e CLEANUP(entry_release) = { 0 };
	struct err ignored = ERR_INIT;

	for (uint64_t i = from; i < MIN(to, (uint64_t)f->n); i++) {
		if (entry_scan(f->v[i].bytes, &e, &ignored) < 0)
			continue;
		for (size_t k = 0; k < e.n_refs; k++) {
			int rc = seen(arg, i, sv_of(e.refs[k].rel), e.refs[k].digest, err);

			if (rc)
				return rc < 0 ? rc : 0;
		}
	}
	return 0;
}

static int f_leaves(struct store *s, uint64_t from, uint64_t to, leaf_seen *seen, void *arg,
		    struct err *err)
{
	const struct folder *f = folder_of(s);

	for (uint64_t i = from; i < MIN(to, (uint64_t)f->n); i++) {
		int rc = seen(arg, i, f->v[i].leaf, err);

		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int f_signatures(struct store *s, const uint8_t *leaf, sig_seen *seen, void *arg,
			struct err *err)
{
	const struct folder *f = folder_of(s);

	for (size_t i = 0; i < f->n_sigs; i++) {
		struct sig_row r = { .scheme = SV("sshsig"),
				     .signer = sv_of(f->sigs[i].signer),
				     .sig = sv_of(f->sigs[i].text) };
		int rc;

		if (leaf && memcmp(leaf, f->sigs[i].leaf, SHA256_LEN) != 0)
			continue;
		memcpy(r.leaf, f->sigs[i].leaf, SHA256_LEN);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int f_notes(struct store *s, note_seen *seen, void *arg, struct err *err)
{
	(void)s, (void)seen, (void)arg, (void)err;
	return 0;
}

static int f_blobs(struct store *s, const uint8_t *digest, blob_seen *seen, void *arg,
		   struct err *err)
{
	const struct folder *f = folder_of(s);

	for (size_t i = 0; i < f->n_blobs; i++) {
		struct blob_row r = { .bytes = f->blobs[i].bytes,
				      .media_type = f->blobs[i].media_type,
				      .state = sv_of(f->blobs[i].state) };
		int rc;

		if (digest && memcmp(digest, f->blobs[i].digest, SHA256_LEN) != 0)
			continue;
		memcpy(r.digest, f->blobs[i].digest, SHA256_LEN);
		rc = seen(arg, &r, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

static int f_check(struct store *s, fault_seen *seen, void *arg, struct err *err)
{
	(void)s, (void)seen, (void)arg, (void)err;
	return 0;
}

static int f_add(struct store *s, const struct entry_row *r, const struct entry *e,
		 const struct log_head *after, struct err *err)
{
	(void)s, (void)r, (void)e, (void)after;
	return read_only(err);
}

static int f_sign(struct store *s, const struct sig_row *r, struct err *err)
{
	(void)s, (void)r;
	return read_only(err);
}

static int f_note_add(struct store *s, uint64_t size, struct sv note, struct err *err)
{
	(void)s, (void)size, (void)note;
	return read_only(err);
}

static int f_blob_state(struct store *s, const uint8_t digest[SHA256_LEN], const char *state,
			struct err *err)
{
	(void)s, (void)digest, (void)state;
	return read_only(err);
}

static const struct store_ops export_ops = {
	.name = "export",
	.close = f_close,
	.made = f_made,
	.make = f_make,
	.begin = f_begin,
	.commit = f_commit,
	.rollback = f_rollback,
	.head = f_head,
	.add = f_add,
	.rows = f_rows,
	.refs = f_refs,
	.leaves = f_leaves,
	.sign = f_sign,
	.signatures = f_signatures,
	.note_add = f_note_add,
	.notes = f_notes,
	.blob_state = f_blob_state,
	.blobs = f_blobs,
	.check = f_check,
};

int store_export_open(const char *dir, struct store **ret, struct err *err)
{
	struct folder *f = xcalloc(1, sizeof(*f));
	CLEANUP(store_closep) struct store *own = &f->base;

	f->base.ops = &export_ops;
	f->dir = xstrdup(dir);
	TRY(load_entries(f, err));
	TRY(load_signatures(f, err));
	*ret = STEAL(own);
	return 0;
}
