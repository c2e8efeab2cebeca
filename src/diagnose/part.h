/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name in a fingerprint is: its layer, what kind of thing it is, whose it is, and
 * which other
 * layers it brings along. One table by name, so that records of any maker can be attributed.
 */
#pragma once

#include "base/str.h"
#include "model/model.h"

enum part_kind {
	PART_VERSION,  /* a thing that has versions: may be broken */
	PART_SETTING,  /* how it is run: a default, a flag, an environment variable */
	PART_WRAPPER,  /* an image: stands for what is inside, when that is known */
	PART_STATE,    /* found, not chosen: follows from other changes */
	PART_IDENTITY, /* which metal: GPU, count, NIC */
	PART_NODE,     /* which node */
	PART_WORK,     /* what was measured: data, questions, load */
	PART_LIMIT,    /* the bar itself */
	PART_COUNT,    /* how far a rollout is */
	PART_TOOL,     /* what measures */
};

enum part_vendor { VENDOR_GPU, VENDOR_AMD, VENDOR_NVIDIA, VENDOR_NETWORK, VENDOR_NONE };

struct part {
	const char *like; /* words with '_' around and between; several: split by '|' */
	enum component_layer layer;
	enum part_kind kind;
	const char *product; /* NULL: the name itself without "_version" and the like */
	const char *owner;   /* who acts; NULL: by layer and vendor */
	enum part_vendor vendor;
	unsigned carries; /* bit mask of other layers that change with it */
};

/* Never NULL: an unknown name is a setting of the application, and `like` is "". */
const struct part *part_of(const char *name);
/* "rocm_version_image" -> "rocm", "effective.moe_backend" -> "moe backend". Caller frees. */
char *part_product(const char *name) MUST_USE;
/* "effective.", "requested.", "label.", "loaded." are taken off: the name behind them. */
const char *part_name(const char *name, char *ret_aspect);
/* A name with '_' for everything but letters and digits, lower case, '_' around. Caller frees. */
char *part_words(const char *name) MUST_USE;
bool part_has(const char *words, const char *like); /* like: "_a_|_b" */
/* Who acts for a part of this layer: "AMD", "engine_upstream", ... gpu: the GPU's name or NULL. */
const char *part_owner(const struct part *p, enum component_layer layer, const char *gpu);

/* Who a GPU kernel's name belongs to: "triton", "hipblaslt", ...; NULL: nobody can tell. */
const char *kernel_product(const char *kernel);
/* What kind of evidence a metric's name is: the layers that it points at when it moved alone (bit
 * mask; 0: any), and what would be at fault there. */
struct domain {
	const char *like;
	unsigned layers;
	const char *what; /* "KV cache sizing"; NULL */
};
const struct domain *domain_of(const char *metric);
