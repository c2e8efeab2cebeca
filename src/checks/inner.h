/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks share: outcomes, processes of the workload, HTTP, the machine's other work. */
#pragma once

#include "base/proc.h"
#include "checks/checks.h"
#include <signal.h>

/* check_run for a check that may not be in the table; c NULL: the general `command`. */
int check_run_as(const struct check_ctx *ctx, const struct check *c, const struct contract_check *k,
		 struct outcome *ret, struct err *err) MUST_USE;

/* ---- outcomes ---- */

/* Sets result and reason; returns 0, so that a check can end with it. */
int ends(struct outcome *o, enum result r, const char *fmt, ...) PRINTF(3, 4);
/* The same from an error; 0 unless it is an interruption, which is passed on. */
int ends_err(struct outcome *o, enum result r, struct err *err);
/* We were interrupted or had no files or memory left ourselves: nothing was learned about what was
 * to be checked, and the error goes up. */
bool no_answer(const struct err *err);
/* To whoever shows progress; live may be NULL. */
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
/* The same with a file, which may be large: of more than 64 MiB the two ends are kept. Not there:
 * nothing is added. */
int keep_file(const struct check_ctx *ctx, struct evidences *to, const char *label,
	      const char *media_type, const char *path, struct err *err) MUST_USE;
/* The last line of a log for a reason: at most n bytes, redacted; "" when there is none. Caller
 * frees. */
char *tail_of(const char *path, size_t n) MUST_USE;
/* Below ctx->root; caller frees. */
char *ctx_system(const struct check_ctx *ctx, const char *path) MUST_USE;
int free_port(struct err *err) MUST_USE; /* a port on 127.0.0.1 that was free just now */

/* ---- the machine meanwhile ---- */

unsigned cpus_usable(void); /* by affinity; 0: cannot be told */

/* Counters of errors and throttling that the kernel keeps; sums over all their files. */
struct counters {
	bool ecc;      /* there is at least one counter of memory or bus errors */
	bool throttle; /* ... of processors slowed down by heat */
	double corrected, uncorrected, throttled;
};
/* EDAC, amdgpu's RAS, PCIe's advanced error reporting; Intel's thermal_throttle. */
void counters_read(const struct check_ctx *ctx, struct counters *ret);

struct watch {
	int64_t start_ns;
	uint64_t busy, total; /* ticks of /proc/stat */
	struct counters counters;
};
void watch_start(const struct check_ctx *ctx, struct watch *w);
/* What the machine did meanwhile, as measurements (host.others, host.ecc.*, host.throttled) and,
 * if it spoils the measurement, as an outcome workload/machine that is DOUBTFUL. */
void watch_end(const struct check_ctx *ctx, const struct watch *w, int64_t own_ns, struct rep *r);
/* Share of the machine's processors that others used, 0..1; own: processor time of ourselves and
 * the workload since watch_start. NAN: /proc/stat can't be read. */
double watch_others(const struct check_ctx *ctx, const struct watch *w, int64_t own_ns);
int64_t self_cpu_ns(void); /* this process and its waited-for children */

/* ---- HTTP for control: readiness, metadata ---- */

/* *ret_status 0: no answer (refused, timed out). body may be NULL; at most 1 MiB of it. */
int http_get(const char *url, int64_t timeout_ns, long *ret_status, struct str *body,
	     struct err *err) MUST_USE;

/* ---- tables of rccl-tests and nccl-tests ---- */

struct comm_limits {
	const struct limits *busbw; /* by message size */
	double dip;                 /* NAN: none */
};
int comm_limits_valid(const struct limits *busbw, struct err *err) MUST_USE;
/* Reads the table in done->out, adds PREFIX.busbw.BYTES, and ends o: wrong results first, then
 * whether everything was compared and whole, how the program ended, then bandwidth. */
int comm_judge(const struct check_ctx *ctx, const struct proc_done *done, const char *prefix,
	       const struct comm_limits *limits, struct outcome *o);

/* ---- a server ---- */

struct server {
	struct proc *proc; /* NULL: attached */
	int port;
	char *url, *log;
	int64_t ready_ns; /* how long it took */
	struct pairs values;
};
void server_release(struct server *s); /* stops it */
/* Starts (or attaches) and waits. A server that does not come up is -ERR_... with words. */
/* port: where an earlier one listened, so that its clients find this one; 0: the contract's, or
 * any. */
int server_start(const struct check_ctx *ctx, const char *log_name, int port, struct server *ret,
		 struct err *err) MUST_USE;
/* The log of a program that never stops writing would fill the disk: over 1 GiB. path may be
 * NULL. */
bool log_too_long(const char *path);
bool port_is_free(int port); /* nobody listens there on 127.0.0.1 */
/* SIGTERM (or sig), its grace, and up to three seconds until nobody listens on its port any more;
 * done may be NULL. s->port stays. */
void server_stop(struct server *s, const struct serve_spec *spec, int sig, struct proc_done *done);

/* ---- what a workload tells beside its numbers ---- */

struct load_result;

/* Where the contract's items, texts and settings are looked for; what there is none of is empty. */
struct told {
	struct sv out;       /* standard output */
	bool out_cut;        /* ... and it was longer */
	const char *log;     /* file of its error output, or the server's log */
	const char *metrics; /* file of the server's page */
	const char *cwd;     /* that relative paths are meant from */
	const struct pairs *values;
	const struct load_result *load;
};
/* Reads them into r: NAME.score, evidence items.NAME and texts.NAME, settings. What can't be read
 * is an outcome that is ERROR. */
int told_collect(const struct check_ctx *ctx, const struct told *t, struct rep *r,
		 struct err *err) MUST_USE;

/* ---- load on it ---- */

struct load_result;
struct load_prompts;
struct load_golden;
struct load_progress;

/* Zeroed: the contract's load without its warm-up. */
struct load_ask {
	bool warmup;
	uint64_t count;      /* so many requests instead; 0 */
	int64_t duration_ns; /* so long instead; 0 */
	bool open_loop;      /* never as clients that wait: for a server that may be gone */
	bool one_by_one;     /* each when the one before has ended */
	bool no_golden;      /* compares nothing */
	const struct load_prompts *prompts; /* instead of the contract's; NULL */
	const char *log;                    /* the server's; NULL */
	int (*tick)(void *arg,
		    const struct load_progress *p); /* every 20 ms; non-zero: stop; NULL */
	void *arg;
};
int load_server(const struct check_ctx *ctx, const char *url, const struct load_ask *ask,
		struct load_result *ret, struct err *err) MUST_USE;
/* The contract's prompts (none: n is 0) and its golden answers (none yet: n is 0). */
int load_prompts_of(const struct check_ctx *ctx, struct load_prompts *ret,
		    struct err *err) MUST_USE;
int load_golden_of(const struct check_ctx *ctx, struct load_golden *ret, struct err *err) MUST_USE;

/* ---- load in the background, while its server is killed ---- */

struct load_report {
	uint64_t ok, failed, in_flight;
};
struct background {
	pid_t pid; /* 0: none */
	int control, reports;
	char *raw;
	struct load_report last; /* the newest one seen */
};
#define BACKGROUND_INIT ((struct background){ .control = -1, .reports = -1 })
/* A process of ours runs `ask` against url; label names its record in the scratch folder. */
int background_start(const struct check_ctx *ctx, const char *url, const struct load_ask *ask,
		     const char *label, struct background *ret, struct err *err) MUST_USE;
/* Takes in what it reported, waiting for at most wait_ns. False: it has ended. */
bool background_look(struct background *b, int64_t wait_ns);
/* Waits until at least one answer has come and a request is on its way (or none is for two
 * seconds). */
int background_under_way(const struct check_ctx *ctx, struct background *b,
			 struct err *err) MUST_USE;
/* Its end (asked for with `now`), and what it saw; kept as evidence. */
int background_end(const struct check_ctx *ctx, struct background *b, bool now,
		   struct evidences *to, struct load_result *ret, struct err *err) MUST_USE;
void background_release(struct background *b); /* kills it if it still runs */

/* 1 and o says why when there is no server of ours under load. */
int only_serve(const struct check_ctx *ctx, struct outcome *o);
size_t load_count_ok(const struct load_result *r);

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
	size_t bad_lines;   /* look like metrics and can't be read */
	size_t bad_numbers; /* losses that are NaN or infinite */
	struct pairs state; /* text members, the last of each name: final digests and such */
	json_t *evaluation; /* MLLOG: what was said at evaluation_step so far */
	int64_t evaluation_step;
};
void train_stream_release(struct train_stream *s);
void train_line(const struct train_spec *t, struct train_stream *s, struct sv line, int64_t at_ns);

struct train_run {
	struct proc_done done;
	struct train_stream stream;
	int64_t started_ns;
	bool killed, log_too_long;
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
	check_ecc, check_allreduce, check_collective, check_import, check_restart, check_replay,
	check_resume;
