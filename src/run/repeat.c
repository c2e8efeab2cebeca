/* SPDX-License-Identifier: Apache-2.0 */
/* The repetitions: announced, made, recorded, judged after each. */
#include "run/going.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"
#include <math.h>

static void on_progress(void *arg, const struct check_progress *p)
{
	struct going_part *part = arg;
	struct going *g = part->g;
	double fraction = MAX(p->fraction, 0.0);
	struct run_progress rp = {
		.layer = part->layer, .what = part->what, .live = p->live, .left_ns = p->left_ns
	};

	rp.fraction = ((double)part->step + fraction) / (double)MAX(part->steps, (size_t)1);
	/* Repetitions are nearly all of the time: what is left of them at the pace so far. */
	if (g->rep_ns > 0 && part->layer == LAYER_WORKLOAD && part->steps > part->step)
		rp.left_ns = (int64_t)(((double)(part->steps - part->step) - fraction) *
				       (double)g->rep_ns);
	if (g->env->progress)
		g->env->progress(g->env->arg, &rp);
}

static bool is_library(const struct component *c)
{
	return c->layer == CL_KERNELLIB || c->layer == CL_COMMLIB || c->layer == CL_RUNTIME;
}

/* What the process really has, against what was captured before it started. */
static void on_started(void *arg, pid_t pid)
{
	struct going *g = ((struct going_part *)arg)->g;
	const struct run_env *env = g->env;
	struct stack now CLEANUP(stack_release) = { 0 };
	struct run_capture rc = { .contract = env->contract,
				  .dir = env->dir,
				  .pid = pid,
				  .tool_version = env->tool_version,
				  .tool_digest = env->tool_digest,
				  .cancel = env->cancel };
	struct err err = ERR_INIT;

	if (g->looked)
		return;
	if (run_stack(&rc, &now, &err) < 0) {
		going_note(g, "the process's libraries could not be read: %s", err.msg);
		return;
	}
	g->looked = true;
	for (size_t i = 0; i < now.n; i++) {
		const struct component *b = &now.v[i], *a;

		if (!is_library(b) || !b->digest)
			continue;
		a = stack_find(&g->stack, b->layer, b->name);
		if (a && a->digest && !streq(a->digest, b->digest))
			strs_addf(&g->mismatches, "%s: captured %s, the process has %s", b->name,
				  a->version ? a->version : "unknown",
				  b->version ? b->version : "unknown");
	}
}

struct check_ctx going_ctx(struct going_part *part)
{
	const struct run_env *env = part->g->env;

	return (struct check_ctx){ .contract = env->contract,
				   .dir = env->dir,
				   .environment = &part->g->environment,
				   .cancel = env->cancel,
				   .progress = on_progress,
				   .arg = part };
}

static int begin_rep(struct going *g, const char *arm, int index, struct ledger_ref *ret,
		     struct err *err)
{
	AUTO_JSON json_t *body = json_object();

	json_put_str(body, "scope", "rep");
	json_put_str(body, "run", g->run);
	json_put_int(body, "rep", index);
	json_put_str(body, "arm", arm);
	json_put(body, "of", run_ref(g->intent.hex));
	return run_append(g->env, "run.intent", body, ret, err);
}

int run_abandon(const struct run_env *env, const char *intent, const char *run, const char *why,
		struct err *err)
{
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;

	json_put_str(body, "run", run);
	json_put(body, "intent", run_ref(intent));
	json_put_str(body, "reason", why);
	return run_append(env, "run.abandon", body, &ref, err);
}

/* Causes that the contract excludes by; never the metric itself. */
static void exclude(const struct contract *c, struct rep *r)
{
	const struct measurement *busy = measurements_find(&r->measured, "host.others");

	if (r->state != REP_OK)
		return;
	if (c->gates.exclude & 1u << EXCLUDE_HOST_BUSY && busy && busy->value > 0.25) {
		r->state = REP_EXCLUDED;
		r->reason = xasprintf("host_busy: other work took %.0f %% of the processors",
				      100 * busy->value);
	}
	/* A check that found such a cause begins its reason with the cause's name. */
	for (size_t i = 0; i < r->outcomes.n && r->state == REP_OK; i++) {
		const struct outcome *o = &r->outcomes.v[i];

		for (int k = 0; k < EXCLUDE_N && o->result == RESULT_DOUBTFUL && o->reason; k++) {
			if (!(c->gates.exclude & 1u << k) || r->state != REP_OK ||
			    !str_starts(o->reason, exclude_cause_name((enum exclude_cause)k)))
				continue;
			r->state = REP_EXCLUDED;
			r->reason = xstrdup(o->reason);
		}
	}
}

static int end_rep(struct going *g, const char *arm, const struct ledger_ref *intent, struct rep *r,
		   struct err *err)
{
	AUTO_JSON json_t *body = rep_to_json(r);
	struct ledger_ref ref;

	json_put_str(body, "scope", "rep");
	json_put_str(body, "run", g->run);
	json_put_str(body, "arm", arm);
	json_put(body, "intent", run_ref(intent->hex));
	TRY(run_append(g->env, "run.result", body, &ref, err));
	memcpy(r->leaf, ref.hex, 65);
	return 0;
}

/* Golden answers: of the accepted run, else of the first good repetition of this series. */
int going_golden(struct going *g, char **ret, struct err *err)
{
	const struct reps *lists[] = { &g->judge.bank, &g->judge.cand };
	AUTO_FREE char *made = path_join(g->work, "golden.jsonl");

	*ret = NULL;
	if (file_exists(made)) { /* of an earlier repetition: the store may be away now */
		*ret = STEAL(made);
		return 0;
	}
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < lists[k]->n; i++) {
			const struct rep *r = &lists[k]->v[i];
			AUTO_FREE char *text = NULL;
			AUTO_FREE char *path = path_join(g->work, "golden.jsonl");
			size_t n;

			if (r->state != REP_OK)
				continue;
			if (run_evidence_text(g->env->ledger, &r->evidence, EVIDENCE_GOLDEN, &text,
					      &n, err) < 0) {
				if (err->code != ERR_NOT_FOUND)
					return -(int)err->code;
				err_clear(err);
				continue;
			}
			TRY(file_write(path, text, n, 0600, err));
			*ret = STEAL(path);
			return 0;
		}
	}
	return 0;
}

int going_measure(struct going *g, struct going_part *part, const char *name,
		  const struct ledger_ref *intent, struct rep *r, struct err *err)
{
	AUTO_FREE char *work = NULL;
	AUTO_FREE char *golden = NULL;
	struct check_ctx ctx = going_ctx(part);
	struct err lost = ERR_INIT;

	TRY(going_folder(g, name, &work, err));
	TRY(going_golden(g, &golden, err));
	ctx.work = work;
	ctx.golden = golden;
	ctx.seed = r->index + 1;
	ctx.started = on_started;
	r->start_digest = xstrdup(intent->hex); /* a start of its own: its announcement names it */
	r->session = xstrdup(g->session);
	r->seed = ctx.seed;
	TRY(workload_rep(&ctx, r, err));
	exclude(g->env->contract, r);
	TRY(run_put_evidence(g->env, &r->evidence, err));
	if (!g->env->keep_work && dir_remove(work, &lost) < 0)
		going_note(g, "%s", lost.msg);
	return 0;
}

int going_rep(struct going *g, const char *arm, const char *what, size_t step, size_t steps,
	      struct err *err)
{
	struct reps *l = arm && streq(arm, "accepted") ? &g->judge.bank : &g->judge.cand;
	int index = (int)l->n;
	AUTO_FREE char *name = xasprintf("%s%srep-%d", arm ? arm : "", arm ? "-" : "", index);
	struct going_part part = {
		.g = g, .layer = LAYER_WORKLOAD, .what = what, .step = step, .steps = steps
	};
	struct rep r CLEANUP(rep_release) = { .index = index };
	struct err lost = ERR_INIT;
	struct ledger_ref intent;
	int64_t start = clock_ns();

	TRY(begin_rep(g, arm, index, &intent, err));
	if (going_measure(g, &part, name, &intent, &r, err) < 0) {
		if (run_abandon(g->env, intent.hex, g->run,
				err->code == ERR_INTERRUPTED ? "interrupted" : err->msg, &lost) < 0)
			going_note(g, "%s", lost.msg);
		return -(int)err->code;
	}
	TRY(end_rep(g, arm, &intent, &r, err));
	g->rep_ns = g->rep_ns ? (g->rep_ns + clock_ns() - start) / 2 : clock_ns() - start;
	r.took_ns = clock_ns() - start;
	if (g->env->rep)
		g->env->rep(g->env->arg, &r, arm);
	*VEC_ADD(l) = r;
	r = (struct rep){ 0 };
	return 0;
}

static int one_rep(struct going *g, struct err *err)
{
	size_t n = g->judge.cand.n;
	AUTO_FREE char *what =
		xasprintf("repetition %zu of %lld", n + 1, (long long)g->reps_planned);

	return going_rep(g, NULL, what, n, (size_t)g->reps_planned, err);
}

static int64_t cap(const struct going *g)
{
	int64_t most = g->env->contract->repeat.at_most;

	if (g->env->max_reps)
		most = MIN(most, (int64_t)g->reps_before + g->env->max_reps);
	return most;
}

int going_decide(struct going *g, bool ended, struct verdict *v, struct err *err)
{
	size_t lost = 0;

	TRY(judge_read_told(g->env->ledger, &g->judge, &lost, err));
	if (lost)
		going_note(g, "%zu piece%s of accepted answers %s withheld: compared without", lost,
			   lost == 1 ? "" : "s", lost == 1 ? "is" : "are");
	verdict_release(v);
	g->judge.ended = ended;
	strs_release(&g->judge.mismatches);
	strs_copy(&g->judge.mismatches, &g->mismatches);
	judge_decide(&g->judge, v);
	return 0;
}

/*
 * What the repetitions by themselves say. Checks that failed or were left out decide in the end,
 * but no repetition makes them better: who goes on in spite of them gets all that are needed.
 */
int going_decide_reps(struct going *g, struct verdict *v, struct err *err)
{
	struct outcomes all = g->judge.outcomes;
	int rc;

	g->judge.outcomes = (struct outcomes){ 0 };
	rc = going_decide(g, /* ended= */ false, v, err);
	g->judge.outcomes = all;
	return rc;
}

/* Accepted early, but with fewer good repetitions than a later comparison needs as its bank. */
static bool bank_too_small(const struct going *g, const struct verdict *v)
{
	size_t good = 0;

	for (size_t i = 0; i < g->judge.cand.n; i++)
		good += g->judge.cand.v[i].state == REP_OK;
	return v->final && good < VERDICT_MIN_BANK &&
	       (v->kind == VERDICT_ACCEPTED || v->kind == VERDICT_ACCEPTED_NOTE);
}

int going_repetitions(struct going *g, struct verdict *v, struct err *err)
{
	AUTO_FREE char *plan = NULL;

	TRY(going_decide_reps(g, v, err));
	plan = judge_plan(&g->judge);
	if (plan)
		going_note(g, "%s", plan);
	g->reps_planned = g->judge.has_bank ? MIN(cap(g), 5)
					    : MIN(cap(g), MAX(g->env->contract->repeat.runs, 5));
	while ((!v->final || bank_too_small(g, v)) && (int64_t)g->judge.cand.n < cap(g)) {
		if (v->more)
			g->reps_planned = MIN(cap(g), (int64_t)(g->judge.cand.n + v->more));
		if ((int64_t)g->judge.cand.n >= g->reps_planned)
			g->reps_planned = cap(g);
		TRY(one_rep(g, err));
		TRY(going_decide_reps(g, v, err));
	}
	return 0;
}
