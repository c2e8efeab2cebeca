/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"

#include "base/clock.h"
#include "base/proc.h"

#define APPROVER "approver"

struct person {
	char *holder, *path;
	struct ssh_key key;
};

static struct person person(const char *name)
{
	struct person p = { .holder = xasprintf("%s@example.org", name),
			    .path = xstrdup(scene_path(name)) };
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(p.path, p.holder, &p.key, &err), err);
	return p;
}

static void person_release(struct person *p)
{
	free(p->holder);
	free(p->path);
	ssh_key_release(&p->key);
}

static char *sign(const struct person *p, const char *bytes, size_t n)
{
	struct err err = ERR_INIT;
	char *sig = NULL;

	CHECK_OK(ssh_sign(p->path, LEDGER_NAMESPACE, bytes, n, &sig, &err), err);
	return sig;
}

/* An entry by `writer` with the signature of `signer`; the code of appending it. */
static int signed_entry(struct ledger *l, const char *kind, const json_t *body, const char *writer,
			int64_t at_ms, const struct person *signer, struct ledger_ref *ret)
{
	struct ledger_new n = {
		.kind = kind, .body = body, .by_id = writer, .role = "human", .at_ms = at_ms
	};
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *sig = NULL;

	CHECK_OK(ledger_draft_make(l, &n, &d, &err), err);
	sig = sign(signer, d.bytes, d.n);
	return ledger_draft_append(l, &d, sig, ret, &err);
}

static int add_key(struct ledger *l, const struct person *p, const char *role, int64_t to_ms,
		   const struct person *signer)
{
	const char *const roles[] = { role, "admin", NULL };
	AUTO_JSON json_t *body = ledger_key_body(&p->key, p->holder, roles, SCENE_START, to_ms);
	struct ledger_ref ref;

	return signed_entry(l, "key.add", body, signer->holder, SCENE_START + 10, signer, &ref);
}

static enum ledger_standing standing(struct ledger *l, uint64_t seq, char **ret_why)
{
	enum ledger_standing s = LEDGER_NO_POLICY;
	struct str why CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ledger_standing(l, seq, &s, NULL, &why, &err), err);
	if (ret_why)
		*ret_why = str_steal(&why);
	return s;
}

static struct ledger_ref signoff(struct ledger *l, const char *writer, int64_t at_ms,
				 const struct person *signer)
{
	AUTO_JSON json_t *body = scene_json("{\"note\":\"fine\"}");
	struct ledger_ref ref = { 0 };

	CHECK_INT(signed_entry(l, "signoff", body, writer, at_ms, signer, &ref), 0);
	return ref;
}

static void the_first_key_vouches_for_itself_and_no_second_one_does(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct ledger_ref ref;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &max), -ERR_UNSUPPORTED);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	ref = signoff(l, max.holder, SCENE_START + 20, &max);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_IN_FORCE);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void an_entry_without_a_signature_is_not_in_force(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_ref ref = scene_add(l, "signoff", "{}");

	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_NOT_SIGNED);
	CHECK_INT(standing(l, 0, NULL), LEDGER_NO_POLICY);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@1");
}

static void two_keys_of_one_person_are_one_person(void)
{
	AUTO_JSON json_t *policy =
		scene_json("{\"signoff\":{\"holders\":2,\"role\":\"approver\"},\"key_add\":{}}");
	struct ledger *l = scene_open_as(scene_path("l"), LEDGER_CREATE, policy);
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct person second CLEANUP(person_release) = person("second");
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	AUTO_FREE char *a = NULL, *b = NULL;

	free(second.holder);
	second.holder = xstrdup(jane.holder);
	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &second, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	ref = signoff(l, jane.holder, SCENE_START + 20, &jane);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_PENDING);
	CHECK_OK(ledger_get(l, ref.seq, &e, &err), err);
	a = sign(&second, e.bytes, e.n);
	CHECK_OK(ledger_sign(l, ref.seq, a, &err), err);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_PENDING);
	/* Pending is no damage. */
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@4");
	CHECK_STR(scene_verify_conf(&(struct ledger_verify_conf){ .path = scene_path("l") },
				    LEDGER_BROKEN),
		  "");
	b = sign(&max, e.bytes, e.n);
	CHECK_OK(ledger_sign(l, ref.seq, b, &err), err);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_IN_FORCE);
	CHECK_INT(ledger_sign(l, ref.seq, b, &err), -ERR_CONFLICT);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void nobody_approves_their_own_where_that_is_forbidden(void)
{
	AUTO_JSON json_t *policy =
		scene_json("{\"signoff\":{\"self_approval\":false},\"key_add\":{}}");
	struct ledger *l = scene_open_as(scene_path("l"), LEDGER_CREATE, policy);
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct ledger_ref verdict, ref;
	AUTO_JSON json_t *body = NULL;
	AUTO_FREE char *text = NULL, *why = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	verdict = scene_add(l, "verdict", "{\"run_by\":\"jane@example.org\"}");
	text = xasprintf("{\"verdict\":{\"digest\":\"%s\"}}", verdict.hex);
	body = scene_json(text);
	CHECK_INT(signed_entry(l, "signoff", body, jane.holder, SCENE_START + 9000, &jane, &ref),
		  0);
	CHECK_INT(standing(l, ref.seq, &why), LEDGER_NOT_SIGNED);
	CHECK_HAS(why, "jane@example.org may not approve");
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 9000, &max, &ref), 0);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_IN_FORCE);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@4");
}

static void a_role_that_is_missing_does_not_count(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   bob CLEANUP(person_release) = person("bob");
	struct ledger_ref ref;
	AUTO_FREE char *why = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &bob, "reader", 0, &jane), 0);
	ref = signoff(l, bob.holder, SCENE_START + 20, &bob);
	CHECK_INT(standing(l, ref.seq, &why), LEDGER_NOT_SIGNED);
	CHECK_HAS(why, "has not the role approver");
	ledger_close(l);
}

static void revoked_and_expired_keys_sign_nothing_after_that(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_ref ref, before;
	struct err err = ERR_INIT;
	AUTO_JSON json_t *revoke = json_object(), *body = json_object();
	AUTO_FREE char *late = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, SCENE_START + 1000, &jane), 0);
	before = signoff(l, max.holder, SCENE_START + 20, &max);
	/* Expired: at the time of the entry. */
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 1000, &max, &ref),
		  -ERR_UNSUPPORTED);
	json_put_str(revoke, "fingerprint", max.key.fingerprint);
	CHECK_INT(signed_entry(l, "key.revoke", revoke, jane.holder, SCENE_START + 30, &jane, &ref),
		  0);
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 40, &max, &ref),
		  -ERR_UNSUPPORTED);
	/* What it signed before stays signed, and another signature on that is as good. */
	CHECK_INT(standing(l, before.seq, NULL), LEDGER_IN_FORCE);
	CHECK_OK(ledger_get(l, 1, &e, &err), err);
	late = sign(&max, e.bytes, e.n);
	CHECK_INT(ledger_sign(l, 1, late, &err), -ERR_UNSUPPORTED);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void a_signature_moved_to_another_entry_is_found(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane");

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	signoff(l, jane.holder, SCENE_START + 20, &jane);
	signoff(l, jane.holder, SCENE_START + 30, &jane);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
	scene_sql(scene_path("l"),
		  "UPDATE signature SET sig = (SELECT sig FROM signature WHERE leaf ="
		  " (SELECT leaf FROM entry WHERE seq = 2))"
		  " WHERE leaf = (SELECT leaf FROM entry WHERE seq = 3)");
	CHECK_STR(scene_verify(scene_path("l")), "BAD_SIGNATURE@3");
	scene_sql(scene_path("l"),
		  "DELETE FROM signature WHERE leaf = (SELECT leaf FROM entry WHERE seq = 3)");
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@3");
}

static void a_key_added_without_leave_makes_nothing_valid(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   eve CLEANUP(person_release) = person("eve");
	const char *const roles[] = { APPROVER, NULL };
	AUTO_JSON json_t *body = ledger_key_body(&eve.key, eve.holder, roles, SCENE_START, 0);
	AUTO_FREE char *text = json_dumps(body, JSON_COMPACT);
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ledger_ref ref;
	AUTO_JSON json_t *empty = json_object();
	struct err err = ERR_INIT;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	scene_add(l, "key.add", "%s", text); /* by the machine, unsigned */
	CHECK_OK(ledger_keys_read(l, &keys, &err), err);
	CHECK_INT(keys.n, 1);
	CHECK_INT(signed_entry(l, "signoff", empty, eve.holder, SCENE_START + 9000, &eve, &ref),
		  -ERR_UNSUPPORTED);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@2");
}

static void ssh_keygen_checks_what_the_ledger_kept(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane");
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ledger_signatures sigs CLEANUP(ledger_signatures_release) = { 0 };
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	const char *const argv[] = { "ssh-keygen",          "-Y", "verify",           "-f",
				     scene_path("allowed"), "-I", "jane@example.org", "-n",
				     "signoff@twice",       "-s", scene_path("sig"),  NULL };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct proc_spec spec = { .argv = argv };
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	AUTO_FREE char *allowed = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	ref = signoff(l, jane.holder, SCENE_START + 20, &jane);
	CHECK_OK(ledger_get(l, ref.seq, &e, &err), err);
	CHECK_OK(ledger_keys_read(l, &keys, &err), err);
	CHECK_OK(ledger_signatures_of(l, ref.leaf, &sigs, &err), err);
	allowed = ledger_allowed_signers(&keys);
	CHECK_HAS(allowed, "jane@example.org namespaces=\"signoff@twice\" ssh-ed25519 ");
	CHECK_OK(file_write(scene_path("allowed"), allowed, strlen(allowed), 0600, &err), err);
	CHECK_INT(sigs.n, 1);
	CHECK_OK(file_write(scene_path("sig"), sigs.v[0].sig, sigs.v[0].n, 0600, &err), err);
	ledger_close(l);
	spec.in = e.bytes;
	if (proc_run(&spec, &done, &err) < 0)
		test_skip("no ssh-keygen: %s", err.msg);
	CHECK(proc_ok(&done));
	CHECK_HAS(str_text(&done.out), "Good \"signoff@twice\" signature for jane@example.org");
}

static int end_key(struct ledger *l, const struct person *gone, int64_t to_ms,
		   const struct person *signer, int64_t at_ms)
{
	AUTO_JSON json_t *body = json_object();
	AUTO_FREE char *to = to_ms ? time_utc(to_ms) : NULL;
	struct ledger_ref ref;

	json_put_str(body, "fingerprint", gone->key.fingerprint);
	json_put_str(body, "valid_to", to);
	return signed_entry(l, "key.revoke", body, signer->holder, at_ms, signer, &ref);
}

static void a_key_that_was_replaced_ends_when_it_was_told_to(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	AUTO_JSON json_t *body = json_object();
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	char *holder = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	CHECK_INT(end_key(l, &max, SCENE_START + 500, &jane, SCENE_START + 20), 0);
	/* A later end does not bring it back, an end that can't be read is none in the future. */
	CHECK_INT(end_key(l, &max, SCENE_START + 90000, &jane, SCENE_START + 30), 0);
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 499, &max, &ref), 0);
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 500, &max, &ref),
		  -ERR_UNSUPPORTED);
	CHECK_OK(ledger_may_sign(l, "signoff", max.key.fingerprint, SCENE_START + 499, &holder,
				 &err),
		 err);
	CHECK_STR(holder, max.holder);
	free(holder);
	/* Nor does an end in the past undo what was signed before it was told. */
	CHECK_INT(end_key(l, &max, SCENE_START + 100, &jane, SCENE_START + 499), 0);
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_IN_FORCE);
	CHECK_INT(ledger_may_sign(l, "signoff", max.key.fingerprint, SCENE_START + 500, NULL, &err),
		  -ERR_UNSUPPORTED);
	CHECK_HAS(err.msg, "is not valid now");
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

/* Nothing says when a signature was put beside an entry: a stolen key must not reach back. */
static void a_revoked_key_signs_nothing_older_either(void)
{
	AUTO_JSON json_t *policy = scene_json("{\"signoff\":{\"holders\":2},\"key_add\":{}}");
	struct ledger *l = scene_open_as(scene_path("l"), LEDGER_CREATE, policy);
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct ledger_ref ref;
	struct err err = ERR_INIT;
	AUTO_FREE char *sig = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	ref = signoff(l, jane.holder, SCENE_START + 20, &jane);
	CHECK_INT(end_key(l, &max, 0, &jane, SCENE_START + 30), 0);
	CHECK_OK(ledger_get(l, ref.seq, &e, &err), err);
	sig = sign(&max, e.bytes, e.n);
	CHECK_INT(ledger_sign(l, ref.seq, sig, &err), -ERR_UNSUPPORTED);
	CHECK_HAS(err.msg, "is revoked");
	CHECK_INT(standing(l, ref.seq, NULL), LEDGER_PENDING);
	err = ERR_INIT;
	CHECK_INT(ledger_may_sign(l, "signoff", max.key.fingerprint, SCENE_START + 40, NULL, &err),
		  -ERR_UNSUPPORTED);
	CHECK_HAS(err.msg, "was revoked by entry 4");
	/* Added again, it counts for what comes then. */
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	CHECK_OK(ledger_may_sign(l, "signoff", max.key.fingerprint, SCENE_START + 50, NULL, &err),
		 err);
	ledger_close(l);
}

static void what_has_to_end_has_to_end_soon_enough(void)
{
	static const struct {
		const char *body;
		enum ledger_standing want;
	} cases[] = {
		{ "{}", LEDGER_NOT_SIGNED },
		{ "{\"expires_at_ms\":0}", LEDGER_NOT_SIGNED },
		{ "{\"expires_at_ms\":9999999999999}", LEDGER_NOT_SIGNED },
		{ NULL, LEDGER_IN_FORCE },
	};
	AUTO_JSON json_t *policy = scene_json("{\"waiver\":{\"max_days\":2},\"key_add\":{}}");
	struct ledger *l = scene_open_as(scene_path("l"), LEDGER_CREATE, policy);
	struct person jane CLEANUP(person_release) = person("jane");
	AUTO_FREE char *soon =
		xasprintf("{\"expires_at_ms\":%lld}", (long long)SCENE_START + 20 + 2 * 86400000LL);
	struct ledger_ref ref;

	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *body = scene_json(cases[i].body ? cases[i].body : soon);
		AUTO_FREE char *why = NULL;

		CHECK_INT(
			signed_entry(l, "waiver", body, jane.holder, SCENE_START + 20, &jane, &ref),
			0);
		CHECK_INT(standing(l, ref.seq, &why), cases[i].want);
		if (cases[i].want == LEDGER_NOT_SIGNED)
			CHECK_STR(why, "it has to end within 2 days");
	}
	ledger_close(l);
	CHECK_STR(scene_verify_conf(
			  &(struct ledger_verify_conf){ .path = scene_path("l"), .all = true },
			  LEDGER_MISSING),
		  "POLICY@2 POLICY@3 POLICY@4");
}

static void where_nobody_knows_who_ran_it_nobody_approves(void)
{
	AUTO_JSON json_t *policy =
		scene_json("{\"signoff\":{\"self_approval\":false},\"key_add\":{\"self_approval\":"
			   "false}}");
	struct ledger *l = scene_open_as(scene_path("l"), LEDGER_CREATE, policy);
	struct person jane CLEANUP(person_release) = person("jane"),
			   max CLEANUP(person_release) = person("max");
	struct ledger_ref verdict, ref;
	AUTO_JSON json_t *body = NULL;
	AUTO_FREE char *text = NULL, *why = NULL;

	/* The first key adds itself under any policy; no other one does. */
	CHECK_INT(add_key(l, &jane, APPROVER, 0, &jane), 0);
	CHECK_INT(standing(l, 1, NULL), LEDGER_IN_FORCE);
	CHECK_INT(add_key(l, &max, APPROVER, 0, &jane), 0);
	verdict = scene_add(l, "verdict", "{}");
	/* What the signer says about it counts for nothing. */
	text = xasprintf("{\"run_by\":\"eve@example.org\",\"verdict\":{\"digest\":\"%s\"}}",
			 verdict.hex);
	body = scene_json(text);
	CHECK_INT(signed_entry(l, "signoff", body, max.holder, SCENE_START + 9000, &max, &ref), 0);
	CHECK_INT(standing(l, ref.seq, &why), LEDGER_NOT_SIGNED);
	CHECK_HAS(why, "counts only when it is known who ran it");
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "POLICY@4");
}

static void a_policy_that_makes_no_sense_is_refused(void)
{
	static const char *const bad[] = { "[]", "{\"signof\":{}}", "{\"signoff\":{\"holders\":0}}",
					   "{\"signoff\":1}" };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_JSON json_t *p = json_loads(bad[i], 0, NULL);

		CHECK_INT(policy_check(p, &err), -ERR_PARSE);
	}
	{
		AUTO_JSON json_t *p = ledger_default_policy();

		CHECK_OK(policy_check(p, &err), err);
	}
}

/* Whoever can write must not become the first key again when the last one has lapsed. */
static void when_all_keys_have_lapsed_no_new_one_vouches_for_itself(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct person jane CLEANUP(person_release) = person("jane"),
			   eve CLEANUP(person_release) = person("eve");
	struct ledger_ref ref;
	AUTO_JSON json_t *body = NULL;

	CHECK_INT(add_key(l, &jane, APPROVER, SCENE_START + 1000, &jane), 0);
	body = ledger_key_body(&eve.key, eve.holder, (const char *[]){ "admin", "approver", NULL },
			       SCENE_START, 0);
	CHECK_INT(signed_entry(l, "key.add", body, eve.holder, SCENE_START + 2000, &eve, &ref),
		  -ERR_UNSUPPORTED);
	ledger_close(l);
}

TEST_MAIN(TEST(the_first_key_vouches_for_itself_and_no_second_one_does),
	  TEST(an_entry_without_a_signature_is_not_in_force),
	  TEST(two_keys_of_one_person_are_one_person),
	  TEST(nobody_approves_their_own_where_that_is_forbidden),
	  TEST(a_role_that_is_missing_does_not_count),
	  TEST(revoked_and_expired_keys_sign_nothing_after_that),
	  TEST(when_all_keys_have_lapsed_no_new_one_vouches_for_itself),
	  TEST(a_signature_moved_to_another_entry_is_found),
	  TEST(a_key_added_without_leave_makes_nothing_valid),
	  TEST(ssh_keygen_checks_what_the_ledger_kept),
	  TEST(a_key_that_was_replaced_ends_when_it_was_told_to),
	  TEST(a_revoked_key_signs_nothing_older_either),
	  TEST(what_has_to_end_has_to_end_soon_enough),
	  TEST(where_nobody_knows_who_ran_it_nobody_approves),
	  TEST(a_policy_that_makes_no_sense_is_refused))
