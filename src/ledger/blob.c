/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence as files named by the SHA-256 of their plain bytes: blobs/ab/cdef..., or the same name
 * with .zst when compression is worth it. Whole or not there: temporary name, fsync, rename, fsync.
 */
#include "ledger/inner.h"

#include "base/canon.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define PLAIN_BELOW 4096 /* not worth a frame of its own */
#define LEVEL       3
#define WINDOW_LOG  27 /* 128 MiB: what a reader is made to allocate at most */

void ledger_blob_release(struct ledger_blob *b)
{
	free(b->media_type);
	*b = (struct ledger_blob){ 0 };
}

static char *blob_path(const char *dir, const char *digest, bool packed)
{
	return xasprintf("%s/blobs/%.2s/%s%s", dir, digest, digest + 2, packed ? ".zst" : "");
}

bool blob_file_there(const char *dir, const char *digest)
{
	AUTO_FREE char *plain = blob_path(dir, digest, false),
		       *packed = blob_path(dir, digest, true);

	return file_exists(plain) || file_exists(packed);
}

/* The folder and, when it was made now, its parents' entries too must be on disk. */
static int make_folder(const char *dir, const char *digest, char **ret, struct err *err)
{
	AUTO_FREE char *top = path_join(dir, "blobs");
	AUTO_FREE char *sub = xasprintf("%s/%.2s", top, digest);
	const char *const parents[] = { dir, top };

	if (!dir_exists(sub)) {
		TRY(dir_make(sub, err));
		for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
			CLEANUP(closep)
			int fd = open(parents[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			if (fd < 0 || fsync(fd) < 0)
				return bail_sys(err, "cannot flush '%s'", parents[i]);
		}
	}
	*ret = STEAL(sub);
	return 0;
}

static void cctx_drop(ZSTD_CCtx **c)
{
	(void)ZSTD_freeCCtx(*c);
}

/* Empty when it does not save a tenth. */
static void pack(struct sv data, struct str *to)
{
	CLEANUP(cctx_drop) ZSTD_CCtx *ctx = NULL;
	AUTO_FREE char *buf = NULL;
	size_t room, n;

	if (data.n < PLAIN_BELOW)
		return;
	ctx = ZSTD_createCCtx();
	room = ZSTD_compressBound(data.n);
	buf = xmalloc(room);
	if (!ctx)
		return;
	(void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(ctx, buf, room, data.p, data.n);
	if (!ZSTD_isError(n) && n < data.n - data.n / 10)
		str_addn(to, buf, n);
}

int blob_file_put(const char *dir, const char *digest, struct sv data, struct err *err)
{
	AUTO_FREE char *sub = NULL, *path = NULL;
	struct str packed CLEANUP(str_release) = { 0 };

	if (blob_file_there(dir, digest)) {
		AUTO_FREE char *same = NULL;
		size_t n;

		/* Trusted only when it is what its name says: a torn or bad file is written
		 * again. */
		if (blob_file_get(dir, digest, data.n, &same, &n, err) == 0)
			return 0;
		err_clear(err);
		TRY(blob_file_drop(dir, digest, err));
	}
	TRY(make_folder(dir, digest, &sub, err));
	pack(data, &packed);
	path = blob_path(dir, digest, packed.n > 0);
	return file_write(path, packed.n ? packed.p : data.p, packed.n ? packed.n : data.n, 0444,
			  err);
}

int blob_file_drop(const char *dir, const char *digest, struct err *err)
{
	for (int packed = 0; packed < 2; packed++) {
		AUTO_FREE char *path = blob_path(dir, digest, packed);

		if (unlink(path) < 0 && errno != ENOENT)
			return bail_sys(err, "cannot remove '%s'", path);
	}
	return 0;
}

/* ---- reading ---- */

static void dctx_drop(ZSTD_DCtx **d)
{
	(void)ZSTD_freeDCtx(*d);
}

struct sink {
	struct sha256 h;
	uint64_t bytes;
	size_t limit;
	struct str *keep; /* NULL: only counted and hashed */
};

static void sink_release(struct sink *s)
{
	sha256_release(&s->h);
}

static int sink_add(struct sink *s, const char *path, const void *p, size_t n, struct err *err)
{
	if (s->limit && n > s->limit - MIN(s->bytes, s->limit))
		return bail(err, ERR_LIMIT, "'%s' holds more than %zu bytes", path, s->limit);
	sha256_add(&s->h, p, n);
	s->bytes += n;
	if (s->keep)
		str_addn(s->keep, p, n);
	return 0;
}

static int read_some(int fd, const char *path, void *buf, size_t room, size_t *ret, struct err *err)
{
	ssize_t n;

	do
		n = read(fd, buf, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return bail_sys(err, "cannot read '%s'", path);
	*ret = (size_t)n;
	return 0;
}

static int read_plain(int fd, const char *path, struct sink *to, struct err *err)
{
	AUTO_FREE char *buf = xmalloc(128 * KIB);
	size_t n = 0;

	for (;;) {
		TRY(read_some(fd, path, buf, 128 * KIB, &n, err));
		if (!n)
			return 0;
		TRY(sink_add(to, path, buf, n, err));
	}
}

/* One frame and nothing after it. */
static int read_packed(int fd, const char *path, struct sink *to, struct err *err)
{
	CLEANUP(dctx_drop) ZSTD_DCtx *ctx = ZSTD_createDCtx();
	size_t in_room = ZSTD_DStreamInSize(), out_room = ZSTD_DStreamOutSize(), left = 1;
	AUTO_FREE char *in = xmalloc(in_room), *out = xmalloc(out_room);
	ZSTD_inBuffer src = { in, 0, 0 };

	if (!ctx || ZSTD_isError(ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, WINDOW_LOG)))
		return bail(err, ERR_BUG, "zstd cannot start");
	for (bool more = false;;) {
		ZSTD_outBuffer dst = { out, out_room, 0 };

		if (src.pos == src.size && !more) {
			TRY(read_some(fd, path, in, in_room, &src.size, err));
			src.pos = 0;
			if (!src.size)
				break;
		}
		if (!left)
			return bail(err, ERR_BROKEN, "'%s' goes on after its end", path);
		left = ZSTD_decompressStream(ctx, &dst, &src);
		if (ZSTD_isError(left))
			return bail(err, ERR_BROKEN, "'%s' is damaged: %s", path,
				    ZSTD_getErrorName(left));
		TRY(sink_add(to, path, out, dst.pos, err));
		more = left && dst.pos == out_room; /* decoded, not yet handed out */
	}
	return left ? bail(err, ERR_BROKEN, "'%s' is cut short", path) : 0;
}

static int read_blob(const char *dir, const char *digest, struct sink *to, struct err *err)
{
	for (int packed = 0; packed < 2; packed++) {
		AUTO_FREE char *path = blob_path(dir, digest, packed);
		CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		struct stat st;

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st) < 0)
			return bail_sys(err, "cannot open '%s'", path);
		if (!S_ISREG(st.st_mode))
			return bail(err, ERR_BROKEN, "'%s' is not a regular file", path);
		sha256_init(&to->h);
		return packed ? read_packed(fd, path, to, err) : read_plain(fd, path, to, err);
	}
	return bail(err, ERR_NOT_FOUND, "no blob %.12s in '%s'", digest, dir);
}

int blob_file_get(const char *dir, const char *digest, size_t limit, char **ret, size_t *ret_n,
		  struct err *err)
{
	struct str keep CLEANUP(str_release) = { 0 };
	struct sink to CLEANUP(sink_release) = { .limit = limit, .keep = &keep };
	uint8_t got[SHA256_LEN];
	char hex[SHA256_HEX];

	TRY(read_blob(dir, digest, &to, err));
	sha256_end(&to.h, got);
	hex_of(got, SHA256_LEN, hex);
	if (!streq(hex, digest))
		return bail(err, ERR_BROKEN, "blob %.12s holds other bytes", digest);
	*ret_n = keep.n;
	*ret = str_steal(&keep);
	return 0;
}

int blob_file_check(const char *dir, const uint8_t digest[SHA256_LEN], uint64_t *ret_bytes,
		    struct err *err)
{
	struct sink to CLEANUP(sink_release) = { 0 };
	uint8_t got[SHA256_LEN];
	char hex[SHA256_HEX];

	hex_of(digest, SHA256_LEN, hex);
	TRY(read_blob(dir, hex, &to, err));
	sha256_end(&to.h, got);
	if (memcmp(got, digest, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "blob %.12s holds other bytes", hex);
	*ret_bytes = to.bytes;
	return 0;
}

/* ---- public ---- */

/* Into the store that has them inside; beside while that is away: there it is found when it
 * lands. */
static int put_data(struct ledger *l, const uint8_t d[SHA256_LEN], const char *digest,
		    struct sv data, struct err *err)
{
	const struct store_ops *ops = l->store->ops;

	if (!ops->data_put)
		return blob_file_put(l->dir, digest, data, err);
	if (ops->data_put(l->store, d, data, err) == 0)
		return 0;
	if (!l->spool || !ops->away(l->store))
		return -(int)err->code;
	err_clear(err);
	return blob_file_put(l->dir, digest, data, err);
}

static int put(struct ledger *l, struct sv data, const char *media_type, struct ledger_blob *ret,
	       struct err *err)
{
	struct ledger_blob own CLEANUP(ledger_blob_release) = { .bytes = data.n };
	uint8_t d[SHA256_LEN];

	if (l->readonly)
		return bail(err, ERR_USAGE, "the ledger is open for reading only");
	for (const char *p = media_type; *p; p++)
		if (*p <= 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)
			return bail(err, ERR_PARSE, "'%s' is no media type", media_type);
	if (data.n > (size_t)CANON_MAX_INT)
		return bail(err, ERR_LIMIT, "a blob of more than 2^53 bytes");
	sha256(data.p, data.n, d);
	hex_of(d, sizeof(d), own.digest);
	own.media_type = xstrdup(media_type);
	TRY(put_data(l, d, own.digest, data, err));
	*ret = own;
	own = (struct ledger_blob){ 0 };
	return 0;
}

int ledger_blob_put(struct ledger *l, const void *p, size_t n, const char *media_type,
		    struct ledger_blob *ret, struct err *err)
{
	return put(l, (struct sv){ n ? p : "", n }, media_type, ret, err);
}

int ledger_blob_put_file(struct ledger *l, const char *path, const char *media_type,
			 struct ledger_blob *ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t n;

	TRY(file_read(path, LEDGER_BLOB_MAX, &text, &n, err));
	return put(l, (struct sv){ text, n }, media_type, ret, err);
}

json_t *ledger_blob_json(const struct ledger_blob *b)
{
	json_t *o = json_object();

	json_put_int(o, "bytes", (int64_t)b->bytes);
	json_put_str(o, "digest", b->digest);
	json_put_str(o, "media_type", b->media_type);
	return o;
}

int ledger_blob_get(struct ledger *l, const char *digest, size_t limit, char **ret, size_t *ret_n,
		    struct err *err)
{
	struct str data CLEANUP(str_release) = { 0 };
	uint8_t want[SHA256_LEN], got[SHA256_LEN];

	if (!hex_to(sv_of(digest), want, SHA256_LEN))
		return bail(err, ERR_PARSE, "'%s' is no digest", digest);
	if (!l->store->ops->data_get)
		return blob_file_get(l->dir, digest, limit, ret, ret_n, err);
	if (l->store->ops->data_get(l->store, want, &data, err) < 0) {
		if (!l->spool || !blob_file_there(l->dir, digest))
			return -(int)err->code;
		err_clear(err); /* it waits here for its entry to land */
		return blob_file_get(l->dir, digest, limit, ret, ret_n, err);
	}
	sha256(str_text(&data), data.n, got);
	if (memcmp(got, want, SHA256_LEN) != 0)
		return bail(err, ERR_BROKEN, "blob %.12s holds other bytes", digest);
	if (limit && data.n > limit)
		return bail(err, ERR_LIMIT, "blob %.12s holds more than %zu bytes", digest, limit);
	*ret_n = data.n;
	*ret = str_steal(&data);
	return 0;
}

int ledger_blob_drop(struct ledger *l, const char *digest, const char *state, const char *reason,
		     const struct ledger_new *who, struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	struct ledger_new e = *who;
	struct ledger_ref ref;
	uint8_t d[SHA256_LEN];

	if (!streq(state, "withheld") && !streq(state, "expired"))
		return bail(err, ERR_BUG, "'%s' is no state of a blob", state);
	if (!hex_to(sv_of(digest), d, SHA256_LEN))
		return bail(err, ERR_PARSE, "'%s' is no digest", digest);
	json_put(body, "blob", json_pack("{s:s}", "digest", digest));
	json_put_str(body, "state", state);
	json_put_str(body, "reason", reason);
	e.kind = "evidence.state";
	e.body = body;
	/* The entry first: bytes that are gone without one would be missing evidence. */
	TRY(ledger_append(l, &e, &ref, err));
	if (l->store->ops->data_drop)
		return l->store->ops->data_drop(l->store, d, err);
	return blob_file_drop(l->dir, digest, err);
}

static int count_blob(void *arg, const struct blob_row *r, struct err *err)
{
	struct ledger_blob_sums *s = arg;

	(void)err;
	if (sv_is(r->state, "withheld")) {
		s->withheld++;
	} else if (sv_is(r->state, "expired")) {
		s->expired++;
	} else {
		s->present++;
		s->bytes += r->bytes;
	}
	return 0;
}

int ledger_blob_count(struct ledger *l, struct ledger_blob_sums *ret, struct err *err)
{
	*ret = (struct ledger_blob_sums){ 0 };
	return l->store->ops->blobs(l->store, NULL, count_blob, ret, err);
}

static int is_there(struct ledger *l, const uint8_t digest[SHA256_LEN], bool *ret, struct err *err)
{
	char hex[SHA256_HEX];

	if (l->store->ops->data_there) /* a run with a spool keeps some beside */
		TRY(l->store->ops->data_there(l->store, digest, ret, err));
	hex_of(digest, SHA256_LEN, hex);
	if (!*ret && (!l->store->ops->data_there || l->spool))
		*ret = blob_file_there(l->dir, hex);
	return 0;
}

static int take_state(void *arg, const struct blob_row *r, struct err *err)
{
	(void)err;
	*(const char **)arg = sv_is(r->state, "withheld")  ? "withheld"
			      : sv_is(r->state, "expired") ? "expired"
							   : "missing";
	return 1;
}

int ledger_blob_state(struct ledger *l, const char *digest, const char **ret, struct err *err)
{
	uint8_t d[SHA256_LEN];
	bool there = false;

	*ret = "missing";
	if (!hex_to(sv_of(digest), d, SHA256_LEN))
		return bail(err, ERR_PARSE, "'%s' is no digest", digest);
	TRY(is_there(l, d, &there, err));
	if (there)
		*ret = "present";
	else
		TRY(l->store->ops->blobs(l->store, d, take_state, ret, err));
	return 0;
}

struct missing {
	struct ledger *l;
	uint64_t n;
};

static int count_missing(void *arg, const struct blob_row *r, struct err *err)
{
	struct missing *m = arg;
	bool there = false;

	if (!sv_is(r->state, "present"))
		return 0;
	TRY(is_there(m->l, r->digest, &there, err));
	m->n += !there;
	return 0;
}

int ledger_blobs_missing(struct ledger *l, uint64_t *ret, struct err *err)
{
	struct missing m = { .l = l };

	TRY(l->store->ops->blobs(l->store, NULL, count_missing, &m, err));
	*ret = m.n;
	return 0;
}
