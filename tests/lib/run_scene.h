/* SPDX-License-Identifier: Apache-2.0 */
/* Runs written into a ledger by hand: for tests of what is read from them. */
#pragma once

#include "ledger_scene.h"

#include "checks/checks.h"
#include "run/internal.h"

static const char run_scene_contract[] = "twice: 1\n"
					 "workload: {name: w, kind: batch, unit: item}\n"
					 "stack:\n"
					 "  switch:\n"
					 "    kernel: {set: [sh, \"{dir}/switch.sh\", set, "
					 "\"{version}\"], get: [sh, \"{dir}/switch.sh\", get]}\n"
					 "workload_check:\n"
					 "  command: {argv: [echo, speed 5], extract: [{metric: "
					 "speed, pattern: 'speed (?<value>[0-9.]+)', "
					 "unit: tokens/s, better: higher}]}\n"
					 "  objectives: [speed >= 10 tokens/s]\n"
					 "compare: {speed: 5 %}\n";

struct run_scene {
	struct ledger *l;
	struct contract c;
	struct run_env env;
	char stack[65]; /* digest of the stack that run_begin() names; "" first: 64 a's */
};

static inline void run_scene_parse(struct contract *c, const char *text)
{
	struct err err = ERR_INIT;

	CHECK_OK(contract_parse(sv_of(text), "t.yaml", checks_schemas(), c, NULL, &err), err);
}

static inline void run_scene_init(struct run_scene *s)
{
	*s = (struct run_scene){ .l = scene_open(scene_path("ledger")) };
	run_scene_parse(&s->c, run_scene_contract);
	s->env = (struct run_env){ .contract = &s->c,
				   .contract_text = run_scene_contract,
				   .dir = test_dir(),
				   .ledger = s->l,
				   .machine = SCENE_BY,
				   .tool_version = "1",
				   .tool_digest = "" };
	memset(s->stack, 'a', 64);
}

static inline void run_scene_release(struct run_scene *s)
{
	contract_release(&s->c);
	ledger_close(s->l);
}

/* A run is announced; more: further members, with a comma in front. */
static inline struct ledger_ref run_begin(struct run_scene *s, const char *run, const char *more)
{
	return scene_add(s->l, "run.intent",
			 "{\"scope\":\"run\",\"run\":\"%s\",\"workload\":\"w\",\"contract\":{"
			 "\"digest\":\"%s\"},"
			 "\"stack_digest\":\"%s\",\"pid\":1%s}",
			 run, s->c.digest, s->stack, more);
}

static inline struct ledger_ref run_rep_begin(struct run_scene *s, const struct ledger_ref *run,
					      int index)
{
	return scene_add(s->l, "run.intent",
			 "{\"scope\":\"rep\",\"run\":\"r\",\"rep\":%d,\"of\":{\"digest\":\"%s\"}}",
			 index, run->hex);
}

static inline struct ledger_ref run_rep_end(struct run_scene *s, const struct ledger_ref *intent,
					    double speed, enum rep_state state)
{
	struct rep r CLEANUP(rep_release) = { .state = state,
					      .start_digest = xstrdup(intent->hex),
					      .session = xstrdup("s") };
	AUTO_FREE char *text = NULL;
	json_t *j;

	if (state != REP_OK)
		r.reason = xstrdup("it failed");
	(void)measurements_add(&r.measured, "speed", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER, speed);
	j = rep_to_json(&r);
	json_put_str(j, "scope", "rep");
	json_put_str(j, "run", "r");
	json_put(j, "intent", run_ref(intent->hex));
	text = json_text(j, false);
	json_decref(j);
	return scene_add(s->l, "run.result", "%s", text);
}

static inline void run_rep(struct run_scene *s, const struct ledger_ref *run, double speed)
{
	struct ledger_ref i = run_rep_begin(s, run, 0);

	(void)run_rep_end(s, &i, speed, REP_OK);
}

static inline void run_abandoned(struct run_scene *s, const struct ledger_ref *intent)
{
	(void)scene_add(s->l, "run.abandon",
			"{\"run\":\"r\",\"intent\":{\"digest\":\"%s\"},\"reason\":\"interrupted\"}",
			intent->hex);
}

static inline void run_end(struct run_scene *s, const struct ledger_ref *run)
{
	(void)scene_add(s->l, "run.result",
			"{\"scope\":\"run\",\"run\":\"r\",\"intent\":{\"digest\":\"%s\"},\"state\":"
			"\"finished\"}",
			run->hex);
}

/* A verdict that rests on this run alone. */
static inline struct ledger_ref run_verdict(struct run_scene *s, const struct ledger_ref *run,
					    const char *code)
{
	return scene_add(s->l, "verdict",
			 "{\"run\":\"r\",\"workload\":\"w\",\"intent\":{\"digest\":\"%s\"},"
			 "\"contract\":{\"digest\":\"%s\"},\"stack_digest\":\"%s\","
			 "\"series\":[{\"digest\":\"%s\"}],\"decision\":{\"verdict\":\"%s\"}}",
			 run->hex, s->c.digest, s->stack, run->hex, code);
}

static inline uint64_t run_scene_size(struct run_scene *s)
{
	struct err err = ERR_INIT;
	uint64_t n;

	CHECK_OK(ledger_size(s->l, &n, NULL, &err), err);
	return n;
}
