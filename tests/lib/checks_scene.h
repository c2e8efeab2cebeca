/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract with one check or one workload, a scratch folder and a recorded machine to read from.
 *
 *	char reason[300];
 *	CHECK_INT(run_one("hardware", "cpus: {count: \">= 1\"}", reason), RESULT_PASS);
 *
 * Files of the recorded machine are made with system_file() and lie below system_root().
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "checks/inner.h"

#include "test.h"

#define REASON 400

static volatile int scene_cancel;

struct scene {
	struct contract c;
	struct check_ctx ctx;
	char *work;
	struct outcome o; /* of run_scene() */
	struct rep r;     /* of rep_scene() */
};

static inline void scene_release(struct scene *s)
{
	contract_release(&s->c);
	outcome_release(&s->o);
	rep_release(&s->r);
	free(s->work);
}

#define SCENE(s) struct scene s CLEANUP(scene_release) = { 0 }

static const char scene_head[] = "twice: 1\n"
				 "workload: {name: w, kind: batch, unit: item}\n"
				 "stack: {python: /usr/bin/python3}\n";
static const char scene_command[] =
	"workload_check:\n"
	"  command: {argv: [\"true\"], extract: [{metric: n, exit: true, better: lower}]}\n"
	"  objectives: [n <= 1]\n";

/* The text after the head. */
static inline void scene(struct scene *s, const char *rest)
{
	struct problems bad CLEANUP(problems_release) = { 0 };
	AUTO_FREE char *text = xasprintf("%s%s", scene_head, rest);
	struct err err = ERR_INIT;

	*s = (struct scene){ 0 };
	if (contract_parse(sv_of(text), "t.yaml", checks_schemas(), &s->c, &bad, &err) < 0)
		test_fails(__FILE__, __LINE__, "%s", err.msg);
	s->work = path_join(test_dir(), "work");
	if (dir_exists(s->work))
		CHECK_OK(dir_remove(s->work, &err), err);
	CHECK_OK(dir_make(s->work, &err), err);
	s->ctx = (struct check_ctx){
		.contract = &s->c, .dir = test_dir(), .work = s->work, .cancel = &scene_cancel
	};
}

static inline void scene_check(struct scene *s, const char *layer, const char *settings,
			       const char *workload)
{
	AUTO_FREE char *rest = xasprintf("%s:\n  - %s\n%s", layer, settings, workload);

	scene(s, rest);
}

/* The contract's first check; its outcome is s->o. */
static inline enum result run_scene(struct scene *s)
{
	struct err err = ERR_INIT;

	CHECK_OK(check_run(&s->ctx, &s->c.checks.v[0], &s->o, &err), err);
	CHECK(s->o.result == RESULT_PASS || (s->o.reason && s->o.reason[0]));
	printf("# %s %s\n", result_name(s->o.result), s->o.reason ? s->o.reason : "");
	return s->o.result;
}

static inline enum rep_state rep_scene(struct scene *s)
{
	struct err err = ERR_INIT;

	CHECK_OK(workload_rep(&s->ctx, &s->r, &err), err);
	printf("# state %d %s\n", s->r.state, s->r.reason ? s->r.reason : "");
	CHECK(s->r.state == REP_OK || (s->r.reason && s->r.reason[0]));
	return s->r.state;
}

static inline char *system_root(void)
{
	return path_join(test_dir(), "root");
}

static inline enum result run_in(const char *root, const char *layer, const char *settings,
				 char *reason)
{
	SCENE(s);
	enum result r;

	scene_check(&s, layer, settings, scene_command);
	s.ctx.root = root;
	r = run_scene(&s);
	if (reason)
		(void)snprintf(reason, REASON, "%s", s.o.reason ? s.o.reason : "");
	return r;
}

static inline enum result run_one(const char *layer, const char *settings, char *reason)
{
	return run_in(NULL, layer, settings, reason);
}

static inline void test_file(const char *name, const char *text, unsigned mode)
{
	AUTO_FREE char *path = path_join(test_dir(), name);
	AUTO_FREE char *dir = path_dir(path);
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(dir, &err), err);
	CHECK_OK(file_write(path, text, strlen(text), mode, &err), err);
}

/* path begins with a slash: a file of the recorded machine. */
static inline void system_file(const char *path, const char *text)
{
	AUTO_FREE char *name = xasprintf("root%s", path);

	test_file(name, text, 0644);
}

static inline double measured(const struct measurements *l, const char *name)
{
	const struct measurement *m = measurements_find(l, name);

	return m ? m->value : NAN;
}

/* One that is not there fails the test. */
static inline const struct outcome *outcome_of(const struct rep *r, const char *check)
{
	for (size_t i = 0; i < r->outcomes.n; i++)
		if (streq(r->outcomes.v[i].check, check))
			return &r->outcomes.v[i];
	test_fails(__FILE__, __LINE__, "no outcome '%s'", check);
}

/* The bytes of an evidence file; caller frees. "" when there is none of that label. */
static inline char *evidence_text(const struct evidences *l, const char *label)
{
	struct err err = ERR_INIT;
	char *text = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].label, label)) {
			CHECK_OK(file_read(l->v[i].path, 64 * MIB, &text, NULL, &err), err);
			return text;
		}
	return xstrdup("");
}
