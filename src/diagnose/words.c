/* SPDX-License-Identifier: Apache-2.0 */
/* What the evidence says in words, and what must not be concluded, whatever rule spoke. */
#include "diagnose/inner.h"

#include <math.h>

static bool said_by_verdict(const struct scene *s, const char *name)
{
	for (size_t i = 0; i < s->in->verdict->reasons.n; i++)
		if (streq(s->in->verdict->reasons.v[i].about, name))
			return true;
	return false;
}

static void say_seen(struct scene *s, const struct diagnose_seen *x)
{
	struct strs *r = &s->d->reasons;

	if (x->equal && x->moved == MOVED_WORSE)
		scene_field(s, x->name);
	if (x->moved == MOVED_NOT)
		strs_addf(r, "%s is unchanged%s", x->name, x->decides ? "" : " (control)");
	if (x->moved != MOVED_WORSE || said_by_verdict(s, x->name))
		return;
	if (x->equal)
		strs_addf(r, "%s is %.6g instead of %.6g", x->name, x->now, x->before);
	else if (x->counted && x->decides && !x->alarm)
		strs_addf(r, "%s: %u of %u failed (accepted: %u of %u)", x->name, x->bad, x->tries,
			  x->bad_before, x->tries_before);
	else if (isfinite(x->by))
		strs_addf(r, "%s is %.1f %% worse than accepted", x->name, 100 * x->by);
}

/*
 * A load run has dozens of numbers of the same few things (ttft.p50, ttft.mean.all, ...): of those
 * that decide nothing one stands for each thing, and the controls share a line.
 */
enum { FEW = 12, MOST_WORSE = 4, MOST_CONTROLS = 6 };

static struct sv thing_of(const char *name)
{
	return (struct sv){ name, strcspn(name, ".") };
}

static bool same_thing(const char *a, const char *b)
{
	return sv_eq(thing_of(a), thing_of(b));
}

/* Has an earlier number of this kind, or any that decides, said it of the same thing? */
static bool said_of_thing(const struct scene *s, size_t at)
{
	const struct diagnose_seen *v = s->in->seen, *x = &v[at];

	for (size_t i = 0; i < s->in->n_seen; i++) {
		bool before = v[i].decides || i < at;

		if (i != at && before && v[i].moved == x->moved && same_thing(v[i].name, x->name))
			return true;
	}
	return x->moved == MOVED_WORSE && said_by_verdict(s, x->name);
}

static void say_many(struct scene *s)
{
	struct str controls CLEANUP(str_release) = { 0 };
	size_t worse = 0, kept = 0;

	for (size_t i = 0; i < s->in->n_seen; i++)
		if (s->in->seen[i].decides || s->in->seen[i].equal || s->in->seen[i].counted)
			say_seen(s, &s->in->seen[i]);
	for (size_t i = 0; i < s->in->n_seen; i++) {
		const struct diagnose_seen *x = &s->in->seen[i];

		if (x->decides || x->equal || x->counted || said_of_thing(s, i))
			continue;
		if (x->moved == MOVED_WORSE && worse++ < MOST_WORSE)
			say_seen(s, x);
		if (x->moved == MOVED_NOT && kept++ < MOST_CONTROLS)
			str_addf(&controls, "%s%.*s", controls.n ? ", " : "",
				 (int)thing_of(x->name).n, x->name);
	}
	if (worse > MOST_WORSE)
		strs_addf(&s->d->reasons, "%zu other numbers are worse too", worse - MOST_WORSE);
	if (kept > MOST_CONTROLS)
		str_addf(&controls, " and %zu more", kept - MOST_CONTROLS);
	if (kept)
		strs_addf(&s->d->reasons, "unchanged (controls): %s", str_text(&controls));
}

/* Everything that the evidence says, before any cause. */
void words_evidence(struct scene *s)
{
	const struct diagnose_sign *g = scene_best_sign(s);
	struct strs *r = &s->d->reasons;

	if (s->in->n_seen > FEW)
		say_many(s);
	else
		for (size_t i = 0; i < s->in->n_seen; i++)
			say_seen(s, &s->in->seen[i]);
	if (s->kernel)
		strs_addf(r, "one kernel carries the added time: %s%s%s", s->kernel,
			  s->kernel_owner ? ", of " : "", s->kernel_owner ? s->kernel_owner : "");
	if (s->uniform)
		strs_add(
			r,
			"all kernels grew alike: clocks, power or compiler rather than one kernel");
	if (s->kernel || s->uniform)
		scene_field(s, "kernel_time_share");
	for (size_t i = 0; i < s->in->n_flips; i++)
		strs_addf(r, "a log line turned from '%s' to '%s': %s", s->in->flips[i].from,
			  s->in->flips[i].to, s->in->flips[i].now);
	if (g)
		strs_addf(r, "the log says: %s (%s: %s)", g->line, component_layer_name(g->layer),
			  g->meaning ? g->meaning : g->id);
	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].cleared)
			strs_addf(r, "%s is cleared: %s left the result as it was",
				  change_name(s->leads.v[i].change), s->leads.v[i].cleared_by);
}

static void unchanged_layers(struct scene *s)
{
	static const enum component_layer say[] = { CL_RUNTIME, CL_DRIVER, CL_HOST };
	struct str names = { 0 };

	for (size_t i = 0; s->in->before && s->in->after && i < ARRAY_SIZE(say); i++) {
		const char *lib = scene_library(s, say[i]);
		const struct component *a = lib ? stack_find_name(s->in->before, lib) : NULL;
		const struct component *b = lib ? stack_find_name(s->in->after, lib) : NULL;

		if (!a || !b || !a->version || !streq(a->version, b->version) ||
		    (s->d->has_layer && layers_alike(s->d->layer, say[i])))
			continue;
		str_addf(&names, "%s%s", names.n ? ", " : "", lib);
	}
	if (names.n)
		strs_addf(&s->d->must_not, "do not attribute it to %s: unchanged",
			  str_text(&names));
	str_release(&names);
}

static void say_exit(struct scene *s)
{
	int code = *s->in->exit_code;
	int sig = code < 0 ? -code : code > 128 && code < 160 ? code - 128 : 0;

	if (code == 0 && s->in->verdict->kind == VERDICT_REJECTED) {
		strs_add(&s->d->must_not, "do not pass because the exit code is 0");
		if (s->d->symptom == SYMPTOM_RESUME)
			strs_add(&s->d->reasons,
				 "the failure was swallowed: the process went on and "
				 "exited with 0");
	}
	if (sig == 6) {
		strs_addf(&s->d->reasons, "exit code %d is SIGABRT: the process aborted itself",
			  code);
		strs_addf(&s->d->must_not, "do not call exit %d an out-of-memory kill (SIGKILL, 9)",
			  code);
	} else if (sig == 9) {
		strs_addf(&s->d->reasons, "exit code %d is SIGKILL: killed from outside", code);
		strs_add(&s->d->must_not,
			 "do not call it out of memory without the kernel's own line");
	}
	if (sig || code == 0)
		scene_field(s, "exit_code");
}

/* What must not be concluded, whatever rule spoke. */
void words_must_not(struct scene *s)
{
	struct diagnosis *d = s->d;
	bool one = false, two = false;

	if (s->in->exit_code)
		say_exit(s);
	if (s->in->verdict->kind != VERDICT_REJECTED)
		return;
	if (d->confidence < DIAGNOSIS_HIGH && d->suspects.n && !d->nothing)
		strs_add(&d->must_not,
			 "a change that came together with a regression is a trigger, not yet the "
			 "cause");
	for (size_t i = 0; i < s->in->n_seen; i++) {
		AUTO_FREE char *w = part_words(s->in->seen[i].name);

		one |= s->in->seen[i].moved == MOVED_NOT &&
		       part_has(w, "1node|_single_node|_one_node|_intra");
		two |= s->in->seen[i].moved == MOVED_WORSE &&
		       part_has(w, "2node|_multi|_nodes_|_inter|4node|8node");
	}
	if (one && two) {
		strs_add(&d->reasons,
			 "the single-node control is unchanged: GPUs and links inside the "
			 "node are fine");
		strs_add(&d->must_not, "do not blame the GPU hardware");
		strs_add(&d->must_not, "do not blame the NIC without a link test");
		strs_add(&d->must_not, "do not accept because the single-node test passes");
		scene_field(s, "single-node control");
	} else if (d->has_layer && d->layer != CL_HARDWARE && d->layer != CL_FIRMWARE) {
		strs_add(&d->must_not, "do not blame the GPU hardware: nothing points at it");
	}
	if (d->symptom == SYMPTOM_RESUME)
		strs_add(&d->must_not, "do not pass because throughput is normal");
	for (size_t i = 0; i < s->leads.n; i++) {
		const struct lead *l = &s->leads.v[i];
		const char *name = change_name(l->change);

		if (d->has_layer && l->layer == CL_ENGINE && l->part->kind == PART_VERSION &&
		    d->layer != CL_ENGINE)
			strs_addf(&d->must_not, "do not blame %s alone", name);
		else if (d->has_layer && d->confidence == DIAGNOSIS_HIGH && l->suspect &&
			 !streq(name, d->trigger) && l->layer == d->layer)
			strs_addf(&d->must_not,
				  "do not blame %s: it moved, the result did not "
				  "follow it",
				  name);
	}
	unchanged_layers(s);
}
