/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger that nobody goes on with: what it was called and where it ended, and out of the way. */
#include "ledger/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

void ledger_past_release(struct ledger_past *p)
{
	free(p->dir);
	free(p->origin);
	free(p->root);
	free(p->aside);
	json_decref(p->policy);
	*p = (struct ledger_past){ 0 };
}

/* The newest head that was signed: it counts even when the store no longer gives it. */
static int from_checkpoint(const char *dir, struct ledger_past *ret, struct err *err)
{
	AUTO_FREE char *path = path_join(dir, LEDGER_CHECKPOINT), *text = NULL;
	struct note n CLEANUP(note_release) = { 0 };
	struct checkpoint cp;
	char hex[SHA256_HEX];
	size_t size;

	TRY(file_read(path, NOTE_MAX, &text, &size, err));
	TRY(note_parse((struct sv){ text, size }, &n, err));
	TRY(checkpoint_parse(n.text, &cp, err));
	hex_of(cp.root, SHA256_LEN, hex);
	ret->origin = sv_dup(cp.origin);
	ret->root = xstrdup(hex);
	return 0;
}

static int from_store(struct ledger *l, struct ledger_past *ret, struct err *err)
{
	uint8_t root[SHA256_LEN];
	char hex[SHA256_HEX];
	uint64_t size;

	TRY(ledger_size(l, &size, root, err));
	hex_of(root, SHA256_LEN, hex);
	ret->origin = xstrdup(ledger_origin(l));
	ret->root = xstrdup(hex);
	return 0;
}

int ledger_past_read(const char *dir, struct ledger_past *ret, struct err *err)
{
	struct ledger_past p CLEANUP(ledger_past_release) = { .dir = xstrdup(dir) };
	struct ledger_conf conf = { .dir = dir, .flags = LEDGER_READONLY };
	struct ledger *l CLEANUP(ledger_closep) = NULL;
	struct err quiet = ERR_INIT;

	if (!ledger_exists(dir)) {
		(void)bail(err, ERR_NOT_FOUND, "no ledger in '%s'", dir);
		return -ERR_NOT_FOUND;
	}
	if (ledger_open(&conf, &l, &quiet) == 0 && ledger_policy(l, &p.policy, &quiet) < 0)
		p.policy = NULL;
	if (from_checkpoint(dir, &p, &quiet) < 0) {
		if (!l)
			return bail(err, ERR_BROKEN,
				    "'%s': neither its checkpoint nor its store can be read: %s",
				    dir, quiet.msg);
		TRY(from_store(l, &p, err));
	}
	*ret = p;
	p = (struct ledger_past){ 0 };
	return 0;
}

/* The old folder gets a name that is free; nobody writes to it meanwhile. */
int ledger_past_aside(struct ledger_past *p, int64_t now_ms, struct err *err)
{
	AUTO_FREE char *lock = path_join(p->dir, LEDGER_LOCK), *real = path_real(p->dir);
	AUTO_FREE char *at = time_utc(now_ms);
	CLEANUP(closep) int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return bail(err, ERR_CONFLICT, "somebody writes to '%s' just now", p->dir);
	if (!real)
		return bail_sys(err, "cannot find '%s'", p->dir);
	for (char *c = at; *c; c++)
		if (*c == ':')
			*c = '.';
	for (unsigned i = 1; i <= 100; i++) { /* two in one second are two */
		free(p->aside);
		p->aside = i == 1 ? xasprintf("%s.aside-%.19sZ", real, at)
				  : xasprintf("%s.aside-%.19sZ-%u", real, at, i);
		if (!file_exists(p->aside) && !dir_exists(p->aside))
			break;
	}
	if (rename(real, p->aside) < 0)
		return bail_sys(err, "cannot rename '%s'", p->dir);
	AUTO_FREE char *parent = path_dir(p->aside);

	return dir_sync(parent, err);
}
