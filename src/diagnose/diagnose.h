/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a rejected run to the layer, the component and the owner. Pure: differences, a verdict and
 * whatever evidence there is in; trigger, cause and suspects out.
 *
 *	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
 *	diagnose(&in, &d);
 *	d.has_layer ? d.layer, d.component, d.owner : undetermined; d.suspects best first; d.next
 *
 * Trigger (what changed and brought it) and cause (what is broken, who has to act) are two answers:
 * in a third of public reports they lie in different layers. Only swapping ONE component proves a
 * cause; without that the best there is is `medium`, and often `undetermined`, with the
 * next cheapest
 * probe. Two suspects of one weight are not an answer.
 *
 * How it is found (rules.c, the first that speaks): alarms that follow a version; swaps;
 * the node; a
 * tag that moved; a default that flipped; a marker line that turned over; what a signature
 * says; what
 * the one change can explain; what evidence moved alone. Signatures that only wrap or follow never
 * decide. Evidence that did not move (a single-node run, another node) clears what it covers.
 *
 * Ranking of what is left: weight of the layer for this symptom (shares of causes among 163 public
 * reports, docs/decisions.md) x what the change carries x what the evidence points at.
 *
 * The comparison as a document (diagnose_case): a recorded comparison, docs/comparison.md.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "diagnose/signature.h"
#include "model/model.h"

struct err;
struct verdict;

enum diagnosis_symptom {
	SYMPTOM_SLOWER,
	SYMPTOM_WRONG,
	SYMPTOM_NO_START,
	SYMPTOM_CRASH,
	SYMPTOM_HANG,
	SYMPTOM_MEMORY,
	SYMPTOM_RESUME,
	SYMPTOM_FALLBACK,
	SYMPTOM_MISREPORT,
	SYMPTOM_OTHER,
	SYMPTOM_N
};
const char *diagnosis_symptom_name(enum diagnosis_symptom s);
/* "slower", "fails_to_start", "oom", ... as reports write it. */
bool diagnosis_symptom_parse(struct sv s, enum diagnosis_symptom *ret);

/* From one sentence that says how a run failed ("the server was not ready within 5 min", "ended
 * with exit code 3"); false: it says nothing of that kind. */
bool diagnosis_symptom_of(const char *reason, enum diagnosis_symptom *ret);
/* An exit code in such a sentence; a signal counts as its negative. */
bool diagnosis_exit_of(const char *reason, int *ret);

enum diagnosis_confidence {
	DIAGNOSIS_UNDETERMINED,
	DIAGNOSIS_LOW,
	DIAGNOSIS_MEDIUM,
	DIAGNOSIS_HIGH
};
const char *diagnosis_confidence_name(enum diagnosis_confidence c);

/* The layer in the words of public reports: "kernel_library", "driver_kernel", ... */
const char *diagnosis_layer_report_name(enum component_layer l);
bool diagnosis_layer_parse(struct sv s, enum component_layer *ret); /* either word */

enum diagnose_arm { ARM_ACCEPTED, ARM_CANDIDATE };

/* A line of a log that is known to mean something. Borrowed. */
enum diagnose_role { ROLE_CAUSE, ROLE_GENERIC, ROLE_WRAPPER, ROLE_CONSEQUENCE, ROLE_MARKER };
struct diagnose_sign {
	const char *id, *component, *meaning, *action, *owner, *line;
	enum diagnose_role role;
	enum component_layer layer; /* CL_N: the line alone can't say */
	unsigned rank;              /* the more specific wins */
	enum diagnose_arm arm;
};
/* The same line with another word in it: "... Enabled ..." before, "... Disabled ..." now. */
struct diagnose_flip {
	const char *before, *now; /* whole lines */
	const char *from, *to;    /* the words */
};

enum diagnose_moved { MOVED_UNKNOWN, MOVED_NOT, MOVED_WORSE, MOVED_BETTER };
/* A metric, a count, a control. */
struct diagnose_seen {
	const char *name;
	enum diagnose_moved moved;
	double by;    /* share it got worse by: 0.45; NAN */
	bool decides; /* has a limit; else it is a control or shown only */
	bool counted; /* bad of tries */
	unsigned bad, tries, bad_before, tries_before;
	bool alarm; /* a health record, not the workload's own failure */
	bool equal; /* had to equal something and does not */
	double before, now;
};
/* Time in a kernel before and now, both in shares of the accepted run's whole time. */
struct diagnose_kernel {
	const char *name;
	double before, now;
};
/* One more run with something changed in one arm. */
enum diagnose_outcome { PROBE_UNCLEAR, PROBE_GOOD, PROBE_BAD, PROBE_PARTLY };
struct diagnose_probe {
	const char *name;
	enum diagnose_arm base;
	struct pairs changes; /* component: value; empty: the arm once more */
	enum diagnose_outcome outcome;
	const char *text; /* how the outcome was seen */
	bool latent;      /* the accepted stack itself showed the fault, rarely */
};

struct diagnose_in {
	const struct changes *changes; /* accepted stack -> candidate */
	const struct verdict *verdict;
	const struct pairs *owners;      /* component or layer: who acts; NULL: by layer */
	const struct outcomes *outcomes; /* of the run's layers; NULL */
	/* all below may be absent */
	const struct stack *before, *after;    /* whole: to say what did not change */
	const enum diagnosis_symptom *symptom; /* known otherwise; NULL: from the verdict */
	const struct diagnose_sign *signs;
	size_t n_signs;
	const struct diagnose_flip *flips;
	size_t n_flips;
	const struct diagnose_seen *seen;
	size_t n_seen;
	const struct diagnose_kernel *kernels;
	size_t n_kernels;
	const struct diagnose_probe *probes;
	size_t n_probes;
	const char *gpu;      /* its name, for the vendor; NULL */
	const int *exit_code; /* of the candidate; NULL */
	bool first;           /* there is no accepted run: nothing is known to have changed */
	const char *scope;    /* what the workload is: "collective", "training", ...; NULL */
};

struct suspect {
	char *component, *change; /* "blas", "kernellib blas openblas 0.3.21 -> reference 3.11.0" */
	enum component_layer layer;
	char *owner;
	double share; /* of all scores, 0..1: a ranking, not a probability that was measured */
};
struct diagnosis {
	enum diagnosis_symptom symptom;
	enum diagnosis_confidence confidence;
	bool nothing; /* there is no regression to attribute */
	bool has_layer, has_second;
	enum component_layer layer, second; /* of the cause; a second one that has a part in it */
	char *component;                    /* what is broken there; NULL */
	char *trigger;                      /* the component whose change brought it; NULL */
	char *owner;                        /* who has to act; NULL */
	const char *rule;                   /* which rule spoke; static */
	struct {
		struct suspect *v;
		size_t n, room;
	} suspects;                    /* best first */
	double layers[CL_N];           /* shares of the layers, suspects and what they carry */
	struct strs reasons, must_not; /* why; what must not be concluded */
	struct strs fields;            /* what decided */
	char *next;                    /* the cheapest probe, or what to do */
};
void diagnosis_release(struct diagnosis *d);
void diagnose(const struct diagnose_in *in, struct diagnosis *ret);
json_t *diagnosis_to_json(const struct diagnosis *d) MUST_USE; /* fit for a record */

/* ---- a recorded comparison (docs/comparison.md) ---- */

struct diagnose_case_opts {
	bool without_probes;
	const struct signatures *signatures; /* for its logs; NULL: logs are compared, not read */
};
/* A comparison and its verdict: schema "twice.comparison/1" in, the members of twice.diagnose/1's
 * "case" out. *ret_kind: the verdict. -ERR_PARSE names the member at fault. */
int diagnose_case(const json_t *document, const struct diagnose_case_opts *opts, json_t **ret,
		  enum verdict_kind *ret_kind, struct err *err) MUST_USE;

#include "diagnose/log.h" /* IWYU pragma: keep: part of this header */
