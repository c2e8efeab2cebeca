/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict explained: what was compared, the numbers, a small plot, what would change it, what to
 * do. */
#include "cli/cmds.h"

#include "base/err.h"
#include "cli/find.h"
#include "cli/reporting.h"
#include "cli/searched.h"
#include "cli/text.h"
#include "cli/why_pack.h"
#include "cli/why_plot.h"
#include "cli/why_steps.h"
#include "report/report.h"

struct why_conf {
	const char *pack;
};

static const struct opt why_opts[] = {
	OPT(why_conf, pack, .name = "pack", .arg = "FILE", .type = OPT_TEXT,
	    .help = "write the evidence for the owner: a folder, or FILE.tar.zst"),
	{ 0 },
};

static int packing(struct cli *cli, const struct ledger_entry *verdict, const char *to, json_t *v,
		   struct err *err)
{
	struct strs files CLEANUP(strs_release) = { 0 };
	json_t *a = json_array();

	json_put_str(v, "pack", to);
	json_put(v, "packed", a);
	TRY(why_pack(cli, verdict, to, &files, err));
	for (size_t i = 0; i < files.n; i++)
		json_put_line(a, "%s", files.v[i]);
	return 0;
}

static int why_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const json_t *reps;
	const struct why_conf *c = conf;
	json_t *values = json_array();

	json_put(v, "repetitions", values);
	TRY(find_verdict(cli, cli->args.n ? cli->args.v[0] : NULL, &e, err));
	json_put_str(v, "entry", e.ref.hex);
	json_put(v, "body", json_incref(e.body));
	/* The repetitions themselves, for the plot: candidate first, then the accepted ones it
	 * names. */
	reps = json_object_get(e.body, "reps");
	for (size_t i = 0; i < json_array_size(reps); i++) {
		struct ledger_entry r CLEANUP(ledger_entry_release) = { 0 };
		const char *hex = json_str_or(json_array_get(reps, i), "digest", "");

		if (ledger_find(cli->ledger, hex, &r, err) < 0)
			return err_wrap(err, "repetition %zu", i + 1);
		if (json_object_get(r.body, "measured"))
			(void)json_array_append_new(
				values, json_pack("{s:s, s:O}", "arm", "candidate", "measured",
						  json_object_get(r.body, "measured")));
	}
	if (json_object_get(e.body, "intent")) {
		struct ledger_entry in CLEANUP(ledger_entry_release) = { 0 };
		const json_t *bank;

		TRY(ledger_find(cli->ledger,
				json_str_or(json_object_get(e.body, "intent"), "digest", ""), &in,
				err));
		/* Of arms that alternated the verdict names both. */
		bank = json_object_get(json_object_get(e.body, "bank") ? e.body : in.body, "bank");
		for (size_t i = 0; i < json_array_size(bank); i++) {
			struct ledger_entry r CLEANUP(ledger_entry_release) = { 0 };

			TRY(ledger_find(cli->ledger,
					json_str_or(json_array_get(bank, i), "digest", ""), &r,
					err));
			if (!streq(json_str_or(r.body, "state", "ok"), "ok") ||
			    !json_object_get(r.body, "measured"))
				continue;
			(void)json_array_append_new(
				values, json_pack("{s:s, s:O}", "arm", "accepted", "measured",
						  json_object_get(r.body, "measured")));
		}
	}
	TRY(searched_put(cli->ledger, e.ref.hex, v, err));
	TRY(reporting_lost(cli, &e, v, err));
	if (c->pack)
		TRY(packing(cli, &e, c->pack, v, err));
	return 0;
}

static void why_text(const json_t *v, struct str *out)
{
	const json_t *body = json_object_get(v, "body"), *numbers;
	const json_t *decision = json_object_get(body, "decision");
	const json_t *answers = json_object_get(decision, "answers");

	text_verdict_searched(body, json_object_get(v, "search"), /* long_form= */ true, out);
	numbers = json_object_get(decision, "numbers");
	for (size_t i = 0; i < json_array_size(numbers); i++)
		why_metric(json_object_get(v, "repetitions"), json_array_get(numbers, i), out);
	for (size_t i = 0; i < json_array_size(answers); i++)
		why_answer(json_array_get(answers, i), out);
	why_next(decision, report_search_leads(json_object_get(v, "search")), out);
	if (json_int_or(v, "evidence_lost", 0))
		str_addc(out, '\n');
	reporting_lost_text(v, out);
	if (json_str_or(v, "pack", NULL))
		str_addf(out,
			 "\n  evidence for the owner: %s (%zu files); look through it before "
			 "you publish it\n",
			 json_str_or(v, "pack", ""), json_array_size(json_object_get(v, "packed")));
}

const struct cmd cmd_why = {
	.name = "why",
	.group = GROUP_READ,
	.args = "[RUN]",
	.max_args = 1,
	.help = "explain a verdict",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED,
	.opts = why_opts,
	.conf_size = sizeof(struct why_conf),
	.run = why_run,
	.text = why_text,
};
