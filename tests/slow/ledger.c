/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ledger promises when things go wrong: processes killed at any instant, system calls that
 * fail, disks that are full, many writers. Built twice: with small counts for every run of the
 * tests, with those of the reliability table for the slow suite.
 */
#include "ledger_scene.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef KILLS
#define KILLS 20
#endif
#ifndef WRITERS
#define WRITERS 4
#endif
#ifndef APPENDS
#define APPENDS 40
#endif

/* ---- system calls that fail ------------------------------------------------------------------ */

/*
 * These stand in front of the C library's for everything in this program, SQLite included: the
 * linker takes the program's own (pwrite and ftruncate are the 64-bit ones here). Once armed, the
 * nth call that changes a file fails.
 */
enum fault { FAULT_EIO, FAULT_ENOSPC, FAULT_EINTR, FAULT_SHORT, FAULT_KINDS };
static long fault_left; /* 0: not armed */
static enum fault fault_kind;
static bool fault_done;

static bool faulty(void)
{
	static const int codes[] = { EIO, ENOSPC, EINTR, 0 };

	if (!fault_left || --fault_left)
		return false;
	fault_done = true;
	errno = codes[fault_kind];
	return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
	if (fd > 2 && faulty()) {
		if (fault_kind != FAULT_SHORT || n < 2)
			return errno ? -1 : (errno = EIO, -1);
		n /= 2;
	}
	return syscall(SYS_write, fd, p, n);
}

static ssize_t put_at(int fd, const void *p, size_t n, off_t at)
{
	if (faulty()) {
		if (fault_kind != FAULT_SHORT || n < 2)
			return errno ? -1 : (errno = EIO, -1);
		n /= 2;
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return put_at(fd, p, n, at);
}

static int other(void)
{
	if (!faulty())
		return 0;
	errno = errno ? errno : EIO;
	return -1;
}

int fsync(int fd)
{
	return other() < 0 ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return other() < 0 ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t n)
{
	return other() < 0 ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int rename(const char *from, const char *to)
{
	return other() < 0 ? -1 : (int)syscall(SYS_rename, from, to);
}

/* ---- what a writer does ---------------------------------------------------------------------- */

/* A blob, an entry that names it, now and then a checkpoint. */
static int work(struct ledger *l, unsigned who, unsigned i, struct ledger_ref *ret, struct err *err)
{
	AUTO_FREE char *text = xasprintf("evidence %u of %u", i, who);
	struct ledger_blob b CLEANUP(ledger_blob_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	AUTO_JSON json_t *body = json_object();
	struct ledger_new n = { .kind = "run.result",
				.body = body,
				.by_id = SCENE_BY,
				.role = "machine",
				.at_ms = SCENE_START };

	TRY(ledger_blob_put(l, text, strlen(text), "text/plain", &b, err));
	json_put(body, "log", ledger_blob_json(&b));
	json_put_int(body, "who", who);
	json_put_int(body, "n", i);
	TRY(ledger_append(l, &n, ret, err));
	if (i % 4 == 3)
		TRY(ledger_checkpoint(l, &cp, err));
	return 0;
}

static pid_t writer(const char *dir, unsigned who, unsigned n, int acks)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	struct ledger *l = scene_open(dir);

	for (unsigned i = 0; !n || i < n; i++) {
		struct ledger_ref ref;
		struct err err = ERR_INIT;

		CHECK_OK(work(l, who, i, &ref, &err), err);
		if (write(acks, &ref, sizeof(ref)) != sizeof(ref))
			_exit(2);
	}
	ledger_close(l);
	_exit(0);
}

static bool ack(int fd, struct ledger_ref *ret)
{
	size_t got = 0;

	while (got < sizeof(*ret)) {
		ssize_t n = read(fd, (char *)ret + got, sizeof(*ret) - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* Everything acknowledged is there, and all that is there is whole. */
static void holds(const char *dir, const struct ledger_ref *refs, size_t n)
{
	struct ledger *l = scene_open(dir);
	const char *found;

	for (size_t i = 0; i < n; i++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_OK(ledger_get(l, refs[i].seq, &e, &err), err);
		CHECK_STR(e.ref.hex, refs[i].hex);
	}
	ledger_close(l);
	found = scene_verify(dir);
	CHECK_STR(found, "");
}

/* ---- killed ---------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

static void nothing_acknowledged_is_lost_by_a_kill(void)
{
	const char *dir = scene_path("l");
	uint32_t x = 20261201;
	size_t acknowledged = 0;

	ledger_close(scene_open(dir));
	for (int k = 0; k < KILLS; k++) {
		struct ledger_ref refs[64];
		uint32_t want = next_random(&x) % 12, ns = next_random(&x) % 3000000;
		size_t n = 0;
		int acks[2];
		pid_t pid;

		CHECK_INT(pipe(acks), 0);
		pid = writer(dir, (unsigned)k, 0, acks[1]);
		close(acks[1]);
		while (n < want && ack(acks[0], &refs[n]))
			n++;
		(void)nanosleep(&(struct timespec){ 0, (long)ns }, NULL);
		CHECK_INT(kill(pid, SIGKILL), 0);
		CHECK_INT(waitpid(pid, &(int){ 0 }, 0), pid);
		while (n < ARRAY_SIZE(refs) && ack(acks[0], &refs[n]))
			n++;
		close(acks[0]);
		acknowledged += n;
		if (k % 50 == 49 || KILLS < 50 || k + 1 == KILLS) {
			holds(dir, refs, n);
		} else {
			struct ledger *l = scene_open(dir);

			for (size_t i = 0; i < n; i++) {
				struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
				struct err err = ERR_INIT;

				CHECK_OK(ledger_get(l, refs[i].seq, &e, &err), err);
				CHECK_STR(e.ref.hex, refs[i].hex);
			}
			ledger_close(l);
		}
	}
	printf("# %d kills, %zu entries acknowledged, none lost\n", KILLS, acknowledged);
	CHECK(acknowledged > KILLS);
}

/* ---- many writers ---------------------------------------------------------------------------- */

struct seen_by {
	int64_t next[WRITERS + 2];
	uint64_t n, seq;
};

static int in_order(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct seen_by *s = arg;
	int64_t who = json_int_or(e->body, "who", -1), n = json_int_or(e->body, "n", -1);

	(void)err;
	CHECK_INT(e->ref.seq, s->seq++);
	if (who < 0)
		return 0;
	CHECK(who < WRITERS + 2);
	CHECK_INT(n, s->next[who]++);
	s->n++;
	return 0;
}

static void writers(unsigned killed)
{
	const char *dir = scene_path("l");
	struct seen_by s = { 0 };
	struct err err = ERR_INIT;
	pid_t pids[WRITERS + 2];
	struct ledger_ref ref;
	struct ledger *l;
	int acks[2], status;

	ledger_close(scene_open(dir));
	CHECK_INT(pipe(acks), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		pids[i] = writer(dir, i, APPENDS, acks[1]);
	for (unsigned i = 0; i < killed; i++)
		pids[WRITERS + i] = writer(dir, WRITERS + i, 0, acks[1]);
	close(acks[1]);
	for (unsigned i = 0; i < killed; i++) {
		for (int k = 0; k < 5; k++)
			CHECK(ack(acks[0], &ref));
		CHECK_INT(kill(pids[WRITERS + i], SIGKILL), 0);
	}
	while (ack(acks[0], &ref))
		;
	for (unsigned i = 0; i < WRITERS + killed; i++) {
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		CHECK(i >= WRITERS || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	}
	l = scene_open(dir);
	CHECK_OK(ledger_each(l, &(struct ledger_filter){ 0 }, in_order, &s, &err), err);
	for (unsigned i = 0; i < WRITERS; i++)
		CHECK_INT(s.next[i], APPENDS);
	CHECK(killed || s.n == (uint64_t)WRITERS * APPENDS);
	ledger_close(l);
	holds(dir, NULL, 0);
	printf("# %d writers of %d entries, %u more killed: %llu entries in order\n", WRITERS,
	       APPENDS, killed, (unsigned long long)s.seq);
}

static void writers_lose_and_repeat_nothing(void)
{
	writers(0);
}

static void writers_that_are_killed_disturb_no_other(void)
{
	writers(2);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* In a child, since a failed write may leave a handle that only says no. */
static bool with_fault(const char *dir, enum fault kind, long nth)
{
	int told[2], status;
	struct ledger_ref refs[2];
	size_t n = 0;
	pid_t pid;

	CHECK_INT(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		struct ledger *l = scene_open(dir);
		struct err err = ERR_INIT;
		struct ledger_ref ref;
		int rc;

		fault_kind = kind;
		fault_left = nth;
		rc = work(l, 0, 3, &ref, &err);
		fault_left = 0;
		if (rc == 0)
			CHECK_INT(write(told[1], &ref, sizeof(ref)), sizeof(ref));
		else if (err.code != ERR_IO)
			test_fails(__FILE__, __LINE__, "call %ld, fault %d: %d %s", nth, kind,
				   err.code, err.msg);
		/* The same handle goes on once the disk is well again. */
		err = ERR_INIT;
		CHECK_OK(work(l, 0, 7, &ref, &err), err);
		CHECK_INT(write(told[1], &ref, sizeof(ref)), sizeof(ref));
		ledger_close(l);
		_exit(fault_done ? 10 : 11);
	}
	close(told[1]);
	while (n < 2 && ack(told[0], &refs[n]))
		n++;
	close(told[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) < 10)
		test_fails(__FILE__, __LINE__, "call %ld, fault %d: status %x", nth, kind, status);
	holds(dir, refs, n);
	return WEXITSTATUS(status) == 10;
}

static void any_one_call_that_fails_costs_nothing(void)
{
	static const char *const names[] = { "EIO", "ENOSPC", "EINTR", "short write" };

	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		AUTO_FREE char *dir = xasprintf("%s/%d", test_dir(), kind);
		long nth = 1;

		ledger_close(scene_open(dir));
		while (with_fault(dir, (enum fault)kind, nth))
			nth++;
		printf("# %s at each of %ld calls\n", names[kind], nth - 1);
		CHECK(nth > 5);
	}
}

static void a_full_disk_is_a_clean_error_and_no_more(void)
{
	const char *dir = scene_path("l");
	struct ledger *l = scene_open(dir);
	struct rlimit was, limit;
	struct err err = ERR_INIT;
	struct ledger_ref refs[2000], ref;
	size_t n = 0;
	int rc;

	CHECK_INT(sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL), 0);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = 1024 * 1024;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	do
		rc = work(l, 0, (unsigned)n, &refs[n], &err);
	while (rc == 0 && ++n < ARRAY_SIZE(refs));
	CHECK_INT(rc, -ERR_IO);
	CHECK(n > 10);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &was), 0);
	err = ERR_INIT;
	CHECK_OK(work(l, 0, (unsigned)n, &ref, &err), err);
	ledger_close(l);
	holds(dir, refs, n);
	printf("# full after %zu entries: all of them there, and it goes on with more room\n", n);
}

TEST_MAIN(TEST(nothing_acknowledged_is_lost_by_a_kill), TEST(writers_lose_and_repeat_nothing),
	  TEST(writers_that_are_killed_disturb_no_other),
	  TEST(any_one_call_that_fails_costs_nothing),
	  TEST(a_full_disk_is_a_clean_error_and_no_more))
