/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations that a search does not plan: those which what their makers publish says do not go
 * together, those which the contract's pins forbid, those which --never names.
 *
 * A refusal is of one component or of two, so it is looked for with every pair of them in all four
 * ways. Two that were in place together in the accepted or the rejected run have run: no table is
 * believed against that. What a pin forbids was decided by a person, so it stays forbidden, except
 * in the two configurations that were measured already.
 */
#include "run/bisecting.h"

#include "base/clock.h"
#include "base/vec.h"
#include "envelope/envelope.h"

/* Which switch moves each component of one of the stacks: the number of its part, -1: none. */
struct moved {
	const struct stack *was, *is;
	const struct changes *changes;
	const struct question *q;
	const struct waivers *waivers;
	const struct pairs *pins;
};

static bool is_named(const struct bisect_part *p, const char *component)
{
	return streq(p->name, component) ||
	       (str_starts(component, "env.") && streq(p->name, component + 4));
}

int question_part_of(const struct question *q, const struct changes *changes, const char *component)
{
	for (size_t i = 0; i < q->parts.n; i++)
		if (is_named(&q->parts.v[i], component))
			return (int)i;
	for (size_t i = 0; i < changes->n; i++) {
		if (!streq(change_name(&changes->v[i]), component))
			continue;
		for (size_t k = 0; k < changes->n; k++)
			for (size_t j = 0; j < q->parts.n; j++)
				if (is_named(&q->parts.v[j], change_name(&changes->v[k])) &&
				    change_together(&changes->v[i], &changes->v[k]))
					return (int)j;
	}
	return -1;
}

/* The word of a switch is a version where the component has none of its own (a file's is the
 * beginning of its digest). */
static const char *version_in(const struct component *c, const struct bisect_part *p, bool is_new)
{
	const char *word = is_new ? p->is : p->was;
	const char *hex = c->digest && str_starts(c->digest, "sha256:") ? c->digest + 7 : NULL;

	if (!streq(c->name, p->name) || (c->version && !(hex && str_starts(hex, c->version))))
		return c->version;
	return word;
}

static void add_side(const struct moved *m, const struct stack *from, bool is_new, uint32_t config,
		     struct stack *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct component *c = &from->v[i];
		int part = question_part_of(m->q, m->changes, c->name);
		struct component *copy;

		/* What no switch moves stays as it is now. */
		if (part < 0 ? !is_new : (config >> part & 1) != is_new)
			continue;
		copy = stack_add(ret, c->layer, c->name,
				 part < 0 ? c->version
					  : version_in(c, &m->q->parts.v[part], is_new),
				 c->origin);
		copy->digest = xstrdup(c->digest);
		copy->label = xstrdup(c->label);
		copy->requested = xstrdup(c->requested);
	}
}

/* A switch that no component is named after still has a word. */
static void add_words(const struct moved *m, uint32_t config, struct stack *ret)
{
	for (size_t i = 0; i < m->q->parts.n; i++) {
		const struct bisect_part *p = &m->q->parts.v[i];

		if (!stack_find_name(m->was, p->name) && !stack_find_name(m->is, p->name))
			(void)stack_add(ret, CL_APPLICATION, p->name,
					config >> i & 1 ? p->is : p->was, "switch");
	}
}

static const char *pin_name(const char *pin)
{
	const char *slash = strchr(pin, '/');
	enum component_layer layer;

	if (slash && component_layer_parse((struct sv){ pin, (size_t)(slash - pin) }, &layer))
		return slash + 1;
	return pin;
}

static bool waived(const struct moved *m, const char *pin)
{
	AUTO_FREE char *subject = xasprintf(WAIVER_PIN "%s", pin);

	return waivers_for(m->waivers, subject, clock_wall_ms()) != NULL;
}

static void refuse(struct question *q, uint32_t mask, uint32_t value, const struct finding *f)
{
	struct never *n;

	for (size_t i = 0; i < q->never.n; i++)
		if (q->never.v[i].mask == mask && q->never.v[i].value == value &&
		    streq(q->never.v[i].why, f->text))
			return;
	n = VEC_ADD(&q->never);
	*n = (struct never){ .mask = mask, .value = value, .measured = true };
	n->why = xstrdup(f->text);
	n->source = xstrdup(f->source);
}

/* The findings that are of exactly these parts, in this configuration of them. */
static void look_at(const struct moved *m, struct question *q, uint32_t mask, uint32_t value)
{
	struct stack s CLEANUP(stack_release) = { 0 };
	struct findings l CLEANUP(findings_release) = { 0 };
	bool mixed = value != 0 && value != mask;

	add_side(m, m->was, false, value, &s);
	add_side(m, m->is, true, value, &s);
	add_words(m, value, &s);
	stack_sort(&s);
	envelope_check(m->pins, &s, &l);
	envelope_together(&s, &l);
	for (size_t i = 0; i < l.n; i++) {
		const struct finding *f = &l.v[i];
		int a = question_part_of(q, m->changes, pin_name(f->component));
		int b = f->with ? question_part_of(q, m->changes, f->with) : -1;
		uint32_t of = (a < 0 ? 0 : UINT32_C(1) << a) | (b < 0 ? 0 : UINT32_C(1) << b);

		if (f->kind != FINDING_VIOLATED || of != mask || (f->with && !mixed) ||
		    (!f->with && waived(m, f->component)))
			continue;
		refuse(q, mask, value, f);
	}
}

void question_refuse(struct question *q, const struct stack *was, const struct stack *is,
		     const struct changes *changes, const struct pairs *pins,
		     const struct waivers *waivers)
{
	struct moved m = { was, is, changes, q, waivers, pins };

	for (size_t i = 0; i < q->parts.n; i++) {
		uint32_t a = UINT32_C(1) << i;

		look_at(&m, q, a, 0);
		look_at(&m, q, a, a);
		for (size_t k = i + 1; k < q->parts.n; k++) {
			uint32_t b = UINT32_C(1) << k;

			look_at(&m, q, a | b, a);
			look_at(&m, q, a | b, b);
		}
	}
}

const struct never *question_refusal(const struct question *q, uint32_t config)
{
	uint32_t all = (UINT32_C(1) << q->parts.n) - 1;

	for (size_t i = 0; i < q->never.n; i++) {
		const struct never *n = &q->never.v[i];

		if ((config & n->mask) == n->value &&
		    !(n->measured && (config == 0 || config == all)))
			return n;
	}
	return NULL;
}

/* How many of all configurations are left; -1: too many to count. */
static int64_t left_of(const struct question *q)
{
	int64_t n = 0;

	if (q->parts.n > 20)
		return -1;
	for (uint32_t c = 0; c < UINT32_C(1) << q->parts.n; c++)
		n += !question_refusal(q, c);
	return n;
}

void put_refused(const struct question *q, json_t *to)
{
	json_t *l = json_array();
	int64_t left = q->never.n ? left_of(q) : -1;

	for (size_t i = 0; i < q->never.n; i++) {
		const struct never *n = &q->never.v[i];
		json_t *o = json_object(), *parts = json_array();

		for (size_t k = 0; k < q->parts.n; k++)
			if (n->mask >> k & 1)
				(void)json_array_append_new(
					parts, json_pack("{s:s,s:s,s:s}", "component",
							 q->parts.v[k].name, "which",
							 n->value >> k & 1 ? "new" : "old", "word",
							 n->value >> k & 1 ? q->parts.v[k].is
									   : q->parts.v[k].was));
		json_put(o, "together", parts);
		json_put_str(o, "why", n->why);
		json_put_str(o, "source", n->source);
		(void)json_array_append_new(l, o);
	}
	json_put(to, "refused", l);
	if (left >= 0)
		json_put_int(to, "configurations_left", left);
}
