/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_scene.h"

#include "base/proc.h"

static struct proc_done tool(const char *const *argv, const char *in, const char *const *env)
{
	struct proc_spec spec = { .argv = argv, .in = in, .env = env };
	struct proc_done done = { 0 };
	struct err err = ERR_INIT;

	if (proc_run(&spec, &done, &err) < 0)
		test_skip("no %s: %s", argv[0], err.msg);
	return done;
}

static void a_key_we_make_is_one_for_ssh_keygen(void)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 }, again CLEANUP(ssh_key_release) = { 0 };
	const char *const list[] = { "ssh-keygen", "-l", "-f", scene_path("id"), NULL };
	const char *const pub[] = { "ssh-keygen", "-y", "-f", scene_path("id"), NULL };
	struct proc_done d;
	struct err err = ERR_INIT;
	struct stat st;

	CHECK_OK(ssh_key_make(scene_path("id"), "jane@example.org", &key, &err), err);
	CHECK(stat(scene_path("id"), &st) == 0 && (st.st_mode & 0777) == 0600);
	d = tool(list, NULL, NULL);
	CHECK(proc_ok(&d));
	CHECK_HAS(str_text(&d.out), key.fingerprint);
	proc_done_release(&d);
	d = tool(pub, NULL, NULL);
	CHECK_HAS(str_text(&d.out), key.line);
	proc_done_release(&d);
	CHECK_OK(ssh_key_read(scene_path("id.pub"), &again, &err), err);
	CHECK_STR(again.line, key.line);
	CHECK_STR(again.comment, "jane@example.org");
}

static void a_key_that_is_there_is_never_replaced(void)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct err err = ERR_INIT;
	char *text;

	CHECK_OK(file_write(scene_path("id"), "mine", 4, 0600, &err), err);
	CHECK_INT(ssh_key_make(scene_path("id"), "x", &key, &err), -ERR_IO);
	err = ERR_INIT;
	CHECK_OK(file_read(scene_path("id"), 100, &text, NULL, &err), err);
	CHECK_STR(text, "mine");
	free(text);
}

/* What ssh-keygen says comes through when it cannot sign. */
static void a_key_that_asks_for_a_passphrase_fails_with_a_reason(void)
{
	const char *const make[] = { "ssh-keygen", "-q",           "-t", "ed25519",
				     "-N",         "secret words", "-f", scene_path("id"),
				     NULL };
	struct proc_done d = tool(make, NULL, NULL);
	struct err err = ERR_INIT;
	char *sig = NULL;

	CHECK(proc_ok(&d));
	proc_done_release(&d);
	CHECK_INT(setenv("SSH_ASKPASS", "/bin/false", 1), 0);
	CHECK_INT(setenv("SSH_ASKPASS_REQUIRE", "force", 1), 0);
	CHECK_INT(ssh_sign(scene_path("id"), LEDGER_NAMESPACE, "x", 1, &sig, &err),
		  -ERR_UNSUPPORTED);
	CHECK_HAS(err.msg, "ssh-keygen cannot sign");
}

static void an_agent_signs_for_a_public_key(void)
{
	const char *const agent[] = { "ssh-agent", "-D", "-a", scene_path("agent"), NULL };
	const char *const add[] = { "ssh-add", "-q", scene_path("id"), NULL };
	struct proc_spec spec = { .argv = agent };
	struct proc *p = NULL;
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 }, who CLEANUP(ssh_key_release) = { 0 };
	struct proc_done d;
	struct err err = ERR_INIT;
	char *sig = NULL;

	CHECK_OK(ssh_key_make(scene_path("id"), "jane", &key, &err), err);
	if (proc_start(&spec, &p, &err) < 0)
		test_skip("no ssh-agent: %s", err.msg);
	for (int i = 0; i < 500 && !file_exists(scene_path("agent")); i++)
		(void)proc_poll(p, 10 * NS_PER_MS);
	CHECK_INT(setenv("SSH_AUTH_SOCK", scene_path("agent"), 1), 0);
	d = tool(add, NULL, NULL);
	if (!proc_ok(&d))
		test_skip("ssh-add: %s", str_text(&d.err));
	proc_done_release(&d);
	CHECK_INT(unlink(scene_path("id")), 0); /* only the agent has it now */
	CHECK_OK(ssh_sign(scene_path("id.pub"), LEDGER_NAMESPACE, "x", 1, &sig, &err), err);
	CHECK_OK(ssh_verify(sv_of(sig), LEDGER_NAMESPACE, "x", 1, &who, &err), err);
	CHECK_STR(who.fingerprint, key.fingerprint);
	free(sig);
	proc_free(p);
}

static void damaged_key_files_are_refused(void)
{
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct err err = ERR_INIT;
	char *text;
	size_t n;

	CHECK_OK(ssh_key_make(scene_path("id"), "jane", &key, &err), err);
	CHECK_OK(file_read(scene_path("id"), 10000, &text, &n, &err), err);
	CHECK_INT(unlink(scene_path("id.pub")), 0);
	for (size_t cut = 0; cut < n - 40; cut += 13) {
		struct ssh_key k = { 0 };

		CHECK_OK(file_write(scene_path("cut"), text, cut, 0600, &err), err);
		CHECK(ssh_key_read(scene_path("cut"), &k, &err) < 0);
		err = ERR_INIT;
	}
	free(text);
}

TEST_MAIN(TEST(a_key_we_make_is_one_for_ssh_keygen), TEST(a_key_that_is_there_is_never_replaced),
	  TEST(a_key_that_asks_for_a_passphrase_fails_with_a_reason),
	  TEST(an_agent_signs_for_a_public_key), TEST(damaged_key_files_are_refused))
