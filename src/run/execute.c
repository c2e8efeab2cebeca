/* SPDX-License-Identifier: Apache-2.0 */
/* One run from its intent to its verdict. */
#include "run/arms.h"
#include "run/attribute.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include <unistd.h>

void run_done_release(struct run_done *d)
{
	json_decref(d->verdict);
	*d = (struct run_done){ 0 };
}

/* ---- layers ---- */

static bool layer_wanted(const struct run_env *env, enum check_layer l)
{
	return !env->layers || (env->layers & 1u << l);
}

static int record_outcomes(struct going *g, const struct outcomes *l, size_t from, struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	json_t *a = json_array();
	struct ledger_ref ref;

	for (size_t i = from; i < l->n; i++)
		(void)json_array_append_new(a, outcome_to_json(&l->v[i]));
	json_put_str(body, "scope", "checks");
	json_put_str(body, "run", g->run);
	json_put(body, "of", run_ref(g->intent.hex));
	json_put(body, "outcomes", a);
	TRY(run_append(g->env, "run.result", body, &ref, err));
	strs_add(&g->check_leaves, ref.hex);
	return 0;
}

static int one_check(struct going *g, const struct contract_check *k, struct outcomes *l,
		     struct err *err)
{
	AUTO_FREE char *label = contract_check_label(k);
	AUTO_FREE char *work = NULL;
	struct going_part part = { .g = g, .layer = k->layer, .what = label, .steps = 1 };
	struct check_ctx ctx = going_ctx(&part);
	struct outcome *o;

	TRY(going_folder(g, label, &work, err));
	ctx.work = work;
	o = VEC_ADD(l);
	if (check_run(&ctx, k, o, err) < 0) {
		outcome_release(o);
		l->n--;
		return -(int)err->code;
	}
	TRY(run_put_evidence(g->env, &o->evidence, err));
	if (!o->owner && o->result == RESULT_FAIL)
		o->owner = xstrdup(
			contract_owner(g->env->contract, CL_HOST, check_layer_name(k->layer)));
	if (g->env->outcome)
		g->env->outcome(g->env->arg, o);
	return 0;
}

static void not_run(const struct contract_check *k, const char *why, struct outcomes *l)
{
	struct outcome *o = VEC_ADD(l);

	o->check = contract_check_label(k);
	o->layer = k->layer;
	o->required = k->required;
	o->result = RESULT_SKIP;
	o->reason = xstrdup(why);
}

/* All checks of the layers from..to. *stopped: a required one did not pass, later layers are
 * skipped. */
static int layers(struct going *g, enum check_layer from, enum check_layer to, bool *stopped,
		  struct err *err)
{
	const struct contract *c = g->env->contract;
	struct outcomes *l = &g->judge.outcomes;
	size_t first = l->n;
	enum check_layer bad = LAYER_N;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->checks.n; i++) {
		const struct contract_check *k = &c->checks.v[i];

		if (k->layer < from || k->layer > to)
			continue;
		if (!layer_wanted(g->env, k->layer)) {
			not_run(k, "left out by --layer", l);
		} else if (*stopped && bad != k->layer && !g->env->keep_going) {
			not_run(k, "an earlier layer did not pass", l);
		} else {
			rc = one_check(g, k, l, err);
			if (rc == 0 && k->required && l->v[l->n - 1].result != RESULT_PASS &&
			    !judge_waiver(&g->judge, l->v[l->n - 1].check)) {
				*stopped = true;
				bad = k->layer;
			}
		}
	}
	if (l->n > first) {
		struct err lost = ERR_INIT;

		if (record_outcomes(g, l, first, rc < 0 ? &lost : err) < 0 && rc == 0)
			rc = -(int)err->code;
	}
	return rc;
}

/* Earlier repetitions of the series must not speak for a run that made none. */
static int no_workload(struct going *g, struct err *err)
{
	struct outcomes *l = &g->judge.outcomes;
	struct outcome *o = VEC_ADD(l);

	o->check = xstrdup("workload/repetitions");
	o->layer = LAYER_WORKLOAD;
	o->required = true;
	o->result = RESULT_SKIP;
	o->reason = xstrdup("left out by --layer");
	going_note(g, "the workload layer was left out: this run can't be accepted");
	return record_outcomes(g, l, l->n - 1, err);
}

/* ---- the end ---- */

static int end_run(struct going *g, const char *state, struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;

	json_put_str(body, "scope", "run");
	json_put_str(body, "run", g->run);
	json_put(body, "intent", run_ref(g->intent.hex));
	json_put_str(body, "state", state);
	if (g->arms.on)
		json_put_bool(body, "restored", g->arms.restored);
	json_put_int(body, "took_ns", clock_ns() - g->started_ns);
	return run_append(g->env, "run.result", body, &ref, err);
}

static json_t *refs(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, run_ref(l->v[i]));
	return a;
}

static json_t *rep_refs(const struct reps *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].leaf[0])
			(void)json_array_append_new(a, run_ref(l->v[i].leaf));
	return a;
}

/* A run on the accepted stack: all repetitions since the acceptance, which never decide. */
static int watch(struct going *g, json_t *body, struct err *err)
{
	struct verdict_watch w CLEANUP(verdict_watch_release) = { 0 };

	if (!g->accepted || !streq(g->accepted->stack_digest, g->stack_digest) ||
	    !streq(g->accepted->contract_digest, g->env->contract->digest))
		return 0;
	if (run_watch(g->env->ledger, g->env->contract, g->accepted, &w, err) < 0) {
		if (err->code != ERR_MISSING)
			return -(int)err->code;
		going_note(g, "not watched: %s", err->msg);
		err_clear(err);
		return 0;
	}
	json_put(body, "watch", run_watch_json(&w));
	return 0;
}

static int record_verdict(struct going *g, const struct verdict *v, struct run_done *ret,
			  struct err *err)
{
	const struct contract *c = g->env->contract;
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;

	json_put_str(body, "run", g->run);
	json_put_str(body, "workload", c->workload.name);
	json_put(body, "intent", run_ref(g->intent.hex));
	json_put(body, "contract", run_ref(c->digest));
	json_put(body, "stack", run_ref(g->capture));
	json_put_str(body, "stack_digest", g->stack_digest);
	if (g->accepted)
		json_put(body, "accepted", run_ref(g->accepted->signoff));
	json_put(body, "checks", refs(&g->check_leaves));
	json_put(body, "reps", rep_refs(&g->judge.cand));
	if (g->arms.on) {
		json_put_str(body, "design", ARMS_DESIGN);
		json_put_int(body, "order_seed", (int64_t)g->arms.seed);
		json_put(body, "bank", refs(&g->arms.leaves));
	}
	json_put(body, "series", refs(&g->intents));
	json_put(body, "mismatches", refs_text(&g->mismatches));
	json_put(body, "decision", verdict_to_json(v));
	json_put(body, "waivers", waivers_refs(&g->judge.waivers));
	json_put_str(body, "run_by", g->env->run_by);
	json_put_str(body, "tool_version", g->env->tool_version);
	run_attribute(g, v, body);
	TRY(watch(g, body, err));
	TRY(run_append(g->env, "verdict", body, &ref, err));
	memcpy(ret->verdict_leaf, ref.hex, 65);
	ret->verdict = json_incref(body);
	ret->kind = v->kind;
	return 0;
}

static int checkpoint(struct going *g, struct err *err)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	size_t left;

	TRY(ledger_land(g->env->ledger, &left, err));
	if (left) {
		going_note(g,
			   "the ledger can't be reached: %zu entries wait in '%s' and land with "
			   "the next command",
			   left, ledger_dir(g->env->ledger));
		return 0;
	}
	return ledger_checkpoint(g->env->ledger, &cp, err);
}

static int body(struct going *g, struct verdict *v, struct run_done *ret, struct err *err)
{
	bool stopped = false;
	int rc = 0;

	if (g->arms.on)
		TRY(arms_try(g, err));
	TRY(layers(g, LAYER_HARDWARE, LAYER_FRAMEWORK, &stopped, err));
	if (!layer_wanted(g->env, LAYER_WORKLOAD))
		TRY(no_workload(g, err));
	else if (!stopped || g->env->keep_going)
		rc = g->arms.on ? arms_repetitions(g, v, err) : going_repetitions(g, v, err);
	arms_put_back(g);
	TRY(rc);
	ret->nothing_to_do = g->judge.cand.n == g->reps_before;
	/* A workload that is rejected already needs no rehearsal of its recovery. */
	stopped = stopped || v->kind == VERDICT_REJECTED || v->kind == VERDICT_BASELINE_VOID;
	return layers(g, LAYER_RECOVERY, LAYER_RECOVERY, &stopped, err);
}

/* What has to be written when the body did not come to its end. */
static int broken_off(struct going *g, struct run_done *done, struct err *err)
{
	struct err lost = ERR_INIT;

	if (err->code == ERR_INTERRUPTED) {
		if (end_run(g, "interrupted", &lost) < 0 || checkpoint(g, &lost) < 0)
			going_note(g, "%s", lost.msg);
		done->interrupted = true;
		err_clear(err);
		return 0;
	}
	/* A run that switched says whether it could put everything back. */
	if ((g->arms.on ? end_run(g, "broken off", &lost)
			: run_abandon(g->env, g->intent.hex, g->run, err->msg, &lost)) < 0)
		going_note(g, "%s", lost.msg);
	return -(int)err->code;
}

/* What has landed meanwhile is known by its leaf now. */
static void landed(struct going *g, struct run_done *done)
{
	json_t *body = done->verdict ? ledger_landed(g->env->ledger, done->verdict) : NULL;

	ledger_landed_hex(g->env->ledger, done->intent);
	ledger_landed_hex(g->env->ledger, done->verdict_leaf);
	json_decref(done->verdict);
	done->verdict = body;
}

int run_contract(const struct run_env *env, struct run_done *ret, struct err *err)
{
	struct going g CLEANUP(
		going_release) = { .env = env, .started_ns = clock_ns(), .lock_fd = -1 };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct run_done done CLEANUP(run_done_release) = { 0 };
	size_t closed;
	int rc;

	TRY(going_lock(&g, err));
	TRY(run_close_abandoned(env, &closed, err));
	TRY(going_begin(&g, err));
	memcpy(done.run, g.run, sizeof(done.run));
	memcpy(done.intent, g.intent.hex, 65);
	memcpy(done.stack_digest, g.stack_digest, 65);
	rc = body(&g, &v, &done, err);
	arms_put_back(&g);
	if (rc < 0) {
		TRY(broken_off(&g, &done, err));
	} else {
		TRY(going_decide(&g, /* ended= */ true, &v, err));
		TRY(end_run(&g, "finished", err));
		TRY(record_verdict(&g, &v, &done, err));
		TRY(checkpoint(&g, err));
	}
	landed(&g, &done);
	*ret = done;
	done = (struct run_done){ 0 };
	return 0;
}
