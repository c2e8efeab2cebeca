/* SPDX-License-Identifier: Apache-2.0 */
/* Check outcomes and repetitions, and their records. */
#include "model/model.h"

#include "base/err.h"
#include "base/vec.h"

static const char *const rep_states[] = { "ok", "failed", "excluded" };

void outcome_release(struct outcome *o)
{
	free(o->check);
	free(o->reason);
	free(o->owner);
	measurements_release(&o->measured);
	evidences_release(&o->evidence);
	*o = (struct outcome){ 0 };
}

void outcomes_release(struct outcomes *l)
{
	for (size_t i = 0; i < l->n; i++)
		outcome_release(&l->v[i]);
	free(l->v);
	*l = (struct outcomes){ 0 };
}

json_t *outcome_to_json(const struct outcome *o)
{
	json_t *j = json_object();

	json_put_str(j, "check", o->check);
	json_put_str(j, "layer", check_layer_name(o->layer));
	json_put_str(j, "result", result_name(o->result));
	json_put_bool(j, "required", o->required);
	json_put_str(j, "reason", o->reason);
	json_put_str(j, "owner", o->owner);
	json_put_int(j, "took_ns", o->took_ns);
	json_put(j, "measured", measurements_to_json(&o->measured));
	json_put(j, "evidence", evidences_to_json(&o->evidence));
	return j;
}

int outcome_from_json(const json_t *j, struct outcome *ret, struct err *err)
{
	struct outcome o CLEANUP(outcome_release) = { 0 };
	const char *check, *layer, *result;
	json_t *measured, *evidence;

	TRY(json_get_str(j, "check", &check, err));
	TRY(json_get_str(j, "layer", &layer, err));
	TRY(json_get_str(j, "result", &result, err));
	TRY(json_get_arr(j, "measured", &measured, err));
	TRY(json_get_arr(j, "evidence", &evidence, err));
	TRY(json_get_int(j, "took_ns", &o.took_ns, err));
	if (!check_layer_parse(sv_of(layer), &o.layer))
		return bail(err, ERR_PARSE, "check '%s': unknown layer '%s'", check, layer);
	if (!result_parse(sv_of(result), &o.result))
		return bail(err, ERR_PARSE, "check '%s': unknown result '%s'", check, result);
	o.check = xstrdup(check);
	/* A record that does not say so is taken as required: the safe reading. */
	o.required = json_bool_or(j, "required", true);
	o.reason = xstrdup(json_str_or(j, "reason", NULL));
	o.owner = xstrdup(json_str_or(j, "owner", NULL));
	TRY(measurements_from_json(measured, &o.measured, err));
	TRY(evidences_from_json(evidence, &o.evidence, err));
	*ret = o;
	o = (struct outcome){ 0 };
	return 0;
}

void rep_release(struct rep *r)
{
	free(r->reason);
	free(r->start_digest);
	free(r->session);
	measurements_release(&r->measured);
	outcomes_release(&r->outcomes);
	evidences_release(&r->evidence);
	pairs_release(&r->settings);
	free(r->work);
	*r = (struct rep){ 0 };
}

void reps_release(struct reps *l)
{
	for (size_t i = 0; i < l->n; i++)
		rep_release(&l->v[i]);
	free(l->v);
	*l = (struct reps){ 0 };
}

static json_t *settings_json(const struct pairs *l)
{
	json_t *a = l->n ? json_array() : NULL;

	for (size_t i = 0; i < l->n; i++)
		(void)json_array_append_new(a, json_pack("{s:s, s:s}", "name", l->v[i].name,
							 "effective", l->v[i].value));
	return a;
}

static int settings_read(const json_t *a, struct pairs *ret, struct err *err)
{
	for (size_t i = 0; i < json_array_size(a); i++) {
		const char *name, *value;

		TRY(json_get_str(json_array_get(a, i), "name", &name, err));
		TRY(json_get_str(json_array_get(a, i), "effective", &value, err));
		pairs_add(ret, name, value);
	}
	return 0;
}

json_t *rep_to_json(const struct rep *r)
{
	json_t *j = json_object(), *a = json_array();

	json_put_int(j, "rep", r->index);
	json_put_str(j, "state", rep_states[r->state]);
	json_put_str(j, "reason", r->reason);
	json_put_str(j, "start", r->start_digest);
	json_put_str(j, "session", r->session);
	json_put(j, "measured", measurements_to_json(&r->measured));
	for (size_t i = 0; i < r->outcomes.n; i++)
		(void)json_array_append_new(a, outcome_to_json(&r->outcomes.v[i]));
	json_put(j, "outcomes", a);
	json_put(j, "evidence", evidences_to_json(&r->evidence));
	json_put(j, "settings", settings_json(&r->settings));
	json_put_str(j, "work", r->work);
	return j;
}

static int rep_state_parse(const char *s, enum rep_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(rep_states); i++) {
		if (streq(s, rep_states[i])) {
			*ret = (enum rep_state)i;
			return 0;
		}
	}
	return -1;
}

int rep_from_json(const json_t *j, struct rep *ret, struct err *err)
{
	struct rep r CLEANUP(rep_release) = { 0 };
	json_t *measured, *outcomes, *evidence;
	const char *state;
	int64_t index;

	TRY(json_get_int(j, "rep", &index, err));
	TRY(json_get_str(j, "state", &state, err));
	TRY(json_get_arr(j, "measured", &measured, err));
	TRY(json_get_arr(j, "outcomes", &outcomes, err));
	TRY(json_get_arr(j, "evidence", &evidence, err));
	if (index < 0 || index > INT32_MAX)
		return bail(err, ERR_PARSE, "repetition number %lld", (long long)index);
	r.index = (int)index;
	r.seed = index < INT32_MAX ? (int)index + 1 : 0;
	if (rep_state_parse(state, &r.state) < 0)
		return bail(err, ERR_PARSE, "repetition %d: unknown state '%s'", r.index, state);
	r.reason = xstrdup(json_str_or(j, "reason", NULL));
	r.start_digest = xstrdup(json_str_or(j, "start", NULL));
	r.session = xstrdup(json_str_or(j, "session", NULL));
	r.work = xstrdup(json_str_or(j, "work", NULL));
	TRY(settings_read(json_object_get(j, "settings"), &r.settings, err));
	TRY(measurements_from_json(measured, &r.measured, err));
	TRY(evidences_from_json(evidence, &r.evidence, err));
	for (size_t i = 0; i < json_array_size(outcomes); i++)
		TRY(outcome_from_json(json_array_get(outcomes, i), VEC_ADD(&r.outcomes), err));
	*ret = r;
	r = (struct rep){ 0 };
	return 0;
}
