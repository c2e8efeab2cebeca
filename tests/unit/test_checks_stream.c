/* SPDX-License-Identifier: Apache-2.0 */
/* What a training job reports: JSON lines and MLPerf's log, and what is wrong in them. */
#include "checks_scene.h"

static struct train_spec jsonl_spec(struct named_limit *target, size_t n)
{
	return (struct train_spec){
		.metrics = { .kind = TRAIN_JSONL },
		.fields = { "step", "loss", "samples", "samples_per_s", "ms", "data_ms" },
		.target = { target, n, n },
	};
}

static void feed(const struct train_spec *t, struct train_stream *s, const char *const *lines,
		 size_t n)
{
	for (size_t i = 0; i < n; i++)
		train_line(t, s, sv_of(lines[i]), (int64_t)i);
}

#define LIMIT(n, v)                                                                                \
	{                                                                                          \
		(char *)(uintptr_t)(n),                                                            \
		{                                                                                  \
			LIMIT_LE, v, UNIT_NONE                                                     \
		}                                                                                  \
	}

static void json_lines_are_points(void)
{
	static const char *const lines[] = {
		"loading",
		"{'loss': 'of another kind'}",
		"{\"step\": 1, \"loss\": 0.5, \"ms\": 20}",
		"  {\"step\": 2, \"loss\": 0.25, \"eval_loss\": 0.2, \"samples\": 64}",
		"{\"final\": true, \"step\": 2, \"weights\": \"aa\"}",
		"{\"weights\": \"bb\"}",
	};
	struct named_limit target[] = { LIMIT("eval_loss", 0.3) };
	struct train_spec t = jsonl_spec(target, 1);
	struct train_stream s CLEANUP(train_stream_release) = { 0 };

	feed(&t, &s, lines, ARRAY_SIZE(lines));
	CHECK_INT(s.n, 2);
	CHECK_INT(s.bad_lines, 0);
	CHECK(s.v[0].step == 1 && s.v[0].loss == 0.5 && s.v[0].step_ms == 20 && !s.v[0].reached);
	CHECK(s.v[1].reached && s.v[1].samples == 64 && isnan(s.v[1].step_ms));
	CHECK_STR(pairs_get(&s.state, "weights"), "bb"); /* the last one */
}

static void all_targets_must_hold(void)
{
	static const char *const lines[] = { "{\"step\": 1, \"a\": 1}", "{\"step\": 2, \"b\": 1}",
					     "{\"step\": 3, \"a\": 1, \"b\": 1}" };
	struct named_limit target[] = { LIMIT("a", 2), LIMIT("b", 2) };
	struct train_spec t = jsonl_spec(target, 2);
	struct train_stream s CLEANUP(train_stream_release) = { 0 };

	feed(&t, &s, lines, ARRAY_SIZE(lines));
	CHECK(!s.v[0].reached && !s.v[1].reached && s.v[2].reached);
}

static void losses_that_are_no_numbers_are_counted(void)
{
	static const char *const lines[] = {
		"{\"step\": 1, \"loss\": NaN}",
		"{\"step\": 2, \"loss\": -Infinity, \"note\": \"NaN\"}",
		"{\"step\": 3, \"loss\": 1, \"grad\": Infinity}",
		"{\"step\": 4, \"loss\": null}",
		"{\"step\": 5, \"loss\": 0.1, \"note\": \"a \\\" NaN\"}",
	};
	struct named_limit target[] = { LIMIT("loss", 2) };
	struct train_spec t = jsonl_spec(target, 1);
	struct train_stream s CLEANUP(train_stream_release) = { 0 };

	feed(&t, &s, lines, ARRAY_SIZE(lines));
	CHECK_INT(s.n, 5);
	CHECK_INT(s.bad_numbers, 2);
	CHECK_INT(s.bad_lines, 0);
	CHECK(isnan(s.v[0].loss) && !s.v[0].reached && !s.v[1].reached && !s.v[3].reached &&
	      s.v[4].reached);
}

static void lines_that_should_be_metrics_and_are_not(void)
{
	static const char *const lines[] = { "{\"step\": 1, \"loss\": 0.", "{\"step\": 1} trailing",
					     "{\"step\": -4, \"loss\": 1}",
					     "{\"step\": 1e300, \"loss\": 1}",
					     "{\"step\": \"1\", \"loss\": 1}" };
	struct named_limit target[] = { LIMIT("loss", 2) };
	struct train_spec t = jsonl_spec(target, 1);
	struct train_stream s CLEANUP(train_stream_release) = { 0 };

	feed(&t, &s, lines, ARRAY_SIZE(lines));
	CHECK_INT(s.bad_lines, 2);
	CHECK_INT(s.n, 0);
}

#define EVENT(key, value, meta)                                                                    \
	":::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"POINT_IN_TIME\", "       \
	"\"key\": \"" key "\", \"value\": " value ", \"metadata\": {" meta "}}"

static void mlperf_events_are_points(void)
{
	static const char *const lines[] = {
		EVENT("run_start", "null", ""),
		"[rank0] " EVENT("train_loss", "0.5", "\"step_num\": 10, \"samples_count\": 640"),
		EVENT("tracked_stats", "{\"throughput\": 900.5}", "\"step_num\": 10"),
		EVENT("eval_accuracy", "0.2", "\"step_num\": 10"),
		EVENT("perplexity", "8", "\"step_num\": 10"),
		EVENT("train_loss", "NaN", "\"samples_count\": 1280"),
		EVENT("eval_accuracy", "0.1", "\"epoch_num\": 2"),
		"{\"step\": 7, \"loss\": 3}",
		":::MLLOG {\"key\": ",
	};
	struct named_limit target[] = { LIMIT("eval_accuracy", 0.3), LIMIT("perplexity", 10) };
	struct train_spec t = jsonl_spec(target, 2);
	struct train_stream s CLEANUP(train_stream_release) = { 0 };

	t.metrics.kind = TRAIN_MLLOG;
	feed(&t, &s, lines, ARRAY_SIZE(lines));
	CHECK_INT(s.n, 5);
	CHECK(s.v[0].step == 10 && s.v[0].loss == 0.5 && s.v[0].samples == 640);
	CHECK(s.v[1].samples_per_s == 900.5);
	CHECK(!s.v[2].reached && s.v[3].reached); /* the second target came with the same step */
	CHECK(s.v[4].step == 2 && !s.v[4].reached);
	CHECK_INT(s.bad_numbers, 1);
	CHECK_INT(s.bad_lines, 1);
}

TEST_MAIN(TEST(json_lines_are_points), TEST(all_targets_must_hold),
	  TEST(losses_that_are_no_numbers_are_counted),
	  TEST(lines_that_should_be_metrics_and_are_not), TEST(mlperf_events_are_points))
