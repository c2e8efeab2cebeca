/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/text.h"
#include "cli/when.h"
#include "envelope/envelope.h"
#include "report/report.h"
#include "run/run.h"

struct log_conf {
	const char *workload, *kind, *verdict, *owner, *component, *by, *since, *until;
	int64_t limit, before;
	bool all;
};

static const struct opt log_opts[] = {
	OPT(log_conf, workload, .name = "workload", .arg = "NAME", .type = OPT_TEXT,
	    .help = "only of this workload"),
	OPT(log_conf, kind, .name = "kind", .arg = "KIND", .type = OPT_TEXT,
	    .help = "only entries of this kind"),
	OPT(log_conf, verdict, .name = "verdict", .arg = "WORD", .type = OPT_TEXT,
	    .help = "only verdicts of this sort: accepted, rejected, ..."),
	OPT(log_conf, component, .name = "component", .arg = "NAME[=VERSION]", .type = OPT_TEXT,
	    .help = "only what is about a change of this component; with a version as in pins: "
		    "only runs of a stack that had it"),
	OPT(log_conf, owner, .name = "owner", .arg = "NAME", .type = OPT_TEXT,
	    .help = "only entries that name this owner"),
	OPT(log_conf, by, .name = "by", .arg = "NAME", .type = OPT_TEXT,
	    .help = "only entries written by this person or program"),
	OPT(log_conf, since, .name = "since", .arg = "TIME", .type = OPT_TEXT,
	    .help = "not before (2026-12-24, 2026-12-24T18:00, or '7 days')"),
	OPT(log_conf, until, .name = "until", .arg = "TIME", .type = OPT_TEXT, .help = "not after"),
	OPT(log_conf, limit, .name = "limit", .arg = "N", .type = OPT_NUMBER, .def = "40", .min = 0,
	    .max = 100000000, .help = "at most N, newest first; 0: all"),
	OPT(log_conf, before, .name = "before", .arg = "SEQ", .type = OPT_NUMBER, .def = "0",
	    .min = 0, .max = INT64_MAX, .help = "only entries below this number: the next page"),
	OPT(log_conf, all, .name = "all", .type = OPT_FLAG,
	    .help = "every kind; else runs, verdicts and what people did"),
	{ 0 },
};

/* What is of interest without --all. Intents of single repetitions are left out too. */
static const char *const usual[] = { "attribution", "baseline.set", "bisect.trial",
				     "correction",  "drill",        "evidence.state",
				     "key.add",     "key.revoke",   "ledger.genesis",
				     "run.abandon", "run.intent",   "signoff",
				     "verdict",     "waiver",       "waiver.revoke",
				     NULL };

struct listing {
	const struct log_conf *c;
	struct ledger *ledger;
	json_t *entries;
	int64_t n, last;
	bool more;
	/* --component NAME=VERSION */
	char *name, *pattern;
	char capture[SHA256_HEX]; /* the stack that was looked at last ... */
	bool had;                 /* ... had it */
};

/* ---- filters ---- */

/* Does a member `owner` anywhere below say so? */
static bool names_owner(const json_t *v, const char *owner)
{
	const char *key;
	json_t *x;

	if (streq(json_str_or(v, "owner", ""), owner))
		return true;
	json_object_foreach((json_t *)(uintptr_t)v, key,
			    x) if ((json_is_object(x) || json_is_array(x)) &&
				   names_owner(x, owner)) return true;
	for (size_t i = 0; i < json_array_size(v); i++)
		if (names_owner(json_array_get(v, i), owner))
			return true;
	return false;
}

static bool is_component(const char *layer, const char *name, const char *asked)
{
	AUTO_FREE char *both = xasprintf("%s/%s", layer, name);

	return streq(name, asked) || streq(both, asked);
}

/* A verdict that saw it change, a search that found it, an exception for its pin, a step back. */
static bool changed(const struct ledger_entry *e, const char *name)
{
	const json_t *changes = json_object_get(e->body, "changes");
	const json_t *steps = json_object_get(e->body, "steps");
	const json_t *did = json_object_get(json_object_get(e->body, "answer"), "components");
	const char *subject = json_str_or(e->body, "subject", "");

	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *x = json_array_get(changes, i);

		if (is_component(json_str_or(x, "layer", ""), json_str_or(x, "name", ""), name))
			return true;
	}
	for (size_t i = 0; i < json_array_size(did); i++)
		if (streq(json_string_value(json_array_get(did, i)), name))
			return true;
	for (size_t i = 0; i < json_array_size(steps); i++)
		if (streq(json_str_or(json_array_get(steps, i), "component", ""), name))
			return true;
	return str_starts(subject, WAIVER_PIN) && streq(subject + strlen(WAIVER_PIN), name);
}

static int stack_had(struct listing *l, const char *capture, struct err *err)
{
	struct stack s CLEANUP(stack_release) = { 0 };

	if (streq(l->capture, capture))
		return 0;
	l->had = false;
	TRY(run_stack_of_capture(l->ledger, capture, &s, err));
	(void)snprintf(l->capture, sizeof(l->capture), "%s", capture);
	for (size_t i = 0; i < s.n; i++) {
		const struct component *c = &s.v[i];

		l->had |= is_component(component_layer_name(c->layer), c->name, l->name) &&
			  (streq(l->pattern, "*") || pin_fits(l->pattern, c->version, c->digest));
	}
	return 0;
}

/* 1 it fits, 0 not. */
static int fits_component(struct listing *l, const struct ledger_entry *e, struct err *err)
{
	const char *capture = json_str_or(json_object_get(e->body, "stack"), "digest", NULL);

	if (!l->c->component)
		return 1;
	if (!l->pattern)
		return changed(e, l->c->component);
	if (!capture)
		return 0;
	if (stack_had(l, capture, err) < 0) {
		/* Its evidence was withheld: that it had it can't be said. */
		if (err->code != ERR_NOT_FOUND)
			return -(int)err->code;
		err_clear(err);
		return 0;
	}
	return l->had;
}

static bool shown(const struct listing *l, const struct ledger_entry *e)
{
	const struct log_conf *c = l->c;

	if (!c->all && !c->kind && streq(e->kind, "run.intent") &&
	    !streq(json_str_or(e->body, "scope", ""), "run"))
		return false;
	if (c->workload && !streq(json_str_or(e->body, "workload", ""), c->workload))
		return false;
	if (c->owner && !names_owner(e->body, c->owner))
		return false;
	return !c->verdict ||
	       streq(json_str_or(json_object_get(e->body, "decision"), "verdict", ""), c->verdict);
}

static char *waiver_summary(const json_t *b)
{
	int64_t until = json_int_or(b, "expires_at_ms", 0);
	AUTO_FREE char *end = until > 0 ? time_utc(until) : xstrdup("(no end)");

	return xasprintf("%s: %s%s%s waived until %.10s (owner %s): %s",
			 json_str_or(b, "workload", ""), json_str_or(b, "subject", ""),
			 json_str_or(b, "limit", NULL) ? " " : "", json_str_or(b, "limit", ""), end,
			 json_str_or(b, "owner", ""), json_str_or(b, "reason", ""));
}

static char *answer_summary(const json_t *b)
{
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s, "%s %s: answer: ", json_str_or(b, "workload", ""), json_str_or(b, "run", ""));
	if (streq(json_str_or(b, "state", ""), "factorial"))
		report_search_factorial(json_object_get(b, "factorial"), &s);
	else
		report_search_line(b, &s);
	return xstrdup(str_text(&s));
}

/* A search's trial, with the components that are new. */
static char *trial_summary(const json_t *b)
{
	const json_t *names = json_object_get(b, "new");
	struct str s CLEANUP(str_release) = { 0 };

	str_addf(&s, "%s %s: %s %s", json_str_or(b, "workload", ""), json_str_or(b, "run", ""),
		 json_str_or(b, "why", ""), json_str_or(b, "state", ""));
	for (size_t i = 0; i < json_array_size(names); i++)
		str_addf(&s, "%s%s",
			 i ? " " : ", new: ", json_string_value(json_array_get(names, i)));
	if (!json_array_size(names))
		str_add(&s, ", all old");
	return xstrdup(str_text(&s));
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
	if (streq(e->kind, "bisect.trial"))
		return trial_summary(b);
	if (streq(e->kind, "attribution"))
		return answer_summary(b);
	if (streq(e->kind, "key.add"))
		return xasprintf("key of %s", json_str_or(b, "holder", "?"));
	if (streq(e->kind, "key.revoke"))
		return xasprintf("key of %s ends: %s", json_str_or(b, "holder", "?"),
				 json_str_or(b, "reason", ""));
	if (streq(e->kind, "waiver"))
		return waiver_summary(b);
	if (streq(e->kind, "waiver.revoke"))
		return xasprintf("%s: %s is waived no longer: %s", w, json_str_or(b, "subject", ""),
				 json_str_or(b, "reason", ""));
	if (streq(e->kind, "correction"))
		return xasprintf("entry %lld (%s) is wrong: %s",
				 (long long)json_int_or(json_object_get(b, "entry"), "seq", 0),
				 json_str_or(b, "corrects", "?"), json_str_or(b, "reason", ""));
	if (streq(e->kind, "evidence.state"))
		return xasprintf("evidence %.12s is %s: %s",
				 json_str_or(json_object_get(b, "blob"), "digest", ""),
				 json_str_or(b, "state", ""), json_str_or(b, "reason", ""));
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
	int fits;

	if (!shown(l, e))
		return 0;
	fits = fits_component(l, e, err);
	if (fits <= 0)
		return fits;
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
	l->last = (int64_t)e->ref.seq;
	return 0;
}

static int split_component(struct listing *l, struct err *err)
{
	const char *eq = l->c->component ? strchr(l->c->component, '=') : NULL;

	if (!eq)
		return 0;
	l->name = xstrndup(l->c->component, (size_t)(eq - l->c->component));
	l->pattern = xstrdup(eq + 1);
	if (streq(l->pattern, "*") || pin_valid(l->pattern, err) == 0)
		return 0;
	return err_wrap(err, "--component");
}

static int times(const struct log_conf *c, struct ledger_filter *f, struct err *err)
{
	int64_t now = clock_wall_ms();

	if (c->since)
		TRY(when_parse("since", c->since, WHEN_AGO, false, now, &f->since_ms, err));
	if (c->until) {
		TRY(when_parse("until", c->until, WHEN_AGO, true, now, &f->until_ms, err));
		f->until_ms++; /* the moment itself is in */
	}
	return 0;
}

static int log_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	static const char *const verdicts[] = { "verdict", NULL };
	const struct log_conf *c = conf;
	const char *const one[] = { c->kind, NULL };
	struct listing l = { .c = c, .ledger = cli->ledger, .entries = json_array() };
	struct ledger_filter f = { .newest_first = true,
				   .by = c->by,
				   .to = (uint64_t)c->before,
				   .kinds = c->kind      ? one
					    : c->verdict ? verdicts
					    : c->all     ? NULL
							 : usual };
	AUTO_FREE char *name = NULL, *pattern = NULL;
	uint64_t size;
	int rc;

	json_put(v, "entries", l.entries);
	TRY(times(c, &f, err));
	rc = split_component(&l, err);
	name = l.name;
	pattern = l.pattern;
	TRY(rc);
	TRY(ledger_each(cli->ledger, &f, on_entry, &l, err));
	TRY(ledger_size(cli->ledger, &size, NULL, err));
	json_put_int(v, "size", (int64_t)size);
	json_put_bool(v, "more", l.more);
	if (l.more)
		json_put_int(v, "next", l.last);
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
		str_addf(out, "       ... more with --before %lld, all with --limit 0\n",
			 (long long)json_int_or(v, "next", 0));
}

const struct cmd cmd_log = {
	.name = "log",
	.group = GROUP_READ,
	.help = "list what the ledger holds, newest first",
	.flags = CMD_LEDGER_NEED | CMD_PAGED,
	.opts = log_opts,
	.conf_size = sizeof(struct log_conf),
	.run = log_run,
	.text = log_text,
};
