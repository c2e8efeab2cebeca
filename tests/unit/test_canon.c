/* SPDX-License-Identifier: Apache-2.0 */
#include "base/canon.h"

#include "base/crypto.h"
#include "base/err.h"
#include "base/json.h"

#include "shared_vectors.h"

/* Reads loosely, writes; the canonical text or the error's message. */
static char *canon(const char *text, int *ret_rc)
{
	struct err err = ERR_INIT;
	struct str out = { 0 };
	AUTO_JSON json_t *v = NULL;

	*ret_rc = canon_read(sv_of(text), CANON_MAX_BYTES, CANON_LOOSE, &v, &err);
	if (*ret_rc == 0)
		*ret_rc = canon_write(v, CANON_MAX_BYTES, &out, &err);
	if (*ret_rc < 0)
		return xstrdup(err.msg);
	return str_steal(&out);
}

static void gives_the_one_form(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ " { \"b\" : 1 , \"a\" : [ ] } ", "{\"a\":[],\"b\":1}" },
		{ "{\"a_1\":1,\"a\":2,\"a1\":3}", "{\"a\":2,\"a1\":3,\"a_1\":1}" },
		{ "[true,false,null,0,-5]", "[true,false,null,0,-5]" },
		{ "\"\\u0000\\u001F\\u007f\\/\\\"\\\\\"", "\"\\u0000\\u001f\x7f/\\\"\\\\\"" },
		{ "\"\\b\\t\\n\\f\\r\"", "\"\\b\\t\\n\\f\\r\"" },
		{ "\"\\u0008\\u0009\\u000a\\u000C\\u000d\"", "\"\\b\\t\\n\\f\\r\"" },
		{ "\"\\uD83D\\uDE00\\u20ac\\u00e9\"", "\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9\"" },
		{ "9007199254740991", "9007199254740991" },
		{ "{\"\\u0061\":1}", "{\"a\":1}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc;
		AUTO_FREE char *got = canon(cases[i].in, &rc);

		CHECK_STR(got, cases[i].out);
		CHECK_INT(rc, 0);
	}
}

/* Text is looked at 32 bytes at a time: what ends it counts wherever it stands. */
static void a_long_text_is_read_byte_for_byte(void)
{
	static const struct {
		unsigned char byte;
		const char *written;
	} odd[] = { { '"', "\\\"" },     { '\\', "\\\\" }, { '\n', "\\n" },
		    { 0x1f, "\\u001f" }, { 0x20, " " },    { 0x7f, "\x7f" } };

	for (size_t at = 0; at < 100; at++)
		for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
			struct str want CLEANUP(str_release) = { 0 },
					got CLEANUP(str_release) = { 0 };
			char text[100];
			AUTO_JSON json_t *v = NULL, *again = NULL;
			struct err err = ERR_INIT;

			memset(text, 'x', sizeof(text));
			text[at] = (char)odd[i].byte;
			v = json_stringn(text, sizeof(text));
			str_addf(&want, "\"%.*s%s%.*s\"", (int)at, text, odd[i].written,
				 (int)(99 - at), text + at + 1);
			CHECK_OK(canon_write(v, 0, &got, &err), err);
			CHECK_STR(str_text(&got), str_text(&want));
			CHECK_OK(canon_read(sv_str(&got), 0, CANON_STRICT, &again, &err), err);
			CHECK(json_equal(v, again));
			/* and as it must not be written */
			if (odd[i].byte >= 0x20 && odd[i].byte != '"' && odd[i].byte != '\\')
				continue;
			str_clear(&got);
			str_addf(&got, "\"%.*s\"", (int)sizeof(text), text);
			CHECK_INT(canon_scan(sv_str(&got), 0, NULL, NULL, &err), -ERR_PARSE);
		}
}

static void bad_utf8_is_refused_wherever_it_stands(void)
{
	for (size_t at = 1; at < 101; at++) {
		struct err err = ERR_INIT;
		char text[102];

		memset(text, 'x', sizeof(text));
		text[0] = text[101] = '"';
		text[at] = (char)0x80;
		CHECK_INT(canon_scan((struct sv){ text, 102 }, 0, NULL, NULL, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, "invalid UTF-8");
		CHECK(!utf8_valid((struct sv){ text, 102 }));
	}
}

/* Short objects are sorted in place, long ones by qsort; both come out sorted. */
static void objects_of_any_length_are_sorted(void)
{
	for (unsigned n = 0; n < 40; n++) {
		struct str want CLEANUP(str_release) = { 0 }, got CLEANUP(str_release) = { 0 };
		AUTO_JSON json_t *o = json_object();
		struct err err = ERR_INIT;

		str_addc(&want, '{');
		for (unsigned i = 0; i < n; i++) {
			char key[8];

			snprintf(key, sizeof(key), "k%02u", (i * 7 + 3) % n);
			json_put_int(o, key, (i * 7 + 3) % n);
			str_addf(&want, "%s\"k%02u\":%u", i ? "," : "", i, i);
		}
		str_addc(&want, '}');
		if (n % 7 == 0 && n) /* then not every number came up */
			continue;
		CHECK_OK(canon_write(o, 0, &got, &err), err);
		CHECK_STR(str_text(&got), str_text(&want));
	}
}

static void what_cannot_be_written_leaves_no_trace(void)
{
	struct str s CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *v = json_pack("[i,{s:f}]", 1, "a", 0.5);
	struct err err = ERR_INIT;

	str_add(&s, "before");
	CHECK_INT(canon_write(v, 0, &s, &err), -ERR_PARSE);
	CHECK_STR(str_text(&s), "before");
	CHECK_INT(canon_write_text(SV("\xff"), &s, &err), -ERR_PARSE);
	CHECK_STR(str_text(&s), "before");
	CHECK_OK(canon_write_text(SV("a\"b"), &s, &err), err);
	CHECK_STR(str_text(&s), "before\"a\\\"b\"");
	str_cut(&s, 6);
	str_cut(&s, 600);
	CHECK_STR(str_text(&s), "before");
}

static void refuses_what_is_no_value_of_ours(void)
{
	static const struct {
		const char *in, *why;
		int rc;
	} cases[] = {
		{ "{\"a\":1,\"a\":2}", "duplicate key", -ERR_PARSE },
		{ "{\"a\":1,\"\\u0061\":2}", "duplicate key", -ERR_PARSE },
		{ "1.0", "number not an integer", -ERR_PARSE },
		{ "1E2", "number not an integer", -ERR_PARSE },
		{ "-0", "negative zero", -ERR_PARSE },
		{ "-0.0", "number not an integer", -ERR_PARSE },
		{ "00", "leading zero", -ERR_PARSE },
		{ "-01", "leading zero", -ERR_PARSE },
		{ "+1", "not a value", -ERR_PARSE },
		{ "-", "not a value", -ERR_PARSE },
		{ "NaN", "not a value", -ERR_PARSE },
		{ "9007199254740992", "out of range", -ERR_RANGE },
		{ "-9007199254740992", "out of range", -ERR_RANGE },
		{ "123456789012345678901234567890", "out of range", -ERR_RANGE },
		{ "\"\\ud800\"", "lone surrogate", -ERR_PARSE },
		{ "\"\\ud800\\u0041\"", "lone surrogate", -ERR_PARSE },
		{ "\"\\udc00\"", "lone surrogate", -ERR_PARSE },
		{ "\"\xed\xa0\x80\"", "invalid UTF-8", -ERR_PARSE },
		{ "\"\xc0\x80\"", "invalid UTF-8", -ERR_PARSE },
		{ "\"\xff\"", "invalid UTF-8", -ERR_PARSE },
		{ "\"a", "without an end", -ERR_PARSE },
		{ "\"a\nb\"", "raw control", -ERR_PARSE },
		{ "\"\\x\"", "unknown escape", -ERR_PARSE },
		{ "\"\\u12g4\"", "bad \\u", -ERR_PARSE },
		{ "{\"A\":1}", "key not", -ERR_PARSE },
		{ "{\"\":1}", "key not", -ERR_PARSE },
		{ "{\"1a\":1}", "key not", -ERR_PARSE },
		{ "{\"a-b\":1}", "key not", -ERR_PARSE },
		{ "{\"\\u0000\":1}", "key not", -ERR_PARSE },
		{ "{\"a\":1,}", "want a key", -ERR_PARSE },
		{ "{\"a\" 1}", "want ':'", -ERR_PARSE },
		{ "{\"a\":}", "not a value", -ERR_PARSE },
		{ "[1,]", "not a value", -ERR_PARSE },
		{ "[1 2]", "want ','", -ERR_PARSE },
		{ "[", "cut short", -ERR_PARSE },
		{ "", "cut short", -ERR_PARSE },
		{ "{} {}", "trailing data", -ERR_PARSE },
		{ "\xef\xbb\xbf{}", "not a value", -ERR_PARSE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc;
		AUTO_FREE char *got = canon(cases[i].in, &rc);

		CHECK_HAS(got, cases[i].why);
		CHECK_INT(rc, cases[i].rc);
	}
}

static void strict_takes_only_the_one_form(void)
{
	static const char *const bad[] = {
		" {}",
		"{} ",
		"{}\n",
		"{ }",
		"[1, 2]",
		"{\"a\": 1}",
		"{\"b\":1,\"a\":2}",
		"\"\\/\"",
		"\"\\u0041\"",
		"\"\\u001F\"",
		"\"\\u000a\"",
		"\"\\u007f\"",
		"\"\\u00e9\"",
		"{\"\\u0061\":1}",
	};
	static const char *const good[] = { "{}", "{\"a\":\"\\u001f\\n\xc3\xa9\",\"a0\":[1,-2]}" };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *v = NULL;

		CHECK_INT(canon_read(sv_of(bad[i]), 0, CANON_STRICT, &v, &err), -ERR_PARSE);
		CHECK_INT(canon_scan(sv_of(bad[i]), 0, NULL, NULL, &err), -ERR_PARSE);
		CHECK(!v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK_OK(canon_scan(sv_of(good[i]), 0, NULL, NULL, &err), err);
}

static void keeps_its_limits(void)
{
	struct err err = ERR_INIT;
	struct str s CLEANUP(str_release) = { 0 }, out CLEANUP(str_release) = { 0 };
	AUTO_JSON json_t *deep = json_array(), *real = json_pack("{s:[{s:f}]}", "a", "b", 0.5);
	AUTO_JSON json_t *v = NULL;

	str_pad(&s, '[', 32);
	str_pad(&s, ']', 32);
	CHECK_OK(canon_read(sv_str(&s), 0, CANON_STRICT, &v, &err), err);
	CHECK_OK(canon_write(v, 0, &out, &err), err);
	CHECK_STR(str_text(&out), str_text(&s));
	str_clear(&s);
	str_pad(&s, '[', 33);
	str_pad(&s, ']', 33);
	CHECK_INT(canon_scan(sv_str(&s), 0, NULL, NULL, &err), -ERR_LIMIT);
	json_array_append(deep, v);
	CHECK_INT(canon_write(deep, 0, &out, &err), -ERR_LIMIT);
	CHECK_INT(canon_write(real, 0, &out, &err), -ERR_PARSE);
	CHECK_STR(err.msg, "number not an integer at 'a.b'");
	CHECK_INT(out.n, 64); /* as it was */

	str_clear(&s);
	str_addc(&s, '"');
	str_pad(&s, 'x', CANON_MAX_BYTES - 2);
	str_addc(&s, '"');
	CHECK_OK(canon_scan(sv_str(&s), CANON_MAX_BYTES, NULL, NULL, &err), err);
	json_decref(v);
	CHECK_OK(canon_read(sv_str(&s), CANON_MAX_BYTES, CANON_STRICT, &v, &err), err);
	str_clear(&out);
	CHECK_OK(canon_write(v, CANON_MAX_BYTES, &out, &err), err);
	CHECK_INT(canon_write(v, CANON_MAX_BYTES - 1, &out, &err), -ERR_LIMIT);
	str_addc(&s, ' ');
	CHECK_INT(canon_scan(sv_str(&s), CANON_MAX_BYTES, NULL, NULL, &err), -ERR_LIMIT);
}

static void note_scalar(void *ctx, const struct canon_scalar *s)
{
	struct str *to = ctx;

	for (size_t i = 0; i < s->depth; i++)
		str_addf(to, "%s" SV_FMT, i ? "." : "", SV_ARG(s->path[i]));
	str_addf(to, "=%c:" SV_FMT "@%zu ", s->type, SV_ARG(s->raw), s->object);
}

static void scan_shows_each_scalar_with_its_path(void)
{
	struct err err = ERR_INIT;
	struct str got CLEANUP(str_release) = { 0 };

	CHECK_OK(canon_scan(SV("{\"a\":[1,{\"b\":\"x\"},{\"c\":null}],\"d\":{\"e\":true},\"f\":2}"),
			    0, note_scalar, &got, &err),
		 err);
	CHECK_STR(str_text(&got), "={:{@0 a=[:[@1 a=i:1@1 a={:{@1 a.b=s:x@2 a={:{@1 a.c=n:null@3 "
				  "d={:{@1 d.e=t:true@4 f=i:2@1 ");
}

static void what_is_read_is_written_again(void)
{
	/* Every single-byte change of a canonical text is refused or is canonical itself. */
	static const char text[] = "{\"a\":[1,-20,{\"b\":\"x\\n\\u0001\xc3\xa9\"}],\"b\":true,"
				   "\"c\":null,\"d_1\":\"\"}";
	struct err err = ERR_INIT;
	char buf[sizeof(text)];
	int taken = 0;

	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		for (int c = 0; c < 256; c++) {
			struct str out CLEANUP(str_release) = { 0 };
			AUTO_JSON json_t *v = NULL;
			struct sv in = { buf, sizeof(text) - 1 };
			int rc;

			memcpy(buf, text, sizeof(text));
			buf[i] = (char)c;
			rc = canon_read(in, 0, CANON_STRICT, &v, &err);
			CHECK_INT(canon_scan(in, 0, NULL, NULL, &err), rc);
			if (rc < 0)
				continue;
			taken++;
			CHECK_OK(canon_write(v, 0, &out, &err), err);
			CHECK(sv_eq(sv_str(&out), in));
		}
	}
	CHECK(taken > 100);
}

static void published_vectors(void)
{
	json_t *doc = shared_vectors("ledger_canonical_json.json"), *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "cases"), i, c)
	{
		int rc;
		AUTO_FREE char *got = canon(vector_str(c, "json"), &rc);

		if (json_object_get(c, "error")) {
			CHECK(rc < 0);
			CHECK_HAS(got, vector_str(c, "error"));
		} else {
			CHECK_STR(got, (char *)vector_hex(c, "out_hex", NULL));
		}
	}
	CHECK(i >= 16);
}

TEST_MAIN(TEST(a_long_text_is_read_byte_for_byte), TEST(bad_utf8_is_refused_wherever_it_stands),
	  TEST(objects_of_any_length_are_sorted), TEST(what_cannot_be_written_leaves_no_trace),
	  TEST(gives_the_one_form), TEST(refuses_what_is_no_value_of_ours),
	  TEST(strict_takes_only_the_one_form), TEST(keeps_its_limits),
	  TEST(scan_shows_each_scalar_with_its_path), TEST(what_is_read_is_written_again),
	  TEST(published_vectors))
