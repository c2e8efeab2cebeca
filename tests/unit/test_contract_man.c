/* SPDX-License-Identifier: Apache-2.0 */
/* twice-contract(5) against the program: its examples are contracts, and it names every key. */
#include "contract/internal.h"
#include "contract_schemas.h"
#include "contract_tables.h"
#include "test.h"

static void every_example_is_right(void)
{
	AUTO_FREE char *text = contract_page();

	parse_examples(text, test_schemas);
}

static void check_named(const char *text, const struct field *fields)
{
	for (const struct field *f = fields; f->name; f++) {
		AUTO_FREE char *bold = xasprintf("*%s*", f->name);

		if (!strstr(text, bold))
			test_fails(__FILE__, __LINE__, "the page does not name %s", bold);
		if (f->sub)
			check_named(text, f->sub);
		for (size_t i = 0; f->names && f->names[i]; i++)
			CHECK_HAS(text, f->names[i]);
		/* Defaults that are words or numbers are told. */
		if (f->def && f->type == FIELD_DURATION && strcmp(f->def, "0 s") != 0)
			CHECK_HAS(text, f->def);
	}
}

static void every_key_is_named(void)
{
	AUTO_FREE char *text = contract_page();

	check_named(text, contract_fields);
	check_named(text, check_common_fields);
	check_named(text, command_fields);
}

static void every_metric_and_placeholder_is_named(void)
{
	AUTO_FREE char *text = contract_page();

	for (int how = HOW_SERVE; how <= HOW_COMMAND; how++) {
		const char *names[METRIC_NAMES_MAX];
		struct contract c = { 0 };

		c.workload_check.how = (enum workload_how)how;
		c.workload_check.has_load = true;
		metric_names(&c, names);
		for (size_t i = 0; names[i]; i++) {
			size_t n = streq(names[i], "answers.match") ? strlen(names[i])
								    : strcspn(names[i], ".");
			AUTO_FREE char *bold = xasprintf("*%.*s*", (int)n, names[i]);

			CHECK_HAS(text, bold);
		}
	}
	for (size_t i = 0; placeholder_names[i]; i++) {
		AUTO_FREE char *bold = xasprintf("*{%s}*", placeholder_names[i]);

		CHECK_HAS(text, bold);
	}
}

TEST_MAIN(TEST(every_example_is_right), TEST(every_key_is_named),
	  TEST(every_metric_and_placeholder_is_named))
