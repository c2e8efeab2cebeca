/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nouns that all rooms share: units, measurements, components and stacks, check outcomes,
 * repetitions, runs. Values only: read, write, compare; no decision is made here.
 *
 * Numbers: in memory a value is a double in the unit's base (ns for time, 0..1 for ratios, bytes,
 * bytes/s, 1/s). In records it is an integer: value x unit_scale(unit), rounded half away from zero
 * (no float enters anything that is hashed or signed). Every to_json here gives members fit for the
 * ledger's canonical JSON; every from_json refuses what is not of that shape with -ERR_PARSE.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"

struct err;

/* ---- words ----------------------------------------------------------------------------------- */

/* Layer of a component, from the metal up. Names: component_layer_name(). */
enum component_layer {
	CL_HARDWARE,
	CL_FIRMWARE,
	CL_HOST,
	CL_DRIVER,
	CL_RUNTIME,
	CL_COMMLIB,
	CL_KERNELLIB,
	CL_FRAMEWORK,
	CL_ENGINE,
	CL_MODEL,
	CL_IMAGE,
	CL_PLATFORM,
	CL_APPLICATION,
	CL_N,
};
const char *component_layer_name(enum component_layer l); /* "hardware" ... "application" */
bool component_layer_parse(struct sv s, enum component_layer *ret);
/* Who acts by default when a layer is at fault: "kernel library maintainers", ... A contract's
 * stack.owners overrides it by component or layer name. */
const char *component_layer_owner(enum component_layer l);

/* The five steps of a run. */
enum check_layer {
	LAYER_HARDWARE,
	LAYER_COMM,
	LAYER_FRAMEWORK,
	LAYER_WORKLOAD,
	LAYER_RECOVERY,
	LAYER_N
};
const char *check_layer_name(enum check_layer l); /* "hardware" "communication" "framework" ... */
bool check_layer_parse(struct sv s, enum check_layer *ret);
/* Bit mask (1 << check_layer) of the steps that a change in this layer makes stale. */
unsigned check_layers_touched(enum component_layer l);

enum result { RESULT_PASS, RESULT_FAIL, RESULT_SKIP, RESULT_ERROR, RESULT_DOUBTFUL, RESULT_N };
const char *result_name(enum result r); /* "PASS" ... */
bool result_parse(struct sv s, enum result *ret);

enum verdict_kind {
	VERDICT_ACCEPTED,
	VERDICT_ACCEPTED_NOTE,
	VERDICT_REJECTED,
	VERDICT_INCONCLUSIVE,
	VERDICT_NO_RESULT,
	VERDICT_BASELINE_VOID,
	VERDICT_N,
};
const char *verdict_name(enum verdict_kind v); /* "accepted", "accepted with note", ... */
/* "accepted", "accepted_with_note", ...: for records */
const char *verdict_code(enum verdict_kind v);
bool verdict_parse(struct sv code, enum verdict_kind *ret);
int verdict_exit_code(enum verdict_kind v); /* 0 accepted, 1 rejected, 2 the others */

/* ---- units ----------------------------------------------------------------------------------- */

enum unit {
	UNIT_NONE,  /* a plain number: loss, score */
	UNIT_NS,    /* time */
	UNIT_RATIO, /* 0..1, shown in percent */
	UNIT_COUNT,
	UNIT_TOKENS,
	UNIT_STEPS,
	UNIT_SAMPLES,
	UNIT_BYTES,
	UNIT_BYTES_PER_S,
	UNIT_REQUESTS_PER_S,
	UNIT_TOKENS_PER_S,
	UNIT_SAMPLES_PER_S,
	UNIT_STEPS_PER_S,
	UNIT_FLOP_PER_S,
	UNIT_HZ,
	UNIT_CELSIUS,
	UNIT_WATT,
	UNIT_JOULE,
	UNIT_N,
};
enum direction { LOWER_IS_BETTER, HIGHER_IS_BETTER };

const char *unit_name(enum unit u); /* in records: "none" "ns" "ratio" "bytes_per_s" ... */
bool unit_parse_name(struct sv s, enum unit *ret);
double unit_scale(enum unit u); /* record integer = value x scale: 1 for ns, 1e9 for ratio, ... */
/* Whether two units measure the same kind of thing (a limit in ms fits a metric in ns). */
bool unit_same_kind(enum unit a, enum unit b);
/* "500 ms", "0.5s", "95 %", "4.0 TB/s", "191 GiB", "12 req/s", "2.5": value in base units. A bare
 * number gives UNIT_NONE. False: not a quantity. SI prefixes are powers of 1000, Ki/Mi/Gi of
 * 1024. */
bool quantity_parse(struct sv s, double *ret_value, enum unit *ret_unit);
/* For people, 3-4 significant digits: "12.4 ms", "95.0 %", "39.6 GB/s". Caller frees. */
char *quantity_text(double value, enum unit u) MUST_USE;
const char *direction_name(enum direction d); /* "lower" "higher" */
bool direction_parse(struct sv s, enum direction *ret);
/* value x scale as a record integer; false when not finite or over +-(2^53 - 1). */
bool quantity_to_int(double value, enum unit u, int64_t *ret);

/* ---- measurements ---------------------------------------------------------------------------- */

struct measurement {
	char *name; /* "ttft.p99": lower case, dots */
	enum unit unit;
	enum direction dir;
	double value; /* the one number of this repetition or check; NAN: asked for, not measured */
	double *samples; /* what it was made of, when few enough to keep here; else in evidence */
	size_t n_samples;
};
struct measurements {
	struct measurement *v;
	size_t n, room;
};
void measurement_release(struct measurement *m);
void measurements_release(struct measurements *l);
struct measurement *measurements_add(struct measurements *l, const char *name, enum unit u,
				     enum direction d, double value);
const struct measurement *measurements_find(const struct measurements *l, const char *name);
json_t *measurements_to_json(const struct measurements *l);
int measurements_from_json(const json_t *j, struct measurements *ret, struct err *err) MUST_USE;

/* Raw bytes a judgement rests on, kept as a blob. */
struct evidence {
	char *label;  /* "server.log", "requests.jsonl" */
	char *digest; /* 64 hex of the bytes; NULL until they are stored */
	char *media_type;
	uint64_t bytes;
	char *path; /* where the bytes lie until stored; not in records */
};
struct evidences {
	struct evidence *v;
	size_t n, room;
};
void evidences_release(struct evidences *l);
struct evidence *evidences_add(struct evidences *l, const char *label, const char *media_type,
			       const char *path); /* path copied; NULL when digest comes later */
json_t *evidences_to_json(const struct evidences *l); /* only stored ones */
int evidences_from_json(const json_t *j, struct evidences *ret, struct err *err) MUST_USE;

/* ---- stack ----------------------------------------------------------------------------------- */

/* One thing below or around the workload. A value nobody could read is "unknown" (version NULL). */
struct component {
	enum component_layer layer;
	char *name;              /* "openblas", "linux", "cpu", "env.OPENBLAS_NUM_THREADS" */
	char *version;           /* effective; NULL: unknown */
	char *requested, *label; /* asked for, and what a label claims; NULL: not known apart */
	char *digest;            /* "sha256:<64 hex>" of what was really loaded; NULL: none */
	char *origin;  /* where it was read: a path or a command; not part of the identity */
	char *note;    /* short free text for people; not part of the identity */
	bool cosmetic; /* shown, but a change does not make an acceptance stale */
};
struct stack {
	struct component *v; /* sorted by layer, then name, once stack_sort() ran */
	size_t n, room;
};
void stack_release(struct stack *s);
struct component *stack_add(struct stack *s, enum component_layer l, const char *name,
			    const char *version, const char *origin);
void stack_sort(struct stack *s);
const struct component *stack_find(const struct stack *s, enum component_layer l, const char *name);
const struct component *stack_find_name(const struct stack *s, const char *name);
json_t *stack_to_json(const struct stack *s);
int stack_from_json(const json_t *j, struct stack *ret, struct err *err) MUST_USE;
/* SHA-256 over the canonical JSON of the material identity (layer, name, version, requested, label,
 * digest of components that are not cosmetic): ret gets 64 hex and NUL. */
void stack_digest(const struct stack *s, char ret[65]);

enum change_kind { CHANGE_ADDED, CHANGE_REMOVED, CHANGE_CHANGED };
struct change {
	enum change_kind kind;
	bool material;
	bool gap; /* unknown on both sides: it may have changed or not; not material */
	const struct component *before, *after; /* borrowed from the two stacks; NULL: not there */
};
struct changes {
	struct change *v;
	size_t n, room, n_material, n_gaps;
};
void changes_release(struct changes *c);
/* All differences, material first, each group by layer and name. Keeps pointers into both stacks.
 */
void stack_diff(const struct stack *before, const struct stack *after, struct changes *ret);
enum component_layer change_layer(const struct change *c);
const char *change_name(const struct change *c);
/* The same step of the same layer: libraries that one package brings (blas and lapack of OpenBLAS)
 * change
 * together, and one switch moves them all. */
bool change_together(const struct change *a, const struct change *b);
char *change_text(const struct change *c) MUST_USE; /* "kernellib openblas 0.3.21 -> 0.3.26" */
json_t *changes_to_json(const struct changes *c);

/* ---- checks, repetitions, runs --------------------------------------------------------------- */

struct outcome {
	char *check; /* "hardware/memory_bandwidth" */
	enum check_layer layer;
	enum result result;
	bool required;
	char *reason; /* one line; always there unless PASS */
	char *owner;  /* who acts on a FAIL; NULL: by layer */
	int64_t took_ns;
	struct measurements measured;
	struct evidences evidence;
};
struct outcomes {
	struct outcome *v;
	size_t n, room;
};
void outcome_release(struct outcome *o);
void outcomes_release(struct outcomes *l);
json_t *outcome_to_json(const struct outcome *o);
int outcome_from_json(const json_t *j, struct outcome *ret, struct err *err) MUST_USE;

enum rep_state { REP_OK, REP_FAILED, REP_EXCLUDED };
/* One fresh start of the workload, measured once: the unit of replication. */
struct rep {
	int index; /* 0, 1, ... in the order of their announcement */
	enum rep_state state;
	char *reason;       /* why failed, or the contract's rule that excluded it */
	char *start_digest; /* identity of the process start; reps that share one count as one */
	char *session;      /* what shares luck: boot id, node, allocation */
	struct measurements measured;
	struct outcomes outcomes; /* workload-layer checks of this repetition */
	struct evidences evidence;
	struct pairs settings; /* what was in effect, by the contract's name of the setting */
	char *work; /* digest of the requests as scheduled; NULL: not of that kind, or not known */
	char leaf[65];   /* ledger entry, once there; not in the record itself */
	int64_t took_ns; /* between its two entries, once there; not in the record either; 0 */
	int seed;        /* the number that it was started with, from 1; 0: not known */
};
struct reps {
	struct rep *v;
	size_t n, room;
};
void rep_release(struct rep *r);
void reps_release(struct reps *l);
json_t *rep_to_json(const struct rep *r);
int rep_from_json(const json_t *j, struct rep *ret, struct err *err) MUST_USE;
