/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load in a process of its own, so that this one can kill the server meanwhile. Two pipes: on one
 * it reports every tick, the other ends it when we close it. It dies with us.
 */
#include "checks/inner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "load/load.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void background_release(struct background *b)
{
	if (b->pid > 0) {
		(void)kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	closep(&b->control);
	closep(&b->reports);
	free(b->raw);
	*b = BACKGROUND_INIT;
}

struct pipes {
	int control, reports;
};

static int on_tick(void *arg, const struct load_progress *p)
{
	const struct pipes *to = arg;
	struct load_report r = { p->ok, p->failed, p->in_flight };
	struct pollfd stop = { .fd = to->control, .events = POLLIN };

	/* A pipe that is full holds older reports: this one may be left out. */
	(void)!write(to->reports, &r, sizeof(r));
	return poll(&stop, 1, 0) > 0;
}

static NORETURN void run(const struct check_ctx *ctx, const char *url, const struct load_ask *ask,
			 const char *raw, struct pipes *to, pid_t parent)
{
	struct load_result res = { 0 };
	struct err err = ERR_INIT;
	struct check_ctx quiet = *ctx;
	struct load_ask mine = *ask;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	quiet.progress = NULL;
	mine.tick = on_tick;
	mine.arg = to;
	if (load_server(&quiet, url, &mine, &res, &err) < 0 || load_raw_write(&res, raw, &err) < 0)
		_exit(1);
	_exit(0);
}

int background_start(const struct check_ctx *ctx, const char *url, const struct load_ask *ask,
		     const char *label, struct background *ret, struct err *err)
{
	int control[2], reports[2];
	struct background b = BACKGROUND_INIT;
	pid_t me = getpid();

	if (pipe2(control, O_CLOEXEC) < 0)
		return bail_sys(err, "cannot make a pipe");
	if (pipe2(reports, O_CLOEXEC | O_NONBLOCK) < 0) {
		(void)close(control[0]);
		(void)close(control[1]);
		return bail_sys(err, "cannot make a pipe");
	}
	b.control = control[1];
	b.reports = reports[0];
	b.raw = ctx_path(ctx, label);
	b.pid = fork();
	if (b.pid == 0) {
		struct pipes to = { control[0], reports[1] };

		(void)close(control[1]);
		(void)close(reports[0]);
		run(ctx, url, ask, b.raw, &to, me);
	}
	(void)close(control[0]);
	(void)close(reports[1]);
	if (b.pid < 0) {
		bail_sys(err, "cannot start the load");
		b.pid = 0;
		background_release(&b);
		return -ERR_IO;
	}
	*ret = b;
	return 0;
}

bool background_look(struct background *b, int64_t wait_ns)
{
	struct pollfd from = { .fd = b->reports, .events = POLLIN };
	struct load_report r;
	ssize_t n;

	(void)poll(&from, 1, (int)(wait_ns / NS_PER_MS));
	while ((n = read(b->reports, &r, sizeof(r))) == (ssize_t)sizeof(r))
		b->last = r;
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

int background_under_way(const struct check_ctx *ctx, struct background *b, struct err *err)
{
	int64_t start = clock_ns(), first = 0;
	int64_t most = ctx->contract->workload_check.load.timeout_ns + 10 * NS_PER_S;

	for (;;) {
		bool runs = background_look(b, 20 * NS_PER_MS);

		if (*ctx->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted under load");
		if (b->last.ok && !first)
			first = clock_ns();
		if (!runs)
			return bail(err, ERR_BROKEN, "the load ended before the server was killed");
		if (first && (b->last.in_flight || clock_ns() - first > 2 * NS_PER_S))
			return 0;
		if (clock_ns() - start > most)
			return bail(err, ERR_TIMEOUT, "no request was answered before the kill");
		report(ctx, "load", "", -1, -1);
	}
}

int background_end(const struct check_ctx *ctx, struct background *b, bool now,
		   struct evidences *to, struct load_result *ret, struct err *err)
{
	const struct load_spec *spec = &ctx->contract->workload_check.load;
	int64_t most = spec->timeout_ns + spec->duration_ns + 60 * NS_PER_S,
		until = clock_ns() + most;
	int status = -1;

	if (now)
		closep(&b->control);
	while (background_look(b, 20 * NS_PER_MS)) {
		if (*ctx->cancel)
			return bail(err, ERR_INTERRUPTED, "interrupted under load");
		if (clock_ns() > until)
			return bail(err, ERR_TIMEOUT, "the load did not end");
	}
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return bail(err, ERR_BROKEN, "the load failed");
	TRY(load_raw_read(b->raw, ret, err));
	evidences_add(to, path_base(b->raw), "application/zstd", b->raw);
	return 0;
}

size_t load_count_ok(const struct load_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].outcome == LOAD_OK;
	return n;
}

int only_serve(const struct check_ctx *ctx, struct outcome *o)
{
	const struct workload_check *w = &ctx->contract->workload_check;

	if (w->how != HOW_SERVE || !w->has_load)
		return ends(o, RESULT_SKIP, "the workload is no server under load"), 1;
	if (w->serve.attach)
		return ends(o, RESULT_SKIP, "the server is attached, not started by us"), 1;
	return 0;
}
