/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/internal.h"
#include "contract_schemas.h"
#include "contract_tables.h"
#include "test.h"

static void names_are_those_of_the_model(void)
{
	for (int i = 0; i < CL_N; i++)
		CHECK_STR(component_layer_names[i], component_layer_name((enum component_layer)i));
	CHECK(!component_layer_names[CL_N]);
	CHECK_STR(workload_kind_name(KIND_BATCH), "batch");
	CHECK(!workload_kind_names[KIND_N]);
	CHECK_STR(exclude_cause_name(EXCLUDE_CLIENT_LIMITED), "client_limited");
	CHECK(!exclude_names[EXCLUDE_N]);
	for (int i = 0; i < AGG_N; i++)
		CHECK(extract_agg_name((enum extract_agg)i));
}

static void every_row_is_sound(void)
{
	struct contract *c = xcalloc(1, sizeof(*c));

	check_table(contract_fields);
	check_table(check_common_fields);
	check_table(command_fields);
	fields_default(contract_fields, c); /* asserts inside */
	CHECK_INT(c->repeat.runs, 5);
	CHECK_INT(c->workload_check.serve.ready.within_ns, 300 * NS_PER_S);
	contract_release(c);
	free(c);
}

static void reserved_names_are_not_taken_by_the_command(void)
{
	for (const struct field *f = command_schema.fields; f->name; f++)
		for (const struct field *g = check_common_fields; g->name; g++)
			CHECK(strcmp(f->name, g->name) != 0);
}

TEST_MAIN(TEST(names_are_those_of_the_model), TEST(every_row_is_sound),
	  TEST(reserved_names_are_not_taken_by_the_command))
