/* SPDX-License-Identifier: Apache-2.0 */
/* Private keys: OpenSSH's file format for unencrypted Ed25519, ssh-keygen for all others. */
#include "ledger/sshwire.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MAGIC        "openssh-key-v1"
#define PRIVATE_PEM  "OPENSSH PRIVATE KEY"
#define KEY_FILE_MAX (64 * KIB)

static void wiped(struct str *s)
{
	if (s->p)
		wipe(s->p, s->n);
	str_release(s);
}

static void public_blob(const uint8_t public[ED25519_LEN], struct str *to)
{
	ssh_put(to, SV("ssh-ed25519"));
	ssh_put(to, (struct sv){ (const char *)public, ED25519_LEN });
}

static int private_file(const struct ed25519 *key, const char *comment, struct str *to,
			struct err *err)
{
	struct str all CLEANUP(wiped) = { 0 }, part CLEANUP(wiped) = { 0 };
	struct str pub CLEANUP(str_release) = { 0 };
	uint32_t check;

	TRY(random_bytes(&check, sizeof(check), err));
	public_blob(key->public, &pub);
	ssh_put_u32(&part, check);
	ssh_put_u32(&part, check);
	str_addsv(&part, sv_str(&pub));
	ssh_put_u32(&part, 2 * ED25519_LEN);
	str_addn(&part, key->seed, ED25519_LEN);
	str_addn(&part, key->public, ED25519_LEN);
	ssh_put(&part, sv_of(comment));
	for (char i = 1; part.n % 8; i++)
		str_addc(&part, i);
	str_addn(&all, MAGIC, sizeof(MAGIC)); /* with its NUL */
	ssh_put(&all, SV("none"));
	ssh_put(&all, SV("none"));
	ssh_put(&all, SV(""));
	ssh_put_u32(&all, 1);
	ssh_put(&all, sv_str(&pub));
	ssh_put(&all, sv_str(&part));
	ssh_armor(PRIVATE_PEM, sv_str(&all), to);
	return 0;
}

int ssh_key_make(const char *path, const char *comment, struct ssh_key *ret, struct err *err)
{
	struct str text CLEANUP(wiped) = { 0 }, blob CLEANUP(str_release) = { 0 };
	struct ed25519 key CLEANUP(ed25519_wipe) = { 0 };
	struct ssh_key own CLEANUP(ssh_key_release) = { 0 };
	AUTO_FREE char *pub = xasprintf("%s.pub", path), *line = NULL;
	CLEANUP(closep) int fd = -1;

	if (strpbrk(comment, "\n\r"))
		return bail(err, ERR_PARSE, "a key's comment is one line");
	TRY(ed25519_make(&key, err));
	TRY(private_file(&key, comment, &text, err));
	public_blob(key.public, &blob);
	TRY(ssh_key_from_blob(sv_str(&blob), comment, &own, err));
	/* O_EXCL claims the name, so that a key that somebody has is never replaced. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return bail_sys(err, "cannot make key '%s'", path);
	TRY(file_write(path, text.p, text.n, 0600, err));
	line = xasprintf("%s %s\n", own.line, comment);
	TRY(file_write(pub, line, strlen(line), 0644, err));
	*ret = own;
	own = (struct ssh_key){ 0 };
	return 0;
}

/* An unencrypted Ed25519 key of one private part. False: leave it to ssh-keygen. */
static bool native_key(struct sv text, struct ed25519 *ret, struct str *comment)
{
	struct str blob CLEANUP(wiped) = { 0 };
	struct sv rest, cipher, kdf, options, pub, part, type, public, private, note;
	uint32_t n, a, b;

	if (!ssh_unarmor(PRIVATE_PEM, text, &blob) || blob.n < sizeof(MAGIC) ||
	    memcmp(blob.p, MAGIC, sizeof(MAGIC)) != 0)
		return false;
	rest = (struct sv){ blob.p + sizeof(MAGIC), blob.n - sizeof(MAGIC) };
	if (!ssh_take(&rest, &cipher) || !sv_is(cipher, "none") || !ssh_take(&rest, &kdf) ||
	    !ssh_take(&rest, &options) || !ssh_take_u32(&rest, &n) || n != 1 ||
	    !ssh_take(&rest, &pub) || !ssh_take(&rest, &part))
		return false;
	if (!ssh_take_u32(&part, &a) || !ssh_take_u32(&part, &b) || a != b ||
	    !ssh_take(&part, &type) || !sv_is(type, "ssh-ed25519") || !ssh_take(&part, &public) ||
	    !ssh_take(&part, &private) || private.n != 2 * ED25519_LEN || !ssh_take(&part, &note))
		return false;
	ed25519_from_seed((const uint8_t *)private.p, ret);
	str_addsv(comment, note);
	return public.n == ED25519_LEN && memcmp(ret->public, public.p, ED25519_LEN) == 0;
}

static void sign_native(const struct ed25519 *key, const char *namespace, const void *p, size_t n,
			struct str *to)
{
	struct str data CLEANUP(str_release) = { 0 }, blob CLEANUP(str_release) = { 0 };
	struct str pub CLEANUP(str_release) = { 0 }, inner CLEANUP(str_release) = { 0 };
	uint8_t d[64], sig[ED25519_SIG];

	sha512(p, n, d);
	str_add(&data, "SSHSIG");
	ssh_put(&data, sv_of(namespace));
	ssh_put(&data, SV(""));
	ssh_put(&data, SV("sha512"));
	ssh_put(&data, (struct sv){ (const char *)d, sizeof(d) });
	ed25519_sign(key, data.p, data.n, sig);
	public_blob(key->public, &pub);
	ssh_put(&inner, SV("ssh-ed25519"));
	ssh_put(&inner, (struct sv){ (const char *)sig, sizeof(sig) });
	str_add(&blob, "SSHSIG");
	ssh_put_u32(&blob, 1);
	ssh_put(&blob, sv_str(&pub));
	ssh_put(&blob, sv_of(namespace));
	ssh_put(&blob, SV(""));
	ssh_put(&blob, SV("sha512"));
	ssh_put(&blob, sv_str(&inner));
	ssh_armor("SSH SIGNATURE", sv_str(&blob), to);
}

/*
 * Runs a child that may ask for a passphrase on our terminal: its group becomes the terminal's for
 * that time. Without a terminal it just runs (the agent needs none).
 */
static int run_on_terminal(const struct proc_spec *spec, struct proc_done *ret, struct err *err)
{
	CLEANUP(closep) int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool ours = tty >= 0 && tcgetpgrp(tty) == getpgrp();
	struct proc *p CLEANUP(proc_freep) = NULL;
	int64_t end = clock_ns() + spec->limit_ns;
	sigset_t ttou, old;

	TRY(proc_start(spec, &p, err));
	if (ours && tcsetpgrp(tty, proc_pid(p)) == 0)
		proc_signal(p, SIGCONT); /* in case it asked before the terminal was its own */
	while (proc_poll(p, 100 * NS_PER_MS) && clock_ns() < end)
		;
	proc_stop(p, 0, 0, ret);
	if (ours) { /* we are in the background now, where this would stop us */
		(void)sigemptyset(&ttou);
		(void)sigaddset(&ttou, SIGTTOU);
		(void)sigprocmask(SIG_BLOCK, &ttou, &old);
		(void)tcsetpgrp(tty, getpgrp());
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
	}
	return 0;
}

/* ssh-keygen finds the key in the file or, for a public one, in the agent. */
static int sign_by_tool(const char *path, const char *namespace, const void *p, size_t n,
			struct str *to, struct err *err)
{
	const char *const argv[] = {
		"ssh-keygen", "-Y", "sign", "-n", namespace, "-f", path, NULL
	};
	AUTO_FREE char *in = xstrndup(p, n), *how = NULL, *said = NULL;
	struct proc_spec spec = { .argv = argv, .in = in, .limit_ns = 300 * NS_PER_S };
	struct proc_done done CLEANUP(proc_done_release) = { 0 };

	if (strlen(in) != n)
		return bail(err, ERR_UNSUPPORTED, "cannot sign bytes with NUL through ssh-keygen");
	if (run_on_terminal(&spec, &done, err) < 0)
		return err_wrap(err, "cannot sign with '%s'", path);
	if (!proc_ok(&done)) {
		how = proc_how(&done);
		said = text_clean(sv_trim(sv_str(&done.err)));
		return bail(err, ERR_UNSUPPORTED, "ssh-keygen cannot sign with '%s': %s: %.200s",
			    path, how, said);
	}
	if (!ssh_sig_normal(sv_str(&done.out), to))
		return bail(err, ERR_PARSE, "ssh-keygen gave no signature");
	return 0;
}

int ssh_sign(const char *path, const char *namespace, const void *p, size_t n, char **ret,
	     struct err *err)
{
	struct str out CLEANUP(str_release) = { 0 }, comment CLEANUP(str_release) = { 0 };
	struct ed25519 key CLEANUP(ed25519_wipe) = { 0 };
	struct ssh_key who CLEANUP(ssh_key_release) = { 0 };
	AUTO_FREE char *text = NULL;
	size_t len;
	int rc = 0;

	if (file_read(path, KEY_FILE_MAX, &text, &len, err) < 0)
		return err_wrap(err, "cannot read key '%s'", path);
	if (native_key((struct sv){ text, len }, &key, &comment))
		sign_native(&key, namespace, p, n, &out);
	else
		rc = sign_by_tool(path, namespace, p, n, &out, err);
	wipe(text, len);
	if (!out.n)
		return rc;
	/* A signature that nobody can check must not get into the log. */
	if (ssh_verify(sv_str(&out), namespace, p, n, &who, err) < 0)
		return err_wrap(err, "signature made with '%s'", path);
	*ret = str_steal(&out);
	return 0;
}

int ssh_key_read(const char *path, struct ssh_key *ret, struct err *err)
{
	struct str comment CLEANUP(str_release) = { 0 }, blob CLEANUP(str_release) = { 0 };
	struct ed25519 key CLEANUP(ed25519_wipe) = { 0 };
	AUTO_FREE char *text = NULL, *pub = xasprintf("%s.pub", path);
	size_t n;
	int rc = 0;

	if (file_read(path, KEY_FILE_MAX, &text, &n, err) < 0)
		return err_wrap(err, "cannot read key '%s'", path);
	if (!strstr(text, "PRIVATE KEY-----"))
		rc = ssh_key_parse((struct sv){ text, n }, ret, err);
	else if (native_key((struct sv){ text, n }, &key, &comment)) {
		public_blob(key.public, &blob);
		rc = ssh_key_from_blob(sv_str(&blob), str_text(&comment), ret, err);
	} else {
		AUTO_FREE char *line = file_first_line(pub);

		rc = line ? ssh_key_parse(sv_of(line), ret, err)
			  : bail(err, ERR_NOT_FOUND, "no '%s' beside the private key", pub);
	}
	wipe(text, n);
	return rc < 0 ? err_wrap(err, "'%s'", path) : 0;
}
