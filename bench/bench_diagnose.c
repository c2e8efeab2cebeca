/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast logs go past the signatures, against `grep -F -f` with all their fixed parts, in one run
 * and on the same bytes (from a file that is in memory): MB/s of each, and the ratio. The log is
 * made up of ordinary lines, with a hit in one line of a thousand, of twenty, and in every line.
 * grep -F counts lines (-c), in the C locale; with -i it looks for letters of either case, as
 * twice does. Time is processor time, user and system, so that neighbours don't count.
 */
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include "diagnose/diagnose.h"
#include "stat/stat.h"

#include <math.h>
#include <time.h>

enum { LOG_BYTES = 64 * 1000 * 1000, ROUNDS = 3 };

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *const ordinary[] = {
	"INFO %02u-%02u 09:31:22 [loggers.py:111] Engine 000: Avg prompt throughput: %u.5 "
	"tokens/s, "
	"Running: %u reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%%\n",
	"INFO:     10.0.%u.%u:%u - \"POST /v1/chat/completions HTTP/1.1\" 200 OK (%u ms)\n",
	" iteration %u/%u | consumed samples: %u | lm loss: 2.%u | grad norm: 1.2 | skipped: 0\n",
	"gpu-%u:%u:%u [%u] NCCL INFO threadThresholds 8/8/64 | 64/8/64 | 512 | 512\n",
	"[%u.%u] usb %u-%u: new high-speed USB device number 4 using xhci_hcd\n",
	"2026-02-03T11:02:%u.%uZ node%u systemd[%u]: Started Session 12 of User root.\n",
};

static void make_log(const struct signatures *l, unsigned every, struct str *ret)
{
	struct rng r = { 1 };

	for (unsigned n = 1; ret->n < LOG_BYTES; n++) {
		unsigned a = (unsigned)(rng_next(&r) % 1000);

		if (n % every == 0) {
			str_addf(ret, "[%u] %s\n", n, l->v[a % l->n].test);
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		str_addf(ret, ordinary[a % ARRAY_SIZE(ordinary)], a % 99, n % 60, a, n % 977);
#pragma GCC diagnostic pop
	}
}

static double ours(const struct signatures *l, const char *path, size_t n)
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_scan *s = signature_scan_new(l);
		CLEANUP(fclosep) FILE *f = fopen(path, "re");
		AUTO_FREE char *piece = xmalloc(MIB);
		double start = now_s();
		size_t got;

		while (f && (got = fread(piece, 1, MIB, f)) > 0)
			signature_scan_feed(s, piece, got);
		signature_scan_end(s, &h);
		if (h.bytes != n)
			return NAN;
		best = MIN(best, now_s() - start);
	}
	return (double)n / 1e6 / best;
}

static double grep(const char *flag, const char *parts, const char *path, size_t n)
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		const char *const argv[] = { "env", "LC_ALL=C", "grep", flag,
					     "-f",  parts,      path,   NULL };
		struct proc_spec c = { .argv = argv, .limit_ns = 300 * NS_PER_S };
		struct proc_done r CLEANUP(proc_done_release) = { 0 };
		struct err err = ERR_INIT;

		if (proc_run(&c, &r, &err) < 0 || !r.out.n)
			return NAN;
		best = MIN(best, (double)(r.user_ns + r.sys_ns) / 1e9);
	}
	return (double)n / 1e6 / best;
}

static int measure(const struct signatures *l, const char *dir, const char *parts, unsigned every)
{
	AUTO_FREE char *path = path_join(dir, "log");
	struct str log CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	double mine, plain, folded;

	make_log(l, every, &log);
	if (file_write(path, log.p, log.n, 0600, &err) < 0) {
		printf("%s\n", err.msg);
		return 1;
	}
	mine = ours(l, path, log.n);
	plain = grep("-cF", parts, path, log.n);
	folded = grep("-ciF", parts, path, log.n);
	printf("a hit every %4u lines: twice %7.0f MB/s  grep -F %7.0f MB/s  grep -iF %7.0f MB/s  "
	       "ratio %.2f (%.2f with -i)\n",
	       every, mine, plain, folded, mine / plain, mine / folded);
	return isfinite(mine) ? 0 : 1;
}

int main(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	AUTO_FREE char *dir = NULL;
	AUTO_FREE char *parts = NULL;
	struct err err = ERR_INIT;
	size_t n = 0;
	int rc;

	if (signatures_builtin(&l, &err) < 0 || dir_temp("bench", &dir, &err) < 0) {
		printf("%s\n", err.msg);
		return 1;
	}
	for (size_t i = 0; i < l.n; i++)
		for (size_t k = 0; k < l.v[i].parts.n; k++, n++)
			str_addf(&text, "%s\n", l.v[i].parts.v[k]);
	parts = path_join(dir, "parts");
	rc = file_write(parts, text.p, text.n, 0600, &err) < 0;
	printf("%zu signatures, %zu fixed parts, %d MB, best of %d\n", l.n, n, LOG_BYTES / 1000000,
	       ROUNDS);
	rc = rc || measure(&l, dir, parts, 1000) || measure(&l, dir, parts, 20) ||
	     measure(&l, dir, parts, 1);
	if (dir_remove(dir, &err) < 0)
		printf("%s\n", err.msg);
	return rc;
}
