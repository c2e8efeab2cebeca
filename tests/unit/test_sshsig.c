/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include "ledger/sshwire.h"
#include "shared_vectors.h"

#define BYTES "{\"a\":1}"

static const char *in_dir(const char *name)
{
	static char path[16][300];
	static unsigned at;
	char *to = path[at++ % 16];

	snprintf(to, 300, "%s/%s", test_dir(), name);
	return to;
}

static void run_tool(const char *const *argv, const char *in)
{
	struct proc_spec spec = { .argv = argv, .in = in };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };
	struct err err = ERR_INIT;

	if (proc_run(&spec, &done, &err) < 0)
		test_skip("no ssh-keygen: %s", err.msg);
	if (!proc_ok(&done))
		test_fails(__FILE__, __LINE__, "%s %s: %s%s", argv[0], argv[2], str_text(&done.out),
			   str_text(&done.err));
}

static void make_key(const char *type, const char *bits, const char *path)
{
	const char *const argv[] = { "ssh-keygen", "-q", "-t", type, "-b",
				     bits,         "-N", "",   "-C", "jane@example.org",
				     "-f",         path, NULL };

	run_tool(argv, NULL);
}

/* ssh-keygen's own check of what we made or passed on. */
static void check_by_tool(const char *key_line, const char *armored)
{
	AUTO_FREE char *allowed =
		xasprintf("jane@example.org namespaces=\"signoff@twice\" %s\n", key_line);
	const char *const argv[] = { "ssh-keygen",      "-Y", "verify",           "-f",
				     in_dir("allowed"), "-I", "jane@example.org", "-n",
				     "signoff@twice",   "-s", in_dir("sig"),      NULL };
	struct err err = ERR_INIT;

	CHECK_OK(file_write(in_dir("allowed"), allowed, strlen(allowed), 0600, &err), err);
	CHECK_OK(file_write(in_dir("sig"), armored, strlen(armored), 0600, &err), err);
	run_tool(argv, BYTES);
}

static void signs_and_checks(const char *type, const char *bits)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 }, who CLEANUP(ssh_key_release) = { 0 };
	AUTO_FREE char *sig = NULL;
	struct err err = ERR_INIT;

	make_key(type, bits, in_dir("id"));
	CHECK_OK(ssh_key_read(in_dir("id"), &key, &err), err);
	CHECK_OK(ssh_sign(in_dir("id"), LEDGER_NAMESPACE, BYTES, strlen(BYTES), &sig, &err), err);
	CHECK_OK(ssh_verify(sv_of(sig), LEDGER_NAMESPACE, BYTES, strlen(BYTES), &who, &err), err);
	CHECK_STR(who.fingerprint, key.fingerprint);
	CHECK_STR(who.line, key.line);
	check_by_tool(key.line, sig);
	ssh_key_release(&who);
	CHECK_INT(ssh_verify(sv_of(sig), LEDGER_NAMESPACE, "{\"a\":2}", strlen(BYTES), &who, &err),
		  -ERR_BROKEN);
	CHECK_INT(ssh_verify(sv_of(sig), "file", BYTES, strlen(BYTES), &who, &err), -ERR_BROKEN);
}

static void ed25519_goes_both_ways_with_ssh_keygen(void)
{
	signs_and_checks("ed25519", "256");
}

static void ecdsa_goes_both_ways_with_ssh_keygen(void)
{
	signs_and_checks("ecdsa", "256");
}

static void ecdsa_384_goes_both_ways_with_ssh_keygen(void)
{
	signs_and_checks("ecdsa", "384");
}

static void ecdsa_521_goes_both_ways_with_ssh_keygen(void)
{
	signs_and_checks("ecdsa", "521");
}

static void rsa_goes_both_ways_with_ssh_keygen(void)
{
	signs_and_checks("rsa", "3072");
}

static void short_rsa_keys_are_refused(void)
{
	struct ssh_key key = { 0 };
	struct err err = ERR_INIT;

	make_key("rsa", "2048", in_dir("id"));
	CHECK_INT(ssh_key_read(in_dir("id"), &key, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, "2048 bits");
}

/* A made-up authenticator: a key of an sk type that we hold the private half of. */
static void an_authenticator_s_signature_needs_its_touch(void)
{
	struct ed25519 key;
	struct str blob = { 0 }, inner = { 0 }, sig = { 0 }, m = { 0 };
	uint8_t seed[ED25519_LEN] = { 7 }, d[SHA256_LEN], raw[ED25519_SIG];

	ed25519_from_seed(seed, &key);
	ssh_put(&blob, SV("sk-ssh-ed25519@openssh.com"));
	ssh_put(&blob, (struct sv){ (char *)key.public, ED25519_LEN });
	ssh_put(&blob, SV("ssh:"));
	for (int touched = 0; touched < 2; touched++) {
		char flags[5] = { (char)touched, 0, 0, 0, 9 };

		str_clear(&m);
		str_clear(&sig);
		sha256("ssh:", 4, d);
		str_addn(&m, d, sizeof(d));
		str_addn(&m, flags, sizeof(flags));
		sha256(BYTES, strlen(BYTES), d);
		str_addn(&m, d, sizeof(d));
		ed25519_sign(&key, m.p, m.n, raw);
		ssh_put(&sig, SV("sk-ssh-ed25519@openssh.com"));
		ssh_put(&sig, (struct sv){ (char *)raw, sizeof(raw) });
		str_addn(&sig, flags, sizeof(flags));
		CHECK(ssh_check(sv_str(&blob), sv_str(&sig), sv_of(BYTES)) == (touched == 1));
	}
	str_release(&inner);
	sig.p[sig.n - 1] ^= 1; /* another counter */
	CHECK(!ssh_check(sv_str(&blob), sv_str(&sig), sv_of(BYTES)));
	str_release(&blob);
	str_release(&sig);
	str_release(&m);
}

static void no_byte_of_a_signature_can_change(void)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str blob CLEANUP(str_release) = { 0 };
	AUTO_FREE char *sig = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(in_dir("id"), "jane", &key, &err), err);
	CHECK_OK(ssh_sign(in_dir("id"), LEDGER_NAMESPACE, BYTES, strlen(BYTES), &sig, &err), err);
	CHECK(ssh_unarmor("SSH SIGNATURE", sv_of(sig), &blob));
	for (size_t i = 0; i < blob.n; i++) {
		struct str bad CLEANUP(str_release) = { 0 };
		struct ssh_key who CLEANUP(ssh_key_release) = { 0 };

		blob.p[i] ^= 4;
		ssh_armor("SSH SIGNATURE", sv_str(&blob), &bad);
		blob.p[i] ^= 4;
		if (ssh_verify(sv_str(&bad), LEDGER_NAMESPACE, BYTES, strlen(BYTES), &who, &err) ==
		    0)
			test_fails(__FILE__, __LINE__, "byte %zu does not matter", i);
	}
}

static void the_stored_form_is_one_only(void)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct str a CLEANUP(str_release) = { 0 }, b CLEANUP(str_release) = { 0 },
		     wide CLEANUP(str_release) = { 0 };
	AUTO_FREE char *sig = NULL;
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(in_dir("id"), "jane", &key, &err), err);
	CHECK_OK(ssh_sign(in_dir("id"), LEDGER_NAMESPACE, BYTES, strlen(BYTES), &sig, &err), err);
	CHECK(ssh_sig_normal(sv_of(sig), &a));
	str_addf(&wide, "\n%s\n\n", sig);
	CHECK(ssh_sig_normal(sv_str(&wide), &b));
	CHECK_STR(str_text(&a), str_text(&b));
	CHECK(!ssh_sig_normal(SV("-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"),
			      &b));
}

static void lines_that_are_no_keys_are_refused(void)
{
	static const char *const bad[] = {
		"", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-dss AAAAB3NzaC1kc3MAAAAA",
		"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOszfgmjFD9t3vPRCxkmYgXUosWpzfKJOpiMvkIA7X8a"
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ssh_key k = { 0 };
		struct err err = ERR_INIT;

		CHECK_INT(ssh_key_parse(sv_of(bad[i]), &k, &err), -ERR_PARSE);
	}
}

static void vectors_of_signatures(void)
{
	json_t *doc = shared_vectors("ledger_sshsig.json"), *c;
	size_t i;

	json_array_foreach(json_object_get(doc, "cases"), i, c)
	{
		struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
		struct ssh_key who CLEANUP(ssh_key_release) = { 0 };
		struct err err = ERR_INIT;
		size_t n;
		uint8_t *m = vector_hex(c, "message_hex", &n);
		bool good;

		CHECK_OK(ssh_key_parse(sv_of(vector_str(c, "key")), &key, &err), err);
		good = ssh_verify(sv_of(vector_str(c, "signature")), vector_str(c, "namespace"), m,
				  n, &who, &err) == 0 &&
		       streq(who.fingerprint, key.fingerprint);
		if (good != json_is_true(json_object_get(c, "valid")))
			test_fails(__FILE__, __LINE__, "case %zu: %s", i, err.msg);
	}
	CHECK(i > 0);
}

TEST_MAIN(TEST(ed25519_goes_both_ways_with_ssh_keygen), TEST(ecdsa_goes_both_ways_with_ssh_keygen),
	  TEST(ecdsa_384_goes_both_ways_with_ssh_keygen),
	  TEST(ecdsa_521_goes_both_ways_with_ssh_keygen), TEST(rsa_goes_both_ways_with_ssh_keygen),
	  TEST(short_rsa_keys_are_refused), TEST(an_authenticator_s_signature_needs_its_touch),
	  TEST(no_byte_of_a_signature_can_change), TEST(the_stored_form_is_one_only),
	  TEST(lines_that_are_no_keys_are_refused), TEST(vectors_of_signatures))
