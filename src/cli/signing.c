/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signing.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include <unistd.h>

int signing_key(struct cli *cli, const char *given, char **ret, struct err *err)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *own = xasprintf("%s/.ssh/id_ed25519", home ? home : "");
	AUTO_FREE char *made = path_join(cli->ledger_dir, "approver");
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };

	if (given) {
		*ret = xstrdup(given);
		return 0;
	}
	if (home && file_exists(own)) {
		*ret = STEAL(own);
		return 0;
	}
	if (!file_exists(made)) {
		TRY(ssh_key_make(made, cli->who, &k, err));
		cli_note(cli, "made the key %s to sign with; use your own with --key", made);
	}
	*ret = STEAL(made);
	return 0;
}

int signing_append(struct cli *cli, const char *kind, const json_t *body, const char *holder,
		   const char *key, struct ledger_ref *ret, struct err *err)
{
	struct ledger_new e = { .kind = kind,
				.body = body,
				.by_id = holder,
				.role = "human",
				.at_ms = clock_wall_ms() };
	struct ledger_draft draft CLEANUP(ledger_draft_release) = { 0 };
	AUTO_FREE char *armored = NULL;

	TRY(ledger_draft_make(cli->ledger, &e, &draft, err));
	cli_note(cli, "signing %s, sha256 of its bytes as a leaf: %s", kind, draft.ref.hex);
	TRY(ssh_sign(key, LEDGER_NAMESPACE, draft.bytes, draft.n, &armored, err));
	return ledger_draft_append(cli->ledger, &draft, armored, ret, err);
}

/* Nobody was known before. */
static int first_signer(struct cli *cli, const char *key, const struct ssh_key *k,
			char **ret_holder, struct err *err)
{
	static const char *const roles[] = { "approver", "admin", NULL };
	AUTO_JSON json_t *body = ledger_key_body(k, cli->who, roles, clock_wall_ms(), 0);
	struct ledger_ref ref;

	TRY(signing_append(cli, "key.add", body, cli->who, key, &ref, err));
	*ret_holder = xstrdup(cli->who);
	return 0;
}

int signing_holder(struct cli *cli, const char *key, const char *kind, char **ret_holder,
		   struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };
	AUTO_FREE char *holder = NULL;

	TRY(ssh_key_read(key, &k, err));
	TRY(ledger_keys_read(cli->ledger, &keys, err));
	if (!keys.n)
		return first_signer(cli, key, &k, ret_holder, err);
	TRY(ledger_may_sign(cli->ledger, kind, k.fingerprint, clock_wall_ms(), &holder, err));
	if (cli->who_given && !streq(holder, cli->who))
		return bail(err, ERR_USAGE, "--as '%s', but this key is that of '%s'", cli->who,
			    holder);
	*ret_holder = STEAL(holder);
	return 0;
}

int signing_more(struct cli *cli, const char *name, const char *const *kinds, const char *key,
		 struct ledger_ref *ret, struct err *err)
{
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	AUTO_FREE char *holder = NULL, *armored = NULL;
	enum ledger_standing standing;
	bool fits = false;

	TRY(ledger_find(cli->ledger, name, &e, err));
	for (; *kinds; kinds++)
		fits |= streq(*kinds, e.kind);
	if (!fits)
		return bail(err, ERR_UNSUPPORTED, "entry %llu is a %s: not to be signed by this",
			    (unsigned long long)e.ref.seq, e.kind);
	TRY(ledger_standing(cli->ledger, e.ref.seq, &standing, NULL, NULL, err));
	if (standing == LEDGER_IN_FORCE)
		return bail(err, ERR_UNSUPPORTED, "entry %llu has all signatures that it needs",
			    (unsigned long long)e.ref.seq);
	TRY(signing_holder(cli, key, e.kind, &holder, err));
	cli_note(cli, "%s", e.bytes);
	cli_note(cli, "signing entry %llu, sha256 of its bytes as a leaf: %s",
		 (unsigned long long)e.ref.seq, e.ref.hex);
	TRY(ssh_sign(key, LEDGER_NAMESPACE, e.bytes, e.n, &armored, err));
	if (ledger_sign(cli->ledger, e.ref.seq, armored, err) < 0)
		return err->code == ERR_CONFLICT
			       ? bail(err, ERR_CONFLICT, "%s has signed entry %llu already", holder,
				      (unsigned long long)e.ref.seq)
			       : -(int)err->code;
	*ret = e.ref;
	return 0;
}

int signing_agreed(const struct cli *cli, bool yes, const char *what, struct err *err)
{
	char answer[16] = "";

	if (yes || cli->json || isatty(0) != 1)
		return 0;
	(void)fprintf(stderr, "%s? [y/N] ", what);
	if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
		return bail(err, ERR_INTERRUPTED, "not signed");
	return 0;
}

int signing_done(struct cli *cli, const struct ledger_ref *ref, json_t *v, struct err *err)
{
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	struct str why CLEANUP(str_release) = { 0 };
	enum ledger_standing standing;
	bool counts;

	TRY(ledger_checkpoint(cli->ledger, &cp, err));
	TRY(ledger_standing(cli->ledger, ref->seq, &standing, NULL, &why, err));
	counts = standing == LEDGER_IN_FORCE || standing == LEDGER_NO_POLICY;
	json_put_str(v, "entry", ref->hex);
	json_put_int(v, "seq", (int64_t)ref->seq);
	json_put_bool(v, "in_force", counts);
	json_put_str(v, "why", counts ? "" : str_text(&why));
	json_put_int(v, "log_size", (int64_t)cp.size);
	json_put_str(v, "log_root", cp.root_hex);
	return counts ? 0 : 2;
}

void signing_done_text(const json_t *v, struct str *out)
{
	AUTO_FREE char *why = text_clean(sv_of(json_str_or(v, "why", "")));

	if (!json_bool_or(v, "in_force", false))
		str_addf(out, "  not in force yet: %s\n", why);
	str_addf(out, "  entry %lld, log size %lld, root %.16s\n",
		 (long long)json_int_or(v, "seq", 0), (long long)json_int_or(v, "log_size", 0),
		 json_str_or(v, "log_root", ""));
}
