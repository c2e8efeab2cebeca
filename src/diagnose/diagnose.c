/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/inner.h"

#include <math.h>

static const struct {
	const char *name, *code;
} symptoms[SYMPTOM_N] = {
	[SYMPTOM_SLOWER] = { "slower", "slower" },
	[SYMPTOM_WRONG] = { "wrong numbers", "wrong_numbers" },
	[SYMPTOM_NO_START] = { "does not start", "fails_to_start" },
	[SYMPTOM_CRASH] = { "crashes", "crash" },
	[SYMPTOM_HANG] = { "hangs", "hang" },
	[SYMPTOM_MEMORY] = { "runs out of memory", "oom" },
	[SYMPTOM_RESUME] = { "does not resume", "resume_fails" },
	[SYMPTOM_FALLBACK] = { "falls back silently", "silent_fallback" },
	[SYMPTOM_MISREPORT] = { "reports what is not so", "misreport" },
	[SYMPTOM_OTHER] = { "other", "other" },
};
static const char *const confidences[] = { "undetermined", "low", "medium", "high" };
static const char *const report_names[CL_N] = {
	[CL_HARDWARE] = "hardware",           [CL_FIRMWARE] = "firmware",
	[CL_HOST] = "driver_kernel",          [CL_DRIVER] = "driver_kernel",
	[CL_RUNTIME] = "gpu_runtime",         [CL_COMMLIB] = "comm_library",
	[CL_KERNELLIB] = "kernel_library",    [CL_FRAMEWORK] = "framework",
	[CL_ENGINE] = "serving_engine",       [CL_MODEL] = "model_artifact",
	[CL_IMAGE] = "container_cloud_image", [CL_PLATFORM] = "scheduler_orchestrator",
	[CL_APPLICATION] = "application",
};

const char *diagnosis_symptom_name(enum diagnosis_symptom s)
{
	return symptoms[s].name;
}

bool diagnosis_symptom_parse(struct sv s, enum diagnosis_symptom *ret)
{
	for (size_t i = 0; i < SYMPTOM_N; i++)
		if (sv_is(s, symptoms[i].code) || sv_is(s, symptoms[i].name)) {
			*ret = (enum diagnosis_symptom)i;
			return true;
		}
	return false;
}

static bool any_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

bool diagnosis_symptom_of(const char *reason, enum diagnosis_symptom *ret)
{
	static const char *const memory[] = { "out of memory", "OutOfMemory",         "oom-kill",
					      "alloc memory",  "No available memory", NULL };
	static const char *const resume[] = { "resum", "checkpoint", NULL };
	static const char *const start[] = { "not ready",    "did not start",
					     "cannot start", "could not be started",
					     "cannot run",   NULL };
	static const char *const hang[] = { "time limit", "timed out",   "did not end",
					    "within",     "no progress", NULL };
	static const char *const wrong[] = { "no number", "target was not reached",
					     "differ",    "wrong",
					     "mismatch",  NULL };
	static const char *const crash[] = { "signal", "while it was measured", "core dumped",
					     "aborted", NULL };
	static const char *const fails[] = { "exit ", "ended with", "none of", NULL };

	if (any_word(reason, memory))
		*ret = SYMPTOM_MEMORY;
	else if (any_word(reason, resume))
		*ret = SYMPTOM_RESUME;
	else if (any_word(reason, start))
		*ret = SYMPTOM_NO_START;
	else if (any_word(reason, hang))
		*ret = SYMPTOM_HANG;
	else if (any_word(reason, wrong))
		*ret = SYMPTOM_WRONG;
	else if (any_word(reason, crash))
		*ret = SYMPTOM_CRASH;
	else if (any_word(reason, fails))
		*ret = SYMPTOM_NO_START;
	else
		return false;
	return true;
}

bool diagnosis_exit_of(const char *reason, int *ret)
{
	static const struct {
		const char *before;
		int sign;
	} forms[] = { { "exit code ", 1 }, { "exit ", 1 }, { "signal ", -1 } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *at = strstr(reason, forms[i].before);
		uint64_t n;
		size_t digits;

		if (!at)
			continue;
		at += strlen(forms[i].before);
		digits = strspn(at, "0123456789");
		if (!digits || !sv_to_u64((struct sv){ at, digits }, &n) || n > 255)
			continue;
		*ret = forms[i].sign * (int)n;
		return true;
	}
	return false;
}

const char *diagnosis_confidence_name(enum diagnosis_confidence c)
{
	return confidences[c];
}

const char *diagnosis_layer_report_name(enum component_layer l)
{
	return l < CL_N ? report_names[l] : "undetermined";
}

bool diagnosis_layer_parse(struct sv s, enum component_layer *ret)
{
	if (component_layer_parse(s, ret))
		return true;
	if (sv_is(s, "driver_kernel")) {
		*ret = CL_DRIVER;
		return true;
	}
	for (size_t i = 0; i < CL_N; i++)
		if (sv_is(s, report_names[i])) {
			*ret = (enum component_layer)i;
			return true;
		}
	return false;
}

bool layers_alike(enum component_layer a, enum component_layer b)
{
	return a < CL_N && b < CL_N && streq(report_names[a], report_names[b]);
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
	strs_release(&d->fields);
	free(d->component);
	free(d->trigger);
	free(d->owner);
	free(d->next);
	*d = (struct diagnosis){ 0 };
}

/*
 * Percent of causes by layer in the public reports, by symptom, smoothed: slower and wrong point at
 * kernel libraries, engines and communication; no start at driver, image, orchestrator;
 * memory at the
 * engine; resume at the framework. Public reports select software, so hardware, firmware
 * and host get
 * a floor instead of their share.
 */
static const double weights[CL_N][SYMPTOM_N] = {
	/*		  slower wrong start crash hang mem resume fallb misrep other */
	[CL_HARDWARE] = { 4, 2, 3, 3, 4, 2, 1, 1, 3, 3 },
	[CL_FIRMWARE] = { 4, 2, 4, 4, 8, 2, 1, 2, 6, 3 },
	[CL_HOST] = { 7, 1, 6, 3, 5, 2, 2, 5, 6, 5 },
	[CL_DRIVER] = { 8, 5, 18, 10, 20, 3, 3, 6, 24, 12 },
	[CL_RUNTIME] = { 7, 7, 8, 17, 8, 6, 3, 5, 22, 7 },
	[CL_COMMLIB] = { 22, 5, 5, 8, 32, 2, 3, 24, 4, 12 },
	[CL_KERNELLIB] = { 26, 32, 8, 18, 6, 4, 4, 10, 3, 15 },
	[CL_FRAMEWORK] = { 9, 16, 9, 9, 6, 5, 50, 20, 3, 10 },
	[CL_ENGINE] = { 17, 22, 8, 14, 10, 62, 8, 14, 5, 14 },
	[CL_MODEL] = { 3, 12, 6, 3, 1, 4, 4, 3, 2, 3 },
	[CL_IMAGE] = { 5, 4, 18, 12, 8, 10, 4, 18, 4, 8 },
	[CL_PLATFORM] = { 4, 1, 18, 3, 5, 3, 6, 3, 14, 6 },
	[CL_APPLICATION] = { 4, 6, 5, 6, 4, 5, 12, 8, 16, 6 },
};

struct told {
	bool resume, wrong, start, hang, memory, slow, misreport, failed;
};

static void told_by(const char *name, struct told *t)
{
	AUTO_FREE char *w = part_words(name);

	if (part_has(w, "_resume|_restored|_step_after"))
		t->resume = true;
	else if (part_has(w, "_kv_|_gpu_blocks|_oom|_out_of_memory|_free_mem|_memory_at_start"))
		t->memory = true;
	else if (part_has(w,
			  "_answers|_loss|_eval|_samples_to_target|_accuracy|_score|_gsm8k|_mmlu|"
			  "_match|_token_id|_token_digest|_wrong|_error_rate|_rouge|_bleu|"
			  "_humaneval|_perplexity|_grad_norm|_max_error|_correct"))
		t->wrong = true;
	else if (part_has(w, "_hang|_timeout|_timed_out|_progress|_heartbeat|_finished|_completed"))
		t->hang = true;
	else if (part_has(w, "_start|_ready|_pods|_init|_load_ok|_pull"))
		t->start = true;
	else if (part_has(w, "_record|_alarm|_health|_fatal|_ecc|_ras_"))
		t->misreport = true;
	else
		t->slow = true;
}

static enum diagnosis_symptom symptom_of(const struct diagnose_in *in)
{
	const struct verdict *v = in->verdict;
	struct told t = { 0 };

	if (in->symptom)
		return *in->symptom;
	for (size_t i = 0; in->outcomes && i < in->outcomes->n; i++)
		if (in->outcomes->v[i].result == RESULT_FAIL && in->outcomes->v[i].required &&
		    strstr(in->outcomes->v[i].check, "resume"))
			return SYMPTOM_RESUME;
	for (size_t i = 0; i < v->reasons.n; i++) {
		const char *code = v->reasons.v[i].code, *about = v->reasons.v[i].about;

		t.failed |= streq(code, "repetition_failed");
		if (about && (streq(code, "regressed") || streq(code, "gross_regression") ||
			      streq(code, "objective_missed") || streq(code, "limit_missed") ||
			      streq(code, "items_worse")))
			told_by(about, &t);
		t.wrong |= str_starts(code, "texts_") || str_starts(code, "items_");
	}
	for (size_t i = 0; i < in->n_signs; i++)
		t.memory |= in->signs[i].arm == ARM_CANDIDATE && t.start &&
			    in->signs[i].role == ROLE_CAUSE && in->signs[i].component &&
			    strstr(in->signs[i].component, "memory budget") != NULL;
	return t.resume      ? SYMPTOM_RESUME
	       : t.memory    ? SYMPTOM_MEMORY
	       : t.wrong     ? SYMPTOM_WRONG
	       : t.hang      ? SYMPTOM_HANG
	       : t.start     ? in->exit_code && *in->exit_code ? SYMPTOM_CRASH : SYMPTOM_NO_START
	       : t.misreport ? SYMPTOM_MISREPORT
	       : t.slow      ? SYMPTOM_SLOWER
	       : t.failed    ? SYMPTOM_NO_START
			     : SYMPTOM_OTHER;
}

const char *value_of_side(const struct component *c)
{
	return !c ? "(none)" : c->version ? c->version : c->digest ? c->digest : "unknown";
}

char *change_words(const struct change *c)
{
	return xasprintf("%s %s -> %s", change_name(c), value_of_side(c->before),
			 value_of_side(c->after));
}

const char *scene_owner_of(const struct scene *s, const char *component, enum component_layer l)
{
	const char *o = NULL;

	if (s->in->owners) {
		o = component ? pairs_get(s->in->owners, component) : NULL;
		o = o ? o : pairs_get(s->in->owners, component_layer_name(l));
	}
	return o ? o : part_owner(component ? part_of(component) : NULL, l, s->in->gpu);
}

/* Listed already under a change that it came with. */
static bool follows_another(const struct changes *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (l->v[k].material && change_together(&l->v[k], &l->v[i]))
			return true;
	return false;
}

/* In effect something else on the two sides, and the same (or nothing) was asked for. */
static bool flipped(const struct change *c, const struct part *p)
{
	return c->before && c->after && p->kind == PART_SETTING && p->layer != CL_APPLICATION &&
	       c->before->version && c->after->version &&
	       !streq(c->before->version, c->after->version) &&
	       streq(c->before->requested, c->after->requested) &&
	       (c->after->requested || streq(c->after->note, "effective"));
}

static bool can_be_trigger(const struct lead *l)
{
	switch (l->part->kind) {
	case PART_STATE:
	case PART_COUNT:
		return false;
	case PART_WRAPPER:
		return !l->wrapper;
	default:
		return !l->flip;
	}
}

static void leads_make(struct scene *s)
{
	const struct changes *c = s->in->changes;
	bool inside = false, any = false;

	for (size_t i = 0; i < c->n; i++) {
		struct lead l = { .change = &c->v[i], .part = part_of(change_name(&c->v[i])) };

		if (!c->v[i].material || follows_another(c, i))
			continue;
		l.layer = change_layer(l.change);
		l.flip = flipped(l.change, l.part);
		*VEC_ADD(&s->leads) = l;
		inside |= l.part->kind == PART_VERSION &&
			  (l.layer == CL_RUNTIME || l.layer == CL_COMMLIB ||
			   l.layer == CL_KERNELLIB || l.layer == CL_FRAMEWORK ||
			   l.layer == CL_ENGINE);
	}
	for (size_t i = 0; i < s->leads.n; i++) {
		struct lead *l = &s->leads.v[i];

		l->wrapper = l->part->kind == PART_WRAPPER && inside;
		l->suspect = can_be_trigger(l);
		any |= l->suspect;
	}
	/* States follow from other changes; when there is none, they are what there is. */
	for (size_t i = 0; !any && i < s->leads.n; i++)
		s->leads.v[i].suspect = s->leads.v[i].part->kind == PART_STATE;
}

/* What moved and what did not, by the kind of evidence that it is. */
static void domain_find(struct scene *s)
{
	const struct diagnose_in *in = s->in;

	for (size_t i = 0; i < in->n_seen; i++) {
		const struct domain *d = domain_of(in->seen[i].name);

		if (in->seen[i].moved != MOVED_WORSE || !d || s->domain)
			continue;
		s->domain = d->layers;
		s->domain_what = d->what;
		s->domain_metric = in->seen[i].name;
	}
	if (!s->domain && in->scope && strstr(in->scope, "collective"))
		s->domain = 1u << CL_COMMLIB | 1u << CL_HOST | 1u << CL_DRIVER | 1u << CL_FIRMWARE |
			    1u << CL_HARDWARE;
}

/* Which kernel carries the time that was added: at least 60 % of it. */
static void kernel_find(struct scene *s)
{
	const struct diagnose_in *in = s->in;
	double added = 0, most = 0, least = INFINITY, widest = 0;
	size_t at = 0;

	for (size_t i = 0; i < in->n_kernels; i++) {
		const struct diagnose_kernel *k = &in->kernels[i];
		double d = k->now - k->before;

		added += d;
		if (d > most) {
			most = d;
			at = i;
		}
		if (k->before > 0.02) {
			least = fmin(least, k->now / k->before);
			widest = fmax(widest, k->now / k->before);
		}
	}
	if (added < 0.02)
		return;
	s->uniform = in->n_kernels > 2 && widest < 1.15 * least;
	if (!s->uniform && most >= 0.6 * added) {
		s->kernel = in->kernels[at].name;
		s->kernel_owner = kernel_product(s->kernel);
	}
}

static double score(const struct scene *s, const struct lead *l)
{
	const struct change *c = l->change;
	AUTO_FREE char *product = part_product(change_name(c));
	double w = weights[l->layer][s->d->symptom];

	/* A component that came or went says less than one that is there in another version. */
	if (c->kind != CHANGE_CHANGED)
		w *= 0.6;
	/* What could be read on one side only may not have changed at all. */
	if ((c->before && !c->before->version) || (c->after && !c->after->version))
		w *= 0.3;
	/* The tool that measures is part of the stack, and its digest changes with each build. */
	if (streq(change_name(c), "twice"))
		w *= 0.2;
	if (s->domain && !(s->domain & (1u << l->layer | l->part->carries)))
		w *= 0.3;
	if (s->kernel_owner && (streq(product, s->kernel_owner) ||
				(streq(s->kernel_owner, "engine") && l->layer == CL_ENGINE)))
		w *= 4;
	if (l->cleared)
		w *= 0.05;
	return w;
}

static int best_first(const void *pa, const void *pb)
{
	const struct suspect *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return strcmp(a->component, b->component);
}

/* The layers a change may stand for: its own, and at half weight those that come with it. */
static void spread(const struct scene *s, const struct lead *l)
{
	double w[CL_N] = { 0 }, all = 0;

	for (size_t i = 0; i < CL_N; i++) {
		double part = i == l->layer ? 1 : l->part->carries & (1u << i) ? 0.5 : 0;

		if (s->domain && !(s->domain & (1u << i)))
			part *= 0.2;
		w[i] = part * weights[i][s->d->symptom];
		all += w[i];
	}
	for (size_t i = 0; i < CL_N && all > 0; i++)
		s->d->layers[i] += l->score * w[i] / all;
}

static void suspects_make(struct scene *s)
{
	struct diagnosis *d = s->d;
	double all = 0;

	for (size_t i = 0; i < s->leads.n; i++) {
		struct lead *l = &s->leads.v[i];
		struct suspect *x;

		if (!l->suspect)
			continue;
		l->score = score(s, l);
		if (!l->cleared) {
			s->only = s->n_suspects++ ? NULL : l;
		}
		x = VEC_ADD(&d->suspects);
		*x = (struct suspect){ xstrdup(change_name(l->change)), change_text(l->change),
				       l->layer,
				       xstrdup(scene_owner_of(s, change_name(l->change), l->layer)),
				       l->score };
		all += x->share;
		spread(s, l);
	}
	for (size_t i = 0; i < d->suspects.n; i++)
		d->suspects.v[i].share /= all > 0 ? all : 1;
	for (size_t i = 0; i < CL_N; i++)
		d->layers[i] /= all > 0 ? all : 1;
	if (d->suspects.n > 1)
		qsort(d->suspects.v, d->suspects.n, sizeof(*d->suspects.v), best_first);
}

/* An operating system release and its kernel are one step, and so is an engine with its image. */
static void join_steps(struct scene *s)
{
	struct lead *kernel = NULL;

	for (size_t i = 0; i < s->leads.n; i++)
		if (s->leads.v[i].suspect && s->leads.v[i].layer == CL_HOST &&
		    s->leads.v[i].part->kind == PART_VERSION &&
		    strstr(change_name(s->leads.v[i].change), "kernel"))
			kernel = &s->leads.v[i];
	for (size_t i = 0; kernel && i < s->leads.n; i++) {
		struct lead *l = &s->leads.v[i];

		if (l != kernel && l->layer == CL_HOST && l->part->kind == PART_VERSION)
			l->suspect = false;
	}
}

void diagnose(const struct diagnose_in *in, struct diagnosis *ret)
{
	struct diagnosis d = { .symptom = symptom_of(in), .confidence = DIAGNOSIS_UNDETERMINED };
	struct scene s = { .in = in, .d = &d };

	leads_make(&s);
	join_steps(&s);
	domain_find(&s);
	kernel_find(&s);
	probes_clear(&s);
	suspects_make(&s);
	(void)rules_apply(&s);
	words_must_not(&s);
	free(s.leads.v);
	*ret = d;
}

static json_t *texts(const struct strs *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_string(l->v[i]));
	return a;
}

static json_t *layer_list(const struct diagnosis *d)
{
	json_t *a = json_array();
	bool done[CL_N] = { false };

	for (;;) {
		size_t best = CL_N;
		json_t *x;

		for (size_t i = 0; i < CL_N; i++)
			if (!done[i] && d->layers[i] > 0.005 &&
			    (best == CL_N || d->layers[i] > d->layers[best]))
				best = i;
		if (best == CL_N)
			return a;
		done[best] = true;
		x = json_object();
		json_put_str(x, "layer", component_layer_name((enum component_layer)best));
		json_put_int(x, "share_e9", (int64_t)llround(d->layers[best] * 1e9));
		(void)json_array_append_new(a, x);
	}
}

json_t *diagnosis_to_json(const struct diagnosis *d)
{
	json_t *o = json_object(), *a = json_array();

	json_put_str(o, "symptom", symptoms[d->symptom].name);
	json_put_str(o, "confidence", confidences[d->confidence]);
	json_put_str(o, "layer",
		     d->has_layer ? component_layer_name(d->layer)
		     : d->nothing ? "none"
				  : "undetermined");
	if (d->has_second)
		json_put_str(o, "second_layer", component_layer_name(d->second));
	json_put_str(o, "component", d->component);
	json_put_str(o, "trigger", d->trigger);
	json_put_str(o, "owner", d->owner);
	json_put_str(o, "rule", d->rule);
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
	json_put(o, "layers", layer_list(d));
	json_put(o, "reasons", texts(&d->reasons));
	json_put(o, "must_not", texts(&d->must_not));
	json_put(o, "deciding_fields", texts(&d->fields));
	json_put_str(o, "next", d->next);
	return o;
}
