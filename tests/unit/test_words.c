/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "test.h"

static void every_word_reads_back(void)
{
	for (int i = 0; i < CL_N; i++) {
		enum component_layer l = CL_N;

		CHECK(component_layer_parse(sv_of(component_layer_name((enum component_layer)i)),
					    &l));
		CHECK_INT(l, i);
		CHECK(strlen(component_layer_owner(l)) > 3);
		CHECK(check_layers_touched(l) & (1u << LAYER_WORKLOAD));
	}
	for (int i = 0; i < LAYER_N; i++) {
		enum check_layer l = LAYER_N;

		CHECK(check_layer_parse(sv_of(check_layer_name((enum check_layer)i)), &l));
		CHECK_INT(l, i);
	}
	for (int i = 0; i < RESULT_N; i++) {
		enum result r = RESULT_N;

		CHECK(result_parse(sv_of(result_name((enum result)i)), &r));
		CHECK_INT(r, i);
	}
	for (int i = 0; i < VERDICT_N; i++) {
		enum verdict_kind v = VERDICT_N;

		CHECK(verdict_parse(sv_of(verdict_code((enum verdict_kind)i)), &v));
		CHECK_INT(v, i);
	}
}

static void only_accepted_exits_with_zero(void)
{
	CHECK_INT(verdict_exit_code(VERDICT_ACCEPTED), 0);
	CHECK_INT(verdict_exit_code(VERDICT_ACCEPTED_NOTE), 0);
	CHECK_INT(verdict_exit_code(VERDICT_REJECTED), 1);
	CHECK_INT(verdict_exit_code(VERDICT_INCONCLUSIVE), 2);
	CHECK_INT(verdict_exit_code(VERDICT_NO_RESULT), 2);
	CHECK_INT(verdict_exit_code(VERDICT_BASELINE_VOID), 2);
	CHECK_INT(verdict_exit_code(VERDICT_N), 2);
}

TEST_MAIN(TEST(every_word_reads_back), TEST(only_accepted_exits_with_zero))
