/* SPDX-License-Identifier: Apache-2.0 */
/* From a contract, an accepted run and a candidate series to the verdict's input. */
#include "run/arms.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include <math.h>

void judge_release(struct judge *j)
{
	reps_release(&j->cand);
	reps_release(&j->bank);
	judge_told_release(&j->cand_told);
	judge_told_release(&j->bank_told);
	outcomes_release(&j->outcomes);
	strs_release(&j->notes);
	strs_release(&j->mismatches);
	waivers_release(&j->waivers);
	*j = (struct judge){ 0 };
}

/* Everything that the input borrows while the verdict is made. */
struct input {
	struct verdict_in in;
	struct verdict_metric *metrics;
	size_t n_metrics;
	double **columns; /* two a metric: bank, candidate */
	struct verdict_rep *reps;
	struct verdict_check *checks;
	const char **sessions; /* of the bank */
	struct judge_answers answers;
	struct verdict_setting *settings;
	struct strs void_reasons, mismatches, notes, waived;
};

static void input_release(struct input *i)
{
	for (size_t k = 0; k < 2 * i->n_metrics; k++)
		free(i->columns[k]);
	free(i->columns);
	free(i->metrics);
	free(i->reps);
	free(i->checks);
	strs_release(&i->void_reasons);
	strs_release(&i->mismatches);
	free(i->sessions);
	free(i->settings);
	judge_answers_release(&i->answers);
	strs_release(&i->notes);
	strs_release(&i->waived);
}

static double *column(const struct reps *l, const char *metric)
{
	double *v = xcalloc(l->n, sizeof(*v));

	for (size_t i = 0; i < l->n; i++) {
		const struct measurement *m = measurements_find(&l->v[i].measured, metric);

		v[i] = l->v[i].state == REP_OK && m ? m->value : NAN;
	}
	return v;
}

/* Share of the repetitions that count which are good: for metrics over all of them. */
static double *share_ok(const struct reps *l)
{
	double *v = xcalloc(1, sizeof(*v));
	size_t ok = 0, all = 0;

	for (size_t i = 0; i < l->n; i++) {
		all += l->v[i].state != REP_EXCLUDED;
		ok += l->v[i].state == REP_OK;
	}
	*v = all ? (double)ok / (double)all : NAN;
	return v;
}

static struct verdict_metric *add_metric(struct input *i, const struct judge *j,
					 const struct metric_info *info)
{
	struct verdict_metric *m = &i->metrics[i->n_metrics];
	double *bank = info->across ? share_ok(&j->bank) : column(&j->bank, info->name);
	double *cand = info->across ? share_ok(&j->cand) : column(&j->cand, info->name);

	*m = (struct verdict_metric){ .name = info->name,
				      .unit = info->unit,
				      .dir = info->dir,
				      .abs_scale = info->scale == SCALE_ABS,
				      .across = info->across,
				      .margin = NAN,
				      .limit = NAN,
				      .bank = bank,
				      .cand = cand };
	i->columns[2 * i->n_metrics] = bank;
	i->columns[2 * i->n_metrics + 1] = cand;
	i->n_metrics++;
	return m;
}

static struct verdict_metric *find_metric(struct input *i, const char *name)
{
	for (size_t k = 0; k < i->n_metrics; k++)
		if (streq(i->metrics[k].name, name))
			return &i->metrics[k];
	return NULL;
}

const struct waiver *judge_waiver(const struct judge *j, const char *subject)
{
	for (size_t i = j->waivers.n; i-- > 0;)
		if (streq(j->waivers.v[i].subject, subject))
			return &j->waivers.v[i];
	return NULL;
}

/* The contract's limit, or the one that was put in its place for a time: a note either way. */
static struct limit limit_of(struct input *i, const struct judge *j, const struct objective *o)
{
	const struct waiver *w = judge_waiver(j, o->metric);
	struct err ignored = ERR_INIT;
	struct limit l;

	if (!w || !w->limit || waiver_limit(j->contract, o->metric, w->limit, &l, &ignored) < 0)
		return o->limit;
	AUTO_FREE char *was = limit_text(&o->limit), *is = limit_text(&l), *text = waiver_text(w);

	strs_addf(&i->notes, "limit of %s: %s instead of %s, %s", o->metric, is, was, text);
	return l;
}

static void metrics(struct input *i, const struct judge *j)
{
	const struct contract *c = j->contract;
	size_t most = c->workload_check.objectives.n + c->compare.n + 2; /* two of apart() */

	i->metrics = xcalloc(most, sizeof(*i->metrics));
	i->columns = xcalloc(2 * most, sizeof(*i->columns));
	for (size_t k = 0; k < c->workload_check.objectives.n; k++) {
		const struct objective *o = &c->workload_check.objectives.v[k];
		struct verdict_metric *m = add_metric(i, j, &o->info);
		struct limit l = limit_of(i, j, o);

		m->has_limit = true;
		m->limit = l.value;
		m->limit_strict = l.op == LIMIT_LT || l.op == LIMIT_GT;
	}
	for (size_t k = 0; k < c->compare.n; k++) {
		const struct margin *g = &c->compare.v[k];
		struct verdict_metric *m = find_metric(i, g->metric);

		if (!m)
			m = add_metric(i, j, &g->info);
		if (m->across)
			continue;
		m->gate = g->gate;
		m->margin = g->margin;
	}
}

/* Every repetition that counts has a number. */
static bool all_measured(const struct reps *l, const char *metric)
{
	size_t ok = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct measurement *m = measurements_find(&l->v[i].measured, metric);

		if (l->v[i].state != REP_OK)
			continue;
		if (!m || isnan(m->value))
			return false;
		ok++;
	}
	return ok > 0;
}

/*
 * Time to the target is speed times samples, in steps of the evaluations: a margin on it is one on
 * each of the two (or the contract's own for it), where the repetitions measured both. The time
 * itself is then shown, and held to its objective alone.
 */
static void apart(struct input *i, const struct judge *j)
{
	static const struct {
		const char *name;
		enum verdict_part part;
	} parts[] = { { "sample_time", PART_SPEED }, { "samples_to_target", PART_AMOUNT } };
	struct verdict_metric *time = find_metric(i, "time_to_target");
	bool split = time && time->gate && !isnan(time->margin);
	const struct reps *measured = j->has_bank ? &j->bank : &j->cand;

	if (j->contract->workload_check.how != HOW_TRAIN)
		return;
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
		const struct verdict_metric *m = find_metric(i, parts[k].name);
		bool shown_only = m && !isnan(m->margin) && !m->gate; /* the contract's wish */

		split = split && !shown_only && all_measured(measured, parts[k].name);
	}
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
		struct verdict_metric *m = find_metric(i, parts[k].name);
		struct metric_info info;

		if (!m && split && contract_metric(j->contract, parts[k].name, &info)) {
			info.name = parts[k].name;
			m = add_metric(i, j, &info);
		}
		if (m && split && isnan(m->margin)) {
			m->gate = true;
			m->margin = time->margin;
		}
		if (m)
			m->part = parts[k].part;
	}
	if (split)
		time->gate = false;
}

static void repetitions(struct input *i, const struct judge *j)
{
	i->reps = xcalloc(j->cand.n, sizeof(*i->reps));
	for (size_t k = 0; k < j->cand.n; k++) {
		const struct rep *r = &j->cand.v[k];

		i->reps[k] =
			(struct verdict_rep){ r->state, r->reason, r->start_digest, r->session };
	}
	i->in.reps = i->reps;
	i->in.n_reps = j->cand.n;
	i->sessions = xcalloc(j->bank.n, sizeof(*i->sessions));
	for (size_t k = 0; k < j->bank.n; k++)
		i->sessions[k] = j->bank.v[k].session;
	i->in.bank_sessions = i->sessions;
}

/* A waived check that did not pass is told, and stops nothing. */
static struct verdict_check check_of(struct input *i, const struct judge *j,
				     const struct outcome *o)
{
	const struct waiver *w = judge_waiver(j, o->check);
	struct verdict_check c = { o->check, o->layer, o->result, o->required, o->reason };

	if (!w || o->result == RESULT_PASS)
		return c;
	AUTO_FREE char *text = waiver_text(w);

	strs_addf(&i->waived, "%s; %s", o->reason ? o->reason : "no reason was given", text);
	c.required = false;
	c.reason = i->waived.v[i->waived.n - 1];
	return c;
}

/* The layers' checks of this run, and what the repetitions' own checks could not say. */
static void check_list(struct input *i, const struct judge *j)
{
	size_t most = j->outcomes.n, n = 0;

	for (size_t k = 0; k < j->cand.n; k++)
		most += j->cand.v[k].outcomes.n;
	i->checks = xcalloc(most, sizeof(*i->checks));
	for (size_t k = 0; k < j->outcomes.n; k++)
		i->checks[n++] = check_of(i, j, &j->outcomes.v[k]);
	for (size_t k = 0; k < j->cand.n; k++) {
		const struct rep *r = &j->cand.v[k];

		for (size_t x = 0; r->state == REP_OK && x < r->outcomes.n; x++) {
			const struct outcome *o = &r->outcomes.v[x];

			/* A FAIL made the repetition failed already; these could not be judged. */
			if (o->result == RESULT_SKIP || o->result == RESULT_ERROR ||
			    o->result == RESULT_DOUBTFUL)
				i->checks[n++] = check_of(i, j, o);
		}
	}
	i->in.checks = i->checks;
	i->in.n_checks = n;
}

static void looks(struct input *i, const struct contract *c)
{
	size_t n = 0;

	for (size_t k = 0; k < c->repeat.looks.n && n < VERDICT_MAX_LOOKS; k++)
		if (c->repeat.looks.v[k] >= 3 && c->repeat.looks.v[k] <= 15)
			i->in.looks[n++] = (unsigned)c->repeat.looks.v[k];
	if (n)
		i->in.n_looks = n;
	/* First acceptance: its looks up to the cap, none that accepts before the contract's runs.
	 * */
	n = 0;
	for (unsigned look = 3; look <= 15; look++) {
		bool usual = look == 3 || look == 5 || look == 7 || look == 10;
		bool wanted = look == (unsigned)c->repeat.runs && look >= 5;

		if (look > (unsigned)c->repeat.at_most)
			break;
		if (look >= 5 && look < (unsigned)c->repeat.runs)
			continue;
		if (usual || wanted || look == (unsigned)c->repeat.at_most)
			i->in.first_looks[n++] = look;
	}
	i->in.n_first_looks = n ? n : 1;
	if (!n)
		i->in.first_looks[0] = 3;
}

/* The same requests in the same order at the same times. */
static void same_work(struct input *i, const struct judge *j)
{
	bool differs = false, ignored = false;
	const char *was = judge_work(&j->bank, &ignored), *is = judge_work(&j->cand, &differs);

	if (differs)
		strs_add(&i->mismatches, "the requests were not the same in all repetitions");
	if (!was || !is)
		return; /* not of that kind, or recorded before it was kept */
	i->in.bank_id.schedule = was;
	i->in.cand_id.schedule = is;
}

static void make(struct input *i, const struct judge *j)
{
	const struct contract *c = j->contract;

	verdict_defaults(&i->in);
	i->in.has_bank = j->has_bank;
	i->in.n_bank = j->bank.n;
	i->in.max_failed = (unsigned)c->gates.max_failed;
	i->in.reject_failed = (unsigned)c->gates.reject_failed;
	i->in.max_cov = c->gates.max_cov;
	i->in.ended = j->ended;
	looks(i, c);
	if (j->interleaved) {
		verdict_interleave(&i->in);
		verdict_cap(&i->in, (unsigned)MIN(c->repeat.at_most, (int64_t)ARMS_MAX));
	}
	metrics(i, j);
	apart(i, j);
	i->in.metrics = i->metrics;
	i->in.n_metrics = i->n_metrics;
	repetitions(i, j);
	check_list(i, j);
	if (j->has_bank && !streq(j->bank_contract, c->digest))
		strs_addf(&i->void_reasons,
			  "the accepted run was under contract %.12s, this one is %.12s: accept a "
			  "run under it first",
			  j->bank_contract, c->digest);
	strs_copy(&i->mismatches, &j->mismatches);
	strs_copy(&i->notes, &j->notes);
	same_work(i, j);
	i->settings = judge_settings(j, &i->mismatches, &i->notes, &i->in.n_settings);
	i->in.settings = i->settings;
	i->in.sessions_waived = judge_waiver(j, WAIVER_SESSIONS) != NULL;
	judge_answers_make(j, &i->answers, &i->void_reasons, &i->in);
	i->in.void_reasons = i->void_reasons.n ? (const char *const *)i->void_reasons.v : NULL;
	i->in.mismatches = i->mismatches.n ? (const char *const *)i->mismatches.v : NULL;
	i->in.notes = i->notes.n ? (const char *const *)i->notes.v : NULL;
}

void judge_decide(const struct judge *j, struct verdict *ret)
{
	struct input i CLEANUP(input_release) = { 0 };

	make(&i, j);
	verdict_decide(&i.in, ret);
}

void judge_watch(const struct judge *j, struct verdict_watch *ret)
{
	struct input i CLEANUP(input_release) = { 0 };

	make(&i, j);
	verdict_watch(&i.in, ret);
}

/* Sets of items too: how many decide is known before the first repetition. */
static void plan_items(const struct judge *j, struct str *to)
{
	const struct workload_check *k = &j->contract->workload_check;

	for (size_t i = 0; i < k->items.n; i++) {
		size_t n = judge_item_count(j, i);
		AUTO_FREE char *line =
			verdict_items_plan(k->items.v[i].name, (unsigned)n, k->items.v[i].margin);

		if (n)
			str_addf(to, "%s%s", to->n ? "\n" : "", line);
	}
}

/* Seconds that the repetitions of the bank, or those made here before, took; 0: none is known. */
static double usual_s(const struct judge *j)
{
	const struct reps *l = j->cand.n ? &j->cand : &j->bank;
	AUTO_FREE double *v = xcalloc(l->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].took_ns > 0)
			v[n++] = (double)l->v[i].took_ns / 1e9;
	return n ? median(v, n) : 0;
}

static void plan_time(const struct judge *j, const struct verdict_in *in, struct str *to)
{
	const struct load_spec *load = &j->contract->workload_check.load;
	double each = usual_s(j), known = (double)(load->warmup_ns + load->duration_ns) / 1e9;
	bool least = each <= 0;
	struct verdict_expect e;

	verdict_expect(in, &e);
	if (least)
		each = j->contract->workload_check.has_load ? known : 0;
	if (each <= 0 || e.likely <= j->cand.n)
		return;
	AUTO_FREE char *one = duration_text((int64_t)(each * 1e9));
	AUTO_FREE char *likely =
		duration_text((int64_t)(each * 1e9 * (e.likely - (double)j->cand.n)));
	AUTO_FREE char *most =
		duration_text((int64_t)(each * 1e9 * MAX((double)e.cap - (double)j->cand.n, 0.0)));

	str_addf(to, "%stime: a repetition takes %s%s, so likely %s, at most %s", to->n ? "\n" : "",
		 least ? "at least " : "", one, likely, most);
}

char *judge_plan(const struct judge *j)
{
	struct input i CLEANUP(input_release) = { 0 };
	struct str text CLEANUP(str_release) = { 0 };
	AUTO_FREE char *plan = NULL;

	make(&i, j);
	plan = verdict_plan(&i.in);
	str_add(&text, plan ? plan : "");
	plan_items(j, &text);
	plan_time(j, &i.in, &text);
	return text.n ? str_steal(&text) : NULL;
}

struct later {
	const char *workload, *contract, *stack;
	struct strs *intents;
	uint64_t last;
};

static void add_once(struct strs *l, const char *hex)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], hex))
			return;
	strs_add(l, hex);
}

/* Every run whose repetitions a verdict rests on. */
static void add_series(struct strs *l, const json_t *verdict)
{
	const json_t *series = json_object_get(verdict, "series");

	for (size_t i = 0; i < json_array_size(series); i++)
		add_once(l, json_str_or(json_array_get(series, i), "digest", ""));
}

/* Held in everything, but in another session than a bank that is not spread yet. */
static bool only_sessions_missing(const json_t *decision)
{
	const json_t *reasons = json_object_get(decision, "reasons");
	size_t n = json_array_size(reasons);

	for (size_t i = 0; i < n; i++)
		if (!streq(json_str_or(json_array_get(reasons, i), "code", ""),
			   "sessions_not_spread"))
			return false;
	return n && streq(json_str_or(decision, "verdict", ""), "inconclusive");
}

/* A later run on the accepted stack that was found as good joins the bank, and so does one that
 * only lacked the sessions which it now brings. One that was rejected, or could not say for another
 * reason, does not: it would pull what it is measured by towards itself. */
static int on_later(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct later *l = arg;
	const char *code = json_str_or(json_object_get(e->body, "decision"), "verdict", "");

	(void)err;
	if (!streq(json_str_or(e->body, "workload", ""), l->workload) ||
	    !streq(run_ref_of(e->body, "contract"), l->contract) ||
	    !streq(json_str_or(e->body, "stack_digest", ""), l->stack) ||
	    (!streq(code, "accepted") && !streq(code, "accepted_with_note") &&
	     !only_sessions_missing(json_object_get(e->body, "decision"))))
		return 0;
	add_series(l->intents, e->body);
	l->last = e->ref.seq;
	return 0;
}

static int bank_intents(struct ledger *l, const struct contract *c, const struct acceptance *a,
			uint64_t as_of, struct strs *ret, uint64_t *ret_next, struct err *err)
{
	static const char *const kinds[] = { "verdict", NULL };
	struct later later = { c->workload.name, a->contract_digest, a->stack_digest, ret, 0 };
	struct ledger_filter f = { .kinds = kinds, .to = as_of };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };

	TRY(run_entry(l, a->verdict, "verdict", &e, err));
	add_series(ret, e.body);
	later.last = e.ref.seq;
	f.from = e.ref.seq + 1;
	if (f.from < as_of)
		TRY(ledger_each(l, &f, on_later, &later, err));
	*ret_next = later.last + 1;
	return 0;
}

/* Repetitions of the accepted series, then those of later good runs on the same stack (the anchor
 * stays what a person accepted); the latest VERDICT_MAX_BANK that are good. */
int judge_bank(struct ledger *l, const struct contract *c, const struct acceptance *a,
	       uint64_t as_of, struct judge *ret, uint64_t *ret_next, struct err *err)
{
	struct strs intents CLEANUP(strs_release) = { 0 };
	struct reps all CLEANUP(reps_release) = { 0 };
	size_t from = 0, good = 0;

	TRY(bank_intents(l, c, a, as_of, &intents, ret_next, err));
	TRY(series_reps(l, &intents, &all, NULL, err));
	for (size_t i = all.n; i-- > 0 && good < VERDICT_MAX_BANK;) {
		good += all.v[i].state == REP_OK;
		from = i;
	}
	for (size_t i = from; i < all.n; i++) {
		if (all.v[i].state == REP_OK) {
			*VEC_ADD(&ret->bank) = all.v[i];
			all.v[i] = (struct rep){ 0 };
		}
	}
	ret->has_bank = true;
	memcpy(ret->bank_contract, a->contract_digest, 65);
	memcpy(ret->bank_stack, a->stack_digest, 65);
	return 0;
}
