/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include "base/err.h"
#include "test.h"

static void knows_line_and_column_of_every_value(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct err err = ERR_INIT;
	const struct yaml *b, *c;

	CHECK_OK(yaml_parse(SV("a: 1\nb:\n  - x\n  - {c: 'ü', d: 2}\n"), &doc, &err), err);
	CHECK_INT(doc.kind, YAML_MAP);
	CHECK_INT(doc.n, 2);
	CHECK_STR(yaml_get(&doc, "a")->text, "1");
	CHECK_INT(yaml_get(&doc, "a")->col, 4);
	b = yaml_get(&doc, "b");
	CHECK_INT(b->kind, YAML_LIST);
	CHECK_INT(b->key_line, 2);
	CHECK_INT(b->v[0].line, 3);
	c = yaml_get(&b->v[1], "c");
	CHECK_STR(c->text, "ü");
	CHECK(c->quoted);
	CHECK_INT(c->line, 4);
	CHECK_INT(c->key_col, 6);
	CHECK_INT(yaml_get(&b->v[1], "d")->key_col, 14); /* characters, not bytes */
	CHECK(!yaml_get(&doc, "e"));
	CHECK(!yaml_get(b, "c"));
}

static void knows_a_key_without_value(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(yaml_parse(SV("a:\nb: ~\nc: null\nd: ''\ne: x\n"), &doc, &err), err);
	CHECK(yaml_is_null(&doc.v[0]) && yaml_is_null(&doc.v[1]) && yaml_is_null(&doc.v[2]));
	CHECK(!yaml_is_null(&doc.v[3]) && !yaml_is_null(&doc.v[4]));
}

static void an_empty_text_is_an_empty_scalar(void)
{
	static const char *const texts[] = { "", "\n\n", "# nothing\n", "\xef\xbb\xbf", "---\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct yaml doc CLEANUP(yaml_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_OK(yaml_parse(sv_of(texts[i]), &doc, &err), err);
		CHECK_INT(doc.kind, YAML_SCALAR);
		CHECK_STR(doc.text, "");
	}
}

static void a_byte_order_mark_is_fine(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(yaml_parse(SV("\xef\xbb\xbf"
			       "a: 1\n"),
			    &doc, &err),
		 err);
	CHECK_STR(doc.v[0].key, "a");
	CHECK_INT(doc.v[0].key_col, 1);
}

static void refuses_what_it_must_with_the_place(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a: 1\nb: 2\na: 3\n", "3:1: 'a' given twice (first on line 1)" },
		{ "x: {k: 1, 'k': 2}\n", "1:11: 'k' given twice (first on line 1)" },
		{ "a: 1\na: 2\na: 3\nb: 1\nb: 1\n", "2:1: 'a' given twice (first on line 1)" },
		{ "a: &x 1\n", "1:4: anchors (&x) are not allowed here" },
		{ "a: &x [1]\n", "1:4: anchors (&x) are not allowed here" },
		{ "a: *x\n", "1:4: aliases (*x) are not allowed here" },
		{ "*x : 1\n", "1:1: aliases (*x) are not allowed here" },
		{ "a: !!int 1\n", "1:4: tags (tag:yaml.org,2002:int) are not allowed here" },
		{ "a: !x {b: 1}\n", "1:4: tags (!x) are not allowed here" },
		{ "a: ! x\n", "1:4: tags (!) are not allowed here" },
		{ "[a]: 1\n", "1:1: a key must be a plain word" },
		{ "? {a: 1}\n: 2\n", "1:3: a key must be a plain word" },
		{ "'': 1\n", "1:1: a key without a name" },
		{ "%YAML 1.1\n---\na: 1\n", "1:1: directives (%YAML, %TAG) are not allowed here" },
		{ "a: 1\n---\nb: 1\n", "2:1: a second document begins here; only one is allowed" },
		{ "a: \"x\\0y\"\n", "1:4: text with a NUL byte in it" },
		{ "a: 1\nb: \x01\n", "2:4: a control character" },
		{ "a: ü\xff\n", "1:5: not UTF-8 text" },
		{ "\xff\xfe"
		  "a",
		  "1:1: not UTF-8 text" },
		{ "a: \xc2\x80\n", "1:4: not YAML: control characters are not allowed" },
		{ "a: 1\n\tb: 2\n",
		  "2:1: not YAML: found a tab character that violates indentation while scanning a "
		  "plain scalar that began on line 1" },
		{ "a:\n\tb: 2\n",
		  "2:1: not YAML: this character can't begin a value (a tab, '@', '`' and '%' "
		  "need quotes; indent with spaces)" },
		{ "a: [1, 2\nb: 3\n",
		  "2:2: not YAML: did not find expected ',' or ']' while parsing "
		  "a flow sequence that began on line 1" },
		{ "a: 'x\n",
		  "2:1: not YAML: found unexpected end of stream while scanning a quoted "
		  "scalar that began on line 1" },
		{ "a: b: c\n", "1:5: not YAML: mapping values are not allowed in this context" },
		{ "a: 1\n b: 2\n",
		  "2:3: not YAML: mapping values are not allowed in this context" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml doc CLEANUP(yaml_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(yaml_parse(sv_of(cases[i].text), &doc, &err), -ERR_PARSE);
		CHECK_STR(err.msg, cases[i].want);
		CHECK(!doc.n && !doc.text); /* ret untouched */
	}
}

static void nul_bytes_are_refused(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(yaml_parse((struct sv){ "a: 1\n\0b", 7 }, &doc, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "2:1: a control character");
}

/* [[[...]]] of n levels */
static int parse_nested(int n, struct err *err)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };

	str_pad(&s, '[', (size_t)n);
	str_add(&s, "x");
	str_pad(&s, ']', (size_t)n);
	return yaml_parse(sv_str(&s), &doc, err);
}

static void depth_size_and_count_have_limits(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(parse_nested(YAML_MAX_DEPTH, &err), err);
	CHECK_INT(parse_nested(YAML_MAX_DEPTH + 1, &err), -ERR_LIMIT);
	CHECK_STR(err.msg, "1:65: more than 64 levels");
	CHECK_INT(parse_nested(1000000, &err), -ERR_LIMIT);

	str_add(&s, "[");
	for (int i = 0; i < YAML_MAX_NODES + 1; i++)
		str_add(&s, "x,");
	str_add(&s, "]");
	CHECK_INT(yaml_parse(sv_str(&s), &doc, &err), -ERR_LIMIT);
	CHECK_HAS(err.msg, "more than 100000 values");

	str_clear(&s);
	str_pad(&s, '#', YAML_MAX_BYTES + 1);
	CHECK_INT(yaml_parse(sv_str(&s), &doc, &err), -ERR_LIMIT);
	CHECK_HAS(err.msg, "1:1: 4194305 bytes are more than the allowed 4194304");
}

static void many_keys_are_compared_quickly(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	for (int i = 0; i < 90000; i++)
		str_addf(&s, "k%d:\n", i);
	CHECK_OK(yaml_parse(sv_str(&s), &doc, &err), err);
	CHECK_INT(doc.n, 90000);
	str_add(&s, "k7: again\n");
	CHECK_INT(yaml_parse(sv_str(&s), &doc, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "90001:1: 'k7' given twice (first on line 8)");
}

static void what_is_written_parses_to_the_same(void)
{
	struct yaml doc CLEANUP(yaml_release) = { 0 }, again CLEANUP(yaml_release) = { 0 };
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	static const char block[] =
		"a:\n- 1\n- two\n- \"th\\\"ree\\n\"\n- b:\n  c: |\n    x\n    y\n"
		"'k e y': \"\\u0085\\u2028\\U0001F600\\\\\"\n";

	CHECK_OK(yaml_parse(sv_of(block), &doc, &err), err);
	yaml_write(&doc, &s);
	CHECK_OK(yaml_parse(sv_str(&s), &again, &err), err);
	CHECK(yaml_equal(&doc, &again));
	CHECK_STR(yaml_get(&again, "k e y")->text, "\xc2\x85\xe2\x80\xa8\xf0\x9f\x98\x80\\");
}

TEST_MAIN(TEST(knows_line_and_column_of_every_value), TEST(knows_a_key_without_value),
	  TEST(an_empty_text_is_an_empty_scalar), TEST(a_byte_order_mark_is_fine),
	  TEST(refuses_what_it_must_with_the_place), TEST(nul_bytes_are_refused),
	  TEST(depth_size_and_count_have_limits), TEST(many_keys_are_compared_quickly),
	  TEST(what_is_written_parses_to_the_same))
