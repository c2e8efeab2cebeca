/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published regressions without a distinctive log line, where they lie beside the checkout: given
 * what changed and the symptom, the right layer is among the first three, or it says undetermined.
 */
#include "diagnose/diagnose.h"

#include "base/vec.h"
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

TEST_MAIN(TEST(the_right_layer_is_among_the_first_three))
