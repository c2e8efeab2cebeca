/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "base/err.h"

#include "test.h"

static void the_identity_ignores_order_and_origin(void)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	char da[65], db[65];

	stack_add(&a, CL_HOST, "linux", "6.1", "/proc");
	stack_add(&a, CL_KERNELLIB, "blas", "openblas 0.3.21", "/lib/x");
	stack_add(&b, CL_KERNELLIB, "blas", "openblas 0.3.21", "/lib/y");
	stack_add(&b, CL_HOST, "linux", "6.1", NULL);
	stack_digest(&a, da);
	stack_digest(&b, db);
	CHECK_STR(da, db);
	CHECK_INT(strlen(da), 64);
	stack_add(&b, CL_HOST, "uptime", "5", NULL)->cosmetic = true;
	stack_digest(&b, db);
	CHECK_STR(da, db);
	stack_add(&b, CL_HOST, "thp", NULL, NULL);
	stack_digest(&b, db);
	CHECK(strcmp(da, db) != 0);
}

static void lists_each_difference_material_first(void)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	struct changes c CLEANUP(changes_release) = { 0 };
	char *s;

	stack_add(&a, CL_HOST, "hostname", "n1", NULL)->cosmetic = true;
	stack_add(&b, CL_HOST, "hostname", "n2", NULL)->cosmetic = true;
	stack_add(&a, CL_HOST, "linux", "6.1", NULL);
	stack_add(&b, CL_HOST, "linux", "6.1", NULL);
	stack_add(&a, CL_KERNELLIB, "blas", "openblas 0.3.21", NULL);
	stack_add(&b, CL_KERNELLIB, "blas", "reference 3.11.0", NULL);
	stack_add(&b, CL_APPLICATION, "env.X", "1", NULL);
	stack_sort(&a);
	stack_sort(&b);
	stack_diff(&a, &b, &c);
	CHECK_INT(c.n, 3);
	CHECK_INT(c.n_material, 2);
	s = change_text(&c.v[0]);
	CHECK_STR(s, "kernellib blas openblas 0.3.21 -> reference 3.11.0");
	free(s);
	s = change_text(&c.v[1]);
	CHECK_STR(s, "application env.X (none) -> 1");
	free(s);
	CHECK_STR(change_name(&c.v[2]), "hostname");
	CHECK(!c.v[2].material);
}

static void unknown_never_equals_unknown(void)
{
	struct stack a CLEANUP(stack_release) = { 0 };
	struct changes c CLEANUP(changes_release) = { 0 };

	stack_add(&a, CL_FIRMWARE, "smu", NULL, NULL);
	stack_diff(&a, &a, &c);
	CHECK_INT(c.n, 1);
	CHECK(c.v[0].gap);
	CHECK_INT(c.n_gaps, 1);
	CHECK_INT(c.n_material, 0);
}

static void digests_show_where_versions_do_not_differ(void)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	struct changes c CLEANUP(changes_release) = { 0 };
	char *s;

	stack_add(&a, CL_MODEL, "weights", "v1", NULL)->digest = xstrdup("sha256:aaaaaaaaaaaaaaaa");
	stack_add(&b, CL_MODEL, "weights", "v1", NULL)->digest = xstrdup("sha256:bbbbbbbbbbbbbbbb");
	stack_diff(&a, &b, &c);
	CHECK_INT(c.n, 1);
	s = change_text(&c.v[0]);
	CHECK_STR(s, "model weights v1 (aaaaaaaaaaaa) -> v1 (bbbbbbbbbbbb)");
	free(s);
}

static void a_record_reads_back_the_same(void)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	AUTO_JSON json_t *j = NULL, *k = NULL;
	struct err err = ERR_INIT;
	struct component *c;

	c = stack_add(&a, CL_ENGINE, "vllm", "0.10.1", "pip");
	c->requested = xstrdup("0.10");
	c->label = xstrdup("v0.10.1");
	stack_add(&a, CL_FIRMWARE, "smu", NULL, "sysfs")->note = xstrdup("permission denied");
	stack_sort(&a);
	j = stack_to_json(&a);
	CHECK_OK(stack_from_json(j, &b, &err), err);
	k = stack_to_json(&b);
	CHECK(json_equal(j, k));
	CHECK(stack_find(&b, CL_FIRMWARE, "smu")->version == NULL);
	CHECK_STR(stack_find_name(&b, "vllm")->requested, "0.10");
}

TEST_MAIN(TEST(the_identity_ignores_order_and_origin), TEST(lists_each_difference_material_first),
	  TEST(unknown_never_equals_unknown), TEST(digests_show_where_versions_do_not_differ),
	  TEST(a_record_reads_back_the_same))
