/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

static const char script[] = "cd \"$(dirname \"$0\")\"\ncase $1 in\nset) echo \"$2\" > word "
			     ";;\nget) cat word ;;\nesac\n";

static void put(const char *name, const char *text)
{
	struct err err = ERR_INIT;

	CHECK_OK(file_write(scene_path(name), text, strlen(text), 0700, &err), err);
}

/* The plan from what is here now back to a run that had the word 100 in place. */
static struct switch_plan plan_of(struct run_scene *s, const char *switches, struct staleness *st)
{
	AUTO_FREE char *more = xasprintf(",\"switches\":%s", switches);
	struct ledger_ref run = run_begin(s, "x", more);
	struct acceptance a = { 0 };
	struct switch_plan p = { 0 };
	struct err err = ERR_INIT;

	memcpy(a.intent, run.hex, 65);
	CHECK_OK(run_switch_plan(s->l, &s->c, test_dir(), &a, st, &p, &err), err);
	return p;
}

static void changes(struct staleness *st, const char *name)
{
	(void)stack_add(&st->before, CL_KERNELLIB, name, "1", "x");
	(void)stack_add(&st->now, CL_KERNELLIB, name, "2", "x");
	stack_diff(&st->before, &st->now, &st->changes);
}

static void what_a_switch_covers_goes_back(void)
{
	struct staleness st CLEANUP(staleness_release) = { 0 };
	struct switch_plan p CLEANUP(switch_plan_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *now = NULL;
	struct run_scene s;

	run_scene_init(&s);
	put("switch.sh", script);
	put("word", "50\n");
	changes(&st, "kernel");
	p = plan_of(&s, "[{\"name\":\"kernel\",\"value\":\"100\"}]", &st);
	CHECK_INT(p.n, 1);
	CHECK_STR(p.v[0].from, "50");
	CHECK_STR(p.v[0].to, "100");
	CHECK(p.v[0].needed && p.missing.n == 0);
	CHECK_OK(run_switch(&s.c, test_dir(), &p.v[0], NULL, &err), err);
	CHECK_OK(run_switch_get(&s.c, test_dir(), &s.c.stack.switches.v[0], &now, &err), err);
	CHECK_STR(now, "100");
	run_scene_release(&s);
}

static void what_no_switch_covers_is_named(void)
{
	struct staleness st CLEANUP(staleness_release) = { 0 };
	struct switch_plan none CLEANUP(switch_plan_release) = { 0 };
	struct switch_plan there CLEANUP(switch_plan_release) = { 0 };
	struct run_scene s;

	run_scene_init(&s);
	put("switch.sh", script);
	put("word", "100\n");
	changes(&st, "kernel");
	none = plan_of(&s, "[]", &st);
	CHECK_INT(none.n, 0);
	CHECK_STR(none.missing.v[0], "kernellib kernel 1 -> 2");
	/* The word is the accepted one already, and yet it differs: the switch can't help. */
	there = plan_of(&s, "[{\"name\":\"kernel\",\"value\":\"100\"}]", &st);
	CHECK(!there.v[0].needed);
	CHECK_INT(there.missing.n, 1);
	run_scene_release(&s);
}

static void change(struct staleness *st, enum component_layer layer, const char *name,
		   const char *before, const char *now)
{
	(void)stack_add(&st->before, layer, name, before, "x");
	(void)stack_add(&st->now, layer, name, now, "x");
}

/* OpenBLAS brings LAPACK; BLIS does not, so that of the reference is there beside it. */
static void what_came_from_the_same_package_goes_back_along(void)
{
	struct staleness st CLEANUP(staleness_release) = { 0 };
	struct switch_plan p CLEANUP(switch_plan_release) = { 0 };
	struct run_scene s;

	run_scene_init(&s);
	put("switch.sh", script);
	put("word", "50\n");
	change(&st, CL_KERNELLIB, "kernel", "openblas 1", "blis 9");
	change(&st, CL_KERNELLIB, "lapack", "openblas 1", "reference 3");
	change(&st, CL_KERNELLIB, "openmp", "14", "15");
	change(&st, CL_FRAMEWORK, "numpy", "openblas 1", "2"); /* another layer: no package of it */
	stack_diff(&st.before, &st.now, &st.changes);
	p = plan_of(&s, "[{\"name\":\"kernel\",\"value\":\"100\"}]", &st);
	CHECK_INT(p.along.n, 1);
	CHECK_STR(p.along.v[0], "kernellib lapack openblas 1 -> reference 3");
	CHECK_INT(p.missing.n, 2);
	CHECK_STR(p.missing.v[0], "kernellib openmp 14 -> 15");
	switch_plan_release(&p);
	/* Nothing is switched, so nothing goes along. */
	put("word", "100\n");
	p = plan_of(&s, "[{\"name\":\"kernel\",\"value\":\"100\"}]", &st);
	CHECK_INT(p.along.n, 0);
	CHECK_INT(p.missing.n, 4);
	run_scene_release(&s);
}

static void a_switch_that_does_not_do_it_is_an_error(void)
{
	static const struct {
		const char *script, *want;
	} t[] = {
		{ "exit 4\n", "switching 'kernel' to '100': 'sh' ended with exit 4" },
		{ "echo no room >&2; exit 4\n", "no room" },
		{ "echo API_TOKEN=abcdefgh12345678 >&2; exit 4\n", "API_TOKEN=[redacted]" },
		{ "echo 7\n", "'kernel' says '7' after it was set to '100'" },
		{ "exit 0\n", "printed nothing" },
	};
	char word[] = "100";
	struct switch_step step = { .component = "kernel", .to = word };
	struct switch_step other = { .component = "other", .to = word };
	struct err err = ERR_INIT;
	struct run_scene s;

	run_scene_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		put("switch.sh", t[i].script);
		CHECK_INT(run_switch(&s.c, test_dir(), &step, NULL, &err), -ERR_BROKEN);
		CHECK_HAS(err.msg, t[i].want);
	}
	CHECK_INT(run_switch(&s.c, test_dir(), &other, NULL, &err), -ERR_NOT_FOUND);
	run_scene_release(&s);
}

TEST_MAIN(TEST(what_a_switch_covers_goes_back), TEST(what_no_switch_covers_is_named),
	  TEST(what_came_from_the_same_package_goes_back_along),
	  TEST(a_switch_that_does_not_do_it_is_an_error))
