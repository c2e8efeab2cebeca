/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/entry.h"

#include "base/canon.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

const char *const ledger_kinds[] = {
	"anchor",       "attribution",   "baseline.set", "bisect.trial",   "capacity",
	"contract.set", "correction",    "cost",         "drill",          "evidence.state",
	"import",       "key.add",       "key.revoke",   "ledger.genesis", "run.abandon",
	"run.intent",   "run.result",    "signoff",      "stack.capture",  "verdict",
	"waiver",       "waiver.revoke", NULL,
};

bool entry_kind_known(struct sv kind)
{
	for (const char *const *k = ledger_kinds; *k && kind.n; k++)
		if ((*k)[0] == kind.p[0] && sv_is(kind, *k))
			return true;
	return false;
}

/* ---- taking apart ---- */

enum {
	HAVE_AT = 1,
	HAVE_BODY = 2,
	HAVE_BY = 4,
	HAVE_KIND = 8,
	HAVE_LOG = 16,
	HAVE_PREV = 32,
	HAVE_SEQ = 64,
	HAVE_V = 128,
	HAVE_ID = 256,
	HAVE_ROLE = 512,
	HAVE_ALL = 1023,
	HAVE_CHAIN = HAVE_LOG | HAVE_PREV | HAVE_SEQ | HAVE_V
};

/* A blob is an object with all three of these; they come in the order of their names. */
struct blob_probe {
	size_t object;
	bool have_bytes, have_digest;
	uint64_t bytes;
	uint8_t digest[SHA256_LEN];
};

struct taker {
	struct entry *e;
	unsigned have;
	bool foreign, top_object;
	struct blob_probe probe[CANON_MAX_DEPTH + 1];
};

static void take_string(struct taker *t, const struct canon_scalar *s, unsigned have, struct sv *to)
{
	if (s->type != 's' || s->escaped) {
		t->foreign = true;
		return;
	}
	*to = s->raw;
	t->have |= have;
}

static void take_number(struct taker *t, const struct canon_scalar *s, unsigned have, int64_t *to)
{
	if (s->type == 'i' && sv_to_i64(s->raw, 0, CANON_MAX_INT, to))
		t->have |= have;
	else
		t->foreign = true;
}

static void take_top(struct taker *t, const struct canon_scalar *s)
{
	struct entry *e = t->e;
	struct sv key = s->path[0];
	int64_t seq = 0;

	if (sv_is(key, "at")) {
		take_string(t, s, HAVE_AT, &e->at);
	} else if (sv_is(key, "body")) {
		if (s->type == '{' && !(t->have & HAVE_BODY))
			t->have |= HAVE_BODY;
		else
			t->foreign = true;
	} else if (sv_is(key, "by")) {
		if (s->type == '{' && !(t->have & HAVE_BY))
			t->have |= HAVE_BY;
		else
			t->foreign = true;
	} else if (sv_is(key, "kind")) {
		take_string(t, s, HAVE_KIND, &e->kind);
	} else if (sv_is(key, "log")) {
		take_string(t, s, HAVE_LOG, &e->log);
	} else if (sv_is(key, "prev")) {
		take_string(t, s, HAVE_PREV, &e->prev);
	} else if (sv_is(key, "seq")) {
		take_number(t, s, HAVE_SEQ, &seq);
		e->seq = (uint64_t)seq;
	} else if (sv_is(key, "v")) {
		take_number(t, s, HAVE_V, &e->v);
	} else {
		t->foreign = true;
	}
}

static void take_by(struct taker *t, const struct canon_scalar *s)
{
	if (s->depth == 2 && sv_is(s->path[1], "id") && s->type == 's') {
		t->e->by_id = s->raw;
		t->have |= HAVE_ID;
	} else if (s->depth == 2 && sv_is(s->path[1], "role")) {
		take_string(t, s, HAVE_ROLE, &t->e->role);
	} else {
		t->foreign = true;
	}
}

/* 64 lower-case hex digits, alone or after "sha256:". */
static bool digest_in(struct sv v, uint8_t ret[SHA256_LEN])
{
	if (v.n == 2 * SHA256_LEN + 7 && sv_starts(v, "sha256:")) {
		v.p += 7;
		v.n -= 7;
	}
	return hex_to(v, ret, SHA256_LEN);
}

static char *rel_of(const struct canon_scalar *s)
{
	size_t n = s->depth, at = 0;
	char rel[ENTRY_REL_MAX];

	if (n > 2 && sv_is(s->path[n - 1], "digest"))
		n--;
	for (size_t i = 1; i < n; i++) {
		size_t part = MIN(s->path[i].n, sizeof(rel) - at);

		memcpy(rel + at, s->path[i].p, part);
		at += part;
		if (i + 1 < n && at < sizeof(rel))
			rel[at++] = '.';
	}
	return xstrndup(rel, at);
}

static void grow_refs(struct entry *e)
{
	e->refs = vec_grow(e->refs, e->n_refs, &e->room_refs, sizeof(*e->refs));
}

static void probe_blob(struct taker *t, const struct canon_scalar *s)
{
	struct blob_probe *p = &t->probe[s->depth];
	struct sv key = s->path[s->depth - 1];
	struct entry *e = t->e;
	int64_t bytes;

	if (p->object != s->object)
		*p = (struct blob_probe){ .object = s->object };
	if (sv_is(key, "bytes") && s->type == 'i' && sv_to_i64(s->raw, 0, CANON_MAX_INT, &bytes)) {
		p->bytes = (uint64_t)bytes;
		p->have_bytes = true;
	} else if (sv_is(key, "digest") && s->type == 's') {
		p->have_digest = hex_to(s->raw, p->digest, SHA256_LEN);
	} else if (sv_is(key, "media_type") && s->type == 's' && !s->escaped && p->have_bytes &&
		   p->have_digest) {
		e->blobs = vec_grow(e->blobs, e->n_blobs, &e->room_blobs, sizeof(*e->blobs));
		e->blobs[e->n_blobs] =
			(struct entry_blob){ .bytes = p->bytes, .media_type = s->raw };
		memcpy(e->blobs[e->n_blobs++].digest, p->digest, SHA256_LEN);
	}
}

static void take_body(struct taker *t, const struct canon_scalar *s)
{
	struct entry *e = t->e;
	struct entry_ref ref;

	if (s->type == 's' && !s->escaped && digest_in(s->raw, ref.digest)) {
		ref.rel = rel_of(s);
		grow_refs(e);
		e->refs[e->n_refs++] = ref;
	}
	probe_blob(t, s);
}

static void take(void *ctx, const struct canon_scalar *s)
{
	struct taker *t = ctx;

	if (!s->depth) {
		t->top_object = s->type == '{';
		return;
	}
	if (!t->top_object)
		return;
	if (s->depth == 1)
		take_top(t, s);
	else if (sv_is(s->path[0], "body"))
		take_body(t, s);
	else if (sv_is(s->path[0], "by"))
		take_by(t, s);
	else
		t->foreign = true;
}

static int by_rel(const void *a, const void *b)
{
	const struct entry_ref *x = a, *y = b;
	int d = strcmp(x->rel, y->rel);

	return d ? d : memcmp(x->digest, y->digest, SHA256_LEN);
}

static void settle_refs(struct entry *e)
{
	size_t n = 0;

	if (e->n_refs < 2)
		return;
	qsort(e->refs, e->n_refs, sizeof(*e->refs), by_rel);
	for (size_t i = 0; i < e->n_refs; i++) {
		if (n && by_rel(&e->refs[n - 1], &e->refs[i]) == 0)
			free(e->refs[i].rel);
		else
			e->refs[n++] = e->refs[i];
	}
	e->n_refs = n;
}

static void entry_clear(struct entry *e)
{
	for (size_t i = 0; i < e->n_refs; i++)
		free(e->refs[i].rel);
	*e = (struct entry){ .refs = e->refs,
			     .room_refs = e->room_refs,
			     .blobs = e->blobs,
			     .room_blobs = e->room_blobs };
}

void entry_release(struct entry *e)
{
	entry_clear(e);
	free(e->refs);
	free(e->blobs);
	*e = (struct entry){ 0 };
}

static int time_of(struct sv at, int64_t *ret)
{
	char text[32];

	if (at.n != 24)
		return -1;
	memcpy(text, at.p, 24);
	text[24] = '\0';
	return time_utc_parse(text, ret) ? 0 : -1;
}

int entry_scan(struct sv bytes, struct entry *e, struct err *err)
{
	struct taker t = { .e = e };

	entry_clear(e);
	e->bytes = bytes;
	TRY(canon_scan(bytes, CANON_MAX_BYTES, take, &t, err));
	settle_refs(e);
	if (!t.top_object || (t.have & HAVE_CHAIN) != HAVE_CHAIN || !hex_is_sha256(e->prev))
		return bail(err, ERR_PARSE, "not an entry: no log, prev, seq or v");
	if (e->v != 1)
		return 0;
	if (t.foreign || t.have != HAVE_ALL)
		return bail(err, ERR_PARSE,
			    "not an entry: members missing, foreign or of another type");
	if (time_of(e->at, &e->at_ms) < 0)
		return bail(err, ERR_PARSE, "not an entry: 'at' is no UTC time with milliseconds");
	return 0;
}

/* ---- making ---- */

/* `log` and `kind` stand in signed notes and file names too, so they hold no escapes. */
static bool plain(const char *s)
{
	if (!s || !*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= 0x20 || *s == '"' || *s == '\\' || *s == 0x7f)
			return false;
	return true;
}

static int make(const struct ledger_new *n, const struct entry_place *at, struct str *to,
		struct err *err)
{
	AUTO_FREE char *time = time_utc(n->at_ms);
	size_t before = to->n;
	char hex[SHA256_HEX], seq[24];

	hex_of(at->prev, SHA256_LEN, hex);
	(void)snprintf(seq, sizeof(seq), "%llu", (unsigned long long)at->seq);
	str_add(to, "{\"at\":\"");
	str_add(to, time);
	str_add(to, "\",\"body\":");
	if (canon_write(n->body, 0, to, err) < 0)
		return err_wrap(err, "body of '%s'", n->kind);
	str_add(to, ",\"by\":{\"id\":");
	TRY(canon_write_text(sv_of(n->by_id), to, err));
	str_add(to, ",\"role\":");
	TRY(canon_write_text(sv_of(n->role), to, err));
	str_add(to, "},\"kind\":\"");
	str_add(to, n->kind);
	str_add(to, "\",\"log\":");
	TRY(canon_write_text(sv_of(at->log), to, err));
	str_add(to, ",\"prev\":\"");
	str_add(to, hex);
	str_add(to, "\",\"seq\":");
	str_add(to, seq);
	str_add(to, ",\"v\":1}");
	if (to->n - before <= CANON_MAX_BYTES)
		return 0;
	(void)bail(err, ERR_LIMIT, "an entry of '%s' is %zu bytes, the limit is %d", n->kind,
		   to->n - before, CANON_MAX_BYTES);
	err_hint(err, "Put what is large into a blob.");
	return -ERR_LIMIT;
}

int entry_make(const struct ledger_new *n, const struct entry_place *at, struct str *ret,
	       struct err *err)
{
	size_t before = ret->n;
	int rc;

	if (!n->kind || !entry_kind_known(sv_of(n->kind)))
		return bail(err, ERR_BUG, "'%s' is no kind of entry", n->kind ? n->kind : "");
	if (!plain(n->role) || !n->by_id || !*n->by_id || !plain(at->log))
		return bail(err, ERR_PARSE, "an entry needs by, role and log");
	if (!json_is_object(n->body))
		return bail(err, ERR_PARSE, "the body of an entry is not an object");
	rc = make(n, at, ret, err);
	if (rc < 0)
		str_cut(ret, before);
	return rc;
}

/* ---- whole ---- */

void ledger_entry_release(struct ledger_entry *e)
{
	free(e->kind);
	free(e->by_id);
	free(e->role);
	free(e->at);
	free(e->bytes);
	json_decref(e->body);
	*e = (struct ledger_entry){ 0 };
}

int entry_full(struct sv bytes, const uint8_t leaf[SHA256_LEN], struct ledger_entry *ret,
	       struct err *err)
{
	struct ledger_entry own CLEANUP(ledger_entry_release) = { 0 };
	struct entry e CLEANUP(entry_release) = { 0 };
	AUTO_JSON json_t *top = NULL;

	TRY(entry_scan(bytes, &e, err));
	TRY(canon_read(bytes, CANON_MAX_BYTES, CANON_STRICT, &top, err));
	own.ref.seq = e.seq;
	memcpy(own.ref.leaf, leaf, SHA256_LEN);
	hex_of(leaf, SHA256_LEN, own.ref.hex);
	own.kind = sv_dup(e.kind);
	own.by_id = xstrdup(json_str_or(json_object_get(top, "by"), "id", ""));
	own.role = sv_dup(e.role);
	own.at = sv_dup(e.at);
	own.at_ms = e.at_ms;
	own.body = json_incref(json_object_get(top, "body"));
	own.bytes = sv_dup(bytes);
	own.n = bytes.n;
	*ret = own;
	own = (struct ledger_entry){ 0 };
	return 0;
}
