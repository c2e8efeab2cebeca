/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the components that changed did it? */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "cli/running.h"
#include "cli/text.h"
#include <math.h>

struct bisect_conf {
	struct strs never;
	const char *metric, *factorial;
	int64_t each, trials;
	int leave;
	bool dry_run, equal, unsupported, again, restore;
};

static const char *const leaves[] = { "found", "accepted", "rejected", NULL };

static const struct opt bisect_opts[] = {
	OPT(bisect_conf, dry_run, .name = "dry-run", .type = OPT_FLAG,
	    .help = "only show the plan and what it will cost"),
	OPT(bisect_conf, metric, .name = "metric", .arg = "NAME", .type = OPT_TEXT,
	    .help = "go by this metric instead of the one that rejected the run; 'failed': by "
		    "whether it failed"),
	OPT(bisect_conf, trials, .name = "trials", .arg = "N", .type = OPT_NUMBER, .def = "40",
	    .min = 2, .max = 1000, .help = "at most N trials, earlier ones included"),
	OPT(bisect_conf, never, .name = "never", .arg = "NAME=WHICH,...", .type = OPT_LIST,
	    .help = "never try these together (WHICH is old or new; may be repeated)"),
	OPT(bisect_conf, unsupported, .name = "unsupported", .type = OPT_FLAG,
	    .help = "try also what a pin forbids or is said not to go together"),
	OPT(bisect_conf, equal, .name = "equal", .type = OPT_FLAG,
	    .help = "suspect all components alike, whatever the attribution says"),
	OPT(bisect_conf, factorial, .name = "factorial", .arg = "A,B", .type = OPT_TEXT,
	    .help = "measure these two alone and together instead of searching"),
	OPT(bisect_conf, each, .name = "each", .arg = "N", .type = OPT_NUMBER, .def = "3", .min = 2,
	    .max = 100, .help = "with --factorial: repetitions of each of the four"),
	OPT(bisect_conf, leave, .name = "leave", .arg = "HOW", .type = OPT_CHOICE, .def = "found",
	    .choices = leaves,
	    .help = "how the machine is left: as found, or with the components "
		    "of the accepted or the rejected run"),
	OPT(bisect_conf, again, .name = "again", .type = OPT_FLAG,
	    .help = "forget the trials of earlier searches"),
	OPT(bisect_conf, restore, .name = "restore", .type = OPT_FLAG,
	    .help = "only put back what a killed search left switched"),
	{ 0 },
};

static int two_of(const char *text, struct strs *ret, struct err *err)
{
	struct sv rest = sv_of(text), part;

	while (sv_split(&rest, ',', &part))
		strs_take(ret, sv_dup(part));
	if (ret->n != 2)
		return bail(err, ERR_USAGE, "--factorial: '%s' is not of the form A,B", text);
	return 0;
}

static int bisect_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct bisect_conf *c = conf;
	struct strs two CLEANUP(strs_release) = { 0 };
	struct run_bisect b = { .run = cli->args.n ? cli->args.v[0] : NULL,
				.metric = c->metric,
				.never = &c->never,
				.each = c->each,
				.max_trials = c->trials,
				.equal = c->equal,
				.unsupported = c->unsupported,
				.again = c->again,
				.plan_only = c->dry_run,
				.restore_only = c->restore,
				.leave = (enum run_leave)c->leave };
	struct run_env env = { 0 };
	int exit_code;

	if (c->restore && (c->dry_run || c->factorial || c->again))
		return bail(err, ERR_USAGE,
			    "--restore only puts back: no --dry-run, --factorial or "
			    "--again beside it");
	if (c->factorial && c->never.n)
		return bail(err, ERR_USAGE, "--factorial tries all four: no --never beside it");
	if (c->factorial) {
		TRY(two_of(c->factorial, &two, err));
		b.a = two.v[0];
		b.b = two.v[1];
	}
	running_env(cli, &env);
	TRY(run_bisect(&env, &b, v, &exit_code, err));
	running_clear_line(cli);
	return exit_code;
}

/* ---- text ---- */

static double e9_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_string(v))
		return streq(json_string_value(v), "-inf") ? -INFINITY : INFINITY;
	return json_is_integer(v) ? (double)json_integer_value(v) / 1e9 : NAN;
}

/* "98 %", "unknown" */
static void add_share(double v, struct str *out)
{
	if (isnan(v))
		str_add(out, "unknown");
	else if (isinf(v))
		str_add(out, v > 0 ? "any" : "none");
	else
		str_addf(out, "%.0f %%", 100 * v);
}

static void add_interval(const json_t *o, const char *low, const char *high, struct str *out)
{
	double lo = e9_of(o, low), hi = e9_of(o, high);

	if (isnan(lo) || isnan(hi) || isinf(lo) || isinf(hi))
		str_add(out, " [cannot be bounded]");
	else
		str_addf(out, " [%.0f, %.0f]", 100 * lo, 100 * hi);
}

static void add_names(const json_t *names, const char *between, struct str *out)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		str_addf(out, "%s%s", i ? between : "",
			 json_string_value(json_array_get(names, i)));
}

static void add_words(const json_t *v, const char *component, struct str *out)
{
	const json_t *l = json_object_get(v, "components");

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *c = json_array_get(l, i);

		if (streq(json_str_or(c, "component", ""), component))
			str_addf(out, "%s %s -> %s", component, json_str_or(c, "old", "?"),
				 json_str_or(c, "new", "?"));
	}
}

static void add_way(const json_t *a, const char *what, const char *way, struct str *out)
{
	AUTO_FREE char *share = xasprintf("%s_e9", way);
	AUTO_FREE char *low = xasprintf("%s_low_e9", way);
	AUTO_FREE char *high = xasprintf("%s_high_e9", way);
	AUTO_FREE char *n = xasprintf("%s_trials", way);

	str_addf(out, "  %-42s ", what);
	if (!json_int_or(a, n, 0)) {
		str_add(out, "not tried\n");
		return;
	}
	add_share(e9_of(a, share), out);
	add_interval(a, low, high, out);
	str_addf(out, " of the loss, %lld trials\n", (long long)json_int_or(a, n, 0));
}

static bool is_among(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (streq(json_string_value(json_array_get(names, i)), name))
			return true;
	return false;
}

/* The share of each of a pair as believed, and what is the most that any other can have. */
static void text_each(const json_t *v, const json_t *names, struct str *out)
{
	const json_t *l = json_object_get(v, "components");
	size_t others = json_array_size(l) - json_array_size(names);
	double most = 0;

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *c = json_array_get(l, i);
		const char *name = json_str_or(c, "component", "");

		if (!is_among(names, name)) {
			most = fmax(most, e9_of(c, "high_e9"));
			continue;
		}
		if (json_array_size(names) < 2)
			continue;
		str_addf(out, "  %s itself: ", name);
		add_share(e9_of(c, "share_e9"), out);
		add_interval(c, "low_e9", "high_e9", out);
		str_add(out, " of the loss\n");
	}
	if (others)
		str_addf(out, "  %s: at most %.0f %% of the loss\n",
			 others == 1 ? "the other one" : "each of the others", 100 * most);
}

static void text_found(const json_t *v, struct str *out)
{
	const json_t *a = json_object_get(v, "answer"), *names = json_object_get(a, "components");
	const char *kind = json_str_or(a, "kind", "");

	add_names(names, streq(kind, "and") ? " together with " : " and ", out);
	str_add(out, ": share ");
	add_share(e9_of(a, "share_e9"), out);
	add_interval(a, "low_e9", "high_e9", out);
	str_addf(out, ", %.1f %% sure\n", 100 * e9_of(a, "posterior_e9"));
	for (size_t i = 0; i < json_array_size(names); i++) {
		str_add(out, "  ");
		add_words(v, json_string_value(json_array_get(names, i)), out);
		str_add(out, "\n");
	}
	if (streq(kind, "and"))
		str_add(out, "  neither alone is enough: both are needed for the loss\n");
	if (streq(kind, "add"))
		str_add(out, "  each of them brings about half of the loss\n");
	add_way(a, "forward, only new there:", "forward", out);
	add_way(a, "back, all new but there:", "back", out);
	text_each(v, names, out);
}

static void text_suspects(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "components");

	str_add(out, "  component             probability  share of the loss\n");
	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *c = json_array_get(l, i);

		str_addf(out, "  %-22s %8.1f %%  ", json_str_or(c, "component", ""),
			 100 * e9_of(c, "posterior_e9"));
		add_share(e9_of(c, "share_e9"), out);
		add_interval(c, "low_e9", "high_e9", out);
		str_addf(out, "  %s -> %s\n", json_str_or(c, "old", ""), json_str_or(c, "new", ""));
	}
}

/* "  not tried: torch new (2.8) with rocm old (6.2): ... (AMD, ...)" */
static void text_refused(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "refused");
	size_t all = json_array_size(json_object_get(v, "components"));
	int64_t left = json_int_or(v, "configurations_left", -1);
	bool liftable = false;

	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *r = json_array_get(l, i), *t = json_object_get(r, "together");

		str_add(out, "  not tried: ");
		for (size_t k = 0; k < json_array_size(t); k++) {
			const json_t *c = json_array_get(t, k);

			str_addf(out, "%s%s %s (%s)", k ? " with " : "",
				 json_str_or(c, "component", ""), json_str_or(c, "which", ""),
				 json_str_or(c, "word", ""));
		}
		str_addf(out, ": %s (%s)\n", json_str_or(r, "why", ""),
			 json_str_or(r, "source", ""));
		liftable |= !streq(json_str_or(r, "source", ""), "--never");
	}
	if (json_array_size(l) && left >= 0)
		str_addf(out, "  that leaves %lld of %.0f combinations%s\n", (long long)left,
			 exp2((double)all),
			 liftable ? "; --unsupported tries them all the same" : "");
}

static void text_trials(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "trials");
	const char *unit = json_str_or(v, "unit", "none");
	size_t all = json_array_size(json_object_get(v, "components"));

	if (json_array_size(l))
		str_add(out, "trials\n");
	for (size_t i = 0; i < json_array_size(l); i++) {
		const json_t *t = json_array_get(l, i), *names = json_object_get(t, "new");
		AUTO_FREE char *value = text_value(json_object_get(t, "value"), unit);
		bool ok = json_object_get(t, "value") != NULL;

		str_addf(out, "  %2zu %-9s %-14s new: ", i + 1, json_str_or(t, "why", ""),
			 ok ? value : json_str_or(t, "state", ""));
		if (json_array_size(names) == all)
			str_add(out, "all");
		else if (!json_array_size(names))
			str_add(out, "none");
		else
			add_names(names, " ", out);
		if (json_str_or(t, "reason", NULL)) {
			AUTO_FREE char *reason = text_clean(sv_of(json_str_or(t, "reason", "")));

			str_addf(out, " (%s)", reason);
		}
		str_add(out, "\n");
	}
}

static void add_cost(const json_t *o, const char *name, const char *currency, struct str *out)
{
	AUTO_FREE char *ns = xasprintf("%s_ns", name);
	AUTO_FREE char *money = xasprintf("%s_cost_e9", name);
	AUTO_FREE char *key = xasprintf("%s_e9", name);

	str_addf(out, "%.0f trials", e9_of(o, key));
	if (json_object_get(o, ns)) {
		AUTO_FREE char *took = duration_text(json_int_or(o, ns, 0));

		str_addf(out, ", %s", took);
	}
	if (json_object_get(o, money))
		str_addf(out, ", %.4g %s", e9_of(o, money), currency);
}

static void text_plan(const json_t *v, struct str *out)
{
	const json_t *p = json_object_get(v, "plan"), *expect = json_object_get(p, "expect");
	const char *currency = json_str_or(p, "currency", "");

	if (!json_object_get(p, "missing_e9") && !json_array_size(expect))
		return;
	if (json_object_get(p, "missing_e9")) {
		str_add(out, "plan: each alone, both, neither; still to do: ");
		add_cost(p, "missing", currency, out);
		str_add(out, "\n");
		return;
	}
	str_add(out, "plan, confirmation included\n");
	for (size_t i = 0; i < json_array_size(expect); i++) {
		const json_t *x = json_array_get(expect, i);
		const char *kind = json_str_or(x, "kind", "");

		str_addf(out, "  %-32s ",
			 streq(kind, "one")   ? "if one component did it:"
			 : streq(kind, "and") ? "if it takes both of a pair:"
					      : "if two brought half each:");
		add_cost(x, "trials", currency, out);
		str_addf(out, " (named in %.0f of 100)\n", 100 * e9_of(x, "found_e9"));
	}
	str_addf(out, "  %-32s ", "at most:");
	add_cost(p, "most", currency, out);
	str_add(out, "\n");
	if (json_object_get(p, "next")) {
		str_addf(out, "  next (%s): ", json_str_or(p, "next_why", ""));
		if (json_array_size(json_object_get(p, "next")))
			add_names(json_object_get(p, "next"), " ", out);
		else
			str_add(out, "none");
		str_add(out, " new\n");
	}
}

static void add_effect(const json_t *f, const char *name, const char *label, struct str *out)
{
	AUTO_FREE char *half = xasprintf("%s_half_e9", name);
	AUTO_FREE char *value = xasprintf("%s_e9", name);
	double v = e9_of(f, value), h = e9_of(f, half);

	str_addf(out, "  %-24s %+.1f +- %.1f %%%s\n", label, 100 * v, 100 * h,
		 fabs(v) > h ? "" : "  (could be nothing)");
}

static void text_factorial(const json_t *v, struct str *out)
{
	const json_t *f = json_object_get(v, "factorial"), *cells = json_object_get(f, "cells");
	AUTO_FREE char *a = xasprintf("%s alone:", json_str_or(f, "a", ""));
	AUTO_FREE char *b = xasprintf("%s alone:", json_str_or(f, "b", ""));

	if (!json_bool_or(f, "complete", false)) {
		str_add(out, "the full plan of two is not complete yet:");
		for (size_t i = 0; i < json_array_size(cells); i++)
			str_addf(out, " %lld",
				 (long long)json_int_or(json_array_get(cells, i), "n", 0));
		str_add(out, " values of neither, the first, the second, both\n");
		return;
	}
	str_add(out, "worse by (logarithm, with 95 % intervals)\n");
	add_effect(f, "a", a, out);
	add_effect(f, "b", b, out);
	add_effect(f, "interaction", "more than both added:", out);
}

static void text_head(const json_t *v, struct str *out)
{
	str_addf(out, "%s: run %s against %s by %s, %zu component%s\n",
		 json_str_or(v, "workload", ""), json_str_or(v, "rejected_run", ""),
		 json_str_or(v, "accepted_run", ""), json_str_or(v, "metric", ""),
		 json_array_size(json_object_get(v, "components")),
		 json_array_size(json_object_get(v, "components")) == 1 ? "" : "s");
}

static void text_restored(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "words");

	if (streq(json_str_or(v, "state", ""), "nothing_to_restore"))
		str_add(out, "every search put back what it had switched\n");
	for (size_t i = 0; i < json_array_size(l); i++)
		str_addf(out, "put back: %s %s\n", json_str_or(json_array_get(l, i), "name", ""),
			 json_str_or(json_array_get(l, i), "value", ""));
}

/* What is known before anything is tried; the state of the answer that is there already. */
static const char *text_so_far(const json_t *v, struct str *out)
{
	const json_t *s = json_object_get(v, "so_far");
	const char *search = json_str_or(s, "search", "none"), *state = json_str_or(s, "state", "");
	long long trials = (long long)json_int_or(s, "trials", 0);

	if (streq(search, "running"))
		str_addf(out, "a search (%s) is going on here\n", json_str_or(s, "run", ""));
	if (streq(search, "not ended"))
		str_addf(out,
			 "the search %s has no end: it goes on elsewhere or was killed; then "
			 "'twice bisect' or --restore puts back what it switched\n",
			 json_str_or(s, "run", ""));
	if (!streq(state, "open")) {
		if (trials)
			str_addf(out, "answered already by %lld trial%s", trials,
				 trials == 1 ? "" : "s");
		else
			str_add(out, "before any trial");
		if (json_object_get(s, "seq"))
			str_addf(out, ", entry %lld", (long long)json_int_or(s, "seq", 0));
		str_add(out, ":\n");
		return state;
	}
	return "planned";
}

static void text_not_restored(const json_t *v, struct str *out)
{
	const json_t *l = json_object_get(v, "state_unknown");

	str_addf(out, "NOT PUT BACK as it was found: %s\n", json_str_or(v, "not_restored", ""));
	if (json_array_size(l)) {
		str_add(out, "what is in place is unknown of: ");
		add_names(l, ", ", out);
		str_add(out, "\n");
	}
	str_add(out, "'twice bisect --restore' tries again\n");
}

static void bisect_text(const json_t *v, struct str *out)
{
	const char *state = json_str_or(v, "state", "");
	const json_t *missing = json_object_get(v, "no_switch_for");
	const json_t *still = json_object_get(v, "still_different");
	const char *further = json_str_or(json_object_get(v, "so_far"), "further", NULL);

	if (json_object_get(v, "words")) {
		text_restored(v, out);
		return;
	}
	text_head(v, out);
	if (streq(state, "planned"))
		state = text_so_far(v, out);
	if (streq(state, "found"))
		text_found(v, out);
	else if (streq(state, "outside"))
		str_add(out, "none of these components: all old is as bad now, look outside the "
			     "list\n");
	else if (streq(state, "vanished"))
		str_add(out, "none of these components: all new is as good now, it does not "
			     "reproduce\n");
	else if (streq(state, "undetermined"))
		str_addf(out, "undetermined: %s\n", json_str_or(v, "reason", ""));
	else if (streq(state, "interrupted"))
		str_add(out, "interrupted: the trials are kept, 'twice bisect' goes on\n");
	if (json_object_get(v, "factorial"))
		text_factorial(v, out);
	if (!streq(state, "found") && !streq(state, "factorial"))
		text_suspects(v, out);
	/* Once all was old, what still differed is known; before, only names can be compared. */
	for (size_t i = 0; !still && i < json_array_size(missing); i++)
		str_addf(out, "  no switch of that name, perhaps of another: %s\n",
			 json_string_value(json_array_get(missing, i)));
	for (size_t i = 0; i < json_array_size(still); i++)
		str_addf(out, "  different in every trial: %s\n",
			 json_string_value(json_array_get(still, i)));
	text_refused(v, out);
	text_trials(v, out);
	if (further)
		str_addf(out, "a further search would add: %s\n", further);
	if (json_object_get(v, "plan"))
		text_plan(v, out);
	if (json_str_or(v, "not_restored", NULL))
		text_not_restored(v, out);
}

const struct cmd cmd_bisect = {
	.name = "bisect",
	.group = GROUP_RUN,
	.args = "[RUN]",
	.max_args = 1,
	.help = "find the component that made a rejected run worse",
	.about = "Switches what changed back and forth by the contract's switches, alone and "
		 "together, and\n"
		 "measures, until one component or a pair is known to have done it. Ctrl-C puts "
		 "everything\n"
		 "back; the next bisect of the run goes on.",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED | CMD_LEDGER_WRITE,
	.opts = bisect_opts,
	.conf_size = sizeof(struct bisect_conf),
	.run = bisect_run,
	.text = bisect_text,
};
