/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks: their components, identity, records and differences. */
#include "model/model.h"

#include "base/canon.h"
#include "base/err.h"
#include "base/vec.h"

static void component_release(struct component *c)
{
	free(c->name);
	free(c->version);
	free(c->requested);
	free(c->label);
	free(c->digest);
	free(c->origin);
	free(c->note);
}

void stack_release(struct stack *s)
{
	for (size_t i = 0; i < s->n; i++)
		component_release(&s->v[i]);
	free(s->v);
	*s = (struct stack){ 0 };
}

struct component *stack_add(struct stack *s, enum component_layer l, const char *name,
			    const char *version, const char *origin)
{
	struct component *c = VEC_ADD(s);

	*c = (struct component){ .layer = l,
				 .name = xstrdup(name),
				 .version = xstrdup(version),
				 .origin = xstrdup(origin) };
	return c;
}

static int cmp_text(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* Layer and name first; the rest makes the order total, so that the identity never varies. */
static int by_layer_and_name(const void *pa, const void *pb)
{
	const struct component *a = pa, *b = pb;
	int d = (int)a->layer - (int)b->layer;

	d = d ? d : cmp_text(a->name, b->name);
	d = d ? d : cmp_text(a->version, b->version);
	d = d ? d : cmp_text(a->digest, b->digest);
	d = d ? d : cmp_text(a->requested, b->requested);
	d = d ? d : cmp_text(a->label, b->label);
	return d ? d : cmp_text(a->origin, b->origin);
}

void stack_sort(struct stack *s)
{
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), by_layer_and_name);
}

const struct component *stack_find(const struct stack *s, enum component_layer l, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].layer == l && streq(s->v[i].name, name))
			return &s->v[i];
	return NULL;
}

const struct component *stack_find_name(const struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i].name, name))
			return &s->v[i];
	return NULL;
}

static json_t *identity(const struct component *c)
{
	json_t *o = json_object();

	json_put_str(o, "layer", component_layer_name(c->layer));
	json_put_str(o, "name", c->name);
	json_put(o, "version", c->version ? json_string(c->version) : json_null());
	if (!json_object_get(o, "version")) /* bytes that are not UTF-8 */
		json_put_str(o, "version", c->version);
	json_put_str(o, "requested", c->requested);
	json_put_str(o, "label", c->label);
	json_put_str(o, "digest", c->digest);
	return o;
}

json_t *stack_to_json(const struct stack *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct component *c = &s->v[i];
		json_t *o = identity(c);

		json_put_str(o, "origin", c->origin);
		json_put_str(o, "note", c->note);
		if (c->cosmetic)
			json_put_bool(o, "cosmetic", true);
		(void)json_array_append_new(a, o);
	}
	return a;
}

static int component_from_json(const json_t *o, struct component *c, struct err *err)
{
	const json_t *version = json_object_get(o, "version");
	const char *layer, *name;

	TRY(json_get_str(o, "layer", &layer, err));
	TRY(json_get_str(o, "name", &name, err));
	if (!component_layer_parse(sv_of(layer), &c->layer))
		return bail(err, ERR_PARSE, "component '%s': unknown layer '%s'", name, layer);
	if (!json_is_string(version) && !json_is_null(version))
		return bail(err, ERR_PARSE, "component '%s': version is neither a string nor null",
			    name);
	c->name = xstrdup(name);
	c->version = xstrdup(json_string_value(version));
	c->requested = xstrdup(json_str_or(o, "requested", NULL));
	c->label = xstrdup(json_str_or(o, "label", NULL));
	c->digest = xstrdup(json_str_or(o, "digest", NULL));
	c->origin = xstrdup(json_str_or(o, "origin", NULL));
	c->note = xstrdup(json_str_or(o, "note", NULL));
	c->cosmetic = json_bool_or(o, "cosmetic", false);
	return 0;
}

int stack_from_json(const json_t *j, struct stack *ret, struct err *err)
{
	struct stack s CLEANUP(stack_release) = { 0 };

	if (!json_is_array(j))
		return bail(err, ERR_PARSE, "a stack is not an array of components");
	for (size_t i = 0; i < json_array_size(j); i++)
		TRY(component_from_json(json_array_get(j, i), VEC_ADD(&s), err));
	stack_sort(&s);
	*ret = s;
	s = (struct stack){ 0 };
	return 0;
}

void stack_digest(const struct stack *s, char ret[65])
{
	struct stack copy = { .n = s->n };
	AUTO_JSON json_t *a = json_array();
	struct err err = ERR_INIT;
	int rc;

	/* Shallow and sorted: the strings stay the stack's. */
	copy.v = xcalloc(s->n, sizeof(*s->v));
	if (s->n)
		memcpy(copy.v, s->v, s->n * sizeof(*s->v));
	stack_sort(&copy);
	for (size_t i = 0; i < copy.n; i++)
		if (!copy.v[i].cosmetic)
			(void)json_array_append_new(a, identity(&copy.v[i]));
	free(copy.v);
	rc = canon_digest(a, ret, &err);
	assert(rc == 0); /* the tree was made here, of strings only */
}

void changes_release(struct changes *c)
{
	free(c->v);
	*c = (struct changes){ 0 };
}

static bool same(const struct component *a, const struct component *b)
{
	/* Unknown equals nothing, itself included: what nobody could read may have changed. */
	return a->version && b->version && streq(a->version, b->version) &&
	       streq(a->digest, b->digest) && streq(a->requested, b->requested) &&
	       streq(a->label, b->label);
}

static int key(const struct component *a, const struct component *b)
{
	return a->layer != b->layer ? (int)a->layer - (int)b->layer : strcmp(a->name, b->name);
}

static void add_change(struct changes *l, const struct component *a, const struct component *b)
{
	struct change *c;

	assert(a || b);
	if (a && b && same(a, b))
		return;
	c = VEC_ADD(l);
	c->kind = !a ? CHANGE_ADDED : !b ? CHANGE_REMOVED : CHANGE_CHANGED;
	c->before = a;
	c->after = b;
	c->gap = a && b && !a->version && !b->version && streq(a->digest, b->digest);
	c->material =
		!c->gap && (!(a ? a->cosmetic : b->cosmetic) || !(b ? b->cosmetic : a->cosmetic));
	l->n_material += c->material;
	l->n_gaps += c->gap;
}

static int material_first(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;
	const struct component *x = a->after ? a->after : a->before;
	const struct component *y = b->after ? b->after : b->before;

	if (a->material != b->material)
		return a->material ? -1 : 1;
	return key(x, y);
}

void stack_diff(const struct stack *before, const struct stack *after, struct changes *ret)
{
	size_t i = 0, k = 0;

	*ret = (struct changes){ 0 };
	while (i < before->n || k < after->n) {
		const struct component *a = i < before->n ? &before->v[i] : NULL;
		const struct component *b = k < after->n ? &after->v[k] : NULL;
		int d = !a ? 1 : !b ? -1 : key(a, b);

		add_change(ret, d <= 0 ? a : NULL, d >= 0 ? b : NULL);
		i += d <= 0;
		k += d >= 0;
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), material_first);
}

enum component_layer change_layer(const struct change *c)
{
	assert(c->after || c->before);
	return c->after ? c->after->layer : c->before->layer;
}

const char *change_name(const struct change *c)
{
	assert(c->after || c->before);
	return c->after ? c->after->name : c->before->name;
}

bool change_together(const struct change *a, const struct change *b)
{
	return change_layer(a) == change_layer(b) && a->before && b->before && a->after &&
	       b->after && a->before->version && a->after->version &&
	       streq(a->before->version, b->before->version) &&
	       streq(a->after->version, b->after->version);
}

static char *side(const struct component *c, bool with_digest)
{
	struct str s = { 0 };
	const char *hex;

	if (!c)
		return xstrdup("(none)");
	str_add(&s, c->version ? c->version : "unknown");
	if (with_digest && c->digest) {
		hex = str_starts(c->digest, "sha256:") ? c->digest + 7 : c->digest;
		str_addf(&s, " (%.12s)", hex);
	}
	if (c->requested && !streq(c->requested, c->version))
		str_addf(&s, " [requested %s]", c->requested);
	if (c->label && !streq(c->label, c->version))
		str_addf(&s, " [label %s]", c->label);
	return str_steal(&s);
}

char *change_text(const struct change *c)
{
	/* Digests only where the versions do not tell the two apart. */
	bool alike = c->before && c->after && streq(c->before->version, c->after->version);
	AUTO_FREE char *a = side(c->before, alike);
	AUTO_FREE char *b = side(c->after, alike);

	return xasprintf("%s %s %s -> %s", component_layer_name(change_layer(c)), change_name(c), a,
			 b);
}

json_t *changes_to_json(const struct changes *c)
{
	static const char *const kinds[] = { "added", "removed", "changed" };
	json_t *a = json_array();

	for (size_t i = 0; i < c->n; i++) {
		const struct change *x = &c->v[i];
		json_t *o = json_object();

		json_put_str(o, "change", kinds[x->kind]);
		json_put_bool(o, "material", x->material);
		if (x->gap)
			json_put_bool(o, "unknown_on_both_sides", true);
		json_put_str(o, "layer", component_layer_name(change_layer(x)));
		json_put_str(o, "name", change_name(x));
		if (x->before)
			json_put(o, "before", identity(x->before));
		if (x->after)
			json_put(o, "after", identity(x->after));
		(void)json_array_append_new(a, o);
	}
	return a;
}
