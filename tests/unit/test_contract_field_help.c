/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_schemas.h"
#include "test.h"

static void each_row_says_type_range_and_default(void)
{
	struct str s CLEANUP(str_release) = { 0 };

	fields_help(bandwidth_fields, 0, &s);
	CHECK_HAS(str_text(&s), "hbm:                limit on a bandwidth\n");
	CHECK_HAS(str_text(&s), "burn:               a share such as '5 %', 1 % to 50 %\n");
	CHECK_HAS(str_text(&s), "load:               number, at least 0, by default 0.5\n");
	CHECK_HAS(str_text(&s), "mode:               copy or triad, by default triad\n");
	CHECK_HAS(str_text(&s), "size:               a size such as '16 GiB', at least 1 MiB, by "
				"default 1 GiB\n                      of the arrays\n");
	str_clear(&s);
	fields_help(collective_fields, 2, &s);
	CHECK_HAS(str_text(&s), "  ranks:              whole number, at least 2, needed\n");
	CHECK_HAS(str_text(&s), "  busbw:              map NAME: limit on a bandwidth\n");
}

TEST_MAIN(TEST(each_row_says_type_range_and_default))
