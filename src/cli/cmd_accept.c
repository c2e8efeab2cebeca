/* SPDX-License-Identifier: Apache-2.0 */
/* A person signs: this run is accepted. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/find.h"
#include "cli/text.h"
#include "run/run.h"
#include <unistd.h>

struct accept_conf {
	const char *key, *note, *as;
	bool yes;
};

static const struct opt accept_opts[] = {
	OPT(accept_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "SSH key to sign with (default: ~/.ssh/id_ed25519, else one made for this "
		    "ledger)"),
	OPT(accept_conf, note, .name = "note", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "a note that is signed too"),
	OPT(accept_conf, as, .name = "as", .arg = "NAME", .type = OPT_TEXT,
	    .help = "who signs (default: user@host)"),
	OPT(accept_conf, yes, .name = "yes", .type = OPT_FLAG, .help = "don't ask on a terminal"),
	{ 0 },
};

static int key_path(struct cli *cli, const char *given, char **ret, struct err *err)
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

static int append_signed(struct cli *cli, const char *kind, const json_t *body, const char *who,
			 const char *key, struct ledger_ref *ret, struct err *err)
{
	struct ledger_new e = {
		.kind = kind, .body = body, .by_id = who, .role = "human", .at_ms = clock_wall_ms()
	};
	struct ledger_draft draft CLEANUP(ledger_draft_release) = { 0 };
	AUTO_FREE char *armored = NULL;

	TRY(ledger_draft_make(cli->ledger, &e, &draft, err));
	cli_note(cli, "signing %s, sha256 of its bytes as a leaf: %s", kind, draft.ref.hex);
	TRY(ssh_sign(key, LEDGER_NAMESPACE, draft.bytes, draft.n, &armored, err));
	return ledger_draft_append(cli->ledger, &draft, armored, ret, err);
}

/* The first signer is made known by a key.add that his own key signs; later ones need a known key.
 * */
static int know_key(struct cli *cli, const char *key, const char *who, struct err *err)
{
	static const char *const roles[] = { "approver", "admin", NULL };
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };
	AUTO_JSON json_t *body = NULL;
	struct ledger_ref ref;
	uint64_t size;

	TRY(ssh_key_read(key, &k, err));
	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(ledger_size(cli->ledger, &size, NULL, err));
	if (ledger_key_valid(&keys, k.fingerprint, size, clock_wall_ms()))
		return 0;
	if (keys.n) {
		bail(err, ERR_UNSUPPORTED, "key %s is not known to this ledger", k.fingerprint);
		err_hint(err, "A key that is known has to add it first.");
		return -ERR_UNSUPPORTED;
	}
	body = ledger_key_body(&k, who, roles, clock_wall_ms(), 0);
	return append_signed(cli, "key.add", body, who, key, &ref, err);
}

static json_t *signoff_body(struct cli *cli, const struct ledger_entry *verdict, const char *note)
{
	const json_t *b = verdict->body;
	json_t *o = json_object();
	int64_t expires = cli->contract.expires_ns;

	json_put_str(o, "workload", json_str_or(b, "workload", ""));
	json_put_str(o, "run", json_str_or(b, "run", ""));
	json_put(o, "verdict", json_pack("{s:s}", "digest", verdict->ref.hex));
	json_put(o, "intent", json_incref(json_object_get(b, "intent")));
	json_put(o, "contract", json_incref(json_object_get(b, "contract")));
	json_put(o, "stack", json_incref(json_object_get(b, "stack")));
	json_put_str(o, "stack_digest", json_str_or(b, "stack_digest", ""));
	json_put_str(o, "decision", json_str_or(json_object_get(b, "decision"), "verdict", ""));
	json_put_str(o, "run_by", verdict->by_id);
	json_put_str(o, "note", note ? note : "");
	json_put_int(o, "expires_at_ms", expires ? clock_wall_ms() + expires / NS_PER_MS : 0);
	return o;
}

static int may_accept(struct cli *cli, const struct ledger_entry *e, struct err *err)
{
	const json_t *b = e->body, *d = json_object_get(b, "decision");
	const char *code = json_str_or(d, "verdict", "");
	const char *contract = json_str_or(json_object_get(b, "contract"), "digest", "");

	if (!streq(code, "accepted") && !streq(code, "accepted_with_note")) {
		bail(err, ERR_BROKEN, "run %s is %s: it can't be signed as accepted",
		     json_str_or(b, "run", ""), text_verdict_word(code));
		err_hint(err, "'twice why' says what would change that.");
		return -ERR_BROKEN;
	}
	if (!streq(json_str_or(b, "workload", ""), cli->contract.workload.name))
		return bail(err, ERR_UNSUPPORTED,
			    "run %s is of workload '%s', this contract is '%s'",
			    json_str_or(b, "run", ""), json_str_or(b, "workload", ""),
			    cli->contract.workload.name);
	if (!streq(contract, cli->contract.digest)) {
		bail(err, ERR_BROKEN, "the contract has changed since that run");
		err_hint(err, "Run it again under the contract as it is now: 'twice run'.");
		return -ERR_BROKEN;
	}
	return 0;
}

static int agreed(const struct cli *cli, const struct accept_conf *c, struct err *err)
{
	char answer[16] = "";

	if (c->yes || cli->json || isatty(0) != 1)
		return 0;
	(void)fprintf(stderr, "sign this as accepted? [y/N] ");
	if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
		return bail(err, ERR_INTERRUPTED, "not signed");
	return 0;
}

static int show(struct cli *cli, const struct ledger_entry *e, const struct acceptances *before,
		struct err *err)
{
	const struct acceptance *last = acceptance_current(before, clock_wall_ms());
	struct str s CLEANUP(str_release) = { 0 };

	text_verdict(e->body, /* long_form= */ true, &s);
	if (last) {
		const json_t *changes = json_object_get(e->body, "changes");

		str_addf(&s, "\n  last accepted: run %s by %s\n", last->run, last->who);
		for (size_t i = 0; i < json_array_size(changes); i++) {
			const json_t *x = json_array_get(changes, i);

			if (json_bool_or(x, "material", true))
				str_addf(&s, "  since then: %s %s %s -> %s\n",
					 json_str_or(x, "layer", ""), json_str_or(x, "name", ""),
					 json_str_or(json_object_get(x, "before"), "version",
						     "(none or unknown)"),
					 json_str_or(json_object_get(x, "after"), "version",
						     "(none or unknown)"));
		}
	}
	(void)err;
	cli_note(cli, "%s", str_text(&s));
	return 0;
}

static int accept_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	const struct accept_conf *c = conf;
	struct ledger_entry e CLEANUP(ledger_entry_release) = { 0 };
	struct acceptances before CLEANUP(acceptances_release) = { 0 };
	struct acceptances after CLEANUP(acceptances_release) = { 0 };
	struct ledger_checkpoint cp CLEANUP(ledger_checkpoint_release) = { 0 };
	enum ledger_standing standing;
	AUTO_FREE char *key = NULL;
	AUTO_JSON json_t *body = NULL;
	struct str why CLEANUP(str_release) = { 0 };
	struct ledger_ref ref;

	TRY(find_verdict(cli, cli->args.n ? cli->args.v[0] : NULL, &e, err));
	TRY(may_accept(cli, &e, err));
	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &before, err));
	TRY(show(cli, &e, &before, err));
	TRY(agreed(cli, c, err));
	TRY(key_path(cli, c->key, &key, err));
	TRY(know_key(cli, key, c->as ? c->as : cli->who, err));
	body = signoff_body(cli, &e, c->note);
	TRY(append_signed(cli, "signoff", body, c->as ? c->as : cli->who, key, &ref, err));
	TRY(ledger_checkpoint(cli->ledger, &cp, err));
	TRY(ledger_standing(cli->ledger, ref.seq, &standing, NULL, &why, err));
	TRY(acceptances_read(cli->ledger, cli->contract.workload.name, &after, err));
	json_put_str(v, "workload", cli->contract.workload.name);
	json_put_str(v, "run", json_str_or(e.body, "run", ""));
	json_put_str(v, "signoff", ref.hex);
	json_put_str(v, "key", key);
	json_put_bool(v, "in_force", standing == LEDGER_IN_FORCE || standing == LEDGER_NO_POLICY);
	json_put_str(v, "why", str_text(&why));
	json_put_int(v, "times", (int64_t)after.n);
	json_put_bool(v, "proven", acceptances_proven(cli->ledger, &after));
	json_put_int(v, "log_size", (int64_t)cp.size);
	json_put_str(v, "log_root", cp.root_hex);
	return standing == LEDGER_IN_FORCE || standing == LEDGER_NO_POLICY ? 0 : 2;
}

static void accept_text(const json_t *v, struct str *out)
{
	str_addf(out, "%s: run %s is signed as accepted%s\n", json_str_or(v, "workload", ""),
		 json_str_or(v, "run", ""),
		 json_bool_or(v, "in_force", false) ? "" : ", but not in force yet");
	if (!json_bool_or(v, "in_force", false))
		str_addf(out, "  %s\n", json_str_or(v, "why", ""));
	str_addf(out, "  sign-off %.16s, log size %lld, root %.16s\n",
		 json_str_or(v, "signoff", ""), (long long)json_int_or(v, "log_size", 0),
		 json_str_or(v, "log_root", ""));
	if (json_bool_or(v, "proven", false))
		str_add(out, "  proven: accepted on more than one stack, or before and after a "
			     "recovery\n");
}

const struct cmd cmd_accept = {
	.name = "accept",
	.group = GROUP_RUN,
	.args = "[RUN]",
	.max_args = 1,
	.help = "sign a run as accepted (the newest when none is named)",
	.flags = CMD_CONTRACT | CMD_LEDGER_NEED | CMD_LEDGER_WRITE,
	.opts = accept_opts,
	.conf_size = sizeof(struct accept_conf),
	.run = accept_run,
	.text = accept_text,
};
