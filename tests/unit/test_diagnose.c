/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/diagnose.h"

#include "base/vec.h"
#include "test.h"
#include "verdict/verdict.h"

struct scene {
	struct stack a, b;
	struct changes changes;
	struct verdict v;
	struct diagnosis d;
};

static void scene_release(struct scene *s)
{
	diagnosis_release(&s->d);
	changes_release(&s->changes);
	verdict_release(&s->v);
	stack_release(&s->a);
	stack_release(&s->b);
}

static void reason(struct scene *s, const char *code, const char *about)
{
	*VEC_ADD(&s->v.reasons) =
		(struct verdict_reason){ xstrdup(code), xstrdup(about), xstrdup("x") };
}

static void change(struct scene *s, enum component_layer l, const char *name, const char *from,
		   const char *to)
{
	stack_add(&s->a, l, name, from, NULL);
	stack_add(&s->b, l, name, to, NULL);
}

static void solve(struct scene *s, const struct pairs *owners)
{
	struct diagnose_in in = { .changes = &s->changes, .verdict = &s->v, .owners = owners };

	s->v.kind = VERDICT_REJECTED;
	stack_sort(&s->a);
	stack_sort(&s->b);
	stack_diff(&s->a, &s->b, &s->changes);
	diagnose(&in, &s->d);
}

static void the_only_change_is_the_suspect(void)
{
	struct pairs owners CLEANUP(pairs_release) = { 0 };
	struct scene s CLEANUP(scene_release) = { 0 };
	AUTO_JSON json_t *j = NULL;

	pairs_add(&owners, "kernellib", "platform team");
	change(&s, CL_KERNELLIB, "blas", "openblas 0.3.21", "reference 3.11.0");
	change(&s, CL_HOST, "linux", "6.1", "6.1");
	reason(&s, "gross_regression", "ttft.p50");
	solve(&s, &owners);
	CHECK_INT(s.d.suspects.n, 1);
	CHECK_STR(s.d.suspects.v[0].component, "blas");
	CHECK_STR(s.d.suspects.v[0].owner, "platform team");
	CHECK_INT(s.d.confidence, DIAGNOSIS_MEDIUM);
	CHECK_INT(s.d.symptom, SYMPTOM_SLOWER);
	j = diagnosis_to_json(&s.d);
	CHECK_INT(json_integer_value(json_object_get(
			  json_array_get(json_object_get(j, "suspects"), 0), "share_e9")),
		  1000000000);
}

static void without_a_change_it_is_undetermined(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };

	change(&s, CL_HOST, "linux", "6.1", "6.1");
	reason(&s, "regressed", "ttft.p50");
	solve(&s, NULL);
	CHECK_INT(s.d.suspects.n, 0);
	CHECK_INT(s.d.confidence, DIAGNOSIS_UNDETERMINED);
	CHECK_INT(s.d.must_not.n, 1);
}

static void the_symptom_ranks_the_layers(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };

	change(&s, CL_FRAMEWORK, "torch", "2.8", "2.9");
	change(&s, CL_KERNELLIB, "hipblaslt", "0.10", "0.12");
	reason(&s, "regressed", "itl.p50");
	solve(&s, NULL);
	CHECK_STR(s.d.suspects.v[0].component, "hipblaslt");
	CHECK(s.d.suspects.v[0].share > s.d.suspects.v[1].share);
	CHECK(s.d.confidence < DIAGNOSIS_MEDIUM); /* two suspects are no proof */
}

static void wrong_answers_are_not_called_slow(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };

	change(&s, CL_MODEL, "weights", "r1", "r2");
	reason(&s, "objective_missed", "answers.match");
	solve(&s, NULL);
	CHECK_INT(s.d.symptom, SYMPTOM_WRONG);
}

static void whatever_changed_alone_is_a_suspect(void)
{
	static const char *const names[] = { "prompts", "threshold", "free_disk", "python",
					     "data" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct scene s CLEANUP(scene_release) = { 0 };

		change(&s, CL_APPLICATION, names[i], "1", "2");
		reason(&s, "regressed", "ttft.p50");
		solve(&s, NULL);
		CHECK_INT(s.d.suspects.n, 1);
		CHECK_STR(s.d.trigger, names[i]);
	}
}

static void what_came_together_is_one_suspect(void)
{
	struct scene s CLEANUP(scene_release) = { 0 };

	change(&s, CL_KERNELLIB, "blas", "openblas 0.3.21", "reference 3.11.0");
	change(&s, CL_KERNELLIB, "lapack", "openblas 0.3.21", "reference 3.11.0");
	reason(&s, "regressed", "ttft.p50");
	solve(&s, NULL);
	CHECK_INT(s.d.suspects.n, 1);
	CHECK_STR(s.d.suspects.v[0].component, "blas");
	CHECK_INT(s.d.confidence, DIAGNOSIS_MEDIUM);
}

static unsigned reasons_with(const struct diagnosis *d, const char *part)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->reasons.n; i++)
		n += strstr(d->reasons.v[i], part) != NULL;
	return n;
}

/* A load run's dozens of numbers: what decides is said, of the rest one for each thing. */
static void many_numbers_take_few_lines(void)
{
	static const char *const worse[] = { "e2e.p50", "e2e.p95.all", "ttft.mean", "ttft.p99",
					     "itl.p50", "tpot.p50",    "queue.p50", "wait.p50",
					     "busbw.1", "busbw.2" };
	static const char *const same[] = { "throughput", "throughput.steady",
					    "goodput",    "ready_time",
					    "peak_rss",   "ranks",
					    "cpus",       "x.a",
					    "y.b" };
	struct diagnose_seen seen[32] = {
		{ .name = "ttft.p95", .moved = MOVED_WORSE, .by = 0.5, .decides = true }
	};
	struct scene s CLEANUP(scene_release) = { 0 };
	struct diagnose_in in = { .changes = &s.changes, .verdict = &s.v, .seen = seen };
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_SIZE(worse); i++)
		seen[n++] =
			(struct diagnose_seen){ .name = worse[i], .moved = MOVED_WORSE, .by = 0.3 };
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		seen[n++] = (struct diagnose_seen){ .name = same[i], .moved = MOVED_NOT };
	in.n_seen = n;
	change(&s, CL_KERNELLIB, "blas", "openblas", "reference");
	s.v.kind = VERDICT_REJECTED;
	stack_diff(&s.a, &s.b, &s.changes);
	diagnose(&in, &s.d);
	CHECK_INT(reasons_with(&s.d, "ttft.p95 is 50.0 % worse"), 1);
	CHECK_INT(reasons_with(&s.d, "ttft.mean"), 0); /* the same thing as what decides */
	CHECK_INT(reasons_with(&s.d, "e2e.p50 is 30.0 % worse"), 1);
	CHECK_INT(reasons_with(&s.d, "e2e.p95.all"), 0);
	CHECK_INT(reasons_with(&s.d, "% worse than accepted"), 5);
	CHECK_INT(reasons_with(&s.d, "2 other numbers are worse too"), 1);
	CHECK_INT(reasons_with(&s.d, "unchanged (controls): throughput, goodput, ready_time, "
				     "peak_rss, ranks, cpus and 2 more"),
		  1);
}

TEST_MAIN(TEST(many_numbers_take_few_lines), TEST(whatever_changed_alone_is_a_suspect),
	  TEST(what_came_together_is_one_suspect), TEST(the_only_change_is_the_suspect),
	  TEST(without_a_change_it_is_undetermined), TEST(the_symptom_ranks_the_layers),
	  TEST(wrong_answers_are_not_called_slow))
