/* SPDX-License-Identifier: Apache-2.0 */
/* What searches leave in the ledger, and what is told of their beliefs and answers. */
#include "run/bisecting.h"

#include "base/err.h"
#include "base/vec.h"
#include <math.h>

json_t *json_e9(double v)
{
	double x = round(v * 1e9);

	if (isnan(v))
		return json_null();
	if (fabs(x) > 9007199254740991.)
		return json_string(v > 0 ? "inf" : "-inf");
	return json_integer((json_int_t)x);
}

void trials_release(struct trials *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].why);
		free(l->v[i].state);
		free(l->v[i].reason);
	}
	free(l->v);
	*l = (struct trials){ 0 };
}

void earlier_release(struct earlier *e)
{
	trials_release(&e->trials);
	json_decref(e->found);
	*e = (struct earlier){ 0 };
}

json_t *config_names(const struct question *q, uint32_t config)
{
	json_t *a = json_array();

	for (size_t i = 0; i < q->parts.n; i++)
		if (config >> i & 1)
			(void)json_array_append_new(a, json_string(q->parts.v[i].name));
	return a;
}

/* false: it names a component that is none of this question. */
static bool config_of(const struct question *q, const json_t *names, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		struct err none = ERR_INIT;
		unsigned at;

		if (question_find(q, name ? name : "", &at, &none) < 0)
			return false;
		*ret |= UINT32_C(1) << at;
	}
	return true;
}

json_t *words_found(const struct question *q)
{
	json_t *a = json_array();

	for (size_t i = 0; i < q->parts.n; i++) {
		json_t *o;

		if (!q->parts.v[i].found)
			continue;
		o = json_object();
		json_put_str(o, "name", q->parts.v[i].name);
		json_put_str(o, "value", q->parts.v[i].found);
		(void)json_array_append_new(a, o);
	}
	return a;
}

json_t *trial_json(const struct question *q, const struct trial *t)
{
	json_t *o = json_object();
	json_int_t v;

	json_put(o, "new", config_names(q, t->config));
	json_put_int(o, "config", t->config);
	json_put_str(o, "why", t->why);
	json_put_str(o, "state", t->state);
	json_put_str(o, "reason", t->reason);
	if (quantity_to_int(t->value, q->metric.unit, (int64_t *)&v))
		json_put_int(o, "value", v);
	if (isfinite(t->w))
		json_put(o, "worseness_e9", json_e9(t->w));
	json_put_int(o, "took_ns", t->took_ns);
	return o;
}

/* ---- reading back ---- */

struct search {
	char leaf[65], run[40];
	bool same; /* question */
	json_t *found;
	bool restored;
};
struct reading {
	const struct contract *c;
	const struct question *q;
	struct earlier *ret;
	struct {
		struct search *v;
		size_t n, room;
	} searches;
	struct trials open; /* announced; leaf is empty until it ended */
};

static struct search *search_of(struct reading *r, const char *leaf)
{
	for (size_t i = 0; leaf && i < r->searches.n; i++)
		if (streq(r->searches.v[i].leaf, leaf))
			return &r->searches.v[i];
	return NULL;
}

static struct trial *announced(struct reading *r, const char *leaf)
{
	for (size_t i = 0; leaf && i < r->open.n; i++)
		if (streq(r->open.v[i].intent, leaf))
			return &r->open.v[i];
	return NULL;
}

/* The same rejected run by the same metric; `again` starts over. */
static void on_search(struct reading *r, const struct ledger_entry *e)
{
	struct search *s;

	if (!streq(json_str_or(e->body, "workload", ""), r->c->workload.name))
		return;
	s = VEC_ADD(&r->searches);
	memcpy(s->leaf, e->ref.hex, 65);
	(void)snprintf(s->run, sizeof(s->run), "%s", json_str_or(e->body, "run", ""));
	s->found = json_incref(json_object_get(e->body, "found"));
	s->same = r->q && streq(run_ref_of(e->body, "verdict"), r->q->verdict) &&
		  streq(json_str_or(e->body, "metric", ""), r->q->metric_name);
	if (s->same && json_bool_or(e->body, "again", false)) {
		trials_release(&r->ret->trials);
		r->ret->n = 0;
		r->ret->interrupted = 0;
	}
	r->ret->n += s->same;
	if (!s->same)
		return;
	memcpy(r->ret->run, s->run, sizeof(s->run));
	r->ret->unended = true;
	r->ret->answer[0] = '\0';
}

static void on_answer(struct reading *r, const struct ledger_entry *e)
{
	const struct search *s = search_of(r, run_ref_of(e->body, "intent"));

	if (!s || !s->same || streq(json_str_or(e->body, "state", ""), "factorial"))
		return;
	memcpy(r->ret->answer, e->ref.hex, 65);
	r->ret->answer_seq = e->ref.seq;
}

static void on_announced(struct reading *r, const struct ledger_entry *e)
{
	const struct search *s = search_of(r, run_ref_of(e->body, "of"));
	struct trial *t;
	uint32_t config;

	if (!s || !s->same || !config_of(r->q, json_object_get(e->body, "new"), &config))
		return;
	t = VEC_ADD(&r->open);
	memcpy(t->intent, e->ref.hex, 65);
	t->config = config;
	t->why = xstrdup(json_str_or(e->body, "why", ""));
}

static int on_trial(struct reading *r, const struct ledger_entry *e, struct err *err)
{
	struct trial *a = announced(r, run_ref_of(e->body, "intent")), *t;
	struct rep rep CLEANUP(rep_release) = { 0 };
	const char *state = json_str_or(e->body, "state", "");
	const struct measurement *m;

	if (!a || a->leaf[0])
		return 0;
	if (!streq(state, "cannot_run"))
		TRY(rep_from_json(e->body, &rep, err));
	memcpy(a->leaf, e->ref.hex, 65);
	t = VEC_ADD(&r->ret->trials);
	*t = (struct trial){ .config = a->config, .took_ns = json_int_or(e->body, "took_ns", 0) };
	memcpy(t->intent, a->intent, 65);
	memcpy(t->leaf, a->leaf, 65);
	t->why = xstrdup(a->why);
	t->state = xstrdup(state);
	t->reason = xstrdup(json_str_or(e->body, "reason", NULL));
	m = measurements_find(&rep.measured, r->q->metric_name);
	t->value = m ? m->value : NAN;
	t->w = streq(state, "cannot_run") ? NAN : question_worseness(r->q, &rep);
	if (streq(state, "excluded"))
		t->w = INFINITY; /* it may be tried again */
	return 0;
}

static int on_entry(void *arg, const struct ledger_entry *e, struct err *err)
{
	struct reading *r = arg;
	const char *scope = json_str_or(e->body, "scope", "");
	struct trial *t;

	if (streq(e->kind, "bisect.trial"))
		return on_trial(r, e, err);
	if (streq(e->kind, "attribution")) {
		on_answer(r, e);
		return 0;
	}
	if (streq(e->kind, "run.intent")) {
		/* A run whose arms alternate switches as well. */
		if (streq(scope, "bisect") || json_object_get(e->body, "found"))
			on_search(r, e);
		else if (streq(scope, "trial"))
			on_announced(r, e);
	} else if (streq(e->kind, "run.abandon")) {
		t = announced(r, run_ref_of(e->body, "intent"));
		r->ret->interrupted += t && !t->leaf[0];
	} else if (streq(scope, "bisect") || streq(scope, "run")) {
		struct search *s = search_of(r, run_ref_of(e->body, "intent"));

		if (!s)
			return 0;
		s->restored = json_bool_or(e->body, "restored", false);
		if (s->same && streq(s->run, r->ret->run))
			r->ret->unended = false;
	} else if (streq(scope, "restore")) {
		for (size_t i = 0; i < r->searches.n; i++)
			r->searches.v[i].restored = true;
	}
	return 0;
}

/* The oldest search since everything was last in its place: it saw the machine untouched. */
static void unrestored(struct reading *r)
{
	for (size_t i = r->searches.n; i-- > 0 && !r->searches.v[i].restored;) {
		json_decref(r->ret->found);
		r->ret->found = json_incref(r->searches.v[i].found);
		(void)snprintf(r->ret->unrestored, sizeof(r->ret->unrestored), "%s",
			       r->searches.v[i].run);
	}
}

int earlier_read(struct ledger *l, const struct contract *c, const struct question *q,
		 struct earlier *ret, struct err *err)
{
	static const char *const kinds[] = { "run.intent",   "run.result",  "run.abandon",
					     "bisect.trial", "attribution", NULL };
	struct earlier e CLEANUP(earlier_release) = { 0 };
	struct reading r = { .c = c, .q = q, .ret = &e };
	struct ledger_filter f = { .kinds = kinds };
	int rc = ledger_each(l, &f, on_entry, &r, err);

	unrestored(&r);
	trials_release(&r.open);
	for (size_t i = 0; i < r.searches.n; i++)
		json_decref(r.searches.v[i].found);
	free(r.searches.v);
	TRY(rc);
	*ret = e;
	e = (struct earlier){ 0 };
	return 0;
}

/* ---- beliefs and answers ---- */

char *belief_text(const struct question *q, const struct bisect_in *in,
		  const struct bisect_fit *fit)
{
	struct bisect_share s[BISECT_MAX_COMPONENTS];
	struct str text CLEANUP(str_release) = { 0 };
	bool used[BISECT_MAX_COMPONENTS] = { 0 };
	double rest = 1;

	bisect_shares(in, fit, s);
	for (size_t k = 0; k < fit->n; k++)
		if (fit->v[k].kind == BISECT_ENV || fit->v[k].kind == BISECT_GONE)
			rest -= fit->v[k].posterior;
	for (int shown = 0; shown < 4; shown++) {
		int best = -1;

		for (unsigned i = 0; i < in->n; i++)
			if (!used[i] && (best < 0 || s[i].posterior > s[best].posterior))
				best = (int)i;
		if (best < 0 || s[best].posterior < 0.005)
			break;
		used[best] = true;
		str_addf(&text, "%s%s %.0f %%", text.n ? ", " : "", q->parts.v[best].name,
			 100 * s[best].posterior);
	}
	if (1 - rest >= 0.005)
		str_addf(&text, "%snone of them %.0f %%", text.n ? ", " : "", 100 * (1 - rest));
	return xstrdup(str_text(&text));
}

void put_belief(const struct question *q, const struct bisect_in *in, const struct bisect_fit *fit,
		json_t *to)
{
	struct bisect_share s[BISECT_MAX_COMPONENTS];
	json_t *parts = json_array(), *hyps = json_array();
	bool used[2 + BISECT_MAX_COMPONENTS * BISECT_MAX_COMPONENTS] = { 0 };

	bisect_shares(in, fit, s);
	for (unsigned i = 0; i < in->n; i++) {
		const struct bisect_part *p = &q->parts.v[i];
		json_t *o = json_object();

		json_put_str(o, "component", p->name);
		json_put_str(o, "old", p->was);
		json_put_str(o, "new", p->is);
		json_put(o, "weight_e9", json_e9(p->weight));
		json_put(o, "posterior_e9", json_e9(s[i].posterior));
		json_put(o, "share_e9", json_e9(s[i].share));
		json_put(o, "low_e9", json_e9(s[i].lo));
		json_put(o, "high_e9", json_e9(s[i].hi));
		(void)json_array_append_new(parts, o);
	}
	json_put(to, "components", parts);
	for (int shown = 0; shown < 5; shown++) {
		size_t best = fit->n;
		json_t *o;

		for (size_t k = 0; k < fit->n; k++)
			if (!used[k] &&
			    (best == fit->n || fit->v[k].posterior > fit->v[best].posterior))
				best = k;
		if (best == fit->n || fit->v[best].posterior < 1e-6)
			break;
		used[best] = true;
		o = json_object();
		json_put_str(o, "kind", bisect_kind_name(fit->v[best].kind));
		json_put(o, "components", config_names(q, bisect_hyp_mask(&fit->v[best])));
		json_put(o, "posterior_e9", json_e9(fit->v[best].posterior));
		(void)json_array_append_new(hyps, o);
	}
	json_put(to, "hypotheses", hyps);
	json_put(to, "effect_e9", json_e9(fit->effect));
	json_put(to, "sigma_e9", json_e9(fit->sigma));
}

static void put_ways(const struct bisect_both_ways *b, json_t *to)
{
	json_put(to, "share_e9", json_e9(b->share));
	json_put(to, "low_e9", json_e9(b->lo));
	json_put(to, "high_e9", json_e9(b->hi));
	json_put(to, "forward_e9", json_e9(b->forward));
	json_put(to, "forward_low_e9", json_e9(b->forward_lo));
	json_put(to, "forward_high_e9", json_e9(b->forward_hi));
	json_put(to, "back_e9", json_e9(b->back));
	json_put(to, "back_low_e9", json_e9(b->back_lo));
	json_put(to, "back_high_e9", json_e9(b->back_hi));
	json_put_int(to, "forward_trials", (int64_t)b->n_forward);
	json_put_int(to, "back_trials", (int64_t)b->n_back);
	json_put(to, "loss_e9", json_e9(b->loss));
}

void put_answer(const struct question *q, const struct bisect_in *in, const struct bisect_fit *fit,
		const struct bisect_step *step, json_t *to)
{
	static const char *const states[] = { "open", "found", "outside", "vanished",
					      "undetermined" };
	const struct bisect_hyp *h = &fit->v[step->hyp];
	struct bisect_both_ways b;
	json_t *o;

	json_put_str(to, "state", states[step->state]);
	json_put_str(to, "reason", step->reason);
	if (step->state == BISECT_TRY || step->state == BISECT_UNDETERMINED)
		return;
	o = json_object();
	json_put_str(o, "kind", bisect_kind_name(h->kind));
	json_put(o, "components", config_names(q, bisect_hyp_mask(h)));
	json_put(o, "posterior_e9", json_e9(h->posterior));
	if (step->state == BISECT_FOUND) {
		bisect_both_ways(in, bisect_hyp_mask(h), &b);
		put_ways(&b, o);
	}
	json_put(to, "answer", o);
}

void put_factorial(const struct question *q, const struct bisect_in *in, unsigned a, unsigned b,
		   json_t *to)
{
	struct bisect_factorial f;
	json_t *o = json_object(), *cells = json_array();

	bisect_factorial(in, a, b, &f);
	json_put_str(o, "a", q->parts.v[a].name);
	json_put_str(o, "b", q->parts.v[b].name);
	for (size_t i = 0; i < ARRAY_SIZE(f.n); i++) {
		json_t *c = json_object();

		json_put(c, "new", config_names(q, f.config[i]));
		json_put_int(c, "n", (int64_t)f.n[i]);
		json_put(c, "mean_e9", json_e9(f.mean[i]));
		(void)json_array_append_new(cells, c);
	}
	json_put(o, "cells", cells);
	json_put_bool(o, "complete", f.has);
	json_put(o, "a_e9", json_e9(f.effect_a));
	json_put(o, "a_half_e9", json_e9(f.half_a));
	json_put(o, "b_e9", json_e9(f.effect_b));
	json_put(o, "b_half_e9", json_e9(f.half_b));
	json_put(o, "interaction_e9", json_e9(f.interaction));
	json_put(o, "interaction_half_e9", json_e9(f.half_interaction));
	json_put(to, "factorial", o);
}
