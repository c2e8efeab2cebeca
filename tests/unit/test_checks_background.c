/* SPDX-License-Identifier: Apache-2.0 */
/* Load in a process of its own: it reports, ends when told, and never outlives us. */
#include "checks_server.h"
#include "load/load.h"

struct both {
	struct scene s;
	struct server v;
	struct background b;
};

static void begin(struct both *x, uint64_t count)
{
	struct load_ask ask = { .count = count, .open_loop = true, .no_golden = true };
	struct err err = ERR_INIT;

	*x = (struct both){ .b = BACKGROUND_INIT };
	server_scene(&x->s, NULL, "slow", NULL);
	CHECK_OK(server_start(&x->s.ctx, "server.log", 0, &x->v, &err), err);
	CHECK_OK(background_start(&x->s.ctx, x->v.url, &ask, "raw.zst", &x->b, &err), err);
}

static void end(struct both *x)
{
	background_release(&x->b);
	server_release(&x->v);
	scene_release(&x->s);
}

static void it_reports_and_ends_when_told(void)
{
	struct load_result res CLEANUP(load_result_release) = { 0 };
	struct evidences e CLEANUP(evidences_release) = { 0 };
	struct err err = ERR_INIT;
	struct both x;

	begin(&x, 100000);
	CHECK_OK(background_under_way(&x.s.ctx, &x.b, &err), err);
	CHECK(x.b.last.ok >= 1);
	CHECK_OK(background_end(&x.s.ctx, &x.b, /* now= */ true, &e, &res, &err), err);
	CHECK(load_count_ok(&res) >= 1 && res.interrupted);
	CHECK_STR(e.v[0].label, "raw.zst");
	end(&x);
}

static void its_whole_load_can_be_waited_for(void)
{
	struct load_result res CLEANUP(load_result_release) = { 0 };
	struct evidences e CLEANUP(evidences_release) = { 0 };
	struct err err = ERR_INIT;
	struct both x;

	begin(&x, 7);
	CHECK_OK(background_end(&x.s.ctx, &x.b, /* now= */ false, &e, &res, &err), err);
	CHECK_INT(res.n, 7);
	CHECK_INT(load_count_ok(&res), 7);
	end(&x);
}

static void one_that_ended_was_not_under_way(void)
{
	struct err err = ERR_INIT;
	struct both x;

	begin(&x, 1);
	CHECK(kill(x.b.pid, SIGKILL) == 0);
	while (background_look(&x.b, 20 * NS_PER_MS))
		;
	CHECK_INT(background_under_way(&x.s.ctx, &x.b, &err), -ERR_BROKEN);
	end(&x);
}

/* The harness fails a test that leaves a process running. */
static void it_is_killed_with_its_owner(void)
{
	struct both x;

	begin(&x, 100000);
	end(&x);
}

TEST_MAIN(TEST(it_reports_and_ends_when_told), TEST(its_whole_load_can_be_waited_for),
	  TEST(one_that_ended_was_not_under_way), TEST(it_is_killed_with_its_owner))
