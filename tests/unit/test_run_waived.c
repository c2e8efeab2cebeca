/* SPDX-License-Identifier: Apache-2.0 */
#include "run_scene.h"

#include "base/vec.h"

#define NOW (SCENE_START + 100000)

struct signer {
	struct ssh_key key;
	const char *path;
};

static void signer_init(struct run_scene *s, struct signer *p)
{
	static const char *const roles[] = { "approver", "admin", NULL };
	struct err err = ERR_INIT;

	p->path = scene_path("jane");
	CHECK_OK(ssh_key_make(p->path, "jane", &p->key, &err), err);
	AUTO_JSON json_t *body = ledger_key_body(&p->key, "jane", roles, SCENE_START, 0);
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct ledger_new n = { .kind = "key.add",
				.body = body,
				.by_id = "jane",
				.role = "human",
				.at_ms = SCENE_START + 1 };
	AUTO_FREE char *sig = NULL;

	CHECK_OK(ledger_draft_make(s->l, &n, &d, &err), err);
	CHECK_OK(ssh_sign(p->path, LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	CHECK_OK(ledger_draft_append(s->l, &d, sig, NULL, &err), err);
}

static struct ledger_ref person(struct run_scene *s, const struct signer *p, const char *kind,
				const char *text)
{
	AUTO_JSON json_t *body = scene_json(text);
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct ledger_new n = {
		.kind = kind, .body = body, .by_id = "jane", .role = "human", .at_ms = NOW
	};
	struct ledger_ref ref = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *sig = NULL;

	CHECK_OK(ledger_draft_make(s->l, &n, &d, &err), err);
	CHECK_OK(ssh_sign(p->path, LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	CHECK_OK(ledger_draft_append(s->l, &d, sig, &ref, &err), err);
	return ref;
}

static struct ledger_ref waive(struct run_scene *s, const struct signer *p, const char *subject,
			       const char *limit, int64_t until)
{
	AUTO_FREE char *more = limit ? xasprintf(",\"limit\":\"%s\"", limit) : xstrdup("");
	AUTO_FREE char *text =
		xasprintf("{\"workload\":\"w\",\"subject\":\"%s\",\"reason\":\"r\",\"owner\":\"o\","
			  "\"expires_at_ms\":%lld%s}",
			  subject, (long long)until, more);

	return person(s, p, "waiver", text);
}

static enum waiver_state only(struct run_scene *s, uint64_t as_of, int64_t now)
{
	struct waivers l CLEANUP(waivers_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(waivers_read(s->l, "w", as_of, &l, &err), err);
	CHECK_INT(l.n, 1);
	return waiver_state(&l.v[0], now);
}

static void a_waiver_counts_until_its_end_or_until_it_is_taken_back(void)
{
	struct run_scene s CLEANUP(run_scene_release) = { 0 };
	struct signer jane = { 0 };
	struct ledger_ref w;
	uint64_t before;
	AUTO_FREE char *back = NULL;

	run_scene_init(&s);
	signer_init(&s, &jane);
	w = waive(&s, &jane, "hardware/gpus", NULL, NOW + 1000);
	CHECK_INT(only(&s, 0, NOW), WAIVER_IN_FORCE);
	CHECK_INT(only(&s, 0, NOW + 999), WAIVER_IN_FORCE);
	CHECK_INT(only(&s, 0, NOW + 1000), WAIVER_EXPIRED);
	/* What nobody signed takes nothing back. */
	(void)scene_add(s.l, "waiver.revoke", "{\"waiver\":{\"digest\":\"%s\"},\"workload\":\"w\"}",
			w.hex);
	CHECK_INT(only(&s, 0, NOW), WAIVER_IN_FORCE);
	before = run_scene_size(&s);
	back = xasprintf("{\"waiver\":{\"digest\":\"%s\"},\"workload\":\"w\"}", w.hex);
	(void)person(&s, &jane, "waiver.revoke", back);
	CHECK_INT(only(&s, 0, NOW), WAIVER_REVOKED);
	CHECK_INT(only(&s, before, NOW), WAIVER_IN_FORCE); /* as it was then */
	ssh_key_release(&jane.key);
}

static void unsigned_endless_and_foreign_ones_never_count(void)
{
	struct run_scene s CLEANUP(run_scene_release) = { 0 };
	struct waivers l CLEANUP(waivers_release) = { 0 };
	struct signer jane = { 0 };
	struct err err = ERR_INIT;

	run_scene_init(&s);
	signer_init(&s, &jane);
	(void)scene_add(s.l, "waiver",
			"{\"workload\":\"w\",\"subject\":\"x\",\"expires_at_ms\":%lld}",
			(long long)NOW + 9);
	(void)person(&s, &jane, "waiver", "{\"workload\":\"w\",\"subject\":\"x\"}");
	(void)person(&s, &jane, "waiver",
		     "{\"workload\":\"other\",\"subject\":\"x\",\"expires_at_ms\":9999999999999}");
	CHECK_OK(waivers_read(s.l, "w", 0, &l, &err), err);
	CHECK_INT(l.n, 2);
	CHECK_INT(waiver_state(&l.v[0], NOW), WAIVER_NOT_SIGNED);
	CHECK_INT(waiver_state(&l.v[1], NOW), WAIVER_EXPIRED);
	CHECK(!waivers_for(&l, "x", NOW));
	waivers_keep(&l, NULL, NOW);
	CHECK_INT(l.n, 0);
	ssh_key_release(&jane.key);
}

static void only_what_the_contract_has_can_be_waived(void)
{
	static const struct {
		const char *subject, *limit, *want;
	} cases[] = {
		{ "speed", ">= 8 tokens/s", "" },
		{ "speed", NULL, "waived to which limit?" },
		{ "speed", ">= 10 tokens/s", "no looser" },
		{ "speed", ">= 12 tokens/s", "no looser" },
		{ "speed", "<= 8 tokens/s", "begins with '>='" },
		{ "speed", ">= 8 ms",
		  ""
		  "expected" },
		{ "spead", NULL, "no check, objective or pin 'spead'" },
		{ "pin/none", NULL, "no check, objective or pin" },
	};
	struct contract c CLEANUP(contract_release) = { 0 };

	run_scene_parse(&c, run_scene_contract);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		int rc = waiver_valid(&c, cases[i].subject, cases[i].limit, &err);

		CHECK_INT(rc == 0, !*cases[i].want);
		CHECK_HAS(err.msg, cases[i].want);
	}
}

/* A lowered limit: the same numbers, another verdict, and a note that says why. */
static enum verdict_kind decided(struct judge *j, struct verdict *v)
{
	for (int i = 0; i < 6; i++) {
		struct rep r = { .state = REP_OK, .index = i };

		(void)measurements_add(&r.measured, "speed", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER,
				       9.0 + 0.01 * (i % 3));
		*VEC_ADD(&j->cand) = r;
	}
	j->ended = true;
	judge_decide(j, v);
	return v->kind;
}

static void a_lowered_limit_decides_and_is_told(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct judge strict CLEANUP(judge_release) = { .contract = &c },
			    loose CLEANUP(judge_release) = { .contract = &c };
	struct verdict a CLEANUP(verdict_release) = { 0 }, b CLEANUP(verdict_release) = { 0 };
	struct waiver *w;

	run_scene_parse(&c, run_scene_contract);
	CHECK_INT(decided(&strict, &a), VERDICT_REJECTED);
	w = VEC_ADD(&loose.waivers);
	*w = (struct waiver){ .subject = xstrdup("speed"),
			      .limit = xstrdup(">= 8 tokens/s"),
			      .reason = xstrdup("a slow fan"),
			      .owner = xstrdup("lab"),
			      .who = xstrdup("jane"),
			      .until_ms = NOW,
			      .standing = LEDGER_IN_FORCE };
	CHECK_INT(decided(&loose, &b), VERDICT_ACCEPTED_NOTE);
	CHECK_HAS(b.notes.v[0].text, "limit of speed: >= 8 tokens/s instead of >= 10 tokens/s");
	CHECK_HAS(b.notes.v[0].text, "by jane (owner lab): a slow fan");
}

static void a_waived_check_is_a_note(void)
{
	struct contract c CLEANUP(contract_release) = { 0 };
	struct judge j CLEANUP(judge_release) = { .contract = &c };
	struct verdict v CLEANUP(verdict_release) = { 0 };
	struct outcome *o = VEC_ADD(&j.outcomes);
	struct waiver *w = VEC_ADD(&j.waivers);

	run_scene_parse(&c, run_scene_contract);
	*o = (struct outcome){ .check = xstrdup("hardware/gpus"),
			       .layer = LAYER_HARDWARE,
			       .required = true,
			       .result = RESULT_FAIL,
			       .reason = xstrdup("7 of 8") };
	*w = (struct waiver){ .subject = xstrdup("hardware/gpus"),
			      .limit = xstrdup(">= 8 tokens/s"),
			      .reason = xstrdup("broken"),
			      .owner = xstrdup("lab"),
			      .who = xstrdup("jane"),
			      .until_ms = NOW };
	for (int i = 0; i < 6; i++) {
		struct rep r = { .state = REP_OK, .index = i };

		(void)measurements_add(&r.measured, "speed", UNIT_TOKENS_PER_S, HIGHER_IS_BETTER,
				       20.0 + 0.01 * (i % 3));
		*VEC_ADD(&j.cand) = r;
	}
	j.ended = true;
	judge_decide(&j, &v);
	CHECK_INT(v.kind, VERDICT_ACCEPTED_NOTE);
	CHECK_STR(v.notes.v[0].code, "check_not_passed");
	CHECK_HAS(v.notes.v[0].text, "7 of 8; waived until");
}

static void what_rests_on_a_waiver_ends_with_it(void)
{
	struct run_scene s CLEANUP(run_scene_release) = { 0 };
	struct acceptances l CLEANUP(acceptances_release) = { 0 };
	struct signer jane = { 0 };
	struct ledger_ref w, run, verdict;
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;

	run_scene_init(&s);
	signer_init(&s, &jane);
	w = waive(&s, &jane, "speed", ">= 8 tokens/s", NOW + 5000);
	run = run_begin(&s, "x", "");
	verdict = scene_add(s.l, "verdict",
			    "{\"run\":\"x\",\"workload\":\"w\",\"intent\":{\"digest\":\"%s\"},"
			    "\"waivers\":[{\"digest\":\"%s\"}]}",
			    run.hex, w.hex);
	text = xasprintf("{\"workload\":\"w\",\"run\":\"x\",\"verdict\":{\"digest\":\"%s\"},"
			 "\"intent\":{\"digest\":\"%s\"},\"expires_at_ms\":0}",
			 verdict.hex, run.hex);
	(void)person(&s, &jane, "signoff", text);
	CHECK_OK(acceptances_read(s.l, "w", &l, &err), err);
	CHECK_INT(l.n, 1);
	CHECK_INT(l.v[0].expires_ms, NOW + 5000);
	CHECK_HAS(l.v[0].lapse, "the waiver of speed ends");
	CHECK(acceptance_current(&l, NOW + 4999) != NULL);
	CHECK(acceptance_current(&l, NOW + 5000) == NULL);
	ssh_key_release(&jane.key);
}

TEST_MAIN(TEST(a_waiver_counts_until_its_end_or_until_it_is_taken_back),
	  TEST(unsigned_endless_and_foreign_ones_never_count),
	  TEST(only_what_the_contract_has_can_be_waived), TEST(a_lowered_limit_decides_and_is_told),
	  TEST(a_waived_check_is_a_note), TEST(what_rests_on_a_waiver_ends_with_it))
