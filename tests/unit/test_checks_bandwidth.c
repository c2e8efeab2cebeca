/* SPDX-License-Identifier: Apache-2.0 */
/* The triad: held to its limit, over any number of threads, and ended when somebody interrupts. */
#include "checks_scene.h"

#include <sys/resource.h>

/* Addresses that this process may have from now on; 1: a sanitizer needs more than that. */
static int system_limit(size_t bytes)
{
#ifdef TEST_SANITIZED
	test_skip("a sanitizer needs all addresses");
#endif
	return setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes });
}

static void bandwidth_is_measured_and_held(void)
{
	char reason[REASON];

	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 2 MiB, repeats: 3}", NULL),
		  RESULT_PASS);
	CHECK_INT(run_one("hardware",
			  "memory_bandwidth: {size: 2 MiB, repeats: 3, at_least: \">= 900 TB/s\"}",
			  reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "limit >= 900 TB/s");
}

static void median_and_best_come_from_all_passes(void)
{
	const struct measurement *m;
	SCENE(s);

	scene_check(&s, "hardware", "memory_bandwidth: {size: 1 MiB, repeats: 5, threads: 3}",
		    scene_command);
	CHECK_INT(run_scene(&s), RESULT_PASS);
	m = measurements_find(&s.o.measured, "memory_bandwidth");
	CHECK(m && m->n_samples == 5 && m->value > 0);
	CHECK(measured(&s.o.measured, "memory_bandwidth.best") >= m->value);
}

static void more_threads_than_elements_of_a_part_are_fine(void)
{
	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 1 MiB, repeats: 3, threads: 40}",
			  NULL),
		  RESULT_PASS);
}

static void an_interruption_ends_it(void)
{
	struct err err = ERR_INIT;
	SCENE(s);

	scene_check(&s, "hardware", "memory_bandwidth: {size: 1 MiB, repeats: 1000}",
		    scene_command);
	scene_cancel = 1;
	CHECK_INT(check_run(&s.ctx, &s.c.checks.v[0], &s.o, &err), -ERR_INTERRUPTED);
}

static void memory_that_is_not_there_is_an_error(void)
{
	char reason[REASON];

	CHECK_INT(system_limit(256 * MIB), 0);
	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 16 GiB, repeats: 3}", reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "no memory");
}

static void threads_that_cannot_be_made_are_an_error(void)
{
	char reason[REASON];

	/* Each thread's stack is 8 MiB of addresses: some can be made, a thousand can't. */
	CHECK_INT(system_limit(512 * MIB), 0);
	CHECK_INT(run_one("hardware", "memory_bandwidth: {size: 1 MiB, repeats: 3, threads: 1000}",
			  reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "threads could be started");
}

TEST_MAIN(TEST(bandwidth_is_measured_and_held), TEST(median_and_best_come_from_all_passes),
	  TEST(more_threads_than_elements_of_a_part_are_fine), TEST(an_interruption_ends_it),
	  TEST(memory_that_is_not_there_is_an_error),
	  TEST(threads_that_cannot_be_made_are_an_error))
