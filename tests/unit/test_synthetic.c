/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "load/load.h"
#include "test.h"

static void make(const char *spec, uint64_t seed, struct load_prompts *p)
{
	struct err err = ERR_INIT;

	CHECK_OK(load_prompts_synthetic(spec, seed, p, &err), err);
}

static size_t words_in(const char *s)
{
	size_t n = 0;
	struct sv rest = sv_of(s), w;

	while (sv_word(&rest, &w))
		n++;
	return n;
}

static void a_seed_gives_the_same_prompts(void)
{
	struct load_prompts a CLEANUP(load_prompts_release) = { 0 };
	struct load_prompts b CLEANUP(load_prompts_release) = { 0 };
	struct load_prompts c CLEANUP(load_prompts_release) = { 0 };
	struct load_prompts more CLEANUP(load_prompts_release) = { 0 };

	make("input=uniform(3,9) prompts=20", 5, &a);
	make("input=uniform(3,9) prompts=20", 5, &b);
	make("input=uniform(3,9) prompts=20", 6, &c);
	make("input=uniform(3,9) prompts=30", 5, &more);
	CHECK_STR(a.digest, b.digest);
	CHECK(!streq(a.digest, c.digest));
	CHECK_INT(a.n, 20);
	CHECK_STR(more.v[19].prompt, a.v[19].prompt);
	for (size_t i = 0; i < a.n; i++) {
		CHECK(words_in(a.v[i].prompt) >= 3 && words_in(a.v[i].prompt) <= 9);
		for (size_t k = 0; k < i; k++)
			CHECK(!streq(a.v[i].prompt, a.v[k].prompt));
	}
}

static void lengths_have_their_distribution(void)
{
	static const struct {
		const char *spec;
		double mean, near;
	} t[] = {
		{ "input=50 prompts=400", 50, 0 },
		{ "input=uniform(10,30) prompts=400", 20, 1.2 },
		{ "input=normal(100,10) prompts=400", 100, 2 },
		{ "input=exponential(40) prompts=2000", 40, 4 },
		/* mean of a lognormal: median x exp(s^2 / 2) */
		{ "input=lognormal(40,0.5) prompts=2000", 45.3, 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
		double sum = 0;

		make(t[i].spec, 1, &p);
		for (size_t k = 0; k < p.n; k++)
			sum += (double)words_in(p.v[k].prompt);
		CHECK_NEAR(sum / (double)p.n, t[i].mean, t[i].near);
	}
}

static void prefixes_are_shared_and_the_rest_is_not(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
	size_t same = 0;

	make("input=20 output=uniform(5,7) prefix=10 prefixes=2 prompts=50", 1, &p);
	for (size_t i = 0; i < p.n; i++) {
		CHECK_INT(words_in(p.v[i].prompt), 30);
		CHECK(p.v[i].max_tokens >= 5 && p.v[i].max_tokens <= 7);
		same += strncmp(p.v[0].prompt, p.v[i].prompt, 40) == 0;
	}
	CHECK(same > 10 && same < 40);
}

static void a_turn_has_all_before_it(void)
{
	struct load_prompts p CLEANUP(load_prompts_release) = { 0 };

	make("input=5 output=4 turns=3 prompts=2", 1, &p);
	CHECK_INT(p.n, 6);
	CHECK_STR(p.v[2].id, "s0.2");
	CHECK_INT(json_array_size(p.v[0].messages), 1);
	CHECK_INT(json_array_size(p.v[2].messages), 5);
	CHECK(json_equal(json_array_get(p.v[2].messages, 2), json_array_get(p.v[1].messages, 2)));
	CHECK(!json_equal(json_array_get(p.v[3].messages, 0), json_array_get(p.v[0].messages, 0)));
	CHECK_STR(json_str_or(json_array_get(p.v[2].messages, 3), "role", ""), "assistant");
}

static void what_it_does_not_know_is_refused(void)
{
	static const char *const bad[] = { "input=",      "input=0",         "input=uniform(9,3)",
					   "output=x(1)", "prompts=0",       "words=3",
					   "input",       "input=normal(5)", "turns=101" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct load_prompts p CLEANUP(load_prompts_release) = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(load_prompts_synthetic(bad[i], 1, &p, &err), -ERR_PARSE);
		CHECK_HAS(err.msg, bad[i]);
	}
}

TEST_MAIN(TEST(a_seed_gives_the_same_prompts), TEST(lengths_have_their_distribution),
	  TEST(prefixes_are_shared_and_the_rest_is_not), TEST(a_turn_has_all_before_it),
	  TEST(what_it_does_not_know_is_refused))
