/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stray.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- tags ---- */

void stray_tag(char ret[STRAY_TAG])
{
	static long long start;
	static unsigned long n;

	if (!start) {
		start = (long long)(clock_ns() / NS_PER_US);
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	}
	(void)snprintf(ret, STRAY_TAG, "%s=%d.%llx.%lu", STRAY_NAME, (int)getpid(),
		       (unsigned long long)start, ++n);
}

/* ---- /proc, without allocating ---- */

struct stat_line {
	char state;
	pid_t parent, group;
};

/* A small file of /proc/PID; -1 when it can't be read. NUL-ended. */
static ssize_t read_of(const char *pid, const char *name, char *buf, size_t room)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do
		n = read(fd, buf, room - 1);
	while (n < 0 && errno == EINTR);
	(void)close(fd);
	buf[MAX(n, 0)] = '\0';
	return n;
}

/* "pid (any name, brackets too) S ppid pgrp ..." */
static bool stat_of(const char *pid, struct stat_line *ret)
{
	char buf[512], *at;
	int parent, group;

	if (read_of(pid, "stat", buf, sizeof(buf)) <= 0)
		return false;
	at = strrchr(buf, ')');
	if (!at || sscanf(at + 1, " %c %d %d", &ret->state, &parent, &group) != 3)
		return false;
	ret->parent = parent;
	ret->group = group;
	return true;
}

/* Is this string, or one that begins so, among those that the process began with? */
static bool began_with(const char *pid, const char *tag, size_t n, bool whole)
{
	char path[64], buf[4096];
	bool at_start = true, found = false;
	size_t fits = 0;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !found && (got = read(fd, buf, sizeof(buf))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		for (ssize_t i = 0; i < got && !found; i++) {
			if (at_start && fits < n && buf[i] == tag[fits]) {
				fits++;
				found = fits == n && !whole;
				continue;
			}
			found = fits == n && at_start && buf[i] == '\0';
			fits = 0;
			at_start = buf[i] == '\0';
		}
	}
	if (fd >= 0)
		(void)close(fd);
	return found;
}

struct pids { /* getdents64(2): opendir would allocate */
	int fd;
	char buf[4096];
	long n, at;
};

static const char *next_pid(struct pids *p)
{
	struct dirent64_head {
		uint64_t ino;
		int64_t off;
		uint16_t reclen;
		uint8_t type;
	} head;

	for (;;) {
		if (p->at >= p->n) {
			p->n = syscall(SYS_getdents64, p->fd, p->buf, sizeof(p->buf));
			p->at = 0;
			if (p->n <= 0)
				return NULL;
		}
		memcpy(&head, p->buf + p->at, sizeof(head));
		const char *name = p->buf + p->at + offsetof(struct dirent64_head, type) + 1;

		p->at += head.reclen;
		if (name[0] >= '1' && name[0] <= '9')
			return name;
	}
}

static bool pids_open(struct pids *p)
{
	p->fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->n = p->at = 0;
	return p->fd >= 0;
}

static pid_t pid_of(const char *name)
{
	int64_t n = 0;

	(void)sv_to_i64(sv_of(name), 1, INT32_MAX, &n);
	return (pid_t)n;
}

/* ---- ending ---- */

/* One look at one process; 1 when it was ended. *left: it is not gone yet. */
static unsigned look_at(const char *name, const char *tag, pid_t group, bool *left)
{
	pid_t pid = pid_of(name), me = getpid();
	struct stat_line s;

	if (!stat_of(name, &s) || (s.parent != me && s.group != group))
		return 0;
	if (s.state == 'Z' || s.state == 'X') {
		/* Of others who wait for their own children we take nothing away. */
		if (s.parent == me && s.group == group)
			(void)waitpid(pid, NULL, WNOHANG);
		return 0;
	}
	if (s.group == group) {
		*left = true; /* it has its signal already */
		return 0;
	}
	if (!began_with(name, tag, strlen(tag), true) || kill(pid, SIGKILL) < 0)
		return 0;
	*left = true;
	for (int i = 0; i < 200 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		sleep_ns(5 * NS_PER_MS);
	return 1;
}

/*
 * Our own children only, by /proc/PID/task/TID/children (proc(5); CONFIG_PROC_CHILDREN): what a
 * node with thousands of processes costs is not felt. A process belongs to the thread that began
 * it, and an orphan to any; false when the kernel has no such list.
 */
static bool round_of_children(const char *tag, pid_t group, bool *left, unsigned *ended)
{
	struct pids threads = { .fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	bool known = threads.fd >= 0;

	for (const char *tid; known && (tid = next_pid(&threads));) {
		char path[64], buf[4096], name[16];
		size_t used = 0;
		ssize_t got;
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/children", tid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			/* A thread that is gone, or no such list at all. */
			known = access("/proc/thread-self/children", F_OK) == 0;
			continue;
		}
		while ((got = read(fd, buf, sizeof(buf))) != 0) {
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				break;
			for (ssize_t i = 0; i < got; i++) {
				if (buf[i] != ' ' && used < sizeof(name) - 1) {
					name[used++] = buf[i];
					continue;
				}
				name[used] = '\0';
				if (used)
					*ended += look_at(name, tag, group, left);
				used = 0;
			}
		}
		(void)close(fd);
	}
	if (threads.fd >= 0)
		(void)close(threads.fd);
	return known;
}

/*
 * One look at what may be left of a child: at ours, and at all processes only while its group has
 * somebody who is not ours yet. *left: some of them are not gone yet.
 */
static unsigned round_of(const char *tag, pid_t group, bool *left)
{
	struct pids all;
	unsigned ended = 0;

	*left = false;
	if (round_of_children(tag, group, left, &ended) && (*left || kill(-group, 0) < 0))
		return ended;
	if (!pids_open(&all))
		return ended;
	for (const char *name; (name = next_pid(&all));)
		ended += look_at(name, tag, group, left);
	(void)close(all.fd);
	return ended;
}

unsigned stray_end(const char *tag, pid_t group)
{
	int64_t until = clock_ns() + NS_PER_S;
	siginfo_t info = { 0 };
	unsigned ended = 0;
	bool left = true;

	/* No child at all: nobody became ours. But the dying have to have a parent first. */
	if (kill(-group, 0) < 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
	    errno == ECHILD)
		return 0;
	while (left && clock_ns() < until) {
		ended += round_of(tag, group, &left);
		if (left)
			sleep_ns(2 * NS_PER_MS);
	}
	return ended;
}

void stray_end_all(const char *tag)
{
	const char *last = strrchr(tag, '.');
	struct pids all;

	if (!last || !pids_open(&all))
		return;
	for (const char *name; (name = next_pid(&all));) {
		pid_t pid = pid_of(name);

		if (pid != getpid() && began_with(name, tag, (size_t)(last + 1 - tag), false))
			(void)kill(pid, SIGKILL);
	}
	(void)close(all.fd);
}
