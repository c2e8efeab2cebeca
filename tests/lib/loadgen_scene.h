/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that read other load generators' results. */
#pragma once

#include "test.h"

#include "base/err.h"
#include "readers/readers.h"

#include <math.h>

static inline void reads(const char *text, struct loadgen *g)
{
	struct err err = ERR_INIT;

	CHECK(loadgen_sniff(sv_of(text)));
	CHECK_OK(loadgen_read(sv_of(text), g, &err), err);
}

static inline void refuses(const char *text, const char *why)
{
	struct loadgen g CLEANUP(loadgen_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK(loadgen_read(sv_of(text), &g, &err) < 0);
	CHECK_HAS(err.msg, why);
}

/* The value under our name, or under theirs when it has none of ours; NAN: not there. */
static inline double get(const struct loadgen *g, size_t run, const char *name)
{
	CHECK(run < g->runs.n);
	for (size_t i = 0; i < g->runs.v[run].values.n; i++) {
		const struct loadgen_value *v = &g->runs.v[run].values.v[i];

		if (streq(v->name ? v->name : v->theirs, name))
			return v->value;
	}
	return NAN;
}

static inline const char *note_of(const struct loadgen *g, size_t run, const char *name)
{
	for (size_t i = 0; i < g->runs.v[run].values.n; i++) {
		const struct loadgen_value *v = &g->runs.v[run].values.v[i];

		if (streq(v->name ? v->name : v->theirs, name))
			return v->note ? v->note : "";
	}
	return "";
}
