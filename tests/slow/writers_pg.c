/* SPDX-License-Identifier: Apache-2.0 */
/* Many writers of one log in PostgreSQL, some of them killed: nothing lost, doubled or
 * reordered. */
#include "ledger_fixture.h"
#include "pg_server.h"

#include "base/clock.h"
#include "ledger/inner.h"
#include <signal.h>
#include <sys/wait.h>

#ifndef WRITERS
#define WRITERS 8
#endif
#ifndef APPENDS
#define APPENDS 500
#endif

static struct pg_server server;

static struct ledger *open_as(const char *machine, unsigned flags)
{
	AUTO_FREE char *dir = path_join(test_dir(), machine);
	struct ledger_conf conf = { .dir = dir,
				    .pg = server.where,
				    .flags = flags,
				    .origin = FIX_ORIGIN,
				    .by_id = "twice@test",
				    .now_ms = FIX_T0 };
	struct err err = ERR_INIT;
	struct ledger *l = NULL;
	int rc = ledger_open(&conf, &l, &err);

	if (rc == -ERR_UNSUPPORTED)
		test_skip("%s", err.msg);
	CHECK_OK(rc, err);
	return l;
}

static pid_t writer(int who, int n, int acks)
{
	AUTO_FREE char *machine = xasprintf("m%d", who);
	pid_t pid = fork();
	struct ledger *l;

	if (pid)
		return pid;
	l = open_as(machine, LEDGER_CREATE);
	for (int i = 0; !n || i < n; i++) {
		(void)fix_append(l, "cost", json_pack("{s:i,s:i}", "writer", who, "n", i));
		if (write(acks, &who, sizeof(who)) != sizeof(who))
			_exit(2);
	}
	ledger_close(l);
	_exit(0);
}

struct seen {
	int next[WRITERS + 2];
	uint64_t seq;
};

static int in_order(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct seen *s = arg;
	int64_t who = json_int_or(e->body, "writer", -1);

	(void)err;
	CHECK_INT(e->ref.seq, s->seq++);
	if (who < 0)
		return 0;
	CHECK(who < WRITERS + 2);
	CHECK_INT(json_int_or(e->body, "n", -1), s->next[who]++);
	return 0;
}

static void writers(int killed)
{
	AUTO_FREE char *dir = path_join(test_dir(), "m0"), *got = NULL;
	int acks[2], who, acked[WRITERS + 2] = { 0 };
	pid_t pids[WRITERS + 2];
	struct seen s = { 0 };
	struct err err = ERR_INIT;
	struct ledger *l;
	int64_t start;

	pg_database(&server, killed ? "killed" : "plain");
	ledger_close(open_as("m0", LEDGER_CREATE));
	CHECK_INT(pipe(acks), 0);
	start = clock_ns();
	for (int i = 0; i < WRITERS + killed; i++)
		pids[i] = writer(i, i < WRITERS ? APPENDS : 0, acks[1]);
	close(acks[1]);
	while (read(acks[0], &who, sizeof(who)) == sizeof(who)) {
		acked[who]++;
		if (who >= WRITERS && acked[who] == 5)
			CHECK_INT(kill(pids[who], SIGKILL), 0);
	}
	start = clock_ns() - start;
	for (int i = 0; i < WRITERS + killed; i++)
		CHECK_INT(test_reap(pids[i]), i < WRITERS ? 0 : SIGKILL);
	l = open_as("m0", 0);
	CHECK_OK(ledger_each(l, &(struct ledger_filter){ 0 }, in_order, &s, &err), err);
	for (int i = 0; i < WRITERS + killed; i++)
		CHECK(i < WRITERS ? s.next[i] == APPENDS : s.next[i] >= acked[i]);
	ledger_close(l);
	got = fix_verify_with(&(struct ledger_verify_conf){ .path = dir, .pg = server.where });
	CHECK_STR(got, "");
	printf("# %d writers of %d entries on PostgreSQL, %d more killed: %llu entries in order, "
	       "%.0f/s\n",
	       WRITERS, APPENDS, killed, (unsigned long long)s.seq,
	       (double)s.seq * 1e9 / (double)start);
}

static void writers_lose_and_repeat_nothing(void)
{
	writers(0);
}

static void writers_that_are_killed_disturb_no_other(void)
{
	writers(2);
}

/* A machine that holds the lock and is heard of no more: the server lets go of it before the others
 * give up. It is stopped where it waits for its own next step, with the lock taken. */
static void a_writer_that_falls_silent_lets_go(void)
{
	struct err err = ERR_INIT;
	struct ledger *l;
	int64_t start;
	int ready[2];
	pid_t pid;
	char c;

	pg_database(&server, "silent");
	ledger_close(open_as("m0", LEDGER_CREATE));
	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct log_head head = { 0 };

		l = open_as("m1", LEDGER_CREATE);
		CHECK_OK(l->store->ops->begin(l->store, /* write= */ true, &err), err);
		CHECK_OK(l->store->ops->head(l->store, &head, &err), err);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &c, 1) == 1);
	l = open_as("m0", 0);
	start = clock_ns();
	(void)fix_append(l, "cost", json_pack("{s:i}", "n", 1));
	start = clock_ns() - start;
	printf("# let go after %.1f s\n", (double)start / 1e9);
	ledger_close(l);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(test_reap(pid), SIGKILL);
}

int main(void)
{
	static const struct test tests[] = { TEST(writers_lose_and_repeat_nothing),
					     TEST(writers_that_are_killed_disturb_no_other),
					     TEST(a_writer_that_falls_silent_lets_go) };
	return pg_main(&server, tests, ARRAY_SIZE(tests));
}
