/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/text.h"

struct log_conf {
	const char *workload, *kind, *verdict;
	int64_t limit;
	bool all;
};

static const struct opt log_opts[] = {
	OPT(log_conf, workload, .name = "workload", .arg = "NAME", .type = OPT_TEXT,
	    .help = "only of this workload"),
	OPT(log_conf, kind, .name = "kind", .arg = "KIND", .type = OPT_TEXT,
	    .help = "only entries of this kind"),
	OPT(log_conf, verdict, .name = "verdict", .arg = "WORD", .type = OPT_TEXT,
	    .help = "only verdicts of this sort: accepted, rejected, ..."),
	OPT(log_conf, limit, .name = "limit", .arg = "N", .type = OPT_NUMBER, .def = "40", .min = 0,
	    .max = 100000000, .help = "at most N, newest first; 0: all"),
	OPT(log_conf, all, .name = "all", .type = OPT_FLAG,
	    .help = "every kind; else runs, verdicts and what people did"),
	{ 0 },
};

struct listing {
	const struct log_conf *c;
	json_t *entries;
	int64_t n;
	bool more;
};

static bool shown(const struct listing *l, const struct ledger_entry *e)
{
	static const char *const usual[] = { "verdict",       "signoff",      "waiver",
					     "waiver.revoke", "key.add",      "key.revoke",
					     "run.abandon",   "drill",        "ledger.genesis",
					     "correction",    "bisect.trial", "evidence.state",
					     "baseline.set" };
	const char *scope = json_str_or(e->body, "scope", "");
	bool usual_kind = streq(e->kind, "run.intent") && streq(scope, "run");

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		usual_kind |= streq(e->kind, usual[i]);
	if (l->c->kind ? !streq(l->c->kind, e->kind) : !l->c->all && !usual_kind)
		return false;
	if (l->c->workload && !streq(json_str_or(e->body, "workload", ""), l->c->workload))
		return false;
	return !l->c->verdict ||
	       streq(json_str_or(json_object_get(e->body, "decision"), "verdict", ""),
		     l->c->verdict);
}

static char *summary(const struct ledger_entry *e)
{
	const json_t *b = e->body, *d = json_object_get(b, "decision");
	const char *run = json_str_or(b, "run", ""), *w = json_str_or(b, "workload", "");

	if (streq(e->kind, "verdict")) {
		const char *why =
			json_str_or(json_array_get(json_object_get(d, "reasons"), 0), "text", "");

		return xasprintf("%s %s: %s%s%s", w, run,
				 text_verdict_word(json_str_or(d, "verdict", "")),
				 why[0] ? ": " : "", why);
	}
	if (streq(e->kind, "signoff"))
		return xasprintf("%s %s: signed%s%s", w, run,
				 json_str_or(b, "note", "")[0] ? ": " : "",
				 json_str_or(b, "note", ""));
	if (streq(e->kind, "run.abandon"))
		return xasprintf("%s: %s", run, json_str_or(b, "reason", ""));
	if (streq(e->kind, "run.intent") || streq(e->kind, "run.result"))
		return xasprintf("%s %s: %s%s%s", w, run, json_str_or(b, "scope", ""),
				 json_str_or(b, "state", NULL) ? " " : "",
				 json_str_or(b, "state", ""));
	if (streq(e->kind, "key.add"))
		return xasprintf("key of %s", json_str_or(b, "holder", "?"));
	if (streq(e->kind, "ledger.genesis"))
		return xasprintf("%s", json_str_or(b, "origin", json_str_or(b, "purpose", "")));
	if (streq(e->kind, "drill"))
		return xasprintf("%s: %s %s", w, json_str_or(b, "what", ""),
				 json_str_or(b, "result", ""));
	return xstrdup(w);
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct listing *l = arg;
	AUTO_FREE char *text = NULL;
	json_t *o;

	(void)err;
	if (!shown(l, e))
		return 0;
	if (l->c->limit && l->n >= l->c->limit) {
		l->more = true;
		return 1;
	}
	text = summary(e);
	o = json_object();
	json_put_int(o, "seq", (int64_t)e->ref.seq);
	json_put_str(o, "at", e->at);
	json_put_str(o, "kind", e->kind);
	json_put_str(o, "by", e->by_id);
	json_put_str(o, "leaf", e->ref.hex);
	json_put_str(o, "summary", text);
	(void)json_array_append_new(l->entries, o);
	l->n++;
	return 0;
}

static int log_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	struct listing l = { .c = conf, .entries = json_array() };
	struct ledger_filter f = { .newest_first = true };
	uint64_t size;

	json_put(v, "entries", l.entries);
	TRY(ledger_each(cli->ledger, &f, on_entry, &l, err));
	TRY(ledger_size(cli->ledger, &size, NULL, err));
	json_put_int(v, "size", (int64_t)size);
	json_put_bool(v, "more", l.more);
	return 0;
}

static void log_text(const json_t *v, struct str *out)
{
	const json_t *a = json_object_get(v, "entries");

	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *e = json_array_get(a, i);
		AUTO_FREE char *s = text_clean(sv_of(json_str_or(e, "summary", "")));
		AUTO_FREE char *by = text_clean(sv_of(json_str_or(e, "by", "")));

		str_addf(out, "%5lld  %.19sZ  %-14s %-20s %s\n",
			 (long long)json_int_or(e, "seq", 0), json_str_or(e, "at", ""),
			 json_str_or(e, "kind", ""), by, s);
	}
	if (json_bool_or(v, "more", false))
		str_add(out, "       ... more with --limit 0\n");
}

const struct cmd cmd_log = {
	.name = "log",
	.group = GROUP_READ,
	.help = "list what the ledger holds, newest first",
	.flags = CMD_LEDGER_NEED,
	.opts = log_opts,
	.conf_size = sizeof(struct log_conf),
	.run = log_run,
	.text = log_text,
};
