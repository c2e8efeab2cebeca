/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution where there is no regression: nothing to say, nothing measured, nothing to
 * compare. */
#include "diagnose/inner.h"

/* No regression: nothing to attribute. */
bool rule_none(struct scene *s)
{
	enum verdict_kind k = s->in->verdict->kind;

	if (k != VERDICT_ACCEPTED && k != VERDICT_ACCEPTED_NOTE && k != VERDICT_INCONCLUSIVE)
		return false;
	s->d->nothing = true;
	s->d->confidence = DIAGNOSIS_HIGH;
	s->d->rule = "no regression is shown";
	scene_owner(s, "none");
	if (s->in->verdict->advice)
		s->d->next = xstrdup(s->in->verdict->advice);
	return true;
}

/* R2: what the evidence is labelled with is not what ran, or it was of other work. */
bool rule_void(struct scene *s)
{
	const struct stack *sides[] = { s->in->before, s->in->after };

	if (s->in->verdict->kind != VERDICT_BASELINE_VOID)
		return false;
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; sides[side] && i < sides[side]->n; i++) {
			const struct component *c = &sides[side]->v[i];
			AUTO_FREE char *what = part_product(c->name);
			bool label = c->label && c->version && !streq(c->label, c->version);
			bool asked = c->requested && *c->requested && c->version &&
				     !streq(c->requested, c->version);
			enum component_layer l;

			if (!label && !asked)
				continue;
			/* Asked for as the label says and not done: whoever should have done it. */
			l = asked ? part_of(c->name)->layer : CL_APPLICATION;
			scene_set(s, l,
				  label && !asked ? xasprintf("label of %s", what)
						  : xasprintf("%s in effect", what),
				  c->name, DIAGNOSIS_HIGH, "label, request and effect differ");
			scene_owner(s, label && !asked ? scene_owner_of(s, NULL, CL_APPLICATION)
						       : scene_owner_of(s, c->name, l));
			scene_field(s, c->name);
			strs_addf(&s->d->must_not,
				  "do not compare with numbers that are labelled %s %s", what,
				  label ? c->label : c->requested);
			s->d->next =
				xasprintf("run again with %s really %s, or label the evidence with "
					  "what ran (%s)",
					  what, label ? c->label : c->requested, c->version);
			return true;
		}
	for (size_t i = 0; i < s->leads.n; i++) {
		const struct lead *l = &s->leads.v[i];
		AUTO_FREE char *w = NULL;

		if (l->part->kind != PART_WORK && l->part->kind != PART_LIMIT)
			continue;
		w = change_words(l->change);
		scene_set(s, l->part->layer, part_product(change_name(l->change)),
			  change_name(l->change), DIAGNOSIS_HIGH, "other work or other limits");
		scene_owner(s, scene_owner_of(s, change_name(l->change), l->part->layer));
		scene_field(s, change_name(l->change));
		s->d->next =
			l->part->kind == PART_LIMIT
				? xasprintf("restore the limit, or sign a waiver with an owner and "
					    "an end date for %s",
					    w)
				: xstrdup("accept a run of the work as it is now, then compare");
		if (l->part->kind == PART_LIMIT)
			strs_add(&s->d->must_not,
				 "do not accept because a lowered limit is met: that is a waiver");
		return true;
	}
	s->d->nothing = true;
	s->d->confidence = DIAGNOSIS_HIGH;
	s->d->rule = "the accepted evidence was for something else";
	scene_owner(s, "none");
	s->d->next = xstrdup("accept a run of what is there now, then compare");
	return true;
}

/* R10, R11: a tool or a time limit broke, not the workload. */
bool rule_no_result(struct scene *s)
{
	const struct diagnose_sign *g = scene_best_sign(s);
	const struct lead *t = NULL;

	if (s->in->verdict->kind != VERDICT_NO_RESULT)
		return false;
	strs_add(&s->d->must_not, "do not call it a failure of the workload: it was not measured");
	strs_add(&s->d->must_not, "do not accept: what was not measured is not good");
	for (size_t i = 0; s->in->after && i < s->in->after->n; i++) {
		const struct component *c = &s->in->after->v[i];
		AUTO_FREE char *w = part_words(c->version ? c->version : "");

		if (part_of(c->name)->layer != CL_PLATFORM ||
		    !part_has(w, "_time_limit_|_timeout_|_walltime_|_timed_out_|_deadline_"))
			continue;
		scene_set(s, CL_PLATFORM, xstrdup("job time limit"), c->name, DIAGNOSIS_HIGH,
			  "ended by its time limit");
		scene_owner(s, scene_owner_of(s, NULL, CL_PLATFORM));
		scene_field(s, c->name);
		strs_addf(&s->d->reasons, "the job ended by %s", c->version);
		s->d->next = xstrdup("run it again with enough time");
		return true;
	}
	if (g && (g->layer == CL_PLATFORM || g->layer == CL_RUNTIME || g->layer == CL_APPLICATION ||
		  g->role == ROLE_CAUSE)) {
		scene_set(s, g->layer, xstrdup(g->component), NULL, DIAGNOSIS_MEDIUM,
			  "a signature");
		scene_owner(s, scene_owner_of(s, scene_library(s, g->layer), g->layer));
		scene_field(s, "log");
		strs_addf(&s->d->reasons, "the log says: %s (%s)", g->line,
			  g->meaning ? g->meaning : g->id);
		s->d->next =
			xstrdup(g->action && *g->action ? g->action
							: "repair the tool, then measure again");
		return true;
	}
	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].part->kind == PART_TOOL)
			t = &s->leads.v[i];
	if (t) {
		scene_set(s, t->layer, part_product(change_name(t->change)), change_name(t->change),
			  DIAGNOSIS_MEDIUM, "the measuring tool changed");
		scene_owner(s, scene_owner_of(s, change_name(t->change), t->layer));
		scene_field(s, change_name(t->change));
		s->d->next = xasprintf("put back %s or read its output by name, then measure again",
				       change_name(t->change));
		return true;
	}
	s->d->rule = "not measured";
	s->d->next = xstrdup("measure what is missing, then judge");
	return true;
}
