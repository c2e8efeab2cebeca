/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What log lines say about where a fault is: a catalogue of signatures, a scanner that runs any
 * amount of log past them in bounded memory, and a decision made of what was found. Pure: bytes
 * in, values out; whoever has the file feeds it. Part of the room's public header diagnose.h.
 *
 *	struct signatures all CLEANUP(signatures_release) = { 0 };
 *	TRY(signatures_builtin(&all, err));
 *	struct signature_scan *scan = signature_scan_new(&all);
 *	while (read something) signature_scan_feed(scan, p, n);      in pieces of any size
 *	signature_scan_end(scan, &hits);                              frees the scan
 *	signature_decide(&hits, NULL, &decision);
 *
 * A signature is found in a line when the line has one of its `parts` (fixed text, ASCII letters
 * in either case), matches its `pattern` (PCRE2 without regard to case, if it has one) and has none
 * of its `unless` parts. Parts are at least SIGNATURE_MIN_PART bytes: they make the scan fast.
 * Several signatures in one line: the one with the highest rank wins, then the one with the longer
 * part; the others count as seen, not as won. "One line" is cut at SIGNATURE_NEAR
 * bytes: a log in one endless line still says more than one thing.
 *
 * A signature of a family (every line of one library, every exception) is wide: with `fails` the
 * line must also speak of a failure, and not at a level below an error's. Such a signature may
 * have `words` beside or instead of parts: names of any length ("ucx", "sglang", "nccl*") at the
 * begin of a word; they are looked for only where a part or a failure is. A `frame` is a line of a
 * stack: only the frame where the fault came up counts as won, the others as seen; that is the last
 * one of a Python traceback and the first one of a native backtrace. Frames `between` say nothing
 * and only hold a traceback together.
 *
 * Roles: a cause names the layer that is broken. A generic line has a usual layer and nothing that
 * proves it: it decides only when no cause is there, at low confidence. A wrapper reports a
 * failure whose reason stands elsewhere, a consequence follows from one: neither ever decides. A
 * marker is good news whose absence is the signal: it decides only against a good log that has it.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "model/model.h"

struct err;

enum {
	SIGNATURE_MIN_PART = 7,
	SIGNATURE_MIN_WORD = 3,
	SIGNATURE_NEAR = 1024,   /* matches further apart in one line don't compete */
	SIGNATURE_EXCERPT = 240, /* bytes of a line that are kept */
	SIGNATURE_AROUND = 4096, /* bytes before and behind a part that a pattern may see */
	SIGNATURE_MAX_RANK = 9,
};

enum signature_role {
	SIGNATURE_CAUSE,
	SIGNATURE_GENERIC,
	SIGNATURE_WRAPPER,
	SIGNATURE_CONSEQUENCE,
	SIGNATURE_MARKER,
	SIGNATURE_ROLE_N
};
const char *signature_role_name(enum signature_role r); /* "cause" ... "positive_marker" */
bool signature_role_parse(struct sv s, enum signature_role *ret);

enum signature_frame { FRAME_NONE, FRAME_FIRST, FRAME_LAST, FRAME_BETWEEN };

/* CL_N as a layer: the line alone can't say. Its name is "undetermined". */
const char *signature_layer_name(enum component_layer l);

struct signature {
	char *id; /* "xid-48": stable, in records */
	enum signature_role role;
	enum component_layer layer; /* CL_N: undetermined */
	char *component;            /* "HBM", "scheduler", ... */
	char *owner;                /* who acts */
	unsigned rank;              /* how specific, 1..9; higher wins in one line */
	bool fails;                 /* only in a line that speaks of a failure */
	enum signature_frame frame; /* a line of a stack: which frame of it counts */
	struct strs parts, unless;
	struct strs words; /* of lines that speak of a failure; "nccl*": what begins so */
	char *pattern;     /* NULL: the parts are enough */
	char *meaning, *causes, *action, *caution, *versions, *source; /* "" when there is none */
	char *test; /* a line that this signature wins */
	void *code; /* compiled pattern: the scanner's business */
};

struct signature_index;
struct signatures {
	struct signature *v; /* in the order of the catalogue */
	size_t n, room;
	struct signature_index *index;
};
void signatures_release(struct signatures *l);
/* A catalogue as YAML (docs/signatures.md); a mistake names line and column. */
int signatures_parse(struct sv text, struct signatures *ret, struct err *err) MUST_USE;
/* The catalogue that came with the program. */
int signatures_builtin(struct signatures *ret, struct err *err) MUST_USE;
const struct signature *signatures_find(const struct signatures *l, const char *id);

struct signature_hit {
	const struct signature *sig; /* keeps: the catalogue must live as long */
	uint64_t seen, won;          /* lines that have it; lines in which nothing beat it */
	uint64_t line, offset;       /* of the first won (else first seen): from 1; bytes from 0 */
	uint64_t last_line;
	unsigned file; /* which log it is the first in: signature_hits_add() */
	char *excerpt; /* that line, cleaned for a terminal, cut around the match */
};
struct signature_hits {
	struct signature_hit *v; /* by first line, then by id */
	size_t n, room;
	uint64_t bytes, lines;
	uint64_t unjudged; /* lines whose pattern needed too much work: not known, not "no" */
};
void signature_hits_release(struct signature_hits *h);
/* Adds what was found in log number `file` (from 0, ascending); `from` is empty afterwards. Lines
 * and offsets stay those of the first log that has a signature. */
void signature_hits_add(struct signature_hits *to, struct signature_hits *from, unsigned file);
const struct signature_hit *signature_hits_find(const struct signature_hits *h, const char *id);

/* Keeps a pointer to the catalogue. Lines end with LF or CRLF; an object of JSON in a line is read
 * with its escapes undone (structured logs, docker's json-file); colours, NUL bytes and bytes that
 * are no UTF-8 are passed over; a line may have any length. */
struct signature_scan *signature_scan_new(const struct signatures *l) MUST_USE;
void signature_scan_feed(struct signature_scan *s, const void *p, size_t n);
void signature_scan_end(struct signature_scan *s, struct signature_hits *ret);
void signature_scan_free(struct signature_scan **s); /* without a result; fit for CLEANUP() */
/* All of it in one go. */
void signatures_scan_text(const struct signatures *l, struct sv text, struct signature_hits *ret);

enum signature_confidence {
	SIGNATURE_UNDETERMINED,
	SIGNATURE_LOW,
	SIGNATURE_MEDIUM,
	SIGNATURE_HIGH
};
const char *signature_confidence_name(enum signature_confidence c);

struct signature_layer {
	enum component_layer layer; /* never CL_N */
	const struct signature *best;
	uint64_t line; /* of the best one's first line; 0: a marker that is missing */
	double share;  /* of all points, 0..1: a ranking, not a measured probability */
};
struct signature_decision {
	enum signature_confidence confidence;
	struct {
		struct signature_layer *v; /* the likeliest first; empty: nothing decides */
		size_t n, room;
	} layers;
	struct {
		const struct signature **v; /* markers of the good log that are not here */
		size_t n, room;
	} missing;
	struct {
		const struct signature **v; /* causes that the good log has too: they decide less */
		size_t n, room;
	} known;
	struct strs reasons;  /* sentences for a person */
	struct strs must_not; /* what must not be concluded from it */
};
void signature_decision_release(struct signature_decision *d);
/* `good`: what the same catalogue found in the log of a run that was well; NULL: there is none. */
void signature_decide(const struct signature_hits *now, const struct signature_hits *good,
		      struct signature_decision *ret);

/* One log among several (ranks, nodes), before signature_hits_add() empties what was found. */
enum signature_says { SAYS_NOTHING, SAYS_FOLLOWS, SAYS_CAUSE };
const char *signature_says_name(enum signature_says s); /* "nothing", "consequences", "cause" */
struct signature_log {
	enum signature_says says;     /* a cause or generic line; else wrappers and consequences */
	const struct signature *best; /* its strongest; NULL: nothing */
	uint64_t line;                /* of the first of it */
	char *time;                   /* that line's own, as it is written; NULL: it has none */
};
void signature_log_release(struct signature_log *l);
void signature_log_of(const struct signature_hits *h, struct signature_log *ret);
/* The log in which this layer comes up first: by the lines' times when all of these logs have times
 * of one form, else the only one, else the first in order. False: none has it. */
enum signature_first { FIRST_BY_TIME, FIRST_ONLY, FIRST_BY_ORDER };
bool signature_logs_first(const struct signature_log *v, size_t n, enum component_layer l,
			  size_t *ret, enum signature_first *ret_by);
json_t *signature_hits_to_json(const struct signature_hits *h) MUST_USE;
json_t *signature_decision_to_json(const struct signature_decision *d) MUST_USE;
