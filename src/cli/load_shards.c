/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several clients on one schedule, here or on other nodes: each is this program with --shard I/N
 * and writes its raw samples into a folder that all of them see; the merge is exact.
 */
#include "cli/load_parts.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define SLACK_NS (60 * NS_PER_S) /* for a launcher to start and end */

struct results {
	struct load_result *v;
	size_t n;
};

static void results_release(struct results *r)
{
	for (size_t i = 0; i < r->n; i++)
		load_result_release(&r->v[i]);
	free(r->v);
}

int load_merge_files(const struct strs *paths, struct load_result *ret, struct err *err)
{
	struct results r CLEANUP(results_release) = { .v = xcalloc(paths->n + 1, sizeof(*r.v)) };

	for (; r.n < paths->n; r.n++)
		TRY(load_raw_read(paths->v[r.n], &r.v[r.n], err));
	return load_merge(r.v, r.n, ret, err);
}

/* Our own arguments, less what is for the merged result alone. */
static int own_args(struct strs *ret, struct err *err)
{
	static const char *const drop[] = { "--shards",    "--launcher", "--raw",  "--save-golden",
					    "--vllm-json", "--progress", "--lead", NULL };
	AUTO_FREE char *text = NULL;
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t n, skip = 1; /* argv[0] */

	TRY(file_read("/proc/self/cmdline", MIB, &text, &n, err));
	if (len <= 0)
		return bail_sys(err, "cannot read /proc/self/exe");
	exe[len] = '\0';
	strs_add(ret, exe);
	for (const char *p = text; p < text + n; p += strlen(p) + 1) {
		bool gone = false;

		if (skip) {
			skip--;
			continue;
		}
		for (size_t i = 0; drop[i]; i++) {
			size_t k = strlen(drop[i]);

			if (streq(p, drop[i]))
				skip = 1;
			gone |= streq(p, drop[i]) || (strncmp(p, drop[i], k) == 0 && p[k] == '=');
		}
		if (!gone && !streq(p, "--json"))
			strs_add(ret, p);
	}
	return 0;
}

static void add_launcher(const char *launcher, unsigned shard, struct strs *argv)
{
	for (struct sv rest = sv_of(launcher), word; launcher && sv_word(&rest, &word);) {
		struct str s = { 0 };

		while (word.n) {
			if (sv_starts(word, "{shard}")) {
				str_addf(&s, "%u", shard);
				word = (struct sv){ word.p + 7, word.n - 7 };
			} else {
				str_addc(&s, word.p[0]);
				word = (struct sv){ word.p + 1, word.n - 1 };
			}
		}
		strs_take(argv, str_steal(&s));
	}
}

struct clients {
	struct proc **v;
	size_t n;
};

static void clients_release(struct clients *c)
{
	for (size_t i = 0; i < c->n; i++)
		proc_free(c->v[i]);
	free(c->v);
}

/* All begin at one moment: when the slowest has been started and warmed up, as it looks. */
static int64_t start_of(const struct load_opts *o)
{
	int64_t lead = o->lead_ns ? o->lead_ns
				  : (o->launcher ? 10 * NS_PER_S : NS_PER_S / 2) + o->warmup_ns;

	return clock_wall_ms() + lead / NS_PER_MS;
}

static int start_all(const struct load_opts *o, const struct strs *own, const char *dir,
		     struct clients *c, struct err *err)
{
	int64_t at = start_of(o);

	for (; c->n < (size_t)o->shards; c->n++) {
		struct strs argv CLEANUP(strs_release) = { 0 };
		struct proc_spec spec = { .limit_ns = 0 };

		add_launcher(o->launcher, (unsigned)c->n, &argv);
		for (size_t i = 0; i < own->n; i++)
			strs_add(&argv, own->v[i]);
		strs_addf(&argv, "--shard=%zu/%lld", c->n, (long long)o->shards);
		strs_addf(&argv, "--raw=%s/%zu", dir, c->n);
		if (!o->start_at)
			strs_addf(&argv, "--start-at=%lld", (long long)at);
		strs_add(&argv, "--progress=none");
		spec.argv = (const char *const *)argv.v;
		TRY(proc_start(&spec, &c->v[c->n], err));
	}
	return 0;
}

/* Ctrl-C reaches each of them, and each gives what it has. */
static int wait_all(struct clients *c, struct err *err)
{
	bool told = false;
	int64_t patience = 0;

	for (size_t running = c->n; running;) {
		running = 0;
		for (size_t i = 0; i < c->n; i++)
			running += proc_poll(c->v[i], i ? 0 : 50 * NS_PER_MS);
		if (cli_cancel && !told) {
			told = true;
			patience = clock_ns() + SLACK_NS;
			for (size_t i = 0; i < c->n; i++)
				proc_signal(c->v[i], SIGINT);
		}
		if (told && clock_ns() > patience)
			return bail(err, ERR_TIMEOUT, "a client does not end");
	}
	for (size_t i = 0; i < c->n; i++) {
		struct proc_done done CLEANUP(proc_done_release) = { 0 };

		proc_stop(c->v[i], 0, 0, &done);
		if (done.exit_code < 0 || done.exit_code > 2) {
			AUTO_FREE char *how = proc_how(&done);
			AUTO_FREE char *said = text_clean(sv_trim(sv_str(&done.err)));

			return bail(err, ERR_IO, "client %zu: %s: %.300s", i, how, said);
		}
	}
	return 0;
}

int load_shards_run(const struct load_opts *o, struct load_result *ret, struct err *err)
{
	struct clients c CLEANUP(
		clients_release) = { .v = xcalloc((size_t)o->shards, sizeof(*c.v)) };
	struct strs own CLEANUP(strs_release) = { 0 };
	struct strs files CLEANUP(strs_release) = { 0 };
	AUTO_FREE char *dir = NULL;
	struct err quiet = ERR_INIT;
	int rc;

	if (o->shard || o->search)
		return bail(err, ERR_USAGE, "--shards goes with neither --shard nor --search");
	TRY(own_args(&own, err));
	TRY(dir_temp("load", &dir, err));
	for (int64_t i = 0; i < o->shards; i++)
		strs_addf(&files, "%s/%lld", dir, (long long)i);
	rc = start_all(o, &own, dir, &c, err);
	if (rc == 0)
		rc = wait_all(&c, err);
	if (rc == 0)
		rc = load_merge_files(&files, ret, err);
	/* A folder that stays behind is no reason to lose the result. */
	if (dir_remove(dir, &quiet) < 0)
		cli_warn("%s", quiet.msg);
	return rc;
}
