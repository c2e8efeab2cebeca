/* SPDX-License-Identifier: Apache-2.0 */
/* Where a search stands before anything is tried, for every state it can be in. */
#include "run/bisecting.h"
#include "test.h"

static const struct {
	enum bisect_state step;
	enum bisect_kind kind;
	size_t searches, trials;
	bool unended, running, limit;
	int refused; /* 1 one combination by the envelope, 2 all of them by name */
	const char *state, *search, *further; /* how it begins; "" for none */
} rows[] = {
	{ BISECT_TRY, BISECT_ENV, 0, 0, false, false, false, 0, "open", "none", "" },
	{ BISECT_TRY, BISECT_ENV, 1, 2, true, true, false, 0, "open", "running", "it goes on" },
	{ BISECT_TRY, BISECT_ENV, 1, 2, true, false, false, 0, "open", "not ended", "it goes on" },
	{ BISECT_TRY, BISECT_ENV, 1, 2, false, false, false, 0, "open", "ended", "it goes on" },
	{ BISECT_FOUND, BISECT_ONE, 1, 9, false, false, false, 0, "found", "ended",
	  "nothing: it is known, and 'twice bisect' tells it again without a trial; --again "
	  "starts over and measures the share of b" },
	{ BISECT_FOUND, BISECT_BOTH, 1, 9, false, false, false, 0, "found", "ended",
	  "nothing: it is known, and 'twice bisect' tells it again without a trial; --factorial "
	  "a,b" },
	{ BISECT_OUTSIDE, BISECT_ENV, 1, 9, false, false, false, 0, "outside", "ended",
	  "nothing about these components" },
	{ BISECT_VANISHED, BISECT_GONE, 1, 9, false, false, false, 0, "vanished", "ended",
	  "nothing while it does not reproduce" },
	{ BISECT_UNDETERMINED, BISECT_ONE, 1, 40, false, false, true, 0, "undetermined", "ended",
	  "the trials after the 40 that were made" },
	{ BISECT_UNDETERMINED, BISECT_ONE, 1, 9, false, false, false, 1, "undetermined", "ended",
	  "nothing without the combinations that are refused" },
	{ BISECT_UNDETERMINED, BISECT_ONE, 0, 0, false, false, false, 2, "undetermined", "none",
	  "nothing: every combination is refused" },
	{ BISECT_UNDETERMINED, BISECT_ONE, 1, 9, false, false, false, 0, "undetermined", "ended",
	  "nothing: what could be tried was" },
};

static void every_state(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bisect_part parts[] = { { .name = "a" }, { .name = "b" } };
		struct never never[] = {
			{ .mask = 1, .value = 1, .measured = rows[i].refused == 1 },
			{ .mask = 1, .value = 0 }
		};
		struct bisect_hyp h = { .kind = rows[i].kind, .b = 1 };
		struct bisect_fit fit = { .v = &h, .n = 1 };
		struct bisect_step step = { .state = rows[i].step, .reason = "why" };
		struct earlier e = { .n = rows[i].searches, .unended = rows[i].unended };
		struct question q = { 0 };
		struct sofar s = {
			&q, &fit, &step, &e, rows[i].trials, rows[i].limit, rows[i].running
		};
		AUTO_JSON json_t *j = json_object();
		const json_t *o;
		bool answered = rows[i].step != BISECT_TRY;

		h.a = rows[i].kind == BISECT_ONE ? 1 : 0;
		q.parts.v = parts;
		q.parts.n = 2;
		q.never.v = never;
		q.never.n = (size_t)rows[i].refused;
		memset(e.answer, 'a', 64);
		e.answer_seq = 7;
		put_so_far(&s, j);
		o = json_object_get(j, "so_far");
		CHECK_STR(json_str_or(o, "state", ""), rows[i].state);
		CHECK_STR(json_str_or(o, "search", ""), rows[i].search);
		CHECK(str_starts(json_str_or(o, "further", ""), rows[i].further));
		CHECK_INT(json_str_or(o, "further", "")[0] != 0, rows[i].further[0] != 0);
		CHECK_INT(json_int_or(o, "trials", -1), (int64_t)rows[i].trials);
		CHECK_INT(json_int_or(o, "seq", 0), answered && e.n ? 7 : 0);
	}
}

TEST_MAIN(TEST(every_state))
