/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks share: outcomes, processes of the workload, HTTP, the machine's other work. */
#pragma once

#include "base/proc.h"
#include "checks/checks.h"

/* ---- outcomes ---- */

/* Sets result and reason; returns 0, so that a check can end with it. */
int ends(struct outcome *o, enum result r, const char *fmt, ...) PRINTF(3, 4);
/* The same from an error; 0 unless it is an interruption, which is passed on. */
int ends_err(struct outcome *o, enum result r, struct err *err);
/* Names an error's reason with its first word in place: "cannot start: no program 'x'". */
void report(const struct check_ctx *ctx, const char *what, const char *live, double fraction,
	    int64_t left_ns);

/* ---- processes of the workload ---- */

/* {port} and so on for this context: contract_values plus work, port (0: none), seed. */
int ctx_values(const struct check_ctx *ctx, int port, struct pairs *ret, struct err *err) MUST_USE;
/* The environment of a workload process: ctx->environment, then the workload's own. */
int ctx_env(const struct check_ctx *ctx, const struct pairs *own, const struct pairs *values,
	    struct strs *ret, struct err *err) MUST_USE;
/* A file in the scratch folder; caller frees. */
char *ctx_path(const struct check_ctx *ctx, const char *name) MUST_USE;
/* Puts the (redacted) text of a finished program into the scratch folder as evidence. */
int keep_text(const struct check_ctx *ctx, struct evidences *to, const char *label, struct sv text,
	      struct err *err) MUST_USE;
/* Last lines of a log for a reason: at most n bytes, one line; caller frees. */
char *tail_of(const char *path, size_t n) MUST_USE;
int free_port(struct err *err) MUST_USE; /* a port on 127.0.0.1 that was free just now */

/* ---- the machine meanwhile ---- */

struct watch {
	int64_t start_ns;
	uint64_t busy, total; /* ticks of /proc/stat */
};
void watch_start(struct watch *w);
/* Share of the machine's processors that others used, 0..1; own: processor time of ourselves and
 * the
 * workload since watch_start. NAN: /proc/stat can't be read. */
double watch_others(const struct watch *w, int64_t own_ns);
int64_t self_cpu_ns(void); /* this process and its waited-for children */

/* ---- HTTP for control: readiness, metadata ---- */

/* *ret_status 0: no answer (refused, timed out). body may be NULL; at most 1 MiB of it. */
int http_get(const char *url, int64_t timeout_ns, long *ret_status, struct str *body,
	     struct err *err) MUST_USE;

/* ---- a server ---- */

struct server {
	struct proc *proc; /* NULL: attached */
	int port;
	char *url, *log;
	int64_t ready_ns; /* how long it took */
	struct pairs values;
};
void server_release(struct server *s); /* stops it */
/* Starts (or attaches), waits until ready. A server that does not come up is -ERR_... with words.
 * */
int server_start(const struct check_ctx *ctx, const char *log_name, struct server *ret,
		 struct err *err) MUST_USE;
/* SIGTERM (or sig), its grace; done may be NULL. */
void server_stop(struct server *s, const struct serve_spec *spec, int sig, struct proc_done *done);

/* ---- load on it ---- */

struct load_result;
/* Runs the contract's load (limited to `count` requests when not 0) against url. */
int load_server(const struct check_ctx *ctx, const char *url, uint64_t count, bool warmup,
		struct load_result *ret, struct err *err) MUST_USE;

/* ---- training ---- */

struct train_point {
	int64_t at_ns; /* CLOCK_MONOTONIC when it was seen */
	int64_t step;
	double loss, eval, samples, samples_per_s, step_ms, data_ms;
	bool reached;
};
struct train_stream {
	struct train_point *v;
	size_t n, room;
	size_t bad_lines;
	struct pairs state; /* text members of lines that carry no step: final digests and such */
};
void train_stream_release(struct train_stream *s);
void train_line(const struct train_spec *t, struct train_stream *s, struct sv line, int64_t at_ns);

struct train_run {
	struct proc_done done;
	struct train_stream stream;
	int64_t started_ns;
	bool killed;
};
void train_run_release(struct train_run *r);
/* Runs (or resumes) the job in ctx->work. kill_at: SIGKILL once the stream has this step; 0:
 * never. */
int train_start(const struct check_ctx *ctx, const char *tag, bool resume, int64_t kill_at,
		struct train_run *ret, struct evidences *evidence, struct err *err) MUST_USE;

int workload_serve(const struct check_ctx *ctx, struct rep *r, struct err *err) MUST_USE;
int workload_train(const struct check_ctx *ctx, struct rep *r, struct err *err) MUST_USE;
int workload_command(const struct check_ctx *ctx, struct rep *r, struct err *err) MUST_USE;
/* A command of the contract: runs, reads its numbers (named prefix + metric), keeps its output. */
int command_do(const struct check_ctx *ctx, const struct command_spec *c, const char *prefix,
	       struct outcome *o, struct proc_done *done, struct err *err) MUST_USE;

extern const struct check check_cpus, check_memory, check_memory_bandwidth, check_host, check_gpus,
	check_allreduce, check_import, check_restart, check_replay, check_resume;
