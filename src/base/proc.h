/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes: argv only (never a shell), a process group of their own, a time limit, an output
 * limit, stdout and stderr captured, exit code and signal kept, no descriptor but those three. A
 * child dies with us (PDEATHSIG), and its whole group is ended: SIGTERM, then SIGKILL after the
 * grace time. What left the group (setsid) is ended with it: base/stray.h.
 *
 *	struct proc_spec spec = { .argv = argv, .limit_ns = 10 * NS_PER_S };
 *	struct proc_done done CLEANUP(proc_done_release) = { 0 };
 *	TRY(proc_run(&spec, &done, err));            the child ran; done says how it ended
 *
 * A long-lived one:
 *	proc_start(&spec, &p, err); ... proc_poll(p) ... proc_stop(p, ...); proc_free(p)
 */
#pragma once

#include "base/str.h"
#include <sys/types.h>

struct err;
struct proc;

struct proc_spec {
	/* NULL-ended; argv[0] is found through PATH of the child's environment. */
	const char *const *argv;
	/* NULL-ended "K=V" set on top of ours; "K" without '=' removes; NULL: none. */
	const char *const *env;
	bool env_clear;   /* begin with an empty environment */
	bool leave;       /* what leaves the process group (a daemon) may go on */
	const char *cwd;  /* NULL: ours */
	int64_t limit_ns; /* wall-clock limit; 0: 10 minutes for proc_run, none for proc_start */
	int64_t grace_ns; /* SIGTERM to SIGKILL; 0: 2 s */
	size_t out_limit; /* bytes kept of each stream; 0: 1 MiB. The rest is read and dropped */
	const char *out_path, *err_path; /* append the streams to files instead; NULL: in memory */
	const char *in;                  /* text for stdin; NULL: /dev/null */
	const volatile int *cancel; /* when it becomes non-zero the child is ended; NULL: none */
	/* Called for each whole line of stdout (kept as well) while it runs, from
	 * proc_run/proc_poll. */
	void (*on_line)(void *arg, struct sv line);
	void *arg;
};

struct proc_done {
	int exit_code;   /* 0..255, -1 when it did not exit by itself */
	int term_signal; /* 0 when it exited */
	bool timed_out, cancelled, out_cut, err_cut;
	unsigned strays; /* descendants outside the process group that had to be ended */
	int64_t wall_ns, user_ns, sys_ns; /* of the child and its waited-for children */
	int64_t max_rss_bytes;
	struct str out, err; /* empty when they went to files */
};
void proc_done_release(struct proc_done *done);
bool proc_ok(const struct proc_done *done); /* exited 0, in time, not cancelled */
/* "exit 3", "signal 9 (Killed)", "time limit of 10 s" ... for messages; caller frees. */
char *proc_how(const struct proc_done *done) MUST_USE;

/* Fails only when the program can't be started (-ERR_NOT_FOUND, -ERR_IO) or on cancel
 * (-ERR_INTERRUPTED, with *ret filled all the same). */
int proc_run(const struct proc_spec *spec, struct proc_done *ret, struct err *err) MUST_USE;

int proc_start(const struct proc_spec *spec, struct proc **ret, struct err *err) MUST_USE;
pid_t proc_pid(const struct proc *p);
/* Moves output along without waiting longer than wait_ns. True while the leader is still running.
 */
bool proc_poll(struct proc *p, int64_t wait_ns);
void proc_signal(struct proc *p, int sig); /* to the whole group */
/* Ends it: sig (0: SIGTERM), grace, SIGKILL; reaps; fills ret when not NULL. */
void proc_stop(struct proc *p, int sig, int64_t grace_ns, struct proc_done *ret);
void proc_free(struct proc *p); /* stops it if it still runs; NULL is fine */
static inline void proc_freep(struct proc **p)
{
	proc_free(*p);
	*p = NULL;
}

/* Ends every child group that is still running: for a signal handler's cleanup path and atexit. */
void proc_end_all(void);
