/* SPDX-License-Identifier: Apache-2.0 */
/* Watching without an end: what all repetitions since the acceptance say. It decides nothing. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/watching.h"
#include "run/run.h"
#include "verdict/verdict.h"

static const struct opt watch_opts[] = { { 0 } };

static int watch_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	struct acceptances all CLEANUP(acceptances_release) = { 0 };
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };
	const struct acceptance *a;

	(void)conf;
	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &all, err));
	a = acceptance_current(&all, clock_wall_ms());
	if (!a)
		return bail(err, ERR_UNSUPPORTED,
			    "%s: nothing is accepted, so there is nothing to "
			    "hold it against",
			    cli->contract.workload.name);
	TRY(run_watch(cli->ledger, &cli->contract, a, &w, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "run", a->run);
	json_put(v, "watch", run_watch_json(&w));
	return w.alarm ? 2 : 0;
}

static void watch_text(const json_t *v, struct str *out)
{
	const json_t *w = json_object_get(v, "watch");

	str_addf(out, "%s: %s (%lld repetition%s since accepted run %s)\n",
		 json_str_or(v, "workload", ""),
		 json_bool_or(w, "alarm", false) ? "alarm: 'twice run' should decide" : "quiet",
		 (long long)json_int_or(w, "repetitions", 0),
		 json_int_or(w, "repetitions", 0) == 1 ? "" : "s", json_str_or(v, "run", ""));
	watching_text(w, /* all= */ true, out);
}

const struct cmd cmd_watch = {
	.name = "watch",
	.group = GROUP_READ,
	.help = "what all repetitions since the acceptance say: asks for a run, never decides",
	.about = "Each 'twice run' on the accepted stack counts, 'twice run --reps 1' every night "
		 "too. It may be looked at\n"
		 "after every repetition without its error growing.",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED,
	.opts = watch_opts,
	.run = watch_run,
	.text = watch_text,
};
