/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf logging: lines with the marker `:::MLLOG` and one JSON object behind it. Rank numbers,
 * progress bars and other text may stand before the marker on the same line; anything else is not
 * ours.
 *
 * Time to train is run_stop minus run_start, and only of a run whose run_stop says success.
 */
#include "readers/readers.h"

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "readers/clean.h"
#include <math.h>

#define MARK "MLLOG"

static int64_t integer_of(const json_t *j)
{
	if (json_is_integer(j))
		return json_integer_value(j);
	if (json_is_real(j) && fabs(json_real_value(j)) < 9e15)
		return (int64_t)json_real_value(j);
	return -1;
}

static int64_t meta_integer(const json_t *meta, const char *a, const char *b)
{
	const json_t *j = json_object_get(meta, a);

	return integer_of(j ? j : json_object_get(meta, b));
}

static bool number_of(const json_t *j, double *ret)
{
	if (!json_is_number(j))
		return false;
	*ret = json_number_value(j);
	return isfinite(*ret);
}

static void add_point(struct mllog_points *to, const json_t *event, const json_t *value)
{
	const json_t *meta = json_object_get(event, "metadata");
	struct mllog_point p = { .epoch = NAN };
	const json_t *epoch = json_object_get(meta, "epoch_num");

	if (!number_of(value, &p.value))
		return;
	p.time_ms = integer_of(json_object_get(event, "time_ms"));
	p.step = meta_integer(meta, "step_num", "step");
	p.samples = meta_integer(meta, "samples_count", "samples_num");
	if (!number_of(epoch ? epoch : json_object_get(meta, "epoch_count"), &p.epoch))
		p.epoch = NAN;
	*VEC_ADD(to) = p;
}

static void set_text(char **at, const json_t *value)
{
	if (!json_is_string(value) || *at)
		return;
	*at = text_clean((struct sv){ json_string_value(value), json_string_length(value) });
}

static void run_stop(struct mllog *m, const json_t *event)
{
	m->n_run_stop++;
	m->run_stop_ms = integer_of(json_object_get(event, "time_ms"));
	free(m->status);
	m->status = NULL;
	set_text(&m->status, json_object_get(json_object_get(event, "metadata"), "status"));
}

static void take_event(struct mllog *m, const json_t *event)
{
	const char *key = json_string_value(json_object_get(event, "key"));
	const json_t *value = json_object_get(event, "value");

	m->n_events++;
	if (streq(key, "eval_accuracy") || streq(key, "eval_loss"))
		add_point(&m->evals, event, value);
	else if (streq(key, "train_loss") || streq(key, "loss"))
		add_point(&m->losses, event, value);
	else if (streq(key, "tracked_stats"))
		add_point(&m->throughput, event, json_object_get(value, "throughput"));
	else if (streq(key, "submission_benchmark"))
		set_text(&m->benchmark, value);
	else if (streq(key, "submission_org"))
		set_text(&m->org, value);
	else if (streq(key, "submission_platform"))
		set_text(&m->platform, value);
	else if (streq(key, "seed") && m->seed < 0)
		m->seed = integer_of(value);
	else if (streq(key, "global_batch_size") && m->global_batch_size < 0)
		m->global_batch_size = integer_of(value);
	else if (streq(key, "run_stop"))
		run_stop(m, event);
	else if (streq(key, "run_start") && m->n_run_start++ == 0)
		m->run_start_ms = integer_of(json_object_get(event, "time_ms"));
}

static void read_line(struct mllog *m, struct sv line)
{
	ptrdiff_t at = sv_find(line, SV(":::" MARK));
	AUTO_JSON json_t *event = NULL;
	struct sv v;

	if (at < 0)
		return;
	v = (struct sv){ line.p + at + 3 + strlen(MARK), line.n - (size_t)at - 3 - strlen(MARK) };
	while (v.n && v.p[0] != '{') {
		v.p++;
		v.n--;
	}
	/* Text may follow the object on the same line when ranks write at once. */
	if (v.n)
		event = json_loadb(v.p, v.n, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_string(json_object_get(event, "key")) ||
	    !json_is_number(json_object_get(event, "time_ms"))) {
		m->n_bad++;
		return;
	}
	take_event(m, event);
}

static const char *no_time_why(const struct mllog *m)
{
	if (m->n_run_start == 0)
		return "no run_start";
	if (m->n_run_start > 1 || m->n_run_stop > 1)
		return "several runs in one log";
	if (m->n_run_stop == 0)
		return "no run_stop: the run did not end";
	if (!m->status)
		return "run_stop has no status";
	if (!streq(m->status, "success"))
		return "the run's status is not success";
	if (m->run_start_ms < 0 || m->run_stop_ms < m->run_start_ms)
		return "run_stop is before run_start";
	return NULL;
}

bool mllog_sniff(struct sv text)
{
	return sv_find(text, SV(":::" MARK)) >= 0;
}

int mllog_read(struct sv text, struct mllog *ret, struct err *err)
{
	struct mllog m CLEANUP(mllog_release) = {
		.seed = -1,
		.global_batch_size = -1,
		.run_start_ms = -1,
		.run_stop_ms = -1,
		.time_to_train_ms = -1,
	};
	const char *why;
	struct sv line;

	while (sv_line(&text, &line))
		read_line(&m, line);
	if (!m.n_events)
		return bail(err, ERR_PARSE, "no MLPerf log event (%zu unreadable lines)", m.n_bad);
	why = no_time_why(&m);
	m.why_not = why ? xstrdup(why) : NULL;
	if (!why)
		m.time_to_train_ms = m.run_stop_ms - m.run_start_ms;
	*ret = m;
	m = (struct mllog){ 0 };
	return 0;
}

void mllog_release(struct mllog *m)
{
	free(m->benchmark);
	free(m->org);
	free(m->platform);
	free(m->status);
	free(m->evals.v);
	free(m->losses.v);
	free(m->throughput.v);
	free(m->why_not);
	*m = (struct mllog){ 0 };
}
