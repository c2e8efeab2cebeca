/* SPDX-License-Identifier: Apache-2.0 */
/* Back to the accepted stack by the contract's switches, and proof by running again. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/running.h"

struct rollback_conf {
	bool dry_run, no_run;
};

static const struct opt rollback_opts[] = {
	OPT(rollback_conf, dry_run, .name = "dry-run", .type = OPT_FLAG,
	    .help = "only show what would be switched"),
	OPT(rollback_conf, no_run, .name = "no-run", .type = OPT_FLAG,
	    .help = "switch and check the stack, but don't prove it by a run"),
	{ 0 },
};

static int capture(struct cli *cli, struct stack *ret, struct err *err)
{
	struct run_capture rc = { .contract = &cli->contract,
				  .dir = cli->dir,
				  .tool_version = TWICE_VERSION,
				  .tool_digest = cli_self_digest(cli),
				  .cancel = &cli_cancel };

	return run_stack(&rc, ret, err);
}

static int plan(struct cli *cli, const struct acceptance *a, struct switch_plan *p, struct err *err)
{
	struct staleness s CLEANUP(staleness_release) = { 0 };
	struct stack now CLEANUP(stack_release) = { 0 };

	TRY(capture(cli, &now, err));
	TRY(run_staleness(cli->ledger, &cli->contract, a, clock_wall_ms(), &now, &s, err));
	return run_switch_plan(cli->ledger, &cli->contract, cli->dir, a, &s, p, err);
}

static json_t *steps_json(const struct switch_plan *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "component", p->v[i].component);
		json_put_str(o, "from", p->v[i].from);
		json_put_str(o, "to", p->v[i].to);
		json_put_bool(o, "needed", p->v[i].needed);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static json_t *texts(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

/* What still differs once everything was switched; the stack's own word, not the commands'. */
static int still_different(struct cli *cli, const struct acceptance *a, json_t *v, bool *ret,
			   struct err *err)
{
	struct staleness s CLEANUP(staleness_release) = { 0 };
	struct stack now CLEANUP(stack_release) = { 0 };

	TRY(capture(cli, &now, err));
	TRY(run_staleness(cli->ledger, &cli->contract, a, clock_wall_ms(), &now, &s, err));
	json_put_str(v, "state", standing_name(s.standing));
	json_put(v, "still_different", texts(&s.reasons));
	*ret = s.standing != STANDING_ACCEPTED;
	return 0;
}

static int record(struct cli *cli, const struct acceptance *a, const struct switch_plan *p,
		  bool back, int64_t took_ns, struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	struct ledger_new e = { .kind = "drill",
				.body = body,
				.by_id = cli->who,
				.role = "machine",
				.at_ms = clock_wall_ms() };
	struct ledger_ref ref;

	json_put_str(body, "what", "rollback");
	json_put_str(body, "workload", cli->contract.workload.name);
	json_put(body, "accepted", json_pack("{s:s}", "digest", a->signoff));
	json_put(body, "steps", steps_json(p));
	json_put_bool(body, "done", back);
	json_put_str(body, "result",
		     back ? "the accepted stack is in place" : "the stack still differs");
	json_put_int(body, "took_ns", took_ns);
	return ledger_append(cli->ledger, &e, &ref, err);
}

static int prove(struct cli *cli, json_t *v, struct err *err)
{
	struct run_done done CLEANUP(run_done_release) = { 0 };
	struct run_env env = { 0 };
	json_t *o = json_object();

	json_put(v, "proof", o);
	TRY(running_contract(cli, &env, &done, err));
	running_value(&done, o);
	return running_exit(&done);
}

static int rollback_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct rollback_conf *c = conf;
	struct acceptances l CLEANUP(acceptances_release) = { 0 };
	struct switch_plan p CLEANUP(switch_plan_release) = { 0 };
	const struct acceptance *a;
	int64_t start = clock_ns();
	bool differs;

	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &l, err));
	a = acceptance_current(&l, clock_wall_ms());
	if (!a) {
		bail(err, ERR_UNSUPPORTED, "'%s' has no accepted run to go back to",
		     cli->contract.workload.name);
		return -ERR_UNSUPPORTED;
	}
	TRY(plan(cli, a, &p, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "accepted_run", a->run);
	json_put(v, "steps", steps_json(&p));
	json_put(v, "moves_along", texts(&p.along));
	json_put(v, "no_switch_for", texts(&p.missing));
	json_put_bool(v, "dry_run", c->dry_run);
	if (c->dry_run)
		return p.missing.n ? 1 : 0;
	for (size_t i = 0; i < p.n; i++) {
		if (!p.v[i].needed)
			continue;
		cli_note(cli, "switching %s: %s -> %s", p.v[i].component,
			 p.v[i].from ? p.v[i].from : "?", p.v[i].to);
		TRY(run_switch(&cli->contract, cli->dir, &p.v[i], &cli_cancel, err));
	}
	TRY(still_different(cli, a, v, &differs, err));
	TRY(record(cli, a, &p, !differs, clock_ns() - start, err));
	json_put_int(v, "took_ns", clock_ns() - start);
	if (differs)
		return 1;
	return c->no_run ? 0 : prove(cli, v, err);
}

static void rollback_text(const json_t *v, struct str *out)
{
	const json_t *steps = json_object_get(v, "steps"),
		     *along = json_object_get(v, "moves_along"),
		     *missing = json_object_get(v, "no_switch_for");
	const json_t *still = json_object_get(v, "still_different"),
		     *proof = json_object_get(v, "proof");

	str_addf(out, "%s: back to accepted run %s\n", json_str_or(v, "workload", ""),
		 json_str_or(v, "accepted_run", ""));
	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *s = json_array_get(steps, i);

		if (json_bool_or(s, "needed", false))
			str_addf(out, "  %s %s: %s -> %s\n",
				 json_bool_or(v, "dry_run", false) ? "would switch" : "switched",
				 json_str_or(s, "component", ""), json_str_or(s, "from", "?"),
				 json_str_or(s, "to", ""));
	}
	for (size_t i = 0; i < json_array_size(along); i++)
		str_addf(out, "  along with it: %s\n", json_string_value(json_array_get(along, i)));
	for (size_t i = 0; i < json_array_size(missing); i++)
		str_addf(out, "  no switch for: %s\n",
			 json_string_value(json_array_get(missing, i)));
	for (size_t i = 0; i < json_array_size(still); i++)
		str_addf(out, "  still different: %s\n",
			 json_string_value(json_array_get(still, i)));
	if (json_str_or(v, "state", NULL))
		str_addf(out, "  the stack is now: %s\n", json_str_or(v, "state", ""));
	if (proof) {
		str_add(out, "proved by a run:\n");
		running_text(proof, out);
	}
}

const struct cmd cmd_rollback = {
	.name = "rollback",
	.group = GROUP_RECOVER,
	.help = "restore the accepted stack and prove it by running again",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED | CMD_LEDGER_WRITE,
	.opts = rollback_opts,
	.conf_size = sizeof(struct rollback_conf),
	.run = rollback_run,
	.text = rollback_text,
};
