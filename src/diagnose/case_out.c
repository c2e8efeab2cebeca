/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a recorded comparison. */
#include "diagnose/case.h"
#include "diagnose/case_log.h"

#include "base/err.h"
#include <math.h>

static json_t *lines(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

static json_t *reason_list(const struct verdict_reasons *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *o = json_object();

		json_put_str(o, "code", l->v[i].code);
		json_put_str(o, "about", l->v[i].about);
		json_put_str(o, "text", l->v[i].text);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static json_t *limit_list(const struct comparison *c)
{
	static const char *const words[] = { "held", "missed", "undecided", "not measured" };
	json_t *a = json_array();

	for (size_t i = 0; i < c->limits.n; i++) {
		const struct limit_read *l = &c->limits.v[i];
		json_t *o = json_object();

		json_put_str(o, "name", l->name);
		json_put_str(o, "rule", l->rule);
		json_put_str(o, "evidence", l->now ? l->now->name : NULL);
		json_put_str(o, "result", words[l->result]);
		json_put_str(o, "text", l->text);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static json_t *probe_list(const struct comparison *c)
{
	static const char *const words[] = { "not clear", "good", "bad", "partly" };
	json_t *a = json_array();

	for (size_t i = 0; i < c->outcomes.n; i++) {
		const struct diagnose_probe *p = &c->outcomes.v[i];
		json_t *o = json_object();

		json_put_str(o, "name", p->name);
		json_put_str(o, "base", p->base == ARM_ACCEPTED ? "accepted" : "candidate");
		json_put_str(o, "outcome", words[p->outcome]);
		json_put_str(o, "text", p->text);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static const char *layer_word(const struct diagnosis *d, bool report)
{
	if (!d->has_layer)
		return d->nothing ? "none" : "undetermined";
	return report ? diagnosis_layer_report_name(d->layer) : component_layer_name(d->layer);
}

/* Nothing regressed: what would decide, or what to do with it. */
static char *next_without_regression(const struct comparison *c)
{
	bool scores = false;

	switch (c->verdict.kind) {
	case VERDICT_ACCEPTED:
	case VERDICT_ACCEPTED_NOTE:
		return xstrdup("nothing: every limit is held");
	case VERDICT_INCONCLUSIVE:
		for (size_t i = 0; i < c->limits.n; i++)
			scores |= c->limits.v[i].result == LIMIT_OPEN && c->limits.v[i].abs_scale;
		return xstrdup(
			scores ? "ask for the full set of items, both arms, paired per item"
			       : "more repetitions of both arms, each a fresh start: 5 or more "
				 "accepted ones, better 10");
	default:
		return xstrdup("measure what is missing");
	}
}

static json_t *answer(const struct comparison *c, const struct diagnosis *d)
{
	json_t *o = diagnosis_to_json(d), *why = json_array();
	AUTO_FREE char *next = d->next ? NULL : next_without_regression(c);

	json_put_str(o, "id", json_str_or(c->doc, "id", NULL));
	json_put_str(o, "title", json_str_or(c->doc, "title", NULL));
	json_put_str(o, "verdict", verdict_code(c->verdict.kind));
	if (c->with_probe)
		json_put_str(o, "verdict_with_probe", verdict_code(c->by_probe));
	json_put_str(o, "layer_in_reports", layer_word(d, /* report= */ true));
	if (d->has_second)
		json_put_str(o, "second_layer_in_reports", diagnosis_layer_report_name(d->second));
	json_put(o, "decision", reason_list(&c->verdict.reasons));
	json_put(o, "notes", reason_list(&c->verdict.notes));
	for (size_t i = 0; i < c->verdict.reasons.n; i++)
		(void)json_array_append_new(why, json_string(c->verdict.reasons.v[i].text));
	for (size_t i = 0; i < d->reasons.n; i++)
		(void)json_array_append_new(why, json_string(d->reasons.v[i]));
	for (size_t i = 0; i < c->verdict.notes.n; i++)
		if (streq(c->verdict.notes.v[i].code, "with_probe"))
			(void)json_array_append_new(why, json_string(c->verdict.notes.v[i].text));
	json_put(o, "reasons", why);
	json_put_str(o, "next_action", d->next ? d->next : next);
	(void)json_object_del(o, "next");
	json_put(o, "limits", limit_list(c));
	json_put(o, "probes", probe_list(c));
	json_put(o, "changes", changes_to_json(&c->changes));
	json_put(o, "unread", lines(&c->unread));
	return o;
}

/* One small score against another says nothing either way. */
static void undecided_words(const struct comparison *c, struct diagnosis *d)
{
	if (c->verdict.kind != VERDICT_INCONCLUSIVE)
		return;
	for (size_t i = 0; i < c->limits.n; i++) {
		const struct limit_read *l = &c->limits.v[i];
		size_t n = l->now ? l->now->n : 0;

		if (l->result != LIMIT_OPEN)
			continue;
		strs_addf(&d->must_not, "do not reject on %zu value%s of %s", n, n == 1 ? "" : "s",
			  l->name);
		strs_addf(&d->must_not,
			  "do not accept on %zu value%s of %s: no difference shown is "
			  "not the same",
			  n, n == 1 ? "" : "s", l->name);
		strs_add(&d->fields, l->name);
		if (l->abs_scale)
			strs_add(&d->fields, "n_questions");
	}
	strs_add(&d->fields, "per-item results");
}

int diagnose_case(const json_t *doc, const struct diagnose_case_opts *opts, json_t **ret,
		  enum verdict_kind *ret_kind, struct err *err)
{
	struct comparison c CLEANUP(comparison_release) = { 0 };
	struct case_log log CLEANUP(case_log_release) = { 0 };
	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
	enum diagnosis_symptom symptom;
	struct diagnose_in in = { 0 };
	const json_t *arm;

	TRY(comparison_read(doc, &c, err));
	comparison_judge(&c);
	if (!opts->without_probes)
		comparison_probes(&c);
	case_log_read(opts->signatures, &c.a.log, &c.b.log, &log);
	arm = json_object_get(doc, "candidate");
	if (diagnosis_symptom_parse(
		    sv_of(json_str_or(arm, "symptom", json_str_or(doc, "symptom", ""))), &symptom))
		in.symptom = &symptom;
	in.changes = &c.changes;
	in.verdict = &c.verdict;
	in.before = &c.a.stack;
	in.after = &c.b.stack;
	in.signs = log.signs.v;
	in.n_signs = log.signs.n;
	in.flips = log.flips.v;
	in.n_flips = log.flips.n;
	in.seen = c.seen.v;
	in.n_seen = c.seen.n;
	in.kernels = c.kernels.v;
	in.n_kernels = c.kernels.n;
	in.probes = c.outcomes.v;
	in.n_probes = c.outcomes.n;
	in.gpu = c.gpu;
	in.exit_code = c.b.has_exit ? &c.b.exit_code : NULL;
	in.scope = c.scope;
	diagnose(&in, &d);
	undecided_words(&c, &d);
	*ret = answer(&c, &d);
	*ret_kind = c.verdict.kind;
	return 0;
}
