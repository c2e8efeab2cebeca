/* SPDX-License-Identifier: Apache-2.0 */
/* One run as a document: collected from the ledger, written by the room report. */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "cli/find.h"
#include "cli/reporting.h"
#include "report/report.h"

enum report_format { FORMAT_HTML, FORMAT_MD, FORMAT_JSON, FORMAT_JUNIT, FORMAT_CTRF };
static const char *const formats[] = { "html", "md", "json", "junit", "ctrf", NULL };
static const char *const files[] = { "twice-report.html", "twice-report.md", "twice-report.json",
				     "twice-report.xml", "twice-report.ctrf.json" };

struct report_conf {
	int format;
	const char *out;
};

static const struct opt report_opts[] = {
	OPT(report_conf, format, .name = "format", .arg = "WORD", .type = OPT_CHOICE,
	    .choices = formats, .def = "html", .help = "html, md, json, junit or ctrf"),
	OPT(report_conf, out, .name = "out", .arg = "FILE", .type = OPT_TEXT,
	    .help = "where to; - is standard output [twice-report.html, .md, .json, .xml, "
		    ".ctrf.json]"),
	{ 0 },
};

/* The document: the value without what the command adds to it. */
static void render(const json_t *v, int format, struct str *out)
{
	static const char *const own[] = { "command", "format", "out", "bytes", "exit", "meaning" };
	AUTO_JSON json_t *report = json_copy((json_t *)v);
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)json_object_del(report, own[i]);
	switch (format) {
	case FORMAT_MD:
		report_markdown(report, out);
		break;
	case FORMAT_JSON:
		text = json_text(report, true);
		str_addf(out, "%s\n", text);
		break;
	case FORMAT_JUNIT:
		report_junit(report, out);
		break;
	case FORMAT_CTRF:
		report_ctrf(report, out);
		break;
	default:
		report_html(report, out);
	}
}

static int report_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct report_conf *rc = conf;
	const char *out = rc->out ? rc->out : files[rc->format];
	const char *name = cli->args.n ? cli->args.v[0] : NULL;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };

	/* A ledger can be read where its contract is not; then the newest run of all is meant. */
	if (!name && file_exists(cli->contract_path))
		TRY(cli_load_contract(cli, err));
	TRY(find_verdict(cli, name, &e, err));
	TRY(reporting_value(cli, &e, v, err));
	json_put_str(v, "format", formats[rc->format]);
	json_put_str(v, "out", out);
	if (streq(out, "-"))
		return 0;
	render(v, rc->format, &text);
	TRY(file_write(out, str_text(&text), text.n, 0644, err));
	json_put_int(v, "bytes", (int64_t)text.n);
	return 0;
}

static void report_text(const json_t *v, struct str *out)
{
	const char *format = json_str_or(v, "format", "html");
	const json_t *body = json_object_get(v, "verdict");

	if (!streq(json_str_or(v, "out", ""), "-")) {
		AUTO_FREE char *file = text_clean(sv_of(json_str_or(v, "out", "")));

		str_addf(out, "%s: report of run %s written to %s (%lld bytes)\n",
			 json_str_or(body, "workload", ""), json_str_or(body, "run", ""), file,
			 (long long)json_int_or(v, "bytes", 0));
		reporting_lost_text(v, out);
		return;
	}
	for (int i = 0; formats[i]; i++)
		if (streq(formats[i], format))
			render(v, i, out);
}

const struct cmd cmd_report = {
	.name = "report",
	.group = GROUP_READ,
	.args = "[RUN]",
	.max_args = 1,
	.help = "write a run as a page, Markdown, JSON or test results",
	.about = "Everything the verdict rests on, from the ledger: numbers, the stack and what "
		 "changed in it,\n"
		 "checks, repetitions and the digests of the evidence. Exit 0: written, whatever "
		 "the verdict.",
	.flags = CMD_LEDGER_NEED,
	.opts = report_opts,
	.conf_size = sizeof(struct report_conf),
	.run = report_run,
	.text = report_text,
};
