/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"
#include "contract_schemas.h"
#include "test.h"

static void release(struct bandwidth_conf *c)
{
	fields_release(bandwidth_fields, c);
}

static void parse(const char *text, struct bandwidth_conf *ret)
{
	struct yaml y CLEANUP(yaml_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(yaml_parse(sv_of(text), &y, &err), err);
	if (fields_parse(bandwidth_fields, &y, "bandwidth", ret, &bad) < 0)
		test_fails(__FILE__, __LINE__, "%s", bad.v[0].text);
}

static void defaults_are_written_like_values(void)
{
	struct bandwidth_conf c CLEANUP(release) = { 0 };

	parse("{}", &c);
	CHECK_INT(c.hbm.op, LIMIT_NONE);
	CHECK(isnan(c.burn));
	CHECK_NEAR(c.load, 0.5, 0);
	CHECK_INT(c.mode, 1);
	CHECK_INT(c.size_bytes, 1 << 30);
	CHECK_INT(c.within_ns, 60 * NS_PER_S);
	CHECK(!c.quick && !c.parts && !c.tools.n && !c.sizes.n && !c.env.n);
}

static void every_type_is_read(void)
{
	struct bandwidth_conf c CLEANUP(release) = { 0 };

	parse("hbm: '>= 4.0 TB/s'\nram: 5 GB/s\nburn: 0.25\nload: \"0.000000001\"\n"
	      "tools: stream\nparts: [copy, read]\nmode: copy\nquick: true\nsize: 2 MiB\n"
	      "within: 0\nsizes: [3, 1]\nenv: {A: '1', B: '{dir}/x'}\n",
	      &c);
	CHECK_INT(c.hbm.op, LIMIT_GE);
	CHECK_NEAR(c.hbm.value, 4e12, 0);
	CHECK_INT(c.hbm.unit, UNIT_BYTES_PER_S);
	CHECK_INT(c.ram.op, LIMIT_EQ);
	CHECK_NEAR(c.burn, 0.25, 0);
	CHECK_NEAR(c.load, 1e-9, 0);
	CHECK_STR(c.tools.v[0], "stream");
	CHECK_INT(c.parts, 1 << 2 | 1 << 0);
	CHECK_INT(c.mode, 0);
	CHECK(c.quick);
	CHECK_INT(c.size_bytes, 2 << 20);
	CHECK_INT(c.within_ns, 0);
	CHECK_INT(c.sizes.n, 2);
	CHECK_INT(c.sizes.v[0], 3);
	CHECK_STR(pairs_get(&c.env, "B"), "{dir}/x");
}

TEST_MAIN(TEST(defaults_are_written_like_values), TEST(every_type_is_read))
