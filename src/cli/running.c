/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/running.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/text.h"
#include <unistd.h>

static void on_progress(void *arg, const struct run_progress *p)
{
	struct cli *cli = arg;
	AUTO_FREE char *left = p->left_ns >= 0 ? duration_text(p->left_ns) : NULL;
	AUTO_FREE char *live = text_clean(sv_of(p->live));

	cli_progress(cli, false, "%s: %s%s%s%s%s", check_layer_name(p->layer), p->what,
		     live[0] ? " | " : "", live, left ? " | left " : "", left ? left : "");
}

void running_clear_line(struct cli *cli)
{
	cli_progress_clear(cli);
}

static void on_outcome(void *arg, const struct outcome *o)
{
	struct cli *cli = arg;
	AUTO_FREE char *took = duration_text(o->took_ns);
	AUTO_FREE char *reason = text_clean(sv_of(o->reason ? o->reason : ""));

	running_clear_line(cli);
	cli_note(cli, "%-8s %s (%s)%s%s", result_name(o->result), o->check, took,
		 reason[0] ? ": " : "", reason);
}

static void on_rep(void *arg, const struct rep *r, const char *arm)
{
	static const char *const states[] = { "ok", "FAILED", "left out" };
	struct cli *cli = arg;
	struct str s CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < cli->contract.workload_check.objectives.n; i++) {
		const struct measurement *m = measurements_find(
			&r->measured, cli->contract.workload_check.objectives.v[i].metric);

		if (m) {
			AUTO_FREE char *t = quantity_text(m->value, m->unit);

			str_addf(&s, "%s%s %s", s.n ? ", " : "", m->name, t);
		}
	}
	running_clear_line(cli);
	cli_note(cli, "%-8s %s%srepetition %d: %s%s%s", states[r->state], arm ? arm : "",
		 arm ? " " : "", r->index + 1, r->reason ? r->reason : "",
		 r->reason && s.n ? "; " : "", str_text(&s));
}

static void on_note(void *arg, const char *text)
{
	AUTO_FREE char *line = xstrdup(text);
	struct sv rest = sv_of(line), part;

	running_clear_line(arg);
	while (sv_line(&rest, &part))
		cli_note(arg, "         " SV_FMT, SV_ARG(part));
}

void running_env(struct cli *cli, struct run_env *env)
{
	env->contract = &cli->contract;
	env->contract_text = cli->contract_text;
	env->dir = cli->dir;
	env->ledger = cli->ledger;
	env->machine = cli->machine;
	env->run_by = cli->who;
	env->tool_version = TWICE_VERSION;
	env->tool_digest = cli_self_digest(cli);
	env->cancel = &cli_cancel;
	env->progress = on_progress;
	env->outcome = on_outcome;
	env->rep = on_rep;
	env->note = on_note;
	env->arg = cli;
}

int running_contract(struct cli *cli, struct run_env *env, struct run_done *ret, struct err *err)
{
	running_env(cli, env);
	TRY(run_contract(env, ret, err));
	running_clear_line(cli);
	return 0;
}

void running_value(const struct run_done *done, json_t *v)
{
	json_put_str(v, "run", done->run);
	json_put_str(v, "intent", done->intent);
	json_put_str(v, "stack_digest", done->stack_digest);
	json_put_bool(v, "interrupted", done->interrupted);
	json_put_bool(v, "already_decided", done->nothing_to_do);
	if (!done->verdict)
		return;
	json_put_str(v, "verdict", verdict_code(done->kind));
	json_put_str(v, "verdict_entry", done->verdict_leaf);
	json_put(v, "body", json_incref(done->verdict));
}

int running_exit(const struct run_done *done)
{
	return done->verdict ? verdict_exit_code(done->kind) : 2;
}

void running_text(const json_t *v, struct str *out)
{
	const char *code = json_str_or(v, "verdict", NULL);

	if (!code) {
		str_addf(out,
			 "run %s was interrupted; what it measured is kept, 'twice run' goes on\n",
			 json_str_or(v, "run", ""));
		return;
	}
	text_verdict(json_object_get(v, "body"), /* long_form= */ true, out);
	if (json_bool_or(v, "already_decided", false) &&
	    json_object_get(json_object_get(v, "body"), "reps"))
		str_add(out, "  no repetition was made: the series had its answer already\n");
	if (streq(code, "accepted") || streq(code, "accepted_with_note"))
		str_addf(out, "\n  sign it with: twice accept %s\n", json_str_or(v, "run", ""));
	else if (streq(code, "rejected"))
		str_add(out, "\n  more: twice why; go back: twice rollback\n");
}
