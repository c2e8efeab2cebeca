/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of the log and ONE change, together. The line speaks of the layer where the fault came to
 * light; the change says which part of the stack is not the accepted one. Where they lie in
 * different layers, these are the cases in which it is known which of the two is right. Each
 * stands on its reason and not on a collection of examples:
 *
 * the bar: nothing but a limit changed: whatever the log says, it was fine before.
 * The reporter: a fault is reported that is none; what reports is new, what it reports is not.
 * Data: a model artifact changed and all software is the accepted one.
 * A moved tag: other content behind one name; the pin did not pin, whatever is inside fails.
 * An override: a variable forces what the metal is; the message is about the consequence.
 * Own code: what the team itself changed is looked at before what it calls.
 * The place: orchestrator or container runtime changed; limits, devices, mounts come from it.
 * A new binary: it needs symbols, or code for this GPU, that are not there.
 * The network: firmware or driver of NIC or switch changed; the library above only says so.
 */
#include "diagnose/inner.h"

static bool is_own_code(const struct lead *t)
{
	return t->layer == CL_APPLICATION && t->part->kind == PART_VERSION;
}

static bool is_override(const struct lead *t)
{
	AUTO_FREE char *w = part_words(change_name(t->change));

	return t->layer == CL_APPLICATION && t->part->kind == PART_SETTING &&
	       part_has(w, "_override_|_force_");
}

static bool is_tag(const struct lead *t)
{
	return t->layer == CL_IMAGE && t->part->kind == PART_SETTING;
}

static bool is_software(enum component_layer l)
{
	return l == CL_RUNTIME || l == CL_COMMLIB || l == CL_KERNELLIB || l == CL_FRAMEWORK ||
	       l == CL_ENGINE || l == CL_IMAGE;
}

/* What containers and jobs get from the place where they run. */
static bool from_the_place(const struct diagnose_sign *g)
{
	AUTO_FREE char *w = part_words(g->component ? g->component : "");

	return (g->layer == CL_IMAGE || g->layer == CL_DRIVER || g->layer == CL_APPLICATION) &&
	       part_has(w, "_container|_device|_nvml|_memory|_mount|_cgroup|_limit|_toolkit|_shm|"
			   "_permission|_access");
}

/* A file that was built for something else: symbols, or code for this GPU, are not in it. */
static bool built_for_another(const struct diagnose_sign *g)
{
	AUTO_FREE char *w = part_words(g->component ? g->component : "");

	return g->layer == CL_IMAGE &&
	       (strstr(g->id, "undefined-symbol") ||
		part_has(w,
			 "_architecture|_tensile|_code_object|_gpu_code|_library_files|_kernels"));
}

static bool is_network(const struct lead *t)
{
	return (t->layer == CL_FIRMWARE || t->layer == CL_DRIVER) &&
	       t->part->vendor == VENDOR_NETWORK && t->part->kind == PART_VERSION;
}

static const char *why(const struct scene *s, const struct diagnose_sign *g)
{
	const struct lead *t = s->only;

	if (s->d->symptom == SYMPTOM_MISREPORT && t->part->kind == PART_VERSION &&
	    (g->layer == CL_HARDWARE || g->layer == CL_FIRMWARE) && t->layer != CL_HARDWARE &&
	    t->layer != CL_FIRMWARE)
		return "what reports the fault is what changed";
	if (t->layer == CL_MODEL && t->part->kind == PART_VERSION && is_software(g->layer))
		return "only the model changed, and all software is what was accepted";
	if (is_tag(t))
		return "the name is the same and the content behind it is not";
	if (is_override(t))
		return "an override forces what the hardware is taken for";
	if (is_own_code(t))
		return "only own code changed; what it calls is what was accepted";
	if (t->layer == CL_PLATFORM && t->part->kind == PART_VERSION && from_the_place(g))
		return "only the platform changed, and what the line speaks of comes from it";
	if ((t->layer == CL_KERNELLIB || t->layer == CL_COMMLIB) && t->part->kind == PART_VERSION &&
	    built_for_another(g))
		return "the new library was built for another version or GPU than is there";
	if (is_network(t) && g->layer == CL_COMMLIB)
		return "only the network below changed; what speaks over it is what was accepted";
	return NULL;
}

bool sign_and_change(struct scene *s, const struct diagnose_sign *g)
{
	const struct lead *t = s->only;
	const char *reason = t && !layers_alike(t->layer, g->layer) ? why(s, g) : NULL;
	AUTO_FREE char *w = NULL;

	if (!reason)
		return false;
	w = change_words(t->change);
	scene_set(s, t->layer, part_product(change_name(t->change)), change_name(t->change),
		  g->role == ROLE_CAUSE ? DIAGNOSIS_MEDIUM : DIAGNOSIS_LOW,
		  "a line and one change");
	scene_second(s, g->layer);
	scene_owner(s, scene_owner_of(s, change_name(t->change), t->layer));
	scene_field(s, change_name(t->change));
	scene_field(s, "log");
	strs_addf(&s->d->reasons, "%s: %s", w, reason);
	s->d->next = xasprintf("put back only %s (%s) and look whether the line goes away",
			       change_name(t->change), value_of_side(t->change->before));
	return true;
}

/* Nothing but the bar itself moved. */
bool rule_bar(struct scene *s)
{
	const struct lead *t = NULL;

	for (size_t i = 0; i < s->leads.n; i++) {
		if (s->leads.v[i].part->kind != PART_LIMIT)
			return false;
		t = &s->leads.v[i];
	}
	if (!t)
		return false;
	AUTO_FREE char *w = change_words(t->change);

	scene_set(s, CL_APPLICATION, part_product(change_name(t->change)), change_name(t->change),
		  DIAGNOSIS_MEDIUM, "the bar moved");
	scene_owner(s, scene_owner_of(s, change_name(t->change), CL_APPLICATION));
	scene_field(s, change_name(t->change));
	strs_addf(&s->d->reasons, "%s: the limit is what changed, not the system", w);
	strs_add(&s->d->must_not,
		 "do not look for a fault in the stack before the limit is settled");
	s->d->next = xasprintf("judge the accepted run by the new limit as well; a lowered one is "
			       "a waiver with an owner and an end date");
	return true;
}
