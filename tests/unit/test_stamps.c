/* SPDX-License-Identifier: Apache-2.0 */
#include "load/stamps.h"

#include "base/clock.h"
#include "test.h"

static void control_with(struct msghdr *m, char *room, size_t n, struct timespec ts)
{
	struct cmsghdr *c;

	memset(room, 0, n);
	*m = (struct msghdr){ .msg_control = room, .msg_controllen = CMSG_SPACE(sizeof(ts)) };
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_TIMESTAMPNS;
	c->cmsg_len = CMSG_LEN(sizeof(ts));
	memcpy(CMSG_DATA(c), &ts, sizeof(ts));
}

static void maps_to_the_monotonic_clock(void)
{
	struct stamps s = { .offset_ns = 1000 * NS_PER_S };
	char room[128] __attribute__((aligned(8)));
	struct msghdr m;
	int64_t at;

	control_with(&m, room, sizeof(room), (struct timespec){ 1234, 5 });
	CHECK(stamps_of(&s, &m, &at));
	CHECK_INT(at, 234 * NS_PER_S + 5);
	control_with(&m, room, sizeof(room), (struct timespec){ 0, 0 });
	CHECK(!stamps_of(&s, &m, &at));
	m.msg_controllen = 0;
	CHECK(!stamps_of(&s, &m, &at));
}

static void notices_a_clock_that_was_set(void)
{
	struct stamps s = { 0 };
	int64_t good;

	stamps_pair(&s);
	CHECK_INT(s.steps, 0);
	good = s.offset_ns;
	s.offset_ns += 5 * NS_PER_S;
	stamps_pair(&s);
	CHECK_INT(s.steps, 1);
	CHECK(llabs(s.offset_ns - good) < NS_PER_MS);
}

static void the_kernel_stamps_when_switched_on(void)
{
	bool works;
	int fd = stamps_switch_on(&works);

	CHECK(fd >= 0);
	CHECK(works);
	close(fd);
}

TEST_MAIN(TEST(maps_to_the_monotonic_clock), TEST(notices_a_clock_that_was_set),
	  TEST(the_kernel_stamps_when_switched_on))
