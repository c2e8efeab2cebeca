/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "base/err.h"

#include "test.h"

static void a_record_reads_back_the_same(void)
{
	struct measurements a CLEANUP(measurements_release) = { 0 };
	struct measurements b CLEANUP(measurements_release) = { 0 };
	struct err err = ERR_INIT;
	struct measurement *m;
	AUTO_JSON json_t *j = NULL;

	m = measurements_add(&a, "ttft.p99", UNIT_NS, LOWER_IS_BETTER, 1390123);
	m->samples = xcalloc(2, sizeof(double));
	m->samples[0] = 1;
	m->samples[1] = INFINITY;
	m->n_samples = 2;
	measurements_add(&a, "goodput", UNIT_RATIO, HIGHER_IS_BETTER, NAN);
	j = measurements_to_json(&a);
	CHECK_OK(measurements_from_json(j, &b, &err), err);
	CHECK_INT(b.n, 2);
	CHECK_STR(b.v[0].name, "ttft.p99");
	CHECK(b.v[0].value == 1390123 && isinf(b.v[0].samples[1]));
	CHECK(isnan(b.v[1].value) && b.v[1].dir == HIGHER_IS_BETTER);
	CHECK(measurements_find(&b, "goodput") == &b.v[1]);
	CHECK(measurements_find(&b, "nope") == NULL);
}

static void refuses_a_measurement_without_unit_or_value(void)
{
	static const char *const bad[] = {
		"[{\"name\":\"a\",\"better\":\"lower\",\"value\":1}]",
		"[{\"name\":\"a\",\"unit\":\"ns\",\"better\":\"lower\"}]",
		"[{\"name\":\"a\",\"unit\":\"furlong\",\"better\":\"lower\",\"value\":1}]",
		"[{\"name\":\"a\",\"unit\":\"ns\",\"better\":\"sideways\",\"value\":1}]",
		"[{\"name\":\"a\",\"unit\":\"ns\",\"better\":\"lower\",\"value\":1.5}]",
		"[{\"name\":\"a\",\"unit\":\"ns\",\"better\":\"lower\",\"value\":\"many\"}]",
		"{}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct measurements l = { 0 };
		struct err err = ERR_INIT;
		AUTO_JSON json_t *j = NULL;

		CHECK_OK(json_read(sv_of(bad[i]), "x", &j, &err), err);
		CHECK_INT(measurements_from_json(j, &l, &err), -ERR_PARSE);
		CHECK(l.n == 0);
	}
}

static void evidence_without_a_digest_is_not_recorded(void)
{
	struct evidences l CLEANUP(evidences_release) = { 0 };
	struct evidences back CLEANUP(evidences_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *j = NULL;
	struct evidence *e;

	evidences_add(&l, "lost.log", "text/plain", "/nowhere");
	e = evidences_add(&l, "server.log", "text/plain", NULL);
	e->digest = xasprintf("%064d", 7);
	e->bytes = 12;
	j = evidences_to_json(&l);
	CHECK_OK(evidences_from_json(j, &back, &err), err);
	CHECK_INT(back.n, 1);
	CHECK_STR(back.v[0].label, "server.log");
	CHECK_INT(back.v[0].bytes, 12);
}

TEST_MAIN(TEST(a_record_reads_back_the_same), TEST(refuses_a_measurement_without_unit_or_value),
	  TEST(evidence_without_a_digest_is_not_recorded))
