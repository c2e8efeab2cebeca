/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "base/yaml.h"
#include "contract_schemas.h"
#include "test.h"

struct inner {
	char *name;
	int64_t size;
	int64_t twofold;
};
struct outer {
	struct argv run;
	bool shell;
	struct inner one;
	bool has_one;
	struct {
		struct inner *v;
		size_t n, room;
	} list, named;
	int64_t a, b;
};

static int inner_valid(void *conf, struct err *err)
{
	struct inner *i = conf;

	if (i->size == 13)
		return bail(err, ERR_PARSE, "13 brings bad luck");
	i->twofold = 2 * i->size;
	return 0;
}

static const struct field inner_fields[] = {
	FIELD(inner, size, .type = FIELD_INT, .def = "7", .help = "size"),
	{ 0 },
};
static const struct field outer_fields[] = {
	FIELD(outer, run, .type = FIELD_ARGV, .help = "program"),
	FIELD(outer, shell, .type = FIELD_BOOL, .def = "false", .help = "a line"),
	FIELD(outer, one, .type = FIELD_SUB, .sub = inner_fields, .valid = inner_valid,
	      .brief = "size", .has = FIELD_HAS(outer, has_one), .help = "one"),
	FIELD(outer, list, .type = FIELD_LIST, .sub = inner_fields, .size = sizeof(struct inner),
	      .brief = "size", .valid = inner_valid, .help = "several"),
	FIELD(outer, named, .type = FIELD_NAMED, .sub = inner_fields, .size = sizeof(struct inner),
	      .brief = "size", .valid = inner_valid, .keys = KEYS_WORD, .help = "several by name"),
	FIELD(outer, a, .type = FIELD_INT, .one_of = "ab", .help = "a"),
	FIELD(outer, b, .type = FIELD_INT, .one_of = "ab", .help = "b"),
	{ 0 },
};

static void release(struct outer *o)
{
	fields_release(outer_fields, o);
}

/* "" or the complaints, one a line. */
static char *parse(const char *text, struct outer *ret)
{
	struct yaml y CLEANUP(yaml_release) = { 0 };
	struct problems bad CLEANUP(problems_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	int rc;

	CHECK_OK(yaml_parse(sv_of(text), &y, &err), err);
	rc = fields_parse(outer_fields, &y, "it", ret, &bad);
	CHECK_INT(rc, bad.n ? -ERR_PARSE : 0);
	for (size_t i = 0; i < bad.n; i++)
		str_addf(&s, "%u:%u %s\n", bad.v[i].line, bad.v[i].col, bad.v[i].text);
	return str_steal(&s);
}

static void structs_nest_with_their_defaults(void)
{
	struct outer o CLEANUP(release) = { 0 };
	AUTO_FREE char *said =
		parse("one: {}\nlist: [{size: 3}, {}, 5]\nnamed: {x: 1, y: {size: 2}}\n", &o);

	CHECK_STR(said, "");
	CHECK(o.has_one);
	CHECK_INT(o.one.size, 7);
	CHECK_INT(o.one.twofold, 14);
	CHECK_INT(o.list.n, 3);
	CHECK_INT(o.list.v[1].size, 7);
	CHECK_INT(o.list.v[2].twofold, 10);
	CHECK_STR(o.named.v[0].name, "x");
	CHECK_INT(o.named.v[1].twofold, 4);
}

static void what_is_absent_has_its_default(void)
{
	struct outer o CLEANUP(release) = { 0 };
	AUTO_FREE char *said = parse("{}", &o);

	CHECK_STR(said, "");
	CHECK(!o.has_one && !o.run.words.n && !o.list.n);
	CHECK_INT(o.one.size, 7);
	CHECK_INT(o.one.twofold, 0); /* valid is for what was given */
}

static void commands_are_lists_or_shell_lines(void)
{
	struct outer o CLEANUP(release) = { 0 }, p CLEANUP(release) = { 0 };
	AUTO_FREE char *a = parse("run: [a, '', \"b c\"]\n", &o);
	AUTO_FREE char *b = parse("shell: true\nrun: a | b\n", &p);

	CHECK_STR(a, "");
	CHECK_INT(o.run.words.n, 3);
	CHECK(!o.run.shell);
	CHECK_STR(b, "");
	CHECK_STR(p.run.words.v[0], "/bin/sh");
	CHECK_STR(p.run.words.v[2], "a | b");
	CHECK(p.run.shell);
}

static void wrong_ones_are_told_where_they_are(void)
{
	static const char *const cases[][2] = {
		{ "x", "1:1 'it': expected a map of settings\n" },
		{ "one: {siez: 1}", "1:7 unknown key 'siez' in 'it.one' (nearest: 'size')\n" },
		{ "one: 13", "1:6 'one': 13 brings bad luck\n" },
		{ "list: [1, 13]", "1:11 'list': 13 brings bad luck\n" },
		{ "named: {x: 13}", "1:12 'x': 13 brings bad luck\n" },
		{ "list: {a: 1}", "1:7 'list': expected a list, got a map\n" },
		{ "named: [1]", "1:8 'named': expected a map of names, got a list\n" },
		{ "named: {X: 1}",
		  "1:9 'named': expected a name of a-z, 0-9 and _ that begins with a "
		  "letter, got 'X'\n" },
		{ "a: 1\nb: 2", "2:1 'b' and 'a' exclude each other: give one of them\n" },
		{ "one: [1]", "1:6 'one': expected a whole number, got a list\n" },
		{ "run:",
		  "1:5 'run': expected a list of words such as [\"./run\", \"--fast\"], got "
		  "nothing\n" },
		{ "shell: true\nrun:",
		  "2:5 'run': with 'shell: true' expected one line of text, got "
		  "nothing\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outer o CLEANUP(release) = { 0 };
		AUTO_FREE char *said = parse(cases[i][0], &o);

		CHECK_STR(said, cases[i][1]);
	}
}

TEST_MAIN(TEST(structs_nest_with_their_defaults), TEST(what_is_absent_has_its_default),
	  TEST(commands_are_lists_or_shell_lines), TEST(wrong_ones_are_told_where_they_are))
