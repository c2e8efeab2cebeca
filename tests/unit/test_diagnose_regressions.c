/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published regressions without a distinctive log line, where they lie beside the checkout: given
 * what changed and the symptom, the right layer is among the first three, or it says undetermined.
 */
#include "diagnose/diagnose.h"

#include "base/err.h"
#include "base/vec.h"
#include "diagnose/log.h"
#include "diagnose/part.h"
#include "test.h"
#include "verdict/verdict.h"

enum { CHANGED = 5, FROM, TO, SYMPTOM, MAGNITUDE, LOG, CAUSE, LAYER };

static size_t rank_of(const struct diagnosis *d, enum component_layer want)
{
	bool done[CL_N] = { false };

	/* Host and driver are one in the reports. */
	for (size_t rank = 1; rank <= CL_N; rank++) {
		size_t best = CL_N;

		for (size_t i = 0; i < CL_N; i++)
			if (!done[i] && d->layers[i] > 0 &&
			    (best == CL_N || d->layers[i] > d->layers[best]))
				best = i;
		if (best == CL_N)
			return 0;
		done[best] = true;
		if (streq(diagnosis_layer_report_name((enum component_layer)best),
			  diagnosis_layer_report_name(want)))
			return rank;
	}
	return 0;
}

struct answer {
	bool told; /* it named a layer */
	enum component_layer layer;
	enum component_layer first; /* of the ranking */
};

/* What a person has who reads the report: the line, what was changed, and the symptom. */
static void ask(const struct signatures *all, const char *changed, const char *from, const char *to,
		enum diagnosis_symptom symptom, const char *line, struct answer *ret)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
	struct diagnose_logs logs CLEANUP(diagnose_logs_release) = { .all = all };
	struct verdict v = { .kind = VERDICT_REJECTED };
	struct diagnose_in in = { .changes = &changes, .verdict = &v, .symptom = &symptom };

	stack_add(&a, part_of(changed)->layer, changed, from, NULL);
	stack_add(&b, part_of(changed)->layer, changed, streq(from, to) ? "new" : to, NULL);
	stack_diff(&a, &b, &changes);
	diagnose_logs_add(&logs, ARM_CANDIDATE, false, sv_of(line));
	diagnose_logs_compare(&logs);
	in.signs = logs.signs.v;
	in.n_signs = logs.signs.n;
	diagnose(&in, &d);
	*ret = (struct answer){ d.has_layer, d.has_layer ? d.layer : CL_N, CL_N };
	for (size_t i = 0; i < CL_N; i++)
		if (d.layers[i] > 0 && (ret->first == CL_N || d.layers[i] > d.layers[ret->first]))
			ret->first = (enum component_layer)i;
}

static size_t judge(const char *changed, const char *from, const char *to,
		    enum diagnosis_symptom symptom, enum component_layer want, bool *ret_told)
{
	struct stack a CLEANUP(stack_release) = { 0 }, b CLEANUP(stack_release) = { 0 };
	struct changes changes CLEANUP(changes_release) = { 0 };
	struct diagnosis d CLEANUP(diagnosis_release) = { 0 };
	struct verdict v = { .kind = VERDICT_REJECTED };
	struct diagnose_in in = { .changes = &changes, .verdict = &v, .symptom = &symptom };

	stack_add(&a, part_of(changed)->layer, changed, from, NULL);
	stack_add(&b, part_of(changed)->layer, changed, streq(from, to) ? "new" : to, NULL);
	stack_diff(&a, &b, &changes);
	diagnose(&in, &d);
	*ret_told = d.has_layer;
	if (d.has_layer &&
	    streq(diagnosis_layer_report_name(d.layer), diagnosis_layer_report_name(want)))
		return 1;
	return rank_of(&d, want);
}

static void the_right_layer_is_among_the_first_three(void)
{
	const char *shared = getenv("TWICE_SHARED"), *src = getenv("TWICE_SRC");
	AUTO_FREE char *path =
		shared ? xasprintf("%s/cases/regressions.tsv", shared)
		       : xasprintf("%s/../shared/cases/regressions.tsv", src ? src : ".");
	CLEANUP(fclosep) FILE *f = fopen(path, "re");
	size_t n = 0, good = 0, first = 0, told_wrong = 0;
	char line[8192];

	if (!f)
		test_skip("no cases at %s", path);
	while (fgets(line, sizeof(line), f)) {
		struct sv rest = sv_of(line), part;
		char *cells[LAYER + 1];
		enum diagnosis_symptom symptom;
		enum component_layer want;
		size_t k = 0, rank;
		bool told;

		while (k <= LAYER && sv_split(&rest, '\t', &part))
			cells[k++] = sv_dup(part);
		if (k > LAYER && cells[LOG][0] == '(' &&
		    diagnosis_layer_parse(sv_of(cells[LAYER]), &want) &&
		    diagnosis_symptom_parse(sv_of(cells[SYMPTOM]), &symptom)) {
			rank = judge(cells[CHANGED], cells[FROM], cells[TO], symptom, want, &told);
			n++;
			good += rank >= 1 && rank <= 3;
			first += rank == 1;
			told_wrong += told && rank != 1;
			if (rank < 1 || rank > 3)
				printf("# %s: %s, %s: %s is not among the first three\n", cells[0],
				       cells[CHANGED], cells[SYMPTOM], cells[LAYER]);
		}
		for (size_t i = 0; i < k; i++)
			free(cells[i]);
	}
	printf("# %zu cases without a line: %zu first, %zu among the first three; %zu named "
	       "another\n",
	       n, first, good, told_wrong);
	CHECK(n >= 30);
	CHECK(100 * good >= 85 * n);
}

static const char *report_name(enum component_layer l)
{
	return l < CL_N ? diagnosis_layer_report_name(l) : "undetermined";
}

struct columns {
	int id, changed, from, to, symptom, line, layer;
};

static void lines_of(const char *path, const struct columns *at, size_t least, double share)
{
	CLEANUP(fclosep) FILE *f = fopen(path, "re");
	struct signatures all CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	size_t n = 0, right = 0, open = 0, first = 0;
	char line[8192];

	if (!f)
		test_skip("no cases at %s", path);
	CHECK_OK(signatures_builtin(&all, &err), err);
	while (fgets(line, sizeof(line), f)) {
		struct sv rest = sv_of(line), part;
		char *c[24];
		enum diagnosis_symptom symptom;
		enum component_layer layer;
		struct answer x;
		int k = 0;

		line[strcspn(line, "\n")] = '\0';
		while (k < 24 && sv_split(&rest, '\t', &part))
			c[k++] = sv_dup(part);
		if (k > at->layer && c[at->line][0] && c[at->line][0] != '(' &&
		    diagnosis_symptom_parse(sv_of(c[at->symptom]), &symptom)) {
			const char *want = c[at->layer];

			if (diagnosis_layer_parse(sv_of(want), &layer))
				want = report_name(layer);
			ask(&all, c[at->changed], c[at->from], c[at->to], symptom, c[at->line], &x);
			n++;
			right += streq(report_name(x.layer), want);
			open += !x.told;
			first += streq(report_name(x.told ? x.layer : x.first), want);
			if (!streq(report_name(x.layer), want))
				printf("# %s: %s, %s (ranked first: %s); want %s\n", c[at->id],
				       c[at->changed], report_name(x.layer), report_name(x.first),
				       want);
		}
		for (int i = 0; i < k; i++)
			free(c[i]);
	}
	printf("# %zu lines with their change: layer right %zu (%.1f %%), undetermined %zu; named "
	       "or "
	       "ranked first %zu (%.1f %%)\n",
	       n, right, 100.0 * (double)right / (double)n, open, first,
	       100.0 * (double)first / (double)n);
	CHECK(n >= least);
	CHECK((double)right >= share * (double)n);
}

static void a_line_and_the_change_name_the_layer(void)
{
	static const struct columns at = { 0, CHANGED, FROM, TO, SYMPTOM, LOG, LAYER };
	const char *shared = getenv("TWICE_SHARED"), *src = getenv("TWICE_SRC");
	AUTO_FREE char *path =
		shared ? xasprintf("%s/cases/regressions.tsv", shared)
		       : xasprintf("%s/../shared/cases/regressions.tsv", src ? src : ".");

	lines_of(path, &at, 40, 0.85);
}

/* Our own collection, written down before the tool was asked. */
static void so_do_those_of_our_own(void)
{
	static const struct columns at = { 0, 1, 2, 3, 4, 5, 6 };
	const char *src = getenv("TWICE_SRC");
	AUTO_FREE char *path = xasprintf("%s/tests/attributions/lines.tsv", src ? src : ".");

	lines_of(path, &at, 60, 0.80);
}

TEST_MAIN(TEST(the_right_layer_is_among_the_first_three),
	  TEST(a_line_and_the_change_name_the_layer), TEST(so_do_those_of_our_own))
