/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

#define NOW 1000000

static void the_newest_in_force_counts(void)
{
	struct acceptance v[] = {
		{ .seq = 9, .standing = LEDGER_PENDING },
		{ .seq = 8, .standing = LEDGER_IN_FORCE, .expires_ms = NOW },
		{ .seq = 7, .standing = LEDGER_IN_FORCE, .expires_ms = NOW + 1 },
		{ .seq = 6, .standing = LEDGER_IN_FORCE },
	};
	struct acceptances l = { v, 4, 4 }, none = { 0 };

	CHECK_INT(acceptance_current(&l, NOW)->seq, 7);
	CHECK_INT(acceptance_current(&l, NOW + 1)->seq, 6);
	CHECK_INT(acceptance_current(&l, NOW - 1)->seq, 8);
	CHECK(acceptance_current(&none, NOW) == NULL);
}

static struct stack stack_of(const char *blas, const char *kernel, bool extra)
{
	struct stack s = { 0 };

	(void)stack_add(&s, CL_HOST, "kernel", kernel, "uname");
	(void)stack_add(&s, CL_KERNELLIB, "openblas", blas, "maps");
	if (extra)
		(void)stack_add(&s, CL_MODEL, "model", "7", "file");
	stack_sort(&s);
	return s;
}

static struct staleness standing(struct stack before, struct stack now, const char *contract,
				 int64_t expires_ms)
{
	struct acceptance a = { .expires_ms = expires_ms };
	struct staleness st = { 0 };
	struct ledger_ref run;
	AUTO_FREE char *more = NULL;
	struct err err = ERR_INIT;
	struct run_scene s;
	char leaf[65];

	run_scene_init(&s);
	CHECK_OK(run_put_stack(&s.env, &before, leaf, &err), err);
	stack_release(&before);
	more = xasprintf(",\"stack\":{\"digest\":\"%s\"}", leaf);
	run = run_begin(&s, "x", more);
	memcpy(a.intent, run.hex, 65);
	snprintf(a.contract_digest, 65, "%s", contract ? contract : s.c.digest);
	CHECK_OK(run_staleness(s.l, &s.c, &a, NOW, &now, &st, &err), err);
	CHECK_INT(now.n, 0); /* taken over */
	run_scene_release(&s);
	test_remove_dir(test_dir());
	CHECK_INT(mkdir(test_dir(), 0700), 0);
	return st;
}

#define ALL ((1u << LAYER_N) - 1)

static void what_changed_decides(void)
{
	struct staleness same CLEANUP(staleness_release) = standing(
		stack_of("0.3.21", "6.1", false), stack_of("0.3.21", "6.1", false), NULL, 0);
	struct staleness lib CLEANUP(staleness_release) = standing(
		stack_of("0.3.21", "6.1", false), stack_of("0.3.26", "6.1", false), NULL, 0);
	struct staleness gone CLEANUP(staleness_release) = standing(
		stack_of("0.3.21", "6.1", true), stack_of("0.3.21", "6.1", false), NULL, 0);

	CHECK_INT(same.standing, STANDING_ACCEPTED);
	CHECK_INT(same.reasons.n, 0);
	CHECK_INT(lib.standing, STANDING_STALE);
	CHECK_STR(lib.reasons.v[0], "kernellib openblas 0.3.21 -> 0.3.26");
	CHECK_INT(lib.layers, check_layers_touched(CL_KERNELLIB));
	CHECK_INT(gone.standing, STANDING_STALE);
}

static void what_cannot_be_read_is_not_the_same(void)
{
	struct staleness now CLEANUP(staleness_release) =
		standing(stack_of("0.3.21", "6.1", false), stack_of(NULL, "6.1", false), NULL, 0);
	struct staleness both CLEANUP(staleness_release) =
		standing(stack_of(NULL, "6.1", false), stack_of(NULL, "6.1", false), NULL, 0);
	struct staleness then CLEANUP(staleness_release) =
		standing(stack_of(NULL, "6.1", false), stack_of("0.3.21", "6.1", false), NULL, 0);
	struct staleness worse CLEANUP(staleness_release) =
		standing(stack_of("0.3.21", "6.1", false), stack_of(NULL, "6.2", false), NULL, 0);

	CHECK_INT(now.standing, STANDING_UNKNOWN);
	CHECK_INT(both.standing, STANDING_ACCEPTED); /* accepted with the same gap */
	CHECK_INT(then.standing, STANDING_STALE);
	CHECK_INT(worse.standing, STANDING_STALE);
}

static void a_contract_or_a_date_makes_it_stale_too(void)
{
	struct staleness c CLEANUP(staleness_release) =
		standing(stack_of("1", "6.1", false), stack_of("1", "6.1", false), "another", 0);
	struct staleness e CLEANUP(staleness_release) =
		standing(stack_of("1", "6.1", false), stack_of("1", "6.1", false), NULL, NOW);
	struct staleness f CLEANUP(staleness_release) =
		standing(stack_of("1", "6.1", false), stack_of("1", "6.1", false), NULL, NOW + 1);

	CHECK_INT(c.standing, STANDING_STALE);
	CHECK(c.contract_changed);
	CHECK_INT(c.layers, ALL);
	CHECK_INT(e.standing, STANDING_EXPIRED);
	CHECK_INT(e.layers, ALL);
	CHECK_INT(f.standing, STANDING_ACCEPTED);
}

static void never_accepted_needs_everything(void)
{
	struct staleness st CLEANUP(staleness_release) = { 0 };
	struct stack now = stack_of("1", "6.1", false);
	struct contract c = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(run_staleness(NULL, &c, NULL, NOW, &now, &st, &err), err);
	CHECK_INT(st.standing, STANDING_NEVER);
	CHECK_INT(st.layers, ALL);
	CHECK_STR(standing_name(st.standing), "never accepted");
}

TEST_MAIN(TEST(the_newest_in_force_counts), TEST(what_changed_decides),
	  TEST(what_cannot_be_read_is_not_the_same), TEST(a_contract_or_a_date_makes_it_stale_too),
	  TEST(never_accepted_needs_everything))
