/* SPDX-License-Identifier: Apache-2.0 */
#include "run/arms.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/vec.h"
#include "run/bisecting.h"

void arms_release(struct going *g)
{
	for (size_t i = 0; i < g->arms.n; i++) {
		free(g->arms.v[i].accepted);
		free(g->arms.v[i].found);
	}
	free(g->arms.v);
	stack_release(&g->arms.candidate);
	strs_release(&g->arms.leaves);
	g->arms = (struct arms){ 0 };
}

/* ---- what alternates ---- */

static const char *word_of(const json_t *words, const char *name)
{
	for (size_t i = 0; i < json_array_size(words); i++) {
		const json_t *o = json_array_get(words, i);

		if (streq(json_str_or(o, "name", ""), name))
			return json_str_or(o, "value", NULL);
	}
	return NULL;
}

static int find_switches(struct going *g, struct err *err)
{
	const struct contract *c = g->env->contract;
	struct intent in CLEANUP(intent_release) = { 0 };

	TRY(intent_read(g->env->ledger, g->accepted->intent, &in, err));
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const struct stack_switch *sw = &c->stack.switches.v[i];
		const char *then = word_of(in.switches, sw->name);
		AUTO_FREE char *now = NULL;

		if (!then)
			continue;
		if (run_switch_get(c, g->env->dir, sw, &now, err) < 0)
			return err_wrap(err, "switch '%s'", sw->name);
		if (!streq(now, then))
			*VEC_ADD(&g->arms) =
				(struct arm_switch){ sw->name, xstrdup(then), STEAL(now) };
	}
	if (g->arms.n)
		return 0;
	bail(err, ERR_UNSUPPORTED,
	     "nothing that changed since it was accepted has a switch: there "
	     "is no way to alternate");
	err_hint(err, "Give the components that changed a command in stack.switch, see "
		      "twice-contract(5).");
	return -ERR_UNSUPPORTED;
}

static int may_alternate(const struct going *g, struct err *err)
{
	const struct contract *c = g->env->contract;

	if (!g->accepted)
		return bail(err, ERR_UNSUPPORTED,
			    "'%s' was never accepted: there is nothing to alternate with",
			    c->workload.name);
	if (!streq(g->accepted->contract_digest, c->digest))
		return bail(err, ERR_UNSUPPORTED,
			    "the contract has changed since '%s' was accepted: accept a run under "
			    "this one first",
			    c->workload.name);
	if (streq(g->accepted->stack_digest, g->stack_digest))
		return bail(err, ERR_UNSUPPORTED,
			    "the stack in place is the accepted one: there is nothing to alternate "
			    "with");
	if (g->before_lost)
		return bail(
			err, ERR_UNSUPPORTED,
			"what the accepted stack was is gone: it can't be told whether it runs");
	if (c->repeat.at_most < ARMS_MIN)
		return bail(err, ERR_UNSUPPORTED,
			    "repeat.at_most is %lld: alternating decides from %d pairs on",
			    (long long)c->repeat.at_most, ARMS_MIN);
	return 0;
}

/* By the bank as it is: the pairs themselves come in its place. */
static void tell_plan(const struct going *g)
{
	const struct reps *l = &g->judge.bank;
	AUTO_FREE double *v = xcalloc(l->n, sizeof(*v));
	AUTO_FREE char *least = NULL;
	AUTO_FREE char *most = NULL;
	int64_t pairs = MIN(g->env->contract->repeat.at_most, (int64_t)ARMS_MAX);
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].took_ns > 0)
			v[n++] = 2 * (double)l->v[i].took_ns;
	if (n) {
		double each = median(v, n);

		least = duration_text((int64_t)(each * ARMS_MIN));
		most = duration_text((int64_t)(each * (double)pairs));
	}
	going_note(
		g,
		"alternating with the accepted stack: %d pairs of repetitions at least%s%s, %lld "
		"at most%s%s, and switching",
		ARMS_MIN, least ? ", " : "", least ? least : "", (long long)pairs, most ? ", " : "",
		most ? most : "");
}

int arms_left(struct going *g, struct err *err)
{
	const struct contract *c = g->env->contract;
	struct earlier e CLEANUP(earlier_release) = { 0 };

	TRY(earlier_read(g->env->ledger, c, NULL, &e, err));
	if (!e.found)
		return 0;
	if (!g->env->interleave) {
		going_note(
			g,
			"%s was killed, and what it had switched was not put back: 'twice bisect "
			"--restore' does that",
			e.unrestored);
		return 0;
	}
	going_note(g, "%s was killed: what it had switched is put back first", e.unrestored);
	for (size_t i = 0; i < c->stack.switches.n; i++) {
		const char *to = word_of(e.found, c->stack.switches.v[i].name);
		AUTO_FREE char *word = xstrdup(to);
		struct switch_step s = { .component = c->stack.switches.v[i].name, .to = word };

		if (to)
			TRY(run_switch(c, g->env->dir, &s, g->env->cancel, err));
	}
	return 0;
}

int arms_find(struct going *g, struct err *err)
{
	AUTO_FREE char *golden = NULL;
	size_t earlier;

	TRY(may_alternate(g, err));
	TRY(find_switches(g, err));
	TRY(random_bytes(&g->arms.seed, sizeof(g->arms.seed), err));
	g->arms.seed >>= 16; /* an entry has integers up to 2^53 */
	tell_plan(g);
	TRY(going_golden(g, &golden, err)); /* of what was accepted */
	g->judge.interleaved = true;
	reps_release(&g->judge.bank);
	reps_release(&g->judge.cand);
	strs_release(&g->intents);
	if (!g->env->new_series)
		TRY(series_intents(g->env->ledger, g->env->contract->workload.name,
				   g->env->contract->digest, g->stack_digest, g->accepted->signoff,
				   0, g->as_of, &g->intents, err));
	TRY(series_reps(g->env->ledger, &g->intents, &g->judge.cand, NULL, err));
	TRY(series_arms(g->env->ledger, &g->intents, &g->judge.bank, &g->arms.leaves,
			&g->arms.failed, err));
	g->reps_before = g->judge.cand.n;
	earlier = MIN(g->judge.cand.n, g->judge.bank.n);
	if (g->reps_before)
		going_note(g, "%zu pair%s of these two stacks already: the series goes on", earlier,
			   earlier == 1 ? "" : "s");
	return 0;
}

void arms_announce(const struct going *g, json_t *body)
{
	json_t *found = json_array();

	for (size_t i = 0; i < g->arms.n; i++)
		(void)json_array_append_new(found, json_pack("{s:s,s:s}", "name", g->arms.v[i].name,
							     "value", g->arms.v[i].found));
	json_put_str(body, "design", ARMS_DESIGN);
	json_put_int(body, "order_seed", (int64_t)g->arms.seed);
	json_put(body, "found", found);
}

/* ---- going from one to the other ---- */

static int set_words(struct going *g, bool accepted, const volatile int *cancel, struct err *err)
{
	const struct run_env *env = g->env;

	g->arms.away = true;
	for (size_t i = 0; i < g->arms.n; i++) {
		struct arm_switch *a = &g->arms.v[i];
		struct switch_step s = { .component = a->name,
					 .to = accepted ? a->accepted : a->found };

		if (run_switch(env->contract, env->dir, &s, cancel, err) < 0) {
			if (cancel && *cancel)
				return bail(err, ERR_INTERRUPTED, "interrupted while switching");
			return -(int)err->code;
		}
	}
	return 0;
}

/* What is captured now, against what this arm is; *ret: how it differs, NULL: it doesn't. */
static int compare_arm(const struct going *g, bool accepted, char **ret)
{
	struct changes l CLEANUP(changes_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	size_t n = 0;

	stack_diff(accepted ? &g->before : &g->arms.candidate, &g->stack, &l);
	for (size_t i = 0; i < l.n; i++) {
		AUTO_FREE char *one = l.v[i].material ? change_text(&l.v[i]) : NULL;

		if (one && n++ < 3)
			str_addf(&text, "%s%s", text.n ? "; " : "", one);
	}
	if (n > 3)
		str_addf(&text, "; and %zu more", n - 3);
	*ret = n ? str_steal(&text) : NULL;
	return (int)n;
}

static int go_to(struct going *g, bool accepted, char **ret_differs, struct err *err)
{
	struct strs kept CLEANUP(strs_release) = { 0 };
	int rc;

	TRY(set_words(g, accepted, g->env->cancel, err));
	strs_copy(&kept, &g->mismatches); /* a capture forgets them */
	rc = going_capture(g, err);
	strs_copy(&g->mismatches, &kept);
	TRY(rc);
	(void)compare_arm(g, accepted, ret_differs);
	return 0;
}

int arms_try(struct going *g, struct err *err)
{
	AUTO_FREE char *there = NULL;
	AUTO_FREE char *back = NULL;

	g->arms.candidate = g->stack;
	g->stack = (struct stack){ 0 };
	memcpy(g->arms.candidate_digest, g->stack_digest, 65);
	TRY(go_to(g, true, &there, err));
	if (there) {
		bail(err, ERR_UNSUPPORTED,
		     "with every switch back it is not the accepted stack: %s", there);
		err_hint(err, "What differs needs a switch of its own, or has to be put back by "
			      "hand; 'twice run' without --interleave compares with the kept "
			      "repetitions.");
		return -ERR_UNSUPPORTED;
	}
	TRY(go_to(g, false, &back, err));
	if (back)
		return bail(err, ERR_BROKEN,
			    "after switching there and back it is not the stack that was found: %s",
			    back);
	return 0;
}

void arms_put_back(struct going *g)
{
	struct err err = ERR_INIT;

	if (!g->arms.on)
		return;
	g->arms.restored = !g->arms.away || set_words(g, false, NULL, &err) == 0;
	g->arms.away = !g->arms.restored;
	if (!g->arms.restored)
		going_note(g,
			   "the machine is not as it was found: %s ('twice bisect --restore' tries "
			   "again)",
			   err.msg);
	if (!g->arms.candidate_digest[0])
		return; /* not captured anew since */
	stack_release(&g->stack);
	g->stack = g->arms.candidate;
	g->arms.candidate = (struct stack){ 0 };
	memcpy(g->stack_digest, g->arms.candidate_digest, 65);
	g->arms.candidate_digest[0] = '\0';
}

/* ---- the pairs ---- */

static size_t good(const struct reps *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].state == REP_OK;
	return n;
}

static int one(struct going *g, bool accepted, size_t pair, size_t pairs, size_t step,
	       struct err *err)
{
	AUTO_FREE char *what = xasprintf("pair %zu of %zu, %s stack", pair + 1, pairs,
					 accepted ? "accepted" : "new");
	AUTO_FREE char *differs = NULL;
	struct reps *l = &g->judge.bank;

	TRY(go_to(g, accepted, &differs, err));
	if (differs)
		strs_addf(&g->mismatches, "the %s stack was another one in pair %zu: %s",
			  accepted ? "accepted" : "new", pair + 1, differs);
	TRY(going_rep(g, accepted ? ARMS_ACCEPTED : ARMS_OTHER, what, step, 2 * pairs, err));
	if (accepted)
		strs_add(&g->arms.leaves, l->v[l->n - 1].leaf);
	if (!accepted || l->v[l->n - 1].state == REP_OK)
		return 0;
	/* Only what is good stands against the candidate. */
	g->arms.failed += l->v[l->n - 1].state == REP_FAILED;
	rep_release(&l->v[--l->n]);
	return 0;
}

/* The accepted stack that fails in the same session is not what was accepted. */
static void judge_failed(struct going *g)
{
	const struct contract *c = g->env->contract;
	bool told = false;

	for (size_t i = 0; i < g->mismatches.n; i++)
		told = told || str_starts(g->mismatches.v[i], "the accepted stack failed");
	if ((int64_t)g->arms.failed > c->gates.max_failed && !told)
		strs_addf(&g->mismatches,
			  "the accepted stack failed too, %zu time%s in this session: it is not "
			  "what was accepted",
			  g->arms.failed, g->arms.failed == 1 ? "" : "s");
}

int arms_repetitions(struct going *g, struct verdict *v, struct err *err)
{
	const struct contract *c = g->env->contract;
	size_t most = (size_t)MIN(c->repeat.at_most, (int64_t)ARMS_MAX);
	struct rng rng = { g->arms.seed };
	size_t spare = 2; /* repetitions of the accepted stack in the place of failed ones */

	if (g->env->max_reps)
		most = MIN(most, g->reps_before + (size_t)g->env->max_reps);
	if (g->judge.cand.n) {
		judge_failed(g);
		TRY(going_decide_reps(g, v, err));
	}
	while (!v->final && g->judge.cand.n < most) {
		size_t pair = g->judge.cand.n, planned = MAX((size_t)ARMS_MIN, pair + 1);
		bool accepted_first = rng_below(&rng, 2) == 0;

		if (v->more)
			planned = MAX(planned, pair + v->more);
		planned = MIN(planned, most);
		g->reps_planned = (int64_t)planned;
		TRY(one(g, accepted_first, pair, planned, 2 * pair, err));
		TRY(one(g, !accepted_first, pair, planned, 2 * pair + 1, err));
		for (; spare && good(&g->judge.bank) < good(&g->judge.cand); spare--)
			TRY(one(g, true, pair, planned, 2 * pair + 1, err));
		judge_failed(g);
		TRY(going_decide_reps(g, v, err));
	}
	return 0;
}
