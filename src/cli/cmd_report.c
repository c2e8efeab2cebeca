/* SPDX-License-Identifier: Apache-2.0 */
/* One run as a document: collected from the ledger here, written by the room report. */
#include "cli/cmds.h"

#include "base/err.h"
#include "base/file.h"
#include "cli/find.h"
#include "report/report.h"
#include "run/run.h"
#include <unistd.h>

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

#define SOURCE_LIMIT (4 * MIB)

/* Collecting: the value, and its list of evidence, which grows with each part. */
struct collecting {
	struct ledger *ledger;
	json_t *v, *evidence;
};

static const char *digest_in(const json_t *o, const char *key)
{
	return json_str_or(json_object_get(o, key), "digest", NULL);
}

static void add_evidence(struct collecting *c, const json_t *list, const char *of)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *e = json_copy(json_array_get(list, i));

		json_put_str(e, "of", of);
		(void)json_array_append_new(c->evidence, e);
	}
}

/* One blob that an entry refers to, as evidence. */
static void add_blob(struct collecting *c, const json_t *blob, const char *label, const char *of)
{
	AUTO_JSON json_t *list = json_array();
	json_t *e = blob ? json_copy((json_t *)blob) : NULL;

	if (!e)
		return;
	json_put_str(e, "label", label);
	(void)json_array_append_new(list, e);
	add_evidence(c, list, of);
}

static int find(struct collecting *c, const char *hex, const char *what, struct ledger_entry *ret,
		struct err *err)
{
	if (!hex || ledger_find(c->ledger, hex, ret, err) < 0)
		return hex ? err_wrap(err, "%s", what)
			   : bail(err, ERR_BROKEN, "%s is not named", what);
	return 0;
}

/* A repetition's entry: a result, or run.abandon when it never ended. */
static int add_rep(struct collecting *c, json_t *to, const char *hex, const char *of,
		   struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	json_t *r;

	TRY(find(c, hex, of, &e, err));
	r = json_copy(e.body);
	if (streq(e.kind, "run.abandon"))
		json_put_str(r, "state", "excluded");
	json_put_str(r, "leaf", e.ref.hex);
	json_put_int(r, "seq", (int64_t)e.ref.seq);
	(void)json_array_append_new(to, r);
	add_evidence(c, json_object_get(r, "evidence"), of);
	return 0;
}

static int add_reps(struct collecting *c, const char *key, const json_t *refs, const char *word,
		    struct err *err)
{
	json_t *a = json_array();

	json_put(c->v, key, a);
	for (size_t i = 0; i < json_array_size(refs); i++) {
		AUTO_FREE char *of = xasprintf("%s %zu", word, i + 1);

		TRY(add_rep(c, a, json_str_or(json_array_get(refs, i), "digest", NULL), of, err));
	}
	return 0;
}

static int add_checks(struct collecting *c, const json_t *refs, struct err *err)
{
	json_t *a = json_array();

	json_put(c->v, "checks", a);
	for (size_t i = 0; i < json_array_size(refs); i++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		const json_t *list;

		TRY(find(c, json_str_or(json_array_get(refs, i), "digest", NULL), "the checks", &e,
			 err));
		list = json_object_get(e.body, "outcomes");
		(void)json_array_extend(a, (json_t *)list);
		for (size_t k = 0; k < json_array_size(list); k++) {
			const json_t *o = json_array_get(list, k);

			add_evidence(c, json_object_get(o, "evidence"),
				     json_str_or(o, "check", ""));
		}
	}
	return 0;
}

static int on_result(void *arg, const struct ledger_entry *e, struct err *err)
{
	json_t *times = arg;

	(void)err;
	if (!streq(json_str_or(e->body, "scope", ""), "run"))
		return 0;
	json_put_str(times, "ended", e->at);
	json_put(times, "took_ns", json_incref(json_object_get(e->body, "took_ns")));
	json_put(times, "state", json_incref(json_object_get(e->body, "state")));
	return 1;
}

static int add_times(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	static const char *const kinds[] = { "run.result", NULL };
	struct ledger_filter f = { .kinds = kinds,
				   .digest = intent->ref.hex,
				   .newest_first = true };
	json_t *times = json_object();

	json_put(c->v, "times", times);
	json_put_str(times, "begun", intent->at);
	return ledger_each(c->ledger, &f, on_result, times, err);
}

/* The text that was judged, unless its bytes were withheld. */
static int add_contract(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *text = NULL;
	json_t *o = json_object();
	const char *source;
	size_t n;
	int rc;

	json_put(c->v, "contract", o);
	json_put_str(o, "digest", digest_in(intent->body, "contract"));
	TRY(find(c, digest_in(intent->body, "contract_entry"), "the contract's entry", &e, err));
	add_blob(c, json_object_get(e.body, "source"), "contract as written", "contract");
	add_blob(c, json_object_get(e.body, "contract"), "contract, canonical", "contract");
	source = digest_in(e.body, "source");
	json_put_str(o, "source_digest", source);
	if (!source)
		return 0;
	rc = ledger_blob_get(c->ledger, source, SOURCE_LIMIT, &text, &n, err);
	if (rc == -ERR_NOT_FOUND) {
		err_clear(err);
		return 0;
	}
	TRY(rc);
	json_put_str(o, "source", text);
	return 0;
}

static int add_stack(struct collecting *c, const struct ledger_entry *intent, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct stack s CLEANUP(stack_release) = { 0 };
	struct err lost = ERR_INIT;
	json_t *o = json_object();
	int rc;

	json_put(c->v, "stack", o);
	json_put_str(o, "digest", json_str_or(intent->body, "stack_digest", NULL));
	TRY(find(c, digest_in(intent->body, "stack"), "the stack's entry", &e, err));
	add_blob(c, json_object_get(e.body, "components"), "components", "stack");
	rc = run_stack_of(c->ledger, intent->ref.hex, &s, &lost);
	if (rc < 0 && rc != -ERR_NOT_FOUND) {
		*err = lost;
		return rc;
	}
	if (rc == 0)
		json_put(o, "components", stack_to_json(&s));
	return 0;
}

static int add_accepted(struct collecting *c, const json_t *body, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const char *hex = digest_in(body, "accepted");
	json_t *o;

	if (!hex)
		return 0;
	TRY(find(c, hex, "the accepted run's sign-off", &e, err));
	o = json_object();
	json_put(c->v, "accepted", o);
	json_put_str(o, "run", json_str_or(e.body, "run", NULL));
	json_put_str(o, "note", json_str_or(e.body, "note", NULL));
	json_put_str(o, "stack_digest", json_str_or(e.body, "stack_digest", NULL));
	json_put_str(o, "leaf", e.ref.hex);
	json_put_str(o, "by", e.by_id);
	json_put_str(o, "at", e.at);
	return 0;
}

static int on_signoff(void *arg, const struct ledger_entry *e, struct err *err)
{
	json_t *a = arg, *o = json_object();

	(void)err;
	json_put_str(o, "leaf", e->ref.hex);
	json_put_int(o, "seq", (int64_t)e->ref.seq);
	json_put_str(o, "by", e->by_id);
	json_put_str(o, "at", e->at);
	json_put_str(o, "note", json_str_or(e->body, "note", NULL));
	json_put_int(o, "expires_at_ms", json_int_or(e->body, "expires_at_ms", 0));
	(void)json_array_append_new(a, o);
	return 0;
}

static int add_signoffs(struct collecting *c, const struct ledger_entry *verdict, struct err *err)
{
	static const char *const kinds[] = { "signoff", NULL };
	static const char *const standings[] = { REPORT_IN_FORCE, "pending", "not signed",
						 "no policy asks for it" };
	struct ledger_filter f = { .kinds = kinds,
				   .digest = verdict->ref.hex,
				   .newest_first = true };
	json_t *a = json_array();

	json_put(c->v, "signoffs", a);
	TRY(ledger_each(c->ledger, &f, on_signoff, a, err));
	for (size_t i = 0; i < json_array_size(a); i++) {
		json_t *o = json_array_get(a, i), *holders = json_array();
		struct strs names CLEANUP(strs_release) = { 0 };
		struct str why CLEANUP(str_release) = { 0 };
		enum ledger_standing s;

		json_put(o, "holders", holders);
		TRY(ledger_standing(c->ledger, (uint64_t)json_int_or(o, "seq", 0), &s, &names, &why,
				    err));
		json_put_str(o, "standing", standings[s]);
		json_put_str(o, "why", why.n ? str_text(&why) : NULL);
		for (size_t k = 0; k < names.n; k++)
			json_put_line(holders, "%s", names.v[k]);
	}
	return 0;
}

static int add_log(struct collecting *c, struct err *err)
{
	uint8_t root[SHA256_LEN];
	char hex[SHA256_HEX];
	json_t *o = json_object();
	uint64_t size;

	json_put(c->v, "log", o);
	TRY(ledger_size(c->ledger, &size, root, err));
	hex_of(root, SHA256_LEN, hex);
	json_put_str(o, "origin", ledger_origin(c->ledger));
	json_put_str(o, "key", ledger_vkey(c->ledger));
	json_put_str(o, "root", hex);
	json_put_int(o, "size", (int64_t)size);
	return 0;
}

static int collect(struct collecting *c, const struct ledger_entry *verdict, struct err *err)
{
	struct ledger_entry intent CLEANUP(ledger_entry_release) = { 0 };
	const json_t *body = verdict->body;
	json_t *o = json_object();

	json_put_str(o, "leaf", verdict->ref.hex);
	json_put_int(o, "seq", (int64_t)verdict->ref.seq);
	json_put_str(o, "at", verdict->at);
	json_put_str(o, "by", verdict->by_id);
	json_put(c->v, "entry", o);
	json_put(c->v, "verdict", json_incref(verdict->body));
	json_put_str(c->v, "tool_version", TWICE_VERSION);
	TRY(find(c, digest_in(body, "intent"), "the run's announcement", &intent, err));
	TRY(add_times(c, &intent, err));
	TRY(add_checks(c, json_object_get(body, "checks"), err));
	TRY(add_reps(c, "reps", json_object_get(body, "reps"), "repetition", err));
	TRY(add_contract(c, &intent, err));
	TRY(add_stack(c, &intent, err));
	TRY(add_reps(c, "bank", json_object_get(intent.body, "bank"), "accepted repetition", err));
	TRY(add_accepted(c, body, err));
	TRY(add_signoffs(c, verdict, err));
	return add_log(c, err);
}

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
	struct collecting c = { .ledger = cli->ledger, .v = v, .evidence = json_array() };

	json_put(v, "evidence", c.evidence);
	/* A ledger can be read where its contract is not; then the newest run of all is meant. */
	if (!name && file_exists(cli->contract_path))
		TRY(cli_load_contract(cli, err));
	TRY(find_verdict(cli, name, &e, err));
	TRY(collect(&c, &e, err));
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
