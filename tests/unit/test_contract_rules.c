/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"
#include "contract/internal.h"
#include "contract_schemas.h"
#include "test.h"

static void usual_looks_end_at_the_cap(void)
{
	static const struct {
		int64_t cap;
		const char *want;
	} cases[] = { { 3, "3" },         { 4, "3 4" },           { 7, "3 4 5 6 7" },
		      { 8, "3 4 5 6 8" }, { 10, "3 4 5 6 8 10" }, { 15, "3 4 5 6 8 10 15" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str s CLEANUP(str_release) = { 0 };
		struct ints l = { 0 };

		looks_default(cases[i].cap, &l);
		for (size_t k = 0; k < l.n; k++)
			str_addf(&s, "%s%lld", k ? " " : "", (long long)l.v[k]);
		free(l.v);
		CHECK_STR(str_text(&s), cases[i].want);
	}
}

/* What evaluation and batch workloads, and those with a command of their own, may be. */
static void allowed_combinations_are_allowed(void)
{
	static const char *const kinds[] = { "inference", "training", "evaluation", "batch" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct contract c CLEANUP(contract_release) = { 0 };
		struct str text CLEANUP(str_release) = { 0 };
		struct err err = ERR_INIT;

		str_addf(&text,
			 "twice: 1\nworkload: {name: t, kind: %s}\nworkload_check:\n  command: "
			 "{argv: "
			 "[./t]}\n  objectives: [wall_time <= 5 s]\nstack: {owners: {kernellib: a, "
			 "openblas: b, hosts: c}, pins: {hosts: \"1\"}}\n"
			 "repeat: {runs: 7, at_most: 7, looks: [3, 7]}\n"
			 "gates: {max_failed: 1, reject_failed: 2}\ncost: {per_hour: 0, currency: "
			 "EUR}\n",
			 kinds[i]);
		CHECK_OK(contract_parse(sv_str(&text), "f", NULL, &c, NULL, &err), err);
		CHECK_INT(c.workload.kind, i);
		CHECK_INT(c.repeat.looks.n, 2);
	}
}

TEST_MAIN(TEST(usual_looks_end_at_the_cap), TEST(allowed_combinations_are_allowed))
