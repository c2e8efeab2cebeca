/* SPDX-License-Identifier: Apache-2.0 */
#include "base/canon.h"
#include "base/yaml.h"
#include "contract_schemas.h"
#include "test.h"

static void release(struct bandwidth_conf *c)
{
	fields_release(bandwidth_fields, c);
}

static char *json_of(const char *text)
{
	struct bandwidth_conf c CLEANUP(release) = { 0 };
	struct yaml y CLEANUP(yaml_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	AUTO_JSON json_t *j = NULL;
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(yaml_parse(sv_of(text), &y, &err), err);
	CHECK_INT(fields_parse(bandwidth_fields, &y, "b", &c, &bad), 0);
	j = fields_to_json(bandwidth_fields, &c);
	CHECK_OK(canon_write(j, 0, &s, &err), err); /* fit for a record */
	return str_steal(&s);
}

static void only_what_differs_from_a_default_is_said(void)
{
	AUTO_FREE char *none = json_of("{}");
	AUTO_FREE char *same =
		json_of("{mode: triad, size: 1024 MiB, within: 60 s, load: 0.50, quick: "
			"false, tools: [], parts: [], env: {}}");

	CHECK_STR(none, "{}");
	CHECK_STR(same, "{}");
}

static void quantities_are_integers_in_base_units(void)
{
	AUTO_FREE char *all = json_of("hbm: '>= 4 TB/s'\nburn: 5 %\nload: 1.5\ntools: [b, a]\n"
				      "parts: [write, read]\nmode: copy\nquick: true\nsize: 1 MiB\n"
				      "within: 1.5 ms\nsizes: [2, 1]\nenv: {B: x, A: ''}\n");

	CHECK_STR(all, "{\"burn\":{\"unit\":\"ratio\",\"value\":50000000},"
		       "\"env\":[{\"name\":\"A\",\"value\":\"\"},{\"name\":\"B\",\"value\":\"x\"}],"
		       "\"hbm\":{\"op\":\">=\",\"unit\":\"bytes_per_s\",\"value\":4000000000000},"
		       "\"load_e9\":1500000000,\"mode\":\"copy\",\"parts\":[\"read\",\"write\"],"
		       "\"quick\":true,\"size_bytes\":1048576,\"sizes\":[2,1],"
		       "\"tools\":[\"b\",\"a\"],\"within_ns\":1500000}");
}

TEST_MAIN(TEST(only_what_differs_from_a_default_is_said),
	  TEST(quantities_are_integers_in_base_units))
