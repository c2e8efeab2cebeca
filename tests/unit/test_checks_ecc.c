/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is compared, and counters of errors of a recorded machine are told apart from silence. */
#include "checks_scene.h"

#define ECC "ecc: {for: 1 ms, size: 1 MiB%s}"

static enum result ecc(const char *more, char *reason)
{
	AUTO_FREE char *root = system_root();
	AUTO_FREE char *settings = xasprintf(ECC, more);

	return run_in(root, "hardware", settings, reason);
}

static void no_counter_is_a_skip(void)
{
	char reason[REASON];

	CHECK_INT(ecc("", reason), RESULT_SKIP);
	CHECK_HAS(reason, "no counter of errors");
}

static void counters_that_stand_still_pass(void)
{
	char reason[REASON];

	system_file("/sys/devices/system/edac/mc/mc0/ce_count", "12\n");
	system_file("/sys/devices/system/edac/mc/mc0/ue_count", "3\n");
	CHECK_INT(ecc("", NULL), RESULT_PASS);
	CHECK_INT(ecc(", before: \"= 0\"", reason), RESULT_FAIL);
	CHECK_HAS(reason, "3 uncorrected errors since the start, limit = 0");
}

/* The progress callback is called while memory is exercised: an error happens there. */
static const char *happens;
static const char *where;

static void error_happens(void *arg, const struct check_progress *p)
{
	(void)arg;
	(void)p;
	system_file(where, happens);
}

static enum result with_error(const char *file, const char *before, const char *after,
			      const char *more, char *reason)
{
	AUTO_FREE char *root = system_root();
	AUTO_FREE char *settings = xasprintf(ECC, more);
	SCENE(s);
	enum result r;

	system_file(file, before);
	where = file;
	happens = after;
	scene_check(&s, "hardware", settings, scene_command);
	s.ctx.root = root;
	s.ctx.progress = error_happens;
	r = run_scene(&s);
	(void)snprintf(reason, REASON, "%s", s.o.reason ? s.o.reason : "");
	return r;
}

static void a_new_error_fails(void)
{
	char reason[REASON];

	CHECK_INT(with_error("/sys/devices/system/edac/mc/mc1/ue_count", "3\n", "4\n", "", reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "1 new uncorrected errors, limit = 0");
	CHECK_INT(with_error("/sys/class/drm/card0/device/ras/umc_err_count", "ue: 0\nce: 7\n",
			     "ue: 0\nce: 9\n", "", reason),
		  RESULT_FAIL);
	CHECK_HAS(reason, "2 new corrected errors");
	CHECK_INT(with_error("/sys/class/drm/card0/device/ras/umc_err_count", "ue: 0\nce: 7\n",
			     "ue: 0\nce: 9\n", ", corrected: \"<= 5\"", reason),
		  RESULT_PASS);
	CHECK_INT(with_error("/sys/bus/pci/devices/0000:01:00.0/aer_dev_fatal",
			     "Undefined 0\nTOTAL_ERR_FATAL 0\n", "Undefined 0\nTOTAL_ERR_FATAL 1\n",
			     "", reason),
		  RESULT_FAIL);
}

static void counters_that_begin_anew_are_an_error(void)
{
	char reason[REASON];

	CHECK_INT(with_error("/sys/devices/system/edac/mc/mc0/ce_count", "9\n", "0\n", "", reason),
		  RESULT_ERROR);
	CHECK_HAS(reason, "began anew");
	CHECK_INT(with_error("/sys/devices/system/edac/mc/mc0/ce_count", "9\n", "gone", "", reason),
		  RESULT_SKIP);
}

TEST_MAIN(TEST(no_counter_is_a_skip), TEST(counters_that_stand_still_pass), TEST(a_new_error_fails),
	  TEST(counters_that_begin_anew_are_an_error))
