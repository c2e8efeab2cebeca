/* SPDX-License-Identifier: Apache-2.0 */
/* twice-contract(5) against the program: its examples are contracts, and it names every key. */
#include "base/file.h"
#include "contract/internal.h"
#include "contract_schemas.h"
#include "test.h"

static char *page(void)
{
	const char *src = getenv("TWICE_SRC");
	AUTO_FREE char *path = NULL;
	struct err err = ERR_INIT;
	char *text = NULL;

	if (!src)
		test_skip("TWICE_SRC is not set");
	path = path_join(src, "man/twice-contract.5.scd");
	CHECK_OK(file_read(path, 1 * MIB, &text, NULL, &err), err);
	return text;
}

static bool has_key(const char *block, const char *key)
{
	AUTO_FREE char *line = xasprintf("\n%s:", key);

	return strncmp(block, line + 1, strlen(line + 1)) == 0 || strstr(block, line);
}

/* A part of a contract gets the needed rest around it. */
static void parse_example(const char *block)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (!has_key(block, "twice"))
		str_add(&text, "twice: 1\n");
	if (!has_key(block, "workload"))
		str_add(&text, "workload: {name: t, kind: batch}\n");
	if (!has_key(block, "workload_check"))
		str_add(&text, "workload_check: {command: {argv: [./t]}, objectives: ["
			       "\"wall_time <= 5 s\"]}\n");
	str_add(&text, block);
	if (contract_parse(sv_str(&text), "example", test_schemas, &c, &bad, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s in\n%s", err.msg, str_text(&text));
}

static void every_example_is_right(void)
{
	AUTO_FREE char *text = page();
	struct str block CLEANUP(str_release) = { 0 };
	struct sv rest = sv_of(text), line;
	bool inside = false;
	int n = 0;

	while (sv_line(&rest, &line)) {
		if (!sv_is(line, "```")) {
			if (inside)
				str_addf(&block, SV_FMT "\n", SV_ARG(line));
			continue;
		}
		if (inside) {
			parse_example(str_text(&block));
			n++;
		}
		str_clear(&block);
		inside = !inside;
	}
	CHECK(!inside);
	CHECK(n >= 8);
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
	AUTO_FREE char *text = page();

	check_named(text, contract_fields);
	check_named(text, check_common_fields);
	check_named(text, command_fields);
}

static void every_metric_and_placeholder_is_named(void)
{
	AUTO_FREE char *text = page();

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
