/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "diagnose/diagnose.h"
#include "stat/stat.h"
#include "test.h"

/* A part is found wherever it stands: at every alignment, and at both ends of the text. */
static void finds_a_part_at_every_place(void)
{
	static const char *const parts[] = { "1234567", "Out Of Memory", "zzzzzzzz", "a:b:c:d:e" };
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	struct str c CLEANUP(str_release) = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		str_addf(&c,
			 "- {id: p%zu, role: cause, layer: driver, component: c, rank: 1, "
			 "parts: '%s', meaning: m, action: a, test: t}\n",
			 i, parts[i]);
	CHECK_INT(signatures_parse(sv_str(&c), &l, &err), 0);
	for (size_t before = 0; before < 20; before++) {
		for (size_t behind = 0; behind < 6; behind++) {
			for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
				struct signature_hits h CLEANUP(signature_hits_release) = { 0 };
				struct str t CLEANUP(str_release) = { 0 };

				str_pad(&t, 'x', before);
				str_add(&t, parts[i]);
				str_pad(&t, 'y', behind);
				signatures_scan_text(&l, sv_str(&t), &h);
				CHECK_INT(h.n, 1);
				if (h.n)
					CHECK_STR(h.v[0].sig->parts.v[0], parts[i]);
			}
		}
	}
}

static void letters_match_in_either_case_and_nothing_else_does(void)
{
	struct signatures l CLEANUP(signatures_release) = { 0 };
	struct err err = ERR_INIT;
	static const char *const same[] = { "out of [MEM]", "OUT OF [mem]", "Out Of [MeM]" };
	static const char *const other[] = { "out of {mem}", "out of [me]", "outxof [mem]",
					     "oUT\0OF [mem]" };

	CHECK_INT(signatures_parse(SV("- {id: p, role: cause, layer: driver, component: c, rank: 1,"
				      " parts: 'Out of [mem]', meaning: m, action: a, test: t}"),
				   &l, &err),
		  0);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };

		signatures_scan_text(&l, sv_of(same[i]), &h);
		CHECK_INT(h.n, 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		struct signature_hits h CLEANUP(signature_hits_release) = { 0 };

		signatures_scan_text(&l, sv_of(other[i]), &h);
		CHECK_INT(h.n, 0);
	}
}

TEST_MAIN(TEST(finds_a_part_at_every_place),
	  TEST(letters_match_in_either_case_and_nothing_else_does))
