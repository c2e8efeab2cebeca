/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a recorded comparison: docs/comparison.md. */
#include "diagnose/case.h"

#include "base/err.h"
#include <ctype.h>
#include <math.h>

void evs_release(struct evs *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].v);
		free(l->v[i].text);
	}
	free(l->v);
	*l = (struct evs){ 0 };
}

const struct ev *evs_find(const struct evs *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

static void arm_release(struct arm_read *a)
{
	stack_release(&a->stack);
	evs_release(&a->evs);
	strs_release(&a->log);
	pairs_release(&a->kernels);
	free(a->work);
}

void comparison_release(struct comparison *c)
{
	arm_release(&c->a);
	arm_release(&c->b);
	for (size_t i = 0; i < c->probes.n; i++) {
		free(c->probes.v[i].name);
		pairs_release(&c->probes.v[i].changes);
		evs_release(&c->probes.v[i].evs);
	}
	free(c->probes.v);
	for (size_t i = 0; i < c->limits.n; i++)
		free(c->limits.v[i].text);
	free(c->limits.v);
	changes_release(&c->changes);
	verdict_release(&c->verdict);
	strs_release(&c->unread);
	free(c->gpu);
	free(c->seen.v);
	free(c->kernels.v);
	for (size_t i = 0; i < c->outcomes.n; i++)
		pairs_release(&c->outcomes.v[i].changes);
	free(c->outcomes.v);
	strs_release(&c->words);
	*c = (struct comparison){ 0 };
}

/* ---- values ---- */

/* A scalar as text; NULL: null, or not a scalar. Caller frees. */
static char *scalar(const json_t *v)
{
	if (json_is_string(v))
		return xstrdup(json_string_value(v));
	if (json_is_integer(v))
		return xasprintf("%lld", (long long)json_integer_value(v));
	if (json_is_real(v))
		return xasprintf("%.15g", json_real_value(v));
	if (json_is_boolean(v))
		return xstrdup(json_is_true(v) ? "true" : "false");
	return NULL;
}

static char *list_text(const json_t *a)
{
	struct str s = { 0 };

	for (size_t i = 0; i < json_array_size(a); i++) {
		AUTO_FREE char *one = scalar(json_array_get(a, i));

		str_addf(&s, "%s%s", i ? "," : "", one ? one : "?");
	}
	return str_steal(&s);
}

/* Parallelism has a short and a long name; a label uses the short one. */
static char *setting_name(const char *name)
{
	static const char *const forms[][2] = { { "expert_parallel", "ep" },
						{ "tensor_parallel", "tp" },
						{ "data_parallel", "dp" },
						{ "pipeline_parallel", "pp" } };
	AUTO_FREE char *s = xstrdup(name);

	if (str_ends(s, "_size"))
		s[strlen(s) - 5] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (streq(s, forms[i][0]))
			return xstrdup(forms[i][1]);
	return STEAL(s);
}

static struct component *component_for(struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i].name, name))
			return &s->v[i];
	return stack_add(s, part_of(name)->layer, name, NULL, NULL);
}

static void put_component(struct stack *s, const char *key, const json_t *value)
{
	char aspect;
	const char *bare = part_name(key, &aspect);
	AUTO_FREE char *name = aspect ? setting_name(bare) : xstrdup(bare);
	char *text = json_is_array(value) ? list_text(value) : scalar(value);
	struct component *c = component_for(s, name);
	char **to = aspect == 'r' ? &c->requested : aspect == 'l' ? &c->label : &c->version;

	if (text && !*text && aspect) {
		free(text); /* nothing was asked for */
		return;
	}
	free(*to);
	*to = text;
	if (aspect == 'e') {
		free(c->note);
		c->note = xstrdup("effective");
	}
}

/* {"n1": "5.11", "n2": "5.14"}: one version by node. The one that all have, or all of them. */
static char *by_node(const json_t *o)
{
	struct str s = { 0 };
	AUTO_FREE char *first = NULL;
	bool same = true;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
	{
		AUTO_FREE char *one = scalar(v);

		if (!one) {
			str_release(&s);
			return NULL;
		}
		same &= !first || streq(first, one);
		str_addf(&s, "%s%s=%s", s.n ? " " : "", key, one);
		if (!first)
			first = STEAL(one);
	}
	if (first && same) {
		str_release(&s);
		return STEAL(first);
	}
	return str_steal(&s);
}

static bool put_by_node(struct stack *s, const char *name, const json_t *o)
{
	AUTO_FREE char *text = part_of(name)->kind == PART_VERSION ? by_node(o) : NULL;
	AUTO_JSON json_t *value = text && *text ? json_string(text) : NULL;

	if (value)
		put_component(s, name, value);
	return value != NULL;
}

static void flatten(struct stack *s, const char *lead, const json_t *o)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
	{
		AUTO_FREE char *name = *lead ? xasprintf("%s.%s", lead, key) : xstrdup(key);

		if (!json_is_object(v))
			put_component(s, name, v);
		else if (!put_by_node(s, name, v))
			flatten(s, name, v);
	}
}

/* "tp8 ep8", "ep 8, dp 1": a label in words speaks of settings that are there by name. */
static void read_label(struct stack *s, const char *label)
{
	const char *p = label;

	while (*p) {
		char word[32] = "", number[16] = "";
		size_t n = 0, k = 0;

		while (*p && !isalpha((unsigned char)*p))
			p++;
		while (isalpha((unsigned char)*p) && n < sizeof(word) - 1)
			word[n++] = (char)tolower((unsigned char)*p++);
		if (*p == ' ' || *p == '=' || *p == ':' || *p == '-' || *p == '_')
			p++;
		while (isdigit((unsigned char)*p) && k < sizeof(number) - 1)
			number[k++] = *p++;
		for (size_t i = 0; n && k && i < s->n; i++)
			if (streq(s->v[i].name, word) && !s->v[i].label)
				s->v[i].label = xstrdup(number);
		if (!n && *p)
			p++;
	}
}

static void finish_stack(struct stack *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct component *c = &s->v[i];

		if (streq(c->name, "label") && c->version)
			read_label(s, c->version);
	}
	for (size_t i = 0; i < s->n; i++) {
		struct component *c = &s->v[i];

		/* Asked for, and what came of it was not looked at. */
		if (!c->version && c->requested && !c->label) {
			c->version = c->requested;
			c->requested = NULL;
		}
		if (streq(c->name, "label"))
			c->cosmetic = true;
	}
	stack_sort(s);
}

/* ---- evidence ---- */

static unsigned count_of(const json_t *o, const char *key)
{
	int64_t n = json_int_or(o, key, -1);

	return n > 0 && n < INT32_MAX ? (unsigned)n : 0;
}

static bool is_failure_word(const char *s)
{
	static const char *const words[] = { "timeout", "timed out", "failed", "fail", "hang",
					     "inf",     "crash",     "error",  "oom" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(s, words[i]))
			return true;
	return false;
}

static int read_samples(const json_t *a, const char *where, struct ev *e, struct err *err)
{
	size_t n = json_array_size(a);

	e->v = xcalloc(n + 1, sizeof(*e->v));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(a, i);

		if (json_is_number(x))
			e->v[e->n++] = json_number_value(x);
		else if (json_is_boolean(x))
			e->v[e->n++] = json_is_true(x);
		else if (json_is_null(x) ||
			 (json_is_string(x) && is_failure_word(json_string_value(x))))
			e->failed++;
		else if (json_is_string(x) && !e->n) {
			e->kind = EV_TEXT;
			free(e->text);
			e->text = list_text(a);
			return 0;
		} else
			return bail(err, ERR_PARSE, "%s.%s: sample %zu is no number", where,
				    e->name, i + 1);
	}
	e->kind = e->n || e->failed ? EV_VALUES : EV_MISSING;
	if (e->kind == EV_MISSING)
		e->text = xstrdup("no sample");
	return 0;
}

static void read_direction(const json_t *o, struct ev *e)
{
	const char *better = json_str_or(o, "better", "");

	e->has_dir = direction_parse(sv_of(better), &e->dir);
	if (streq(better, "more") || streq(better, "less")) {
		e->has_dir = true;
		e->dir = streq(better, "more") ? HIGHER_IS_BETTER : LOWER_IS_BETTER;
	}
	e->equal = streq(better, "equal") || streq(better, "same");
}

static int read_counts(const json_t *o, const char *where, struct ev *e, struct err *err)
{
	int64_t tries = json_int_or(o, "tries", -1), ok = json_int_or(o, "ok", -1);
	int64_t bad = json_int_or(o, "bad", ok >= 0 ? tries - ok : -1);

	if (tries < 0 || tries > INT32_MAX || bad < 0 || bad > tries ||
	    (ok >= 0 && ok + bad != tries))
		return bail(err, ERR_PARSE, "%s.%s: 'ok' or 'bad' of 'tries' do not fit together",
			    where, e->name);
	e->kind = tries ? EV_COUNT : EV_MISSING;
	e->bad = (unsigned)bad;
	e->tries = (unsigned)tries;
	return 0;
}

static int read_one(const char *name, const json_t *x, const char *where, struct evs *ret,
		    struct err *err)
{
	struct ev *e = VEC_ADD(ret);
	const json_t *samples;

	*e = (struct ev){ .name = xstrdup(name), .kind = EV_MISSING };
	if (!json_is_object(x)) {
		AUTO_JSON json_t *a =
			json_is_array(x) ? json_incref((json_t *)x) : json_pack("[O]", (json_t *)x);

		return read_samples(a, where, e, err);
	}
	e->unit = json_str_or(x, "unit", "");
	e->items = count_of(x, "items") ? count_of(x, "items") : count_of(x, "n");
	read_direction(x, e);
	samples = json_object_get(x, "samples");
	if (!samples)
		samples = json_object_get(x, "values");
	if (samples && !json_is_array(samples))
		return bail(err, ERR_PARSE, "%s.%s.samples is no list", where, name);
	if (json_object_get(x, "lost") && json_object_get(x, "won")) {
		AUTO_JSON json_t *a =
			json_pack("[O, O]", json_object_get(x, "lost"), json_object_get(x, "won"));

		e->paired = true;
		return read_samples(a, where, e, err);
	}
	if (samples) {
		AUTO_FREE char *w = part_words(name), *u = part_words(e->unit);

		TRY(read_samples(samples, where, e, err));
		e->paired =
			e->n == 2 && (part_has(w, "_discordant") || part_has(u, "_only_a_right"));
		return 0;
	}
	if (json_object_get(x, "tries"))
		return read_counts(x, where, e, err);
	if (json_object_get(x, "value")) {
		AUTO_JSON json_t *a = json_pack("[O]", json_object_get(x, "value"));

		return read_samples(a, where, e, err);
	}
	e->text =
		xstrdup(json_str_or(x, "error", json_str_or(x, "reason", "nothing was recorded")));
	return 0;
}

int evidence_read(const json_t *o, const char *where, struct evs *ret, struct err *err)
{
	const char *name;
	json_t *x;

	if (o && !json_is_object(o))
		return bail(err, ERR_PARSE, "%s is no object", where);
	json_object_foreach((json_t *)o, name, x)
	{
		TRY(read_one(name, x, where, ret, err));
	}
	return 0;
}

/* ---- arms, probes, limits ---- */

static void unread(struct comparison *c, const json_t *o, const char *where,
		   const char *const *known)
{
	const char *key;
	json_t *x;

	json_object_foreach((json_t *)o, key, x)
	{
		bool is_known = false;

		for (size_t i = 0; known[i]; i++)
			is_known |= streq(key, known[i]);
		if (!is_known)
			strs_addf(&c->unread, "%s%s%s", where, *where ? "." : "", key);
	}
}

/* Other groups of numbers (clocks, memory, temperatures): shown as evidence of their own. */
static int read_group(const json_t *o, const char *lead, struct evs *ret, struct err *err)
{
	const char *key;
	json_t *x;

	json_object_foreach((json_t *)o, key, x)
	{
		AUTO_FREE char *name = xasprintf("%s.%s", lead, key);

		if (json_is_number(x) || json_is_object(x) ||
		    (json_is_array(x) && json_is_number(json_array_get(x, 0))))
			TRY(read_one(name, x, lead, ret, err));
	}
	return 0;
}

static int read_log(const json_t *log, const char *where, struct strs *ret, struct err *err)
{
	struct sv rest, line;

	if (json_is_string(log)) {
		rest = sv_of(json_string_value(log));
		while (sv_line(&rest, &line))
			strs_take(ret, sv_dup(line));
		return 0;
	}
	if (log && !json_is_array(log))
		return bail(err, ERR_PARSE, "%s.log is no list of lines", where);
	for (size_t i = 0; i < json_array_size(log); i++) {
		if (!json_is_string(json_array_get(log, i)))
			return bail(err, ERR_PARSE, "%s.log: line %zu is no text", where, i + 1);
		/* "(no warning lines)": a remark about a log, not a line of it. */
		if (json_string_value(json_array_get(log, i))[0] != '(')
			strs_add(ret, json_string_value(json_array_get(log, i)));
	}
	return 0;
}

static int read_arm(struct comparison *c, const char *which, struct arm_read *ret, struct err *err)
{
	static const char *const known[] = { "fingerprint",       "evidence",  "log",
					     "kernel_time_share", "exit_code", "note",
					     "workload",          "symptom",   NULL };
	const json_t *o = json_object_get(c->doc, which), *k, *x;
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return bail(err, ERR_PARSE, "the comparison has no '%s'", which);
	if (!json_is_object(json_object_get(o, "fingerprint")))
		return bail(err, ERR_PARSE, "%s has no 'fingerprint'", which);
	flatten(&ret->stack, "", json_object_get(o, "fingerprint"));
	finish_stack(&ret->stack);
	TRY(evidence_read(json_object_get(o, "evidence"), which, &ret->evs, err));
	TRY(read_log(json_object_get(o, "log"), which, &ret->log, err));
	k = json_object_get(o, "kernel_time_share");
	json_object_foreach((json_t *)k, key, v)
	{
		AUTO_FREE char *share = scalar(v);

		if (!json_is_number(v))
			return bail(err, ERR_PARSE, "%s.kernel_time_share.%s is no number", which,
				    key);
		pairs_add(&ret->kernels, key, share);
	}
	x = json_object_get(o, "exit_code");
	if (json_is_integer(x) && llabs(json_integer_value(x)) < 1000) {
		ret->has_exit = true;
		ret->exit_code = (int)json_integer_value(x);
	}
	x = json_object_get(o, "workload");
	ret->work = x ? json_text(x, /* pretty= */ false) : NULL;
	json_object_foreach((json_t *)o, key, v)
	{
		bool is_known = false;

		for (size_t i = 0; known[i]; i++)
			is_known |= streq(key, known[i]);
		if (is_known || !json_is_object(v))
			continue;
		TRY(read_group(v, key, &ret->evs, err));
	}
	{
		static const char *const items[] = { "n_questions", "n_items", "questions",
						     "n_samples", "eval_items" };

		for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
			const json_t *n =
				json_object_get(json_object_get(o, "fingerprint"), items[i]);

			if (json_is_integer(n) && json_integer_value(n) > 0 &&
			    json_integer_value(n) < INT32_MAX)
				ret->items = (unsigned)json_integer_value(n);
		}
	}
	return 0;
}

static const char *side_value(const struct stack *s, const char *name)
{
	const struct component *x = stack_find_name(s, name);

	return x ? x->version : NULL;
}

static enum diagnose_arm base_of(const struct comparison *c, const json_t *o,
				 const struct probe_read *p)
{
	static const char *const old_words[] = { "accepted", "old image", "old stack",
						 "previous", "baseline",  "known-good stack" };
	static const char *const new_words[] = { "candidate", "new image", "new stack" };
	const char *said = json_str_or(o, "base", ""), *at_old = NULL, *at_new = NULL;

	if (streq(said, "accepted"))
		return ARM_ACCEPTED;
	if (streq(said, "candidate"))
		return ARM_CANDIDATE;
	for (size_t i = 0; i < p->changes.n; i++) {
		char aspect;
		AUTO_FREE char *name = setting_name(part_name(p->changes.v[i].name, &aspect));
		const char *a = side_value(&c->a.stack, name), *b = side_value(&c->b.stack, name);

		if (a && b && !streq(a, b)) {
			if (streq(p->changes.v[i].value, a))
				return ARM_CANDIDATE;
			if (streq(p->changes.v[i].value, b))
				return ARM_ACCEPTED;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(old_words); i++) {
		const char *at = strstr(p->name, old_words[i]);

		at_old = at && (!at_old || at < at_old) ? at : at_old;
	}
	for (size_t i = 0; i < ARRAY_SIZE(new_words); i++) {
		const char *at = strstr(p->name, new_words[i]);

		at_new = at && (!at_new || at < at_new) ? at : at_new;
	}
	return at_old && (!at_new || at_old < at_new) ? ARM_ACCEPTED : ARM_CANDIDATE;
}

static int read_probes(struct comparison *c, struct err *err)
{
	static const char *const known[] = { "name", "base",      "changes", "evidence",
					     "log",  "exit_code", "note",    NULL };
	const json_t *a = json_object_get(c->doc, "probes");

	if (a && !json_is_array(a))
		return bail(err, ERR_PARSE, "probes is no list");
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *o = json_array_get(a, i);
		struct probe_read *p = VEC_ADD(&c->probes);
		AUTO_FREE char *where = xasprintf("probes[%zu]", i);
		const char *key;
		json_t *v;

		if (!json_is_object(o))
			return bail(err, ERR_PARSE, "%s is no object", where);
		p->name = xstrdup(json_str_or(o, "name", where));
		json_object_foreach(json_object_get(o, "changes"), key, v)
		{
			AUTO_FREE char *text = scalar(v);

			pairs_add(&p->changes, key, text ? text : "");
		}
		TRY(evidence_read(json_object_get(o, "evidence"), where, &p->evs, err));
		p->base = base_of(c, o, p);
		unread(c, o, where, known);
	}
	return 0;
}

static int read_limits(struct comparison *c, struct err *err)
{
	const json_t *o = json_object_get(c->doc, "limits");
	const char *name;
	json_t *x;

	if (!json_is_object(o) || !json_object_size(o))
		return bail(err, ERR_PARSE, "the comparison has no 'limits'");
	json_object_foreach((json_t *)o, name, x)
	{
		struct limit_read *l;

		if (!json_is_object(x) || !json_str_or(x, "rule", NULL))
			return bail(err, ERR_PARSE, "limits.%s has no 'rule'", name);
		l = VEC_ADD(&c->limits);
		*l = (struct limit_read){ .name = name,
					  .rule = json_str_or(x, "rule", ""),
					  .margin = 0.05,
					  .shift = NAN };
		if (json_is_number(json_object_get(x, "margin_percent")))
			l->margin = json_number_value(json_object_get(x, "margin_percent")) / 100;
		if (json_is_number(json_object_get(x, "margin_abs"))) {
			l->margin = json_number_value(json_object_get(x, "margin_abs"));
			l->abs_scale = true;
		}
		if (!(l->margin > 0))
			return bail(err, ERR_PARSE, "limits.%s: a margin is more than 0", name);
	}
	return 0;
}

int comparison_read(const json_t *doc, struct comparison *ret, struct err *err)
{
	static const char *const known[] = { "schema",    "id",       "title",    "note",
					     "numbers",   "workload", "limits",   "accepted",
					     "candidate", "probes",   "expected", "source_cases",
					     "symptom",   NULL };
	struct comparison c CLEANUP(comparison_release) = { .doc = doc };
	const struct component *gpu;

	if (!json_is_object(doc))
		return bail(err, ERR_PARSE, "a comparison is an object");
	TRY(read_arm(&c, "accepted", &c.a, err));
	TRY(read_arm(&c, "candidate", &c.b, err));
	TRY(read_limits(&c, err));
	TRY(read_probes(&c, err));
	unread(&c, doc, "", known);
	c.scope = json_str_or(json_object_get(doc, "workload"), "kind", NULL);
	gpu = stack_find_name(&c.b.stack, "gpu");
	c.gpu = xstrdup(gpu ? gpu->version : NULL);
	stack_diff(&c.a.stack, &c.b.stack, &c.changes);
	*ret = c;
	c = (struct comparison){ 0 };
	return 0;
}
