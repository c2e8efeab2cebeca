/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLOCK_REALTIME is set back by a second in the middle of a run. The clock of this program is
 * ours: this
 * clock_gettime stands in for the C library's everywhere in it.
 */
#include "load_lib.h"

#include <sys/syscall.h>

static int64_t set_back_ns;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);
	int64_t ns;

	if (rc == 0 && id == CLOCK_REALTIME) {
		ns = ts->tv_sec * NS_PER_S + ts->tv_nsec -
		     __atomic_load_n(&set_back_ns, __ATOMIC_RELAXED);
		ts->tv_sec = ns / NS_PER_S;
		ts->tv_nsec = ns % NS_PER_S;
	}
	return rc;
}

static int set_the_clock(void *arg, const struct load_progress *p)
{
	(void)arg;
	if (p->elapsed_ns > 400 * NS_PER_MS)
		__atomic_store_n(&set_back_ns, NS_PER_S, __ATOMIC_RELAXED);
	return 0;
}

static void a_clock_that_is_set_changes_no_latency(void)
{
	struct fake f = fake_start("n=8,ttft=50ms,itl=10ms", NULL);
	struct bench b;

	bench_init(&b, &f);
	b.conf.count = 50;
	b.conf.tick = set_the_clock;
	b.conf.tick_ns = 50 * NS_PER_MS;
	bench_run(&b);
	CHECK_INT(set_back_ns, NS_PER_S);
	CHECK(b.res.audit.clock_steps >= 1);
	for (size_t i = 0; i < b.res.n; i++) {
		const struct load_req *r = &b.res.v[i];

		CHECK_INT(r->outcome, LOAD_OK);
		CHECK_TIME((double)(r->first_token - r->scheduled) / 1e6, 49, 300);
		for (uint32_t k = 1; k < r->n_events; k++)
			CHECK_TIME((double)(b.res.events[r->events_at + k].at -
					    b.res.events[r->events_at + k - 1].at) /
					   1e6,
				   0, 200);
	}
	/* The kernel's own clock was not set here, so from then on its stamps look false: not
	 * used. */
	CHECK(b.res.audit.unstamped > 0 && b.res.audit.unstamped < b.res.audit.events);
	bench_done(&b);
	fake_stop(&f);
}

TEST_MAIN(TEST(a_clock_that_is_set_changes_no_latency))
