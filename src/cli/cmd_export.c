/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict for other people's tools, or the whole ledger for people without any. */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "cli/find.h"
#include "cli/life.h"
#include "cli/reporting.h"
#include "report/report.h"
#include "run/run.h"

enum export_format {
	FORMAT_INTOTO,
	FORMAT_BUNDLE,
	FORMAT_STATEMENT,
	FORMAT_PROOF,
	FORMAT_TILES,
	FORMAT_JUNIT,
	FORMAT_CTRF,
	FORMAT_FOLDER
};
static const char *const formats[] = { "intoto", "bundle", "statement", "tlog-proof", "tiles",
				       "junit",  "ctrf",   "folder",    NULL };
static const char *const files[] = { "twice.intoto.jsonl",   "twice.sigstore.json",
				     "twice.statement.json", "twice.tlog-proof",
				     "twice-tiles",          "twice.junit.xml",
				     "twice.ctrf.json",      "twice-export" };

enum { PREDICATE_ALL = LEDGER_PREDICATE_VSA + 1 };
static const char *const predicates[] = { "verdict", "test-result", "vsa", "all", NULL };

struct export_conf {
	int format, predicate;
	const char *key, *out, *workload;
};

static const struct opt export_opts[] = {
	OPT(export_conf, format, .name = "format", .arg = "WORD", .type = OPT_CHOICE,
	    .choices = formats, .def = "intoto",
	    .help = "intoto, bundle, statement, tlog-proof, tiles, junit, ctrf or folder"),
	OPT(export_conf, predicate, .name = "predicate", .arg = "WORD", .type = OPT_CHOICE,
	    .choices = predicates, .def = "all",
	    .help = "verdict, test-result, vsa or all (for intoto; else all is verdict)"),
	OPT(export_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "P-256 or Ed25519 key in PEM to sign with [export.key in the ledger]"),
	OPT(export_conf, out, .name = "out", .arg = "PATH", .type = OPT_TEXT,
	    .help = "file or folder to write; - is standard output [twice.intoto.jsonl, ...]"),
	OPT(export_conf, workload, .name = "workload", .arg = "NAME", .type = OPT_TEXT,
	    .help = "folder: whose life life.txt tells [the contract's, else all]"),
	{ 0 },
};

static bool is_folder(int format)
{
	return format == FORMAT_TILES || format == FORMAT_FOLDER;
}

/* A run, or for a proof any entry. */
static int pick(struct cli *cli, int format, struct ledger_entry *ret, struct err *err)
{
	const char *name = cli->args.n ? cli->args.v[0] : NULL;
	struct err other = ERR_INIT;
	int rc;

	if (!name && file_exists(cli->contract_path))
		TRY(cli_load_contract(cli, err));
	if (name && format == FORMAT_PROOF && ledger_find(cli->ledger, name, ret, &other) == 0)
		return 0;
	rc = find_verdict(cli, name, ret, err);
	if (rc != -ERR_NOT_FOUND || !name || ledger_find(cli->ledger, name, ret, &other) < 0)
		return rc;
	err_clear(err);
	if (streq(ret->kind, "verdict"))
		return 0;
	rc = bail(err, ERR_UNSUPPORTED, "entry %llu is a %s, no verdict",
		  (unsigned long long)ret->ref.seq, ret->kind);
	ledger_entry_release(ret);
	return rc;
}

/* ---- statements ---- */

/* The one kept in the ledger's folder is made when it is first wanted; an export has none. */
static int signer(struct cli *cli, const char *given, json_t *v, struct ledger_signer **ret,
		  struct err *err)
{
	AUTO_FREE char *own = path_join(cli->ledger_dir, "export.key"),
		       *log_key = path_join(cli->ledger_dir, "ledger.key");
	const char *path = given ? given : own;

	json_put_str(v, "key", path);
	if (given || file_exists(own))
		return ledger_signer_read(path, ret, err);
	if (!file_exists(log_key)) {
		(void)bail(err, ERR_UNSUPPORTED, "no key to sign with in '%s'", cli->ledger_dir);
		err_hint(err, "Name one with --key FILE.");
		return -ERR_UNSUPPORTED;
	}
	TRY(ledger_signer_make(own, ret, err));
	cli_note(cli, "made the key %s to sign exports with; its public half is %s.pub", own, own);
	return 0;
}

/* The checks under the names that JUnit and CTRF give them, too. */
static int tests_of(struct cli *cli, const struct ledger_entry *e, json_t **ret, struct err *err)
{
	AUTO_JSON json_t *report = json_object(), *ctrf = NULL;
	struct str text CLEANUP(str_release) = { 0 };

	TRY(reporting_value(cli, e, report, err));
	report_ctrf(report, &text);
	TRY(json_read(sv_str(&text), "the checks", &ctrf, err));
	*ret = json_incref(json_object_get(json_object_get(ctrf, "results"), "tests"));
	return 0;
}

struct attesting {
	struct acceptances accepted;
	struct stack stack;
	json_t *tests;
	struct ledger_attest a;
};

static void attesting_release(struct attesting *t)
{
	acceptances_release(&t->accepted);
	stack_release(&t->stack);
	json_decref(t->tests);
}

static int attest(struct cli *cli, const struct ledger_entry *e, struct attesting *t,
		  struct err *err)
{
	const char *intent = json_str_or(json_object_get(e->body, "intent"), "digest", "");
	struct err lost = ERR_INIT;

	/* A stack that was withheld names no images; whatever else is said stays. */
	if (run_stack_of(cli->ledger, intent, &t->stack, &lost) == 0)
		t->a.stack = &t->stack;
	else if (lost.code != ERR_MISSING)
		return *err = lost, -(int)lost.code;
	TRY(tests_of(cli, e, &t->tests, err));
	TRY(acceptances_read(cli->ledger, json_str_or(e->body, "workload", ""), &t->accepted, err));
	t->a.verdict = e;
	t->a.tests = t->tests;
	t->a.proven = acceptances_proven(cli->ledger, &t->accepted);
	return 0;
}

static void add_statement(int format, const struct ledger_signer *s, const json_t *statement,
			  struct str *out)
{
	AUTO_FREE char *text = NULL;

	if (format == FORMAT_INTOTO) {
		ledger_envelope(s, statement, out);
		str_addc(out, '\n');
	} else if (format == FORMAT_BUNDLE) {
		ledger_bundle(s, statement, out);
	} else {
		text = json_text(statement, /* pretty= */ true);
		str_addf(out, "%s\n", text);
	}
}

static int statements(struct cli *cli, const struct export_conf *c, const struct ledger_entry *e,
		      json_t *v, struct str *out, struct err *err)
{
	struct attesting t CLEANUP(attesting_release) = { 0 };
	CLEANUP(ledger_signer_freep) struct ledger_signer *s = NULL;
	bool all = c->predicate == PREDICATE_ALL && c->format == FORMAT_INTOTO;
	json_t *types = json_array();

	json_put(v, "predicates", types);
	TRY(attest(cli, e, &t, err));
	if (c->format != FORMAT_STATEMENT) {
		TRY(signer(cli, c->key, v, &s, err));
		json_put_str(v, "key_id", ledger_signer_id(s));
		json_put_str(v, "public_key", ledger_signer_public(s));
	}
	for (int p = 0; p < PREDICATE_ALL; p++) {
		enum ledger_predicate type = (enum ledger_predicate)p;
		AUTO_JSON json_t *statement = NULL;

		if (!all &&
		    p != (c->predicate == PREDICATE_ALL ? LEDGER_PREDICATE_VERDICT : c->predicate))
			continue;
		TRY(ledger_statement(cli->ledger, &t.a, type, &statement, err));
		add_statement(c->format, s, statement, out);
		json_put_line(types, "%s", ledger_predicate_type(type));
	}
	return 0;
}

/* ---- */

static int text_of(struct cli *cli, const struct export_conf *c, json_t *v, struct str *out,
		   struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_JSON json_t *report = NULL;

	TRY(pick(cli, c->format, &e, err));
	json_put_int(v, "seq", (int64_t)e.ref.seq);
	json_put_str(v, "leaf", e.ref.hex);
	json_put_str(v, "run", json_str_or(e.body, "run", NULL));
	if (streq(e.kind, "verdict"))
		TRY(reporting_lost(cli, &e, v, err));
	if (c->format == FORMAT_PROOF)
		return ledger_proof_file(cli->ledger, &e, out, err);
	if (c->format != FORMAT_JUNIT && c->format != FORMAT_CTRF)
		return statements(cli, c, &e, v, out, err);
	report = json_object();
	TRY(reporting_value(cli, &e, report, err));
	json_put_str(report, "schema", "twice.report/1");
	(c->format == FORMAT_JUNIT ? report_junit : report_ctrf)(report, out);
	return 0;
}

static int folder_of(struct cli *cli, const struct export_conf *c, const char *out, json_t *v,
		     struct err *err)
{
	const char *workload = c->workload;
	uint64_t size, told = 0, lost;

	if (c->format == FORMAT_TILES) {
		TRY(ledger_tiles(cli->ledger, out, err));
	} else {
		if (!workload && file_exists(cli->contract_path)) {
			TRY(cli_load_contract(cli, err));
			workload = cli->contract.workload.name;
		}
		TRY(ledger_export(cli->ledger, out, err));
		TRY(life_write(cli->ledger, workload, out, &told, err));
		json_put_str(v, "workload", workload);
		json_put_int(v, "told", (int64_t)told);
	}
	TRY(ledger_size(cli->ledger, &size, NULL, err));
	json_put_int(v, "size", (int64_t)size);
	TRY(ledger_blobs_missing(cli->ledger, &lost, err));
	json_put_int(v, "evidence_lost", (int64_t)lost);
	return 0;
}

static int export_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct export_conf *c = conf;
	const char *out = c->out ? c->out : files[c->format];
	struct str text CLEANUP(str_release) = { 0 };

	json_put_str(v, "format", formats[c->format]);
	json_put_str(v, "out", out);
	if (is_folder(c->format)) {
		if (cli->args.n)
			return bail(err, ERR_USAGE, "a %s is of the whole ledger, not of '%s'",
				    formats[c->format], cli->args.v[0]);
		if (streq(out, "-"))
			return bail(err, ERR_USAGE, "a folder can't go to the standard output");
		return folder_of(cli, c, out, v, err);
	}
	TRY(text_of(cli, c, v, &text, err));
	json_put_int(v, "bytes", (int64_t)text.n);
	if (streq(out, "-"))
		json_put_str(v, "content", str_text(&text));
	else
		TRY(file_write(out, str_text(&text), text.n, 0644, err));
	return 0;
}

static void export_text(const json_t *v, struct str *out)
{
	const char *content = json_str_or(v, "content", NULL), *key = json_str_or(v, "key", NULL);
	AUTO_FREE char *file = text_clean(sv_of(json_str_or(v, "out", "")));

	if (content) {
		str_add(out, content);
		return;
	}
	if (json_object_get(v, "size")) {
		str_addf(out, "%lld entries written to the folder %s\n",
			 (long long)json_int_or(v, "size", 0), file);
		reporting_lost_text(v, out);
		return;
	}
	str_addf(out, "%s of entry %lld written to %s (%lld bytes)\n", json_str_or(v, "format", ""),
		 (long long)json_int_or(v, "seq", 0), file, (long long)json_int_or(v, "bytes", 0));
	if (key) {
		AUTO_FREE char *clean = text_clean(sv_of(key));

		str_addf(out, "  signed with %s, key id %.16s\n", clean,
			 json_str_or(v, "key_id", ""));
	}
	reporting_lost_text(v, out);
}

const struct cmd cmd_export = {
	.name = "export",
	.group = GROUP_READ,
	.args = "[RUN|ENTRY]",
	.max_args = 1,
	.help = "write a verdict or the whole ledger for other tools to check",
	.about =
		"intoto: in-toto statements in signed DSSE envelopes, one a line. bundle: a "
		"Sigstore bundle v0.3.\n"
		"statement: unsigned. tlog-proof: that an entry is in the ledger. junit, ctrf: its "
		"checks as tests.\n"
		"tiles: the log as C2SP tlog-tiles. folder: all of it, to be checked with "
		"sha256sum, awk and ssh-keygen\n"
		"(twice-ledger(5) has the loop).",
	.flags = CMD_LEDGER_NEED,
	.opts = export_opts,
	.conf_size = sizeof(struct export_conf),
	.run = export_run,
	.text = export_text,
};
