/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks, and what holds for all of them. */
#include "checks_scene.h"

static void the_table_is_sorted_and_complete(void)
{
	for (size_t i = 0; checks[i]; i++) {
		CHECK(checks[i]->run && checks[i]->schema.name && checks[i]->schema.layers);
		CHECK(i == 0 || strcmp(checks[i - 1]->schema.name, checks[i]->schema.name) < 0);
		CHECK(checks_schemas()[i] == &checks[i]->schema);
	}
}

static void an_outcome_says_who_and_how_long(void)
{
	SCENE(s);

	scene_check(&s, "hardware",
		    "cpus: {count: \">= 1\", name: all, owner: lab, required: false}",
		    scene_command);
	CHECK_INT(run_scene(&s), RESULT_PASS);
	CHECK_STR(s.o.check, "hardware/all");
	CHECK_STR(s.o.owner, "lab");
	CHECK(!s.o.required && s.o.took_ns > 0 && !s.o.reason);
	CHECK_INT(s.o.layer, LAYER_HARDWARE);
}

static void a_check_of_nobody_is_a_bug(void)
{
	static const struct check_schema stranger = { .name = "stranger" };
	struct contract_check k = { .schema = &stranger, .name = (char *)(uintptr_t) "stranger" };
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;
	SCENE(s);

	scene(&s, scene_command);
	CHECK_INT(check_run(&s.ctx, &k, &o, &err), -ERR_BUG);
	CHECK(o.check == NULL); /* touched only when it worked */
}

static void an_interruption_is_passed_on(void)
{
	struct err err = ERR_INIT;
	SCENE(s);

	scene_check(
		&s, "hardware",
		"command: {argv: [sleep, \"20\"], extract: [{metric: n, exit: true, better: lower, "
		"limit: \"= 0\"}]}",
		scene_command);
	scene_cancel = SIGINT;
	CHECK_INT(check_run(&s.ctx, &s.c.checks.v[0], &s.o, &err), -ERR_INTERRUPTED);
}

static void an_end_by_error_takes_its_words(void)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	struct err err = ERR_INIT;

	bail(&err, ERR_IO, "lost");
	CHECK_INT(ends_err(&o, RESULT_ERROR, &err), 0);
	CHECK_STR(o.reason, "lost");
	CHECK_INT(err.code, ERR_OK);
	bail(&err, ERR_INTERRUPTED, "stop");
	CHECK_INT(ends_err(&o, RESULT_ERROR, &err), -ERR_INTERRUPTED);
	CHECK_STR(o.reason, "lost");
}

static int without_a_number(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			    struct err *err)
{
	(void)ctx;
	(void)conf;
	(void)err;
	measurements_add(&o->measured, "x", UNIT_NONE, LOWER_IS_BETTER, NAN);
	o->result = RESULT_PASS;
	return 0;
}

static int without_a_word(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			  struct err *err)
{
	(void)ctx;
	(void)conf;
	(void)o;
	(void)err;
	return 0;
}

static int with_an_error(const struct check_ctx *ctx, const void *conf, struct outcome *o,
			 struct err *err)
{
	(void)ctx;
	(void)conf;
	(void)o;
	return bail(err, ERR_IO, "the disk is full");
}

static void no_number_no_word_and_errors_are_no_pass(void)
{
	static const struct {
		int (*run)(const struct check_ctx *, const void *, struct outcome *, struct err *);
		const char *reason;
	} t[] = { { without_a_number, "x has no number" },
		  { without_a_word, "did not say how it ended" },
		  { with_an_error, "the disk is full" } };

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct outcome o CLEANUP(outcome_release) = { 0 };
		struct err err = ERR_INIT;
		SCENE(s);
		struct check c = { .schema = { .name = "x" }, .run = t[i].run };

		scene_check(&s, "hardware", "cpus: {count: \">= 1\"}", scene_command);
		CHECK_OK(check_run_as(&s.ctx, &c, &s.c.checks.v[0], &o, &err), err);
		CHECK_INT(o.result, RESULT_ERROR);
		CHECK_HAS(o.reason, t[i].reason);
	}
}

static void reasons_are_one_clean_line(void)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };

	ends(&o, RESULT_FAIL, "a\nb \x1b[31m %s", "c");
	CHECK(!strchr(o.reason, '\n') && !strchr(o.reason, '\x1b'));
	CHECK_HAS(o.reason, "c");
}

TEST_MAIN(TEST(a_check_of_nobody_is_a_bug), TEST(an_interruption_is_passed_on),
	  TEST(an_end_by_error_takes_its_words), TEST(the_table_is_sorted_and_complete),
	  TEST(an_outcome_says_who_and_how_long), TEST(no_number_no_word_and_errors_are_no_pass),
	  TEST(reasons_are_one_clean_line))
