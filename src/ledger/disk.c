/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's folder: is it on a local file system, who may write. */
#include "ledger/inner.h"

#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OVERLAY 0x794c7630L

/* Magic numbers of linux/magic.h and of file systems outside the kernel's tree. Their locks or
 * their flushes are not what SQLite's WAL needs; its shared memory cannot work between hosts at
 * all. */
bool disk_type_is_network(long type)
{
	static const uint32_t network[] = {
		0x6969,     /* NFS */
		0x517b,     /* SMB */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x01021997, /* 9p */
		0x5346414f, /* AFS */
		0x6b414653, /* kAFS */
		0x73757245, /* Coda */
		0x00c36400, /* Ceph */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x01161970, /* GFS2 */
		0x7461636f, /* OCFS2 */
		0x19830326, /* BeeGFS */
		0xaad7aaea, /* PanFS */
	};

	for (size_t i = 0; i < ARRAY_SIZE(network); i++)
		if ((uint32_t)type == network[i])
			return true;
	return false;
}

bool disk_name_is_network(const char *fs)
{
	static const char *const network[] = { "fuse.sshfs",   "fuse.s3fs",    "fuse.glusterfs",
					       "fuse.rclone",  "fuse.gcsfuse", "fuse.cephfs",
					       "fuse.juicefs", "fuse.afp",     NULL };

	for (size_t i = 0; network[i]; i++)
		if (streq(fs, network[i]))
			return true;
	return false;
}

/* The line of /proc/self/mountinfo for the device a folder is on: "id parent major:minor root point
 * options ... - type source super-options". */
static bool mount_of(const char *dir, char **ret_type, char **ret_options)
{
	AUTO_FREE char *text = NULL;
	struct err ignored = ERR_INIT;
	struct sv rest, line, word;
	struct stat st;
	char dev[32];
	size_t n;

	if (stat(dir, &st) < 0 ||
	    file_read("/proc/self/mountinfo", 4 * MIB, &text, &n, &ignored) < 0)
		return false;
	(void)snprintf(dev, sizeof(dev), "%u:%u", major(st.st_dev), minor(st.st_dev));
	rest = (struct sv){ text, n };
	while (sv_line(&rest, &line)) {
		struct sv l = line;
		ptrdiff_t dash = sv_find(line, SV(" - "));

		for (int i = 0; i < 3; i++) /* the third word is the device */
			if (!sv_word(&l, &word))
				word = (struct sv){ 0 };
		if (!sv_is(word, dev) || dash < 0)
			continue;
		l = (struct sv){ line.p + dash + 3, line.n - (size_t)dash - 3 };
		if (!sv_word(&l, &word))
			continue;
		*ret_type = sv_dup(word);
		(void)sv_word(&l, &word);
		*ret_options = sv_dup(sv_trim(l));
		return true;
	}
	return false;
}

static int refuse(const char *dir, const char *what, struct err *err)
{
	(void)bail(err, ERR_UNSUPPORTED, "'%s' is on a network file system (%s)", dir, what);
	err_hint(err, "Put the ledger on a local disk, or into PostgreSQL.");
	return -ERR_UNSUPPORTED;
}

static int check_upper(const char *dir, const char *options, struct err *err)
{
	struct sv rest = sv_of(options), part;
	struct statfs fs;

	while (sv_split(&rest, ',', &part)) {
		AUTO_FREE char *path = NULL;

		if (!sv_starts(part, "upperdir="))
			continue;
		path = xstrndup(part.p + 9, part.n - 9);
		if (statfs(path, &fs) == 0 && disk_type_is_network((long)fs.f_type))
			return refuse(dir, "below an overlay", err);
	}
	return 0;
}

int disk_is_local(const char *dir, struct err *err)
{
	AUTO_FREE char *type = NULL, *options = NULL;
	struct statfs fs;

	if (statfs(dir, &fs) < 0)
		return bail_sys(err, "cannot look at '%s'", dir);
	(void)mount_of(dir, &type, &options);
	if (disk_type_is_network((long)fs.f_type))
		return refuse(dir, type ? type : "by its type", err);
	if (type && disk_name_is_network(type))
		return refuse(dir, type, err);
	if ((long)fs.f_type == OVERLAY && options)
		return check_upper(dir, options, err);
	return 0;
}

/* ---- the writers' lock ---- */

int lock_take(struct ledger *l, struct err *err)
{
	AUTO_FREE char *path = path_join(l->dir, LEDGER_LOCK);

	if (l->lock_fd < 0)
		l->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (l->lock_fd < 0)
		return bail_sys(err, "cannot open '%s'", path);
	while (flock(l->lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return bail_sys(err, "cannot lock '%s'", path);
	return 0;
}

void lock_drop(struct ledger *l)
{
	if (l->lock_fd >= 0)
		(void)flock(l->lock_fd, LOCK_UN);
}
