/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: the TWICE_FAULT_NTH-th call that changes a file (write, pwrite, fsync, fdatasync,
 * rename, ftruncate) fails with TWICE_FAULT_KIND: EIO, ENOSPC, EINTR, or "short", which writes
 * half. Standard streams and pipes don't count. That it happened is told by an empty file
 * TWICE_FAULT_TOLD.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long left = -1; /* -1: the environment was not looked at yet; 0: not armed */
static int code;

static bool faulty(void)
{
	const char *nth, *kind, *told;

	if (left < 0) {
		nth = getenv("TWICE_FAULT_NTH");
		kind = getenv("TWICE_FAULT_KIND");
		left = nth ? strtol(nth, NULL, 10) : 0;
		code = !kind                     ? EIO
		       : !strcmp(kind, "ENOSPC") ? ENOSPC
		       : !strcmp(kind, "EINTR")  ? EINTR
		       : !strcmp(kind, "short")  ? 0
						 : EIO;
	}
	if (!left || --left)
		return false;
	told = getenv("TWICE_FAULT_TOLD");
	if (told)
		(void)syscall(SYS_close,
			      syscall(SYS_openat, AT_FDCWD, told, O_CREAT | O_WRONLY, 0644));
	return true;
}

static bool is_file(int fd)
{
	struct stat st;

	return fd > 2 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Sets errno; how much is to be written in spite of it. */
static size_t part(size_t n)
{
	errno = code ? code : EIO;
	return code || n < 2 ? 0 : n / 2;
}

ssize_t write(int fd, const void *p, size_t n)
{
	if (is_file(fd) && faulty()) {
		n = part(n);
		if (!n)
			return -1;
	}
	return syscall(SYS_write, fd, p, n);
}

static ssize_t put_at(int fd, const void *p, size_t n, off_t at)
{
	if (is_file(fd) && faulty()) {
		n = part(n);
		if (!n)
			return -1;
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

/* These two are the 64-bit ones here, which SQLite calls. */
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return put_at(fd, p, n, at);
}

static int other(void)
{
	if (!faulty())
		return 0;
	errno = code ? code : EIO;
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
