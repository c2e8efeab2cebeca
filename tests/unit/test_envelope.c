/* SPDX-License-Identifier: Apache-2.0 */
#include "envelope/envelope.h"
#include "test.h"

#define DIGEST "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void fill(struct stack *s)
{
	struct component *c;

	(void)stack_add(s, CL_KERNELLIB, "blas", "openblas 0.3.21+ds-4", "x");
	(void)stack_add(s, CL_RUNTIME, "rocm", "none found", "x");
	(void)stack_add(s, CL_DRIVER, "amdgpu", NULL, "x");
	(void)stack_add(s, CL_FIRMWARE, "rdma", "28.42", "x");
	(void)stack_add(s, CL_COMMLIB, "rdma", "4 x MT4129", "x");
	c = stack_add(s, CL_MODEL, "model", "ba7816bf8f01", "x");
	c->digest = xstrdup(DIGEST);
	c = stack_add(s, CL_IMAGE, "image", NULL, "x");
	c->digest = xstrdup(DIGEST);
}

static void finds(const char *pin, const char *want, enum finding_kind kind, const char *text)
{
	struct stack s CLEANUP(stack_release) = { 0 };
	struct pairs pins CLEANUP(pairs_release) = { 0 };
	struct findings l CLEANUP(findings_release) = { 0 };

	fill(&s);
	pairs_add(&pins, pin, want);
	envelope_check(&pins, &s, &l);
	CHECK_INT(l.n, 1);
	CHECK_STR(l.v[0].text, text);
	CHECK_INT(l.v[0].kind, kind);
	CHECK_INT(l.n_violated, kind == FINDING_VIOLATED);
	CHECK_INT(l.n_unknown, kind == FINDING_UNKNOWN);
}

static void what_fits_is_ok(void)
{
	finds("blas", "openblas 0.3.*", FINDING_OK,
	      "blas is openblas 0.3.21+ds-4, as pinned (openblas 0.3.*)");
	finds("kernellib/blas", ">=0.3.20", FINDING_OK,
	      "kernellib/blas is openblas 0.3.21+ds-4, as pinned (>=0.3.20)");
	finds("image", "sha256:ba7816bf8f01", FINDING_OK,
	      "image is " DIGEST ", as pinned (sha256:ba7816bf8f01)");
	finds("model", "org/m@ba7816bf8f01cfea", FINDING_OK,
	      "model is ba7816bf8f01, as pinned (org/m@ba7816bf8f01cfea)");
}

static void another_version_is_a_violation(void)
{
	finds("blas", "reference", FINDING_VIOLATED,
	      "blas is openblas 0.3.21+ds-4, pinned to reference");
	finds("rocm", "7.0.*", FINDING_VIOLATED, "rocm is none found, pinned to 7.0.*");
	finds("rocm", "none found", FINDING_VIOLATED, "rocm is none found, pinned to none found");
}

static void absent_and_unknown_are_never_ok(void)
{
	finds("vllm", "0.10.1", FINDING_UNKNOWN,
	      "vllm, pinned to 0.10.1: the stack has no such component");
	finds("runtime/blas", "openblas", FINDING_UNKNOWN,
	      "runtime/blas, pinned to openblas: the stack has no such component");
	finds("amdgpu", "6.10.*", FINDING_UNKNOWN,
	      "amdgpu, pinned to 6.10.*: its version is unknown");
	finds("blas", "sha256:ba7816bf8f01", FINDING_UNKNOWN,
	      "blas, pinned to sha256:ba7816bf8f01: its digest is unknown");
	finds("blas", ">=", FINDING_UNKNOWN, "blas, pinned to >=: the pin can't be read");
	finds("model", "org/m@0e9e39f249a1", FINDING_UNKNOWN,
	      "model, pinned to org/m@0e9e39f249a1: the files have a digest, but nothing says "
	      "their "
	      "revision");
}

static void a_name_in_two_layers_must_fit_in_both(void)
{
	finds("rdma", "28.*", FINDING_VIOLATED, "rdma is 4 x MT4129, pinned to 28.*");
	finds("firmware/rdma", "28.*", FINDING_OK, "firmware/rdma is 28.42, as pinned (28.*)");
}

static void as_json(void)
{
	struct stack s CLEANUP(stack_release) = { 0 };
	struct pairs pins CLEANUP(pairs_release) = { 0 };
	struct findings l CLEANUP(findings_release) = { 0 };
	AUTO_JSON json_t *j = NULL;

	fill(&s);
	pairs_add(&pins, "vllm", "1");
	envelope_check(&pins, &s, &l);
	j = findings_to_json(&l);
	CHECK_INT(json_array_size(j), 1);
	CHECK_STR(json_str_or(json_array_get(j, 0), "kind", ""), "unknown");
	CHECK(!json_object_get(json_array_get(j, 0), "layer"));
}

TEST_MAIN(TEST(what_fits_is_ok), TEST(another_version_is_a_violation),
	  TEST(absent_and_unknown_are_never_ok), TEST(a_name_in_two_layers_must_fit_in_both),
	  TEST(as_json))
