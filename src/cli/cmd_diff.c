/* SPDX-License-Identifier: Apache-2.0 */
/* Two stacks: of runs, or the accepted one and what is here now. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/find.h"
#include "run/run.h"

struct diff_conf {
	bool all;
};

static const struct opt diff_opts[] = {
	OPT(diff_conf, all, .name = "all", .type = OPT_FLAG, .help = "cosmetic changes too"),
	{ 0 },
};

static int stack_of(struct cli *cli, const char *name, struct stack *ret, char **label,
		    struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	if (streq(name, "now")) {
		struct run_capture rc = { .contract = &cli->contract,
					  .dir = cli->dir,
					  .tool_version = TWICE_VERSION,
					  .tool_digest = cli_self_digest(cli),
					  .cancel = &cli_cancel };

		*label = xstrdup("now");
		return run_stack(&rc, ret, err);
	}
	if (streq(name, "accepted")) {
		struct acceptances l CLEANUP(acceptances_release) = { 0 };
		const struct acceptance *a;

		TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &l, err));
		a = acceptance_current(&l, clock_wall_ms());
		if (!a)
			return bail(err, ERR_UNSUPPORTED, "'%s' was never accepted",
				    cli->contract.workload.name);
		*label = xasprintf("accepted run %s", a->run);
		return run_stack_of(cli->ledger, a->intent, ret, err);
	}
	TRY(find_verdict(cli, name, &e, err));
	*label = xasprintf("run %s", json_str_or(e.body, "run", ""));
	return run_stack_of(cli->ledger,
			    json_str_or(json_object_get(e.body, "intent"), "digest", ""), ret, err);
}

static int diff_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct diff_conf *c = conf;
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	AUTO_FREE char *la = NULL;
	AUTO_FREE char *lb = NULL;
	json_t *lines = json_array();

	json_put(v, "lines", lines);
	TRY(stack_of(cli, cli->args.n > 0 ? cli->args.v[0] : "accepted", &a, &la, err));
	TRY(stack_of(cli, cli->args.n > 1 ? cli->args.v[1] : "now", &b, &lb, err));
	stack_diff(&a, &b, &changes);
	json_put_str(v, "from", la);
	json_put_str(v, "to", lb);
	json_put(v, "changes", changes_to_json(&changes));
	json_put_int(v, "material", (int64_t)changes.n_material);
	for (size_t i = 0; i < changes.n; i++) {
		AUTO_FREE char *t = change_text(&changes.v[i]);

		if (changes.v[i].material || c->all)
			json_put_line(lines, "%s%s", t, changes.v[i].material ? "" : " (cosmetic)");
	}
	return changes.n_material ? 1 : 0;
}

static void diff_text(const json_t *v, struct str *out)
{
	const json_t *lines = json_object_get(v, "lines");

	str_addf(out, "%s -> %s: %lld material change%s\n", json_str_or(v, "from", ""),
		 json_str_or(v, "to", ""), (long long)json_int_or(v, "material", 0),
		 json_int_or(v, "material", 0) == 1 ? "" : "s");
	for (size_t i = 0; i < json_array_size(lines); i++) {
		AUTO_FREE char *t = text_clean(sv_of(json_string_value(json_array_get(lines, i))));

		str_addf(out, "  %s\n", t);
	}
}

const struct cmd cmd_diff = {
	.name = "diff",
	.group = GROUP_READ,
	.args = "[RUN|accepted [RUN|now]]",
	.max_args = 2,
	.help = "compare two stacks (the accepted one with this one)",
	.about = "Exit 0: no material change; 1: there are some.",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED,
	.opts = diff_opts,
	.conf_size = sizeof(struct diff_conf),
	.run = diff_run,
	.text = diff_text,
};
