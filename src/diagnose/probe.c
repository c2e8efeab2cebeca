/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What swaps say. On the candidate, a swap after which it is good again names what it swapped; one
 * after which it is as bad as before clears it. On the accepted stack the other way round. A fix by
 * something that had NOT changed separates cause (where the fix is) from trigger (what had
 * changed).
 * A setting that helps is a way around: it names a place to look, not what is broken.
 */
#include "diagnose/inner.h"

/* What one probe swapped, when it was one thing. */
struct swap {
	const struct diagnose_probe *probe;
	const char *name; /* without "effective." and the like */
	const char *value;
	const struct part *part;
	struct lead *lead; /* when it is one of the changes; else NULL */
	bool back;         /* to the value of the other arm */
	bool setting;
};

/* Equal as versions: "30.30" and "30.30", "ROCM_X (forced)" and "ROCM_X". */
static bool same_value(const char *probe, const char *side)
{
	size_t n;

	if (!side)
		return false;
	n = strlen(side);
	return str_starts(probe, side) && (!probe[n] || probe[n] == ' ');
}

static bool swap_of(struct scene *s, const struct diagnose_probe *p, struct swap *ret)
{
	const struct component *other;
	char aspect;

	*ret = (struct swap){ .probe = p };
	for (size_t i = 0; i < p->changes.n; i++) {
		const char *name = part_name(p->changes.v[i].name, &aspect);
		const struct part *part = part_of(name);

		/* More questions or another load are no swap of the stack. */
		if (part->kind == PART_WORK)
			continue;
		if (ret->name)
			return false; /* two things at once prove neither */
		ret->name = name;
		ret->value = p->changes.v[i].value;
		ret->part = part;
		ret->setting = part->kind == PART_SETTING;
	}
	if (!ret->name)
		return false;
	ret->lead = scene_lead(s, ret->name);
	if (ret->lead) {
		other = p->base == ARM_CANDIDATE ? ret->lead->change->before
						 : ret->lead->change->after;
		ret->back = other && same_value(ret->value, other->version);
	}
	return true;
}

/* A swap that changed nothing in the result clears what it swapped. */
void probes_clear(struct scene *s)
{
	for (size_t i = 0; i < s->in->n_probes; i++) {
		const struct diagnose_probe *p = &s->in->probes[i];
		bool stays = p->base == ARM_CANDIDATE ? p->outcome == PROBE_BAD
						      : p->outcome == PROBE_GOOD;
		struct swap x;

		if (!stays || !swap_of(s, p, &x) || !x.lead || !x.back)
			continue;
		x.lead->cleared = true;
		x.lead->cleared_by = p->name;
	}
}

static bool breaks_accepted(struct scene *s, const struct lead *l, const char **ret_name)
{
	for (size_t i = 0; i < s->in->n_probes; i++) {
		struct swap x;

		if (s->in->probes[i].base == ARM_ACCEPTED &&
		    s->in->probes[i].outcome == PROBE_BAD && swap_of(s, &s->in->probes[i], &x) &&
		    x.lead == l && x.back) {
			*ret_name = s->in->probes[i].name;
			return true;
		}
	}
	return false;
}

static bool say_latent(struct scene *s)
{
	bool any = false;

	for (size_t i = 0; i < s->in->n_probes; i++) {
		const struct diagnose_probe *p = &s->in->probes[i];

		if (!p->latent)
			continue;
		any = true;
		strs_addf(&s->d->reasons,
			  "the accepted stack itself shows the fault at a low rate (%s)", p->text);
		strs_add(&s->d->must_not, "do not declare the accepted stack healthy");
	}
	return any;
}

static char *component_at(struct scene *s, const char *name, enum component_layer l)
{
	const struct diagnose_sign *g = scene_sign(s, l);
	AUTO_FREE char *product = part_product(name);

	if (!g || !g->component || !*g->component)
		return STEAL(product);
	/* "rccl GPU-NIC DMA"; a runtime's part is known without its bundle's name. */
	return l == CL_RUNTIME || strstr(g->component, product)
		       ? xstrdup(g->component)
		       : xasprintf("%s %s", product, g->component);
}

/* Good again by something that had not changed: the cause lies there, what changed is the
 * trigger. */
static bool fixed_elsewhere(struct scene *s, const struct swap *x)
{
	struct lead *t = s->only;
	const char *trigger = t                  ? change_name(t->change)
			      : s->d->suspects.n ? s->d->suspects.v[0].component
						 : NULL;

	scene_set(s, x->part->layer, component_at(s, x->name, x->part->layer), trigger,
		  t ? DIAGNOSIS_HIGH : DIAGNOSIS_MEDIUM, "fixed elsewhere");
	scene_owner(s, scene_owner_of(s, x->name, x->part->layer));
	scene_field(s, x->name);
	strs_addf(&s->d->reasons,
		  "%s: with only %s moved to %s the candidate is as good as accepted "
		  "(%s)",
		  x->probe->name, x->name, x->value, x->probe->text ? x->probe->text : "");
	if (t) {
		AUTO_FREE char *w = change_words(t->change);

		strs_addf(
			&s->d->reasons,
			"%s brought it, but the same %s works once %s is moved: it is the trigger, "
			"not the cause",
			w, trigger, x->name);
		scene_field(s, trigger);
		if (!layers_alike(t->layer, x->part->layer))
			scene_second(s, t->layer);
	}
	if (trigger)
		strs_addf(&s->d->must_not, "do not name %s as the cause: it is the trigger",
			  trigger);
	(void)say_latent(s);
	s->d->next =
		xasprintf("move %s to %s together with the change, or stay on the accepted stack; "
			  "report it to %s with the two arms and the log lines",
			  x->name, x->value, s->d->owner);
	return true;
}

/* Good again by the team's own code while something below it had changed. */
static bool fixed_in_own_code(struct scene *s, const struct swap *x)
{
	struct lead *t = s->only;
	AUTO_FREE char *product = part_product(change_name(t->change));
	bool resume = s->d->symptom == SYMPTOM_RESUME;

	scene_set(s, t->layer,
		  resume ? xstrdup("checkpoint loading default")
			 : xasprintf("%s behaviour that own code relies on", product),
		  change_name(t->change), DIAGNOSIS_HIGH, "worked around in own code");
	scene_second(s, CL_APPLICATION);
	scene_owner(s, scene_owner_of(s, x->name, CL_APPLICATION));
	scene_field(s, change_name(t->change));
	strs_addf(&s->d->reasons, "%s: own code that spells it out recovers what %s lost (%s)",
		  x->probe->name, change_name(t->change), x->probe->text ? x->probe->text : "");
	s->d->next =
		xasprintf("ship the explicit setting in own code and make it stop when loading "
			  "fails; stay on the accepted %s until then",
			  product);
	return true;
}

/* A default that flipped, pinned back. */
static bool fixed_by_pin(struct scene *s, const struct swap *x)
{
	AUTO_FREE char *what = part_product(x->name);
	struct lead *t = NULL;

	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].suspect && !s->leads.v[i].cleared &&
		    s->leads.v[i].layer == x->part->layer)
			t = &s->leads.v[i];
	t = t ? t : s->only;
	scene_set(s, x->part->layer, xasprintf("%s default", what),
		  t ? change_name(t->change) : NULL, t ? DIAGNOSIS_HIGH : DIAGNOSIS_MEDIUM,
		  "pinned default");
	scene_owner(s, t ? scene_owner_of(s, change_name(t->change), x->part->layer)
			 : scene_owner_of(s, x->name, x->part->layer));
	scene_field_effective(s, x->name);
	strs_addf(&s->d->reasons,
		  "nobody asked for %s, and what is in effect differs: %s before, %s now", what,
		  value_of_side(x->lead->change->before), value_of_side(x->lead->change->after));
	strs_addf(&s->d->reasons, "%s: pinning the old %s recovers the loss (%s)", x->probe->name,
		  what, x->probe->text ? x->probe->text : "");
	strs_add(&s->d->must_not, "do not call it the sum of many small changes");
	s->d->next = xasprintf("pin %s to %s in the contract's settings, run the full load range "
			       "again, report the changed default to %s",
			       what, value_of_side(x->lead->change->before), s->d->owner);
	return true;
}

/* Good again with the changed component put back. */
static bool fixed_by_back(struct scene *s, const struct swap *x)
{
	const char *reverse = NULL, *name = change_name(x->lead->change);
	bool both = breaks_accepted(s, x->lead, &reverse), alone = s->only == x->lead;
	AUTO_FREE char *w = change_words(x->lead->change);
	AUTO_FREE char *product = part_product(name);

	scene_set(s, x->lead->layer, component_at(s, name, x->lead->layer), name,
		  both || alone ? DIAGNOSIS_HIGH : DIAGNOSIS_MEDIUM, "swapped back");
	scene_owner(s, scene_owner_of(s, name, x->lead->layer));
	scene_field(s, name);
	if (both)
		strs_addf(&s->d->reasons,
			  "changing only %s moves the result in both directions: %s (%s); and %s",
			  product, x->probe->name, x->probe->text ? x->probe->text : "good again",
			  reverse);
	else
		strs_addf(&s->d->reasons, "%s: with %s alone put back it is good again (%s)",
			  x->probe->name, product, x->probe->text ? x->probe->text : "");
	(void)say_latent(s);
	s->d->next =
		xasprintf("keep the accepted stack, or ship the new one with %s %s; report %s to "
			  "%s%s%s",
			  product, value_of_side(x->lead->change->before), w, s->d->owner,
			  s->kernel ? ", with the kernel " : "", s->kernel ? s->kernel : "");
	return true;
}

/* The image went along, or the whole node: where the software is the same and the metal is not. */
static bool by_node(struct scene *s, const struct swap *x)
{
	bool moved = x->probe->base == ARM_CANDIDATE ? x->probe->outcome == PROBE_GOOD
						     : x->probe->outcome == PROBE_BAD;

	if (!moved)
		return false;
	scene_set(s, CL_HARDWARE,
		  s->domain_what && s->domain & 1u << CL_HARDWARE ? xstrdup(s->domain_what)
								  : xstrdup("node"),
		  x->name, DIAGNOSIS_HIGH, "it goes with the node");
	scene_owner(s, scene_owner_of(s, NULL, CL_HARDWARE));
	scene_field(s, x->name);
	strs_addf(&s->d->reasons, "%s: it goes with the node and not with the software (%s)",
		  x->probe->name, x->probe->text ? x->probe->text : "");
	strs_add(&s->d->must_not, "do not blame the last software change");
	s->d->next = xasprintf("take %s out of service, run the hardware layer there and on a good "
			       "node, hand both to %s",
			       x->value && x->probe->base == ARM_ACCEPTED ? x->value
									  : "the suspect node",
			       s->d->owner);
	return true;
}

/* A changed environment variable or flag taken back. */
static bool fixed_by_setting(struct scene *s, const struct swap *x)
{
	if (x->lead && x->lead->flip)
		return fixed_by_pin(s, x);
	if (x->lead && x->back)
		return fixed_by_back(s, x);
	return false;
}

static bool good_again(struct scene *s, const struct swap *x)
{
	if (x->setting)
		return fixed_by_setting(s, x);
	if (x->lead && (x->back || !x->lead->flip))
		return fixed_by_back(s, x);
	if (x->part->layer == CL_APPLICATION && s->only && s->only->layer != CL_APPLICATION)
		return fixed_in_own_code(s, x);
	return fixed_elsewhere(s, x);
}

bool rule_probes(struct scene *s)
{
	struct swap x;

	for (size_t i = 0; i < s->in->n_probes; i++) {
		const struct diagnose_probe *p = &s->in->probes[i];

		if (swap_of(s, p, &x) && x.part->kind == PART_NODE && by_node(s, &x))
			return true;
	}
	/* Without putting the trigger back first: that says more than going back. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->in->n_probes; i++) {
			const struct diagnose_probe *p = &s->in->probes[i];

			if (p->base != ARM_CANDIDATE || p->outcome != PROBE_GOOD ||
			    !swap_of(s, p, &x) || x.part->kind == PART_NODE)
				continue;
			if ((pass == 0) == (x.lead != NULL))
				continue;
			if (good_again(s, &x))
				return true;
		}
	/* Only the other direction was tried: the accepted stack broken by one component. */
	for (size_t i = 0; i < s->in->n_probes; i++) {
		const char *name;
		AUTO_FREE char *w = NULL;

		if (s->in->probes[i].base != ARM_ACCEPTED ||
		    s->in->probes[i].outcome != PROBE_BAD || !swap_of(s, &s->in->probes[i], &x) ||
		    !x.lead || !x.back)
			continue;
		name = change_name(x.lead->change);
		w = change_words(x.lead->change);
		scene_set(s, x.lead->layer, component_at(s, name, x.lead->layer), name,
			  s->only == x.lead ? DIAGNOSIS_HIGH : DIAGNOSIS_MEDIUM, "swapped forward");
		scene_owner(s, scene_owner_of(s, name, x.lead->layer));
		scene_field(s, name);
		strs_addf(&s->d->reasons, "%s: %s alone makes the accepted stack as bad (%s)",
			  s->in->probes[i].name, w,
			  s->in->probes[i].text ? s->in->probes[i].text : "");
		s->d->next =
			xasprintf("the other way round: put back only %s in the candidate", name);
		return true;
	}
	return false;
}
