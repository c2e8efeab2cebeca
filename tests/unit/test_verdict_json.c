/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/verdict.h"

#include "base/err.h"
#include "verdict_scene.h"

static void round_trip(const struct verdict *v)
{
	struct verdict back CLEANUP(verdict_release) = { 0 };
	AUTO_JSON json_t *a = verdict_to_json(v), *b = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(verdict_from_json(a, &back, &err), err);
	b = verdict_to_json(&back);
	if (!json_equal(a, b)) {
		AUTO_FREE char *ta = json_text(a, true), *tb = json_text(b, true);

		printf("%s\n%s\n", ta, tb);
	}
	CHECK(json_equal(a, b));
	CHECK_INT(back.kind, v->kind);
	CHECK_INT(back.reasons.n, v->reasons.n);
	CHECK_INT(back.trace.n, v->trace.n);
}

static void what_is_written_reads_back(void)
{
	static const double factors[] = { 1, 1.03, 1.05, 1.5, 0.9 };

	for (size_t f = 0; f < ARRAY_SIZE(factors); f++)
		for (size_t n = 0; n <= 10; n += 2)
			for (int has_bank = 0; has_bank < 2; has_bank++) {
				struct verdict v CLEANUP(verdict_release) = { 0 };
				struct scene s;

				scene(&s, factors[f], n, has_bank);
				if (n > 4)
					s.reps[2].state = REP_FAILED; /* infinities */
				if (n > 6)
					s.reps[1].state = REP_EXCLUDED;
				verdict_decide(&s.in, &v);
				round_trip(&v);
			}
}

/* Only what the ledger's canonical form has: integers, strings, booleans, null, lower-case keys. */
static void canonical(const json_t *j)
{
	const char *key;
	json_t *x;
	size_t i;

	CHECK(!json_is_real(j));
	if (json_is_integer(j))
		CHECK(llabs(json_integer_value(j)) <= 9007199254740991LL);
	if (json_is_object(j)) {
		json_object_foreach((json_t *)j, key, x)
		{
			CHECK(key[0] >= 'a' && key[0] <= 'z');
			CHECK_INT(strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				  strlen(key));
			canonical(x);
		}
	}
	if (json_is_array(j)) {
		json_array_foreach(j, i, x) canonical(x);
	}
}

static void a_record_is_fit_for_the_ledger(void)
{
	struct verdict v CLEANUP(verdict_release) = { 0 };
	AUTO_JSON json_t *j = NULL;
	AUTO_FREE char *text = NULL;
	struct scene s;

	scene(&s, 1.02, 10, true);
	s.m[0].has_limit = false;
	s.cand[3] = 1e300; /* far out of any record's range */
	for (int i = 1; i < 4; i++)
		s.m[i] = s.m[0];
	s.in.n_metrics = 4;
	verdict_decide(&s.in, &v);
	j = verdict_to_json(&v);
	canonical(j);
	text = json_text(j, false);
	CHECK(strlen(text) < 16384); /* 16 metrics fit the 65,535 bytes of an entry */
}

static void foreign_records_are_refused(void)
{
	static const struct {
		const char *key, *json, *want;
	} t[] = {
		{ "verdict", "\"perhaps\"", "'perhaps' is no verdict" },
		{ "look", "-1", "'look' is out of range" },
		{ "reasons", "3", "reasons" },
		{ "numbers", "[{}]", "name" },
		{ "numbers", "[{\"name\":\"x\",\"unit\":\"furlong\",\"better\":\"lower\"}]",
		  "unknown unit 'furlong'" },
		{ "numbers",
		  "[{\"name\":\"x\",\"unit\":\"ns\",\"better\":\"lower\",\"scale\":\"log\","
		  "\"candidate\":1.5}]",
		  "'candidate' is not a number of a record" },
		{ "trace", "[{\"look\":1}]", "failed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct verdict v CLEANUP(verdict_release) = { 0 }, back = { 0 };
		AUTO_JSON json_t *j = NULL;
		struct err err = ERR_INIT;
		struct scene s;

		scene(&s, 1, 3, true);
		verdict_decide(&s.in, &v);
		j = verdict_to_json(&v);
		json_object_set_new(j, t[i].key, json_loads(t[i].json, JSON_DECODE_ANY, NULL));
		CHECK(verdict_from_json(j, &back, &err) < 0);
		CHECK_HAS(err.msg, t[i].want);
	}
}

static void percents_are_short(void)
{
	static const struct {
		double shift;
		bool abs_scale;
		const char *want;
	} t[] = {
		{ 0.0487901641694, false, "5 %" }, { -0.0512932943876, false, "-5 %" },
		{ 0.0123, true, "1.23 points" },   { 2.5, false, "12.2x" },
		{ 1.0, false, "172 %" },           { INFINITY, false, "inf" },
		{ NAN, false, "unknown" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		AUTO_FREE char *s = verdict_percent(t[i].shift, t[i].abs_scale);

		CHECK_STR(s, t[i].want);
	}
}

TEST_MAIN(TEST(what_is_written_reads_back), TEST(a_record_is_fit_for_the_ledger),
	  TEST(foreign_records_are_refused), TEST(percents_are_short))
