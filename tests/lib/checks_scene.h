/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for tests: a contract around one of them, run in the test's own folder. */
#pragma once

#include "checks/checks.h"

#include "base/err.h"
#include "base/file.h"

#include "test.h"

static volatile int scene_cancel;

struct scene {
	struct contract c;
	struct check_ctx ctx;
	char *work;
};

static const char scene_head[] = "twice: 1\n"
				 "workload: {name: w, kind: batch, unit: item}\n"
				 "stack: {python: /usr/bin/python3}\n";
static const char scene_command[] =
	"workload_check:\n"
	"  command: {argv: [\"true\"], extract: [{metric: n, exit: true, better: lower}]}\n"
	"  objectives: [n <= 1]\n";

static inline void scene_init(struct scene *s, const char *middle, const char *tail)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	AUTO_FREE char *text = xasprintf("%s%s%s", scene_head, middle, tail);
	struct err err = ERR_INIT;

	*s = (struct scene){ 0 };
	if (contract_parse(sv_of(text), "t.yaml", checks_schemas(), &s->c, &bad, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s", err.msg);
	s->work = path_join(test_dir(), "work");
	CHECK_OK(dir_make(s->work, &err), err);
	s->ctx = (struct check_ctx){
		.contract = &s->c, .dir = test_dir(), .work = s->work, .cancel = &scene_cancel
	};
}

static inline void scene_release(struct scene *s)
{
	contract_release(&s->c);
	free(s->work);
	*s = (struct scene){ 0 };
}

/* One check, alone; its folder is emptied for the next one. */
static inline struct outcome scene_check(const char *layer, const char *settings, const char *tail)
{
	AUTO_FREE char *middle = xasprintf("%s:\n  - %s\n", layer, settings);
	struct outcome o = { 0 };
	struct err err = ERR_INIT;
	struct scene s;

	printf("# %s: %s\n", layer, settings);
	scene_init(&s, middle, tail);
	CHECK_OK(check_run(&s.ctx, &s.c.checks.v[0], &o, &err), err);
	printf("# %s %s\n", result_name(o.result), o.reason ? o.reason : "");
	/* Whatever it is but PASS, it says why; a PASS has nothing to explain. */
	CHECK((o.result == RESULT_PASS) == (o.reason == NULL));
	CHECK(o.result == RESULT_PASS || o.reason[0]);
	CHECK_OK(dir_remove(s.work, &err), err);
	scene_release(&s);
	return o;
}

static inline enum result run_one(const char *layer, const char *settings, char *reason, size_t n)
{
	struct outcome o CLEANUP(outcome_release) = scene_check(layer, settings, scene_command);

	if (reason)
		snprintf(reason, n, "%s", o.reason ? o.reason : "");
	return o.result;
}

static inline double scene_number(const struct measurements *l, const char *name)
{
	const struct measurement *m = measurements_find(l, name);

	return m ? m->value : NAN;
}

static inline void scene_file(const char *name, const char *text)
{
	AUTO_FREE char *path = path_join(test_dir(), name);
	struct err err = ERR_INIT;

	CHECK_OK(file_write(path, text, strlen(text), 0755, &err), err);
}
