/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power loss. A VFS between SQLite and the disk remembers what was written to each file since it
 * was last flushed. At the nth write or flush the process ends, and what it had not flushed is
 * lost: all of it, or all but an arbitrary part of its sectors of 512 bytes. What was acknowledged
 * has to be there then, and the rest has to be whole.
 */
#include "ledger_scene.h"

#include <sqlite3.h>

#ifndef CUTS
#define CUTS 60
#endif
#define SECTOR 512

/* ---- the VFS --------------------------------------------------------------------------------- */

struct change {
	sqlite3_int64 at;
	size_t n;
	unsigned char *p;
	bool cut; /* the file ends at `at` from here on */
};
struct kept { /* one file: as it is for sure, and what may get lost */
	char path[512];
	unsigned char *p;
	size_t n;
	struct change *v;
	size_t n_changes;
	bool gone;
};
struct shim {
	sqlite3_file base;
	struct kept *kept; /* NULL: not ours to keep */
	sqlite3_file *real;
};

static struct kept files[16];
static size_t n_files;
static sqlite3_vfs *under;
static long left; /* writes and flushes until the power goes; 0: it stays */
static bool torn;
static uint32_t dice;

static uint32_t roll(void)
{
	dice = dice * 1664525 + 1013904223;
	return dice >> 8;
}

static void put(struct kept *k, sqlite3_int64 at, const unsigned char *p, size_t n)
{
	size_t end = (size_t)at + n;

	if (end > k->n) {
		k->p = xrealloc(k->p, end);
		memset(k->p + k->n, 0, end - k->n);
		k->n = end;
	}
	memcpy(k->p + at, p, n);
}

static void apply(struct kept *k, const struct change *c)
{
	if (c->cut)
		k->n = MIN(k->n, (size_t)c->at);
	else
		put(k, c->at, c->p, c->n);
}

/* Writes are in order only up to a flush: any of the sectors may have reached the disk. */
static void apply_torn(struct kept *k, const struct change *c)
{
	for (size_t i = 0; !c->cut && i < c->n; i += SECTOR)
		if (roll() % 2)
			put(k, c->at + (sqlite3_int64)i, c->p + i, MIN(c->n - i, (size_t)SECTOR));
	if (c->cut && roll() % 2)
		apply(k, c);
}

static void power_off(void)
{
	for (size_t i = 0; i < n_files; i++) {
		struct kept *k = &files[i];
		FILE *f;

		for (size_t c = 0; torn && c < k->n_changes; c++)
			apply_torn(k, &k->v[c]);
		f = k->gone ? NULL : fopen(k->path, "wb");
		if (k->gone)
			(void)unlink(k->path);
		if (f && ((k->n && fwrite(k->p, 1, k->n, f) != k->n) || fclose(f) != 0))
			_exit(3);
	}
	_exit(10);
}

static void tick(void)
{
	if (left && !--left)
		power_off();
}

static void remember(struct kept *k, const struct change *c)
{
	k->v = xrealloc(k->v, (k->n_changes + 1) * sizeof(*k->v));
	k->v[k->n_changes++] = *c;
}

static int shim_close(sqlite3_file *f)
{
	struct shim *s = (struct shim *)f;

	return s->real->pMethods ? s->real->pMethods->xClose(s->real) : SQLITE_OK;
}

static int shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	struct shim *s = (struct shim *)f;

	return s->real->pMethods->xRead(s->real, p, n, at);
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	struct shim *s = (struct shim *)f;
	struct change c = { .at = at, .n = (size_t)n };

	if (s->kept) {
		c.p = xmalloc(c.n);
		memcpy(c.p, p, c.n);
		remember(s->kept, &c);
		tick();
	}
	return s->real->pMethods->xWrite(s->real, p, n, at);
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	struct shim *s = (struct shim *)f;

	if (s->kept) {
		remember(s->kept, &(struct change){ .at = n, .cut = true });
		tick();
	}
	return s->real->pMethods->xTruncate(s->real, n);
}

static int shim_sync(sqlite3_file *f, int flags)
{
	struct shim *s = (struct shim *)f;
	struct kept *k = s->kept;

	if (k) {
		tick();
		for (size_t i = 0; i < k->n_changes; i++) {
			apply(k, &k->v[i]);
			free(k->v[i].p);
		}
		k->n_changes = 0;
	}
	return s->real->pMethods->xSync(s->real, flags);
}

/* The rest goes through as it is. */
#define REAL(f)            (((struct shim *)(f))->real)
#define CALL(f, what, ...) REAL(f)->pMethods->what(REAL(f), ##__VA_ARGS__)

static int shim_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return CALL(f, xFileSize, n);
}
static int shim_lock(sqlite3_file *f, int how)
{
	return CALL(f, xLock, how);
}
static int shim_unlock(sqlite3_file *f, int how)
{
	return CALL(f, xUnlock, how);
}
static int shim_reserved(sqlite3_file *f, int *ret)
{
	return CALL(f, xCheckReservedLock, ret);
}
static int shim_control(sqlite3_file *f, int op, void *arg)
{
	return CALL(f, xFileControl, op, arg);
}
static int shim_sector(sqlite3_file *f)
{
	return CALL(f, xSectorSize);
}
/* No promise of the device: SQLite has to assume the worst. */
static int shim_device(sqlite3_file *f)
{
	(void)f;
	return 0;
}
static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return CALL(f, xShmMap, page, size, extend, ret);
}
static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return CALL(f, xShmLock, at, n, flags);
}
static void shim_shm_barrier(sqlite3_file *f)
{
	CALL(f, xShmBarrier);
}
static int shim_shm_unmap(sqlite3_file *f, int gone)
{
	return CALL(f, xShmUnmap, gone);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, /* no memory maps: they would go past us */
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_reserved,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_device,
	.xShmMap = shim_shm_map,
	.xShmLock = shim_shm_lock,
	.xShmBarrier = shim_shm_barrier,
	.xShmUnmap = shim_shm_unmap,
};

static struct kept *keep(const char *path)
{
	struct err err = ERR_INIT;
	struct kept *k;
	char *text;

	for (size_t i = 0; i < n_files; i++)
		if (streq(files[i].path, path))
			return &files[i];
	CHECK(n_files < ARRAY_SIZE(files));
	k = &files[n_files++];
	(void)snprintf(k->path, sizeof(k->path), "%s", path);
	if (file_read(path, 256 * MIB, &text, &k->n, &err) == 0)
		k->p = (unsigned char *)text;
	return k;
}

static int shim_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret)
{
	struct shim *s = (struct shim *)f;
	int rc;

	(void)v;
	s->real = (sqlite3_file *)(s + 1);
	s->kept = name && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) ? keep(name) : NULL;
	rc = under->xOpen(under, name, s->real, flags, ret);
	f->pMethods = rc == SQLITE_OK ? &methods : NULL;
	return rc;
}

static int shim_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	return under->xDelete(under, name, sync);
}

static void shim_install(void)
{
	static sqlite3_vfs shim;

	under = sqlite3_vfs_find(NULL);
	shim = *under;
	shim.zName = "power";
	shim.szOsFile = (int)sizeof(struct shim) + under->szOsFile;
	shim.xOpen = shim_open;
	shim.xDelete = shim_delete;
	CHECK(sqlite3_vfs_register(&shim, /* makeDflt= */ 1) == SQLITE_OK);
}

/* ---- a writer whose power goes --------------------------------------------------------------- */

static int one(struct ledger *l, unsigned i, struct ledger_ref *ret, struct err *err)
{
	AUTO_FREE char *text = xasprintf("{\"n\":%u,\"text\":\"%0700d\"}", i, 7);
	AUTO_JSON json_t *body = scene_json(text);
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct ledger_new n = { .kind = "cost",
				.body = body,
				.by_id = SCENE_BY,
				.role = "machine",
				.at_ms = SCENE_START };

	TRY(ledger_append(l, &n, ret, err));
	if (i % 5 == 4)
		TRY(ledger_checkpoint(l, &cp, err));
	return 0;
}

/* The seqs that were acknowledged go through the pipe. False: it came to its end before. */
static bool writer(const char *dir, long after, bool tear, uint32_t seed, struct ledger_ref *refs,
		   size_t room, size_t *ret_n)
{
	int acks[2], status;
	pid_t pid;

	CHECK_INT(pipe(acks), 0);
	pid = fork();
	if (pid == 0) {
		struct ledger_ref ref;
		struct err err = ERR_INIT;
		struct ledger *l;

		torn = tear;
		dice = seed;
		shim_install();
		l = scene_open(dir);
		left = after;
		for (unsigned i = 0; i < room; i++) {
			CHECK_OK(one(l, i, &ref, &err), err);
			CHECK_INT(write(acks[1], &ref, sizeof(ref)), sizeof(ref));
		}
		_exit(11); /* without closing: that would flush */
	}
	close(acks[1]);
	*ret_n = 0;
	while (*ret_n < room && read(acks[0], &refs[*ret_n], sizeof(*refs)) == sizeof(*refs))
		++*ret_n;
	close(acks[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) != 10 && WEXITSTATUS(status) != 11)
		test_fails(__FILE__, __LINE__, "after %ld: status %x", after, status);
	return WEXITSTATUS(status) == 10;
}

static void holds(const char *dir, long after, const struct ledger_ref *refs, size_t n)
{
	AUTO_FREE char *shm = xasprintf("%s/ledger.db-shm", dir);
	struct err err = ERR_INIT;
	const char *found;
	struct ledger *l;

	(void)unlink(shm); /* memory only: gone with the power */
	l = scene_open(dir);
	for (size_t i = 0; i < n; i++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

		if (ledger_get(l, refs[i].seq, &e, &err) < 0 || !streq(e.ref.hex, refs[i].hex))
			test_fails(__FILE__, __LINE__, "after %ld writes entry %llu is lost", after,
				   (unsigned long long)refs[i].seq);
	}
	ledger_close(l);
	found = scene_verify(dir);
	CHECK_STR(found, "");
}

static void power_goes(bool tear)
{
	struct ledger_ref refs[400];
	size_t n, acknowledged = 0, cuts = 0;
	long after = 1;

	/* At every write and flush of the first entries, then at ever larger steps, until more than
	 * a thousand pages have gone through the log and back into the file. */
	for (; cuts < CUTS; cuts++, after += 1 + after / 40) {
		AUTO_FREE char *dir = xasprintf("%s/%zu", test_dir(), cuts);

		ledger_close(scene_open(dir));
		if (!writer(dir, after, tear, (uint32_t)after, refs, ARRAY_SIZE(refs), &n))
			break;
		holds(dir, after, refs, n);
		acknowledged += n;
		test_remove_dir(dir);
	}
	printf("# power off at %zu points, the last after %ld writes: %zu acknowledged, none "
	       "lost\n",
	       cuts, after, acknowledged);
	CHECK(cuts > 30 && acknowledged > cuts / 2);
}

static void nothing_acknowledged_is_lost_with_the_power(void)
{
	power_goes(/* tear= */ false);
}

static void nor_when_some_sectors_reached_the_disk(void)
{
	power_goes(/* tear= */ true);
}

/* The test of the test: a store that does not flush loses what it said was done. */
static void the_shim_does_lose_what_is_not_flushed(void)
{
	struct ledger_ref refs[40];
	const char *dir = scene_path("l");
	struct stat before, after;
	size_t n;

	ledger_close(scene_open(dir));
	CHECK_INT(stat(scene_path("l/ledger.db"), &before), 0);
	CHECK(writer(dir, 20, false, 1, refs, ARRAY_SIZE(refs), &n));
	CHECK(n > 0);
	/* Without its log the file alone is what it was: the entries were only there. */
	(void)unlink(scene_path("l/ledger.db-wal"));
	(void)unlink(scene_path("l/ledger.db-shm"));
	CHECK_INT(stat(scene_path("l/ledger.db"), &after), 0);
	CHECK_INT(after.st_size, before.st_size);
}

TEST_MAIN(TEST(nothing_acknowledged_is_lost_with_the_power),
	  TEST(nor_when_some_sectors_reached_the_disk),
	  TEST(the_shim_does_lose_what_is_not_flushed))
