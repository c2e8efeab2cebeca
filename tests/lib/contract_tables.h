/* SPDX-License-Identifier: Apache-2.0 */
/* What every table of settings has to keep, and the examples of twice-contract(5). */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "contract/contract.h"
#include "test.h"

/* Keys are fit for the canonical form, every row is explained, no key stands twice. */
static inline void check_table(const struct field *fields)
{
	for (const struct field *f = fields; f->name; f++) {
		CHECK(f->name[0] >= 'a' && f->name[0] <= 'z');
		CHECK_INT(strspn(f->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
			  strlen(f->name));
		if (!f->help || !*f->help)
			test_fails(__FILE__, __LINE__, "'%s' has no help", f->name);
		CHECK(!f->need || !f->def || f->one_of);
		for (const struct field *g = fields; g != f; g++)
			CHECK(strcmp(g->name, f->name) != 0);
		if (f->type == FIELD_ENUM || f->type == FIELD_ENUMS)
			CHECK(f->names && f->names[0]);
		if (f->sub)
			check_table(f->sub);
	}
}

static inline char *contract_page(void)
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

static inline bool example_has(const char *block, const char *key)
{
	AUTO_FREE char *line = xasprintf("\n%s:", key);

	return strncmp(block, line + 1, strlen(line + 1)) == 0 || strstr(block, line);
}

/* A part of a contract gets the needed rest around it. */
static inline void parse_example(const char *block, const struct check_schema *const *schemas)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	if (!example_has(block, "twice"))
		str_add(&text, "twice: 1\n");
	if (!example_has(block, "workload"))
		str_add(&text, "workload: {name: t, kind: batch}\n");
	if (!example_has(block, "workload_check"))
		str_add(&text, "workload_check: {command: {argv: [./t]}, objectives: ["
			       "\"wall_time <= 5 s\"]}\n");
	str_add(&text, block);
	if (contract_parse(sv_str(&text), "example", schemas, &c, NULL, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s in\n%s", err.msg, str_text(&text));
}

static inline void parse_examples(const char *page, const struct check_schema *const *schemas)
{
	struct str block CLEANUP(str_release) = { 0 };
	struct sv rest = sv_of(page), line;
	bool inside = false;
	int n = 0;

	while (sv_line(&rest, &line)) {
		if (!sv_is(line, "```")) {
			if (inside)
				str_addf(&block, SV_FMT "\n", SV_ARG(line));
			continue;
		}
		if (inside) {
			parse_example(str_text(&block), schemas);
			n++;
		}
		str_clear(&block);
		inside = !inside;
	}
	CHECK(!inside);
	CHECK(n >= 8);
}
