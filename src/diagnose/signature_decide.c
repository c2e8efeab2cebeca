/* SPDX-License-Identifier: Apache-2.0 */
/* From what was found in a log to the layer that is to blame, or to "undetermined". */
#include "diagnose/signature.h"

#include "base/vec.h"
#include <math.h>

enum {
	CERTAIN_RANK = 6,   /* a cause this specific needs no second one */
	DOUBTFUL_RANK = 3,  /* up to here a cause can be something else */
	CATCH_ALL_RANK = 1, /* healthy machines say it as well: decides against a good log only */
};

static const char *const confidences[] = { "undetermined", "low", "medium", "high" };

const char *signature_confidence_name(enum signature_confidence c)
{
	return confidences[c];
}

void signature_decision_release(struct signature_decision *d)
{
	free(d->layers.v);
	free(d->missing.v);
	free(d->known.v);
	strs_release(&d->reasons);
	strs_release(&d->must_not);
	*d = (struct signature_decision){ 0 };
}

/* What one signature is worth: each rank doubles it. A generic line is worth a cause three ranks
 * below; what a good log had too is worth five ranks less. */
static double points(const struct signature *s, bool known)
{
	double p = ldexp(1, (int)s->rank);

	if (s->role == SIGNATURE_GENERIC)
		p /= 8;
	if (s->role == SIGNATURE_MARKER)
		p /= 4;
	return known ? p / 32 : p;
}

static bool won_in(const struct signature_hits *h, const struct signature *s)
{
	const struct signature_hit *x = h ? signature_hits_find(h, s->id) : NULL;

	return x && x->won;
}

static bool decides(const struct signature *s, bool fresh)
{
	return s->layer < CL_N && (s->rank > CATCH_ALL_RANK || fresh) &&
	       (s->role == SIGNATURE_CAUSE || s->role == SIGNATURE_GENERIC);
}

struct weighed {
	struct signature_decision *d;
	const struct signature_hits *now, *good;
};

/* True when `a` says more than `b` about its layer. */
static bool stronger(const struct weighed *w, const struct signature *a, const struct signature *b)
{
	double pa = points(a, won_in(w->good, a)), pb = points(b, won_in(w->good, b));

	return pa > pb;
}

static void add(struct weighed *w, const struct signature *s, uint64_t line, bool known)
{
	struct signature_layer *l = NULL;

	for (size_t i = 0; i < w->d->layers.n && !l; i++)
		if (w->d->layers.v[i].layer == s->layer)
			l = &w->d->layers.v[i];
	if (!l) {
		l = VEC_ADD(&w->d->layers);
		*l = (struct signature_layer){ s->layer, s, line, 0 };
	} else if (stronger(w, s, l->best)) {
		l->best = s;
		l->line = line;
	}
	l->share += points(s, known);
}

static int likeliest(const void *pa, const void *pb)
{
	const struct signature_layer *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (int)a->layer - (int)b->layer;
}

static void gather(struct weighed *w)
{
	struct signature_decision *d = w->d;
	double all = 0;

	for (size_t i = 0; i < w->now->n; i++) {
		const struct signature_hit *h = &w->now->v[i];
		bool known = won_in(w->good, h->sig);

		if (!h->won || !decides(h->sig, w->good && !known))
			continue;
		if (known)
			*VEC_ADD(&d->known) = h->sig;
		add(w, h->sig, h->line, known);
	}
	for (size_t i = 0; w->good && i < w->good->n; i++) {
		const struct signature *s = w->good->v[i].sig;

		if (s->role != SIGNATURE_MARKER || signature_hits_find(w->now, s->id))
			continue;
		*VEC_ADD(&d->missing) = s;
		if (s->layer < CL_N)
			add(w, s, 0, false);
	}
	for (size_t i = 0; i < d->layers.n; i++)
		all += d->layers.v[i].share;
	for (size_t i = 0; i < d->layers.n; i++)
		d->layers.v[i].share /= all;
	if (d->layers.n > 1)
		qsort(d->layers.v, d->layers.n, sizeof(*d->layers.v), likeliest);
}

static enum signature_confidence confidence(const struct weighed *w)
{
	const struct signature_layer *first = w->d->layers.v,
				     *second = w->d->layers.n > 1 ? first + 1 : NULL;

	if (!first)
		return SIGNATURE_UNDETERMINED;
	if (first->best->role != SIGNATURE_CAUSE || first->best->rank <= DOUBTFUL_RANK ||
	    won_in(w->good, first->best))
		return SIGNATURE_LOW;
	if (second && second->share > first->share * 0.9)
		return SIGNATURE_LOW;
	if (first->best->rank < CERTAIN_RANK || (second && second->share > first->share / 4))
		return SIGNATURE_MEDIUM;
	return SIGNATURE_HIGH;
}

/* Nothing decides: say what was there all the same. */
static void explain_nothing(const struct weighed *w)
{
	struct strs *r = &w->d->reasons;
	size_t n = 0, open = 0;

	for (size_t i = 0; i < w->now->n; i++) {
		const struct signature *s = w->now->v[i].sig;

		n += w->now->v[i].won &&
		     (s->role == SIGNATURE_WRAPPER || s->role == SIGNATURE_CONSEQUENCE);
		open += w->now->v[i].won && s->role == SIGNATURE_CAUSE && s->layer == CL_N;
	}
	if (open)
		strs_add(r, "a fault is named, and it can come from more than one layer");
	if (n)
		strs_add(r, "what was found reports a failure whose reason stands elsewhere: look "
			    "at earlier lines and at the logs of the other ranks");
	if (!open && !n)
		strs_add(r, "no line says where the fault is");
}

static void explain(const struct weighed *w)
{
	const struct signature_decision *d = w->d;
	const struct signature_layer *first = d->layers.v;
	struct strs *r = &w->d->reasons;

	if (!first) {
		explain_nothing(w);
	} else if (first->best->role == SIGNATURE_MARKER) {
		strs_addf(r, "'%s' is in the good log and missing here", first->best->id);
	} else {
		strs_addf(r, "'%s' in line %llu %s the %s layer", first->best->id,
			  (unsigned long long)first->line,
			  first->best->role == SIGNATURE_CAUSE ? "names" : "usually comes from",
			  signature_layer_name(first->layer));
	}
	if (d->layers.n > 1)
		strs_addf(r, "the %s layer has signs of its own ('%s')",
			  signature_layer_name(d->layers.v[1].layer), d->layers.v[1].best->id);
	for (size_t i = 0; i < d->known.n; i++)
		strs_addf(r, "'%s' is in the good log too: it alone explains nothing",
			  d->known.v[i]->id);
	for (size_t i = 0; i < d->missing.n; i++)
		if (!first || d->missing.v[i] != first->best)
			strs_addf(r, "'%s' is in the good log and missing here",
				  d->missing.v[i]->id);
	if (w->now->unjudged)
		strs_addf(r, "%llu matches took too much work and are not known",
			  (unsigned long long)w->now->unjudged);
}

static void explain_limits(const struct weighed *w)
{
	const struct signature_layer *first = w->d->layers.v;
	struct strs *m = &w->d->must_not;

	if (!first)
		return;
	strs_add(m, "that a change of this layer brought it: a log says what broke, not what was "
		    "changed");
	if (w->d->confidence == SIGNATURE_LOW)
		strs_addf(
			m,
			"that the %s layer is proven to be at fault: nothing here excludes others",
			signature_layer_name(first->layer));
	if (first->best->caution[0])
		strs_add(m, first->best->caution);
}

void signature_decide(const struct signature_hits *now, const struct signature_hits *good,
		      struct signature_decision *ret)
{
	struct signature_decision d = { 0 };
	struct weighed w = { &d, now, good };

	gather(&w);
	d.confidence = confidence(&w);
	explain(&w);
	explain_limits(&w);
	*ret = d;
}

/* ---- several logs --------------------------------------------------------------------------- */

const char *signature_says_name(enum signature_says s)
{
	static const char *const names[] = { "nothing", "consequences", "cause" };

	return names[s];
}

void signature_log_release(struct signature_log *l)
{
	free(l->time);
	*l = (struct signature_log){ 0 };
}

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* "2026-01-02T03:04:05.678" or "03:04:05"; NULL: there is none. Caller frees. */
static char *time_of(const char *line)
{
	for (const char *p = strchr(line, ':'); p; p = strchr(p + 1, ':')) {
		const char *from = p - 2, *to = p + 6;

		if (p - line < 2 || digits(from) != 2 || digits(p + 1) != 2 || p[3] != ':' ||
		    digits(p + 4) != 2 ||
		    (from > line && ((from[-1] >= '0' && from[-1] <= '9') || from[-1] == ':')))
			continue;
		if ((*to == '.' || *to == ',') && digits(to + 1))
			to += 1 + digits(to + 1);
		if (from - line >= 11 && (from[-1] == ' ' || from[-1] == 'T') &&
		    digits(from - 11) == 4 && from[-7] == '-' && from[-4] == '-')
			from -= 11;
		return xstrndup(from, (size_t)(to - from));
	}
	return NULL;
}

void signature_log_of(const struct signature_hits *h, struct signature_log *ret)
{
	const struct signature_hit *best = NULL;
	struct signature_log l = { .says = SAYS_NOTHING };

	for (size_t i = 0; i < h->n; i++) {
		const struct signature_hit *x = &h->v[i];
		bool cause = decides(x->sig, false);

		if (!x->won || x->sig->role == SIGNATURE_MARKER)
			continue;
		if (!cause && l.says == SAYS_CAUSE)
			continue;
		if (best && (l.says == SAYS_CAUSE) == cause &&
		    points(x->sig, false) <= points(best->sig, false))
			continue;
		best = x;
		l.says = cause ? SAYS_CAUSE : SAYS_FOLLOWS;
	}
	if (best) {
		l.best = best->sig;
		l.line = best->line;
		l.time = time_of(best->excerpt);
	}
	*ret = l;
}

static bool has_layer(const struct signature_log *l, enum component_layer layer)
{
	return l->says == SAYS_CAUSE && l->best->layer == layer;
}

static bool one_form(const char *a, const char *b)
{
	return a && b && (strchr(a, '-') != NULL) == (strchr(b, '-') != NULL);
}

bool signature_logs_first(const struct signature_log *v, size_t n, enum component_layer l,
			  size_t *ret, enum signature_first *ret_by)
{
	size_t first = n, earliest = n, found = 0;
	bool timed = true;

	for (size_t i = 0; i < n; i++) {
		if (!has_layer(&v[i], l))
			continue;
		found++;
		if (first == n)
			first = earliest = i;
		else if (!one_form(v[first].time, v[i].time))
			timed = false;
		else if (strcmp(v[i].time, v[earliest].time) < 0)
			earliest = i;
	}
	if (!found)
		return false;
	*ret = found > 1 && timed ? earliest : first;
	*ret_by = found == 1 ? FIRST_ONLY : timed ? FIRST_BY_TIME : FIRST_BY_ORDER;
	return true;
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static void put_text(json_t *o, const char *key, const char *text)
{
	if (text[0])
		json_put_str(o, key, text);
}

static json_t *hit_to_json(const struct signature_hit *h)
{
	const struct signature *s = h->sig;
	json_t *o = json_object();

	json_put_str(o, "id", s->id);
	json_put_str(o, "role", signature_role_name(s->role));
	json_put_str(o, "layer", signature_layer_name(s->layer));
	json_put_str(o, "component", s->component);
	put_text(o, "owner", s->owner);
	json_put_int(o, "rank", (int64_t)s->rank);
	json_put_int(o, "file", (int64_t)h->file);
	json_put_int(o, "line", (int64_t)h->line);
	json_put_int(o, "offset", (int64_t)h->offset);
	json_put_int(o, "last_line", (int64_t)h->last_line);
	json_put_int(o, "seen", (int64_t)h->seen);
	json_put_int(o, "won", (int64_t)h->won);
	json_put_str(o, "excerpt", h->excerpt);
	json_put_str(o, "meaning", s->meaning);
	put_text(o, "causes", s->causes);
	json_put_str(o, "action", s->action);
	put_text(o, "caution", s->caution);
	put_text(o, "versions", s->versions);
	put_text(o, "source", s->source);
	return o;
}

json_t *signature_hits_to_json(const struct signature_hits *h)
{
	json_t *a = json_array();

	for (size_t i = 0; i < h->n; i++)
		(void)json_array_append_new(a, hit_to_json(&h->v[i]));
	return a;
}

static json_t *ids(const struct signature *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(a, json_string(v[i]->id));
	return a;
}

json_t *signature_decision_to_json(const struct signature_decision *d)
{
	json_t *o = json_object(), *layers = json_array(), *reasons = json_array();
	json_t *must_not = json_array();

	for (size_t i = 0; i < d->layers.n; i++) {
		const struct signature_layer *l = &d->layers.v[i];
		json_t *x = json_object();

		json_put_str(x, "layer", signature_layer_name(l->layer));
		json_put_str(x, "component", l->best->component);
		json_put_str(x, "owner", l->best->owner);
		json_put_str(x, "signature", l->best->id);
		json_put_str(x, "meaning", l->best->meaning);
		json_put_str(x, "action", l->best->action);
		json_put_int(x, "share_e9", (int64_t)llround(l->share * 1e9));
		(void)json_array_append_new(layers, x);
	}
	for (size_t i = 0; i < d->must_not.n; i++)
		(void)json_array_append_new(must_not, json_string(d->must_not.v[i]));
	for (size_t i = 0; i < d->reasons.n; i++)
		(void)json_array_append_new(reasons, json_string(d->reasons.v[i]));
	json_put_str(o, "confidence", confidences[d->confidence]);
	json_put(o, "layers", layers);
	json_put(o, "missing", ids(d->missing.v, d->missing.n));
	json_put(o, "known", ids(d->known.v, d->known.n));
	json_put(o, "reasons", reasons);
	json_put(o, "must_not", must_not);
	return o;
}
