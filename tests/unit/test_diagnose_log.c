/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/log.h"

#include "base/err.h"
#include "test.h"

static void add(struct diagnose_logs *l, enum diagnose_arm arm, bool well, const char *text)
{
	diagnose_logs_add(l, arm, well, sv_of(text));
}

static void a_backend_that_turned_over_is_a_flip(void)
{
	struct diagnose_logs l CLEANUP(diagnose_logs_release) = { 0 };

	add(&l, ARM_ACCEPTED, true,
	    "2026-01-01 10:00:00 INFO pid=7 Using Flash attention backend\nrequest aa1 done now\n");
	add(&l, ARM_ACCEPTED, true,
	    "2026-01-02 11:10:00 INFO pid=9 Using Flash attention backend\nrequest bb1 done now\n");
	add(&l, ARM_CANDIDATE, true,
	    "2026-02-01 10:00:00 INFO pid=1 Using Naive attention backend\nrequest cc1 done now\n");
	diagnose_logs_compare(&l);
	CHECK_INT(l.flips.n, 1);
	CHECK_STR(l.flips.v[0].from, "Flash");
	CHECK_STR(l.flips.v[0].to, "Naive");
}

static void what_not_every_log_says_is_chance(void)
{
	struct diagnose_logs l CLEANUP(diagnose_logs_release) = { 0 };

	add(&l, ARM_ACCEPTED, true, "info Using fast path now\n");
	add(&l, ARM_ACCEPTED, true, "info Using slow path now\n");
	add(&l, ARM_CANDIDATE, true, "info Using other path now\n");
	diagnose_logs_compare(&l);
	CHECK_INT(l.flips.n, 0);
}

static void marker(bool well, const char *candidate, size_t want)
{
	struct signatures all CLEANUP(signatures_release) = { 0 };
	struct diagnose_logs l CLEANUP(diagnose_logs_release) = { .all = &all };
	struct err err = ERR_INIT;

	CHECK_OK(
		signatures_parse(SV("- id: gdr\n  role: positive_marker\n  layer: commlib\n"
				    "  component: DMA path\n  rank: 4\n  parts: ['DMA-BUF is on']\n"
				    "  meaning: m\n  action: a\n  test: 'DMA-BUF is on'\n"),
				 &all, &err),
		err);
	add(&l, ARM_ACCEPTED, true, "start of the job\nDMA-BUF is on for all\nall ranks are up\n");
	add(&l, ARM_CANDIDATE, well, candidate);
	diagnose_logs_compare(&l);
	CHECK_INT(l.flips.n, want);
	if (want)
		CHECK_STR(l.flips.v[0].to, "not there");
}

static void a_marker_is_missed_where_it_had_to_come(void)
{
	marker(true, "start of the job\n", 1);
	marker(false, "start of the job\nall ranks are up\n", 1);
	marker(false, "start of the job\n", 0); /* broke off before */
	marker(true, "DMA-BUF is on for all\n", 0);
}

static void ways_to_fail_are_told_apart(void)
{
	static const struct {
		const char *reason;
		enum diagnosis_symptom want;
	} cases[] = {
		{ "the server was not ready within 5 min: x", SYMPTOM_NO_START },
		{ "the server ended before it was ready (exit 1): torch.OutOfMemoryError",
		  SYMPTOM_MEMORY },
		{ "over its time limit, ended after 20 s", SYMPTOM_HANG },
		{ "ended with over its time limit, ended after 20 s", SYMPTOM_HANG },
		{ "the server ended while it was measured (signal 11 (Segmentation fault))",
		  SYMPTOM_CRASH },
		{ "the loss is no number in 3 lines", SYMPTOM_WRONG },
		{ "ended with exit 3", SYMPTOM_NO_START },
		{ "it began again at step 0 instead of resuming", SYMPTOM_RESUME },
	};
	enum diagnosis_symptom s;
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK(diagnosis_symptom_of(cases[i].reason, &s));
		CHECK_STR(diagnosis_symptom_name(s), diagnosis_symptom_name(cases[i].want));
	}
	CHECK(!diagnosis_symptom_of("host_busy: other work", &s));
	CHECK(diagnosis_exit_of("ended with exit 3", &code) && code == 3);
	CHECK(diagnosis_exit_of("ended (signal 11 (Segmentation fault))", &code) && code == -11);
	CHECK(!diagnosis_exit_of("exited", &code));
}

TEST_MAIN(TEST(a_backend_that_turned_over_is_a_flip), TEST(what_not_every_log_says_is_chance),
	  TEST(a_marker_is_missed_where_it_had_to_come), TEST(ways_to_fail_are_told_apart))
