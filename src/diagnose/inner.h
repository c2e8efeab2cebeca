/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the room share. */
#pragma once

#include "base/vec.h"
#include "diagnose/diagnose.h"
#include "diagnose/part.h"
#include "verdict/verdict.h"

/* One change that may have brought it. */
struct lead {
	const struct change *change;
	const struct part *part;
	enum component_layer layer;
	bool suspect; /* can be the trigger: not a state, a wrapper, a count */
	bool wrapper; /* an image around changes that are listed themselves */
	bool cleared; /* a swap left the result as it was */
	bool flip;    /* in effect something else though nobody asked for it */
	const char *cleared_by;
	double score;
};
struct leads {
	struct lead *v;
	size_t n, room;
};

struct scene {
	const struct diagnose_in *in;
	struct diagnosis *d;
	struct leads leads;
	size_t n_suspects; /* not cleared */
	struct lead *only; /* when n_suspects is 1 (what came with it counts as one); else NULL */
	unsigned domain;   /* layers that the evidence points at; 0: any */
	const char *domain_what, *domain_metric;
	const char *kernel; /* the kernel that carries the added time; NULL */
	const char *kernel_owner;
	bool uniform; /* all kernels grew alike */
};

/* The rules, in the order of their strength; true: it spoke. */
bool rules_apply(struct scene *s);
/* rules_other.c */
bool rule_none(struct scene *s);
bool rule_void(struct scene *s);
bool rule_no_result(struct scene *s);
/* rules_sign.c */
bool rule_bar(struct scene *s);
bool sign_and_change(struct scene *s, const struct diagnose_sign *g);
/* words.c */
void words_evidence(struct scene *s);
void words_must_not(struct scene *s);

/* probe.c */
bool rule_probes(struct scene *s);
void probes_clear(struct scene *s);

void scene_set(struct scene *s, enum component_layer l, char *component, const char *trigger,
	       enum diagnosis_confidence c, const char *rule);
void scene_owner(struct scene *s, const char *owner);
void scene_second(struct scene *s, enum component_layer l);
void scene_field(struct scene *s, const char *name);
void scene_field_effective(struct scene *s, const char *name); /* "effective.NAME" */
const char *scene_owner_of(const struct scene *s, const char *component, enum component_layer l);
const struct diagnose_sign *scene_sign(const struct scene *s, enum component_layer l);
const struct diagnose_sign *scene_best_sign(const struct scene *s);
/* A library of that layer in the stack, changed or not; NULL. */
const char *scene_library(const struct scene *s, enum component_layer l);
struct lead *scene_lead(struct scene *s, const char *name);
const char *value_of_side(const struct component *c);
char *change_words(const struct change *c) MUST_USE; /* "triton 3.4.0 -> 3.6.0" */
/* Layers that are the same to somebody who reads reports: host and driver. */
bool layers_alike(enum component_layer a, enum component_layer b);

/* ---- log.c ---- */

/* The one word in which two lines differ, and which says how something is, not when or how much;
 * false: none, or several, or hardly another word is the same. */
bool one_word_apart(const char *a, const char *b, struct sv *ret_a, struct sv *ret_b);
