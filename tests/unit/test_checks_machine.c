/* SPDX-License-Identifier: Apache-2.0 */
/* The machine meanwhile: what spoils a measurement is told, and a quiet machine says nothing. */
#include "checks_scene.h"

struct seen {
	struct rep r;
	struct watch w;
	struct check_ctx ctx;
	char *root;
};

static void begin(struct seen *s)
{
	*s = (struct seen){ .root = system_root() };
	s->ctx.root = s->root;
	system_file("/proc/stat", "cpu  1000 0 1000 8000 0 0 0 0 0 0\ncpu0 1 2 3\n");
	watch_start(&s->ctx, &s->w);
}

static void end(struct seen *s, int64_t own_ns)
{
	watch_end(&s->ctx, &s->w, own_ns, &s->r);
	for (size_t i = 0; i < s->r.measured.n; i++)
		printf("# %s %g\n", s->r.measured.v[i].name, s->r.measured.v[i].value);
}

static void done(struct seen *s)
{
	rep_release(&s->r);
	free(s->root);
}

static void what_others_used_is_what_is_not_ours(void)
{
	struct seen s;

	begin(&s);
	/* 400 ticks more, 200 of them busy, half of these ours. */
	system_file("/proc/stat", "cpu  1100 0 1100 8200 0 0 0 0 0 0\n");
	end(&s, (int64_t)(100.0 / (double)sysconf(_SC_CLK_TCK) * 1e9));
	CHECK_NEAR(measured(&s.r.measured, "host.others"), 0.25, 1e-9);
	CHECK_INT(s.r.outcomes.n, 0);
	CHECK(isnan(measured(&s.r.measured, "host.ecc.corrected")));
	done(&s);
}

static void a_load_that_cannot_be_read_is_no_number(void)
{
	struct seen s;

	begin(&s);
	system_file("/proc/stat", "intr 1\n");
	end(&s, 0);
	CHECK(measurements_find(&s.r.measured, "host.others") &&
	      isnan(measured(&s.r.measured, "host.others")));
	done(&s);
}

static void errors_and_heat_make_it_doubtful(void)
{
	static const struct {
		const char *file, *before, *after, *reason;
	} t[] = {
		{ "/sys/devices/system/edac/mc/mc0/ue_count", "0\n", "2\n",
		  "ecc_error: 2 uncorrected" },
		{ "/sys/devices/system/edac/mc/mc0/ue_count", "2\n", "0\n",
		  "ecc_error: the counters" },
		{ "/sys/devices/system/edac/mc/mc0/ue_count", "2\n", "x\n",
		  "ecc_error: the counters" },
		{ "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n", "9\n",
		  "throttled: processors were slowed down 2 times" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct seen s;

		system_file("/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
		system_file(t[i].file, t[i].before);
		begin(&s);
		system_file(t[i].file, t[i].after);
		end(&s, 0);
		CHECK_INT(s.r.outcomes.n, 1);
		CHECK_INT(s.r.outcomes.v[0].result, RESULT_DOUBTFUL);
		CHECK_STR(s.r.outcomes.v[0].check, "workload/machine");
		CHECK_HAS(s.r.outcomes.v[0].reason, t[i].reason);
		done(&s);
	}
}

static void corrected_errors_are_only_counted(void)
{
	struct seen s;

	system_file("/sys/devices/system/edac/mc/mc0/ce_count", "5\n");
	begin(&s);
	system_file("/sys/devices/system/edac/mc/mc0/ce_count", "8\n");
	end(&s, 0);
	CHECK_NEAR(measured(&s.r.measured, "host.ecc.corrected"), 3, 0);
	CHECK_INT(s.r.outcomes.n, 0);
	done(&s);
}

static void processors_and_own_time_are_known(void)
{
	int64_t before = self_cpu_ns();
	volatile unsigned x = 0;

	CHECK(cpus_usable() >= 1);
	for (unsigned i = 0; i < 300 * 1000 * 1000 && self_cpu_ns() == before; i++)
		x += i;
	(void)x;
	CHECK(self_cpu_ns() > before);
}

TEST_MAIN(TEST(what_others_used_is_what_is_not_ours), TEST(a_load_that_cannot_be_read_is_no_number),
	  TEST(errors_and_heat_make_it_doubtful), TEST(corrected_errors_are_only_counted),
	  TEST(processors_and_own_time_are_known))
