/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a rejected run to the layer, the component and the owner. Pure: differences and a verdict
 * in,
 * ranked suspects out. Trigger (what changed) and cause (what is broken) are two things: a
 * difference
 * of stacks can name the trigger; without evidence of its own the cause is the trigger's layer as a
 * guess, and says so. Nothing here is proof: that takes swapping one component, both ways.
 *
 *	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
 *	diagnose(&in, &d);
 *	d.suspects.v[0] ... best first; d.confidence DIAGNOSIS_UNDETERMINED: don't act on it
 *
 * Score of a component = (weight of its layer for this symptom) x (did it change) x (does the
 * evidence
 * that moved fit). Weights are the shares of causes by layer among 163 public regression reports,
 * raised for the layers that a symptom favours (docs/decisions.md).
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "diagnose/signature.h"
#include "model/model.h"

struct verdict;

enum diagnosis_symptom {
	SYMPTOM_SLOWER,
	SYMPTOM_WRONG,
	SYMPTOM_NO_START,
	SYMPTOM_RESUME,
	SYMPTOM_OTHER
};
const char *diagnosis_symptom_name(enum diagnosis_symptom s);

enum diagnosis_confidence {
	DIAGNOSIS_UNDETERMINED,
	DIAGNOSIS_LOW,
	DIAGNOSIS_MEDIUM,
	DIAGNOSIS_HIGH
};
const char *diagnosis_confidence_name(enum diagnosis_confidence c);

struct diagnose_in {
	const struct changes *changes;   /* accepted stack -> candidate */
	const struct verdict *verdict;   /* rejected */
	const struct pairs *owners;      /* component or layer: who acts; NULL: by layer */
	const struct outcomes *outcomes; /* of the run's layers; NULL */
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
	struct {
		struct suspect *v;
		size_t n, room;
	} suspects;                    /* best first */
	struct strs reasons, must_not; /* why; what must not be concluded */
	char *next;                    /* the cheapest probe */
};
void diagnosis_release(struct diagnosis *d);
void diagnose(const struct diagnose_in *in, struct diagnosis *ret);
json_t *diagnosis_to_json(const struct diagnosis *d) MUST_USE; /* fit for a record */
