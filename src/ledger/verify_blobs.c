/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence under verification: what entries name against what the store lists and what lies
 * there. */
#include "ledger/verifying.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

#define LL (unsigned long long)

void blobs_take(struct verifying *v, const struct entry *e)
{
	for (size_t i = 0; i < e->n_blobs; i++) {
		struct said_blob *b = VEC_ADD(&v->blobs);

		memcpy(b->digest, e->blobs[i].digest, SHA256_LEN);
		b->seq = e->seq;
		b->bytes = e->blobs[i].bytes;
		b->order = v->blobs.n;
		b->media_type = sv_dup(e->blobs[i].media_type);
	}
}

void blobs_state(struct verifying *v, const struct ledger_entry *e)
{
	const json_t *blob = json_object_get(e->body, "blob");
	const char *state = json_str_or(e->body, "state", "");
	uint8_t digest[SHA256_LEN];
	struct said_state *s;

	if (!streq(e->kind, "evidence.state") ||
	    !hex_to(sv_of(json_str_or(blob, "digest", "")), digest, SHA256_LEN))
		return;
	s = VEC_ADD(&v->states);
	memcpy(s->digest, digest, SHA256_LEN);
	s->state = streq(state, "expired") ? "expired" : "withheld";
}

static int by_digest(const void *a, const void *b)
{
	const struct said_blob *x = a, *y = b;
	int d = memcmp(x->digest, y->digest, SHA256_LEN);

	return d ? d : x->order < y->order ? -1 : x->order > y->order;
}

static int digest_only(const void *key, const void *at)
{
	return memcmp(key, ((const struct said_blob *)at)->digest, SHA256_LEN);
}

/* Each digest once, as the first entry names it, with its newest state. */
static void settle(struct verifying *v)
{
	size_t n = 0;

	if (v->blobs.n > 1)
		qsort(v->blobs.v, v->blobs.n, sizeof(*v->blobs.v), by_digest);
	for (size_t i = 0; i < v->blobs.n; i++) {
		if (n && memcmp(v->blobs.v[n - 1].digest, v->blobs.v[i].digest, SHA256_LEN) == 0)
			free(v->blobs.v[i].media_type);
		else
			v->blobs.v[n++] = v->blobs.v[i];
	}
	v->blobs.n = n;
	for (size_t i = 0; n && i < v->states.n; i++) {
		struct said_blob *b = bsearch(v->states.v[i].digest, v->blobs.v, n,
					      sizeof(*v->blobs.v), digest_only);

		if (b)
			b->state = v->states.v[i].state;
	}
}

struct merging {
	struct verifying *v;
	size_t at;
};

static void missing_row(struct merging *m)
{
	find(m->v, LEDGER_INDEX_MISMATCH, m->v->blobs.v[m->at++].seq,
	     "the store does not list a blob that the entry names");
}

/* Rows come in the order of digests, as ours do. */
static int on_row(void *arg, const struct blob_row *r, struct err *err)
{
	struct merging *m = arg;
	struct said_blob *b;
	const char *state;
	int d = -1;

	(void)err;
	while (m->at < m->v->blobs.n &&
	       (d = memcmp(m->v->blobs.v[m->at].digest, r->digest, SHA256_LEN)) < 0)
		missing_row(m);
	if (d != 0) {
		find(m->v, LEDGER_INDEX_MISMATCH, UINT64_MAX,
		     "the store lists a blob that no entry names");
		return 0;
	}
	b = &m->v->blobs.v[m->at++];
	state = b->state ? b->state : "present";
	if (r->bytes != b->bytes || !sv_is(r->media_type, b->media_type) || !sv_is(r->state, state))
		find(m->v, LEDGER_INDEX_MISMATCH, b->seq,
		     "the store lists a blob of it with another size, type or state");
	return 0;
}

static int look_at(struct verifying *v, const struct said_blob *b, uint64_t *ret_bytes,
		   struct err *err)
{
	struct str data CLEANUP(str_release) = { 0 };
	uint8_t got[SHA256_LEN];

	if (!v->l->store->ops->data_get)
		return blob_file_check(v->l->dir, b->digest, ret_bytes, err);
	TRY(v->l->store->ops->data_get(v->l->store, b->digest, &data, err));
	sha256(str_text(&data), data.n, got);
	*ret_bytes = data.n;
	return memcmp(got, b->digest, SHA256_LEN) == 0 ? 0 : bail(err, ERR_BROKEN, "other bytes");
}

static void check(struct verifying *v, const struct said_blob *b)
{
	struct err why = ERR_INIT;
	char hex[SHA256_HEX];
	uint64_t bytes = 0;
	int rc;

	hex_of(b->digest, SHA256_LEN, hex);
	if (b->state) {
		v->report->blobs_withheld++;
		find(v, LEDGER_WITHHELD, b->seq, "blob %.16s is %s", hex, b->state);
		return;
	}
	v->report->blobs++;
	rc = look_at(v, b, &bytes, &why);
	if (rc == -ERR_NOT_FOUND)
		find(v, LEDGER_BLOB_MISSING, b->seq, "blob %.16s is not there", hex);
	else if (rc < 0)
		find(v, LEDGER_BLOB_DIFFERS, b->seq, "%s", why.msg);
	else if (bytes != b->bytes)
		find(v, LEDGER_BLOB_DIFFERS, b->seq,
		     "blob %.16s has %llu bytes, the entry says %llu", hex, LL bytes, LL b->bytes);
}

int blobs_finish(struct verifying *v, struct err *err)
{
	struct merging m = { .v = v };

	settle(v);
	TRY(v->l->store->ops->blobs(v->l->store, NULL, on_row, &m, err));
	while (m.at < v->blobs.n)
		missing_row(&m);
	if (!v->conf->skip_blobs)
		for (size_t i = 0; i < v->blobs.n; i++)
			check(v, &v->blobs.v[i]);
	return 0;
}
