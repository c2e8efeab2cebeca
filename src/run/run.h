/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution of a contract, as it happens: the stack, the layers in their order, the
 * repetitions,
 * the verdict after each of them, and every step of it in the ledger BEFORE the next one starts.
 * Prints nothing; what is going on goes to the caller's callbacks.
 *
 *	struct run_env env = { .contract = &c, .dir = dir, .ledger = l, ... };
 *	struct run_done done CLEANUP(run_done_release) = { 0 };
 *	TRY(run_contract(&env, &done, err));        done.verdict, done.kind, ...
 *
 * The life of a run in the ledger (bodies are described in twice-ledger(5)):
 *	contract.set, stack.capture          what is to be judged
 *	run.intent   scope "run"             bank, margins, looks: fixed before anything starts
 *	run.result   scope "checks"          hardware, communication, framework (refers by "of")
 *	run.intent   scope "rep"             announces one repetition
 *	run.result   scope "rep"             ends it: measurements, evidence, failed or excluded
 *	...
 *	run.result   scope "checks"          recovery
 *	run.result   scope "run"             ends the run ("finished", "interrupted")
 *	verdict                              recomputable from the entries it names
 *
 * A run or repetition that was announced and never ended (kill -9, power loss) is closed by the
 * next
 * writer with run.abandon. Repetitions that were interrupted are left out, by that cause and
 * listed, up
 * to RUN_MAX_INTERRUPTED in a series; any more count as failed: nobody picks repetitions by Ctrl-C.
 */
#pragma once

#include "base/str.h"
#include "contract/contract.h"
#include "ledger/ledger.h"
#include "model/model.h"

struct err;

#define RUN_MAX_INTERRUPTED 2

/* What is going on now, for a live line. */
struct run_progress {
	enum check_layer layer;
	const char *what; /* "hardware/memory_bandwidth", "repetition 3 of 5" */
	const char *live; /* numbers so far, or "" */
	double fraction;  /* of the whole run, 0..1; negative: unknown */
	int64_t left_ns;  /* of the whole run; negative: unknown */
};

struct run_env {
	const struct contract *contract;
	const char *contract_text;
	const char *dir; /* the contract's folder */
	struct ledger *ledger;
	const char *machine; /* id of the tool in entries */
	const char *run_by;  /* the person who runs it: nobody has to approve their own run */
	const char *tool_version, *tool_digest;
	const volatile int *cancel;
	/* callbacks; each may be NULL */
	void (*progress)(void *arg, const struct run_progress *p);
	void (*outcome)(void *arg, const struct outcome *o); /* a check has ended */
	/* A repetition has ended; arm: "accepted" or "candidate" when both alternate, else NULL. */
	void (*rep)(void *arg, const struct rep *r, const char *arm);
	void (*note)(void *arg, const char *text); /* worth a line of its own */
	void *arg;
	/* options */
	bool keep_going;        /* later layers in spite of a failed one */
	unsigned layers;        /* bit mask of check layers to do; 0: all */
	int64_t max_reps;       /* at most so many this time; 0: the contract's cap */
	const char *new_series; /* reason to start over instead of continuing the series; NULL */
	/* Held to its objectives alone, for this reason: what was accepted is another thing. NULL:
	 * compared with it. */
	const char *first;
	bool interleave; /* with the accepted stack, alternately, by the contract's switches */
	bool keep_work;  /* don't remove the scratch folder */
};

/* ---- the stack ---- */

/* stack.environment and environment_file of the contract, placeholders filled in; later ones win.
 * */
int run_environment(const struct contract *c, const char *dir, struct pairs *ret,
		    struct err *err) MUST_USE;
/* Captures what the contract says belongs to its stack. pid 0: no process. quick: twice check.
 * known: the accepted stack for quick, or NULL. */
struct run_capture {
	const struct contract *contract; /* NULL: the machine alone */
	const char *dir, *root, *cache_path, *tool_version, *tool_digest;
	pid_t pid;
	bool quick;
	const struct stack *known;
	const volatile int *cancel;
};
int run_stack(const struct run_capture *rc, struct stack *ret, struct err *err) MUST_USE;
int run_stack_save(const struct run_capture *rc, const char *to, struct stack *ret,
		   struct err *err) MUST_USE;

/* ---- exceptions ---- */

/*
 * A waiver: a person's signed exception, with a reason, an owner and an end. Its subject is
 *	"hardware/gpus"     a check: that it does not pass stops nothing, and is a note
 *	"ttft.p50"          an objective: meanwhile its limit is `limit`
 *	"pin/driver"        a pin: that it is violated is told, and no more
 *	"sessions"          that repetitions share a session (a boot of a host) is a note, not a
 *	                    reason against an acceptance
 * When it ends, or is taken back, what was accepted under it is accepted no longer.
 */
#define WAIVER_PIN      "pin/"
#define WAIVER_SESSIONS "sessions"
enum waiver_state {
	WAIVER_IN_FORCE,
	WAIVER_PENDING,
	WAIVER_NOT_SIGNED,
	WAIVER_EXPIRED,
	WAIVER_REVOKED
};
struct waiver {
	uint64_t seq, revoked; /* entry that took it back; 0: none did */
	char leaf[65];
	char *subject, *limit; /* limit: as written, "<= 300 ms"; NULL: none */
	char *reason, *owner, *who, *why;
	int64_t at_ms, until_ms, revoked_ms;
	enum ledger_standing standing;
};
struct waivers {
	struct waiver *v; /* oldest first */
	size_t n, room;
};
void waivers_release(struct waivers *l);
/* All of one workload among the first as_of entries (0: all of them). */
int waivers_read(struct ledger *l, const char *workload, uint64_t as_of, struct waivers *ret,
		 struct err *err) MUST_USE;
enum waiver_state waiver_state(const struct waiver *w, int64_t now_ms);
const char *waiver_state_name(enum waiver_state s); /* "in force" */
/* The newest in force; NULL. */
const struct waiver *waivers_for(const struct waivers *l, const char *subject, int64_t now_ms);
/* Keeps those in force, and of them those that are named in refs (NULL: all). */
void waivers_keep(struct waivers *l, const json_t *refs, int64_t now_ms);
json_t *waivers_refs(const struct waivers *l); /* [{"digest":leaf}]; NULL when there is none */
json_t *waiver_json(const struct waiver *w, int64_t now_ms) MUST_USE;
char *waiver_text(const struct waiver *w) MUST_USE; /* "waived until 2026-12-24 by ..." */
/* Can this contract have such a waiver? limit NULL: none was given. */
int waiver_valid(const struct contract *c, const char *subject, const char *limit,
		 struct err *err) MUST_USE;
/* The limit of a waived objective: looser than the contract's, in its direction and unit. */
int waiver_limit(const struct contract *c, const char *subject, const char *text, struct limit *ret,
		 struct err *err) MUST_USE;

/* ---- what was accepted ---- */

/* One sign-off and what it rests on. */
struct acceptance {
	uint64_t seq;
	char signoff[65], verdict[65], intent[65];
	char run[40]; /* id of the run */
	char contract_digest[65], stack_digest[65];
	char *who, *note;
	char *lapse;               /* why it ended early: a waiver it rests on did; NULL */
	int64_t at_ms, expires_ms; /* 0: never; not after a waiver that it rests on has ended */
	enum ledger_standing standing;
};
struct acceptances {
	struct acceptance *v; /* newest first */
	size_t n, room;
};
void acceptances_release(struct acceptances *l);
/* Every sign-off of one workload. */
int acceptances_read(struct ledger *l, const char *workload, struct acceptances *ret,
		     struct err *err) MUST_USE;
/* The one that counts now: the newest in force that is not expired at now_ms; NULL: none. */
const struct acceptance *acceptance_current(const struct acceptances *l, int64_t now_ms);
/* Accepted on two different stacks (or under two contracts' worth of change), or re-accepted by a
 * run
 * after a rejection or roll-back: the workload is proven. */
bool acceptances_proven(struct ledger *l, const struct acceptances *a);

/* Reads back what entries refer to. The digest is the entry's leaf (64 hex). */
int run_stack_of(struct ledger *l, const char *intent, struct stack *ret, struct err *err) MUST_USE;
/* The same of a stack.capture. */
int run_stack_of_capture(struct ledger *l, const char *capture, struct stack *ret,
			 struct err *err) MUST_USE;

enum standing {
	STANDING_ACCEPTED,
	STANDING_STALE,
	STANDING_EXPIRED,
	STANDING_NEVER,
	STANDING_UNKNOWN
};
const char *standing_name(enum standing s);
/* Is this stack, under this contract, the accepted one? */
struct staleness {
	enum standing standing;
	bool contract_changed;
	struct stack before, now; /* changes borrow from both */
	struct changes changes;
	unsigned layers; /* check layers to run again */
	struct strs reasons;
};
void staleness_release(struct staleness *s);
/* now: the captured stack; taken over by ret. */
int run_staleness(struct ledger *l, const struct contract *c, const struct acceptance *a,
		  int64_t now_ms, struct stack *now, struct staleness *ret,
		  struct err *err) MUST_USE;

/* ---- watching ---- */

struct verdict_watch; /* verdict/verdict.h */
/* All repetitions of the accepted stack since a, whichever run made them, against those that were
 * accepted: verdict_watch(). One pass over the ledger. */
int run_watch(struct ledger *l, const struct contract *c, const struct acceptance *a,
	      struct verdict_watch *ret, struct err *err) MUST_USE;
json_t *run_watch_json(const struct verdict_watch *w) MUST_USE;

/* ---- running ---- */

struct run_done {
	char run[40];
	char intent[65], verdict_leaf[65];
	char stack_digest[65];
	enum verdict_kind kind;
	json_t *verdict; /* body of the verdict entry */
	bool interrupted;
	bool nothing_to_do; /* the series had been decided before; no repetition was made */
};
void run_done_release(struct run_done *d);
int run_contract(const struct run_env *env, struct run_done *ret, struct err *err) MUST_USE;

/* Closes runs and repetitions that never ended and whose process is gone. */
int run_close_abandoned(const struct run_env *env, size_t *ret_n, struct err *err) MUST_USE;

/* The verdict of a verdict entry again, from the ledger alone: for ledger_verify's recompute. */
struct run_recompute_arg {
	struct ledger *ledger;
	const struct check_schema *const *schemas;
};
int run_recompute(void *arg, const struct ledger_entry *verdict, struct str *text, struct err *err);

/* ---- going back ---- */

/* One component to switch back: by the contract's `switch:` commands. */
struct switch_step {
	const char *component; /* borrowed from the contract */
	char *to;              /* version word that its set command takes */
	char *from;            /* what get says now; NULL: it does not say */
	bool needed;
};
struct switch_plan {
	struct switch_step *v;
	size_t n, room;
	struct strs missing; /* changed components that no switch can put back */
	/* Those without a switch of their own that were accepted in the same version as one that is
	 * switched: expected to go back with it, and looked at again afterwards. */
	struct strs along;
};
void switch_plan_release(struct switch_plan *p);
int run_switch_plan(struct ledger *l, const struct contract *c, const char *dir,
		    const struct acceptance *a, const struct staleness *s, struct switch_plan *ret,
		    struct err *err) MUST_USE;
/* The word that is in place now, by the switch's get command. Caller frees. */
int run_switch_get(const struct contract *c, const char *dir, const struct stack_switch *s,
		   char **ret, struct err *err) MUST_USE;
int run_switch(const struct contract *c, const char *dir, const struct switch_step *s,
	       const volatile int *cancel, struct err *err) MUST_USE;

/* ---- which component did it ---- */

enum run_leave { LEAVE_FOUND, LEAVE_ACCEPTED, LEAVE_REJECTED };
/* Switches the components of a rejected run back and forth, alone and together, until one (or a
 * pair) is known to have done it: room bisect decides, the contract's switches do it. In the
 * ledger:
 *	run.intent   scope "bisect"   question, components, the words in place before it
 *	run.intent   scope "trial"    configuration and why, before anything is switched
 *	bisect.trial                  what came of it (run.abandon: interrupted)
 *	attribution                   the answer
 *	run.result   scope "bisect"   the end, and whether the words are in place again
 * A search that was broken off is gone on with by the next one for the same rejected run; it puts
 * back first what a killed one could not. */
struct run_bisect {
	const char *run;          /* the rejected run; NULL: the latest */
	const char *metric;       /* NULL: the one that rejected it; "failed": whether it failed */
	const char *a, *b;        /* both: the full plan of these two instead of a search */
	const struct strs *never; /* each "NAME=old|new,...": a configuration never to be tried */
	int64_t each;       /* repetitions of each of the four configurations of the full plan */
	int64_t max_trials; /* 0: the room's */
	bool equal;         /* no weights from the attribution */
	bool unsupported;   /* try also what pins forbid or is said not to go together */
	bool again;         /* forget the trials of earlier searches */
	bool plan_only, restore_only;
	enum run_leave leave;
};
/* What --json prints goes into value. *ret_exit: 0 answer or plan, 1 none of the components, 2
 * undetermined or interrupted, 3 the machine could not be left as it should be. */
int run_bisect(const struct run_env *env, const struct run_bisect *conf, json_t *value,
	       int *ret_exit, struct err *err) MUST_USE;
