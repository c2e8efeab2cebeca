/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of attribution, strongest first. Each says what it needs in its first lines. */
#include "diagnose/inner.h"

#include "stat/stat.h"

static void scene_trigger(struct scene *s, const char *name)
{
	free(s->d->trigger);
	s->d->trigger = xstrdup(name);
}

void scene_set(struct scene *s, enum component_layer l, char *component, const char *trigger,
	       enum diagnosis_confidence c, const char *rule)
{
	s->d->has_layer = true;
	s->d->layer = l;
	free(s->d->component);
	s->d->component = component;
	scene_trigger(s, trigger);
	s->d->confidence = c;
	s->d->rule = rule;
}

void scene_owner(struct scene *s, const char *owner)
{
	free(s->d->owner);
	s->d->owner = xstrdup(owner);
}

void scene_second(struct scene *s, enum component_layer l)
{
	s->d->has_second = true;
	s->d->second = l;
}

void scene_field(struct scene *s, const char *name)
{
	if (name && !strs_has(&s->d->fields, name))
		strs_add(&s->d->fields, name);
}

void scene_field_effective(struct scene *s, const char *name)
{
	AUTO_FREE char *full = xasprintf("effective.%s", name);

	scene_field(s, full);
}

struct lead *scene_lead(struct scene *s, const char *name)
{
	for (size_t i = 0; i < s->leads.n; i++)
		if (streq(change_name(s->leads.v[i].change), name))
			return &s->leads.v[i];
	return NULL;
}

/* In the candidate's log and not in the accepted one's: an old companion explains nothing. */
static bool fresh(const struct scene *s, const struct diagnose_sign *g)
{
	if (g->arm != ARM_CANDIDATE)
		return false;
	for (size_t i = 0; i < s->in->n_signs; i++)
		if (s->in->signs[i].arm == ARM_ACCEPTED && streq(s->in->signs[i].id, g->id))
			return false;
	return true;
}

const struct diagnose_sign *scene_sign(const struct scene *s, enum component_layer l)
{
	const struct diagnose_sign *best = NULL;

	for (size_t i = 0; i < s->in->n_signs; i++) {
		const struct diagnose_sign *g = &s->in->signs[i];

		if (g->layer == l && (g->role == ROLE_CAUSE || g->role == ROLE_MARKER) &&
		    (g->role == ROLE_MARKER || fresh(s, g)) && (!best || g->rank > best->rank))
			best = g;
	}
	return best;
}

/* Causes before generic lines; wrappers and consequences never. */
const struct diagnose_sign *scene_best_sign(const struct scene *s)
{
	const struct diagnose_sign *best = NULL;

	for (size_t i = 0; i < s->in->n_signs; i++) {
		const struct diagnose_sign *g = &s->in->signs[i];

		if ((g->role != ROLE_CAUSE && g->role != ROLE_GENERIC) || !fresh(s, g) ||
		    g->layer == CL_N)
			continue;
		if (!best || g->role < best->role ||
		    (g->role == best->role && g->rank > best->rank))
			best = g;
	}
	return best;
}

static const char *first_suspect(const struct scene *s)
{
	return s->only            ? change_name(s->only->change)
	       : s->d->suspects.n ? s->d->suspects.v[0].component
				  : NULL;
}

/* R6: alarms on many of those that run one version and on none of the others are software.
 * On a few,
 * or on old and new alike, they are metal until shown otherwise. */
static bool rule_alarm(struct scene *s)
{
	const struct diagnose_seen *a = NULL, *control = NULL;
	enum component_layer layer = CL_DRIVER;
	AUTO_FREE char *product = NULL;
	const struct lead *t = s->only;
	unsigned bad, tries;

	for (size_t i = 0; i < s->in->n_seen; i++) {
		const struct diagnose_seen *x = &s->in->seen[i];

		if (x->alarm && x->counted && x->moved == MOVED_WORSE && x->decides)
			a = x;
		else if (x->alarm && x->counted && !x->decides)
			control = x;
	}
	if (!a)
		return false;
	bad = control ? control->bad : a->bad_before;
	tries = control ? control->tries : a->tries_before;
	scene_field(s, a->name);
	if (tries && cp_lower(a->bad, a->tries, 0.95) > cp_upper(bad, tries, 0.95) && t &&
	    t->layer != CL_HARDWARE) {
		layer = t->layer;
		product = layer == CL_DRIVER
				  ? xstrdup(streq(part_owner(t->part, layer, s->in->gpu), "NVIDIA")
						    ? "NVIDIA driver"
						    : "amdgpu")
				  : part_product(change_name(t->change));
		scene_set(s, layer, xasprintf("%s error reporting", product),
			  change_name(t->change), DIAGNOSIS_MEDIUM, "alarms follow a version");
		scene_owner(s, scene_owner_of(s, change_name(t->change), layer));
		scene_field(s, change_name(t->change));
		strs_addf(
			&s->d->reasons,
			"records appear only where %s is new: %u of %u there, %u of %u on the old "
			"one",
			change_name(t->change), a->bad, a->tries, bad, tries);
		for (size_t i = 0; i < s->in->n_probes; i++) {
			const struct diagnose_probe *p = &s->in->probes[i];

			if (p->outcome != PROBE_GOOD || p->base != ARM_CANDIDATE)
				continue;
			s->d->confidence = DIAGNOSIS_HIGH;
			strs_addf(&s->d->reasons, "they vanish when it goes back: %s (%s)", p->name,
				  p->text ? p->text : "");
		}
		strs_add(&s->d->must_not, "do not return the GPUs as faulty");
		strs_add(&s->d->must_not, "do not drain the whole fleet");
		strs_add(&s->d->must_not,
			 "do not ignore such records as noise on nodes with the old version");
		s->d->next =
			s->d->confidence == DIAGNOSIS_HIGH
				? xasprintf("stop the rollout of %s, roll back, report it to %s",
					    change_name(t->change), s->d->owner)
				: xasprintf("put two alarmed nodes back on the old %s (%s)",
					    change_name(t->change),
					    value_of_side(t->change->before));
		return true;
	}
	if (2 * a->bad > a->tries && a->tries > 2)
		return false; /* many, but nothing tells the versions apart */
	scene_set(s, CL_HARDWARE, xstrdup("GPU or node that alarms"), NULL, DIAGNOSIS_MEDIUM,
		  "alarms on few");
	scene_owner(s, scene_owner_of(s, NULL, CL_HARDWARE));
	strs_addf(&s->d->reasons, "%u of %u alarm, and those with the same versions do not", a->bad,
		  a->tries);
	strs_add(&s->d->must_not, "do not blame a version that the quiet nodes run as well");
	s->d->next =
		xstrdup("take the alarmed nodes out, read their RAS counters, run the hardware "
			"layer there and on a quiet one");
	return true;
}

static bool hardware_moved(const struct scene *s, const char **ret)
{
	for (size_t i = 0; i < s->in->n_seen; i++) {
		const struct domain *d = domain_of(s->in->seen[i].name);

		if (s->in->seen[i].moved == MOVED_WORSE && d && d->layers == 1u << CL_HARDWARE) {
			*ret = s->in->seen[i].name;
			return true;
		}
	}
	return false;
}

/* Nothing of the software changed, or only where it ran. */
static bool rule_node(struct scene *s)
{
	const char *metric = NULL;
	bool metal = hardware_moved(s, &metric), soft = false;
	struct lead *node = NULL;
	const struct diagnose_sign *g = scene_best_sign(s);

	for (size_t i = 0; i < s->leads.n; i++) {
		struct lead *l = &s->leads.v[i];

		if (l->part->kind == PART_NODE)
			node = l;
		else if (l->suspect && !l->cleared)
			soft = true;
	}
	if (s->in->first || soft || (g && g->role == ROLE_CAUSE && g->layer != CL_HARDWARE) ||
	    (!node && !metal))
		return false;
	scene_set(s, CL_HARDWARE,
		  xstrdup(g && g->role == ROLE_CAUSE ? g->component
			  : metal                    ? domain_of(metric)->what
						     : "node"),
		  node ? change_name(node->change) : NULL, metal ? DIAGNOSIS_MEDIUM : DIAGNOSIS_LOW,
		  "no software changed");
	scene_owner(s, scene_owner_of(s, NULL, CL_HARDWARE));
	scene_field(s, node ? change_name(node->change) : NULL);
	scene_field(s, metric);
	strs_add(&s->d->reasons, node ? "only the node changed, no version and no setting"
				      : "no version and no setting changed");
	if (metal)
		strs_addf(&s->d->reasons, "%s moved with it: %s", metric, domain_of(metric)->what);
	strs_add(&s->d->must_not, "do not blame the last software change: there is none");
	s->d->next =
		xstrdup("run the accepted stack on the suspect node and this one on a known good "
			"node, with the hardware layer on both");
	return true;
}

/* The metal was exchanged and a variable that overrides what it says it is stayed behind. */
static bool rule_override(struct scene *s)
{
	const struct lead *metal = NULL;

	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].part->kind == PART_IDENTITY)
			metal = &s->leads.v[i];
	for (size_t i = 0; metal && s->in->after && i < s->in->after->n; i++) {
		const struct component *c = &s->in->after->v[i];
		AUTO_FREE char *w = part_words(c->name);

		if (c->layer != CL_APPLICATION || !part_has(w, "_override_|_force_") || !c->version)
			continue;
		scene_set(s, CL_APPLICATION, xasprintf("environment variable %s", c->name),
			  change_name(metal->change), DIAGNOSIS_MEDIUM, "an override left behind");
		scene_owner(s, scene_owner_of(s, c->name, CL_APPLICATION));
		scene_field(s, c->name);
		scene_field(s, change_name(metal->change));
		strs_addf(&s->d->reasons,
			  "%s=%s is still set, and the metal under it is another: %s now", c->name,
			  c->version, value_of_side(metal->change->after));
		for (size_t k = 0; k < s->in->n_probes; k++)
			if (s->in->probes[k].outcome == PROBE_GOOD &&
			    s->in->probes[k].changes.n == 1 &&
			    streq(s->in->probes[k].changes.v[0].name, c->name)) {
				s->d->confidence = DIAGNOSIS_HIGH;
				strs_addf(&s->d->reasons, "%s: good again", s->in->probes[k].name);
			}
		strs_add(&s->d->must_not, "do not return the new hardware as faulty");
		s->d->next = xasprintf("unset %s and run again", c->name);
		return true;
	}
	return false;
}

/* The same tag, another digest: the pin did not pin. */
static bool rule_tag(struct scene *s)
{
	const struct stack *a = s->in->before, *b = s->in->after;
	const struct lead *image = NULL;

	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].part->kind == PART_WRAPPER && s->leads.v[i].layer == CL_IMAGE)
			image = &s->leads.v[i];
	if (!a || !b || !image)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct component *x = &a->v[i], *y = stack_find_name(b, x->name);
		const struct part *p = part_of(x->name);

		if (p->layer != CL_IMAGE || p->kind != PART_SETTING || !y || !x->version ||
		    !streq(x->version, y->version))
			continue;
		scene_set(s, CL_IMAGE, xstrdup("registry tag"), change_name(image->change),
			  DIAGNOSIS_MEDIUM, "a tag moved");
		scene_owner(s, scene_owner_of(s, x->name, CL_IMAGE));
		scene_field(s, change_name(image->change));
		scene_field(s, x->name);
		for (size_t k = 0; k < s->leads.n; k++)
			if (s->leads.v[k].layer == CL_ENGINE)
				scene_second(s, CL_ENGINE);
		strs_addf(&s->d->reasons,
			  "%s is '%s' on both sides, and its digest changed from %.19s to %.19s: "
			  "other content behind an unchanged name",
			  x->name, x->version, value_of_side(image->change->before),
			  value_of_side(image->change->after));
		for (size_t k = 0; k < s->in->n_probes; k++)
			if (s->in->probes[k].outcome == PROBE_GOOD &&
			    s->in->probes[k].base == ARM_CANDIDATE) {
				s->d->confidence = DIAGNOSIS_HIGH;
				strs_addf(&s->d->reasons, "%s: good again (%s)",
					  s->in->probes[k].name,
					  s->in->probes[k].text ? s->in->probes[k].text : "");
			}
		strs_add(&s->d->must_not,
			 "do not call the stack unchanged because the tag is the same");
		s->d->next =
			xasprintf("pin the image by digest (%.19s), compare digests on every node",
				  value_of_side(image->change->before));
		return true;
	}
	return false;
}

/* Something else is in effect though what was asked for is the same. */
static bool rule_flip(struct scene *s)
{
	for (size_t i = 0; i < s->leads.n; i++) {
		const struct lead *l = &s->leads.v[i], *t = NULL;
		const struct component *a = l->change->before, *b = l->change->after;
		AUTO_FREE char *what = NULL;
		const char *asked;
		bool same = false;

		if (!l->flip)
			continue;
		asked = b->requested && *b->requested ? b->requested : NULL;
		for (size_t k = 0; k < s->leads.n; k++) {
			const struct lead *x = &s->leads.v[k];

			if (!x->suspect || x->cleared)
				continue;
			same |= x->layer == l->layer;
			if (!t || (x->layer == l->layer && t->layer != l->layer))
				t = x;
		}
		if (!t || (!same && s->n_suspects > 1))
			continue;
		what = part_product(change_name(l->change));
		scene_set(s, same ? l->layer : t->layer,
			  xasprintf("%s %s", what, asked ? "fallback" : "default"),
			  change_name(t->change), DIAGNOSIS_MEDIUM,
			  asked ? "asked for and not in effect" : "a default flipped");
		scene_owner(s, scene_owner_of(s, change_name(t->change), s->d->layer));
		scene_field_effective(s, change_name(l->change));
		scene_field(s, change_name(t->change));
		if (asked)
			strs_addf(&s->d->reasons,
				  "%s was asked for both times; in effect was %s, now it is %s: a "
				  "silent fallback",
				  asked, a->version, b->version);
		else
			strs_addf(&s->d->reasons,
				  "%s: nobody asked for one in either run, and what is in effect "
				  "differs: %s before, %s now",
				  what, a->version, b->version);
		strs_add(&s->d->must_not, "do not call it the sum of many small changes");
		s->d->next = xasprintf("run the candidate again with the old %s (%s) pinned", what,
				       a->version);
		return true;
	}
	return false;
}

/* Which layer a line speaks of, by the first word in it that names a part. */
static enum component_layer layer_of_line(const struct scene *s, const char *line,
					  const char **ret_component)
{
	struct sv rest = sv_of(line), word;

	for (size_t i = 0; i < s->in->n_signs; i++)
		if (s->in->signs[i].line && s->in->signs[i].layer != CL_N &&
		    s->in->signs[i].role != ROLE_WRAPPER &&
		    s->in->signs[i].role != ROLE_CONSEQUENCE &&
		    (strstr(line, s->in->signs[i].line) || strstr(s->in->signs[i].line, line))) {
			*ret_component = s->in->signs[i].component;
			return s->in->signs[i].layer;
		}
	while (sv_word(&rest, &word)) {
		AUTO_FREE char *w = sv_dup(word);
		const struct part *p = part_of(w);

		if (*p->like && p->layer != CL_HARDWARE && p->kind != PART_WORK &&
		    p->kind != PART_SETTING)
			return p->layer;
	}
	/* "attention backend": the name of a setting in two words. */
	rest = sv_of(line);
	for (struct sv last = { NULL, 0 }; sv_word(&rest, &word); last = word) {
		AUTO_FREE char *w =
			last.n ? xasprintf("%.*s_%.*s", (int)last.n, last.p, (int)word.n, word.p)
			       : xstrdup("");
		const struct part *p = part_of(w);

		if (*p->like && p->kind == PART_SETTING && p->layer != CL_APPLICATION) {
			*ret_component = p->layer == CL_ENGINE ? "choice of a backend" : NULL;
			return p->layer;
		}
	}
	return CL_N;
}

/* The library of a layer that is in the stack, changed or not. */
const char *scene_library(const struct scene *s, enum component_layer l)
{
	for (size_t i = 0; s->in->after && i < s->in->after->n; i++)
		if (s->in->after->v[i].layer == l &&
		    part_of(s->in->after->v[i].name)->kind == PART_VERSION)
			return s->in->after->v[i].name;
	return NULL;
}

/* A start-up line that says the opposite now: what it speaks of was switched off (or on). */
static bool rule_marker(struct scene *s)
{
	for (size_t i = 0; i < s->in->n_flips; i++) {
		const struct diagnose_flip *f = &s->in->flips[i];
		const char *component = NULL, *lib, *trigger = first_suspect(s);
		enum component_layer l = layer_of_line(s, f->now, &component);
		AUTO_FREE char *product = NULL;
		const struct lead *t = s->only;

		if (l == CL_N)
			l = layer_of_line(s, f->before, &component);
		if (l == CL_N || (s->domain && !(s->domain & 1u << l)))
			continue;
		lib = scene_library(s, l);
		product = lib ? part_product(lib) : xstrdup(component_layer_name(l));
		scene_set(s, l,
			  component && !strstr(component, product)
				  ? xasprintf("%s %s", product, component)
				  : xstrdup(component ? component : product),
			  trigger, t ? DIAGNOSIS_MEDIUM : DIAGNOSIS_LOW, "a marker turned over");
		scene_owner(s, scene_owner_of(s, lib, l));
		scene_field(s, "log");
		scene_field(s, trigger);
		if (t && !layers_alike(t->layer, l))
			scene_second(s, t->layer);
		if (t && !layers_alike(t->layer, l)) {
			strs_addf(&s->d->must_not, "do not name %s as the cause: it is the trigger",
				  trigger);
			s->d->next = xasprintf("try a newer %s on the same %s, or the old %s (%s)",
					       product, trigger, trigger,
					       value_of_side(t->change->before));
		} else {
			s->d->next =
				xasprintf("put back only %s and look whether the line says '%s' "
					  "again",
					  trigger ? trigger : "what changed there", f->from);
		}
		return true;
	}
	return false;
}

/* Layers whose faults are facts of the place, not of who calls whom. */
static bool is_place(enum component_layer l)
{
	return l == CL_HARDWARE || l == CL_FIRMWARE || l == CL_HOST || l == CL_PLATFORM ||
	       l == CL_IMAGE || l == CL_MODEL;
}

static const struct lead *lead_in(const struct scene *s, enum component_layer l, size_t *ret_n)
{
	const struct lead *t = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < s->leads.n; i++) {
		const struct lead *x = &s->leads.v[i];

		if (!x->suspect || x->cleared || !layers_alike(x->layer, l))
			continue;
		t = t ? t : x;
		++*ret_n;
	}
	return t;
}

/* One change above, the fault below it: caller or callee? Only a swap of the one below tells. */
static bool caller_or_callee(struct scene *s, const struct diagnose_sign *g)
{
	const char *lib = scene_library(s, g->layer);
	AUTO_FREE char *product = lib ? part_product(lib) : NULL;
	AUTO_FREE char *above = part_product(change_name(s->only->change));
	struct suspect *x = VEC_ADD(&s->d->suspects);

	*x = (struct suspect){ xstrdup(lib ? lib : component_layer_name(g->layer)),
			       xasprintf("%s %s (unchanged)", component_layer_name(g->layer),
					 lib ? lib : g->component),
			       g->layer, xstrdup(scene_owner_of(s, lib, g->layer)), 0.5 };
	s->d->suspects.v[0].share = 0.5;
	s->d->rule = "caller or callee";
	scene_trigger(s, change_name(s->only->change));
	scene_field(s, change_name(s->only->change));
	scene_field(s, lib);
	scene_field(s, "log");
	strs_addf(&s->d->reasons,
		  "only %s changed, but the log speaks of a rule of the %s layer: %s", above,
		  component_layer_name(g->layer), g->line);
	strs_addf(&s->d->must_not, "do not name %s as the cause yet: it may only be the trigger",
		  above);
	s->d->next = xasprintf("keep %s, move only %s (its patch level)", above,
			       product ? product : component_layer_name(g->layer));
	return true;
}

/* A driver speaks to its firmware: a complaint between them is first of all with the one
 * that moved. */
static bool driver_and_firmware(struct scene *s, const struct diagnose_sign *g)
{
	const struct lead *t = s->only;
	bool pair = t && ((g->layer == CL_FIRMWARE &&
			   (t->layer == CL_DRIVER ||
			    (t->layer == CL_HOST && t->part->kind == PART_VERSION))) ||
			  (g->layer == CL_DRIVER && t->layer == CL_FIRMWARE));
	AUTO_FREE char *w = pair ? change_words(t->change) : NULL;

	if (!pair)
		return false;
	scene_set(s, t->layer, part_product(change_name(t->change)), change_name(t->change),
		  DIAGNOSIS_MEDIUM, "driver and firmware");
	scene_second(s, g->layer);
	scene_owner(s, scene_owner_of(s, change_name(t->change), t->layer));
	scene_field(s, "log");
	scene_field(s, change_name(t->change));
	strs_addf(&s->d->reasons, "%s moved, the other side of that interface did not", w);
	s->d->next = xasprintf("put back only %s, or bring both to versions that belong together",
			       change_name(t->change));
	return true;
}

/* What a line of the log is known to mean. */
static bool rule_sign(struct scene *s)
{
	const struct diagnose_sign *g = scene_best_sign(s);
	const struct lead *t;
	size_t n;

	if (!g)
		return false;
	if (driver_and_firmware(s, g) || sign_and_change(s, g))
		return true;
	t = lead_in(s, g->layer, &n);
	if (!t && s->only && !is_place(g->layer) && g->layer < s->only->layer &&
	    !(s->only->part->carries & 1u << g->layer) && g->role == ROLE_CAUSE)
		return caller_or_callee(s, g);
	if (g->role == ROLE_GENERIC && !t)
		return false;
	/* What moved is of the layer that changed, and the line speaks of another: a
	 * consequence. */
	if (!t && s->only && s->domain_metric && (s->domain & 1u << s->only->layer) &&
	    !(s->domain & 1u << g->layer))
		return false;
	/* A library's complaint does not explain what another one's evidence shows. */
	if (!t && s->n_suspects && !is_place(g->layer) && g->role != ROLE_CAUSE)
		return false;
	scene_set(s, g->layer, xstrdup(g->component && *g->component ? g->component : NULL),
		  t ? change_name(t->change) : first_suspect(s),
		  g->role == ROLE_CAUSE && (t || is_place(g->layer) || !s->n_suspects ||
					    (s->only && s->only->part->carries & 1u << g->layer))
			  ? DIAGNOSIS_MEDIUM
			  : DIAGNOSIS_LOW,
		  "a signature");
	if (!s->d->component && t)
		s->d->component = part_product(change_name(t->change));
	scene_owner(s, scene_owner_of(s, t ? change_name(t->change) : scene_library(s, g->layer),
				      g->layer));
	scene_field(s, "log");
	scene_field(s, s->d->trigger);
	if (s->only && !layers_alike(s->only->layer, g->layer))
		scene_second(s, s->only->layer);
	if (t) {
		AUTO_FREE char *w = change_words(t->change);

		strs_addf(&s->d->reasons, "and %s changed in that layer", w);
	}
	s->d->next = xstrdup(g->action && *g->action ? g->action : NULL);
	return true;
}

/* It came back at another place, or not at all, and nobody was told. */
static bool rule_resume(struct scene *s)
{
	const struct lead *t;
	size_t n;

	if (s->d->symptom != SYMPTOM_RESUME)
		return false;
	t = lead_in(s, CL_FRAMEWORK, &n);
	if (!t || (n > 1 && !s->only))
		return false;
	scene_set(s, CL_FRAMEWORK, xstrdup("checkpoint loading default"), change_name(t->change),
		  s->only ? DIAGNOSIS_MEDIUM : DIAGNOSIS_LOW, "resume and the framework");
	scene_owner(s, scene_owner_of(s, change_name(t->change), CL_FRAMEWORK));
	if (s->in->exit_code && *s->in->exit_code == 0) {
		scene_second(s, CL_APPLICATION);
		scene_owner(s, scene_owner_of(s, NULL, CL_APPLICATION));
	}
	scene_field(s, change_name(t->change));
	{
		AUTO_FREE char *w = change_words(t->change);

		strs_addf(&s->d->reasons, "%s is %s", w,
			  s->only ? "the only change"
				  : "the change nearest to loading a checkpoint");
	}
	s->d->next =
		xstrdup("load the checkpoint by hand with the new framework and show the error");
	return true;
}

/* One change is left. What carries other layers along needs evidence that chooses among them. */
static bool rule_only(struct scene *s)
{
	const struct lead *t = s->only;
	enum component_layer l;
	AUTO_FREE char *w = NULL, *product = NULL;
	bool bundle, narrowed = false;

	if (!t || t->part->kind == PART_IDENTITY)
		return false;
	l = t->layer;
	bundle = l == CL_RUNTIME || t->part->kind == PART_WRAPPER;
	narrowed = bundle && s->domain_metric && (s->domain & 1u << l);
	if (bundle && s->domain)
		for (size_t i = 0; i < CL_N && !narrowed; i++)
			if (s->domain & 1u << i && t->part->carries & 1u << i) {
				l = (enum component_layer)i;
				narrowed = true;
			}
	w = change_words(t->change);
	product = part_product(change_name(t->change));
	scene_trigger(s, change_name(t->change));
	scene_field(s, change_name(t->change));
	strs_addf(&s->d->reasons,
		  s->d->suspects.n > 1
			  ? "%s is the only change that no probe cleared"
			  : "%s is the only component that changed since the accepted run",
		  w);
	if (bundle && !narrowed && t->part->carries) {
		strs_addf(&s->d->reasons,
			  "%s carries several layers; nothing tells which one it is", product);
		s->d->rule = "the only change carries several layers";
		s->d->next =
			xasprintf("compare what is inside the two %s: versions and digests, then "
				  "swap the likeliest alone",
				  product);
		return true;
	}
	scene_set(s, l,
		  s->domain_what && (s->domain & 1u << l)
			  ? xasprintf("%s %s", product, s->domain_what)
			  : xstrdup(product),
		  NULL, DIAGNOSIS_MEDIUM, "the only change");
	scene_trigger(s, change_name(t->change));
	scene_owner(s, scene_owner_of(s, change_name(t->change), l));
	scene_field(s, s->domain_metric);
	s->d->next = xasprintf("put back only %s (%s) and run again; then the other way round",
			       change_name(t->change), value_of_side(t->change->before));
	return true;
}

/* Several changes, and evidence that only one of them can explain. */
static bool rule_domain(struct scene *s)
{
	const struct lead *t = NULL;
	size_t n = 0;

	for (size_t i = 0; s->domain && s->domain_metric && i < s->leads.n; i++) {
		const struct lead *x = &s->leads.v[i];

		if (!x->suspect || x->cleared || !(s->domain & 1u << x->layer))
			continue;
		t = x;
		n++;
	}
	if (n != 1)
		return false;
	{
		AUTO_FREE char *product = part_product(change_name(t->change));
		AUTO_FREE char *w = change_words(t->change);

		scene_set(s, t->layer,
			  s->domain_what ? xasprintf("%s %s", product, s->domain_what)
					 : xstrdup(product),
			  change_name(t->change), DIAGNOSIS_MEDIUM, "evidence of one layer moved");
		scene_owner(s, scene_owner_of(s, change_name(t->change), t->layer));
		strs_addf(&s->d->reasons, "%s moved, and of all changes only %s is of that layer",
			  s->domain_metric, w);
	}
	scene_field(s, s->domain_metric);
	scene_field(s, change_name(t->change));
	s->d->next = xasprintf("put back only %s (%s) and run again", change_name(t->change),
			       value_of_side(t->change->before));
	return true;
}

/* Nothing decides: the ranking, and how to find out. */
static bool rule_rank(struct scene *s)
{
	struct diagnosis *d = s->d;
	const struct suspect *first = d->suspects.n ? &d->suspects.v[0] : NULL;

	d->rule = "ranking";
	if (s->in->first) {
		strs_add(&d->reasons, "there is no accepted run to compare with, and no line of a "
				      "log says where the fault is");
		d->next = xstrdup("look at the logs ('twice why --pack FILE' collects them), and "
				  "run on a stack that is known to work");
		return true;
	}
	if (!first) {
		strs_add(&d->reasons,
			 "nothing that was captured has changed since the accepted run");
		strs_add(&d->must_not, "do not blame a component of the stack: none changed");
		d->next = xstrdup("run again on the accepted stack (twice run): if it is rejected "
				  "too, look at the machine, its neighbours and what is not "
				  "captured");
		return true;
	}
	if (first->share >= 0.6 && d->suspects.n > 1)
		strs_addf(&d->reasons,
			  "%zu components changed; for '%s' the %s layer is the usual cause",
			  d->suspects.n, diagnosis_symptom_name(d->symptom),
			  component_layer_name(first->layer));
	else
		strs_addf(&d->reasons, "%zu component%s changed and none stands out", d->suspects.n,
			  d->suspects.n == 1 ? "" : "s");
	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].suspect)
			scene_field(s, change_name(s->leads.v[i].change));
	if (s->kernel)
		d->next = xasprintf(
			"swap one component at a time; start with %s, which owns the grown "
			"kernel %s",
			first->component, s->kernel);
	else if (d->suspects.n == 2)
		d->next = xasprintf("four runs: both old, only '%s' new, only '%s' new, both new",
				    first->component, d->suspects.v[1].component);
	else
		d->next = xasprintf("put back only '%s' and run again; then the other way round "
				    "('twice bisect' does it for all)",
				    first->component);
	return true;
}

bool rules_apply(struct scene *s)
{
	static bool (*const rules[])(struct scene *) = {
		rule_bar,  rule_alarm,  rule_override, rule_tag,  rule_probes,
		rule_node, rule_flip,   rule_marker,   rule_sign, rule_resume,
		rule_only, rule_domain, rule_rank,
	};

	if (rule_none(s) || rule_void(s) || rule_no_result(s))
		return true;
	words_evidence(s);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i](s))
			return true;
	return false;
}
