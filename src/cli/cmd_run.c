/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/running.h"
#include "cli/text.h"

struct run_conf {
	struct strs layers;
	int64_t reps;
	const char *new_series, *first;
	bool keep_going, keep_work, interleave;
};

static const struct opt run_opts[] = {
	OPT(run_conf, layers, .name = "layer", .arg = "LAYER", .type = OPT_LIST,
	    .help = "only this layer (may be repeated); such a run can't be accepted"),
	OPT(run_conf, reps, .name = "reps", .arg = "N", .type = OPT_NUMBER, .def = "0", .min = 0,
	    .max = 100, .help = "at most N repetitions now; the next run goes on with the series"),
	OPT(run_conf, new_series, .name = "new-series", .arg = "REASON", .type = OPT_TEXT,
	    .help = "start over instead of going on with this stack's series; the reason is "
		    "recorded"),
	OPT(run_conf, first, .name = "first", .arg = "REASON", .type = OPT_TEXT,
	    .help = "hold it to its objectives alone: what was accepted is for something else; the "
		    "reason is recorded"),
	OPT(run_conf, interleave, .name = "interleave", .type = OPT_FLAG,
	    .help = "run the accepted stack and this one alternately, in one session, by the "
		    "contract's switches; 5 to 12 pairs"),
	OPT(run_conf, keep_going, .name = "keep-going", .type = OPT_FLAG,
	    .help = "do later layers although an earlier one failed"),
	OPT(run_conf, keep_work, .name = "keep-work", .type = OPT_FLAG,
	    .help = "leave the scratch folder"),
	{ 0 },
};

static int layer_mask(const struct strs *l, unsigned *ret, struct err *err)
{
	static const char *const names[] = { "hardware", "communication", "framework",
					     "workload", "recovery",      NULL };

	for (size_t i = 0; i < l->n; i++) {
		enum check_layer layer;

		if (!check_layer_parse(sv_of(l->v[i]), &layer)) {
			bail(err, ERR_USAGE, "--layer: '%s' is no layer", l->v[i]);
			err_hint_nearest(err, l->v[i], names);
			return -ERR_USAGE;
		}
		*ret |= 1u << layer;
	}
	return 0;
}

static int run_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct run_conf *c = conf;
	struct run_done done CLEANUP(run_done_release) = { 0 };
	struct run_env env = { .keep_going = c->keep_going,
			       .max_reps = c->reps,
			       .new_series = c->new_series,
			       .first = c->first,
			       .interleave = c->interleave,
			       .keep_work = c->keep_work };

	if (c->interleave && c->first)
		return bail(err, ERR_USAGE,
			    "--interleave compares with what was accepted, --first does not: one "
			    "of them");
	TRY(layer_mask(&c->layers, &env.layers, err));
	TRY(running_contract(cli, &env, &done, err));
	running_value(&done, v);
	return running_exit(&done);
}

static void run_text(const json_t *v, struct str *out)
{
	running_text(v, out);
}

const struct cmd cmd_run = {
	.name = "run",
	.group = GROUP_RUN,
	.help = "do the layers, repeat the workload, give the verdict",
	.about = "Compares with the accepted run when there is one. Ctrl-C ends it cleanly: what "
		 "was measured is\n"
		 "kept, and the next run goes on with the series.",
	.flags = CMD_CONTRACT | CMD_LEDGER_WRITE,
	.opts = run_opts,
	.conf_size = sizeof(struct run_conf),
	.run = run_run,
	.text = run_text,
};
