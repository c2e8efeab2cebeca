/* SPDX-License-Identifier: Apache-2.0 */
/* Milliseconds, no workload: is this stack still the accepted one, and inside its pins? */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/text.h"
#include "envelope/envelope.h"
#include "run/run.h"

struct check_conf {
	bool full;
};

static const struct opt check_opts[] = {
	OPT(check_conf, full, .name = "full", .type = OPT_FLAG,
	    .help = "read every byte again instead of trusting the digest cache"),
	{ 0 },
};

static json_t *layers_json(unsigned mask)
{
	json_t *a = json_array();

	for (int i = 0; i < LAYER_N; i++)
		if (mask & 1u << i)
			(void)json_array_append_new(
				a, json_string(check_layer_name((enum check_layer)i)));
	return a;
}

static json_t *reasons_json(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

static void describe(const struct acceptance *a, json_t *v)
{
	json_t *o;

	if (!a)
		return;
	o = json_object();
	json_put_str(o, "run", a->run);
	json_put_str(o, "by", a->who);
	AUTO_FREE char *at = time_utc(a->at_ms);

	json_put_str(o, "at", at);
	json_put_str(o, "note", a->note);
	if (a->expires_ms) {
		AUTO_FREE char *until = time_utc(a->expires_ms);

		json_put_str(o, "expires", until);
	}
	json_put(v, "accepted", o);
}

/* Newest acceptance even when it has lapsed: staleness says so itself. */
static const struct acceptance *newest(const struct acceptances *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].standing == LEDGER_IN_FORCE)
			return &l->v[i];
	return NULL;
}

static const struct waiver *pin_waiver(const struct waivers *l, const struct finding *f)
{
	AUTO_FREE char *subject = xasprintf(WAIVER_PIN "%s", f->component);

	return waivers_for(l, subject, clock_wall_ms());
}

/* Pins as findings; a violated one that is waived says so, and is none of `ret_violated`. */
static json_t *pins_json(const struct findings *f, const struct waivers *l, size_t *ret_violated)
{
	json_t *a = findings_to_json(f);

	*ret_violated = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct waiver *w =
			f->v[i].kind == FINDING_VIOLATED ? pin_waiver(l, &f->v[i]) : NULL;

		*ret_violated += f->v[i].kind == FINDING_VIOLATED && !w;
		if (w) {
			AUTO_FREE char *text = waiver_text(w);

			json_put_str(json_array_get(a, i), "waived", text);
		}
	}
	return a;
}

/* Those that count or wait, and those that ended under the acceptance. */
static json_t *waivers_json(const struct waivers *l)
{
	int64_t now = clock_wall_ms();
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		enum waiver_state s = waiver_state(&l->v[i], now);

		if (s == WAIVER_IN_FORCE || s == WAIVER_PENDING)
			(void)json_array_append_new(a, waiver_json(&l->v[i], now));
	}
	return a;
}

struct last {
	const char *workload;
	json_t *ret;
};

static int on_last(void *arg, const struct ledger_entry *e, struct err *err)
{
	static const char *const members[] = { "component", "layer", "owner", "confidence",
					       "trigger" };
	struct last *l = arg;
	const json_t *a = json_object_get(e->body, "attribution");
	const json_t *w = json_object_get(e->body, "watch");

	(void)err;
	if (!streq(json_str_or(e->body, "workload", ""), l->workload))
		return 0;
	l->ret = json_object();
	json_put_str(l->ret, "run", json_str_or(e->body, "run", ""));
	json_put_str(l->ret, "at", e->at);
	json_put_str(l->ret, "verdict",
		     json_str_or(json_object_get(e->body, "decision"), "verdict", "unknown"));
	json_put_str(l->ret, "stack_digest", json_str_or(e->body, "stack_digest", ""));
	for (size_t i = 0; a && i < ARRAY_SIZE(members); i++)
		json_put_str(l->ret, members[i], json_str_or(a, members[i], NULL));
	if (w)
		json_put_bool(l->ret, "watch_alarm", json_bool_or(w, "alarm", false));
	return 1;
}

/* The newest verdict of this workload: what to do when the stack is not accepted begins there. */
static int last_run(struct cli *cli, const struct stack *now, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "verdict", NULL };
	struct ledger_filter f = { .kinds = kinds, .newest_first = true };
	struct last l = { .workload = cli->contract.workload.name };
	char digest[65];

	if (!cli->ledger)
		return 0;
	TRY(ledger_each(cli->ledger, &f, on_last, &l, err));
	if (!l.ret)
		return 0;
	stack_digest(now, digest);
	json_put_bool(l.ret, "this_stack", streq(json_str_or(l.ret, "stack_digest", ""), digest));
	json_put(v, "last_run", l.ret);
	return 0;
}

static void last_text(const json_t *l, struct str *out)
{
	if (!l)
		return;
	str_addf(out, "  last run: %s%s (run %s, %.16sZ)\n",
		 text_verdict_word(json_str_or(l, "verdict", "")),
		 json_bool_or(l, "this_stack", false) ? "" : ", on another stack",
		 json_str_or(l, "run", ""), json_str_or(l, "at", ""));
	if (json_str_or(l, "component", NULL)) {
		AUTO_FREE char *c = text_clean(sv_of(json_str_or(l, "component", "")));
		AUTO_FREE char *o = text_clean(sv_of(json_str_or(l, "owner", "unknown")));

		str_addf(out, "  because of: %s (layer %s, owner %s, %s); more: twice why\n", c,
			 json_str_or(l, "layer", "unknown"), o, json_str_or(l, "confidence", ""));
	} else if (json_str_or(l, "confidence", NULL)) {
		str_addf(out, "  because of: %s; more: twice why\n",
			 json_str_or(l, "confidence", ""));
	}
	if (json_bool_or(l, "watch_alarm", false))
		str_add(out,
			"  watch: ALARM, it seems to get worse since the acceptance; more: twice "
			"watch\n");
}

static int exit_of(enum standing s, const struct findings *f, size_t violated)
{
	if (violated)
		return 1;
	if (s == STANDING_STALE || s == STANDING_EXPIRED || s == STANDING_NEVER)
		return 1;
	return s == STANDING_UNKNOWN || f->n_unknown ? 2 : 0;
}

static int check_run_cmd(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct check_conf *c = conf;
	struct acceptances list CLEANUP(acceptances_release) = { 0 };
	struct staleness s CLEANUP(staleness_release) = { 0 };
	struct findings pins CLEANUP(findings_release) = { 0 };
	struct stack known CLEANUP(stack_release) = { 0 }, now CLEANUP(stack_release) = { 0 };
	AUTO_FREE char *cache = path_join(cli->ledger_dir, "digests");
	struct run_capture rc = { .contract = &cli->contract,
				  .dir = cli->dir,
				  .quick = !c->full,
				  .tool_version = TWICE_VERSION,
				  .tool_digest = cli_self_digest(cli),
				  .cancel = &cli_cancel };
	struct waivers waivers CLEANUP(waivers_release) = { 0 };
	const struct acceptance *a = NULL;
	int64_t start = clock_ns();
	size_t violated;

	if (cli->ledger) {
		TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &list, err));
		TRY(waivers_read(cli->ledger, cli->contract.workload.name, 0, &waivers, err));
		a = newest(&list);
		rc.cache_path = cache;
	}
	if (a) {
		/* Only what is quick to compare with; run_staleness says what its loss means. */
		if (run_stack_of(cli->ledger, a->intent, &known, err) == 0)
			rc.known = &known;
		else if (err->code != ERR_MISSING)
			return -(int)err->code;
		err_clear(err);
	}
	TRY(run_stack(&rc, &now, err));
	envelope_check(&cli->contract.stack.pins, &now, &pins);
	TRY(run_staleness(cli->ledger, &cli->contract, a, clock_wall_ms(), &now, &s, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "state", standing_name(s.standing));
	json_put(v, "reasons", reasons_json(&s.reasons));
	json_put(v, "changes", changes_to_json(&s.changes));
	json_put(v, "run_again", layers_json(s.standing == STANDING_ACCEPTED ? 0 : s.layers));
	json_put(v, "pins", pins_json(&pins, &waivers, &violated));
	json_put(v, "waivers", waivers_json(&waivers));
	json_put_bool(v, "proven", cli->ledger && acceptances_proven(cli->ledger, &list));
	describe(a, v);
	TRY(last_run(cli, &s.now, v, err));
	json_put_int(v, "took_ns", clock_ns() - start);
	return exit_of(s.standing, &pins, violated);
}

static void waivers_text(const json_t *a, struct str *out)
{
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *w = json_array_get(a, i);
		AUTO_FREE char *reason = text_clean(sv_of(json_str_or(w, "reason", "")));
		AUTO_FREE char *owner = text_clean(sv_of(json_str_or(w, "owner", "")));

		str_addf(out, "  waiver: %s%s%s until %.16sZ, %s (owner %s): %s\n",
			 json_str_or(w, "subject", ""), json_str_or(w, "limit", NULL) ? " " : "",
			 json_str_or(w, "limit", ""), json_str_or(w, "until", ""),
			 json_str_or(w, "state", ""), owner, reason);
	}
}

static void check_text(const json_t *v, struct str *out)
{
	const json_t *reasons = json_object_get(v, "reasons"),
		     *again = json_object_get(v, "run_again");
	const json_t *pins = json_object_get(v, "pins"), *acc = json_object_get(v, "accepted");

	str_addf(out, "%s: %s%s\n", json_str_or(v, "workload", ""), json_str_or(v, "state", ""),
		 json_bool_or(v, "proven", false) ? " (proven: accepted on more than one stack)"
						  : "");
	if (acc) {
		AUTO_FREE char *note = text_clean(sv_of(json_str_or(acc, "note", "")));

		str_addf(out, "  accepted by %s at %s (run %s)%s%s\n", json_str_or(acc, "by", ""),
			 json_str_or(acc, "at", ""), json_str_or(acc, "run", ""),
			 note[0] ? ": " : "", note);
		if (json_str_or(acc, "expires", NULL))
			str_addf(out, "  expires %s\n", json_str_or(acc, "expires", ""));
	}
	for (size_t i = 0; i < json_array_size(reasons); i++) {
		AUTO_FREE char *r =
			text_clean(sv_of(json_string_value(json_array_get(reasons, i))));

		str_addf(out, "  changed: %s\n", r);
	}
	for (size_t i = 0; i < json_array_size(pins); i++) {
		const json_t *p = json_array_get(pins, i);

		if (!streq(json_str_or(p, "finding", json_str_or(p, "kind", "")), "ok"))
			str_addf(out, "  pin: %s%s%s\n", json_str_or(p, "text", ""),
				 json_str_or(p, "waived", NULL) ? "; " : "",
				 json_str_or(p, "waived", ""));
	}
	waivers_text(json_object_get(v, "waivers"), out);
	last_text(json_object_get(v, "last_run"), out);
	if (json_array_size(again)) {
		str_add(out, "  run again:");
		for (size_t i = 0; i < json_array_size(again); i++)
			str_addf(out, " %s", json_string_value(json_array_get(again, i)));
		str_add(out, "\n");
	}
}

const struct cmd cmd_check = {
	.name = "check",
	.group = GROUP_RUN,
	.help = "is this stack still the accepted one? (milliseconds)",
	.about = "For CI gates, prologs and probes. Runs no workload. Exit 0: accepted and inside "
		 "its pins;\n"
		 "1: stale, expired, never accepted, or a pin is violated; 2: something can't be "
		 "read.",
	.flags = CMD_CONTRACT | CMD_LEDGER_READ,
	.opts = check_opts,
	.conf_size = sizeof(struct check_conf),
	.run = check_run_cmd,
	.text = check_text,
};
