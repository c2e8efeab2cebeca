/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/err.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMP_YOUNG_S 60

int file_read(const char *path, size_t limit, char **ret, size_t *ret_n, struct err *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct str s CLEANUP(str_release) = { 0 };
	char buf[16 * KIB];
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return bail(err, ERR_NOT_FOUND, "no file '%s'", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bail_sys(err, "cannot open '%s'", path);
	if (S_ISDIR(st.st_mode))
		return bail(err, ERR_IO, "'%s' is a folder", path);
	if (!S_ISREG(st.st_mode))
		return bail(err, ERR_IO, "'%s' is not a regular file", path);
	str_init(&s, limit);
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bail_sys(err, "cannot read '%s'", path);
		if (n == 0)
			break;
		str_addn(&s, buf, (size_t)n);
		if (s.over)
			return bail(err, ERR_LIMIT, "'%s' has more than %zu bytes", path, limit);
	}
	if (ret_n)
		*ret_n = s.n;
	*ret = str_steal(&s);
	return 0;
}

char *file_first_line(const char *path)
{
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	struct sv rest, line;
	size_t n;

	if (file_read(path, MIB, &text, &n, &err) < 0)
		return NULL;
	rest = (struct sv){ text, n };
	if (!sv_line(&rest, &line))
		return xstrdup("");
	return sv_dup(sv_trim(line));
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

int dir_sync(const char *dir, struct err *err)
{
	CLEANUP(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? bail_sys(err, "cannot flush '%s'", dir) : 0;
}

static int sync_dir_of(const char *path)
{
	AUTO_FREE char *dir = path_dir(path);
	CLEANUP(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

static int file_put(const char *path, const void *p, size_t n, unsigned mode, struct err *err)
{
	AUTO_FREE char *temp = xasprintf("%s.tmp-%ld-XXXXXX", path, (long)getpid());
	CLEANUP(closep) int fd = mkostemp(temp, O_CLOEXEC);

	if (fd < 0)
		return bail_sys(err, "cannot make a temporary file beside '%s'", path);
	if (write_all(fd, p, n) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0) {
		bail_sys(err, "cannot write '%s'", path);
		(void)unlink(temp);
		return -ERR_IO;
	}
	if (rename(temp, path) < 0) {
		bail_sys(err, "cannot put '%s' in place", path);
		(void)unlink(temp);
		return -ERR_IO;
	}
	if (sync_dir_of(path) < 0)
		return bail_sys(err, "cannot sync the folder of '%s'", path);
	return 0;
}

/* A device or a pipe can't be put in place: a rename would leave a file where it was. */
static int write_into(const char *path, const void *p, size_t n, struct err *err)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	return write_all(fd, p, n) < 0 ? bail_sys(err, "cannot write '%s'", path) : 0;
}

int file_write(const char *path, const void *p, size_t n, unsigned mode, struct err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return write_into(path, p, n, err);
	return file_put(path, p, n, mode, err);
}

bool file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

bool dir_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int dir_make(const char *path, struct err *err)
{
	AUTO_FREE char *p = xstrdup(path);

	for (char *at = p + 1; p[0]; at++) {
		char c = *at;

		if (c != '/' && c != '\0')
			continue;
		*at = '\0';
		if (mkdir(p, 0777) < 0 && errno != EEXIST)
			return bail_sys(err, "cannot make folder '%s'", p);
		*at = c;
		if (c == '\0')
			break;
	}
	if (!dir_exists(path))
		return bail(err, ERR_IO, "'%s' is not a folder", path);
	return 0;
}

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

int dir_list(const char *path, struct strs *ret, struct err *err)
{
	CLEANUP(closedirp) DIR *d = opendir(path);
	struct strs names CLEANUP(strs_release) = { 0 };
	struct dirent *e;

	if (!d && errno == ENOENT)
		return bail(err, ERR_NOT_FOUND, "no folder '%s'", path);
	if (!d)
		return bail_sys(err, "cannot open folder '%s'", path);
	while ((e = readdir(d)))
		if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
			strs_add(&names, e->d_name);
	strs_sort(&names);
	strs_copy(ret, &names);
	return 0;
}

int dir_remove(const char *path, struct err *err)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : bail_sys(err, "cannot look at '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return unlink(path) < 0 ? bail_sys(err, "cannot remove '%s'", path) : 0;
	TRY(dir_list(path, &names, err));
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *sub = path_join(path, names.v[i]);

		TRY(dir_remove(sub, err));
	}
	return rmdir(path) < 0 ? bail_sys(err, "cannot remove '%s'", path) : 0;
}

/* Is this folder of ours one whose maker is gone? It held a lock on it for as long as it lived. */
static bool dir_abandoned(const char *path)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	/* The lock comes right behind the folder: what is younger may not have it yet. */
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       st.st_mtime + TEMP_YOUNG_S < time(NULL) && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* What a program that was killed could not take away with it. */
static void dir_temp_sweep(const char *tmp, const char *prefix)
{
	struct strs names CLEANUP(strs_release) = { 0 };
	struct err ignored = ERR_INIT;

	if (dir_list(tmp, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = path_join(tmp, names.v[i]);

		if (!str_starts(names.v[i], prefix) ||
		    strlen(names.v[i]) != strlen(prefix) + strlen("XXXXXX") || !dir_abandoned(path))
			continue;
		if (dir_remove(path, &ignored) < 0) /* the next one tries again */
			ignored = (struct err)ERR_INIT;
	}
}

int dir_temp(const char *tag, char **ret, struct err *err)
{
	const char *env = getenv("TMPDIR"), *tmp = env && *env ? env : "/tmp";
	AUTO_FREE char *prefix = xasprintf("twice-%s-", tag);
	AUTO_FREE char *path = xasprintf("%s/%sXXXXXX", tmp, prefix);
	int fd;

	dir_temp_sweep(tmp, prefix);
	if (!mkdtemp(path))
		return bail_sys(err, "cannot make a temporary folder '%s'", path);
	/* Open until the process ends: the lock says that somebody still works there. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)flock(fd, LOCK_SH | LOCK_NB); /* where this fails, sweeping fails too */
	*ret = STEAL(path);
	return 0;
}

char *path_join(const char *dir, const char *name)
{
	if (name[0] == '/' || dir[0] == '\0')
		return xstrdup(name);
	return xasprintf("%s%s%s", dir, str_ends(dir, "/") ? "" : "/", name);
}

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_real(const char *path)
{
	return realpath(path, NULL);
}

char *path_program(const char *name, const char *path_env)
{
	const char *env = path_env ? path_env : getenv("PATH");
	struct sv rest, part;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 && !dir_exists(name) ? xstrdup(name) : NULL;
	rest = sv_of(env ? env : "/usr/local/bin:/usr/bin:/bin");
	while (sv_split(&rest, ':', &part)) {
		AUTO_FREE char *p = xasprintf("%.*s/%s", (int)part.n, part.n ? part.p : "", name);

		if (part.n && access(p, X_OK) == 0 && !dir_exists(p))
			return STEAL(p);
	}
	return NULL;
}
