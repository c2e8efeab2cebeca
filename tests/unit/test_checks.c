/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks and what holds for all of them; each check has its own test. */
#include "checks_scene.h"

static void the_table_is_sorted_and_explains_itself(void)
{
	size_t n = 0;

	for (; checks[n]; n++) {
		const struct check_schema *s = &checks[n]->schema;

		printf("# %s\n", s->name);
		CHECK(!n || strcmp(checks[n - 1]->schema.name, s->name) < 0);
		CHECK(s->layers && s->help && s->help[0] && checks[n]->run);
		CHECK(checks_schemas()[n] == s);
	}
	CHECK(n >= 10 && checks_schemas()[n] == NULL);
}

static void a_check_of_nobody_is_a_bug(void)
{
	static const struct check_schema stranger = { .name = "stranger" };
	struct contract_check k = { .schema = &stranger, .name = "stranger" };
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(&s, "", scene_command);
	CHECK_INT(check_run(&s.ctx, &k, &o, &err), -ERR_BUG);
	CHECK(o.check == NULL); /* touched only when it worked */
	scene_release(&s);
}

static void an_outcome_says_whose_it_is(void)
{
	struct outcome o CLEANUP(outcome_release) = scene_check(
		"hardware", "cpus: {name: both, owner: ops, count: \">= 100000\", required: false}",
		scene_command);

	CHECK_STR(o.check, "hardware/both");
	CHECK_STR(o.owner, "ops");
	CHECK(!o.required && o.layer == LAYER_HARDWARE && o.took_ns > 0);
}

static void an_interruption_is_passed_on(void)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	struct scene s CLEANUP(scene_release) = { 0 };

	scene_init(
		&s,
		"hardware:\n  - command: {argv: [sleep, \"20\"], extract: [{metric: n, exit: true, "
		"better: lower, limit: \"= 0\"}]}\n",
		scene_command);
	scene_cancel = SIGINT;
	CHECK_INT(check_run(&s.ctx, &s.c.checks.v[0], &o, &err), -ERR_INTERRUPTED);
	scene_release(&s);
}

TEST_MAIN(TEST(the_table_is_sorted_and_explains_itself), TEST(a_check_of_nobody_is_a_bug),
	  TEST(an_outcome_says_whose_it_is), TEST(an_interruption_is_passed_on))
