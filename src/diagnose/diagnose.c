/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/diagnose.h"

#include "base/vec.h"
#include "verdict/verdict.h"
#include <math.h>

static const char *const symptoms[] = { "slower", "wrong numbers", "does not start or crashes",
					"does not resume", "other" };
static const char *const confidences[] = { "undetermined", "low", "medium", "high" };

const char *diagnosis_symptom_name(enum diagnosis_symptom s)
{
	return symptoms[s];
}

const char *diagnosis_confidence_name(enum diagnosis_confidence c)
{
	return confidences[c];
}

void diagnosis_release(struct diagnosis *d)
{
	for (size_t i = 0; i < d->suspects.n; i++) {
		free(d->suspects.v[i].component);
		free(d->suspects.v[i].change);
		free(d->suspects.v[i].owner);
	}
	free(d->suspects.v);
	strs_release(&d->reasons);
	strs_release(&d->must_not);
	free(d->next);
	*d = (struct diagnosis){ 0 };
}

/*
 * Percent of causes by layer in the public reports, then by symptom: slower and wrong point at
 * kernel
 * libraries, engines and communication; no start at driver, image, orchestrator; resume at the
 * framework.
 * Public reports select software, so hardware, firmware and host get a floor instead of their
 * share.
 */
static const double weights[CL_N][5] = {
	/*		   slower wrong start resume other */
	[CL_HARDWARE] = { 4, 3, 4, 1, 4 },     [CL_FIRMWARE] = { 4, 2, 4, 1, 3 },
	[CL_HOST] = { 8, 1, 6, 2, 5 },         [CL_DRIVER] = { 10, 6, 20, 3, 12 },
	[CL_RUNTIME] = { 7, 7, 8, 3, 7 },      [CL_COMMLIB] = { 12, 6, 8, 4, 10 },
	[CL_KERNELLIB] = { 25, 30, 8, 4, 15 }, [CL_FRAMEWORK] = { 8, 10, 8, 40, 10 },
	[CL_ENGINE] = { 18, 16, 12, 8, 13 },   [CL_MODEL] = { 4, 12, 3, 4, 3 },
	[CL_IMAGE] = { 5, 4, 16, 4, 8 },       [CL_PLATFORM] = { 5, 1, 10, 8, 6 },
	[CL_APPLICATION] = { 6, 6, 5, 8, 6 },
};

static enum diagnosis_symptom symptom_of(const struct diagnose_in *in)
{
	const struct verdict *v = in->verdict;
	bool failed = false, wrong = false, slow = false;

	for (size_t i = 0; in->outcomes && i < in->outcomes->n; i++)
		if (in->outcomes->v[i].result == RESULT_FAIL && in->outcomes->v[i].required &&
		    strstr(in->outcomes->v[i].check, "resume"))
			return SYMPTOM_RESUME;
	for (size_t i = 0; i < v->reasons.n; i++) {
		const char *code = v->reasons.v[i].code, *about = v->reasons.v[i].about;

		failed |= streq(code, "repetition_failed");
		wrong |= about && (strstr(about, "answers") || strstr(about, "loss") ||
				   strstr(about, "eval") || strstr(about, "samples_to_target") ||
				   strstr(about, "accuracy"));
		slow |= streq(code, "regressed") || streq(code, "gross_regression") ||
			streq(code, "objective_missed");
	}
	return wrong    ? SYMPTOM_WRONG
	       : slow   ? SYMPTOM_SLOWER
	       : failed ? SYMPTOM_NO_START
			: SYMPTOM_OTHER;
}

static double score(const struct change *c, enum diagnosis_symptom s)
{
	double w = weights[change_layer(c)][s];

	/* A component that came or went says less than one that is there in another version. */
	if (c->kind != CHANGE_CHANGED)
		w *= 0.6;
	/* What could be read on one side only may not have changed at all. */
	if ((c->before && !c->before->version) || (c->after && !c->after->version))
		w *= 0.3;
	/* The tool that measures is part of the stack, and its own digest changes with each build.
	 * */
	if (streq(change_name(c), "twice"))
		w *= 0.2;
	return w;
}

static const char *owner_of(const struct diagnose_in *in, const struct change *c)
{
	const char *layer = component_layer_name(change_layer(c)), *o = NULL;

	if (in->owners) {
		o = pairs_get(in->owners, change_name(c));
		o = o ? o : pairs_get(in->owners, layer);
	}
	return o ? o : component_layer_owner(change_layer(c));
}

static int best_first(const void *pa, const void *pb)
{
	const struct suspect *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return strcmp(a->component, b->component);
}

/* Listed already under a change that it came with. */
static bool follows_another(const struct changes *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (l->v[k].material && change_together(&l->v[k], &l->v[i]))
			return true;
	return false;
}

static void suspects(const struct diagnose_in *in, struct diagnosis *d)
{
	double all = 0;

	for (size_t i = 0; i < in->changes->n; i++) {
		const struct change *c = &in->changes->v[i];
		struct suspect *s;

		if (!c->material || follows_another(in->changes, i))
			continue;
		s = VEC_ADD(&d->suspects);
		*s = (struct suspect){ xstrdup(change_name(c)), change_text(c), change_layer(c),
				       xstrdup(owner_of(in, c)), score(c, d->symptom) };
		all += s->share;
	}
	for (size_t i = 0; i < d->suspects.n; i++)
		d->suspects.v[i].share /= all > 0 ? all : 1;
	if (d->suspects.n > 1)
		qsort(d->suspects.v, d->suspects.n, sizeof(*d->suspects.v), best_first);
}

static void explain(const struct diagnose_in *in, struct diagnosis *d)
{
	const struct suspect *first = d->suspects.n ? &d->suspects.v[0] : NULL;

	(void)in;
	if (!first) {
		strs_add(&d->reasons,
			 "nothing that was captured has changed since the accepted run");
		strs_add(&d->must_not, "do not blame a component of the stack: none changed");
		d->next = xstrdup("run again on the accepted stack (twice run): if it is rejected "
				  "too, look at the "
				  "machine, its neighbours and what is not captured");
		return;
	}
	if (d->suspects.n == 1) {
		d->confidence = DIAGNOSIS_MEDIUM;
		strs_addf(&d->reasons,
			  "%s is the only component that changed since the accepted run",
			  first->component);
	} else if (first->share >= 0.6) {
		d->confidence = DIAGNOSIS_LOW;
		strs_addf(&d->reasons,
			  "%zu components changed; for '%s' the %s layer is the usual cause",
			  d->suspects.n, symptoms[d->symptom], component_layer_name(first->layer));
	} else {
		d->confidence = DIAGNOSIS_UNDETERMINED;
		strs_addf(&d->reasons, "%zu components changed and none stands out", d->suspects.n);
	}
	strs_add(&d->must_not,
		 "a change that came together with a regression is a trigger, not yet the cause");
	d->next = xasprintf("put back only '%s' and run again; then the other way round",
			    first->component);
}

void diagnose(const struct diagnose_in *in, struct diagnosis *ret)
{
	struct diagnosis d = { .symptom = symptom_of(in), .confidence = DIAGNOSIS_UNDETERMINED };

	suspects(in, &d);
	explain(in, &d);
	*ret = d;
}

static json_t *texts(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

json_t *diagnosis_to_json(const struct diagnosis *d)
{
	json_t *o = json_object(), *a = json_array();

	json_put_str(o, "symptom", symptoms[d->symptom]);
	json_put_str(o, "confidence", confidences[d->confidence]);
	for (size_t i = 0; i < d->suspects.n; i++) {
		const struct suspect *s = &d->suspects.v[i];
		json_t *x = json_object();

		json_put_str(x, "component", s->component);
		json_put_str(x, "change", s->change);
		json_put_str(x, "layer", component_layer_name(s->layer));
		json_put_str(x, "owner", s->owner);
		json_put_int(x, "share_e9", (int64_t)llround(s->share * 1e9));
		(void)json_array_append_new(a, x);
	}
	json_put(o, "suspects", a);
	json_put(o, "reasons", texts(&d->reasons));
	json_put(o, "must_not", texts(&d->must_not));
	json_put_str(o, "next", d->next);
	return o;
}
