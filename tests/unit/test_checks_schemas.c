/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the real checks: sound, and what the manual and the templates show is right for
 * them. */
#include "checks/checks.h"
#include "contract/internal.h"
#include "contract_tables.h"
#include "load/load.h"
#include "test.h"

static void every_table_is_sound(void)
{
	const struct check_schema *const *all = checks_schemas();
	size_t n = 0;

	for (; all[n]; n++) {
		void *conf = xcalloc(1, all[n]->conf_size);

		CHECK(all[n]->help && *all[n]->help);
		CHECK(all[n]->layers && !(all[n]->layers & 1u << LAYER_WORKLOAD));
		check_table(all[n]->fields);
		for (const struct field *f = all[n]->fields; f->name; f++)
			for (const struct field *g = check_common_fields; g->name; g++)
				CHECK(strcmp(f->name, g->name) != 0);
		fields_default(all[n]->fields, conf); /* a default that can't be read asserts */
		fields_release(all[n]->fields, conf);
		free(conf);
	}
	CHECK(n > 5);
}

static void the_manuals_examples_are_right(void)
{
	AUTO_FREE char *text = contract_page();

	parse_examples(text, checks_schemas());
}

static void every_template_is_a_contract(void)
{
	for (int i = 0; i < KIND_N; i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		struct str text CLEANUP(str_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_OK(contract_template((enum workload_kind)i, NULL, &text, &err), err);
		CHECK_OK(contract_parse(sv_str(&text), "f", checks_schemas(), &c, NULL, &err), err);
	}
}

static void every_check_is_in_the_help(void)
{
	const struct check_schema *const *all = checks_schemas();

	for (size_t i = 0; all[i]; i++) {
		struct str text CLEANUP(str_release) = { 0 };

		CHECK(contract_help(all, all[i]->name, &text));
		CHECK_HAS(str_text(&text), all[i]->name);
	}
}

/* What the contract calls a metric of a loaded server is what the load engine measures. */
static void metrics_of_load_agree(void)
{
	const char *names[METRIC_NAMES_MAX];
	struct contract c = { 0 };
	size_t n = 0;

	c.workload_check.has_load = true;
	metric_names(&c, names);
	for (size_t i = 0; names[i]; i++) {
		struct metric_info m;
		enum direction dir;
		enum unit unit;

		CHECK(contract_metric(&c, names[i], &m));
		if (streq(names[i], "ready_time") || streq(names[i], "cpu_time") ||
		    streq(names[i], "peak_rss"))
			continue; /* of the process */
		if (!load_metric_known(sv_of(names[i]), &unit, &dir))
			test_fails(__FILE__, __LINE__, "load does not measure '%s'", names[i]);
		CHECK_INT(unit, m.unit);
		CHECK_INT(dir, m.dir);
		n++;
	}
	CHECK(n > 50);
}

TEST_MAIN(TEST(every_table_is_sound), TEST(the_manuals_examples_are_right),
	  TEST(every_template_is_a_contract), TEST(every_check_is_in_the_help),
	  TEST(metrics_of_load_agree))
