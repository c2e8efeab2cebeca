/* SPDX-License-Identifier: Apache-2.0 */
#include "load/fields.h"

#include "base/err.h"
#include "load/load.h"
#include "test.h"

struct all {
	int64_t i64;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;
	int32_t i32;
	uint8_t u8;
	bool yes;
	double f64;
	char *str;
	char chars[8];
};
static const struct field fields[] = {
	FIELD(all, i64, F_I64),     FIELD(all, u64, F_U64), FIELD(all, u32, F_U32),
	FIELD(all, u16, F_U16),     FIELD(all, i32, F_I32), FIELD_MAX(all, u8, F_U8, 5),
	FIELD(all, yes, F_BOOL),    FIELD(all, f64, F_F64), FIELD(all, str, F_STR),
	FIELD(all, chars, F_CHARS),
};

static void goes_there_and_back(void)
{
	struct all a = {
		-5, 1ULL << 60, UINT32_MAX, 65535, -1, 5, true, 0.1, (char *)"s", "seven77"
	};
	struct all b = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *o = json_object();

	fields_put(o, fields, ARRAY_SIZE(fields), &a);
	CHECK_OK(fields_get(o, fields, ARRAY_SIZE(fields), true, &b, &err), err);
	CHECK_INT(b.i64, -5);
	CHECK(b.u64 == 1ULL << 60 && b.u32 == UINT32_MAX && b.u16 == 65535 && b.i32 == -1);
	CHECK(b.u8 == 5 && b.yes && b.f64 == 0.1);
	CHECK_STR(b.str, "s");
	CHECK_STR(b.chars, "seven77");
	free(b.str);
}

static void absent_means_nothing(void)
{
	struct all a = { .i64 = LOAD_NONE, .f64 = NAN }, b = { 0 };
	struct err err = ERR_INIT;
	AUTO_JSON json_t *o = json_object();

	fields_put(o, fields, ARRAY_SIZE(fields), &a);
	CHECK_INT(json_object_size(o), 1); /* i32 is always there */
	CHECK_OK(fields_get(o, fields, ARRAY_SIZE(fields), true, &b, &err), err);
	CHECK_INT(b.i64, LOAD_NONE);
	CHECK(isnan(b.f64));
}

static void refuses_what_does_not_fit(void)
{
	static const char *const bad[] = { "{\"u8\":6}",   "{\"u16\":65536}",
					   "{\"u32\":-1}", "{\"i32\":3000000000}",
					   "{\"yes\":1}",  "{\"f64\":\"x\"}",
					   "{\"str\":1}",  "{\"chars\":\"eight888\"}",
					   "{\"i64\":1.5}" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct all b = { 0 };
		struct err err = ERR_INIT;
		AUTO_JSON json_t *o = json_loads(bad[i], 0, NULL);

		CHECK(o);
		CHECK_INT(fields_get(o, fields, ARRAY_SIZE(fields), true, &b, &err), -ERR_PARSE);
	}
}

TEST_MAIN(TEST(goes_there_and_back), TEST(absent_means_nothing), TEST(refuses_what_does_not_fit))
