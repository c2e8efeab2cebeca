/* SPDX-License-Identifier: Apache-2.0 */
/* Whose SSH key counts for what, from when to when; and what the policy asks for. */
#include "cli/cmds.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "cli/when.h"

struct key_conf {
	struct strs roles;
	const char *key, *holder, *until, *reason, *policy;
	int64_t overlap_ns, holders;
	bool no_self, yes;
};

static const struct opt key_opts[] = {
	OPT(key_conf, key, .name = "key", .arg = "FILE", .type = OPT_TEXT,
	    .help = "SSH key to sign with (default: ~/.ssh/id_ed25519, else that of this ledger)"),
	OPT(key_conf, holder, .name = "holder", .arg = "NAME", .type = OPT_TEXT,
	    .help = "add: whose key it is"),
	OPT(key_conf, roles, .name = "role", .arg = "ROLE", .type = OPT_LIST,
	    .help = "add: approver (the default), admin, or a role of the policy; may be repeated"),
	OPT(key_conf, until, .name = "until", .arg = "TIME", .type = OPT_TEXT,
	    .help = "add: the key is valid until then (2027-01-31, or '90 days')"),
	OPT(key_conf, overlap_ns, .name = "overlap", .arg = "TIME", .type = OPT_TIME,
	    .def = "7 days", .help = "rotate: so long the old key stays valid"),
	OPT(key_conf, reason, .name = "reason", .arg = "TEXT", .type = OPT_TEXT,
	    .help = "revoke: why"),
	OPT(key_conf, holders, .name = "holders", .arg = "N", .type = OPT_NUMBER, .def = "0",
	    .min = 0, .max = 100, .help = "policy: sign-offs and waivers need N different people"),
	OPT(key_conf, no_self, .name = "no-self-approval", .type = OPT_FLAG,
	    .help = "policy: nobody approves what they ran themselves"),
	OPT(key_conf, policy, .name = "policy", .arg = "FILE", .type = OPT_TEXT,
	    .help = "policy: all of it, as JSON"),
	OPT(key_conf, yes, .name = "yes", .type = OPT_FLAG, .help = "don't ask on a terminal"),
	{ 0 },
};

/* ---- reading ---- */

static const char *state_of(const struct ledger_key *k, int64_t now_ms)
{
	if (k->revoked != UINT64_MAX)
		return "revoked";
	if (k->to_ms <= now_ms)
		return "expired";
	return k->from_ms > now_ms ? "not yet valid" : "valid";
}

static json_t *roles_json(const struct ledger_key *k)
{
	json_t *a = json_array();

	for (char **r = k->roles; *r; r++)
		(void)json_array_append_new(a, json_string(*r));
	return a;
}

static json_t *key_json(const struct ledger_key *k)
{
	AUTO_FREE char *from = k->from_ms > 0 ? time_utc(k->from_ms) : NULL;
	AUTO_FREE char *to = k->to_ms > 0 && k->to_ms != INT64_MAX ? time_utc(k->to_ms) : NULL;
	json_t *o = json_object();

	json_put_str(o, "holder", k->holder);
	json_put_str(o, "fingerprint", k->fingerprint);
	json_put_str(o, "key", k->line);
	json_put(o, "roles", roles_json(k));
	json_put_str(o, "valid_from", from);
	json_put_str(o, "valid_to", to);
	json_put_int(o, "added", (int64_t)k->added);
	if (k->revoked != UINT64_MAX)
		json_put_int(o, "revoked", (int64_t)k->revoked);
	json_put_str(o, "state", state_of(k, clock_wall_ms()));
	return o;
}

static int list_keys(struct cli *cli, json_t *v, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	AUTO_JSON json_t *policy = NULL;
	json_t *a = json_array();

	json_put(v, "keys", a);
	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(ledger_policy(cli->ledger, &policy, err));
	for (size_t i = 0; i < keys.n; i++)
		(void)json_array_append_new(a, key_json(&keys.v[i]));
	json_put(v, "policy", json_incref(policy));
	return 0;
}

/* By fingerprint or a part of it, by holder, or a file with the key; the newest that fits. */
static int find_key(struct cli *cli, const char *name, const struct ledger_keys *keys,
		    const struct ledger_key **ret, struct err *err)
{
	struct ssh_key file CLEANUP(ssh_key_release) = { 0 };
	const struct ledger_key *found = NULL;
	bool is_file = file_exists(name);

	(void)cli;
	if (is_file)
		TRY(ssh_key_read(name, &file, err));
	for (size_t i = 0; i < keys->n; i++) {
		const struct ledger_key *k = &keys->v[i];
		bool fits =
			is_file ? streq(k->fingerprint, file.fingerprint)
				: streq(k->holder, name) || str_starts(k->fingerprint, name) ||
					  (strlen(name) >= 4 &&
					   str_starts(k->fingerprint + strlen("SHA256:"), name));

		if (!fits)
			continue;
		if (found && !streq(found->fingerprint, k->fingerprint)) {
			(void)bail(err, ERR_PARSE, "'%s' fits several keys", name);
			err_hint(err, "Name one by its fingerprint: 'twice key list'.");
			return -ERR_PARSE;
		}
		found = k;
	}
	if (!found) {
		(void)bail(err, ERR_NOT_FOUND, "the ledger knows no key '%s'", name);
		err_hint(err, "'twice key list' lists them.");
		return -ERR_NOT_FOUND;
	}
	*ret = found;
	return 0;
}

static int show_key(struct cli *cli, const char *name, json_t *v, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	const struct ledger_key *k;

	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(find_key(cli, name, &keys, &k, err));
	json_put(v, "keys", json_pack("[o]", key_json(k)));
	AUTO_FREE char *lines = ledger_allowed_signers(
		&(struct ledger_keys){ .v = (struct ledger_key *)(uintptr_t)k, .n = 1 });

	json_put_str(v, "allowed_signers", lines);
	return 0;
}

/* ---- writing ---- */

static int check_roles(struct cli *cli, const struct strs *roles, struct err *err)
{
	AUTO_JSON json_t *policy = NULL;
	struct strs known CLEANUP(strs_release) = { 0 };
	const char *kind;
	json_t *rule;

	TRY(ledger_policy(cli->ledger, &policy, err));
	strs_add(&known, "admin");
	strs_add(&known, "approver");
	json_object_foreach(policy, kind, rule)
	{
		const char *role = json_str_or(rule, "role", NULL);

		if (role && !strs_has(&known, role))
			strs_add(&known, role);
	}
	for (size_t i = 0; i < roles->n; i++) {
		if (strs_has(&known, roles->v[i]))
			continue;
		(void)bail(err, ERR_USAGE, "--role: the policy knows no role '%s'", roles->v[i]);
		err_hint_nearest(err, roles->v[i], (const char *const *)known.v);
		return -ERR_USAGE;
	}
	return 0;
}

static int add_body(struct cli *cli, const struct key_conf *c, const char *path,
		    const struct ledger_keys *keys, struct ssh_key *k, json_t **ret,
		    struct err *err)
{
	static const char *const usual[] = { "approver", NULL }, *const first[] = { "approver",
										    "admin", NULL };
	const char *const *roles = c->roles.n ? (const char *const *)c->roles.v
				   : keys->n  ? usual
					      : first;
	int64_t now = clock_wall_ms(), to = 0;

	TRY(ssh_key_read(path, k, err));
	if (!c->holder)
		return bail(err, ERR_USAGE, "whose key is it? --holder NAME is needed");
	TRY(cli_check_name("holder", c->holder, err));
	TRY(check_roles(cli, &c->roles, err));
	if (c->until)
		TRY(when_parse("until", c->until, WHEN_AHEAD, /* end_of_day= */ true, now, &to,
			       err));
	if (c->until && to <= now)
		return bail(err, ERR_USAGE, "--until '%s' is over already", c->until);
	if (ledger_key_valid(keys, k->fingerprint, UINT64_MAX - 1, now))
		return bail(err, ERR_UNSUPPORTED, "the ledger knows this key already");
	*ret = ledger_key_body(k, c->holder, roles, now, to);
	return 0;
}

/* The body is what is agreed to: it is shown before it is signed. */
static int sign(struct cli *cli, const struct key_conf *c, const char *kind, const json_t *body,
		json_t *v, struct err *err)
{
	AUTO_FREE char *key = NULL, *holder = NULL, *text = json_text(body, true);
	AUTO_FREE char *shown = text_clean_lines(text);
	struct ledger_ref ref;

	TRY(signing_key(cli, c->key, &key, err));
	cli_note(cli, "%s %s", kind, shown);
	TRY(signing_agreed(cli, c->yes, "sign this", err));
	TRY(signing_holder(cli, key, kind, &holder, err));
	TRY(signing_append(cli, kind, body, holder, key, &ref, err));
	json_put_str(v, "signed_by", holder);
	return signing_done(cli, &ref, v, err);
}

/* Nobody is known yet: the key that is added signs for itself. */
static int add_first(struct cli *cli, const struct key_conf *c, const struct ssh_key *k,
		     const json_t *body, json_t *v, struct err *err)
{
	AUTO_FREE char *key = NULL;
	struct ssh_key own CLEANUP(ssh_key_release) = { 0 };
	struct ledger_ref ref;

	if (c->roles.n && !strs_has(&c->roles, "admin"))
		return bail(err, ERR_USAGE,
			    "the first key needs --role admin: nobody else could add another");
	TRY(signing_key(cli, c->key, &key, err));
	TRY(ssh_key_read(key, &own, err));
	if (!streq(own.fingerprint, k->fingerprint)) {
		(void)bail(err, ERR_UNSUPPORTED, "the first key of a ledger is added by itself");
		err_hint(err, "Sign with the private key of '%s': --key FILE.", cli->args.v[1]);
		return -ERR_UNSUPPORTED;
	}
	TRY(signing_agreed(cli, c->yes, "sign this", err));
	TRY(signing_append(cli, "key.add", body, c->holder, key, &ref, err));
	json_put_str(v, "signed_by", c->holder);
	return signing_done(cli, &ref, v, err);
}

static int add_key(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ssh_key k CLEANUP(ssh_key_release) = { 0 };
	AUTO_JSON json_t *body = NULL;

	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(add_body(cli, c, cli->args.v[1], &keys, &k, &body, err));
	json_put_str(v, "holder", c->holder);
	json_put_str(v, "fingerprint", k.fingerprint);
	return keys.n ? sign(cli, c, "key.add", body, v, err) : add_first(cli, c, &k, body, v, err);
}

/* Without one that may add keys nobody could ever be added again. */
static bool is_last_admin(const struct ledger_keys *keys, const json_t *policy,
			  const struct ledger_key *gone)
{
	const json_t *rule = json_object_get(policy, "key_add");
	const char *role = json_str_or(rule, "role", NULL);
	int64_t now = clock_wall_ms();

	for (size_t i = 0; i < keys->n; i++) {
		const struct ledger_key *k = &keys->v[i];
		bool admin = !role;

		for (char **r = k->roles; *r; r++)
			admin |= streq(*r, role);
		if (admin && !streq(k->fingerprint, gone->fingerprint) &&
		    k->revoked == UINT64_MAX && k->to_ms > now)
			return false;
	}
	return true;
}

static json_t *revoke_body(const struct ledger_key *k, const char *reason, int64_t to_ms)
{
	AUTO_FREE char *to = to_ms ? time_utc(to_ms) : NULL;
	json_t *o = json_object();

	json_put_str(o, "fingerprint", k->fingerprint);
	json_put_str(o, "key", k->line);
	json_put_str(o, "holder", k->holder);
	json_put_str(o, "reason", reason);
	json_put_str(o, "valid_to", to);
	return o;
}

static int revoke_key(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	const struct ledger_key *k;
	AUTO_JSON json_t *body = NULL, *policy = NULL;

	if (!c->reason)
		return bail(err, ERR_USAGE, "why? --reason TEXT is needed");
	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(ledger_policy(cli->ledger, &policy, err));
	TRY(find_key(cli, cli->args.v[1], &keys, &k, err));
	if (k->revoked != UINT64_MAX)
		return bail(err, ERR_UNSUPPORTED, "this key was revoked by entry %llu",
			    (unsigned long long)k->revoked);
	if (is_last_admin(&keys, policy, k)) {
		(void)bail(err, ERR_UNSUPPORTED,
			   "this is the last key that may add others: nobody could follow it");
		err_hint(err,
			 "Add another first: 'twice key add FILE --holder NAME --role admin'.");
		return -ERR_UNSUPPORTED;
	}
	body = revoke_body(k, c->reason, 0);
	json_put_str(v, "holder", k->holder);
	json_put_str(v, "fingerprint", k->fingerprint);
	return sign(cli, c, "key.revoke", body, v, err);
}

/* The new key with the holder and roles of the old one; the old one ends after the overlap. */
static int rotate_key(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err)
{
	struct ledger_keys keys CLEANUP(ledger_keys_release) = { 0 };
	struct ssh_key new CLEANUP(ssh_key_release) = { 0 };
	AUTO_JSON json_t *add = NULL, *end = NULL;
	int64_t now = clock_wall_ms(), until;
	const struct ledger_key *old;
	int rc;

	if (cli->args.n < 3)
		return bail(err, ERR_USAGE, "'twice key rotate' needs the old and the new key");
	TRY(ledger_keys_read(cli->ledger, &keys, err));
	TRY(find_key(cli, cli->args.v[1], &keys, &old, err));
	if (!ledger_key_valid(&keys, old->fingerprint, UINT64_MAX - 1, now))
		return bail(err, ERR_UNSUPPORTED, "the old key is %s: add the new one by itself",
			    state_of(old, now));
	TRY(ssh_key_read(cli->args.v[2], &new, err));
	if (ledger_key_valid(&keys, new.fingerprint, UINT64_MAX - 1, now))
		return bail(err, ERR_UNSUPPORTED, "the ledger knows the new key already");
	until = MIN(now + c->overlap_ns / NS_PER_MS, old->to_ms);
	add = ledger_key_body(&new, old->holder, (const char *const *)old->roles, now,
			      old->to_ms == INT64_MAX ? 0 : old->to_ms);
	end = revoke_body(old, "replaced", MAX(until, now + 1));
	json_put_str(v, "holder", old->holder);
	json_put_str(v, "fingerprint", new.fingerprint);
	json_put_str(v, "replaces", old->fingerprint);
	json_put(v, "old_ends", json_incref(json_object_get(end, "valid_to")));
	rc = sign(cli, c, "key.add", add, v, err);
	if (rc) /* not in force yet: the old key has to stay */
		return rc;
	json_put(v, "new_entry", json_incref(json_object_get(v, "entry")));
	return sign(cli, c, "key.revoke", end, v, err);
}

static int sign_more(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err)
{
	static const char *const kinds[] = { "key.add", "key.revoke", NULL };
	AUTO_FREE char *key = NULL;
	struct ledger_ref ref;

	TRY(signing_key(cli, c->key, &key, err));
	TRY(signing_more(cli, cli->args.v[1], kinds, key, &ref, err));
	return signing_done(cli, &ref, v, err);
}

/* ---- policy ---- */

static void set_rule(json_t *policy, const char *kind, const struct key_conf *c)
{
	json_t *rule = json_object_get(policy, kind);

	if (c->holders)
		json_put_int(rule, "holders", c->holders);
	if (c->no_self)
		json_put_bool(rule, "self_approval", false);
}

static int wanted_policy(const struct key_conf *c, json_t **ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	AUTO_JSON json_t *p = NULL;
	size_t n;

	if (c->policy) {
		TRY(file_read(c->policy, MIB, &text, &n, err));
		TRY(json_read((struct sv){ text, n }, c->policy, &p, err));
	} else {
		p = ledger_default_policy();
	}
	if (c->holders || c->no_self) {
		set_rule(p, "signoff", c);
		set_rule(p, "waiver", c);
	}
	*ret = STEAL(p);
	return 0;
}

/* It stands in the first entry, so it can be chosen once, before there is any other. */
static int policy(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err)
{
	AUTO_JSON json_t *p = NULL;

	if (c->policy || c->holders || c->no_self) {
		if (cli_has_ledger(cli)) {
			(void)bail(err, ERR_UNSUPPORTED,
				   "the ledger in '%s' has its policy already", cli->ledger_dir);
			err_hint(err, "A policy is chosen when a ledger begins and stays: begin a "
				      "new one in another folder.");
			return -ERR_UNSUPPORTED;
		}
		TRY(wanted_policy(c, &p, err));
		TRY(cli_load_contract(cli, err));
		TRY(cli_open_ledger(cli, CMD_LEDGER_WRITE, p, err));
		json_put_bool(v, "made", true);
	} else {
		TRY(cli_open_ledger(cli, CMD_LEDGER_NEED, NULL, err));
	}
	return list_keys(cli, v, err);
}

/* ---- */

static int open_to_write(struct cli *cli, struct err *err)
{
	if (!cli_has_ledger(cli))
		TRY(cli_load_contract(cli, err)); /* names the log */
	return cli_open_ledger(cli, CMD_LEDGER_WRITE, NULL, err);
}

static int key_run(struct cli *cli, const void *conf, json_t *v, struct err *err)
{
	static const struct {
		const char *name;
		size_t args;
		int (*run)(struct cli *cli, const struct key_conf *c, json_t *v, struct err *err);
	} writers[] = { { "add", 2, add_key },
			{ "rotate", 3, rotate_key },
			{ "revoke", 2, revoke_key },
			{ "sign", 2, sign_more } };
	static const char *const names[] = { "add",    "list", "policy", "revoke",
					     "rotate", "show", "sign",   NULL };
	const char *action = cli->args.n ? cli->args.v[0] : "list";

	json_put_str(v, "action", action);
	if (streq(action, "policy"))
		return policy(cli, conf, v, err);
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		if (!streq(action, writers[i].name))
			continue;
		if (cli->args.n < writers[i].args)
			return bail(err, ERR_USAGE, "'twice key %s' needs %s", action,
				    writers[i].args == 3    ? "the old and the new key"
				    : streq(action, "sign") ? "an entry"
							    : "a key");
		TRY(open_to_write(cli, err));
		return writers[i].run(cli, conf, v, err);
	}
	if (streq(action, "list") || (streq(action, "show") && cli->args.n >= 2)) {
		TRY(cli_open_ledger(cli, CMD_LEDGER_NEED, NULL, err));
		return cli->args.n >= 2 && streq(action, "show")
			       ? show_key(cli, cli->args.v[1], v, err)
			       : list_keys(cli, v, err);
	}
	if (streq(action, "show"))
		return bail(err, ERR_USAGE, "'twice key show' needs a key");
	(void)bail(err, ERR_USAGE, "'twice key' has no '%s'", action);
	err_hint_nearest(err, action, names);
	return -ERR_USAGE;
}

/* ---- text ---- */

static void key_lines(const json_t *k, struct str *out)
{
	const json_t *roles = json_object_get(k, "roles");
	struct str list CLEANUP(str_release) = { 0 };
	AUTO_FREE char *holder = text_clean(sv_of(json_str_or(k, "holder", "")));

	for (size_t i = 0; i < json_array_size(roles); i++)
		str_addf(&list, "%s%s", i ? "," : "", json_string_value(json_array_get(roles, i)));
	str_addf(out, "%-24s %-14s %-16s %s", holder, json_str_or(k, "state", ""), str_text(&list),
		 json_str_or(k, "fingerprint", ""));
	if (json_str_or(k, "valid_to", NULL))
		str_addf(out, " until %.10s", json_str_or(k, "valid_to", ""));
	if (json_object_get(k, "revoked"))
		str_addf(out, " (entry %lld)", (long long)json_int_or(k, "revoked", 0));
	str_addc(out, '\n');
}

static void policy_lines(const json_t *p, struct str *out)
{
	const char *kind;
	json_t *rule;

	json_object_foreach((json_t *)(uintptr_t)p, kind, rule)
	{
		str_addf(out, "  %-14s %lld %s%s%s", kind,
			 (long long)json_int_or(rule, "holders", 1),
			 json_str_or(rule, "role", "anybody known"),
			 json_int_or(rule, "holders", 1) == 1 ? "" : "s",
			 json_bool_or(rule, "self_approval", true) ? "" : ", not one's own");
		if (json_int_or(rule, "max_days", 0))
			str_addf(out, ", ends within %lld days",
				 (long long)json_int_or(rule, "max_days", 0));
		str_addc(out, '\n');
	}
}

static void key_text(const json_t *v, struct str *out)
{
	const json_t *keys = json_object_get(v, "keys"), *policy = json_object_get(v, "policy");
	const char *action = json_str_or(v, "action", "");

	if (keys) {
		for (size_t i = 0; i < json_array_size(keys); i++)
			key_lines(json_array_get(keys, i), out);
		if (!json_array_size(keys))
			str_add(out, "nobody's key is known yet: who signs first is\n");
		str_add(out, json_str_or(v, "allowed_signers", ""));
		if (policy)
			str_add(out, "needed to sign:\n");
		policy_lines(policy, out);
		return;
	}
	AUTO_FREE char *holder = text_clean(sv_of(json_str_or(v, "holder", "")));

	if (streq(action, "sign"))
		str_add(out, "signed\n");
	else
		str_addf(out, "%s: %s %s\n", holder, json_str_or(v, "fingerprint", ""),
			 streq(action, "revoke") ? "is revoked" : "is added");
	if (json_str_or(v, "replaces", NULL))
		str_addf(out, "  instead of %s, which ends %.19sZ\n",
			 json_str_or(v, "replaces", ""), json_str_or(v, "old_ends", ""));
	signing_done_text(v, out);
}

const struct cmd cmd_key = {
	.name = "key",
	.group = GROUP_PEOPLE,
	.args = "[list|show KEY|add FILE|rotate KEY FILE|revoke KEY|sign ENTRY|policy]",
	.max_args = 3,
	.help = "whose keys count: add, list, rotate, revoke; the policy",
	.about =
		"KEY is a fingerprint or its beginning, a holder, or a file with the key. A change "
		"of keys is an\n"
		"entry that a known key signs; the first key of a ledger signs itself in.",
	.opts = key_opts,
	.conf_size = sizeof(struct key_conf),
	.run = key_run,
	.text = key_text,
};
