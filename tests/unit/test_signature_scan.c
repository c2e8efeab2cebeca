/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "diagnose/diagnose.h"
#include "test.h"

static const char catalogue[] =
	"- {id: fault, role: cause, layer: driver, component: c, rank: 3, parts: 'part one',"
	" pattern: 'part one.*code \\d+', unless: ['harmless'], meaning: m, action: a, test: t}\n"
	"- {id: wide, role: generic, layer: image, component: c, rank: 1, parts: 'part one',"
	" meaning: m, action: a, test: t}\n"
	"- {id: other, role: cause, layer: runtime, component: c, rank: 2, parts: 'part two',"
	" meaning: m, action: a, test: t}\n"
	"- {id: bomb, role: cause, layer: runtime, component: c, rank: 2, parts: 'part three',"
	" pattern: '(x+x+)+[yz]', meaning: m, action: a, test: t}\n";

static void load(struct signatures *ret)
{
	struct err err = ERR_INIT;

	CHECK_OK(signatures_parse(SV(catalogue), ret, &err), err);
}

static const struct signature_hit *find(const struct signature_hits *h, const char *id)
{
	static const struct signature_hit none = { 0 };
	const struct signature_hit *x = signature_hits_find(h, id);

	return x ? x : &none;
}

static void counts_lines_offsets_and_winners(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };

	load(&l);
	signatures_scan_text(&l,
			     SV("one\r\nPART ONE without\npart one, code 7\n\npart two\n"
				"harmless part one code 8\npart one code 9, part one code 10"),
			     &h);
	CHECK_INT(h.lines, 7);
	CHECK_INT(find(&h, "fault")->won, 2);
	CHECK_INT(find(&h, "fault")->line, 3);
	CHECK_INT(find(&h, "fault")->offset, 22);
	CHECK_INT(find(&h, "fault")->last_line, 7);
	CHECK_STR(find(&h, "fault")->excerpt, "part one, code 7");
	CHECK_INT(find(&h, "wide")->seen, 4);
	CHECK_INT(find(&h, "wide")->won, 2);
	CHECK_INT(find(&h, "wide")->line, 2);
	CHECK_INT(find(&h, "other")->line, 5);
	/* In the order of the first line. */
	CHECK_STR(h.v[0].sig->id, "wide");
	CHECK_STR(h.v[1].sig->id, "fault");
}

/* Any cut of the stream gives the same. */
static void pieces_make_no_difference(void)
{
	static const char text[] =
		"x\n\033[1mpart\033[0m one c\0ode code 7\r\npart two\nlast part two";
	struct signatures l CLEANUP(signatures_release) = { 0 };
	AUTO_JSON json_t *whole = NULL;

	load(&l);
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_scan *s = signature_scan_new(&l);
		json_t *j;

		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			signature_scan_feed(s, text + at, MIN(piece, sizeof(text) - 1 - at));
		signature_scan_end(s, &h);
		CHECK_INT(h.bytes, sizeof(text) - 1);
		CHECK_INT(h.lines, 4);
		CHECK_INT(find(&h, "fault")->line, 2);
		CHECK_INT(find(&h, "other")->seen, 2);
		j = signature_hits_to_json(&h);
		if (whole)
			CHECK(json_equal(whole, j));
		else
			whole = json_incref(j);
		json_decref(j);
	}
}

/* 3 MiB without a line end: memory stays what it is, what stands there is found once. */
static void a_line_may_be_longer_than_memory(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	const size_t n = 3 * MIB, step = 100 * 1000 + 7;
	AUTO_FREE char *text = xmalloc(n);

	load(&l);
	for (size_t cut = 0; cut < 3; cut++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
		struct signature_scan *s = signature_scan_new(&l);

		memset(text, '-', n);
		text[3] = '\n';
		/* One across each border of the scanner's blocks, wherever they may be. */
		for (size_t at = 256 * 1024 * (cut + 1) - 16; at < 256 * 1024 * (cut + 1) + 16;
		     at += 8)
			memcpy(text + at, "part two", 8);
		memcpy(text + n - 30, "part one code 55", 16);
		for (size_t at = 0; at < n; at += step)
			signature_scan_feed(s, text + at, MIN(step, n - at));
		signature_scan_end(s, &h);
		CHECK_INT(h.lines, 2);
		CHECK_INT(find(&h, "other")->seen, 1);
		CHECK_INT(find(&h, "other")->line, 2);
		CHECK_INT(find(&h, "other")->offset, 4);
		CHECK_INT(find(&h, "fault")->won, 1);
		CHECK(strlen(find(&h, "fault")->excerpt) <= SIGNATURE_EXCERPT);
		CHECK(strstr(find(&h, "fault")->excerpt, "code 55"));
	}
}

/* What is far apart in a line doesn't compete. */
static void a_long_line_says_more_than_one_thing(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	struct str t CLEANUP(str_release) = { 0 };

	load(&l);
	str_add(&t, "part one code 1");
	str_pad(&t, ' ', 2 * SIGNATURE_NEAR);
	str_add(&t, "part two");
	signatures_scan_text(&l, sv_str(&t), &h);
	CHECK_INT(find(&h, "fault")->won, 1);
	CHECK_INT(find(&h, "other")->won, 1);
}

static void a_pattern_that_needs_too_much_is_not_a_no(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	struct str t CLEANUP(str_release) = { 0 };

	load(&l);
	str_add(&t, "part three ");
	str_pad(&t, 'x', 3000);
	signatures_scan_text(&l, sv_str(&t), &h);
	CHECK_INT(h.unjudged, 1);
	CHECK_INT(h.n, 0);
}

static void a_scan_may_be_dropped_and_may_be_empty(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
	struct signature_scan *s CLEANUP(signature_scan_free) = NULL;

	load(&l);
	s = signature_scan_new(&l);
	signature_scan_feed(s, "part two\n", 9);
	signatures_scan_text(&l, SV(""), &h);
	CHECK_INT(h.lines, 0);
	CHECK_INT(h.n, 0);
}

static void logs_add_up(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct signature_hits a CLEANUP(signature_hits_release) = { 0 };
	struct signature_hits b CLEANUP(signature_hits_release) = { 0 };

	load(&l);
	signatures_scan_text(&l, SV("x\npart two\n"), &a);
	signatures_scan_text(&l, SV("part one code 1\npart two\npart two"), &b);
	signature_hits_add(&a, &b, 1);
	CHECK_INT(b.n, 0);
	CHECK_INT(a.lines, 5);
	CHECK_INT(find(&a, "other")->won, 3);
	CHECK_INT(find(&a, "other")->line, 2);
	CHECK_INT(find(&a, "other")->file, 0);
	CHECK_INT(find(&a, "fault")->file, 1);
	CHECK_STR(a.v[0].sig->id, "other");
}

TEST_MAIN(TEST(counts_lines_offsets_and_winners), TEST(pieces_make_no_difference),
	  TEST(a_line_may_be_longer_than_memory), TEST(a_long_line_says_more_than_one_thing),
	  TEST(a_pattern_that_needs_too_much_is_not_a_no),
	  TEST(a_scan_may_be_dropped_and_may_be_empty), TEST(logs_add_up))
