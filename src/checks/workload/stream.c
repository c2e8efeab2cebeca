/* SPDX-License-Identifier: Apache-2.0 */
/* What a training job reports, line by line: JSON lines or MLPerf's log. */
#include "checks/inner.h"

#include "base/err.h"
#include "base/vec.h"
#include <math.h>

/* A job that never ends must not fill the memory. */
enum { POINTS_MOST = 2 * 1000 * 1000, STATE_MOST = 256 };

void train_stream_release(struct train_stream *s)
{
	free(s->v);
	pairs_release(&s->state);
	json_decref(s->evaluation);
	*s = (struct train_stream){ 0 };
}

static double number_or(const json_t *o, const char *key, double def)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : def;
}

static bool reached(const struct train_spec *t, const json_t *o)
{
	bool all = t->target.n > 0;

	for (size_t i = 0; i < t->target.n; i++)
		all &= limit_holds(&t->target.v[i].limit, number_or(o, t->target.v[i].name, NAN));
	return all;
}

static bool is_step(double v)
{
	return v >= 0 && v < 9007199254740992.0; /* 2^53; false for NAN */
}

static void remember(struct train_stream *s, const char *key, const char *value)
{
	for (size_t i = 0; i < s->state.n; i++) {
		if (!streq(s->state.v[i].name, key))
			continue;
		free(s->state.v[i].value);
		s->state.v[i].value = xstrdup(value);
		return;
	}
	if (s->state.n < STATE_MOST)
		pairs_add(&s->state, key, value);
}

static void jsonl(const struct train_spec *t, struct train_stream *s, const json_t *o,
		  int64_t at_ns)
{
	double step = number_or(o, t->fields.step, NAN);
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)o, key, v) if (json_is_string(v))
		remember(s, key, json_string_value(v));
	if (!is_step(step) || json_is_true(json_object_get(o, "final")))
		return;
	*VEC_ADD(s) = (struct train_point){
		.at_ns = at_ns,
		.step = (int64_t)step,
		.loss = number_or(o, t->fields.loss, NAN),
		.eval = t->target.n ? number_or(o, t->target.v[0].name, NAN) : NAN,
		.samples = number_or(o, t->fields.samples, NAN),
		.samples_per_s = number_or(o, t->fields.samples_per_s, NAN),
		.step_ms = number_or(o, t->fields.step_ms, NAN),
		.data_ms = number_or(o, t->fields.data_ms, NAN),
		.reached = reached(t, o),
	};
}

/* Logs count in steps, or only in samples or epochs: the first that is there. */
static double mllog_step(const json_t *meta)
{
	static const char *const names[] = { "step_num", "step", "samples_count", "epoch_num" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_step(number_or(meta, names[i], NAN)))
			return number_or(meta, names[i], NAN);
	return NAN;
}

/* One event: its key with its value. Values of the same step belong to the same evaluation. */
static void mllog(const struct train_spec *t, struct train_stream *s, const json_t *o,
		  int64_t at_ns)
{
	const json_t *meta = json_object_get(o, "metadata"), *value = json_object_get(o, "value");
	const char *key = json_str_or(o, "key", "");
	double step = mllog_step(meta), v = number_or(o, "value", NAN);
	bool loss = streq(key, t->fields.loss) || streq(key, "train_loss");
	double rate = streq(key, "tracked_stats") ? number_or(value, "throughput", NAN) : NAN;

	if (isnan(step) || (isnan(v) && isnan(rate)))
		return;
	if (!s->evaluation || s->evaluation_step != (int64_t)step) {
		json_decref(s->evaluation);
		s->evaluation = json_object();
		s->evaluation_step = (int64_t)step;
	}
	if (isfinite(v))
		json_put(s->evaluation, key, json_real(v));
	*VEC_ADD(s) = (struct train_point){
		.at_ns = at_ns,
		.step = (int64_t)step,
		.loss = loss ? v : NAN,
		.eval = t->target.n && streq(key, t->target.v[0].name) ? v : NAN,
		.samples = number_or(meta, "samples_count", NAN),
		.samples_per_s = rate,
		.step_ms = NAN,
		.data_ms = NAN,
		.reached = isfinite(v) && reached(t, s->evaluation),
	};
}

/* The length of NaN, Infinity or -Infinity at the beginning; 0: none of them. */
static size_t not_finite(const char *p, size_t n)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) <= n && memcmp(p, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* Python writes NaN and Infinity, which are no JSON: they are read as null. NULL: no JSON either
 * way. */
static json_t *read_line(struct sv line, bool *ret_changed)
{
	struct str s CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;
	json_t *o = NULL;
	bool quoted = false;

	*ret_changed = false;
	if (json_read(line, "metrics", &o, &err) == 0)
		return o;
	for (size_t i = 0; i < line.n; i++) {
		size_t n = quoted ? 0 : not_finite(line.p + i, line.n - i);

		if (n) {
			str_add(&s, "null");
			i += n - 1;
			*ret_changed = true;
			continue;
		}
		if (quoted && line.p[i] == '\\' && i + 1 < line.n)
			str_addc(&s, line.p[i++]);
		else if (line.p[i] == '"')
			quoted = !quoted;
		str_addc(&s, line.p[i]);
	}
	err_clear(&err);
	return *ret_changed && json_read(sv_str(&s), "metrics", &o, &err) == 0 ? o : NULL;
}

static bool loss_is_lost(const struct train_spec *t, const json_t *o)
{
	const char *key = json_str_or(o, "key", "");

	if (t->metrics.kind == TRAIN_MLLOG)
		return (streq(key, t->fields.loss) || streq(key, "train_loss")) &&
		       json_is_null(json_object_get(o, "value"));
	return json_is_null(json_object_get(o, t->fields.loss));
}

void train_line(const struct train_spec *t, struct train_stream *s, struct sv line, int64_t at_ns)
{
	AUTO_JSON json_t *o = NULL;
	ptrdiff_t marker = sv_find(line, SV(":::MLLOG"));
	bool changed;

	if (t->metrics.kind == TRAIN_MLLOG) {
		if (marker < 0)
			return;
		line.p += marker + 8;
		line.n -= (size_t)marker + 8;
	}
	line = sv_trim(line);
	/* Other output may stand between; what begins like an object with a name has to be one. */
	if (line.n < 2 || line.p[0] != '{' || (t->metrics.kind == TRAIN_JSONL && line.p[1] != '"'))
		return;
	o = read_line(line, &changed);
	if (!json_is_object(o) || s->n >= POINTS_MOST) {
		s->bad_lines++;
		return;
	}
	s->bad_numbers += changed && loss_is_lost(t, o);
	if (t->metrics.kind == TRAIN_MLLOG)
		mllog(t, s, o, at_ns);
	else
		jsonl(t, s, o, at_ns);
}
