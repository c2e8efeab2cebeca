/* SPDX-License-Identifier: Apache-2.0 */
/* Test vectors beside the checkout: {"tolerance":{"rel","abs"},"cases":[{"in","out"}]}. Skips the
 * test when they are not there. */
#pragma once

#include "test.h"
#include <jansson.h>

struct vectors {
	json_t *all, *cases;
	double rel, abs;
};

static inline void vectors_load(const char *name, struct vectors *ret)
{
	const char *dir = getenv("TWICE_SHARED"), *src = getenv("TWICE_SRC");
	char path[4096];
	json_error_t at;
	json_t *tol;

	if (dir)
		snprintf(path, sizeof(path), "%s/vectors/%s.json", dir, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/vectors/%s.json", src ? src : ".", name);
	if (access(path, R_OK) != 0)
		test_skip("the vectors %s.json are not beside the checkout", name);
	ret->all = json_load_file(path, JSON_REJECT_DUPLICATES, &at);
	if (!ret->all)
		test_fails(__FILE__, __LINE__, "%s:%d: %s", path, at.line, at.text);
	ret->cases = json_object_get(ret->all, "cases");
	tol = json_object_get(ret->all, "tolerance");
	ret->rel = json_number_value(json_object_get(tol, "rel"));
	ret->abs = json_number_value(json_object_get(tol, "abs"));
	if (json_array_size(ret->cases) == 0)
		test_fails(__FILE__, __LINE__, "%s has no cases", path);
}

static inline void vectors_release(struct vectors *v)
{
	json_decref(v->all);
	*v = (struct vectors){ 0 };
}

static inline double vector_num(const json_t *j)
{
	if (json_is_string(j))
		return strcmp(json_string_value(j), "-inf") == 0 ? -INFINITY : INFINITY;
	return json_is_null(j) ? INFINITY : json_number_value(j);
}

#define VECTOR_NEAR(vec, got, j)                                                                   \
	do {                                                                                       \
		double vg_ = (got), vw_ = vector_num(j);                                           \
		if (!(vg_ == vw_ || fabs(vg_ - vw_) <= (vec)->abs + (vec)->rel * fabs(vw_)))       \
			test_fails(__FILE__, __LINE__, "%s is %.17g, want %.17g", #got, vg_, vw_); \
	} while (0)

/* An array of numbers (null: +inf) as doubles; the caller frees. */
static inline double *vector_array(const json_t *j, size_t *ret_n)
{
	double *v = calloc(json_array_size(j) + 1, sizeof(*v));

	*ret_n = json_array_size(j);
	for (size_t i = 0; i < *ret_n; i++)
		v[i] = vector_num(json_array_get(j, i));
	return v;
}
