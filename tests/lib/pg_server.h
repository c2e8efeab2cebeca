/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real PostgreSQL server for the tests of one program: its own data folder, a socket and no
 * network. It does not run as root, so root hands it to "nobody". Flushes are off: these tests are
 * about logic (TWICE_PG_FSYNC=1 leaves them on). pg_main() starts it, runs the tests and stops it;
 * each test has a database of its own:
 *
 * 	static void a_test(void) { pg_database(&server, "name"); ... server.where ... }
 */
#pragma once

#include "test.h"

#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/str.h"

struct pg_server {
	char dir[64], bin[64], database[32], where[160];
	const char *why; /* there is none */
	struct proc *proc;
};

static inline bool pg_run(const struct pg_server *s, const char *const *argv)
{
	struct proc_spec spec = { .argv = argv, .cwd = s->dir, .limit_ns = 25 * NS_PER_S };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	if (proc_run(&spec, &done, &err) < 0 || !proc_ok(&done)) {
		printf("# %s: %s %.300s\n", argv[0], err.msg, str_text(&done.err));
		return false;
	}
	return true;
}

/* Words in front of a program so that it runs as nobody; ours to count. */
static inline size_t pg_as_nobody(const char **argv)
{
	static const char *const words[] = { "setpriv", "--reuid=nobody", "--regid=nogroup",
					     "--clear-groups" };

	if (geteuid() != 0)
		return 0;
	for (size_t i = 0; i < 4; i++)
		argv[i] = words[i];
	return 4;
}

static inline void pg_stop(struct pg_server *s)
{
	if (s->proc)
		proc_stop(s->proc, SIGQUIT, 5 * NS_PER_S, NULL);
	proc_freep(&s->proc);
	if (s->dir[0])
		test_remove_dir(s->dir);
	s->dir[0] = '\0';
}

static inline bool pg_find(struct pg_server *s)
{
	for (int v = 30; v >= 13; v--) {
		AUTO_FREE char *initdb = NULL;

		snprintf(s->bin, sizeof(s->bin), "/usr/lib/postgresql/%d/bin", v);
		initdb = path_join(s->bin, "initdb");
		if (file_exists(initdb))
			return true;
	}
	return false;
}

static inline bool pg_make(const struct pg_server *s, const char *data)
{
	AUTO_FREE char *initdb = path_join(s->bin, "initdb");
	const char *argv[32] = { 0 };
	const char *const init[] = { initdb,  "-D",        data,
				     "-A",    "trust",     "-U",
				     "twice", "--no-sync", "--no-instructions",
				     "-E",    "UTF8",      "--locale=C" };

	memcpy(argv + pg_as_nobody(argv), init, sizeof(init));
	return pg_run(s, argv);
}

static inline bool pg_serve(struct pg_server *s, const char *data)
{
	AUTO_FREE char *server = path_join(s->bin, "postgres"),
		       *ready = path_join(s->bin, "pg_isready");
	AUTO_FREE char *socket = xasprintf("unix_socket_directories=%s", s->dir);
	const char *argv[32] = { 0 }, *fsync = getenv("TWICE_PG_FSYNC") ? "fsync=on" : "fsync=off";
	const char *const serve[] = { server, "-D", data,  "-c", "listen_addresses=",  "-c",
				      socket, "-c", fsync, "-c", "shared_buffers=16MB" };
	const char *const ask[] = { ready, "-q", "-h", s->dir, "-d", "postgres", NULL };
	struct proc_spec spec = { .argv = argv, .cwd = s->dir };
	struct proc_spec look = { .argv = ask, .limit_ns = 5 * NS_PER_S };
	struct err err = ERR_INIT;

	memcpy(argv + pg_as_nobody(argv), serve, sizeof(serve));
	if (proc_start(&spec, &s->proc, &err) < 0)
		return false;
	for (int i = 0; i < 200; i++) {
		struct proc_done done CLEANUP(proc_done_release) = { 0 };

		if (!proc_poll(s->proc, 50 * NS_PER_MS))
			return false;
		if (proc_run(&look, &done, &err) == 0 && proc_ok(&done))
			return true;
	}
	return false;
}

static inline void pg_start(struct pg_server *s)
{
	AUTO_FREE char *data = NULL;

	if (!pg_find(s)) {
		s->why = "no PostgreSQL server here";
		return;
	}
	snprintf(s->dir, sizeof(s->dir), "/tmp/twice-pg-XXXXXX");
	if (!mkdtemp(s->dir) || chmod(s->dir, 0777) < 0) {
		s->why = "no folder for a server";
		return;
	}
	data = path_join(s->dir, "data");
	if (!pg_make(s, data) || !pg_serve(s, data)) {
		s->why = "a PostgreSQL server does not start here";
		pg_stop(s);
	}
}

static inline bool pg_sql(const struct pg_server *s, const char *text)
{
	AUTO_FREE char *psql = path_join(s->bin, "psql");
	const char *const argv[] = { psql, "-qX",
				     "-v", "ON_ERROR_STOP=1",
				     "-h", s->dir,
				     "-U", "twice",
				     "-d", s->database[0] ? s->database : "postgres",
				     "-c", text,
				     NULL };

	return pg_run(s, argv);
}

/* A fresh database for the test that calls. */
static inline void pg_database(struct pg_server *s, const char *name)
{
	AUTO_FREE char *make = xasprintf("CREATE DATABASE %s TEMPLATE template0", name);

	if (s->why)
		test_skip("%s", s->why);
	CHECK(pg_sql(s, make));
	snprintf(s->database, sizeof(s->database), "%s", name);
	snprintf(s->where, sizeof(s->where), "host=%s user=twice dbname=%s", s->dir, name);
}

/* The harness ends every process that a test leaves; the server is none of its children. */
static inline int pg_main(struct pg_server *s, const struct test *tests, size_t n)
{
	int status;
	pid_t pid;

	pg_start(s);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(test_main(tests, n));
	status = test_reap(pid);
	pg_stop(s);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
