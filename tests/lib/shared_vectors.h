/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published test vectors that live beside the checkout (../shared/vectors, or
 * TWICE_SHARED/vectors). A test that wants them is skipped where they are not.
 */
#pragma once

#include "test.h"
#include <jansson.h>

/* Kept until the test's process ends, where leak checkers can see it. */
static inline void *vector_keep(void *p)
{
	static struct kept {
		struct kept *next;
		void *p;
	} * all;
	struct kept *k = malloc(sizeof(*k));

	if (!k)
		test_fails(__FILE__, __LINE__, "out of memory");
	*k = (struct kept){ all, p };
	all = k;
	return p;
}

static inline json_t *shared_vectors(const char *name)
{
	const char *shared = getenv("TWICE_SHARED"), *src = getenv("TWICE_SRC");
	char path[4096];
	json_error_t why;
	json_t *doc;

	if (shared)
		snprintf(path, sizeof(path), "%s/vectors/%s", shared, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/vectors/%s", src ? src : ".", name);
	if (access(path, R_OK) < 0)
		test_skip("no vectors at %s", path);
	doc = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!doc)
		test_fails(__FILE__, __LINE__, "%s: %s", path, why.text);
	return vector_keep(doc);
}

/* A hex member as bytes, kept. */
static inline uint8_t *vector_hex(const json_t *o, const char *key, size_t *ret_n)
{
	const char *hex = json_string_value(json_object_get(o, key));
	size_t n = hex ? strlen(hex) / 2 : 0;
	uint8_t *p = calloc(n + 1, 1);

	if (!hex || !p)
		test_fails(__FILE__, __LINE__, "no hex member '%s'", key);
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		if (sscanf(hex + 2 * i, "%2x", &v) != 1)
			test_fails(__FILE__, __LINE__, "member '%s' is not hex", key);
		p[i] = (uint8_t)v;
	}
	if (ret_n)
		*ret_n = n;
	return vector_keep(p);
}

static inline const char *vector_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		test_fails(__FILE__, __LINE__, "no string member '%s'", key);
	return s;
}
