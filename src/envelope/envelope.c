/* SPDX-License-Identifier: Apache-2.0 */
#include "envelope/envelope.h"

#include "base/err.h"
#include "base/vec.h"

const char *finding_name(enum finding_kind k)
{
	static const char *const names[FINDING_N] = { "ok", "violated", "unknown" };

	return k < FINDING_N ? names[k] : "unknown";
}

void findings_release(struct findings *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].component);
		free(l->v[i].with);
		free(l->v[i].want);
		free(l->v[i].found);
		free(l->v[i].source);
		free(l->v[i].text);
	}
	free(l->v);
	*l = (struct findings){ 0 };
}

json_t *findings_to_json(const struct findings *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const struct finding *f = &l->v[i];
		json_t *j = json_object();

		json_put_str(j, "kind", finding_name(f->kind));
		json_put_str(j, "component", f->component);
		json_put_str(j, "with", f->with);
		json_put_str(j, "want", f->want);
		json_put_str(j, "found", f->found);
		json_put_str(j, "source", f->source);
		json_put_str(j, "text", f->text);
		if (f->layer < CL_N)
			json_put_str(j, "layer", component_layer_name(f->layer));
		json_array_append_new(a, j);
	}
	return a;
}

/* ---- one component --------------------------------------------------------------------------- */

struct answer {
	enum finding_kind kind;
	const char *why;
};

/* NAME@REV: the revision a model was fetched at. Files alone have a digest, and no revision. */
static struct answer judge_revision(const char *rev, const struct component *c)
{
	const char *hex = c->digest && str_starts(c->digest, "sha256:") ? c->digest + 7 : NULL;
	size_t n = strlen(rev);

	if (streq(c->version, rev) || streq(c->label, rev) || streq(c->requested, rev) ||
	    (hex && n >= 12 && strncmp(hex, rev, n) == 0))
		return (struct answer){ FINDING_OK, "fits" };
	if (hex && c->version && str_starts(hex, c->version))
		return (struct answer){
			FINDING_UNKNOWN, "the files have a digest, but nothing says their revision"
		};
	return (struct answer){ FINDING_VIOLATED, "is another one" };
}

static struct answer judge(const char *want, const struct component *c)
{
	const char *at = strrchr(want, '@');
	struct err err = ERR_INIT;

	if (pin_valid(want, &err) < 0)
		return (struct answer){ FINDING_UNKNOWN, "the pin can't be read" };
	if (streq(c->version, "none found"))
		return (struct answer){ FINDING_VIOLATED, "is not there" };
	if (pin_fits(want, c->version, c->digest))
		return (struct answer){ FINDING_OK, "fits" };
	if (at && at > want && at[1])
		return c->version || c->digest
			       ? judge_revision(at + 1, c)
			       : (struct answer){ FINDING_UNKNOWN, "its version is unknown" };
	if (strstr(want, "sha256:") ? !c->digest : !c->version)
		return (struct answer){ FINDING_UNKNOWN, strstr(want, "sha256:")
								 ? "its digest is unknown"
								 : "its version is unknown" };
	return (struct answer){ FINDING_VIOLATED, "is another one" };
}

static char *sentence(const struct finding *f, const char *why)
{
	switch (f->kind) {
	case FINDING_OK:
		return xasprintf("%s is %s, as pinned (%s)", f->component, f->found, f->want);
	case FINDING_VIOLATED:
		return xasprintf("%s is %s, pinned to %s", f->component,
				 f->found ? f->found : "not there", f->want);
	default:
		return xasprintf("%s, pinned to %s: %s", f->component, f->want, why);
	}
}

static void add(struct findings *l, const char *name, const char *want, const struct component *c,
		struct answer a)
{
	struct finding *f = VEC_ADD(l);

	f->kind = a.kind;
	f->component = xstrdup(name);
	f->want = xstrdup(want);
	f->source = xstrdup("pin");
	f->layer = c ? c->layer : CL_N;
	if (c)
		f->found = xstrdup(strstr(want, "sha256:") && c->digest ? c->digest : c->version);
	f->text = sentence(f, a.why);
	l->n_violated += a.kind == FINDING_VIOLATED;
	l->n_unknown += a.kind == FINDING_UNKNOWN;
}

/* LAYER/NAME or NAME. A slash in a name of another meaning is no layer. */
static bool names(const char *pin, const struct component *c)
{
	const char *slash = strchr(pin, '/');
	enum component_layer layer;

	if (streq(pin, c->name))
		return true;
	return slash && component_layer_parse((struct sv){ pin, (size_t)(slash - pin) }, &layer) &&
	       layer == c->layer && streq(slash + 1, c->name);
}

/* The worst answer of all components the pin names: violated before unknown before ok. */
static void check_pin(const char *pin, const char *want, const struct stack *s,
		      struct findings *ret)
{
	const struct component *worst = NULL;
	struct answer all = { FINDING_UNKNOWN, "the stack has no such component" };

	for (size_t i = 0; i < s->n; i++) {
		struct answer a;

		if (!names(pin, &s->v[i]))
			continue;
		a = judge(want, &s->v[i]);
		if (worst && (all.kind == FINDING_VIOLATED || a.kind == FINDING_OK))
			continue;
		worst = &s->v[i];
		all = a;
	}
	add(ret, pin, want, worst, all);
}

void envelope_check(const struct pairs *pins, const struct stack *s, struct findings *ret)
{
	for (size_t i = 0; i < pins->n; i++)
		check_pin(pins->v[i].name, pins->v[i].value, s, ret);
}
