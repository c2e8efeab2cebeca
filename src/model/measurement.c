/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements and evidence: lists of owned values, and their records. */
#include "model/model.h"

#include "base/err.h"
#include "base/vec.h"
#include <math.h>

void measurement_release(struct measurement *m)
{
	free(m->name);
	free(m->samples);
	*m = (struct measurement){ 0 };
}

void measurements_release(struct measurements *l)
{
	for (size_t i = 0; i < l->n; i++)
		measurement_release(&l->v[i]);
	free(l->v);
	*l = (struct measurements){ 0 };
}

struct measurement *measurements_add(struct measurements *l, const char *name, enum unit u,
				     enum direction d, double value)
{
	struct measurement *m = VEC_ADD(l);

	*m = (struct measurement){ .name = xstrdup(name), .unit = u, .dir = d, .value = value };
	return m;
}

const struct measurement *measurements_find(const struct measurements *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

/* An integer in the unit's scale, "inf"/"-inf", or null for what was asked for and not measured. */
static json_t *value_to_json(double v, enum unit u)
{
	int64_t i;

	if (isnan(v))
		return json_null();
	if (quantity_to_int(v, u, &i))
		return json_integer(i);
	return json_string(v > 0 ? "inf" : "-inf");
}

static int value_from_json(const json_t *j, enum unit u, double *ret, struct err *err)
{
	if (json_is_integer(j))
		*ret = (double)json_integer_value(j) / unit_scale(u);
	else if (json_is_null(j))
		*ret = NAN;
	else if (json_is_string(j) && streq(json_string_value(j), "inf"))
		*ret = INFINITY;
	else if (json_is_string(j) && streq(json_string_value(j), "-inf"))
		*ret = -INFINITY;
	else
		return bail(err, ERR_PARSE,
			    "a value is neither an integer, 'inf', '-inf' nor null");
	return 0;
}

json_t *measurements_to_json(const struct measurements *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const struct measurement *m = &l->v[i];
		json_t *o = json_object();

		json_put_str(o, "name", m->name);
		json_put_str(o, "unit", unit_name(m->unit));
		json_put_str(o, "better", direction_name(m->dir));
		json_put(o, "value", value_to_json(m->value, m->unit));
		if (m->n_samples) {
			json_t *s = json_array();

			for (size_t k = 0; k < m->n_samples; k++)
				(void)json_array_append_new(s,
							    value_to_json(m->samples[k], m->unit));
			json_put(o, "samples", s);
		}
		(void)json_array_append_new(a, o);
	}
	return a;
}

static int one_from_json(const json_t *o, struct measurement *m, struct err *err)
{
	const char *name, *unit, *better;
	const json_t *v = json_object_get(o, "value"), *s = json_object_get(o, "samples");

	TRY(json_get_str(o, "name", &name, err));
	TRY(json_get_str(o, "unit", &unit, err));
	TRY(json_get_str(o, "better", &better, err));
	m->name = xstrdup(name);
	if (!unit_parse_name(sv_of(unit), &m->unit))
		return bail(err, ERR_PARSE, "measurement '%s': unknown unit '%s'", name, unit);
	if (!direction_parse(sv_of(better), &m->dir))
		return bail(err, ERR_PARSE, "measurement '%s': unknown direction '%s'", name,
			    better);
	if (!v)
		return bail(err, ERR_PARSE, "measurement '%s' has no value", name);
	TRY(value_from_json(v, m->unit, &m->value, err));
	if (!s)
		return 0;
	if (!json_is_array(s))
		return bail(err, ERR_PARSE, "measurement '%s': samples are not an array", name);
	m->samples = xcalloc(json_array_size(s), sizeof(double));
	for (; m->n_samples < json_array_size(s); m->n_samples++)
		TRY(value_from_json(json_array_get(s, m->n_samples), m->unit,
				    &m->samples[m->n_samples], err));
	return 0;
}

int measurements_from_json(const json_t *j, struct measurements *ret, struct err *err)
{
	struct measurements l CLEANUP(measurements_release) = { 0 };

	if (!json_is_array(j))
		return bail(err, ERR_PARSE, "measurements are not an array");
	for (size_t i = 0; i < json_array_size(j); i++)
		TRY(one_from_json(json_array_get(j, i), VEC_ADD(&l), err));
	*ret = l;
	l = (struct measurements){ 0 };
	return 0;
}

static void evidence_release(struct evidence *e)
{
	free(e->label);
	free(e->digest);
	free(e->media_type);
	free(e->path);
}

void evidences_release(struct evidences *l)
{
	for (size_t i = 0; i < l->n; i++)
		evidence_release(&l->v[i]);
	free(l->v);
	*l = (struct evidences){ 0 };
}

struct evidence *evidences_add(struct evidences *l, const char *label, const char *media_type,
			       const char *path)
{
	struct evidence *e = VEC_ADD(l);

	*e = (struct evidence){ .label = xstrdup(label),
				.media_type = xstrdup(media_type),
				.path = xstrdup(path) };
	return e;
}

json_t *evidences_to_json(const struct evidences *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const struct evidence *e = &l->v[i];
		json_t *o;

		if (!e->digest)
			continue;
		o = json_object();
		json_put_str(o, "label", e->label);
		json_put_str(o, "digest", e->digest);
		json_put_str(o, "media_type", e->media_type);
		json_put_int(o, "bytes", (int64_t)e->bytes);
		(void)json_array_append_new(a, o);
	}
	return a;
}

int evidences_from_json(const json_t *j, struct evidences *ret, struct err *err)
{
	struct evidences l CLEANUP(evidences_release) = { 0 };

	if (!json_is_array(j))
		return bail(err, ERR_PARSE, "evidence is not an array");
	for (size_t i = 0; i < json_array_size(j); i++) {
		const json_t *o = json_array_get(j, i);
		const char *label, *digest, *type;
		struct evidence *e;
		int64_t bytes;

		TRY(json_get_str(o, "label", &label, err));
		TRY(json_get_str(o, "digest", &digest, err));
		TRY(json_get_str(o, "media_type", &type, err));
		TRY(json_get_int(o, "bytes", &bytes, err));
		if (strlen(digest) != 64 || bytes < 0)
			return bail(err, ERR_PARSE, "evidence '%s' has no proper digest or size",
				    label);
		e = evidences_add(&l, label, type, NULL);
		e->digest = xstrdup(digest);
		e->bytes = (uint64_t)bytes;
	}
	*ret = l;
	l = (struct evidences){ 0 };
	return 0;
}
