/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/inner.h"
#include "ledger_scene.h"

#include "base/proc.h"

static struct ledger_ref signed_by(struct ledger *l, const char *kind, json_t *body)
{
	struct ledger_new n = { .kind = kind,
				.body = body,
				.by_id = "jane@example.org",
				.role = "human",
				.at_ms = SCENE_START + 900000 };
	struct ledger_draft d CLEANUP(ledger_draft_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger_ref ref = { 0 };
	AUTO_FREE char *sig = NULL;

	CHECK_OK(ledger_draft_make(l, &n, &d, &err), err);
	CHECK_OK(ssh_sign(scene_path("id"), LEDGER_NAMESPACE, d.bytes, d.n, &sig, &err), err);
	CHECK_OK(ledger_draft_append(l, &d, sig, &ref, &err), err);
	json_decref(body);
	return ref;
}

/* Evidence, a sign-off, evidence withheld; n entries more. */
static void exported(const char *dir, unsigned n)
{
	static const char *const roles[] = { "approver", "admin", NULL };
	struct ledger *l = scene_open(scene_path("l"));
	struct ledger_blob a CLEANUP(ledger_blob_release) = { 0 },
			     b CLEANUP(ledger_blob_release) = { 0 };
	struct ssh_key key CLEANUP(ssh_key_release) = { 0 };
	struct ledger_new who = { .by_id = SCENE_BY,
				  .role = "machine",
				  .at_ms = SCENE_START + 900000 };
	struct str big CLEANUP(str_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(ssh_key_make(scene_path("id"), "jane", &key, &err), err);
	str_pad(&big, 'e', 10000);
	CHECK_OK(ledger_blob_put(l, big.p, big.n, "text/plain", &a, &err), err);
	CHECK_OK(ledger_blob_put(l, "secret", 6, "text/plain", &b, &err), err);
	scene_add(l, "run.result",
		  "{\"a\":{\"bytes\":10000,\"digest\":\"%s\",\"media_type\":\"text/plain\"},"
		  "\"b\":{\"bytes\":6,\"digest\":\"%s\",\"media_type\":\"text/plain\"}}",
		  a.digest, b.digest);
	signed_by(l, "key.add", ledger_key_body(&key, "jane@example.org", roles, SCENE_START, 0));
	signed_by(l, "signoff", scene_json("{\"note\":\"a \\\"quote\\\" and a \\\\ in it\"}"));
	CHECK_OK(ledger_blob_drop(l, b.digest, "withheld", "personal", &who, &err), err);
	for (unsigned i = 0; i < n; i++)
		scene_add_at(l, "cost", SCENE_START + 900001, "{}");
	scene_checkpoint(l);
	CHECK_OK(ledger_export(l, dir, &err), err);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("l")), "");
}

static void an_export_verifies_as_the_ledger_does(void)
{
	struct ledger_report r CLEANUP(ledger_report_release) = { 0 },
			       was CLEANUP(ledger_report_release) = { 0 };
	struct err err = ERR_INIT;

	exported(scene_path("x"), 2);
	CHECK_OK(ledger_verify(&(struct ledger_verify_conf){ .path = scene_path("l") }, &was, &err),
		 err);
	CHECK_OK(ledger_verify(&(struct ledger_verify_conf){ .path = scene_path("x") }, &r, &err),
		 err);
	CHECK_INT(r.size, was.size);
	CHECK(memcmp(r.root, was.root, SHA256_LEN) == 0);
	CHECK_INT(r.signatures, 2);
	CHECK_INT(r.blobs, 1);
	CHECK_INT(r.blobs_withheld, 1);
	CHECK_INT(r.n, was.n);
	CHECK(r.n_anchors == 1 && r.anchors[0].holds);
}

static void an_export_can_be_read_as_a_ledger_and_not_written(void)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	static const char *const kinds[] = { "signoff", NULL };
	enum ledger_standing standing = LEDGER_NO_POLICY;
	struct err err = ERR_INIT;
	struct ledger *x;

	exported(scene_path("x"), 2);
	x = scene_open_as(scene_path("x"), LEDGER_READONLY, NULL);
	CHECK_OK(ledger_last(x, &(struct ledger_filter){ .kinds = kinds }, &e, &err), err);
	CHECK_OK(ledger_standing(x, e.ref.seq, &standing, NULL, NULL, &err), err);
	CHECK_INT(standing, LEDGER_IN_FORCE);
	ledger_close(x);
	CHECK_INT(scene_try_open(scene_path("x"), LEDGER_CREATE, &err), -ERR_BROKEN);
	CHECK(!file_exists(scene_path("x/ledger.key")));
}

/* A block of the manual, as it stands there, that begins like this. */
static char *block_of_the_manual(const char *first)
{
	AUTO_FREE char *path = xasprintf("%s/man/twice-ledger.5.scd", getenv("TWICE_SRC")),
		       *text = NULL, *mark = xasprintf("\n```\n%s", first);
	struct err err = ERR_INIT;
	const char *from, *to;
	char *script;

	CHECK_OK(file_read(path, MIB, &text, NULL, &err), err);
	from = strstr(text, mark);
	CHECK(from != NULL);
	from += strlen("\n```\n");
	to = strstr(from, "\n```");
	CHECK(to != NULL);
	script = xstrndup(from, (size_t)(to - from));
	/* scdoc takes one of two backslashes for itself, also in literal text. */
	for (char *a = script, *b = script;; a++) {
		if (*a == '\\' && a[1])
			a++;
		*b++ = *a;
		if (!*a)
			break;
	}
	return script;
}

/* A machine that has these programs and no others. */
static char *path_with(const char *const *names)
{
	char *dir = path_join(test_dir(), "bin");
	struct err err = ERR_INIT;

	CHECK_OK(dir_make(dir, &err), err);
	for (; *names; names++) {
		AUTO_FREE char *program = path_program(*names, "/usr/bin:/bin"),
			       *link = path_join(dir, *names);

		if (!program)
			test_skip("no %s", *names);
		if (symlink(program, link) < 0)
			CHECK_INT(errno, EEXIST);
	}
	return dir;
}

static struct proc_done block_run(const char *first, const char *const *names, const char *dir)
{
	AUTO_FREE char *script = block_of_the_manual(first), *bin = path_with(names),
		       *path = xasprintf("PATH=%s", bin), *tmp = NULL;
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const char *env[] = { path, NULL, NULL };
	struct proc_spec spec = { .argv = argv, .cwd = dir, .env = env, .env_clear = true };
	struct proc_done done = { 0 };
	struct err err = ERR_INIT;

	env[1] = tmp = xasprintf("TMPDIR=%s", test_dir());
	CHECK_OK(proc_run(&spec, &done, &err), err);
	return done;
}

static struct proc_done loop_of_the_manual(const char *dir)
{
	static const char *const names[] = {
		"sha256sum", "tr", "base64", "awk", "ssh-keygen", NULL
	};

	return block_run("octal=", names, dir);
}

static void the_loop_of_the_manual_checks_it(void)
{
	struct proc_done d;
	struct ledger *l;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct err err = ERR_INIT;
	AUTO_FREE char *head = NULL;

	exported(scene_path("x"), 1);
	l = scene_open(scene_path("l"));
	CHECK_OK(ledger_last(l, &(struct ledger_filter){ 0 }, &e, &err), err);
	ledger_close(l);
	head = xasprintf("head %s", e.ref.hex);
	d = loop_of_the_manual(scene_path("x"));
	if (!proc_ok(&d))
		test_fails(__FILE__, __LINE__, "%s%s", str_text(&d.out), str_text(&d.err));
	CHECK_STR(str_text(&d.err), "");
	CHECK_HAS(str_text(&d.out), head);
	CHECK_HAS(str_text(&d.out), "Good \"signoff@twice\" signature for jane@example.org");
	CHECK_HAS(str_text(&d.out), "checkpoint of 6, 2 signatures: as they were written");
	CHECK_HAS(str_text(&d.out), "is not here (entry 1)"); /* it was withheld */
	proc_done_release(&d);
}

/* Turns one byte of a file; the loop has to say `want`. */
static void one_byte(const char *file, const char *at, char to, const char *want)
{
	const char *path = scene_path(file);
	AUTO_FREE char *text = NULL;
	struct proc_done d;
	struct err err = ERR_INIT;
	char *p, was;
	size_t n;

	CHECK_OK(file_read(path, MIB, &text, &n, &err), err);
	p = memmem(text, n, at, strlen(at));
	CHECK(p != NULL);
	was = *p;
	*p = to;
	CHECK_OK(file_write(path, text, n, 0644, &err), err);
	d = loop_of_the_manual(scene_path("x"));
	if (proc_ok(&d))
		test_fails(__FILE__, __LINE__, "%s changed unseen:\n%s", file, str_text(&d.out));
	CHECK_HAS(str_text(&d.out), want);
	proc_done_release(&d);
	*p = was;
	CHECK_OK(file_write(path, text, n, 0644, &err), err);
}

static void the_loop_finds_one_changed_byte_of_entries_and_checkpoint(void)
{
	exported(scene_path("x"), 1);
	one_byte("x/entries.jsonl", "quote", 'Q', "entry 4 does not follow");
	one_byte("x/entries.jsonl", "quote", '\0', "entries.jsonl is no text");
	one_byte("x/entries.jsonl", "{\"at\"", ' ', "does not follow");
	one_byte("x/checkpoint", "=\n\n", 'A', "root over 6 entries is another");
	one_byte("x/checkpoint", "6\n", '5', "root over 5 entries is another");
	one_byte("x/checkpoint", "6\n", '7', "covers 7 entries, 6 are here");
}

static void the_loop_finds_one_changed_byte_of_any_other_file(void)
{
	AUTO_FREE char *blobs = NULL;
	struct strs a CLEANUP(strs_release) = { 0 }, b CLEANUP(strs_release) = { 0 };
	struct proc_done d;
	struct err err = ERR_INIT;

	exported(scene_path("x"), 1);
	one_byte("x/allowed_signers", "AAAA", 'B', "no entry adds that key");
	one_byte("x/signatures/3-1.sshsig", "U1NI", 'V', "entry 3 is signed by nobody");
	one_byte("x/SHA256SUMS", "blobs", 'B', "is not named by its digest");
	CHECK_OK(dir_list(scene_path("x/blobs"), &a, &err), err);
	blobs = xasprintf("%s/x/blobs/%s", test_dir(), a.v[0]);
	CHECK_OK(dir_list(blobs, &b, &err), err);
	{
		AUTO_FREE char *file = xasprintf("x/blobs/%s/%s", a.v[0], b.v[0]);

		one_byte(file, "e", 'f', "evidence was changed");
	}
	/* All of it is as it was again. */
	d = loop_of_the_manual(scene_path("x"));
	CHECK(proc_ok(&d));
	proc_done_release(&d);
}

static void openssl_checks_the_checkpoint_as_the_manual_says(void)
{
	static const char *const names[] = { "base64", "awk", "tail", "mktemp", "openssl", NULL };
	static const char first[] =
		"{ read -r log && read -r size && read -r root; } < checkpoint\n"
		"vkey=";
	AUTO_FREE char *text = NULL;
	struct proc_done d;
	struct err err = ERR_INIT;
	size_t n;

	exported(scene_path("x"), 1);
	d = block_run(first, names, scene_path("x"));
	if (!proc_ok(&d))
		test_fails(__FILE__, __LINE__, "%s%s", str_text(&d.out), str_text(&d.err));
	CHECK_HAS(str_text(&d.out), "Verified Successfully");
	proc_done_release(&d);
	CHECK_OK(file_read(scene_path("x/checkpoint"), MIB, &text, &n, &err), err);
	*strchr(text, '6') = '5';
	CHECK_OK(file_write(scene_path("x/checkpoint"), text, n, 0644, &err), err);
	d = block_run(first, names, scene_path("x"));
	CHECK(!proc_ok(&d));
	proc_done_release(&d);
}

static void damage_to_an_export_is_found(void)
{
	struct err err = ERR_INIT;
	AUTO_FREE char *text = NULL;
	size_t n, step = 7;

	exported(scene_path("x"), 1);
	CHECK_OK(file_read(scene_path("x/entries.jsonl"), MIB, &text, &n, &err), err);
	for (size_t i = 0; i < n; i += step) {
		char *got;

		text[i] ^= 1;
		CHECK_OK(file_write(scene_path("x/entries.jsonl"), text, n, 0644, &err), err);
		text[i] ^= 1;
		got = scene_verify(scene_path("x"));
		if (!*got)
			test_fails(__FILE__, __LINE__, "byte %zu changed unseen", i);
	}
	CHECK_OK(file_write(scene_path("x/entries.jsonl"), text, n, 0644, &err), err);
	CHECK_STR(scene_verify(scene_path("x")), "");
	CHECK_INT(rename(scene_path("x/signatures/3-1.sshsig"),
			 scene_path("x/signatures/2-1.sshsig")),
		  0);
	CHECK_HAS(scene_verify(scene_path("x")), "POLICY@3");
	CHECK_HAS(scene_verify(scene_path("x")), "BAD_SIGNATURE@2");
	CHECK_INT(rename(scene_path("x/signatures/2-1.sshsig"),
			 scene_path("x/signatures/99-1.sshsig")),
		  0);
	CHECK_HAS(scene_verify(scene_path("x")), "BAD_SIGNATURE");
}

static void a_folder_in_use_is_not_overwritten(void)
{
	struct ledger *l = scene_open(scene_path("l"));
	struct err err = ERR_INIT;

	CHECK_INT(ledger_export(l, scene_path("l"), &err), -ERR_CONFLICT);
	ledger_close(l);
}

static void half_an_export_is_not_left_behind(void)
{
	AUTO_FREE char *blobs = NULL, *file = NULL;
	struct strs a CLEANUP(strs_release) = { 0 }, b CLEANUP(strs_release) = { 0 };
	struct err err = ERR_INIT;
	struct ledger *l;

	exported(scene_path("x"), 1);
	CHECK_OK(dir_list(scene_path("x/blobs"), &a, &err), err); /* of what is there alone */
	blobs = xasprintf("%s/l/blobs/%s", test_dir(), a.v[0]);
	CHECK_OK(dir_list(blobs, &b, &err), err);
	file = path_join(blobs, b.v[0]);
	CHECK_OK(file_write(file, "other bytes", 11, 0644, &err), err);
	l = scene_open(scene_path("l"));
	CHECK(ledger_export(l, scene_path("y"), &err) < 0);
	CHECK(!dir_exists(scene_path("y")));
	/* What is lost is left out: nobody could hand it on, and verify says it. */
	CHECK_INT(unlink(file), 0);
	err = ERR_INIT;
	CHECK_OK(ledger_export(l, scene_path("y"), &err), err);
	ledger_close(l);
	CHECK_STR(scene_verify(scene_path("y")), "BLOB_MISSING@1");
}

/* Tiles: 256 hashes each, the next level over full ones, entries with their lengths. */
static void tiles_hold_the_tree(void)
{
	struct ledger *l;
	struct err err = ERR_INIT;
	AUTO_FREE char *tile = NULL, *upper = NULL, *part = NULL, *bundle = NULL;
	struct frontier f = { 0 };
	struct sha256 h CLEANUP(sha256_release) = { 0 };
	uint8_t root[SHA256_LEN];
	size_t n, at = 0;

	exported(scene_path("x"), 258); /* 263 entries */
	CHECK_OK(file_read(scene_path("x/tile/0/000"), MIB, &tile, &n, &err), err);
	CHECK_INT(n, 256 * SHA256_LEN);
	CHECK_OK(file_read(scene_path("x/tile/1/000.p/1"), MIB, &upper, &n, &err), err);
	CHECK_INT(n, SHA256_LEN);
	CHECK_OK(file_read(scene_path("x/tile/0/001.p/7"), MIB, &part, &n, &err), err);
	CHECK_INT(n, 7 * SHA256_LEN);
	for (int i = 0; i < 256; i++)
		frontier_add(&f, &h, (uint8_t *)tile + i * SHA256_LEN);
	frontier_root(&f, &h, root);
	CHECK(memcmp(root, upper, SHA256_LEN) == 0);
	CHECK_OK(file_read(scene_path("x/tile/entries/001.p/7"), MIB, &bundle, &n, &err), err);
	l = scene_open_as(scene_path("x"), LEDGER_READONLY, NULL);
	for (uint64_t seq = 256; seq < 263; seq++) {
		struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
		size_t len =
			(size_t)((unsigned char)bundle[at] << 8 | (unsigned char)bundle[at + 1]);

		CHECK_OK(ledger_get(l, seq, &e, &err), err);
		CHECK(len == e.n && memcmp(bundle + at + 2, e.bytes, len) == 0);
		at += 2 + len;
	}
	CHECK_INT(at, n);
	ledger_close(l);
}

TEST_MAIN(TEST(an_export_verifies_as_the_ledger_does),
	  TEST(an_export_can_be_read_as_a_ledger_and_not_written),
	  TEST(the_loop_of_the_manual_checks_it),
	  TEST(the_loop_finds_one_changed_byte_of_entries_and_checkpoint),
	  TEST(the_loop_finds_one_changed_byte_of_any_other_file),
	  TEST(openssl_checks_the_checkpoint_as_the_manual_says),
	  TEST(damage_to_an_export_is_found), TEST(a_folder_in_use_is_not_overwritten),
	  TEST(half_an_export_is_not_left_behind), TEST(tiles_hold_the_tree))
